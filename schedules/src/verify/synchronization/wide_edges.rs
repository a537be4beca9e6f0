//! Edges that carry several messages at once.
//!
//! A message may be under way together with those former users of the edge that are not known to be
//! over when it starts. The largest number of them that can be under way together is an antichain
//! of the order. By Dilworth's theorem it equals the smallest number of chains that contain them
//! all. The edge keeps its width if and only if, for every user, this number is less than the
//! width.
//!
//! A quick test settles most cases. All users so far are kept in chains: each user continues a
//! chain whose end is over, or begins a new one. Users that may be under way lie on the chains
//! whose ends are not over. If there are fewer such chains than the width, the edge keeps its
//! width; this takes O(width). Otherwise the smallest number of chains is computed: the order of
//! the users in question, by a walk through all messages since the first of them, then a maximum
//! matching. A good choice of the chain to continue makes this rare.
use super::super::delivery::NOWHERE;
use super::tokens::TokensByMessage;
use super::{EdgeUser, FinishedBefore};
use crate::transfers::TransferSchedule;
use std::cell::OnceCell;

/// The users of one edge.
pub(super) struct EdgeCrowd {
    width: u64,
    users: Vec<ChainLink>,
    /// The last user of each chain.
    ends: Vec<u32>,
}

/// A user and the one before it on its chain.
struct ChainLink {
    user: EdgeUser,
    former: Option<u32>,
}

impl EdgeCrowd {
    pub(super) fn new(width: u64) -> EdgeCrowd {
        EdgeCrowd {
            width,
            users: Vec::new(),
            ends: Vec::new(),
        }
    }

    /// Adds a user. Returns the position of a former user if the edge may now carry too many.
    /// `known` has the messages that are over before the user starts.
    pub(super) fn admit(
        &mut self,
        user: EdgeUser,
        known: FinishedBefore<'_>,
        history: &MessageHistory<'_>,
    ) -> Option<u32> {
        let over = |end: u32| self.users[end as usize].user.is_over(known);
        if self.ends.iter().filter(|&&end| !over(end)).count() as u64 >= self.width {
            let in_question = self.not_over(known);
            if history.fewest_chains(&in_question) as u64 >= self.width {
                return in_question.first().copied();
            }
        }
        let continued = self.best_to_continue(user, known);
        let former = continued.map(|chain| self.ends[chain]);
        let number = self.users.len() as u32;
        self.users.push(ChainLink { user, former });
        match continued {
            Some(chain) => self.ends[chain] = number,
            None => self.ends.push(number),
        }
        None
    }

    /// The chain that the user should continue, if there is one: the chain of its sender, or else,
    /// if there are as many chains as the width, the chain that was not continued for longest.
    fn best_to_continue(&self, user: EdgeUser, known: FinishedBefore<'_>) -> Option<usize> {
        let end = |chain: &usize| self.users[self.ends[*chain] as usize].user;
        let over = || (0..self.ends.len()).filter(|chain| end(chain).is_over(known));
        let own = over().find(|chain| end(chain).src == user.src);
        let room = (self.ends.len() as u64) < self.width;
        own.or_else(|| {
            if room {
                None
            } else {
                over().min_by_key(|chain| end(chain).position)
            }
        })
    }

    /// The positions of all users that are not over, in order.
    fn not_over(&self, known: FinishedBefore<'_>) -> Vec<u32> {
        let mut found = Vec::new();
        for &end in &self.ends {
            let mut at = Some(end);
            while let Some(link) = at
                .map(|at| &self.users[at as usize])
                .filter(|link| !link.user.is_over(known))
            {
                found.push(link.user.position);
                at = link.former;
            }
        }
        found.sort_unstable();
        found
    }
}

/// The direct predecessors of messages, for the cases that chains leave open.
pub(super) struct MessageHistory<'a> {
    schedule: &'a TransferSchedule,
    tokens: &'a TokensByMessage,
    /// By position: the position of the sender's message before. It is rarely needed.
    former: OnceCell<Vec<u32>>,
}

impl<'a> MessageHistory<'a> {
    pub(super) fn new(
        schedule: &'a TransferSchedule,
        tokens: &'a TokensByMessage,
    ) -> MessageHistory<'a> {
        MessageHistory {
            schedule,
            tokens,
            former: OnceCell::new(),
        }
    }

    fn former(&self, position: u32) -> u32 {
        let all = self.former.get_or_init(|| {
            let mut latest = vec![NOWHERE; self.schedule.hosts() as usize];
            let senders = self.schedule.ends().iter().map(|m| m.src as usize);
            senders
                .zip(0u32..)
                .map(|(src, position)| std::mem::replace(&mut latest[src], position))
                .collect()
        });
        all[position as usize]
    }

    /// The smallest number of chains that these messages form, given their order. Each chain has
    /// exactly one message that follows no other of its chain.
    fn fewest_chains(&self, positions: &[u32]) -> usize {
        positions.len() - matching(&self.order_among(positions))
    }

    /// By message: those of `positions`, ascending, that are over when it starts.
    fn order_among(&self, positions: &[u32]) -> Vec<Vec<u64>> {
        let mut order = vec![Vec::with_capacity(positions.len().div_ceil(64)); positions.len()];
        let last = positions.last().map_or(0, |&last| last);
        for some in positions.chunks(64) {
            let first = some[0];
            // By position from the first: those of these messages that are over when the message is
            // over.
            let mut over: Vec<u64> = Vec::with_capacity((last - first) as usize + 1);
            let begin = positions.partition_point(|&one| one < first);
            order[..begin].iter_mut().for_each(|bits| bits.push(0));
            let mut asked = (begin..positions.len()).peekable();
            let mut own = some.iter().zip(0..).peekable();
            for position in first..=last {
                let mut known = 0u64;
                self.direct(position, |earlier| {
                    known |= earlier.checked_sub(first).map_or(0, |at| over[at as usize])
                });
                if let Some(v) = asked.next_if(|&v| positions[v] == position) {
                    order[v].push(known);
                }
                let itself = own
                    .next_if(|&(&one, _)| one == position)
                    .map_or(0, |(_, bit)| 1 << bit);
                over.push(known | itself);
            }
        }
        order
    }

    /// The messages that a message follows directly, by tokens and by its sender's own order.
    fn direct(&self, position: u32, mut visit: impl FnMut(u32)) {
        self.tokens
            .to(position)
            .iter()
            .for_each(|&after| visit(after));
        let phase = |at: u32| self.schedule.phase_of().get(at as usize);
        let mut at = self.former(position);
        while at != NOWHERE && phase(at) == phase(position) {
            at = self.former(at);
        }
        let before = phase(at);
        while at != NOWHERE && phase(at) == before {
            visit(at);
            at = self.former(at);
        }
    }
}

/// The largest number of messages that can each be assigned a message they follow, all different.
/// `order[v]` has a bit for each message that `v` follows.
fn matching(order: &[Vec<u64>]) -> usize {
    const NONE: usize = usize::MAX;
    let mut follower = vec![NONE; order.len()];
    let mut followed = vec![NONE; order.len()];
    let mut reached_by = vec![NONE; order.len()];
    let mut matched = 0;
    for start in 0..order.len() {
        let mut open = vec![u64::MAX; order.len().div_ceil(64)];
        let mut search = vec![start];
        'search: while let Some(message) = search.pop() {
            for (word, bits) in order[message].iter().enumerate() {
                let mut bits = bits & open[word];
                open[word] &= !bits;
                while bits != 0 {
                    let earlier = word * 64 + bits.trailing_zeros() as usize;
                    bits &= bits - 1;
                    reached_by[earlier] = message;
                    if follower[earlier] != NONE {
                        search.push(follower[earlier]);
                        continue;
                    }
                    let mut free = earlier;
                    while free != NONE {
                        let message = reached_by[free];
                        follower[free] = message;
                        free = std::mem::replace(&mut followed[message], free);
                    }
                    matched += 1;
                    break 'search;
                }
            }
        }
    }
    matched
}
