use super::*;
use crate::test_trees::topology;
use crate::verify;
use proptest::prelude::*;
use std::collections::HashSet;
use std::fmt::Write;

/// Random trees per property.
const CASES: u32 = if cfg!(debug_assertions) { 128 } else { 10_000 };

/// Hosts of one rate on a star of switches; the first switch is the hub.
fn star(hosts: &[usize], host_rate: &str, trunk_rate: &str) -> Tree {
    rated(
        hosts.len(),
        &vec![0; hosts.len() - 1],
        &vec![trunk_rate.to_owned(); hosts.len() - 1],
        &at(hosts),
        host_rate,
    )
}

fn at(hosts: &[usize]) -> Vec<usize> {
    hosts
        .iter()
        .enumerate()
        .flat_map(|(s, &count)| std::iter::repeat_n(s, count))
        .collect()
}

/// Switch `s` is cabled to `parent[s - 1]`, host `h` to `at[h]`.
fn rated(
    switches: usize,
    parent: &[usize],
    trunks: &[String],
    at: &[usize],
    host_rate: &str,
) -> Tree {
    let mut text = format!(
        "switches: [{}]\nhosts:\n",
        (0..switches)
            .map(|s| format!("s{s}"))
            .collect::<Vec<_>>()
            .join(", ")
    );
    at.iter()
        .enumerate()
        .for_each(|(h, s)| writeln!(text, "  n{h}: {{switch: s{s}, rate: {host_rate}}}").unwrap());
    let links: Vec<String> = parent
        .iter()
        .zip(trunks)
        .enumerate()
        .map(|(s, (p, rate))| format!("{{a: s{}, b: s{p}, rate: {rate}}}", s + 1))
        .collect();
    topology(&format!("{text}links: [{}]", links.join(", ")))
}

#[test]
fn fast_trunks_and_slow_hosts_leave_nothing_to_gain() {
    for tree in [
        star(&[0, 8, 8, 8], "1G", "10G"),
        star(&[5, 3], "1G", "1G"),
        star(&[4], "25G", "25G"),
    ] {
        let plan = plan(&tree);
        assert!(plan.is_one_ring());
        assert_eq!((plan.parts, plan.lanes.len(), plan.reached()), (1, 1, 1.0));
        assert_eq!(plan.busiest.load, u64::from(tree.hosts()) - 1);
    }
    let mixed = topology(
        "switches: [a, b]\nhosts: \
         {w: {switch: a, rate: 10G}, x: {switch: a, rate: 1G}, y: {switch: b, rate: 25G}}\nlinks: \
         [{a: a, b: b, rate: 40G}]",
    );
    assert!(plan(&mixed).is_one_ring());
    assert_eq!(plan(&mixed).bound.edge, ("a".into(), "x".into()));
}

#[test]
fn a_slow_trunk_carries_each_block_once() {
    let tree = star(&[4, 4], "10G", "1G");
    let ring = one_ring(&tree);
    assert_eq!((ring.busiest.load, ring.reached()), (7, 4.0 / 7.0));
    let plan = plan(&tree);
    assert_eq!(
        (plan.groups.as_slice(), plan.parts),
        ([vec![0, 1, 2, 3], vec![4, 5, 6, 7]].as_slice(), 4)
    );
    assert_eq!(
        plan.lanes,
        (0..4)
            .map(|i| DataLane {
                share: 1,
                gateways: vec![i, 4 + i]
            })
            .collect::<Vec<_>>()
    );
    assert_eq!(
        (plan.busiest.load, plan.bound.load, plan.reached()),
        (16, 16, 1.0)
    );
    // Four blocks of an eighth of a second each over a trunk of 1 Gbit/s.
    assert!(
        (plan.seconds(Bytes(15_625_000)) - 4.0 / 8.0 * crate::bound::WIRE_PER_PAYLOAD).abs()
            < 1e-12
    );
    assert!(
        (plan.seconds(Bytes(1 << 20))
            - crate::bound::allgather_bound_seconds(&tree, Bytes(1 << 20)))
        .abs()
            < 1e-12
    );
}

#[test]
fn unequal_groups_share_the_work_equally() {
    let tree = star(&[0, 2, 3], "10G", "1G");
    let plan = plan(&tree);
    let shares: Vec<(u64, &[u32])> = plan
        .lanes
        .iter()
        .map(|lane| (lane.share, lane.gateways.as_slice()))
        .collect();
    assert_eq!(
        shares,
        [(2, &[0, 2][..]), (1, &[0, 3]), (1, &[1, 3]), (2, &[1, 4])]
    );
    assert_eq!((plan.parts, plan.reached()), (6, 1.0));
    assert_eq!(plan.bound.load, 18, "three blocks of six parts");
}

#[test]
fn a_group_between_passes_on_where_its_hosts_have_time() {
    // The head node is on the core switch. In one circle, the trunk from the last leaf switch back
    // to it would carry 20 blocks.
    let tree = star(&[1, 10, 10], "10G", "1G");
    let cut = TreeCut::new(
        &tree,
        &lr1::ring(&RingBranches::new(&tree)),
        BitsPerSec::GIGABIT,
    );
    let one_circle = cut.lanes(&tree, &[false; 3], 10);
    assert_eq!(
        (one_circle.circles.as_slice(), one_circle.busiest.load),
        ([vec![0, 1, 2]].as_slice(), 200)
    );
    let plan = plan(&tree);
    assert_eq!(plan.circles, [vec![0, 1], vec![0, 2]]);
    assert_eq!((plan.busiest.load, plan.reached()), (110, 1.0));
    // If a host were as slow as the trunks, it would take twice as long to send 22 blocks as the
    // trunks take for their 11.
    assert_eq!(cut.with_time(&tree), [true, true, true]);
    let slower = star(&[1, 10, 10], "1500M", "1G");
    assert!(
        !TreeCut::new(
            &slower,
            &lr1::ring(&RingBranches::new(&slower)),
            BitsPerSec::GIGABIT
        )
        .with_time(&slower)[0]
    );
}

#[test]
fn ranks_cross_their_hosts_cable_together() {
    // Four hosts of 16 ranks: a host must receive 48 blocks; a ring of ranks sends it 63.
    let tree = star(&[0, 16, 16, 16, 16], "100G", "10G");
    assert_eq!(one_ring(&tree).reached(), 48.0 / 63.0);
    assert_eq!(plan(&tree).reached(), 1.0);
}

#[test]
fn one_host_needs_nothing() {
    let plan = plan(&star(&[1], "1G", "1G"));
    assert_eq!(
        (plan.busiest.load, plan.reached(), plan.seconds(Bytes(7))),
        (0, 1.0, 0.0)
    );
    assert_eq!(plan.busiest.edge, ("n0".into(), "n0".into()));
    verify::lanes(&star(&[1], "1G", "1G"), &plan).unwrap();
}

#[test]
fn groups_without_a_common_measure_stay_one_ring() {
    let sizes = [0, 7, 8, 9, 11, 13, 17, 19, 23];
    let tree = star(&sizes, "10G", "1G");
    assert!(
        plan(&tree).is_one_ring(),
        "parts of {} are too many",
        7 * 8 * 9 * 11 * 13 * 17 * 19 * 23u64
    );
}

/// The verifier's refusal of a plan that was right before the change.
fn refusal(change: fn(&mut LaneAllgather)) -> String {
    let tree = star(&[0, 2, 3], "10G", "1G");
    let mut changed = plan(&tree);
    change(&mut changed);
    verify::lanes(&tree, &changed).unwrap_err().to_string()
}

type LaneDamage = (fn(&mut LaneAllgather), &'static str);

fn each_is_refused(damages: &[LaneDamage]) {
    for &(change, reason) in damages {
        assert_eq!(refusal(change), format!("lanes: {reason}"));
    }
}

#[test]
fn the_verifier_names_wrong_groups() {
    each_is_refused(&[
        (|p| p.groups[0][0] = 1, "host n1 comes twice"),
        (|p| p.groups[0][0] = 9, "host number 9 does not exist"),
        (|p| p.groups[1].truncate(2), "host n4 is in no group"),
        (|p| p.groups.push(Vec::new()), "a group has no host"),
        (|p| p.parts = 0, "0 parts: expected 1 to 16777216"),
    ]);
    assert!(refusal(|p| p.hosts.swap(0, 1)).starts_with("hosts: "));
}

#[test]
fn the_verifier_names_wrong_lanes() {
    each_is_refused(&[
        (
            |p| p.lanes[1].gateways[1] = 0,
            "lane 1: host number 0 is not in the group it stands for",
        ),
        (
            |p| p.lanes[1].gateways[1] = 2,
            "lane 1 begins with parts that n2 does not have",
        ),
        (
            |p| p.lanes[0].share = 1,
            "lane 1 begins with parts that n3 does not have",
        ),
        (|p| drop(p.lanes.pop()), "the lanes carry 4 of 6 parts"),
        (
            |p| p.lanes[0].gateways.truncate(1),
            "lane 0 has 1 gateways for 2 groups",
        ),
    ]);
}

#[test]
fn the_verifier_names_wrong_circles() {
    each_is_refused(&[
        (
            |p| p.circles.push(vec![1, 0]),
            "circle 1 leads to group 0, which is reached another way",
        ),
        (|p| p.circles[0][1] = 2, "circle 0: group 2 does not exist"),
        (|p| p.circles[0].clear(), "circle 0 has no group"),
        (
            |p| p.circles.clear(),
            "the circles leave 2 parts without connection",
        ),
    ]);
}

#[test]
fn the_verifier_names_a_wrong_certificate() {
    let load = refusal(|p| p.busiest.load = 5);
    assert!(load.starts_with("lanes: busiest edge: says load 5"));
    let bound = refusal(|p| {
        p.bound = LaneLoad {
            edge: ("n0".into(), "s1".into()),
            load: 6,
            rate: p.bound.rate,
        }
    });
    assert!(bound.starts_with("lanes: bound: says load 6"));
}

/// Plays the plan and tells whether every host has every part of all data at the end. On each
/// circle all groups pass data on until all have the same, once for every circle; then the rings
/// inside the groups do.
fn everybody_has_everything(plan: &LaneAllgather) -> bool {
    let all: usize = plan.groups.iter().map(Vec::len).sum();
    let mut has: Vec<HashSet<(usize, u64)>> = vec![HashSet::new(); all];
    for (g, group) in plan.groups.iter().enumerate() {
        let own = plan.parts / group.len() as u64;
        group.iter().zip(0..).for_each(|(&host, i)| {
            has[host as usize].extend((i * own..(i + 1) * own).map(|part| (g, part)))
        });
    }
    let mut start = 0;
    for lane in &plan.lanes {
        let end = start + lane.share;
        for circle in plan
            .circles
            .iter()
            .cycle()
            .take(plan.circles.len() * plan.circles.len())
        {
            for hop in 0..circle.len() * circle.len() {
                let [from, to] = [hop, hop + 1]
                    .map(|at| lane.gateways[circle[at % circle.len()] as usize] as usize);
                let passed: Vec<(usize, u64)> = has[from]
                    .iter()
                    .copied()
                    .filter(|(_, part)| (start..end).contains(part))
                    .collect();
                has[to].extend(passed);
            }
        }
        start = end;
    }
    for group in &plan.groups {
        let together: HashSet<(usize, u64)> = group
            .iter()
            .flat_map(|&host| has[host as usize].iter().copied())
            .collect();
        group
            .iter()
            .for_each(|&host| has[host as usize].clone_from(&together));
    }
    has.iter()
        .all(|has| has.len() as u64 == plan.parts * plan.groups.len() as u64)
}

/// Trees whose hosts share one rate; every trunk has a rate of its own.
fn any_rated(
    hosts: &'static [&'static str],
    trunks: &'static [&'static str],
) -> impl Strategy<Value = Tree> {
    (1..=8usize, 1..=24usize, prop::sample::select(hosts)).prop_flat_map(
        move |(switches, hosts, host_rate)| {
            let parent: Vec<_> = (1..switches).map(|s| 0..s).collect();
            let trunk = prop::sample::select(trunks).prop_map(str::to_owned);
            (
                parent,
                prop::collection::vec(trunk, switches - 1),
                prop::collection::vec(0..switches, hosts),
            )
                .prop_map(move |(parent, trunks, at)| {
                    rated(switches, &parent, &trunks, &at, host_rate)
                })
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(CASES))]

    #[test]
    fn lanes_are_right_and_never_slower_than_the_ring(
        tree in any_rated(&["1G", "2G", "10G"], &["1G", "2G", "5G", "10G", "40G"]),
    ) {
        let (plan, ring) = (plan(&tree), one_ring(&tree));
        prop_assert_eq!(verify::lanes(&tree, &plan), Ok(()));
        prop_assert_eq!(verify::lanes(&tree, &ring), Ok(()));
        prop_assert!(everybody_has_everything(&plan) && everybody_has_everything(&ring));
        prop_assert!(ring.reached() <= plan.reached() && plan.reached() <= 1.0);
        prop_assert!(
            ring.reached() > 0.5,
            "all but one block instead of those of the larger side"
        );
        let block = Bytes(1 << 20);
        let bound = crate::bound::allgather_bound_seconds(&tree, block);
        prop_assert!((plan.seconds(block) * plan.reached() - bound).abs() <= 1e-9 * bound);
        let slowest = |hosts: bool| {
            (0..tree.nodes())
                .filter(|&v| tree.parent(v).is_some() && tree.is_host(v) == hosts)
                .map(|v| tree.rate(v))
                .min()
        };
        if slowest(false).is_none_or(|trunk| slowest(true) <= Some(trunk)) {
            prop_assert!(plan.is_one_ring() && plan.reached() == 1.0);
        }
    }

    #[test]
    fn lanes_reach_the_bound_where_trunks_have_one_rate_and_hosts_time(
        tree in any_rated(&["400G"], &["1G"]),
    ) {
        prop_assert_eq!(plan(&tree).reached(), 1.0);
    }
}
