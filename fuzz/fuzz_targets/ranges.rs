//! Names written as ranges, as hostfiles, flags and files of operators have them.
#![no_main]
use inventory::name_ranges::{LONGEST_NAME, MOST_NAMES, expand};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Ok(names) = expand(&String::from_utf8_lossy(bytes)) {
        assert!((1..=MOST_NAMES).contains(&names.len()));
        assert!(names.iter().all(|name| name.len() <= LONGEST_NAME));
    }
});
