//! `heddle publish`
use crate::Outcome;

/// Flags of `heddle publish`.
#[derive(clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_args: &Args) -> anyhow::Result<Outcome> {
    anyhow::bail!("publish: not built yet")
}
