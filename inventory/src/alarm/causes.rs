//! Causes before symptoms: an alarm that follows from another one is summed up in that one's line.
//!
//! Source: own. Input: alarms of any type. Each says which cause it states, if any, and from which
//! causes it may follow. Guarantee: every alarm is in exactly one line, as its cause or as one of
//! its symptoms. Cost: one pass for causes and one for symptoms.
use crate::alarm::code::AlarmCode;
use crate::alarm::{Alarm, AlarmKind, AlarmSubject, HostNotFound, HostPlace};
use crate::observation::CredentialRefusal;
use crate::wording::short_list;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// A problem from which others follow.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum AlarmCause {
    /// Switches refuse a credential.
    Refusal(CredentialRefusal),
    /// This switch never answered.
    UnheardSwitch(String),
    /// This switch stopped answering.
    StaleSwitch(String),
    /// The shared directory does not answer.
    StalledDirectory,
}

/// The causes from which an alarm may follow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AlarmOrigin {
    /// None but itself.
    Own,
    /// The silence of one of these switches, or of each of them.
    Silence(Vec<String>),
    /// The silence of any switch that never answered: what is behind it is unknown.
    AnyUnheard,
}

/// How much an alarm asks of an operator.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum AlarmSeverity {
    /// Good to know.
    Info,
    /// A part of the network is not served, or is not certain.
    #[default]
    Warning,
    /// Nothing new can be published.
    Error,
}

impl fmt::Display for AlarmSeverity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            AlarmSeverity::Info => "info",
            AlarmSeverity::Warning => "warning",
            AlarmSeverity::Error => "error",
        })
    }
}

/// An alarm that knows how it depends on others.
pub trait CausalAlarm: fmt::Display {
    /// Its subject.
    fn subject(&self) -> AlarmSubject;
    /// Its code.
    fn code(&self) -> AlarmCode;
    /// The name of its subject.
    fn about(&self) -> String {
        self.subject().to_string()
    }
    /// Its own weight.
    fn severity(&self) -> AlarmSeverity {
        self.code().severity()
    }
    /// The cause that it states.
    fn states(&self) -> Option<AlarmCause>;
    /// The silent switch that it names.
    fn silent_switch(&self) -> Option<&str>;
    /// The causes from which it may follow.
    fn origin(&self) -> AlarmOrigin;
    /// The host that it misses.
    fn missed_host(&self) -> Option<&str>;
    /// Its consequence for heddle's work, to be named with its cause.
    fn consequence(&self) -> Option<String> {
        None
    }
}

/// A line for operators: an alarm that has no cause but itself, with all that follows from it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ToldAlarm {
    /// The subject.
    pub about: String,
    /// The nodes that the subject names.
    pub nodes: Vec<String>,
    /// The code of the cause.
    pub code: AlarmCode,
    /// The cause, and its symptoms summed up.
    pub text: String,
    /// The highest of all its alarms.
    pub severity: AlarmSeverity,
    /// Each alarm that it sums up.
    pub symptoms: Vec<AlarmSymptom>,
    /// The cause that it states.
    pub cause: Option<AlarmCause>,
}

/// An alarm that follows from another one, in its own words.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct AlarmSymptom {
    /// The subject.
    pub about: String,
    /// The nodes that the subject names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<String>,
    /// The code.
    #[serde(default)]
    pub code: AlarmCode,
    /// Object, place, problem, consequence, hint.
    pub text: String,
}

/// All alarms, with the symptoms in the lines of their causes. Both are in the order of their texts.
pub fn causes_first(alarms: &[&dyn CausalAlarm]) -> Vec<ToldAlarm> {
    let mut stories: BTreeMap<AlarmCause, AlarmStory<'_>> = BTreeMap::new();
    let mut cause_of: BTreeMap<&str, AlarmCause> = BTreeMap::new();
    let mut unheard = Vec::new();
    for &alarm in alarms {
        let Some(cause) = alarm.states() else {
            continue;
        };
        let silent = alarm.silent_switch();
        cause_of.extend(silent.map(|switch| (switch, cause.clone())));
        if !matches!(cause, AlarmCause::StaleSwitch(_)) {
            unheard.extend(silent);
        }
        stories.entry(cause).or_default().causes.push(alarm);
    }
    let mut lines = Vec::new();
    let mut anywhere = AlarmStory::default();
    let origin_of_all = unheard.first().map(|switch| cause_of[switch].clone());
    let one_origin = unheard
        .iter()
        .all(|s| origin_of_all.as_ref() == Some(&cause_of[s]));
    for &alarm in alarms.iter().filter(|alarm| alarm.states().is_none()) {
        let cause = match alarm.origin() {
            AlarmOrigin::Own => None,
            AlarmOrigin::Silence(of) => of.iter().find_map(|s| cause_of.get(s.as_str()).cloned()),
            AlarmOrigin::AnyUnheard if one_origin => origin_of_all.clone(),
            AlarmOrigin::AnyUnheard => {
                anywhere.symptoms.push(alarm);
                continue;
            }
        };
        match cause.and_then(|cause| stories.get_mut(&cause)) {
            Some(story) => story.symptoms.push(alarm),
            None => lines.push(alone(alarm)),
        }
    }
    lines.extend(stories.into_iter().map(|(cause, story)| story.told(&cause)));
    lines.extend(anywhere.behind_any(&unheard));
    lines.sort();
    lines.dedup();
    lines
}

/// Alarms that state one cause, and those that follow from it.
#[derive(Default)]
struct AlarmStory<'a> {
    causes: Vec<&'a dyn CausalAlarm>,
    symptoms: Vec<&'a dyn CausalAlarm>,
}

fn listed(names: &[String]) -> String {
    short_list(names.iter().map(String::as_str))
}

fn symptom(alarm: &dyn CausalAlarm) -> AlarmSymptom {
    AlarmSymptom {
        about: alarm.about(),
        nodes: alarm.subject().nodes(),
        code: alarm.code(),
        text: alarm.to_string(),
    }
}

fn alone(alarm: &dyn CausalAlarm) -> ToldAlarm {
    ToldAlarm {
        about: alarm.about(),
        nodes: alarm.subject().nodes(),
        code: alarm.code(),
        text: alarm.to_string(),
        severity: alarm.severity(),
        symptoms: Vec::new(),
        cause: None,
    }
}

impl AlarmStory<'_> {
    fn told(mut self, cause: &AlarmCause) -> ToldAlarm {
        let of = |alarms: &[&dyn CausalAlarm]| -> Vec<String> {
            alarms.iter().map(|alarm| alarm.about()).collect()
        };
        let causes = std::mem::take(&mut self.causes);
        let (nodes, code) = (causes[0].subject().nodes(), causes[0].code());
        let (about, mut text) = match (cause, causes.as_slice()) {
            (AlarmCause::Refusal(refusal), causes @ [_, _, ..]) => {
                let switches = of(causes);
                let text = format!(
                    "{} switches refuse {}: {}: {}; nothing new is known of them: correct the \
                     credential under snmp in the inventory, or on the switches",
                    switches.len(),
                    refusal.credential,
                    refusal.reason,
                    listed(&switches)
                );
                let about = switches.into_iter().next().unwrap_or_default();
                self.symptoms.splice(0..0, causes.iter().copied());
                (about, text)
            }
            (_, causes) => {
                let first = causes[0];
                self.symptoms.splice(0..0, causes[1..].iter().copied());
                (first.about(), first.to_string())
            }
        };
        let severity = self.symptoms.iter().map(|alarm| alarm.severity()).max();
        let severity = severity.unwrap_or_default().max(AlarmSeverity::Warning);
        text += &self.summary();
        ToldAlarm {
            about,
            nodes,
            code,
            text,
            severity,
            symptoms: self.symptoms.iter().map(|alarm| symptom(*alarm)).collect(),
            cause: Some(cause.clone()),
        }
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
        let counted = |a: &&&dyn CausalAlarm| {
            a.missed_host().is_none() && a.states().is_none() && a.consequence().is_none()
        };
        match self.symptoms.iter().filter(counted).count() {
            0 => {}
            1 => summary += "; 1 more problem follows from it",
            n => summary += &format!("; {n} more problems follow from it"),
        }
        summary
    }

    fn missed_hosts(&self) -> Vec<String> {
        let hosts = self.symptoms.iter().filter_map(|a| a.missed_host());
        let mut hosts: Vec<String> = hosts.map(str::to_owned).collect();
        hosts.sort_by_cached_key(|host| crate::natural_order::natural(host));
        hosts.dedup();
        hosts
    }

    /// The line for what may be behind any of several switches.
    fn behind_any(&self, unheard: &[&str]) -> Vec<ToldAlarm> {
        let hosts = self.missed_hosts();
        if hosts.len() < 2 {
            return self.symptoms.iter().map(|alarm| alone(*alarm)).collect();
        }
        let (missing, rest): (Vec<&dyn CausalAlarm>, Vec<_>) = self
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
        let mut lines: Vec<ToldAlarm> = rest.into_iter().map(alone).collect();
        lines.push(ToldAlarm {
            about: AlarmSubject::Network.to_string(),
            nodes: Vec::new(),
            code: AlarmCode::HostUnfound,
            text,
            severity: AlarmSeverity::Warning,
            symptoms: missing.into_iter().map(symptom).collect(),
            cause: None,
        });
        lines
    }
}

impl CausalAlarm for Alarm {
    fn subject(&self) -> AlarmSubject {
        self.subject.clone()
    }

    fn code(&self) -> AlarmCode {
        Alarm::code(self)
    }

    fn states(&self) -> Option<AlarmCause> {
        let switch = || self.subject.to_string();
        match &self.kind {
            AlarmKind::SwitchStale { refused, .. } | AlarmKind::SwitchUnheard { refused, .. }
                if refused.is_some() =>
            {
                refused.clone().map(AlarmCause::Refusal)
            }
            AlarmKind::SwitchStale { .. } => Some(AlarmCause::StaleSwitch(switch())),
            AlarmKind::SwitchUnheard { .. } => Some(AlarmCause::UnheardSwitch(switch())),
            _ => None,
        }
    }

    fn silent_switch(&self) -> Option<&str> {
        match (&self.kind, &self.subject) {
            (
                AlarmKind::SwitchStale { .. } | AlarmKind::SwitchUnheard { .. },
                AlarmSubject::Node(switch),
            ) => Some(switch),
            _ => None,
        }
    }

    fn origin(&self) -> AlarmOrigin {
        match &self.kind {
            AlarmKind::TableFailed { .. } => AlarmOrigin::Silence(vec![self.subject.to_string()]),
            AlarmKind::HostHidden(switches) => AlarmOrigin::Silence(switches.clone()),
            AlarmKind::HostAmbiguous(places) => {
                let behind = places.iter().filter_map(|place| match place {
                    HostPlace::Behind(switch) => Some(switch.clone()),
                    HostPlace::At(_) => None,
                });
                AlarmOrigin::Silence(behind.collect())
            }
            AlarmKind::HostUnfound(
                HostNotFound::NoName | HostNotFound::Unlearned | HostNotFound::TrunksOnly(_),
            )
            | AlarmKind::BridgeUnknown(_)
            | AlarmKind::RootUnwatched(_) => AlarmOrigin::AnyUnheard,
            _ => AlarmOrigin::Own,
        }
    }

    fn missed_host(&self) -> Option<&str> {
        match (&self.kind, &self.subject) {
            (AlarmKind::HostUnfound(_) | AlarmKind::HostHidden(_), AlarmSubject::Node(host)) => {
                Some(host)
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
