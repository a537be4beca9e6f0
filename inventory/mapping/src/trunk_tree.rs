//! A tree of switches as its trunks: each parts the hosts in two.
use crate::host_set::HostSet;

/// A trunk: the hosts on one side of it, and its rates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MappedTrunk {
    /// The hosts on the side without host 0.
    pub side: HostSet,
    /// In each direction.
    pub rates: TrunkRates,
}

/// The payload rates of a trunk in bit/s, out of its side and into it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TrunkRates {
    /// Out of the side.
    pub out: f64,
    pub into: f64,
}

impl TrunkRates {
    /// The same rate in both directions.
    pub(crate) fn both(rate: f64) -> TrunkRates {
        TrunkRates {
            out: rate,
            into: rate,
        }
    }

    /// The rate of the slower direction.
    pub fn least(self) -> f64 {
        self.out.min(self.into)
    }

    pub(crate) fn most(self) -> f64 {
        self.out.max(self.into)
    }
}

/// The side of a trunk without host 0, or `None` if the trunk has less than two hosts on one of its
/// sides: the cable of a host, or nothing.
pub(crate) fn trunk_side(hosts: usize, side: HostSet) -> Option<HostSet> {
    let side = match side.contains(0) {
        true => HostSet::first(hosts).without(side),
        false => side,
    };
    (2..=hosts.saturating_sub(2))
        .contains(&side.len())
        .then_some(side)
}

/// True if two trunks can be in one tree: one side of one holds one side of the other.
pub(crate) fn compatible(a: HostSet, b: HostSet) -> bool {
    !a.meets(b) || a.covers(b) || b.covers(a)
}

/// The switches of a tree: for each its branches, each as the hosts behind it. The first switch is
/// that of host 0.
pub(crate) fn branches(hosts: usize, sides: &[HostSet]) -> Vec<Vec<HostSet>> {
    let everybody = HostSet::first(hosts);
    std::iter::once(everybody)
        .chain(sides.iter().copied())
        .map(|side| {
            let inner = |s: &HostSet| *s != side && side.covers(*s);
            let mut below: Vec<HostSet> = sides
                .iter()
                .copied()
                .filter(inner)
                .filter(|s| !sides.iter().any(|o| inner(o) && o != s && o.covers(*s)))
                .collect();
            let own = below.iter().fold(side, |rest, s| rest.without(*s));
            below.extend(own.iter().map(HostSet::one));
            if side != everybody {
                below.push(everybody.without(side));
            }
            below
        })
        .collect()
}
