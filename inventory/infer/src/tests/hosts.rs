//! The statements of host agents: they add facts and cannot take any away.
use super::*;
use inventory::host_report::{DiscoveryProtocol, HeardContent, HeardFrame, HostReport, Nic};
use inventory::topology::AggregateMember;

fn nic(name: &str, mac: Mac) -> Nic {
    Nic {
        name: name.into(),
        mac: Some(mac),
        rate: Some(BitsPerSec::GIGABIT),
        up: true,
        ..Nic::default()
    }
}

fn lldp(card: &str, switch: &str, port: u8) -> HeardFrame {
    let content = HeardContent::Neighbour {
        protocol: DiscoveryProtocol::Lldp,
        chassis: NeighbourId::Mac(mac(switch, 0)),
        port: NeighbourId::Text(format!("swp{port}")),
        port_descr: String::new(),
        name: switch.into(),
        capabilities: None,
    };
    HeardFrame {
        nic: card.into(),
        at: Millis(1),
        content,
    }
}

fn cdp(card: &str, switch: &str, port: u8) -> HeardFrame {
    let HeardFrame {
        content:
            HeardContent::Neighbour {
                port,
                port_descr,
                name,
                capabilities,
                ..
            },
        ..
    } = lldp(card, "", port)
    else {
        unreachable!()
    };
    let chassis = NeighbourId::Text(format!("{switch}.example.org"));
    let content = HeardContent::Neighbour {
        protocol: DiscoveryProtocol::Cdp,
        chassis,
        port,
        port_descr,
        name,
        capabilities,
    };
    HeardFrame {
        nic: card.into(),
        at: Millis(1),
        content,
    }
}

fn bpdu(card: &str, switch: &str, port: u16) -> HeardFrame {
    let content = HeardContent::Bpdu {
        root_bridge: id("s0"),
        root_path_cost: 4,
        bridge: id(switch),
        port,
    };
    HeardFrame {
        nic: card.into(),
        at: Millis(1),
        content,
    }
}

fn id(switch: &str) -> BridgeId {
    BridgeId {
        priority: 4096,
        address: mac(switch, 0),
    }
}

impl InferenceFixture {
    /// The host's agent reports one card, eth0, and the frames that it hears.
    fn says(&mut self, host: &str, frames: Vec<HeardFrame>) {
        self.reports(host, vec![nic("eth0", host_mac(host))], frames);
    }

    fn reports(&mut self, host: &str, nics: Vec<Nic>, frames: Vec<HeardFrame>) {
        self.tells(HostReport {
            host: host.into(),
            slots: 1,
            nics,
            frames,
            ..HostReport::default()
        });
    }

    fn silence(&mut self, host: &str) {
        self.view(host).stale = Some((Millis(2), "no report".into()));
    }
}

/// Two switches. n0 is on s0 by LLDP. No switch names n1, so only its own statement can give it a
/// place.
fn pair() -> InferenceFixture {
    let mut net = InferenceFixture::new(&["s0", "s1"], "[n0, n1]");
    net.cable(("s0", 1, F), ("s1", 1, F));
    net.host("n0", "s0", 5);
    for port in [6, 7] {
        net.port("s1", port, F);
        net.port("s0", port, F);
    }
    net
}

fn alarms(t: &Topology, about: &str) -> String {
    t.alarms
        .iter()
        .filter(|a| a.subject.to_string() == about)
        .map(|a| a.to_string())
        .collect::<Vec<_>>()
        .join("; ")
}

#[test]
fn what_a_host_receives_is_its_attachment() {
    let mut net = pair();
    assert!(alarms(&net.infer(), "n1").contains("seen nowhere"));
    net.says("n1", vec![lldp("eth0", "s1", 6)]);
    let t = net.infer();
    let l = link(&t, "s1", "n1");
    assert_eq!(
        (l.a_port.as_str(), l.b_port.as_str(), l.grade, l.state),
        ("swp6", "eth0", LinkGrade::Certain, LinkState::Forwarding)
    );
    assert_eq!(
        l.evidence[0].to_string(),
        format!("LLDP: n1 eth0 hears s1 swp6 by chassis {}", mac("s1", 0))
    );
    assert_eq!(t.alarms, []);
}

#[test]
fn both_ends_word_is_two_lines_and_the_host_names_its_card_and_its_rate() {
    let mut net = pair();
    net.says("n0", vec![lldp("eth0", "s0", 5)]);
    net.view("n0").host.as_mut().unwrap().nics[0].rate = Some(BitsPerSec(100_000_000));
    let t = net.infer();
    let l = link(&t, "s0", "n0");
    assert!(
        l.evidence[0]
            .to_string()
            .starts_with("LLDP: s0 swp5 names n0")
            && l.evidence[1]
                .to_string()
                .starts_with("LLDP: n0 eth0 hears s0 swp5"),
        "{l:#?}"
    );
    assert_eq!(
        (l.b_port.as_str(), l.rate_bps),
        ("eth0", BitsPerSec(100_000_000))
    );
}

#[test]
fn cdp_and_bpdus_are_inferred_attachments() {
    for frame in [cdp("eth0", "s1", 6), bpdu("eth0", "s1", 0x8000 + 26)] {
        let mut net = pair();
        net.says("n1", vec![frame]);
        let t = net.infer();
        let l = link(&t, "s1", "n1");
        assert_eq!(
            (l.a_port.as_str(), l.grade),
            ("swp6", LinkGrade::Inferred),
            "{l:#?}"
        );
    }
}

#[test]
fn the_switches_own_table_says_which_port_a_bpdu_is_from() {
    let mut net = pair();
    let id = BridgeId {
        priority: 4096,
        address: mac("s1", 0),
    };
    let ports = &mut net.view("s1").bridge.as_mut().unwrap().ports;
    let port = ports.iter_mut().find(|p| p.if_index == 17).unwrap();
    (port.designated_bridge, port.designated_port) = (Some(id), Some(0x8001));
    net.says("n1", vec![bpdu("eth0", "s1", 0x8001)]);
    assert_eq!(link(&net.infer(), "s1", "n1").a_port, "swp7");
}

#[test]
fn its_card_s_address_finds_a_host_that_hears_nothing() {
    let mut net = pair();
    net.learns("s1", 6, host_mac("n1"));
    net.says("n1", vec![]);
    let t = net.infer();
    assert_eq!(
        (
            link(&t, "s1", "n1").a_port.as_str(),
            link(&t, "s1", "n1").grade
        ),
        ("swp6", LinkGrade::Inferred)
    );
}

#[test]
fn where_switches_and_host_differ_the_switches_word_stands_with_an_alarm() {
    let mut net = pair();
    net.says("n0", vec![lldp("eth0", "s1", 6)]);
    let t = net.infer();
    assert_eq!(link(&t, "s0", "n0").grade, LinkGrade::Certain);
    assert!(
        t.links
            .iter()
            .all(|l| (l.a.as_str(), l.b.as_str()) != ("s1", "n0"))
    );
    assert!(
        alarms(&t, "n0")
            .contains("says it is on s1 port swp6, but switches see it on s0 port swp5"),
        "{:?}",
        t.alarms
    );
}

#[test]
fn who_claims_another_s_place_or_a_trunk_harms_nobody_else() {
    for (frame, occupant) in [
        (lldp("eth0", "s0", 5), "hears host \"n0\" there"),
        (lldp("eth0", "s0", 1), "hears switch \"s1\" there"),
    ] {
        let mut net = pair();
        let before = link(&net.infer(), "s0", "n0").clone();
        net.says("n1", vec![frame]);
        let t = net.infer();
        assert_eq!(link(&t, "s0", "n0"), &before);
        assert!(
            t.links.iter().all(|l| l.b != "n1") && alarms(&t, "n1").contains(occupant),
            "{:?}",
            t.alarms
        );
    }
}

#[test]
fn who_claims_another_s_address_is_reported_and_not_believed() {
    let mut net = pair();
    net.learns("s1", 6, host_mac("n1"));
    net.inventory.hosts["n1"].mac = Some(host_mac("n1"));
    let before = net.infer();
    net.reports(
        "n0",
        vec![nic("eth0", host_mac("n1")), nic("eth1", mac("s1", 0))],
        vec![],
    );
    let t = net.infer();
    assert_eq!(t.links, before.links);
    let text = alarms(&t, "n0");
    assert!(
        text.contains("that of host \"n1\"; the claim is not believed")
            && text.contains("that of switch \"s1\""),
        "{text}"
    );
}

#[test]
fn an_address_that_several_agents_claim_is_nobody_s() {
    let mut net = pair();
    net.learns("s1", 6, host_mac("n9"));
    for host in ["n0", "n1"] {
        net.reports(host, vec![nic("eth0", host_mac("n9"))], vec![]);
    }
    let t = net.infer();
    assert!(
        t.links.iter().all(|l| l.b != "n1")
            && alarms(&t, "n0").contains("the agents of hosts \"n0\", \"n1\" each claim it")
    );
}

#[test]
fn frames_that_come_in_elsewhere_make_two_places_until_the_word_is_old() {
    let mut net = pair();
    net.learns("s0", 7, host_mac("n1"));
    net.says("n1", vec![lldp("eth0", "s1", 6)]);
    let t = net.infer();
    let grades: Vec<_> = t
        .links
        .iter()
        .filter(|l| l.b == "n1")
        .map(|l| (l.a.as_str(), l.grade))
        .collect();
    assert_eq!(
        grades,
        [("s0", LinkGrade::Ambiguous), ("s1", LinkGrade::Ambiguous)]
    );
    net.silence("n1");
    let t = net.infer();
    assert_eq!(
        (link(&t, "s0", "n1").a_port.as_str(), t.alarms.len()),
        ("swp7", 0),
        "{:#?}",
        t.links
    );
}

#[test]
fn an_old_word_stays_while_nothing_speaks_against_it() {
    let mut net = pair();
    net.says("n1", vec![lldp("eth0", "s1", 6)]);
    net.silence("n1");
    let t = net.infer();
    assert!(
        link(&t, "s1", "n1").evidence[0]
            .to_string()
            .ends_with(", as last heard")
            && t.alarms.is_empty()
    );
    net.view("s1")
        .interfaces
        .as_mut()
        .unwrap()
        .iter_mut()
        .find(|i| i.name == "swp6")
        .unwrap()
        .up = false;
    assert!(
        alarms(&net.infer(), "n1").contains("seen nowhere"),
        "not behind a port that is down"
    );
}

/// n1 with a bond of two cards on s1.
fn bond(second: HeardFrame) -> InferenceFixture {
    let mut net = pair();
    net.reports(
        "n1",
        vec![
            member("eth0", "n1"),
            member("eth1", "n2"),
            nic("bond0", host_mac("n1")),
        ],
        vec![lldp("eth0", "s1", 6), second],
    );
    net
}

fn member(name: &str, n: &str) -> Nic {
    Nic {
        master: Some("bond0".into()),
        ..nic(name, host_mac(n))
    }
}

#[test]
fn a_bond_on_one_switch_is_one_link() {
    let mut net = bond(lldp("eth1", "s1", 7));
    let one = net.infer();
    let l = link(&one, "s1", "n1");
    let members = [("swp6", "eth0"), ("swp7", "eth1")].map(|(a, b)| AggregateMember {
        a_port: a.into(),
        b_port: b.into(),
    });
    assert_eq!(
        (l.members.as_slice(), l.b_port.as_str(), l.rate_bps),
        (members.as_slice(), "bond0", BitsPerSec::GIGABIT)
    );
    assert!(
        l.evidence[0].to_string().contains("count as one cable") && one.alarms.is_empty(),
        "{l:#?}"
    );
    let interfaces = net.view("s1").interfaces.as_mut().unwrap();
    interfaces
        .iter_mut()
        .filter(|i| ["swp6", "swp7"].contains(&i.name.as_str()))
        .for_each(|i| i.aggregate = Some(99));
    let rate = Some(BitsPerSec(2_000_000_000));
    interfaces.push(InterfaceRow {
        index: 99,
        name: "lag1".into(),
        up: true,
        rate,
        ..InterfaceRow::default()
    });
    let t = net.infer();
    let l = link(&t, "s1", "n1");
    assert_eq!(
        (l.a_port.as_str(), l.members.len(), l.rate_bps),
        ("lag1", 2, BitsPerSec(2_000_000_000))
    );
}

#[test]
fn a_bond_on_two_switches_is_ambiguous() {
    let t = bond(lldp("eth1", "s0", 7)).infer();
    assert!(
        t.links
            .iter()
            .filter(|l| l.b == "n1")
            .all(|l| l.grade == LinkGrade::Ambiguous)
    );
    assert!(
        alarms(&t, "n1").contains("seen on s0 port swp7 and s1 port swp6"),
        "{:?}",
        t.alarms
    );
}

#[test]
fn only_the_card_the_inventory_means_counts() {
    let mut net = pair();
    net.inventory.hosts["n1"].mac = Some(host_mac("n2"));
    let cards = vec![nic("eth0", host_mac("n1")), nic("eth1", host_mac("n2"))];
    net.reports(
        "n1",
        cards,
        vec![lldp("eth0", "s0", 7), lldp("eth1", "s1", 6)],
    );
    let t = net.infer();
    assert_eq!(
        (link(&t, "s1", "n1").b_port.as_str(), t.alarms.len()),
        ("eth1", 0),
        "{:#?}",
        t.links
    );
}

#[test]
fn a_switch_that_never_answered_is_where_its_hosts_say_they_are() {
    let mut net = pair();
    net.views.remove("s1");
    net.says("n1", vec![lldp("eth0", "s1", 6)]);
    let t = net.infer();
    let l = link(&t, "s1", "n1");
    assert_eq!(
        (l.a_port.as_str(), l.b_port.as_str(), l.grade),
        ("swp6", "eth0", LinkGrade::Certain)
    );
}
