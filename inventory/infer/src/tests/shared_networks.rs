//! An inventory that lists no switch: hosts are where their networks are.
use super::measured::{measured, trunk};
use super::*;
use inventory::host_report::{HostReport, Nic};
use inventory::mapped_place::MappedPlace;
use std::collections::BTreeMap;

/// A card that is up, with addresses and their prefix lengths.
pub(super) fn card(name: &str, rate: u64, addresses: &[&str]) -> Nic {
    Nic {
        name: name.into(),
        addresses: addresses
            .iter()
            .map(|text| {
                let (address, prefix) = text.split_once('/').unwrap();
                (address.parse().unwrap(), prefix.parse().unwrap())
            })
            .collect(),
        rate: Some(BitsPerSec::mega(rate)),
        up: true,
        ..Nic::default()
    }
}

/// Hosts with these cards.
pub(super) fn hosts(stated: &str, cards: Vec<Vec<Nic>>) -> InferenceFixture {
    let mut net = InferenceFixture::new(&[], stated);
    for (number, nics) in cards.into_iter().enumerate() {
        net.tells(HostReport {
            host: format!("n{number}"),
            nics,
            ..HostReport::default()
        });
    }
    net
}

fn attachments(net: &InferenceFixture) -> Vec<(String, String, String)> {
    let topology = infer(&net.inventory, &net.views);
    topology
        .links
        .iter()
        .map(|link| (link.b.clone(), link.a.clone(), link.b_port.clone()))
        .collect()
}

fn attachment(host: &str, bridge: &str, card: &str) -> (String, String, String) {
    (host.into(), bridge.into(), card.into())
}

#[test]
fn hosts_with_addresses_in_one_network_are_on_one_bridge() {
    let eth0 = |n: u8| card("eth0", 1000, &[&format!("10.0.0.{n}/24"), "fe80::1/64"]);
    let cards = [1, 2, 3].map(|n| vec![eth0(n)]);
    let net = hosts("[n0, n1, n2]", cards.to_vec());
    let topology = infer(&net.inventory, &net.views);
    let bridge = "net-10.0.0.0-24";
    assert_eq!(topology.kinds()[bridge], NodeKind::Unmanaged);
    let link = &topology.links[0];
    assert_eq!(
        (link.rate_bps, link.grade, link.state),
        (
            BitsPerSec::GIGABIT,
            LinkGrade::Inferred,
            LinkState::Forwarding
        )
    );
    assert_eq!(
        link.evidence[0].to_string(),
        "in network 10.0.0.0/24; no switch is listed"
    );
    assert_eq!(
        topology.alarms[0].to_string(),
        "network 10.0.0.0/24: the inventory lists no switch, so all its hosts are on one unmanaged \
         bridge, and the rates behind it are not known: `heddle map --controller` measures them"
    );
    assert_eq!(topology.clusters.len(), 1);
}

#[test]
fn the_network_of_most_hosts_counts_then_the_fastest_then_the_lowest() {
    let host = |n: u8, third: bool| {
        let mut cards = vec![
            card("mgmt", 1000, &[&format!("10.0.0.{n}/24")]),
            card("fast", 10_000, &[&format!("10.1.0.{n}/24")]),
            card("same", 10_000, &[&format!("10.2.0.{n}/24")]),
            // On every host alike, as bridges of virtual machines are.
            card("virbr0", 40_000, &["192.168.122.1/24"]),
        ];
        if third {
            cards.push(card("few", 40_000, &[&format!("10.3.0.{n}/24")]));
        }
        cards
    };
    let net = hosts(
        "[n0, n1, n2]",
        vec![host(1, true), host(2, true), host(3, false)],
    );
    let fast = "net-10.1.0.0-24";
    assert_eq!(
        attachments(&net),
        ["n0", "n1", "n2"].map(|host| attachment(host, fast, "fast"))
    );
}

#[test]
fn a_stated_address_decides() {
    let host = |n: u8| {
        vec![
            card("mgmt", 1000, &[&format!("10.0.0.{n}/24")]),
            card("fast", 10_000, &[&format!("10.1.0.{n}/24")]),
        ]
    };
    let stated = "{n0: {address: 10.0.0.1}, n1: {address: 10.0.0.2}}";
    let net = hosts(stated, vec![host(1), host(2)]);
    let mgmt = "net-10.0.0.0-24";
    assert_eq!(
        attachments(&net),
        ["n0", "n1"].map(|host| attachment(host, mgmt, "mgmt"))
    );
}

#[test]
fn a_host_that_shares_no_network_has_no_place() {
    let mut down = card("eth0", 1000, &["10.0.0.3/24"]);
    down.up = false;
    let eth0 = |address: &str| vec![card("eth0", 1000, &[address])];
    let cards = vec![
        eth0("10.0.0.1/24"),
        eth0("10.0.0.2/24"),
        vec![down],
        eth0("10.9.0.1/24"),
    ];
    let net = hosts("[n0, n1, n2, n3, n4]", cards);
    let bridge = "net-10.0.0.0-24";
    assert_eq!(
        attachments(&net),
        ["n0", "n1"].map(|host| attachment(host, bridge, "eth0"))
    );
    let topology = infer(&net.inventory, &net.views);
    let missed = topology.alarms.iter().map(ToString::to_string);
    let missed = missed.filter(|alarm| alarm.contains("seen nowhere: no agent reports"));
    assert_eq!(missed.count(), 3);
}

#[test]
fn flows_tell_rates_that_nobody_states() {
    let host = |n: u8, rate: Option<u64>| {
        let mut eth0 = card(
            "eth0",
            rate.unwrap_or_default(),
            &[&format!("10.0.0.{n}/24")],
        );
        eth0.rate = rate.map(BitsPerSec::mega);
        vec![eth0]
    };
    let rates = [Some(1000), Some(1000), Some(1000), None];
    let cards = (1..).zip(rates).map(|(n, rate)| host(n, rate)).collect();
    let names = ["n0", "n1", "n2", "n3"].map(str::to_owned);
    let reached = [940, 600, 200, 200].map(BitsPerSec::mega);
    let topology = hosts("[n0, n1, n2, n3]", cards).infer_with(MappedPlace {
        bridge: "net-10.0.0.0-24".into(),
        hosts: names.to_vec(),
        beside: vec![],
        rates: names.into_iter().zip(reached).collect(),
        ..measured(vec![trunk(&["n2", "n3"])])
    });
    let found: BTreeMap<&str, u64> = topology
        .links
        .iter()
        .map(|l| (l.b.as_str(), l.rate_bps.0 / 1_000_000))
        .collect();
    let (trunk, hosts) = (("net-10.0.0.0-24-1", 100), [1000, 1000, 1000, 200]);
    let expected = ["n0", "n1", "n2", "n3"].into_iter().zip(hosts);
    assert_eq!(found, expected.chain([trunk]).collect());
    let last = topology.links.iter().find(|l| l.b == "n3").unwrap();
    let texts: Vec<String> = last.evidence.iter().map(ToString::to_string).collect();
    assert_eq!(
        texts[1],
        "measured: flows to and from the host reached 200M"
    );
    assert!(
        texts[2].contains("cross the trunk to net-10.0.0.0-24-1"),
        "{texts:?}"
    );
}

#[test]
fn a_measurement_holds_for_hosts_that_are_left() {
    let names: Vec<String> = (0..8).map(|n| format!("n{n}")).collect();
    let place = || MappedPlace {
        bridge: "net-10.0.0.0-24".into(),
        hosts: names.clone(),
        beside: vec![],
        ..measured(vec![
            trunk(&["n2", "n3"]),
            trunk(&["n2", "n3", "n4", "n5", "n6", "n7"]),
            trunk(&["n6", "n7"]),
        ])
    };
    let links = |missing: &[usize]| {
        let stated = format!("[{}]", names.join(", "));
        let mut net = hosts(
            &stated,
            (1..9)
                .map(|n| vec![card("eth0", 1000, &[&format!("10.0.0.{n}/24")])])
                .collect(),
        );
        for host in missing {
            net.views.remove(&names[*host]);
        }
        let links = net.infer_with(place()).links;
        let ends: Vec<(String, String)> = links.into_iter().map(|l| (l.a, l.b)).collect();
        ends
    };
    let whole = links(&[]);
    assert_eq!(whole.len(), 11);
    for missing in [
        &[0][..],
        &[2],
        &[2, 3],
        &[0, 1],
        &[2, 3, 4, 5, 6, 7],
        &[6, 7, 2, 0],
    ] {
        let expected: Vec<_> = whole
            .iter()
            .filter(|(_, b)| !missing.iter().any(|n| names[*n] == *b))
            .cloned()
            .collect();
        assert_eq!(links(missing), expected, "{missing:?}");
    }
}

#[test]
fn an_address_of_two_cards_of_one_host_is_its_own_and_a_name_is_not_taken() {
    let first = vec![
        card("eth0", 1000, &["10.0.0.1/24"]),
        card("lo1", 1000, &["10.0.0.1/32"]),
    ];
    let cards = vec![first, vec![card("eth0", 1000, &["10.0.0.2/24"])]];
    let net = hosts("[n0, n1, net-10.0.0.0-24]", cards);
    let bridge = "net-10.0.0.0-24+";
    assert_eq!(
        attachments(&net),
        ["n0", "n1"].map(|host| attachment(host, bridge, "eth0"))
    );
}
