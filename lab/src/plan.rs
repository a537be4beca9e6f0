//! The plan of a lab, made before anything is built: nodes with their addresses, cables with their
//! ports.
//!
//! Addresses are the same in every lab, because nothing of a lab is in the root network namespace.
//! With routers, the data addresses are those of each [`LabSegment`].
//!
//! | network | node | addresses |
//! |---|---|---|
//! | data, 10.77.0.0/16 | hosts' `eth0` | from 10.77.0.1 |
//! | | switches' `br0` | from 10.77.254.1 |
//! | management, 10.78.0.0/16 | `ctl` | 10.78.255.254 |
//! | | switches | from 10.78.1.1 |
//! | | routers | from 10.78.64.1 |
//! | | hosts' `mgmt0` | from 10.78.128.1 |
//! | further ones, 10.79.0.0/16, 10.80.0.0/16, … | hosts' `eth1`, `eth2`, … | from 10.79.0.1 |
//! | | switches' `br0` | from 10.79.254.1 |
//!
//! The management network has the switches that the file's network `management` names. If there is none,
//! it is an unshaped star around the head node.
mod networks;
mod pairs;
mod segments;
mod ways;

use crate::error::{LabError, LabResult};
pub(crate) use pairs::PairedBox;
pub(crate) use segments::SegmentRoute;
pub use segments::{LabSegment, SegmentMember};

use inventory::{BitsPerSec, Mac, TopologyFile};
use serde::{Deserialize, Serialize};
use std::net::Ipv4Addr;
use std::num::NonZeroU8;
use std::time::Duration;

/// The head node: controller, terminal interface and `mpirun` run here.
pub const CONTROL: &str = "ctl";

/// The relay, which carries the cables that have a delay. No node can have this name.
pub(crate) const RELAY: &str = ".relay";

/// Prefix length of every network that no router divides.
pub(crate) const PREFIX: u8 = 16;

/// Whether hosts send segments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum SegmentChoice {
    /// On cables of 500 Mbit/s and more.
    #[default]
    ByRate,
    /// On every cable, of as many frames as its rate allows.
    Always,
    Never,
}

/// Options of a lab; the defaults are those of the command line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LabOptions {
    /// The buffer of a switch port in bytes: the content of a full queue. `None`: 128 kB, or what
    /// the cable carries in 1 ms, if that is more.
    pub port_buffer: Option<u32>,
    /// Whether hosts send segments of several frames.
    pub segments: SegmentChoice,
    /// The STP forward delay: half the time from link up to forwarding (IEEE 802.1D-2004, 17.14).
    pub forward_delay: Duration,
    /// The STP hello time.
    pub hello: Duration,
    /// The STP max age: the time until bridges drop a lost root bridge.
    pub max_age: Duration,
    /// The time after which a bridge forgets a silent station.
    pub ageing: Duration,
}

impl Default for LabOptions {
    fn default() -> LabOptions {
        LabOptions {
            port_buffer: None,
            segments: SegmentChoice::default(),
            forward_delay: Duration::from_secs(2),
            hello: Duration::from_secs(1),
            max_age: Duration::from_secs(6),
            ageing: Duration::from_secs(15),
        }
    }
}

/// The kind of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LabNodeKind {
    /// The head node.
    Control,
    /// A bridge with snmpd and lldpd.
    Switch,
    /// A router between segments, with snmpd and lldpd.
    Router,
    /// A host with lldpd.
    Host,
}

/// A node of the lab.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LabNode {
    /// Its name, also its host name.
    pub name: String,
    pub kind: LabNodeKind,
    /// Its address on the management network.
    pub management: Ipv4Addr,
    /// Its address on its first network other than that for management, a router's at its first
    /// port. The head node and the switches of the management network have none.
    pub data: Option<Ipv4Addr>,
    /// The MAC address of a host's `eth0` or a switch's bridge; those of further ports follow it.
    pub mac: Mac,
    /// The STP bridge priority of a switch.
    pub priority: u16,
}

/// One end of a cable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortEnd {
    pub node: String,
    /// Its interface: `swp3` of a switch's bridge, `ge1` of a router or of a switch that routes, `eth0` of a
    /// host, `m-eth0-1` of a host with several cards as one. A switch or router is managed through its `eth0`, a host through its `mgmt0`.
    pub port: String,
}

impl PortEnd {
    /// True if it is a port of a switch's bridge.
    pub(crate) fn is_bridged(&self) -> bool {
        self.port.starts_with("swp")
    }
}

/// A cable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LabCable {
    /// A host, a switch or a router.
    pub a: PortEnd,
    /// A switch or a router.
    pub b: PortEnd,
    /// Its rate in each direction.
    pub rate: BitsPerSec,
    /// The time that a frame takes.
    pub delay: Duration,
    /// True if it is cut: both ends are down.
    pub cut: bool,
    /// True if the topology file expects STP to block it.
    pub expect_blocked: bool,
    /// True if it is one of several ways: its ends route, and flows spread over all.
    #[serde(default)]
    pub spreads: bool,
    /// It is an aggregate of so many cables between two bridges, which share its rate.
    #[serde(default = "alone")]
    pub cables: NonZeroU8,
}

fn alone() -> NonZeroU8 {
    NonZeroU8::MIN
}

impl LabCable {
    /// One cable that forwards.
    pub(crate) fn new(a: PortEnd, b: PortEnd, rate: BitsPerSec, delay: Duration) -> LabCable {
        LabCable {
            a,
            b,
            rate,
            delay,
            cut: false,
            expect_blocked: false,
            spreads: false,
            cables: NonZeroU8::MIN,
        }
    }

    /// True if it joins these two nodes, in either order.
    pub fn joins(&self, x: &str, y: &str) -> bool {
        (self.a.node == x && self.b.node == y) || (self.a.node == y && self.b.node == x)
    }
}

/// Nodes and cables of a lab.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LabPlan {
    pub options: LabOptions,
    /// The head node, then switches, routers and hosts in the order of the file.
    pub nodes: Vec<LabNode>,
    /// By network: trunks in the order of the file, then the hosts' cables. The management network
    /// comes last, with the cables of the head node and of other networks' switches after those.
    pub cables: Vec<LabCable>,
    /// The subnets: one for each network, several where routers divide the main one.
    pub segments: Vec<LabSegment>,
    /// Switches of which two act as one (MLAG).
    #[serde(default)]
    pub pairs: Vec<[String; 2]>,
}

impl LabPlan {
    /// Gives every node its addresses and every cable its ports.
    ///
    /// # Errors
    /// [`LabError::Refused`] for names that the lab cannot use, and for more nodes than it has
    /// addresses.
    pub fn new(file: &TopologyFile, options: LabOptions) -> LabResult<LabPlan> {
        let mut plan = LabPlan {
            options,
            nodes: nodes(file)?,
            cables: Vec::new(),
            segments: Vec::new(),
            pairs: pairs::in_file(file)?,
        };
        for network in networks::in_file(file)? {
            plan.add_network(&network)?;
        }
        for node in &mut plan.nodes {
            let beside = plan.segments.iter().filter(|s| !s.is_management());
            let mut members = beside.flat_map(|s| &s.members);
            node.data = members.find(|m| m.node == node.name).map(|m| m.address);
        }
        Ok(plan)
    }

    /// The node of this name.
    ///
    /// # Errors
    /// [`LabError::Refused`] with the names of all nodes.
    pub fn node(&self, name: &str) -> LabResult<&LabNode> {
        self.nodes.iter().find(|n| n.name == name).ok_or_else(|| {
            let known: Vec<&str> = self.nodes.iter().map(|n| n.name.as_str()).collect();
            LabError::Refused(format!(
                "node \"{name}\": no such node; nodes: {}",
                known.join(", ")
            ))
        })
    }

    /// The switches, in order.
    pub fn switches(&self) -> impl Iterator<Item = &LabNode> {
        self.nodes.iter().filter(|n| n.kind == LabNodeKind::Switch)
    }

    /// The routers, in order.
    pub fn routers(&self) -> impl Iterator<Item = &LabNode> {
        self.nodes.iter().filter(|n| n.kind == LabNodeKind::Router)
    }

    /// The hosts, in order.
    pub fn hosts(&self) -> impl Iterator<Item = &LabNode> {
        self.nodes.iter().filter(|n| n.kind == LabNodeKind::Host)
    }

    /// A node's interfaces, each with its segment.
    pub fn places<'a>(
        &'a self,
        node: &'a str,
    ) -> impl Iterator<Item = (&'a LabSegment, &'a SegmentMember)> {
        self.segments
            .iter()
            .flat_map(|s| s.members.iter().map(move |m| (s, m)))
            .filter(move |(_, m)| m.node == node)
    }

    /// A node's routes to the segments that it is not in.
    pub(crate) fn routes(&self, node: &str) -> Vec<SegmentRoute> {
        segments::routes(self, node)
    }

    /// True for routers, and for switches with ways to others.
    pub(crate) fn forwards(&self, node: &LabNode) -> bool {
        let mut spreading = self.cables.iter().filter(|cable| cable.spreads);
        node.kind == LabNodeKind::Router
            || spreading.any(|cable| [&cable.a, &cable.b].iter().any(|e| e.node == node.name))
    }

    /// The lowest port of a switch or router without a cable.
    pub(crate) fn free_port(&self, node: &str) -> PortEnd {
        let routes = self.routers().any(|r| r.name == node);
        self.lowest_free(node, if routes { "ge" } else { "swp" })
    }

    /// The lowest port that routes without a cable.
    pub(crate) fn free_routed_port(&self, node: &str) -> PortEnd {
        self.lowest_free(node, "ge")
    }

    fn lowest_free(&self, node: &str, kind: &str) -> PortEnd {
        let ends = self.cables.iter().flat_map(|c| [&c.a, &c.b]);
        let taken: Vec<&PortEnd> = ends.filter(|end| end.node == node).collect();
        let port = (1..)
            .map(|k| format!("{kind}{k}"))
            .find(|port| taken.iter().all(|end| end.port != *port))
            .unwrap_or_else(|| unreachable!("an endless range"));
        PortEnd {
            node: node.to_owned(),
            port,
        }
    }

    /// The MAC address of a port's interface. It is derived from the node's, so that it is the same
    /// in every run.
    pub(crate) fn port_mac(&self, end: &PortEnd) -> Mac {
        let Some(node) = self.nodes.iter().find(|n| n.name == end.node) else {
            return Mac::default();
        };
        let [a, b, c, d, e, _] = node.mac.0;
        if end.port == management_port(node.kind) {
            return Mac([a, 0x4d, c, d, e, 0]);
        }
        // The members of a bond have the address of the bond.
        let digits = end
            .bond()
            .unwrap_or(&end.port)
            .trim_start_matches(|c: char| c.is_ascii_alphabetic());
        // A switch has ports that route beside those of its bridge.
        let routed = node.kind == LabNodeKind::Switch && end.port.starts_with("ge");
        let number: u8 = digits.parse().unwrap_or(0);
        Mac([a, b, c, d, e, number | if routed { 0x80 } else { 0 }])
    }

    /// True if some cable has a delay, so that the relay runs.
    pub(crate) fn has_delays(&self) -> bool {
        self.cables.iter().any(|c| !c.delay.is_zero())
    }

    /// `/etc/hosts` of a node. A host's name is its data address on switches and hosts, its
    /// management address on the head node, which is not on the data network.
    pub(crate) fn etc_hosts(&self, of: &LabNode) -> String {
        let mut text = String::from("127.0.0.1 localhost\n");
        for node in &self.nodes {
            let address = match (of.kind, node.data) {
                (LabNodeKind::Control, _) | (_, None) => node.management,
                (_, Some(data)) => data,
            };
            text += &format!(
                "{address} {}\n{} {}-mgmt\n",
                node.name, node.management, node.name
            );
        }
        text
    }

    /// The inventory for `heddle controller` and `heddle discover`: addresses and credentials of
    /// the switches and routers, names and addresses of the hosts. It contains nothing of the
    /// cabling.
    pub(crate) fn inventory(&self, ranks: impl Fn(&str) -> u32) -> String {
        let mut text = String::from("# written by heddle lab up\nswitches:\n");
        for switch in self.switches().chain(self.routers()) {
            text += &format!("  {}: {{address: {}}}\n", switch.name, switch.management);
        }
        text += "snmp:\n  default: {version: 2c, community: public}\nhosts:\n";
        for host in self.hosts() {
            let address = host.data.map(|address| format!("address: {address}"));
            let ranks = Some(ranks(&host.name))
                .filter(|n| *n != 1)
                .map(|n| format!("ranks: {n}"));
            let stated: Vec<String> = address.into_iter().chain(ranks).collect();
            text += &format!("  {}: {{{}}}\n", host.name, stated.join(", "));
        }
        text += &format!(
            "timing: {{hold_down: 500ms, poll: 500ms}}\ntraps: {{listen: \"{}:162\"}}\n",
            self.nodes[0].management
        );
        text
    }
}

/// The head node, then switches, routers and hosts. Nobody has an address beside that for management yet.
fn nodes(file: &TopologyFile) -> LabResult<Vec<LabNode>> {
    let control = Ipv4Addr::new(10, 78, 255, 254);
    let mut nodes = vec![node(CONTROL, LabNodeKind::Control, control, mac(0, 0))];
    for (i, name) in networks::switches(file).enumerate() {
        let management = address(78, 1, i)?;
        nodes.push(LabNode {
            // The file's order decides which bridge is better: by priority in the steps of the
            // standard, then by address.
            priority: 4096 * (i as u16 + 1).min(8),
            ..node(name, LabNodeKind::Switch, management, mac(1, i))
        });
    }
    for (i, name) in file.routers.iter().enumerate() {
        let management = address(78, 64, i)?;
        nodes.push(node(name, LabNodeKind::Router, management, mac(3, i)));
    }
    for (i, name) in networks::hosts(file).into_iter().enumerate() {
        let management = address(78, 128, i)?;
        nodes.push(node(name, LabNodeKind::Host, management, mac(2, i)));
    }
    for node in &nodes[1..] {
        // Names become host names and parts of file names.
        if node.name == CONTROL || node.name.starts_with(['.', '-']) {
            return Err(LabError::Refused(format!(
                "node \"{}\": the lab cannot use this name; choose another",
                node.name
            )));
        }
    }
    Ok(nodes)
}

fn node(name: &str, kind: LabNodeKind, management: Ipv4Addr, mac: Mac) -> LabNode {
    LabNode {
        name: name.to_owned(),
        kind,
        management,
        data: None,
        mac,
        priority: 0,
    }
}

/// The name of a node's management interface.
pub(crate) fn management_port(kind: LabNodeKind) -> &'static str {
    if matches!(kind, LabNodeKind::Switch | LabNodeKind::Router) {
        "eth0"
    } else {
        "mgmt0"
    }
}

/// The STP path cost of a rate: IEEE 802.1D-1998, table 8-5, and below its slowest entries 1000
/// divided by the rate in Mbit/s, because the kernel's costs have 16 bits.
pub(crate) fn path_cost(rate: BitsPerSec) -> u32 {
    match rate.0 {
        10_000_000_000.. => 2,
        1_000_000_000.. => 4,
        100_000_000.. => 19,
        slow => (1_000_000_000 / slow.max(1)).clamp(20, 65_535) as u32,
    }
}

/// The MAC address of station `i` of a kind; the last octet is the port.
fn mac(kind: u8, i: usize) -> Mac {
    Mac([0x02, 0x4c, kind, (i >> 8) as u8, i as u8, 0])
}

fn address(second: u8, third: u8, i: usize) -> LabResult<Ipv4Addr> {
    let third = third as usize + i / 250;
    if i >= 250 * 120 {
        return Err(LabError::Refused(format!(
            "node {i}: the lab has addresses for 30000 switches and as many hosts"
        )));
    }
    Ok(Ipv4Addr::new(10, second, third as u8, (i % 250) as u8 + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "switches: [s0, s1]\nhosts:\n  n0: {switch: s0, rate: 20M}\n  n1: \
                        {switch: s1, ranks: 2}\nlinks:\n  - {a: s0, b: s1}\n  - \
                        {a: s0, b: s1, state: blocked}\n";

    fn plan() -> LabPlan {
        LabPlan::new(
            &TopologyFile::parse("t.yaml", FILE).unwrap(),
            LabOptions::default(),
        )
        .unwrap()
    }

    #[test]
    fn every_cable_has_ports_of_its_own() {
        let plan = plan();
        let ends: Vec<String> = plan
            .cables
            .iter()
            .map(|c| format!("{}:{} {}:{}", c.a.node, c.a.port, c.b.node, c.b.port))
            .collect();
        assert_eq!(
            ends,
            [
                "s0:swp1 s1:swp1",
                "s0:swp2 s1:swp2",
                "n0:eth0 s0:swp3",
                "n1:eth0 s1:swp3"
            ]
        );
        assert!(plan.cables[1].expect_blocked);
        assert_eq!(plan.free_port("s0").port, "swp4");
    }

    #[test]
    fn addresses_and_bridge_ids_follow_the_order_of_the_file() {
        let plan = plan();
        assert_eq!(plan.node("s1").unwrap().management.to_string(), "10.78.1.2");
        assert_eq!(
            plan.node("n1").unwrap().data.unwrap().to_string(),
            "10.77.0.2"
        );
        let ids: Vec<(u16, Mac)> = plan.switches().map(|s| (s.priority, s.mac)).collect();
        assert!(ids.is_sorted() && ids[0] != ids[1]);
        assert!(
            plan.node("s7")
                .unwrap_err()
                .to_string()
                .contains("nodes: ctl, s0, s1, n0, n1")
        );
    }

    #[test]
    fn bridge_ids_stay_in_order_for_hundreds_of_switches() {
        let names: Vec<String> = (0..600).map(|i| format!("s{i}")).collect();
        let text = format!(
            "switches: [{}]\nhosts: {{n0: {{switch: s0}}}}\n",
            names.join(", ")
        );
        let plan = LabPlan::new(
            &TopologyFile::parse("t.yaml", &text).unwrap(),
            LabOptions::default(),
        )
        .unwrap();
        let ids: Vec<(u16, Mac)> = plan.switches().map(|s| (s.priority, s.mac)).collect();
        assert!(ids.windows(2).all(|w| w[0] < w[1]));
        let mut addresses: Vec<Ipv4Addr> = plan
            .nodes
            .iter()
            .flat_map(|n| [Some(n.management), n.data])
            .flatten()
            .collect();
        addresses.sort();
        let all = addresses.len();
        addresses.dedup();
        assert_eq!(addresses.len(), all);
    }

    #[test]
    fn the_inventory_is_one_the_controller_reads_and_tells_no_cabling() {
        let text = plan().inventory(|host| if host == "n1" { 2 } else { 1 });
        let inventory =
            inventory::inventory_file::Inventory::parse("inventory.yaml", &text).unwrap();
        assert_eq!(inventory.switches.len(), 2);
        let n1 = &inventory.hosts["n1"];
        assert_eq!(
            (n1.address, n1.ranks),
            (Some("10.77.0.2".parse().unwrap()), Some(2))
        );
        assert!(!text.contains("swp"));
    }

    #[test]
    fn names_resolve_where_they_are_reached() {
        let plan = plan();
        let hosts = plan.etc_hosts(plan.node("n0").unwrap());
        assert!(hosts.contains("10.77.0.2 n1\n") && hosts.contains("10.78.255.254 ctl\n"));
        assert!(
            plan.etc_hosts(plan.node("ctl").unwrap())
                .contains("10.78.128.2 n1\n")
        );
    }

    #[test]
    fn slower_links_cost_more() {
        assert_eq!(
            [cost(10_000), cost(1_000), cost(100), cost(20), cost(10)],
            [2, 4, 19, 50, 100]
        );
        assert!(cost(99) > cost(100));
    }

    fn cost(m: u64) -> u32 {
        path_cost(BitsPerSec::mega(m))
    }
}
