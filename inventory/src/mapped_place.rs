//! What flows between hosts told about a place where no switch answers: the trunks behind an
//! unmanaged bridge.
//!
//! A measurement counts as long as the same hosts are behind the bridge. A host that comes, leaves
//! or moves to another managed port makes it stale: then the hosts hang on one bridge again, until
//! the place is measured anew.
use crate::{BitsPerSec, Bytes, Millis};
use serde::{Deserialize, Serialize};

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

impl MappedPlace {
    /// True if it is about just these hosts, which are sorted.
    pub fn is_about(&self, hosts: &[&str]) -> bool {
        self.hosts
            .iter()
            .map(String::as_str)
            .eq(hosts.iter().copied())
    }
}
