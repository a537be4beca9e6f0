//! `heddle lab`
use crate::Outcome;

/// Flags of `heddle lab`.
#[derive(clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_args: &Args) -> anyhow::Result<Outcome> {
    anyhow::bail!("lab: not built yet")
}
