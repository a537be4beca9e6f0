//! Flap damping: a link that goes down again and again does not make an epoch each time. A flapping
//! link, or a switch that answers now and then, does not make a message each time.
//!
//! Source: RFC 2439 (BGP route flap damping), 4.2 to 4.5, on links instead of routes. Each loss of
//! a link adds a penalty, which decays by half in [`HALF_LIFE`]. A link whose penalty passes
//! [`HOLD_ABOVE`] is held as it is published until the penalty falls below [`FREE_BELOW`]; later it
//! is forgotten. The ceiling bounds the time that this takes. The claims of an agent (ranks,
//! address) and the cluster of a host are damped in the same way. Deviations: a held link does not
//! count as lost but stays as published, because the schedule of the last epoch stays correct on
//! any network, only slower. A change of rate, as of an aggregate that loses a member, counts half.
//! A switch that falls silent counts like a lost link.
use inventory::alarm::arguments::FlapCount;
use inventory::alarm::{Alarm, AlarmKind, AlarmSubject};
use inventory::difference::TopologyDifference;
use inventory::topology::{Link, NodeKind};
use inventory::units::milliseconds;
use inventory::{BitsPerSec, Millis, Topology, end_name};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

/// Penalty for a lost link, and for a changed rate.
const LOST: f64 = 1_000.0;
const CHANGED: f64 = 500.0;
/// A part is held above this: after four losses in quick succession, or seven with a minute
/// between.
const HOLD_ABOVE: f64 = 3_000.0;
/// A held part is released below this.
const FREE_BELOW: f64 = 1_500.0;
/// No penalty grows beyond this, so three half-lives of calm are always enough.
const CEILING: f64 = 12_000.0;
const HALF_LIFE: Duration = Duration::from_secs(120);
/// Penalties below this are forgotten.
const FORGET_BELOW: f64 = 250.0;
/// One loss can show in several inferences, because tables are read one after the other.
const ONCE: Duration = Duration::from_secs(1);

/// A part of the network that may flap.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
enum DampedPart {
    /// The link between two switches.
    Trunk(String, String),
    /// The link of a switch to a host.
    // Journals of earlier releases have this name, and are replayed.
    #[serde(rename = "Seat")]
    Attachment(String, String),
    /// A switch's answers.
    Answers(String),
    /// The ranks and the address that a host's agent reports.
    Claim(String),
    /// The cluster of a host.
    Cluster(String),
}

/// The losses of one part.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct FlapRecord {
    part: DampedPart,
    /// The penalty at the last loss.
    penalty: f64,
    last: Millis,
    first: Millis,
    times: u32,
    /// The figures of its alarm, while it is held.
    #[serde(rename = "told")]
    reported: Option<ReportedFlap>,
}

/// Figures of an alarm. They are renewed when they doubled or ran out, and not with each loss: a
/// message should not flap.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct ReportedFlap {
    times: u32,
    #[serde(rename = "within_ms", with = "milliseconds")]
    within: Duration,
    until: Millis,
}

/// The parts that were lost lately, by their names for operators.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct FlapDamping(BTreeMap<String, FlapRecord>);

impl FlapRecord {
    fn penalty(&self, now: Millis) -> f64 {
        self.penalty * (-half_lives(now.since(self.last))).exp2()
    }

    /// The time at which the penalty falls to this value without further losses.
    fn below(&self, penalty: f64) -> Millis {
        let half_lives = (self.penalty / penalty).log2().max(0.0);
        self.last.after(Duration::from_millis(
            ((half_lives * HALF_LIFE.as_millis() as f64).ceil() as u64).saturating_add(1),
        ))
    }

    fn add(&mut self, now: Millis, penalty: f64) {
        if self.times > 0 && now.since(self.last) < ONCE {
            return;
        }
        self.penalty = (self.penalty(now) + penalty).min(CEILING);
        self.last = now;
        self.times = self.times.saturating_add(1);
        if self.reported.is_some() || self.penalty > HOLD_ABOVE {
            self.tell(now);
        }
    }

    fn tell(&mut self, now: Millis) {
        let is_due =
            |flap: ReportedFlap| self.times >= flap.times.saturating_mul(2) || now >= flap.until;
        if self.reported.is_none_or(is_due) {
            let until = self.below(FREE_BELOW);
            self.reported = Some(ReportedFlap {
                times: self.times,
                within: self.last.since(self.first),
                until,
            });
        }
    }
}

impl FlapDamping {
    /// Compares two successive inferences. A link is lost if it carried frames and does not any more.
    pub(crate) fn compare(&mut self, now: Millis, difference: &TopologyDifference) {
        let TopologyDifference { before, after } = difference;
        let (then, here) = (carrying(before), carrying(after));
        for (name, (link, rate)) in then {
            // A link that comes back adds nothing: it was counted when it went.
            let penalty = match here.get(&name) {
                None => LOST,
                Some((_, other)) if *other != rate => CHANGED,
                Some(_) => continue,
            };
            let host = before.kind(&link.b) == Some(NodeKind::Host);
            let part = if host {
                DampedPart::Attachment
            } else {
                DampedPart::Trunk
            };
            self.lose(
                now,
                format!("link {name}"),
                part(link.a.clone(), link.b.clone()),
                penalty,
            );
        }
        let apart: HashMap<&str, &str> = clusters(after).collect();
        for (host, cluster) in clusters(before) {
            if apart.get(host).is_some_and(|other| *other != cluster) {
                self.lose(
                    now,
                    format!("cluster of host \"{host}\""),
                    DampedPart::Cluster(host.to_owned()),
                    LOST,
                );
            }
        }
    }

    /// Notes that a switch has not answered since a time. Its silence counts once.
    pub(crate) fn fell_silent(&mut self, now: Millis, switch: &str, since: Millis) {
        let name = format!("switch \"{switch}\"");
        let is_counted = self.0.get(&name).is_some_and(|record| record.last >= since);
        if !is_counted {
            self.lose(now, name, DampedPart::Answers(switch.to_owned()), LOST);
        }
    }

    /// Notes that an agent changed its claims about its host.
    pub(crate) fn claim_changed(&mut self, now: Millis, host: String) {
        self.lose(
            now,
            format!("host \"{host}\""),
            DampedPart::Claim(host),
            LOST,
        );
    }

    fn lose(&mut self, now: Millis, name: String, part: DampedPart, penalty: f64) {
        let new = FlapRecord {
            part,
            penalty: 0.0,
            last: now,
            first: now,
            times: 0,
            reported: None,
        };
        self.0.entry(name).or_insert(new).add(now, penalty);
    }

    /// Releases parts that were calm for long enough, and forgets them later.
    pub(crate) fn release_calm(&mut self, now: Millis) {
        for flapping in self.0.values_mut().filter(|f| f.reported.is_some()) {
            if now >= flapping.below(FREE_BELOW) {
                flapping.reported = None;
            } else {
                flapping.tell(now);
            }
        }
        self.0.retain(|_, f| now < f.below(FORGET_BELOW));
    }

    /// The times at which [`FlapDamping::release_calm`] may release a part.
    pub(crate) fn deadlines(&self) -> impl Iterator<Item = Millis> + '_ {
        self.held().map(|(_, f, _)| f.below(FREE_BELOW))
    }

    /// Hosts whose place is held.
    pub(crate) fn hosts(&self) -> BTreeSet<&str> {
        let held = self.held().filter_map(|(_, f, _)| match &f.part {
            DampedPart::Attachment(_, host) => Some(host.as_str()),
            _ => None,
        });
        held.collect()
    }

    /// Hosts whose cluster is held.
    pub(crate) fn clustered(&self) -> impl Iterator<Item = &str> {
        self.held().filter_map(|(_, f, _)| {
            if let DampedPart::Cluster(host) = &f.part {
                Some(host.as_str())
            } else {
                None
            }
        })
    }

    /// Hosts whose agent's claims are held.
    pub(crate) fn held_claims(&self) -> impl Iterator<Item = &str> {
        self.held().filter_map(|(_, f, _)| {
            if let DampedPart::Claim(host) = &f.part {
                Some(host.as_str())
            } else {
                None
            }
        })
    }

    /// Returns whether a part is held as it is published.
    pub(crate) fn holds_anything(&self) -> bool {
        self.held()
            .any(|(_, f, _)| !matches!(f.part, DampedPart::Answers(_)))
    }

    /// Returns whether a switch answers on and off.
    pub(crate) fn holds_answers(&self, switch: &str) -> bool {
        self.held()
            .any(|(_, f, _)| matches!(&f.part, DampedPart::Answers(of) if of == switch))
    }

    /// Returns whether a link between switches is held.
    pub(crate) fn holds_trunks(&self) -> bool {
        self.held()
            .any(|(_, f, _)| matches!(f.part, DampedPart::Trunk(..)))
    }

    fn held(&self) -> impl Iterator<Item = (&String, &FlapRecord, ReportedFlap)> {
        self.0
            .iter()
            .filter_map(|(name, f)| Some((name, f, f.reported?)))
    }

    /// Returns whether an alarm is about one more loss of a part that already has a flap alarm.
    pub(crate) fn covers(&self, alarm: &Alarm) -> bool {
        self.held().any(|(_, f, _)| match (&f.part, &alarm.kind) {
            (
                DampedPart::Attachment(_, host),
                AlarmKind::HostUnfound { .. }
                | AlarmKind::HostKept {
                    elsewhere: false, ..
                },
            ) => alarm.subject.is_node(host),
            (
                DampedPart::Answers(switch),
                AlarmKind::SwitchStale { .. } | AlarmKind::SwitchRefuses { answered: true, .. },
            ) => alarm.subject.is_node(switch),
            _ => false,
        })
    }

    /// The alarms of the held parts.
    pub(crate) fn alarms(&self, epoch: Option<u64>) -> Vec<Alarm> {
        let alarms = self.held().filter_map(|(name, f, reported)| {
            let flaps = FlapCount {
                name: name.clone(),
                times: reported.times,
                within: reported.within,
                until: reported.until,
            };
            let subject = match &f.part {
                DampedPart::Trunk(a, b) | DampedPart::Attachment(a, b) => {
                    AlarmSubject::between(a, b)
                }
                DampedPart::Claim(name) | DampedPart::Cluster(name) | DampedPart::Answers(name) => {
                    AlarmSubject::node(name)
                }
            };
            let kind = match (&f.part, epoch) {
                (DampedPart::Answers(_), _) => AlarmKind::SwitchFlaps { flaps },
                (DampedPart::Trunk(..), Some(epoch)) => AlarmKind::LinkFlaps { flaps, epoch },
                (DampedPart::Attachment(..), Some(epoch)) => AlarmKind::HostFlaps { flaps, epoch },
                (DampedPart::Claim(_), Some(epoch)) => AlarmKind::AgentFlaps { flaps, epoch },
                (DampedPart::Cluster(_), Some(epoch)) => AlarmKind::ClusterFlaps { flaps, epoch },
                (_, None) => return None,
            };
            Some(Alarm { subject, kind })
        });
        alarms.collect()
    }
}

/// The number of half-lives in a time.
fn half_lives(span: Duration) -> f64 {
    span.as_millis() as f64 / HALF_LIFE.as_millis() as f64
}

/// Hosts with their clusters.
fn clusters(topology: &Topology) -> impl Iterator<Item = (&str, &str)> {
    topology
        .clusters
        .iter()
        .flat_map(|c| c.hosts.iter().map(|host| (host.as_str(), c.name.as_str())))
}

/// Links that carry frames, by name, with their rates. The name leaves out a host's own port,
/// because the evidence for it comes and goes.
fn carrying(topology: &Topology) -> BTreeMap<String, (&Link, BitsPerSec)> {
    let kinds = topology.kinds();
    topology
        .links
        .iter()
        .filter(|l| l.carries_frames())
        .map(|l| (cable_name(l, &kinds), (l, l.rate_bps)))
        .collect()
}

fn cable_name(l: &Link, kinds: &HashMap<&str, NodeKind>) -> String {
    let host = kinds.get(l.b.as_str()) == Some(&NodeKind::Host);
    let (a, b) = (
        end_name(&l.a, &l.a_port),
        end_name(&l.b, if host { "" } else { &l.b_port }),
    );
    if host || a < b {
        format!("{a} - {b}")
    } else {
        format!("{b} - {a}")
    }
}

#[cfg(test)]
mod tests;
