//! Reports of two hosts, separated by a zero: refused, or evaluated together with the walks of two
//! switches.
#![no_main]
mod written;

use agent::recording::DeviceRecording;
use infer::infer;
use inventory::Millis;
use inventory::device_view::{DeviceViews, apply};
use inventory::host_report::HostReport;
use inventory::inventory_file::Inventory;
use inventory::observation::{DeviceFact, Observation, ObservationSource};
use std::sync::LazyLock;

const INVENTORY: &str = "switches: {s0: {address: 10.0.0.1}, s1: {address: 10.0.0.2}}\nsnmp: \
                         {default: {version: 2c, community: c}}\nhosts: \
                         {n0: {}, n1: {mac: \"02:00:00:00:01:01\"}, n2: {address: 10.0.1.2}}\n";
/// Each switch hears the other one, and s0 has learned n1.
const WALKS: [&[u8]; 2] = [
    b"1.3.6.1.2.1.1.5.0|4|s0\n1.3.6.1.2.1.2.2.1.2.1|4|swp1\n1.3.6.1.2.1.2.2.1.2.2|4|swp2\n\
     1.3.6.1.2.1.2.2.1.2.3|4|swp3\n1.0.8802.1.1.2.1.3.1.0|2|4\n\
     1.0.8802.1.1.2.1.3.2.0|4x|020000000001\n1.0.8802.1.1.2.1.3.7.1.3.1|4|swp1\n\
     1.0.8802.1.1.2.1.4.1.1.4.0.1.1|2|4\n1.0.8802.1.1.2.1.4.1.1.5.0.1.1|4x|020000000002\n\
     1.0.8802.1.1.2.1.4.1.1.7.0.1.1|4|swp1\n1.3.6.1.2.1.17.1.1.0|4x|020000000001\n\
     1.3.6.1.2.1.17.1.4.1.2.1|2|1\n1.3.6.1.2.1.17.1.4.1.2.2|2|2\n\
     1.3.6.1.2.1.17.4.3.1.2.2.0.0.0.1.1|2|2\n",
    b"1.3.6.1.2.1.1.5.0|4|s1\n1.3.6.1.2.1.2.2.1.2.1|4|swp1\n1.3.6.1.2.1.2.2.1.2.2|4|swp2\n\
     1.0.8802.1.1.2.1.3.1.0|2|4\n1.0.8802.1.1.2.1.3.2.0|4x|020000000002\n\
     1.0.8802.1.1.2.1.3.7.1.3.1|4|swp1\n1.0.8802.1.1.2.1.4.1.1.4.0.1.1|2|4\n\
     1.0.8802.1.1.2.1.4.1.1.5.0.1.1|4x|020000000001\n1.0.8802.1.1.2.1.4.1.1.7.0.1.1|4|swp1\n\
     1.3.6.1.2.1.17.1.1.0|4x|020000000002\n",
];

static NETWORK: LazyLock<(Inventory, DeviceViews)> = LazyLock::new(|| {
    let inventory = Inventory::parse("fuzz", INVENTORY).expect("a good inventory");
    let mut views = DeviceViews::new();
    for (name, walk) in ["s0", "s1"].into_iter().zip(WALKS) {
        let recording = DeviceRecording::parse(name, walk).expect("a good walk");
        for observation in recording.observations(Millis(1)) {
            apply(&mut views, &observation);
        }
    }
    (inventory, views)
});

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let (inventory, mut views) = (&NETWORK.0, NETWORK.1.clone());
    for (host, text) in ["n0", "n1"].into_iter().zip(bytes.split(|&b| b == 0)) {
        let Ok(report) = serde_json::from_slice::<HostReport>(text) else {
            continue;
        };
        if report.check().is_err() {
            continue;
        }
        let again = serde_json::to_vec(&report).expect("plain data serializes");
        assert_eq!(
            serde_json::from_slice::<HostReport>(&again).ok().as_ref(),
            Some(&report)
        );
        // The controller accepts a host's report only under the name of that host.
        let fact = DeviceFact::Host(HostReport {
            host: host.to_owned(),
            ..report
        });
        apply(
            &mut views,
            &Observation {
                at: Millis(2),
                reporter: host.to_owned(),
                source: ObservationSource::Agent,
                fact,
            },
        );
    }
    written::everywhere(&infer(inventory, &views));
});
