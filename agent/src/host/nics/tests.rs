use super::*;
use rtnetlink::packet_route::link::Stats64;
use std::net::Ipv4Addr;

const ALL: [u8; 6] = [2, 0, 0, 0, 0, 9];

fn link(index: u32, name: &str, kind: Option<InfoKind>, more: &[LinkAttribute]) -> LinkMessage {
    let mut message = LinkMessage::default();
    message.header.index = index;
    message.header.link_layer_type = LinkLayerType::Ether;
    message.header.flags = LinkFlags::Up | LinkFlags::LowerUp;
    message.attributes = vec![
        LinkAttribute::IfName(name.into()),
        LinkAttribute::Address(vec![2, 0, 0, 0, 0, index as u8]),
    ];
    message
        .attributes
        .extend(kind.map(|k| LinkAttribute::LinkInfo(vec![LinkInfo::Kind(k)])));
    message.attributes.extend_from_slice(more);
    message
}

fn at(index: u32, scope: AddressScope, octet: u8) -> AddressMessage {
    let mut message = AddressMessage::default();
    (
        message.header.index,
        message.header.scope,
        message.header.prefix_len,
    ) = (index, scope, 24);
    message.attributes = vec![AddressAttribute::Local(
        Ipv4Addr::new(10, 0, 0, octet).into(),
    )];
    message
}

fn names(cards: &[KernelNic]) -> Vec<(&str, bool)> {
    cards
        .iter()
        .map(|c| (c.nic.name.as_str(), c.plugged))
        .collect()
}

/// Two cards in a bond and a VLAN over it; the first card has a permanent address of its own.
fn bond_with_a_vlan() -> [LinkMessage; 4] {
    let permanent = LinkAttribute::PermAddress(vec![2, 0, 0, 0, 1, 1]);
    let shared = LinkAttribute::Address(ALL.to_vec());
    let member = LinkAttribute::Controller(3);
    let first = [member.clone(), permanent, shared.clone()];
    let second = [member, shared.clone()];
    let vlan = [LinkAttribute::Link(3), shared.clone()];
    [
        link(1, "eth0", None, &first),
        link(2, "eth1", None, &second),
        link(3, "bond0", Some(InfoKind::Bond), &[shared]),
        link(4, "bond0.7", Some(InfoKind::Vlan), &vlan),
    ]
}

#[test]
fn a_bond_with_a_vlan_over_it_is_reported_with_its_members() {
    let links = bond_with_a_vlan();
    let cards = cards(
        &links,
        &[1, 255, 0].map(|octet| at(4, AddressScope::Universe, octet)),
        &[],
    );
    let addresses = [(Ipv4Addr::new(10, 0, 0, 1).into(), 24)];
    assert_eq!(
        cards[3].nic.addresses, addresses,
        "broadcast and network addresses belong to no host"
    );
    let cards = super::cards(
        &links,
        &[
            at(4, AddressScope::Universe, 1),
            at(4, AddressScope::Link, 2),
        ],
        &[],
    );
    assert_eq!(
        names(&cards),
        [
            ("eth0", true),
            ("eth1", true),
            ("bond0", false),
            ("bond0.7", false)
        ]
    );
    assert_eq!(
        cards[0].nic.mac,
        Some(Mac([2, 0, 0, 0, 1, 1])),
        "a member is known by its permanent address"
    );
    assert_eq!(
        (cards[0].nic.master.as_deref(), cards[2].nic.mac),
        (Some("bond0"), Some(Mac(ALL)))
    );
    assert_eq!(
        (cards[1].nic.mac, cards[0].card.mac),
        (Some(Mac(ALL)), Mac(ALL)),
        "it sends from the bond's address"
    );
    assert_eq!(cards[3].nic.addresses, addresses);
}

#[test]
fn what_containers_and_tunnels_bring_is_not_a_card() {
    let links = [
        link(1, "eth0", None, &[]),
        link(2, "docker0", Some(InfoKind::Bridge), &[]),
        link(
            3,
            "veth1",
            Some(InfoKind::Veth),
            &[LinkAttribute::Controller(2), LinkAttribute::Link(9)],
        ),
        link(4, "cali1", Some(InfoKind::Veth), &[LinkAttribute::Link(9)]),
        link(5, "dummy0", Some(InfoKind::Dummy), &[]),
        link(6, "tap0", Some(InfoKind::Tun), &[]),
        link(
            7,
            "macvlan0",
            Some(InfoKind::MacVlan),
            &[LinkAttribute::Link(1)],
        ),
        link(8, "br0", Some(InfoKind::Bridge), &[]),
        link(9, "eth1", None, &[LinkAttribute::Controller(8)]),
    ];
    let cards = cards(
        &links,
        &[
            at(2, AddressScope::Universe, 1),
            at(7, AddressScope::Universe, 2),
        ],
        &[],
    );
    assert_eq!(
        names(&cards),
        [
            ("eth0", true),
            ("macvlan0", false),
            ("br0", false),
            ("eth1", true)
        ]
    );
    let stated = super::cards(&links, &[], &["eth1".into(), "dummy0".into()]);
    assert_eq!(
        names(&stated),
        [("dummy0", true), ("br0", false), ("eth1", true)],
        "the operator's word counts"
    );
}

#[test]
fn a_container_sees_its_own_end_of_a_pair_as_its_card() {
    let elsewhere = [LinkAttribute::Link(7), LinkAttribute::LinkNetNsId(0)];
    let links = [
        link(1, "eth0", Some(InfoKind::Veth), &elsewhere),
        link(2, "net1", Some(InfoKind::MacVlan), &elsewhere),
    ];
    let cards = cards(
        &links,
        &[
            at(1, AddressScope::Universe, 1),
            at(2, AddressScope::Site, 2),
        ],
        &[],
    );
    assert_eq!(names(&cards), [("eth0", true), ("net1", true)]);
}

#[test]
fn counters_have_64_bits_and_a_card_without_carrier_is_down() {
    let mut stats = Stats64::default();
    (stats.rx_bytes, stats.tx_bytes) = (1 << 40, u64::MAX);
    let mut one = link(1, "eth0", None, &[LinkAttribute::Stats64(stats)]);
    one.header.flags = LinkFlags::Up;
    let nic = &cards(&[one], &[], &[])[0].nic;
    assert_eq!(
        (nic.in_octets, nic.out_octets, nic.up),
        (1 << 40, u64::MAX, false)
    );
}

#[test]
fn thousands_of_interfaces_become_a_bounded_report() {
    let links: Vec<LinkMessage> = (1..2000)
        .map(|n| link(n, &format!("eth{n}"), None, &[]))
        .collect();
    let addresses: Vec<AddressMessage> =
        (0..200).map(|n| at(1, AddressScope::Universe, n)).collect();
    let cards = cards(&links, &addresses, &[]);
    assert_eq!(
        (cards.len(), cards[0].nic.addresses.len()),
        (MOST_CARDS, MOST_ADDRESSES)
    );
}

#[test]
fn rates_are_what_the_driver_says_or_unknown() {
    assert_eq!(megabits(10_000, 0), Some(BitsPerSec::mega(10_000)));
    assert_eq!(megabits(0x1a80, 0x6), Some(BitsPerSec::mega(400_000)));
    assert!(
        [(0, 0), (u16::MAX, u16::MAX), (u16::MAX, 0)]
            .into_iter()
            .all(|(low, high)| megabits(low, high).is_none())
    );
}

#[tokio::test]
async fn the_kernel_answers_without_privileges() {
    let cards = NicMonitor::open(&[]).unwrap().read().await.unwrap();
    let known = std::fs::read_to_string("/proc/thread-self/net/dev").unwrap();
    assert!(
        cards
            .iter()
            .all(|c| known.contains(&format!("{}:", c.nic.name))),
        "{cards:?}\n{known}"
    );
    assert!(slots() >= 1);
}
