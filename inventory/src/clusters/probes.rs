//! What host agents say of the ways between them, a pair of hosts each.
use super::Seen;
use crate::host_report::Path;
use crate::topology::NodeKind;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;

/// Every pair of hosts that one of them probed, the smaller number first.
pub(super) struct Probes {
    pairs: BTreeMap<(usize, usize), Pair>,
}

/// What both ends say together.
#[derive(Default)]
pub(super) struct Pair {
    /// What each of the two said: the smaller number's word first.
    said: [Option<Word>; 2],
    /// The shortest round trip either measured, in microseconds.
    pub(super) trip: Option<u32>,
}

struct Word {
    way: Way,
    /// Whether the host's agent still reports.
    fresh: bool,
    /// Whether the other host answered.
    reached: bool,
}

#[derive(Clone, PartialEq, Eq)]
enum Way {
    Direct,
    Routed(Vec<Option<IpAddr>>),
}

/// What lies between two hosts.
pub(super) enum Between<'a> {
    /// No router.
    Nothing,
    /// Routers in order, `None` for one that does not answer.
    Routers(&'a [Option<IpAddr>]),
    /// One says so, the other not.
    Contradiction(&'a [Option<IpAddr>]),
}

impl Probes {
    pub(super) fn new(seen: &Seen<'_>) -> Probes {
        let hosts: HashMap<&str, usize> =
            seen.nodes.iter().enumerate().filter(|(_, n)| n.kind == NodeKind::Host).map(|(i, n)| (n.name.as_str(), i)).collect();
        let mut probes = Probes { pairs: BTreeMap::new() };
        for (name, view) in seen.views {
            let (Some(&from), Some(report)) = (hosts.get(name.as_str()), &view.host) else { continue };
            for path in &report.paths {
                if let Some(&to) = hosts.get(path.to.as_str()).filter(|to| **to != from) {
                    let pair = probes.pairs.entry((from.min(to), from.max(to))).or_default();
                    pair.trip = pair.trip.into_iter().chain(path.round_trip.map(|t| t.min_us)).min();
                    pair.said[usize::from(from > to)] =
                        way(path).map(|way| Word { way, fresh: view.stale.is_none(), reached: path.reached });
                }
            }
        }
        probes
    }

    /// Pairs with something known between them.
    pub(super) fn between(&self) -> impl Iterator<Item = ([usize; 2], Between<'_>)> {
        self.pairs.iter().filter_map(|((a, b), pair)| Some(([*a, *b], pair.between()?)))
    }

    /// Round trips in microseconds of pairs that no router is between.
    pub(super) fn trips(&self) -> impl Iterator<Item = ([usize; 2], u32)> {
        let bridged = |pair: &Pair| matches!(pair.between(), None | Some(Between::Nothing));
        self.pairs.iter().filter(move |(_, p)| bridged(p)).filter_map(|((a, b), pair)| Some(([*a, *b], pair.trip?)))
    }

    /// Pairs whose packets arrive, and the routers they pass.
    pub(super) fn arrived(&self) -> impl Iterator<Item = ([usize; 2], &[Option<IpAddr>])> {
        let reached = |pair: &Pair| pair.said.iter().flatten().any(|w| w.fresh && w.reached && w.way != Way::Direct);
        self.pairs.iter().filter(move |(_, pair)| reached(pair)).filter_map(|((a, b), pair)| match pair.between()? {
            Between::Routers(hops) => Some(([*a, *b], hops)),
            Between::Nothing | Between::Contradiction(_) => None,
        })
    }

    /// For each value of `key` the first pair with routers between that has it.
    pub(super) fn routed<K: Ord + Copy>(
        &self,
        key: impl Fn(usize, usize) -> Option<K>,
    ) -> impl Iterator<Item = ([usize; 2], K, &[Option<IpAddr>])> {
        let mut told = BTreeSet::new();
        self.between().filter_map(move |(ends, between)| {
            let (Between::Routers(hops), key) = (between, key(ends[0], ends[1])?) else { return None };
            told.insert(key).then_some((ends, key, hops))
        })
    }
}

impl Pair {
    /// An agent that still reports goes before one that stopped.
    fn between(&self) -> Option<Between<'_>> {
        let fresh = self.said.iter().flatten().any(|w| w.fresh);
        let mut ways = self.said.iter().flatten().filter(|w| w.fresh == fresh).map(|w| &w.way);
        Some(match (ways.next()?, ways.next()) {
            (Way::Direct, None | Some(Way::Direct)) => Between::Nothing,
            (Way::Routed(hops), None | Some(Way::Routed(_))) => Between::Routers(hops),
            (Way::Direct, Some(Way::Routed(hops))) | (Way::Routed(hops), Some(Way::Direct)) => Between::Contradiction(hops),
        })
    }
}

/// What a path tells; `None` where nothing answered on it.
fn way(path: &Path) -> Option<Way> {
    match path.hops.is_empty() {
        true => path.reached.then_some(Way::Direct),
        false => (path.reached || path.hops.iter().any(Option::is_some)).then(|| Way::Routed(path.hops.clone())),
    }
}
