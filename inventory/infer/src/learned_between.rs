//! The evidence of forwarding databases about two ports that are claimed to share a cable.
use crate::acceptance::known::Known;
use crate::facts::ports::PortIx;
use crate::facts::{DeviceIx, DevicePortIx, Facts};
use inventory::Mac;
use std::cmp::Reverse;
use std::collections::HashMap;

/// The least number of stations that show anything: one row may be old.
pub(crate) const LEAST: usize = 2;

/// At most one in this many of the stations that two devices share may be in an impossible place because its
/// row is old.
pub(crate) const STALE: usize = 20;

/// At most one in this many of the rows of two ports that face each other may be of a station between them,
/// because it moved while the tables were read.
const MOVED: usize = 50;

/// True if so many of all stations are between two ports that rows of many moments do not explain
/// it. Where rows are of one moment, one station is enough.
fn is_significant(between: usize, all: usize, mixes_moments: bool) -> bool {
    between > 0 && (!mixes_moments || between * MOVED > all)
}

/// True if stations show that a bridge is between two ports. Where one of them blocks, each station
/// that the other learned is between them; a blocked port still sends its own frames.
pub(crate) fn are_parted(known: &Known<'_>, a: DevicePortIx, b: DevicePortIx) -> bool {
    let facts = known.facts;
    let (a, b) = (known.whole(a), known.whole(b));
    let between = match (known.blocks(a), known.blocks(b)) {
        (false, true) => foreign_behind(facts, a, b.0).count(),
        (true, false) => foreign_behind(facts, b, a.0).count(),
        _ => stations_between(facts, a, b).len(),
    };
    let sides = [a, b].map(|(device, port)| facts[device].learned.behind(port).len());
    let all = sides.iter().sum();
    is_significant(between, all, facts.scope.policy.mixes_moments)
}

/// The stations that a device learned at its port, without its own addresses and the other device's.
pub(crate) fn foreign_behind(
    facts: &Facts<'_>,
    (device, port): DevicePortIx,
    other: DeviceIx,
) -> impl Iterator<Item = Mac> {
    let behind = facts[device].learned.behind(port);
    behind.filter(move |mac| is_foreign(facts, [device, other], *mac))
}

/// The stations that both of two ports learned, as if they were between them. The devices' own
/// addresses do not count.
pub(crate) fn stations_between(facts: &Facts<'_>, a: DevicePortIx, b: DevicePortIx) -> Vec<Mac> {
    let mut there = facts[b.0].learned.behind(b.1).peekable();
    let here = facts[a.0].learned.behind(a.1);
    let both = here.filter(|mac| {
        while there.next_if(|other| other < mac).is_some() {}
        there.peek() == Some(mac)
    });
    both.filter(|mac| is_foreign(facts, [a.0, b.0], *mac))
        .collect()
}

/// True for an address that is none of these devices' own.
pub(crate) fn is_foreign(facts: &Facts<'_>, devices: [DeviceIx; 2], mac: Mac) -> bool {
    !devices.iter().any(|d| facts[*d].macs.contains(&mac))
}

/// True if a device has another behind another port than this one: the other's own addresses, or
/// stations that are only on the far side of the other.
pub(crate) fn denies(
    facts: &Facts<'_>,
    (device, port): (DeviceIx, PortIx),
    other: DeviceIx,
) -> bool {
    let (own, other) = (&facts[device], &facts[other]);
    if other
        .macs
        .iter()
        .filter_map(|mac| own.learned.port_of(*mac))
        .any(|at| at != port)
    {
        return true;
    }
    let mut sides: HashMap<PortIx, (usize, usize)> = HashMap::new();
    for (_, there, here) in other.learned.shared(&own.learned) {
        let side = sides.entry(there).or_default();
        side.0 += 1;
        side.1 += usize::from(here != port);
    }
    // Of the other's ports, one leads here. Behind all others nothing may be elsewhere.
    let mut elsewhere: Vec<(usize, usize)> = sides.into_values().collect();
    elsewhere.sort_by_key(|(_, n)| Reverse(*n));
    let shared: usize = elsewhere.iter().map(|(all, _)| all).sum();
    let wrong: usize = elsewhere.iter().skip(1).map(|(_, n)| n).sum();
    wrong >= LEAST && wrong * STALE > shared
}
