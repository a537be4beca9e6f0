//! The order of the messages that use an edge.
//!
//! An edge of width `c` has `c` lanes. Each message takes one lane of every edge on its path and
//! follows that lane's former user. The users of a lane are in order, so never more than `c`
//! messages are under way. By Dilworth's theorem every order that keeps an edge within its width
//! consists of such lanes.
//!
//! Three kinds of lanes cost nothing: the sender's own former lane, an unused lane, and a lane
//! whose former user is known to be over by then. Only if there is none of these, the message
//! follows the lane that was not used for longest. Of the lanes that cost nothing, the one that was
//! not used for longest is taken, because later messages may know only of its user. An edge needs
//! no lanes if it cannot overflow while the others keep their widths
//! ([`EdgeCapacities::can_overflow`]).
use super::lane_requests::{EdgeTracking, LaneRequests, requests};
use super::messages::{NOBODY, PhaseMessages, SenderOrders};
use crate::batches::{BATCH, handed_on};
use crate::capacities::EdgeCapacities;
use crate::knowledge::{KnowledgeRows, RowNumber, SlotNumber};
use crate::message::Message;
use inventory::tree::Tree;

/// For each of some messages in a row those that it follows directly, latest first: former users of its lanes
/// that are not otherwise known to be over, and its sender's messages of the last phase in which
/// the sender was busy before.
pub(super) struct MessageOrder {
    /// First place of each message's entries; one more at the end.
    first: Vec<u32>,
    earlier: Vec<u32>,
}

impl MessageOrder {
    pub(super) fn earlier(&self, message: u32) -> &[u32] {
        &self.earlier
            [self.first[message as usize] as usize..self.first[message as usize + 1] as usize]
    }

    pub(super) fn len(&self) -> usize {
        self.first.len() - 1
    }

    /// The order of all messages.
    pub(super) fn whole(
        tree: &Tree,
        capacities: &EdgeCapacities,
        messages: &PhaseMessages,
    ) -> MessageOrder {
        let mut whole = MessageOrder::empty(messages.len());
        MessageOrder::in_batches(tree, capacities, messages, &mut |batch| {
            let before = whole.earlier.len() as u32;
            whole
                .first
                .extend(batch.first[1..].iter().map(|end| before + end));
            whole.earlier.extend(batch.earlier);
        });
        whole
    }

    /// Gives the order of all messages, batch by batch.
    pub(super) fn in_batches(
        tree: &Tree,
        capacities: &EdgeCapacities,
        messages: &PhaseMessages,
        give: &mut dyn FnMut(MessageOrder),
    ) {
        let senders = SenderOrders::new(tree.hosts(), messages);
        let kinds = kinds(tree, capacities, &senders);
        let mut slots = 0;
        let wide: Vec<EdgeLanes> = (0..tree.edges())
            .filter(|&edge| matches!(kinds[edge as usize], EdgeTracking::Wide(_)))
            .map(|edge| {
                let lanes = EdgeLanes::new(capacities.width(edge), slots);
                slots += lanes.width as SlotNumber;
                lanes
            })
            .collect();
        if wide.is_empty() {
            return on_narrow_edges(tree, messages, senders, &kinds, give);
        }
        let mut known = LaneKnowledge::new(slots as usize, messages.len());
        let (mut wide, mut in_order) = (wide, messages.in_order());
        handed_on(
            messages.len(),
            |give| requests(tree, messages, senders, &kinds, give),
            |batch| give(on_lanes(&batch, &mut in_order, &mut wide, &mut known)),
        );
    }

    fn empty(messages: usize) -> MessageOrder {
        let mut order = MessageOrder {
            first: Vec::with_capacity(messages + 1),
            earlier: Vec::with_capacity(2 * messages),
        };
        order.first.push(0);
        order
    }

    /// Adds the next message with the messages that it follows, and empties `follows`.
    fn push(&mut self, follows: &mut Vec<u32>) {
        follows.sort_unstable_by(|a, b| b.cmp(a));
        follows.dedup();
        self.earlier.append(follows);
        self.first.push(self.earlier.len() as u32);
    }
}

/// The order if no edge has several lanes: there is no choice of lanes, so no clocks are needed.
fn on_narrow_edges(
    tree: &Tree,
    messages: &PhaseMessages,
    mut senders: SenderOrders,
    kinds: &[EdgeTracking],
    give: &mut dyn FnMut(MessageOrder),
) {
    let mut last = vec![NOBODY; tree.edges() as usize];
    let mut order = MessageOrder::empty(BATCH);
    let mut found = Vec::new();
    for (number, m, phase, start) in messages.in_order() {
        senders.send(number, m.src, phase);
        found.extend(senders.previous_messages(m.src));
        tree.path(m.src, m.dst, |edge| {
            if kinds[edge as usize] == EdgeTracking::Narrow {
                found.push(std::mem::replace(&mut last[edge as usize], number));
            }
        });
        // Messages of one phase go at once. NOBODY, the greatest number, goes with them.
        found.retain(|&earlier| earlier < start);
        order.push(&mut found);
        if order.len() == BATCH {
            give(std::mem::replace(&mut order, MessageOrder::empty(BATCH)));
        }
    }
    give(order);
}

/// The order of the next messages, whose requests these are.
fn on_lanes(
    batch: &LaneRequests,
    in_order: &mut impl Iterator<Item = (u32, Message, u32, u32)>,
    wide: &mut [EdgeLanes],
    known: &mut LaneKnowledge,
) -> MessageOrder {
    let mut order = MessageOrder::empty(BATCH);
    let (mut found, mut choices) = (Vec::new(), Vec::new());
    for (request, (number, m, phase, start)) in batch.all().zip(in_order) {
        known.enter(phase);
        let follows = request.previous.iter().chain(request.former);
        found.extend(follows.copied().filter(|&earlier| earlier < start));
        let lanes = 1 + request.former.len() + request.wide.len();
        let row = known.begin(&found, lanes as u32);
        let certain = found.len();
        for &at in request.wide {
            let choice = wide[at as usize].choose(m.src, start, known, row);
            if choice == LaneChoice::Nothing
                && let Some(former) = wide[at as usize].oldest(start)
            {
                found.push(former);
                known.learn(row, former);
            }
            choices.push(choice);
        }
        // Lanes are taken once all edges have been asked: a user followed on one may show that another's is over.
        for (at, choice) in request.wide.iter().zip(choices.drain(..)) {
            let edge = &mut wide[*at as usize];
            let lane = edge.lane(choice, found.len() > certain, known, row, &found);
            known.forget(edge.take(lane, number, m.src));
            known.take(edge.first + lane as SlotNumber);
        }
        known.end(row);
        let left = request.gone.iter().chain(request.former);
        left.for_each(|&one| known.forget(one));
        order.push(&mut found);
    }
    order
}

/// Rows of bits are kept for at most so many messages times words of a row. Beyond, they would take
/// longer than all the rest, and a message knows only what it follows directly.
const MOST_WORDS: usize = 1 << 29;

/// The lanes whose last users are over before a message starts.
struct LaneKnowledge {
    is_kept: bool,
    rows: KnowledgeRows,
    /// The row of each message so far.
    row: Vec<RowNumber>,
    phase: u32,
    /// The rows of the messages of the phase under way, each with the end of its slots in `taken`.
    started: Vec<(RowNumber, usize)>,
    taken: Vec<SlotNumber>,
}

impl LaneKnowledge {
    fn new(slots: usize, messages: usize) -> LaneKnowledge {
        let is_kept = slots.div_ceil(64).saturating_mul(messages) <= MOST_WORDS;
        LaneKnowledge {
            is_kept,
            rows: KnowledgeRows::new(if is_kept { slots } else { 0 }),
            row: Vec::with_capacity(messages),
            phase: 0,
            started: Vec::new(),
            taken: Vec::new(),
        }
    }

    /// A message of this phase comes next.
    fn enter(&mut self, phase: u32) {
        if phase == self.phase || !self.is_kept {
            return;
        }
        let mut first = 0;
        for (row, end) in self.started.drain(..) {
            self.rows.finish(row, &self.taken[first..end]);
            first = end;
        }
        self.taken.clear();
        self.rows.next_phase();
        self.phase = phase;
    }

    /// Begins the row of the next message, which follows these. It is read until the message has left so
    /// many `lanes`, including that of its sender.
    fn begin(&mut self, follows: &[u32], lanes: u32) -> RowNumber {
        if !self.is_kept {
            return 0;
        }
        let earlier = follows.iter().map(|&earlier| self.row[earlier as usize]);
        let row = self.rows.join(earlier);
        self.rows.hold(row, lanes - 1);
        self.row.push(row);
        row
    }

    fn learn(&mut self, row: RowNumber, earlier: u32) {
        if self.is_kept {
            self.rows.learn(row, self.row[earlier as usize]);
        }
    }

    fn take(&mut self, slot: SlotNumber) {
        if self.is_kept {
            self.rows.take(slot);
            self.taken.push(slot);
        }
    }

    fn end(&mut self, row: RowNumber) {
        if self.is_kept {
            self.started.push((row, self.taken.len()));
        }
    }

    fn forget(&mut self, message: u32) {
        if self.is_kept && message != NOBODY {
            self.rows.release(self.row[message as usize]);
        }
    }
}

fn kinds(tree: &Tree, capacities: &EdgeCapacities, senders: &SenderOrders) -> Vec<EdgeTracking> {
    let sent_at_once: Vec<u64> = (0..tree.hosts())
        .map(|host| senders.width(host).into())
        .collect();
    let mut several = 0u32..;
    let can_overflow = capacities.can_overflow(tree, &sent_at_once).into_iter();
    (0..)
        .zip(can_overflow)
        .map(|(edge, can)| match capacities.width(edge) {
            _ if !can => EdgeTracking::Free,
            1 => EdgeTracking::Narrow,
            _ => EdgeTracking::Wide(several.next().unwrap_or(u32::MAX)),
        })
        .collect()
}

/// The lanes of one edge that have been used so far.
struct EdgeLanes {
    width: u64,
    /// The slot of the first lane; the others follow it.
    first: SlotNumber,
    /// By lane: its last user, and that message's sender.
    user: Vec<u32>,
    sender: Vec<u32>,
}

/// A lane that a message can take.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LaneChoice {
    /// Its sender's own former lane, or an unused one.
    Settled(usize),
    /// A lane whose last user is over. After more messages there may be an older one.
    Over(usize),
    /// None without a message to follow.
    Nothing,
}

impl EdgeLanes {
    fn new(width: u64, first: SlotNumber) -> EdgeLanes {
        EdgeLanes {
            width,
            first,
            user: Vec::new(),
            sender: Vec::new(),
        }
    }

    /// The lane for a message of `src`. By `row` it finds what is over; the phase's first message is
    /// `start`.
    fn choose(&self, src: u32, start: u32, known: &LaneKnowledge, row: RowNumber) -> LaneChoice {
        if let Some(lane) = self.own(src, start) {
            LaneChoice::Settled(lane)
        } else if (self.user.len() as u64) < self.width {
            LaneChoice::Settled(self.user.len())
        } else {
            let over = self.oldest_over(known, row, &[]);
            over.map_or(LaneChoice::Nothing, LaneChoice::Over)
        }
    }

    /// The lane that was not used for longest, by its last user, unless it is of the same phase.
    fn oldest(&self, start: u32) -> Option<u32> {
        self.user.iter().copied().min().filter(|&user| user < start)
    }

    /// The lane that a message takes, which may have learned more since its choice.
    fn lane(
        &self,
        choice: LaneChoice,
        has_learned: bool,
        known: &LaneKnowledge,
        row: RowNumber,
        found: &[u32],
    ) -> usize {
        match choice {
            LaneChoice::Settled(lane) => lane,
            LaneChoice::Over(lane) if !has_learned => lane,
            _ => self.oldest_over(known, row, found).unwrap_or(0),
        }
    }

    /// Gives a message a lane, and returns the lane's former user.
    fn take(&mut self, lane: usize, message: u32, src: u32) -> u32 {
        if lane == self.user.len() {
            self.user.push(message);
            self.sender.push(src);
            return NOBODY;
        }
        self.sender[lane] = src;
        std::mem::replace(&mut self.user[lane], message)
    }

    /// The lane of an earlier message of the same sender.
    fn own(&self, src: u32, start: u32) -> Option<usize> {
        if !self.sender.contains(&src) {
            return None;
        }
        (0..self.user.len()).find(|&lane| self.sender[lane] == src && self.user[lane] < start)
    }

    /// The lane that has been free for longest, among those whose last user is over as far as `row` shows.
    /// Without rows, only the messages of `found` are known to be over.
    fn oldest_over(&self, known: &LaneKnowledge, row: RowNumber, found: &[u32]) -> Option<usize> {
        if !known.is_kept {
            let users = found.iter().filter(|user| self.user.contains(user));
            let oldest = users.min()?;
            return self.user.iter().position(|user| user == oldest);
        }
        let mut oldest: Option<usize> = None;
        let rows = &known.rows;
        rows.visit_over(row, self.first, self.user.len() as SlotNumber, |lane| {
            if oldest.is_none_or(|other| self.user[lane] < self.user[other]) {
                oldest = Some(lane);
            }
        });
        oldest
    }
}
