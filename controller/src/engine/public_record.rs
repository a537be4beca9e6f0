//! The public record: epochs, event lines and alarms, as operators, viewers and jobs got them.
use super::candidate::PublishedNetwork;
use super::event::{ControllerEffect, EffectList};
use super::trouble::TroubleArea;
use api::{AlarmEvent, AlarmLine, EpochInfo, EventLevel, EventLine};
use directory::job_record::JobRecord;
use inventory::alarm::arguments::stays;
use inventory::alarm::causes::ended;
use inventory::{Millis, counted};
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// Lines kept for the event panel.
const LINES: usize = 300;
/// Epochs kept for the epoch panel.
const EPOCHS: usize = 64;
/// Time between two messages on traps of unknown sources: anybody can send them.
const STRANGERS: Duration = Duration::from_secs(60);

/// The published network, and the messages so far.
#[derive(Debug, Default)]
pub(super) struct PublicRecord {
    /// The network as it is published.
    pub(super) settled: Option<PublishedNetwork>,
    pub(super) epochs: Vec<EpochInfo>,
    pub(super) lines: VecDeque<EventLine>,
    /// The messages of each level since the start.
    pub(super) counts: BTreeMap<EventLevel, u64>,
    /// The problems of the controller's own work, by area.
    pub(super) troubles: BTreeMap<TroubleArea, String>,
    /// Some of them are new or over since the last look.
    pub(super) is_changed: bool,
    /// The last message on a trap of an unknown source.
    stranger: Option<Millis>,
    /// The alarms that were announced, so that each is announced once.
    pub(super) alarms: Vec<AlarmLine>,
}

impl PublicRecord {
    /// The number of the current epoch.
    pub(super) fn current(&self) -> Option<u64> {
        self.settled.as_ref().map(|s| s.number)
    }

    /// The consequence of a failure: what stays in force.
    pub(super) fn stays(&self) -> String {
        stays(self.current())
    }

    pub(super) fn log(&mut self, at: Millis, level: EventLevel, text: String, fx: &mut EffectList) {
        let alarm = None;
        self.say(
            EventLine {
                at,
                level,
                text,
                alarm,
            },
            fx,
        );
    }

    fn say(&mut self, line: EventLine, fx: &mut EffectList) {
        *self.counts.entry(line.level).or_default() += 1;
        self.lines.push_back(line.clone());
        let surplus = self.lines.len().saturating_sub(LINES);
        self.lines.drain(..surplus);
        fx.push(ControllerEffect::Say(line));
    }

    /// Announces new alarms, and the end of old ones. While a change is under way new ones wait: the
    /// two ends of a cut cable do not notice it at the same moment, and until then they contradict
    /// each other.
    pub(super) fn announce(
        &mut self,
        now: Millis,
        alarms: Vec<AlarmLine>,
        is_changing: bool,
        fx: &mut EffectList,
    ) {
        let before = std::mem::take(&mut self.alarms);
        let over: Vec<&AlarmLine> = ended(&before, &alarms).collect();
        if is_changing {
            let lasting = before.iter().filter(|alarm| !over.contains(alarm));
            self.alarms = lasting.cloned().collect();
        } else {
            for alarm in alarms.iter().filter(|a| !before.contains(a)) {
                self.say(line_of(alarm, now, false), fx);
            }
            self.alarms.clone_from(&alarms);
        }
        for alarm in over {
            self.say(line_of(alarm, now, true), fx);
        }
    }

    /// Notes a problem of an area; `None` ends it.
    pub(super) fn note_trouble(&mut self, about: TroubleArea, problem: Option<String>) {
        let before = match problem.clone() {
            Some(text) => self.troubles.insert(about, text),
            None => self.troubles.remove(&about),
        };
        self.is_changed |= before != problem;
    }

    /// Returns whether a message on a trap of an unknown source is due.
    pub(super) fn is_stranger_due(&mut self, now: Millis) -> bool {
        let due = self
            .stranger
            .is_none_or(|last| now.since(last) >= STRANGERS);
        if due {
            self.stranger = Some(now);
        }
        due
    }

    /// Notes that an epoch is published, and announces it.
    pub(super) fn publish(
        &mut self,
        epoch: EpochInfo,
        settled: PublishedNetwork,
        fx: &mut EffectList,
    ) {
        let text = format!(
            "epoch {} published: {}, {}{}, {} ms after the first sign; {}",
            epoch.number,
            counted(epoch.hosts, "host"),
            if epoch.bound_only { "at least " } else { "" },
            counted(epoch.phases, "phase"),
            epoch.at.since(epoch.stages.seen).as_millis(),
            epoch.changes.join("; ")
        );
        self.log(epoch.at, EventLevel::Info, text, fx);
        self.epochs.push(epoch);
        let surplus = self.epochs.len().saturating_sub(EPOCHS);
        self.epochs.drain(..surplus);
        self.settled = Some(settled);
    }

    /// Notes the time at which the first job took up the last epoch.
    pub(super) fn take_up(&mut self, now: Millis, record: &JobRecord) {
        // A job that began later did not take the epoch up: it began with it.
        let latest = self.epochs.last_mut();
        if let Some(epoch) = latest.filter(|e| {
            record.epoch == e.number && record.started < e.at && e.stages.taken_up.is_none()
        }) {
            // The time comes from another machine's clock. It counts only between publishing and
            // now.
            let at = record.epoch_since.clamp(epoch.at.min(now), now);
            epoch.stages.taken_up = Some(at.since(epoch.stages.seen));
        }
    }
}

/// The line that an alarm has come, or is over.
fn line_of(alarm: &AlarmLine, at: Millis, over: bool) -> EventLine {
    let (level, text) = match over {
        true => (EventLevel::Info, format!("over: {}", alarm.text)),
        false => (EventLevel::Warning, alarm.text.clone()),
    };
    let (subject, code) = (alarm.subject.clone(), alarm.code());
    EventLine {
        at,
        level,
        text,
        alarm: Some(AlarmEvent {
            subject,
            code,
            over,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use inventory::alarm::AlarmSubject;

    fn alarm(text: &str) -> AlarmLine {
        AlarmLine {
            subject: AlarmSubject::node("s0"),
            text: text.to_owned(),
            ..AlarmLine::default()
        }
    }

    #[test]
    fn of_two_alarms_about_one_thing_the_end_of_each_is_reported_and_another_wording_is_no_end() {
        let mut record = PublicRecord::default();
        assert_eq!(
            announced(&["stale", "loop"], &mut record),
            ["stale", "loop"]
        );
        assert_eq!(announced(&["loop"], &mut record), ["over: stale"]);
        assert_eq!(announced(&["loop of 3"], &mut record), ["loop of 3"]);
        assert_eq!(announced(&[], &mut record), ["over: loop of 3"]);
    }

    #[test]
    fn an_alarm_waits_while_a_change_is_under_way() {
        let mut record = PublicRecord::default();
        assert_eq!(announced(&["stale"], &mut record), ["stale"]);
        assert_eq!(meanwhile(&["stale", "loop"], &mut record), [""; 0]);
        assert_eq!(meanwhile(&[], &mut record), ["over: stale"]);
        assert_eq!(announced(&["loop"], &mut record), ["loop"]);
    }

    /// A program need not read the words to see which alarm went.
    #[test]
    fn a_line_names_the_alarm_that_it_tells_of() {
        let (mut record, mut fx) = (PublicRecord::default(), Vec::new());
        record.announce(Millis(1), vec![alarm("loop")], false, &mut fx);
        record.announce(Millis(2), Vec::new(), false, &mut fx);
        let lines: Vec<_> = record
            .lines
            .iter()
            .map(|line| serde_json::to_value(line).unwrap())
            .collect();
        let expected =
            serde_json::json!({"about": "s0", "nodes": ["s0"], "code": "other", "over": true});
        assert_eq!(
            (&lines[0]["alarm"]["over"], &lines[1]["alarm"]),
            (&false.into(), &expected)
        );
    }

    fn announced(alarms: &[&str], record: &mut PublicRecord) -> Vec<String> {
        after(alarms, false, record)
    }

    /// The lines while a change is under way.
    fn meanwhile(alarms: &[&str], record: &mut PublicRecord) -> Vec<String> {
        after(alarms, true, record)
    }

    fn after(alarms: &[&str], is_changing: bool, record: &mut PublicRecord) -> Vec<String> {
        let mut fx = Vec::new();
        let alarms = alarms.iter().map(|text| alarm(text)).collect();
        record.announce(Millis(1), alarms, is_changing, &mut fx);
        fx.into_iter()
            .map(|effect| match effect {
                ControllerEffect::Say(line) => line.text,
                other => panic!("{other:?}"),
            })
            .collect::<Vec<String>>()
    }
}
