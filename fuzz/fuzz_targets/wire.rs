//! The transport's core in a call whose peers do what the octets say.
#![no_main]
use wire::framing::BlockFraming;
use wire::hostile_peer::{SYNCS, call_with_hostile_peers};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Some((&first, rest)) = bytes.split_first() else {
        return;
    };
    let framing = [BlockFraming::Bare, BlockFraming::Framed][usize::from(first) % 2];
    let sync = SYNCS[usize::from(first / 2) % SYNCS.len()];
    let pairs = rest.chunks_exact(2);
    let choices = pairs.map(|pair| u64::from(u16::from_le_bytes([pair[0], pair[1]])));
    call_with_hostile_peers(sync, framing, rest.len(), choices);
});
