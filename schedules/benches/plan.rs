//! How long planning takes, from the tree to the files of an epoch.
//!
//! Targets, one thread: 1,024 hosts with AAPC and chain 150 ms, with AAPC and minimal synchronizations 600 ms, with capacities
//! (4 x 8 x 32) 400 ms; 4,096 hosts with capacities (64 x 64) 5 s; a subset of 64 among 1,024 hosts 2 ms; one host moved among
//! 1,024, planned again, 400 ms.
//!
//! *A subset* is what a rank does for a communicator: restrict the tree, plan with minimal synchronizations, take its own steps.
//! *One host moved* is what the controller does between the moment it believes a change and the moment an epoch may be written:
//! tree, both collectives as they are published, the verifier, the bytes of all files with their digests.
use criterion::{Criterion, criterion_group, criterion_main};
use inventory::{Millis, Topology};
use schedules::alltoall::{plan, plan_reduced};
use schedules::sync::{Reduction, SyncKind};
use schedules::{aapc, allgather, slice, verify};
use selection::epoch::{Epoch, Pointer};
use selection::tuning::Tuning;
use std::hint::black_box;
use std::time::Duration;

mod networks;
use networks::{row, three_levels, two_levels};

const REDUCTIONS: [(&str, Reduction); 2] = [("chain", Reduction::Chain), ("minimal", Reduction::Minimal)];

fn alltoall(c: &mut Criterion) {
    let mut group = c.benchmark_group("alltoall");
    group.sample_size(10).measurement_time(Duration::from_secs(5)).warm_up_time(Duration::from_millis(500));
    for (name, topology) in [
        ("16x16", two_levels(16, 16, "1G")),
        ("32x32", two_levels(32, 32, "1G")),
        ("row 8x128", row(128)),
        ("4x8x32, capacities", three_levels(4, 8, 32)),
    ] {
        let tree = topology.tree().unwrap();
        group.bench_function(format!("{name}, aapc phases alone"), |b| b.iter(|| aapc::phases(black_box(&tree))));
        for (kind, reduction) in REDUCTIONS {
            group.bench_function(format!("{name}, {kind}"), |b| b.iter(|| plan_reduced(black_box(&tree), SyncKind::Receiver, reduction)));
            let plan = plan_reduced(&tree, SyncKind::Receiver, reduction);
            group.bench_function(format!("{name}, {kind}, verified"), |b| {
                b.iter(|| verify::alltoall(black_box(&tree), black_box(&plan)).unwrap())
            });
        }
    }
    let large = two_levels(64, 64, "10G").tree().unwrap();
    group.bench_function("64x64, capacities, chain", |b| b.iter(|| plan_reduced(black_box(&large), SyncKind::Receiver, Reduction::Chain)));
    group.finish();
}

fn one_host(c: &mut Criterion) {
    let mut group = c.benchmark_group("one host");
    let tree = two_levels(32, 32, "1G").tree().unwrap();
    let whole = plan(&tree, SyncKind::Receiver);
    group.bench_function("its slice of 1,024", |b| b.iter(|| slice::of(black_box(&whole), 7)));
    // Two hosts of each switch, in an order of their own.
    let subset: Vec<&str> = (0..64).map(|i| tree.name(i * 37 % 64 * 16)).collect();
    group.bench_function("a subset of 64 among 1,024", |b| {
        b.iter(|| {
            let tree = black_box(&tree).restrict(&subset).unwrap();
            slice::of(&plan(&tree, SyncKind::Receiver), 7)
        })
    });
    group.finish();
}

fn epochs(c: &mut Criterion) {
    let mut group = c.benchmark_group("epoch of 1,024");
    group.sample_size(10).measurement_time(Duration::from_secs(5)).warm_up_time(Duration::from_millis(500));
    let mut topology = two_levels(32, 32, "1G");
    topology.hosts["n5"].switch = "s9".to_owned();
    let plan = || Epoch::plan(2, Millis(1), topology.clone(), Topology::default(), Tuning::default()).unwrap();
    group.bench_function("one host moved", |b| b.iter(|| plan().files()));
    let epoch = plan();
    group.bench_function("files", |b| b.iter(|| black_box(&epoch).files()));
    let files = epoch.files();
    let pointer = Pointer::new(2, &files.last().unwrap().1);
    let read = |name: &str, _| Ok(files.iter().find(|file| file.0 == name).unwrap().1.clone());
    group.bench_function("opened", |b| b.iter(|| Epoch::open(black_box(&pointer), read).unwrap()));
    let tree = topology.tree().unwrap();
    group.bench_function("ring", |b| b.iter(|| allgather::plan(black_box(&tree))));
    group.finish();
}

criterion_group!(benches, alltoall, one_host, epochs);
criterion_main!(benches);
