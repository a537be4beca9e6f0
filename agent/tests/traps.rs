//! Tests with notifications from net-snmp's own sender.
mod snmpd_process;

use agent::snmp_access::users;
use agent::{Trap, TrapKind, TrapProof, TrapReceiver, traps};
use std::process::{Command, Output};
use std::time::Duration;

/// The limit of every wait, even on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);

/// Runs net-snmp's sender in a state folder of its own. Senders that run at the same time and share
/// one can read it half written: such a sender has no engine and learns no other's.
fn run_sender(program: &str, arguments: &[&str]) -> Output {
    let state = tempfile::tempdir().unwrap();
    Command::new(program)
        .args(arguments)
        .env("MIBS", "")
        .env("SNMP_PERSISTENT_DIR", state.path())
        .output()
        .unwrap_or_else(|e| {
            panic!("no {program} on this machine; this test sends real ones: apt install snmp: {e}")
        })
}

fn send(to: std::net::SocketAddr, oid: &str) {
    let sent = run_sender("snmptrap", &["-v2c", "-c", "any", &to.to_string(), "", oid]);
    assert!(
        sent.status.success(),
        "{}",
        String::from_utf8_lossy(&sent.stderr)
    );
}

#[tokio::test]
async fn every_kind_is_received_and_garbage_is_not() {
    let mut traps = traps("127.0.0.1:0".parse().unwrap(), &[]).await.unwrap();
    let to = traps.address;
    std::net::UdpSocket::bind("127.0.0.1:0")
        .unwrap()
        .send_to(b"\x30\x05nonsense", to)
        .unwrap();
    for (oid, kind) in [
        ("1.3.6.1.6.3.1.1.5.3", TrapKind::LinkDown),
        ("1.3.6.1.6.3.1.1.5.4", TrapKind::LinkUp),
        ("1.0.8802.1.1.2.0.0.1", TrapKind::LldpChange),
        ("1.3.6.1.2.1.17.0.1", TrapKind::TopologyChange),
        ("1.3.6.1.2.1.17.0.2", TrapKind::TopologyChange),
        ("1.3.6.1.6.3.1.1.5.1", TrapKind::Other),
    ] {
        send(to, oid);
        let trap = tokio::time::timeout(LIMIT, traps.next())
            .await
            .expect("no trap received");
        assert_eq!(
            trap,
            Some(Trap {
                from: "127.0.0.1".parse().unwrap(),
                kind,
                proof: TrapProof::Nothing
            }),
            "{oid}"
        );
    }
}

#[tokio::test]
async fn a_port_in_use_is_reported() {
    let first = traps("127.0.0.1:0".parse().unwrap(), &[]).await.unwrap();
    let error = traps(first.address, &[])
        .await
        .err()
        .expect("two receivers on one port")
        .to_string();
    assert!(
        error.starts_with(&format!("traps: {}: ", first.address)) && error.contains("polls go on"),
        "{error}"
    );
}

const LINK_DOWN: &str = "1.3.6.1.6.3.1.1.5.3";

/// Runs net-snmp's sender. Returns true if it succeeded; for an inform this means that it was
/// acknowledged.
fn say(program: &str, options: &str, to: &str) -> bool {
    let options: Vec<&str> = options.split(' ').collect();
    run_sender(program, &[&options[..], &[to, "", LINK_DOWN]].concat())
        .status
        .success()
}

async fn next_trap(traps: &mut TrapReceiver) -> Option<(TrapKind, TrapProof)> {
    tokio::time::timeout(LIMIT, traps.next())
        .await
        .ok()
        .flatten()
        .map(|trap| (trap.kind, trap.proof))
}

/// A user of [`snmpd_process::inventory`] as options of net-snmp's senders, all but the last pass
/// phrase.
const MONSHA: &str = "-v3 -u monsha -l authPriv -a SHA -A authpass12 -x AES -X";

/// Options for an inform that is sent once and has time. By default the sender repeats an inform
/// after a second, which would count as another trap.
const ONCE: &str = "-r 0 -t 30";

/// A user that the inventory does not name, as options of net-snmp's senders.
const STRANGER: &str = "-v3 -u stranger -l authNoPriv -a SHA -A authpass12 -r 0 -t 0.3";

/// A receiver of traps for the users of [`snmpd_process::inventory`], and its address.
async fn receiver() -> (TrapReceiver, String) {
    let switch = ("s0", "127.0.0.1:161".parse().unwrap(), "good");
    let users = users(&snmpd_process::inventory(&[switch])).unwrap();
    assert_eq!(users.len(), 3, "by name: monsha, monsha256, n0body");
    let traps = traps("127.0.0.1:0".parse().unwrap(), &users).await.unwrap();
    let to = traps.address.to_string();
    (traps, to)
}

/// An inform waits for its acknowledgement, so the receiver must listen meanwhile.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_inventorys_users_are_received_signed_and_encrypted() {
    let (mut traps, to) = receiver().await;
    let good = format!("{MONSHA} privpass12");
    for engine in ["0x8000000001020304", "0x80000000aabbccddee"] {
        assert!(say("snmptrap", &format!("-e {engine} {good}"), &to));
        let signed = Some((TrapKind::LinkDown, TrapProof::Signature));
        assert_eq!(
            next_trap(&mut traps).await,
            signed,
            "each sender is an engine of its own: {engine}"
        );
    }
    assert!(
        say("snmpinform", &format!("{ONCE} {good}"), &to),
        "not acknowledged"
    );
    assert_eq!(
        next_trap(&mut traps).await,
        Some((TrapKind::LinkDown, TrapProof::Signature))
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unsigned_traps_are_received_and_forged_ones_are_not() {
    let (mut traps, to) = receiver().await;
    let unsigned = "-e 0x8000000001020304 -v3 -u monsha -l noAuthNoPriv";
    assert!(say("snmptrap", unsigned, &to));
    assert_eq!(
        next_trap(&mut traps).await,
        Some((TrapKind::LinkDown, TrapProof::Name))
    );
    assert!(
        say("snmpinform", &format!("{ONCE} -v2c -c any"), &to),
        "not acknowledged"
    );
    assert_eq!(
        next_trap(&mut traps).await,
        Some((TrapKind::LinkDown, TrapProof::Nothing))
    );
    // Notifications with a wrong key or from a stranger are neither accepted nor acknowledged.
    let wrong = format!("{MONSHA} wr0ngpass -r 0 -t 0.3");
    assert!(!say("snmpinform", &wrong, &to));
    assert!(!say("snmpinform", STRANGER, &to));
    assert!(
        tokio::time::timeout(Duration::from_millis(200), traps.next())
            .await
            .is_err()
    );
}

#[tokio::test]
async fn traps_come_over_ipv6_alone() {
    let mut traps = traps("[::1]:0".parse().unwrap(), &[]).await.unwrap();
    assert!(say(
        "snmptrap",
        "-v2c -c any",
        &format!("udp6:[::1]:{}", traps.address.port())
    ));
    let trap = tokio::time::timeout(LIMIT, traps.next())
        .await
        .expect("no trap received");
    assert_eq!(
        trap,
        Some(Trap {
            from: "::1".parse().unwrap(),
            kind: TrapKind::LinkDown,
            proof: TrapProof::Nothing
        })
    );
}
