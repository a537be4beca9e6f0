//! The check that the synchronizations of an all-to-all keep every edge within its width.
//!
//! Source: aapc-2007 section 5; for edges wider than one message Dilworth's theorem. Input: an
//! all-to-all whose messages come once each and fit the edges phase by phase. Guarantee: no edge
//! can have more messages under way than it is wide, whatever the pace of the hosts. This follows
//! from the synchronizations and the senders' own order: a sender starts the messages of a phase
//! when all its messages of earlier phases are over. The check is exact: `Ok` if and only if that
//! holds. Cost: O(messages * path length) where the quick half ([`notified`]) settles all; otherwise
//! O(messages * (path length + chains / 64)), where an edge has as many chains as it is wide
//! ([`order_walk`]). Memory O(hosts²) and a row of bits, one per chain, for each token under way.
//! For wide edges see [`wide_edges`]. Deviations: none.
mod notified;
mod order_walk;
#[cfg(test)]
mod tests;
mod tokens;
mod wide_edges;

use super::delivery::NOWHERE;
use super::{NodeNames, ScheduleViolation, credit};
use crate::alltoall::AlltoallSchedule;
use crate::capacities::EdgeCapacities;
use crate::message::Synchronization;
use crate::stages::MessagePaths;
use crate::synchronization::SyncKind;
use crate::synchronization::scheme::{SyncMechanism, SyncScheme};
use crate::transfers::{PairNumbers, TransferSchedule, TransferWait};
use inventory::tree::EdgeNumber;
use order_walk::{CrowdedEdge, MessageOrders};
use std::num::NonZeroUsize;
use tokens::TokensByMessage;

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
    if plan.scheme.mechanism() == SyncMechanism::Credit {
        let paths = MessagePaths::new(names.0, &plan.paths);
        let credit = plan.scheme.block();
        credit::kept(names, &paths, schedule, &waits, capacities, credit)?;
        rounds_are_kept(names, plan, capacities)
    } else if plan.scheme.keeps_all_apart() {
        widths_are_kept(names, schedule, &waits, &meetings, capacities)
    } else {
        Ok(())
    }
}

/// Checks the tokens of all rounds, where blocks are cut: those of one round are those of whole blocks.
fn rounds_are_kept(
    names: &NodeNames<'_>,
    plan: &AlltoallSchedule,
    capacities: &EdgeCapacities,
) -> Result<(), ScheduleViolation> {
    if plan.scheme.rounds() == 1 {
        return Ok(());
    }
    let all = TransferSchedule::on_tree(names.0, plan)
        .unwrap_or_else(|wait| unreachable!("every message was found: {wait:?}"));
    let numbers = plan.paths.repeat(plan.scheme.rounds() as usize);
    let paths = MessagePaths::new(names.0, &numbers);
    credit::kept(
        names,
        &paths,
        &all,
        all.waits(),
        capacities,
        plan.scheme.block(),
    )
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
    let [after, before] = ends.map(|number| number.map(|number| schedule.phase(number) as usize));
    let problem = match (after, before) {
        (None, _) | (_, None) => "no such message",
        (Some(after), Some(before)) if after >= before => "it does not point to a later phase",
        _ if sync.from != sync.after.src && sync.from != sync.after.dst => {
            "sent by neither end of the earlier message"
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
        after: names.named(sync.after),
        after_phase: after.into(),
        before: names.named(sync.before),
        before_phase: before.into(),
        problem: problem.to_owned(),
    })
}

/// Schedules that send more messages at once are refused: the rows of bits would take more than a
/// gigabyte. [`crate::json::MAX_HOSTS`] hosts may send five each.
const MOST_AT_ONCE: u64 = 5 * 4_096;

/// Messages of a schedule for each thread that checks it; smaller ones are not worth a thread.
const MESSAGES_PER_THREAD: usize = if cfg!(test) { 8 } else { 1 << 22 };

fn widths_are_kept(
    names: &NodeNames<'_>,
    schedule: &TransferSchedule,
    waits: &[TransferWait],
    meetings: &[usize],
    capacities: &EdgeCapacities,
) -> Result<(), ScheduleViolation> {
    let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let at_once = sent_at_once(schedule)?;
    let order = MessageOrders {
        tree: names.0,
        schedule,
        tokens: &TokensByMessage::new(schedule, waits),
        meetings,
        sent_at_once: &at_once,
    };
    let can_overflow = capacities.can_overflow(names.0, &at_once).into_iter();
    // By edge: its width, if the order of its users matters.
    let mut asked: Vec<Option<u64>> = (0..)
        .zip(can_overflow)
        .map(|(edge, can)| can.then(|| capacities.width(edge)))
        .collect();
    if asked.iter().all(|width| matches!(width, None | Some(1))) {
        // Without wide edges this mostly settles all.
        let in_order = notified::in_order(order, capacities);
        asked
            .iter_mut()
            .zip(in_order)
            .filter(|(_, in_order)| *in_order)
            .for_each(|(width, _)| *width = None);
    }
    let threads = cores
        .min(schedule.ends().len() / MESSAGES_PER_THREAD)
        .max(1);
    match order_walk::first_crowded(order, &asked, threads) {
        None => Ok(()),
        Some(CrowdedEdge { edge, users, .. }) => {
            Err(unordered(names, schedule, capacities, edge, users))
        }
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
    let [first, second] = of.map(|position| names.named(schedule.ends()[position as usize]));
    let [first_phase, second_phase] = of.map(|position| schedule.phase(position) as usize);
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
