//! `heddle demo`
use crate::Outcome;

/// Flags of `heddle demo`.
#[derive(clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_args: &Args) -> anyhow::Result<Outcome> {
    anyhow::bail!("demo: not built yet")
}
