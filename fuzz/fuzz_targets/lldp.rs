#![no_main]
mod frames;
libfuzzer_sys::fuzz_target!(|content: &[u8]| frames::lldp(content));
