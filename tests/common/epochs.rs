//! A shared directory with an epoch for jobs on this machine, and the job records they leave in it.
use super::HEDDLE;
use directory::job_record::JobRecord;
use directory::job_record::reading::{self, JobFileStat};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// Eight hosts on three switches in a row.
pub(crate) const TREE: &str = "switches: [s0, s1, s2]
hosts: {n0: {switch: s0, address: 127.0.0.1}, n1: {switch: s0, address: 127.0.0.1}, n2: {switch: s0, address: 127.0.0.1}, n3: {switch: s1, address: 127.0.0.1}, n4: {switch: s1, address: 127.0.0.1}, n5: {switch: s2, address: 127.0.0.1}, n6: {switch: s2, address: 127.0.0.1}, n7: {switch: s2, address: 127.0.0.1}}
links: [{a: s0, b: s1}, {a: s1, b: s2}]
";

/// Each way at every size, so that small programs go the runtime's ways, too.
pub(crate) const FORCED: (&str, &str) = ("HEDDLE_FORCE", "aapc,ring");
/// The table decides from the first call on, since a program of few calls ends before the table's
/// usual first call.
pub(crate) const AT_ONCE: (&str, &str) = ("HEDDLE_AFTER", "0");
/// The same over the runtime's own connections.
pub(crate) const OVER_TCP: (&str, &str) = ("HEDDLE_FORCE", "aapc,ring,tcp");
/// Several rings, on [`slow_trunks`].
pub(crate) const SEVERAL_RINGS: (&str, &str) = ("HEDDLE_FORCE", "aapc,rings,tcp");
/// Without tokens, and with few octets under way.
pub(crate) const WINDOWED: (&str, &str) = ("HEDDLE_TURNS", "aapc window tcp,ring tcp");
/// With tokens that receivers give ahead, and blocks in three parts.
pub(crate) const CREDITED: (&str, &str) = ("HEDDLE_TURNS", "aapc credit(2x3) tcp,ring tcp");
/// One message for each pair of hosts.
pub(crate) const BUNDLED: (&str, &str) = ("HEDDLE_FORCE", "bundled,ring");
/// The same in turns.
pub(crate) const BUNDLED_PHASES: (&str, &str) = ("HEDDLE_FORCE", "bundled-phases,ring");
pub(crate) const BY_LEADERS: (&str, &str) = ("HEDDLE_FORCE", "bundled,relay");

/// [`TREE`] with trunks slower than hosts.
pub(crate) fn slow_trunks() -> String {
    TREE.replace("{a", "{rate: 300M, a")
}

/// A shared directory with one epoch.
pub(crate) fn shared(topology: &str) -> TempDir {
    let dir = TempDir::new().expect("a temporary directory");
    publish(dir.path(), topology);
    dir
}

/// The shared directory in a lab's folder, made anew with this topology only.
pub(crate) fn published(folder: &Path, topology: &str) -> PathBuf {
    let dir = folder.join("shared");
    let _ = fs::remove_dir_all(&dir);
    publish(&dir, topology);
    dir
}

pub(crate) fn publish(dir: &Path, topology: &str) {
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    fs::write(file.path(), topology).expect("written");
    let heddle = HEDDLE;
    let done = Command::new(heddle)
        .arg("publish")
        .arg("--topology")
        .arg(file.path())
        .arg("--dir")
        .arg(dir)
        .output()
        .expect(heddle);
    assert!(
        done.status.success(),
        "heddle publish: {}",
        String::from_utf8_lossy(&done.stderr)
    );
}

/// The collectives and ways of the recorded calls.
pub(crate) fn ways(dir: &Path) -> Vec<String> {
    calls(dir).into_keys().collect()
}

/// Calls per collective and way, of all communicators that wrote a job record; calls with empty
/// blocks are left out.
pub(crate) fn calls(dir: &Path) -> BTreeMap<String, u64> {
    let mut calls = BTreeMap::new();
    for total in records(dir)
        .iter()
        .flat_map(|record| &record.calls)
        .filter(|total| total.block > 0)
    {
        *calls
            .entry(format!("{} {}", total.collective, total.way))
            .or_default() += total.calls;
    }
    calls
}

/// All job records, also while jobs write them: a file has another name until it is complete.
pub(crate) fn records(dir: &Path) -> Vec<JobRecord> {
    let files = fs::read_dir(dir.join("jobs"))
        .expect("jobs/")
        .map(|entry| entry.expect("an entry").path());
    files
        .filter(|file| file.extension().is_some_and(|ending| ending == "json"))
        .filter_map(|file| record(&file))
        .collect()
}

/// The job record in a file, read as the controller reads it; `None` if it is gone since it was
/// listed, or another one is taking its place: a file server finds a file first and opens it later.
fn record(file: &Path) -> Option<JobRecord> {
    let id = file.file_stem().and_then(|stem| stem.to_str());
    let stat = JobFileStat::at(file)?;
    let read = reading::read(file, id.expect("a plain name"), &stat);
    if read.is_err() && JobFileStat::at(file) != Some(stat) {
        return None;
    }
    Some(read.unwrap_or_else(|problem| panic!("{}: {problem}", file.display())))
}
