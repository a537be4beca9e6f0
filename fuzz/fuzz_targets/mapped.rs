//! The findings of flows between hosts, as the shared directory keeps them: refused, or evaluated
//! together with the walk of a switch that learned five hosts at one port.
#![no_main]
mod written;

use agent::recording::DeviceRecording;
use infer::InferenceMemory;
use inventory::Millis;
use inventory::device_view::{DeviceViews, apply};
use inventory::inventory_file::Inventory;
use inventory::mapped_place::MappedPlaces;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::sync::{Arc, LazyLock};

const WALK: &str = "1.3.6.1.2.1.1.5.0|4|s0\n1.3.6.1.2.1.2.2.1.2.1|4|swp1\n\
                    1.3.6.1.2.1.2.2.1.2.2|4|swp2\n1.3.6.1.2.1.2.2.1.2.3|4|swp3\n\
                    1.3.6.1.2.1.17.1.1.0|4x|020000000001\n1.3.6.1.2.1.17.1.4.1.2.1|2|1\n\
                    1.3.6.1.2.1.17.1.4.1.2.2|2|2\n1.3.6.1.2.1.17.1.4.1.2.3|2|3\n";

static NETWORK: LazyLock<(Inventory, DeviceViews)> = LazyLock::new(|| {
    let (mut hosts, mut walk) = (String::new(), WALK.to_owned());
    for n in 0..7 {
        let port = [1, 2, 3, 3, 3, 3, 3][n];
        let _ = write!(hosts, "n{n}: {{mac: \"02:00:00:00:01:0{n}\"}}, ");
        let _ = writeln!(walk, "1.3.6.1.2.1.17.4.3.1.2.2.0.0.0.1.{n}|2|{port}");
    }
    let text = format!(
        "switches: {{s0: {{address: 10.0.0.1}}}}\nsnmp: {{default: {{version: 2c, community: c}}}}\n\
         hosts: {{{hosts}}}\n"
    );
    let inventory = Inventory::parse("fuzz", &text).expect("a good inventory");
    let recording = DeviceRecording::parse("s0", walk.as_bytes()).expect("a good walk");
    let mut views = DeviceViews::new();
    for observation in recording.observations(Millis(1)) {
        apply(&mut views, &observation);
    }
    (inventory, views)
});

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Ok(mapped) = serde_json::from_slice::<MappedPlaces>(bytes) else {
        return;
    };
    let again = serde_json::to_vec(&mapped).expect("plain data serializes");
    assert_eq!(
        serde_json::from_slice::<MappedPlaces>(&again).ok().as_ref(),
        Some(&mapped)
    );
    let (inventory, views) = &*NETWORK;
    let mut memory = InferenceMemory::default();
    memory.take_mapped(Arc::new(mapped));
    let topology = memory.infer_changed(inventory, views, &BTreeSet::new());
    assert_eq!(topology.attachments().len(), 7, "each host has one place");
    written::everywhere(&topology);
});
