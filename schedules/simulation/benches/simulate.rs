//! Time of the simulator for an all-to-all: 256 and 1,024 hosts on 32 switches around a core.
//!
//! Target: 1,024 hosts in seconds.
use criterion::{Criterion, criterion_group, criterion_main};
use inventory::{Bytes, TopologyFile, Tree};
use schedules::alltoall::{AlltoallAlgorithm, plan_as};
use schedules::synchronization::scheme::SyncScheme;
use schedules::synchronization::{SyncKind, SyncReduction};
use simulation::{SimulationModel, planned, run};
use std::fmt::Write;
use std::hint::black_box;
use std::time::Duration;

const BLOCK: Bytes = Bytes(1 << 16);

/// 32 switches with `hosts` each around a core.
fn tree(hosts: usize, trunk: &str) -> Tree {
    let names: Vec<String> = (0..32).map(|s| format!("s{s}")).collect();
    let mut text = format!("switches: [core, {}]\nhosts:\n", names.join(", "));
    (0..32 * hosts).for_each(|h| writeln!(text, "  n{h}: {{switch: s{}}}", h / hosts).unwrap());
    text.push_str("links:\n");
    (0..32).for_each(|s| writeln!(text, "  - {{a: core, b: s{s}, rate: {trunk}}}").unwrap());
    TopologyFile::parse("bench", &text).unwrap().tree().unwrap()
}

fn simulate(c: &mut Criterion) {
    let mut group = c.benchmark_group("simulate");
    group
        .sample_size(10)
        .measurement_time(Duration::from_secs(5))
        .warm_up_time(Duration::from_millis(100));
    let model = SimulationModel {
        penalty: 0.5,
        ..SimulationModel::default()
    };
    for (hosts, trunk) in [(8, "1G"), (32, "1G"), (32, "10G")] {
        let tree = tree(hosts, trunk);
        let name = format!("32x{hosts}, trunks of {trunk}");
        let algorithm = AlltoallAlgorithm::faster_for(&tree);
        let plan = plan_as(&tree, algorithm, SyncKind::Receiver, SyncReduction::Chain);
        let traffic = planned::alltoall(&plan, BLOCK, SyncScheme::NO_SYNC);
        group.bench_function(format!("{name}, {algorithm}"), |b| {
            b.iter(|| run(black_box(&tree), black_box(&traffic), &model))
        });
    }
    group.finish();
}

criterion_group!(benches, simulate);
criterion_main!(benches);
