//! The findings of flows between hosts: the trunks behind an unmanaged bridge, and the switches of
//! hosts whose place no protocol decides.
//!
//! A measurement counts as long as the same hosts are behind the bridge. A host that comes, leaves
//! or moves to another managed port makes it stale: then the hosts hang on one bridge again, until
//! the place is measured anew. The measured switch of a host counts as long as protocols leave the
//! same choice. A host whose link was lost may be on another cable, which no switch tells: the
//! measurement stands, with an alarm. A host that hears another switch than before is there, and the
//! measurement stands for the others.
use crate::model::host_report::HostReport;
use crate::model::stages::flows::MappedWays;
use crate::{BitsPerSec, Bytes, Millis};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// A measured place.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct MappedPlace {
    /// The name of the unmanaged bridge that the hosts hung on.
    pub bridge: String,
    /// The hosts behind it, all of which took part, sorted.
    pub hosts: Vec<String>,
    /// Hosts elsewhere that took part, so that the way into the place shows. No side of a trunk
    /// holds the first of them.
    pub beside: Vec<String>,
    /// The end of the measurement.
    pub at: Millis,
    /// The rounds of flows.
    pub rounds: u32,
    /// The bytes that they moved.
    pub moved: Bytes,
    /// The trunks that flows filled and that are believed.
    pub trunks: Vec<PlaceTrunk>,
    /// The rates that flows reached on the cables of its hosts.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub rates: BTreeMap<String, BitsPerSec>,
    /// How often the links of its hosts were lost when the measurement began, as far as known.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub link_losses: BTreeMap<String, CardLosses>,
    /// The switches that announced themselves to its hosts when the measurement began.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub switches: BTreeMap<String, String>,
}

/// How often a host's card lost its link since the system started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CardLosses {
    pub card: String,
    /// How often.
    pub times: u32,
}

impl CardLosses {
    /// True if the card lost its link since, or the system was started anew.
    fn differ(&self, report: Option<&HostReport>) -> bool {
        let now = report.and_then(|report| report.link_losses.get(&self.card));
        now.is_some_and(|now| *now != self.times)
    }
}

/// A trunk that flows filled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlaceTrunk {
    /// The hosts on one side of it, those elsewhere included, sorted.
    pub side: Vec<String>,
    pub rate: BitsPerSec,
    /// Its probability in thousandths.
    pub probability: u16,
    /// How often flows filled it, counted for each direction.
    pub filled: u32,
}

/// The switch of a host whose place no protocol decides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MappedAttachment {
    pub host: String,
    /// The switch or bridge that it is on.
    pub on: String,
    /// The nodes between which protocols left the choice, sorted; empty if no switch had seen it.
    pub among: Vec<String>,
    /// The rate of its cable.
    pub rate: BitsPerSec,
    /// The probability in thousandths.
    pub probability: u16,
    /// The hosts that took part.
    pub hosts: u32,
    /// The rounds of flows.
    pub rounds: u32,
    /// The bytes that they moved.
    pub moved: Bytes,
    /// The end of the measurement.
    pub at: Millis,
    /// How often its link was lost when the measurement began, as far as known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link_losses: Option<CardLosses>,
}

/// All that was measured, and what measuring cost lately.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct MappedPlaces {
    /// The places. No two are about the same hosts.
    pub places: Vec<MappedPlace>,
    /// The switches of hosts. No two are about the same host.
    // Files keep the name that this field had first.
    #[serde(rename = "seats", default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<MappedAttachment>,
    /// The ways of flows between hosts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ways: Option<MappedWays>,
    /// The end of each measurement of the last 24 hours, and the bytes that it moved.
    pub spent: Vec<(Millis, Bytes)>,
}

impl MappedPlaces {
    /// The time for which what was spent counts.
    const DAY: Duration = Duration::from_secs(86_400);

    /// The bytes that measurements moved in the 24 hours before.
    pub fn moved_lately(&self, now: Millis) -> Bytes {
        let lately = self
            .spent
            .iter()
            .filter(|(at, _)| now.since(*at) < Self::DAY);
        Bytes(lately.fold(0, |sum, (_, moved)| sum.saturating_add(moved.0)))
    }

    /// Notes what a measurement moved.
    pub fn spend(&mut self, now: Millis, moved: Bytes) {
        self.spent.retain(|(at, _)| now.since(*at) < Self::DAY);
        self.spent.push((now, moved));
    }

    /// Takes a measurement. It replaces those about any of its hosts.
    pub fn take(&mut self, place: MappedPlace) {
        self.places
            .retain(|old| old.hosts.iter().all(|h| !place.hosts.contains(h)));
        self.places.push(place);
    }

    /// Takes the switch of a host. It replaces what was known of the host.
    pub fn take_attachment(&mut self, attachment: MappedAttachment) {
        self.attachments.retain(|old| old.host != attachment.host);
        self.attachments.push(attachment);
    }

    /// True if the host's switch was measured, and its link was lost since.
    pub fn may_have_left(&self, host: &str, report: Option<&HostReport>) -> bool {
        let found = self.attachments.iter().find(|found| found.host == host);
        found.is_some_and(|found| found.may_be_left(report))
    }

    /// True if nothing was ever measured.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty() && self.attachments.is_empty() && self.spent.is_empty()
    }
}

impl MappedPlace {
    /// The hosts whose link was lost since: they may be on another cable of the place.
    pub fn moved<'a>(&self, report: impl Fn(&str) -> Option<&'a HostReport>) -> Vec<&str> {
        let lost = self
            .link_losses
            .iter()
            .filter(|(host, before)| before.differ(report(host.as_str())));
        lost.map(|(host, _)| host.as_str()).collect()
    }

    /// True if the host, which reports this, is elsewhere now: another switch announced itself when it
    /// was measured, or none, and its link was lost since. `on` is the switch that it hears now.
    pub fn has_left(&self, host: &str, on: Option<&str>, report: Option<&HostReport>) -> bool {
        match (self.switches.get(host), on) {
            (Some(before), now) => now != Some(before.as_str()),
            (None, None) => false,
            (None, Some(_)) => {
                let before = self.link_losses.get(host);
                before.is_some_and(|before| before.differ(report))
            }
        }
    }

    /// True if it is about these hosts, and perhaps about others.
    pub fn covers(&self, hosts: &[&str]) -> bool {
        hosts
            .iter()
            .all(|host| self.hosts.iter().any(|own| own == host))
    }

    /// True if it is about just these hosts, which are sorted.
    pub fn is_about(&self, hosts: &[&str]) -> bool {
        self.hosts
            .iter()
            .map(String::as_str)
            .eq(hosts.iter().copied())
    }
}

impl MappedAttachment {
    /// True if the link of the host, which reports this, was lost since.
    pub fn may_be_left(&self, report: Option<&HostReport>) -> bool {
        let before = self.link_losses.as_ref();
        before.is_some_and(|before| before.differ(report))
    }
}
