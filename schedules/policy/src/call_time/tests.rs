use super::*;
use crate::ways::phases;
use proptest::prelude::*;
use samples::trees::{any_tree, topology};
use schedules::synchronization::SyncKind;
use schedules::synchronization::scheme::SyncScheme;

/// Hosts on switches, each switch with the one to which it is cabled, all links at 20 Mbit/s.
fn network(hosts_on: &[u32], trunks: &[(usize, usize)], rate: &str) -> Tree {
    let mut hosts = Vec::new();
    for (switch, &count) in hosts_on.iter().enumerate() {
        for _ in 0..count {
            let host = hosts.len();
            hosts.push(format!("n{host}: {{switch: s{switch}, rate: {rate}}}"));
        }
    }
    let switches: Vec<String> = (0..hosts_on.len()).map(|s| format!("s{s}")).collect();
    let trunks: Vec<String> = trunks
        .iter()
        .map(|(a, b)| format!("{{a: s{a}, b: s{b}, rate: {rate}}}"))
        .collect();
    topology(&format!(
        "switches: [{}]\nhosts: {{{}}}\nlinks: [{}]",
        switches.join(", "),
        hosts.join(", "),
        trunks.join(", ")
    ))
}

fn shape(name: &str, rate: &str) -> Tree {
    match name {
        "switch" => network(&[8], &[], rate),
        "chain" => network(&[2, 2, 2, 2], &[(0, 1), (1, 2), (2, 3)], rate),
        _ => network(&[0, 2, 2, 2, 2], &[(0, 1), (0, 2), (0, 3), (0, 4)], rate),
    }
}

/// The ways of which the model knows the time.
fn ways() -> [Way; 4] {
    let [window, tokens] = [SyncScheme::WINDOW, SyncKind::Receiver.into()].map(phases);
    [Way::Native, Way::Bundled, window, tokens]
}

fn time_of(tree: &Tree, each: usize, library: Option<Mpi>) -> AlltoallTime {
    let host_of: Vec<NodeNumber> = (0..tree.hosts())
        .flat_map(|host| std::iter::repeat_n(host, each))
        .collect();
    AlltoallTime::of(tree, &host_of, Duration::ZERO, library.map(Mpi::into)).unwrap()
}

/// What `scripts/bench-mpi --per-host` measured at 20 Mbit/s on 8 hosts: the shape, ranks a host, the
/// block; for Open MPI and MPICH milliseconds of the library's own routine, then by bundles, with
/// tokens, and in a window, as multiples of that.
type MeasuredCell = (&'static str, usize, u64, [[f64; 4]; 2]);
const MEASURED: &[MeasuredCell] = &[
    (
        "switch",
        8,
        64,
        [[33.7, 0.69, 4.01, 2.92], [35.6, 0.70, 4.51, 2.78]],
    ),
    (
        "switch",
        8,
        256,
        [[120.6, 0.59, 1.47, 0.95], [122.2, 0.58, 1.46, 0.93]],
    ),
    (
        "switch",
        8,
        512,
        [[238.0, 0.58, 0.86, 0.63], [135.3, 1.31, 1.50, 1.08]],
    ),
    (
        "switch",
        8,
        2048,
        [[1111.7, 0.60, 0.46, 0.46], [507.7, 1.12, 0.91, 0.93]],
    ),
    (
        "switch",
        4,
        256,
        [[30.7, 0.63, 1.36, 0.93], [27.9, 0.57, 1.11, 0.94]],
    ),
    (
        "switch",
        4,
        1024,
        [[54.8, 1.21, 1.38, 1.04], [55.6, 1.19, 1.20, 1.00]],
    ),
    (
        "switch",
        4,
        4096,
        [[224.7, 1.27, 0.96, 0.93], [215.3, 1.41, 0.97, 0.96]],
    ),
    (
        "switch",
        4,
        16384,
        [[909.6, 1.17, 0.90, 0.99], [2304.9, 0.51, 0.36, 0.36]],
    ),
    (
        "star",
        8,
        64,
        [[55.1, 0.58, 3.57, 2.03], [48.9, 0.59, 3.72, 2.32]],
    ),
    (
        "star",
        8,
        256,
        [[464.4, 0.24, 0.58, 0.33], [195.6, 0.54, 1.35, 0.81]],
    ),
    (
        "star",
        8,
        512,
        [[495.5, 1.30, 0.82, 0.47], [312.8, 0.94, 1.22, 0.73]],
    ),
    (
        "star",
        8,
        2048,
        [[1885.1, 0.45, 0.46, 0.44], [2111.6, 0.41, 0.40, 0.39]],
    ),
    (
        "chain",
        4,
        64,
        [[16.1, 0.70, 2.08, 1.65], [14.4, 0.52, 1.93, 1.90]],
    ),
    (
        "chain",
        4,
        512,
        [[67.7, 0.93, 1.20, 1.05], [65.2, 0.89, 1.16, 1.08]],
    ),
    (
        "chain",
        4,
        2048,
        [[595.0, 1.14, 0.41, 0.43], [726.7, 0.48, 0.33, 0.35]],
    ),
    (
        "chain",
        4,
        8192,
        [[2588.8, 0.39, 0.36, 0.42], [3491.5, 0.29, 0.27, 0.31]],
    ),
    (
        "chain",
        8,
        64,
        [[64.1, 0.60, 2.36, 9.0], [60.4, 0.59, 2.91, 9.0]],
    ),
    (
        "chain",
        8,
        512,
        [[736.0, 0.33, 0.43, 0.43], [479.0, 0.77, 0.67, 0.67]],
    ),
    (
        "chain",
        8,
        2048,
        [[4753.0, 0.20, 0.31, 0.31], [2782.0, 0.37, 0.36, 0.36]],
    ),
    (
        "chain",
        8,
        8192,
        [[11_385.0, 0.38, 0.40, 0.40], [10_207.0, 0.42, 0.43, 0.43]],
    ),
];

fn fastest(time: &AlltoallTime, block: u64) -> Way {
    time.fastest(Bytes(block), |_| true)
}

/// The times of a cell by the model's ways, as multiples of the library's own.
fn by_way([_, bundled, tokens, window]: [f64; 4]) -> [f64; 4] {
    [1.0, bundled, window, tokens]
}

#[test]
fn the_way_that_is_taken_was_measured_to_be_good() {
    let mut logarithms = Vec::new();
    for (name, each, block, libraries) in MEASURED.iter().copied() {
        for (mpi, measured) in Mpi::ALL.into_iter().zip(libraries.map(by_way)) {
            let time = time_of(&shape(name, "20M"), each, Some(mpi));
            let way = time.fastest(Bytes(block), |way| ways().contains(&way));
            let number = ways().iter().position(|&other| other == way);
            let taken = measured[number.unwrap()];
            assert!(
                taken <= 1.0,
                "{name}, {each} ranks a host, {block} B, {mpi}: {way} took {taken}"
            );
            let best = measured.into_iter().fold(f64::MAX, f64::min);
            logarithms.push((taken / best).ln());
        }
    }
    let mean = logarithms.iter().sum::<f64>() / logarithms.len() as f64;
    assert!(mean.exp() < 1.07, "of the best way: {}", mean.exp());
}

/// The lab's two processors carried 64 ranks: short messages took them longer than the model says.
#[test]
fn times_are_about_those_that_were_measured() {
    let mut logarithms = Vec::new();
    for (name, each, block, libraries) in MEASURED.iter().copied() {
        for (mpi, measured) in Mpi::ALL.into_iter().zip(libraries) {
            let time = time_of(&shape(name, "20M"), each, Some(mpi)).cutting_through();
            for (way, ratio) in ways().into_iter().zip(by_way(measured)) {
                let expected = time.nanoseconds(way, Bytes(block));
                logarithms.extend(expected.map(|ns| (1e6 * measured[0] * ratio / ns as f64).ln()));
            }
        }
    }
    let squares = logarithms.iter().map(|log| log * log).sum::<f64>();
    let error = (squares / logarithms.len() as f64).sqrt().exp();
    assert!(error < 1.4, "a factor of {error}");
}

/// As docs/tuning.md says.
#[test]
fn ways_change_from_block_to_block() {
    let ways = |name: &str, library, blocks: &[u64]| {
        let time = time_of(&shape(name, "20M"), 8, library);
        let names = blocks
            .iter()
            .map(|&block| fastest(&time, block).to_string());
        names.collect::<Vec<_>>()
    };
    let [native, window] = ["native", "aapc window tcp"];
    for library in [None, Some(Mpi::OpenMpi), Some(Mpi::Mpich)] {
        assert_eq!(
            ways("chain", library, &[8, 448, 480, 2048, 2304]),
            ["bundled", "bundled", window, window, "bundled-phases"]
        );
    }
    for library in [None, Some(Mpi::Mpich)] {
        assert_eq!(
            ways("switch", library, &[8, 256, 288, 2304, 2560]),
            ["bundled", "bundled", native, native, "bundled"]
        );
    }
    assert_eq!(
        ways(
            "switch",
            Some(Mpi::OpenMpi),
            &[8, 384, 416, 960, 1024, 2560]
        ),
        ["bundled", "bundled", window, window, native, "bundled"]
    );
}

/// On fast links a message costs more than its octets do, and over a long cable a token.
#[test]
fn fast_links_and_long_cables_need_larger_blocks() {
    let first = |rate: &str, delay| {
        let tree = shape("switch", rate);
        let host_of: Vec<NodeNumber> = (0..64).map(|rank| rank / 8).collect();
        let time = AlltoallTime::of(&tree, &host_of, Duration::from_millis(delay), None).unwrap();
        (0..40).find(|power| fastest(&time, 1 << power) != Way::Native)
    };
    assert_eq!(first("20M", 0), Some(0));
    assert!(first("1G", 0) > first("20M", 0));
    assert!(first("10G", 0) >= first("1G", 0));
    let tokens = |delay| {
        let time = AlltoallTime {
            delay,
            ..time_of(&shape("switch", "20M"), 4, None)
        };
        (10..40).find(|power| fastest(&time, 1 << power) == phases(SyncKind::Receiver))
    };
    assert!(tokens(10_000_000) > tokens(0));
}

/// In ns-3 at 10 Gbit/s two to eight ranks a host came to 0.68 to 0.88 of the bound by credit, and the libraries' own
/// routines to 0.00 and 0.01 where they overflow a queue (docs/figures.md).
#[test]
fn several_ranks_of_a_host_send_short_blocks_by_credit_where_a_timer_is_long() {
    for (rate, block, messages) in [("1G", 8192, 5), ("10G", 8192, 9), ("25G", 8192, 14)] {
        let credit = SyncScheme::credit(std::num::NonZeroU32::new(messages).unwrap());
        for library in Mpi::ALL {
            let time = time_of(&shape("star", rate), 8, Some(library));
            assert_eq!(fastest(&time, block), phases(credit), "{rate}, {library}");
        }
    }
    let far = AlltoallTime {
        credit: None,
        ..time_of(&shape("star", "10G"), 8, None)
    };
    assert_eq!(fastest(&far, 8192), Way::BundledPhases);
}

/// ns-3 at 100 Mbit/s (`wire`, star of 4 x 2 hosts, 8 ranks each, queues of 128 kB): milliseconds with tokens, and by bundles
/// in phases.
#[test]
fn times_are_about_those_of_switches_that_store_and_forward() {
    let time = time_of(&shape("star", "100M"), 8, None);
    for (block, simulated) in [
        (512, [216.0, 36.4]),
        (2048, [570.3, 134.2]),
        (8192, [1111.2, 534.5]),
    ] {
        let ways = [phases(SyncKind::Receiver), Way::BundledPhases];
        for (way, simulated) in ways.into_iter().zip(simulated) {
            let ratio = time.nanoseconds(way, Bytes(block)).unwrap() as f64 / 1e6 / simulated;
            assert!((0.75..1.35).contains(&ratio), "{way}, {block} B: {ratio}");
        }
        assert_eq!(fastest(&time, block), Way::BundledPhases);
    }
}

/// ns-3 at 10 Gbit/s: 32 messages at once lost 719 packets of blocks of 512 B, and a call took 201 ms; by credit
/// 0.6 ms.
#[test]
fn an_unknown_library_may_send_at_once_what_a_queue_does_not_hold() {
    let credit = SyncScheme::credit(std::num::NonZeroU32::new(64).unwrap());
    for name in ["star", "chain"] {
        let time = time_of(&shape(name, "10G"), 8, None);
        assert_eq!(fastest(&time, 512), phases(credit), "{name}");
        assert_eq!(fastest(&time, 64), Way::Native, "{name}");
    }
    assert_eq!(
        fastest(&time_of(&shape("switch", "10G"), 8, None), 512),
        Way::Native
    );
}

/// Of more ranks than plans by pairs have, bundles overflow queues when they go all at once.
#[test]
fn bundles_of_many_ranks_take_turns() {
    let trunks = [(0, 1), (0, 2), (0, 3), (0, 4)];
    let hosts = network(&[0, 4, 4, 4, 4], &trunks, "10G");
    let time = time_of(&hosts, 128, None);
    let ways = [64, 512, 4096].map(|block| fastest(&time, block));
    assert_eq!(ways, [Way::BundledPhases; 3]);
}

/// On average the trunk carries what comes, but hosts on one switch turn to the other one at the same time: in ns-3
/// blocks of 512 B lost packets.
#[test]
fn a_trunk_overflows_while_all_hosts_of_a_switch_send_over_it() {
    let time = time_of(&network(&[2, 2], &[(0, 1)], "10G"), 16, Some(Mpi::Mpich));
    let credit = SyncScheme::credit(std::num::NonZeroU32::new(64).unwrap());
    assert_eq!(fastest(&time, 512), phases(credit));
    assert_eq!(fastest(&time, 128), Way::Native);
}

#[test]
fn one_long_call_is_enough_to_leave_the_library() {
    let time = time_of(&shape("chain", "20M"), 8, None);
    assert_eq!(
        [64, 512, 2048, 8192].map(|block| time.is_dear(fastest(&time, block), Bytes(block))),
        [false, false, true, true]
    );
    assert!(!time.is_dear(Way::Native, Bytes(1 << 20)));
    let on_one_switch = time_of(&shape("switch", "20M"), 1, None);
    assert!(!on_one_switch.is_long(Bytes(8192)));
}

proptest! {
    #[test]
    fn every_process_set_has_times_that_grow_with_blocks(
        tree in any_tree(1..=12),
        more in prop::collection::vec(1..4usize, 12),
    ) {
        let host_of: Vec<NodeNumber> = (0..tree.hosts())
            .flat_map(|host| std::iter::repeat_n(host, more[host as usize]))
            .collect();
        let time = AlltoallTime::of(&tree, &host_of, Duration::ZERO, None);
        prop_assert_eq!(time.is_some(), tree.hosts() > 1);
        let Some(time) = time else { return Ok(()) };
        for way in ways() {
            // A short block may be passed on when a little longer one is not.
            let blocks = [1 << 10, 1 << 20, u64::MAX].map(Bytes);
            let times = blocks.map(|block| time.nanoseconds(way, block).unwrap_or(u64::MAX));
            prop_assert!(times.is_sorted() && times[0] > 0, "{way}: {times:?}");
        }
    }
}

#[test]
fn a_fast_host_among_slow_ones_has_soon_sent_all() {
    let tree = |rate: &str| {
        let hosts: String = (1..32)
            .map(|n| format!("n{n}: {{switch: s, rate: 1G}}, "))
            .collect();
        topology(&format!(
            "switches: [s]\nhosts: {{{hosts}n0: {{switch: s, rate: {rate}}}}}\nlinks: []"
        ))
    };
    let smallest = |rate: &str| {
        let host_of: Vec<u32> = (0..32).collect();
        super::overflow::smallest_overflowing_block(&tree(rate), &host_of)
    };
    assert_eq!(smallest("1G"), None);
    // 9/31 of a port's rate are too much for 3.1 blocks of a slow host, so nine tenths of one, with its headers, queue.
    let whole = (131_072.0_f64 / 0.9).ceil() as u64;
    assert_eq!(smallest("10G"), Some(Bytes(whole - super::wire(0))));
}
