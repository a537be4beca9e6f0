//! The measurement under way, those to come, and those that were tried.
use super::target::{MappingTarget, TargetSubject};
use api::mapping::{MappingProgress, MappingStatus};
use inventory::Millis;
use inventory::mapped_place::CardLosses;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};

/// The measurement under way, and those to come.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct MappingCourse {
    pub(super) waiting: VecDeque<MappingTarget>,
    pub(super) running: Option<RunningMapping>,
    pub(super) ticket: u64,
    /// When places with these hosts were measured unasked, and it failed.
    pub(super) tried: Vec<(Vec<String>, Millis)>,
    /// When places with these hosts were measured in the last day.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) measured: Vec<(Vec<String>, Millis)>,
    /// When doubtful hosts were.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) tried_hosts: BTreeMap<String, Millis>,
    /// The hosts that were in doubt at the last look.
    pub(super) doubted: Vec<String>,
    /// The next look for places to measure unasked.
    pub(super) look: Option<Millis>,
    pub(super) status: MappingStatus,
}

/// A measurement under way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct RunningMapping {
    pub(super) ticket: u64,
    pub(super) target: MappingTarget,
    pub(super) progress: MappingProgress,
    pub(super) link_losses: BTreeMap<String, CardLosses>,
    /// The switches that announced themselves to its hosts when it began.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) switches: BTreeMap<String, String>,
}

impl MappingCourse {
    /// True if nothing was ever ordered.
    pub(crate) fn is_empty(&self) -> bool {
        *self == MappingCourse::default()
    }

    pub(super) fn is_idle(&self) -> bool {
        self.running.is_none() && self.waiting.is_empty()
    }

    pub(super) fn try_unasked(&mut self, target: &MappingTarget, now: Millis) {
        match &target.subject {
            TargetSubject::Bridge(_) | TargetSubject::Ways => {
                self.tried.push((target.hosts.clone(), now));
            }
            TargetSubject::Hosts(_) => {
                let hosts = target.hosts.iter().map(|host| (host.clone(), now));
                self.tried_hosts.extend(hosts);
            }
        }
    }

    pub(super) fn note_measured(&mut self, target: &MappingTarget, now: Millis) {
        if let TargetSubject::Bridge(_) = target.subject {
            self.forget_try(target);
            self.measured.push((target.hosts.clone(), now));
        }
    }

    pub(super) fn forget_try(&mut self, target: &MappingTarget) {
        self.tried.retain(|(hosts, _)| *hosts != target.hosts);
    }

    pub(super) fn forget_results(&mut self) {
        (self.status.results, self.status.failures) = (Vec::new(), 0);
    }

    pub(super) fn fail(&mut self, line: String) {
        self.status.failures += 1;
        self.status.results.push(line);
    }
}
