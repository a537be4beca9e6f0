//! The operator's inventory, and inference from it where nothing has been seen yet.
#![no_main]
use infer::infer;
use inventory::device_view::DeviceViews;
use inventory::inventory_file::Inventory;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Ok(inventory) = Inventory::parse("fuzz", &String::from_utf8_lossy(bytes)) {
        let topology = infer(&inventory, &DeviceViews::new());
        assert!(
            topology.nodes.len() >= inventory.switches.len(),
            "each switch is a node, seen or not"
        );
    }
});
