//! The controller over a shared directory whose file system is really frozen: it says so once, goes on with everything else, and publishes
//! what is newest once the file system thaws. Needs root.
mod common;

use common::daemon::{Daemon, wait};
use common::golden::folder;
use controller::publish::current_epoch;
use fleet::network::{Network, Options, generate};
use fleet::responder::Responder;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::Duration;

/// Longer than the test may take.
const LONGEST_FROST_SECONDS: u32 = 240;

fn run(program: &str, arguments: &[&str]) {
    let output = Command::new(program).args(arguments).output().unwrap_or_else(|e| panic!("{program}: {e}"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments:?}: {said}; a file system of its own needs root: run `sudo -E make test`");
}

/// An ext4 in a file, mounted until this is dropped.
struct FreezableDisk(PathBuf);

impl FreezableDisk {
    fn new(dir: &Path) -> FreezableDisk {
        let (image, at) = (dir.join("image"), dir.join("shared"));
        fs::File::create(&image).unwrap().set_len(64 << 20).unwrap();
        fs::create_dir(&at).unwrap();
        run("mkfs.ext4", &["-q", image.to_str().unwrap()]);
        run("mount", &["-o", "loop", image.to_str().unwrap(), at.to_str().unwrap()]);
        FreezableDisk(at)
    }

    fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }

    fn freeze(&self) -> FrozenDisk {
        // Whatever becomes of this process, the file system thaws.
        let thaw = format!("sleep {LONGEST_FROST_SECONDS}; exec fsfreeze -u \"$0\"");
        let thaw = Command::new("sh").args(["-c", &thaw, self.path()]).process_group(0).spawn().unwrap();
        let frost = FrozenDisk { at: self.path().to_owned(), thaw };
        run("fsfreeze", &["-f", self.path()]);
        frost
    }
}

impl Drop for FreezableDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

/// A frozen file system, until this is dropped.
struct FrozenDisk {
    at: String,
    thaw: Child,
}

impl Drop for FrozenDisk {
    fn drop(&mut self) {
        let _ = Command::new("fsfreeze").args(["-u", &self.at]).status();
        let _ = Command::new("kill").args(["-KILL", "--", &format!("-{}", self.thaw.id())]).status();
        let _ = self.thaw.wait();
    }
}

/// A process that ends with the test.
struct KilledAtEnd(Child);

impl Drop for KilledAtEnd {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The inventory without the first hosts.
fn write_inventory(to: &Path, network: &Network, devices: &Responder, without: usize) {
    let hosts = network.inventory.hosts.iter().skip(without).map(|(name, host)| (name.as_str(), host.mac));
    fs::write(to, devices.inventory(hosts, "")).unwrap();
}

fn hosts_published(shared: &Path) -> String {
    current_epoch(shared).unwrap().map_or_else(String::new, |epoch| format!("{} hosts", epoch.topology.hosts.len()))
}

#[test]
fn a_frozen_directory_is_told_once_stops_nothing_else_and_gets_the_newest_epoch_when_it_thaws() {
    let dir = tempfile::tempdir().unwrap();
    let disk = FreezableDisk::new(dir.path());
    let shared = Path::new(disk.path());
    let network = generate(&Options::regular(3, 8), 5);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let devices = runtime.block_on(Responder::start(&network.views, Duration::ZERO)).unwrap();
    let inventory = dir.path().join("inventory.yaml");
    write_inventory(&inventory, &network, &devices, 0);
    let daemon = Daemon::start(&inventory, shared, &[]);
    wait("8 hosts", || hosts_published(shared));

    let frost = disk.freeze();
    write_inventory(&inventory, &network, &devices, 1);
    daemon.signal("-HUP");
    daemon.wait_for("is being written, the network is watched as before");
    // It reads a further inventory and serves what it sees while the first epoch cannot be written.
    write_inventory(&inventory, &network, &devices, 2);
    daemon.signal("-HUP");
    daemon.wait_for_log("3 switches, 6 hosts");
    daemon.wait_for("3 switches, 6 hosts");
    assert_eq!(hosts_published(shared), "8 hosts", "what was published stays");

    drop(frost);
    wait("6 hosts", || hosts_published(shared));
    daemon.wait_for_log("over: ");
    let log = daemon.stop();
    let told =
        log.lines().filter(|line| line.contains("WARN") && line.contains("no answer of the file system") && line.contains(disk.path()));
    assert_eq!(told.count(), 1, "{log}");
}

#[test]
fn a_controller_that_starts_on_a_frozen_directory_says_so_and_starts_when_it_thaws() {
    let dir = tempfile::tempdir().unwrap();
    let disk = FreezableDisk::new(dir.path());
    let inventory = dir.path().join("inventory.yaml");
    fs::write(&inventory, fs::read_to_string(folder("controller").join("good.yaml")).unwrap()).unwrap();
    let log = dir.path().join("log");
    let mut command = Command::new(env!("CARGO_BIN_EXE_heddle"));
    command.args(["controller", "--listen", "127.0.0.1:0", "--dir", disk.path(), "--inventory"]).arg(&inventory);
    command.stderr(fs::File::create(&log).unwrap());
    let mut controller;
    let frost = disk.freeze();
    controller = KilledAtEnd(command.spawn().unwrap());
    wait("the controller starts once it answers", || fs::read_to_string(&log).unwrap());
    drop(frost);
    wait("API on", || fs::read_to_string(&log).unwrap());
    run("kill", &["-TERM", &controller.0.id().to_string()]);
    assert!(controller.0.wait().unwrap().success());
}
