//! What operators, viewers and jobs were told: epochs, lines and alarms.
use super::alarms::stays;
use super::candidate::PublishedNetwork;
use super::event::ControllerEffect;
use super::trouble::TroubleArea;
use api::{AlarmLine, EpochInfo, EventLevel, EventLine};
use directory::job_record::JobRecord;
use inventory::Millis;
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// Lines kept for the event panel.
const LINES: usize = 300;
/// Epochs kept for the epoch panel.
const EPOCHS: usize = 64;
/// Traps of unknown sources are told at most this often: anybody can send them.
const STRANGERS: Duration = Duration::from_secs(60);

/// What is published and what was said.
#[derive(Debug, Default)]
pub(super) struct PublicRecord {
    /// The network as it is published.
    pub(super) settled: Option<PublishedNetwork>,
    pub(super) epochs: Vec<EpochInfo>,
    pub(super) lines: VecDeque<EventLine>,
    /// The controller's own alarms, by what they are about.
    pub(super) troubles: BTreeMap<TroubleArea, String>,
    /// When a trap of an unknown source was told last.
    stranger: Option<Millis>,
    /// Every alarm told, so that each is told once.
    alarms: Vec<AlarmLine>,
}

impl PublicRecord {
    /// The number of the current epoch.
    pub(super) fn current(&self) -> Option<u64> {
        self.settled.as_ref().map(|s| s.number)
    }

    /// What is in force while something goes wrong.
    pub(super) fn stays(&self) -> String {
        stays(self.current())
    }

    pub(super) fn say(
        &mut self,
        at: Millis,
        level: EventLevel,
        text: String,
        fx: &mut Vec<ControllerEffect>,
    ) {
        let line = EventLine { at, level, text };
        self.lines.push_back(line.clone());
        let surplus = self.lines.len().saturating_sub(LINES);
        self.lines.drain(..surplus);
        fx.push(ControllerEffect::Say(line));
    }

    /// Tells alarms that are new and alarms that are over.
    pub(super) fn tell(
        &mut self,
        now: Millis,
        alarms: Vec<AlarmLine>,
        fx: &mut Vec<ControllerEffect>,
    ) {
        let told = std::mem::replace(&mut self.alarms, alarms.clone());
        for alarm in alarms.iter().filter(|a| !told.contains(a)) {
            self.say(now, EventLevel::Warning, alarm.text.clone(), fx);
        }
        for alarm in told
            .iter()
            .filter(|t| !alarms.iter().any(|a| a.about == t.about))
        {
            self.say(now, EventLevel::Info, format!("over: {}", alarm.text), fx);
        }
    }

    /// Notes what goes wrong, `None` where it is over. Returns whether that is news.
    pub(super) fn trouble(&mut self, about: TroubleArea, problem: Option<String>) -> bool {
        let before = match problem.clone() {
            Some(text) => self.troubles.insert(about, text),
            None => self.troubles.remove(&about),
        };
        before != problem
    }

    /// Whether a trap of an unknown source is to be told now.
    pub(super) fn tells_stranger(&mut self, now: Millis) -> bool {
        let due = self
            .stranger
            .is_none_or(|told| now.since(told) >= STRANGERS);
        if due {
            self.stranger = Some(now);
        }
        due
    }

    /// An epoch is published; tells of it.
    pub(super) fn publish(
        &mut self,
        epoch: EpochInfo,
        settled: PublishedNetwork,
        fx: &mut Vec<ControllerEffect>,
    ) {
        let text = format!(
            "epoch {} published: {} hosts, {}{} phases, {} ms after the first sign; {}",
            epoch.number,
            epoch.hosts,
            if epoch.bound_only { "at least " } else { "" },
            epoch.phases,
            epoch.at.since(epoch.stages.seen).as_millis(),
            epoch.changes.join("; ")
        );
        self.say(epoch.at, EventLevel::Info, text, fx);
        self.epochs.push(epoch);
        let surplus = self.epochs.len().saturating_sub(EPOCHS);
        self.epochs.drain(..surplus);
        self.settled = Some(settled);
    }

    /// Notes when the first job took the last epoch up.
    pub(super) fn take_up(&mut self, now: Millis, record: &JobRecord) {
        // A job that began later has taken nothing up: it found the epoch there.
        let took_up = |e: &&mut EpochInfo| {
            record.epoch == e.number && record.started < e.at && e.stages.taken_up.is_none()
        };
        if let Some(epoch) = self.epochs.last_mut().filter(took_up) {
            // The job's clock is another machine's: its word counts only between publishing and
            // now.
            let at = record.epoch_since.clamp(epoch.at.min(now), now);
            epoch.stages.taken_up = Some(at.since(epoch.stages.seen));
        }
    }
}
