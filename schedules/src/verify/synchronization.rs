//! The check that the synchronizations of an all-to-all keep every edge within its width.
//!
//! Source: aapc-2007 section 5; for edges wider than one message Dilworth's theorem. Input: an
//! all-to-all whose messages come once each and fit the edges phase by phase. Guarantee: no edge
//! can have more messages under way than it is wide, whatever the pace of the hosts. This follows
//! from the synchronizations and the senders' own order: a sender starts the messages of a phase
//! when all its messages of earlier phases are over. The check is exact: `Ok` if and only if that
//! holds. Cost: O(messages * (path length + hosts)), memory O(hosts²) and a clock per token under
//! way. Here a host counts as often as it sends messages at once. For wide edges see
//! [`wide_edges`]. Deviations: none.
#[cfg(test)]
mod tests;
mod tokens;
mod told;
mod wide_edges;

use super::delivery::NOWHERE;
use super::{NodeNames, ScheduleViolation};
use crate::alltoall::AlltoallSchedule;
use crate::capacities::EdgeCapacities;
use crate::knowledge::{KnowledgeRows, RowNumber, SlotNumber};
use crate::message::Synchronization;
use crate::synchronization::SyncKind;
use crate::synchronization::scheme::SyncScheme;
use crate::transfers::{PairNumbers, TransferSchedule, TransferWait};
use inventory::tree::{EdgeNumber, Tree};
use std::ops::Range;
use tokens::TokensByMessage;
use wide_edges::{EdgeCrowd, MessageHistory};

/// Checks the synchronizations of `plan`, which has the transfers of `schedule`. For a scheme that
/// only limits contention, or has no synchronization, it checks only that the tokens are possible.
pub(super) fn kept(
    names: &NodeNames<'_>,
    plan: &AlltoallSchedule,
    schedule: &TransferSchedule,
    pairs: &PairNumbers,
    capacities: &EdgeCapacities,
) -> Result<(), ScheduleViolation> {
    let mut waits = Vec::with_capacity(plan.syncs.len());
    for syncs in plan.syncs.chunks(LOOKED_UP) {
        let numbers = syncs
            .iter()
            .map(|sync| [sync.after, sync.before].map(|m| pairs.number(m)));
        // The look-ups miss the cache. Without the checks in between they overlap.
        let numbers: Vec<[Option<u32>; 2]> = numbers.collect();
        for (sync, ends) in syncs.iter().zip(numbers) {
            waits.push(can_be_carried_out(
                names,
                schedule,
                ends,
                sync,
                plan.scheme,
            )?);
        }
    }
    let meetings: Vec<usize> = (1..plan.phases.len())
        .filter(|&phase| plan.scheme.barrier_before(phase))
        .collect();
    if plan.scheme.keeps_all_apart() {
        widths_are_kept(names, schedule, &waits, &meetings, capacities)
    } else {
        Ok(())
    }
}

/// Tokens whose messages are looked up together.
const LOOKED_UP: usize = 128;

/// Checks that an end of the earlier message gives the token, that the sender of the later message
/// awaits it, and that it points to a later phase. So there are no cycles either.
fn can_be_carried_out(
    names: &NodeNames<'_>,
    schedule: &TransferSchedule,
    ends: [Option<u32>; 2],
    sync: &Synchronization,
    scheme: SyncScheme,
) -> Result<TransferWait, ScheduleViolation> {
    let [after, before] =
        ends.map(|number| number.map(|number| schedule.phase_of()[number as usize] as usize));
    let problem = match (after, before) {
        (None, _) | (_, None) => "no such message",
        (Some(after), Some(before)) if after >= before => "it does not point to a later phase",
        _ if sync.from != sync.after.src && sync.from != sync.after.dst => {
            "told by neither end of the earlier message"
        }
        _ if scheme.tokens() == SyncKind::None => "the schedule says it has none",
        _ if scheme.tokens() == SyncKind::Sender && sync.from != sync.after.src => {
            "the schedule says that senders tell"
        }
        _ if scheme.tokens() == SyncKind::Receiver && sync.from != sync.after.dst => {
            "the schedule says that receivers tell"
        }
        _ if sync.to != sync.before.src => "awaited by another host than the sender",
        _ if sync.from == sync.to => "a host tells itself",
        _ => {
            let [after, before] = ends.map(|number| number.unwrap_or(NOWHERE));
            return Ok(TransferWait {
                after,
                before,
                from: sync.from,
            });
        }
    };
    Err(ScheduleViolation::Sync {
        after: names.of(sync.after),
        after_phase: after.into(),
        before: names.of(sync.before),
        before_phase: before.into(),
        problem: problem.to_owned(),
    })
}

/// Schedules that send more messages at once are refused: the rows of bits would take more than a
/// gigabyte. [`crate::json::MAX_HOSTS`] hosts may send five each.
const MOST_AT_ONCE: u64 = 5 * 4_096;

/// A message on an edge.
#[derive(Debug, Clone, Copy)]
struct EdgeUser {
    position: u32,
    /// The row of its knowledge.
    row: RowNumber,
    /// All messages before this position, the place of the last barrier, are over.
    met: u32,
}

/// The kind of check that an edge needs.
enum EdgeWatch {
    /// None: its senders' own order keeps it within its width, or its users were told.
    Nothing,
    /// Its users come one after the other, in one chain with this slot.
    Last(SlotNumber, Option<u32>),
    /// It never has too many users at once.
    Crowd(Box<EdgeCrowd>),
}

/// Goes through the messages in order, each with what it knows to be over before it starts: what
/// its sender's messages of the phase before know, and what the messages know whose tokens it
/// awaits.
fn widths_are_kept(
    names: &NodeNames<'_>,
    schedule: &TransferSchedule,
    waits: &[TransferWait],
    meetings: &[usize],
    capacities: &EdgeCapacities,
) -> Result<(), ScheduleViolation> {
    let tokens = TokensByMessage::new(schedule, waits);
    let at_once = sent_at_once(schedule)?;
    let mut slots = 0;
    let mut watched = watches(names.0, capacities, &at_once, &mut slots);
    if !watched
        .iter()
        .any(|watch| matches!(watch, EdgeWatch::Crowd(_)))
    {
        // Without wide edges this mostly settles all.
        let in_order = told::in_order(names.0, schedule, &tokens, meetings, capacities);
        for (watch, _) in watched
            .iter_mut()
            .zip(in_order)
            .filter(|(_, in_order)| *in_order)
        {
            *watch = EdgeWatch::Nothing;
        }
        if watched
            .iter()
            .all(|watch| matches!(watch, EdgeWatch::Nothing))
        {
            return Ok(());
        }
    }
    let mut walk = OrderWalk {
        tree: names.0,
        schedule,
        history: MessageHistory::new(schedule, &tokens),
        tokens: &tokens,
        watched,
        rows: KnowledgeRows::new(slots as usize),
        senders: vec![None; schedule.hosts() as usize],
        carried: vec![NO_ROW; schedule.ends().len()],
        met: 0,
    };
    let mut meeting = meetings.iter().peekable();
    let mut first = 0;
    for of_phase in schedule.phase_of().chunk_by(|a, b| a == b) {
        let phase = of_phase[0] as usize;
        if meeting.next_if(|&&next| next <= phase).is_some() {
            walk.meet(first);
        }
        let end = first + of_phase.len() as u32;
        walk.phase(first..end)
            .map_err(|(edge, users)| unordered(names, schedule, capacities, edge, users))?;
        first = end;
    }
    Ok(())
}

/// No row.
const NO_ROW: RowNumber = RowNumber::MAX;

/// The place in the schedule up to which the order was checked.
struct OrderWalk<'a> {
    tree: &'a Tree,
    schedule: &'a TransferSchedule,
    tokens: &'a TokensByMessage,
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

/// An edge, and two of its users that can be too many.
type CrowdedEdge = (EdgeNumber, [u32; 2]);

impl OrderWalk<'_> {
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
            let m = self.schedule.ends()[position as usize];
            let awaited = self.tokens.to(position);
            let own = self.senders[m.src as usize].into_iter();
            let told = awaited.iter().map(|&after| self.carried[after as usize]);
            let row = self.rows.join(own.chain(told));
            let user = EdgeUser {
                position,
                row,
                met: self.met,
            };
            self.tree.path(m.src, m.dst, |edge| path.push(edge));
            for edge in path.drain(..) {
                let slot = self.use_edge(edge, user);
                slots.extend(slot.map_err(|former| (edge, [former, position]))?);
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
        let delivered = started.iter().flat_map(|one| self.tokens.to(one.position));
        for &after in delivered {
            self.rows.release(self.carried[after as usize]);
        }
        for one in started {
            self.rows.finish(one.row, &slots[first..one.slots]);
            first = one.slots;
            let tokens = self.tokens.after(one.position);
            self.rows.hold(one.row, tokens);
            self.carried[one.position as usize] = one.row;
        }
        for one in started {
            let src = self.schedule.ends()[one.position as usize].src as usize;
            self.senders[src] = Some(match self.senders[src] {
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

/// By host: the most messages that it sends in one phase.
fn sent_at_once(schedule: &TransferSchedule) -> Result<Vec<u64>, ScheduleViolation> {
    let hosts = schedule.hosts() as usize;
    let (mut most, mut now) = (vec![0u64; hosts], vec![(NOWHERE, 0u64); hosts]);
    for (m, &phase) in schedule.ends().iter().zip(schedule.phase_of()) {
        let (when, count) = &mut now[m.src as usize];
        *count = if *when == phase { *count + 1 } else { 1 };
        *when = phase;
        most[m.src as usize] = most[m.src as usize].max(*count);
    }
    let all = most.iter().sum::<u64>();
    if all > MOST_AT_ONCE {
        return Err(ScheduleViolation::AtOnce {
            slots: all as usize,
            most: MOST_AT_ONCE as usize,
        });
    }
    Ok(most)
}

fn unordered(
    names: &NodeNames<'_>,
    schedule: &TransferSchedule,
    capacities: &EdgeCapacities,
    edge: EdgeNumber,
    of: [u32; 2],
) -> ScheduleViolation {
    let [first, second] = of.map(|position| names.of(schedule.ends()[position as usize]));
    let [first_phase, second_phase] =
        of.map(|position| schedule.phase_of()[position as usize] as usize);
    match capacities.width(edge) {
        1 => ScheduleViolation::Unordered {
            edge: names.edge(edge),
            first,
            first_phase,
            second,
            second_phase,
        },
        width => ScheduleViolation::Crowded {
            edge: names.edge(edge),
            width: width as u32,
            first,
            first_phase,
            second,
            second_phase,
        },
    }
}

/// The check of each edge. `slots` counts the chains' slots.
fn watches(
    tree: &Tree,
    capacities: &EdgeCapacities,
    sent_at_once: &[u64],
    slots: &mut SlotNumber,
) -> Vec<EdgeWatch> {
    let mut below = sent_at_once.to_vec();
    below.resize(tree.nodes() as usize, 0);
    for &v in tree.top_down().iter().rev() {
        if let Some(parent) = tree.parent(v) {
            below[parent as usize] += below[v as usize];
        }
    }
    let mut watch = |edge: EdgeNumber| {
        let at_once = if edge.is_multiple_of(2) {
            below[edge as usize / 2]
        } else {
            below[tree.root() as usize] - below[edge as usize / 2]
        };
        match capacities.width(edge) {
            width if at_once <= width => EdgeWatch::Nothing,
            width => {
                let first = *slots;
                *slots += width as SlotNumber;
                match width {
                    1 => EdgeWatch::Last(first, None),
                    _ => EdgeWatch::Crowd(Box::new(EdgeCrowd::new(width, first))),
                }
            }
        }
    };
    (0..tree.edges())
        .map(|edge| {
            if tree.ends(edge).is_some() {
                watch(edge)
            } else {
                EdgeWatch::Nothing
            }
        })
        .collect()
}
