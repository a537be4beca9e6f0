//! Reads `jobs/`. Anybody may write there, so nothing in it is trusted: no links are followed, what
//! is no job record is ignored, a record belongs to the owner of its file whatever it says, and
//! what is read is bounded for each owner and in all.
//!
//! A scan takes a bounded number of steps. It goes on listing where the last one stopped, so that
//! any number of files only delays the news of new ones; of what is known it looks at the files
//! that jobs write to. Ages are counted by the controller's own steady clock from when it saw a
//! file change: no clock that is set, and no time that somebody gave a file, makes one older or
//! younger.
mod owners;

use crate::allowance::{OwnerShares, RecordAllowance};
use crate::jobs;
use directory::job_record::JobRecord;
use directory::job_record::reading::{self, JobFileStamp, JobFileStat};
use directory::layout::{is_unfinished_record, record_id};
use owners::OwnerNames;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::fs::{self, ReadDir};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A record that says of itself that it is finished is removed after so long.
const FINISHED: Duration = Duration::from_secs(300);
/// Any other file that nobody wrote for so long is removed: its job was killed. A job that only
/// computed writes it anew.
const OLD: Duration = Duration::from_secs(24 * 3600);
/// A record written within this time keeps its place before newer ones of its owner.
const LIVELY: Duration = Duration::from_secs(60);
/// Names listed in one scan.
const LISTED: usize = 16_384;
/// Files read and removed in one scan, and bytes read.
const HANDLED: RecordAllowance = RecordAllowance {
    things: 1024,
    bytes: 4 << 20,
};
/// Files whose stamps are remembered: some hundred bytes each.
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

/// What changed since the last scan.
#[derive(Debug, Default, PartialEq)]
pub struct JobScan {
    /// Records that are new or different.
    pub records: Vec<JobRecord>,
    /// Ids of records whose files are gone, or had to make room.
    pub gone: Vec<String>,
    /// Files that are no records: how many, and one of them with the reason.
    pub refused: Option<(usize, String)>,
    /// Files that are not read, as there are too many.
    pub unread: usize,
}

/// What a file turned out to hold.
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
    /// When the controller saw that it had changed.
    changed: Instant,
    /// The listing it was met in last.
    listing: u64,
    /// As it was when it was read.
    read: Option<JobFileStamp>,
    content: RecordContent,
    /// Whether its record was told of and is not gone.
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

    /// Takes its stamp anew. What it held says nothing of what it holds now, but a job that ran
    /// goes on.
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

    /// The smaller the more wanted: those that are followed and change, then the newest. Only the
    /// file system sets this time.
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
    /// The listing under way, and how many there were.
    listing: Option<ReadDir>,
    listings: u64,
    /// Records met in this listing, and in the one before.
    met: (usize, usize),
    owners: OwnerNames,
}

impl JobDirectory {
    /// A spool over `dir`; nothing is read yet.
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

    /// Reads what changed and removes what is old. A directory that cannot be listed counts as one
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

    /// How many records there are: as many as are known, unless some had to be forgotten.
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

    /// Goes on with the listing, or begins a new one. At its end it is known what is gone.
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

    /// Files that a whole listing did not name are gone, unless they were renamed into place while
    /// it went on.
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
            return; // All were looked at just now.
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

    /// Takes a file's stamp anew.
    fn look(&mut self, name: &str, at: Instant, scan: &mut JobScan) {
        match (
            JobFileStat::of(&self.dir.join(name)),
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
            // It may have been written just now.
            self.look(&name, at, scan);
            let Some(entry) = self.files.get_mut(&name).filter(|entry| entry.is_old(at)) else {
                continue;
            };
            match fs::remove_file(self.dir.join(&name)) {
                Ok(()) => self.drop(&name, scan),
                // A directory, or not ours to remove: tried again when it is old again.
                Err(_) => entry.changed = at,
            }
        }
    }

    /// Forgets files where too many are known; they are met again by a later listing.
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

    /// Reads those of the wanted files that changed, and lets go of the others.
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
            match reading::read(&self.dir.join(name), id, &entry.stat) {
                Ok(mut record) => {
                    record.user = self.owners.name(entry.stat.owner);
                    (entry.cost, entry.followed) = (jobs::cost(&record), true);
                    entry.content = RecordContent::Record {
                        finished: record.finished,
                    };
                    scan.records.push(record);
                }
                Err(why) => {
                    entry.content = RecordContent::Refused(why);
                    scan.gone
                        .extend(std::mem::take(&mut entry.followed).then(|| id.to_owned()));
                }
            }
        }
        for (name, entry) in unwanted.into_iter().filter(|(_, entry)| entry.followed) {
            // Whoever follows it again reads it again.
            (entry.followed, entry.read) = (false, None);
            scan.gone.extend(record_id(name).map(str::to_owned));
        }
    }
}

#[cfg(test)]
mod tests;
