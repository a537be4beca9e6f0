//! The paths between hosts that host agents report, by pair of hosts.
use super::ClusterInput;
use inventory::host_report::{HostReport, ProbedPath};
use inventory::topology::NodeKind;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::net::IpAddr;

/// Every pair of hosts that one of them probed, the smaller number first.
pub(super) struct ProbedPairs {
    pairs: BTreeMap<(usize, usize), ProbedPair>,
}

/// The statements of both ends together.
#[derive(Default)]
pub(super) struct ProbedPair {
    /// The statement of each of the two hosts, the smaller number first.
    statements: [Option<ProbeStatement>; 2],
    /// The shortest round trip that either host measured, in microseconds.
    pub(super) trip: Option<u32>,
}

struct ProbeStatement {
    way: ProbedRoute,
    /// True if the host's agent still reports.
    fresh: bool,
    /// True if the other host answered.
    reached: bool,
}

#[derive(Clone, PartialEq, Eq)]
enum ProbedRoute {
    Direct,
    Routed(Vec<Option<IpAddr>>),
}

/// The routers between two hosts.
pub(super) enum HostsBetween<'a> {
    /// No router.
    Nothing,
    /// Routers in order, `None` for one that does not answer.
    Routers(&'a [Option<IpAddr>]),
    /// One host states these routers, the other states none.
    Contradiction(&'a [Option<IpAddr>]),
}

impl ProbedPairs {
    pub(super) fn new(seen: &ClusterInput<'_>) -> ProbedPairs {
        let mut probes = ProbedPairs {
            pairs: BTreeMap::new(),
        };
        if seen.views.values().all(|view| view.host.is_none()) {
            return probes;
        }
        let hosts: HashMap<&str, usize> = seen
            .nodes
            .iter()
            .enumerate()
            .filter(|(_, n)| n.kind == NodeKind::Host)
            .map(|(i, n)| (n.name.as_str(), i))
            .collect();
        let addresses = addresses(seen);
        for (name, view) in seen.views {
            let (Some(&from), Some(report)) = (hosts.get(name.as_str()), &view.host) else {
                continue;
            };
            let paths = report.paths.iter().filter(|path| {
                let known = addresses.get(path.to.as_str());
                let mut hops = path.hops.iter().flatten();
                known.is_none_or(|known| known.contains(&path.address))
                    // A host that routes between two networks parts neither of them.
                    && !hops.any(|hop| seen.routing.contains_key(hop))
            });
            for path in paths {
                if let Some(&to) = hosts.get(path.to.as_str()).filter(|to| **to != from) {
                    let pair = probes
                        .pairs
                        .entry((from.min(to), from.max(to)))
                        .or_default();
                    // Noise only adds to a round trip, so the shortest one counts.
                    pair.trip = pair
                        .trip
                        .into_iter()
                        .chain(path.round_trip.map(|t| t.min_us))
                        .min();
                    pair.statements[usize::from(from > to)] = way(path).map(|way| ProbeStatement {
                        way,
                        fresh: view.stale.is_none(),
                        reached: path.reached,
                    });
                }
            }
        }
        probes
    }

    /// Pairs with a known result.
    pub(super) fn between(&self) -> impl Iterator<Item = ([usize; 2], HostsBetween<'_>)> {
        self.pairs
            .iter()
            .filter_map(|((a, b), pair)| Some(([*a, *b], pair.between()?)))
    }

    /// For two hosts without a hop between: the host that states it, then the other one.
    pub(super) fn direct(&self, [a, b]: [usize; 2]) -> [usize; 2] {
        let pair = self.pairs.get(&(a, b));
        let first = pair.and_then(|pair| pair.statements[0].as_ref());
        if first.is_some_and(|statement| statement.way == ProbedRoute::Direct) {
            [a, b]
        } else {
            [b, a]
        }
    }

    /// Round trips in microseconds of pairs without a router between.
    pub(super) fn trips(&self) -> impl Iterator<Item = ([usize; 2], u32)> {
        let bridged =
            |pair: &ProbedPair| matches!(pair.between(), None | Some(HostsBetween::Nothing));
        self.pairs
            .iter()
            .filter(move |(_, p)| bridged(p))
            .filter_map(|((a, b), pair)| Some(([*a, *b], pair.trip?)))
    }

    /// Pairs whose packets arrive, and the routers they pass.
    pub(super) fn arrived(&self) -> impl Iterator<Item = ([usize; 2], &[Option<IpAddr>])> {
        self.pairs
            .iter()
            .filter(move |(_, pair)| {
                pair.statements
                    .iter()
                    .flatten()
                    .any(|w| w.fresh && w.reached && w.way != ProbedRoute::Direct)
            })
            .filter_map(|((a, b), pair)| match pair.between()? {
                HostsBetween::Routers(hops) => Some(([*a, *b], hops)),
                HostsBetween::Nothing | HostsBetween::Contradiction(_) => None,
            })
    }

    /// The routers on the path from one host to another as the first host met them, each by the
    /// address that it has on that side.
    pub(super) fn routers_met(&self, from: usize, to: usize) -> Option<&[Option<IpAddr>]> {
        let pair = self.pairs.get(&(from.min(to), from.max(to)))?;
        let word = pair.statements[usize::from(from > to)].as_ref()?;
        let fresh = pair.statements.iter().flatten().any(|w| w.fresh);
        match &word.way {
            ProbedRoute::Routed(hops) if word.fresh == fresh => Some(hops),
            _ => None,
        }
    }

    /// For each value of `key` the first pair with that value and with routers between.
    pub(super) fn routed<K: Ord + Copy>(
        &self,
        key: impl Fn(usize, usize) -> Option<K>,
    ) -> impl Iterator<Item = ([usize; 2], K, &[Option<IpAddr>])> {
        let mut taken = BTreeSet::new();
        self.between().filter_map(move |(ends, between)| {
            let (HostsBetween::Routers(hops), key) = (between, key(ends[0], ends[1])?) else {
                return None;
            };
            taken.insert(key).then_some((ends, key, hops))
        })
    }
}

impl ProbedPair {
    /// An agent that still reports takes precedence over one that stopped.
    fn between(&self) -> Option<HostsBetween<'_>> {
        let fresh = self.statements.iter().flatten().any(|w| w.fresh);
        let mut ways = self
            .statements
            .iter()
            .flatten()
            .filter(|w| w.fresh == fresh)
            .map(|w| &w.way);
        Some(match (ways.next()?, ways.next()) {
            (ProbedRoute::Direct, None | Some(ProbedRoute::Direct)) => HostsBetween::Nothing,
            (ProbedRoute::Routed(hops), None | Some(ProbedRoute::Routed(_))) => {
                HostsBetween::Routers(hops)
            }
            (ProbedRoute::Direct, Some(ProbedRoute::Routed(hops)))
            | (ProbedRoute::Routed(hops), Some(ProbedRoute::Direct)) => {
                HostsBetween::Contradiction(hops)
            }
        })
    }
}

/// The addresses that each host has on this network, if its agent states them. A probe of another
/// address took another path.
fn addresses<'a>(seen: &ClusterInput<'a>) -> HashMap<&'a str, HashSet<IpAddr>> {
    let mut known: HashMap<&str, Option<HashSet<IpAddr>>> = HashMap::new();
    for link in seen.links {
        let Some(report) = seen.views.get(&link.b).and_then(|v| v.host.as_ref()) else {
            continue;
        };
        let here = on_cards(report, &link.b_port);
        let all = known
            .entry(link.b.as_str())
            .or_insert_with(|| Some(HashSet::new()));
        *all = all.take().zip(here).map(|(mut all, here)| {
            all.extend(here);
            all
        });
    }
    known
        .into_iter()
        .filter_map(|(host, all)| Some((host, all?)))
        .collect()
}

/// The addresses of the card on a cable; `None` if the report does not identify the card, or has no
/// address for it.
fn on_cards(report: &HostReport, port: &str) -> Option<Vec<IpAddr>> {
    let found: Vec<IpAddr> = report
        .cards_at(port)
        .flat_map(|n| &n.addresses)
        .map(|(ip, _)| *ip)
        .collect();
    (!found.is_empty()).then_some(found)
}

/// The result of a probed path; `None` if no router or host answered.
fn way(path: &ProbedPath) -> Option<ProbedRoute> {
    match path.hops.is_empty() {
        true => path.reached.then_some(ProbedRoute::Direct),
        false => (path.reached || path.hops.iter().any(Option::is_some))
            .then(|| ProbedRoute::Routed(path.hops.clone())),
    }
}
