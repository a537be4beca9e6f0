//! `heddle map` where something is wrong: the network is no tree, a firewall, a rank that dies.
use crate::common::HEDDLE;
use crate::common::lab::{RunningLab, row};
use crate::common::machine_share::MachinePart;
use crate::common::until::until_so;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Two cables of 20 Mbit/s in the place of the trunk, chosen by the sender's port.
const AGGREGATE: &str = "tc qdisc del dev swp1 root
tc qdisc add dev swp1 root handle 1: htb default 10
for c in 10 11; do
tc class add dev swp1 parent 1: classid 1:$c htb rate 20mbit ceil 20mbit burst 3120 cburst 3120 overhead 24
tc qdisc add dev swp1 parent 1:$c handle $c: bfifo limit 128000
done
tc filter add dev swp1 parent 1: protocol ip u32 match u16 1 1 at 20 flowid 1:11";
const SLOW: &str =
    "tc qdisc replace dev swp1 root tbf rate 10mbit burst 3120 limit 128000 overhead 24";
const FAST: &str =
    "tc qdisc replace dev swp1 root tbf rate 20mbit burst 3120 limit 128000 overhead 24";
const FIREWALL: &str = "nft add table inet f && nft add chain inet f input \
                        '{ type filter hook input priority 0; }' && \
                        nft add rule inet f input ip protocol udp drop";

fn job(lab: &RunningLab, mpi: &str, file: &Path, more: &[&str]) -> Command {
    let launcher = ["lab", "mpirun", "--no-shim", "--timeout", "60", "--name"];
    let mut job = Command::new(HEDDLE);
    job.args(launcher)
        .args([lab.lab.name(), "--mpi", mpi, "--"]);
    job.args([HEDDLE, "map", "--network", "10.77.0.0/16", "-o"]);
    job.arg(file).args(more);
    job
}

fn messages(output: &Output) -> String {
    let [out, err] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    format!("{out}{err}")
}

#[test]
fn a_network_that_is_no_tree_is_reported() {
    let lab = RunningLab::with(MachinePart::Whole, "crooked", &row(&[4, 4], "40M"));
    let file = lab.path("cluster.yaml");
    let map = |more: &[&str]| messages(&job(&lab, "openmpi", &file, more).output().unwrap());
    for switch in ["s0", "s1"] {
        lab.exec(switch, &["sh", "-c", AGGREGATE]);
    }
    let text = map(&[]);
    assert!(
        text.contains("no tree explains what was measured: "),
        "{text}"
    );
    assert!(
        !file.exists() && lab.path("cluster.yaml.rounds").exists(),
        "{text}"
    );
    // The rounds are not lost to the next run.
    let text = map(&[]);
    assert!(text.contains("the rounds of an earlier run"), "{text}");
    let text = map(&["--sceonds", "9"]);
    assert_eq!(text.matches("unexpected argument").count(), 1, "{text}");

    lab.exec("s0", &["sh", "-c", FAST]);
    lab.exec("s1", &["sh", "-c", SLOW]);
    let text = map(&["--force"]);
    let directions = "from these hosts 10M, to them 20M; plans use the lower rate";
    assert!(
        text.contains("trunk 10M beside n4 n5 n6 n7: inferred"),
        "{text}"
    );
    assert!(text.contains(directions), "{text}");

    lab.exec("n2", &["sh", "-c", FIREWALL]);
    let text = map(&["--force"]);
    let [from, to] = ["n1", "n2"].map(|host| lab.address(host));
    let dropped = format!("no datagram from {from} arrives at {to}, though connections do");
    assert!(text.contains(&dropped), "{text}");
    lab.down();
}

/// Ends the rank of a host. All hosts share the numbers of processes.
fn kill_rank(lab: &RunningLab, host: &str, mpi: &str) {
    let kill = format!(
        "for p in $(pidof map-{mpi}); do \
         [ $(readlink /proc/$p/ns/net) != $(readlink /proc/self/ns/net) ] || kill -9 $p; done"
    );
    lab.exec(host, &["sh", "-c", &kill]);
}

#[test]
fn a_rank_that_dies_ends_the_job_and_the_rounds_are_kept() {
    let lab = RunningLab::with(MachinePart::Half, "dying", &row(&[4, 4], "40M"));
    for mpi in ["openmpi", "mpich"] {
        let file = lab.path(&format!("{mpi}.yaml"));
        let kept = lab.path(&format!("{mpi}.yaml.rounds"));
        // Most of the time is left to others, so that the rank dies in the middle.
        let mut command = job(&lab, mpi, &file, &["--share", "0.1"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let running = command.spawn().unwrap();
        until_so("rounds are kept", || {
            fs::read_to_string(&kept).map_or(0, |text| text.lines().count()) > 12
        });
        kill_rank(&lab, "n5", mpi);
        let ended = running.wait_with_output().unwrap();
        let answer = messages(&ended);
        assert!(!ended.status.success() && !file.exists(), "{answer}");
        let words = [
            Path::new("map"),
            Path::new("--from"),
            &kept,
            Path::new("-o"),
            &file,
        ];
        let read = messages(
            &Command::new(HEDDLE)
                .args(words)
                .arg("--any-tree")
                .output()
                .unwrap(),
        );
        assert!(
            read.contains("8 hosts, ") && file.exists(),
            "{answer}{read}"
        );
    }
    lab.down();
}
