//! What flows between hosts told about a place where no switch answers: the trunks behind an
//! unmanaged bridge.
//!
//! A measurement counts as long as the same hosts are behind the bridge. A host that comes, leaves
//! or moves to another managed port makes it stale: then the hosts hang on one bridge again, until
//! the place is measured anew.
use crate::{BitsPerSec, Bytes, Millis};
use serde::{Deserialize, Serialize};
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
}

/// A trunk that flows filled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlaceTrunk {
    /// The hosts on one side of it, those elsewhere included, sorted.
    pub side: Vec<String>,
    /// Its rate.
    pub rate: BitsPerSec,
    /// Its probability in thousandths.
    pub probability: u16,
    /// How often flows filled it, counted for each direction.
    pub filled: u32,
}

/// All measured places, and what measuring cost lately.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct MappedPlaces {
    /// The places. No two are about the same hosts.
    pub places: Vec<MappedPlace>,
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
        let is_other = |old: &MappedPlace| old.hosts.iter().all(|h| !place.hosts.contains(h));
        self.places.retain(is_other);
        self.places.push(place);
    }

    /// True if nothing was ever measured.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty() && self.spent.is_empty()
    }
}

impl MappedPlace {
    /// True if it is about just these hosts, which are sorted.
    pub fn is_about(&self, hosts: &[&str]) -> bool {
        self.hosts
            .iter()
            .map(String::as_str)
            .eq(hosts.iter().copied())
    }
}
