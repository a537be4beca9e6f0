//! The places of asked devices that no protocol names: servers, routers and others without a
//! forwarding database of their own. Such a device is at the port on which its addresses are learned
//! alone.
use crate::acceptance::islands::{DeviceIslands, IslandExit};
use crate::acceptance::known::Known;
use crate::claims::{Claim, ClaimEnd, EndPort};
use crate::facts::{DeviceIx, Facts, NodeIx};
use crate::ranking::ClaimGrounds;
use inventory::Mac;
use inventory::evidence::Evidence;
use std::collections::{BTreeMap, BTreeSet};

/// A claim for each such device whose addresses lead to one port only, or to several if it has a
/// cable to each.
pub(crate) fn propose(facts: &Facts<'_>, known: &Known<'_>) -> Vec<Claim> {
    let cabled = known.cabled();
    let quiet: Vec<(DeviceIx, &BTreeSet<Mac>)> = facts
        .devices()
        .filter(|(device, own)| !own.bridges && !cabled.contains(&NodeIx::from(*device)))
        .filter(|(_, own)| own.learned.is_empty() && !own.macs.is_empty())
        .map(|(device, own)| (device, &own.macs))
        .collect();
    if quiet.is_empty() {
        return vec![];
    }
    let islands = DeviceIslands::new(known);
    let mut claims = Vec::new();
    for (device, macs) in quiet {
        for (exit, own) in exits(facts, &islands, device, macs) {
            if let IslandExit::Port(bridge, port) = exit
                && facts[bridge]
                    .learned
                    .behind(port)
                    .all(|mac| macs.contains(&mac))
            {
                claims.push(claim(facts, device, ClaimEnd::at(bridge, port), &own));
            }
        }
    }
    claims
}

/// The exits behind which the device's addresses are, with the addresses.
fn exits(
    facts: &Facts<'_>,
    islands: &DeviceIslands<'_>,
    device: DeviceIx,
    macs: &BTreeSet<Mac>,
) -> BTreeMap<IslandExit, Vec<Mac>> {
    let mut exits: BTreeMap<IslandExit, Vec<Mac>> = BTreeMap::new();
    for mac in macs {
        // An address that several nodes have tells nothing.
        if facts.identity.owner_of(*mac) != Some(device.into()) {
            continue;
        }
        let by = facts
            .devices()
            .filter(|(_, d)| d.learned.port_of(*mac).is_some())
            .map(|(d, _)| d);
        let ends = islands.ends(*mac, by);
        if let (Some(exit), 1) = (ends.first(), ends.len()) {
            exits.entry(*exit).or_default().push(*mac);
        }
    }
    exits
}

fn claim(facts: &Facts<'_>, device: DeviceIx, at: ClaimEnd, macs: &[Mac]) -> Claim {
    let own = &facts[device];
    // The port with the address that was learned, if it is one cable's end.
    let ports: BTreeSet<_> = macs
        .iter()
        .filter_map(|mac| own.ports.by_mac(*mac))
        .filter(|port| own.ports[*port].may_be_cabled())
        .collect();
    let far = match (ports.first(), ports.len()) {
        (Some(port), 1) => EndPort::At(*port),
        _ => EndPort::Unknown,
    };
    let bridge = facts.device_of(at.node);
    let evidence = vec![Evidence::LearnedAtEdge {
        at: inventory::evidence::DevicePort::new(
            bridge.map_or("", |b| &facts[b].name),
            at.port_name(facts),
        ),
        macs: macs.to_vec(),
        stale: bridge.is_some_and(|b| facts[b].stale),
    }];
    let ends = [at, ClaimEnd::new(device, far)];
    Claim::new(facts, ends, ClaimGrounds::LearnedAtEdge, evidence)
}
