//! Reads `jobs/`. Anybody may write there, so nothing in it is trusted: no links are followed, sizes and counts are
//! bounded, and what is no job record is ignored. Killed jobs leave their files, so old ones are removed.
use inventory::plain;
use schedules::job::JobRecord;
use std::collections::HashMap;
use std::fs::{self, OpenOptions};
use std::io::Read;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Files looked at; further ones are ignored.
const MAX_FILES: usize = 4096;
/// A file nobody wrote for so long is removed: its job ended or was killed. One that only computed writes it anew.
const OLD: Duration = Duration::from_secs(24 * 3600);
/// Bytes of one record: some thousand host names.
const MAX_BYTES: u64 = 256 << 10;
/// Characters of a name.
const MAX_NAME: usize = 256;
/// Kinds of calls in a record.
const MAX_CALLS: usize = 1024;

/// What tells a file from the one read before.
type Stamp = (u64, i64, i64, u64);

/// What changed since the last scan.
#[derive(Debug, Default, PartialEq)]
pub struct Scan {
    /// Records that are new or different.
    pub records: Vec<JobRecord>,
    /// Ids of records whose files are gone.
    pub gone: Vec<String>,
    /// Files that are no records: how many, and one of them with the reason.
    pub refused: Option<(usize, String)>,
}

/// The job directory as last seen.
#[derive(Debug)]
pub struct Spool {
    dir: PathBuf,
    seen: HashMap<String, (Stamp, Result<String, String>)>,
}

impl Spool {
    /// A spool over `dir`; nothing is read yet.
    pub fn new(dir: &Path) -> Spool {
        Spool { dir: dir.to_owned(), seen: HashMap::new() }
    }

    /// Reads what changed and removes what is old. A directory that cannot be listed counts as one refused file.
    pub fn scan(&mut self, at: SystemTime) -> Scan {
        let mut scan = Scan::default();
        let listed = match fs::read_dir(&self.dir) {
            Ok(listed) => listed,
            Err(e) => return Scan { refused: Some((1, format!("{}: {e}", self.dir.display()))), ..scan },
        };
        let names = listed.flatten().filter_map(|e| e.file_name().into_string().ok());
        let written = |n: &String| (n.ends_with(".json") || n.ends_with(".new")) && !n.starts_with('.');
        let names: Vec<String> = names.filter(written).take(MAX_FILES + 1).collect();
        let crowded = names.len() > MAX_FILES;
        let mut now = HashMap::new();
        for name in names.into_iter().take(MAX_FILES) {
            if removed(&self.dir.join(&name), at) || name.ends_with(".new") {
                continue;
            }
            let before = self.seen.remove(&name);
            let (stamp, outcome) = match read(&self.dir.join(&name), before.as_ref().map(|(stamp, _)| *stamp)) {
                Some((stamp, read)) => {
                    let checked = read.and_then(|bytes| record(&name, &bytes));
                    let outcome = checked.as_ref().map(|r| r.id.clone()).map_err(Clone::clone);
                    scan.records.extend(checked.ok());
                    (stamp, outcome)
                }
                None => match before {
                    Some(before) => before,
                    None => continue, // Gone between listing and reading.
                },
            };
            now.insert(name, (stamp, outcome));
        }
        scan.gone = self.seen.drain().filter_map(|(_, (_, outcome))| outcome.ok()).collect();
        scan.gone.sort();
        let mut problems: Vec<String> =
            now.iter().filter_map(|(name, (_, outcome))| outcome.as_ref().err().map(|e| format!("{name:?}: {e}"))).collect();
        problems.sort();
        problems.extend(crowded.then(|| format!("more than {MAX_FILES} files; the rest is not looked at")));
        scan.refused = problems.first().map(|first| (problems.len(), first.clone()));
        self.seen = now;
        scan
    }
}

/// Removes a file that is old, and tells whether it did.
fn removed(path: &Path, at: SystemTime) -> bool {
    let written = fs::symlink_metadata(path).and_then(|m| m.modified());
    let old = written.is_ok_and(|written| at.duration_since(written).is_ok_and(|age| age > OLD));
    old && fs::remove_file(path).is_ok()
}

/// A file's stamp and content; `None` where it is as `before` or cannot be looked at.
fn read(path: &Path, before: Option<Stamp>) -> Option<(Stamp, Result<Vec<u8>, String>)> {
    let meta = fs::symlink_metadata(path).ok()?;
    let stamp = (meta.ino(), meta.mtime(), meta.mtime_nsec(), meta.len());
    if before == Some(stamp) {
        return None;
    }
    let content = || {
        // Neither a link to somewhere else nor a pipe that never answers.
        let flags = nix::fcntl::OFlag::O_NOFOLLOW | nix::fcntl::OFlag::O_NONBLOCK;
        let mut file = OpenOptions::new().read(true).custom_flags(flags.bits()).open(path).map_err(|e| e.to_string())?;
        let meta = file.metadata().map_err(|e| e.to_string())?;
        if !meta.is_file() {
            return Err("no regular file".to_owned());
        }
        let mut bytes = Vec::new();
        file.by_ref().take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(|e| e.to_string())?;
        if bytes.len() as u64 > MAX_BYTES { Err(format!("longer than {MAX_BYTES} bytes")) } else { Ok(bytes) }
    };
    Some((stamp, content()))
}

fn record(name: &str, bytes: &[u8]) -> Result<JobRecord, String> {
    let record: JobRecord = serde_json::from_slice(bytes).map_err(|e| e.to_string())?;
    if name.strip_suffix(".json") != Some(&record.id) {
        return Err("its id is not its name".to_owned());
    }
    let texts = [&record.id, &record.program, &record.user, &record.mpi].into_iter().chain(&record.hosts).chain(record.aside.as_ref());
    let calls = record.calls.iter().flat_map(|c| [&c.collective, &c.way]);
    if texts.chain(calls).any(|t| t.chars().count() > MAX_NAME || t.contains(plain::is_hidden)) {
        return Err("a text is too long or holds characters that cannot be seen".to_owned());
    }
    let fine = |seconds: f64| seconds.is_finite() && seconds >= 0.0;
    if record.calls.len() > MAX_CALLS || !record.calls.iter().all(|c| fine(c.seconds) && fine(c.bound_seconds)) {
        return Err("its counters make no sense".to_owned());
    }
    Ok(record)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jobs::tests::record as job;

    fn write(dir: &Path, name: &str, text: &str) {
        let new = dir.join(".new");
        fs::write(&new, text).unwrap();
        fs::rename(new, dir.join(name)).unwrap();
    }

    #[test]
    fn reads_what_changed_and_tells_what_is_gone() {
        let dir = tempfile::tempdir().unwrap();
        let mut spool = Spool::new(dir.path());
        assert_eq!(spool.scan(SystemTime::now()), Scan::default());
        write(dir.path(), "a.json", &serde_json::to_string(&job("a", 1, 10, 1.0)).unwrap());
        assert_eq!(spool.scan(SystemTime::now()).records, [job("a", 1, 10, 1.0)]);
        assert_eq!(spool.scan(SystemTime::now()), Scan::default());
        write(dir.path(), "a.json", &serde_json::to_string(&job("a", 2, 11, 1.5)).unwrap());
        assert_eq!(spool.scan(SystemTime::now()).records, [job("a", 2, 11, 1.5)]);
        fs::remove_file(dir.path().join("a.json")).unwrap();
        assert_eq!(spool.scan(SystemTime::now()).gone, ["a"]);
        assert_eq!(spool.scan(SystemTime::now()), Scan::default());
    }

    #[test]
    fn refuses_whatever_else_lies_there() {
        let dir = tempfile::tempdir().unwrap();
        let good = serde_json::to_string(&job("good", 1, 10, 1.0)).unwrap();
        write(dir.path(), "good.json", &good);
        write(dir.path(), "other.json", &good);
        write(dir.path(), "torn.json", &good[..good.len() / 2]);
        write(dir.path(), "long.json", &" ".repeat(300 << 10));
        let mut colours = job("esc", 1, 10, 1.0);
        colours.program = "\u{1b}[31m".into();
        write(dir.path(), "esc.json", &serde_json::to_string(&colours).unwrap());
        std::os::unix::fs::symlink("/etc/passwd", dir.path().join("link.json")).unwrap();
        nix::unistd::mkfifo(&dir.path().join("pipe.json"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        fs::create_dir(dir.path().join("dir.json")).unwrap();
        let mut spool = Spool::new(dir.path());
        let scan = spool.scan(SystemTime::now());
        assert_eq!(scan.records.iter().map(|r| r.id.as_str()).collect::<Vec<_>>(), ["good"]);
        assert_eq!(scan.refused.as_ref().map(|r| r.0), Some(7), "{scan:?}");
        assert_eq!(spool.scan(SystemTime::now()).refused.map(|r| r.0), Some(7));
    }

    #[test]
    fn what_nobody_wrote_for_a_day_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        for id in ["old", "written"] {
            write(dir.path(), &format!("{id}.json"), &serde_json::to_string(&job(id, 1, 10, 1.0)).unwrap());
        }
        write(dir.path(), "old.new", "{");
        write(dir.path(), "torn.json", "{");
        write(dir.path(), "notes.txt", "an operator's");
        let mut spool = Spool::new(dir.path());
        let now = SystemTime::now();
        assert_eq!(spool.scan(now + OLD / 2).records.len(), 2);
        let tomorrow = now + OLD + Duration::from_secs(60);
        fs::File::options().write(true).open(dir.path().join("written.json")).unwrap().set_modified(tomorrow).unwrap();
        let scan = spool.scan(tomorrow);
        assert_eq!((scan.gone, scan.refused), (vec!["old".to_owned()], None));
        let mut left: Vec<_> = fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["notes.txt", "written.json"]);
    }
}
