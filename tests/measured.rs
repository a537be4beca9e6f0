//! Unmanaged switches within a managed network: `heddle map --controller` finds the trunk between
//! them by the agents of the hosts, and the controller publishes it.
use crate::common::HEDDLE;
use crate::common::killed::KilledAtEnd;
use crate::common::lab::RunningLab;
use crate::common::until::until;
use inventory::TopologyFile;
use lab::plan::CONTROL;
use std::fs;
use std::process::Output;

/// Port of s0 -- s1 -- s2, of which only s0 is asked.
const PLACE: &str = "switches: [s0, s1, s2]
hosts:
  n0: {switch: s0, rate: 20M}
  n1: {switch: s0, rate: 20M}
  n2: {switch: s1, rate: 20M}
  n3: {switch: s1, rate: 20M}
  n4: {switch: s2, rate: 20M}
  n5: {switch: s2, rate: 20M}
  n6: {switch: s2, rate: 20M}
links: [{a: s0, b: s1, rate: 20M}, {a: s1, b: s2, rate: 20M}]
";
const ALLOWED: &str = "measuring: {share: 60%, budget: 200M}\n";

struct MeasuredLab {
    lab: RunningLab,
    running: Vec<KilledAtEnd>,
}

impl MeasuredLab {
    /// s1 and s2 fall silent, as unmanaged switches are.
    fn new() -> MeasuredLab {
        let lab = RunningLab::new("measured", PLACE);
        for switch in ["s1", "s2"] {
            let mute = "kill $(pidof snmpd) $(pidof lldpd); \
                        for b in /sys/class/net/*/bridge; do echo 0 > $b/stp_state; done";
            lab.exec(switch, &["sh", "-c", mute]);
        }
        let written = fs::read_to_string(lab.lab.inventory_path()).unwrap();
        let listed = |line: &&str| !["s1:", "s2:"].iter().any(|s| line.trim().starts_with(s));
        let kept: Vec<&str> = written.lines().filter(listed).collect();
        fs::write(lab.path("plain"), kept.join("\n") + "\n").unwrap();
        fs::write(lab.lab.inventory_path(), kept.join("\n") + "\n" + ALLOWED).unwrap();
        fs::write(lab.path("agents"), "agents-show-this-and-nobody-sees-it").unwrap();
        fs::write(lab.path("viewers"), "viewers-show-another-token").unwrap();
        let running = Vec::new();
        MeasuredLab { lab, running }
    }

    fn token(&self, whose: &str) -> String {
        self.lab.path(whose).display().to_string()
    }

    fn start_controller(&mut self) {
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
        self.running.push(KilledAtEnd(child));
    }

    fn start_agents(&mut self) {
        let token = self.token("agents");
        for host in (0..7).map(|n| format!("n{n}")) {
            let agent = [HEDDLE, "agent", "--controller", "http://10.78.255.254:7171"];
            let agent = agent.into_iter().chain(["--token-file", &token]);
            let child = self.lab.start(&host, &format!("{host}.log"), agent);
            self.running.push(KilledAtEnd(child));
        }
    }

    fn map(&self) -> Output {
        let token = self.token("viewers");
        let order = [
            HEDDLE,
            "map",
            "--controller",
            "10.78.255.254:7171",
            "--token-file",
            &token,
        ];
        self.lab.lab.exec(CONTROL, order).output().unwrap()
    }

    /// The published tree.
    fn published(&self) -> Option<TopologyFile> {
        let current = self.lab.lab.shared_dir().join("current");
        let current = fs::read_to_string(current).ok()?;
        let number: u64 = current.split_whitespace().next()?.parse().ok()?;
        let folder = self
            .lab
            .lab
            .shared_dir()
            .join(format!("epochs/{number:08}"));
        let text = fs::read_to_string(folder.join("topology.yaml")).ok()?;
        TopologyFile::parse("topology.yaml", &text).ok()
    }

    /// The switch of each host, in the published tree.
    fn places(&self) -> Vec<String> {
        let hosts = self.published().map(|file| file.hosts).unwrap_or_default();
        hosts.values().map(|host| host.switch.clone()).collect()
    }

    fn logs(&self) -> String {
        let logs = ["controller.log", "n2.log", "n5.log"].map(|log| self.lab.path(log));
        logs.map(|log| fs::read_to_string(log).unwrap_or_default())
            .join("\n")
    }
}

#[test]
fn the_agents_find_the_trunk_between_unmanaged_switches() {
    let mut lab = MeasuredLab::new();
    lab.start_controller();
    lab.start_agents();
    let took = |host: usize| {
        let log = lab.lab.path(&format!("n{host}.log"));
        fs::read_to_string(log)
            .unwrap_or_default()
            .contains("took the first report")
    };
    let flat = until("all agents report, and the hosts have places", || {
        let places = lab.places();
        (places.len() == 7 && (0..7).all(took)).then_some(places)
    });
    let bridge = flat[2].clone();
    assert_eq!(flat[2..], vec![bridge.clone(); 5], "{}", lab.logs());
    let done = lab.map();
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    let remarks = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{said}{remarks}{}", lab.logs());
    assert!(
        said.contains("trunk 20M beside n4 n5 n6: probability"),
        "{said}"
    );
    assert!(said.contains("\nepoch "), "{said}{}", lab.logs());
    let places = lab.places();
    let far = places[4].clone();
    assert_eq!(places[4..], vec![far.clone(); 3], "{said}");
    assert!(places[2] == places[3] && far != places[2], "{said}");
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
    eprintln!("{said}{remarks}");
}
