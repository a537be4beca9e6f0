//! `heddle doctor`
use crate::Outcome;

/// Flags of `heddle doctor`.
#[derive(clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_args: &Args) -> anyhow::Result<Outcome> {
    anyhow::bail!("doctor: not built yet")
}
