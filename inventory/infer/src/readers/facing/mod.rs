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
mod apart;
mod counts;
mod relations;

use super::segments::{OpenPorts, SegmentEnd, SegmentPair};
use crate::acceptance::islands::{DeviceIslands, IslandExit};
use crate::acceptance::known::Known;
use crate::facts::{DeviceIx, Facts};
use crate::learned_between::{LEAST, STALE};
use crate::ranking::ClaimGrounds;
use inventory::evidence::Evidence;
use relations::{IslandRelation, IslandRows};
use std::collections::BTreeMap;

/// With at least this many rows, it is significant that two devices share no station.
const RICH: usize = 10;

/// Pairs of open ports that face each other.
pub(crate) fn propose(facts: &Facts<'_>, known: &Known<'_>) -> Vec<SegmentPair> {
    let open = OpenPorts::new(known);
    // Cables of single VLANs: a station behind several ports of a bridge is behind one in each database.
    let mut pairs = apart::propose(facts, known, &open);
    let islands = DeviceIslands::new(known);
    let lands = lands(facts, &islands);
    // Rows can be many. If known cables join all devices, they add nothing.
    if lands
        .iter()
        .filter(|land| land.iter().any(|d| !facts[*d].learned.is_empty()))
        .count()
        < 2
    {
        return pairs;
    }
    let rows = IslandRows::new(facts, &islands, lands);
    let others = rows.inner_first();
    for (&(a, b), relation) in rows.relations() {
        let faces = [(a, relation.exits.0), (b, relation.exits.1)];
        let ends = faces.map(|(_, exit)| end_at(&islands, rows.exit(exit)));
        if !open.admit(&ends) {
            continue;
        }
        let Some(doubtful) = rows.doubtful(faces, &others) else {
            continue;
        };
        let mut evidence = vec![evidence(known, relation, &ends)];
        let devices = doubtful.iter().flat_map(|island| rows.devices(*island));
        let doubtful: Vec<String> = devices.map(|d| facts[*d].name.clone()).collect();
        let sure = doubtful.is_empty();
        evidence.extend((!sure).then_some(Evidence::BetweenPossible(doubtful)));
        pairs.push(SegmentPair {
            parted: relation.is_parted(facts.scope.policy.mixes_moments),
            ends,
            evidence,
            sure,
            grounds: ClaimGrounds::Facing,
        });
    }
    pairs
}

/// The devices of each island.
fn lands(facts: &Facts<'_>, islands: &DeviceIslands<'_>) -> Vec<Vec<DeviceIx>> {
    let mut lands: BTreeMap<usize, Vec<DeviceIx>> = BTreeMap::new();
    for (device, _) in facts.devices() {
        lands
            .entry(islands.island(device))
            .or_default()
            .push(device);
    }
    let mut lands: Vec<Vec<DeviceIx>> = lands.into_values().collect();
    lands.sort();
    lands
}

/// The segment end at an exit.
fn end_at(islands: &DeviceIslands<'_>, exit: IslandExit) -> SegmentEnd {
    match exit {
        IslandExit::Port(device, port) => SegmentEnd::At(device, port),
        IslandExit::Dark(part) => SegmentEnd::Dark(islands.dark_nodes(part).to_vec()),
    }
}

fn evidence(known: &Known<'_>, relation: &IslandRelation, ends: &[SegmentEnd; 2]) -> Evidence {
    Evidence::Facing {
        ends: ends.each_ref().map(|end| end.label(known)),
        proof: relation.how,
        sides: relation.sides,
        between: relation.between,
    }
}
