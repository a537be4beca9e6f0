//! Causes before symptoms: an alarm that follows from another one is summed up in that one's line.
//!
//! Source: own. Input: alarms. Each states a cause, or says from which causes it may follow.
//! Guarantee: every alarm is in exactly one line, as its cause or as one of its symptoms. Cost: one
//! pass for causes and one for symptoms.
use super::arguments::stays;
use super::code::AlarmCode;
use super::origin::AlarmOrigin;
use super::{Alarm, AlarmKind, AlarmSubject};
use crate::messages::wording::listed;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

pub use super::origin::{AlarmCause, AlarmSeverity};

/// A line for operators: an alarm that has no cause but itself, with all that follows from it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct AlarmLine {
    #[serde(flatten)]
    pub subject: AlarmSubject,
    /// Its code and arguments; programs decide on them.
    #[serde(flatten)]
    pub kind: AlarmKind,
    /// Object, place, problem, consequence, hint; what follows from the problem is summed up.
    pub text: String,
    /// The highest severity of the alarms in this line.
    #[serde(default)]
    pub severity: AlarmSeverity,
    /// The alarms that follow from this one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub symptoms: Vec<Alarm>,
    /// The cause that it states.
    #[serde(skip)]
    pub cause: Option<AlarmCause>,
}

/// The beginning or the end of an alarm.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AlarmEvent {
    #[serde(flatten)]
    pub subject: AlarmSubject,
    pub code: AlarmCode,
    /// True at its end.
    pub over: bool,
}

/// All alarms, with the symptoms in the lines of their causes. Both are in the order of their texts.
pub fn causes_first(alarms: &[&Alarm]) -> Vec<AlarmLine> {
    let mut by_cause: BTreeMap<AlarmCause, CausedAlarms<'_>> = BTreeMap::new();
    let mut cause_of: BTreeMap<&str, AlarmCause> = BTreeMap::new();
    let mut unheard = Vec::new();
    for &alarm in alarms {
        let AlarmOrigin::Cause(cause) = alarm.origin() else {
            continue;
        };
        let silent = alarm.subject.node_name();
        cause_of.extend(silent.map(|switch| (switch, cause.clone())));
        // A switch that answered once is known with what is behind it.
        if !matches!(cause, AlarmCause::StaleSwitch(_)) {
            unheard.extend(silent);
        }
        by_cause.entry(cause).or_default().causes.push(alarm);
    }
    let mut lines = Vec::new();
    let mut anywhere = CausedAlarms::default();
    let origin_of_all = unheard.first().map(|switch| cause_of[switch].clone());
    let one_origin = unheard
        .iter()
        .all(|s| origin_of_all.as_ref() == Some(&cause_of[s]));
    for &alarm in alarms {
        let cause = match alarm.origin() {
            AlarmOrigin::Own => None,
            AlarmOrigin::Cause(_) => continue,
            AlarmOrigin::Silence(of) => of.iter().find_map(|s| cause_of.get(s.as_str()).cloned()),
            AlarmOrigin::AnyUnheard if one_origin => origin_of_all.clone(),
            AlarmOrigin::AnyUnheard => {
                anywhere.symptoms.push(alarm);
                continue;
            }
        };
        match cause.and_then(|cause| by_cause.get_mut(&cause)) {
            Some(caused) => caused.symptoms.push(alarm),
            None => lines.push(alone(alarm)),
        }
    }
    lines.extend(
        by_cause
            .into_iter()
            .map(|(cause, caused)| caused.line(cause)),
    );
    lines.extend(anywhere.behind_any(&unheard));
    lines.sort_by_cached_key(|line| (line.subject.to_string(), line.code(), line.text.clone()));
    lines.dedup();
    lines
}

/// Alarms that state one cause, and those that follow from it.
#[derive(Default)]
struct CausedAlarms<'a> {
    causes: Vec<&'a Alarm>,
    symptoms: Vec<&'a Alarm>,
}

fn alone(alarm: &Alarm) -> AlarmLine {
    AlarmLine {
        subject: alarm.subject.clone(),
        kind: alarm.kind.clone(),
        text: alarm.to_string(),
        severity: alarm.code().severity(),
        symptoms: Vec::new(),
        cause: None,
    }
}

impl CausedAlarms<'_> {
    fn line(mut self, cause: AlarmCause) -> AlarmLine {
        let mut line = alone(self.causes[0]);
        match (&cause, self.causes.as_slice()) {
            (AlarmCause::Refusal(refusal), causes @ [_, _, ..]) => {
                let switches = causes.iter().map(|alarm| alarm.subject.to_string());
                line.text = format!(
                    "{} switches refuse {}: {}: {}; nothing new is known of them: correct the \
                     credential under snmp in the inventory, or on the switches",
                    causes.len(),
                    refusal.credential,
                    refusal.reason,
                    listed(&switches.collect::<Vec<_>>())
                );
                self.symptoms.splice(0..0, causes.iter().copied());
            }
            (_, causes) => drop(self.symptoms.splice(0..0, causes[1..].iter().copied())),
        }
        let severities = self.symptoms.iter().map(|alarm| alarm.code().severity());
        line.severity = severities.fold(line.severity, AlarmSeverity::max);
        line.text += &self.summary();
        line.symptoms = self.symptoms.into_iter().cloned().collect();
        line.cause = Some(cause);
        line
    }

    /// The symptoms in a few words.
    fn summary(&self) -> String {
        let hosts = self.missed_hosts();
        let mut summary = match &hosts[..] {
            [] => String::new(),
            [host] => format!("; host {host} is not seen, and may be behind it"),
            hosts => format!(
                "; {} hosts are not seen, and may be behind it: {}",
                hosts.len(),
                listed(hosts)
            ),
        };
        for consequence in self.symptoms.iter().filter_map(|a| a.consequence()) {
            summary += &format!("; {consequence}");
        }
        match self
            .symptoms
            .iter()
            .filter(|a| a.is_further_problem())
            .count()
        {
            0 => {}
            1 => summary += "; 1 more problem follows from it",
            n => summary += &format!("; {n} more problems follow from it"),
        }
        summary
    }

    fn missed_hosts(&self) -> Vec<String> {
        let missed = self.symptoms.iter().filter_map(|a| a.missed_host());
        let mut hosts: Vec<String> = missed.map(str::to_owned).collect();
        hosts.sort_by_cached_key(|host| crate::model::natural_order::natural(host));
        hosts.dedup();
        hosts
    }

    /// The line for what may be behind any of several switches.
    fn behind_any(&self, unheard: &[&str]) -> Vec<AlarmLine> {
        let hosts = self.missed_hosts();
        if hosts.len() < 2 {
            return self.symptoms.iter().copied().map(alone).collect();
        }
        let (missing, rest): (Vec<&Alarm>, Vec<_>) = self
            .symptoms
            .iter()
            .partition(|alarm| alarm.missed_host().is_some());
        let unheard: Vec<String> = unheard.iter().map(|s| (*s).to_owned()).collect();
        let text = format!(
            "{} hosts are not seen: {}; they may be behind switches that never answered ({})",
            hosts.len(),
            listed(&hosts),
            listed(&unheard)
        );
        let mut lines: Vec<AlarmLine> = rest.into_iter().map(alone).collect();
        let kind = AlarmKind::TextOnly {
            code: AlarmCode::HostUnfound,
            text,
        };
        let mut line = alone(&Alarm::other("network", kind));
        line.symptoms = missing.into_iter().cloned().collect();
        lines.push(line);
        lines
    }
}

impl AlarmLine {
    /// Its code.
    pub fn code(&self) -> AlarmCode {
        self.kind.code()
    }

    /// Its subject, and those of the alarms that follow from it.
    pub fn subjects(&self) -> impl Iterator<Item = &AlarmSubject> {
        let symptoms = self.symptoms.iter().map(|symptom| &symptom.subject);
        symptoms.chain([&self.subject])
    }

    /// How many alarms of its code about its subject are in one list of lines, and not in another.
    fn missing_from(&self, others: &[AlarmLine], lines: &[AlarmLine]) -> usize {
        let alike = lines
            .iter()
            .filter(|line| (line.code(), &line.subject) == (self.code(), &self.subject));
        alike.filter(|line| !others.contains(line)).count()
    }

    /// True if the alarm, or one that follows from it, is about the node or another thing of this name.
    pub fn concerns(&self, name: &str) -> bool {
        self.subjects().any(|subject| subject.name() == Some(name))
    }

    /// True if the alarm, or one that follows from it, is about the link of these nodes.
    pub fn concerns_link(&self, a: &str, b: &str) -> bool {
        let mut ends = self.subjects().map(AlarmSubject::nodes);
        ends.any(|ends| ends == [a, b] || ends == [b, a])
    }
}

/// The lines of before that have ended. One whose words alone are others now goes on: as many of its code
/// about its subject are there still.
pub fn ended<'a>(
    before: &'a [AlarmLine],
    now: &'a [AlarmLine],
) -> impl Iterator<Item = &'a AlarmLine> {
    let gone = before.iter().filter(|line| !now.contains(line));
    gone.filter(|line| line.missing_from(now, before) > line.missing_from(before, now))
}

impl Alarm {
    /// The host that it misses.
    fn missed_host(&self) -> Option<&str> {
        use AlarmCode::{HostHidden, HostKept, HostUnfound};
        let host = self.subject.node_name();
        host.filter(|_| [HostUnfound, HostHidden, HostKept].contains(&self.code()))
    }

    /// Its consequence for heddle's work, to be named with its cause.
    fn consequence(&self) -> Option<String> {
        let AlarmKind::NoTree { epoch, .. } = &self.kind else {
            return None;
        };
        let stays = stays(*epoch);
        Some(format!(
            "without it there is no complete tree to plan on; {stays}"
        ))
    }

    /// True if no other part of a summary names it.
    fn is_further_problem(&self) -> bool {
        let is_cause = matches!(self.origin(), AlarmOrigin::Cause(_));
        !is_cause && self.missed_host().is_none() && self.consequence().is_none()
    }
}

#[cfg(test)]
mod tests;
