//! Answers to SNMP walks as the octets of their datagrams, read as tables and evaluated. The first
//! octet selects the table; each datagram follows its length.
#![no_main]
use agent::datagrams;
use infer::infer_recorded;
use inventory::Millis;
use inventory::device_view::{DeviceViews, apply};
use inventory::observation::{DeviceTable, Observation, ObservationSource};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Some((which, mut rest)) = bytes.split_first() else {
        return;
    };
    let mut parts = Vec::new();
    while let Some((length, after)) = rest.split_first_chunk::<2>() {
        let (datagram, after) =
            after.split_at(after.len().min(usize::from(u16::from_be_bytes(*length))));
        parts.push(datagram);
        rest = after;
    }
    let table = DeviceTable::ALL[usize::from(*which) % DeviceTable::ALL.len()];
    let fact = datagrams::table(table, parts);
    let mut views = DeviceViews::new();
    apply(
        &mut views,
        &Observation {
            at: Millis(1),
            reporter: "s0".into(),
            source: ObservationSource::Snmp,
            fact,
        },
    );
    let _ = infer_recorded(&views).tree();
});
