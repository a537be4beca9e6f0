//! Messages without content, so that no host runs ahead of the phases in which it is idle.
//!
//! Source: aapc-2007 section 5.1 (the *dummy* scheme). Input: phases of any kind. Guarantee: in
//! every phase every host sends or receives a message, perhaps one of its own. No dummy uses a
//! cable between switches. No dummy enters or leaves a host in the direction that a message of its
//! phase uses. Cost: O(phases * hosts). Deviations: none. The paper does not define the choice
//! among several partners. Here a host that does not receive comes before one that does not send,
//! and then the smallest number is taken.
use crate::message::Message;
use inventory::Tree;
use inventory::tree::NodeNumber;

/// A message without content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DummyMessage {
    pub phase: u32,
    /// The sending host.
    pub from: u32,
    /// The receiving host, on the same switch; `from` itself if there is no other.
    pub to: u32,
}

/// The dummies of `phases`, in their order. Each host that neither sends nor receives sends one to
/// a host of its switch that receives nothing. If there is none, it receives one from a host that
/// sends nothing; if there is none either, it sends to itself.
pub fn dummies(tree: &Tree, phases: &[Vec<Message>]) -> Vec<DummyMessage> {
    let hosts = tree.hosts() as usize;
    let neighbours = hosts_by_switch(tree);
    let mut dummies = Vec::new();
    for (phase, messages) in (0u32..).zip(phases) {
        let (mut sends, mut receives) = (vec![false; hosts], vec![false; hosts]);
        for message in messages {
            sends[message.src as usize] = true;
            receives[message.dst as usize] = true;
        }
        for idle in 0..tree.hosts() {
            if sends[idle as usize] || receives[idle as usize] {
                continue;
            }
            let free = [&receives, &sends].map(|busy| {
                let mut beside = neighbours[switch(tree, idle) as usize].iter();
                beside.find(|h| **h != idle && !busy[**h as usize]).copied()
            });
            let (from, to) = match free {
                [Some(receiver), _] => (idle, receiver),
                [None, Some(sender)] => (sender, idle),
                [None, None] => (idle, idle),
            };
            sends[from as usize] = true;
            receives[to as usize] = true;
            dummies.push(DummyMessage { phase, from, to });
        }
    }
    dummies
}

/// The node above a host; the host itself if no node is above it.
fn switch(tree: &Tree, host: NodeNumber) -> NodeNumber {
    tree.parent(host).unwrap_or(host)
}

/// By node: the hosts right below it, in the order of their numbers.
fn hosts_by_switch(tree: &Tree) -> Vec<Vec<NodeNumber>> {
    let mut below = vec![Vec::new(); tree.nodes() as usize];
    (0..tree.hosts()).for_each(|host| below[switch(tree, host) as usize].push(host));
    below
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aapc;
    use proptest::prelude::*;
    use samples::trees::{any_tree, star};

    #[test]
    fn idle_hosts_keep_each_other_company() {
        // n0, n1 and n2 on one switch, n3 and n4 on another one, n5 alone on a third one.
        let tree = star(&[3, 2, 1]);
        let message = |src, dst| Message { src, dst };
        let dummy = |phase, from, to| DummyMessage { phase, from, to };
        let found = dummies(
            &tree,
            &[
                vec![message(0, 3)],
                vec![message(0, 1), message(1, 0), message(3, 4)],
                Vec::new(),
            ],
        );
        let expected = [
            dummy(0, 1, 0),
            dummy(0, 2, 1),
            dummy(0, 3, 4),
            dummy(0, 5, 5),
            dummy(1, 2, 2),
            dummy(1, 5, 5),
            dummy(2, 0, 1),
            dummy(2, 2, 0),
            dummy(2, 3, 4),
            dummy(2, 5, 5),
        ];
        assert_eq!(found, expected);
    }

    proptest! {
        #[test]
        fn nobody_is_idle_and_nothing_collides(tree in any_tree(1..=24)) {
            let phases = aapc::phases(&tree);
            let dummies = dummies(&tree, &phases);
            for (phase, messages) in (0u32..).zip(&phases) {
                let (mut sends, mut receives) = (
                    vec![0; tree.hosts() as usize],
                    vec![0; tree.hosts() as usize],
                );
                let of_phase = dummies.iter().filter(|d| d.phase == phase);
                prop_assert!(
                    of_phase
                        .clone()
                        .all(|d| switch(&tree, d.from) == switch(&tree, d.to))
                );
                for (from, to) in messages
                    .iter()
                    .map(|m| (m.src, m.dst))
                    .chain(of_phase.map(|d| (d.from, d.to)))
                {
                    sends[from as usize] += 1;
                    receives[to as usize] += 1;
                }
                prop_assert!(
                    sends
                        .iter()
                        .zip(&receives)
                        .all(|(&s, &r)| s <= 1 && r <= 1 && s + r > 0)
                );
            }
        }
    }
}
