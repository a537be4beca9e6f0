//! A cable for each VLAN between two bridges: each has the other behind as many ports, in databases of
//! their own.
//!
//! Source: RFC 4363, dot1qFdbTable. Guarantee: within one database two ports face each other by both
//! bridges' addresses and no third bridge has a row of a station that passed. Cost: one pass over all rows,
//! and one over those of both bridges for each cable.
use super::super::segments::{OpenPorts, SegmentEnd, SegmentPair};
use crate::acceptance::known::Known;
use crate::facts::ports::PortIx;
use crate::facts::{DeviceIx, DevicePortIx, Facts};
use crate::learned_between::is_foreign;
use crate::ranking::ClaimGrounds;
use inventory::Mac;
use inventory::evidence::{Evidence, FacingProof};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// With more cables between two bridges than this, none is sought.
const MOST_CABLES: usize = 64;

/// Where a device has another one, by the id of a database.
type SeenBy = BTreeMap<(DeviceIx, DeviceIx, u32), Option<PortIx>>;

/// Pairs of open ports that face each other in one database.
pub(super) fn propose(
    facts: &Facts<'_>,
    known: &Known<'_>,
    open: &OpenPorts<'_>,
) -> Vec<SegmentPair> {
    let mut seen = SeenBy::new();
    for (device, own) in facts.devices() {
        for (database, mac, port) in own.learned.by_database() {
            let owner = facts.identity.owner_of(mac);
            if let Some(other) = owner.and_then(|owner| facts.device_of(owner)) {
                let kept = seen.entry((device, other, database)).or_insert(Some(port));
                // Within one database a station is behind one port. Another bridge at two of them has moved while the
                // table was read, or has several addresses that took different ways: neither port faces it.
                *kept = kept.filter(|kept| *kept == port);
            }
        }
    }
    let mut facing: BTreeMap<[DeviceIx; 2], BTreeSet<[PortIx; 2]>> = BTreeMap::new();
    for (&(a, b, database), port) in seen.iter().filter(|((a, b, _), _)| a < b) {
        let back = seen.get(&(b, a, database)).copied().flatten();
        let ports = port.zip(back).map(<[PortIx; 2]>::from);
        facing.entry([a, b]).or_default().extend(ports);
    }
    facing.retain(|_, ports| ports.len() <= MOST_CABLES);
    if facing.is_empty() {
        return vec![];
    }
    let mut times: HashMap<Mac, usize> = HashMap::new();
    for (mac, _) in facts.devices().flat_map(|(_, own)| own.learned.rows()) {
        *times.entry(mac).or_default() += 1;
    }
    let mut pairs = Vec::new();
    for ([a, b], ports) in facing {
        for [p, q] in ports {
            let pair = pair(facts, known, [(a, p), (b, q)], &times);
            pairs.extend(pair.filter(|pair| open.admit(&pair.ends)));
        }
    }
    pairs
}

/// The pair, unless a third bridge has a station that passed. `times`: the bridges that have each station.
fn pair(
    facts: &Facts<'_>,
    known: &Known<'_>,
    [(a, p), (b, q)]: [DevicePortIx; 2],
    times: &HashMap<Mac, usize>,
) -> Option<SegmentPair> {
    let ends = [SegmentEnd::At(a, p), SegmentEnd::At(b, q)];
    let (here, there) = (&facts[a].learned, &facts[b].learned);
    let (mut sides, mut between) = ((0, 0), 0);
    let shared = here.shared(there);
    for (mac, x, y) in shared.filter(|(mac, _, _)| is_foreign(facts, [a, b], *mac)) {
        match (x == p, y == q) {
            (false, false) => continue,
            _ if times[&mac] > 2 => return None,
            (true, true) => between += 1,
            (false, true) => sides.0 += 1,
            (true, false) => sides.1 += 1,
        }
    }
    let evidence = Evidence::Facing {
        ends: ends.each_ref().map(|end| end.label(known)),
        proof: FacingProof::Both,
        sides,
        between,
    };
    Some(SegmentPair {
        ends,
        evidence: vec![evidence],
        sure: true,
        parted: between > 0,
        grounds: ClaimGrounds::Facing,
    })
}
