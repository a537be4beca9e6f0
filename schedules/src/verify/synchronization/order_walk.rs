//! The check of the edges that the quick half leaves open.
//!
//! The messages are gone through in order, each with what it knows to be over before it starts:
//! what its sender's messages of the phase before know, and what the messages know whose tokens it
//! awaits. Whether an edge keeps its width depends on the bits of its own chains only. So threads
//! share the edges out, and each goes through all messages with the bits of its own edges.
use super::tokens::TokensByMessage;
use super::wide_edges::{EdgeCrowd, EdgeUser, MessageHistory};
use crate::knowledge::{KnowledgeRows, RowNumber, SlotNumber};
use crate::transfers::TransferSchedule;
use inventory::tree::{EdgeNumber, NodeNumber, Tree};
use std::ops::Range;

/// Messages on a tree, and all that orders them.
#[derive(Clone, Copy)]
pub(super) struct MessageOrders<'a> {
    pub(super) tree: &'a Tree,
    pub(super) schedule: &'a TransferSchedule,
    pub(super) tokens: &'a TokensByMessage,
    /// The phases before which all hosts meet.
    pub(super) meetings: &'a [usize],
    /// By host: the most messages that it sends in one phase.
    pub(super) sent_at_once: &'a [u64],
}

/// Two users of an edge that can be too many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CrowdedEdge {
    /// The later user, and the place of the edge on its path.
    pub(super) position: u32,
    pub(super) step: usize,
    pub(super) edge: EdgeNumber,
    pub(super) users: [u32; 2],
}

/// The first of the asked edges, in the order of messages and on their paths, on which too many
/// messages can be under way. The result does not depend on the number of threads.
pub(super) fn first_crowded(
    order: MessageOrders<'_>,
    asked: &[Option<u64>],
    threads: usize,
) -> Option<CrowdedEdge> {
    if asked.iter().all(Option::is_none) {
        return None;
    }
    let part = |part: usize| {
        let widths: Vec<Option<u64>> = asked
            .iter()
            .enumerate()
            .map(|(edge, width)| width.filter(|_| edge / 2 % threads == part))
            .collect();
        OrderWalk::new(order, &widths).run().err()
    };
    if threads == 1 {
        return part(0);
    }
    let found: Vec<Option<CrowdedEdge>> = std::thread::scope(|scope| {
        let part = &part;
        let running: Vec<_> = (0..threads)
            .map(|number| scope.spawn(move || part(number)))
            .collect();
        let results = running.into_iter().map(|thread| {
            thread
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        results.collect()
    });
    let crowded = found.into_iter().flatten();
    crowded.min_by_key(|crowded| (crowded.position, crowded.step))
}

/// The kind of check that an edge needs.
enum EdgeWatch {
    /// None: it cannot overflow, its users were notified, or another thread watches it.
    Nothing,
    /// Its users come one after the other, in one chain with this slot.
    Last(SlotNumber, Option<u32>),
    /// It never has too many users at once.
    Crowd(Box<EdgeCrowd>),
}

const NO_ROW: RowNumber = RowNumber::MAX;

/// The place in the schedule up to which the order was checked.
struct OrderWalk<'a> {
    order: MessageOrders<'a>,
    history: MessageHistory<'a>,
    watched: Vec<EdgeWatch>,
    rows: KnowledgeRows,
    /// By host: what its messages of the last phase in which it sent know together.
    senders: Vec<Option<RowNumber>>,
    /// By message: the row that its tokens carry.
    carried: Vec<RowNumber>,
    /// All messages before this position, the place of the last barrier, are over.
    met: u32,
}

/// A message of the phase under way, its row, and the end of its slots in the list of all.
struct StartedMessage {
    position: u32,
    row: RowNumber,
    slots: usize,
}

impl<'a> OrderWalk<'a> {
    /// A walk that watches the edges whose widths are given.
    fn new(order: MessageOrders<'a>, widths: &[Option<u64>]) -> OrderWalk<'a> {
        let mut slots = 0;
        let watches = widths.iter().map(|width| {
            let Some(width) = *width else {
                return EdgeWatch::Nothing;
            };
            let first = slots;
            slots += width as SlotNumber;
            match width {
                1 => EdgeWatch::Last(first, None),
                _ => EdgeWatch::Crowd(Box::new(EdgeCrowd::new(width, first))),
            }
        });
        let watched = watches.collect();
        OrderWalk {
            order,
            history: MessageHistory::new(order.schedule, order.tokens),
            watched,
            rows: KnowledgeRows::new(slots as usize),
            senders: vec![None; order.schedule.hosts() as usize],
            carried: vec![NO_ROW; order.schedule.ends().len()],
            met: 0,
        }
    }

    fn run(mut self) -> Result<(), CrowdedEdge> {
        let mut meeting = self.order.meetings.iter().peekable();
        let mut first = 0;
        for of_phase in self.order.schedule.phase_of().chunk_by(|a, b| a == b) {
            if meeting
                .next_if(|&&next| next <= of_phase[0] as usize)
                .is_some()
            {
                self.meet(first);
            }
            let end = first + of_phase.len() as u32;
            self.phase(first..end)?;
            first = end;
        }
        Ok(())
    }

    /// All hosts meet in a barrier before the message at this position.
    fn meet(&mut self, position: u32) {
        self.met = position;
        let everything = self.rows.everything();
        self.rows.hold(everything, self.senders.len() as u32);
        for sender in &mut self.senders {
            if let Some(former) = sender.replace(everything) {
                self.rows.release(former);
            }
        }
        self.rows.release(everything);
    }

    /// Checks the messages of a phase.
    fn phase(&mut self, positions: Range<u32>) -> Result<(), CrowdedEdge> {
        let mut started = Vec::with_capacity(positions.len());
        let (mut slots, mut path) = (Vec::new(), Vec::new());
        for position in positions {
            let m = self.order.schedule.ends()[position as usize];
            let row = self.known_to(m.src, position);
            let user = EdgeUser {
                position,
                row,
                met: self.met,
            };
            self.order.tree.path(m.src, m.dst, |edge| path.push(edge));
            for (step, edge) in path.drain(..).enumerate() {
                let slot = self.use_edge(edge, user);
                slots.extend(slot.map_err(|former| CrowdedEdge {
                    position,
                    step,
                    edge,
                    users: [former, position],
                })?);
            }
            started.push(StartedMessage {
                position,
                row,
                slots: slots.len(),
            });
        }
        self.finish(&started, &slots);
        Ok(())
    }

    /// The row of a message. A message that awaits no token knows what its sender does, and takes
    /// its row over if nobody else reads it.
    fn known_to(&mut self, src: NodeNumber, position: u32) -> RowNumber {
        let awaited = self.order.tokens.to(position);
        let own = self.senders[src as usize];
        let alone = awaited.is_empty() && self.order.sent_at_once[src as usize] == 1;
        match own.filter(|&own| alone && self.rows.is_held_once(own)) {
            Some(own) => own,
            None => {
                let notified = awaited.iter().map(|&after| self.carried[after as usize]);
                self.rows.join(own.into_iter().chain(notified))
            }
        }
    }

    /// Adds a user to an edge, and returns its slot if the edge is watched.
    fn use_edge(&mut self, edge: EdgeNumber, user: EdgeUser) -> Result<Option<SlotNumber>, u32> {
        let slot = match &mut self.watched[edge as usize] {
            EdgeWatch::Nothing => return Ok(None),
            EdgeWatch::Last(slot, last) => {
                let former = last.replace(user.position);
                if let Some(former) = former.filter(|_| !self.rows.is_over(user.row, *slot)) {
                    return Err(former);
                }
                *slot
            }
            EdgeWatch::Crowd(crowd) => crowd.admit(user, &mut self.rows, &self.history)?,
        };
        self.rows.take(slot);
        Ok(Some(slot))
    }

    /// The messages of the phase under way are over.
    fn finish(&mut self, started: &[StartedMessage], slots: &[SlotNumber]) {
        let mut first = 0;
        let delivered = started
            .iter()
            .flat_map(|one| self.order.tokens.to(one.position));
        for &after in delivered {
            self.rows.release(self.carried[after as usize]);
        }
        for one in started {
            self.rows.finish(one.row, &slots[first..one.slots]);
            first = one.slots;
            let tokens = self.order.tokens.after(one.position);
            self.rows.hold(one.row, tokens);
            self.carried[one.position as usize] = one.row;
        }
        for one in started {
            let src = self.order.schedule.ends()[one.position as usize].src as usize;
            self.senders[src] = Some(match self.senders[src] {
                Some(same) if same == one.row => same,
                Some(other) if self.rows.is_of_this_phase(other) => {
                    self.rows.both([other, one.row])
                }
                former => {
                    former
                        .into_iter()
                        .for_each(|former| self.rows.release(former));
                    one.row
                }
            });
        }
        self.rows.next_phase();
    }
}
