//! Notifications from net-snmp's own sender.
use heddle_agent::{Trap, TrapKind, traps};
use std::process::Command;
use std::time::Duration;

fn send(to: std::net::SocketAddr, oid: &str) {
    let sent = Command::new("snmptrap").args(["-v2c", "-c", "any", &to.to_string(), "", oid]).env("MIBS", "").output();
    let sent = sent.expect("no snmptrap on this machine; this test sends real ones: apt install snmp");
    assert!(sent.status.success(), "{}", String::from_utf8_lossy(&sent.stderr));
}

#[tokio::test]
async fn every_kind_is_heard_and_garbage_is_not() {
    let mut heard = traps("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let to = heard.address;
    std::net::UdpSocket::bind("127.0.0.1:0").unwrap().send_to(b"\x30\x05nonsense", to).unwrap();
    for (oid, kind) in [
        ("1.3.6.1.6.3.1.1.5.3", TrapKind::LinkDown),
        ("1.3.6.1.6.3.1.1.5.4", TrapKind::LinkUp),
        ("1.0.8802.1.1.2.0.0.1", TrapKind::LldpChange),
        ("1.3.6.1.2.1.17.0.1", TrapKind::TopologyChange),
        ("1.3.6.1.2.1.17.0.2", TrapKind::TopologyChange),
        ("1.3.6.1.6.3.1.1.5.1", TrapKind::Other),
    ] {
        send(to, oid);
        let trap = tokio::time::timeout(Duration::from_secs(5), heard.next()).await.expect("no trap heard");
        assert_eq!(trap, Some(Trap { from: "127.0.0.1".parse().unwrap(), kind }), "{oid}");
    }
}

#[tokio::test]
async fn a_port_in_use_is_said() {
    let first = traps("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let error = traps(first.address).await.err().expect("two receivers on one port").to_string();
    assert!(error.starts_with(&format!("traps: {}: ", first.address)) && error.contains("polls go on"), "{error}");
}
