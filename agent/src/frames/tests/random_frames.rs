//! Random frames: a written frame reads back the same, and a damaged frame is read or refused
//! without a panic.
use super::*;
use proptest::prelude::*;
use proptest::sample::Index;

/// Texts that read back unchanged. Invisible and empty texts do not.
fn word() -> impl Strategy<Value = String> {
    "[a-z0-9äß]([a-zA-Z0-9äß/. -]{0,40}[a-z0-9ß])?"
}

fn ip() -> impl Strategy<Value = IpAddr> {
    prop_oneof![
        any::<[u8; 4]>().prop_map(IpAddr::from),
        any::<[u8; 16]>().prop_map(IpAddr::from)
    ]
}

fn any_mac() -> impl Strategy<Value = Mac> {
    any::<[u8; 6]>().prop_map(Mac)
}

fn any_id() -> impl Strategy<Value = NeighbourId> {
    prop_oneof![
        any_mac().prop_map(NeighbourId::Mac),
        ip().prop_map(NeighbourId::Address),
        word().prop_map(NeighbourId::Text)
    ]
}

fn any_capabilities() -> impl Strategy<Value = Option<SystemCapabilities>> {
    prop::option::of(
        any::<(bool, bool)>().prop_map(|(bridge, router)| SystemCapabilities { bridge, router }),
    )
}

fn optional_word() -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), word()]
}

fn any_lldp() -> impl Strategy<Value = NeighbourPdu> {
    let texts = (optional_word(), optional_word(), optional_word());
    let rest = (any_capabilities(), prop::collection::vec(ip(), 0..4));
    (any_id(), any_id(), any::<u16>(), texts, rest).prop_map(
        |(chassis, port, ttl, texts, (capabilities, management))| {
            let (port_descr, name, descr) = texts;
            NeighbourPdu::Lldp(Lldpdu {
                chassis,
                port,
                ttl,
                port_descr,
                name,
                descr,
                capabilities,
                management,
            })
        },
    )
}

fn any_cdp() -> impl Strategy<Value = NeighbourPdu> {
    // CDP has no subtypes, so a name that looks like a MAC address reads as one; and addresses are
    // written as texts.
    let named = || "[a-z][a-z0-9./-]{0,30}[g-z]".prop_map(NeighbourId::Text);
    let rest = (
        optional_word(),
        any_capabilities(),
        prop::collection::vec(ip(), 0..4),
    );
    (1..=2u8, any::<u8>(), named(), named(), rest).prop_map(
        |(version, ttl, device, port, (name, capabilities, addresses))| {
            NeighbourPdu::Cdp(CdpAnnouncement {
                version,
                ttl,
                device,
                port,
                name,
                capabilities,
                addresses,
            })
        },
    )
}

fn any_bridge() -> impl Strategy<Value = BridgeId> {
    (any::<u16>(), any_mac()).prop_map(|(priority, address)| BridgeId { priority, address })
}

fn any_bpdu() -> impl Strategy<Value = NeighbourPdu> {
    let version = prop_oneof![
        Just(StpVersion::Stp),
        Just(StpVersion::Rstp),
        (any_bridge(), any::<u32>(), any::<u8>()).prop_map(
            |(regional_root, internal_path_cost, remaining_hops)| StpVersion::Mstp {
                regional_root,
                internal_path_cost,
                remaining_hops
            }
        ),
    ];
    let times = (any::<u16>(), 1..=u16::MAX, any::<u16>(), any::<u16>());
    let configuration = (
        version,
        any::<u8>(),
        any_bridge(),
        any::<u32>(),
        any_bridge(),
        any::<u16>(),
        times,
    )
        .prop_map(
            |(
                version,
                flags,
                root_bridge,
                root_path_cost,
                bridge,
                port,
                (age, max_age, hello_time, forward_delay),
            )| {
                let message_age = age % max_age;
                let output = ConfigurationBpdu {
                    version,
                    flags,
                    root_bridge,
                    root_path_cost,
                    bridge,
                    port,
                    message_age,
                    max_age,
                    hello_time,
                    forward_delay,
                };
                NeighbourPdu::Bpdu(Bpdu::Configuration(output))
            },
        );
    prop_oneof![9 => configuration, 1 => Just(NeighbourPdu::Bpdu(Bpdu::TopologyChange))]
}

fn any_frame() -> impl Strategy<Value = NeighbourFrame> {
    (any_mac(), prop_oneof![any_lldp(), any_cdp(), any_bpdu()])
        .prop_map(|(source, message)| NeighbourFrame { source, message })
}

proptest! {
    #[test]
    fn what_is_written_reads_the_same(frame in any_frame()) {
        let octets = frame.write();
        prop_assert!((60..=1514).contains(&octets.len()));
        prop_assert_eq!(NeighbourFrame::read(&octets), Ok(frame));
    }

    #[test]
    fn damaged_frames_are_read_or_refused(
        frame in any_frame(),
        flips in prop::collection::vec((any::<Index>(), any::<u8>()), 0..6),
        end in any::<Index>(),
        more in prop::collection::vec(any::<u8>(), 0..40),
    ) {
        let mut octets = frame.write();
        for (at, with) in flips {
            *at.get_mut(&mut octets) ^= with;
        }
        octets.truncate(end.index(octets.len() + 1));
        octets.extend(more);
        if let Ok(read) = NeighbourFrame::read(&octets) {
            let again = NeighbourFrame::read(&read.write());
            prop_assert_eq!(again, Ok(read), "what is read can be written again");
        }
        // Skips the checksum and the LLC, because damage seldom leaves them correct.
        for content in (0..octets.len().min(30)).map(|at| &octets[at..]) {
            let _ = (Lldpdu::read(content), Bpdu::read(content));
            let _ = CdpAnnouncement::read(&cdp::sealed(content.to_vec()));
        }
    }
}
