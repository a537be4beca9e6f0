//! `heddle discover`
use crate::Outcome;

/// Flags of `heddle discover`.
#[derive(clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_args: &Args) -> anyhow::Result<Outcome> {
    anyhow::bail!("discover: not built yet")
}
