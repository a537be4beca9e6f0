//! The daemons' log on standard error.
use anyhow::Context;
use std::io::{self, IsTerminal};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// Starts the log at the `level` of the command line, which may contain levels of single modules.
/// These override the levels in `quiet`.
pub(crate) fn start(quiet: Option<&str>, level: &str) -> anyhow::Result<()> {
    let all = quiet
        .into_iter()
        .chain([level])
        .collect::<Vec<_>>()
        .join(",");
    let targets: Targets = all
        .parse()
        .with_context(|| format!("--log {level}: expected error, warn, info, debug or trace"))?;
    let lines = tracing_subscriber::fmt().with_max_level(LevelFilter::TRACE);
    lines
        .with_writer(io::stderr)
        // Otherwise a log without a reader would end the daemon.
        .log_internal_errors(false)
        .with_ansi(io::stderr().is_terminal())
        .finish()
        .with(targets)
        .init();
    Ok(())
}
