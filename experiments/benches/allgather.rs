//! The planning time of allgathers: LR1 and LR3 for 1,000 switches.
//!
//! Target: LR3, 1,000 switches, 20 ms.
use criterion::{Criterion, criterion_group, criterion_main};
use experiments::graph::{
    HOSTS_PER_SWITCH, SplitMix64, TreeConstruction, random_cluster, spanning_tree,
};
use inventory::topology_file::TopologyCable;
use inventory::{BitsPerSec, Tree};
use schedules::allgather::{AllgatherAlgorithm, plan_as};
use std::hint::black_box;

const SWITCHES: usize = 1000;

/// A spanning tree of one of the allgather paper's random clusters.
fn spanning(construction: TreeConstruction) -> Tree {
    let mut random = SplitMix64::new(11);
    let cluster = random_cluster(SWITCHES, SWITCHES * HOSTS_PER_SWITCH, &mut random);
    spanning_tree(&cluster, construction, &mut random)
        .tree()
        .unwrap()
}

/// Every switch is cabled to one of the `back` switches before it, and `hosts` are at random
/// switches. With few hosts, rings are hard to find.
fn grown(back: usize, hosts: usize) -> Tree {
    let mut random = SplitMix64::new(11);
    let mut cluster = random_cluster(SWITCHES, hosts, &mut random);
    let link = |s: usize, random: &mut SplitMix64| {
        let before = format!("s{}", s - 1 - random.below(s.min(back)));
        TopologyCable::new(format!("s{s}"), before, BitsPerSec::GIGABIT)
    };
    cluster.links = (1..SWITCHES).map(|s| link(s, &mut random)).collect();
    cluster.tree().unwrap()
}

fn rings(c: &mut Criterion) {
    let mut group = c.benchmark_group("allgather 1000 switches");
    for (name, tree) in [
        ("breadth first", spanning(TreeConstruction::BreadthFirst)),
        ("depth first", spanning(TreeConstruction::DepthFirst)),
        ("at random", spanning(TreeConstruction::Random)),
        ("tall, two hosts a switch", grown(3, 2 * SWITCHES)),
        ("tall, a host a switch", grown(3, SWITCHES)),
        ("low, a host a switch", grown(SWITCHES, SWITCHES)),
        (
            "low, a host for two switches",
            grown(SWITCHES, SWITCHES / 2),
        ),
    ] {
        for algorithm in [AllgatherAlgorithm::Lr1, AllgatherAlgorithm::Lr3] {
            let path = plan_as(&tree, algorithm)
                .map(|ring| ring.longest_path)
                .unwrap();
            group.bench_function(format!("{name}, {algorithm} (longest path {path})"), |b| {
                b.iter(|| plan_as(black_box(&tree), algorithm))
            });
        }
    }
    group.finish();
}

criterion_group!(benches, rings);
criterion_main!(benches);
