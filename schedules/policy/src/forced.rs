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
    /// Ways by their names ([`policy::ways`]), several with commas. With `tcp` among them, these ways go over
    /// the runtime's own connections.
    pub fn parse(text: &str) -> Option<ForcedWays> {
        let mut force = ForcedWays::default();
        let over = if text.split(',').any(|name| name == "tcp") {
            DataCarrier::Tcp
        } else {
            DataCarrier::Mpi
        };
        let names = text
            .split(',')
            .filter(|name| !name.is_empty() && *name != "tcp");
        for name in names {
            force.takes(Way::named(name, over)?);
        }
        Some(force)
    }

    /// One way, for all that can go it.
    fn takes(&mut self, way: Way) {
        for collective in Collective::ALL.into_iter().filter(|c| way.serves(*c)) {
            self.ways.insert(collective, vec![way]);
        }
    }

    /// Names of ways, with commas: successive rows of calls of a collective with blocks of one size
    /// go them in turn, as [`row`] and [`turn`] say.
    pub fn turns(text: &str) -> Result<ForcedWays, UnknownWay> {
        let ways = text
            .split(',')
            .map(str::parse)
            .collect::<Result<Vec<Way>, _>>()?;
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
