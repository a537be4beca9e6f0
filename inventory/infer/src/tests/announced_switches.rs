//! An inventory that lists no switch: hosts are where the frames that they hear come from.
use super::shared_networks::{card, hosts};
use super::*;
use inventory::host_report::{DiscoveryProtocol, HeardContent, HeardFrame, Nic};
use std::collections::BTreeMap;

const NET: &str = "net-10.0.0.0-24";

fn content(protocol: DiscoveryProtocol, switch: &str, port: &str) -> HeardContent {
    HeardContent::Neighbour {
        protocol,
        chassis: NeighbourId::Mac(mac(switch, 0)),
        port: NeighbourId::Text(port.to_owned()),
        port_descr: String::new(),
        name: switch.to_owned(),
        capabilities: Some(SystemCapabilities {
            bridge: true,
            router: false,
        }),
    }
}

pub(super) fn lldp(switch: &str, port: &str) -> HeardContent {
    content(DiscoveryProtocol::Lldp, switch, port)
}

fn cdp(switch: &str, port: &str) -> HeardContent {
    content(DiscoveryProtocol::Cdp, switch, port)
}

fn bpdu(switch: &str, port: u16) -> HeardContent {
    HeardContent::Bpdu {
        root_bridge: id("s0"),
        root_path_cost: 4,
        bridge: id(switch),
        port,
    }
}

fn id(name: &str) -> BridgeId {
    BridgeId {
        priority: 0x8000,
        address: mac(name, 0),
    }
}

impl InferenceFixture {
    /// So many hosts with a card each in one network.
    pub(super) fn of_hosts(count: u8) -> InferenceFixture {
        let names: Vec<String> = (0..count).map(|n| format!("n{n}")).collect();
        let stated = format!("[{}]", names.join(", "));
        hosts(
            &stated,
            (0..count)
                .map(|n| vec![card("eth0", 1000, &[&format!("10.0.0.{}/24", n + 1)])])
                .collect(),
        )
    }

    /// The host hears this on its first card.
    pub(super) fn overhears(&mut self, host: &str, content: HeardContent) {
        self.overhears_on(host, "eth0", content);
    }

    fn overhears_on(&mut self, host: &str, nic: &str, content: HeardContent) {
        let report = self.view(host).host.as_mut().unwrap();
        report.frames.push(HeardFrame {
            nic: nic.to_owned(),
            at: Millis(1),
            content,
        });
    }

    /// Each of these hosts hears a port of its own of this switch.
    pub(super) fn on_switch(&mut self, switch: &str, hosts: &[&str]) {
        for host in hosts {
            self.overhears(host, lldp(switch, &format!("swp-{host}")));
        }
    }

    fn falls_silent(&mut self, host: &str) {
        self.view(host).stale = Some((Millis(1), "silent".into()));
    }

    /// The node that each host is on.
    fn attachments(&self) -> Vec<String> {
        let topology = self.infer();
        let attachments: BTreeMap<_, _> = topology.attachments().into_iter().collect();
        attachments
            .values()
            .map(|attachment| attachment.0.to_owned())
            .collect()
    }

    fn switches(&self) -> Vec<String> {
        let nodes = self.infer().nodes.into_iter();
        let switches = nodes.filter(|node| node.kind == NodeKind::Switch);
        switches.map(|node| node.name).collect()
    }
}

fn evidence(topology: &Topology, a: &str, b: &str) -> Vec<String> {
    let evidence = link(topology, a, b).evidence.iter();
    evidence.map(ToString::to_string).collect()
}

#[test]
fn hosts_are_on_the_switches_that_they_hear() {
    let mut net = InferenceFixture::of_hosts(5);
    net.on_switch("s0", &["n0", "n1"]);
    net.on_switch("s1", &["n2", "n3"]);
    assert_eq!(net.attachments(), ["s0", "s0", "s1", "s1", NET]);
    let topology = net.infer();
    let own = link(&topology, "s0", "n0");
    assert_eq!(
        (own.grade, own.rate_bps),
        (LinkGrade::Certain, BitsPerSec::GIGABIT)
    );
    assert_eq!(
        (own.a_port.as_str(), own.b_port.as_str()),
        ("swp-n0", "eth0")
    );
    assert_eq!(
        evidence(&topology, "s0", "n0"),
        ["LLDP: n0 eth0 hears s0 swp-n0 by its own name"]
    );
    let up = link(&topology, NET, "s0");
    assert_eq!(
        (up.grade, up.state),
        (LinkGrade::Inferred, LinkState::Forwarding)
    );
    assert_eq!(
        evidence(&topology, NET, "s0"),
        [
            "in network 10.0.0.0/24; no switch is listed",
            "rate: nothing says it; as fast as the fastest host on s0, it is assumed"
        ]
    );
    assert_eq!(
        topology.alarms[0].to_string(),
        "network 10.0.0.0/24: the inventory lists no switch, and hosts hear 2 switches; how they \
         are joined, and the rates between them, are not known: `heddle map --controller` \
         measures them"
    );
    assert_eq!((topology.alarms.len(), topology.clusters.len()), (1, 1));
    assert_eq!(topology.tree().unwrap().hosts(), 5);
    assert_eq!(topology.to_file().tree().unwrap().hosts(), 5);
}

#[test]
fn one_switch_that_all_hosts_hear_is_the_whole_tree() {
    let mut net = InferenceFixture::of_hosts(3);
    net.on_switch("s0", &["n0", "n1", "n2"]);
    let topology = net.infer();
    assert_eq!(net.attachments(), ["s0", "s0", "s0"]);
    assert_eq!((topology.nodes.len(), topology.alarms.len()), (4, 0));
}

#[test]
fn lldp_counts_before_cdp_and_cdp_before_bpdus() {
    let mut net = InferenceFixture::of_hosts(4);
    net.on_switch("s0", &["n0"]);
    net.overhears("n0", cdp("s2", "Gi1"));
    net.overhears("n1", bpdu("s2", 0x8001));
    net.overhears("n1", cdp("s1", "Gi2"));
    // The bridge is known by its address, as s0 is.
    net.overhears("n2", bpdu("s0", 0x8003));
    assert_eq!(net.attachments(), ["s0", "s1", "s0", NET]);
    let topology = net.infer();
    let grade = |switch, host| link(&topology, switch, host).grade;
    assert_eq!(grade("s1", "n1"), LinkGrade::Inferred);
    assert_eq!(grade("s0", "n2"), LinkGrade::Inferred);
    assert!(evidence(&topology, "s0", "n2")[0].starts_with("STP: n2 eth0 hears s0 port 8003"));
}

#[test]
fn a_host_that_hears_lldp_and_bpdus_tells_whose_bridge_it_is() {
    // s0 sends BPDUs with the address of "b0".
    let mut net = InferenceFixture::of_hosts(4);
    net.on_switch("s0", &["n0", "n1"]);
    net.overhears("n0", bpdu("b0", 0x8001));
    net.overhears("n1", bpdu("b0", 0x8002));
    net.overhears("n2", bpdu("b0", 0x8003));
    assert_eq!(net.attachments(), ["s0", "s0", "s0", NET]);
    // If both hear one port of it, s0 passes its BPDUs on.
    net.view("n1").host.as_mut().unwrap().frames.pop();
    net.overhears("n1", bpdu("b0", 0x8001));
    let other = mac("b0", 0).to_string().replace(':', "-");
    assert_eq!(net.attachments(), ["s0", "s0", other.as_str(), NET]);
    // A second switch that passes them on, too.
    let mut net = InferenceFixture::of_hosts(3);
    net.on_switch("s0", &["n0"]);
    net.on_switch("s1", &["n1"]);
    for host in ["n0", "n1", "n2"] {
        net.overhears(host, bpdu("b0", 0x8001));
    }
    assert_eq!(net.attachments(), ["s0", "s1", other.as_str()]);
}

#[test]
fn a_port_that_several_hosts_hear_has_a_bridge_behind_it() {
    let mut net = InferenceFixture::of_hosts(4);
    net.on_switch("s0", &["n0"]);
    for host in ["n1", "n2", "n3"] {
        net.overhears(host, lldp("s0", "swp 7"));
    }
    assert_eq!(
        net.attachments(),
        ["s0", "s0-swp-7", "s0-swp-7", "s0-swp-7"]
    );
    let topology = net.infer();
    assert_eq!(topology.kinds()["s0-swp-7"], NodeKind::Unmanaged);
    for link in topology.links.iter().filter(|link| link.b != "n0") {
        assert_eq!(link.grade, LinkGrade::Inferred, "{link:?}");
    }
    assert!(alarms(&topology).contains("an unmanaged bridge stands between"));
}

#[test]
fn several_senders_on_one_card_tell_no_place() {
    let mut net = InferenceFixture::of_hosts(3);
    net.on_switch("s0", &["n0", "n1"]);
    net.on_switch("s1", &["n1"]);
    net.overhears("n1", cdp("s0", "swp-n1"));
    assert_eq!(net.attachments(), ["s0", NET, NET]);
}

#[test]
fn two_cables_of_a_bond_lead_to_one_switch() {
    let bond = card("bond0", 2000, &["10.0.0.1/24"]);
    let first = vec![bond, member("eth0"), member("eth1")];
    let second = vec![card("eth0", 1000, &["10.0.0.2/24"])];
    let mut net = hosts("[n0, n1]", vec![first, second]);
    net.overhears_on("n0", "eth0", lldp("s0", "swp1"));
    net.overhears_on("n0", "eth1", lldp("s0", "swp2"));
    // Another network's card.
    net.overhears_on("n1", "eth7", lldp("s9", "swp1"));
    assert_eq!(net.attachments(), ["s0", NET]);
    let topology = net.infer();
    let own = link(&topology, "s0", "n0");
    assert_eq!((own.a_port.as_str(), own.b_port.as_str()), ("", "bond0"));
    assert_eq!(
        (own.rate_bps, own.evidence.len()),
        (BitsPerSec::mega(2000), 2)
    );
}

fn member(name: &str) -> Nic {
    Nic {
        master: Some("bond0".into()),
        ..card(name, 1000, &[])
    }
}

#[test]
fn hosts_and_stations_are_no_switches() {
    let mut net = InferenceFixture::of_hosts(4);
    net.on_switch("n1", &["n0"]);
    let mut station = lldp("printer", "eth0");
    if let HeardContent::Neighbour { capabilities, .. } = &mut station {
        *capabilities = Some(SystemCapabilities::default());
    }
    net.overhears("n1", station);
    let nobody = HeardContent::Neighbour {
        protocol: DiscoveryProtocol::Lldp,
        chassis: NeighbourId::Mac(Mac([0; 6])),
        port: NeighbourId::Text("swp1".into()),
        port_descr: String::new(),
        name: String::new(),
        capabilities: None,
    };
    net.overhears("n2", nobody);
    assert_eq!(net.attachments(), [NET; 4]);
    assert_eq!(net.switches(), [""; 0]);
}

#[test]
fn a_silent_agent_gives_way_to_one_that_hears_the_port_now() {
    let mut net = InferenceFixture::of_hosts(3);
    net.on_switch("s0", &["n0", "n1"]);
    net.falls_silent("n0");
    assert_eq!(net.attachments(), ["s0", "s0", NET]);
    let topology = net.infer();
    assert_eq!(link(&topology, "s0", "n0").grade, LinkGrade::Inferred);
    assert!(evidence(&topology, "s0", "n0")[0].contains("as last heard"));
    net.overhears("n2", lldp("s0", "swp-n0"));
    assert_eq!(net.attachments(), [NET, "s0", "s0"]);
}

#[test]
fn a_shared_name_is_no_name() {
    let mut net = InferenceFixture::of_hosts(3);
    for (host, chassis) in [("n0", "s0"), ("n1", "s1"), ("n2", "s1")] {
        let mut frame = lldp(chassis, &format!("swp-{host}"));
        if let HeardContent::Neighbour { name, .. } = &mut frame {
            *name = "GS1900".into();
        }
        net.overhears(host, frame);
    }
    assert_eq!(
        net.attachments(),
        ["s0", "s1", "s1"].map(|switch| mac(switch, 0).to_string().replace(':', "-"))
    );
}

#[test]
fn hostile_names_harm_nobody() {
    let mut net = InferenceFixture::of_hosts(8);
    let long = "x".repeat(900);
    let names = [
        "s 0",
        "s-0",
        "n/0",
        NET,
        "../../etc\" {$",
        long.as_str(),
        "s0-swp1",
    ];
    for (number, name) in names.iter().enumerate() {
        net.on_switch(name, &[&format!("n{number}")]);
    }
    let found = net.switches();
    assert_eq!(found.len(), names.len(), "{found:?}");
    let is_fit = |name: &String| {
        let mut letters = name.chars();
        name.len() < 70 && letters.all(|c| c.is_ascii_alphanumeric() || "-_.+".contains(c))
    };
    assert!(found.iter().all(is_fit), "{found:?}");
    // The one that is called so is so, and the bridge has its name.
    let attachments = net.attachments();
    assert_eq!(
        (attachments[1].as_str(), attachments[7].as_str()),
        ("s-0", NET)
    );
    let topology = net.infer();
    assert_eq!(topology.kinds()[NET], NodeKind::Unmanaged);
    assert_eq!(topology.to_file().tree().unwrap().hosts(), 8);
}

#[test]
fn a_flood_of_senders_makes_no_switch() {
    let mut net = InferenceFixture::of_hosts(3);
    for number in 0..4096 {
        net.overhears("n0", lldp(&format!("evil{number}"), "swp1"));
    }
    net.on_switch("s0", &["n1", "n2"]);
    assert_eq!(net.switches(), ["s0"]);
    assert_eq!(net.attachments(), [NET, "s0", "s0"]);
}

/// Two hosts on each of two networks.
fn two_networks() -> InferenceFixture {
    let addresses = ["10.0.0.1/24", "10.0.0.2/24", "10.1.0.1/24", "10.1.0.2/24"];
    let cards = addresses.map(|address| vec![card("eth0", 1000, &[address])]);
    hosts("[n0, n1, n2, n3]", cards.to_vec())
}

#[test]
fn networks_with_a_common_switch_have_one_bridge() {
    let mut net = two_networks();
    net.on_switch("s0", &["n0", "n2"]);
    net.on_switch("s1", &["n1", "n3"]);
    assert_eq!(net.attachments(), ["s0", "s1", "s0", "s1"]);
    let topology = net.infer();
    assert_eq!(topology.tree().unwrap().hosts(), 4);
    let text = alarms(&topology);
    assert!(
        text.contains("network 10.0.0.0/24 and 10.1.0.0/24: "),
        "{text}"
    );
}

#[test]
fn a_stated_router_between_networks_stays() {
    let mut net = two_networks();
    let text = "switches: {}\nhosts: [n0, n1, n2, n3]\nrouters: [r0]\n\
                unmanaged: [net-10.0.0.0-24, net-10.1.0.0-24]\n\
                links: [{a: r0, b: net-10.0.0.0-24}, {a: r0, b: net-10.1.0.0-24}]\n";
    net.inventory = Inventory::parse("i.yaml", text).unwrap();
    net.on_switch("s0", &["n0", "n2"]);
    net.on_switch("s1", &["n1"]);
    let other = "net-10.1.0.0-24";
    assert_eq!(net.attachments(), [NET, "s1", other, other]);
    assert_eq!(net.infer().tree().unwrap().hosts(), 4);
}
