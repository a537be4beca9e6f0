//! Allgathers: every host comes once in the ring, and no edge is used twice.
use super::{NodeNames, ScheduleViolation};
use crate::allgather::AllgatherSchedule;
use crate::message::Message;
use inventory::tree::Tree;

/// Checks a ring against the tree of its hosts. The plan has the hosts in the order of the tree.
pub fn allgather(tree: &Tree, plan: &AllgatherSchedule) -> Result<(), ScheduleViolation> {
    let names = NodeNames(tree);
    names.same_hosts(&plan.hosts)?;
    every_host_once(tree, plan)?;
    let longest = no_edge_twice(&names, plan)?;
    let claim = |stated: String, truth: String| Err(ScheduleViolation::RingClaim { stated, truth });
    if plan.longest_path != longest {
        return claim(
            format!("longest path {}", plan.longest_path),
            format!("it passes {longest} switches"),
        );
    }
    if !plan.contention_free {
        return claim("not contention-free".to_owned(), "it is".to_owned());
    }
    Ok(())
}

fn every_host_once(tree: &Tree, plan: &AllgatherSchedule) -> Result<(), ScheduleViolation> {
    let mut visited = vec![false; tree.hosts() as usize];
    for &host in &plan.ring {
        match visited.get_mut(host as usize) {
            None => {
                return Err(ScheduleViolation::Ring(format!(
                    "number {host} does not exist"
                )));
            }
            Some(true) => {
                return Err(ScheduleViolation::Ring(format!(
                    "{} comes twice",
                    tree.name(host)
                )));
            }
            Some(seen) => *seen = true,
        }
    }
    if let Some(lost) = visited.iter().position(|seen| !seen) {
        return Err(ScheduleViolation::Ring(format!(
            "{} is missing",
            tree.name(lost as u32)
        )));
    }
    Ok(())
}

/// The largest number of switches that a message of the ring passes.
fn no_edge_twice(
    names: &NodeNames<'_>,
    plan: &AllgatherSchedule,
) -> Result<u32, ScheduleViolation> {
    let tree = names.0;
    let mut user: Vec<Option<Message>> = vec![None; tree.edges() as usize];
    let mut longest = 0;
    for (i, &src) in plan.ring.iter().enumerate().filter(|_| plan.ring.len() > 1) {
        let message = Message {
            src,
            dst: plan.ring[(i + 1) % plan.ring.len()],
        };
        let (mut edges, mut clash) = (0, None);
        tree.path(message.src, message.dst, |edge| {
            edges += 1;
            clash = clash.or(user[edge as usize]
                .replace(message)
                .map(|first| (edge, first)));
        });
        if let Some((edge, first)) = clash {
            return Err(ScheduleViolation::RingContention {
                edge: names.edge(edge),
                first: names.named(first),
                second: names.named(message),
            });
        }
        longest = longest.max(edges - 1);
    }
    Ok(longest)
}
