//! `agent` reads back what a view contains, through rows, datagrams and agent's own tables.
use agent::read_all_switches;
use fleet::responder::SnmpResponder;
use inventory::device_view::{DeviceView, DeviceViews, apply};
use inventory::inventory_file::Inventory;
use inventory::observation::{
    ArpEntry, BridgeId, BridgePort, BridgeTable, CdpNeighbour, CdpTable, ChassisIdKind, DeviceFact,
    FdbEntry, InterfaceRow, LldpNeighbour, LldpPort, LldpTable, NeighbourId, PortIdKind, StpState,
    SystemCapabilities, SystemGroup,
};
use inventory::{BitsPerSec, Mac};
use proptest::collection::{btree_map, btree_set, vec};
use proptest::option;
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::net::IpAddr;
use std::time::Duration;

fn word() -> impl Strategy<Value = String> {
    "[a-zA-Z][a-zA-Z0-9/:.-]{0,20}"
}

fn mac() -> impl Strategy<Value = Mac> {
    any::<[u8; 5]>().prop_map(|[a, b, c, d, e]| Mac([2, a, b, c, d, e]))
}

fn address() -> impl Strategy<Value = IpAddr> {
    prop_oneof![
        any::<[u8; 4]>().prop_map(IpAddr::from),
        any::<[u8; 16]>().prop_map(IpAddr::from)
    ]
}

fn id() -> impl Strategy<Value = NeighbourId> {
    prop_oneof![
        mac().prop_map(NeighbourId::Mac),
        address().prop_map(NeighbourId::Address),
        word().prop_map(NeighbourId::Text)
    ]
}

fn capabilities() -> impl Strategy<Value = Option<SystemCapabilities>> {
    option::of(
        any::<(bool, bool)>().prop_map(|(bridge, router)| SystemCapabilities { bridge, router }),
    )
}

/// ifSpeed is exact below 4.29 Gbit/s, ifHighSpeed says whole megabits.
fn rate() -> impl Strategy<Value = Option<BitsPerSec>> {
    option::of(
        prop_oneof![
            1..u64::from(u32::MAX),
            (4_295..800_000u64).prop_map(|m| m * 1_000_000)
        ]
        .prop_map(BitsPerSec),
    )
}

fn interfaces() -> impl Strategy<Value = Vec<InterfaceRow>> {
    let one = (
        word(),
        "[a-z]{0,9}",
        option::of(mac()),
        rate(),
        any::<bool>(),
        0..u64::MAX / 2,
        option::of(500u32..510),
    );
    btree_map(1u32..400, one, 0..40).prop_map(|rows| {
        rows.into_iter()
            .map(
                |(index, (name, alias, mac, rate, up, octets, aggregate))| InterfaceRow {
                    index,
                    descr: format!("port {name}"),
                    // Dead rows with the name of another row are left out.
                    name: format!("{name}{index}"),
                    alias,
                    mac,
                    rate,
                    up,
                    aggregate,
                    in_octets: octets,
                    out_octets: octets / 2,
                    ..InterfaceRow::default()
                },
            )
            .collect()
    })
}

fn lldp() -> impl Strategy<Value = LldpTable> {
    let ports = btree_map(1u32..100, (id(), word()), 0..30);
    (
        option::of(id()),
        word(),
        capabilities(),
        ports,
        vec(lldp_neighbour(), 0..30),
        vec(cdp_neighbour(), 0..5),
    )
        .prop_map(
            |(chassis, name, capabilities, ports, mut neighbours, mut cdp)| {
                neighbours.sort_by_key(|n| n.local_port);
                cdp.sort_by_key(|n| n.if_index);
                LldpTable {
                    chassis,
                    name,
                    capabilities,
                    ports: ports
                        .into_iter()
                        .map(|(number, (id, descr))| LldpPort {
                            number,
                            kind: Some(port_kind(&id)),
                            id,
                            descr,
                        })
                        .collect(),
                    neighbours,
                    cdp: CdpTable {
                        device: "cdp-name".into(),
                        neighbours: cdp,
                    },
                }
            },
        )
}

fn lldp_neighbour() -> impl Strategy<Value = LldpNeighbour> {
    let name = prop_oneof![Just(String::new()), word()];
    let row = (
        1u32..100,
        id(),
        option::of(id()),
        word(),
        name,
        capabilities(),
    );
    row.prop_map(
        |(local_port, chassis, port, port_descr, name, capabilities)| LldpNeighbour {
            local_port,
            chassis_kind: Some(chassis_kind(&chassis)),
            chassis: Some(chassis),
            port_kind: port.as_ref().map(port_kind),
            port,
            port_descr,
            name,
            capabilities,
            ..LldpNeighbour::default()
        },
    )
}

/// CDP gives no subtype, so an identifier is read back only as far as its octets determine it.
fn cdp_neighbour() -> impl Strategy<Value = CdpNeighbour> {
    let row = (
        1u32..100,
        option::of(plain_id()),
        plain_id(),
        capabilities(),
    );
    row.prop_map(|(if_index, device, port, capabilities)| CdpNeighbour {
        if_index,
        device,
        port: Some(port),
        capabilities,
        ..CdpNeighbour::default()
    })
}

fn plain_id() -> impl Strategy<Value = NeighbourId> {
    id().prop_map(|id| match id {
        NeighbourId::Address(_) => NeighbourId::Text("Gi0/1".into()),
        other => other,
    })
}

/// The subtypes that the responder gives to identifiers.
fn chassis_kind(id: &NeighbourId) -> ChassisIdKind {
    match id {
        NeighbourId::Mac(_) => ChassisIdKind::MacAddress,
        NeighbourId::Address(_) => ChassisIdKind::NetworkAddress,
        NeighbourId::Text(_) => ChassisIdKind::Local,
    }
}

fn port_kind(id: &NeighbourId) -> PortIdKind {
    match id {
        NeighbourId::Mac(_) => PortIdKind::MacAddress,
        NeighbourId::Address(_) => PortIdKind::NetworkAddress,
        NeighbourId::Text(_) => PortIdKind::Local,
    }
}

fn bridge() -> impl Strategy<Value = BridgeTable> {
    let states = [
        StpState::Disabled,
        StpState::Blocking,
        StpState::Listening,
        StpState::Learning,
        StpState::Forwarding,
        StpState::Broken,
    ];
    let port = (
        1u32..1000,
        option::of(prop::sample::select(states.to_vec())),
        option::of(bridge_id()),
        option::of(any::<u16>()),
    );
    (
        option::of(mac()),
        option::of(bridge_id()),
        any::<u16>(),
        any::<u32>(),
        btree_map(1u32..500, port, 0..40),
    )
        .prop_map(
            |(address, root_bridge, priority, top_changes, ports)| BridgeTable {
                address,
                root_bridge,
                priority,
                top_changes,
                ports: ports
                    .into_iter()
                    .map(
                        |(number, (if_index, state, designated_bridge, designated_port))| {
                            BridgePort {
                                number,
                                if_index,
                                state,
                                designated_bridge,
                                designated_port,
                            }
                        },
                    )
                    .collect(),
                ..BridgeTable::default()
            },
        )
}

fn bridge_id() -> impl Strategy<Value = BridgeId> {
    (any::<u16>(), mac()).prop_map(|(priority, address)| BridgeId { priority, address })
}

/// Rows, of which those of a station behind several ports are in databases of their own.
fn in_databases(stations: BTreeSet<(Mac, u32)>) -> Vec<FdbEntry> {
    let stations: Vec<(Mac, u32)> = stations.into_iter().collect();
    let of_one = stations.chunk_by(|a, b| a.0 == b.0);
    let rows = of_one.flat_map(|station| {
        let is_in_one_place = station.len() == 1;
        let numbered = station.iter().zip(10..);
        numbered.map(move |((mac, port), id)| FdbEntry {
            database: if is_in_one_place { 0 } else { id },
            ..FdbEntry::new(*mac, *port)
        })
    });
    rows.collect()
}

fn view() -> impl Strategy<Value = DeviceView> {
    let system = (word(), word(), 0..u32::MAX / 2, option::of(0u32..127)).prop_map(
        |(name, descr, uptime, services)| SystemGroup {
            name,
            descr,
            uptime,
            services,
        },
    );
    let fdb = btree_set((mac(), 1u32..100), 0..200).prop_map(in_databases);
    let arp = btree_set(
        (address(), mac()).prop_map(|(ip, mac)| ArpEntry::new(ip, mac)),
        0..20,
    )
    .prop_map(|e| e.into_iter().collect());
    (system, interfaces(), lldp(), bridge(), fdb, arp).prop_map(
        |(system, interfaces, lldp, bridge, fdb, arp)| DeviceView {
            system: Some(system),
            interfaces: Some(interfaces),
            lldp: Some(lldp),
            bridge: Some(bridge),
            fdb: Some(fdb),
            arp: Some(arp),
            ..DeviceView::default()
        },
    )
}

/// A view without the values that change with time.
fn still(mut view: DeviceView) -> DeviceView {
    view.system.iter_mut().for_each(|s| s.uptime = 0);
    view.interfaces
        .iter_mut()
        .flatten()
        .for_each(|i| (i.in_octets, i.out_octets) = (0, 0));
    view.arp
        .iter_mut()
        .flatten()
        .for_each(|row| row.if_index = 0);
    DeviceView {
        seen: None,
        pulse: None,
        ..view
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
}

/// One look at everything the responder serves.
async fn looked(responder: &SnmpResponder) -> DeviceViews {
    let inventory = Inventory::parse(
        "i.yaml",
        &responder.inventory(std::iter::empty(), "timing: {timeout: 5s}\n"),
    )
    .unwrap();
    let mut views = DeviceViews::new();
    for observation in read_all_switches(&inventory).await.unwrap() {
        if let DeviceFact::Failed { .. } = observation.fact {
            panic!("{observation:?}");
        }
        apply(&mut views, &observation);
    }
    views
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_view_is_read_back(view in view()) {
        let views = DeviceViews::from([("s0".to_owned(), view)]);
        let read = runtime().block_on(async {
            let responder = SnmpResponder::start(&views, Duration::ZERO).await.unwrap();
            looked(&responder).await
        });
        let (read, expected) = (still(read["s0"].clone()), still(views["s0"].clone()));
        prop_assert_eq!(&read.system, &expected.system);
        prop_assert_eq!(&read.interfaces, &expected.interfaces);
        prop_assert_eq!(&read.lldp, &expected.lldp);
        prop_assert_eq!(&read.bridge, &expected.bridge);
        prop_assert_eq!(&read.fdb, &expected.fdb);
        prop_assert_eq!(&read.arp, &expected.arp);
    }
}
