//! The ways of a call under each library, fastest first.
use super::{CalibratedTime, CallCalibration, TimedRoutine};
use inventory::tree::Tree;
use inventory::{Bytes, Mpi};
use policy::decision_table::{Collective, CollectiveTraffic};
use policy::ways::{DataCarrier, WAYS, Way};
use schedules::bound;
use std::fmt;

/// The predicted time of a way.
#[derive(Debug, Clone, PartialEq)]
pub struct WayPrediction {
    pub way: Way,
    /// The routine that carries it out.
    pub routine: TimedRoutine,
    pub time: CalibratedTime,
}

impl fmt::Display for WayPrediction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.routine {
            TimedRoutine::Library(_, library) => f.pad(&format!("its own routine, {library}")),
            _ => self.way.fmt(f),
        }
    }
}

/// The ways of a call under a library.
#[derive(Debug, Clone, PartialEq)]
pub struct WayComparison {
    /// The library.
    pub mpi: Mpi,
    pub collective: Collective,
    /// Octets that a rank sends to each other rank (all-to-all) or contributes (allgather).
    pub block: Bytes,
    /// Lower bound in seconds, as in [`crate::predict::AlgorithmComparison`].
    pub bound: f64,
    /// Fastest first; empty where nothing is sent.
    pub ways: Vec<WayPrediction>,
}

impl WayComparison {
    /// The predictions for a tree with one rank on each leaf.
    pub fn predicted(
        calibration: &CallCalibration,
        tree: &Tree,
        mpi: Mpi,
        collective: Collective,
        block: Bytes,
    ) -> WayComparison {
        let mut ways: Vec<WayPrediction> = calibrated_ways(collective)
            .into_iter()
            .filter_map(|way| {
                Some(WayPrediction {
                    way,
                    routine: TimedRoutine::for_way(way, mpi, collective, tree.hosts(), block)?,
                    time: calibration.time(tree, (way, mpi), collective, block)?,
                })
            })
            .collect();
        ways.sort_by(|a, b| a.time.seconds.total_cmp(&b.time.seconds));
        let bound = if collective.traffic() == CollectiveTraffic::Exchange {
            bound::payload_bound_seconds(tree, block)
        } else {
            bound::allgather_bound_seconds(tree, block)
        };
        WayComparison {
            mpi,
            collective,
            block,
            bound,
            ways,
        }
    }
}

/// The ways of which calls were measured.
pub fn calibrated_ways(collective: Collective) -> Vec<Way> {
    let over = [DataCarrier::Mpi, DataCarrier::Tcp];
    let mut ways: Vec<Way> = WAYS
        .iter()
        .flat_map(|row| over.map(|over| row.usual().with_carrier(over)))
        .filter(|&way| way.row().is_calibrated(way) && way.serves(collective))
        .collect();
    ways.dedup();
    ways
}
