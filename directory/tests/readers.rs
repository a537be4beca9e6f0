//! Readers of every input that another program may have written, on slightly mutated valid inputs.
//! The tests call the functions of the fuzz targets on stable Rust.
use proptest::prelude::*;
use proptest::sample::{Index, select};

#[expect(unreachable_pub, reason = "elsewhere it is a crate")]
#[path = "../../fuzz/src/lib.rs"]
mod readers;

#[derive(Debug, Clone)]
enum ByteMutation {
    Flip(Index, u8),
    Insert(Index, Vec<u8>),
    Delete(Index, usize),
    Repeat(Index, usize),
    Cut(Index),
}

fn mutation() -> impl Strategy<Value = ByteMutation> {
    prop_oneof![
        4 => (any::<Index>(), 0..8u8).prop_map(|(at, bit)| ByteMutation::Flip(at, bit)),
        2 => (any::<Index>(), prop::collection::vec(any::<u8>(), 1..5))
            .prop_map(|(at, bytes)| ByteMutation::Insert(at, bytes)),
        2 => (any::<Index>(), 1..9usize).prop_map(|(at, length)| ByteMutation::Delete(at, length)),
        2 => (any::<Index>(), 1..33usize).prop_map(|(at, length)| ByteMutation::Repeat(at, length)),
        1 => any::<Index>().prop_map(ByteMutation::Cut),
    ]
}

fn mutate(bytes: &mut Vec<u8>, mutation: ByteMutation) {
    match mutation {
        ByteMutation::Flip(..) if bytes.is_empty() => {}
        ByteMutation::Flip(at, bit) => *at.get_mut(bytes) ^= 1 << bit,
        ByteMutation::Insert(at, new) => {
            let at = place(at, bytes);
            bytes.splice(at..at, new);
        }
        ByteMutation::Delete(at, length) => {
            let at = place(at, bytes);
            bytes.drain(at..bytes.len().min(at + length));
        }
        ByteMutation::Repeat(at, length) => {
            let at = place(at, bytes);
            bytes.extend_from_within(at..bytes.len().min(at + length));
        }
        ByteMutation::Cut(at) => bytes.truncate(place(at, bytes)),
    }
}

fn place(at: Index, bytes: &[u8]) -> usize {
    at.index(bytes.len() + 1)
}

fn call(reader: &str, bytes: &[u8]) {
    match reader {
        "epoch" => readers::epoch(bytes),
        "schedule" => readers::schedule(bytes),
        "learned" => readers::learned(bytes),
        "table" => readers::table(bytes),
        "topology" => readers::topology(bytes),
        other => unreachable!("no reader {other}"),
    }
}

#[test]
fn valid_inputs_are_read() {
    readers::seeds()
        .iter()
        .for_each(|(reader, bytes)| call(reader, bytes));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(
        if cfg!(debug_assertions) { 1_000 } else { 50_000 }
    ))]
    #[test]
    fn mutated_inputs_are_refused_or_still_consistent(
        (reader, bytes) in select(readers::seeds()),
        mutations in prop::collection::vec(mutation(), 1..6),
    ) {
        let mut bytes = bytes;
        mutations
            .into_iter()
            .for_each(|mutation| mutate(&mut bytes, mutation));
        call(reader, &bytes);
    }
}
