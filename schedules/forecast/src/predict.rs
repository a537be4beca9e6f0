//! The time of each algorithm on a topology: [`simulation`] plays every one of them.
//!
//! Source: as in the simulator; the bound is that of [`schedules::bound`]. Input: a tree, its
//! clusters, a block size, a [`SimulationModel`]. Guarantee: no time is below the bound. Cost: one
//! simulation per algorithm; 1,024 hosts take seconds. Deviations: those of the simulator. Tokens
//! of senders and of receivers cost the same there, so only receivers' are listed. Every leaf of
//! the tree is a rank.
use inventory::{Bytes, Tree};
use policy::decision_table::{Collective, CollectiveTraffic};
use schedules::alltoall::{AlltoallAlgorithm, plan_as};
use schedules::lg::{self, ClusterPartition};
use schedules::synchronization::scheme::{SyncMechanism, SyncScheme};
use schedules::synchronization::{SyncKind, SyncReduction};
use schedules::{allgather, bound};
use simulation::libraries::{self, LibraryAlgorithm};
use simulation::planned;
use simulation::{Deadlock, SimulatedTraffic, SimulationModel, run};
use std::fmt;

/// One algorithm's time.
#[derive(Debug, Clone, PartialEq)]
pub struct TimePrediction {
    /// The algorithm's name, as on the command line, or the name of a library's algorithm.
    pub algorithm: String,
    /// The mechanism that keeps phases apart; `None` for algorithms without phases.
    pub sync: Option<SyncMechanism>,
    /// Seconds until everything has ended.
    pub seconds: f64,
}

impl fmt::Display for TimePrediction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.sync {
            None => f.pad(&self.algorithm),
            Some(SyncMechanism::None) => f.pad(&format!("{}, not synchronized", self.algorithm)),
            Some(SyncMechanism::Barrier) => f.pad(&format!("{}, barriers", self.algorithm)),
            Some(_) => f.pad(&format!("{}, tokens", self.algorithm)),
        }
    }
}

/// All algorithms of a collective at one block size.
#[derive(Debug, Clone, PartialEq)]
pub struct AlgorithmComparison {
    /// The collective's name.
    pub collective: &'static str,
    /// Octets that a rank sends to each other rank (all-to-all) or contributes (allgather).
    pub block: Bytes,
    /// Lower bound in seconds for every algorithm that sends blocks directly, or every block over
    /// an edge only once.
    pub bound: f64,
    /// Fastest first.
    pub predictions: Vec<TimePrediction>,
}

impl AlgorithmComparison {
    /// The time divided by the bound; `None` where there is nothing to send.
    pub fn ratio(&self, prediction: &TimePrediction) -> Option<f64> {
        (self.bound > 0.0).then(|| prediction.seconds / self.bound)
    }
}

/// Compares the algorithms of an all-to-all. LG is among them if there are several clusters.
///
/// # Errors
/// [`Deadlock`]: one of our own schedules would stop, which is a defect.
pub fn alltoall(
    tree: &Tree,
    clusters: &ClusterPartition,
    block: Bytes,
    model: &SimulationModel,
) -> Result<AlgorithmComparison, Deadlock> {
    let mut compared = PredictionRun {
        tree,
        model,
        predictions: Vec::new(),
    };
    for algorithm in [AlltoallAlgorithm::Aapc, AlltoallAlgorithm::Capacity] {
        // Where edges are one message wide, both planners build the same phases.
        if algorithm != AlltoallAlgorithm::Aapc && algorithm.capacities(tree).are_unit() {
            continue;
        }
        let mut plan = plan_as(tree, algorithm, SyncKind::Receiver, SyncReduction::Chain);
        for mechanism in [
            SyncMechanism::Receiver,
            SyncMechanism::None,
            SyncMechanism::Barrier,
        ] {
            let scheme = SyncScheme::new(mechanism, None).unwrap_or(SyncScheme::NO_SYNC);
            compared.add(
                algorithm.name(),
                Some(mechanism),
                planned::alltoall(&plan, block, scheme),
            )?;
            plan.syncs.clear();
        }
    }
    if clusters.list().len() > 1 {
        compared.add(
            lg::LG,
            Some(SyncMechanism::Barrier),
            planned::lg(&lg::plan(tree, clusters, None), block),
        )?;
    }
    for library in LibraryAlgorithm::ALL {
        if let Some(traffic) = libraries::alltoall(library, tree.hosts(), block) {
            compared.add(&library.to_string(), None, traffic)?;
        }
    }
    Ok(compared.sorted("alltoall", block, bound::payload_bound_seconds(tree, block)))
}

/// Compares the algorithms of an allgather.
///
/// # Errors
/// [`Deadlock`], as [`alltoall`].
pub fn allgather(
    tree: &Tree,
    block: Bytes,
    model: &SimulationModel,
) -> Result<AlgorithmComparison, Deadlock> {
    let mut compared = PredictionRun {
        tree,
        model,
        predictions: Vec::new(),
    };
    let plan = allgather::plan(tree);
    compared.add(
        plan.algorithm.name(),
        None,
        planned::ring(&plan.ring, block),
    )?;
    for library in LibraryAlgorithm::ALL {
        if let Some(traffic) = libraries::allgather(library, tree.hosts(), block) {
            compared.add(&library.to_string(), None, traffic)?;
        }
    }
    Ok(compared.sorted(
        "allgather",
        block,
        bound::allgather_bound_seconds(tree, block),
    ))
}

/// The pieces in which a broadcast is played.
const PIECES: u64 = 64;

/// The time of heddle's ring for a reduction or broadcast of `block`, as [`Collective`] counts it.
///
/// # Errors
/// [`Deadlock`], as [`alltoall`].
pub fn relay(
    tree: &Tree,
    collective: Collective,
    block: Bytes,
    model: &SimulationModel,
) -> Result<AlgorithmComparison, Deadlock> {
    let (ring, ranks) = (allgather::plan(tree).ring, vec![1; tree.hosts() as usize]);
    let part = |parts: u64| Bytes(block.0.div_ceil(parts.max(1)));
    let (traffic, bound) = match collective.traffic() {
        CollectiveTraffic::Combine => (
            planned::reduction(&ring, part(ring.len() as u64), true),
            bound::allreduce_seconds(tree, &ranks, block),
        ),
        CollectiveTraffic::Spread => (
            planned::broadcast(&ring, part(PIECES), PIECES as usize),
            bound::broadcast_seconds(tree, &ranks, block),
        ),
        _ => (
            planned::reduction(&ring, block, false),
            bound::allgather_bound_seconds(tree, block),
        ),
    };
    let mut compared = PredictionRun {
        tree,
        model,
        predictions: Vec::new(),
    };
    compared.add("ring", None, traffic)?;
    Ok(compared.sorted(collective.name(), block, bound))
}

struct PredictionRun<'a> {
    tree: &'a Tree,
    model: &'a SimulationModel,
    predictions: Vec<TimePrediction>,
}

impl PredictionRun<'_> {
    fn add(
        &mut self,
        algorithm: &str,
        sync: Option<SyncMechanism>,
        traffic: SimulatedTraffic,
    ) -> Result<(), Deadlock> {
        let seconds = run(self.tree, &traffic, self.model)?.seconds();
        self.predictions.push(TimePrediction {
            algorithm: algorithm.to_owned(),
            sync,
            seconds,
        });
        Ok(())
    }

    fn sorted(mut self, collective: &'static str, block: Bytes, bound: f64) -> AlgorithmComparison {
        self.predictions
            .sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
        AlgorithmComparison {
            collective,
            block,
            bound,
            predictions: self.predictions,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_trees::{star, topology};

    fn names(comparison: &AlgorithmComparison) -> Vec<&str> {
        comparison
            .predictions
            .iter()
            .map(|p| p.algorithm.as_str())
            .collect()
    }

    #[test]
    fn congestion_decides_for_large_blocks_and_latency_for_small_ones() {
        let tree = star(&[8, 8]);
        let model = SimulationModel {
            latency: 50e-6,
            token: 50e-6,
            penalty: 0.5,
            ..SimulationModel::default()
        };
        let at =
            |block| alltoall(&tree, &ClusterPartition::found(&tree), Bytes(block), &model).unwrap();
        let (small, large) = (at(64), at(1 << 20));
        assert_eq!(small.predictions[0].algorithm, "linear", "{small:?}");
        assert_eq!(
            (
                large.predictions[0].algorithm.as_str(),
                large.predictions[0].sync
            ),
            ("aapc", Some(SyncMechanism::Receiver))
        );
        assert!(
            large.ratio(&large.predictions[0]).unwrap() < 1.05,
            "{large:?}"
        );
        assert!(
            large
                .predictions
                .iter()
                .all(|p| large.ratio(p).unwrap() >= 1.0 - 1e-9)
        );
        let gathered = allgather(&tree, Bytes(1 << 20), &model).unwrap();
        assert!(
            gathered.predictions[0].algorithm.starts_with("lr"),
            "{gathered:?}"
        );
        assert_eq!(
            gathered
                .ratio(&gathered.predictions[0])
                .map(|r| (r * 100.0).round()),
            Some(101.0)
        );
    }

    #[test]
    fn along_the_ring_reductions_come_near_their_bounds() {
        let tree = star(&[4, 4]);
        let model = SimulationModel::default();
        let ratio = |collective| {
            let compared = relay(&tree, collective, Bytes(8 << 20), &model).unwrap();
            compared.ratio(&compared.predictions[0]).unwrap()
        };
        for collective in [
            Collective::Allreduce,
            Collective::ReduceScatterBlock,
            Collective::Bcast,
        ] {
            let ratio = ratio(collective);
            assert!((1.0 - 1e-9..1.15).contains(&ratio), "{collective}: {ratio}");
        }
    }

    #[test]
    fn far_clusters_bring_lg_and_a_lone_host_nothing() {
        let text = "switches: [a, b]\nhosts: \
                    {w: {switch: a}, x: {switch: a}, y: {switch: b}, z: {switch: b}}\nlinks: \
                    [{a: a, b: b, rate: 10M}]";
        let (two, one) = (topology(text), star(&[4]));
        let found = |tree: &Tree| {
            alltoall(
                tree,
                &ClusterPartition::found(tree),
                Bytes(1000),
                &SimulationModel::default(),
            )
            .unwrap()
        };
        assert!(names(&found(&two)).contains(&"lg") && !names(&found(&one)).contains(&"lg"));
        let alone = found(&star(&[1]));
        assert!(
            alone
                .predictions
                .iter()
                .all(|p| p.seconds == 0.0 && alone.ratio(p).is_none()),
            "{alone:?}"
        );
    }
}
