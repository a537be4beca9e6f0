//! `heddle schedule`
use crate::Outcome;

/// Flags of `heddle schedule`.
#[derive(clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_args: &Args) -> anyhow::Result<Outcome> {
    anyhow::bail!("schedule: not built yet")
}
