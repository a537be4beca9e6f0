//! The lab with its controller, and what happens to it.
use super::common::lab::Up;
use super::runtime;
use super::views::Views;
use lab::plan::CONTROL;
use schedules::epoch::Pointer;
use schedules::job::JobRecord;
use schedules::random::Random;
use std::fmt;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::Duration;

const HOSTS: [&str; 4] = ["n0", "n1", "n2", "n3"];
const SWITCHES: [&str; 3] = ["s0", "s1", "s2"];
/// How long a cable is out and a switch is down, before spanning tree begins anew.
const OUT: Duration = Duration::from_millis(700);

/// One thing that happens to the network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// A host's cable goes to another switch.
    Move(&'static str, &'static str),
    /// A host's cable is pulled and put back.
    Pull(&'static str),
    /// A cable between two switches is pulled, and put back when the blocked one has taken over.
    Trunk(&'static str, &'static str),
    /// A switch forwards nothing for a moment.
    Switch(&'static str),
    /// A switch's agent dies, and comes again.
    Agent(&'static str),
}

impl Trouble {
    /// Half of them moves, the others in turn.
    pub(crate) fn number(round: u64, random: &mut Random) -> Trouble {
        let (host, switch) = (HOSTS[random.below(4)], random.below(3));
        let (one, other) = (SWITCHES[switch], SWITCHES[(switch + 1) % 3]);
        match round % 8 {
            1 => Trouble::Switch(one),
            3 => Trouble::Trunk(one, other),
            5 => Trouble::Pull(host),
            7 => Trouble::Agent(one),
            _ => Trouble::Move(host, one),
        }
    }
}

/// How often what happened.
#[derive(Debug, Default)]
pub(crate) struct Caused {
    moves: u32,
    pulled: u32,
    switches: u32,
    agents: u32,
    views: u32,
    controllers: u32,
}

impl fmt::Display for Caused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Caused { moves, pulled, switches, agents, views, controllers } = self;
        write!(f, "{moves} cables moved, {pulled} pulled, {switches} switches down, {agents} agents killed, ")?;
        write!(f, "{views} views broken, {controllers} controllers killed")
    }
}

/// A lab, its controller, and each host's view of the shared directory.
pub(crate) struct Cluster {
    pub(crate) up: Up,
    controller: Option<Child>,
    views: Views,
    /// A host whose view is broken.
    spoilt: Option<&'static str>,
    /// Switches whose cable is out.
    out: Option<(&'static str, &'static str)>,
    pub(crate) caused: Caused,
}

impl Cluster {
    /// Up, with its first epoch.
    pub(crate) fn up(topology: &str) -> Cluster {
        runtime::lib();
        let up = Up::new("recabling", topology);
        let views = Views::new(up.path("views"), &up.lab.shared_dir(), &HOSTS);
        // UCX gives connections up that rest for ten seconds and then have no answer for six, which a spanning tree may take: without
        // heddle, too, such a job ends. With more probes it lives.
        let script = "#!/bin/sh
            HEDDLE_DIR=$(dirname \"$0\")/views/$(hostname) UCX_TCP_KEEPCNT=60
            export HEDDLE_DIR UCX_TCP_KEEPCNT
            exec \"$@\"";
        fs::write(up.path("in-view"), script).unwrap();
        fs::set_permissions(up.path("in-view"), Permissions::from_mode(0o755)).unwrap();
        let mut cluster = Cluster { up, controller: None, views, spoilt: None, out: None, caused: Caused::default() };
        cluster.start_controller();
        super::wait("the first epoch", &[], || cluster.epoch() > 0);
        cluster
    }

    /// The program that runs another one with its host's view.
    pub(crate) fn in_view(&self) -> PathBuf {
        self.up.path("in-view")
    }

    fn start_controller(&mut self) {
        let mut command = self.up.lab.exec(CONTROL, [env!("CARGO_BIN_EXE_heddle"), "controller", "--log", "warn"]);
        command.arg("--inventory").arg(self.up.lab.inventory_path()).arg("--dir").arg(self.up.lab.shared_dir());
        self.controller = Some(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    }

    /// At once, whatever it is doing: its end is that of the process that entered the node for it.
    pub(crate) fn kill_controller(&mut self) {
        if let Some(mut controller) = self.controller.take() {
            controller.kill().unwrap();
            controller.wait().unwrap();
            self.caused.controllers += 1;
        }
    }

    /// Mostly on a host with the first rank of some communicator: the others' views are never looked at.
    pub(crate) fn break_a_view(&mut self, round: u64, random: &mut Random) {
        let host = HOSTS[[0, 1, 0, 1, 0, 1, 2, 3][random.below(8)]];
        self.views.spoil(host, round, random);
        self.spoilt = Some(host);
        self.caused.views += 1;
    }

    /// The host sees the directory again, the controller is up, and all cables are in; whether one had to be put back.
    pub(crate) fn repair(&mut self) -> bool {
        if let Some(host) = self.spoilt.take() {
            self.views.mend(host);
        }
        if self.controller.is_none() {
            self.start_controller();
        }
        self.out.take().is_some_and(|(a, b)| self.up.lab.join(a, b, None).is_ok())
    }

    pub(crate) fn cause(&mut self, trouble: &Trouble) {
        let lab = &self.up.lab;
        match *trouble {
            Trouble::Move(host, switch) => {
                let there = lab.plan().unwrap().cables.iter().any(|cable| cable.joins(host, switch));
                let next = SWITCHES.iter().position(|s| *s == switch).map_or(0, |at| (at + 1) % SWITCHES.len());
                lab.move_host(host, if there { SWITCHES[next] } else { switch }).unwrap();
                self.caused.moves += 1;
            }
            Trouble::Pull(host) => {
                let switch = SWITCHES.iter().find(|s| lab.plan().unwrap().cables.iter().any(|c| c.joins(host, s))).unwrap();
                lab.cut(host, switch).unwrap();
                std::thread::sleep(OUT);
                lab.join(host, switch, None).unwrap();
                self.caused.pulled += 1;
            }
            Trouble::Trunk(a, b) => {
                lab.cut(a, b).unwrap();
                self.out = Some((a, b));
                self.caused.pulled += 1;
            }
            Trouble::Switch(switch) => {
                self.up.exec(switch, &["ip", "link", "set", "br0", "down"]);
                std::thread::sleep(OUT);
                self.up.exec(switch, &["ip", "link", "set", "br0", "up"]);
                self.caused.switches += 1;
            }
            Trouble::Agent(switch) => {
                // As the lab started it, away from whoever enters the node for this.
                let again = "set -- $(tr '\\0' ' ' </proc/$(pidof snmpd)/cmdline); kill -9 $(pidof snmpd); sleep 2
                    SNMP_PERSISTENT_DIR=/var/lib/snmp MIBS= setsid \"$@\" </dev/null >/dev/null 2>&1 &";
                self.up.exec(switch, &["sh", "-c", again]);
                self.caused.agents += 1;
            }
        }
    }

    /// The number of the current epoch; 0 before the first.
    pub(crate) fn epoch(&self) -> u64 {
        let line = fs::read_to_string(self.up.lab.shared_dir().join("current")).unwrap_or_default();
        line.parse().map_or(0, |pointer: Pointer| pointer.number)
    }

    /// Whether the communicators of so many jobs, everybody and two halves each, all follow the current epoch.
    pub(crate) fn is_followed(&self, jobs: usize) -> bool {
        let epoch = self.epoch();
        let files = fs::read_dir(self.up.lab.shared_dir().join("jobs")).unwrap().flatten().map(|entry| entry.path());
        let records: Vec<JobRecord> = files.filter_map(|file| serde_json::from_slice(&fs::read(file).ok()?).ok()).collect();
        records.len() >= 3 * jobs && records.iter().all(|record| record.epoch == epoch)
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.kill_controller();
    }
}
