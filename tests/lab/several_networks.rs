//! A lab with a network for management beside one for data, under a controller on its head node.
use crate::common::HEDDLE;
use crate::common::killed::KilledAtEnd;
use crate::common::lab::RunningLab;
use crate::common::until::{LIMIT, until_or_why};
use lab::plan::CONTROL;
use serde_json::Value;
use std::fs;
use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

const FILE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/lab/topologies/two-networks.yaml"
);

/// The networks that one look finds: name, switches, number of hosts.
fn networks(found: &Value) -> Vec<(&str, Vec<&str>, usize)> {
    let all = found["networks"].as_array().unwrap().iter();
    all.map(|network| {
        let switches = network["switches"].as_array().unwrap().iter();
        (
            network["name"].as_str().unwrap(),
            switches.map(|name| name.as_str().unwrap()).collect(),
            network["hosts"].as_array().unwrap().len(),
        )
    })
    .collect()
}

/// The switch and the host's port of each link of a host.
fn cards<'f>(found: &'f Value, host: &str) -> Vec<(&'f str, &'f str)> {
    let links = found["links"].as_array().unwrap();
    let own = links.iter().filter(|link| link["b"] == host);
    own.map(|link| {
        (
            link["a"].as_str().unwrap(),
            link["b_port"].as_str().unwrap(),
        )
    })
    .collect()
}

impl RunningLab {
    fn one_look(&self) -> Value {
        let found = self.discover(&self.inventory("", ""), "json", &[]);
        serde_json::from_str(&found).unwrap()
    }

    /// The lines of `heddle status`, whatever its exit status.
    fn controllers_status(&self) -> String {
        let output = self.lab.exec(CONTROL, [HEDDLE, "status"]).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

/// Waits until one look finds both networks with all hosts. Neighbours announce themselves each second.
fn await_networks(up: &RunningLab) {
    let expected = [
        ("d0", vec!["d0", "d1", "d2"], 6),
        ("m0", vec!["m0", "m1"], 6),
    ];
    until_or_why("both networks with all hosts", LIMIT, || {
        let found = up.one_look();
        match networks(&found) == expected {
            true => Ok(()),
            false => Err(format!("{:?} {}", networks(&found), found["alarms"])),
        }
    });
}

#[test]
fn both_networks_are_found_and_jobs_get_schedules_of_the_faster_one() {
    let up = RunningLab::new("nets", &fs::read_to_string(FILE).unwrap());
    let controller = KilledAtEnd(up.start_controller("controller.log", &["--log", "warn"]));
    until_or_why("both networks in the status", LIMIT, || {
        let status = up.controllers_status();
        let complete = ["HEDDLE OK", "network d0: 6 hosts", "network m0: 6 hosts"];
        match complete.iter().all(|part| status.contains(part)) {
            true => Ok(()),
            false => Err(status),
        }
    });
    await_networks(&up);

    // A cable of each network is moved. The host's other card stays.
    up.lab.move_host("n3", "m0").unwrap();
    up.lab.move_host("n2", "d0").unwrap();
    until_or_why("the moved cards are seen", LIMIT, || {
        let found = up.one_look();
        let cards = [cards(&found, "n2"), cards(&found, "n3")].concat();
        let moved = [
            ("d0", "eth0"),
            ("m0", "mgmt0"),
            ("d1", "eth0"),
            ("m0", "mgmt0"),
        ];
        match cards == moved {
            true => Ok(()),
            false => Err(format!("{cards:?}")),
        }
    });
    await_networks(&up);
    drop(controller);
    up.down();
}

#[test]
fn switches_answer_on_the_management_network_only() {
    let up = RunningLab::new("mgmt", &fs::read_to_string(FILE).unwrap());
    let name = |address: &str| {
        let get = ["env", "MIBS=", "snmpget", "-v2c", "-cpublic", "-t1", "-r1"];
        let rest = ["-Oqvn", address, ".1.3.6.1.2.1.1.5.0"];
        let output = up.lab.exec("n5", [&get[..], &rest].concat()).output();
        String::from_utf8_lossy(&output.unwrap().stdout)
            .trim()
            .trim_matches('"')
            .to_owned()
    };
    assert_eq!(name("10.78.1.2"), "d1", "through its own port");
    assert_eq!(name("10.78.1.5"), "m1", "through the network itself");
    // d1 is there, too, and refuses what no program waits for.
    let closed = SocketAddr::from((Ipv4Addr::new(10, 77, 254, 2), 9));
    let refused = up.lab.within_network("n5", || {
        Ok(TcpStream::connect_timeout(&closed, Duration::from_secs(5)).map(drop))
    });
    let kind = refused.unwrap().unwrap_err().kind();
    assert_eq!(kind, ErrorKind::ConnectionRefused);
    assert_eq!(name("10.77.254.2"), "", "its address in the data network");
    up.down();
}
