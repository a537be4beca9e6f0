//! `heddle history`
use crate::Outcome;

/// Flags of `heddle history`.
#[derive(clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_args: &Args) -> anyhow::Result<Outcome> {
    anyhow::bail!("history: not built yet")
}
