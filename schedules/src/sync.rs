//! Which messages must wait for which, so that phases stay apart without barriers.
//!
//! Source: aapc-2007 section 5 (pair-wise synchronizations, sender-based and receiver-based; redundant ones removed).
//! Input: contention-free phases on a tree.
//! Guarantee: any two messages that share a directed edge in different phases are ordered by the synchronizations
//! together with every sender's own order. [`Reduction::Minimal`] is the smallest such set.
//! Cost: chain O(messages * path length); minimal O(messages * path length * hosts), memory O(edges * hosts).
//! Deviations: the paper builds the conflict graph of all message pairs, O(n⁴ switches²), and reduces it in O(n⁶).
//! The users of one edge are totally ordered, so consecutive users say everything: chaining them per edge has the
//! same closure, and its transitive reduction is the paper's (a DAG has only one).
use crate::message::{Message, Sync};
use inventory::tree::Tree;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// How messages of different phases are kept apart (aapc-2007, Table 5; its `dummy` scheme, which fills idle
/// hosts with messages that carry nothing, is not offered).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SyncKind {
    /// Not at all: the order of phases only (`No-sync.`).
    None,
    /// The sender of the earlier message tells when it has sent (`Sender all`): may be early.
    Sender,
    /// The receiver of the earlier message tells when it has it (`Receiver all`): never early.
    Receiver,
    /// A barrier between phases (`Barrier all`): no tokens in the plan.
    Barrier,
}

/// Which of the orders that hold anyway are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reduction {
    /// Every pair of consecutive users of an edge, but what a later token between the same two hosts says too.
    Chain,
    /// Only what nothing else implies.
    Minimal,
}

impl fmt::Display for SyncKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            SyncKind::None => "none",
            SyncKind::Sender => "sender",
            SyncKind::Receiver => "receiver",
            SyncKind::Barrier => "barrier",
        })
    }
}

/// A name that is no [`SyncKind`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("synchronization \"{0}\": expected none, sender, receiver or barrier")]
pub struct UnknownSync(pub String);

impl FromStr for SyncKind {
    type Err = UnknownSync;

    fn from_str(text: &str) -> Result<Self, UnknownSync> {
        [SyncKind::None, SyncKind::Sender, SyncKind::Receiver, SyncKind::Barrier]
            .into_iter()
            .find(|kind| kind.to_string() == text)
            .ok_or_else(|| UnknownSync(text.to_owned()))
    }
}

/// The synchronizations of `phases`, in the order of the messages that wait; none for [`SyncKind::None`] and
/// [`SyncKind::Barrier`].
///
/// Tokens between two hosts never overtake: ordered by the message they follow or by the message that waits,
/// the tokens from one host to another come in the same order, and no two of them follow, or hold back, the same message.
pub fn syncs(tree: &Tree, phases: &[Vec<Message>], kind: SyncKind, reduction: Reduction) -> Vec<Sync> {
    let teller: fn(Message) -> u32 = match kind {
        SyncKind::None | SyncKind::Barrier => return Vec::new(),
        SyncKind::Sender => |after| after.src,
        SyncKind::Receiver => |after| after.dst,
    };
    let messages: Vec<Message> = phases.iter().flatten().copied().collect();
    let order = chain(tree, &messages);
    let kept = match reduction {
        Reduction::Chain => overtaken_dropped(tree.hosts(), &messages, &order, teller),
        Reduction::Minimal => reduced(tree, &messages, &order),
    };
    let sync = |(after, before): (u32, u32)| {
        let (after, before) = (messages[after as usize], messages[before as usize]);
        Sync { after, before, from: teller(after), to: before.src }
    };
    kept.into_iter().map(sync).collect()
}

/// For every message the messages that used one of its edges last, latest first, the sender's own former one included.
struct Order {
    /// Where each message's entries begin; one more at the end.
    first: Vec<u32>,
    earlier: Vec<u32>,
}

impl Order {
    fn of(&self, message: u32) -> &[u32] {
        &self.earlier[self.first[message as usize] as usize..self.first[message as usize + 1] as usize]
    }
}

fn chain(tree: &Tree, messages: &[Message]) -> Order {
    const NOBODY: u32 = u32::MAX;
    let mut last_user = vec![NOBODY; tree.edges() as usize];
    let mut order = Order { first: Vec::with_capacity(messages.len() + 1), earlier: Vec::with_capacity(2 * messages.len()) };
    order.first.push(0);
    let mut found = Vec::new();
    for (number, m) in messages.iter().enumerate() {
        tree.path(m.src, m.dst, |edge| found.push(std::mem::replace(&mut last_user[edge as usize], number as u32)));
        found.retain(|&earlier| earlier != NOBODY);
        found.sort_unstable_by(|a, b| b.cmp(a));
        found.dedup();
        order.earlier.append(&mut found);
        order.first.push(order.earlier.len() as u32);
    }
    order
}

/// The chain without the senders' own order and without tokens that another one between the same hosts makes needless:
/// one that follows a later message and is awaited no later.
fn overtaken_dropped(hosts: u32, messages: &[Message], order: &Order, teller: impl Fn(Message) -> u32) -> Vec<(u32, u32)> {
    // For each pair of hosts the latest message told of so far, plus one.
    let mut told = vec![0u32; hosts as usize * hosts as usize];
    let mut kept = Vec::with_capacity(messages.len());
    for (before, m) in messages.iter().enumerate() {
        for &after in order.of(before as u32) {
            let earlier = messages[after as usize];
            let told = &mut told[(teller(earlier) * hosts + m.src) as usize];
            if earlier.src != m.src && *told <= after {
                *told = after + 1;
                kept.push((after, before as u32));
            }
        }
    }
    kept
}

/// The transitive reduction of the chain, without the senders' own order.
///
/// A vector clock holds, per sender, how many of its messages are known to be over. An order is needless if a later
/// one into the same message already knows of it. Only an edge's last user can be asked again, so only those clocks are kept.
fn reduced(tree: &Tree, messages: &[Message], order: &Order) -> Vec<(u32, u32)> {
    let mut clocks = Clocks::new(tree.hosts() as usize, messages.len());
    let mut users = vec![u32::MAX; tree.edges() as usize];
    let mut sent = vec![0 as Count; tree.hosts() as usize];
    let mut own_number = Vec::with_capacity(messages.len());
    let mut kept = Vec::with_capacity(messages.len());
    for (before, m) in messages.iter().enumerate() {
        let earlier = order.of(before as u32);
        for (i, &after) in earlier.iter().enumerate() {
            let sender = messages[after as usize].src;
            let implied = earlier[..i].iter().any(|&later| clocks.of(later)[sender as usize] >= own_number[after as usize]);
            if !implied && sender != m.src {
                kept.push((after, before as u32));
            }
        }
        sent[m.src as usize] += 1;
        own_number.push(sent[m.src as usize]);
        clocks.join(before as u32, earlier)[m.src as usize] = sent[m.src as usize];
        let mut path = 0;
        tree.path(m.src, m.dst, |edge| {
            path += 1;
            let former = std::mem::replace(&mut users[edge as usize], before as u32);
            if former != u32::MAX {
                clocks.release(former);
            }
        });
        clocks.hold(before as u32, path);
    }
    kept
}

/// How many messages of a sender: less than hosts, and the messages of 65,536 hosts could not even be numbered. Clocks
/// are all the memory traffic there is, so short numbers are worth it.
type Count = u16;

/// Vector clocks of some messages, in slots that are used again.
struct Clocks {
    width: usize,
    /// Slot of each message.
    slot: Vec<u32>,
    values: Vec<Count>,
    /// How many edges each slot's message is the last user of.
    holders: Vec<u32>,
    free: Vec<u32>,
}

impl Clocks {
    fn new(width: usize, messages: usize) -> Self {
        Clocks { width, slot: vec![u32::MAX; messages], values: Vec::new(), holders: Vec::new(), free: Vec::new() }
    }

    fn range(&self, slot: u32) -> std::ops::Range<usize> {
        slot as usize * self.width..(slot as usize + 1) * self.width
    }

    fn of(&self, message: u32) -> &[Count] {
        &self.values[self.range(self.slot[message as usize])]
    }

    /// Gives `message` a clock that knows all that the `earlier` ones know.
    fn join(&mut self, message: u32, earlier: &[u32]) -> &mut [Count] {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.holders.push(0);
            self.values.resize(self.values.len() + self.width, 0);
            self.holders.len() as u32 - 1
        });
        self.slot[message as usize] = slot;
        let own = self.range(slot);
        match earlier.split_first() {
            None => self.values[own.clone()].fill(0),
            Some((&first, others)) => {
                let first = self.range(self.slot[first as usize]);
                self.values.copy_within(first, own.start);
                for &other in others {
                    let other = self.range(self.slot[other as usize]);
                    let (low, high) = self.values.split_at_mut(own.start.max(other.start));
                    let (target, source) = if own.start < other.start {
                        (&mut low[own.clone()], &high[..self.width])
                    } else {
                        (&mut high[..self.width], &low[other])
                    };
                    target.iter_mut().zip(source).for_each(|(t, s)| *t = (*t).max(*s));
                }
            }
        }
        &mut self.values[own]
    }

    fn hold(&mut self, message: u32, edges: u32) {
        self.holders[self.slot[message as usize] as usize] = edges;
    }

    fn release(&mut self, message: u32) {
        let slot = self.slot[message as usize];
        self.holders[slot as usize] -= 1;
        if self.holders[slot as usize] == 0 {
            self.free.push(slot);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aapc;
    use crate::sample::{any_tree_text, star, topology};
    use proptest::prelude::*;
    use std::collections::{BTreeSet, HashMap};

    type Pairs = BTreeSet<(Message, Message)>;

    fn pairs(syncs: &[Sync]) -> Pairs {
        syncs.iter().map(|s| (s.after, s.before)).collect()
    }

    /// The paper's way: a graph of all conflicts, from which every edge that a longer way implies is removed.
    /// Returns the conflicts, and what is left of them between different senders.
    fn by_the_paper(tree: &Tree, phases: &[Vec<Message>]) -> (Pairs, Pairs) {
        let messages: Vec<(usize, Message)> = phases.iter().enumerate().flat_map(|(p, ms)| ms.iter().map(move |&m| (p, m))).collect();
        let edges = |m: Message| {
            let mut edges = BTreeSet::new();
            tree.path(m.src, m.dst, |edge| assert!(edges.insert(edge)));
            edges
        };
        let paths: Vec<_> = messages.iter().map(|&(_, m)| edges(m)).collect();
        let conflict = |i: usize, j: usize| messages[i].0 < messages[j].0 && !paths[i].is_disjoint(&paths[j]);
        let (mut all, mut left) = (Pairs::new(), Pairs::new());
        let mut reachable: Vec<Vec<bool>> = vec![Vec::new(); messages.len()];
        for i in (0..messages.len()).rev() {
            let mut reach = vec![false; messages.len()];
            for j in (i + 1..messages.len()).filter(|&j| conflict(i, j)) {
                all.insert((messages[i].1, messages[j].1));
                if !reach[j] && messages[i].1.src != messages[j].1.src {
                    left.insert((messages[i].1, messages[j].1));
                }
                reach.iter_mut().zip(&reachable[j]).for_each(|(own, theirs)| *own |= theirs);
                reach[j] = true;
            }
            reachable[i] = reach;
        }
        (all, left)
    }

    /// Figures of aapc-2005, Figure 5: a switch of 24, and 8 hosts on each of four switches.
    #[test]
    fn a_third_of_the_tokens_suffices_on_a_star() {
        let counts = |tree: &Tree| {
            let phases = aapc::phases(tree);
            let count = |reduction| syncs(tree, &phases, SyncKind::Sender, reduction).len();
            (phases.iter().map(Vec::len).sum::<usize>(), count(Reduction::Chain), count(Reduction::Minimal))
        };
        assert_eq!(counts(&star(&[24])), (552, 528, 528));
        let (messages, chain, minimal) = counts(&star(&[8, 8, 8, 8]));
        assert_eq!(messages, 992);
        assert!((0.66..0.70).contains(&(minimal as f64 / 992.0)) && chain > minimal && chain < 1180, "{chain} {minimal}");
    }

    #[test]
    fn none_and_barrier_carry_no_tokens() {
        let tree = star(&[3, 2]);
        for kind in [SyncKind::None, SyncKind::Barrier] {
            assert!(syncs(&tree, &aapc::phases(&tree), kind, Reduction::Chain).is_empty());
        }
        assert_eq!("receiver".parse(), Ok(SyncKind::Receiver));
        assert!("dummy".parse::<SyncKind>().unwrap_err().to_string().contains("\"dummy\": expected none"));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]
        #[test]
        fn minimal_is_the_papers_reduction(text in any_tree_text(3..=12, 7)) {
            let tree = topology(&text);
            let phases = aapc::phases(&tree);
            let (conflicts, reduced) = by_the_paper(&tree, &phases);
            for kind in [SyncKind::Sender, SyncKind::Receiver] {
                let minimal = pairs(&syncs(&tree, &phases, kind, Reduction::Minimal));
                let chain = pairs(&syncs(&tree, &phases, kind, Reduction::Chain));
                prop_assert_eq!(&minimal, &reduced);
                prop_assert!(chain.is_superset(&minimal));
                prop_assert!(conflicts.is_superset(&chain));
            }
        }

        #[test]
        fn tokens_of_two_hosts_never_overtake(text in any_tree_text(3..=20, 9)) {
            let tree = topology(&text);
            let phases = aapc::phases(&tree);
            let phase: HashMap<Message, usize> = phases.iter().enumerate().flat_map(|(p, ms)| ms.iter().map(move |&m| (m, p))).collect();
            for kind in [SyncKind::Sender, SyncKind::Receiver] {
                for reduction in [Reduction::Chain, Reduction::Minimal] {
                    let mut last: HashMap<(u32, u32), (usize, usize)> = HashMap::new();
                    for s in syncs(&tree, &phases, kind, reduction) {
                        prop_assert_ne!(s.from, s.to);
                        let (after, before) = (phase[&s.after], phase[&s.before]);
                        if let Some((earlier_after, earlier_before)) = last.insert((s.from, s.to), (after, before)) {
                            prop_assert!(earlier_after < after && earlier_before < before);
                        }
                    }
                }
            }
        }
    }
}
