//! Hosts that no device names. Each of them is where the path of its frames began: at an edge port
//! of a device, or somewhere among the nodes that do not answer.
use crate::acceptance::islands::{DeviceIslands, IslandExit};
use crate::acceptance::known::Known;
use crate::claims::ClaimEnd;
use crate::draft::DraftLink;
use crate::facts::ports::PortIx;
use crate::facts::{DeviceIx, DevicePortIx, Facts, NodeIx};
use crate::learned_between::{LEAST, STALE};
use inventory::evidence::{AssumedRate, Evidence};
use inventory::topology::{LinkGrade, LinkState, NodeKind};
use inventory::{BitsPerSec, Mac};
use std::cell::OnceCell;
use std::collections::{BTreeSet, HashMap, HashSet};

/// A port with at most this many stations may be an edge port.
const FEW: usize = 3;

/// With more candidates than this, none is shown.
const MOST: usize = 4;

/// The learned rows about hosts.
pub(super) struct LearnedHosts<'i, 'f> {
    facts: &'f Facts<'f>,
    islands: &'i DeviceIslands<'f>,
    /// The devices that learned each address.
    by: HashMap<Mac, Vec<DeviceIx>>,
    /// Ports that lead to other switches, according to the stations learned there.
    inner: HashSet<DevicePortIx>,
    /// The ports of devices without LLDP on which an address is one of [`FEW`].
    alone: HashMap<Mac, Vec<DevicePortIx>>,
    /// The ports at which switches hear hosts, once they are asked for.
    announced: OnceCell<HashSet<DevicePortIx>>,
    /// The switches of the inventory that may be anywhere.
    unplaced: &'i [NodeIx],
}

impl<'i, 'f> LearnedHosts<'i, 'f> {
    /// Reads the rows for the hosts that are at none of the devices that `named` gives for them.
    pub(super) fn new(
        known: &Known<'f>,
        islands: &'i DeviceIslands<'f>,
        named: &dyn Fn(NodeIx) -> Vec<DeviceIx>,
        unplaced: &'i [NodeIx],
    ) -> LearnedHosts<'i, 'f> {
        let facts = known.facts;
        let hosts = facts.hosts().map(|(host, _, _)| host);
        let unnamed = hosts.filter(|host| named(*host).is_empty());
        let wanted: HashSet<Mac> = unnamed
            .flat_map(|host| facts.identity.macs_of_host(host))
            .collect();
        let mut edges = LearnedHosts {
            facts,
            islands,
            by: HashMap::new(),
            inner: HashSet::new(),
            alone: HashMap::new(),
            announced: OnceCell::new(),
            unplaced,
        };
        for (device, _) in facts.devices().filter(|(_, d)| !d.speaks_lldp) {
            edges.read_few(device);
        }
        // If all switches answer and speak LLDP, rows add nothing about hosts that are named.
        if wanted.is_empty()
            && facts.device_count() == facts.scope.switches.len()
            && facts.devices().all(|(_, d)| d.speaks_lldp)
        {
            return edges;
        }
        let mut elsewhere = HashMap::new();
        for (host, _, _) in facts.hosts() {
            let devices = named(host);
            if !devices.is_empty() {
                let macs = facts.identity.macs_of_host(host);
                elsewhere.extend(macs.map(|mac| (mac, devices.clone())));
            }
        }
        for (device, _) in facts.devices() {
            edges.read_rows(device, &wanted, &elsewhere);
        }
        edges
    }

    /// Reads the rows of a device: the requested addresses that it learned, and its ports that lead
    /// to other switches.
    fn read_rows(
        &mut self,
        device: DeviceIx,
        wanted: &HashSet<Mac>,
        elsewhere: &HashMap<Mac, Vec<DeviceIx>>,
    ) {
        let own = &self.facts[device];
        for (port, rows) in own.learned.ports() {
            let open = self.islands.lead((device, port)).is_none();
            // The number of hosts that are known to be elsewhere.
            let mut foreign = 0;
            for (_, mac) in rows {
                if wanted.contains(mac) {
                    self.by.entry(*mac).or_default().push(device);
                }
                foreign += usize::from(elsewhere.get(mac).is_some_and(|d| !d.contains(&device)));
                if open && !own.macs.contains(mac) {
                    let owner = self.facts.identity.owner_of(*mac);
                    if owner.is_some_and(|o| self.bridges(o)) {
                        self.inner.insert((device, port));
                    }
                }
            }
            if open && foreign * 2 > rows.len() {
                self.inner.insert((device, port));
            }
        }
    }

    /// True for a switch, asked or not.
    fn bridges(&self, node: NodeIx) -> bool {
        let device = self.facts.device_of(node);
        !self.facts.is_host(node) && device.is_none_or(|d| self.facts[d].bridges)
    }

    fn read_few(&mut self, device: DeviceIx) {
        let learned = &self.facts[device].learned;
        for (port, rows) in learned.ports().filter(|(_, rows)| rows.len() <= FEW) {
            if self.islands.lead((device, port)).is_none() {
                for (_, mac) in rows {
                    self.alone.entry(*mac).or_default().push((device, port));
                }
            }
        }
    }

    /// True if hosts that are known to be elsewhere, or other switches, are learned on a port.
    pub(super) fn leads_elsewhere(&self, port: DevicePortIx) -> bool {
        self.inner.contains(&port)
    }

    /// Candidates for a host that is on no port of an answering device: the switches that may be
    /// anywhere, if they are few.
    pub(super) fn candidate_links(&self, known: &Known<'_>, host: NodeIx) -> Vec<DraftLink> {
        let few = if self.unplaced.len() <= MOST {
            self.unplaced
        } else {
            &[]
        };
        few.iter()
            .map(|node| hidden(known, *node, host, LinkGrade::Ambiguous))
            .collect()
    }

    /// The exits of devices that do not speak LLDP and so may pass it on, if one of these addresses
    /// is on a port with few stations. A host that other devices hear may be there.
    pub(super) fn denied_exits(&self, macs: &[Mac]) -> BTreeSet<IslandExit> {
        let ports = macs.iter().filter_map(|mac| self.alone.get(mac)).flatten();
        ports
            .map(|(device, port)| IslandExit::Port(*device, *port))
            .collect()
    }

    /// The exits to which the rows for these addresses lead, without ports to other switches.
    pub(super) fn ends(&self, macs: &[Mac]) -> BTreeSet<IslandExit> {
        let ends = macs.iter().flat_map(|mac| {
            let by = self.by.get(mac).into_iter().flatten();
            self.islands.ends(*mac, by.copied())
        });
        ends.filter(|exit| match exit {
            IslandExit::Port(device, port) => !self.inner.contains(&(*device, *port)),
            IslandExit::Dark(_) => true,
        })
        .collect()
    }

    /// The ends at which the path of a host's frames may have begun. One that leads on to the device of another
    /// goes, unless each does, or what remains is behind another host. A single one goes if it surely leads on to
    /// a device that did not learn the host.
    pub(super) fn first_of(
        &self,
        known: &Known<'_>,
        ends: BTreeSet<IslandExit>,
    ) -> BTreeSet<IslandExit> {
        if let (Some(IslandExit::Port(from, port)), 1) = (ends.first().copied(), ends.len()) {
            return match self.leads_to_another((from, port)) {
                true => BTreeSet::new(),
                false => ends,
            };
        }
        let leading = ends.iter().copied().filter(|from| {
            !ends.iter().any(|to| match to {
                IslandExit::Port(device, port) => self.leads_to(*from, (*device, *port)),
                IslandExit::Dark(_) => false,
            })
        });
        let first: BTreeSet<IslandExit> = leading.collect();
        let announced = self.announced.get_or_init(|| {
            let ports = known.announced_hosts.keys();
            ports.map(|at| known.whole(*at)).collect()
        });
        let is_any_announced = first.iter().any(|end| match end {
            IslandExit::Port(device, port) => announced.contains(&(*device, *port)),
            IslandExit::Dark(_) => false,
        });
        match first.is_empty() || is_any_announced {
            true => ends,
            false => first,
        }
    }

    /// True if an end leads on to a port of another device: this has stations there behind several of its ports,
    /// which cannot all lead back, and fewer than half of them behind this one.
    fn leads_to(&self, end: IslandExit, (device, port): DevicePortIx) -> bool {
        let sides = self.sides(end, device);
        let all: usize = sides.values().sum();
        let here = sides.get(&port).copied().unwrap_or_default();
        sides.len() > 1 && here * 2 < all
    }

    /// True if a port leads to a device of another island, by more rows than are old.
    fn leads_to_another(&self, (from, port): DevicePortIx) -> bool {
        let own = self.islands.island(from);
        let devices = self.facts.devices().map(|(device, _)| device);
        let mut others = devices.filter(|device| self.islands.island(*device) != own);
        others.any(|device| {
            let sides = self.sides(IslandExit::Port(from, port), device);
            let all: usize = sides.values().sum();
            let wrong = all - sides.values().copied().max().unwrap_or_default();
            wrong >= LEAST && wrong * STALE > all
        })
    }

    /// The number of the stations behind an end that a device outside has behind each of its ports.
    fn sides(&self, end: IslandExit, device: DeviceIx) -> HashMap<PortIx, usize> {
        let ports = match end {
            IslandExit::Port(from, port) => vec![(from, port)],
            IslandExit::Dark(part) => self.islands.ports_to(part).collect(),
        };
        let mut sides: HashMap<PortIx, usize> = HashMap::new();
        if ports.iter().any(|(from, _)| *from == device) {
            return sides;
        }
        for (from, port) in ports {
            let stations = self.facts[from].learned.behind(port);
            for port in stations.filter_map(|mac| self.facts[device].learned.port_of(mac)) {
                *sides.entry(port).or_default() += 1;
            }
        }
        sides
    }

    /// Links to nodes that do not answer, if the rows lead to them. They are ambiguous if the rows
    /// also lead elsewhere, or lead to several such nodes.
    pub(super) fn links_beyond(
        &self,
        known: &Known<'_>,
        host: NodeIx,
        ends: &BTreeSet<IslandExit>,
    ) -> Vec<DraftLink> {
        let parts = ends.iter().filter_map(|e| match e {
            IslandExit::Dark(part) => Some(*part),
            IslandExit::Port(..) => None,
        });
        let mut nodes: Vec<NodeIx> = parts
            .flat_map(|part| self.islands.dark_nodes(part).iter().copied())
            .filter(|node| {
                self.facts.is_listed_switch(*node) || known.kind(*node) == NodeKind::Unmanaged
            })
            .collect();
        // Behind a node that does not answer there may be further nodes that no device sees.
        if nodes.iter().any(|node| self.facts.is_listed_switch(*node)) {
            nodes.extend(self.unplaced);
        }
        let grade = if ends.len() == 1 && nodes.len() == 1 {
            LinkGrade::Inferred
        } else {
            LinkGrade::Ambiguous
        };
        nodes
            .iter()
            .map(|node| hidden(known, *node, host, grade))
            .collect()
    }
}

/// A link to a node that does not answer.
fn hidden(known: &Known<'_>, node: NodeIx, host: NodeIx, grade: LinkGrade) -> DraftLink {
    let why = Evidence::LearnedBeyond {
        host: known.name(host).to_owned(),
        silent: known.name(node).to_owned(),
    };
    DraftLink {
        ends: [ClaimEnd::somewhere(node), ClaimEnd::somewhere(host)],
        members: vec![],
        rate: BitsPerSec::GIGABIT,
        state: LinkState::Unknown,
        grade,
        evidence: vec![why, Evidence::Rate(AssumedRate::Gigabit)],
    }
}
