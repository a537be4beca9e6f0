//! The networks of a lab: the switches and cables of each, its hosts' cards, its subnet.
//!
//! The file's network [`MANAGEMENT`] carries what the star around the head node carries otherwise. The
//! head node and the management ports of all other switches hang on its first switch.
use super::segments::MANAGEMENT_SUBNET;
use super::{
    LabCable, LabNode, LabNodeKind, LabPlan, LabSegment, PREFIX, PortEnd, SegmentMember, address,
    management_port, pairs, segments,
};
use crate::error::{LabError, LabResult};
use inventory::topology::LinkState;
use inventory::{BitsPerSec, TopologyFile};
use std::collections::HashSet;
use std::net::Ipv4Addr;
use std::time::Duration;

/// The name of the network in which the switches are asked.
const MANAGEMENT: &str = "management";

/// One of a file's networks.
pub(super) struct LabNetwork<'f> {
    name: Option<&'f str>,
    file: &'f TopologyFile,
    subnet: Ipv4Addr,
    /// The hosts' interface in it.
    card: String,
}

impl LabNetwork<'_> {
    fn is_management(&self) -> bool {
        self.subnet == MANAGEMENT_SUBNET
    }

    /// True if a switch or router forwards in it, or a host has a card in it.
    fn has(&self, node: &LabNode) -> bool {
        let names = match node.kind {
            LabNodeKind::Switch => &self.file.switches,
            LabNodeKind::Router => &self.file.routers,
            LabNodeKind::Host => return self.file.hosts.contains_key(&node.name),
            LabNodeKind::Control => return false,
        };
        names.contains(&node.name)
    }
}

/// The main network, those beside it in the order of the file, and that for management.
pub(super) fn in_file(file: &TopologyFile) -> LabResult<Vec<LabNetwork<'_>>> {
    let mut networks = vec![LabNetwork {
        name: file.name.as_deref(),
        file,
        subnet: Ipv4Addr::new(10, 77, 0, 0),
        card: "eth0".to_owned(),
    }];
    let beside = file.networks.iter().filter(|(name, _)| *name != MANAGEMENT);
    for ((name, file), number) in beside.zip(1..) {
        networks.push(LabNetwork {
            name: Some(name),
            file,
            // 10.78 itself is for management.
            subnet: Ipv4Addr::new(10, 78 + number, 0, 0),
            card: format!("eth{number}"),
        });
    }
    let management = file.networks.get_key_value(MANAGEMENT);
    networks.extend(management.map(|(name, file)| LabNetwork {
        name: Some(name),
        file,
        subnet: MANAGEMENT_SUBNET,
        card: management_port(LabNodeKind::Host).to_owned(),
    }));
    check(&networks)?;
    Ok(networks)
}

/// Refuses what needs VLANs, and routes between networks.
fn check(networks: &[LabNetwork<'_>]) -> LabResult<()> {
    let mut before = HashSet::new();
    for network in networks {
        let name = network.name.unwrap_or_default();
        for switch in &network.file.switches {
            if !before.insert(switch) {
                return Err(LabError::Refused(format!(
                    "switch \"{switch}\": it is in the network \"{name}\" and in another one; the lab \
                     has no VLANs, so give each network its own switches"
                )));
            }
        }
    }
    for network in &networks[1..] {
        if let Some(router) = network.file.routers.first() {
            let name = network.name.unwrap_or_default();
            return Err(LabError::Refused(format!(
                "router \"{router}\": it is in the network \"{name}\"; the lab has routers in the \
                 fastest network only"
            )));
        }
    }
    Ok(())
}

/// The switches of all networks.
pub(super) fn switches(file: &TopologyFile) -> impl Iterator<Item = &String> {
    file.all_networks().flat_map(|network| &network.switches)
}

/// The hosts of all networks, each once.
pub(super) fn hosts(file: &TopologyFile) -> Vec<&String> {
    let mut seen = HashSet::new();
    let all = file.all_networks().flat_map(|network| network.hosts.keys());
    all.filter(|host| seen.insert(*host)).collect()
}

impl LabPlan {
    /// Adds the cables and the subnets of a network.
    pub(super) fn add_network(&mut self, network: &LabNetwork<'_>) -> LabResult<()> {
        let first = self.cables.len();
        self.add_trunks(network.file)?;
        for (name, host) in &network.file.hosts {
            let card = PortEnd {
                node: name.clone(),
                port: network.card.clone(),
            };
            for (card, (switch, rate)) in pairs::cards(card, host).into_iter().zip(host.cards()) {
                self.add_cable(card, switch, rate, host.delay);
            }
        }
        if network.is_management() {
            self.add_management_ports(network);
        }
        let name = network.name.map(str::to_owned);
        let members: Vec<&LabNode> = self.nodes.iter().filter(|n| network.has(n)).collect();
        let cables = &self.cables[first..];
        let is_whole = network.file.routers.is_empty() && !cables.iter().any(|c| c.spreads);
        let segments = if is_whole {
            vec![self.segment(network)?]
        } else {
            segments::between(&members, cables, |end| self.port_mac(end))?
        };
        let named = segments.into_iter().map(|segment| LabSegment {
            name: name.clone(),
            ..segment
        });
        self.segments.extend(named);
        Ok(())
    }

    fn add_trunks(&mut self, file: &TopologyFile) -> LabResult<()> {
        for link in &file.links {
            let blocked = link.state == Some(LinkState::Blocked);
            let between_switches = [&link.a, &link.b]
                .into_iter()
                .all(|end| file.switches.contains(end));
            if blocked && !between_switches {
                let text = format!(
                    "link {}-{}: state blocked: a router takes no part in STP; leave the link out",
                    link.a, link.b
                );
                return Err(LabError::Refused(text));
            }
            if link.state == Some(LinkState::Multipath) {
                self.add_way(&link.a, &link.b, link.rate, link.delay);
                continue;
            }
            let a = self.free_port(&link.a);
            self.add_cable(a, &link.b, link.rate, link.delay);
            let added = self.cables.last_mut();
            if let Some(cable) = added {
                cable.expect_blocked = blocked;
                if between_switches && link.delay.is_zero() {
                    cable.cables = link.cables;
                }
            }
        }
        Ok(())
    }

    fn add_cable(&mut self, a: PortEnd, b: &str, rate: BitsPerSec, delay: Duration) {
        let b = self.free_port(b);
        self.cables.push(LabCable::new(a, b, rate, delay));
    }

    /// One of several ways between two nodes that route.
    fn add_way(&mut self, a: &str, b: &str, rate: BitsPerSec, delay: Duration) {
        let [a, b] = [a, b].map(|node| self.free_routed_port(node));
        self.cables.push(LabCable {
            spreads: true,
            ..LabCable::new(a, b, rate, delay)
        });
    }

    /// Plugs the head node and what other networks have switches and routers into the first switch.
    fn add_management_ports(&mut self, network: &LabNetwork<'_>) {
        let Some(switch) = network.file.switches.first() else {
            return;
        };
        for port in self.managed_ports(network) {
            self.add_cable(port, switch, BitsPerSec::GIGABIT, Duration::ZERO);
        }
    }

    /// The ports of nodes that are in the management network only to be managed, and the head node's.
    fn managed_ports(&self, network: &LabNetwork<'_>) -> Vec<PortEnd> {
        let managed = self
            .nodes
            .iter()
            .filter(|node| node.kind != LabNodeKind::Host && !network.has(node));
        managed
            .map(|node| PortEnd {
                node: node.name.clone(),
                port: management_port(node.kind).to_owned(),
            })
            .collect()
    }

    /// The subnet of a network without routers.
    fn segment(&self, network: &LabNetwork<'_>) -> LabResult<LabSegment> {
        let mut members = Vec::new();
        if network.is_management() {
            for end in self.managed_ports(network) {
                let address = self.node(&end.node)?.management;
                members.push(self.member(end, address));
            }
        }
        let [_, octet, ..] = network.subnet.octets();
        for (i, node) in self.switches().enumerate().filter(|(_, n)| network.has(n)) {
            let third = 254 - (i / 250) as u8;
            let address = Ipv4Addr::new(10, octet, third, (i % 250) as u8 + 1);
            members.push(self.station(node, "br0", network, address));
        }
        for (i, node) in self.hosts().enumerate().filter(|(_, n)| network.has(n)) {
            let address = address(octet, 0, i)?;
            members.push(self.station(node, &network.card, network, address));
        }
        Ok(LabSegment {
            name: None,
            network: network.subnet,
            prefix: PREFIX,
            members,
        })
    }

    /// A switch's bridge or a host's card, with this address unless it is for management.
    fn station(
        &self,
        node: &LabNode,
        port: &str,
        network: &LabNetwork<'_>,
        address: Ipv4Addr,
    ) -> SegmentMember {
        let end = PortEnd {
            node: node.name.clone(),
            port: port.to_owned(),
        };
        match network.is_management() {
            true => self.member(end, node.management),
            false => self.member(end, address),
        }
    }

    fn member(&self, end: PortEnd, address: Ipv4Addr) -> SegmentMember {
        SegmentMember {
            mac: self.port_mac(&end),
            node: end.node,
            port: end.port,
            address,
        }
    }

    /// True if the file has the switches of the management network. Else it is a star.
    pub(crate) fn has_management_switches(&self) -> bool {
        self.segments.iter().any(LabSegment::is_management)
    }

    /// The network in which a switch or router forwards, or in which a host has its first card.
    pub(crate) fn network_of<'a>(&'a self, node: &'a str) -> Option<&'a LabSegment> {
        self.places(node).map(|(segment, _)| segment).next()
    }

    /// True for a cable of the management network.
    pub(crate) fn is_for_management(&self, cable: &LabCable) -> bool {
        let own = self.network_of(&cable.b.node);
        own.is_some_and(LabSegment::is_management)
    }

    /// True for a cable of the main network.
    pub(super) fn is_main(&self, cable: &LabCable) -> bool {
        let own = self.network_of(&cable.b.node).map(|own| &own.name);
        own == self.segments.first().map(|main| &main.name)
    }

    /// The file with the hosts' addresses in this lab.
    pub(crate) fn addressed(&self, file: &TopologyFile) -> TopologyFile {
        let mut file = file.clone();
        for other in file.networks.values_mut() {
            self.state_addresses(other);
        }
        self.state_addresses(&mut file);
        file
    }

    fn state_addresses(&self, file: &mut TopologyFile) {
        let own = self.segments.iter().filter(|s| s.name == file.name);
        for segment in own {
            if file.name.is_some() {
                let [a, b, ..] = segment.network.octets();
                file.prefix = format!("{a}.{b}.0.0/{PREFIX}").parse().ok();
            }
            for member in &segment.members {
                if let Some(stated) = file.hosts.get_mut(&member.node) {
                    stated.address = Some(member.address.into());
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::LabOptions;

    /// Two data switches, a storage switch, a management switch; n2 has no card for storage.
    const FILE: &str = "
switches: [d0, d1, t0, m0]
hosts:
  n0: {cards: [{switch: d0, network: data, rate: 25G}, {switch: t0, network: storage, rate: 10G}, {switch: m0, network: management}]}
  n1: {cards: [{switch: d1, network: data, rate: 25G}, {switch: t0, network: storage, rate: 10G}, {switch: m0, network: management}]}
  n2: {cards: [{switch: d1, network: data, rate: 25G}, {switch: m0, network: management}]}
links: [{a: d0, b: d1, rate: 100G}]
networks: {data: {prefix: 10.1.0.0/16}, storage: {}, management: {}}
";

    fn plan() -> (TopologyFile, LabPlan) {
        let file = TopologyFile::parse("t.yaml", FILE).unwrap();
        let plan = LabPlan::new(&file, LabOptions::default()).unwrap();
        (file, plan)
    }

    #[test]
    fn a_host_has_a_card_in_each_of_its_networks() {
        let (_, plan) = plan();
        let cables: Vec<String> = plan
            .cables
            .iter()
            .map(|c| format!("{}:{} {}:{}", c.a.node, c.a.port, c.b.node, c.b.port))
            .collect();
        assert_eq!(
            cables,
            [
                "d0:swp1 d1:swp1",
                "n0:eth0 d0:swp2",
                "n1:eth0 d1:swp2",
                "n2:eth0 d1:swp3",
                "n0:eth1 t0:swp1",
                "n1:eth1 t0:swp2",
                "n0:mgmt0 m0:swp1",
                "n1:mgmt0 m0:swp2",
                "n2:mgmt0 m0:swp3",
                "ctl:mgmt0 m0:swp4",
                "d0:eth0 m0:swp5",
                "d1:eth0 m0:swp6",
                "t0:eth0 m0:swp7",
            ]
        );
    }

    #[test]
    fn each_network_is_a_subnet_and_no_address_is_anothers() {
        let (file, plan) = plan();
        let shown: Vec<String> = plan
            .segments
            .iter()
            .map(|s| format!("{:?} {} {}", s.name.as_deref(), s.network, s.members.len()))
            .collect();
        assert_eq!(
            shown,
            [
                "Some(\"data\") 10.77.0.0 5",
                "Some(\"storage\") 10.79.0.0 3",
                "Some(\"management\") 10.78.0.0 8"
            ]
        );
        let members = || plan.segments.iter().flat_map(|s| &s.members);
        let distinct: HashSet<_> = members().map(|m| m.address).collect();
        assert_eq!(distinct.len(), members().count());
        let distinct: HashSet<_> = members().map(|m| m.mac).collect();
        assert_eq!(distinct.len(), members().count());
        let data = |node: &str| plan.node(node).unwrap().data.map(|a| a.to_string());
        assert_eq!(data("n2").as_deref(), Some("10.77.0.3"));
        assert_eq!(data("t0").as_deref(), Some("10.79.254.3"));
        assert_eq!(data("m0"), None, "it is in the management network only");
        let stated = plan.addressed(&file);
        let address = |network: &str| stated.networks[network].hosts["n1"].address;
        assert_eq!(address("storage"), Some("10.79.0.2".parse().unwrap()));
        assert_eq!(address("management"), Some("10.78.128.2".parse().unwrap()));
        assert_eq!(
            stated.hosts["n1"].address,
            Some("10.77.0.2".parse().unwrap())
        );
    }

    #[test]
    fn a_switch_in_two_networks_is_refused() {
        let text = FILE.replace("switch: t0", "switch: d0");
        let file = TopologyFile::parse("t.yaml", &text).unwrap();
        let refused = LabPlan::new(&file, LabOptions::default()).unwrap_err();
        let expected = "switch \"d0\": it is in the network \"storage\" and in another one";
        assert!(refused.to_string().starts_with(expected), "{refused}");
    }

    #[test]
    fn conditions_of_a_job_count_cables_of_the_main_network_only() {
        let (_, plan) = plan();
        let rate = plan.slowest_between("n0", "n1").unwrap();
        assert_eq!(rate, BitsPerSec(25_000_000_000), "the others are shorter");
    }
}
