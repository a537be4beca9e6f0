//! A snapshot on the screen, with what every line would otherwise have to look up in it.
use api::{AlarmLine, Snapshot, SwitchStatus};
use inventory::Millis;
use std::collections::{HashMap, HashSet};

/// The names that an alarm is about, those of its symptoms included.
fn concerned(alarm: &AlarmLine) -> Vec<String> {
    let symptoms = alarm.symptoms.iter().map(|s| s.subject.to_string());
    symptoms.chain([alarm.about.clone()]).collect()
}

/// A snapshot, and its indices.
#[derive(Debug, Default)]
pub(crate) struct IndexedSnapshot {
    pub(crate) snapshot: Snapshot,
    /// The time of its arrival.
    pub(crate) received: Millis,
    switches: HashMap<String, usize>,
    alarmed: HashSet<String>,
}

impl IndexedSnapshot {
    pub(crate) fn new(snapshot: Snapshot, received: Millis) -> IndexedSnapshot {
        let switches = snapshot.switches.iter().enumerate();
        IndexedSnapshot {
            switches: switches.map(|(i, s)| (s.name.clone(), i)).collect(),
            alarmed: snapshot.alarms.iter().flat_map(concerned).collect(),
            snapshot,
            received,
        }
    }

    /// The state of the switch `name`.
    pub(crate) fn switch(&self, name: &str) -> Option<&SwitchStatus> {
        self.snapshot.switches.get(*self.switches.get(name)?)
    }

    /// True if an alarm, or one that follows from it, is about `name`.
    pub(crate) fn has_alarm(&self, name: &str) -> bool {
        self.alarmed.contains(name)
    }
}
