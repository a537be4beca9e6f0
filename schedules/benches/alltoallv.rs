//! How long an all-to-all of Zipf-skewed sizes takes to plan among 64 hosts: one switch, four switches around a core, eight in a
//! row, with trunks as fast as the hosts and ten times as fast.
//!
//! Target: a millisecond.
use criterion::{Criterion, criterion_group, criterion_main};
use inventory::{Bytes, TopologyFile, Tree};
use schedules::alltoallv::plan;
use std::fmt::Write;
use std::hint::black_box;
use std::time::Duration;

const HOSTS: usize = 64;

/// 64 hosts on `switches`, each cabled to the first or to the one before.
fn tree(switches: usize, in_a_row: bool, trunk: &str) -> Tree {
    let names: Vec<String> = (0..switches).map(|s| format!("s{s}")).collect();
    let mut text = format!("switches: [core, {}]\nhosts:\n", names.join(", "));
    (0..HOSTS).for_each(|h| writeln!(text, "  n{h}: {{switch: s{}}}", h * switches / HOSTS).unwrap());
    writeln!(text, "links:\n  - {{a: core, b: s0, rate: {trunk}}}").unwrap();
    let next = |s: usize| if in_a_row { &names[s - 1] } else { "core" };
    (1..switches).for_each(|s| writeln!(text, "  - {{a: s{s}, b: {}, rate: {trunk}}}", next(s)).unwrap());
    TopologyFile::parse("bench", &text).unwrap().tree().unwrap()
}

/// The k-th largest is 1 / k^s of the largest, 1 GB; pairs come in an order that a step through all of them shuffles.
fn zipf(s: f64) -> Vec<Bytes> {
    let pairs = HOSTS * HOSTS;
    let mut sizes = vec![Bytes(0); pairs];
    (0..pairs).for_each(|k| sizes[k * 1_597 % pairs] = Bytes((1e9 / (k as f64 + 1.0).powf(s)) as u64));
    sizes
}

fn plans(c: &mut Criterion) {
    let mut group = c.benchmark_group("alltoallv");
    group.sample_size(50).measurement_time(Duration::from_secs(2)).warm_up_time(Duration::from_millis(500));
    for (name, tree) in [
        ("one switch of 64", tree(1, false, "1G")),
        ("4x16 around a core", tree(4, false, "1G")),
        ("4x16 around a core, trunks of 10G", tree(4, false, "10G")),
        ("8x8 in a row", tree(8, true, "1G")),
        ("8x8 in a row, trunks of 10G", tree(8, true, "10G")),
    ] {
        for s in [1.0, 1.5] {
            let sizes = zipf(s);
            group.bench_function(format!("{name}, zipf {s}"), |b| b.iter(|| plan(black_box(&tree), black_box(&sizes)).unwrap()));
        }
    }
    group.finish();
}

criterion_group!(benches, plans);
criterion_main!(benches);
