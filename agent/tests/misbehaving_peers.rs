//! Peers that do not behave like agents, each a real UDP socket. None may stop, delay or mislead
//! the survey of the others.
mod snmpd_process;

use agent::{clients, read_all_switches};
use inventory::observation::{DeviceFact, DeviceTable, LldpTable, NeighbourId, NextRouters};
use inventory::{Mac, sanitize};
use snmp::message::CommunityMessage;
use snmp::pdu::{PduBody, ResponsePdu};
use snmp::{DecodeConfig, Oid, Value, VarBind, Version};
use snmpd_process::{DatagramResponder, SnmpdProcess, failure, inventory, is_whole};
use std::collections::BTreeMap;
use std::net::{SocketAddr, UdpSocket};
use std::ops::Bound;
use std::time::Duration;

/// A peer that answers every datagram with a function, until dropped.
fn peer(answer: impl Fn(&[u8]) -> Option<Vec<u8>> + Send + 'static) -> DatagramResponder {
    DatagramResponder::new(move |socket, request, from| {
        if let Some(bytes) = answer(request) {
            socket.send_to(&bytes, from).unwrap();
        }
    })
}

/// A peer that speaks correct SNMP but lies in its values.
fn liar(values: impl Fn(&[VarBind]) -> Vec<VarBind> + Send + 'static) -> DatagramResponder {
    peer(move |request| Some(reply(request, &values)))
}

fn reply(request: &[u8], values: &dyn Fn(&[VarBind]) -> Vec<VarBind>) -> Vec<u8> {
    let message = CommunityMessage::decode(request.to_vec().into(), DecodeConfig::DEFAULT)
        .unwrap()
        .value;
    let (_, community, pdu) = message.into_parts();
    let (id, _, asked) = pdu.standard().unwrap().clone().into_raw_parts();
    let response = ResponsePdu::success(Version::V2c, id, values(&asked))
        .unwrap()
        .into_raw();
    CommunityMessage::v2c(community, response)
        .unwrap()
        .encode()
        .unwrap()
        .to_vec()
}

/// Answers like an agent that has only a system group, so that the survey goes on to the tables.
fn polite(asked: &[VarBind]) -> Option<Vec<VarBind>> {
    let system = Oid::from_slice(&[1, 3, 6, 1, 2, 1, 1]);
    asked.iter().all(|v| v.oid.starts_with(&system)).then(|| {
        asked
            .iter()
            .map(|v| VarBind::new(v.oid.child(0), Value::TimeTicks(1)))
            .collect()
    })
}

#[tokio::test]
async fn peers_that_do_not_talk_sense_are_mute_and_delay_nobody() {
    let snmpd = SnmpdProcess::start();
    let never = peer(|_| None);
    let garbage = peer(|_| Some(vec![0x30, 0x82, 0xff, 0xff, 0x02, 0x01, 0x01, 0x04, 0xff]));
    let echo = peer(|request| Some(request.to_vec()));
    let truncated = peer(|request| {
        let whole = reply(request, &|asked| asked.to_vec());
        Some(whole[..whole.len() / 2].to_vec())
    });
    // The socket is connected to itself. For all other senders the port is closed, and no other
    // program can take it.
    let closed = UdpSocket::bind("127.0.0.1:0").unwrap();
    closed.connect(closed.local_addr().unwrap()).unwrap();
    let switches = [
        ("never", never.address, "good"),
        ("garbage", garbage.address, "good"),
        ("echo", echo.address, "good"),
        ("truncated", truncated.address, "good"),
        ("closed", closed.local_addr().unwrap(), "good"),
        ("deaf", never.address, "sha"),
        ("babble", garbage.address, "sha256"),
        ("real", snmpd.address, "good"),
    ];
    let mut inventory = inventory(&switches);
    inventory.timing.retries = 0;
    let observations = read_all_switches(&inventory).await.unwrap();
    assert!(is_whole(&observations, "real"));
    let last = |switch: &str| {
        observations
            .iter()
            .filter(|o| o.reporter == switch)
            .map(|o| o.at)
            .max()
    };
    assert!(
        last("real") < last("never"),
        "the real one waits for one that is mute: {observations:#?}"
    );
    for (name, ..) in switches.iter().filter(|(n, ..)| *n != "real") {
        let (table, problem) = failure(&observations, name);
        assert!(table.is_none() || *name == "truncated", "{name}: {problem}");
        assert!(problem.contains("127.0.0.1:"), "{name}: {problem}");
    }
}

#[tokio::test]
async fn repeated_object_identifiers_end_the_table_not_the_look() {
    let peer = liar(|asked| {
        polite(asked).unwrap_or_else(|| {
            asked
                .iter()
                .map(|v| VarBind::new(v.oid.clone(), Value::Integer(1)))
                .collect()
        })
    });
    let observations = read_all_switches(&inventory(&[("s0", peer.address, "good")]))
        .await
        .unwrap();
    let nonsense = observations.iter().filter(|o| match &o.fact {
        DeviceFact::Failed {
            table: Some(_),
            problem,
            refused: None,
        } => problem.contains("object identifiers do not grow"),
        _ => false,
    });
    assert_eq!(
        (observations.len(), nonsense.count()),
        (DeviceTable::ALL.len(), DeviceTable::ALL.len() - 1),
        "{observations:#?}"
    );
}

#[tokio::test]
async fn a_table_without_end_is_given_up() {
    // Every answer is one more row, for ever.
    let next = |oid: &Oid| {
        let mut arcs = oid.arcs().to_vec();
        match arcs.len() {
            0..=11 => arcs.push(1),
            _ => *arcs.last_mut().unwrap() += 1,
        }
        Some((arcs, Value::Integer(1)))
    };
    let peer = peer(move |request| Some(by_the_book(request, &next)));
    let mut inventory = inventory(&[("s0", peer.address, "good")]);
    inventory.timing.timeout = Duration::from_secs(2);
    inventory.timing.retries = 0;
    let client = &clients(&inventory).unwrap()[0].1;
    let DeviceFact::Failed { table, problem, .. } = client.read(DeviceTable::Bridge).await else {
        panic!("a table without end was read")
    };
    let given_up = problem.contains("answers too slowly") || problem.contains("without end");
    assert!(table == Some(DeviceTable::Bridge) && given_up, "{problem}");
}

#[tokio::test]
async fn values_of_the_wrong_type_leave_fields_empty() {
    let peer = liar(|asked| {
        asked
            .iter()
            .map(|v| {
                VarBind::new(
                    v.oid.child(0),
                    Value::OctetString(vec![0xff, 0x1b, 0x00].into()),
                )
            })
            .collect()
    });
    let client = &clients(&inventory(&[("s0", peer.address, "good")])).unwrap()[0].1;
    let DeviceFact::System(system) = client.read(DeviceTable::System).await else {
        panic!("no system group")
    };
    assert!(
        system.uptime == 0 && !system.name.contains('\u{1b}'),
        "{system:?}"
    );
}

type SnmpRows = BTreeMap<Vec<u32>, Value>;

/// The row after an object identifier, if there is one.
type NextRow<'a> = &'a dyn Fn(&Oid) -> Option<(Vec<u32>, Value)>;

/// Answers GETBULK by the standard from a table, cut to fit into a message.
fn by_the_book(request: &[u8], next: NextRow<'_>) -> Vec<u8> {
    let message = CommunityMessage::decode(request.to_vec().into(), DecodeConfig::DEFAULT)
        .unwrap()
        .value;
    let (_, community, pdu) = message.into_parts();
    let (id, body, asked) = pdu.standard().unwrap().clone().into_raw_parts();
    let PduBody::GetBulk {
        non_repeaters,
        max_repetitions,
    } = body
    else {
        panic!("{body:?}")
    };
    let found = |oid: &Oid| match next(oid) {
        Some((oid, value)) => VarBind::new(Oid::from_slice(&oid), value),
        None => VarBind::new(oid.clone(), Value::EndOfMibView),
    };
    let oids: Vec<Oid> = asked.into_iter().map(|v| v.oid).collect();
    let (single, repeated) = oids.split_at(non_repeaters as usize);
    let mut values: Vec<VarBind> = single.iter().map(found).collect();
    let mut at = repeated.to_vec();
    for _ in 0..max_repetitions {
        for oid in &mut at {
            let value = found(oid);
            *oid = value.oid.clone();
            values.push(value);
        }
    }
    let encoded = |values: &[VarBind]| {
        let response = ResponsePdu::success(Version::V2c, id, values.to_vec())
            .unwrap()
            .into_raw();
        CommunityMessage::v2c(community.clone(), response)
            .unwrap()
            .encode()
            .unwrap()
            .to_vec()
    };
    let mut bytes = encoded(&values);
    while bytes.len() > 60_000 {
        values.truncate(values.len() / 2);
        bytes = encoded(&values);
    }
    bytes
}

fn after(rows: &SnmpRows, oid: &Oid) -> Option<(Vec<u32>, Value)> {
    rows.range((Bound::Excluded(oid.arcs().to_vec()), Bound::Unbounded))
        .next()
        .map(|(oid, value)| (oid.clone(), value.clone()))
}

fn oid(text: &str) -> Vec<u32> {
    text.split('.').map(|arc| arc.parse().unwrap()).collect()
}

fn octets(bytes: impl AsRef<[u8]>) -> Value {
    Value::OctetString(bytes.as_ref().to_vec().into())
}

/// Every table of a switch at `address`.
async fn tables(address: SocketAddr) -> Vec<DeviceFact> {
    let observations = read_all_switches(&inventory(&[("s0", address, "good")]))
        .await
        .unwrap();
    observations.into_iter().map(|o| o.fact).collect()
}

fn lldp(facts: &[DeviceFact]) -> &LldpTable {
    facts
        .iter()
        .find_map(|f| {
            if let DeviceFact::Lldp(lldp) = f {
                Some(lldp)
            } else {
                None
            }
        })
        .expect("no LLDP table")
}

#[tokio::test]
async fn a_table_that_changes_while_it_is_read_gives_no_row_that_never_was() {
    // lldpRemTable is indexed by the time of the last change. Here every message gets another one.
    let messages = std::cell::Cell::new(0_u32);
    let peer = peer(move |request| {
        messages.set(messages.get() + 1);
        let row = |column: u32, value| {
            (
                [
                    &oid("1.0.8802.1.1.2.1.4.1.1")[..],
                    &[column, messages.get(), 5, 1],
                ]
                .concat(),
                value,
            )
        };
        let rows: SnmpRows = [
            row(4, Value::Integer(4)),
            row(5, octets([2, 0, 0, 0, 0, 9])),
            row(6, Value::Integer(5)),
            row(7, octets("swp9")),
            row(9, octets("s9")),
            (oid("1.3.6.1.2.1.1.5.0"), octets("s0")),
        ]
        .into();
        Some(by_the_book(request, &|oid| after(&rows, oid)))
    });
    let facts = tables(peer.address).await;
    let neighbours = &lldp(&facts).neighbours;
    assert!(!neighbours.is_empty());
    for row in neighbours {
        assert_eq!(row.local_port, 5, "{row:?}");
        assert!(row.name.is_empty() || row.name == "s9", "{row:?}");
        let mac = NeighbourId::Mac(Mac([2, 0, 0, 0, 0, 9]));
        let chassis = [
            None,
            Some(mac),
            Some(NeighbourId::Text("020000000009".into())),
        ];
        assert!(
            chassis.contains(&row.chassis)
                && [None, Some(NeighbourId::Text("swp9".into()))].contains(&row.port),
            "{row:?}"
        );
    }
}

/// The rows of a switch that gives `evil` for every text.
fn rows_with(evil: &str) -> SnmpRows {
    let mut rows: SnmpRows = (1..8)
        .map(|n| (oid(&format!("1.3.6.1.2.1.1.{n}.0")), octets(evil)))
        .collect();
    let mut row = |text: String, value| rows.insert(oid(&text), value);
    for (column, kind) in [(2, Some(5)), (3, None), (4, None)] {
        let value = kind.map_or(octets(evil), Value::Integer);
        row(format!("1.0.8802.1.1.2.1.3.7.1.{column}.5"), value);
    }
    for column in 4..13 {
        let value = match column {
            4 | 6 => Value::Integer(7),
            _ => octets(evil),
        };
        row(format!("1.0.8802.1.1.2.1.4.1.1.{column}.0.5.1"), value);
    }
    for column in [2, 6] {
        row(format!("1.3.6.1.2.1.2.2.1.{column}.5"), octets(evil));
    }
    for column in [1, 18] {
        row(format!("1.3.6.1.2.1.31.1.1.1.{column}.5"), octets(evil));
    }
    row("1.3.6.1.4.1.9.9.23.1.3.4.0".into(), octets(evil));
    row("1.3.6.1.4.1.9.9.23.1.2.1.1.6.5.1".into(), octets(evil));
    row("1.3.6.1.4.1.9.9.23.1.2.1.1.7.5.1".into(), octets(evil));
    rows
}

/// The texts of a fact, one by one. Debug output would escape control characters.
fn texts(fact: &DeviceFact) -> Vec<String> {
    match fact {
        DeviceFact::System(s) => vec![s.name.clone(), s.descr.clone()],
        DeviceFact::Interfaces(all) => all
            .iter()
            .flat_map(|i| [i.name.clone(), i.descr.clone(), i.alias.clone()])
            .collect(),
        DeviceFact::Lldp(l) => {
            let ports = l.ports.iter();
            let ports = ports.flat_map(|p| [text(Some(&p.id)), p.descr.clone()]);
            let neighbours = l.neighbours.iter().flat_map(|n| {
                let ids = [text(n.chassis.as_ref()), text(n.port.as_ref())];
                ids.into_iter()
                    .chain([n.port_descr.clone(), n.name.clone()])
            });
            let cdp = l.cdp.neighbours.iter();
            let cdp = cdp.flat_map(|n| [text(n.device.as_ref()), text(n.port.as_ref())]);
            let device = std::iter::once(l.cdp.device.clone());
            device.chain(ports).chain(neighbours).chain(cdp).collect()
        }
        _ => vec![],
    }
}

fn text(id: Option<&NeighbourId>) -> String {
    match id {
        Some(NeighbourId::Text(text)) => text.clone(),
        _ => String::new(),
    }
}

#[tokio::test]
async fn empty_and_ten_kilobyte_strings_and_hostile_names_come_in_short_and_plain() {
    let long = "x".repeat(10_000);
    for evil in [
        "",
        "\u{1b}]0;owned\u{7}\u{1b}[2J",
        "../../etc/passwd\n\r",
        "a\u{202e}b\u{200b}c\u{feff}",
        "\0\0\0",
        long.as_str(),
    ] {
        let rows = rows_with(evil);
        let peer = peer(move |request| Some(by_the_book(request, &|oid| after(&rows, oid))));
        let facts = tables(peer.address).await;
        assert_eq!(facts.len(), DeviceTable::ALL.len());
        assert!(
            !facts.iter().any(|f| matches!(f, DeviceFact::Failed { .. })),
            "{facts:?}"
        );
        let texts: Vec<String> = facts.iter().flat_map(texts).collect();
        assert!(texts.len() > 10);
        for text in texts {
            assert!(sanitize::is_label(&text), "{evil:?}: {text:?}");
        }
    }
}

#[tokio::test]
async fn values_of_the_wrong_type_leave_rows_out_of_every_table() {
    let peer = liar(|asked| {
        // The first row of every column, then the end.
        asked
            .iter()
            .enumerate()
            .map(|(n, v)| match v.oid.arcs().len() {
                0..=14 => VarBind::new(v.oid.child(7), wrong(n)),
                _ => VarBind::new(v.oid.clone(), Value::EndOfMibView),
            })
            .collect()
    });
    for table in DeviceTable::ALL {
        let client = &clients(&inventory(&[("s0", peer.address, "good")])).unwrap()[0].1;
        match client.read(table).await {
            DeviceFact::Fdb(rows) => assert_eq!(rows, []),
            DeviceFact::Arp(rows) => assert_eq!(rows, []),
            DeviceFact::Routes(routes) => assert_eq!(routes, NextRouters::default()),
            DeviceFact::Bridge(bridge) => assert_eq!(
                (bridge.address, bridge.root_bridge, bridge.ports),
                (None, None, vec![])
            ),
            DeviceFact::Lldp(lldp) => assert!(
                lldp.chassis
                    .is_none_or(|id| !matches!(id, NeighbourId::Mac(_)))
            ),
            DeviceFact::Interfaces(_) | DeviceFact::System(_) => {}
            DeviceFact::Failed { problem, .. } => {
                assert!(problem.contains("answers nonsense"), "{problem}")
            }
            other => panic!("{other:?}"),
        }
    }
}

fn wrong(n: usize) -> Value {
    [
        Value::Null,
        Value::Integer(-1),
        octets([0xff; 3]),
        Value::Counter64(u64::MAX),
        Value::IpAddress([0; 4]),
    ][n % 5]
        .clone()
}
