//! No epoch is lost. Every reader sees the epochs ascend, the directory has the last ones without a
//! gap, `heddle history` shows the same, and each controller's journal has one publication for each
//! number it used.
use super::cluster::StressCluster;
use crate::common::HEDDLE;
use controller::history::HistoryEntry;
use controller::publish::KEEP;
use directory::reading::{current, numbers};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// Collects the epochs that become current, until it is asked for them.
pub(crate) struct EpochWatcher {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Vec<u64>>>,
}

impl EpochWatcher {
    pub(crate) fn new(shared: &Path) -> EpochWatcher {
        let (stop, shared) = (Arc::new(AtomicBool::new(false)), shared.to_owned());
        let stopped = Arc::clone(&stop);
        let look = move || {
            let mut seen: Vec<u64> = Vec::new();
            while !stopped.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(20));
                let pointer = current(&shared).expect("the pointer is whole at each moment");
                seen.extend(
                    pointer
                        .map(|pointer| pointer.number)
                        .filter(|number| seen.last() != Some(number)),
                );
            }
            seen
        };
        EpochWatcher {
            stop,
            thread: Some(std::thread::spawn(look)),
        }
    }

    fn seen(mut self) -> Vec<u64> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap()
    }
}

impl Drop for EpochWatcher {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// Checks all rules of the module's header.
pub(crate) fn check(cluster: &StressCluster, watcher: EpochWatcher) {
    let seen = watcher.seen();
    assert!(
        seen.is_sorted_by(|a, b| a < b),
        "the pointer went back: {seen:?}"
    );

    let shared = cluster.shared.path();
    let last = cluster.epoch();
    let kept: Vec<u64> = (last.saturating_sub(KEEP - 1).max(1)..=last).collect();
    assert_eq!(
        numbers(&shared.join("epochs")).unwrap(),
        kept,
        "epochs/ up to {last}"
    );

    let output = Command::new(HEDDLE)
        .args(["history", "--format", "json", "--dir"])
        .arg(shared)
        .output()
        .unwrap();
    let history: Vec<HistoryEntry> = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        history
            .iter()
            .map(|entry| entry.info.number)
            .collect::<Vec<u64>>(),
        kept,
        "heddle history"
    );
    assert!(
        history
            .iter()
            .all(|entry| entry.problem.is_none() && entry.current == (entry.info.number == last)),
        "{history:?}"
    );

    let journals: Vec<ControllerRun> = (1..=cluster.controllers)
        .map(|started| ControllerRun::read(&cluster.journal(started)))
        .collect();
    let next = journals
        .iter()
        .skip(1)
        .map(|run| run.highest_before)
        .chain([last]);
    for (at, (run, highest)) in journals.iter().zip(next).enumerate() {
        // A controller that is killed after it moved the pointer and before it wrote the journal's
        // line has published one more.
        let (number, killed) = (run.highest_before + run.published, at + 1 < journals.len());
        assert!(
            number == highest || killed && number + 1 == highest,
            "controller {}: {run:?}, then the highest is {highest}",
            at + 1
        );
    }
}

/// The content of a controller's journal.
#[derive(Debug)]
struct ControllerRun {
    /// The highest number in use when it started.
    highest_before: u64,
    published: u64,
}

impl ControllerRun {
    fn read(journal: &Path) -> ControllerRun {
        let mut run = ControllerRun {
            highest_before: 0,
            published: 0,
        };
        // The last line of a killed controller may be cut.
        let lines =
            fs::read_to_string(journal).unwrap_or_else(|e| panic!("{}: {e}", journal.display()));
        for line in lines
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        {
            let event = &line["event"];
            run.highest_before = event["started"]["highest"]
                .as_u64()
                .unwrap_or(run.highest_before);
            run.published += u64::from(event.get("published").is_some());
        }
        run
    }
}
