//! The measurements on a cluster, and the decision table that follows from them.
//!
//! Source: aapc-2007 section 6 (*tuned scheduling based*: an automatic tuning system finds the best
//! of all schemes; the paper does not say how it decides). Between measured sizes and on changed
//! trees [`crate::signature`]. Input: times of calls that went every way in turn ([`TuningRun`]),
//! and the tree that will be published. Guarantee: a way is taken at a measured size only if its
//! median is below that of the library's own routine by more than twice the standard error of the
//! difference. Of the ways that are as fast as the fastest one, the simplest is taken. Between two
//! sizes a way is taken that gains at both, even if it is the best at neither, or else the way that
//! the model chooses. Where nothing is known, the library's own routine runs. A way that a launch
//! of its own did not confirm ([`confirm`]) is replaced by the library's own. Cost: O(sizes *
//! ways), and the model's fit. Deviations: the paper always takes the best scheme. Then differences
//! within the noise would change the choice from one size, or one measurement, to the next.
pub mod algorithms;
mod collect;
pub mod confirm;
pub mod halving;
mod model;
pub mod pairs;
mod ranges;
pub mod session;
#[cfg(test)]
mod tests;

pub use collect::{TimedCalls, WayMedian};

use inventory::Bytes;
use inventory::tree::Tree;
use policy::decision_table::{DecisionEntry, DecisionGrounds, DecisionTable, Mpi};
use policy::measurements::{MEASURED, TuningRun, TuningRuns};

/// The decision table for a tree: the measurements on this tree, or on the tree before harmless
/// recabling; the predictions of the model if the tree differs;
/// [`DecisionTable::of_all_hosts`] for all hosts under a library that was not measured.
pub fn table(runs: &TuningRuns, tree: &Tree) -> DecisionTable {
    let mut table = DecisionTable::of_all_hosts(tree);
    for run in &runs.runs {
        let ground = ranges::RunGrounds::collected(run, tree);
        for collective in MEASURED {
            let mut entries = leave_to_others(table.entries(collective), run.mpi);
            let measured = confirm::entries(
                &ranges::entries(run, collective, &ground),
                collective,
                &run.trials,
            );
            entries.extend(measured.into_iter().map(|range| DecisionEntry {
                mpi: Some(run.mpi),
                ..range
            }));
            entries.sort_by_key(|entry| (entry.from, entry.mpi));
            table = table.with_entries(collective, entries);
        }
    }
    table
}

/// The entries without those under one library. Each entry that holds under both becomes one of the
/// other library; the first one is left out.
fn leave_to_others(entries: &[DecisionEntry], mpi: Mpi) -> Vec<DecisionEntry> {
    let other = if mpi == Mpi::OpenMpi {
        Mpi::Mpich
    } else {
        Mpi::OpenMpi
    };
    let kept = entries.iter().filter(|entry| entry.mpi != Some(mpi));
    kept.map(|entry| DecisionEntry {
        mpi: if entry.from == Bytes(0) {
            None
        } else {
            Some(other)
        },
        ..*entry
    })
    .collect()
}

/// The grounds of a run's entries for a tree: the measurements themselves, or the model's predictions.
pub fn grounds(run: &TuningRun, tree: &Tree) -> DecisionGrounds {
    ranges::RunGrounds::collected(run, tree).grounds
}
