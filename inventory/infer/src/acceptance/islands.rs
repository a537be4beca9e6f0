//! Forwarding databases, read over known cables. Devices that are joined by known cables form an
//! island, unless a cable ends at a port by which a device is managed, and a station that an island learned is behind one of its exits.
//!
//! Source: Y. Bejerano et al., "Physical topology discovery for large multi-subnet networks"
//! (INFOCOM 2003): they contract the known part and continue with the rest. The step from device to
//! device follows the rows as frames would. Input: learned rows of each device, and the cables known
//! so far. Guarantee: if no row is stale, the path to a station ends where the known network ends.
//! Cost: for each requested station, the devices that learned it, times the length of the path.
//! Deviations: if the rows of a station lead to different ends, this is reported, and no majority
//! decides.
use super::known::Known;
use crate::facts::ports::PortIx;
use crate::facts::{DeviceIx, DevicePortIx, Facts, NodeIx};
use crate::networks::ends_at_own_port;
use inventory::Mac;
use inventory::topology::LinkGrade;
use petgraph::unionfind::UnionFind;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// An end of an island.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum IslandExit {
    /// At a port of a device.
    Port(DeviceIx, PortIx),
    /// At nodes that do not answer, by the number of their part.
    Dark(usize),
}

/// The node that a port leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PortLead {
    Device(DeviceIx),
    Dark(usize),
    /// One of several nodes.
    Unclear,
}

/// The devices by the cables known so far.
pub(crate) struct DeviceIslands<'f> {
    facts: &'f Facts<'f>,
    leads: HashMap<DevicePortIx, PortLead>,
    /// The nodes in each part that does not answer.
    dark: Vec<Vec<NodeIx>>,
    /// The devices with ports that lead into each of these parts.
    shores: Vec<BTreeSet<DeviceIx>>,
    /// The island of each device.
    island: Vec<usize>,
}

impl<'f> DeviceIslands<'f> {
    pub(crate) fn new(known: &Known<'f>) -> DeviceIslands<'f> {
        let facts = known.facts;
        let (part, dark) = dark_parts(known);
        let devices = facts.device_count();
        let mut islands = UnionFind::new(devices + dark.len());
        let mut leads: HashMap<DevicePortIx, PortLead> = HashMap::new();
        for cable in &known.cables {
            let clear = known.is_clear(cable);
            let ends = cable
                .ends
                .each_ref()
                .map(|end| match facts.device_of(end.node) {
                    Some(device) => PortLead::Device(device),
                    None => PortLead::Dark(part[&end.node]),
                });
            // Nothing is forwarded through a port by which a device is managed: databases on its
            // two sides are not compared.
            if clear && !ends_at_own_port(facts, &cable.ends) {
                let [a, b] = ends.map(|lead| match lead {
                    PortLead::Device(device) => device.0 as usize,
                    PortLead::Dark(part) => devices + part,
                    PortLead::Unclear => unreachable!("no node is unclear"),
                });
                islands.union(a, b);
            }
            for (near, far) in [(&cable.ends[0], ends[1]), (&cable.ends[1], ends[0])] {
                let Some(port) = near.device_port(facts) else {
                    continue;
                };
                let far = if clear { far } else { PortLead::Unclear };
                // If another cable names another node, the port leads to one of several.
                // LLDP names the members of an aggregate, and databases name the aggregate.
                for port in BTreeSet::from([port, known.whole(port)]) {
                    let kept = leads.entry(port).or_insert(far);
                    if *kept != far {
                        *kept = PortLead::Unclear;
                    }
                }
            }
        }
        for port in &known.unclear_aggregates {
            leads.entry(*port).or_insert(PortLead::Unclear);
        }
        let mut shores = vec![BTreeSet::new(); dark.len()];
        for ((device, _), lead) in &leads {
            if let PortLead::Dark(part) = lead {
                shores[*part].insert(*device);
            }
        }
        DeviceIslands {
            facts,
            leads,
            shores,
            dark,
            island: (0..devices).map(|n| islands.find(n)).collect(),
        }
    }

    /// The number of the island of a device.
    pub(crate) fn island(&self, device: DeviceIx) -> usize {
        self.island[device.0 as usize]
    }

    /// The nodes in a part that does not answer.
    pub(crate) fn dark_nodes(&self, part: usize) -> &[NodeIx] {
        &self.dark[part]
    }

    /// The ports that lead into a part that does not answer.
    pub(crate) fn ports_to(&self, part: usize) -> impl Iterator<Item = DevicePortIx> + '_ {
        let into = self.leads.iter();
        into.filter(move |(_, lead)| **lead == PortLead::Dark(part))
            .map(|(port, _)| *port)
    }

    /// The node that a port leads to; `None` for an edge port or a new one.
    pub(crate) fn lead(&self, port: DevicePortIx) -> Option<PortLead> {
        self.leads.get(&port).copied()
    }

    /// Every end to which the rows of these devices lead.
    pub(crate) fn ends(
        &self,
        mac: Mac,
        devices: impl IntoIterator<Item = DeviceIx>,
    ) -> BTreeSet<IslandExit> {
        let mut passed = Vec::new();
        devices
            .into_iter()
            .filter_map(|device| self.end(mac, device, &mut passed))
            .collect()
    }

    fn learned_at(&self, device: DeviceIx, mac: Mac) -> Option<PortIx> {
        self.facts[device].learned.port_of(mac)
    }

    /// The end of the path from a device to a station; `None` if the device or the next one on the
    /// path did not learn the station, if rows send frames back, or if another path passed this
    /// device before.
    fn end(&self, mac: Mac, device: DeviceIx, passed: &mut Vec<DeviceIx>) -> Option<IslandExit> {
        let mut at = (device, self.learned_at(device, mac)?);
        while !passed.contains(&at.0) {
            passed.push(at.0);
            at = match self.lead(at) {
                None => return Some(IslandExit::Port(at.0, at.1)),
                Some(PortLead::Unclear) => return None,
                Some(PortLead::Device(next)) => {
                    let port = self.learned_at(next, mac)?;
                    if self.lead((next, port)) == Some(PortLead::Device(at.0)) {
                        return None;
                    }
                    (next, port)
                }
                Some(PortLead::Dark(part)) => {
                    // Nobody can read the rows inside the part. The path goes on where just one
                    // device around it has the station away from the part.
                    let mut beyond = self.shores[part].iter().filter_map(|&shore| {
                        let port = self.learned_at(shore, mac).filter(|_| shore != at.0)?;
                        let away = self.lead((shore, port)) != Some(PortLead::Dark(part));
                        away.then_some((shore, port))
                    });
                    match (beyond.next(), beyond.next()) {
                        (None, _) => return Some(IslandExit::Dark(part)),
                        (Some(next), None) => next,
                        _ => return None,
                    }
                }
            };
        }
        None
    }
}

/// The cabled nodes that are not devices: the part of each, and the nodes in each part.
fn dark_parts(known: &Known<'_>) -> (HashMap<NodeIx, usize>, Vec<Vec<NodeIx>>) {
    let facts = known.facts;
    let mut nodes: Vec<NodeIx> = known
        .cabled()
        .into_iter()
        .filter(|node| facts.device_of(*node).is_none())
        .collect();
    nodes.sort_by_key(|node| known.name(*node));
    let number: HashMap<NodeIx, usize> = nodes.iter().enumerate().map(|(i, n)| (*n, i)).collect();
    let mut joined = UnionFind::new(nodes.len());
    let clear = known
        .cables
        .iter()
        .filter(|c| c.grade != LinkGrade::Ambiguous);
    for cable in clear {
        if let [Some(&a), Some(&b)] = cable.ends.each_ref().map(|end| number.get(&end.node)) {
            joined.union(a, b);
        }
    }
    let mut parts: BTreeMap<usize, Vec<NodeIx>> = BTreeMap::new();
    for (i, node) in nodes.iter().enumerate() {
        parts.entry(joined.find(i)).or_default().push(*node);
    }
    let order: HashMap<usize, usize> = parts.keys().enumerate().map(|(i, p)| (*p, i)).collect();
    let part = nodes
        .iter()
        .enumerate()
        .map(|(i, node)| (*node, order[&joined.find(i)]))
        .collect();
    (part, parts.into_values().collect())
}
