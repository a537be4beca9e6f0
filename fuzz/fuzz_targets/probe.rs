//! Packets that ICMP sockets receive: they are read or refused, and octets after them change
//! nothing.
#![no_main]
use agent::host::probe::icmp::{read_v4, read_v6};

libfuzzer_sys::fuzz_target!(|packet: &[u8]| {
    let longer = [packet, &[0xff; 40]].concat();
    if let Some(message) = read_v4(packet) {
        assert_eq!(read_v4(&longer), Some(message));
    }
    if let Some(message) = read_v6(packet) {
        assert_eq!(read_v6(&longer), Some(message));
    }
});
