//! The measurements of `heddle tune`: the file, and what its figures mean. The decision table that follows
//! from them is computed where an epoch is planned.
pub mod comparison;
mod measured_place;
mod turns;

pub use comparison::WayTrial;
pub use measured_place::{MeasuredPlace, PayloadBounds};
pub use turns::{row, turn};

use crate::decision_table::{Collective, Mpi, Way};
use crate::noise;
use inventory::{Bytes, Millis};
use serde::{Deserialize, Serialize};

/// The collectives that `heddle tune` measures.
pub const MEASURED: [Collective; 2] = [Collective::Alltoall, Collective::Allgather];
/// With fewer times of a way at a size, its noise is unknown.
pub const REPETITIONS: usize = 3;
/// Longest file that is read, in bytes.
pub const MOST_BYTES: u64 = 1 << 20;
/// More figures than anybody measures in one run: a limit on what is read.
const MOST_FIGURES: usize = 4096;

/// The last run for each MPI library on each network. Empty if nobody has measured.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TuningRuns {
    /// At most one for each library and network.
    pub runs: Vec<TuningRun>,
}

/// One run of `heddle tune`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TuningRun {
    /// The time at which it ended.
    pub at: Millis,
    /// The MPI library.
    pub mpi: Mpi,
    /// The version, as the library states it.
    pub library: String,
    /// The network over which the jobs sent, if the epoch has several; without it the main one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<String>,
    /// The epoch whose schedules were measured.
    pub epoch: u64,
    /// The hosts and cables.
    pub place: MeasuredPlace,
    /// Messages between two hosts, one way.
    pub pingpong: Vec<CallTiming>,
    /// The times of every way at every size.
    pub figures: Vec<WayTiming>,
    /// The times of ways that were left out of later launches, because other ways were faster at
    /// every size. The table does not use them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub early: Vec<WayTiming>,
    /// The comparisons, each with calls of the library's own, of the ways in the table that follows
    /// from these figures. Empty if there was no second trial.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trials: Vec<WayTrial>,
    /// The times of the library's own algorithms, each forced. The table does not use them; an
    /// operator may.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub algorithms: Vec<LibraryTiming>,
}

/// The time of calls with blocks of one size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallTiming {
    /// Bytes that a rank sends to each other rank (all-to-all) or contributes (allgather).
    pub block: Bytes,
    /// Median, in nanoseconds.
    pub median_ns: u64,
    /// Standard error of that median, in nanoseconds: 1.2533 σ / sqrt(times), σ estimated by 1.4826
    /// times the median absolute deviation, as for normal noise.
    pub error_ns: u64,
    /// The number of timed calls, or of timed rows of calls ([`row`]).
    pub times: u32,
}

/// The calls of a collective that went one way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WayTiming {
    pub collective: Collective,
    pub way: Way,
    /// The time.
    pub timing: CallTiming,
}

/// The calls of a collective by an algorithm of the library.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LibraryTiming {
    pub collective: Collective,
    /// The algorithm, by the library's name for it.
    pub name: String,
    /// The time.
    pub timing: CallTiming,
}

/// The reason why a file is unusable.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no measurements of heddle tune: {0}; run it again")]
pub struct TuningError(pub String);

fn nanoseconds(seconds: f64) -> u64 {
    (seconds * 1e9).round() as u64
}

impl CallTiming {
    /// The timing of calls that took these seconds; `None` for fewer than [`REPETITIONS`] or an
    /// invalid time.
    pub fn from_runs(block: Bytes, seconds: &[f64]) -> Option<CallTiming> {
        if seconds.len() < REPETITIONS || seconds.iter().any(|s| !(s.is_finite() && *s > 0.0)) {
            return None;
        }
        let (center, error) = center(seconds);
        Some(CallTiming {
            block,
            median_ns: nanoseconds(center),
            error_ns: nanoseconds(error),
            times: seconds.len() as u32,
        })
    }

    /// Median, in seconds.
    pub fn seconds(&self) -> f64 {
        self.median_ns as f64 / 1e9
    }

    /// True if these calls took less time than the others, by more than twice the standard error of
    /// the difference.
    pub fn is_faster_than(&self, other: &CallTiming) -> bool {
        let noise = 2.0 * noise::of_both(self.error_ns as f64, other.error_ns as f64);
        other.median_ns as f64 - self.median_ns as f64 > noise
    }
}

/// The median, and its standard error as described at [`CallTiming::error_ns`].
fn center(values: &[f64]) -> (f64, f64) {
    let center = median(&mut values.to_vec());
    let mut deviations: Vec<f64> = values.iter().map(|value| (value - center).abs()).collect();
    (
        center,
        // The square root of pi / 2, and 1 over the third quartile of the standard normal distribution.
        1.2533 * 1.4826 * median(&mut deviations) / (values.len() as f64).sqrt(),
    )
}

/// The middle value, or the mean of the two middle ones.
pub fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 {
        values[middle]
    } else {
        f64::midpoint(values[middle - 1], values[middle])
    }
}

impl TuningRuns {
    /// The same runs, with this one in the place of the run under the same library on the same network.
    #[must_use]
    pub fn with(mut self, run: TuningRun) -> TuningRuns {
        self.runs.retain(|other| other.subject() != run.subject());
        self.runs.push(run);
        self
    }

    /// The runs on a network; those without a name are on the main one.
    #[must_use]
    pub fn on_network(&self, name: Option<&str>, is_main: bool) -> TuningRuns {
        let own = self.runs.iter().filter(|run| match run.network.as_deref() {
            Some(network) => Some(network) == name,
            None => is_main,
        });
        // A network that became the main one may have a run of each kind; the later one counts.
        own.cloned().fold(TuningRuns::default(), |runs, run| {
            let run = TuningRun {
                network: None,
                ..run
            };
            runs.with(run)
        })
    }

    /// The runs as JSON, laid out for people to read.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self)
            .unwrap_or_else(|e| unreachable!("numbers and names always serialize: {e}"))
            + "\n"
    }

    /// Reads the output of [`TuningRuns::to_json`].
    ///
    /// # Errors
    /// [`TuningError`] if the text is anything else.
    pub fn from_json(text: &[u8]) -> Result<TuningRuns, TuningError> {
        if text.len() as u64 > MOST_BYTES {
            return Err(TuningError(format!("more than {MOST_BYTES} octets")));
        }
        let tuning: TuningRuns =
            serde_json::from_slice(text).map_err(|e| TuningError(e.to_string()))?;
        let mut seen = Vec::new();
        for run in &tuning.runs {
            if seen.contains(&run.subject()) {
                let problem = "two runs under one MPI library on one network";
                return Err(TuningError(problem.to_owned()));
            }
            seen.push(run.subject());
            run.check().map_err(TuningError)?;
        }
        Ok(tuning)
    }
}

impl TuningRun {
    /// The figures that a later run replaces.
    fn subject(&self) -> (Mpi, Option<&str>) {
        (self.mpi, self.network.as_deref())
    }

    fn check(&self) -> Result<(), String> {
        if self.figures.len()
            + self.early.len()
            + self.algorithms.len()
            + self.pingpong.len()
            + self.trials.len()
            > MOST_FIGURES
        {
            return Err(format!("more than {MOST_FIGURES} figures"));
        }
        match self
            .figures
            .iter()
            .find(|f| !f.way.serves(f.collective) || f.timing.median_ns == 0)
        {
            Some(figure) => Err(format!(
                "{} by {}: no such way, or no time",
                figure.collective, figure.way
            )),
            None => self.place.check(),
        }
    }

    /// The block sizes at which a collective was measured, ascending.
    pub fn sizes(&self, collective: Collective) -> Vec<Bytes> {
        let mut sizes: Vec<Bytes> = self
            .figures
            .iter()
            .filter(|f| f.collective == collective)
            .map(|f| f.timing.block)
            .collect();
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    }

    /// A way's timing at a measured size.
    pub fn timing(&self, collective: Collective, way: Way, block: Bytes) -> Option<&CallTiming> {
        self.figures
            .iter()
            .find(|f| f.collective == collective && f.way == way && f.timing.block == block)
            .map(|f| &f.timing)
    }
}
