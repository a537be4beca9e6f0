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
use crate::knowledge::{KnowledgeRows, RowNumber, SlotNumber};
use crate::transfers::TransferSchedule;
use std::cell::OnceCell;

/// A message on an edge.
#[derive(Debug, Clone, Copy)]
pub(super) struct EdgeUser {
    pub(super) position: u32,
    /// The row of its knowledge.
    pub(super) row: RowNumber,
    /// All messages before this position, the place of the last barrier, are over.
    pub(super) met: u32,
}

/// The users of one edge.
pub(super) struct EdgeCrowd {
    width: u64,
    /// By chain: its slot. There are `width` from the first one on; further ones are added when
    /// they are needed.
    slots: Vec<SlotNumber>,
    users: Vec<ChainLink>,
    /// By chain: its last user.
    ends: Vec<ChainEnd>,
}

/// The chains whose last user is over: their number, the first one whose last user has the same
/// sender as the user that comes, and the one that was not continued for longest.
#[derive(Default)]
struct OverChains {
    count: usize,
    own: Option<usize>,
    oldest: Option<usize>,
}

/// A user and the place of the one before it on its chain.
struct ChainLink {
    position: u32,
    former: Option<u32>,
}

/// The last user of a chain, its sender, and its place in `users`.
#[derive(Clone, Copy)]
struct ChainEnd {
    position: u32,
    src: u32,
    place: u32,
}

impl EdgeCrowd {
    /// An edge without users, whose first chains have the slots from `first` on.
    pub(super) fn new(width: u64, first: SlotNumber) -> EdgeCrowd {
        EdgeCrowd {
            width,
            slots: (first..).take(width as usize).collect(),
            users: Vec::new(),
            ends: Vec::new(),
        }
    }

    /// Adds a user and returns the slot of its chain.
    ///
    /// # Errors
    /// The position of a former user if the edge may now carry too many.
    pub(super) fn admit(
        &mut self,
        user: EdgeUser,
        rows: &mut KnowledgeRows,
        history: &MessageHistory<'_>,
    ) -> Result<SlotNumber, u32> {
        let src = history.schedule.ends()[user.position as usize].src;
        let over = self.over(user, src, rows);
        if (self.ends.len() - over.count) as u64 >= self.width {
            let in_question = self.not_over(user, rows, history);
            if history.fewest_chains(&in_question) as u64 >= self.width {
                return Err(in_question[0]);
            }
        }
        // A user continues the chain of its sender, or else, if there are as many chains as the
        // width, the chain that was not continued for longest.
        let room = (self.ends.len() as u64) < self.width;
        let continued = over.own.or(over.oldest.filter(|_| !room));
        let former = continued.map(|chain| self.ends[chain].place);
        let end = ChainEnd {
            position: user.position,
            src,
            place: self.users.len() as u32,
        };
        self.users.push(ChainLink {
            position: user.position,
            former,
        });
        let chain = continued.unwrap_or(self.ends.len());
        match self.ends.get_mut(chain) {
            Some(former) => *former = end,
            None => self.ends.push(end),
        }
        if chain == self.slots.len() {
            self.slots.extend(rows.widen());
        }
        Ok(self.slots[chain])
    }

    /// The chains whose last user is over when `user`, which `src` sends, starts.
    fn over(&self, user: EdgeUser, src: u32, rows: &KnowledgeRows) -> OverChains {
        let mut over = OverChains::default();
        let mut add = |chain: usize| {
            let end = self.ends[chain];
            over.count += 1;
            if over.own.is_none() && end.src == src {
                over.own = Some(chain);
            }
            let oldest = over.oldest.map(|oldest| self.ends[oldest].position);
            if oldest.is_none_or(|position| end.position < position) {
                over.oldest = Some(chain);
            }
        };
        let foreseen = self.ends.len().min(self.width as usize);
        rows.visit_over(user.row, self.slots[0], foreseen as SlotNumber, &mut add);
        (foreseen..self.ends.len())
            .filter(|&chain| rows.is_over(user.row, self.slots[chain]))
            .for_each(add);
        over
    }

    /// The positions of all users that are not over when `user` starts, in order.
    fn not_over(
        &self,
        user: EdgeUser,
        rows: &KnowledgeRows,
        history: &MessageHistory<'_>,
    ) -> Vec<u32> {
        let former = |&at: &u32| self.users[at as usize].former;
        let position = |at: u32| self.users[at as usize].position;
        let unfinished =
            (0..self.ends.len()).filter(|&chain| !rows.is_over(user.row, self.slots[chain]));
        // Of each chain, the last users that were not asked about yet.
        let mut open: Vec<u32> = unfinished.map(|chain| self.ends[chain].place).collect();
        let (mut found, mut at_a_time) = (Vec::new(), 1);
        while !open.is_empty() {
            let chains: Vec<Vec<u32>> = open
                .iter()
                .map(|&last| {
                    std::iter::successors(Some(last), former)
                        .take(at_a_time)
                        .take_while(|&at| position(at) >= user.met)
                        .collect()
                })
                .collect();
            let mut asked: Vec<u32> = chains.iter().flatten().map(|&at| position(at)).collect();
            asked.sort_unstable();
            let over = history.over_before(user.position, &asked);
            open.clear();
            for chain in chains {
                // Users before one that is over are over, too: each follows the one before it on its chain.
                let passing = chain.iter().copied().take_while(|&at| {
                    asked
                        .binary_search(&position(at))
                        .is_ok_and(|place| !over[place])
                });
                let under_way: Vec<u32> = passing.collect();
                found.extend(under_way.iter().map(|&at| position(at)));
                if under_way.len() == at_a_time {
                    open.extend(under_way.last().and_then(former));
                }
            }
            // Each question is a walk through many messages: few of them have to reach the end of a chain.
            at_a_time *= 2;
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

    /// By message of `earlier`, ascending: true if it is over when the message at `position` starts.
    fn over_before(&self, position: u32, earlier: &[u32]) -> Vec<bool> {
        let mut all = earlier.to_vec();
        all.push(position);
        let known = &self.order_among(&all)[earlier.len()];
        (0..earlier.len())
            .map(|at| known[at / 64] >> (at % 64) & 1 == 1)
            .collect()
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
        // Each search looks at a message once, as a row of bits: whole words of what is known to lead nowhere are
        // skipped.
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
                    // An augmenting path (Berge 1957): all on it change over, and there is one pair more.
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
