//! The place of this process in a job, if an MPI launcher started it. The first rank
//! speaks for all.
use std::process::exit;
use std::thread::sleep;
use std::time::Duration;

/// A launcher ends the whole job with its first rank that fails: the first one speaks before.
const SPEAKS_BEFORE: Duration = Duration::from_secs(1);

/// True for the first rank, and outside of a job.
pub(crate) fn is_first() -> bool {
    let ranks = ["OMPI_COMM_WORLD_RANK", "PMI_RANK"].map(std::env::var_os);
    ranks.into_iter().flatten().all(|rank| rank == "0")
}

/// Ends the process because of how it was called; the first rank says why.
pub(crate) fn exit_with_usage(error: &clap::Error) -> ! {
    if !is_first() {
        sleep(SPEAKS_BEFORE);
        exit(error.exit_code());
    }
    error.exit()
}
