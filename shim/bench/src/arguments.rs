//! The command line.
use crate::bench_collective::{BenchCollective, BenchSelection};
use crate::late_rank::LateRank;
use clap::Parser;
use std::path::PathBuf;

/// Sizes of ping-pongs: they show the start-up time of a message, which large ones hide.
const PINGS: [u64; 6] = [16, 64, 256, 1024, 4096, 16384];

/// Time MPI_Alltoall, MPI_Allgather or another collective; rank 0 prints a line per collective and
/// block size.
#[derive(Parser)]
#[command(version)]
pub(crate) struct Args {
    /// The collective to time
    #[arg(long, value_parser = BenchSelection::parser(), default_value = "alltoall")]
    pub(crate) collective: BenchSelection,
    /// Block sizes: bytes a rank sends to each other rank, or contributes to the allgather; the
    /// mean of unequal blocks; bytes a rank gets of a reduction or broadcast; ping-pongs have sizes
    /// of their own
    #[arg(
        long,
        value_name = "BYTES,...",
        value_delimiter = ',',
        default_value = "65536",
        value_parser = clap::value_parser!(u64).range(1..1 << 30)
    )]
    pub(crate) size: Vec<u64>,
    /// The number of calls timed as one, without a barrier between them, of each size
    #[arg(
        long,
        value_name = "N,...",
        value_delimiter = ',',
        requires = "each",
        conflicts_with = "check"
    )]
    pub(crate) rows: Vec<u64>,
    /// Time for each collective and size
    #[arg(long, value_name = "S", default_value_t = 2.0)]
    pub(crate) seconds: f64,
    /// Number of calls of each collective and size, whatever time they take
    #[arg(long, value_name = "N", conflicts_with = "seconds")]
    pub(crate) iterations: Option<u64>,
    /// Go through the sizes again and again until the time is over, printing a line a second
    #[arg(long)]
    pub(crate) watch: bool,
    /// With --watch: until this file is gone, if that comes first
    #[arg(long = "while", value_name = "FILE", requires = "watch")]
    pub(crate) while_there: Option<PathBuf>,
    /// Unequal blocks of MPI_Alltoallv and MPI_Alltoallw by Zipf's law with this exponent: the k-th
    /// largest is 1 / k^S of the largest
    #[arg(long, value_name = "S")]
    pub(crate) zipf: Option<f64>,
    /// Call each collective once before, with blocks of 1 kB, reductions and broadcasts with the
    /// largest ones, so that no measured call makes plans and connections
    #[arg(long)]
    pub(crate) warm_up: bool,
    /// Check every byte of every call; a wrong one ends the job with exit status 1
    #[arg(long)]
    pub(crate) check: bool,
    /// Print JSON, an object a line
    #[arg(long)]
    pub(crate) json: bool,
    /// Print JSON with the time of every call (of a row, on average), in their order; first of all
    /// a line about the job. What `heddle tune` reads
    #[arg(long, conflicts_with = "watch")]
    pub(crate) each: bool,
    /// With --each: every other call, or row of calls, goes to the MPI library past whatever is
    /// preloaded, in turns, and is reported on its own. What `heddle tune --check` reads
    #[arg(long, requires = "each")]
    pub(crate) compare: bool,
    /// At least so many calls, or rows of calls, of each size, however long they take: a number for
    /// all collectives, or one for each
    #[arg(long, value_name = "N,...", value_delimiter = ',', default_value = "1")]
    pub(crate) at_least: Vec<u64>,
    /// Only these of all collectives and sizes
    #[arg(long, value_name = "COLLECTIVE:BYTES,...", value_delimiter = ',')]
    pub(crate) only: Vec<String>,
    /// With --compare: the time for a size is over, and fewer calls are enough, as soon as it is
    /// clear which of the two is faster
    #[arg(long, requires = "compare")]
    pub(crate) until_clear: bool,
    /// This rank sleeps so many milliseconds before each call. Its own time begins after that; the
    /// others wait for it within the call, so a call takes that much longer
    #[arg(long, value_name = "RANK:MS", conflicts_with = "rows")]
    pub(crate) late: Option<LateRank>,
}

impl Args {
    /// The block sizes of a collective.
    pub(crate) fn sizes(&self, collective: BenchCollective) -> &[u64] {
        if collective == BenchCollective::Pingpong {
            &PINGS
        } else {
            &self.size
        }
    }

    /// The least number of rows of a collective, the `at`-th one of this run.
    pub(crate) fn least_rows(&self, at: usize) -> u64 {
        let own = self.at_least.get(at).or(self.at_least.first());
        own.copied().unwrap_or(1)
    }

    /// The number of calls timed as one.
    pub(crate) fn calls_in_a_row(&self, collective: BenchCollective, size: u64) -> u64 {
        let at = self
            .size
            .iter()
            .position(|other| *other == size)
            .filter(|_| collective != BenchCollective::Pingpong);
        at.and_then(|at| self.rows.get(at).copied()).unwrap_or(1)
    }
}
