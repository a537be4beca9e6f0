//! Allgathers along several rings: every host gets every block once, passes on only what it has, and
//! sends over slow trunks in turn.
use super::{NamedEdge, NamedMessage, NodeNames, ScheduleViolation};
use crate::allgather::rings::IslandRings;
use crate::bound;
use crate::message::Message;
use crate::transfers::TransferSchedule;
use inventory::tree::{NodeNumber, Tree};
use std::collections::{HashMap, HashSet};

/// The first fault of an allgather along several rings. Transfers and phases count from 0.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RingsViolation {
    /// A transfer that cannot be sent as stated.
    #[error("transfer {transfer}, message {message}: {problem}")]
    Transfer {
        /// Its number.
        transfer: usize,
        /// Its ends.
        message: NamedMessage,
        /// The reason.
        problem: String,
    },
    /// A host never gets a block.
    #[error("the block of the first host never comes to the second: {0}")]
    Missing(NamedMessage),
    /// A wait that cannot be carried out, or that nobody would end.
    #[error("wait {0}: it names no earlier transfer of another host")]
    Wait(usize),
    /// Two transfers may be on a slow trunk at once.
    #[error("edge {edge}: nothing keeps {second} (transfer {number}) behind {first}")]
    Together {
        edge: NamedEdge,
        /// One transfer.
        first: NamedMessage,
        /// The next one.
        second: NamedMessage,
        number: usize,
    },
}

/// Checks an allgather along several rings. All that a transfer waits for has a lower number: the
/// transfer that brings its block, those that give it tokens, and the one before it between the same
/// hosts. So the transfer with the lowest number among those that wait can always go on.
pub fn rings(tree: &Tree, plan: &IslandRings) -> Result<(), ScheduleViolation> {
    let names = NodeNames(tree);
    names.same_hosts(&plan.hosts)?;
    let schedule = &plan.schedule;
    every_block_once(&names, schedule)?;
    waits_end(schedule)?;
    one_after_the_other(&names, schedule)?;
    Ok(())
}

fn every_block_once(
    names: &NodeNames<'_>,
    schedule: &TransferSchedule,
) -> Result<(), RingsViolation> {
    let hosts = names.0.hosts();
    // By owner and host: the phase in which the block comes.
    let mut came: HashMap<(NodeNumber, NodeNumber), u32> = HashMap::new();
    let mut last = 0;
    for (number, &ends) in schedule.ends().iter().enumerate() {
        let phase = schedule.phase_of()[number];
        let wrong = |problem: &str| {
            Err(RingsViolation::Transfer {
                transfer: number,
                message: names.named(ends),
                problem: problem.to_owned(),
            })
        };
        let [block] = schedule.blocks(number as u32) else {
            return wrong("it carries not one block");
        };
        let owner = block.src;
        if ends.src >= hosts || ends.dst >= hosts || owner >= hosts {
            return wrong("no host has that number");
        }
        if ends.src == ends.dst || owner == ends.dst {
            return wrong("the receiver has the block from the beginning");
        }
        if phase < last {
            return wrong("its phase is before that of the transfer before it");
        }
        last = phase;
        let is_there = came.get(&(owner, ends.src)).is_some_and(|&at| at < phase);
        if owner != ends.src && !is_there {
            return wrong("the sender does not have the block in an earlier phase");
        }
        if came.insert((owner, ends.dst), phase).is_some() {
            return wrong("the block came before");
        }
    }
    let mut pairs = (0..hosts).flat_map(|src| (0..hosts).map(move |dst| Message { src, dst }));
    match pairs.find(|m| m.src != m.dst && !came.contains_key(&(m.src, m.dst))) {
        Some(missing) => Err(RingsViolation::Missing(names.named(missing))),
        None => Ok(()),
    }
}

fn waits_end(schedule: &TransferSchedule) -> Result<(), RingsViolation> {
    let (ends, phases) = (schedule.ends(), schedule.phase_of());
    for (number, wait) in schedule.waits().iter().enumerate() {
        let (after, before) = (wait.after as usize, wait.before as usize);
        let is_sound = after < before && before < ends.len() && phases[after] < phases[before] && {
            let Message { src, dst } = ends[after];
            (wait.from == src || wait.from == dst) && wait.from != ends[before].src
        };
        if !is_sound {
            return Err(RingsViolation::Wait(number));
        }
    }
    Ok(())
}

/// Each transfer over a slow trunk waits for the one before it in that direction, or is between the
/// same hosts, where one follows the other anyway.
fn one_after_the_other(
    names: &NodeNames<'_>,
    schedule: &TransferSchedule,
) -> Result<(), RingsViolation> {
    let tree = names.0;
    let mut slow = vec![false; tree.nodes() as usize];
    for trunk in bound::slow_trunks(tree) {
        slow[trunk as usize] = true;
    }
    let waits: HashSet<(u32, u32)> = (schedule.waits().iter())
        .map(|wait| (wait.after, wait.before))
        .collect();
    let mut last: HashMap<u32, (u32, Message)> = HashMap::new();
    for (&ends, number) in schedule.ends().iter().zip(0..) {
        let mut clash = None;
        tree.path(ends.src, ends.dst, |edge| {
            if slow[edge as usize / 2]
                && let Some((before, first)) = last.insert(edge, (number, ends))
                && first != ends
                && !waits.contains(&(before, number))
            {
                clash = Some((edge, first));
            }
        });
        if let Some((edge, first)) = clash {
            return Err(RingsViolation::Together {
                edge: names.edge(edge),
                first: names.named(first),
                second: names.named(ends),
                number: number as usize,
            });
        }
    }
    Ok(())
}
