//! The time of an epoch, from the tree to its files and back. Target, one thread: one host moved
//! among 1,024, planned again, 400 ms.
//!
//! *One host moved* is the work of the controller between accepting a change and writing the epoch:
//! tree, both collectives as they are published, the verifier, the bytes of all files with their
//! digests.
use criterion::{Criterion, criterion_group, criterion_main};
use directory::epoch::{Epoch, WayEvidence};
use directory::pointer::EpochPointer;
use inventory::{Millis, Topology, TopologyFile};
use schedules::allgather;
use std::fmt::Write;
use std::hint::black_box;
use std::time::Duration;

/// 32 switches with 32 hosts each around a core.
fn network() -> TopologyFile {
    let leaves: Vec<String> = (0..32).map(|s| format!("s{s}")).collect();
    let mut text = format!("switches: [core, {}]\nhosts:\n", leaves.join(", "));
    (0..1024).for_each(|h| {
        writeln!(text, "  n{h}: {{switch: s{}}}", h / 32).expect("a string takes everything")
    });
    text += "links:\n";
    leaves.iter().for_each(|leaf| {
        writeln!(text, "  - {{a: core, b: {leaf}, rate: 1G}}").expect("a string takes everything")
    });
    TopologyFile::parse("network", &text).expect("a good file")
}

fn epochs(c: &mut Criterion) {
    let mut group = c.benchmark_group("epoch of 1,024");
    group
        .sample_size(10)
        .measurement_time(Duration::from_secs(5))
        .warm_up_time(Duration::from_millis(500));
    let mut topology = network();
    topology.hosts["n5"].switch = "s9".to_owned();
    let plan = || {
        Epoch::plan(
            2,
            Millis(1),
            topology.clone(),
            Topology::default(),
            WayEvidence::default(),
        )
        .unwrap()
    };
    group.bench_function("one host moved", |b| b.iter(|| plan().files()));
    let epoch = plan();
    group.bench_function("files", |b| b.iter(|| black_box(&epoch).files()));
    let files = epoch.files();
    let pointer = EpochPointer::new(2, &files.last().unwrap().1);
    group.bench_function("opened", |b| {
        b.iter(|| {
            Epoch::open(black_box(&pointer), |name, _| {
                Ok(files.iter().find(|file| file.0 == name).unwrap().1.clone())
            })
            .unwrap()
        })
    });
    let tree = topology.tree().unwrap();
    group.bench_function("ring", |b| b.iter(|| allgather::plan(black_box(&tree))));
    group.finish();
}

criterion_group!(benches, epochs);
criterion_main!(benches);
