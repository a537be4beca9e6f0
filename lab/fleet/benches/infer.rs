//! The time of an inference, from views to topology, for 1,000 switches and 20,000 hosts: the first
//! one, and the one after two hosts changed places, as a controller makes it at each change.
//!
//! Targets on one thread: 200 ms if hosts speak LLDP, and 100 ms after a recabling; 500 ms if
//! forwarding databases place the hosts; 1 s if some switches do not speak LLDP and their databases
//! are compared with all others.
use criterion::{Criterion, criterion_group, criterion_main};
use fleet::network::{GeneratedNetwork, NetworkOptions, generate};
use infer::{InferenceMemory, infer};
use inventory::device_view::{DeviceView, DeviceViews};
use inventory::observation::LldpNeighbour;
use std::collections::BTreeSet;
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

/// The last host of one switch and the last one of another change places.
fn recabled(views: &DeviceViews, ends: [&String; 2]) -> DeviceViews {
    let mut views = views.clone();
    let [mut a, mut b] = ends.map(|end| views[end].clone());
    let row = |view: &mut DeviceView| -> LldpNeighbour {
        let rows = view.lldp.as_mut().map(|lldp| &mut lldp.neighbours);
        rows.and_then(Vec::pop).expect("hosts speak LLDP")
    };
    let (of_a, of_b) = (row(&mut a), row(&mut b));
    let ports = [of_a.local_port, of_b.local_port];
    for (name, mut view, row, port) in [(ends[0], a, of_b, ports[0]), (ends[1], b, of_a, ports[1])]
    {
        if let Some(lldp) = &mut view.lldp {
            lldp.neighbours.push(LldpNeighbour {
                local_port: port,
                ..row
            });
        }
        views.insert(name.clone(), view);
    }
    views
}

fn changed(c: &mut Criterion) {
    let GeneratedNetwork {
        inventory, views, ..
    } = network(|_| {});
    let names: Vec<&String> = inventory.switches.keys().collect();
    let ends = [names[names.len() / 3], names[names.len() / 2]];
    let changed: BTreeSet<String> = ends.into_iter().cloned().collect();
    let swapped = recabled(&views, ends);
    let mut turns = [&views, &swapped].into_iter().cycle();
    let mut memory = InferenceMemory::default();
    memory.infer_changed(&inventory, &views, &BTreeSet::new());
    let mut group = c.benchmark_group("infer");
    group.sample_size(10);
    group.bench_function("two hosts changed places", |b| {
        b.iter(|| {
            let views = turns.next().expect("turns go on");
            memory.infer_changed(&inventory, black_box(views), &changed)
        })
    });
    group.finish();
}

criterion_group!(benches, cold, changed);
criterion_main!(benches);
