//! Time to plan all-to-alls on links of different speeds.
//!
//! Targets: three tiers 4 x 8 x 32 (1,024 hosts) 400 ms, 64 x 64 (4,096 hosts) 5 s, 64 hosts of a
//! job among 1,024 2 ms with the restriction of the tree to them.
use criterion::{Criterion, criterion_group, criterion_main};
use inventory::{TopologyFile, Tree};
use schedules::alltoall::AlltoallAlgorithm;
use schedules::capacities::EdgeCapacities;
use schedules::synchronization::scheme::SyncScheme;
use schedules::synchronization::{SyncKind, SyncReduction};
use schedules::{alltoall, capacity, stages, verify};
use std::fmt::Write;
use std::hint::black_box;
use std::num::NonZeroU32;
use std::time::Duration;

/// Tiers of switches under a core. Each entry gives the number of switches under every switch of
/// the tier before, and the rate of their uplinks. The switches of the last tier have the hosts.
fn tiers(tiers: &[(usize, &str)], hosts: usize, rate: &str) -> Tree {
    let (mut names, mut links) = (vec!["s0".to_owned()], Vec::new());
    let mut last = 0..1;
    for &(each, uplink) in tiers {
        let first = names.len();
        for above in last {
            for _ in 0..each {
                links.push(format!(
                    "{{a: s{}, b: s{above}, rate: {uplink}}}",
                    names.len()
                ));
                names.push(format!("s{}", names.len()));
            }
        }
        last = first..names.len();
    }
    let mut text = format!("switches: [{}]\nhosts:\n", names.join(", "));
    for (h, s) in last.flat_map(|s| std::iter::repeat_n(s, hosts)).enumerate() {
        writeln!(text, "  n{h}: {{switch: s{s}, rate: {rate}}}").unwrap();
    }
    writeln!(text, "links: [{}]", links.join(", ")).unwrap();
    TopologyFile::parse("bench", &text).unwrap().tree().unwrap()
}

/// Leaves with so many hosts of 10G each, and a way of 20G from each leaf to each spine.
fn fabric(leaves: usize, hosts: usize, spines: usize) -> Tree {
    let names = |kind: &str, count: usize| -> String {
        let names: Vec<String> = (0..count).map(|at| format!("{kind}{at}")).collect();
        names.join(", ")
    };
    let mut text = format!(
        "switches: [{}]\nrouters: [{}]\nhosts:\n",
        names("leaf", leaves),
        names("spine", spines)
    );
    for host in 0..leaves * hosts {
        writeln!(
            text,
            "  n{host}: {{switch: leaf{}, rate: 10G}}",
            host / hosts
        )
        .unwrap();
    }
    text.push_str("links:\n");
    for way in 0..leaves * spines {
        let (leaf, spine) = (way / spines, way % spines);
        let ends = format!("a: leaf{leaf}, b: spine{spine}");
        writeln!(text, "  - {{{ends}, rate: 20G, state: multipath}}").unwrap();
    }
    TopologyFile::parse("bench", &text).unwrap().tree().unwrap()
}

/// Target: planned and verified in a second.
fn ways(c: &mut Criterion) {
    let mut group = c.benchmark_group("ways");
    group
        .sample_size(10)
        .measurement_time(Duration::from_secs(5))
        .warm_up_time(Duration::from_millis(500));
    let tree = fabric(32, 32, 16);
    let capacities = EdgeCapacities::from_tree(&tree);
    let phases = capacity::phases(&tree, &capacities);
    group.bench_function("32x32, 16 spines, chosen for given phases", |b| {
        b.iter(|| {
            stages::choose(
                black_box(&tree),
                &capacities,
                &mut phases.clone(),
                usize::MAX,
            )
        });
    });
    let plan = || alltoall::plan(black_box(&tree), SyncScheme::credit(NonZeroU32::MIN));
    group.bench_function("32x32, 16 spines, planned by credit", |b| b.iter(plan));
    let planned = plan();
    assert!(!planned.paths.is_empty());
    group.bench_function("32x32, 16 spines, verified", |b| {
        b.iter(|| verify::alltoall(&tree, black_box(&planned)).unwrap());
    });
}

fn plans(c: &mut Criterion) {
    let mut group = c.benchmark_group("capacity");
    group
        .sample_size(10)
        .measurement_time(Duration::from_secs(5))
        .warm_up_time(Duration::from_millis(500));
    let plan = |tree: &Tree| capacity::phases(tree, &EdgeCapacities::from_tree(tree));
    let mixed = [
        (
            "4x8x32, uplinks 10 and 40",
            tiers(&[(4, "40G"), (8, "10G")], 32, "1G"),
        ),
        (
            "4x8x32, uplinks 10 and 20",
            tiers(&[(4, "20G"), (8, "10G")], 32, "1G"),
        ),
        (
            "4x8x32, 25G hosts, uplinks 40G and 100G",
            tiers(&[(4, "100G"), (8, "40G")], 32, "25G"),
        ),
    ];
    for (name, tree) in &mixed {
        let (by, tokens) = (AlltoallAlgorithm::Capacity, SyncKind::Receiver);
        group.bench_function(format!("{name}, chained tokens"), |b| {
            b.iter(|| alltoall::plan_as(black_box(tree), by, tokens, SyncReduction::Chain))
        });
    }
    for (name, tree) in mixed.into_iter().chain([
        (
            "4x8x32, uplinks 20 and 160",
            tiers(&[(4, "160G"), (8, "20G")], 32, "1G"),
        ),
        ("64x64, uplinks 10", tiers(&[(64, "100G")], 64, "10G")),
        ("64x64, uplinks 40", tiers(&[(64, "400G")], 64, "10G")),
    ]) {
        group.bench_function(name, |b| b.iter(|| plan(black_box(&tree))));
    }
    let whole = tiers(&[(4, "40G"), (8, "10G")], 32, "1G");
    for (name, step) in [("64 of 1,024 all over", 16), ("64 of 1,024 in a row", 1)] {
        let job: Vec<&str> = (0..64)
            .map(|h| whole.host_names()[h * step].as_str())
            .collect();
        group.bench_function(name, |b| {
            b.iter(|| plan(&black_box(&whole).restrict(&job).unwrap()))
        });
    }
    group.finish();
}

criterion_group!(benches, plans, ways);
criterion_main!(benches);
