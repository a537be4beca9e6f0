//! The ways that jobs learned, in a decision table.
//!
//! A size class of blocks goes the way that jobs found fastest, where nobody tuned. What `heddle
//! tune` measured stays, even if jobs found something else: an operator chose the moment, the
//! network was idle, and a launch of its own confirmed it, while jobs measured beside other jobs.
//! Predictions for hosts or cables that differ from the measured ones give way.
use super::{Collective, DecisionEntry, DecisionGrounds, DecisionTable, MAX_ENTRIES, Mpi, Way};
use crate::learned::{LearnedTiming, retain_sound};
use inventory::Bytes;
use std::collections::BTreeMap;

/// With fewer samples of a way, or of the library's own routine, nothing is decided, unless it is
/// hopeless.
const ENOUGH: u32 = 5;

impl DecisionTable {
    /// This table with the ways that jobs learned under a library. Entries under the other library
    /// stay as they are.
    #[must_use]
    pub fn with_learned(mut self, mpi: Mpi, timings: &[LearnedTiming]) -> DecisionTable {
        for collective in Collective::ALL {
            let of = timings.iter().filter(|t| t.collective == collective);
            let entries = self.entries(collective);
            let ways = learned_ways(of, |class| {
                let entry = holding(entries, mpi).rfind(|entry| entry.from <= class);
                entry.map_or(Way::Native, |entry| entry.way)
            });
            let entries = overlaid(entries, mpi, &ways);
            if entries.len() <= MAX_ENTRIES {
                self = self.with_entries(collective, entries);
            }
        }
        self
    }

    /// True if nobody tuned this collective under this library, on this network or another one.
    pub fn is_untuned(&self, collective: Collective, mpi: Mpi) -> bool {
        let untuned = [DecisionGrounds::Elsewhere, DecisionGrounds::Learned];
        holding(self.entries(collective), mpi).all(|entry| untuned.contains(&entry.grounds))
    }
}

/// The way of each size class for which there is enough evidence: the fastest, where it is faster than
/// the library's own routine, or than the present way where nobody tried that routine.
fn learned_ways<'a>(
    timings: impl Iterator<Item = &'a LearnedTiming>,
    present: impl Fn(Bytes) -> Way,
) -> BTreeMap<Bytes, Way> {
    let mut classes: BTreeMap<Bytes, Vec<LearnedTiming>> = BTreeMap::new();
    for timing in timings.filter(|timing| timing.way.serves(timing.collective)) {
        if timing.from.0.is_power_of_two() {
            classes.entry(timing.from).or_default().push(*timing);
        }
    }
    let ways = classes.into_iter().filter_map(|(class, mut timings)| {
        retain_sound(&mut timings, ENOUGH);
        let mut known = [Way::Native, present(class)].into_iter();
        let usual = known.find_map(|way| timings.iter().find(|timing| timing.way == way))?;
        let fastest = timings.iter().min_by_key(|timing| timing.mean_ns)?;
        let is_faster = fastest.is_faster_than(usual);
        Some((class, if is_faster { fastest.way } else { usual.way }))
    });
    ways.collect()
}

fn holding(entries: &[DecisionEntry], mpi: Mpi) -> impl DoubleEndedIterator<Item = &DecisionEntry> {
    entries
        .iter()
        .filter(move |entry| entry.mpi.is_none_or(|only| only == mpi))
}

/// The entries with these ways in the size classes that nobody tuned. After a class the way that was
/// there before goes on.
fn overlaid(
    entries: &[DecisionEntry],
    mpi: Mpi,
    ways: &BTreeMap<Bytes, Way>,
) -> Vec<DecisionEntry> {
    let before = |block: Bytes| holding(entries, mpi).rfind(|entry| entry.from <= block);
    let within =
        |class: Bytes, entry: &DecisionEntry| entry.from >= class && entry.from < end(class);
    let untuned = ways.iter().filter(|(class, _)| {
        let inside = holding(entries, mpi).filter(|entry| within(**class, entry));
        !before(**class).into_iter().chain(inside).any(is_deliberate)
    });
    let classes: BTreeMap<Bytes, Way> = untuned.map(|(class, way)| (*class, *way)).collect();
    let mut overlaid = Vec::new();
    for entry in entries {
        let is_replaced = entry.mpi.is_none_or(|only| only == mpi)
            && classes.keys().any(|class| within(*class, entry));
        match entry.mpi {
            _ if !is_replaced => overlaid.push(*entry),
            // Under the other library it holds as before.
            None => overlaid.push(DecisionEntry {
                mpi: Some(other(mpi)),
                ..*entry
            }),
            Some(_) => {}
        }
    }
    let mut open: Option<(Bytes, Way)> = None;
    for (class, way) in &classes {
        if open != Some((*class, *way)) {
            overlaid.push(DecisionEntry {
                from: *class,
                way: *way,
                mpi: Some(mpi),
                grounds: DecisionGrounds::Learned,
            });
        }
        open = Some((end(*class), *way));
        let after = before(end(*class)).filter(|_| !classes.contains_key(&end(*class)));
        overlaid.extend(after.filter(|entry| entry.from < end(*class)).map(|entry| {
            DecisionEntry {
                from: end(*class),
                mpi: Some(mpi),
                ..*entry
            }
        }));
    }
    overlaid.sort_by_key(|entry| (entry.from, entry.mpi));
    overlaid
}

/// Where the next size class begins.
fn end(class: Bytes) -> Bytes {
    Bytes(class.0.saturating_mul(2))
}

fn is_deliberate(entry: &DecisionEntry) -> bool {
    entry.grounds.is_measured() || entry.grounds == DecisionGrounds::Modelled
}

fn other(mpi: Mpi) -> Mpi {
    match mpi {
        Mpi::OpenMpi => Mpi::Mpich,
        Mpi::Mpich => Mpi::OpenMpi,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learned::figures::JobLesson;
    use crate::learned::{LearnedFigures, LearnedPlace, RankLayout};
    use inventory::Millis;
    use proptest::prelude::*;
    use samples::trees::star;

    fn timing(from: u64, way: &str, mean_ns: u64) -> LearnedTiming {
        LearnedTiming {
            collective: Collective::Alltoall,
            from: Bytes(from),
            way: way.parse().unwrap(),
            samples: 9,
            mean_ns,
            error_ns: 10,
        }
    }

    fn entry(from: u64, way: &str, mpi: Option<Mpi>, grounds: DecisionGrounds) -> DecisionEntry {
        DecisionEntry {
            from: Bytes(from),
            way: way.parse().unwrap(),
            mpi,
            grounds,
        }
    }

    fn table(entries: &[DecisionEntry]) -> DecisionTable {
        let table = DecisionTable::default();
        table.with_entries(Collective::Alltoall, entries.to_vec())
    }

    /// From, way and grounds under a library.
    fn lines(table: &DecisionTable, mpi: Mpi) -> Vec<String> {
        table.check().unwrap();
        let table = table.clone().for_mpi(mpi);
        table
            .entries(Collective::Alltoall)
            .iter()
            .map(|entry| format!("{} {}, {}", entry.from.0, entry.way, entry.grounds))
            .collect()
    }

    const ELSEWHERE: DecisionGrounds = DecisionGrounds::Elsewhere;

    #[test]
    fn learned_classes_replace_what_nobody_measured_here() {
        let base = table(&[
            entry(0, "native", None, ELSEWHERE),
            entry(3000, "aapc tcp", None, ELSEWHERE),
        ]);
        let timings = [
            timing(1024, "native", 1000),
            timing(1024, "bundled", 500),
            timing(2048, "bundled", 500),
            timing(2048, "native", 900),
            timing(8192, "native", 505),
            timing(8192, "aapc tcp", 500),
        ];
        let learned = base.clone().with_learned(Mpi::Mpich, &timings);
        assert_eq!(
            lines(&learned, Mpi::Mpich),
            [
                "0 native, not measured here",
                "1024 bundled, learned by jobs",
                "4096 aapc tcp, not measured here",
                "8192 native, learned by jobs",
                "16384 aapc tcp, not measured here",
            ]
        );
        assert_eq!(lines(&learned, Mpi::OpenMpi), lines(&base, Mpi::OpenMpi));
        assert!(learned.is_untuned(Collective::Alltoall, Mpi::Mpich));
        assert_eq!(learned.clone().with_learned(Mpi::Mpich, &timings), learned);
    }

    #[test]
    fn too_little_evidence_changes_nothing() {
        let base = table(&[entry(0, "native", None, ELSEWHERE)]);
        let few = LearnedTiming {
            samples: ENOUGH - 1,
            ..timing(1024, "bundled", 500)
        };
        for timings in [
            vec![timing(1024, "native", 1000), few],
            vec![timing(1024, "bundled", 500)],
            vec![timing(1000, "native", 1000), timing(1000, "bundled", 500)],
            vec![timing(1024, "native", 1000), timing(1024, "ring", 500)],
        ] {
            let learned = base.clone().with_learned(Mpi::Mpich, &timings);
            let ways = lines(&learned, Mpi::Mpich);
            assert!(ways.iter().all(|line| line.contains("native")), "{ways:?}");
        }
    }

    /// Where the table takes a schedule and another one is faster, long calls never go the library's
    /// way.
    #[test]
    fn of_two_schedules_the_faster_one_is_taken() {
        let base = table(&[
            entry(0, "native", None, ELSEWHERE),
            entry(1024, "aapc window tcp", None, ELSEWHERE),
        ]);
        let after = |mean| {
            let timings = [
                timing(1024, "aapc window tcp", 1000),
                timing(1024, "aapc tcp", mean),
            ];
            let learned = base.clone().with_learned(Mpi::Mpich, &timings);
            lines(&learned, Mpi::Mpich)[1].clone()
        };
        assert_eq!(after(900), "1024 aapc tcp, learned by jobs");
        assert_eq!(after(990), "1024 aapc window tcp, learned by jobs");
    }

    /// A learner gives the library's own routine up after one call that takes far longer.
    #[test]
    fn one_call_is_enough_of_a_hopeless_routine() {
        let base = table(&[entry(0, "native", None, ELSEWHERE)]);
        let after = |mean| {
            let own = LearnedTiming {
                samples: 1,
                ..timing(1024, "native", mean)
            };
            let timings = [
                own,
                timing(1024, "bundled", 600),
                timing(1024, "aapc tcp", 500),
            ];
            let learned = base.clone().with_learned(Mpi::Mpich, &timings);
            lines(&learned, Mpi::Mpich).len()
        };
        assert_eq!((after(751), after(750)), (3, 1));
    }

    /// Each of three users found the same of two schedules to be faster, and tried the library's own
    /// routine too few times to know its time.
    #[test]
    fn guesses_of_many_jobs_decide_nothing() {
        let layout = RankLayout::from_hosts(&[0, 1, 2]);
        let hosts = ["n0", "n1", "n2"];
        let (place, _) = LearnedPlace::find(&star(&[2, 2]), &hosts, &layout, Mpi::Mpich).unwrap();
        let shown = |own: u32| {
            let mut figures = LearnedFigures::default();
            for (job, user) in (1..).zip(["ann", "ben", "cid"]) {
                let few = LearnedTiming {
                    samples: if user == "ann" { own } else { 2 },
                    ..timing(1024, "native", 900)
                };
                let window = timing(1024, "aapc window tcp", 1300);
                let timings = [timing(1024, "aapc tcp", 1000), window, few];
                let lesson = JobLesson {
                    user: user.to_owned(),
                    job,
                    at: Millis(job),
                    timings: timings.map(Into::into).to_vec(),
                };
                figures.merge(&place, lesson);
            }
            let base = table(&[
                entry(0, "native", None, ELSEWHERE),
                entry(1024, "aapc window tcp", None, ELSEWHERE),
            ]);
            let timings = figures.ways().for_place(&place);
            lines(&base.with_learned(Mpi::Mpich, &timings), Mpi::Mpich)[1].clone()
        };
        assert_eq!(shown(2), "1024 aapc tcp, learned by jobs");
        assert_eq!(shown(9), "1024 aapc tcp, learned by jobs", "a minority's");
    }

    #[test]
    fn tuned_sizes_stay_and_predictions_for_another_network_do_not() {
        let of = |grounds| {
            table(&[
                entry(0, "native", None, ELSEWHERE),
                entry(1024, "bundled", Some(Mpi::Mpich), grounds),
            ])
        };
        let timings: Vec<LearnedTiming> = [512, 1024, 2048]
            .into_iter()
            .flat_map(|from| [timing(from, "native", 1000), timing(from, "aapc tcp", 500)])
            .collect();
        let shown = |grounds| lines(&of(grounds).with_learned(Mpi::Mpich, &timings), Mpi::Mpich);
        assert_eq!(
            shown(DecisionGrounds::Confirmed),
            [
                "0 native, not measured here",
                "512 aapc tcp, learned by jobs",
                "1024 bundled, measured and confirmed",
            ]
        );
        assert_eq!(
            shown(DecisionGrounds::Stale),
            [
                "0 native, not measured here",
                "512 aapc tcp, learned by jobs",
                "4096 bundled, modelled, to be measured again",
            ]
        );
        assert!(!of(DecisionGrounds::Stale).is_untuned(Collective::Alltoall, Mpi::Mpich));
        assert!(of(DecisionGrounds::Stale).is_untuned(Collective::Alltoall, Mpi::OpenMpi));
    }

    proptest! {
        #[test]
        fn any_figures_make_a_sound_table(
            base in prop::collection::btree_map(1u64..1 << 20, any::<bool>(), 0..6),
            timings in prop::collection::vec(
                (0u32..64, prop::sample::select(&["native", "bundled", "aapc tcp"][..]),
                 0u64..2000), 0..80),
        ) {
            let entries = base.into_iter().map(|(from, tcp)| {
                let mpi = (from % 3 == 0).then_some(Mpi::Mpich);
                entry(from, if tcp { "aapc tcp" } else { "bundled" }, mpi, ELSEWHERE)
            });
            let base: Vec<DecisionEntry> =
                [entry(0, "native", None, ELSEWHERE)].into_iter().chain(entries).collect();
            let timings: Vec<LearnedTiming> = timings
                .into_iter()
                .map(|(exponent, way, mean)| timing(1 << exponent, way, mean))
                .collect();
            let learned = table(&base).with_learned(Mpi::Mpich, &timings);
            prop_assert!(learned.check().is_ok(), "{learned:?}");
            let other = table(&base).for_mpi(Mpi::OpenMpi);
            for block in [0, 1, 700, 1024, 5000, 1 << 21].map(Bytes) {
                prop_assert_eq!(
                    learned.clone().for_mpi(Mpi::OpenMpi).choose(Collective::Alltoall, block),
                    other.choose(Collective::Alltoall, block)
                );
            }
        }
    }
}
