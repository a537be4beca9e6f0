//! Lines for users.
use std::io::Write;

/// A line on standard error, written at once: ranks share it.
pub(crate) fn say(text: &str) {
    // Where standard error is closed there is nobody to tell.
    let _ = std::io::stderr().write_all(format!("heddle: {text}\n").as_bytes());
}

/// Whether this process is the first of its job, as launchers tell; so that one line is printed once.
pub(crate) fn first_rank() -> bool {
    let rank = [
        "OMPI_COMM_WORLD_RANK",
        "PMI_RANK",
        "PMIX_RANK",
        "SLURM_PROCID",
    ]
    .iter()
    .find_map(std::env::var_os);
    rank.is_none_or(|r| r == "0")
}
