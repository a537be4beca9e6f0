//! The launch at the end of `heddle tune`: the new table decides, beside the library's own routine, before any other job follows it.
use super::job::Launcher;
use anyhow::Context;
use directory::epoch::{Epoch, Verified};
use directory::publishing::Store;
use inventory::Bytes;
use selection::tuning::confirm::{self, Trial};
use selection::tuning::{Run, Tuning};
use std::path::PathBuf;

/// Pairs for each round of turns: a pair is two calls, a round one of every way, and what the noise hides is not confirmed.
const PAIRS: u64 = 4;

/// A shared directory of its own within the shared one, where hosts see it too. Dropping it removes it.
pub(super) struct Directory {
    path: PathBuf,
    store: Store,
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path); // What stays is the next one's; nobody else looks there.
    }
}

impl Directory {
    /// Made before anything is measured: who may not write there learns it at once, and so does a second one.
    pub(super) fn new(launcher: &Launcher) -> anyhow::Result<Directory> {
        let path = launcher.dir().join("trial");
        let store = Store::open(&path, 1).context("the table that heddle tune makes is tried in a directory of its own")?;
        Ok(Directory { path, store })
    }

    /// How the ways do that the table takes; nothing where it takes none.
    pub(super) fn of(&self, launcher: &Launcher, epoch: &Epoch, run: &Run, rounds: u64) -> anyhow::Result<Vec<Trial>> {
        let tuning = Tuning::default().with(run.clone());
        let number = self.store.next()?; // A launch that was killed may have left its epoch.
        let verified = Verified::plan(number, agent::now(), epoch.topology.clone(), epoch.network.clone(), tuning)?;
        let table = verified.epoch().table.clone().under(run.mpi);
        let sizes: Vec<Bytes> = confirm::sizes(run, &table).into_iter().collect();
        if sizes.is_empty() {
            return Ok(Vec::new());
        }
        self.store.publish(&verified)?;
        eprintln!("the table that follows from it, tried:");
        let (_, compared) = super::compare(launcher, &self.path, number, &sizes, 1, PAIRS * rounds)?;
        Ok(confirm::trials(&compared, &table))
    }
}
