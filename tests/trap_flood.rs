//! Traps at a real controller about a real snmpd: their cost, and the senders that the controller
//! believes.
//!
//! Needs: apt-get install snmp snmpd
#[path = "../agent/tests/snmpd_process/mod.rs"]
mod snmpd_process;

use crate::common::daemon::ControllerProcess;
use crate::common::machine_share::MachinePart;
use crate::common::traps::trap;
use crate::common::until::{LIMIT, until_so};
use snmpd_process::SnmpdProcess;
use std::cell::Cell;
use std::net::{SocketAddr, UdpSocket};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// The inventory of these tests is quiet between traps: the controller does not poll and searches
/// for no host.
const QUIET: &str = "hosts: []\ntiming: {poll: 600s, full: 3600s, timeout: 10s}\n";
const SECURE: &str = "{version: 3, user: monsha, auth: {protocol: sha, key: authpass12}, priv: {protocol: aes, key: privpass12}}";
/// Its credentials, as arguments of net-snmp's sender.
const SIGNED: [&str; 15] = [
    "-v3",
    "-e",
    "0x8000000001020304",
    "-u",
    "monsha",
    "-l",
    "authPriv",
    "-a",
    "SHA",
    "-A",
    "authpass12",
    "-x",
    "AES",
    "-X",
    "privpass12",
];

/// A controller that asks this snmpd and receives traps at the given address.
fn controller(
    folder: &Path,
    snmpd: &SnmpdProcess,
    credential: &str,
) -> (ControllerProcess, SocketAddr) {
    let listen = UdpSocket::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let text = format!(
        "switches: {{s0: {{address: \"{}\"}}}}\nsnmp: {{default: {credential}}}\ntraps: \
         {{listen: \"{listen}\"}}\n{QUIET}",
        snmpd.address
    );
    let file = folder.join("inventory.yaml");
    std::fs::write(&file, text).unwrap();
    let journal = folder.join("journal");
    let daemon = ControllerProcess::start(
        &file,
        &folder.join("shared"),
        &["--journal", journal.to_str().unwrap()],
    );
    until_so("the controller hears traps", || {
        let wanted = format!(
            " {:08X}:{:04X} ",
            u32::from_le_bytes([127, 0, 0, 1]),
            listen.port()
        );
        std::fs::read_to_string("/proc/net/udp")
            .unwrap()
            .contains(&wanted)
    });
    (daemon, listen)
}

/// Counts the requests of others at an snmpd.
struct RequestCounter<'a> {
    snmpd: &'a SnmpdProcess,
    own: Cell<u64>,
}

impl RequestCounter<'_> {
    fn new(snmpd: &SnmpdProcess) -> RequestCounter<'_> {
        RequestCounter {
            snmpd,
            own: Cell::new(0),
        }
    }

    /// The number of messages that others have sent: snmpInPkts.0 (RFC 3418) without the requests
    /// for this number.
    fn messages(&self) -> u64 {
        let address = self.snmpd.address.to_string();
        let state = tempfile::tempdir().unwrap();
        let output = Command::new("snmpget")
            .args([
                "-v2c",
                "-c",
                "c0mmunity",
                "-r",
                "0",
                "-t",
                "30",
                "-Oqv",
                &address,
                "1.3.6.1.2.1.11.1.0",
            ])
            .env("MIBS", "")
            .env("SNMP_PERSISTENT_DIR", state.path())
            .output()
            .expect("no snmpget on this machine; this test counts with it: apt install snmp");
        self.own.set(self.own.get() + 1);
        let all: u64 = String::from_utf8_lossy(&output.stdout)
            .trim()
            .parse()
            .unwrap_or_else(|e| panic!("{e}: {output:?}"));
        all - self.own.get()
    }

    /// The same after a pause without requests. The pause is longer than the interval between looks
    /// that traps cause.
    fn at_rest(&self) -> u64 {
        let deadline = Instant::now() + LIMIT;
        loop {
            let before = self.messages();
            std::thread::sleep(Duration::from_millis(1500));
            if self.messages() == before {
                return before;
            }
            assert!(Instant::now() < deadline, "snmpd gets no rest");
        }
    }
}

/// Sends it this many times, 50 a second. Returns the time it took.
fn flood(datagram: &[u8], to: SocketAddr, times: u32) -> Duration {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let began = Instant::now();
    for _ in 0..times {
        socket.send_to(datagram, to).unwrap();
        std::thread::sleep(Duration::from_millis(20));
    }
    began.elapsed()
}

#[test]
fn a_flood_of_traps_costs_a_look_a_second() {
    let _share = MachinePart::Whole.take();
    let folder = tempfile::tempdir().unwrap();
    let snmpd = SnmpdProcess::start();
    let (_daemon, listen) =
        controller(folder.path(), &snmpd, "{version: 2c, community: c0mmunity}");
    let link_down = trap(&["-v2c", "-c", "any"]);
    let counter = RequestCounter::new(&snmpd);
    let before = counter.at_rest();
    flood(&link_down, listen, 1);
    until_so("a trap is looked after", || counter.messages() > before);
    let one = counter.at_rest();
    let look = one - before;
    let lasted = flood(&link_down, listen, 150);
    let cost = counter.at_rest() - one;
    // One look at once, one a second, and one at the end. Sometimes the controller also searches
    // for missing devices.
    let most = 4 * look * (lasted.as_secs() + 2);
    assert!(
        (2 * look..=most).contains(&cost),
        "150 traps in {lasted:?} cost {cost} messages, of which one trap costs {look}"
    );
}

#[test]
fn traps_without_a_signature_are_refused_where_the_switch_is_asked_with_one() {
    let _share = MachinePart::Whole.take();
    let folder = tempfile::tempdir().unwrap();
    let snmpd = SnmpdProcess::start();
    let (daemon, listen) = controller(folder.path(), &snmpd, SECURE);
    flood(&trap(&["-v2c", "-c", "any"]), listen, 12);
    daemon.wait_for("traps: 10 traps in the name of switch \\\"s0\\\" (127.0.0.1)");
    flood(&trap(&SIGNED), listen, 1);
    let journal = || std::fs::read_to_string(folder.path().join("journal")).unwrap_or_default();
    until_so("a signed trap is taken", || {
        journal().contains("\"trap\":{")
    });
    assert_eq!(
        journal().matches("\"trap\":{").count(),
        1,
        "one of those without a signature was taken"
    );
    let log = daemon.stop();
    assert_eq!(
        log.matches("in the name of switch").count(),
        2,
        "reported at the first and the tenth: {log}"
    );
}
