//! The single changes that help most.
use super::{CablingChange, outlook, ranks_of};
use crate::calibration::CallCalibration;
use inventory::topology::LinkState;
use inventory::tree::TreeError;
use inventory::{BitsPerSec, Bytes, TopologyFile};
use schedules::bound::alltoall_seconds;
use std::collections::{BTreeMap, BTreeSet};

/// New cables are tried between this many switches, those with the most ranks: each pair is a
/// candidate.
const SWITCHES: usize = 100;
/// A gain below this share does not count.
const GAIN: f64 = 0.01;

/// A change and its effect.
#[derive(Debug, Clone, PartialEq)]
pub struct CablingAdvice {
    pub change: CablingChange,
    /// Lower bound of the all-to-all after it, seconds.
    pub alltoall: f64,
    /// Links that are blocked after it.
    pub blocked: Vec<(String, String)>,
}

/// Every single change that lets the all-to-all be faster by a hundredth or more, best first. Of
/// equal changes the one with less work comes first. The candidates are: every root bridge, every
/// host on every other switch (one of hosts that are alike), a cable at the fastest trunk's rate
/// between any two of the hundred switches with the most ranks, and every link at the next higher
/// rate. Each candidate takes one bound, O(nodes): seconds for a hundred switches.
///
/// # Errors
/// [`TreeError`] if the file's links are not a tree before the change.
pub fn advice(file: &TopologyFile, block: Bytes) -> Result<Vec<CablingAdvice>, TreeError> {
    let now = outlook(CallCalibration::shipped(), file, block)?.alltoall;
    let mut found: Vec<CablingAdvice> = candidates(file)
        .into_iter()
        .filter_map(|change| weigh(file, change, block))
        .collect();
    found.retain(|a| a.alltoall < now * (1.0 - GAIN));
    found.sort_by(|x, y| {
        x.alltoall
            .total_cmp(&y.alltoall)
            .then_with(|| x.change.cmp(&y.change))
    });
    Ok(found)
}

/// `None` if the change is impossible or does not leave a tree.
fn weigh(file: &TopologyFile, change: CablingChange, block: Bytes) -> Option<CablingAdvice> {
    let after = change.apply(file).ok()?;
    let tree = after.tree().ok()?;
    let alltoall = alltoall_seconds(&tree, &ranks_of(&tree), block);
    let blocked = after
        .links
        .into_iter()
        .filter(|l| l.state == Some(LinkState::Blocked))
        .map(|l| (l.a, l.b))
        .collect();
    Some(CablingAdvice {
        change,
        alltoall,
        blocked,
    })
}

fn candidates(file: &TopologyFile) -> BTreeSet<CablingChange> {
    let mut ranks: BTreeMap<&str, u64> = file.switches.iter().map(|s| (s.as_str(), 0)).collect();
    // Hosts that differ only in their name gain the same.
    let mut kinds = BTreeMap::new();
    for (name, host) in &file.hosts {
        *ranks.entry(&host.switch).or_default() += u64::from(host.ranks);
        kinds
            .entry((&host.switch, host.rate, host.ranks))
            .or_insert(name);
    }
    let mut candidates: BTreeSet<CablingChange> = file
        .switches
        .iter()
        .skip(1)
        .cloned()
        .map(CablingChange::RootBridge)
        .collect();
    for ((at, ..), host) in kinds {
        candidates.extend(file.switches.iter().filter(|s| *s != at).map(|switch| {
            CablingChange::Move {
                host: host.clone(),
                switch: switch.clone(),
            }
        }));
    }
    candidates.extend(file.links.iter().map(|l| CablingChange::Link {
        a: l.a.clone(),
        b: l.b.clone(),
        rate: next_rate(l.rate),
    }));
    candidates.extend(cables(file, &ranks));
    candidates
}

/// New cables between switches without one, at the rate of the fastest trunk.
fn cables(file: &TopologyFile, ranks: &BTreeMap<&str, u64>) -> Vec<CablingChange> {
    let Some(rate) = file.links.iter().map(|l| l.rate).max() else {
        return Vec::new();
    };
    let joined: BTreeSet<(&str, &str)> = file
        .links
        .iter()
        .flat_map(|l| [(l.a.as_str(), l.b.as_str()), (l.b.as_str(), l.a.as_str())])
        .collect();
    let mut switches: Vec<&str> = file.switches.iter().map(String::as_str).collect();
    switches.sort_by_key(|s| std::cmp::Reverse(ranks[s]));
    switches.truncate(SWITCHES);
    let pairs = switches
        .iter()
        .enumerate()
        .flat_map(|(i, a)| switches[i + 1..].iter().map(move |b| (*a, *b)));
    pairs
        .filter(|pair| !joined.contains(pair))
        .map(|(a, b)| CablingChange::Link {
            a: a.to_owned(),
            b: b.to_owned(),
            rate,
        })
        .collect()
}

/// The next higher rate of Ethernet (IEEE 802.3-2022, clause 1.1); twice the rate above the highest
/// and below the lowest of them.
fn next_rate(rate: BitsPerSec) -> BitsPerSec {
    let sold = [
        100, 1_000, 2_500, 5_000, 10_000, 25_000, 40_000, 50_000, 100_000, 200_000, 400_000,
    ]
    .map(BitsPerSec::mega);
    let faster = sold
        .into_iter()
        .find(|r| *r > rate)
        .filter(|_| rate >= sold[0]);
    faster.unwrap_or(BitsPerSec(rate.0.saturating_mul(2)))
}
