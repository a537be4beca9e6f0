//! Time to plan. `directory/benches/epoch.rs` measures the files that the controller publishes.
//!
//! Targets, one thread: 1,024 hosts with AAPC and chain 150 ms, with AAPC and minimal
//! synchronizations 600 ms, with capacities (4 x 8 x 32) 400 ms; 4,096 hosts with capacities (64 x
//! 64) 5 s; a subset of 64 among 1,024 hosts 2 ms.
//!
//! *A subset* is the work of a rank for a communicator: restrict the tree, plan with minimal
//! synchronizations, take the rank's own part.
use criterion::{Criterion, criterion_group, criterion_main};
use samples::networks::{row, three_levels, two_levels};
use schedules::alltoall::{AlltoallSchedule, plan, plan_reduced};
use schedules::synchronization::{SyncKind, SyncReduction};
use schedules::transfers::TransferSchedule;
use schedules::transfers::part::{self, RankPart};
use schedules::{aapc, verify};
use std::hint::black_box;
use std::time::Duration;

const REDUCTIONS: [(&str, SyncReduction); 2] = [
    ("chain", SyncReduction::Chain),
    ("minimal", SyncReduction::Minimal),
];

fn alltoall(c: &mut Criterion) {
    let mut group = c.benchmark_group("alltoall");
    group
        .sample_size(10)
        .measurement_time(Duration::from_secs(5))
        .warm_up_time(Duration::from_millis(500));
    for (name, topology) in [
        ("16x16", two_levels(16, 16, "1G")),
        ("32x32", two_levels(32, 32, "1G")),
        ("row 8x128", row(128)),
        ("4x8x32, capacities", three_levels(4, 8, 32)),
    ] {
        let tree = topology.tree().unwrap();
        group.bench_function(format!("{name}, aapc phases alone"), |b| {
            b.iter(|| aapc::phases(black_box(&tree)))
        });
        for (kind, reduction) in REDUCTIONS {
            group.bench_function(format!("{name}, {kind}"), |b| {
                b.iter(|| plan_reduced(black_box(&tree), SyncKind::Receiver, reduction))
            });
            let plan = plan_reduced(&tree, SyncKind::Receiver, reduction);
            group.bench_function(format!("{name}, {kind}, verified"), |b| {
                b.iter(|| verify::alltoall(black_box(&tree), black_box(&plan)).unwrap())
            });
        }
    }
    let large = two_levels(64, 64, "10G").tree().unwrap();
    group.bench_function("64x64, capacities, chain", |b| {
        b.iter(|| plan_reduced(black_box(&large), SyncKind::Receiver, SyncReduction::Chain))
    });
    group.finish();
}

fn own_part(plan: &AlltoallSchedule) -> RankPart {
    part::of(&TransferSchedule::try_from(plan).expect("known waits"), 7)
}

fn one_host(c: &mut Criterion) {
    let mut group = c.benchmark_group("one host");
    let tree = two_levels(32, 32, "1G").tree().unwrap();
    let whole = plan(&tree, SyncKind::Receiver);
    group.bench_function("its part of 1,024", |b| {
        b.iter(|| own_part(black_box(&whole)))
    });
    // Two hosts of each switch, in mixed order.
    let subset: Vec<&str> = (0..64).map(|i| tree.name(i * 37 % 64 * 16)).collect();
    group.bench_function("a subset of 64 among 1,024", |b| {
        b.iter(|| {
            let tree = black_box(&tree).restrict(&subset).unwrap();
            own_part(&plan(&tree, SyncKind::Receiver))
        })
    });
    group.finish();
}

criterion_group!(benches, alltoall, one_host);
criterion_main!(benches);
