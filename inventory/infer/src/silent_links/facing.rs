//! Neighbours by their forwarding databases.
//!
//! Source: B. Lowekamp, D. O'Hallaron, T. Gross, "Topology discovery for large Ethernet networks"
//! (SIGCOMM 2001), section 4; Y. Breitbart et al., "Topology discovery in heterogeneous IP
//! networks" (INFOCOM 2000), theorem on complete databases. Input: learned rows of each device, its
//! own MAC addresses, the known cables. Guarantee: if no row is stale, two ports that are found to
//! face each other do so, and either they are neighbours or only unknown devices are between them.
//! Links that the rows do not determine are ambiguous. Cost: for each station, the islands that
//! learned it, squared; all pairs of islands; each facing pair with the islands that are between
//! others, which are few; cables with all. Deviations: ports face each other by the bridges' own
//! addresses if these are learned, which is rare; otherwise by at least [`LEAST`] stations on each
//! side, where the papers take one. One row in [`STALE`] may contradict.
use super::{SegmentEnd, SegmentPair, SilentLinkContext};
use crate::UnlistedPolicy;
use crate::device::DeviceTables;
use crate::islands::{DeviceIslands, IslandExit};
use inventory::Mac;
use inventory::evidence::{Evidence, FacingProof};
use std::cmp::Reverse;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// The least number of stations on each side if neither device learned the other's own address: one
/// row may be stale.
const LEAST: usize = 2;

/// Of the stations that two devices share, at most one in this many may be in an impossible place,
/// because its row is old.
const STALE: usize = 20;

/// With at least this many rows, it is significant that two devices share no station.
const RICH: usize = 10;

/// The exit, by its number, at which an island learned each station.
type ExitByStation = HashMap<Mac, usize>;

/// The proof from the rows of two islands that they face each other.
struct IslandRelation {
    /// The exit of the island with the smaller number, and the exit of the other.
    exits: (usize, usize),
    /// The kind of proof.
    how: FacingProof,
    /// The number of stations on the side of each.
    sides: (usize, usize),
    /// The number of stations that were learned between them.
    between: usize,
}

impl IslandRelation {
    fn evidence(&self, ends: &[SegmentEnd; 2], context: &SilentLinkContext<'_, '_>) -> Evidence {
        let ends = ends.each_ref().map(|end| end.told(context));
        Evidence::Facing {
            ends,
            proof: self.how,
            sides: self.sides,
            between: self.between,
        }
    }
}

/// The facts from all rows.
struct IslandRows {
    /// The devices of each island.
    lands: Vec<Vec<usize>>,
    exits: Vec<IslandExit>,
    learned: Vec<ExitByStation>,
    /// True if the island has a bridge.
    bridges: Vec<bool>,
    /// The exit at which each island learned another's own address, if there is exactly one.
    seen: HashMap<(usize, usize), usize>,
    /// Pairs that share stations.
    sharing: HashSet<(usize, usize)>,
    relations: BTreeMap<(usize, usize), IslandRelation>,
}

pub(super) fn pairs(
    context: &SilentLinkContext<'_, '_>,
    islands: &DeviceIslands<'_>,
) -> Vec<SegmentPair> {
    let lands = lands(context, islands);
    // Rows can be many. If known cables join all devices, they add nothing.
    if lands
        .iter()
        .filter(|l| l.iter().any(|d| !context.devices[*d].learned().is_empty()))
        .count()
        < 2
    {
        return vec![];
    }
    let rows = IslandRows::new(context, islands, lands);
    let others = rows.inner_first();
    let mut pairs = Vec::new();
    for (&(a, b), relation) in &rows.relations {
        let faces = [(a, relation.exits.0), (b, relation.exits.1)];
        let [Some(x), Some(y)] = faces.map(|(_, exit)| rows.plug(context, islands, exit)) else {
            continue;
        };
        let ends = [x, y];
        if !context.open(&ends) {
            continue;
        }
        let Some(open) = rows.doubtful(faces, &others) else {
            continue;
        };
        let mut evidence = vec![relation.evidence(&ends, context)];
        let open: Vec<String> = open
            .iter()
            .flat_map(|c| &rows.lands[*c])
            .map(|d| context.devices[*d].name.to_owned())
            .collect();
        let sure = open.is_empty();
        evidence.extend((!sure).then_some(Evidence::BetweenPossible(open)));
        // Recordings hold rows of many moments.
        let parted = relation.between > 0 && context.strangers == UnlistedPolicy::Told;
        pairs.push(SegmentPair {
            ends,
            evidence,
            sure,
            parted,
        });
    }
    pairs
}

/// The devices of each island.
fn lands(context: &SilentLinkContext<'_, '_>, islands: &DeviceIslands<'_>) -> Vec<Vec<usize>> {
    let mut lands: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for device in 0..context.devices.len() {
        lands.entry(islands.of(device)).or_default().push(device);
    }
    let mut lands: Vec<Vec<usize>> = lands.into_values().collect();
    lands.sort();
    lands
}

/// The place of a third device relative to two that face each other.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RelativePlace {
    Between,
    /// Beside or behind them, or on their segment.
    Elsewhere,
    Unknown,
}

impl IslandRows {
    fn new(
        context: &SilentLinkContext<'_, '_>,
        islands: &DeviceIslands<'_>,
        lands: Vec<Vec<usize>>,
    ) -> IslandRows {
        let mut exits = BTreeMap::new();
        let learned: Vec<ExitByStation> = lands
            .iter()
            .map(|land| learned(islands, land, &mut exits))
            .collect();
        let owners = owners(context, &lands);
        let bridges = lands
            .iter()
            .map(|l| {
                l.iter()
                    .any(|d| context.devices[*d].base_ports().next().is_some())
            })
            .collect();
        let seen = seen(&learned, &owners);
        let mut in_order: Vec<(IslandExit, usize)> = exits.into_iter().collect();
        in_order.sort_by_key(|(_, number)| *number);
        let exits = in_order.into_iter().map(|(exit, _)| exit).collect();
        let mut rows = IslandRows {
            lands,
            exits,
            learned,
            bridges,
            seen,
            sharing: HashSet::new(),
            relations: BTreeMap::new(),
        };
        let filled: Vec<usize> = (0..rows.learned.len())
            .filter(|&d| !rows.learned[d].is_empty())
            .collect();
        let stations = StationSightings::new(&rows.learned, &owners);
        for (i, &a) in filled.iter().enumerate() {
            let mut sides = stations.sides(a, &rows.learned[a]);
            for &b in &filled[i + 1..] {
                rows.relate(a, b, &sides.remove(&b).unwrap_or_default());
            }
        }
        rows
    }

    fn relate(&mut self, a: usize, b: usize, sides: &FacingCounts) {
        if !sides.0.is_empty() {
            self.sharing.extend([(a, b), (b, a)]);
        }
        let (exits, how) = match (self.seen.get(&(a, b)), self.seen.get(&(b, a))) {
            (Some(&x), Some(&y)) => (sides.fits(x, y).then_some((x, y)), FacingProof::Both),
            (Some(&x), None) => (sides.far_of(x).map(|y| (x, y)), FacingProof::One),
            (None, Some(&y)) => (sides.turned().far_of(y).map(|x| (x, y)), FacingProof::One),
            (None, None) => (sides.only(), FacingProof::Stations),
        };
        let Some((x, y)) = exits else { return };
        let relation = IslandRelation {
            exits: (x, y),
            how,
            sides: (
                sides.stations(|i, j| i != x && j == y),
                sides.stations(|i, j| i == x && j != y),
            ),
            between: sides.stations(|i, j| i == x && j == y),
        };
        self.relations.insert((a, b), relation);
    }

    /// All islands, those that face others at many exits first: they are the most likely to be
    /// between two others.
    fn inner_first(&self) -> Vec<usize> {
        let mut exits = vec![BTreeSet::new(); self.lands.len()];
        for (&(a, b), relation) in &self.relations {
            exits[a].insert(relation.exits.0);
            exits[b].insert(relation.exits.1);
        }
        let mut islands: Vec<usize> = (0..self.lands.len()).collect();
        islands.sort_by_key(|island| Reverse(exits[*island].len()));
        islands
    }

    /// The devices among `others` that may be between two facing ones; `None` if one certainly is
    /// between them.
    fn doubtful(&self, faces: [(usize, usize); 2], others: &[usize]) -> Option<BTreeSet<usize>> {
        let mut doubtful = BTreeSet::new();
        for &c in others
            .iter()
            .filter(|c| faces.iter().all(|(island, _)| island != *c))
        {
            match self.place(faces, c) {
                RelativePlace::Between => return None,
                RelativePlace::Unknown => _ = doubtful.insert(c),
                RelativePlace::Elsewhere => {}
            }
        }
        Some(doubtful)
    }

    /// The segment end at an exit.
    fn plug(
        &self,
        context: &SilentLinkContext<'_, '_>,
        islands: &DeviceIslands<'_>,
        exit: usize,
    ) -> Option<SegmentEnd> {
        match self.exits[exit] {
            IslandExit::Port(device, index) => context.devices[device]
                .base_port_of(index)
                .map(|port| SegmentEnd::At(device, port)),
            IslandExit::Dark(part) => Some(SegmentEnd::Dark(islands.names(part).to_vec())),
        }
    }

    /// The exit of one island towards another, if the rows determine it.
    fn toward(&self, a: usize, b: usize) -> Option<usize> {
        let relation = self.relations.get(&(a.min(b), a.max(b)));
        relation
            .map(|r| if a < b { r.exits.0 } else { r.exits.1 })
            .or_else(|| self.seen.get(&(a, b)).copied())
    }

    /// Decides whether a third device is between two that face each other at `x` and `y`. It is
    /// elsewhere if one of them has it behind another port, if it has both behind one port of its
    /// own, if its rows about their stations show it, or if it has enough rows and shares none with
    /// them.
    fn place(&self, [(a, x), (b, y)]: [(usize, usize); 2], c: usize) -> RelativePlace {
        let aside = |from: Option<usize>, to| from.is_some_and(|from| from != to);
        if aside(self.toward(a, c), x) || aside(self.toward(b, c), y) {
            return RelativePlace::Elsewhere;
        }
        if let (Some(to_a), Some(to_b)) = (self.toward(c, a), self.toward(c, b)) {
            return if to_a == to_b {
                RelativePlace::Elsewhere
            } else {
                RelativePlace::Between
            };
        }
        let strange = |d: usize| self.toward(d, c).is_none() && !self.sharing.contains(&(d, c));
        if !(strange(a) && strange(b)) {
            return self.place_by_stations([(a, x), (b, y)], c);
        }
        let rich =
            self.learned[c].len() >= RICH && self.learned[a].len() + self.learned[b].len() >= RICH;
        if rich || !self.bridges[c] {
            RelativePlace::Elsewhere
        } else {
            RelativePlace::Unknown
        }
    }

    /// Between two others, a device has all stations of one side behind one port, and those of the
    /// other side behind another.
    fn place_by_stations(&self, ends: [(usize, usize); 2], c: usize) -> RelativePlace {
        let sides = ends.map(|(d, toward)| {
            let mut ports: BTreeMap<usize, usize> = BTreeMap::new();
            for (mac, _) in self.learned[d].iter().filter(|(_, port)| **port != toward) {
                if let Some(&port) = self.learned[c].get(mac) {
                    *ports.entry(port).or_default() += 1;
                }
            }
            ports
        });
        let all: usize = sides.iter().flat_map(BTreeMap::values).sum();
        let most = |ports: &BTreeMap<usize, usize>, but| {
            ports
                .iter()
                .filter(|(p, _)| **p != but)
                .map(|(_, n)| *n)
                .max()
        };
        let best = sides[0]
            .iter()
            .map(|(&p, n)| n + most(&sides[1], p).unwrap_or_default())
            .max()
            .unwrap_or_default();
        match sides.iter().any(BTreeMap::is_empty) {
            _ if all - best.max(sides[1].values().copied().max().unwrap_or_default()) >= LEAST => {
                RelativePlace::Elsewhere
            }
            true => RelativePlace::Unknown,
            false => RelativePlace::Between,
        }
    }
}

/// The exit at which each island learned another's own addresses, if there is only one.
fn seen(learned: &[ExitByStation], owners: &HashMap<Mac, usize>) -> HashMap<(usize, usize), usize> {
    let mut all: HashMap<(usize, usize), Option<usize>> = HashMap::new();
    for (a, rows) in learned.iter().enumerate() {
        for (mac, &exit) in rows {
            if let Some(&b) = owners.get(mac).filter(|b| **b != a) {
                only(all.entry((a, b)), exit);
            }
        }
    }
    all.into_iter()
        .filter_map(|(pair, exit)| Some((pair, exit?)))
        .collect()
}

/// The stations for which all rows of an island lead to one exit.
fn learned(
    islands: &DeviceIslands<'_>,
    land: &[usize],
    exits: &mut BTreeMap<IslandExit, usize>,
) -> ExitByStation {
    let mut rows: Vec<(Mac, usize)> = land
        .iter()
        .flat_map(|&d| islands.learned(d).rows().map(move |(mac, _)| (mac, d)))
        .collect();
    rows.sort_unstable();
    let mut learned = HashMap::new();
    for rows in rows.chunk_by(|a, b| a.0 == b.0) {
        let ends = islands.ends(rows[0].0, rows.iter().map(|r| r.1));
        if let (Some(exit), 1) = (ends.first(), ends.len()) {
            let next = exits.len();
            learned.insert(rows[0].0, *exits.entry(*exit).or_insert(next));
        }
    }
    learned
}

/// Keeps a value that is stated once, or always in the same way.
fn only<K, V: Copy + PartialEq>(slot: Entry<'_, K, Option<V>>, value: V) {
    let kept = slot.or_insert(Some(value));
    if *kept != Some(value) {
        *kept = None;
    }
}

/// The owner of each address, by islands. If a device does not list the addresses of its ports,
/// they follow its own.
fn owners(context: &SilentLinkContext<'_, '_>, lands: &[Vec<usize>]) -> HashMap<Mac, usize> {
    let mut owners: HashMap<Mac, Option<usize>> = HashMap::new();
    let stated: HashSet<Mac> = context
        .devices
        .iter()
        .flat_map(DeviceTables::macs)
        .collect();
    for (number, device) in lands
        .iter()
        .enumerate()
        .flat_map(|(n, land)| land.iter().map(move |d| (n, &context.devices[*d])))
    {
        let likely = device.likely_macs().filter(|m| !stated.contains(m));
        for mac in device.macs().chain(likely).collect::<BTreeSet<_>>() {
            only(owners.entry(mac), number);
        }
    }
    owners
        .into_iter()
        .filter_map(|(mac, owner)| Some((mac, owner?)))
        .collect()
}

/// The places at which each station was learned, without the devices' own addresses: islands, and
/// their exits.
struct StationSightings(HashMap<Mac, Vec<(usize, usize)>>);

impl StationSightings {
    fn new(learned: &[ExitByStation], owners: &HashMap<Mac, usize>) -> StationSightings {
        let mut stations: HashMap<Mac, Vec<(usize, usize)>> = HashMap::new();
        for (island, rows) in learned.iter().enumerate() {
            for (mac, &exit) in rows.iter().filter(|(mac, _)| !owners.contains_key(mac)) {
                stations.entry(*mac).or_default().push((island, exit));
            }
        }
        StationSightings(stations)
    }

    /// The stations that an island shares with each island of a larger number.
    fn sides(&self, a: usize, learned: &ExitByStation) -> HashMap<usize, FacingCounts> {
        let mut sides: HashMap<usize, FacingCounts> = HashMap::new();
        for (mac, &x) in learned {
            let all = self.0.get(mac).map_or(&[][..], Vec::as_slice);
            for &(b, y) in &all[all.partition_point(|(b, _)| *b <= a)..] {
                *sides.entry(b).or_default().0.entry((x, y)).or_default() += 1;
            }
        }
        sides
    }
}

/// The number of stations that two devices have behind each pair of ports.
#[derive(Default)]
struct FacingCounts(BTreeMap<(usize, usize), usize>);

impl FacingCounts {
    fn turned(&self) -> FacingCounts {
        FacingCounts(self.0.iter().map(|(&(x, y), &n)| ((y, x), n)).collect())
    }

    fn stations(&self, fits: impl Fn(usize, usize) -> bool) -> usize {
        self.0
            .iter()
            .filter(|&(&(i, j), _)| fits(i, j))
            .map(|(_, n)| n)
            .sum()
    }

    /// True if the stations allow these two ports to face each other. A station that is behind
    /// neither would be in two places.
    fn fits(&self, x: usize, y: usize) -> bool {
        self.stations(|i, j| i != x && j != y) * STALE <= self.stations(|_, _| true)
    }

    /// The other device's port, if this device's port is known: stations that are not behind this
    /// one must be behind that one.
    fn far_of(&self, x: usize) -> Option<usize> {
        let mut there: BTreeMap<usize, usize> = BTreeMap::new();
        for (&(_, j), n) in self.0.iter().filter(|&(&(i, _), _)| i != x) {
            *there.entry(j).or_default() += n;
        }
        let (y, stations) = there.into_iter().max_by_key(|(_, stations)| *stations)?;
        (stations >= LEAST && self.fits(x, y)).then_some(y)
    }

    /// The only pair of ports that fits, with enough stations on either side.
    fn only(&self) -> Option<(usize, usize)> {
        let candidates: BTreeSet<usize> = self.0.keys().map(|(x, _)| *x).collect();
        let mut fitting = candidates.into_iter().filter_map(|x| {
            let y = self.far_of(x)?;
            (self.stations(|i, j| i == x && j != y) >= LEAST).then_some((x, y))
        });
        fitting.next().filter(|_| fitting.next().is_none())
    }
}
