//! `heddle verify`
use crate::Outcome;

/// Flags of `heddle verify`.
#[derive(clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_args: &Args) -> anyhow::Result<Outcome> {
    anyhow::bail!("verify: not built yet")
}
