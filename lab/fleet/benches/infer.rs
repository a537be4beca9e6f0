//! The time of a first inference, from views to topology, for 1,000 switches and 20,000 hosts.
//! Controllers infer again at each change, so this is the larger part of the cost of a recabling.
//!
//! Targets on one thread: 200 ms if hosts speak LLDP, so that a recabling stays below 300 ms; 500
//! ms if forwarding databases place the hosts; 1 s if some switches do not speak LLDP and their
//! databases are compared with all others.
use criterion::{Criterion, criterion_group, criterion_main};
use fleet::network::{GeneratedNetwork, NetworkOptions, generate};
use infer::infer;
use std::hint::black_box;
use std::time::Duration;

fn network(options: impl FnOnce(&mut NetworkOptions)) -> GeneratedNetwork {
    let mut all = NetworkOptions::regular(1_000, 20_000);
    options(&mut all);
    generate(&all, 1)
}

fn cold(c: &mut Criterion) {
    let mut group = c.benchmark_group("infer");
    group
        .sample_size(10)
        .measurement_time(Duration::from_secs(5))
        .warm_up_time(Duration::from_millis(500));
    let networks = [
        ("hosts speak LLDP", network(|_| {})),
        (
            "hosts in databases",
            network(|o| (o.host_lldp, o.talks) = (0.0, 10)),
        ),
        (
            "one switch in a hundred without LLDP",
            network(|o| o.mute = 0.01),
        ),
        (
            "a management network beside the other",
            network(|o| o.odd.management = true),
        ),
    ];
    for (
        name,
        GeneratedNetwork {
            inventory, views, ..
        },
    ) in &networks
    {
        group.bench_function(*name, |b| {
            b.iter(|| infer(black_box(inventory), black_box(views)))
        });
    }
    group.finish();
}

criterion_group!(benches, cold);
criterion_main!(benches);
