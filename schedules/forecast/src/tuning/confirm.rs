//! The second trial of the ways of a table: whether they are faster in jobs, too.
//!
//! Input: the entries from a launch in which calls went every way in turn, and the times of a
//! launch in which these entries decided and every other call was the library's own. Guarantee: a
//! way that was tried again stays only if this launch showed it to be faster than the library's own
//! routine by more than the noise ([`WayTrial::confirms`]). Between two tried sizes it stays
//! only if it was faster at both. Elsewhere the library's own routine is back. Why: a way that
//! takes turns with others follows other calls than in a job, and the fastest of many ways that are
//! measured at once looks faster than it is.
use super::ranges::DecisionRanges;
use inventory::Bytes;
use policy::decision_table::{Collective, DecisionEntry, DecisionGrounds, DecisionTable, Way};
use policy::measurements::comparison::TunedComparison;
use policy::measurements::{MEASURED, TuningRun, WayTrial};
use std::collections::BTreeSet;

/// The calls that go another way than the library's own by a table, reduced by
/// [`DecisionTable::for_mpi`]: at the measured sizes, and at those at which its entries begin.
pub fn calls(run: &TuningRun, table: &DecisionTable) -> BTreeSet<(Collective, Bytes)> {
    MEASURED
        .into_iter()
        .flat_map(|collective| {
            let from = table.entries(collective).iter().map(|entry| entry.from);
            let sizes = from.chain(run.sizes(collective));
            sizes
                .filter(move |&size| table.choose(collective, size) != Way::Native)
                .map(move |size| (collective, size))
        })
        .collect()
}

/// The comparisons of a table's calls, without those that were the library's own anyway.
pub fn trials(compared: &[TunedComparison], table: &DecisionTable) -> Vec<WayTrial> {
    compared
        .iter()
        .map(|comparison| WayTrial {
            way: table.choose(comparison.collective, comparison.own.block),
            comparison: *comparison,
        })
        .filter(|trial| trial.way != Way::Native)
        .collect()
}

/// The entries of a collective after its trials. Sizes without a trial stay as they are.
pub(super) fn entries(
    entries: &[DecisionEntry],
    collective: Collective,
    trials: &[WayTrial],
) -> Vec<DecisionEntry> {
    let mut trials: Vec<&WayTrial> = trials
        .iter()
        .filter(|trial| trial.comparison.collective == collective)
        .collect();
    trials.sort_by_key(|trial| trial.comparison.own.block);
    let refuted = |at: Bytes| {
        trials
            .iter()
            .any(|trial| trial.comparison.own.block == at && !trial.confirms())
    };
    let confirmed = |at: Bytes, way: Way| {
        trials
            .iter()
            .any(|trial| trial.comparison.own.block == at && trial.way == way && trial.confirms())
    };
    let mut ranges = DecisionRanges(Vec::new());
    for (entry, next) in entries
        .iter()
        .zip(entries.iter().skip(1).map(Some).chain([None]))
    {
        let tried = trials.iter().map(|trial| trial.comparison.own.block);
        let within =
            tried.filter(|block| *block > entry.from && next.is_none_or(|next| *block < next.from));
        let points: Vec<Bytes> = [entry.from].into_iter().chain(within).collect();
        for (at, &from) in points.iter().enumerate() {
            let end = points.get(at + 1).copied().or(next.map(|next| next.from));
            let (way, grounds) = match (entry.way, entry.grounds) {
                (Way::Native, grounds) => (Way::Native, grounds),
                _ if refuted(from) => (Way::Native, DecisionGrounds::Unconfirmed),
                (way, DecisionGrounds::Measured | DecisionGrounds::Modelled)
                    if confirmed(from, way) =>
                {
                    (way, DecisionGrounds::Confirmed)
                }
                other => other,
            };
            ranges.add(from, way, grounds);
            if way != Way::Native && end.is_some_and(&refuted) {
                ranges.add(
                    Bytes(from.0.saturating_add(1)),
                    Way::Native,
                    DecisionGrounds::Unconfirmed,
                );
            }
        }
    }
    ranges.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use DecisionGrounds::{Confirmed, Elsewhere, Measured, Modelled, Stale, Unconfirmed};

    fn trial(block: u64, way: &str, ratio: f64) -> WayTrial {
        let pairs: Vec<(f64, f64)> = (1..6)
            .map(|i| (f64::from(i), ratio * f64::from(i)))
            .collect();
        WayTrial {
            way: way.parse().unwrap(),
            comparison: TunedComparison::from_pairs(Collective::Alltoall, Bytes(block), &pairs)
                .unwrap(),
        }
    }

    fn table(list: &[(u64, &str, DecisionGrounds)]) -> Vec<DecisionEntry> {
        list.iter()
            .map(|&(from, way, grounds)| DecisionEntry {
                from: Bytes(from),
                way: way.parse().unwrap(),
                mpi: None,
                grounds,
            })
            .collect()
    }

    fn left(
        list: &[(u64, &str, DecisionGrounds)],
        trials: &[WayTrial],
    ) -> Vec<(u64, String, DecisionGrounds)> {
        let left = entries(&table(list), Collective::Alltoall, trials);
        left.iter()
            .map(|entry| (entry.from.0, entry.way.to_string(), entry.grounds))
            .collect()
    }

    fn decisions(list: &[(u64, &str, DecisionGrounds)]) -> Vec<(u64, String, DecisionGrounds)> {
        list.iter()
            .map(|&(from, way, grounds)| (from, way.to_owned(), grounds))
            .collect()
    }

    #[test]
    fn a_way_stays_where_it_was_faster_again_and_between_two_sizes_where_at_both() {
        let tuned = [
            (10, "native", Measured),
            (20, "aapc", Modelled),
            (30, "aapc", Measured),
        ];
        let trials = |ratios: [f64; 4]| {
            [20, 30, 40, 50]
                .into_iter()
                .zip(ratios)
                .map(|(b, r)| trial(b, "aapc", r))
                .collect::<Vec<_>>()
        };
        let native = (10, "native", Measured);
        assert_eq!(
            left(&tuned, &trials([0.9; 4])),
            decisions(&[native, (20, "aapc", Confirmed)])
        );
        assert_eq!(
            left(&tuned, &trials([1.07, 0.9, 0.9, 0.9])),
            decisions(&[native, (20, "native", Unconfirmed), (30, "aapc", Confirmed)])
        );
        assert_eq!(
            left(&tuned, &trials([0.9, 0.9, 1.01, 0.9])),
            decisions(&[
                native,
                (20, "aapc", Confirmed),
                (31, "native", Unconfirmed),
                (50, "aapc", Confirmed)
            ])
        );
        assert_eq!(
            left(&tuned, &trials([1.0; 4])),
            decisions(&[native, (20, "native", Unconfirmed)]),
            "as fast is not faster"
        );
    }

    #[test]
    fn what_the_noise_hides_is_not_confirmed() {
        let pairs = [(1.0, 0.6), (1.0, 1.4), (1.0, 0.9), (1.0, 0.7), (1.0, 1.2)];
        let comparison =
            TunedComparison::from_pairs(Collective::Alltoall, Bytes(10), &pairs).unwrap();
        let noisy = WayTrial {
            comparison,
            ..trial(10, "aapc", 1.0)
        };
        assert!(comparison.ratio() < 1.0 && !noisy.confirms());
        assert_eq!(
            left(&[(10, "aapc", Measured)], &[noisy]),
            decisions(&[(10, "native", Unconfirmed)])
        );
    }

    #[test]
    fn a_trial_speaks_of_its_own_way_and_collective_and_a_model_for_other_cables_stays_one() {
        let tuned = [(10, "aapc", Measured)];
        assert_eq!(left(&tuned, &[]), decisions(&tuned));
        assert_eq!(
            left(&tuned, &[trial(10, "aapc tcp", 0.5)]),
            decisions(&tuned),
            "confirmed was another way"
        );
        assert_eq!(
            left(&tuned, &[trial(10, "aapc tcp", 1.5)]),
            decisions(&[(10, "native", Unconfirmed)])
        );
        let mut other = trial(10, "ring", 1.5);
        other.comparison.collective = Collective::Allgather;
        assert_eq!(left(&tuned, &[other]), decisions(&tuned));
        let stale = [(5, "aapc", Stale)];
        assert_eq!(left(&stale, &[trial(10, "aapc", 0.5)]), decisions(&stale));
        assert_eq!(
            left(&stale, &[trial(10, "aapc", 1.5)]),
            decisions(&[(5, "aapc", Stale), (6, "native", Unconfirmed)])
        );
        assert_eq!(
            left(&[(10, "native", Elsewhere)], &[trial(10, "aapc", 0.5)]),
            decisions(&[(10, "native", Elsewhere)])
        );
    }

    #[test]
    fn only_what_is_not_the_librarys_own_is_tried() {
        let entries = table(&[
            (0, "native", Elsewhere),
            (20, "aapc", Measured),
            (40, "native", Measured),
        ]);
        let table = DecisionTable::default()
            .with_entries(Collective::Alltoall, entries)
            .for_mpi(policy::decision_table::Mpi::Mpich);
        let compared = [10, 20, 40].map(|block| trial(block, "native", 0.9).comparison);
        let trials = trials(&compared, &table);
        assert_eq!(
            trials
                .iter()
                .map(|trial| (trial.way.to_string(), trial.comparison.own.block.0))
                .collect::<Vec<_>>(),
            [("aapc".to_owned(), 20)]
        );
    }
}
