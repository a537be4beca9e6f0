//! `heddle bench`
use crate::Outcome;

/// Flags of `heddle bench`.
#[derive(clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_args: &Args) -> anyhow::Result<Outcome> {
    anyhow::bail!("bench: not built yet")
}
