//! Lists of hosts that other programs write.
#![no_main]
use inventory::host_lists::{ansible, hostfile, slurm};
use inventory::name_ranges::{LONGEST_NAME, MOST_NAMES};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let lists = [
        hostfile("fuzz", &text),
        slurm("fuzz", &text),
        ansible("fuzz.yaml", &text),
        ansible("fuzz.ini", &text),
    ];
    for hosts in lists.into_iter().flatten() {
        assert!((1..=MOST_NAMES).contains(&hosts.len()));
        assert!(hosts.keys().all(|name| name.len() <= LONGEST_NAME));
    }
});
