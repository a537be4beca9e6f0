//! Clusters found in the emulated network: by SNMP alone, with host agents' reports, and as the
//! operator states them. Needs root, as tests/lab does.
use crate::common::HEDDLE;
use crate::common::lab::RunningLab;
use crate::common::until::{LIMIT, until_or_why};
use inventory::cluster_reason::ClusterReason;
use inventory::topology::{Cluster, NodeKind, Topology};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

const TWO: &str = include_str!("../lab/topologies/two-clusters.yaml");
const THREE: &str = include_str!("../lab/topologies/three-clusters.yaml");
/// One spanning tree with a long link inside.
const LONG: &str = "switches: [s0, s1]
hosts: {n0: {switch: s0, rate: 20M}, n1: {switch: s0, rate: 20M}, n2: {switch: s1, rate: 20M}, n3: {switch: s1, rate: 20M}}
links: [{a: s0, b: s1, rate: 20M, delay: 20ms}]\n";

impl RunningLab {
    /// The network found once every host has its place and the tree fulfils `fits`.
    fn found(&self, inventory: &Path, more: &[&str], fits: impl Fn(&Topology) -> bool) -> Topology {
        until_or_why("every host has its place", LIMIT, || {
            let found: Topology =
                serde_json::from_str(&self.discover(inventory, "json", more)).unwrap();
            let hosts = found.names(NodeKind::Host).count();
            if found.clusters.iter().map(|c| c.hosts.len()).sum::<usize>() == hosts && fits(&found)
            {
                Ok(found)
            } else {
                Err(format!("{found:#?}"))
            }
        })
    }

    /// Lets the agents of all hosts look at their paths to all other hosts at the same time.
    /// Returns the folder of their reports.
    fn reports(&self) -> String {
        let folder = self.path("reports");
        fs::create_dir_all(&folder).unwrap();
        let plan = self.lab.plan().unwrap();
        let hosts: Vec<(String, String)> = plan
            .hosts()
            .map(|h| (h.name.clone(), h.data.unwrap().to_string()))
            .collect();
        let agents = hosts.iter().map(|(host, _)| {
            let peers = hosts
                .iter()
                .filter(|(other, _)| other != host)
                .map(|(other, address)| format!("--peer={other}={address}"));
            // The agent itself gives up after 60 s.
            let own = [
                "timeout", "120", HEDDLE, "agent", "--once", "--listen", "1s", "--format", "json",
                "--name", host,
            ]
            .map(str::to_owned);
            let agent: Command = self.lab.exec(host, own.into_iter().chain(peers));
            (host, spawned(agent, &folder.join(format!("{host}.json"))))
        });
        for (host, mut agent) in agents.collect::<Vec<_>>() {
            assert!(agent.wait().unwrap().success(), "agent of {host}");
        }
        folder.display().to_string()
    }

    /// Plans and verifies LG on the found network. Returns the plan.
    fn lg(&self, inventory: &Path, more: &[&str]) -> Value {
        let (topology, plan) = (self.path("found.yaml"), self.path("lg.json"));
        fs::write(&topology, self.discover(inventory, "topology", more)).unwrap();
        let [at, lg] = [&topology, &plan].map(|p| p.to_str().unwrap());
        let planned = output_of(&[
            "schedule",
            "alltoall",
            "--topology",
            at,
            "--algorithm",
            "lg",
            "--format",
            "json",
        ]);
        fs::write(&plan, &planned).unwrap();
        output_of(&["verify", "--topology", at, lg]);
        serde_json::from_slice(&planned).unwrap()
    }
}

fn output_of(arguments: &[&str]) -> Vec<u8> {
    let output = Command::new(HEDDLE).args(arguments).output().unwrap();
    assert!(
        output.status.success(),
        "{arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    output.stdout
}

fn spawned(mut command: Command, out: &Path) -> std::process::Child {
    command
        .stdin(Stdio::null())
        .stdout(fs::File::create(out).unwrap())
        .spawn()
        .unwrap()
}

/// `cluster-s0: n0 n1`.
fn shown(clusters: &[Cluster]) -> Vec<String> {
    clusters
        .iter()
        .map(|c| format!("{}: {}", c.name, c.hosts.join(" ")))
        .collect()
}

#[test]
fn two_clusters_are_found_from_their_router_or_from_the_packets_that_pass_it() {
    let up = RunningLab::new("two", TWO);
    let expected = ["cluster-s0: n0 n1 n2", "cluster-s1: n3 n4 n5"];
    let listed = up.inventory("", "");
    let found = up.found(&listed, &[], |t| t.tree().is_ok());
    assert_eq!(
        (shown(&found.clusters), found.root_bridge.as_deref()),
        (expected.map(str::to_owned).to_vec(), Some("s0"))
    );
    assert_eq!(found.further_root_bridges, ["s1"]);
    assert!(
        found
            .clusters
            .iter()
            .all(|c| c.reasons[1].to_string().starts_with("r0 is a router")),
        "{:?}",
        found.clusters
    );
    assert_eq!(up.lg(&listed, &[])["algorithm"], "lg");

    // Nobody can ask the router: its neighbours still hear it, and packets pass it.
    let reports = up.reports();
    let silent = up.inventory("r0:", "");
    let found = up.found(&silent, &["--reports", &reports], |t| t.tree().is_ok());
    assert_eq!(shown(&found.clusters), expected);
    let reasons = found.clusters[0]
        .reasons
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join("\n");
    assert!(
        reasons.contains("1 routed hop (10.77.0.241) from n0 to n3 in cluster-s1"),
        "{reasons}"
    );
    assert_eq!(up.lg(&silent, &["--reports", &reports])["algorithm"], "lg");

    let stated = up.inventory("", "clusters: {west: [n0, n1], east: [n2, n3]}\n");
    let found = up.found(&stated, &["--reports", &reports], |_| true);
    assert_eq!(
        shown(&found.clusters),
        ["west: n0 n1", "east: n2 n3", "cluster-s1: n4 n5"]
    );
    assert_eq!(found.clusters[0].reasons, [ClusterReason::Stated]);
    let is_reported = found.alarms.iter().any(|a| {
        a.subject.to_string() == "east"
            && a.to_string()
                .contains("\"n2\" and \"n3\" are in it as stated")
    });
    assert!(is_reported, "{:?}", found.alarms);
}

#[test]
fn three_clusters_lie_around_two_routers() {
    let up = RunningLab::new("three", THREE);
    let listed = up.inventory("", "");
    let found = up.found(&listed, &[], |t| t.tree().is_ok());
    assert_eq!(
        shown(&found.clusters),
        [
            "cluster-s0: n0 n1",
            "cluster-s1: n2 n3",
            "cluster-s2: n4 n5"
        ]
    );
    let plan = up.lg(&listed, &[]);
    assert!(
        plan["steps"].as_array().unwrap().iter().any(|step| step
            .as_array()
            .unwrap()
            .iter()
            .any(|m| m["blocks"].as_array().unwrap().len() > 1)),
        "{plan}"
    );
}

#[test]
fn a_long_link_inside_a_spanning_tree_is_found_from_round_trips() {
    let up = RunningLab::new("long", LONG);
    let listed = up.inventory("", "");
    let found = up.found(&listed, &[], |t| t.tree().is_ok());
    assert_eq!(
        shown(&found.clusters),
        ["cluster-s0: n0 n1 n2 n3"],
        "switches do not tell of delays"
    );
    let reports = up.reports();
    let found = up.found(&listed, &["--reports", &reports], |t| t.tree().is_ok());
    assert_eq!(
        shown(&found.clusters),
        ["cluster-s0: n0 n1", "cluster-s1: n2 n3"],
        "{:#?}",
        found.clusters
    );
    let why = &found.clusters[0].reasons[1];
    assert!(
        why.to_string()
            .starts_with("s0-s1: round trips across take 40 ms or more"),
        "{why}"
    );
    assert_eq!(up.lg(&listed, &["--reports", &reports])["algorithm"], "lg");
}
