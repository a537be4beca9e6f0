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
mod wide_edges;

use super::delivery::{Delivery, NOWHERE};
use super::{NodeNames, ScheduleViolation};
use crate::alltoall::AlltoallSchedule;
use crate::capacities::EdgeCapacities;
use crate::message::Synchronization;
use crate::synchronization::SyncKind;
use crate::synchronization::scheme::SyncScheme;
use crate::transfers::{TransferSchedule, TransferWait};
use inventory::tree::{EdgeNumber, Tree};
use tokens::{TokenClocks, TokensByMessage};
use wide_edges::{EdgeCrowd, MessageHistory};

/// Checks the synchronizations of `plan`, which has the transfers of `schedule`. For a scheme that
/// only limits contention, or has no synchronization, it checks only that the tokens are possible.
pub(super) fn kept(
    names: &NodeNames<'_>,
    plan: &AlltoallSchedule,
    schedule: &TransferSchedule,
    delivery: &Delivery<'_>,
    capacities: &EdgeCapacities,
) -> Result<(), ScheduleViolation> {
    let wait =
        |sync: &Synchronization| can_be_carried_out(names, schedule, delivery, sync, plan.scheme);
    let waits = plan.syncs.iter().map(wait).collect::<Result<Vec<_>, _>>()?;
    let meetings: Vec<usize> = (1..plan.phases.len())
        .filter(|&phase| plan.scheme.barrier_before(phase))
        .collect();
    if plan.scheme.keeps_all_apart() {
        widths_are_kept(names, schedule, &waits, &meetings, capacities)
    } else {
        Ok(())
    }
}

/// Checks that an end of the earlier message gives the token, that the sender of the later message
/// awaits it, and that it points to a later phase. So there are no cycles either.
fn can_be_carried_out(
    names: &NodeNames<'_>,
    schedule: &TransferSchedule,
    delivery: &Delivery<'_>,
    sync: &Synchronization,
    scheme: SyncScheme,
) -> Result<TransferWait, ScheduleViolation> {
    let ends = [sync.after, sync.before].map(|m| delivery.last(m));
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

/// The number of phases in which a sender is busy. Every pair is known to come once, so it is less
/// than the number of hosts; and 32 bits cannot number the messages of 65,536 hosts.
type SenderPhaseCount = u16;

/// Schedules that send more messages at once are refused: their clocks would take more than a
/// gigabyte. [`crate::json::MAX_HOSTS`] hosts may send five each.
const MOST_SLOTS: usize = 5 * 4_096;

/// A message on an edge: its position and sender, and the slot and the number of its step.
#[derive(Debug, Clone, Copy)]
struct EdgeUser {
    position: u32,
    src: u32,
    slot: u32,
    step: SenderPhaseCount,
}

impl EdgeUser {
    fn is_over(&self, known: FinishedBefore<'_>) -> bool {
        self.position < known.met || known.clock[self.slot as usize] >= self.step
    }
}

/// The messages that are over before a message starts.
#[derive(Debug, Clone, Copy)]
struct FinishedBefore<'a> {
    /// By slot: the number of steps that are over.
    clock: &'a [SenderPhaseCount],
    /// All messages before this position, the place of the last barrier, are over.
    met: u32,
}

/// The kind of check that an edge needs.
enum EdgeWatch {
    /// None: its senders' own order keeps it within its width.
    Nothing,
    /// Its users come one after the other.
    Last(Option<EdgeUser>),
    /// It never has too many users at once.
    Crowd(Box<EdgeCrowd>),
}

/// Goes through the messages in order with each sender's clock: the number of steps of every slot
/// that are over before its message starts. A token carries the clock of the message that it
/// follows.
fn widths_are_kept(
    names: &NodeNames<'_>,
    schedule: &TransferSchedule,
    waits: &[TransferWait],
    meetings: &[usize],
    capacities: &EdgeCapacities,
) -> Result<(), ScheduleViolation> {
    let tree = names.0;
    let tokens = TokensByMessage::new(schedule.ends().len(), waits);
    let mut senders = SenderClocks::new(schedule)?;
    let mut watched = watches(tree, capacities, &senders);
    let mut carried = TokenClocks::new(senders.slots(), schedule.ends().len());
    let history = MessageHistory::new(schedule, &tokens);
    let mut path = Vec::new();
    let mut meeting = meetings.iter().peekable();
    let mut met = 0;
    for (m, position) in schedule.ends().iter().copied().zip(0u32..) {
        while meeting
            .next_if(|&&phase| phase <= schedule.phase_of()[position as usize] as usize)
            .is_some()
        {
            met = position;
        }
        let (slot, step) = senders.start(m.src, schedule.phase_of()[position as usize]);
        let clock = senders.clock(slot);
        for &after in tokens.to(position) {
            carried.deliver(after, clock);
        }
        let user = EdgeUser {
            position,
            src: m.src,
            slot: slot as u32,
            step,
        };
        tree.path(m.src, m.dst, |edge| path.push(edge));
        let known = FinishedBefore { clock, met };
        for edge in path.drain(..) {
            let crowding = match &mut watched[edge as usize] {
                EdgeWatch::Nothing => None,
                EdgeWatch::Last(last) => last
                    .replace(user)
                    .filter(|last| !last.is_over(known))
                    .map(|last| last.position),
                EdgeWatch::Crowd(crowd) => crowd.admit(user, known, &history),
            };
            if let Some(first) = crowding {
                return Err(unordered(
                    names,
                    schedule,
                    capacities,
                    edge,
                    [first, position],
                ));
            }
        }
        clock[slot] = step;
        carried.take(position, tokens.after(position), clock);
    }
    Ok(())
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

fn watches(tree: &Tree, capacities: &EdgeCapacities, senders: &SenderClocks) -> Vec<EdgeWatch> {
    let mut below: Vec<u64> = (0..tree.nodes())
        .map(|v| if tree.is_host(v) { senders.width(v) } else { 0 })
        .collect();
    for &v in tree.top_down().iter().rev() {
        if let Some(parent) = tree.parent(v) {
            below[parent as usize] += below[v as usize];
        }
    }
    let watch = |edge: EdgeNumber| {
        let at_once = if edge.is_multiple_of(2) {
            below[edge as usize / 2]
        } else {
            senders.slots() as u64 - below[edge as usize / 2]
        };
        match capacities.width(edge) {
            width if at_once <= width => EdgeWatch::Nothing,
            1 => EdgeWatch::Last(None),
            width => EdgeWatch::Crowd(Box::new(EdgeCrowd::new(width))),
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

/// The knowledge of the senders. A *step* of a sender is a phase in which it sends; the messages of
/// a step take one *slot* each.
struct SenderClocks {
    /// First slot of each host; one more at the end.
    first: Vec<u32>,
    /// By host: phase, number and messages so far of its latest step.
    latest: Vec<(u32, SenderPhaseCount, u32)>,
    /// By slot: the messages that are over before its message of the latest step starts, then that
    /// message, too.
    clocks: Vec<SenderPhaseCount>,
}

impl SenderClocks {
    fn new(schedule: &TransferSchedule) -> Result<SenderClocks, ScheduleViolation> {
        let hosts = schedule.hosts();
        let (mut most, mut now) = (vec![0u32; hosts as usize], vec![0u32; hosts as usize]);
        let mut rest = schedule.ends();
        for of_phase in schedule.phase_of().chunk_by(|a, b| a == b) {
            let (messages, after) = rest.split_at(of_phase.len());
            rest = after;
            for m in messages {
                now[m.src as usize] += 1;
                most[m.src as usize] = most[m.src as usize].max(now[m.src as usize]);
            }
            messages.iter().for_each(|m| now[m.src as usize] = 0);
        }
        let mut first = vec![0];
        most.iter()
            .for_each(|most| first.push(first[first.len() - 1] + most));
        let slots = first[hosts as usize] as usize;
        if slots > MOST_SLOTS {
            return Err(ScheduleViolation::AtOnce {
                slots,
                most: MOST_SLOTS,
            });
        }
        Ok(SenderClocks {
            first,
            latest: vec![(NOWHERE, 0, 0); hosts as usize],
            clocks: vec![0; slots * slots],
        })
    }

    fn slots(&self) -> usize {
        self.first[self.first.len() - 1] as usize
    }

    fn width(&self, host: u32) -> u64 {
        u64::from(self.first[host as usize + 1] - self.first[host as usize])
    }

    /// Starts the next message of `src`, and returns its slot and step.
    fn start(&mut self, src: u32, phase: u32) -> (usize, SenderPhaseCount) {
        let slots = self.first[src as usize] as usize..self.first[src as usize + 1] as usize;
        let (latest, step, messages) = &mut self.latest[src as usize];
        if *latest != phase {
            (*latest, *step, *messages) = (phase, *step + 1, 0);
            if slots.len() > 1 {
                let width = self.first[self.first.len() - 1] as usize;
                share(
                    &mut self.clocks[slots.start * width..slots.end * width],
                    width,
                );
            }
        }
        *messages += 1;
        (slots.start + *messages as usize - 1, *step)
    }

    fn clock(&mut self, slot: usize) -> &mut [SenderPhaseCount] {
        let width = self.slots();
        &mut self.clocks[slot * width..][..width]
    }
}

/// Gives all of these clocks their combined knowledge.
fn share(clocks: &mut [SenderPhaseCount], width: usize) {
    let (all, others) = clocks.split_at_mut(width);
    others.chunks(width).for_each(|other| join(all, other));
    others
        .chunks_mut(width)
        .for_each(|other| other.copy_from_slice(all));
}

fn join(clock: &mut [SenderPhaseCount], other: &[SenderPhaseCount]) {
    clock
        .iter_mut()
        .zip(other)
        .for_each(|(own, theirs)| *own = (*own).max(*theirs));
}
