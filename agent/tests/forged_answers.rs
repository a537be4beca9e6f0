//! Answers that another peer sends in a switch's place are not accepted: real UDP sockets on
//! loopback.
mod snmpd_process;

use agent::{SnmpClient, clients, read_all_switches};
use inventory::observation::{DeviceFact, DeviceTable};
use snmp::message::CommunityMessage;
use snmp::pdu::ResponsePdu;
use snmp::{DecodeConfig, Oid, Value, VarBind, Version};
use snmpd_process::{DatagramResponder, SnmpdProcess, failure, impatient, inventory, is_whole};
use std::net::{SocketAddr, UdpSocket};
use std::sync::{Arc, Mutex};
use std::time::Duration;

fn request_id(request: &[u8]) -> i32 {
    let (_, _, pdu) = message(request).into_parts();
    pdu.standard().unwrap().clone().into_raw_parts().0
}

fn message(request: &[u8]) -> CommunityMessage {
    CommunityMessage::decode(request.to_vec().into(), DecodeConfig::DEFAULT)
        .unwrap()
        .value
}

/// The answer of an agent of this name to a request for the system group, correct in every field.
fn named(name: &str, request: &[u8]) -> Vec<u8> {
    let (_, community, pdu) = message(request).into_parts();
    let (id, _, asked) = pdu.standard().unwrap().clone().into_raw_parts();
    let value = |oid: &Oid| match oid.arcs() {
        [.., 3] => Value::TimeTicks(7),
        [.., 7] => Value::Integer(2),
        _ => Value::OctetString(name.to_owned().into()),
    };
    let values = asked
        .iter()
        .map(|v| VarBind::new(v.oid.child(0), value(&v.oid)))
        .collect();
    let response = ResponsePdu::success(Version::V2c, id, values)
        .unwrap()
        .into_raw();
    CommunityMessage::v2c(community, response)
        .unwrap()
        .encode()
        .unwrap()
        .to_vec()
}

fn client(address: SocketAddr, credential: &str) -> SnmpClient {
    clients(&inventory(&[("s0", address, credential)]))
        .unwrap()
        .remove(0)
        .1
}

async fn name(client: &SnmpClient) -> String {
    match client.read(DeviceTable::System).await {
        DeviceFact::System(system) => system.name,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn an_answer_from_another_port_or_address_does_not_count_though_it_comes_first() {
    for forger in ["127.0.0.1:0", "127.0.0.2:0"] {
        let forger = UdpSocket::bind(forger).unwrap();
        let switch = DatagramResponder::new(move |socket, request, from| {
            for _ in 0..3 {
                forger.send_to(&named("forged", request), from).unwrap();
            }
            // The forged answers are in the asker's queue by now, before this one.
            socket.send_to(&named("true", request), from).unwrap();
        });
        let client = client(switch.address, "good");
        for _ in 0..5 {
            assert_eq!(name(&client).await, "true");
        }
    }
}

#[tokio::test]
async fn the_port_asked_at_another_address_is_another_place() {
    let switch = DatagramResponder::new(|socket, request, from| {
        let port = socket.local_addr().unwrap().port();
        let forger = UdpSocket::bind(("127.0.0.2", port)).unwrap();
        forger.send_to(&named("forged", request), from).unwrap();
        socket.send_to(&named("true", request), from).unwrap();
    });
    assert_eq!(name(&client(switch.address, "good")).await, "true");
}

#[tokio::test]
async fn a_switch_that_answers_from_another_address_is_not_taken_for_one_that_is_down() {
    let other = UdpSocket::bind("127.0.0.2:0").unwrap();
    let answers_from = other.local_addr().unwrap();
    let switch = DatagramResponder::new(move |_, request, from| {
        drop(other.send_to(&named("s0", request), from))
    });
    let observations = read_all_switches(&impatient(&[("s0", switch.address, "good")]))
        .await
        .unwrap();
    let (table, problem) = failure(&observations, "s0");
    assert_eq!(table, None);
    let asked = switch.address;
    for part in [
        &format!("no answer from {asked} after 2 tries"),
        &format!("{answers_from} answered instead"),
        "state the address",
    ] {
        assert!(problem.contains(part), "{part}: {problem}");
    }
}

#[tokio::test]
async fn who_sees_some_requests_cannot_tell_the_id_of_the_next() {
    let ids: Arc<Mutex<Vec<i32>>> = Arc::default();
    let seen = ids.clone();
    let switch = DatagramResponder::new(move |socket, request, from| {
        seen.lock().unwrap().push(request_id(request));
        socket.send_to(&named("s0", request), from).unwrap();
    });
    let client = client(switch.address, "good");
    for _ in 0..16 {
        name(&client).await;
    }
    assert_drawn(&ids.lock().unwrap());
}

/// The same for SNMPv3's msgID, which no key hides. A real snmpd answers, and this test listens in
/// between.
#[tokio::test]
async fn nor_can_who_reads_the_head_of_signed_requests() {
    let snmpd = SnmpdProcess::start();
    let agent = UdpSocket::bind("127.0.0.1:0").unwrap();
    agent.connect(snmpd.address).unwrap();
    agent
        .set_read_timeout(Some(Duration::from_secs(10)))
        .unwrap();
    let ids: Arc<Mutex<Vec<i32>>> = Arc::default();
    let seen = ids.clone();
    let relay = DatagramResponder::new(move |socket, request, from| {
        seen.lock().unwrap().push(message_id(request));
        agent.send(request).unwrap();
        let mut answer = [0; 65536];
        let n = agent.recv(&mut answer).unwrap();
        socket.send_to(&answer[..n], from).unwrap();
    });
    let observations = read_all_switches(&inventory(&[("s0", relay.address, "sha")]))
        .await
        .unwrap();
    assert!(is_whole(&observations, "s0"), "{observations:#?}");
    assert_drawn(&ids.lock().unwrap());
}

/// SEQUENCE, INTEGER version, SEQUENCE, INTEGER msgID (RFC 3412, 6).
fn message_id(message: &[u8]) -> i32 {
    let contents = |at: usize| {
        if message[at + 1] < 0x80 {
            at + 2
        } else {
            at + 2 + usize::from(message[at + 1] & 0x7f)
        }
    };
    let id = contents(contents(0) + 3);
    let length = usize::from(message[id + 1]);
    message[id + 2..id + 2 + length]
        .iter()
        .fold(0, |value, octet| value << 8 | i32::from(*octet))
}

/// Ids drawn from 2^31 numbers are not close to each other. Two of these would be close by chance
/// once in ten thousand runs.
fn assert_drawn(ids: &[i32]) {
    assert!(ids.len() >= 8, "{ids:?}");
    for (at, id) in ids.iter().enumerate() {
        assert!(
            *id > 0
                && ids[..at]
                    .iter()
                    .all(|other| (i64::from(*id) - i64::from(*other)).abs() > 100),
            "{ids:?}"
        );
    }
}
