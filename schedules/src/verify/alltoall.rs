//! All-to-alls: every message comes once, no edge exceeds its width, the certificate and the
//! synchronizations are right.
use super::delivery::NOWHERE;
use super::{NamedEdge, NodeNames, ScheduleViolation, synchronization};
use crate::alltoall::{AlltoallAlgorithm, AlltoallSchedule};
use crate::bound::PhaseBound;
use crate::capacities::EdgeCapacities;
use crate::message::Message;
use crate::stages::{LinkNumber, MessagePaths};
use crate::transfers::{PairNumbers, TransferSchedule};
use inventory::tree::{EdgeNumber, Tree};

/// Checks an all-to-all against the tree of its hosts ([`Tree::restrict`]). The plan has the hosts
/// in the order of the tree.
pub fn alltoall(tree: &Tree, plan: &AlltoallSchedule) -> Result<(), ScheduleViolation> {
    let names = NodeNames(tree);
    names.same_hosts(&plan.hosts)?;
    let schedule = TransferSchedule::direct(tree.hosts(), &plan.phases);
    let pairs = every_pair_once(&names, &schedule)?;
    let capacities = plan.algorithm.capacities(tree);
    if let Some(idle) = plan.phases.iter().position(Vec::is_empty) {
        return Err(ScheduleViolation::Empty(idle));
    }
    let paths = paths_are_whole(&names, plan, &schedule)?;
    no_contention(&names, &paths, &schedule, &capacities)?;
    as_short_as_can_be(&names, plan, &capacities)?;
    synchronization::kept(&names, plan, &schedule, &pairs, &capacities)
}

/// Returns the number of each pair's transfer.
fn every_pair_once(
    names: &NodeNames<'_>,
    schedule: &TransferSchedule,
) -> Result<PairNumbers, ScheduleViolation> {
    let mut pairs = PairNumbers::new(schedule.hosts());
    for (&m, number) in schedule.ends().iter().zip(0..) {
        if let Some(host) = [m.src, m.dst]
            .into_iter()
            .find(|&host| host >= schedule.hosts())
        {
            return Err(ScheduleViolation::NoSuchHost {
                phase: schedule.phase(number) as usize,
                host,
            });
        }
        if m.src == m.dst {
            return Err(ScheduleViolation::ToItself {
                phase: schedule.phase(number) as usize,
                message: names.named(m),
            });
        }
        if let Some(first) = pairs.put(m, number) {
            return Err(ScheduleViolation::Twice {
                message: names.named(m),
                first: schedule.phase(first) as usize,
                second: schedule.phase(number) as usize,
            });
        }
    }
    match pairs.missing() {
        Some(lost) => Err(ScheduleViolation::Missing(names.named(lost))),
        None => Ok(pairs),
    }
}

/// The paths of the messages, each of which must have one if any has.
fn paths_are_whole<'a>(
    names: &NodeNames<'a>,
    plan: &'a AlltoallSchedule,
    schedule: &TransferSchedule,
) -> Result<MessagePaths<'a>, ScheduleViolation> {
    let paths = MessagePaths::new(names.0, &plan.paths);
    let count = schedule.ends().len();
    let broken = match plan.paths.len() {
        0 => None,
        length if length != count => Some(length.min(count)),
        _ => {
            let mut messages = schedule.ends().iter().zip(0..);
            messages.position(|(&m, number)| !paths.is_whole(number, m))
        }
    };
    match broken.map(|at| at.min(count.saturating_sub(1))) {
        Some(at) => Err(ScheduleViolation::Path {
            phase: schedule
                .phase_of()
                .get(at)
                .map_or(0, |&phase| phase as usize),
            message: names.named(schedule.ends()[at]),
        }),
        None => Ok(paths),
    }
}

fn no_contention(
    names: &NodeNames<'_>,
    paths: &MessagePaths<'_>,
    schedule: &TransferSchedule,
    capacities: &EdgeCapacities,
) -> Result<(), ScheduleViolation> {
    let links = 0..paths.links() as LinkNumber;
    let widths: Vec<u64> = links.map(|link| paths.width(link, capacities)).collect();
    // By link: the phase of its latest use, and the number of its users in that phase.
    let mut users = vec![(NOWHERE, 0u32); paths.links()];
    let messages = schedule.ends().iter().zip(schedule.phase_of());
    for ((&m, &phase), position) in messages.zip(0..) {
        let mut collision = None;
        paths.visit(position as u32, m, |link| {
            let (latest, count) = users[link as usize];
            let count = if latest == phase { count + 1 } else { 1 };
            users[link as usize] = (phase, count);
            if u64::from(count) > widths[link as usize] {
                collision = Some(link);
            }
        });
        if let Some(link) = collision {
            return Err(ScheduleViolation::Contention {
                edge: names.link(paths, link),
                phase: phase as usize,
                width: widths[link as usize],
                first: names.named(former_user(paths, schedule, link, position)),
                second: names.named(m),
            });
        }
    }
    Ok(())
}

/// The last message before this position that uses the edge; the message itself if none does.
fn former_user(
    paths: &MessagePaths<'_>,
    schedule: &TransferSchedule,
    link: LinkNumber,
    position: usize,
) -> Message {
    let before = (0..position).rev().find(|&number| {
        let mut uses = false;
        let m = schedule.ends()[number];
        paths.visit(number as u32, m, |on_path| uses |= on_path == link);
        uses
    });
    schedule.ends()[before.unwrap_or(position)]
}

/// Compares the load of the edges with the schedule. Every pair is known to come once, so an edge
/// carries as many messages as there are pairs of hosts that it separates.
fn as_short_as_can_be(
    names: &NodeNames<'_>,
    plan: &AlltoallSchedule,
    capacities: &EdgeCapacities,
) -> Result<(), ScheduleViolation> {
    let tree = names.0;
    let below = tree.hosts_below();
    let load = |edge: EdgeNumber| {
        let below = below[edge as usize / 2];
        u64::from(below) * u64::from(tree.hosts() - below)
    };
    let needs = |edge: EdgeNumber| load(edge).div_ceil(capacities.width(edge).max(1));
    let most = (0..tree.edges()).map(needs).max().unwrap_or(0);
    let bottlenecks: Vec<EdgeNumber> = (0..tree.edges())
        .filter(|&edge| needs(edge) == most && tree.ends(edge).is_some())
        .collect();
    // Where links are wider than a message, it is not known whether the bound can always be
    // reached. Yet no planner makes twice as many phases.
    let allowed = if plan.algorithm == AlltoallAlgorithm::Aapc {
        most..=most
    } else {
        most..=2 * most
    };
    if !allowed.contains(&(plan.phases.len() as u64)) {
        let edge = bottlenecks.first().map(|&edge| names.edge(edge));
        return Err(ScheduleViolation::Phases {
            phases: plan.phases.len(),
            bound: most,
            edge: edge.unwrap_or_default(),
        });
    }
    certificate(names, &plan.bound, most, &bottlenecks, |edge| {
        (load(edge), capacities.width(edge))
    })
}

/// Checks the stated bound against the counted one, which is `most` phases because of the
/// `bottlenecks`.
fn certificate(
    names: &NodeNames<'_>,
    bound: &PhaseBound,
    most: u64,
    bottlenecks: &[EdgeNumber],
    load_and_capacity: impl Fn(EdgeNumber) -> (u64, u64),
) -> Result<(), ScheduleViolation> {
    let edge = NamedEdge {
        from: bound.edge.0.as_str().into(),
        to: bound.edge.1.as_str().into(),
    };
    let bottleneck = bottlenecks
        .iter()
        .find(|&&bottleneck| names.edge(bottleneck) == edge);
    let counted = bottleneck.map(|&edge| load_and_capacity(edge));
    let truth = match counted {
        _ if bound.phases != most => format!("the bottleneck edge asks for {most}"),
        None if most > 0 => "that is not a bottleneck edge".to_owned(),
        Some((load, capacity)) if most > 0 && (bound.load, bound.capacity) != (load, capacity) => {
            format!("its load is {load} and its capacity {capacity}")
        }
        _ => return Ok(()),
    };
    Err(ScheduleViolation::Bound {
        phases: bound.phases,
        load: bound.load,
        capacity: bound.capacity,
        edge,
        truth,
    })
}
