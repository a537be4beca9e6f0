use super::*;
use flate2::read::ZlibDecoder;
use inventory::Tree;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use samples::trees::{any_tree_text, star_text, topology};
use schedules::alltoall::{self, plan_reduced};
use schedules::synchronization::{SyncKind, SyncReduction};
use schedules::verify;
use std::io::Read;

fn small() -> AlltoallSchedule {
    in_file_order(plan_reduced(
        &topology(&star_text(&[2, 1])),
        SyncKind::Receiver,
        SyncReduction::Minimal,
    ))
}

fn unpacked(file: &[u8]) -> Vec<u8> {
    let mut plain = Vec::new();
    ZlibDecoder::new(file.strip_prefix(MARK).unwrap())
        .read_to_end(&mut plain)
        .unwrap();
    plain
}

fn packed(plain: &[u8]) -> Vec<u8> {
    let mut file = ZlibEncoder::new(MARK.to_vec(), Compression::fast());
    file.write_all(plain).unwrap();
    file.finish().unwrap()
}

/// The octets after the head of [`small`]: 0 -> 1, 1 -> 2, 2 -> 0 in phase 0 and 0 -> 2, 1 -> 0, 2
/// -> 1 in phase 1; three tokens.
const SMALL: [u8; 27] = [
    2, 0, 2, 1, 2, 2, 0, 4, 1, 3, 2, 0, 0, 1, 2, 1, 3, 2, 0, 1, 3, 2, 0, 1, 3, 3, 0,
];

#[test]
fn writes_what_the_description_says() {
    let file = write(&small());
    assert!(file.starts_with(b"heddle alltoall plan, version 2\n"));
    let plain = unpacked(&file);
    let head: PlanHeader = postcard::from_bytes(&plain[1..=plain[0] as usize]).unwrap();
    assert_eq!(
        (
            head.algorithm.as_str(),
            head.hosts.len(),
            head.phases,
            head.messages,
            head.tokens
        ),
        ("aapc", 3, 2, 6, 3)
    );
    assert_eq!(plain[1 + plain[0] as usize..], SMALL);
}

#[test]
fn reads_what_the_description_says() {
    let plain = unpacked(&write(&small()));
    let head = &plain[..=plain[0] as usize];
    let mut stream = head.to_vec();
    stream.extend(SMALL);
    assert_eq!(read(&packed(&stream)), Ok(small()));
}

#[test]
fn paths_through_a_fabric_come_back() {
    let ways = "switches: [a, b]\nrouters: [s, t]\nhosts: {w: {switch: a}, x: {switch: a}, y: {switch: b}, z: \
                {switch: b}}\nlinks: [{a: a, b: s, state: multipath}, {a: a, b: t, state: multipath}, {a: b, b: s, \
                state: multipath}, {a: b, b: t, state: multipath}]";
    let tree = topology(ways);
    let plan = alltoall::plan(&tree, SyncKind::Receiver);
    assert!(plan.paths.iter().any(|path| *path > 0));
    let file = write(&plan);
    assert!(file.starts_with(MARK_OF_PATHS));
    let read = read(&file).unwrap();
    assert_eq!(verify::alltoall(&tree, &read), Ok(()));
    assert_eq!(read, in_file_order(plan));
}

#[test]
fn refuses_every_cut_and_every_flipped_bit() {
    let good = write(&small());
    for length in 0..good.len() {
        assert!(
            read(&good[..length]).is_err(),
            "cut to {length} of {} octets",
            good.len()
        );
    }
    for bit in 0..8 * good.len() {
        let mut bad = good.clone();
        bad[bit / 8] ^= 1 << (bit % 8);
        // Up to seven bits before the checksum only fill an octet.
        let nobodys = bit / 8 + 5 == good.len();
        assert!(
            read(&bad).map_or(true, |plan| nobodys && plan == small()),
            "bit {bit}"
        );
    }
    assert_eq!(
        read(&[&good[..], b" "].concat()),
        Err("octets follow the end".to_owned())
    );
}

#[test]
fn refuses_what_was_packed_wrong_with_the_reason() {
    let plain = unpacked(&write(&small()));
    let body = 1 + plain[0] as usize;
    assert_eq!(
        refused(0, 3, &plain),
        "messages of host 0: 3 is not below 3"
    );
    assert_eq!(
        refused(1, 2, &plain),
        "phase of a message of host 0: 2 is not below 2"
    );
    assert_eq!(
        refused(2, 6, &plain),
        "destination of a message of host 0: 3 is not below 3"
    );
    assert_eq!(
        refused(2, 1, &plain),
        "destination of a message of host 0: -1 is not below 3"
    );
    assert_eq!(refused(15, 9, &plain), "number of tokens: 9 is not below 4");
    assert_eq!(
        refused(16, 5, &plain),
        "a token for a message that is not there"
    );
    assert_eq!(
        refused(17, 1, &plain),
        "a token after a message that is not there"
    );
    assert_eq!(
        refused(18, 2, &plain),
        "a token after a message that is not there: 3 is not below 3"
    );
    assert_eq!(refused(23, 0, &plain), "octets follow the end");
    assert_eq!(
        read(&packed(&plain[..plain.len() - 1])),
        Err("it ends early".to_owned())
    );
    assert_eq!(
        read(&packed(&[&plain[..body], &[0xff; 11]].concat())),
        Err("a number is too long".to_owned())
    );
    assert!(read(&packed(&[])).unwrap_err().contains("ends early"));
    let old = postcard::to_stdvec(&("aapc", ["n0", "n1"])).unwrap();
    assert!(
        read(&old)
            .unwrap_err()
            .starts_with("made by another version of heddle")
    );
}

fn refused(at: usize, value: u8, plain: &[u8]) -> String {
    let mut bad = plain.to_vec();
    bad[1 + plain[0] as usize + at] = value;
    read(&packed(&bad)).unwrap_err()
}

#[test]
fn refuses_heads_that_promise_too_much() {
    assert_eq!(
        refused_header(|head| head.hosts.clear()),
        "0 hosts; expected 1 to 4096"
    );
    assert_eq!(
        refused_header(|head| head.hosts = vec![String::new(); 4097]),
        "4097 hosts; expected 1 to 4096"
    );
    assert_eq!(
        refused_header(|head| head.phases = 7),
        "6 messages in 7 phases with 3 tokens are too many"
    );
    assert_eq!(
        refused_header(|head| (head.phases, head.messages) = (7, 7)),
        "7 messages in 7 phases with 3 tokens are too many"
    );
    assert_eq!(
        refused_header(|head| head.tokens = u64::MAX),
        "6 messages in 2 phases with 18446744073709551615 tokens are too many"
    );
    assert_eq!(
        refused_header(|head| head.messages = 5),
        "6 messages and 3 tokens; its head says 5 and 3"
    );
    assert_eq!(
        refused_header(|head| head.tokens = 4),
        "6 messages and 3 tokens; its head says 6 and 4"
    );
    assert_eq!(
        refused_header(|head| head.algorithm = "lg".to_owned()),
        "algorithm \"lg\": expected aapc or capacity"
    );
    assert!(
        refused_header(|head| head.hosts = vec!["n".repeat(1000); 1100])
            .starts_with("length of the head")
    );
}

fn refused_header(change: fn(&mut PlanHeader)) -> String {
    let plain = unpacked(&write(&small()));
    let mut head: PlanHeader = postcard::from_bytes(&plain[1..=plain[0] as usize]).unwrap();
    change(&mut head);
    let head = postcard::to_stdvec(&head).unwrap();
    let mut stream = Vec::new();
    put(&mut stream, head.len() as u64);
    read(&packed(&[&stream, &head, &SMALL[..]].concat())).unwrap_err()
}

/// Checks the table at the top of the module. The largest size takes too long without optimization.
#[test]
fn takes_the_octets_its_description_says() {
    let description: Vec<&str> = include_str!("../plan_file.rs")
        .lines()
        .filter(|line| line.starts_with("//! |"))
        .collect();
    for side in if cfg!(debug_assertions) {
        vec![8, 16]
    } else {
        vec![8, 16, 32]
    } {
        let (star, row) = (
            topology(&star_text(&vec![side; side as usize])),
            row_of_switches(side * side),
        );
        let (chain, minimal) = (
            format!(
                "{}, {}",
                octets_a_message(&star, SyncReduction::Chain),
                octets_a_message(&row, SyncReduction::Chain)
            ),
            format!(
                "{}, {}",
                octets_a_message(&star, SyncReduction::Minimal),
                octets_a_message(&row, SyncReduction::Minimal)
            ),
        );
        let hosts = if side == 32 {
            "1,024".to_owned()
        } else {
            (side * side).to_string()
        };
        let line = format!("//! | {hosts} | {chain} | {minimal} |");
        assert!(description.contains(&line.as_str()), "{line}");
    }
}

fn row_of_switches(hosts: u32) -> Tree {
    let at = (0..hosts)
        .map(|h| format!("n{h}: {{switch: s{}}}", h / (hosts / 8)))
        .collect::<Vec<_>>()
        .join(", ");
    let cables = (1..8)
        .map(|s| format!("{{a: s{}, b: s{s}}}", s - 1))
        .collect::<Vec<_>>()
        .join(", ");
    topology(&format!(
        "switches: [s0, s1, s2, s3, s4, s5, s6, s7]\nhosts: {{{at}}}\nlinks: [{cables}]"
    ))
}

fn octets_a_message(tree: &Tree, reduction: SyncReduction) -> String {
    let plan = plan_reduced(tree, SyncKind::Receiver, reduction);
    format!("{:.2}", write(&plan).len() as f64 / plan.messages() as f64)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn round_trip(
        text in any_tree_text(1..=24, 20),
        kind in select(vec![SyncKind::None, SyncKind::Sender, SyncKind::Receiver]),
        chain in any::<bool>(),
    ) {
        let tree = topology(&text);
        let plan = plan_reduced(
            &tree,
            kind,
            if chain {
                SyncReduction::Chain
            } else {
                SyncReduction::Minimal
            },
        );
        let read = read(&write(&plan)).unwrap();
        verify::alltoall(&tree, &read).unwrap();
        prop_assert_eq!(
            (read.phases.len(), read.messages(), read.syncs.len()),
            (plan.phases.len(), plan.messages(), plan.syncs.len())
        );
        prop_assert!(
            read.phases
                .iter()
                .all(|phase| phase.is_sorted_by_key(|m| m.src))
        );
        prop_assert_eq!(read, in_file_order(plan));
    }

    /// A host with several messages in a phase keeps their order, and the order of the messages
    /// that it waits for.
    #[test]
    fn any_order_of_senders_and_several_messages_a_phase(
        hosts in 2..9u32,
        phases in 1..5usize,
        at in prop::collection::vec(any::<(Index, Index, bool)>(), 64),
    ) {
        let pairs = (0..hosts).flat_map(|src| {
            (0..hosts)
                .filter(move |&dst| dst != src)
                .map(move |dst| Message { src, dst })
        });
        let mut plan = AlltoallSchedule {
            hosts: (0..hosts).map(|h| format!("n{h}")).collect(),
            phases: vec![Vec::new(); phases],
            ..small()
        };
        let mut messages: Vec<Message> = pairs.collect();
        for (which, phase, _) in &at {
            if !messages.is_empty() {
                let m = messages.swap_remove(which.index(messages.len()));
                plan.phases[phase.index(phases)].push(m);
            }
        }
        plan.phases.retain(|phase| !phase.is_empty());
        let sent: Vec<Message> = plan.phases.concat();
        plan.syncs = at.iter().map(|&(after, before, by_sender)| {
            let (after, before) = (*after.get(&sent), *before.get(&sent));
            Synchronization {
                after,
                before,
                from: if by_sender { after.src } else { after.dst },
                to: before.src,
            }
        }).collect();
        plan.syncs
            .sort_by_key(|s| sent.iter().position(|&m| m == s.before));
        prop_assert_eq!(read(&write(&plan)), Ok(in_file_order(plan)));
    }

    #[test]
    fn mutated_files_are_refused_or_another_plan_that_the_verifier_judges(
        text in any_tree_text(2..=8, 20),
        at in prop::collection::vec(any::<(Index, u8)>(), 1..4),
        cut in any::<Option<Index>>(),
    ) {
        let tree = topology(&text);
        let plan = plan_reduced(&tree, SyncKind::Receiver, SyncReduction::Minimal);
        let good = unpacked(&write(&plan));
        let mut bad = good.clone();
        at.iter()
            .for_each(|(at, value)| bad[at.index(good.len())] = *value);
        if let Some(cut) = cut {
            bad.truncate(cut.index(good.len()));
        }
        if let Ok(found) = read(&packed(&bad))
            && found != in_file_order(plan)
        {
            // The names or the giver of a token may have changed. Then the plan is right for
            // another network, or it is still right.
            let _ = verify::alltoall(&tree, &found);
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = read(&bytes);
        let _ = read(&packed(&bytes));
    }
}
