//! The time of heddle's ring for reductions and broadcasts, of which too few calls were measured:
//! [`simulation`] plays them.
//!
//! Source: as in the simulator; the bound is that of [`schedules::bound`]. Input: a tree and a block
//! size. Guarantee: no time is below the bound. Cost: one simulation; 1,024 hosts take seconds.
//! Deviations: those of the simulator. Every leaf of the tree is a rank.
use inventory::{Bytes, Tree};
use policy::decision_table::{Collective, CollectiveTraffic};
use schedules::{allgather, bound};
use simulation::{Deadlock, SimulationModel, planned, run};

/// The time of a reduction or broadcast along the ring.
#[derive(Debug, Clone, PartialEq)]
pub struct RingPrediction {
    pub collective: Collective,
    /// Its octets, as [`Collective`] counts them.
    pub block: Bytes,
    /// Lower bound in seconds, for everything that takes each block over an edge only once.
    pub bound: f64,
    /// Seconds until everything has ended.
    pub seconds: f64,
}

impl RingPrediction {
    /// The time divided by the bound; `None` where there is nothing to send.
    pub fn ratio(&self) -> Option<f64> {
        (self.bound > 0.0).then(|| self.seconds / self.bound)
    }
}

/// The time until a message's first octet has come, and that of a token.
const LATENCY: f64 = 50e-6;

/// The pieces in which a broadcast is played.
const PIECES: u64 = 64;

/// Plays a reduction or broadcast of `block`, as [`Collective`] counts it.
///
/// # Errors
/// [`Deadlock`]: the ring would stop, which is a defect.
pub fn relay(
    tree: &Tree,
    collective: Collective,
    block: Bytes,
) -> Result<RingPrediction, Deadlock> {
    let (ring, ranks) = (allgather::plan(tree).ring, vec![1; tree.hosts() as usize]);
    let (traffic, bound) = match collective.traffic() {
        CollectiveTraffic::Combine => (
            planned::reduction(&ring, Bytes(block.0.div_ceil(ring.len() as u64)), true),
            bound::allreduce_seconds(tree, &ranks, block),
        ),
        CollectiveTraffic::Spread => (
            planned::broadcast(&ring, Bytes(block.0.div_ceil(PIECES)), PIECES as usize),
            bound::broadcast_seconds(tree, &ranks, block),
        ),
        _ => (
            planned::reduction(&ring, block, false),
            bound::allgather_bound_seconds(tree, block),
        ),
    };
    let model = SimulationModel {
        latency: LATENCY,
        token: LATENCY,
        ..SimulationModel::default()
    };
    Ok(RingPrediction {
        collective,
        block,
        bound,
        seconds: run(tree, &traffic, &model)?.seconds(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use samples::trees::star;

    #[test]
    fn along_the_ring_reductions_come_near_their_bounds() {
        let tree = star(&[4, 4]);
        for collective in [
            Collective::Allreduce,
            Collective::ReduceScatterBlock,
            Collective::Bcast,
        ] {
            let ratio = relay(&tree, collective, Bytes(8 << 20)).unwrap().ratio();
            assert!(
                ratio.is_some_and(|ratio| (1.0 - 1e-9..1.15).contains(&ratio)),
                "{collective}: {ratio:?}"
            );
        }
        let alone = relay(&star(&[1]), Collective::Allreduce, Bytes(1)).unwrap();
        assert_eq!((alone.seconds, alone.ratio()), (0.0, None));
    }
}
