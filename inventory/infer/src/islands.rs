//! Forwarding databases, read over known cables. Devices that are joined by known cables form an
//! island, and a station that an island learned is behind one of its exits.
//!
//! Source: Y. Bejerano et al., "Physical topology discovery for large multi-subnet networks"
//! (INFOCOM 2003): they contract the known part and continue with the rest. The step from device to
//! device follows the rows as frames would. Input: learned rows of each device, and the links known
//! so far. Guarantee: if no row is stale, the path to a station ends where the known network ends.
//! Cost: the rows once; for each requested station, the devices that learned it, times the length
//! of the path. Deviations: if the rows of a station lead to different ends, this is reported, and
//! no majority decides.
use super::device::DeviceTables;
use super::lag;
use super::trunks::TrunkLink;
use inventory::Mac;
use inventory::observation::StpState;
use inventory::topology::LinkGrade;
use petgraph::unionfind::UnionFind;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// An end of an island.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum IslandExit {
    /// At a port of a device, by ifIndex.
    Port(usize, u32),
    /// At nodes that do not answer, by the number of their part.
    Dark(usize),
}

/// The node that a port leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PortLead {
    Device(usize),
    Dark(usize),
    /// One of several nodes.
    Unclear,
}

/// The port (ifIndex) that each station is behind, in the order of addresses.
pub(super) struct LearnedStations(Vec<(Mac, u32)>);

/// The stations behind each port, by ifIndex.
pub(super) type StationsByPort = HashMap<u32, Vec<Mac>>;

pub(super) struct DeviceIslands<'l> {
    learned: &'l [LearnedStations],
    leads: Vec<HashMap<u32, PortLead>>,
    /// The names of the nodes in each part that does not answer.
    dark: Vec<Vec<String>>,
    /// The devices with ports that lead into each of these parts.
    shores: Vec<Vec<usize>>,
    /// The island of each device, then of each dark part.
    island: Vec<usize>,
}

impl LearnedStations {
    /// The rows of a device. Stations with rows on several ports are left out.
    pub(super) fn new(device: &DeviceTables<'_>) -> LearnedStations {
        let living: HashMap<u32, u32> = device.base_ports().collect();
        let rows = device.learned().iter().filter(|e| e.mac.is_station());
        let mut rows: Vec<(Mac, u32)> = rows
            .filter_map(|e| Some((e.mac, *living.get(&e.port)?)))
            .collect();
        rows.sort_unstable();
        rows.dedup();
        let several: BTreeSet<Mac> = rows
            .windows(2)
            .filter(|w| w[0].0 == w[1].0)
            .map(|w| w[0].0)
            .collect();
        rows.retain(|(mac, _)| !several.contains(mac));
        LearnedStations(rows)
    }

    pub(super) fn get(&self, mac: Mac) -> Option<u32> {
        self.0
            .binary_search_by_key(&mac, |row| row.0)
            .ok()
            .map(|at| self.0[at].1)
    }

    pub(super) fn by_port(&self) -> StationsByPort {
        let mut behind = StationsByPort::new();
        self.rows()
            .for_each(|(mac, port)| behind.entry(port).or_default().push(mac));
        behind
    }

    pub(super) fn rows(&self) -> impl Iterator<Item = (Mac, u32)> + '_ {
        self.0.iter().copied()
    }
}

/// For each device, the node that each port leads to, by ifIndex.
struct PortLeads(Vec<HashMap<u32, PortLead>>);

impl PortLeads {
    /// The ports of a device at a cable lead to the other end of the cable. If another cable names
    /// another node, they lead to one of several.
    fn add(&mut self, number: usize, device: &DeviceTables<'_>, trunk: &TrunkLink, far: PortLead) {
        for index in trunk
            .end(device.name)
            .into_iter()
            .flat_map(|port| indices(device, port))
        {
            let kept = self.0[number].entry(index).or_insert(far);
            if *kept != far {
                *kept = PortLead::Unclear;
            }
        }
    }

    /// For each part that does not answer, the devices with ports into it.
    fn shores(&self, parts: usize) -> Vec<Vec<usize>> {
        let mut shores = vec![vec![]; parts];
        for (number, leads) in self.0.iter().enumerate() {
            let parts: BTreeSet<usize> = leads
                .values()
                .filter_map(|l| match l {
                    PortLead::Dark(part) => Some(*part),
                    PortLead::Device(_) | PortLead::Unclear => None,
                })
                .collect();
            parts.into_iter().for_each(|part| shores[part].push(number));
        }
        shores
    }
}

impl<'l> DeviceIslands<'l> {
    pub(super) fn new(
        devices: &[DeviceTables<'_>],
        learned: &'l [LearnedStations],
        trunks: &[TrunkLink],
    ) -> DeviceIslands<'l> {
        let numbers: HashMap<&str, usize> = devices
            .iter()
            .enumerate()
            .map(|(i, d)| (d.name, i))
            .collect();
        let (part, dark) = dark(&numbers, trunks);
        let lead = |name: &str| {
            numbers
                .get(name)
                .map_or_else(|| PortLead::Dark(part[name]), |&d| PortLead::Device(d))
        };
        let place = |lead: PortLead| match lead {
            PortLead::Device(d) => Some(d),
            PortLead::Dark(part) => Some(devices.len() + part),
            PortLead::Unclear => None,
        };
        let mut leads = PortLeads(vec![HashMap::new(); devices.len()]);
        let mut islands = UnionFind::new(devices.len() + dark.len());
        for trunk in trunks {
            let clear =
                trunk.link.grade != LinkGrade::Ambiguous && !blocked(devices, &numbers, trunk);
            let ends = [&trunk.link.a, &trunk.link.b].map(|n| lead(n));
            if let (true, Some(a), Some(b)) = (clear, place(ends[0]), place(ends[1])) {
                islands.union(a, b);
            }
            for (near, far) in [(ends[0], ends[1]), (ends[1], ends[0])] {
                if let PortLead::Device(near) = near {
                    let far = if clear { far } else { PortLead::Unclear };
                    leads.add(near, &devices[near], trunk, far);
                }
            }
        }
        for (device, index, far) in lag::unreported_members(devices, trunks) {
            leads.0[device]
                .entry(index)
                .or_insert_with(|| far.map_or(PortLead::Unclear, |name| lead(&name)));
        }
        let island = (0..devices.len() + dark.len())
            .map(|n| islands.find(n))
            .collect();
        DeviceIslands {
            learned,
            shores: leads.shores(dark.len()),
            leads: leads.0,
            dark,
            island,
        }
    }

    /// The island of each device.
    pub(super) fn of(&self, device: usize) -> usize {
        self.island[device]
    }

    /// The names in a part that does not answer.
    pub(super) fn names(&self, part: usize) -> &[String] {
        &self.dark[part]
    }

    pub(super) fn learned(&self, device: usize) -> &LearnedStations {
        &self.learned[device]
    }

    /// The node that a port leads to; `None` for an edge port or a new one.
    pub(super) fn lead(&self, device: usize, index: u32) -> Option<PortLead> {
        self.leads[device].get(&index).copied()
    }

    /// Every end to which the rows of these devices lead.
    pub(super) fn ends(
        &self,
        mac: Mac,
        devices: impl IntoIterator<Item = usize>,
    ) -> BTreeSet<IslandExit> {
        let mut passed = Vec::new();
        devices
            .into_iter()
            .filter_map(|device| self.end(mac, device, &mut passed))
            .collect()
    }

    /// The end of the path from a device to a station; `None` if the device or the next one on the
    /// path did not learn the station, if rows send frames back, or if another path passed this
    /// device before.
    fn end(&self, mac: Mac, device: usize, passed: &mut Vec<usize>) -> Option<IslandExit> {
        let mut at = (device, self.learned[device].get(mac)?);
        while !passed.contains(&at.0) {
            passed.push(at.0);
            match self.leads[at.0].get(&at.1) {
                None => return Some(IslandExit::Port(at.0, at.1)),
                Some(PortLead::Unclear) => return None,
                Some(&PortLead::Device(next)) => {
                    let port = self.learned[next].get(mac)?;
                    if self.leads[next].get(&port) == Some(&PortLead::Device(at.0)) {
                        return None;
                    }
                    at = (next, port);
                }
                Some(&PortLead::Dark(part)) => {
                    let away = |&&d: &&usize| {
                        let port = self.learned[d].get(mac).filter(|_| d != at.0);
                        port.is_some_and(|p| self.leads[d].get(&p) != Some(&PortLead::Dark(part)))
                    };
                    let mut beyond = self.shores[part].iter().filter(away);
                    match (beyond.next(), beyond.next()) {
                        (None, _) => return Some(IslandExit::Dark(part)),
                        (Some(&next), None) => at = (next, self.learned[next].get(mac)?),
                        _ => return None,
                    }
                }
            }
        }
        None
    }
}

/// The linked nodes that are not among the devices: the part of each, and the names in each part.
fn dark<'t>(
    numbers: &HashMap<&str, usize>,
    trunks: &'t [TrunkLink],
) -> (HashMap<&'t str, usize>, Vec<Vec<String>>) {
    let named = trunks
        .iter()
        .flat_map(|t| [t.link.a.as_str(), t.link.b.as_str()])
        .filter(|n| !numbers.contains_key(n));
    let names: Vec<&str> = named.collect::<BTreeSet<_>>().into_iter().collect();
    let number: HashMap<&str, usize> = names.iter().enumerate().map(|(i, n)| (*n, i)).collect();
    let mut joined = UnionFind::new(names.len());
    for trunk in trunks
        .iter()
        .filter(|t| t.link.grade != LinkGrade::Ambiguous)
    {
        if let (Some(&a), Some(&b)) = (
            number.get(trunk.link.a.as_str()),
            number.get(trunk.link.b.as_str()),
        ) {
            joined.union(a, b);
        }
    }
    let mut parts: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    for (i, name) in names.iter().enumerate() {
        parts
            .entry(joined.find(i))
            .or_default()
            .push((*name).to_owned());
    }
    let order: HashMap<usize, usize> = parts
        .keys()
        .enumerate()
        .map(|(i, root)| (*root, i))
        .collect();
    let part = names
        .iter()
        .enumerate()
        .map(|(i, name)| (*name, order[&joined.find(i)]))
        .collect();
    (part, parts.into_values().collect())
}

/// True if spanning tree blocks a cable.
fn blocked(
    devices: &[DeviceTables<'_>],
    numbers: &HashMap<&str, usize>,
    trunk: &TrunkLink,
) -> bool {
    [&trunk.link.a, &trunk.link.b].into_iter().any(|name| {
        let device = numbers.get(name.as_str()).map(|d| &devices[*d]);
        let state = device.and_then(|d| d.state_at(trunk.end(name)?.index?));
        matches!(
            state,
            Some(StpState::Blocking | StpState::Disabled | StpState::Broken)
        )
    })
}

/// A port's ifIndex, and that of its aggregate.
fn indices(
    device: &DeviceTables<'_>,
    port: &super::device::Port,
) -> impl Iterator<Item = u32> + use<> {
    port.index
        .into_iter()
        .chain(device.aggregate(port).and_then(|p| p.index))
}
