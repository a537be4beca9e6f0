//! Calls beside the library's own, gathered over launches in which every other row of calls
//! bypasses the runtime.
use inventory::Bytes;
use policy::decision_table::{Collective, DecisionTable};
use policy::measurements::MEASURED;
use policy::measurements::comparison::{ComparisonVerdict, TunedComparison};
use std::collections::{BTreeMap, BTreeSet};

/// Pairs at the beginning of a launch that do not count, because plans and connections are made
/// then.
pub const FIRST: usize = 2;
/// A size so small that the time heddle adds to a call is visible.
const SMALL: Bytes = Bytes(8);

/// Pairs of times, the library's own first.
#[derive(Debug, Clone, Default)]
pub struct CallPairs(BTreeMap<(Collective, Bytes), Vec<(f64, f64)>>);

impl CallPairs {
    /// Adds the rows of one launch: those that bypassed the runtime, and each one's neighbour.
    pub fn add(&mut self, collective: Collective, block: Bytes, own: &[f64], tuned: &[f64]) {
        let new = own.iter().copied().zip(tuned.iter().copied()).skip(FIRST);
        self.0.entry((collective, block)).or_default().extend(new);
    }

    /// A comparison for each collective and size with enough pairs.
    pub fn compared(&self) -> Vec<TunedComparison> {
        self.0
            .iter()
            .filter_map(|((collective, block), pairs)| {
                TunedComparison::from_pairs(*collective, *block, pairs)
            })
            .collect()
    }
}

/// The sizes at which a table's promise is checked: the given ones, those from which on the table
/// goes another way, and a small one.
pub fn sizes(asked: &[Bytes], table: &DecisionTable) -> BTreeSet<Bytes> {
    let entries = MEASURED
        .into_iter()
        .flat_map(|collective| table.entries(collective));
    asked
        .iter()
        .copied()
        .chain(entries.map(|entry| entry.from).filter(|from| from.0 > 0))
        .chain([SMALL])
        .collect()
}

/// The check of the promise that calls are never slower than the library's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromiseCheck {
    /// No call is slower.
    Kept,
    /// The noise hides the result at so many sizes; at the others calls are not slower.
    Open(usize),
    /// Calls are slower at so many sizes.
    Broken(usize),
}

impl PromiseCheck {
    /// The overall result of the comparisons.
    pub fn from_comparisons(compared: &[TunedComparison]) -> PromiseCheck {
        let counts = [ComparisonVerdict::Slower, ComparisonVerdict::Open].map(|verdict| {
            let such = compared.iter().filter(|one| one.verdict() == verdict);
            such.count()
        });
        match counts {
            [0, 0] => PromiseCheck::Kept,
            [0, open] => PromiseCheck::Open(open),
            [slower, _] => PromiseCheck::Broken(slower),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_pairs_of_a_launch_do_not_count() {
        let mut pairs = CallPairs::default();
        for n in [4, 3] {
            let own: Vec<f64> = (0..n).map(f64::from).collect();
            let tuned: Vec<f64> = own.iter().map(|seconds| seconds + 0.5).collect();
            pairs.add(Collective::Alltoall, Bytes(8), &own, &tuned);
        }
        assert_eq!(
            pairs.0[&(Collective::Alltoall, Bytes(8))],
            [(2.0, 2.5), (3.0, 3.5), (2.0, 2.5)]
        );
    }

    #[test]
    fn a_promise_is_checked_where_the_table_turns_and_where_blocks_are_small() {
        let sizes = sizes(&[Bytes(1024)], &DecisionTable::default());
        assert!(
            sizes.contains(&Bytes(8)) && sizes.contains(&Bytes(1024)) && !sizes.contains(&Bytes(0)),
            "{sizes:?}"
        );
    }
}
