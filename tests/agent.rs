//! Host agents in the lab: real cards, switches, routers, and a real controller. Needs root, as
//! tests/lab does.
use crate::common::HEDDLE;
use crate::common::killed::KilledAtEnd;
use crate::common::lab::RunningLab;
use crate::common::schema::assert_follows;
use crate::common::until::until;
use inventory::host_report::{DiscoveryProtocol, HeardContent, HostReport, Nic, ProbedPath};
use inventory::observation::NeighbourId;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::Duration;

const TOKEN: &str = "agents-show-this-and-nobody-sees-it";

/// A lab with a token for agents and one for viewers.
fn cluster(test: &str, topology: &str) -> RunningLab {
    let up = RunningLab::new(test, topology);
    fs::write(up.path("token"), TOKEN).unwrap();
    fs::write(up.path("viewers"), "viewers-show-another").unwrap();
    up
}

impl RunningLab {
    fn daemon(&self, child: Child, log: &str) -> AgentDaemon {
        AgentDaemon {
            child: KilledAtEnd(child),
            log: self.path(log),
            mark: self.folder.path().display().to_string(),
        }
    }

    /// A controller that asks agents for one token and viewers for another.
    fn guarded_controller(&self) -> AgentDaemon {
        let (token, viewers, journal) = (
            self.path("token"),
            self.path("viewers"),
            self.path("journal"),
        );
        let [token, viewers, journal] = [&token, &viewers, &journal].map(|p| p.to_str().unwrap());
        let tokens = ["--token-file", viewers, "--agent-token-file", token];
        let more = [
            &["--listen", "10.78.255.254:7171", "--journal", journal][..],
            &tokens,
        ]
        .concat();
        let daemon = self.daemon(
            self.start_controller("controller.log", &more),
            "controller.log",
        );
        daemon.await_word("API on");
        daemon
    }

    fn agent(&self, host: &str, more: &[&str]) -> AgentDaemon {
        let token = self.path("token");
        let common = [
            HEDDLE,
            "agent",
            "--controller",
            "http://10.78.255.254:7171",
            "--token-file",
            token.to_str().unwrap(),
        ];
        let log = format!("{host}.log");
        self.daemon(self.start(host, &log, [&common[..], more].concat()), &log)
    }

    /// One look of a host, without a controller.
    fn once(&self, host: &str, more: &[&str]) -> HostReport {
        let report = self.exec(
            host,
            &[&[HEDDLE, "agent", "--once", "--format", "json"], more].concat(),
        );
        let schema = include_str!("../docs/api.schema.json");
        assert_follows(schema, "HostReport", &report);
        serde_json::from_str(&report).unwrap()
    }

    /// The last report of a host that the controller took as news.
    fn reported(&self, host: &str) -> Option<HostReport> {
        let journal = fs::read_to_string(self.path("journal")).unwrap_or_default();
        let events = journal
            .lines()
            .filter_map(|l| serde_json::from_str::<serde_json::Value>(l).ok());
        let observed = events
            .map(|e| e["event"]["observed"].clone())
            .filter(|o| o["reporter"] == host);
        observed
            .filter_map(|o| serde_json::from_value(o["fact"]["host"].clone()).ok())
            .next_back()
    }
}

/// A program under test, killed when dropped.
struct AgentDaemon {
    child: KilledAtEnd,
    log: PathBuf,
    /// A text that only this program's command line holds.
    mark: String,
}

impl AgentDaemon {
    fn output(&self) -> String {
        fs::read_to_string(&self.log).unwrap()
    }

    fn await_word(&self, word: &str) {
        until(&format!("{} says \"{word}\"", self.log.display()), || {
            self.output().contains(word).then_some(())
        });
    }

    /// The program itself: a child of the process that entered the node.
    fn process(&self) -> PathBuf {
        let parent = self.child.id().to_string();
        until("it runs", || {
            let all = fs::read_dir("/proc").unwrap().flatten().map(|e| e.path());
            all.into_iter().find(|p| {
                let status = fs::read_to_string(p.join("status")).unwrap_or_default();
                let line = fs::read_to_string(p.join("cmdline")).unwrap_or_default();
                field(&status, "PPid") == parent
                    && line.starts_with(HEDDLE)
                    && line.contains(&self.mark)
            })
        })
    }

    fn signal(&self, signal: &str) {
        let process = self.process();
        let number = process.file_name().unwrap();
        assert!(
            Command::new("kill")
                .arg(signal)
                .arg(number)
                .status()
                .unwrap()
                .success()
        );
    }
}

fn field<'a>(status: &'a str, name: &str) -> &'a str {
    let line = status
        .lines()
        .find_map(|l| l.strip_prefix(name)?.strip_prefix(':'));
    line.unwrap_or_default().trim()
}

fn card<'a>(report: &'a HostReport, name: &str) -> &'a Nic {
    report
        .nics
        .iter()
        .find(|n| n.name == name)
        .unwrap_or_else(|| panic!("no {name} in {report:?}"))
}

/// The switch port that a card hears by LLDP: switch and port.
fn attachment(report: &HostReport, card: &str) -> Option<(String, String)> {
    report
        .frames
        .iter()
        .filter(|h| h.nic == card)
        .find_map(|h| match &h.content {
            HeardContent::Neighbour {
                protocol: DiscoveryProtocol::Lldp,
                name,
                port: NeighbourId::Text(port),
                ..
            } => Some((name.clone(), port.clone())),
            _ => None,
        })
}

/// The switch port at the other end of a host's cable: switch and port.
fn planned_attachment(plan: &lab::plan::LabPlan, host: &str) -> (String, String) {
    let cable = plan.cables.iter().find(|c| c.a.node == host).unwrap();
    (cable.b.node.clone(), cable.b.port.clone())
}

#[test]
fn an_agent_tells_what_its_host_is_and_follows_its_cable_without_privileges() {
    let cluster = cluster("agent", include_str!("../lab/topologies/two.yaml"));
    let controller = cluster.guarded_controller();
    let agent = cluster.agent("n3", &["--slots", "7"]);
    let plan = cluster.lab.plan().unwrap();
    let there = planned_attachment(&plan, "n3");
    let report = until("the switch port is reported", || {
        let report = cluster.reported("n3")?;
        let bridge = report
            .frames
            .iter()
            .any(|h| h.nic == "eth0" && matches!(h.content, HeardContent::Bpdu { .. }));
        (bridge && attachment(&report, "eth0").as_ref() == Some(&there)).then_some(report)
    });
    assert_report_of_the_node(&report, plan.node("n3").unwrap());
    let process = agent.process();
    assert_without_privileges(&process);

    let (_, to) = cluster.lab.move_host("n3", "s0").unwrap();
    let there = Some((to.node, to.port));
    until("the new port is reported", || {
        cluster
            .reported("n3")
            .filter(|r| attachment(r, "eth0") == there)
    });
    until("one look hears it, too", || {
        (attachment(&cluster.once("n3", &["--listen", "2s"]), "eth0") == there).then_some(())
    });

    let all = [
        controller.output(),
        agent.output(),
        fs::read_to_string(cluster.path("journal")).unwrap(),
    ]
    .concat();
    let shown = fs::read_to_string(process.join("cmdline")).unwrap()
        + &fs::read_to_string(process.join("environ")).unwrap_or_default();
    assert!(
        !all.contains(TOKEN) && !shown.contains(TOKEN),
        "the token shows"
    );
}

/// The report describes the card, the slots and the counters of a host that runs an agent with
/// seven slots.
fn assert_report_of_the_node(report: &HostReport, node: &lab::plan::LabNode) {
    let eth0 = card(report, "eth0");
    assert_eq!((report.slots, eth0.mac, eth0.up), (7, Some(node.mac), true));
    assert_eq!(
        (eth0.addresses[0].0, eth0.rate.map(|r| r.0)),
        (node.data.unwrap().into(), Some(10_000_000_000)),
        "what a veth says"
    );
    assert!(
        eth0.in_octets > 0 && eth0.out_octets > 0 && report.paths.is_empty(),
        "{report:?}"
    );
}

/// No thread of the process has a capability, and the process cannot get one.
fn assert_without_privileges(process: &Path) {
    let status = fs::read_to_string(process.join("status")).unwrap();
    for set in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"] {
        assert_eq!(
            u64::from_str_radix(field(&status, set), 16),
            Ok(0),
            "{set}: {status}"
        );
    }
    assert_eq!(
        (field(&status, "NoNewPrivs"), field(&status, "Groups")),
        ("1", "")
    );
    assert!(
        field(&status, "Uid")
            .split_whitespace()
            .all(|uid| uid != "0"),
        "{status}"
    );
    let threads = fs::read_dir(process.join("task"))
        .unwrap()
        .flatten()
        .map(|t| fs::read_to_string(t.path().join("status")).unwrap());
    assert!(
        threads
            .into_iter()
            .all(|s| u64::from_str_radix(field(&s, "CapPrm"), 16) == Ok(0)),
        "every thread"
    );
}

/// The part of a log line about a controller, without the time of day.
fn reason(line: &str) -> &str {
    line.split_once("controller http")
        .unwrap_or_else(|| panic!("no controller in {line}"))
        .1
}

#[test]
fn agent_and_controller_survive_each_other_and_neighbours_receive_farewell() {
    let cluster = cluster("lives", include_str!("../lab/topologies/two.yaml"));
    let controller = cluster.guarded_controller();
    let agent = cluster.agent("n0", &[]);
    until("the first report", || cluster.reported("n0"));

    agent.signal("-9");
    let mut agent = agent;
    agent.child.wait().unwrap();
    controller.await_word("host \"n0\": its agent is silent");
    agent = cluster.agent("n0", &[]);
    controller.await_word("host \"n0\": its agent reports again");

    let before = agent.output().len();
    let since = |agent: &AgentDaemon| agent.output()[before..].to_owned();
    drop(controller);
    until("the agent misses the controller", || {
        since(&agent)
            .contains("the newest report waits")
            .then_some(())
    });
    std::thread::sleep(Duration::from_secs(3));
    let _controller = cluster.guarded_controller();
    until("the agent reports again", || {
        since(&agent).contains("takes reports again").then_some(())
    });
    until("a report to the new controller", || cluster.reported("n0"));
    assert_each_reason_is_reported_once(&since(&agent));

    agent.signal("-9");
    agent.child.wait().unwrap();
    assert_farewell_is_received(&cluster);
}

/// An agent that missed its controller printed every reason for it once.
fn assert_each_reason_is_reported_once(output: &str) {
    let (away, _) = output.split_once("takes reports again").unwrap();
    let reasons: Vec<&str> = away
        .lines()
        .filter(|l| l.contains("the newest report waits"))
        .map(reason)
        .collect();
    let different: BTreeSet<&str> = reasons.iter().copied().collect();
    assert_eq!(
        reasons.len(),
        different.len(),
        "each reason is printed once: {output}"
    );
}

/// With the host's lldpd gone a new agent speaks for it, until it is stopped. The agent watches
/// others for a minute after its start.
fn assert_farewell_is_received(cluster: &RunningLab) {
    let mut agent = cluster.agent("n0", &[]);
    agent.await_word("heddle stands aside there");
    assert!(
        cluster
            .lab
            .exec("n0", ["sh", "-c", "kill $(pidof lldpd)"])
            .status()
            .unwrap()
            .success()
    );
    until("the switch hears the agent", || {
        neighbours(cluster).contains("heddle agent").then_some(())
    });
    agent.signal("-TERM");
    assert!(agent.child.wait().unwrap().success());
    until(
        "the switch forgets it by farewell: 90 s are its age",
        || (!neighbours(cluster).contains("heddle agent")).then_some(()),
    );
}

fn neighbours(cluster: &RunningLab) -> String {
    let lldpctl = ["lldpctl", "-u", "/run/lldpd.socket", "-f", "keyvalue"];
    String::from_utf8(cluster.lab.exec("s0", lldpctl).output().unwrap().stdout).unwrap()
}

#[test]
fn hosts_behind_a_router_are_reported_with_their_way_and_time() {
    let cluster = cluster("far", include_str!("../lab/topologies/two-clusters.yaml"));
    let plan = cluster.lab.plan().unwrap();
    let peers = [
        format!("n1={}", plan.node("n1").unwrap().data.unwrap()),
        format!("n3={}", plan.node("n3").unwrap().data.unwrap()),
        "gone=10.77.0.250".to_owned(),
    ];
    let report = cluster.once(
        "n0",
        &[
            "--listen", "0s", "--peer", &peers[0], "--peer", &peers[1], "--peer", &peers[2],
        ],
    );
    let (near, far, gone) = (
        path("n1", &report),
        path("n3", &report),
        path("gone", &report),
    );
    assert!(near.reached && near.hops.is_empty(), "{near:?}");
    assert!(
        near.round_trip.unwrap().min_us < far.round_trip.unwrap().min_us,
        "{near:?} {far:?}"
    );
    assert!(far.reached && matches!(far.hops[..], [Some(_)]), "{far:?}");
    assert!(
        far.round_trip.unwrap().min_us >= 20_000,
        "10 ms each way: {far:?}"
    );
    assert_eq!(
        (gone.reached, &gone.hops[..], gone.round_trip),
        (false, &[][..], None)
    );

    let _controller = cluster.guarded_controller();
    let _agents = ["n0", "n3"].map(|host| cluster.agent(host, &["--no-announce"]));
    let path = until(
        "the controller asks and hears how far the other segment is",
        || {
            cluster
                .reported("n0")?
                .paths
                .into_iter()
                .find(|p| p.reached && p.round_trip.is_some())
        },
    );
    assert_eq!((path.to.as_str(), path.hops.len()), ("n3", 1), "{path:?}");
}

fn path<'r>(name: &str, report: &'r HostReport) -> &'r ProbedPath {
    report
        .paths
        .iter()
        .find(|p| p.to == name)
        .unwrap_or_else(|| panic!("no {name} in {report:?}"))
}
