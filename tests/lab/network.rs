//! The switches of a lab forward, answer and are recabled like real switches.
use super::TWO;
use super::commands::{LIMIT, LabCommands};
use crate::common::lab::RunningLab;
use crate::common::until::until_or_why;
use crate::common::{HEDDLE, text};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::time::Duration;

#[test]
fn agents_answer_with_the_real_network() {
    let lab = LabCommands::up("snmp", TWO);
    // dot1dStpDesignatedRoot: the first switch of the file is the root bridge, in the answers of
    // both switches.
    let root = lab.walk("10.78.1.1", ".1.3.6.1.2.1.17.2.5");
    assert_eq!(
        (root.len(), &root),
        (1, &lab.walk("10.78.1.2", ".1.3.6.1.2.1.17.2.5"))
    );
    assert!(root[0].starts_with("10 00 02 4C 01 00 00 00"), "{root:?}");
    // dot1dStpPortState: three forwarding ports; dot1dBaseBridgeAddress is the root's.
    assert_eq!(
        lab.walk("10.78.1.2", ".1.3.6.1.2.1.17.2.15.1.3"),
        ["5", "5", "5"]
    );
    // lldpRemSysName and lldpRemPortId, once each neighbour has announced itself.
    until_or_why("s0 has three neighbours", LIMIT, || {
        let mut names = lab.walk("10.78.1.1", ".1.0.8802.1.1.2.1.4.1.1.9");
        names.sort();
        if names == ["n0", "n1", "s1"] {
            Ok(())
        } else {
            Err(names.join(" "))
        }
    });
    // dot1dTpFdbStatus: every host announces itself, so the far switch has learned all four.
    let learned = || {
        lab.walk("10.78.1.1", ".1.3.6.1.2.1.17.4.3.1.3")
            .iter()
            .filter(|s| *s == "3")
            .count()
    };
    until_or_why("s0 has learned four stations", LIMIT, || {
        Some(learned()).filter(|n| *n >= 4).ok_or_else(learned)
    });
    // ifHighSpeed tells the shaped rate.
    assert_eq!(
        lab.walk("10.78.1.1", ".1.3.6.1.2.1.31.1.1.1.15")
            .iter()
            .filter(|s| *s == "20")
            .count(),
        3
    );
    lab.assert_snmpv3_answers();
    lab.down();
}

impl LabCommands {
    /// A switch answers SNMPv3 with authentication and privacy (authPriv).
    fn assert_snmpv3_answers(&self) {
        let v3 = [
            "-l",
            "authPriv",
            "-u",
            "mon256",
            "-a",
            "SHA-256",
            "-A",
            "authpass12",
            "-x",
            "AES",
            "-X",
            "privpass12",
        ];
        let get = [
            &["env", "MIBS=", "snmpget", "-v3"],
            &v3[..],
            &["-Oqvn", "10.78.1.2", ".1.3.6.1.2.1.1.5.0"],
        ]
        .concat();
        assert_eq!(self.exec("ctl", &get).trim().trim_matches('"'), "s1");
    }
}

/// The interfaces of a switch with four ports.
const PORTS: [&str; 6] = ["br0", "eth0", "swp1", "swp2", "swp3", "swp4"];

#[test]
fn recabling_is_seen_by_stp_and_by_its_counters() {
    let lab = LabCommands::up("move", TWO);
    let before = (
        topology_changes("10.78.1.1", &lab),
        topology_changes("10.78.1.2", &lab),
    );
    let answer = move_under_one_name(&lab);
    assert!(answer.contains("n1: from s0 swp3 to s1 swp4"), "{answer}");
    lab.await_cable("n1", "s1", "forwarding");
    assert_eq!(lab.cable("n1", "s0"), "none");
    until_or_why("both switches count the change", LIMIT, || {
        let now = (
            topology_changes("10.78.1.1", &lab),
            topology_changes("10.78.1.2", &lab),
        );
        if now.0 != before.0 && now.1 != before.1 {
            Ok(())
        } else {
            Err(format!("{now:?}"))
        }
    });
    // The host's interface and address are still there, and so is its path to the others: the MAC
    // address of n0 is behind s1's trunk.
    assert!(
        lab.exec("n1", &["ip", "-br", "addr", "show", "eth0"])
            .contains("10.77.0.2/16")
    );
    lab.ok(&["cut", "s0-s1"]);
    assert_eq!(lab.cable("s0", "s1"), "down");
    assert!(lab.refused(&["cut", "s0-s1"]).contains("no cable"));
    lab.ok(&["join", "s0-s1", "--rate", "30M"]);
    lab.await_cable("s0", "s1", "forwarding");
    assert!(
        lab.exec("s0", &["tc", "qdisc", "show", "dev", "swp1"])
            .contains("rate 30Mbit")
    );
    assert!(lab.refused(&["move", "n1", "s1"]).contains("there already"));
    assert!(
        lab.refused(&["move", "s0", "s1"])
            .contains("expected a host and a switch")
    );
    assert!(
        lab.refused(&["join", "n0-s1"])
            .contains("between two switches")
    );
    // From inside the head node the lab can be recabled, too, but not taken down.
    lab.exec("ctl", &[HEDDLE, "lab", "move", "n1", "s0"]);
    let inside = lab.output(&["exec", "ctl", "--", HEDDLE, "lab", "down"]);
    assert!(
        text(&inside.stderr).contains("cannot be taken down from inside"),
        "{}",
        text(&inside.stderr)
    );
    lab.down();
}

/// Moves n1 to s1, whose kernel never has the port under another name: snmpd would keep that for
/// five minutes.
fn move_under_one_name(lab: &LabCommands) -> String {
    let (answer, seen) = std::thread::scope(|scope| {
        let watch = ["sh", "-c", "timeout 3 ip monitor link; true"];
        let seen = scope.spawn(move || lab.exec("s1", &watch));
        std::thread::sleep(Duration::from_secs(1));
        (lab.ok(&["move", "n1", "s1"]), seen.join().unwrap())
    });
    let words = seen.split_whitespace();
    let names = words.filter_map(|word| word.strip_suffix(':')?.split('@').next());
    let unknown = names.filter(|name| name.parse::<u32>().is_err() && !PORTS.contains(name));
    assert_eq!(unknown.collect::<Vec<_>>(), [""; 0], "{seen}");
    assert!(seen.contains("swp4"), "{seen}");
    answer
}

fn topology_changes(address: &str, lab: &LabCommands) -> u32 {
    lab.walk(address, ".1.3.6.1.2.1.17.2.4")[0]
        .parse::<u32>()
        .unwrap()
}

#[test]
fn a_switch_port_holds_as_many_bytes_as_asked() {
    let lab = LabCommands::new("buffer");
    lab.ok(&["up", TWO, "--port-buffer", "40000"]);
    for port in ["swp1", "swp2", "swp3"] {
        let shown = queue("s1", port, &lab);
        assert!(
            shown.contains("qdisc tbf")
                && shown.contains("limit 40000b")
                && !shown.contains("bands"),
            "{port}: {shown}"
        );
    }
    // A host's card has the kernel's own queue under its rate, as long as the queue of any card.
    let host = queue("n0", "eth0", &lab);
    assert!(
        host.contains("qdisc tbf")
            && host.contains("qdisc pfifo_fast")
            && host.contains("parent 1:1 bands 3"),
        "{host}"
    );
    lab.down();
}

/// The raw form shows the limit itself instead of the time it takes to send.
fn queue(node: &str, port: &str, lab: &LabCommands) -> String {
    lab.exec(node, &["tc", "-s", "-raw", "qdisc", "show", "dev", port])
}

/// A stream between two hosts that a slower trunk divides: the host's fast port sends segments, as
/// over a card that divides them, and the trunk sends frames.
#[test]
fn fast_ports_send_segments_and_slow_ones_frames() {
    const OCTETS: usize = 4 << 20;
    let up = RunningLab::new(
        "segments",
        "switches: [s0, s1]\nlinks: [{a: s0, b: s1, rate: 200M}]\nhosts:\n  \
         n0: {switch: s0, rate: 1G}\n  n1: {switch: s1, rate: 1G}\n",
    );
    let door = up
        .lab
        .within_network("n1", || TcpListener::bind(("0.0.0.0", 0)))
        .unwrap();
    let at = (
        Ipv4Addr::new(10, 77, 0, 2),
        door.local_addr().unwrap().port(),
    );
    let inside = up.lab.clone();
    let sender = std::thread::spawn(move || {
        inside
            .within_network("n0", || TcpStream::connect(at)?.write_all(&[7; OCTETS]))
            .unwrap();
    });
    let mut received = Vec::new();
    door.accept().unwrap().0.read_to_end(&mut received).unwrap();
    sender.join().unwrap();
    assert!(received.len() == OCTETS && received.iter().all(|octet| *octet == 7));
    let [fast, slow] = [("n0", "eth0"), ("s0", "swp1")].map(|(node, port)| {
        let [octets, packets] = ["tx_bytes", "tx_packets"].map(|counter| {
            let file = format!("/sys/class/net/{port}/statistics/{counter}");
            let count = up.exec(node, &["cat", &file]);
            count.trim().parse::<usize>().unwrap()
        });
        octets / packets
    });
    assert!(fast > 2 * 1514 && slow <= 1514, "{fast} {slow}");
}
