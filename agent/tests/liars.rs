//! Peers that are no good agents: each a real UDP socket. None may stop, delay or mislead the look at the others.
mod real;

use heddle_agent::{clients, look};
use inventory::observation::{Fact, Table};
use real::{Snmpd, failure, inventory, is_whole};
use snmp::message::CommunityMessage;
use snmp::pdu::ResponsePdu;
use snmp::{DecodeConfig, Oid, Value, VarBind, Version};
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A peer that answers every datagram by a function, until dropped.
struct Peer {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Peer {
    fn new(answer: impl Fn(&[u8]) -> Option<Vec<u8>> + Send + 'static) -> Peer {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
        let (address, stop) = (socket.local_addr().unwrap(), Arc::new(AtomicBool::new(false)));
        let stopped = stop.clone();
        let thread = std::thread::spawn(move || {
            let mut buffer = [0; 65536];
            while !stopped.load(Relaxed) {
                let Ok((n, from)) = socket.recv_from(&mut buffer) else { continue };
                if let Some(bytes) = answer(&buffer[..n]) {
                    socket.send_to(&bytes, from).unwrap();
                }
            }
        });
        Peer { address, stop, thread: Some(thread) }
    }

    /// One that speaks SNMP well and lies in its values.
    fn liar(values: impl Fn(&[VarBind]) -> Vec<VarBind> + Send + 'static) -> Peer {
        Peer::new(move |request| Some(reply(request, &values)))
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.stop.store(true, Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

fn reply(request: &[u8], values: &dyn Fn(&[VarBind]) -> Vec<VarBind>) -> Vec<u8> {
    let message = CommunityMessage::decode(request.to_vec().into(), DecodeConfig::DEFAULT).unwrap().value;
    let (_, community, pdu) = message.into_parts();
    let (id, _, asked) = pdu.standard().unwrap().clone().into_raw_parts();
    let response = ResponsePdu::success(Version::V2c, id, values(&asked)).unwrap().into_raw();
    CommunityMessage::v2c(community, response).unwrap().encode().unwrap().to_vec()
}

/// Answers like an agent with just a system group, so that the look goes on to the tables.
fn polite(asked: &[VarBind]) -> Option<Vec<VarBind>> {
    let system = Oid::from_slice(&[1, 3, 6, 1, 2, 1, 1]);
    asked
        .iter()
        .all(|v| v.oid.starts_with(&system))
        .then(|| asked.iter().map(|v| VarBind::new(v.oid.child(0), Value::TimeTicks(1))).collect())
}

#[tokio::test]
async fn peers_that_do_not_talk_sense_are_mute_and_delay_nobody() {
    let snmpd = Snmpd::start();
    let never = Peer::new(|_| None);
    let garbage = Peer::new(|_| Some(vec![0x30, 0x82, 0xff, 0xff, 0x02, 0x01, 0x01, 0x04, 0xff]));
    let echo = Peer::new(|request| Some(request.to_vec()));
    let truncated = Peer::new(|request| {
        let whole = reply(request, &|asked| asked.to_vec());
        Some(whole[..whole.len() / 2].to_vec())
    });
    let closed = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let switches = [
        ("never", never.address, "good"),
        ("garbage", garbage.address, "good"),
        ("echo", echo.address, "good"),
        ("truncated", truncated.address, "good"),
        ("closed", closed, "good"),
        ("deaf", never.address, "sha"),
        ("babble", garbage.address, "sha256"),
        ("real", snmpd.address, "good"),
    ];
    let inventory = inventory(&switches);
    let began = Instant::now();
    let observations = look(&inventory).await.unwrap();
    let took = began.elapsed();
    assert!(is_whole(&observations, "real"));
    for (name, ..) in switches.iter().filter(|(n, ..)| *n != "real") {
        let (table, problem) = failure(&observations, name);
        assert!(table.is_none() || *name == "truncated", "{name}: {problem}");
        assert!(problem.contains("127.0.0.1:"), "{name}: {problem}");
    }
    // Two tries of 400 ms, whatever comes in meanwhile; the margin is for a busy machine.
    assert!(took < Duration::from_secs(4), "{took:?}");
}

#[tokio::test]
async fn repeated_object_identifiers_end_the_table_not_the_look() {
    let peer =
        Peer::liar(|asked| polite(asked).unwrap_or_else(|| asked.iter().map(|v| VarBind::new(v.oid.clone(), Value::Integer(1))).collect()));
    let observations = look(&inventory(&[("s0", peer.address, "good")])).await.unwrap();
    let nonsense = observations
        .iter()
        .filter(|o| matches!(&o.fact, Fact::Failed { table: Some(_), problem } if problem.contains("object identifiers do not grow")));
    assert_eq!((observations.len(), nonsense.count()), (Table::ALL.len(), Table::ALL.len() - 1), "{observations:#?}");
}

#[tokio::test]
async fn a_table_without_end_is_given_up() {
    // Every answer is one more row, for ever.
    let peer = Peer::liar(|asked| {
        let next = |v: &VarBind| {
            let mut arcs = v.oid.arcs().to_vec();
            match arcs.len() {
                0..=11 => arcs.push(1),
                _ => *arcs.last_mut().unwrap() += 1,
            }
            VarBind::new(Oid::from_slice(&arcs), Value::Integer(1))
        };
        asked.iter().map(next).collect()
    });
    let mut inventory = inventory(&[("s0", peer.address, "good")]);
    inventory.timing.timeout = Duration::from_millis(300);
    inventory.timing.retries = 0;
    let client = &clients(&inventory).unwrap()[0].1;
    let Fact::Failed { table, problem } = client.read(Table::Bridge).await else { panic!("a table without end was read") };
    assert!(table == Some(Table::Bridge) && problem.contains("answers too slowly") || problem.contains("without end"), "{problem}");
}

#[tokio::test]
async fn values_of_the_wrong_type_leave_fields_empty() {
    let peer =
        Peer::liar(|asked| asked.iter().map(|v| VarBind::new(v.oid.child(0), Value::OctetString(vec![0xff, 0x1b, 0x00].into()))).collect());
    let client = &clients(&inventory(&[("s0", peer.address, "good")])).unwrap()[0].1;
    let Fact::System(system) = client.read(Table::System).await else { panic!("no system group") };
    assert!(system.uptime == 0 && !system.name.contains('\u{1b}'), "{system:?}");
}
