//! The launch at the end of `heddle tune`: the new table is compared with the library's own routine
//! before any job follows it.
use super::job::{ComparedCalls, JobLauncher};
use anyhow::Context;
use directory::epoch::{Epoch, VerifiedEpoch};
use directory::publishing::EpochStore;
use forecast::tuning::confirm;
use inventory::Bytes;
use policy::measurements::{TuningRun, TuningRuns, WayTrial};
use std::path::PathBuf;

/// The largest number of pairs of calls for each round of turns; it takes fewer as soon as it is
/// clear which is faster. More pairs reduce the noise, which could
/// keep a faster way from being confirmed.
const PAIRS: u64 = 4;

/// A shared directory within the shared directory, so that hosts see it, too. Dropping this removes
/// it.
pub(super) struct TrialDirectory {
    path: PathBuf,
    store: EpochStore,
}

impl Drop for TrialDirectory {
    fn drop(&mut self) {
        // The next launch takes over anything that is left; nobody else looks there.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

impl TrialDirectory {
    /// Call this before anything is measured: it fails at once if the directory cannot be written,
    /// or if another `heddle tune` runs.
    pub(super) fn new(launcher: &JobLauncher) -> anyhow::Result<TrialDirectory> {
        let path = launcher.dir().join("trial");
        let store = EpochStore::open(&path, 1)
            .context("the table that heddle tune makes is tried in a directory of its own")?;
        Ok(TrialDirectory { path, store })
    }

    /// Trials of the ways that the table takes; empty if it takes none.
    pub(super) fn trials(
        &self,
        launcher: &JobLauncher,
        epoch: &Epoch,
        run: &TuningRun,
        rounds: u64,
    ) -> anyhow::Result<Vec<WayTrial>> {
        let tuning = TuningRuns::default().with(run.clone());
        let number = self.store.next()?; // A launch that was killed may have left its epoch.
        let verified = VerifiedEpoch::plan(
            number,
            agent::now(),
            epoch.topology.clone(),
            epoch.network.clone(),
            super::measured(tuning),
        )?;
        let schedules = verified
            .epoch()
            .schedules_of(run.network.as_deref())
            .context("the network that was measured")?;
        let table = schedules.table.clone().for_mpi(run.mpi);
        let calls = confirm::calls(run, &table);
        if calls.is_empty() {
            return Ok(Vec::new());
        }
        let mut sizes: Vec<Bytes> = calls.iter().map(|(_, size)| *size).collect();
        sizes.sort_unstable();
        sizes.dedup();
        let wanted = ComparedCalls {
            sizes: &sizes,
            only: Some(&calls),
            pairs: PAIRS * rounds,
        };
        self.store.publish(&verified)?;
        tell!("the table that follows from it, tried:");
        let (_, compared) = super::compare(launcher, &self.path, number, 1, &wanted)?;
        Ok(confirm::trials(&compared, &table))
    }
}
