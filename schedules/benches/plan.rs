//! How long planning and checking take: 256 and 1,024 hosts, on a star and in a row of switches.
//!
//! Targets: 256 hosts with chain synchronizations under 50 ms, 1,024 hosts under 500 ms.
use criterion::{Criterion, criterion_group, criterion_main};
use heddle_schedules::alltoall::plan_reduced;
use heddle_schedules::sync::{Reduction, SyncKind};
use heddle_schedules::{allgather, slice, verify};
use inventory::{TopologyFile, Tree};
use std::fmt::Write;
use std::hint::black_box;
use std::time::Duration;

/// `switches` with `hosts` each: all on the first one, or one after the other.
fn tree(switches: usize, hosts: usize, in_a_row: bool) -> Tree {
    let names: Vec<String> = (0..switches).map(|s| format!("s{s}")).collect();
    let mut text = format!("switches: [{}]\nhosts:\n", names.join(", "));
    for h in 0..switches * hosts {
        writeln!(text, "  n{h}: {{switch: s{}}}", h / hosts).unwrap();
    }
    text.push_str("links:\n");
    for s in 1..switches {
        writeln!(text, "  - {{a: s{s}, b: s{}}}", if in_a_row { s - 1 } else { 0 }).unwrap();
    }
    TopologyFile::parse("bench", &text).unwrap().tree().unwrap()
}

fn plans(c: &mut Criterion) {
    let mut group = c.benchmark_group("plan");
    group.sample_size(10).measurement_time(Duration::from_secs(5)).warm_up_time(Duration::from_millis(500));
    for (name, tree) in [
        ("star 16x16", tree(16, 16, false)),
        ("row 16x16", tree(16, 16, true)),
        ("star 32x32", tree(32, 32, false)),
        ("row 8x128", tree(8, 128, true)),
    ] {
        for (kind, reduction) in [("chain", Reduction::Chain), ("minimal", Reduction::Minimal)] {
            group.bench_function(format!("{name}, {kind}"), |b| b.iter(|| plan_reduced(black_box(&tree), SyncKind::Receiver, reduction)));
            let plan = plan_reduced(&tree, SyncKind::Receiver, reduction);
            group.bench_function(format!("{name}, verify {kind}"), |b| {
                b.iter(|| verify::alltoall(black_box(&tree), black_box(&plan)).unwrap())
            });
            group.bench_function(format!("{name}, one host's slice of {kind}"), |b| b.iter(|| slice::of(black_box(&plan), 7)));
        }
        group.bench_function(format!("{name}, ring"), |b| b.iter(|| allgather::plan(black_box(&tree))));
    }
    group.finish();
}

criterion_group!(benches, plans);
criterion_main!(benches);
