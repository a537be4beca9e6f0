//! One host's own steps of an all-to-all: what it sends and receives, which tokens it awaits and
//! gives.
//!
//! Tokens are matched by the pair of hosts and a number: [`SyncToken::id`] counts, per ordered pair
//! of hosts, the synchronizations between them in the plan's order, so both ends come to the same
//! numbers without a word. In a plan of [`crate::alltoall::plan`] no two tokens of one pair follow
//! the same message, so each is below `hosts - 1`: it fits an MPI tag (at least 32,767; MPI-4.1
//! section 9.1.2) up to 32,768 hosts. There, too, tokens of a pair come in the same order at both
//! ends ([`crate::synchronization::syncs`]): a carrier that keeps order and gives the tokens of a
//! step only after those of the steps before needs no number at all.
use crate::alltoall::AlltoallSchedule;
use crate::message::Message;

/// A few octets that say "go on".
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SyncToken {
    /// The host at the other end.
    pub peer: u32,
    /// Number of this token among those from its giver to its taker, from 0.
    pub id: u32,
}

/// What a host does in one phase, or a part of it. Sending and receiving go on at the same time;
/// only sending waits for tokens.
///
/// Tokens point to later phases, so it cannot hang, whether hosts end each step before the next or
/// receive whenever something comes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostStep {
    /// The phase, from 0; phases in which the host is idle have no step.
    pub phase: u32,
    /// Whom it sends its block to.
    pub send_to: Option<u32>,
    /// Whose block it receives.
    pub receive_from: Option<u32>,
    /// Tokens to take before sending.
    pub wait: Vec<SyncToken>,
    /// Tokens to give once the block is sent (sender-based).
    pub give_after_send: Vec<SyncToken>,
    /// Tokens to give once the block is received (receiver-based).
    pub give_after_receive: Vec<SyncToken>,
}

/// The steps of `host` in the order of phases. A number that is no host's gives none.
///
/// A host that sends or receives several messages in one phase has several steps in it, in the
/// plan's order.
pub fn of(plan: &AlltoallSchedule, host: u32) -> Vec<HostStep> {
    let mut steps: Vec<HostStep> = Vec::new();
    // By peer, the step in which the host sends to it, and in which it receives from it.
    let mut sends = vec![None; plan.hosts.len()];
    let mut receives = vec![None; plan.hosts.len()];
    for (phase, messages) in plan.phases.iter().enumerate() {
        let first = steps.len();
        let (mut sent, mut received) = (0, 0);
        for &Message { src, dst } in messages.iter().filter(|m| m.src == host || m.dst == host) {
            let (side, peer, count) = if src == host {
                (&mut sends, dst, &mut sent)
            } else {
                (&mut receives, src, &mut received)
            };
            let at = first + *count;
            *count += 1;
            if at == steps.len() {
                steps.push(HostStep::in_phase(phase as u32));
            }
            let its_peer = if src == host {
                &mut steps[at].send_to
            } else {
                &mut steps[at].receive_from
            };
            *its_peer = Some(peer);
            if let Some(known) = side.get_mut(peer as usize) {
                *known = Some(at);
            }
        }
    }
    add_tokens(plan, host, &mut steps, &sends, &receives);
    steps
}

impl HostStep {
    fn in_phase(phase: u32) -> HostStep {
        HostStep {
            phase,
            send_to: None,
            receive_from: None,
            wait: Vec::new(),
            give_after_send: Vec::new(),
            give_after_receive: Vec::new(),
        }
    }
}

fn add_tokens(
    plan: &AlltoallSchedule,
    host: u32,
    steps: &mut [HostStep],
    sends: &[Option<usize>],
    receives: &[Option<usize>],
) {
    let step = |side: &[Option<usize>], peer: u32| side.get(peer as usize).copied().flatten();
    let mut taken = vec![0u32; plan.hosts.len()];
    let mut given = vec![0u32; plan.hosts.len()];
    let next = |counts: &mut Vec<u32>, peer: u32| {
        let count = counts.get_mut(peer as usize)?;
        *count += 1;
        Some(SyncToken {
            peer,
            id: *count - 1,
        })
    };
    for sync in plan
        .syncs
        .iter()
        .filter(|sync| sync.from == host || sync.to == host)
    {
        if sync.to == host
            && let (Some(token), Some(at)) =
                (next(&mut taken, sync.from), step(sends, sync.before.dst))
        {
            steps[at].wait.push(token);
        }
        if sync.from == host
            && let Some(token) = next(&mut given, sync.to)
        {
            if sync.after.src == host {
                if let Some(at) = step(sends, sync.after.dst) {
                    steps[at].give_after_send.push(token);
                }
            } else if let Some(at) = step(receives, sync.after.src) {
                steps[at].give_after_receive.push(token);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alltoall;
    use crate::synchronization::SyncKind;
    use crate::test_trees::any_tree;
    use inventory::Tree;
    use proptest::prelude::*;
    use std::collections::{HashMap, HashSet};

    /// Runs the steps of all hosts, each by itself, as far as tokens allow; messages arrive when
    /// sent. Returns the order of messages, or what hangs.
    fn run(tree: &Tree, slices: &[Vec<HostStep>]) -> Result<Vec<Message>, String> {
        let hosts = tree.hosts() as usize;
        let (mut at, mut tokens, mut order) = (vec![0; hosts], HashSet::new(), Vec::new());
        loop {
            let mut moved = false;
            for host in 0..hosts {
                let Some(step) = slices[host].get(at[host]) else {
                    continue;
                };
                if !step
                    .wait
                    .iter()
                    .all(|t| tokens.contains(&(t.peer, host as u32, t.id)))
                {
                    continue;
                }
                moved = true;
                at[host] += 1;
                step.wait
                    .iter()
                    .for_each(|t| assert!(tokens.remove(&(t.peer, host as u32, t.id))));
                for t in &step.give_after_send {
                    assert!(
                        tokens.insert((host as u32, t.peer, t.id)),
                        "same token twice"
                    );
                }
                if let Some(dst) = step.send_to {
                    order.push(Message {
                        src: host as u32,
                        dst,
                    });
                    let received = slices[dst as usize]
                        .iter()
                        .find(|s| s.receive_from == Some(host as u32))
                        .ok_or("nobody receives")?;
                    for t in &received.give_after_receive {
                        assert!(tokens.insert((dst, t.peer, t.id)), "same token twice");
                    }
                }
            }
            if !moved {
                let hangs = (0..hosts).any(|host| at[host] < slices[host].len());
                return if hangs || !tokens.is_empty() {
                    Err(format!("hangs at {at:?}, tokens left {}", tokens.len()))
                } else {
                    Ok(order)
                };
            }
        }
    }

    #[test]
    fn a_number_that_is_no_host_has_no_steps() {
        let tree = crate::test_trees::star(&[2, 1]);
        assert!(of(&alltoall::plan(&tree, SyncKind::Receiver), 7).is_empty());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 48 } else { 2_000 }))]
        /// Phases put together stand for hosts whose cables carry several messages at once.
        #[test]
        fn several_messages_of_a_phase_are_several_steps(tree in any_tree(1..=24), width in 2..5usize) {
            let mut plan = alltoall::plan(&tree, SyncKind::Barrier);
            plan.phases = plan.phases.chunks(width).map(<[_]>::concat).collect();
            let (mut sent, mut received) = (HashSet::new(), HashSet::new());
            for host in 0..tree.hosts() {
                let steps = of(&plan, host);
                prop_assert!(steps.is_sorted_by_key(|step| step.phase));
                sent.extend(steps.iter().filter_map(|step| Some((step.phase, Message { src: host, dst: step.send_to? }))));
                received.extend(steps.iter().filter_map(|step| Some((step.phase, Message { src: step.receive_from?, dst: host }))));
            }
            let planned: HashSet<_> = (0..).zip(&plan.phases).flat_map(|(phase, messages)| messages.iter().map(move |&m| (phase, m))).collect();
            prop_assert_eq!(&sent, &planned);
            prop_assert_eq!(&received, &planned);
        }

        #[test]
        fn slices_together_are_the_plan_and_never_hang(tree in any_tree(1..=24), kind in 0..2usize) {
            let plan = alltoall::plan(&tree, [SyncKind::Sender, SyncKind::Receiver][kind]);
            let slices: Vec<Vec<HostStep>> = (0..tree.hosts()).map(|h| of(&plan, h)).collect();
            let order = match run(&tree, &slices) { Ok(order) => order, Err(e) => panic!("{e}") };
            prop_assert_eq!(order.len(), plan.messages());
            // Whatever the pace of the hosts, users of one edge follow each other as planned.
            let phase: HashMap<Message, usize> = plan.phases.iter().enumerate().flat_map(|(p, ms)| ms.iter().map(move |&m| (m, p))).collect();
            let mut last = vec![None; tree.edges() as usize];
            for m in order {
                let mut in_order = true;
                tree.path(m.src, m.dst, |edge| in_order &= last[edge as usize].replace(phase[&m]) < Some(phase[&m]));
                prop_assert!(in_order);
            }
            let most = slices.iter().flatten().flat_map(|s| &s.wait).map(|t| t.id).max().unwrap_or(0);
            prop_assert!(most < tree.hosts());
        }
    }
}
