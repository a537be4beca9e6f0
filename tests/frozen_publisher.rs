//! The controller over a shared directory whose file system is frozen. The controller reports it
//! once, goes on with everything else, and publishes the newest epoch after the thaw. Needs root.
use crate::common::HEDDLE;
use crate::common::daemon::{ControllerProcess, wait};
use crate::common::golden::folder;
use crate::common::killed::KilledAtEnd;
use crate::common::machine_share::MachinePart;
use crate::common::stalled_storage::{StallableFolder, StalledStorage};
use directory::reading::current_epoch;
use fleet::network::{GeneratedNetwork, NetworkOptions, generate};
use fleet::responder::SnmpResponder;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// The inventory without the first hosts.
fn write_inventory(to: &Path, network: &GeneratedNetwork, devices: &SnmpResponder, without: usize) {
    let hosts = network
        .inventory
        .hosts
        .iter()
        .skip(without)
        .map(|(name, host)| (name.as_str(), host.mac));
    fs::write(to, devices.inventory(hosts, "")).unwrap();
}

fn hosts_published(shared: &Path) -> String {
    current_epoch(shared)
        .unwrap()
        .map_or_else(String::new, |epoch| {
            format!("{} hosts", epoch.topology.hosts.len())
        })
}

#[test]
fn a_frozen_directory_is_reported_once_stops_nothing_else_and_gets_the_newest_epoch_when_it_thaws()
{
    let _share = MachinePart::Quarter.take();
    let dir = tempfile::tempdir().unwrap();
    // It is dropped after the disk, because it cannot end while the disk is frozen.
    let daemon;
    let disk = StallableFolder::new(StalledStorage::Disk);
    let shared = disk.path();
    let network = generate(&NetworkOptions::regular(3, 8), 5);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let devices = runtime
        .block_on(SnmpResponder::start(&network.views, Duration::ZERO))
        .unwrap();
    let inventory = dir.path().join("inventory.yaml");
    write_inventory(&inventory, &network, &devices, 0);
    daemon = ControllerProcess::start(&inventory, shared, &[]);
    wait("8 hosts", || hosts_published(shared));

    disk.stall();
    write_inventory(&inventory, &network, &devices, 1);
    daemon.signal("-HUP");
    daemon.wait_for("is being written, the network is watched as before");
    // It reads a further inventory and serves what it sees while the first epoch cannot be written.
    write_inventory(&inventory, &network, &devices, 2);
    daemon.signal("-HUP");
    daemon.wait_for_log("3 switches, 6 hosts");
    daemon.wait_for("3 switches, 6 hosts");
    assert_eq!(
        hosts_published(shared),
        "8 hosts",
        "what was published stays"
    );

    disk.go_on();
    wait("6 hosts", || hosts_published(shared));
    daemon.wait_for_log("over: ");
    let log = daemon.stop();
    let place = shared.to_str().unwrap();
    let lines = log.lines().filter(|line| {
        line.contains("WARN")
            && line.contains("the file system has not answered")
            && line.contains(place)
    });
    assert_eq!(lines.count(), 1, "{log}");
}

#[test]
fn a_controller_that_starts_on_a_frozen_directory_says_so_and_starts_when_it_thaws() {
    let _share = MachinePart::Quarter.take();
    let dir = tempfile::tempdir().unwrap();
    // It is dropped after the disk: while that is frozen, it could not end.
    let mut controller;
    let disk = StallableFolder::new(StalledStorage::Disk);
    let inventory = dir.path().join("inventory.yaml");
    fs::write(
        &inventory,
        fs::read_to_string(folder("controller").join("good.yaml")).unwrap(),
    )
    .unwrap();
    let log = dir.path().join("log");
    let mut command = Command::new(HEDDLE);
    command
        .args(["controller", "--listen", "127.0.0.1:0", "--dir"])
        .arg(disk.path())
        .arg("--inventory")
        .arg(&inventory);
    command.stderr(fs::File::create(&log).unwrap());
    disk.stall();
    controller = KilledAtEnd(command.spawn().unwrap());
    wait("the controller starts once it answers", || {
        fs::read_to_string(&log).unwrap()
    });
    disk.go_on();
    wait("API on", || fs::read_to_string(&log).unwrap());
    assert!(
        Command::new("kill")
            .args(["-TERM", &controller.id().to_string()])
            .status()
            .unwrap()
            .success()
    );
    assert!(controller.wait().unwrap().success());
}
