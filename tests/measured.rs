//! Unmanaged switches within a managed network, or no managed switch at all: `heddle map
//! --controller` finds the trunks by the agents of the hosts, and the controller publishes them.
use crate::common::HEDDLE;
use crate::common::killed::KilledAtEnd;
use crate::common::lab::{RunningLab, row};
use crate::common::machine_share::MachinePart;
use crate::common::until::{LIMIT, until, until_or_why, until_so};
use inventory::TopologyFile;
use lab::plan::CONTROL;
use std::fs;
use std::process::{Child, Output, Stdio};
use std::thread::sleep;
use std::time::Duration;

const ALLOWED: &str = "measuring: {share: 60%, budget: 200M}\n";

/// A switch without a forwarding table.
const BLIND: &str = "sed -i 's/^rocommunity public$/view most included .1\\nview most excluded \
                     .1.3.6.1.2.1.17.4.3\\nview most excluded .1.3.6.1.2.1.17.7\\nrocommunity public \
                     default -V most/' /run/snmp/snmpd.conf && kill -HUP $(pidof snmpd)";

/// A port that sends neither LLDP nor BPDUs.
const SILENT: &str = "nft add table netdev f && nft add chain netdev f out \
                      '{ type filter hook egress device swp4 priority 0; }' && \
                      nft add rule netdev f out ether daddr \
                      '{ 01:80:c2:00:00:00, 01:80:c2:00:00:0e }' drop";

/// A switch that sends nothing by itself any more.
const MUTE: &str =
    "kill $(pidof lldpd); for b in /sys/class/net/*/bridge; do echo 0 > $b/stp_state; done";

pub(crate) struct MeasuredLab {
    lab: RunningLab,
    controller: Option<KilledAtEnd>,
    agents: Vec<KilledAtEnd>,
}

impl MeasuredLab {
    /// Of three switches, s1 and s2 fall silent, as unmanaged switches are.
    fn unmanaged() -> MeasuredLab {
        let lab = RunningLab::with(MachinePart::Whole, "measured", &row(&[2, 2, 3], "20M"));
        for switch in ["s1", "s2"] {
            lab.exec(switch, &["sh", "-c", "kill $(pidof snmpd)"]);
            lab.exec(switch, &["sh", "-c", MUTE]);
        }
        let written = fs::read_to_string(lab.lab.inventory_path()).unwrap();
        let kept: Vec<&str> = written
            .lines()
            .filter(|line| !["s1:", "s2:"].iter().any(|s| line.trim().starts_with(s)))
            .collect();
        MeasuredLab::started(lab, &(kept.join("\n") + "\n"))
    }

    /// Of two switches, s1 shows no forwarding table, and it and n5 do not speak to each other.
    fn doubtful() -> MeasuredLab {
        let lab = RunningLab::with(MachinePart::Whole, "doubtful", &row(&[3, 3], "20M"));
        lab.exec("s1", &["sh", "-c", BLIND]);
        lab.exec("s1", &["sh", "-c", SILENT]);
        // It says goodbye, so that s1 forgets what it received.
        lab.exec("n5", &["sh", "-c", "kill $(pidof lldpd)"]);
        let written = fs::read_to_string(lab.lab.inventory_path()).unwrap();
        MeasuredLab::started(lab, &written)
    }

    /// Three switches with two hosts each, none of which can be asked.
    pub(crate) fn hearing(part: MachinePart) -> MeasuredLab {
        let lab = RunningLab::with(part, "hearing", &row(&[2, 2, 2], "20M"));
        for switch in ["s0", "s1", "s2"] {
            lab.exec(switch, &["sh", "-c", "kill $(pidof snmpd)"]);
        }
        let listed = without_switches(&lab);
        MeasuredLab::started(lab, &listed)
    }

    /// Half the machine's lab, whose switches answer and whose hosts may measure, once all agents report.
    pub(crate) fn reporting(name: &str, network: &str) -> MeasuredLab {
        let up = RunningLab::with(MachinePart::Half, name, network);
        let inventory = fs::read_to_string(up.lab.inventory_path()).unwrap();
        let mut lab = MeasuredLab::started(up, &inventory);
        lab.start_controller();
        lab.start_agents();
        lab.await_so("all agents report", || lab.all_report());
        lab
    }

    pub(crate) fn lab(&self) -> &RunningLab {
        &self.lab
    }

    /// Switches send LLDP every 30 s, as IEEE 802.1AB recommends, and a last time now.
    pub(crate) fn speak_rarely(&self) {
        for switch in &self.lab.file.switches {
            let rarely = ["configure", "lldp", "tx-interval", "30"];
            let lldpcli = ["lldpcli", "-u", "/run/lldpd.socket"];
            self.lab.exec(switch, &[&lldpcli[..], &rarely[..]].concat());
        }
        sleep(Duration::from_secs(3));
    }

    pub(crate) fn move_host(&self, host: &str, switch: &str) {
        self.lab.lab.move_host(host, switch).unwrap();
    }

    /// Only hosts, and the frames of s0, tell anything: the inventory lists no switch any more.
    fn list_no_switch(&self) {
        let listed = without_switches(&self.lab) + ALLOWED;
        fs::write(self.lab.lab.inventory_path(), listed).unwrap();
        let reload = [
            "sh",
            "-c",
            "kill -HUP $(pgrep -f '^[^ ]*heddle controller')",
        ];
        self.lab.exec(CONTROL, &reload);
    }

    /// Bridges without spanning tree pass on what s0 sends, so that their hosts hear one port of it.
    fn finds_the_port_behind_which_unmanaged_switches_are(&self) {
        self.list_no_switch();
        until_or_why("the others are behind a port of s0", LIMIT * 2, || {
            let places = self.places();
            let bridges = places
                .iter()
                .skip(2)
                .filter(|place| place.starts_with("s0-port-"));
            let is_so = places.starts_with(&["s0".into(), "s0".into()]) && bridges.count() == 5;
            is_so
                .then_some(())
                .ok_or_else(|| format!("{places:?}\n{}", self.logs()))
        });
    }

    /// Two trunks part the hosts as the cables do.
    fn finds_the_tree_without_any_switch(&self) {
        self.lab.exec("s0", &["sh", "-c", MUTE]);
        let flat = vec!["net-10.77.0.0-16".to_owned(); 7];
        self.await_places(&flat, "");
        let done = self.order().wait_with_output().unwrap();
        let output = String::from_utf8_lossy(&done.stdout).into_owned();
        assert!(done.status.success(), "{output}{}", self.logs());
        let net = flat[0].as_str();
        let [s1, s2] = [1, 2].map(|number| format!("{net}-{number}"));
        let expected = [net, net, &s1, &s1, &s2, &s2, &s2];
        self.await_places(&expected.map(str::to_owned), &output);
    }

    fn started(lab: RunningLab, inventory: &str) -> MeasuredLab {
        fs::write(lab.lab.inventory_path(), inventory.to_owned() + ALLOWED).unwrap();
        fs::write(lab.path("agents"), "agents-show-this-and-nobody-sees-it").unwrap();
        fs::write(lab.path("viewers"), "viewers-show-another-token").unwrap();
        let (controller, agents) = (None, Vec::new());
        MeasuredLab {
            lab,
            controller,
            agents,
        }
    }

    fn token(&self, whose: &str) -> String {
        self.lab.path(whose).display().to_string()
    }

    pub(crate) fn start_controller(&mut self) {
        let [viewers, agents, journal] = ["viewers", "agents", "journal"].map(|f| self.token(f));
        let more = [
            "--listen",
            "10.78.255.254:7171",
            "--token-file",
            &viewers,
            "--agent-token-file",
            &agents,
            "--journal",
            &journal,
        ];
        let child = self.lab.start_controller("controller.log", &more);
        self.controller = Some(KilledAtEnd(child));
    }

    pub(crate) fn start_agents(&mut self) {
        for host in self.lab.file.hosts.keys() {
            let agent = self.start_agent(host, &format!("{host}.log"));
            self.agents.push(agent);
        }
    }

    pub(crate) fn all_report(&self) -> bool {
        self.lab.file.hosts.keys().all(|host| {
            self.log(&format!("{host}.log"))
                .contains("took the first report")
        })
    }

    fn start_agent(&self, host: &str, log: &str) -> KilledAtEnd {
        let token = self.token("agents");
        let agent = [HEDDLE, "agent", "--controller", "http://10.78.255.254:7171"]
            .into_iter()
            .chain(["--token-file", &token]);
        KilledAtEnd(self.lab.start(host, log, agent))
    }

    pub(crate) fn log(&self, name: &str) -> String {
        fs::read_to_string(self.lab.path(name)).unwrap_or_default()
    }

    pub(crate) fn order(&self) -> Child {
        let token = self.token("viewers");
        let address = ["--controller", "10.78.255.254:7171", "--token-file", &token];
        let words = [&[HEDDLE, "map"], &address[..]].concat();
        let mut order = self.lab.lab.exec(CONTROL, words);
        order.stdout(Stdio::piped()).stderr(Stdio::piped());
        order.spawn().unwrap()
    }

    /// It ends at once, as in a crash. The program that started it in the lab is not the one to kill:
    /// an agent that has given up its privileges does not end with its parent.
    fn kill_agent(&mut self, host: &str) {
        let kill = ["sh", "-c", "kill -9 $(pidof heddle)"];
        self.lab.exec(host, &kill);
        let place = self.lab.file.hosts.keys().position(|name| name == host);
        let mut agent = self.agents.remove(place.expect("a host of the lab"));
        assert!(!agent.wait().expect("its end").success());
    }

    /// The agent of n5 starts anew in the middle.
    fn map(&mut self) -> Output {
        let order = self.order();
        until("the measurement begins", || {
            self.log("controller.log")
                .contains("hosts are measured")
                .then_some(())
        });
        sleep(Duration::from_millis(1500));
        self.kill_agent("n5");
        self.agents.push(self.start_agent("n5", "n5-again.log"));
        order.wait_with_output().unwrap()
    }

    /// The published tree.
    pub(crate) fn published(&self) -> Option<TopologyFile> {
        TopologyFile::parse("topology.yaml", &self.published_file("topology.yaml")?).ok()
    }

    /// A file of the published epoch.
    pub(crate) fn published_file(&self, name: &str) -> Option<String> {
        let shared = self.lab.lab.shared_dir();
        let current = fs::read_to_string(shared.join("current")).ok()?;
        let number: u64 = current.split(' ').next()?.parse().ok()?;
        fs::read_to_string(shared.join(format!("epochs/{number:08}/{name}"))).ok()
    }

    /// Waits until the published topology is so.
    pub(crate) fn await_published(&self, what: &str, is_so: impl Fn(&TopologyFile) -> bool) {
        until_or_why(what, LIMIT, || {
            let file = self.published();
            let holds = file.as_ref().is_some_and(&is_so);
            holds
                .then_some(())
                .ok_or_else(|| format!("{file:?}\n{}", self.logs()))
        });
    }

    /// The switch of each host, in the published tree.
    pub(crate) fn places(&self) -> Vec<String> {
        let hosts = self.published().map(|file| file.hosts).unwrap_or_default();
        hosts.values().map(|host| host.switch.clone()).collect()
    }

    /// Waits until this is so. At the limit it fails with the logs.
    pub(crate) fn await_so(&self, what: &str, mut holds: impl FnMut() -> bool) {
        until_or_why(what, LIMIT, || {
            holds().then_some(()).ok_or_else(|| self.logs())
        });
    }

    /// Waits until hosts are on these switches, in the published tree. A host that hears no switch any
    /// more keeps its place for half a minute.
    pub(crate) fn await_places(&self, expected: &[String], output: &str) {
        until_or_why("the hosts have their places", LIMIT * 2, || {
            let places = self.places();
            (places == expected)
                .then_some(())
                .ok_or_else(|| format!("{output}{places:?}\n{}", self.logs()))
        });
    }

    pub(crate) fn logs(&self) -> String {
        ["controller.log", "n2.log", "n5.log", "n5-again.log"]
            .map(|log| self.log(log))
            .join("\n")
    }
}

/// An inventory of the lab's hosts, and no switch.
fn without_switches(lab: &RunningLab) -> String {
    let hosts: Vec<&str> = lab.file.hosts.keys().map(String::as_str).collect();
    format!("switches: {{}}\nhosts: [{}]\n", hosts.join(", "))
}

#[test]
fn the_agents_find_the_trunk_between_unmanaged_switches() {
    let mut lab = MeasuredLab::unmanaged();
    lab.start_controller();
    lab.start_agents();
    let flat = until("all agents report, and the hosts have places", || {
        let places = lab.places();
        (places.len() == 7 && lab.all_report()).then_some(places)
    });
    let bridge = flat[2].clone();
    assert_eq!(flat[2..], vec![bridge.clone(); 5], "{}", lab.logs());
    let done = lab.map();
    let output = String::from_utf8_lossy(&done.stdout).into_owned();
    let remarks = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{output}{remarks}{}", lab.logs());
    assert!(
        output.contains("trunk 20M beside n4 n5 n6: probability"),
        "{output}"
    );
    assert!(output.contains("\nepoch "), "{output}{}", lab.logs());
    // It says so when it is done, which may be after the controller.
    until_so("n5 took part after its restart", || {
        lab.log("n5-again.log")
            .contains("took part in a measurement")
    });
    let far = format!("{bridge}-1");
    let expected = [&flat[0], &flat[1], &bridge, &bridge, &far, &far, &far];
    // An epoch for another reason may have come between.
    lab.await_places(&expected.map(String::clone), &output);
    let trunk = lab
        .published()
        .unwrap()
        .links
        .into_iter()
        .find(|link| link.b == far)
        .unwrap();
    assert_eq!(
        (trunk.a, trunk.rate.to_string()),
        (bridge, "20M".to_owned())
    );
    eprintln!("{output}{remarks}");
    lab.finds_the_port_behind_which_unmanaged_switches_are();
    lab.finds_the_tree_without_any_switch();
}

#[test]
fn flows_tell_on_which_switch_a_host_is_that_no_switch_tells() {
    let mut lab = MeasuredLab::doubtful();
    lab.start_controller();
    lab.start_agents();
    until("all agents report, and the others have places", || {
        let known = ["s0", "s0", "s0", "s1", "s1"];
        (lab.all_report() && lab.places() == known).then_some(())
    });
    let done = lab.order().wait_with_output().unwrap();
    let output = String::from_utf8_lossy(&done.stdout).into_owned();
    let remarks = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{output}{remarks}{}", lab.logs());
    assert!(
        output.contains("n5 is on s1: probability"),
        "{output}{remarks}"
    );
    until("n5 has its place", || {
        (lab.places() == ["s0", "s0", "s0", "s1", "s1", "s1"]).then_some(())
    });
}
