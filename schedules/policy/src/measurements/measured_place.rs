//! The hosts and cables of a measurement, so that a later tree can be compared with them.
use super::nanoseconds;
use crate::decision_table::{Collective, CollectiveTraffic};
use inventory::Bytes;
use inventory::tree::{Tree, TreeError};
use schedules::bound;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fmt::Write as _;

/// More ranks than anybody plans for.
const MOST_RANKS: usize = 1 << 16;
/// The block of [`PayloadBounds`]: large enough that nanoseconds are exact.
const BLOCK: Bytes = Bytes(1 << 20);

/// Hosts, and the part of the tree between them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MeasuredPlace {
    /// The host of each rank, by its name in the topology.
    pub hosts: Vec<String>,
    /// A digest of the hosts that each cable separates, and of its rate. It is the same for two
    /// trees that schedules cannot tell apart, whatever the names of their switches.
    pub shape: String,
    /// Lower bounds of the calls' times.
    pub bounds: PayloadBounds,
}

/// Nanoseconds of the payload bound with blocks of 1 MiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PayloadBounds {
    /// The bound of an all-to-all.
    pub alltoall_ns: u64,
    /// The bound of an allgather.
    pub allgather_ns: u64,
}

impl PayloadBounds {
    /// Seconds per octet of a block at the bound.
    pub fn seconds_per_octet(&self, collective: Collective) -> f64 {
        let ns = match collective.traffic() {
            CollectiveTraffic::Exchange => self.alltoall_ns,
            // The others are not measured.
            _ => self.allgather_ns,
        };
        ns as f64 / 1e9 / BLOCK.0 as f64
    }

    /// True if both are the same up to rounding.
    fn are(&self, other: &PayloadBounds) -> bool {
        let alltoalls = (self.alltoall_ns, other.alltoall_ns);
        let allgathers = (self.allgather_ns, other.allgather_ns);
        let mut bounds = [alltoalls, allgathers].into_iter();
        bounds.all(|(a, b)| a.abs_diff(b) <= a.max(b) / 1000)
    }
}

impl MeasuredPlace {
    /// The place of ranks on these hosts of a tree. Domains after hosts' names are ignored, because
    /// MPI may add one.
    ///
    /// # Errors
    /// [`TreeError::Unknown`] for a host that is not in the tree.
    pub fn of<S: AsRef<str>>(tree: &Tree, ranks: &[S]) -> Result<MeasuredPlace, TreeError> {
        let names = ranks.iter().map(|name| {
            let name = name.as_ref();
            let mut names = [Some(name), name.split('.').next()].into_iter().flatten();
            let found = names.find_map(|name| tree.host(name));
            let host = found.ok_or_else(|| TreeError::Unknown(name.to_owned()))?;
            Ok(tree.name(host).to_owned())
        });
        let hosts = names.collect::<Result<Vec<_>, _>>()?;
        let mut distinct = hosts.clone();
        distinct.sort_unstable();
        distinct.dedup();
        let between = tree.restrict(&distinct)?;
        let ranks: Vec<u32> = distinct
            .iter()
            .map(|host| hosts.iter().filter(|h| *h == host).count() as u32)
            .collect();
        let bounds = PayloadBounds {
            alltoall_ns: nanoseconds(bound::alltoall_seconds(&between, &ranks, BLOCK)),
            allgather_ns: nanoseconds(bound::allgather_seconds(&between, &ranks, BLOCK)),
        };
        Ok(MeasuredPlace {
            shape: shape(&between, &ranks),
            hosts,
            bounds,
        })
    }

    /// True if the other place has the same hosts, ranks and cables.
    pub fn is_same(&self, other: &MeasuredPlace) -> bool {
        self.shape == other.shape
    }

    /// True if the other place has the same hosts, and other cables that change no bound.
    pub fn has_same_bounds(&self, other: &MeasuredPlace) -> bool {
        let [own, others] = [self, other].map(|place| {
            let mut hosts = place.hosts.clone();
            hosts.sort_unstable();
            hosts
        });
        self.bounds.are(&other.bounds) && own == others
    }

    pub(super) fn check(&self) -> Result<(), String> {
        if self.hosts.len() > MOST_RANKS {
            Err(format!("more than {MOST_RANKS} ranks"))
        } else {
            Ok(())
        }
    }
}

/// A digest of the shape, see [`MeasuredPlace::shape`]. Hosts of the tree are in alphabetical
/// order.
fn shape(tree: &Tree, ranks: &[u32]) -> String {
    let mut below: Vec<Vec<u32>> = (0..tree.nodes())
        .map(|node| {
            if tree.is_host(node) {
                vec![node]
            } else {
                Vec::new()
            }
        })
        .collect();
    let mut cables: Vec<(Vec<u32>, u64)> = Vec::new();
    for &node in tree.top_down().iter().rev() {
        let Some(parent) = tree.parent(node) else {
            continue;
        };
        let mut hosts = below[node as usize].clone();
        hosts.sort_unstable();
        below[parent as usize].extend_from_slice(&hosts);
        // Take the side without the first host, so that the choice of the tree's root does not
        // matter.
        let side = if hosts.first() == Some(&0) {
            (0..tree.hosts()).filter(|h| !hosts.contains(h)).collect()
        } else {
            hosts
        };
        cables.push((side, tree.rate(node).0));
    }
    // Of several cables in a row, only the slowest one counts.
    cables.sort_unstable();
    cables.dedup_by(|later, first| later.0 == first.0);
    let mut text = String::new();
    for (name, ranks) in tree.host_names().iter().zip(ranks) {
        let _ = writeln!(text, "{name} {ranks}");
    }
    for (side, rate) in cables.iter().filter(|(side, _)| !side.is_empty()) {
        let _ = writeln!(text, "{rate} {side:?}");
    }
    Sha256::digest(text)
        .iter()
        .fold("sha256:".to_owned(), |hex, byte| {
            hex + &format!("{byte:02x}")
        })
}
