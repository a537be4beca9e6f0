use super::MessagePaths;
use crate::alltoall::{self, AlltoallSchedule};
use crate::random::SplitMix64;
use crate::synchronization::scheme::SyncScheme;
use crate::{json, verify};
use inventory::Tree;
use samples::trees::topology;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::num::NonZeroU32;

/// Leaves with hosts of 10G, and spines with so many cables of a rate to each leaf.
pub(super) fn leaf_spine(leaves: u32, hosts: u32, spines: u32, uplink: &str) -> Tree {
    topology(&leaf_spine_text(leaves, hosts, spines, uplink))
}

fn leaf_spine_text(leaves: u32, hosts: u32, spines: u32, uplink: &str) -> String {
    let names = |name: &str, count: u32| -> String {
        let names: Vec<String> = (0..count).map(|at| format!("{name}{at}")).collect();
        names.join(", ")
    };
    let mut text = format!("switches: [{}]\n", names("leaf", leaves));
    let _ = writeln!(text, "routers: [{}]\nhosts:", names("spine", spines));
    for host in 0..leaves * hosts {
        let _ = writeln!(
            text,
            "  n{host}: {{switch: leaf{}, rate: 10G}}",
            host / hosts
        );
    }
    text.push_str("links:\n");
    for (leaf, spine) in (0..leaves).flat_map(|leaf| (0..spines).map(move |spine| (leaf, spine))) {
        let _ = writeln!(
            text,
            "  - {{a: leaf{leaf}, b: spine{spine}, rate: {uplink}, state: multipath}}"
        );
    }
    text
}

/// The plan with a credit of one message a lane.
fn planned(tree: &Tree) -> AlltoallSchedule {
    alltoall::plan(tree, SyncScheme::credit(NonZeroU32::MIN))
}

/// Two switches with hosts of 10G, and cables of these rates side by side.
fn aggregate(hosts: u32, cables: &[&str]) -> Tree {
    let mut text = "switches: [s0, s1]\nhosts:\n".to_owned();
    for host in 0..2 * hosts {
        let _ = writeln!(text, "  n{host}: {{switch: s{}, rate: 10G}}", host / hosts);
    }
    text.push_str("links:\n");
    for rate in cables {
        let _ = writeln!(text, "  - {{a: s0, b: s1, rate: {rate}, state: multipath}}");
    }
    topology(&text)
}

#[test]
fn all_ways_of_a_stage_carry_messages_in_each_phase() {
    let tree = leaf_spine(4, 8, 4, "10G");
    let plan = planned(&tree);
    assert_eq!((plan.paths.len(), plan.phases.len()), (32 * 31, 48));
    assert_eq!(verify::alltoall(&tree, &plan), Ok(()));
    // Four spines of a message each: with all four messages of a leaf in each phase, each has one.
    let paths = MessagePaths::new(&tree, &plan.paths);
    let mut carried = vec![0; paths.links()];
    for (m, number) in plan.phases.iter().flatten().zip(0..) {
        paths.visit(number, *m, |link| carried[link as usize] += 1);
    }
    let on_ways: Vec<u32> = (0..paths.links() as u32)
        .filter(|link| tree.member_cables(paths.edge(*link).0 / 2).len() > 1)
        .collect();
    assert_eq!(on_ways.len(), 2 * 4 * 4);
    assert!(on_ways.iter().all(|&link| carried[link as usize] == 48));
}

/// By the side of a stage that several cables lead to: what each carries in each direction, and its width.
fn loads(tree: &Tree, plan: &AlltoallSchedule) -> Vec<Vec<(u64, u64)>> {
    let paths = MessagePaths::new(tree, &plan.paths);
    let mut carried = vec![0; paths.links()];
    for (m, number) in plan.phases.iter().flatten().zip(0..) {
        paths.visit(number, *m, |link| carried[link as usize] += 1);
    }
    let capacities = plan.algorithm.capacities(tree);
    let mut sides: BTreeMap<u32, Vec<(u64, u64)>> = BTreeMap::new();
    for (link, carried) in (0..).zip(carried) {
        let side = sides.entry(paths.edge(link).0).or_default();
        side.push((carried, paths.width(link, &capacities)));
    }
    sides.into_values().filter(|side| side.len() > 1).collect()
}

/// How far the load of a way is from its part of all, at most.
fn most_uneven(tree: &Tree, plan: &AlltoallSchedule) -> f64 {
    let sides = loads(tree, plan).into_iter();
    let off = sides.flat_map(|side| {
        let all: u64 = side.iter().map(|(carried, _)| carried).sum();
        let width: u64 = side.iter().map(|(_, width)| width).sum();
        let part = move |own: u64| (all * own) as f64 / width as f64;
        (side.into_iter()).map(move |(carried, own)| (carried as f64 - part(own)).abs())
    });
    off.fold(0.0, f64::max)
}

#[test]
fn what_phases_leave_free_is_free_on_all_ways_alike() {
    let small = leaf_spine(2, 2, 2, "10G");
    assert!(most_uneven(&small, &planned(&small)) < 0.5);
    let mut random = SplitMix64::new(33);
    for _ in 0..200 {
        let [leaves, hosts, ways] =
            [(2, 4), (1, 6), (2, 3)].map(|(least, more)| (least + random.below(more)) as u32);
        let rate = ["10G", "20G", "5G"][random.below(3)];
        let mut tree = match random.below(3) {
            0 => aggregate(hosts, &vec![rate; ways as usize]),
            _ => leaf_spine(leaves, hosts, ways, rate),
        };
        if random.below(3) == 0 {
            let mut members = tree.members_named(|node| tree.name(node));
            for edge in &mut members {
                edge.cables[0].rate.0 *= 2;
            }
            tree = tree.clone().with_members(&members);
        }
        let plan = planned(&tree);
        assert_eq!(verify::alltoall(&tree, &plan), Ok(()));
        let off = most_uneven(&tree, &plan);
        assert!(
            off < 2.5,
            "{leaves} x {hosts}, {ways} ways of {rate}: {off}"
        );
    }
}

#[test]
fn cables_of_any_rate_carry_what_they_can() {
    for cables in [
        &["10G"; 4][..],
        &["10G", "20G"],
        &["25G", "25G"],
        &["10G", "15G", "5G"],
    ] {
        let tree = aggregate(8, cables);
        let plan = planned(&tree);
        assert_eq!(plan.paths.len(), 16 * 15, "{cables:?}");
        assert_eq!(verify::alltoall(&tree, &plan), Ok(()), "{cables:?}");
    }
}

#[test]
fn no_message_is_planned_at_the_rate_of_several_cables() {
    let cards = "{cards: [{switch: r1, rate: 10G}, {switch: r2, rate: 10G}], rails: 2}";
    let rails = format!(
        "switches: [r1, r2]\nrouters: [s]\nhosts: {{n0: {cards}, n1: {cards}, n2: {cards}}}\nlinks:\n\
         - {{a: r1, b: s, rate: 40G, state: multipath}}\n- {{a: r2, b: s, rate: 40G, state: multipath}}\n"
    );
    let aggregate = "switches: [s0, s1]\nhosts:\n  n0: {switch: s0, rate: 25G}\n  n1: {switch: s0, rate: 25G}\n  \
                     n2: {switch: s1, rate: 25G}\n  n3: {switch: s1, rate: 25G}\n\
                     links: [{a: s0, b: s1, rate: 20G, cables: 2}]\n";
    for text in [rails.as_str(), aggregate] {
        let tree = topology(text);
        let plan = planned(&tree);
        let rate = plan.algorithm.capacities(&tree).rate();
        assert!(rate.0 <= 10_000_000_000, "{rate} in\n{text}");
        assert_eq!(verify::alltoall(&tree, &plan), Ok(()));
    }
}

#[test]
fn unequal_spines_and_stages_several_levels_high_have_paths() {
    let unequal = leaf_spine(4, 4, 2, "10G");
    let mut members = unequal.members_named(|node| unequal.name(node));
    for edge in &mut members {
        edge.cables[0].rate.0 *= 2;
    }
    let unequal = unequal.clone().with_members(&members);
    let plan = planned(&unequal);
    assert_eq!(verify::alltoall(&unequal, &plan), Ok(()));
    assert_eq!(plan.paths.len(), 16 * 15);

    let mut text =
        "switches: [a1, a2, b1, b2]\nrouters: [pa1, pa2, pb1, pb2, c1, c2, c3, c4]\nhosts:\n"
            .to_owned();
    for (leaf, host) in ["a1", "a2", "b1", "b2"]
        .iter()
        .flat_map(|leaf| (0..4).map(move |h| (leaf, h)))
    {
        let _ = writeln!(text, "  {leaf}n{host}: {{switch: {leaf}, rate: 10G}}");
    }
    text.push_str("links:\n");
    let mut link = |a: String, b: String| {
        let _ = writeln!(text, "  - {{a: {a}, b: {b}, rate: 10G, state: multipath}}");
    };
    for (pod, at) in ["a", "b"].iter().flat_map(|pod| [1, 2].map(|at| (pod, at))) {
        (1..=2).for_each(|leaf| link(format!("{pod}{leaf}"), format!("p{pod}{at}")));
        (1..=2).for_each(|core| link(format!("p{pod}{at}"), format!("c{}", 2 * (at - 1) + core)));
    }
    let pods = topology(&text);
    let plan = planned(&pods);
    assert_eq!(verify::alltoall(&pods, &plan), Ok(()));
    assert_eq!(plan.paths.len(), 16 * 15);
}

#[test]
fn the_verifier_refuses_paths_that_collide_or_are_none() {
    let tree = leaf_spine(4, 8, 4, "10G");
    let plan = planned(&tree);
    let refused = |paths: Vec<u32>| {
        let plan = AlltoallSchedule {
            paths,
            ..plan.clone()
        };
        verify::alltoall(&tree, &plan).unwrap_err().to_string()
    };
    let mut crossing = plan.phases[0]
        .iter()
        .zip(0..)
        .filter(|&(m, _)| m.src / 8 != m.dst / 8);
    let (first, at) = crossing.next().unwrap();
    let (_, other) = crossing.find(|(m, _)| m.src / 8 == first.src / 8).unwrap();
    let mut paths = plan.paths.clone();
    paths[other] = paths[at];
    let collides = refused(paths);
    assert!(
        collides.contains("collide") && collides.contains("leaf"),
        "{collides}"
    );
    assert!(
        collides.contains("spine") && !collides.contains("spine["),
        "{collides}"
    );
    // One spine on the way up, another one down; and a cable that is not there.
    for wrong in [4, 16] {
        let mut paths = plan.paths.clone();
        paths[at] = if wrong == 4 {
            (paths[at] + 4) % 16
        } else {
            paths[at] + wrong
        };
        let broken = refused(paths);
        assert!(broken.contains("has no path"), "{broken}");
    }
    assert!(refused(plan.paths[1..].to_vec()).contains("has no path"));
    let no_tokens = AlltoallSchedule {
        syncs: Vec::new(),
        ..plan.clone()
    };
    assert!(verify::alltoall(&tree, &no_tokens).is_err());
}

/// The cable within a pair is none of the stage's: what needs it leaves the choice to the hash for all.
#[test]
fn hosts_that_share_no_box_of_a_pair_are_planned_without_paths() {
    let both = "cards: [{switch: a, rate: 10G}, {switch: b, rate: 10G}], bond: lacp";
    let [at_a, at_b] = ["switch: a, rate: 10G", "switch: b, rate: 10G"];
    for (hosts, has_paths) in [
        ([both, both, both, both], true),
        ([at_a, both, both, both], true),
        ([at_a, at_a, both, both], true),
        ([at_a, both, both, at_b], false),
    ] {
        let mut text = "switches: [a, b]\nhosts:\n".to_owned();
        for (host, cards) in hosts.iter().enumerate() {
            let _ = writeln!(text, "  n{host}: {{{cards}}}");
        }
        let tree = topology(&(text + "links: [{a: a, b: b, rate: 40G}]\n"));
        let plan = planned(&tree);
        assert_eq!(verify::alltoall(&tree, &plan), Ok(()), "{hosts:?}");
        assert_eq!(!plan.paths.is_empty(), has_paths, "{hosts:?}");
    }
}

#[test]
fn a_plan_keeps_its_paths_in_json() {
    let tree = leaf_spine(2, 3, 2, "10G");
    let plan = planned(&tree);
    assert!(!plan.paths.is_empty());
    let read = json::read_alltoall(json::write_alltoall(&plan).as_bytes());
    assert_eq!(read, Ok(plan));
}

#[test]
fn each_message_has_a_way_where_a_spine_lost_some() {
    let mut random = SplitMix64::new(3);
    let mut longer = 0;
    for _ in 0..100 {
        let [leaves, hosts, spines] =
            [(2, 4), (2, 7), (3, 3)].map(|(least, more)| (least + random.below(more)) as u32);
        let rate = ["10G", "20G", "5G"][random.below(3)];
        let mut text = leaf_spine_text(leaves, hosts, spines, rate);
        for _ in 0..=random.below(3) {
            let leaf = format!("leaf{}, b: spine0,", random.below(leaves as usize));
            let left: Vec<&str> = text.lines().filter(|line| !line.contains(&leaf)).collect();
            if left.iter().any(|line| line.contains("b: spine0,")) {
                text = left.join("\n");
            }
        }
        let tree = topology(&text);
        let plan = planned(&tree);
        assert_eq!(verify::alltoall(&tree, &plan), Ok(()), "{text}");
        assert!(!plan.paths.is_empty(), "{text}");
        longer += usize::from(plan.phases.len() as u64 > plan.bound.phases);
    }
    assert!(longer > 0, "no phase had to be divided");
}
