//! An all-to-all of blocks of different lengths: every block once, and edges within their rates
//! whatever the pace of the hosts.
//!
//! Source: Dilworth's theorem with weights: what may be under way together on an edge is an
//! antichain of the order that waits and senders make, and the heaviest one weighs as much as the
//! fewest chains that carry all its users.
//! Guarantee: exact; a message takes of every edge what the slowest one on its path carries.
//! Cost: O(messages * waits / 64 + users of an edge), more where chains have to be found anew.
use super::{NamedEdge, NamedMessage, NodeNames};
use crate::alltoallv::LengthSchedule;
use crate::known_messages::KnownMessages;
use crate::message::Message;
use crate::transfers::TransferWait;
use inventory::tree::Tree;
use std::collections::{HashSet, VecDeque};

/// The first fault of an all-to-all of blocks of different lengths.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LengthViolation {
    /// Not one length for each pair of hosts.
    #[error("{0} lengths are not one for each pair of hosts")]
    Lengths(usize),
    /// A message that no block goes with, or that comes twice.
    #[error("message {0}: there is no such pair of hosts, or it comes twice")]
    Stray(NamedMessage),
    /// A pair of hosts without a message.
    #[error("{0} messages are not one for each pair of hosts")]
    Missing(usize),
    /// A wait that cannot be carried out.
    #[error("wait of message {before} for message {after}: {problem}")]
    Wait {
        /// The number of the earlier message.
        after: u32,
        /// The number of the message that waits.
        before: u32,
        /// The defect.
        problem: &'static str,
    },
    /// More may be under way than an edge carries.
    #[error("edge {edge}: {message} may start while others leave it no room; no wait orders them")]
    Crowded {
        edge: NamedEdge,
        /// The first message without room.
        message: NamedMessage,
    },
}

/// Checks a plan against the tree of its hosts and `lengths[src * hosts + dst]` octets.
pub fn alltoallv(
    tree: &Tree,
    lengths: &[u64],
    plan: &LengthSchedule,
) -> Result<(), LengthViolation> {
    let hosts = tree.hosts();
    if lengths.len() != (hosts as usize).pow(2) {
        return Err(LengthViolation::Lengths(lengths.len()));
    }
    every_pair_once(tree, &plan.messages)?;
    let known = known_messages(hosts, plan)?;
    let mut edges: Vec<EdgeUsers> = (0..tree.edges())
        .map(|edge| EdgeUsers::new(tree.rate(edge / 2).0.max(1)))
        .collect();
    for (number, &message) in (0..)
        .zip(&plan.messages)
        .filter(|(_, m)| lengths[(m.src * hosts + m.dst) as usize] > 0)
    {
        let (mut path, mut rate) = (Vec::new(), u64::MAX);
        tree.path(message.src, message.dst, |edge| {
            path.push(edge);
            rate = rate.min(tree.rate(edge / 2).0.max(1));
        });
        let mut path = path.into_iter();
        if let Some(edge) = path.find(|&edge| !edges[edge as usize].admits(number, rate, &known)) {
            let names = NodeNames(tree);
            return Err(LengthViolation::Crowded {
                edge: names.edge(edge),
                message: names.named(message),
            });
        }
    }
    Ok(())
}

fn every_pair_once(tree: &Tree, messages: &[Message]) -> Result<(), LengthViolation> {
    let hosts = tree.hosts();
    let mut known = HashSet::new();
    for &message in messages {
        let Message { src, dst } = message;
        if src >= hosts || dst >= hosts || src == dst || !known.insert(message) {
            return Err(LengthViolation::Stray(NodeNames(tree).named(message)));
        }
    }
    if known.len() == hosts as usize * (hosts as usize - 1) {
        Ok(())
    } else {
        Err(LengthViolation::Missing(known.len()))
    }
}

/// The messages that are over when a message starts. Waits never point backwards, so nothing waits
/// in a circle.
fn known_messages(hosts: u32, plan: &LengthSchedule) -> Result<KnownMessages, LengthViolation> {
    let mut waits: Vec<Vec<u32>> = vec![Vec::new(); plan.messages.len()];
    for &TransferWait {
        after,
        before,
        from,
    } in &plan.waits
    {
        let ends = (
            plan.messages.get(after as usize),
            plan.messages.get(before as usize),
        );
        let problem = match ends {
            (Some(earlier), Some(later)) => match () {
                () if after >= before => "it does not point to a later message",
                () if from != earlier.dst => "the receiver of the earlier message does not tell",
                () if from == later.src => "the sender of the later message would notify itself",
                () => {
                    waits[before as usize].push(after);
                    continue;
                }
            },
            _ => "there is no such message",
        };
        return Err(LengthViolation::Wait {
            after,
            before,
            problem,
        });
    }
    let mut known = KnownMessages::new(plan.messages.len());
    let mut last = vec![None; hosts as usize];
    for (number, (message, waits)) in (0..).zip(plan.messages.iter().zip(waits)) {
        let last: &mut Option<u32> = &mut last[message.src as usize];
        known.begin(number, last.replace(number));
        for after in waits {
            known.learn(number, after);
        }
    }
    Ok(known)
}

/// The users of an edge, each of which takes over what it needs from users that are over: a flow
/// from the earlier to the later.
struct EdgeUsers {
    /// The message of each user; the first is the idle edge, which is over before all.
    users: Vec<u32>,
    /// By user: what its end leaves that nobody took over.
    spare: Vec<u64>,
    /// By user: from whom it took how much.
    taken: Vec<Vec<(usize, u64)>>,
}

impl EdgeUsers {
    fn new(rate: u64) -> EdgeUsers {
        EdgeUsers {
            users: vec![u32::MAX],
            spare: vec![rate],
            taken: vec![Vec::new()],
        }
    }

    fn may_take(&self, from: usize, user: usize, known: &KnownMessages) -> bool {
        from == 0 || from < user && known.knows(self.users[user], self.users[from])
    }

    /// Adds a message that takes so much; false if there may be no room for it.
    fn admits(&mut self, message: u32, rate: u64, known: &KnownMessages) -> bool {
        let user = self.users.len();
        self.users.push(message);
        self.spare.push(0);
        self.taken.push(Vec::new());
        let mut missing = rate;
        for from in 0..user {
            if missing > 0 && self.spare[from] > 0 && self.may_take(from, user, known) {
                let amount = missing.min(self.spare[from]);
                self.spare[from] -= amount;
                self.taken[user].push((from, amount));
                missing -= amount;
            }
        }
        while missing > 0 {
            match self.rearrange(user, missing, known) {
                0 => return false,
                amount => missing -= amount,
            }
        }
        self.spare[user] = rate;
        true
    }

    /// Finds more for `user` by letting others take from elsewhere: a shortest augmenting path.
    /// Zero: there is none.
    fn rearrange(&mut self, user: usize, missing: u64, known: &KnownMessages) -> u64 {
        // For each source reached the taker that reached it, for each taker the source it would
        // give up.
        let nobody = vec![usize::MAX; self.users.len()];
        let (mut reached_by, mut gives_up) = (nobody.clone(), nobody);
        // Breadth first, so that paths are the shortest and few are needed (Edmonds and Karp 1972).
        let mut queue = VecDeque::from([user]);
        while let Some(taker) = queue.pop_front() {
            for from in 0..taker {
                if reached_by[from] != usize::MAX || !self.may_take(from, taker, known) {
                    continue;
                }
                reached_by[from] = taker;
                if self.spare[from] > 0 {
                    return self.shift(from, user, missing, &reached_by, &gives_up);
                }
                for (other, taken) in self.taken.iter().enumerate().skip(from + 1) {
                    let is_new = other != user && gives_up[other] == usize::MAX;
                    if is_new && taken.iter().any(|t| t.0 == from && t.1 > 0) {
                        gives_up[other] = from;
                        queue.push_back(other);
                    }
                }
            }
        }
        0
    }

    fn shift(
        &mut self,
        source: usize,
        user: usize,
        missing: u64,
        reached_by: &[usize],
        gives_up: &[usize],
    ) -> u64 {
        let mut steps = vec![(source, reached_by[source])];
        while steps[steps.len() - 1].1 != user {
            let from = gives_up[steps[steps.len() - 1].1];
            steps.push((from, reached_by[from]));
        }
        let given = steps[..steps.len() - 1].iter().map(|&(_, taker)| {
            let mut taken = self.taken[taker].iter();
            let given_up = taken.find(|taken| taken.0 == gives_up[taker]);
            given_up.map_or(0, |taken| taken.1)
        });
        let amount = given.fold(missing.min(self.spare[source]), u64::min);
        self.spare[source] -= amount;
        for &(from, taker) in &steps {
            if taker != user {
                let given_up = self.taken[taker]
                    .iter_mut()
                    .filter(|taken| taken.0 == gives_up[taker]);
                given_up.for_each(|taken| taken.1 -= amount);
            }
            match self.taken[taker].iter_mut().find(|taken| taken.0 == from) {
                Some(taken) => taken.1 += amount,
                None => self.taken[taker].push((from, amount)),
            }
        }
        amount
    }
}
