//! A lab with a network for management beside one for data, under a controller on its head node.
use crate::common::HEDDLE;
use crate::common::killed::KilledAtEnd;
use crate::common::lab::{RunningLab, row};
use crate::common::until::{LIMIT, until, until_or_why};
use directory::reading::current_epoch;
use inventory::TopologyFile;
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
    assert_eq!(name_shown("10.78.1.2", &up), "d1", "through its own port");
    assert_eq!(
        name_shown("10.78.1.5", &up),
        "m1",
        "through the network itself"
    );
    // d1 is there, too, and refuses what no program waits for.
    let closed = SocketAddr::from((Ipv4Addr::new(10, 77, 254, 2), 9));
    let refused = up.lab.within_network("n5", || {
        Ok(TcpStream::connect_timeout(&closed, Duration::from_secs(5)).map(drop))
    });
    let kind = refused.unwrap().unwrap_err().kind();
    assert_eq!(kind, ErrorKind::ConnectionRefused);
    assert_eq!(
        name_shown("10.77.254.2", &up),
        "",
        "its address in the data network"
    );
    up.down();
}

fn name_shown(address: &str, up: &RunningLab) -> String {
    let get = ["env", "MIBS=", "snmpget", "-v2c", "-cpublic", "-t1", "-r1"];
    let rest = ["-Oqvn", address, ".1.3.6.1.2.1.1.5.0"];
    let output = up.lab.exec("n5", [&get[..], &rest].concat()).output();
    String::from_utf8_lossy(&output.unwrap().stdout)
        .trim()
        .trim_matches('"')
        .to_owned()
}

#[test]
fn while_the_main_network_is_torn_the_other_one_gets_new_schedules() {
    let up = RunningLab::new("torn", &fs::read_to_string(FILE).unwrap());
    let controller = KilledAtEnd(up.start_controller("controller.log", &["--log", "warn"]));
    let published = || current_epoch(&up.lab.shared_dir()).unwrap();
    until_or_why("both networks are published", LIMIT, || {
        let networks = published().map(|epoch| epoch.topology.networks.len());
        match networks {
            Some(1) => Ok(()),
            other => Err(format!("{other:?} {}", up.controllers_status())),
        }
    });
    up.lab.cut("d0", "d1").unwrap();
    up.lab.cut("d0", "d2").unwrap();
    until_or_why("the main network has no tree", LIMIT, || {
        let status = up.controllers_status();
        match status.contains("no complete tree") {
            true => Ok(()),
            false => Err(status),
        }
    });
    up.lab.move_host("n3", "m0").unwrap();
    let epoch = until("the moved card is published", || {
        published().filter(|epoch| epoch.topology.networks["m0"].hosts["n3"].switch == "m0")
    });
    let switches = epoch.topology.hosts.values().map(|host| &host.switch);
    assert_eq!(
        switches.collect::<Vec<_>>(),
        ["d0", "d0", "d1", "d1", "d2", "d2"],
        "as before"
    );
    let status = up.controllers_status();
    assert!(status.contains("no complete tree"), "{status}");
    drop(controller);

    // A controller that never saw the main network whole.
    fs::remove_dir_all(up.lab.shared_dir().join("epochs")).unwrap();
    fs::remove_file(up.lab.shared_dir().join("current")).unwrap();
    let controller = KilledAtEnd(up.start_controller("again.log", &["--log", "warn"]));
    let epoch = until("the other network is published", published);
    assert_eq!(
        (epoch.topology.name.as_deref(), epoch.topology.hosts.len()),
        (Some("m0"), 6)
    );
    drop(controller);
    up.down();
}

/// To heddle a second address of a card is what a tagged VLAN over it is.
#[test]
fn addresses_on_the_same_cards_are_a_network_of_their_own_where_they_are_named() {
    let up = RunningLab::new("alias", &row(&[2, 1], "20M"));
    let reports = up.path("reports");
    fs::create_dir(&reports).unwrap();
    for (number, host) in up.file.hosts.keys().enumerate().skip(1) {
        let address = format!("10.99.0.{number}/16");
        up.exec(host, &["ip", "address", "add", &address, "dev", "eth0"]);
    }
    for host in up.file.hosts.keys() {
        let words = ["agent", "--once", "--listen", "1s", "--format", "json"];
        let agent = [&[HEDDLE][..], &words, &["--name", host]].concat();
        let report = up.exec(host, &agent);
        fs::write(reports.join(format!("{host}.json")), report).unwrap();
    }
    let inventory = up.inventory(
        "",
        "networks: {data: {prefix: 10.77.0.0/16}, storage: {prefix: 10.99.0.0/16}}\n",
    );
    let reported = ["--reports", reports.to_str().unwrap()];
    until_or_why("both networks", LIMIT, || {
        let found: Value =
            serde_json::from_str(&up.discover(&inventory, "json", &reported)).unwrap();
        let switches = vec!["s0", "s1"];
        match networks(&found) == [("data", switches.clone(), 3), ("storage", switches, 2)] {
            true => Ok(()),
            false => Err(found.to_string()),
        }
    });
    let more = [&reported[..], &["--network", "storage"]].concat();
    let found = up.discover(&inventory, "topology", &more);
    let storage = TopologyFile::parse("storage", &found).unwrap();
    assert_eq!(
        ["n1", "n2"].map(|host| storage.hosts[host].address.unwrap().to_string()),
        ["10.99.0.1", "10.99.0.2"]
    );
    assert_eq!(storage.tree().unwrap().hosts(), 2);
    up.down();
}
