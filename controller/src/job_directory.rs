//! Reads `jobs/`. Anybody may write there, so its content is not trusted: links are not followed, a
//! file that is not a job record is ignored, and a record belongs to the owner of its file whatever
//! it contains. The amount that is read is bounded for each owner and in total.
//!
//! A scan takes a bounded number of steps. It continues the listing where the last scan stopped, so
//! a large number of files delays only the discovery of new ones. In every scan it also looks at
//! the known files that jobs write to. A file's age counts from the last change that the controller
//! saw, by its own steady clock: a clock that is set, or a file time that a user sets, does not
//! change it.

use crate::allowance::{OwnerShares, RecordAllowance};
use crate::jobs;
use directory::job_record::JobRecord;
use directory::job_record::reading::{self, JobFileStamp, JobFileStat};
use directory::layout::{is_unfinished_record, record_id};
use nix::unistd::{Uid, User};
use std::cmp::Reverse;
use std::collections::HashMap;
use std::fs::{self, ReadDir};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The age at which the record of a finished job is removed.
const FINISHED: Duration = Duration::from_secs(300);
/// The age at which any other file is removed: its job was killed. A job that only computed writes
/// it anew.
const OLD: Duration = Duration::from_secs(24 * 3600);
/// A record that was written within this time comes before newer ones of its owner.
const LIVELY: Duration = Duration::from_secs(60);
/// The most names listed in one scan.
const LISTED: usize = 16_384;
/// The most files read, the most files removed, and the most bytes read in one scan.
const HANDLED: RecordAllowance = RecordAllowance {
    things: 1024,
    bytes: 4 << 20,
};
/// The most files whose stamps are remembered; each takes some hundred bytes.
const KNOWN: OwnerShares = OwnerShares {
    each: RecordAllowance {
        things: 16_384,
        bytes: usize::MAX,
    },
    all: RecordAllowance {
        things: 65_536,
        bytes: usize::MAX,
    },
};

/// The changes since the last scan.
#[derive(Debug, Default, PartialEq)]
pub struct JobScan {
    /// Records that are new or different.
    pub records: Vec<JobRecord>,
    /// Ids of records whose files are gone, or that had to make room.
    pub gone: Vec<String>,
    /// The number of files that are not records, and one of them with the reason.
    pub refused: Option<(usize, String)>,
    /// The number of unread files; there are too many to read them all.
    pub unread: usize,
}

/// The content of a file.
#[derive(Debug, Clone, PartialEq)]
enum RecordContent {
    Unread,
    Record { finished: bool },
    Refused(String),
}

/// A file as last seen.
#[derive(Debug)]
struct JobFile {
    stat: JobFileStat,
    /// The time at which the controller saw its last change.
    changed: Instant,
    /// The last listing that contained it.
    listing: u64,
    /// Its stamp when it was read.
    read: Option<JobFileStamp>,
    content: RecordContent,
    /// Its record was reported, and has not been reported as gone.
    followed: bool,
    /// Bytes that its record takes, or may take.
    cost: usize,
}

impl JobFile {
    fn new(stat: JobFileStat, at: Instant, listing: u64) -> JobFile {
        JobFile {
            stat,
            changed: at,
            listing,
            read: None,
            content: RecordContent::Unread,
            followed: false,
            cost: stat.readable(),
        }
    }

    /// Takes a new stamp. The content of a changed file is unknown. But a job that was running
    /// counts as still running.
    fn see(&mut self, stat: JobFileStat, at: Instant, listing: u64) {
        if self.stat != stat {
            (self.stat, self.changed) = (stat, at);
            if self.content != (RecordContent::Record { finished: false }) {
                self.content = RecordContent::Unread;
            }
        }
        self.listing = listing;
    }

    fn is_lively(&self, at: Instant) -> bool {
        self.followed
            && self.content == RecordContent::Record { finished: false }
            && at.saturating_duration_since(self.changed) < LIVELY
    }

    fn is_old(&self, at: Instant) -> bool {
        let finished = self.content == RecordContent::Record { finished: true };
        at.saturating_duration_since(self.changed) > if finished { FINISHED } else { OLD }
    }

    /// The smaller, the more wanted: first the followed files that change, then the newest. The
    /// sort uses the change time, which only the file system sets.
    fn rank(&self, at: Instant) -> (u8, Reverse<(i64, i64)>) {
        let class = match self.content {
            RecordContent::Record { finished: false } if self.is_lively(at) => 0,
            RecordContent::Unread | RecordContent::Record { finished: false } => 1,
            RecordContent::Record { finished: true } | RecordContent::Refused(_) => 2,
        };
        (class, Reverse(self.stat.stamp.changed))
    }
}

/// The job directory as last seen.
#[derive(Debug)]
pub struct JobDirectory {
    dir: PathBuf,
    files: HashMap<String, JobFile>,
    /// The listing under way.
    listing: Option<ReadDir>,
    listings: u64,
    /// The records in this listing so far, and in the one before.
    met: (usize, usize),
    owners: OwnerNames,
}

impl JobDirectory {
    /// A reader of `dir`; nothing is read yet.
    pub fn new(dir: &Path) -> JobDirectory {
        let owners = OwnerNames::default();
        JobDirectory {
            dir: dir.to_owned(),
            files: HashMap::new(),
            listing: None,
            listings: 0,
            met: (0, 0),
            owners,
        }
    }

    /// Reads changed files, and removes old ones. A directory that cannot be listed counts as one
    /// refused file.
    pub fn scan(&mut self, at: Instant) -> JobScan {
        let mut scan = JobScan::default();
        if let Err(e) = self.list(at, &mut scan) {
            self.listing = None;
            return JobScan {
                refused: Some((1, format!("{}: {e}", self.dir.display()))),
                ..scan
            };
        }
        self.look_at_lively(at, &mut scan);
        self.remove_old(at, &mut scan);
        self.bound(at, &mut scan);
        let wanted = self.wanted(at);
        self.follow(&wanted, &mut scan);
        scan.gone.sort();
        let refusals = wanted
            .iter()
            .filter_map(|name| match &self.files[name].content {
                RecordContent::Refused(why) => Some((name, why)),
                _ => None,
            });
        let first = refusals
            .clone()
            .min()
            .map(|(name, why)| format!("{name:?}: {why}"));
        scan.refused = first.map(|first| (refusals.count(), first));
        scan.unread = self.records().saturating_sub(wanted.len());
        scan
    }

    /// The number of records: the known ones, or those of the last listing if some had to be
    /// forgotten.
    fn records(&self) -> usize {
        let known = self
            .files
            .keys()
            .filter(|name| record_id(name).is_some())
            .count();
        if self.files.len() < KNOWN.each.things {
            known
        } else {
            known.max(self.met.1)
        }
    }

    /// Continues the listing, or begins a new one. Its end shows which files are gone.
    fn list(&mut self, at: Instant, scan: &mut JobScan) -> io::Result<()> {
        let mut listing = match self.listing.take() {
            Some(listing) => listing,
            None => {
                (self.listings, self.met) = (self.listings + 1, (0, self.met.1));
                fs::read_dir(&self.dir)?
            }
        };
        for _ in 0..LISTED {
            let Some(listed) = listing.next() else {
                self.met.1 = self.met.0;
                self.missed(at, scan);
                return Ok(());
            };
            let name = listed?.file_name().into_string().ok();
            if let Some(name) = name.filter(|n| {
                (record_id(n).is_some() || is_unfinished_record(n)) && !n.starts_with('.')
            }) {
                self.met.0 += usize::from(record_id(&name).is_some());
                self.look(&name, at, scan);
            }
        }
        self.listing = Some(listing);
        Ok(())
    }

    /// Looks at the files that a whole listing did not contain. They are gone, unless they were
    /// renamed into place meanwhile.
    fn missed(&mut self, at: Instant, scan: &mut JobScan) {
        let missed = self
            .files
            .iter()
            .filter(|(_, entry)| entry.listing != self.listings)
            .map(|(name, _)| name.clone());
        for name in missed.collect::<Vec<_>>() {
            self.look(&name, at, scan);
        }
    }

    fn look_at_lively(&mut self, at: Instant, scan: &mut JobScan) {
        if self.listing.is_none() {
            return; // The listing ended, so all files were looked at.
        }
        let lively = self
            .files
            .iter()
            .filter(|(_, entry)| entry.is_lively(at))
            .map(|(name, _)| name.clone());
        for name in lively.collect::<Vec<_>>() {
            self.look(&name, at, scan);
        }
    }

    /// Takes a file's present stamp.
    fn look(&mut self, name: &str, at: Instant, scan: &mut JobScan) {
        match (
            JobFileStat::at(&self.dir.join(name)),
            self.files.get_mut(name),
        ) {
            (Some(stat), Some(entry)) => entry.see(stat, at, self.listings),
            (Some(stat), None) => {
                self.files
                    .insert(name.to_owned(), JobFile::new(stat, at, self.listings));
            }
            (None, _) => self.drop(name, scan),
        }
    }

    fn drop(&mut self, name: &str, scan: &mut JobScan) {
        let followed = self.files.remove(name).is_some_and(|entry| entry.followed);
        scan.gone
            .extend(record_id(name).filter(|_| followed).map(str::to_owned));
    }

    fn remove_old(&mut self, at: Instant, scan: &mut JobScan) {
        let old = self
            .files
            .iter()
            .filter(|(_, entry)| entry.is_old(at))
            .map(|(name, _)| name.clone());
        for name in old.take(HANDLED.things).collect::<Vec<_>>() {
            // The file may have been written just now.
            self.look(&name, at, scan);
            let Some(entry) = self.files.get_mut(&name).filter(|entry| entry.is_old(at)) else {
                continue;
            };
            match fs::remove_file(self.dir.join(&name)) {
                Ok(()) => self.drop(&name, scan),
                // It is a directory, or belongs to another user. It is tried again when it is old
                // again.
                Err(_) => entry.changed = at,
            }
        }
    }

    /// Forgets files beyond the limits. A later listing finds them again.
    fn bound(&mut self, at: Instant, scan: &mut JobScan) {
        if self.files.len() <= KNOWN.each.things {
            return;
        }
        let names = self.ranked(at, |_| true);
        let kept = KNOWN.select_kept(names.iter().map(|name| (self.files[name].stat.owner, 0)));
        let mut spare = vec![true; names.len()];
        kept.into_iter().for_each(|index| spare[index] = false);
        names
            .iter()
            .zip(spare)
            .filter(|(_, spare)| *spare)
            .for_each(|(name, _)| self.drop(name, scan));
    }

    fn ranked(&self, at: Instant, which: impl Fn(&str) -> bool) -> Vec<String> {
        let mut all: Vec<_> = self
            .files
            .iter()
            .filter(|(name, _)| which(name))
            .map(|(name, entry)| (entry.rank(at), name))
            .collect();
        all.sort_unstable();
        all.into_iter().map(|(_, name)| name.clone()).collect()
    }

    /// The files to be followed, every owner's most wanted one first.
    fn wanted(&self, at: Instant) -> Vec<String> {
        let names = self.ranked(at, |name| record_id(name).is_some());
        let kept = jobs::FOLLOWED.select_kept(
            names
                .iter()
                .map(|name| (self.files[name].stat.owner, self.files[name].cost)),
        );
        kept.into_iter().map(|index| names[index].clone()).collect()
    }

    /// Reads the wanted files that changed, and stops following the other files.
    fn follow(&mut self, wanted: &[String], scan: &mut JobScan) {
        let mut unwanted: HashMap<&str, &mut JobFile> = self
            .files
            .iter_mut()
            .map(|(name, entry)| (name.as_str(), entry))
            .collect();
        let mut handled = RecordAllowance::default();
        for name in wanted {
            let (Some(entry), Some(id)) = (unwanted.remove(name.as_str()), record_id(name)) else {
                continue;
            };
            if entry.read == Some(entry.stat.stamp) || !handled.take(entry.stat.readable(), HANDLED)
            {
                continue;
            }
            entry.read = Some(entry.stat.stamp);
            let path = self.dir.join(name);
            match reading::read(&path, id, &entry.stat) {
                Ok(mut record) => {
                    record.user = self.owners.name(entry.stat.owner);
                    (entry.cost, entry.followed) = (jobs::cost(&record), true);
                    entry.content = RecordContent::Record {
                        finished: record.finished,
                    };
                    scan.records.push(record);
                }
                // Another one takes its place: a file server finds a file first and opens it later.
                Err(_) if JobFileStat::at(&path) != Some(entry.stat) => entry.read = None,
                Err(why) => {
                    entry.content = RecordContent::Refused(why);
                    scan.gone
                        .extend(std::mem::take(&mut entry.followed).then(|| id.to_owned()));
                }
            }
        }
        for (name, entry) in unwanted.into_iter().filter(|(_, entry)| entry.followed) {
            // It is read again when it is followed again.
            (entry.followed, entry.read) = (false, None);
            scan.gone.extend(record_id(name).map(str::to_owned));
        }
    }
}

#[cfg(test)]
mod tests;

/// The most names that are remembered.
const MAX_OWNERS: usize = 1024;

/// The names of the machine's users, by number.
#[derive(Debug, Default)]
pub(super) struct OwnerNames(HashMap<u32, String>);

impl OwnerNames {
    /// A user's name, or `uid 1234` if the machine has none.
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
