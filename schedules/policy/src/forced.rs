//! Ways that somebody forces.
use crate::decision_table::{Collective, CollectiveTraffic};
use crate::measurements::{row, turn};
use crate::ways::{DataCarrier, UnknownWay, Way};
use inventory::Bytes;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One way at every size, or several in turn: for tests and measurements. It holds for the
/// collectives that can go it; the others follow the epoch's decision table.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct ForcedWays {
    ways: BTreeMap<Collective, Vec<Way>>,
    /// `HEDDLE_REDUCE`.
    pub reductions: ReductionOrder,
}

/// `HEDDLE_REDUCE`: what may change the order in which reductions combine, and with it the last digits of
/// those that are not exact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub enum ReductionOrder {
    /// Those that are not exact go each way once when they begin, and then one way for good.
    #[default]
    Steady,
    /// `reproducible`: those that are not exact are the library's own.
    Reproducible,
    /// `fast`: all may change their way whenever another one is faster.
    Fast,
    /// `off`: all are the library's own.
    Librarys,
}

impl ForcedWays {
    /// One way for all that can go it; of several, the last that a collective can go.
    pub fn parse(text: &str) -> Result<ForcedWays, UnknownWay> {
        let mut force = ForcedWays::turns(text)?;
        for ways in force.ways.values_mut() {
            ways.drain(..ways.len() - 1);
        }
        Ok(force)
    }

    /// Successive rows of calls of a collective with blocks of one size go several ways in turn, as [`row`]
    /// and [`turn`] say.
    pub fn turns(text: &str) -> Result<ForcedWays, UnknownWay> {
        let ways = listed(text)?;
        let mut force = ForcedWays::default();
        for collective in Collective::ALL {
            let own = ways.iter().copied().filter(|way| way.serves(collective));
            for way in own {
                force.ways.entry(collective).or_default().push(way);
            }
        }
        Ok(force)
    }

    /// True if anything is forced.
    pub fn is_any(&self) -> bool {
        !self.ways.is_empty()
    }

    /// The ways this collective is forced to go in turn; none where the table decides.
    pub fn ways(&self, collective: Collective) -> &[Way] {
        let combines = matches!(
            collective.traffic(),
            CollectiveTraffic::Combine | CollectiveTraffic::CombineForEach
        );
        if self.reductions == ReductionOrder::Librarys && combines {
            &[Way::Native]
        } else {
            self.ways.get(&collective).map_or(&[], Vec::as_slice)
        }
    }

    /// The way of a call with blocks of this size before which `calls` of its kind came one after
    /// the other.
    pub fn way(&self, collective: Collective, block: Bytes, calls: u64) -> Option<Way> {
        let ways = self.ways(collective);
        turn(calls / row(block), ways.len()).map(|turn| ways[turn])
    }
}

/// Ways by their names ([`crate::ways`]), with commas. With `tcp` among them, all go over the runtime's own
/// connections.
fn listed(text: &str) -> Result<Vec<Way>, UnknownWay> {
    let is_over_tcp = text.split(',').any(|name| name == "tcp");
    text.split(',')
        .filter(|name| !name.is_empty() && *name != "tcp")
        .map(|name| {
            if is_over_tcp {
                Way::named(name, DataCarrier::Tcp).ok_or_else(|| UnknownWay(name.to_owned()))
            } else {
                name.parse()
            }
        })
        .collect()
}
