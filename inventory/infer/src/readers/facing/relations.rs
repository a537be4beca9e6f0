//! The relation of two islands by their rows, and the islands that may be between them.
use super::counts::{ExitByStation, FacingCounts, StationSightings};
use super::{LEAST, RICH};
use crate::acceptance::islands::{DeviceIslands, IslandExit};
use crate::facts::{DeviceIx, Facts};
use crate::learned_between::STALE;
use inventory::Mac;
use inventory::evidence::FacingProof;
use std::cmp::Reverse;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// The proof from the rows of two islands that they face each other.
pub(super) struct IslandRelation {
    /// The exit of the island with the smaller number, and the exit of the other.
    pub(super) exits: (usize, usize),
    /// The kind of proof.
    pub(super) how: FacingProof,
    /// The number of stations on the side of each.
    pub(super) sides: (usize, usize),
    /// The number of stations that were learned between them.
    pub(super) between: usize,
    /// The number of rows at the two exits.
    rows: usize,
}

impl IslandRelation {
    /// True if stations are between the two. They cannot be on a cable, so a bridge is there. Rows
    /// of many moments show a few stations in impossible places.
    pub(super) fn is_parted(&self, mixes_moments: bool) -> bool {
        self.between > 0 && (!mixes_moments || self.between * STALE > self.rows)
    }
}

/// The facts from all rows.
pub(super) struct IslandRows {
    /// The devices of each island.
    lands: Vec<Vec<DeviceIx>>,
    exits: Vec<IslandExit>,
    /// The number of stations behind each exit.
    rows: Vec<usize>,
    learned: Vec<ExitByStation>,
    /// The island of each device's own addresses.
    owners: HashMap<Mac, usize>,
    /// True if the island has a bridge.
    bridges: Vec<bool>,
    /// The exit at which each island learned another's own address, if there is exactly one.
    seen: HashMap<(usize, usize), usize>,
    /// Pairs that share stations.
    sharing: HashSet<(usize, usize)>,
    relations: BTreeMap<(usize, usize), IslandRelation>,
}

/// The place of a third island relative to two that face each other.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RelativePlace {
    Between,
    /// Beside or behind them, or on their segment.
    Elsewhere,
    Unknown,
}

impl IslandRows {
    pub(super) fn new(
        facts: &Facts<'_>,
        islands: &DeviceIslands<'_>,
        lands: Vec<Vec<DeviceIx>>,
    ) -> IslandRows {
        let mut exits = BTreeMap::new();
        let learned: Vec<ExitByStation> = lands
            .iter()
            .map(|land| learned(facts, islands, land, &mut exits))
            .collect();
        let owners = owners(facts, &lands);
        let bridges = lands
            .iter()
            .map(|land| land.iter().any(|d| facts[*d].bridges))
            .collect();
        let seen = seen(&learned, &owners);
        let mut in_order: Vec<(IslandExit, usize)> = exits.into_iter().collect();
        in_order.sort_by_key(|(_, number)| *number);
        let exits: Vec<IslandExit> = in_order.into_iter().map(|(exit, _)| exit).collect();
        let mut behind = vec![0; exits.len()];
        for exit in learned.iter().flat_map(|rows| rows.values()) {
            behind[*exit] += 1;
        }
        let mut rows = IslandRows {
            lands,
            exits,
            rows: behind,
            learned,
            owners,
            bridges,
            seen,
            sharing: HashSet::new(),
            relations: BTreeMap::new(),
        };
        let filled: Vec<usize> = (0..rows.learned.len())
            .filter(|&d| !rows.learned[d].is_empty())
            .collect();
        let stations = StationSightings::new(&rows.learned, &rows.owners);
        for (i, &a) in filled.iter().enumerate() {
            let mut sides = stations.sides(a, &rows.learned[a]);
            for &b in &filled[i + 1..] {
                rows.relate(a, b, &sides.remove(&b).unwrap_or_default());
            }
        }
        rows
    }

    fn relate(&mut self, a: usize, b: usize, sides: &FacingCounts) {
        if !sides.is_empty() {
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
            rows: self.rows[x] + self.rows[y],
        };
        self.relations.insert((a, b), relation);
    }

    /// The islands that face each other, by pairs, the smaller number first.
    pub(super) fn relations(&self) -> impl Iterator<Item = (&(usize, usize), &IslandRelation)> {
        self.relations.iter()
    }

    /// An exit by its number.
    pub(super) fn exit(&self, number: usize) -> IslandExit {
        self.exits[number]
    }

    /// The devices of an island.
    pub(super) fn devices(&self, island: usize) -> &[DeviceIx] {
        &self.lands[island]
    }

    /// All islands, those that face others at many exits first: they are the most likely to be
    /// between two others.
    pub(super) fn inner_first(&self) -> Vec<usize> {
        let mut exits = vec![BTreeSet::new(); self.lands.len()];
        for (&(a, b), relation) in &self.relations {
            exits[a].insert(relation.exits.0);
            exits[b].insert(relation.exits.1);
        }
        let mut islands: Vec<usize> = (0..self.lands.len()).collect();
        islands.sort_by_key(|island| Reverse(exits[*island].len()));
        islands
    }

    /// The islands among `others` that may be between two facing ones; `None` if one certainly is
    /// between them.
    pub(super) fn doubtful(
        &self,
        faces: [(usize, usize); 2],
        others: &[usize],
    ) -> Option<BTreeSet<usize>> {
        let mut doubtful = BTreeSet::new();
        for &c in others
            .iter()
            .filter(|c| faces.iter().all(|(island, _)| island != *c))
        {
            match self.place(faces, c) {
                RelativePlace::Between => return None,
                RelativePlace::Unknown if self.is_on_segment(faces, c) => {}
                RelativePlace::Unknown => _ = doubtful.insert(c),
                RelativePlace::Elsewhere => {}
            }
        }
        Some(doubtful)
    }

    /// True if a third island is on the segment of two others rather than between them: stations
    /// show that a bridge joins it to one of them at the same exit, both by their own addresses, and
    /// it has learned every station that this one has there, and every one of several that the two
    /// share. If it were between them, frames of the other would have passed it as those of the
    /// stations did.
    fn is_on_segment(&self, [(a, x), (b, y)]: [(usize, usize); 2], c: usize) -> bool {
        let knows = |mac: &Mac| self.learned[c].contains_key(mac);
        let is_station = |mac: &Mac| !self.owners.contains_key(mac);
        let joined = |island: usize, exit: usize| {
            let relation = self.relations.get(&(island.min(c), island.max(c)));
            let is_segment = relation.is_some_and(|r| {
                let own = if island < c { r.exits.0 } else { r.exits.1 };
                own == exit && r.how == FacingProof::Both && r.between >= LEAST && r.is_parted(true)
            });
            let mut rows = self.learned[island].iter();
            is_segment && rows.all(|(mac, at)| *at != exit || !is_station(mac) || knows(mac))
        };
        let shared = self.learned[a]
            .keys()
            .filter(|mac| self.learned[b].contains_key(*mac) && is_station(mac));
        let known = shared.clone().filter(|mac| knows(mac)).count();
        // If the two share no station, any third island has learned all of them: that shows nothing.
        (joined(a, x) || joined(b, y)) && known >= LEAST && known == shared.count()
    }

    /// The exit of one island towards another, if the rows determine it.
    fn toward(&self, a: usize, b: usize) -> Option<usize> {
        let relation = self.relations.get(&(a.min(b), a.max(b)));
        relation
            .map(|r| if a < b { r.exits.0 } else { r.exits.1 })
            .or_else(|| self.seen.get(&(a, b)).copied())
    }

    /// Decides whether a third island is between two that face each other at `x` and `y`. It is
    /// elsewhere if one of them has it behind another exit, if it has both behind one exit of its
    /// own, if its rows about their stations show it, or if it has enough rows and shares none with
    /// them.
    fn place(&self, [(a, x), (b, y)]: [(usize, usize); 2], c: usize) -> RelativePlace {
        let mut ends = [(a, x), (b, y)].into_iter();
        if ends.any(|(island, to)| self.toward(island, c).is_some_and(|from| from != to)) {
            return RelativePlace::Elsewhere;
        }
        if let (Some(to_a), Some(to_b)) = (self.toward(c, a), self.toward(c, b)) {
            return if to_a == to_b {
                RelativePlace::Elsewhere
            } else {
                RelativePlace::Between
            };
        }
        let mut islands = [a, b].into_iter();
        if islands.any(|d| self.toward(d, c).is_some() || self.sharing.contains(&(d, c))) {
            return self.place_by_stations([(a, x), (b, y)], c);
        }
        // A bridge that learned next to nothing may be anywhere.
        let rich =
            self.learned[c].len() >= RICH && self.learned[a].len() + self.learned[b].len() >= RICH;
        if rich || !self.bridges[c] {
            RelativePlace::Elsewhere
        } else {
            RelativePlace::Unknown
        }
    }

    /// Between two others, an island has all stations of one side behind one exit, and those of the
    /// other side behind another.
    fn place_by_stations(&self, ends: [(usize, usize); 2], c: usize) -> RelativePlace {
        let sides = ends.map(|(d, toward)| {
            let mut exits: BTreeMap<usize, usize> = BTreeMap::new();
            for (mac, _) in self.learned[d].iter().filter(|(_, exit)| **exit != toward) {
                if let Some(&exit) = self.learned[c].get(mac) {
                    *exits.entry(exit).or_default() += 1;
                }
            }
            exits
        });
        let all: usize = sides.iter().flat_map(BTreeMap::values).sum();
        let best = sides[0]
            .iter()
            .map(|(exit, n)| {
                let others = sides[1].iter().filter(|(other, _)| *other != exit);
                n + others.map(|(_, n)| *n).max().unwrap_or_default()
            })
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
    facts: &Facts<'_>,
    islands: &DeviceIslands<'_>,
    land: &[DeviceIx],
    exits: &mut BTreeMap<IslandExit, usize>,
) -> ExitByStation {
    let rows = land
        .iter()
        .flat_map(|&d| facts[d].learned.rows().map(move |(mac, _)| (mac, d)));
    let mut rows: Vec<(Mac, DeviceIx)> = rows.collect();
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
fn owners(facts: &Facts<'_>, lands: &[Vec<DeviceIx>]) -> HashMap<Mac, usize> {
    let mut owners: HashMap<Mac, Option<usize>> = HashMap::new();
    let stated: HashSet<Mac> = facts
        .devices()
        .flat_map(|(_, d)| d.macs.iter().copied())
        .collect();
    for (number, land) in lands.iter().enumerate() {
        for device in land.iter().map(|d| &facts[*d]) {
            let likely = device.likely_macs.iter().filter(|m| !stated.contains(m));
            let own: BTreeSet<Mac> = device.macs.iter().chain(likely).copied().collect();
            for mac in own {
                only(owners.entry(mac), number);
            }
        }
    }
    owners
        .into_iter()
        .filter_map(|(mac, owner)| Some((mac, owner?)))
        .collect()
}
