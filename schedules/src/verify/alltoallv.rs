//! An all-to-all of different sizes: every block once, and edges within their rates whatever the pace of the hosts.
//!
//! Source: Dilworth's theorem with weights: what may be under way together on an edge is an antichain of the order that the
//! synchronizations make, and the heaviest one weighs as much as the fewest chains that carry all its users.
//! Guarantee: exact; a message takes of every edge what the slowest one on its path carries.
//! Cost: O(messages * synchronizations / 64 + users of an edge), more where chains have to be found anew.
use super::{Named, NamedEdge, Names, Violation};
use crate::alltoallv::{Alltoallv, Block};
use crate::message::{Message, Sync};
use inventory::Bytes;
use inventory::tree::{Edge, Tree};
use std::collections::HashMap;

/// What can be wrong with an all-to-all of different sizes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AlltoallvViolation {
    /// A block that nobody asked for, that comes twice, or of another size.
    #[error("message {message}: sent with {sent} bytes, asked for {wanted}")]
    Size {
        /// The message.
        message: Named,
        /// In all its blocks, as scheduled.
        sent: u64,
        /// As in the matrix.
        wanted: u64,
    },
    /// A synchronization that cannot be carried out.
    #[error("synchronization {after} before {before}: {problem}")]
    Sync {
        /// The earlier message.
        after: Named,
        /// The message that waits.
        before: Named,
        /// What is wrong.
        problem: &'static str,
    },
    /// More may be under way than an edge carries.
    #[error("edge {edge}: {message} may start while others leave it no room; no synchronization orders them")]
    Crowded {
        /// The edge.
        edge: NamedEdge,
        /// The first message without room.
        message: Named,
    },
    /// The certificate is wrong.
    #[error("bound: says {load} bytes over edge {edge}; {truth}")]
    Bound {
        /// As stated.
        load: u64,
        /// As stated.
        edge: NamedEdge,
        /// What is right.
        truth: String,
    },
}

/// Checks a plan against the tree of its hosts and `sizes[src * hosts + dst]` octets.
///
/// # Errors
/// The first [`Violation`].
pub fn alltoallv(tree: &Tree, sizes: &[Bytes], plan: &Alltoallv) -> Result<(), Violation> {
    let names = Names(tree);
    names.same_hosts(&plan.hosts)?;
    every_block_once(&names, sizes, &plan.messages)?;
    bound_is_true(&names, plan)?;
    let over = Over::new(&names, plan)?;
    edges_keep_their_rates(&names, plan, &over)?;
    Ok(())
}

fn every_block_once(names: &Names<'_>, sizes: &[Bytes], messages: &[Block]) -> Result<(), AlltoallvViolation> {
    let hosts = names.0.hosts();
    let pair = |m: &Message| (m.src * hosts + m.dst) as usize;
    let mut sent = vec![0u64; (hosts as usize).pow(2)];
    for Block { message, bytes } in messages {
        if message.src >= hosts || message.dst >= hosts || message.src == message.dst || bytes.0 == 0 {
            return Err(AlltoallvViolation::Size { message: names.of(*message), sent: bytes.0, wanted: 0 });
        }
        let sum = &mut sent[pair(message)];
        if std::mem::replace(sum, sum.saturating_add(bytes.0)) > 0 {
            return Err(AlltoallvViolation::Size {
                message: names.of(*message),
                sent: *sum,
                wanted: sizes.get(pair(message)).map_or(0, |b| b.0),
            });
        }
    }
    for (number, &sent) in sent.iter().enumerate() {
        let (src, dst) = (number as u32 / hosts, number as u32 % hosts);
        let wanted = if src == dst { 0 } else { sizes.get(number).map_or(0, |b| b.0) };
        if sent != wanted {
            return Err(AlltoallvViolation::Size { message: names.of(Message { src, dst }), sent, wanted });
        }
    }
    Ok(())
}

fn bound_is_true(names: &Names<'_>, plan: &Alltoallv) -> Result<(), AlltoallvViolation> {
    let tree = names.0;
    let mut load = vec![0u128; tree.edges() as usize];
    for block in &plan.messages {
        tree.path(block.message.src, block.message.dst, |edge| load[edge as usize] += u128::from(block.bytes.0));
    }
    let stated = &plan.bound;
    let wrong = |truth: String| {
        let edge = NamedEdge { from: stated.edge.0.as_str().into(), to: stated.edge.1.as_str().into() };
        Err(AlltoallvViolation::Bound { load: stated.load.0, edge, truth })
    };
    if plan.messages.is_empty() {
        return if stated.load.0 == 0 { Ok(()) } else { wrong("nothing is sent".to_owned()) };
    }
    let is_stated = |&edge: &Edge| tree.ends(edge).is_some_and(|(a, b)| tree.name(a) == stated.edge.0 && tree.name(b) == stated.edge.1);
    let Some(edge) = (0..tree.edges()).find(is_stated) else { return wrong("there is no such edge".to_owned()) };
    if load[edge as usize] != u128::from(stated.load.0) || tree.rate(edge / 2) != stated.rate {
        return wrong(format!("it carries {} at {}", load[edge as usize], tree.rate(edge / 2)));
    }
    let longer =
        |&other: &Edge| load[other as usize] * u128::from(stated.rate.0) > load[edge as usize] * u128::from(tree.rate(other / 2).0.max(1));
    // Times are compared to the picosecond when planning, exactly here: equal but for rounding is equal.
    let by_much = |&other: &Edge| {
        let time = |e: Edge| load[e as usize] * 8_000_000_000_000 / u128::from(tree.rate(e / 2).0.max(1));
        time(other) > time(edge)
    };
    match (0..tree.edges()).filter(longer).find(by_much) {
        Some(other) => wrong(format!("edge {} takes longer", names.edge(other))),
        None => Ok(()),
    }
}

/// Which messages are over when another one starts: a set of bits for each.
struct Over {
    words: usize,
    bits: Vec<u64>,
}

impl Over {
    fn new(names: &Names<'_>, plan: &Alltoallv) -> Result<Over, AlltoallvViolation> {
        let number = plan.messages.len();
        let position: HashMap<Message, usize> = plan.messages.iter().enumerate().map(|(i, block)| (block.message, i)).collect();
        let mut waits: Vec<Vec<usize>> = vec![Vec::new(); number];
        for sync in &plan.syncs {
            let (after, before) = carried_out(names, &position, sync)?;
            waits[before].push(after);
        }
        let words = number.div_ceil(64);
        let mut bits = vec![0u64; words * number];
        for (message, waits) in waits.iter().enumerate() {
            let (known, own) = bits.split_at_mut(message * words);
            for &after in waits {
                own.iter_mut().zip(&known[after * words..][..words]).for_each(|(own, known)| *own |= known);
                own[after / 64] |= 1 << (after % 64);
            }
        }
        Ok(Over { words, bits })
    }

    fn before(&self, earlier: usize, later: usize) -> bool {
        self.bits[later * self.words + earlier / 64] & (1 << (earlier % 64)) != 0
    }
}

/// The two messages' positions. Never backwards, so no circle either.
fn carried_out(names: &Names<'_>, position: &HashMap<Message, usize>, sync: &Sync) -> Result<(usize, usize), AlltoallvViolation> {
    let own = sync.from == sync.to && sync.after.src == sync.before.src;
    let problem = match (position.get(&sync.after), position.get(&sync.before)) {
        (None, _) | (_, None) => "no such message",
        (Some(after), Some(before)) if after >= before => "it does not point to a later message",
        _ if sync.to != sync.before.src => "awaited by another host than the sender",
        _ if !own && sync.from != sync.after.dst => "not told by the receiver of the earlier message",
        (Some(&after), Some(&before)) => return Ok((after, before)),
    };
    Err(AlltoallvViolation::Sync { after: names.of(sync.after), before: names.of(sync.before), problem })
}

fn edges_keep_their_rates(names: &Names<'_>, plan: &Alltoallv, over: &Over) -> Result<(), AlltoallvViolation> {
    let tree = names.0;
    let mut edges: Vec<Chains> = (0..tree.edges()).map(|e| Chains::new(tree.rate(e / 2).0.max(1))).collect();
    for (number, block) in plan.messages.iter().enumerate() {
        let (mut path, mut rate) = (Vec::new(), u64::MAX);
        tree.path(block.message.src, block.message.dst, |edge| {
            path.push(edge);
            rate = rate.min(tree.rate(edge / 2).0.max(1));
        });
        for edge in path {
            if !edges[edge as usize].admit(number, rate, over) {
                return Err(AlltoallvViolation::Crowded { edge: names.edge(edge), message: names.of(block.message) });
            }
        }
    }
    Ok(())
}

/// The users of an edge, each of which takes over what it needs from users that are over: a flow from the earlier to the later.
struct Chains {
    /// Message of each user; the first is the idle edge, which is over before all.
    users: Vec<usize>,
    /// What each user's end leaves that nobody took over.
    spare: Vec<u64>,
    /// From whom each user took how much.
    taken: Vec<Vec<(usize, u64)>>,
    /// Users with something to spare.
    open: Vec<usize>,
}

impl Chains {
    fn new(rate: u64) -> Chains {
        Chains { users: vec![usize::MAX], spare: vec![rate], taken: vec![Vec::new()], open: vec![0] }
    }

    fn may_take(&self, from: usize, user: usize, over: &Over) -> bool {
        from == 0 || (from < user && over.before(self.users[from], self.users[user]))
    }

    fn admit(&mut self, message: usize, rate: u64, over: &Over) -> bool {
        let user = self.users.len();
        self.users.push(message);
        self.spare.push(0);
        self.taken.push(Vec::new());
        let mut missing = rate;
        for i in 0..self.open.len() {
            let from = self.open[i];
            if missing > 0 && self.may_take(from, user, over) {
                let amount = missing.min(self.spare[from]);
                self.spare[from] -= amount;
                self.taken[user].push((from, amount));
                missing -= amount;
            }
        }
        while missing > 0 {
            match self.rearrange(user, missing, over) {
                0 => return false,
                amount => missing -= amount,
            }
        }
        self.spare[user] = rate;
        self.open.push(user);
        let spare = &self.spare;
        self.open.retain(|&from| spare[from] > 0);
        true
    }

    /// Finds more for `user` by letting others take from elsewhere: a shortest augmenting path. Zero: there is none.
    fn rearrange(&mut self, user: usize, missing: u64, over: &Over) -> u64 {
        // For each source reached the taker that reached it, for each taker the source it would give up.
        let (mut reached_by, mut gives_up) = (vec![usize::MAX; self.users.len()], vec![usize::MAX; self.users.len()]);
        let mut queue = std::collections::VecDeque::from([user]);
        while let Some(taker) = queue.pop_front() {
            for from in 0..taker {
                if reached_by[from] != usize::MAX || !self.may_take(from, taker, over) {
                    continue;
                }
                reached_by[from] = taker;
                if self.spare[from] > 0 {
                    return self.shift(from, user, missing, &reached_by, &gives_up);
                }
                let takers = self.taken.iter().enumerate().skip(from + 1);
                for (other, _) in takers.filter(|(_, taken)| taken.iter().any(|&(f, amount)| f == from && amount > 0)) {
                    if other != user && gives_up[other] == usize::MAX {
                        gives_up[other] = from;
                        queue.push_back(other);
                    }
                }
            }
        }
        0
    }

    fn shift(&mut self, source: usize, user: usize, missing: u64, reached_by: &[usize], gives_up: &[usize]) -> u64 {
        let mut steps = vec![(source, reached_by[source])];
        while steps[steps.len() - 1].1 != user {
            let from = gives_up[steps[steps.len() - 1].1];
            steps.push((from, reached_by[from]));
        }
        let held = |taker: usize, from: usize| self.taken[taker].iter().find(|t| t.0 == from).map_or(0, |t| t.1);
        let given = steps[..steps.len() - 1].iter().map(|&(_, taker)| held(taker, gives_up[taker]));
        let amount = given.fold(missing.min(self.spare[source]), u64::min);
        self.spare[source] -= amount;
        for &(from, taker) in &steps {
            if taker != user {
                self.taken[taker].iter_mut().filter(|t| t.0 == gives_up[taker]).for_each(|t| t.1 -= amount);
            }
            match self.taken[taker].iter_mut().find(|t| t.0 == from) {
                Some(taken) => taken.1 += amount,
                None => self.taken[taker].push((from, amount)),
            }
        }
        amount
    }
}
