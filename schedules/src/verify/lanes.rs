//! Allgathers by circles of groups: all data reaches all hosts, and the edges carry the load that
//! the plan states.
use super::{NodeNames, ScheduleViolation};
use crate::allgather::lanes::{LaneAllgather, LaneLoad, MOST_PARTS};
use inventory::tree::{EdgeNumber, Tree};

/// Checks circles of groups against the tree of their hosts. The plan has the hosts in the order of
/// the tree.
///
/// # Errors
/// The first [`ScheduleViolation`].
pub fn lanes(tree: &Tree, plan: &LaneAllgather) -> Result<(), ScheduleViolation> {
    NodeNames(tree).same_hosts(&plan.hosts)?;
    every_host_in_one_group(tree, plan)?;
    every_lane_begins_with_its_gateways_data(tree, plan)?;
    circles_lead_everywhere_once(plan)?;
    let carried = carried(tree, plan);
    is_slowest(tree, "busiest edge", &plan.busiest, &carried)?;
    let n = u128::from(tree.hosts());
    let sides = tree
        .hosts_below()
        .into_iter()
        .map(u128::from)
        .flat_map(|below| [(below, n - below), (n - below, below)]);
    let needed: Vec<u128> = sides
        .map(|(sent, receivers)| {
            if receivers > 0 {
                sent * u128::from(plan.parts)
            } else {
                0
            }
        })
        .collect();
    is_slowest(tree, "bound", &plan.bound, &needed)
}

fn wrong<T>(what: String) -> Result<T, ScheduleViolation> {
    Err(ScheduleViolation::Lanes(what))
}

fn every_host_in_one_group(tree: &Tree, plan: &LaneAllgather) -> Result<(), ScheduleViolation> {
    let mut seen = vec![false; tree.hosts() as usize];
    for &host in plan.groups.iter().flatten() {
        match seen.get_mut(host as usize) {
            None => return wrong(format!("host number {host} does not exist")),
            Some(true) => return wrong(format!("host {} comes twice", tree.name(host))),
            Some(seen) => *seen = true,
        }
    }
    match seen.iter().position(|seen| !seen) {
        Some(lost) => wrong(format!("host {} is in no group", tree.name(lost as u32))),
        None if plan.groups.iter().any(Vec::is_empty) => wrong("a group has no host".to_owned()),
        None => Ok(()),
    }
}

/// A group's data is in the order of its hosts, and the lanes take it part by part. So a lane that
/// leads to all groups brings each gateway every group's parts, and the ring inside the group
/// passes them on to the other hosts.
fn every_lane_begins_with_its_gateways_data(
    tree: &Tree,
    plan: &LaneAllgather,
) -> Result<(), ScheduleViolation> {
    if plan.parts == 0 || plan.parts > MOST_PARTS {
        return wrong(format!("{} parts: expected 1 to {MOST_PARTS}", plan.parts));
    }
    let parts = u128::from(plan.parts);
    let mut start = 0u128;
    for (number, lane) in plan.lanes.iter().enumerate() {
        let end = start + u128::from(lane.share);
        if lane.gateways.len() != plan.groups.len() {
            return wrong(format!(
                "lane {number} has {} gateways for {} groups",
                lane.gateways.len(),
                plan.groups.len()
            ));
        }
        for (group, &gateway) in plan.groups.iter().zip(&lane.gateways) {
            let Some(place) = group.iter().position(|&host| host == gateway) else {
                return wrong(format!(
                    "lane {number}: host number {gateway} is not in the group it stands for"
                ));
            };
            // The places are counted in parts times the hosts of the group; each host's block then
            // has the length `parts`.
            let (size, place) = (group.len() as u128, place as u128);
            if start * size < place * parts || end * size > (place + 1) * parts {
                return wrong(format!(
                    "lane {number} begins with parts that {} does not have",
                    tree.name(gateway)
                ));
            }
        }
        start = end;
    }
    if start == parts {
        Ok(())
    } else {
        wrong(format!("the lanes carry {start} of {parts} parts"))
    }
}

/// Circles join groups as links join switches: if one path leads from each group to each other one,
/// all data comes exactly once.
fn circles_lead_everywhere_once(plan: &LaneAllgather) -> Result<(), ScheduleViolation> {
    let mut reached: Vec<usize> = (0..plan.groups.len()).collect();
    let mut parts = plan.groups.len();
    for (number, circle) in plan.circles.iter().enumerate() {
        let Some(&first) = circle.first() else {
            return wrong(format!("circle {number} has no group"));
        };
        if let Some(&group) = circle
            .iter()
            .find(|&&group| group as usize >= plan.groups.len())
        {
            return wrong(format!("circle {number}: group {group} does not exist"));
        }
        for &group in &circle[1..] {
            let (old, new) = (reached[group as usize], reached[first as usize]);
            if old == new {
                return wrong(format!(
                    "circle {number} leads to group {group}, which is reached another way"
                ));
            }
            reached
                .iter_mut()
                .filter(|part| **part == old)
                .for_each(|part| *part = new);
            parts -= 1;
        }
    }
    if parts == 1 {
        Ok(())
    } else {
        wrong(format!(
            "the circles leave {parts} parts without connection"
        ))
    }
}

/// The hosts of the groups that can be reached from the group at `place` of a circle without using
/// that circle, including its own hosts. `on` has the circles of each group.
fn hosts_behind(plan: &LaneAllgather, on: &[Vec<usize>], circle: usize, place: usize) -> u128 {
    let mut ahead = vec![(plan.circles[circle][place], circle)];
    let mut hosts = 0;
    while let Some((group, from)) = ahead.pop() {
        hosts += plan.groups[group as usize].len() as u128;
        for &next in on[group as usize].iter().filter(|&&next| next != from) {
            ahead.extend(
                plan.circles[next]
                    .iter()
                    .filter(|&&other| other != group)
                    .map(|&other| (other, next)),
            );
        }
    }
    hosts
}

/// The load of each edge, in blocks times parts.
fn carried(tree: &Tree, plan: &LaneAllgather) -> Vec<u128> {
    let mut carried = vec![0u128; tree.edges() as usize];
    let mut send =
        |from: u32, to: u32, load: u128| tree.path(from, to, |edge| carried[edge as usize] += load);
    let all: u128 = plan.groups.iter().map(|group| group.len() as u128).sum();
    // The load that a host puts on the ring of its group: its parts of all groups' data.
    let mut put_on = vec![0u128; tree.hosts() as usize];
    for lane in &plan.lanes {
        lane.gateways
            .iter()
            .for_each(|&gateway| put_on[gateway as usize] += u128::from(lane.share) * all);
    }
    let mut on: Vec<Vec<usize>> = vec![Vec::new(); plan.groups.len()];
    plan.circles
        .iter()
        .enumerate()
        .for_each(|(number, circle)| {
            circle
                .iter()
                .for_each(|&group| on[group as usize].push(number))
        });
    for (number, circle) in plan.circles.iter().enumerate() {
        for (place, &group) in circle.iter().enumerate() {
            let next = (place + 1) % circle.len();
            let missing_there = all - hosts_behind(plan, &on, number, next);
            for lane in &plan.lanes {
                let (from, to) = (
                    lane.gateways[group as usize],
                    lane.gateways[circle[next] as usize],
                );
                send(from, to, u128::from(lane.share) * missing_there);
            }
        }
    }
    for group in &plan.groups {
        let total: u128 = group.iter().map(|&host| put_on[host as usize]).sum();
        for (i, &host) in group.iter().enumerate() {
            let next = group[(i + 1) % group.len()];
            send(host, next, total - put_on[next as usize]);
        }
    }
    carried
}

/// True if `claim` names an edge with its true load, and no other edge takes longer.
fn is_slowest(
    tree: &Tree,
    what: &str,
    claim: &LaneLoad,
    carried: &[u128],
) -> Result<(), ScheduleViolation> {
    let slower = |edge: EdgeNumber| {
        carried[edge as usize] * u128::from(claim.rate.0)
            > u128::from(claim.load) * u128::from(tree.rate(edge / 2).0)
    };
    let named = |edge: EdgeNumber| {
        tree.ends(edge).is_some_and(|(from, to)| {
            tree.name(from) == claim.edge.0 && tree.name(to) == claim.edge.1
        })
    };
    let LaneLoad {
        edge: (from, to),
        load,
        rate,
    } = claim;
    if carried.iter().all(|&load| load == 0) {
        return if *load == 0 {
            Ok(())
        } else {
            wrong(format!("{what}: says load {load}; nothing is sent"))
        };
    }
    match (0..tree.edges()).find(|&edge| named(edge)) {
        None => wrong(format!("{what}: no edge {from} -> {to}")),
        Some(edge)
            if carried[edge as usize] != u128::from(*load) || tree.rate(edge / 2) != *rate =>
        {
            wrong(format!(
                "{what}: says load {load} at {rate} of edge {from} -> {to}; it carries {} at {}",
                carried[edge as usize],
                tree.rate(edge / 2)
            ))
        }
        Some(_) => match (0..tree.edges()).find(|&edge| slower(edge)) {
            Some(edge) => wrong(format!(
                "{what}: says edge {from} -> {to}; edge {} takes longer",
                NodeNames(tree).edge(edge)
            )),
            None => Ok(()),
        },
    }
}
