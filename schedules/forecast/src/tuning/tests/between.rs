//! Sizes between two measured ones.
use super::*;

const WAYS: [&str; 5] = ["native", "aapc", "aapc tcp", "aapc none", "bundled"];

/// A run with these medians, by way and size. Its noise hides no difference of a tenth or more.
fn medians(of: &[(&str, &[u64])], sizes: &[u64]) -> TuningRun {
    let mut run = usual();
    let figure = |name: &str, block: u64, median: u64| {
        let timing = CallTiming {
            block: Bytes(block),
            median_ns: median * 1000,
            error_ns: median * 10,
            times: 9,
        };
        WayTiming {
            collective: Collective::Alltoall,
            way: way(name),
            timing,
        }
    };
    run.figures = of
        .iter()
        .flat_map(|(name, medians)| {
            sizes
                .iter()
                .zip(*medians)
                .map(|(&b, &m)| figure(name, b, m))
        })
        .collect();
    run
}

fn ways_at(run: TuningRun, sizes: &[u64]) -> Vec<String> {
    let table = table(run, &topology(PAIR));
    sizes
        .iter()
        .map(|&block| table.choose(Collective::Alltoall, Bytes(block)).to_string())
        .collect()
}

#[test]
fn a_way_that_was_faster_at_both_ends_is_taken_between_them_though_others_were_the_fastest_there() {
    for pingpong in [Vec::new(), usual().pingpong] {
        // Each of the two fastest ways is slow at the other size; a third one is fast at both.
        let of: [(&str, &[u64]); 4] = [
            ("native", &[100, 400]),
            ("aapc", &[50, 800]),
            ("aapc tcp", &[200, 200]),
            ("aapc none", &[80, 320]),
        ];
        let run = TuningRun {
            pingpong,
            ..medians(&of, &[1000, 4000])
        };
        assert_eq!(
            ways_at(run, &[1000, 1001, 2000, 3999, 4000]),
            ["aapc", "aapc none", "aapc none", "aapc none", "aapc tcp"]
        );
    }
}

#[test]
fn of_several_that_were_faster_at_both_ends_it_is_the_one_that_gains_most_where_it_gains_least() {
    let of: [(&str, &[u64]); 5] = [
        ("native", &[100, 400]),
        ("aapc", &[50, 800]),
        ("aapc tcp", &[200, 200]),
        ("aapc none", &[80, 320]),
        ("bundled", &[60, 280]),
    ];
    assert_eq!(
        ways_at(medians(&of, &[1000, 4000]), &[1000, 2000, 4000]),
        ["aapc", "bundled", "aapc tcp"]
    );
}

#[test]
fn where_one_way_stops_to_pay_after_the_next_begins_the_librarys_own_does_not_come_between() {
    let run = run(
        &[
            ("native", 0.010, 1.5),
            ("aapc", 0.0, 2.0),
            ("aapc tcp", 0.013, 0.9),
        ],
        &[1 << 10, 4 << 10, 256 << 10, 1 << 20],
    );
    let between: Vec<u64> = (12..18).map(|power| 1 << power).collect();
    let ways = ways_at(run, &between);
    assert!(
        ways.iter().all(|way| way != "native") && ways.iter().any(|way| way == "aapc"),
        "{ways:?}"
    );
    assert_eq!(ways.last().unwrap(), "aapc tcp");
}

const SIZES: [u64; 4] = [1000, 4000, 16_000, 64_000];

fn chosen(table: &DecisionTable, block: u64) -> Way {
    table.choose(Collective::Alltoall, Bytes(block))
}

proptest! {
    #[test]
    fn what_two_measured_neighbours_agree_on_holds_between_them_whatever_the_trials_say(
        medians_of in prop::collection::vec(prop::collection::vec(1u64..20, 4), WAYS.len()),
        pings in any::<bool>(),
        faster in prop::collection::vec(any::<bool>(), 64),
    ) {
        let of: Vec<(&str, &[u64])> = WAYS
            .iter()
            .copied()
            .zip(medians_of.iter().map(Vec::as_slice))
            .collect();
        let mut run = medians(&of, &SIZES);
        if !pings {
            run.pingpong.clear();
        }
        let tree = topology(PAIR);
        let first = table(run.clone(), &tree);
        for pair in SIZES.windows(2) {
            let gains = |name: &&str, block| {
                let timing = |way| run.timing(Collective::Alltoall, way, Bytes(block)).unwrap();
                timing(way(name)).is_faster_than(timing(Way::Native))
            };
            if WAYS
                .iter()
                .any(|name| gains(name, pair[0]) && gains(name, pair[1]))
            {
                prop_assert!(chosen(&first, pair[0] * 2) != Way::Native, "{first:?}");
            }
        }
        let compared: Vec<_> = confirm::calls(&run, &first)
            .into_iter()
            .zip(&faster)
            .map(|((collective, block), &confirms)| {
                TunedComparison::from_pairs(
                    collective,
                    block,
                    &[(1.0, if confirms { 0.5 } else { 1.5 }); 5],
                )
                .unwrap()
            })
            .collect();
        run.trials = confirm::trials(&compared, &first);
        let tried = table(run, &tree);
        for pair in SIZES.windows(2) {
            let ends = [pair[0], pair[1]].map(|block| chosen(&tried, block));
            if ends[0] == ends[1] && ends[0] != Way::Native {
                for between in [pair[0] + 1, pair[0] * 2, pair[1] - 1] {
                    prop_assert_eq!(chosen(&tried, between), ends[0], "{}: {:?}", between, tried);
                }
            }
        }
    }
}
