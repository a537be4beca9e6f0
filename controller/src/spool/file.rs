//! One file of `jobs/`: its stamp, its owner, and the record in it.
use crate::jobs;
use inventory::plain;
use nix::fcntl::OFlag;
use nix::unistd::{Uid, User};
use selection::job::JobRecord;
use std::collections::HashMap;
use std::fs::{self, Metadata, OpenOptions};
use std::io::Read;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

/// Bytes of one record: some thousand host names.
pub(super) const MAX_BYTES: u64 = 256 << 10;
/// Bytes that a record may take in memory: a list of empty names takes more than its text.
const MAX_COST: usize = 1 << 20;
/// Characters of a name.
const MAX_NAME: usize = 256;
/// Kinds of calls in a record.
const MAX_CALLS: usize = 1024;
/// Names of users that are remembered.
const MAX_OWNERS: usize = 1024;

/// What tells a file from the one read before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileStamp {
    inode: u64,
    /// Seconds and nanoseconds. Its owner can set the time of its last writing to anything, but not this one.
    pub(super) changed: (i64, i64),
    pub(super) bytes: u64,
}

/// A file's stamp and its owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileStat {
    pub(super) stamp: FileStamp,
    pub(super) owner: u32,
}

impl From<&Metadata> for FileStat {
    fn from(meta: &Metadata) -> FileStat {
        let stamp = FileStamp { inode: meta.ino(), changed: (meta.ctime(), meta.ctime_nsec()), bytes: meta.len() };
        FileStat { stamp, owner: meta.uid() }
    }
}

impl FileStat {
    /// `None` where there is no such file.
    pub(super) fn of(path: &Path) -> Option<FileStat> {
        fs::symlink_metadata(path).ok().map(|meta| FileStat::from(&meta))
    }
}

/// Reads the record `id` from its file, which belongs to who it was seen to belong to.
pub(super) fn record(path: &Path, id: &str, seen: &FileStat) -> Result<JobRecord, String> {
    // Neither a link to somewhere else nor a pipe that never answers.
    let flags = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK;
    let file = OpenOptions::new().read(true).custom_flags(flags.bits()).open(path).map_err(|e| e.to_string())?;
    let meta = file.metadata().map_err(|e| e.to_string())?;
    if !meta.is_file() {
        return Err("no regular file".to_owned());
    }
    if meta.nlink() > 1 {
        return Err("a hard link to a file that has another name, too".to_owned()); // Perhaps a file of somebody else.
    }
    if meta.uid() != seen.owner {
        return Err("its owner changed while it was read".to_owned());
    }
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(|e| e.to_string())?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(format!("longer than {MAX_BYTES} bytes"));
    }
    let record: JobRecord = serde_json::from_slice(&bytes).map_err(|e| e.to_string())?;
    check(&record, id)?;
    Ok(record)
}

fn check(record: &JobRecord, id: &str) -> Result<(), String> {
    if record.id != id {
        return Err("its id is not its name".to_owned());
    }
    if jobs::cost(record) > MAX_COST || record.calls.len() > MAX_CALLS {
        return Err("it names too many hosts or calls".to_owned());
    }
    let texts = [&record.id, &record.program].into_iter().chain(&record.hosts).chain(record.aside.as_ref());
    if texts.map(String::as_str).chain(jobs::unknown_names(record)).any(|t| t.chars().count() > MAX_NAME || t.contains(plain::is_hidden)) {
        return Err("a text is too long or holds characters that cannot be seen".to_owned());
    }
    let fine = |seconds: f64| seconds.is_finite() && seconds >= 0.0;
    if !record.calls.iter().all(|c| fine(c.seconds) && fine(c.bound_seconds)) {
        return Err("its counters make no sense".to_owned());
    }
    Ok(())
}

/// The names of users by their numbers, as the machine knows them.
#[derive(Debug, Default)]
pub(super) struct OwnerNames(HashMap<u32, String>);

impl OwnerNames {
    /// A user's name, `uid 1234` where the machine knows none.
    pub(super) fn name(&mut self, uid: u32) -> String {
        if let Some(name) = self.0.get(&uid) {
            return name.clone();
        }
        match User::from_uid(Uid::from_raw(uid)) {
            Ok(Some(user)) => {
                if self.0.len() >= MAX_OWNERS {
                    self.0.clear();
                }
                self.0.insert(uid, user.name.clone());
                user.name
            }
            _ => format!("uid {uid}"),
        }
    }
}
