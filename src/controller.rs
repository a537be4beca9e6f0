//! `heddle controller`
use crate::Outcome;

/// Flags of `heddle controller`.
#[derive(clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_args: &Args) -> anyhow::Result<Outcome> {
    anyhow::bail!("controller: not built yet")
}
