//! `heddle tui`
use crate::Outcome;

/// Flags of `heddle tui`.
#[derive(clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_args: &Args) -> anyhow::Result<Outcome> {
    anyhow::bail!("tui: not built yet")
}
