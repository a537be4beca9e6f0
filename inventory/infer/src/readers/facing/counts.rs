//! The stations that two islands share, counted by the exits at which each has them.
use super::{LEAST, STALE};
use inventory::Mac;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The exit, by its number, at which an island learned each station.
pub(super) type ExitByStation = HashMap<Mac, usize>;

/// The places at which each station was learned, without the devices' own addresses: islands, and
/// their exits.
pub(super) struct StationSightings(HashMap<Mac, Vec<(usize, usize)>>);

impl StationSightings {
    pub(super) fn new(learned: &[ExitByStation], owners: &HashMap<Mac, usize>) -> StationSightings {
        let mut stations: HashMap<Mac, Vec<(usize, usize)>> = HashMap::new();
        for (island, rows) in learned.iter().enumerate() {
            for (mac, &exit) in rows.iter().filter(|(mac, _)| !owners.contains_key(mac)) {
                stations.entry(*mac).or_default().push((island, exit));
            }
        }
        StationSightings(stations)
    }

    /// The stations that an island shares with each island of a larger number.
    pub(super) fn sides(&self, a: usize, learned: &ExitByStation) -> HashMap<usize, FacingCounts> {
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

/// The number of stations that two islands have behind each pair of exits.
#[derive(Default)]
pub(super) struct FacingCounts(BTreeMap<(usize, usize), usize>);

impl FacingCounts {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn turned(&self) -> FacingCounts {
        FacingCounts(self.0.iter().map(|(&(x, y), &n)| ((y, x), n)).collect())
    }

    pub(super) fn stations(&self, fits: impl Fn(usize, usize) -> bool) -> usize {
        self.0
            .iter()
            .filter(|&(&(i, j), _)| fits(i, j))
            .map(|(_, n)| n)
            .sum()
    }

    /// True if the stations allow these two exits to face each other. A station that is behind
    /// neither would be in two places.
    pub(super) fn fits(&self, x: usize, y: usize) -> bool {
        self.stations(|i, j| i != x && j != y) * STALE <= self.stations(|_, _| true)
    }

    /// The other island's exit, if this island's exit is known: stations that are not behind this
    /// one must be behind that one.
    pub(super) fn far_of(&self, x: usize) -> Option<usize> {
        let mut there: BTreeMap<usize, usize> = BTreeMap::new();
        for (&(_, j), n) in self.0.iter().filter(|&(&(i, _), _)| i != x) {
            *there.entry(j).or_default() += n;
        }
        let (y, stations) = there.into_iter().max_by_key(|(_, stations)| *stations)?;
        (stations >= LEAST && self.fits(x, y)).then_some(y)
    }

    /// The only pair of exits that fits, with enough stations on either side.
    pub(super) fn only(&self) -> Option<(usize, usize)> {
        let candidates: BTreeSet<usize> = self.0.keys().map(|(x, _)| *x).collect();
        let mut fitting = candidates.into_iter().filter_map(|x| {
            let y = self.far_of(x)?;
            (self.stations(|i, j| i == x && j != y) >= LEAST).then_some((x, y))
        });
        fitting.next().filter(|_| fitting.next().is_none())
    }
}
