//! SNMP notifications as a real sender makes them.
use std::net::UdpSocket;
use std::process::Command;
use std::time::Duration;

const LINK_DOWN: &str = "1.3.6.1.6.3.1.1.5.3";
/// The time limit of the sender, even on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);

/// The datagram of a linkDown trap, from net-snmp's sender.
pub(crate) fn trap(arguments: &[&str]) -> Vec<u8> {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(LIMIT)).unwrap();
    let to = socket.local_addr().unwrap().to_string();
    let state = tempfile::tempdir().unwrap();
    let sent = Command::new("snmptrap")
        .args(arguments)
        .args([&to, "", LINK_DOWN])
        .env("MIBS", "")
        .env("SNMP_PERSISTENT_DIR", state.path())
        .output();
    let sent =
        sent.expect("no snmptrap on this machine; this test sends real ones: apt install snmp");
    assert!(
        sent.status.success(),
        "{}",
        String::from_utf8_lossy(&sent.stderr)
    );
    let mut datagram = [0; 1500];
    let n = socket.recv(&mut datagram).unwrap();
    datagram[..n].to_vec()
}
