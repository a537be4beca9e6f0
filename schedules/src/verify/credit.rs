//! The check that a schedule with credit never lets more messages be under way over a port of a
//! switch than its credit allows.
//!
//! Source: none. Input: tokens that point to later phases. Guarantee: if `Ok`, the users of each port
//! form as many chains of tokens as may be under way, so that of any more, one waits for another.
//! Plans whose tokens form such chains in another order than that of phases may be refused. Cost:
//! O(messages * path length * chains). Deviations: none.
use super::{NodeNames, ScheduleViolation};
use crate::capacities::EdgeCapacities;
use crate::stages::{LinkNumber, MessagePaths};
use crate::transfers::{TransferSchedule, TransferWait};
use std::collections::VecDeque;

/// Checks the tokens of `waits`, which allow `credit` messages on each lane.
pub(super) fn kept(
    names: &NodeNames<'_>,
    paths: &MessagePaths<'_>,
    schedule: &TransferSchedule,
    waits: &[TransferWait],
    capacities: &EdgeCapacities,
    credit: u32,
) -> Result<(), ScheduleViolation> {
    let mut by_message = vec![Vec::new(); schedule.ends().len()];
    for wait in waits {
        // A sender has sent long before its message is over.
        if wait.from == schedule.ends()[wait.after as usize].dst {
            by_message[wait.before as usize].push(wait.after);
        }
    }
    // By link: the last message of each chain, the oldest first.
    let mut chains: Vec<VecDeque<u32>> = vec![VecDeque::new(); paths.links()];
    let room: Vec<u64> = (0..paths.links() as LinkNumber)
        .map(|link| {
            if paths.is_port(link) {
                paths.width(link, capacities) * u64::from(credit)
            } else {
                u64::MAX
            }
        })
        .collect();
    for (number, m) in (0u32..).zip(schedule.ends()) {
        let mut crowded = None;
        paths.visit(number, *m, |link| {
            let (chains, most) = (&mut chains[link as usize], room[link as usize]);
            if most == u64::MAX {
                return;
            }
            let awaited = &by_message[number as usize];
            match chains.iter().position(|last| awaited.contains(last)) {
                Some(at) => drop(chains.remove(at)),
                None if (chains.len() as u64) < most => {}
                None => crowded = crowded.or(chains.front().map(|&first| (link, first, most))),
            }
            chains.push_back(number);
        });
        if let Some((link, first, most)) = crowded {
            let [(first, first_phase), (second, second_phase)] = [first, number].map(|number| {
                let message = names.named(schedule.ends()[number as usize]);
                (message, schedule.phase(number) as usize)
            });
            return Err(ScheduleViolation::Crowded {
                edge: names.link(paths, link),
                width: most as u32,
                first,
                first_phase,
                second,
                second_phase,
            });
        }
    }
    Ok(())
}
