//! The shared directory: epochs go in whole or not at all.
//!
//! ```text
//! .lock                   held by the one publisher, for nobody else to open
//! current                 "41 sha256:<digest of the manifest>\n"
//! epochs/00000041/        never changes
//! epochs/.new-00000042/   being written; whatever a crash leaves of it is removed by the next publisher
//! tuning.json             what `heddle tune` measured; goes into the next epoch
//! jobs/                   world-writable and sticky
//! ```
//! The order is what makes a crash harmless: files, their fsync, the folder's fsync, rename to its number,
//! fsync of `epochs/`; only then the pointer, in the same way. A reader sees the old epoch or the new one.
mod lock;

pub use lock::LockHolder;

use crate::plan::Verified;
use nix::fcntl::{Flock, OFlag};
use selection::epoch::{self, Epoch, EpochError, Pointer};
use selection::tuning::{self, Tuning};
use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// The file of measurements in the shared directory.
pub(crate) const TUNING: &str = "tuning.json";

/// How many epochs are kept when nothing else is asked for.
pub const KEEP: u64 = 64;

/// Why nothing was published. Whatever was published before stays as it is.
#[derive(Debug, thiserror::Error)]
pub enum PublishError {
    /// Somebody else publishes there.
    #[error("{dir}: {holder}; nothing was changed: {} or choose another --dir", holder.hint())]
    Locked {
        /// The shared directory.
        dir: PathBuf,
        /// Whose it is.
        holder: LockHolder,
    },
    /// The number is in use for another content.
    #[error("{folder}: exists with other content; epoch numbers are never used twice: publish under a number above {highest}")]
    Taken {
        /// The folder of that number.
        folder: PathBuf,
        /// The highest number in use.
        highest: u64,
    },
    /// There is no number for a further epoch.
    #[error(
        "{dir}: epoch {highest} has the highest number there can be, so none can follow it; what is published stays: choose another --dir, or \
         remove that epoch if heddle did not make it"
    )]
    Exhausted {
        /// The shared directory.
        dir: PathBuf,
        /// The highest number in use.
        highest: u64,
    },
    /// The system refused.
    #[error("{path}: cannot {action}: {cause}; epochs published before stay as they are{}", hint(.cause))]
    Io {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// Why not.
        cause: io::Error,
    },
}

fn hint(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => ": free space there and it is tried again",
        io::ErrorKind::ReadOnlyFilesystem => ": remount it writable, or choose another --dir",
        io::ErrorKind::PermissionDenied => ": give the user heddle runs as write permission, or choose another --dir",
        io::ErrorKind::NotFound => ": create the shared directory's parent first",
        _ => "",
    }
}

/// Attaches what was tried and where.
fn io<'a>(action: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> PublishError + 'a {
    move |cause| PublishError::Io { action, path: path.to_owned(), cause }
}

/// The one publisher of a shared directory; dropping it lets the next one in.
#[derive(Debug)]
pub struct Store {
    dir: PathBuf,
    keep: u64,
    _lock: Flock<File>,
}

impl Store {
    /// Takes the directory for publishing: makes what is missing of it, removes what a crash left.
    ///
    /// # Errors
    /// [`PublishError::Locked`] while another process has it, [`PublishError::Io`] where the system refuses.
    pub fn open(dir: &Path, keep: u64) -> Result<Store, PublishError> {
        make_dir(dir, 0o755)?;
        let lock = lock::take(dir)?;
        let epochs = dir.join("epochs");
        make_dir(&epochs, 0o755)?;
        make_dir(&dir.join("jobs"), 0o1777)?;
        let store = Store { dir: dir.to_owned(), keep: keep.max(1), _lock: lock };
        store.sweep()?;
        Ok(store)
    }

    /// The highest epoch number in use, published or not; 0 where there is none.
    ///
    /// # Errors
    /// [`PublishError::Io`] where the directory cannot be read.
    pub fn highest(&self) -> Result<u64, PublishError> {
        let epochs = self.dir.join("epochs");
        let folders = numbers(&epochs).map_err(io("list", &epochs))?.last().copied().unwrap_or(0);
        Ok(folders.max(current(&self.dir).ok().flatten().map_or(0, |line| line.number)))
    }

    /// The number of the next epoch.
    ///
    /// # Errors
    /// Those of [`Store::highest`], and [`PublishError::Exhausted`] where no number is left.
    pub fn next(&self) -> Result<u64, PublishError> {
        let highest = self.highest()?;
        highest.checked_add(1).ok_or_else(|| PublishError::Exhausted { dir: self.dir.clone(), highest })
    }

    /// Publishes an epoch: its folder first, then `current`. Publishing the same content again is harmless.
    ///
    /// # Errors
    /// [`PublishError::Taken`] where the number holds other content, [`PublishError::Io`] where the system
    /// refuses; `current` then points where it did before.
    pub fn publish(&self, verified: &Verified) -> Result<Pointer, PublishError> {
        let epoch = verified.epoch();
        let files = epoch.files();
        let manifest = files.last().map_or(&[][..], |(_, bytes)| bytes);
        let pointer = Pointer::new(epoch.number, manifest);
        self.put(epoch.number, &files, &format!("{pointer}\n"))?;
        Ok(pointer)
    }

    fn put(&self, number: u64, files: &[(&str, Vec<u8>)], pointer: &str) -> Result<(), PublishError> {
        let epochs = self.dir.join("epochs");
        let folder = epochs.join(folder_name(number));
        if folder.exists() {
            if !files.iter().all(|(name, bytes)| read(&folder.join(name), bytes.len() as u64).is_ok_and(|there| there == *bytes)) {
                return Err(PublishError::Taken { folder, highest: self.highest()? });
            }
        } else {
            let new = epochs.join(format!(".new-{}", folder_name(number)));
            let written = write_folder(&new, files).and_then(|()| fs::rename(&new, &folder).map_err(io("rename into place", &new)));
            if written.is_err() {
                let _ = fs::remove_dir_all(&new); // The error that matters is the first one; the next open sweeps.
            }
            written?;
        }
        sync_dir(&epochs)?;
        replace(&self.dir, "current", pointer.as_bytes())?;
        self.prune(number);
        Ok(())
    }

    /// Removes epochs far behind `number`. A failure costs space, not safety, so it is left to the next time.
    fn prune(&self, number: u64) {
        let epochs = self.dir.join("epochs");
        let old = |n: &u64| number.saturating_sub(*n) >= self.keep;
        for n in numbers(&epochs).unwrap_or_default().into_iter().filter(old) {
            // Renamed first: a folder under its number is always whole.
            let gone = epochs.join(format!(".old-{}", folder_name(n)));
            if fs::rename(epochs.join(folder_name(n)), &gone).is_ok() {
                let _ = fs::remove_dir_all(&gone);
            }
        }
    }

    /// Removes what a killed publisher left half-done.
    fn sweep(&self) -> Result<(), PublishError> {
        let epochs = self.dir.join("epochs");
        for entry in fs::read_dir(&epochs).map_err(io("list", &epochs))?.flatten() {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if name.starts_with(".new-") || name.starts_with(".old-") {
                fs::remove_dir_all(entry.path()).map_err(io("remove what a crash left", &entry.path()))?;
            }
        }
        let _ = fs::remove_file(self.dir.join("current.new"));
        Ok(())
    }
}

/// Publishes one epoch, without a daemon.
///
/// # Errors
/// Those of [`Store::open`] and [`Store::publish`].
pub fn publish(dir: &Path, verified: &Verified) -> Result<Pointer, PublishError> {
    Store::open(dir, KEEP)?.publish(verified)
}

/// Reads which epoch is current; `None` where none was published yet.
///
/// # Errors
/// The system's refusal, or `InvalidData` where `current` holds something else.
pub fn current(dir: &Path) -> io::Result<Option<Pointer>> {
    let path = dir.join("current");
    let told = |e: io::Error| io::Error::new(e.kind(), format!("{}: {e}", path.display()));
    let bytes = match read(&path, 256) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => other.map_err(told)?,
    };
    let text = String::from_utf8_lossy(&bytes);
    let pointer = text.parse::<Pointer>().map_err(|e| told(io::Error::new(io::ErrorKind::InvalidData, e.to_string())))?;
    Ok(Some(pointer))
}

/// A shared directory whose current epoch cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum CurrentError {
    /// The pointer cannot be read.
    #[error("{0}")]
    Pointer(#[from] io::Error),
    /// What it points to cannot be used.
    #[error(transparent)]
    Epoch(#[from] EpochError),
}

/// Reads the current epoch whole; `None` where none was published yet.
///
/// # Errors
/// [`CurrentError`] naming what is missing or altered.
pub fn current_epoch(dir: &Path) -> Result<Option<Epoch>, CurrentError> {
    let Some(pointer) = current(dir)? else { return Ok(None) };
    Ok(Some(Epoch::open(&pointer, reader(dir.join(pointer.folder())))?))
}

/// What was measured on this cluster, as `heddle tune` left it in the shared directory; nothing where nobody measured.
///
/// # Errors
/// The system's refusal, or `InvalidData` where the file holds something else.
pub fn measurements(dir: &Path) -> io::Result<Tuning> {
    let path = dir.join(TUNING);
    let told = |e: io::Error| io::Error::new(e.kind(), format!("{}: {e}", path.display()));
    match read(&path, tuning::MOST_BYTES) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(Tuning::default()),
        bytes => Tuning::from_json(&bytes.map_err(told)?).map_err(|e| told(io::Error::new(io::ErrorKind::InvalidData, e))),
    }
}

/// The measurements for the next epoch: where the file of them cannot be used, those of the current epoch stay, and the problem is told.
pub fn measurements_for_next(dir: &Path) -> (Tuning, Option<String>) {
    match measurements(dir) {
        Ok(tuning) => (tuning, None),
        Err(e) => (current_epoch(dir).ok().flatten().map(|epoch| epoch.tuning).unwrap_or_default(), Some(e.to_string())),
    }
}

/// Leaves measurements in the shared directory; the next epoch has them.
///
/// # Errors
/// [`PublishError::Io`] where the system refuses.
pub fn put_measurements(dir: &Path, tuning: &Tuning) -> Result<(), PublishError> {
    replace(dir, TUNING, tuning.to_json().as_bytes())
}

/// Reads files of an epoch's folder, up to one octet beyond the limit.
pub(crate) fn reader(folder: PathBuf) -> impl FnMut(&str, u64) -> io::Result<Vec<u8>> {
    move |name, limit| read(&folder.join(name), limit)
}

/// Reads a file, up to one octet beyond the limit. Whatever is no file is an error: a pipe would never answer.
fn read(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let file = OpenOptions::new().read(true).custom_flags(OFlag::O_NONBLOCK.bits()).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "no regular file"));
    }
    let mut bytes = Vec::new();
    file.take(limit + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The numbers of the epoch folders in `epochs`, ascending.
///
/// # Errors
/// The system's refusal to list the folder.
pub fn numbers(epochs: &Path) -> io::Result<Vec<u64>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(epochs)? {
        let name = entry?.file_name();
        let number = name.to_str().filter(|n| n.len() >= 8 && n.bytes().all(|b| b.is_ascii_digit())).and_then(|n| n.parse().ok());
        found.extend(number.filter(|n| Some(folder_name(*n).as_str()) == name.to_str()));
    }
    found.sort_unstable();
    Ok(found)
}

/// The name of an epoch's folder below `epochs/`.
fn folder_name(number: u64) -> String {
    epoch::folder(number).trim_start_matches("epochs/").to_owned()
}

fn make_dir(dir: &Path, mode: u32) -> Result<(), PublishError> {
    match DirBuilder::new().mode(mode).create(dir) {
        // A mode given to mkdir is cut by the umask, and readers are other users.
        Ok(()) => fs::set_permissions(dir, Permissions::from_mode(mode)).map_err(io("set permissions", dir)),
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists && dir.is_dir() => Ok(()),
        Err(e) => Err(io("create directory", dir)(e)),
    }
}

fn write_folder(folder: &Path, files: &[(&str, Vec<u8>)]) -> Result<(), PublishError> {
    let _ = fs::remove_dir_all(folder);
    make_dir(folder, 0o755)?;
    for (name, bytes) in files {
        write_file(&folder.join(name), bytes)?;
    }
    sync_dir(folder)
}

fn write_file(path: &Path, bytes: &[u8]) -> Result<(), PublishError> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(path).map_err(io("create", path))?;
    file.write_all(bytes).map_err(io("write", path))?;
    file.set_permissions(Permissions::from_mode(0o644)).map_err(io("set permissions", path))?;
    file.sync_all().map_err(io("write to disk", path))
}

/// Replaces a file of the shared directory: a reader sees the old one or the new one.
fn replace(dir: &Path, name: &str, bytes: &[u8]) -> Result<(), PublishError> {
    let (new, file) = (dir.join(format!("{name}.new")), dir.join(name));
    let _ = fs::remove_file(&new);
    let moved = write_file(&new, bytes).and_then(|()| fs::rename(&new, &file).map_err(io("rename into place", &new)));
    if moved.is_err() {
        let _ = fs::remove_file(&new);
    }
    moved?;
    sync_dir(dir)
}

fn sync_dir(dir: &Path) -> Result<(), PublishError> {
    File::open(dir).and_then(|d| d.sync_all()).map_err(io("write to disk", dir))
}

#[cfg(test)]
mod tests {
    use super::*;
    use inventory::{Millis, Topology, TopologyFile};

    fn files(text: &str) -> Vec<(&'static str, Vec<u8>)> {
        vec![("manifest.json", text.into()), ("topology.yaml", b"switches: []".to_vec())]
    }

    fn put(store: &Store, number: u64, text: &str) -> Result<(), PublishError> {
        store.put(number, &files(text), &format!("{}\n", Pointer::new(number, text.as_bytes())))
    }

    fn dir() -> tempfile::TempDir {
        tempfile::tempdir().unwrap()
    }

    #[test]
    fn publishes_whole_folders_and_points_to_the_last() {
        let dir = dir();
        let store = Store::open(dir.path(), KEEP).unwrap();
        assert_eq!((store.highest().unwrap(), current(dir.path()).unwrap()), (0, None));
        put(&store, 1, "a").unwrap();
        put(&store, 2, "b").unwrap();
        assert_eq!(current(dir.path()).unwrap(), Some(Pointer::new(2, b"b")));
        assert_eq!(numbers(&dir.path().join("epochs")).unwrap(), [1, 2]);
        assert_eq!(fs::read(dir.path().join("epochs/00000001/manifest.json")).unwrap(), b"a");
        let mode = |p: &str| fs::metadata(dir.path().join(p)).unwrap().permissions().mode() & 0o7777;
        let modes = [mode("jobs"), mode("epochs/00000002"), mode("epochs/00000002/manifest.json"), mode("current")];
        assert_eq!(modes, [0o1777, 0o755, 0o644, 0o644]);
    }

    #[test]
    fn a_published_epoch_reads_back_whole_and_an_altered_one_is_told() {
        let dir = dir();
        let file = TopologyFile::parse("t", "switches: [s0]\nhosts: {n0: {switch: s0}, n1: {switch: s0}}").unwrap();
        let verified = Verified::plan(3, Millis(5), file, Topology::default(), Tuning::default()).unwrap();
        let pointer = publish(dir.path(), &verified).unwrap();
        assert_eq!(current(dir.path()).unwrap(), Some(pointer));
        assert_eq!(current_epoch(dir.path()).unwrap().as_ref(), Some(verified.epoch()));
        fs::write(dir.path().join("epochs/00000003/network.json"), "{}").unwrap();
        let problem = current_epoch(dir.path()).unwrap_err().to_string();
        assert!(problem.contains("epoch 3") && problem.contains("network.json"), "{problem}");
    }

    #[test]
    fn a_number_is_never_used_for_other_content() {
        let dir = dir();
        let store = Store::open(dir.path(), KEEP).unwrap();
        put(&store, 7, "a").unwrap();
        put(&store, 7, "a").unwrap();
        let refused = put(&store, 7, "b").unwrap_err().to_string();
        assert!(refused.contains("above 7"), "{refused}");
        assert_eq!(current(dir.path()).unwrap(), Some(Pointer::new(7, b"a")));
    }

    #[test]
    fn sweeps_what_a_crash_left_and_passes_over_an_epoch_without_pointer() {
        let dir = dir();
        drop(Store::open(dir.path(), KEEP).unwrap());
        fs::create_dir(dir.path().join("epochs/.new-00000003")).unwrap();
        fs::write(dir.path().join("epochs/.new-00000003/manifest.json"), "ha").unwrap();
        fs::write(dir.path().join("current.new"), "3 sha").unwrap();
        fs::create_dir(dir.path().join("epochs/00000002")).unwrap();
        let store = Store::open(dir.path(), KEEP).unwrap();
        assert_eq!(store.highest().unwrap(), 2);
        assert_eq!(fs::read_dir(dir.path().join("epochs")).unwrap().count(), 1);
        assert!(!dir.path().join("current.new").exists());
        put(&store, 3, "c").unwrap();
    }

    /// Whatever number stands there, the next one is higher or there is none.
    #[test]
    fn the_highest_number_has_no_next() {
        let dir = dir();
        let store = Store::open(dir.path(), 3).unwrap();
        put(&store, 1, "a").unwrap();
        fs::create_dir(dir.path().join("epochs/18446744073709551614")).unwrap();
        assert_eq!(store.next().unwrap(), u64::MAX);
        put(&store, u64::MAX, "z").unwrap();
        assert_eq!(current(dir.path()).unwrap(), Some(Pointer::new(u64::MAX, b"z")));
        let problem = store.next().unwrap_err().to_string();
        assert!(problem.contains("18446744073709551615 has the highest number") && problem.contains("stays"), "{problem}");
        put(&store, u64::MAX, "z").unwrap();
        assert_eq!(numbers(&dir.path().join("epochs")).unwrap(), [u64::MAX - 1, u64::MAX]);
    }

    #[test]
    fn keeps_the_last_epochs_and_always_the_current_one() {
        let dir = dir();
        let store = Store::open(dir.path(), 3).unwrap();
        (1..=9).for_each(|n| put(&store, n, &n.to_string()).unwrap());
        assert_eq!(numbers(&dir.path().join("epochs")).unwrap(), [7, 8, 9]);
    }

    #[test]
    fn a_pipe_in_place_of_a_file_is_told_and_does_not_block() {
        let dir = dir();
        let pipe = |name: &str| {
            let path = dir.path().join(name);
            let _ = fs::remove_file(&path);
            nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
        };
        let store = Store::open(dir.path(), KEEP).unwrap();
        put(&store, 1, "a").unwrap();
        pipe("epochs/00000001/manifest.json");
        let problem = current_epoch(dir.path()).unwrap_err().to_string();
        assert!(problem.contains("manifest.json") && problem.contains("no regular file"), "{problem}");
        assert!(put(&store, 1, "a").unwrap_err().to_string().contains("exists with other content"));
        pipe("current");
        let problem = current(dir.path()).unwrap_err().to_string();
        assert!(problem.ends_with("current: no regular file"), "{problem}");
    }

    #[test]
    fn a_pointer_that_is_none_is_told() {
        let dir = dir();
        fs::write(dir.path().join("current"), "garbage").unwrap();
        assert!(current(dir.path()).unwrap_err().to_string().contains("current: pointer"));
    }
}
