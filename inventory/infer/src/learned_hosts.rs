//! Hosts that no device names. Each of them is where the path of its frames began: at an edge port
//! of a device, or somewhere among the nodes that do not answer.
use super::device::DeviceTables;
use super::identity::NodeDirectory;
use super::islands::{DeviceIslands, IslandExit};
use super::{InferenceScope, InferredNetwork};
use inventory::evidence::{AssumedRate, Evidence};
use inventory::topology::{Link, LinkGrade, LinkState, NodeKind};
use inventory::{BitsPerSec, Mac};
use std::collections::{BTreeSet, HashMap, HashSet};

/// A port with at most this many stations may be an edge port.
const FEW: usize = 3;

/// With more candidates than this, none is shown.
const MOST: usize = 4;

/// The learned rows about hosts.
pub(super) struct LearnedHosts<'i> {
    islands: &'i DeviceIslands<'i>,
    /// The devices that learned each address.
    by: HashMap<Mac, Vec<usize>>,
    /// Ports that lead to other switches, according to the stations learned there.
    inner: HashSet<(usize, u32)>,
    /// The ports of devices without LLDP on which an address is one of [`FEW`].
    alone: HashMap<Mac, Vec<(usize, u32)>>,
    /// Switches of the inventory.
    listed: HashSet<&'i str>,
    /// The switches of the inventory that may be anywhere.
    unplaced: &'i [&'i str],
}

impl<'i> LearnedHosts<'i> {
    /// Reads the rows for the hosts that are not at the place that `named` gives. `named` has
    /// names, and the number of the device that hears each.
    pub(super) fn new(
        scope: &InferenceScope<'i>,
        devices: &[DeviceTables<'_>],
        directory: &NodeDirectory<'_>,
        islands: &'i DeviceIslands<'i>,
        named: &HashMap<&str, usize>,
        unplaced: &'i [&'i str],
    ) -> LearnedHosts<'i> {
        let mut wanted = HashSet::new();
        let mut elsewhere = HashMap::new();
        for host in scope.hosts.keys() {
            for mac in directory.macs_of_host(host) {
                match named.get(host.as_str()) {
                    Some(&device) => _ = elsewhere.insert(mac, device),
                    None => _ = wanted.insert(mac),
                }
            }
        }
        let listed = scope.switches.iter().map(|(name, _)| *name).collect();
        let mut edges = LearnedHosts {
            islands,
            by: HashMap::new(),
            inner: HashSet::new(),
            alone: HashMap::new(),
            listed,
            unplaced,
        };
        for (number, _) in devices.iter().enumerate().filter(|(_, d)| !d.speaks()) {
            edges.alone(number);
        }
        // If all switches answer and speak LLDP, rows add nothing about hosts that are named.
        if wanted.is_empty()
            && devices.len() == scope.switches.len()
            && devices.iter().all(DeviceTables::speaks)
        {
            return edges;
        }
        for (number, device) in devices.iter().enumerate() {
            edges.read_rows(number, device, directory, &wanted, &elsewhere);
        }
        edges
    }

    /// Reads the rows of a device: the requested addresses that it learned, and its ports that lead
    /// to other switches.
    fn read_rows(
        &mut self,
        number: usize,
        device: &DeviceTables<'_>,
        directory: &NodeDirectory<'_>,
        wanted: &HashSet<Mac>,
        elsewhere: &HashMap<Mac, usize>,
    ) {
        let own: HashSet<Mac> = device.macs().collect();
        // For each port that leads to no known device: the number of hosts that are known to be
        // elsewhere, and of all stations.
        let mut foreign: HashMap<u32, (usize, usize)> = HashMap::new();
        for (mac, port) in self.islands.learned(number).rows() {
            if wanted.contains(&mac) {
                self.by.entry(mac).or_default().push(number);
            }
            if self.islands.lead(number, port).is_none() {
                let count = foreign.entry(port).or_default();
                count.0 += usize::from(elsewhere.get(&mac).is_some_and(|d| *d != number));
                count.1 += 1;
                if directory.is_switch(mac) && !own.contains(&mac) {
                    self.inner.insert((number, port));
                }
            }
        }
        self.inner.extend(
            foreign
                .into_iter()
                .filter(|(_, (strange, all))| strange * 2 > *all)
                .map(|(port, _)| (number, port)),
        );
    }

    fn alone(&mut self, device: usize) {
        let mut at: HashMap<u32, Vec<Mac>> = HashMap::new();
        for (mac, port) in self
            .islands
            .learned(device)
            .rows()
            .filter(|(_, port)| self.islands.lead(device, *port).is_none())
        {
            at.entry(port).or_default().push(mac);
        }
        for (port, macs) in at {
            if macs.len() <= FEW {
                macs.into_iter()
                    .for_each(|mac| self.alone.entry(mac).or_default().push((device, port)));
            }
        }
    }

    /// True if hosts that are known to be elsewhere, or other switches, are learned on a port.
    pub(super) fn leads_elsewhere(&self, device: usize, port: u32) -> bool {
        self.inner.contains(&(device, port))
    }

    /// Candidates for a host that is on no port of an answering device: the switches that may be
    /// anywhere, if they are few.
    pub(super) fn candidate_links(&self, host: &str) -> Vec<Link> {
        let few = if self.unplaced.len() <= MOST {
            self.unplaced
        } else {
            &[]
        };
        few.iter()
            .map(|name| hidden(name, host, LinkGrade::Ambiguous))
            .collect()
    }

    /// The exits of devices that do not speak LLDP and so may pass it on, if one of these addresses
    /// is on a port with few stations. A host that other devices hear may be there.
    pub(super) fn denied_exits(&self, macs: &BTreeSet<Mac>) -> BTreeSet<IslandExit> {
        macs.iter()
            .filter_map(|mac| self.alone.get(mac))
            .flatten()
            .map(|(device, port)| IslandExit::Port(*device, *port))
            .collect()
    }

    /// The exits to which the rows for these addresses lead, without ports to other switches.
    pub(super) fn ends(&self, macs: &BTreeSet<Mac>) -> BTreeSet<IslandExit> {
        let ends = macs.iter().flat_map(|mac| {
            self.islands
                .ends(*mac, self.by.get(mac).into_iter().flatten().copied())
        });
        ends.filter(|exit| match exit {
            IslandExit::Port(device, port) => !self.inner.contains(&(*device, *port)),
            IslandExit::Dark(_) => true,
        })
        .collect()
    }

    /// Links to nodes that do not answer, if the rows lead to them. They are ambiguous if the rows
    /// also lead elsewhere, or lead to several such nodes.
    pub(super) fn links_beyond(
        &self,
        host: &str,
        ends: &BTreeSet<IslandExit>,
        found: &InferredNetwork,
    ) -> Vec<Link> {
        let parts = || {
            ends.iter().filter_map(|e| {
                if let IslandExit::Dark(part) = e {
                    Some(*part)
                } else {
                    None
                }
            })
        };
        let unmanaged = |name: &str| {
            found
                .nodes
                .get(name)
                .is_some_and(|n| n.kind == NodeKind::Unmanaged)
        };
        let listed = |name: &&String| self.listed.contains(name.as_str()) || unmanaged(name);
        let mut names: Vec<&str> = parts()
            .flat_map(|part| self.islands.names(part))
            .filter(listed)
            .map(String::as_str)
            .collect();
        // Behind a node that does not answer there may be further nodes that no device sees.
        if names.iter().any(|n| self.listed.contains(n)) {
            names.extend(self.unplaced);
        }
        let grade = if ends.len() == 1 && names.len() == 1 {
            LinkGrade::Inferred
        } else {
            LinkGrade::Ambiguous
        };
        names.iter().map(|name| hidden(name, host, grade)).collect()
    }
}

/// A link to a node that does not answer.
fn hidden(name: &str, host: &str, grade: LinkGrade) -> Link {
    let why = Evidence::LearnedBeyond {
        host: host.to_owned(),
        silent: name.to_owned(),
    };
    Link {
        a: name.to_owned(),
        a_port: String::new(),
        b: host.to_owned(),
        b_port: String::new(),
        members: vec![],
        rate_bps: BitsPerSec::GIGABIT,
        state: LinkState::Unknown,
        grade,
        evidence: vec![why, Evidence::Rate(AssumedRate::Gigabit)],
    }
}
