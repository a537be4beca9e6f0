//! Recorded walks: their statements are read, evaluated and written, however strange they are.
#![no_main]
mod written;

use agent::recording::DeviceRecording;
use infer::infer_recorded;
use inventory::Millis;
use inventory::device_view::{DeviceViews, apply};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    // Two devices, separated by a zero, because the statements of one also matter for the other.
    let mut views = DeviceViews::new();
    for (name, text) in ["s0", "s1"].into_iter().zip(bytes.split(|&b| b == 0)) {
        for observation in DeviceRecording::parse(name, text)
            .into_iter()
            .flat_map(|r| r.observations(Millis(1)))
        {
            apply(&mut views, &observation);
        }
    }
    written::everywhere(&infer_recorded(&views));
});
