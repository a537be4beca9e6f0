//! The record of a running job: a small file in `jobs/` of the shared directory. Rank 0 of a
//! communicator replaces it now and then, and the controller reads it.
//!
//! Counters are cumulative, so a lost or repeated reading costs nothing.
pub mod reading;
pub mod writing;

use inventory::{Millis, MpiRoutines};
use policy::decision_table::{Collective, Way};
use policy::learned::{RankLayout, RecordedTiming};
pub use policy::recorded_name::RecordedName;
use policy::shown_rates::RecordedFastCall;
use serde::{Deserialize, Serialize};
use std::mem::size_of;

/// A job's communicator, as its rank 0 last wrote it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JobRecord {
    /// Unique on the cluster: host, process and communicator number.
    pub id: String,
    /// The program's name, without its path.
    pub program: String,
    /// The user that runs it.
    pub user: String,
    /// When the communicator first called a collective.
    pub started: Millis,
    /// When this was written.
    pub updated: Millis,
    /// The communicator's hosts in rank order, each once.
    pub hosts: Vec<String>,
    /// The number of its ranks.
    pub ranks: u32,
    /// The host of each rank, by its number among `hosts`; empty if the job does not say.
    #[serde(default, skip_serializing_if = "RankLayout::is_empty")]
    pub layout: RankLayout,
    /// The MPI library.
    pub mpi: RecordedName<MpiRoutines>,
    /// The epoch it follows; 0 while it follows none.
    pub epoch: u64,
    /// When it began to follow that epoch.
    pub epoch_since: Millis,
    /// The network of the epoch whose tree it follows, if there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<String>,
    /// The reason why it stands aside, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aside: Option<String>,
    /// Set by the last write, when the communicator is freed.
    #[serde(default)]
    pub finished: bool,
    /// Totals per collective, way and block size.
    pub calls: Vec<CallTotal>,
    /// The timings of ways that it learned on the epoch that it follows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub learned: Vec<RecordedTiming>,
    /// Seconds that trying slower ways cost it, if it learns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub learning_cost_seconds: Option<f64>,
    /// Seconds that it took less than it would have by the library's own routines, if it learns.
    /// Below zero if it took more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub learning_saved_seconds: Option<f64>,
    /// How fast blocks came lately, if the job watches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watched: Option<WatchedWindow>,
    /// The call that shows most that the rates of the epoch that it follows are wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fast_call: Option<RecordedFastCall>,
}

/// How fast the blocks of all-to-alls came in some seconds, for the watch over moved cables.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatchedWindow {
    /// Its number, from 1 on. A job tells of each window for as long as it is the last one.
    pub number: u64,
    /// For each rank what came from each rank: a character a pair, as
    /// [`simulation::watched::BlockArrivals`] reads it.
    pub arrivals: Vec<String>,
}

/// Totals of one kind of call since the start.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallTotal {
    pub collective: RecordedName<Collective>,
    pub way: RecordedName<Way>,
    /// Bytes a rank sends to each other rank in one call; the mean where they differ.
    pub block: u64,
    /// Number of calls.
    pub calls: u64,
    /// Seconds that rank 0 spent in them.
    pub seconds: f64,
    /// Seconds they would have taken at the payload bound of the bottleneck edge; calls without an
    /// epoch add nothing.
    pub bound_seconds: f64,
    /// Seconds spent in the calls that `bound_seconds` counts; older libraries do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bounded_seconds: Option<f64>,
}

impl CallTotal {
    /// The reached share of the payload bound, from 0 to 1, of the calls for which a bound is known
    /// since `before`; `None` without any such call.
    pub fn share_since(&self, before: Option<&CallTotal>) -> Option<BoundShare> {
        let gained = |total: fn(&CallTotal) -> f64| total(self) - before.map_or(0.0, total);
        let bound = gained(|call| call.bound_seconds);
        let spent = gained(|call| call.bounded_seconds.unwrap_or(call.seconds));
        (bound > 0.0 && spent > 0.0).then_some(BoundShare { bound, spent })
    }
}

/// Seconds at the payload bound, and seconds spent.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct BoundShare {
    bound: f64,
    spent: f64,
}

impl BoundShare {
    /// The share, from 0 to 1; `None` where the seconds give no number.
    pub fn share(self) -> Option<f64> {
        self.ratio().map(|ratio| ratio.clamp(0.0, 1.0))
    }

    /// The same, over 1 where rank 0 was ahead of the others.
    pub fn ratio(self) -> Option<f64> {
        let ratio = self.bound / self.spent;
        Some(ratio).filter(|ratio| ratio.is_finite())
    }
}

impl std::iter::Sum for BoundShare {
    fn sum<I: Iterator<Item = BoundShare>>(shares: I) -> BoundShare {
        shares.fold(BoundShare::default(), |sum, more| BoundShare {
            bound: sum.bound + more.bound,
            spent: sum.spent + more.spent,
        })
    }
}

/// Bytes counted for a text in addition to its characters.
const TEXT: usize = 48;

impl JobRecord {
    /// The approximate number of bytes of memory that it takes.
    pub fn memory(&self) -> usize {
        let texts: usize = [&self.id, &self.program, &self.user]
            .into_iter()
            .chain(&self.hosts)
            .chain([&self.aside, &self.network].into_iter().flatten())
            .map(String::as_str)
            .chain(self.unknown_names())
            .map(|text| text.len() + TEXT)
            .sum();
        texts
            + self.calls.len() * size_of::<CallTotal>()
            + self.learned.len() * size_of::<RecordedTiming>()
            + self.layout.memory()
            + self.watched.as_ref().map_or(0, WatchedWindow::memory)
    }

    /// The names in it that this version of heddle does not know: foreign text.
    pub fn unknown_names(&self) -> impl Iterator<Item = &str> {
        let calls = self
            .calls
            .iter()
            .flat_map(|call| [call.collective.unknown(), call.way.unknown()]);
        let learned = self
            .learned
            .iter()
            .flat_map(|timing| [timing.collective.unknown(), timing.way.unknown()]);
        let fast = self
            .fast_call
            .as_ref()
            .map(|call| call.collective.unknown());
        let own = [self.mpi.unknown(), fast.flatten()];
        calls.chain(learned).chain(own).flatten()
    }
}

impl WatchedWindow {
    fn memory(&self) -> usize {
        self.arrivals.iter().map(|row| row.len() + TEXT).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use policy::decision_table::DataCarrier;

    #[test]
    fn what_another_version_named_is_read_and_written_as_it_stands() {
        let json = concat!(
            r#"{"id":"n0-1-1","program":"a.out","user":"ann","started":1,"updated":2,"#,
            r#""hosts":["n0"],"ranks":2,"layout":[[0,1,2]],"mpi":"lam","epoch":1,"#,
            r#""epoch_since":1,"finished":false,"#,
            r#""calls":[{"collective":"alltoall","way":"ring tcp","block":8,"calls":1,"#,
            r#""seconds":1.0,"bound_seconds":0.5},"#,
            r#"{"collective":"scan","way":"aapc receiver","block":8,"calls":1,"#,
            r#""seconds":1.0,"bound_seconds":0.5}],"#,
            r#""learned":[{"collective":"scan","from":8,"way":"native","samples":1,"#,
            r#""mean_ns":1,"error_ns":0}],"learning_cost_seconds":0.5}"#
        );
        let record: JobRecord = serde_json::from_str(json).unwrap();
        assert_eq!(record.mpi.unknown(), Some("lam"));
        assert_eq!(
            record.calls[0].collective.known(),
            Some(&Collective::Alltoall)
        );
        assert_eq!(
            record.calls[0].way.known(),
            Some(&Way::Ring {
                over: DataCarrier::Tcp
            })
        );
        assert_eq!(
            (
                record.calls[1].collective.unknown(),
                record.calls[1].way.unknown()
            ),
            (Some("scan"), Some("aapc receiver"))
        );
        assert_eq!(record.learned[0].collective.unknown(), Some("scan"));
        assert_eq!(
            record.unknown_names().collect::<Vec<_>>(),
            ["scan", "aapc receiver", "scan", "lam"]
        );
        assert_eq!(serde_json::to_string(&record).unwrap(), json);
    }
}
