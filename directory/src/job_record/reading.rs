//! Reading job records. Anybody may write to their folder, so nothing in it is trusted: no link is
//! followed, no file is opened that could block, and every reading is bounded.
use super::JobRecord;
use crate::bounded;
use crate::layout::{JOB_RECORD_LIMIT, JOBS, record_id};
use inventory::sanitize;
use nix::fcntl::OFlag;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Bytes that a record may take in memory. A list of empty names takes more than its text.
const MAX_MEMORY: usize = 1 << 20;
/// Characters of a name.
const MAX_NAME: usize = 256;
/// Kinds of calls in a record.
const MAX_CALLS: usize = 1024;
/// Learned timings in a record: each collective's ways in each size class.
const MAX_LEARNED: usize = 1024;

/// The mark by which a file differs from the one read before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JobFileStamp {
    inode: u64,
    /// Seconds and nanoseconds of the last change of status. The owner of a file can set the time
    /// of its last writing to anything, but not this one.
    pub changed: (i64, i64),
    /// Its length.
    pub bytes: u64,
}

/// A file's stamp and its owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JobFileStat {
    pub stamp: JobFileStamp,
    /// The number of the user who owns it.
    pub owner: u32,
}

impl From<&Metadata> for JobFileStat {
    fn from(meta: &Metadata) -> JobFileStat {
        let stamp = JobFileStamp {
            inode: meta.ino(),
            changed: (meta.ctime(), meta.ctime_nsec()),
            bytes: meta.len(),
        };
        JobFileStat {
            stamp,
            owner: meta.uid(),
        }
    }
}

impl JobFileStat {
    /// `None` where there is no such file.
    pub fn at(path: &Path) -> Option<JobFileStat> {
        fs::symlink_metadata(path)
            .ok()
            .map(|meta| JobFileStat::from(&meta))
    }

    /// The most bytes of it that are read.
    pub fn readable(&self) -> usize {
        self.stamp.bytes.min(JOB_RECORD_LIMIT) as usize
    }
}

/// Reads the record `id` from its file. The owner must still be the same as in `seen`.
///
/// # Errors
/// The reason why the file does not hold a job record of this id.
pub fn read(path: &Path, id: &str, seen: &JobFileStat) -> Result<JobRecord, String> {
    // A link may lead to another place.
    let (file, meta) = bounded::open(path, OFlag::O_NOFOLLOW).map_err(|e| e.to_string())?;
    if meta.nlink() > 1 {
        // It may be a file of another user.
        return Err("a hard link to a file that has another name, too".to_owned());
    }
    if meta.uid() != seen.owner {
        return Err("its owner changed while it was read".to_owned());
    }
    let bytes = bounded::take(file, JOB_RECORD_LIMIT).map_err(|e| e.to_string())?;
    if bytes.len() as u64 > JOB_RECORD_LIMIT {
        return Err(format!("longer than {JOB_RECORD_LIMIT} bytes"));
    }
    parse(&bytes, id)
}

/// The records in a shared directory whose ids begin with `begin`. Files that hold no job record
/// are passed over.
///
/// # Errors
/// The system's refusal to list them.
pub fn beginning_with(dir: &Path, begin: &str) -> io::Result<impl Iterator<Item = JobRecord>> {
    Ok(fs::read_dir(dir.join(JOBS))?
        .flatten()
        .filter_map(move |entry| {
            let name = entry.file_name();
            let id = record_id(name.to_str()?).filter(|id| id.starts_with(begin))?;
            let path = entry.path();
            read(&path, id, &JobFileStat::at(&path)?).ok()
        }))
}

/// The record `id` in the bytes of its file, which anybody may have written.
///
/// # Errors
/// The reason why it is not a job record.
pub fn parse(bytes: &[u8], id: &str) -> Result<JobRecord, String> {
    let record: JobRecord = serde_json::from_slice(bytes).map_err(|e| e.to_string())?;
    // Readers keep jobs by id: a file with the id of another one would take the place of that job.
    if record.id != id {
        return Err("its id is not its name".to_owned());
    }
    if record.memory() > MAX_MEMORY
        || record.calls.len() > MAX_CALLS
        || record.learned.len() > MAX_LEARNED
    {
        return Err("it names too many hosts, calls or timings".to_owned());
    }
    if !record.layout.is_empty() && !record.layout.fits(record.hosts.len(), record.ranks) {
        return Err("its layout of ranks does not fit its hosts".to_owned());
    }
    let texts = [&record.id, &record.program]
        .into_iter()
        .chain(&record.hosts)
        .chain([&record.aside, &record.network].into_iter().flatten());
    if texts
        .map(String::as_str)
        .chain(record.unknown_names())
        .any(|t| t.chars().count() > MAX_NAME || t.contains(sanitize::is_hidden))
    {
        return Err("a text is too long or holds characters that cannot be seen".to_owned());
    }
    let learning = [record.learning_cost_seconds, record.learning_saved_seconds];
    if !record.calls.iter().all(|c| {
        is_time(c.seconds) && is_time(c.bound_seconds) && c.bounded_seconds.is_none_or(is_time)
    }) || learning
        .into_iter()
        .flatten()
        .any(|seconds| !seconds.is_finite())
    {
        return Err("its counters make no sense".to_owned());
    }
    Ok(record)
}

fn is_time(seconds: f64) -> bool {
    seconds.is_finite() && seconds >= 0.0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A record with these fields beside the usual ones.
    fn parsed(more: &str) -> Result<JobRecord, String> {
        let json = format!(
            r#"{{"id":"a","program":"a.out","user":"ann","started":1,"updated":2,
                "hosts":["n0","n1"],"ranks":4,"mpi":"mpich","epoch":1,"epoch_since":1,
                "calls":[]{more}}}"#
        );
        parse(json.as_bytes(), "a")
    }

    #[test]
    fn what_a_job_learned_is_read_within_limits() {
        let timing = r#"{"collective":"alltoall","from":1024,"way":"native","samples":3,
                         "mean_ns":7,"error_ns":1}"#;
        let [record, too_many] = [MAX_LEARNED, MAX_LEARNED + 1].map(|count| {
            parsed(&format!(
                r#","layout":[[0,2,2]],"learned":[{}],"learning_saved_seconds":-1.5"#,
                vec![timing; count].join(",")
            ))
        });
        let record = record.unwrap();
        assert_eq!(record.learned.len(), MAX_LEARNED);
        assert!(record.memory() > MAX_LEARNED * size_of_val(&record.learned[0]));
        assert!(too_many.unwrap_err().contains("too many"));
        assert_eq!(parsed("").unwrap().learned, []);
        let hidden = timing.replace("native", "a\u{202e}b");
        assert!(parsed(&format!(r#","learned":[{hidden}]"#)).is_err());
        for layout in ["[[0,2,3]]", "[[0,1,4]]", "[[0,2,4294967295]]", "[[0]]"] {
            assert!(
                parsed(&format!(r#","layout":{layout}"#)).is_err(),
                "{layout}"
            );
        }
    }
}
