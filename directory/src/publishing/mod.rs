//! Publishing: an epoch is published as a whole or not at all.
//!
//! ```text
//! .lock                   held by the one publisher
//! epochs/.new-00000042/   being written; after a crash the next publisher removes it
//! epochs/.old-00000001/   being removed
//! current.new             the next pointer
//! learned.json.new        figures that jobs learned, being written
//! mapped.json.new         findings of flows between hosts, being written
//! ```
//! The order makes a crash harmless: files, their fsync, the folder's fsync, rename to its number,
//! fsync of `epochs/`; only then the pointer, in the same way. A reader sees the old epoch or the
//! new one.
mod durable;
mod lock;

pub use lock::LockHolder;

use crate::bounded;
use crate::epoch::VerifiedEpoch;
use crate::layout::{CURRENT, EPOCHS, JOBS, LEARNED, MAPPED, TUNING, folder_name};
use crate::pointer::EpochPointer;
use crate::reading::{current, numbers};
use durable::{make_dir, sync_dir, write_folder};
pub(crate) use durable::{remove, replace};
use inventory::mapped_place::MappedPlaces;
use nix::fcntl::Flock;
use policy::learned::LearnedFigures;
use policy::measurements::TuningRuns;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// The reason why nothing was published. Epochs published before stay as they are.
#[derive(Debug, thiserror::Error)]
pub enum PublishError {
    /// Another process publishes there.
    #[error("{dir}: {holder}; nothing was changed: {} or choose another --dir", holder.hint())]
    Locked {
        /// The shared directory.
        dir: PathBuf,
        holder: LockHolder,
    },
    /// The number is used for another content.
    #[error(
        "{folder}: exists with other content; epoch numbers are never used twice: publish under a \
         number above {highest}"
    )]
    Taken {
        /// The folder of that number.
        folder: PathBuf,
        /// The highest number in use.
        highest: u64,
    },
    /// There is no number for another epoch.
    #[error(
        "{dir}: epoch {highest} has the highest number there can be, so none can follow it; what \
         is published stays: choose another --dir, or remove that epoch if heddle did not make it"
    )]
    Exhausted {
        /// The shared directory.
        dir: PathBuf,
        /// The highest number in use.
        highest: u64,
    },
    /// The system refused.
    #[error(
        "{path}: cannot {action}: {cause}; epochs published before stay as they are{}",
        hint(.cause)
    )]
    Io {
        /// The action that was tried.
        action: &'static str,
        /// Its file or folder.
        path: PathBuf,
        /// The system's refusal.
        cause: io::Error,
    },
}

fn hint(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            ": free space there and it is tried again"
        }
        io::ErrorKind::ReadOnlyFilesystem => ": remount it writable, or choose another --dir",
        io::ErrorKind::PermissionDenied => {
            ": give the user heddle runs as write permission, or choose another --dir"
        }
        io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory => {
            ": there is a file of that name; choose another --dir"
        }
        io::ErrorKind::NotConnected | io::ErrorKind::StaleNetworkFileHandle => {
            ": its file server is gone; unmount the folder and mount it again"
        }
        io::ErrorKind::NotFound => ": create the shared directory's parent first",
        _ => "",
    }
}

/// Attaches the action and its path to an error.
fn io<'a>(action: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> PublishError + 'a {
    move |cause| PublishError::Io {
        action,
        path: path.to_owned(),
        cause,
    }
}

/// The one publisher of a shared directory. Dropping it lets the next one in.
#[derive(Debug)]
pub struct EpochStore {
    dir: PathBuf,
    keep: u64,
    _lock: Flock<File>,
}

impl EpochStore {
    /// Takes the directory for publishing: creates missing folders, and removes the remains of a
    /// crash.
    ///
    /// # Errors
    /// [`PublishError::Locked`] while another process has it, [`PublishError::Io`] where the system
    /// refuses.
    pub fn open(dir: &Path, keep: u64) -> Result<EpochStore, PublishError> {
        make_dir(dir, 0o755)?;
        let lock = lock::take(dir)?;
        let epochs = dir.join(EPOCHS);
        make_dir(&epochs, 0o755)?;
        make_dir(&dir.join(JOBS), 0o1777)?;
        let store = EpochStore {
            dir: dir.to_owned(),
            keep: keep.max(1),
            _lock: lock,
        };
        store.sweep()?;
        Ok(store)
    }

    /// The highest epoch number in use, published or not; 0 where there is none.
    ///
    /// # Errors
    /// [`PublishError::Io`] where the directory cannot be read.
    pub fn highest(&self) -> Result<u64, PublishError> {
        let epochs = self.dir.join(EPOCHS);
        let folders = numbers(&epochs)
            .map_err(io("list", &epochs))?
            .last()
            .copied()
            .unwrap_or(0);
        // The number to which `current` points stays in use where somebody removed its folder.
        Ok(folders.max(
            current(&self.dir)
                .ok()
                .flatten()
                .map_or(0, |line| line.number),
        ))
    }

    /// The number of the next epoch.
    ///
    /// # Errors
    /// Those of [`EpochStore::highest`], and [`PublishError::Exhausted`] where no number is left.
    pub fn next(&self) -> Result<u64, PublishError> {
        let highest = self.highest()?;
        highest
            .checked_add(1)
            .ok_or_else(|| PublishError::Exhausted {
                dir: self.dir.clone(),
                highest,
            })
    }

    /// Publishes an epoch: its folder first, then `current`. Publishing the same content again is
    /// harmless.
    ///
    /// # Errors
    /// [`PublishError::Taken`] where the number holds other content, [`PublishError::Io`] where the
    /// system refuses; `current` then points where it did before.
    pub fn publish(&self, verified: &VerifiedEpoch) -> Result<EpochPointer, PublishError> {
        let epoch = verified.epoch();
        let files = epoch.files();
        let manifest = files.last().map_or(&[][..], |(_, bytes)| bytes);
        let pointer = EpochPointer::new(epoch.number, manifest);
        self.put(epoch.number, &files, &format!("{pointer}\n"))?;
        Ok(pointer)
    }

    fn put(
        &self,
        number: u64,
        files: &[(String, Vec<u8>)],
        pointer: &str,
    ) -> Result<(), PublishError> {
        let epochs = self.dir.join(EPOCHS);
        let folder = epochs.join(folder_name(number));
        if folder.exists() {
            if !files.iter().all(|(name, bytes)| {
                bounded::read(&folder.join(name), bytes.len() as u64)
                    .is_ok_and(|there| there == *bytes)
            }) {
                return Err(PublishError::Taken {
                    folder,
                    highest: self.highest()?,
                });
            }
        } else {
            let new = epochs.join(format!(".new-{}", folder_name(number)));
            let written = write_folder(&new, files)
                .and_then(|()| fs::rename(&new, &folder).map_err(io("rename into place", &new)));
            if written.is_err() {
                // The first error matters; the next open removes the folder.
                let _ = fs::remove_dir_all(&new);
            }
            written?;
        }
        sync_dir(&epochs)?;
        replace(&self.dir, CURRENT, pointer.as_bytes())?;
        self.prune(number);
        Ok(())
    }

    /// Replaces the figures that jobs learned, for later jobs.
    ///
    /// # Errors
    /// [`PublishError::Io`] where the system refuses; the former figures then stay.
    pub fn write_learned(&self, learned: &LearnedFigures) -> Result<(), PublishError> {
        replace(&self.dir, LEARNED, learned.to_json().as_bytes())
    }

    /// Replaces the findings of flows between hosts.
    ///
    /// # Errors
    /// [`PublishError`] if the system refuses.
    pub fn write_mapped(&self, mapped: &MappedPlaces) -> Result<(), PublishError> {
        let json = serde_json::to_vec_pretty(mapped)
            .unwrap_or_else(|e| unreachable!("plain data always serializes: {e}"));
        replace(&self.dir, MAPPED, &json)
    }

    /// Removes epochs far behind `number`. A failure costs space but not safety, so the removal is
    /// left to the next time.
    fn prune(&self, number: u64) {
        let epochs = self.dir.join(EPOCHS);
        for n in numbers(&epochs)
            .unwrap_or_default()
            .into_iter()
            .filter(|n| number.saturating_sub(*n) >= self.keep)
        {
            // The folder is renamed first, so that a folder under its number is always whole.
            let gone = epochs.join(format!(".old-{}", folder_name(n)));
            if fs::rename(epochs.join(folder_name(n)), &gone).is_ok() {
                let _ = fs::remove_dir_all(&gone);
            }
        }
    }

    /// Removes the remains of a killed publisher.
    fn sweep(&self) -> Result<(), PublishError> {
        let epochs = self.dir.join(EPOCHS);
        for entry in fs::read_dir(&epochs)
            .map_err(io("list", &epochs))?
            .flatten()
        {
            let file_name = entry.file_name();
            let name = file_name.to_string_lossy();
            if name.starts_with(".new-") || name.starts_with(".old-") {
                fs::remove_dir_all(entry.path())
                    .map_err(io("remove what a crash left", &entry.path()))?;
            }
        }
        // Measurements have another writer, which may be at work.
        for name in [CURRENT, LEARNED, MAPPED] {
            let _ = fs::remove_file(self.dir.join(durable::unfinished(name)));
        }
        Ok(())
    }
}

/// Writes measurements to the shared directory; the next epoch has them.
///
/// # Errors
/// [`PublishError::Io`] where the system refuses.
pub fn write_measurements(dir: &Path, tuning: &TuningRuns) -> Result<(), PublishError> {
    replace(dir, TUNING, tuning.to_json().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::epoch::WayEvidence;
    use crate::reading::current_epoch;
    use inventory::{Millis, Topology, TopologyFile};
    use std::os::unix::fs::PermissionsExt;

    const KEEP: u64 = 64;

    fn files(text: &str) -> Vec<(String, Vec<u8>)> {
        vec![
            ("manifest.json".to_owned(), text.into()),
            ("topology.yaml".to_owned(), b"switches: []".to_vec()),
        ]
    }

    fn put(store: &EpochStore, number: u64, text: &str) -> Result<(), PublishError> {
        store.put(
            number,
            &files(text),
            &format!("{}\n", EpochPointer::new(number, text.as_bytes())),
        )
    }

    fn dir() -> tempfile::TempDir {
        tempfile::tempdir().unwrap()
    }

    #[test]
    fn publishes_whole_folders_and_points_to_the_last() {
        let dir = dir();
        let store = EpochStore::open(dir.path(), KEEP).unwrap();
        assert_eq!(
            (store.highest().unwrap(), current(dir.path()).unwrap()),
            (0, None)
        );
        put(&store, 1, "a").unwrap();
        put(&store, 2, "b").unwrap();
        assert_eq!(
            current(dir.path()).unwrap(),
            Some(EpochPointer::new(2, b"b"))
        );
        assert_eq!(numbers(&dir.path().join("epochs")).unwrap(), [1, 2]);
        assert_eq!(
            fs::read(dir.path().join("epochs/00000001/manifest.json")).unwrap(),
            b"a"
        );
        let modes = [
            mode("jobs", dir.path()),
            mode("epochs/00000002", dir.path()),
            mode("epochs/00000002/manifest.json", dir.path()),
            mode("current", dir.path()),
        ];
        assert_eq!(modes, [0o1777, 0o755, 0o644, 0o644]);
    }

    fn mode(p: &str, dir: &Path) -> u32 {
        fs::metadata(dir.join(p)).unwrap().permissions().mode() & 0o7777
    }

    #[test]
    fn a_published_epoch_reads_back_whole_and_an_altered_one_is_reported() {
        let dir = dir();
        let file = TopologyFile::parse(
            "t",
            "switches: [s0]\nhosts: {n0: {switch: s0}, n1: {switch: s0}}",
        )
        .unwrap();
        let verified = VerifiedEpoch::plan(
            3,
            Millis(5),
            file,
            Topology::default(),
            WayEvidence::default(),
        )
        .unwrap();
        let pointer = EpochStore::open(dir.path(), KEEP)
            .unwrap()
            .publish(&verified)
            .unwrap();
        assert_eq!(current(dir.path()).unwrap(), Some(pointer));
        assert_eq!(
            current_epoch(dir.path()).unwrap().as_ref(),
            Some(verified.epoch())
        );
        fs::write(dir.path().join("epochs/00000003/network.json"), "{}").unwrap();
        let problem = current_epoch(dir.path()).unwrap_err().to_string();
        assert!(
            problem.contains("epoch 3") && problem.contains("network.json"),
            "{problem}"
        );
    }

    #[test]
    fn a_number_is_never_used_for_other_content() {
        let dir = dir();
        let store = EpochStore::open(dir.path(), KEEP).unwrap();
        put(&store, 7, "a").unwrap();
        put(&store, 7, "a").unwrap();
        let refused = put(&store, 7, "b").unwrap_err().to_string();
        assert!(refused.contains("above 7"), "{refused}");
        assert_eq!(
            current(dir.path()).unwrap(),
            Some(EpochPointer::new(7, b"a"))
        );
    }

    #[test]
    fn sweeps_what_a_crash_left_and_passes_over_an_epoch_without_pointer() {
        let dir = dir();
        drop(EpochStore::open(dir.path(), KEEP).unwrap());
        fs::create_dir(dir.path().join("epochs/.new-00000003")).unwrap();
        fs::write(dir.path().join("epochs/.new-00000003/manifest.json"), "ha").unwrap();
        fs::write(dir.path().join("current.new"), "3 sha").unwrap();
        fs::write(dir.path().join("learned.json.new"), "{").unwrap();
        fs::write(dir.path().join("mapped.json.new"), "{").unwrap();
        fs::create_dir(dir.path().join("epochs/00000002")).unwrap();
        let store = EpochStore::open(dir.path(), KEEP).unwrap();
        assert_eq!(store.highest().unwrap(), 2);
        assert_eq!(fs::read_dir(dir.path().join("epochs")).unwrap().count(), 1);
        assert!(!dir.path().join("current.new").exists());
        assert!(!dir.path().join("learned.json.new").exists());
        assert!(!dir.path().join("mapped.json.new").exists());
        put(&store, 3, "c").unwrap();
    }

    /// The number after the highest one is always higher, or there is none.
    #[test]
    fn the_highest_number_has_no_next() {
        let dir = dir();
        let store = EpochStore::open(dir.path(), 3).unwrap();
        put(&store, 1, "a").unwrap();
        fs::create_dir(dir.path().join("epochs/18446744073709551614")).unwrap();
        assert_eq!(store.next().unwrap(), u64::MAX);
        put(&store, u64::MAX, "z").unwrap();
        assert_eq!(
            current(dir.path()).unwrap(),
            Some(EpochPointer::new(u64::MAX, b"z"))
        );
        let problem = store.next().unwrap_err().to_string();
        assert!(
            problem.contains("18446744073709551615 has the highest number")
                && problem.contains("stays"),
            "{problem}"
        );
        put(&store, u64::MAX, "z").unwrap();
        assert_eq!(
            numbers(&dir.path().join("epochs")).unwrap(),
            [u64::MAX - 1, u64::MAX]
        );
    }

    #[test]
    fn keeps_the_last_epochs_and_always_the_current_one() {
        let dir = dir();
        let store = EpochStore::open(dir.path(), 3).unwrap();
        (1..=9).for_each(|n| put(&store, n, &n.to_string()).unwrap());
        assert_eq!(numbers(&dir.path().join("epochs")).unwrap(), [7, 8, 9]);
    }

    #[test]
    fn a_pipe_in_place_of_a_file_is_reported_and_does_not_block() {
        let dir = dir();
        let store = EpochStore::open(dir.path(), KEEP).unwrap();
        put(&store, 1, "a").unwrap();
        pipe("epochs/00000001/manifest.json", dir.path());
        let problem = current_epoch(dir.path()).unwrap_err().to_string();
        assert!(
            problem.contains("manifest.json") && problem.contains("not a regular file"),
            "{problem}"
        );
        assert!(
            put(&store, 1, "a")
                .unwrap_err()
                .to_string()
                .contains("exists with other content")
        );
        pipe("current", dir.path());
        let problem = current(dir.path()).unwrap_err().to_string();
        assert!(
            problem.ends_with("current: not a regular file"),
            "{problem}"
        );
    }

    fn pipe(name: &str, dir: &Path) {
        let path = dir.join(name);
        let _ = fs::remove_file(&path);
        nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
    }
}
