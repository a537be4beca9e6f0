//! Neighbours by their forwarding databases.
//!
//! Source: B. Lowekamp, D. O'Hallaron, T. Gross, "Topology discovery for large Ethernet networks" (SIGCOMM 2001), section 4;
//! Y. Breitbart et al., "Topology discovery in heterogeneous IP networks" (INFOCOM 2000), theorem on complete databases.
//! Input: learned rows of each device, its own MAC addresses, the cables known so far.
//! Guarantee: with rows that are not stale, two ports are only said to face each other where no other reading of the rows
//! has both behind them; what the rows leave open stays open.
//! Cost: devices squared, times the stations two of them share.
//! Deviations: ports face each other by own addresses where they are learned, which bridges rarely are; else by at least
//! [`LEAST`] stations on each side, where the papers take one.
use super::{Context, End, Pair};
use crate::Mac;
use crate::infer::device::{Device, Port};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// Stations that must speak for a side where no device sees the other itself: one may be stale.
const LEAST: usize = 2;

/// Which port of a device each station is behind.
type Learned = HashMap<Mac, Port>;

/// The port of one device towards another, for pairs in the order of their numbers.
type Facing = BTreeMap<(usize, usize), (Port, Port, String)>;

pub(super) fn pairs(context: &Context<'_, '_>) -> Vec<Pair> {
    let facing = facing(context);
    let toward = |a: usize, b: usize| {
        let entry = facing.get(&(a.min(b), a.max(b)))?;
        Some(if a < b { &entry.0 } else { &entry.1 })
    };
    // Another device that both have behind these ports is between them where it sees them on two ports of its own.
    let direct = |a: usize, b: usize, x: &Port, y: &Port| {
        (0..context.devices.len()).filter(|c| *c != a && *c != b && toward(a, *c) == Some(x) && toward(b, *c) == Some(y)).all(|c| {
            let (to_a, to_b) = (toward(c, a), toward(c, b));
            to_a == to_b
        })
    };
    let mut pairs = Vec::new();
    for ((a, b), (x, y, evidence)) in &facing {
        let ends: [End; 2] = [(*a, x.clone()), (*b, y.clone())];
        if !context.parts.equiv(*a, *b) && context.open(&ends) && direct(*a, *b, x, y) {
            pairs.push(Pair { ends, evidence: vec![evidence.clone()] });
        }
    }
    pairs
}

fn facing(context: &Context<'_, '_>) -> Facing {
    let owners = owners(context);
    let learned: Vec<Learned> = context.devices.iter().map(learned).collect();
    let sees: Vec<HashMap<usize, BTreeSet<&Port>>> = learned
        .iter()
        .map(|rows| {
            let mut sees: HashMap<usize, BTreeSet<&Port>> = HashMap::new();
            for (mac, port) in rows {
                if let Some(owner) = owners.get(mac) {
                    sees.entry(*owner).or_default().insert(port);
                }
            }
            sees
        })
        .collect();
    let seen = |a: usize, b: usize| sees[a].get(&b).filter(|ports| ports.len() == 1).and_then(|ports| ports.first().copied());
    let with_rows: Vec<usize> = (0..learned.len()).filter(|&d| !learned[d].is_empty()).collect();
    let mut facing = Facing::new();
    for (i, &a) in with_rows.iter().enumerate() {
        for &b in &with_rows[i + 1..] {
            let sides = Sides::new(&learned[a], &learned[b], &owners);
            let ports = match (seen(a, b), seen(b, a)) {
                (Some(x), Some(y)) => sides.fits(x, y).then(|| (x.clone(), y.clone(), "each learned the other's address".to_owned())),
                (Some(x), None) => sides.far_of(x).map(|y| (x.clone(), y.clone(), "one learned the other's address".to_owned())),
                (None, Some(y)) => sides.turned().far_of(y).map(|x| (x.clone(), y.clone(), "one learned the other's address".to_owned())),
                (None, None) => sides.only().map(|(x, y)| (x.clone(), y.clone(), "neither learned the other's address".to_owned())),
            };
            if let Some((x, y, how)) = ports {
                let (near, far) = (context.devices[a].name, context.devices[b].name);
                let told = sides.told(&x, &y);
                facing.insert(
                    (a, b),
                    (x.clone(), y.clone(), format!("FDB: {near} {} and {far} {} face each other: {how}{told}", x.name, y.name)),
                );
            }
        }
    }
    facing
}

/// The stations each device learned on one port alone; those on several tell nothing.
fn learned(device: &Device<'_>) -> Learned {
    let mut rows: HashMap<Mac, Option<Port>> = HashMap::new();
    for entry in device.learned() {
        let Some(port) = device.base_port(entry.port).filter(|p| !device.is_down(p)) else { continue };
        let at = rows.entry(entry.mac).or_insert_with(|| Some(port.clone()));
        if at.as_ref() != Some(&port) {
            *at = None;
        }
    }
    rows.into_iter().filter_map(|(mac, port)| Some((mac, port?))).collect()
}

/// Whose address is whose. A device that does not list its ports' addresses has them next to its own.
fn owners(context: &Context<'_, '_>) -> HashMap<Mac, usize> {
    let mut owners: HashMap<Mac, Option<usize>> = HashMap::new();
    let stated: HashSet<Mac> = context.devices.iter().flat_map(Device::macs).collect();
    for (number, device) in context.devices.iter().enumerate() {
        let likely = device.likely_macs().filter(|m| !stated.contains(m));
        for mac in device.macs().chain(likely).collect::<BTreeSet<_>>() {
            let owner = owners.entry(mac).or_insert(Some(number));
            if *owner != Some(number) {
                *owner = None;
            }
        }
    }
    owners.into_iter().filter_map(|(mac, owner)| Some((mac, owner?))).collect()
}

/// How many stations two devices have behind which pair of ports.
struct Sides<'l>(BTreeMap<(&'l Port, &'l Port), usize>);

impl<'l> Sides<'l> {
    fn new(a: &'l Learned, b: &'l Learned, owners: &HashMap<Mac, usize>) -> Sides<'l> {
        let mut sides = BTreeMap::new();
        for (mac, x) in a.iter().filter(|(mac, _)| !owners.contains_key(mac)) {
            if let Some(y) = b.get(mac) {
                *sides.entry((x, y)).or_default() += 1;
            }
        }
        Sides(sides)
    }

    fn turned(&self) -> Sides<'l> {
        Sides(self.0.iter().map(|((x, y), n)| ((*y, *x), *n)).collect())
    }

    /// Whether every station is behind one of these two ports: one that is behind neither would be in two places.
    fn fits(&self, x: &Port, y: &Port) -> bool {
        self.0.keys().all(|(i, j)| *i == x || *j == y)
    }

    /// The other device's port, where this one's is known: what is not behind this one must be behind that.
    fn far_of(&self, x: &Port) -> Option<&'l Port> {
        let mut there: BTreeMap<&Port, usize> = BTreeMap::new();
        for ((_, j), n) in self.0.iter().filter(|((i, _), _)| *i != x) {
            *there.entry(*j).or_default() += n;
        }
        there.pop_first().filter(|(_, stations)| there.is_empty() && *stations >= LEAST).map(|(j, _)| j)
    }

    /// The one pair of ports that fits, with enough stations on either side.
    fn only(&self) -> Option<(&'l Port, &'l Port)> {
        let mut fitting = self.0.keys().filter_map(|(x, _)| {
            let y = self.far_of(x)?;
            let theirs: usize = self.0.iter().filter(|((i, j), _)| i == x && *j != y).map(|(_, n)| n).sum();
            (theirs >= LEAST).then_some((*x, y))
        });
        let first = fitting.next()?;
        fitting.all(|other| other == first).then_some(first)
    }

    fn told(&self, x: &Port, y: &Port) -> String {
        let count = |fits: &dyn Fn(&Port, &Port) -> bool| self.0.iter().filter(|((i, j), _)| fits(i, j)).map(|(_, n)| n).sum::<usize>();
        let (ours, theirs) = (count(&|i, j| i != x && j == y), count(&|i, j| i == x && j != y));
        let between = count(&|i, j| i == x && j == y);
        let hidden = if between > 0 { format!(", {between} between: something unmanaged may stand there") } else { String::new() };
        format!("; {ours} stations on the one side, {theirs} on the other{hidden}")
    }
}
