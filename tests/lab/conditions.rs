//! The conditions of `heddle lab mpirun`: each has its effect during the job, and ends with it.
use super::TWO;
use super::commands::{LabCommands, nothing_of};
use crate::common::job::BOTH;
use crate::common::runtime::bench_path;
use std::process::Stdio;
use std::time::Duration;

/// Octets that each rank sends in `all_to_all`, at least, with four ranks.
const SENT: u64 = 10 * 3 * 65536;

impl LabCommands {
    /// Runs a job of one rank a host without heddle, and gives its output.
    fn job(&self, mpi: &str, flags: &[&str], program: &[&str]) -> String {
        let begin = ["mpirun", "--mpi", mpi, "--no-shim", "--timeout", "100"];
        self.ok(&[&begin, flags, &["--"], program].concat())
    }

    /// Ten calls of MPI_Alltoall with blocks of 64 KiB.
    fn all_to_all(&self, mpi: &str, flags: &[&str]) -> String {
        self.job(mpi, flags, &[&bench_path(mpi), "--iterations", "10"])
    }

    /// Octets that an interface has sent.
    fn sent(&self, node: &str, interface: &str) -> u64 {
        let file = format!("/sys/class/net/{interface}/statistics/tx_bytes");
        self.exec(node, &["cat", &file]).trim().parse().unwrap()
    }

    /// The rules of all hosts and the processes that keep them up.
    fn kept(&self) -> Vec<String> {
        let hosts =
            ["n0", "n1", "n2", "n3"].map(|host| self.exec(host, &["nft", "list", "tables"]));
        let rules = hosts.into_iter().filter(|tables| !tables.is_empty());
        let mut processes = self.named.processes();
        processes.retain(|line| line.contains("mpirun") || line.contains("lab conditions"));
        rules.chain(processes).collect()
    }
}

#[test]
fn the_library_uses_the_named_network() {
    let lab = LabCommands::up("networks", TWO);
    for mpi in BOTH {
        for (network, used, idle) in [("data", "eth0", "mgmt0"), ("management", "mgmt0", "eth0")] {
            let before = (lab.sent("n1", used), lab.sent("n1", idle));
            lab.all_to_all(mpi, &["--network", network]);
            let grown = (
                lab.sent("n1", used) - before.0,
                lab.sent("n1", idle) - before.1,
            );
            assert!(
                grown.0 > SENT && grown.1 < SENT / 10,
                "{mpi} {network}: {grown:?}"
            );
        }
    }
    lab.down();
}

/// The ranks themselves read what their hosts dropped.
#[test]
fn each_host_drops_packets_during_the_job_and_never_after_it() {
    // Four hosts write at once: each in one line, at one stroke.
    const SCRIPT: &str = "\"$0\" --iterations 10 >/dev/null; rules=$(nft list ruleset); \
                          [ -z \"$rules\" ] || echo $rules";
    let lab = LabCommands::up("loss", TWO);
    let program = ["sh", "-c", SCRIPT, &bench_path("mpich")];
    assert_eq!(lab.job("mpich", &[], &program), "");
    let output = lab.job("mpich", &["--loss", "2.5"], &program);
    let dropped: Vec<u64> = output
        .lines()
        .filter_map(|line| line.split_once("< 2500 counter packets "))
        .map(|(_, rest)| rest.split(' ').next().unwrap().parse().unwrap())
        .collect();
    assert!(
        dropped.len() == 4 && dropped.iter().all(|packets| *packets > 0),
        "{output}"
    );
    assert_eq!(lab.kept(), [] as [&str; 0]);
    lab.down();
}

/// The jobs themselves send nothing over the trunk.
#[test]
fn other_traffic_crosses_the_trunk_beside_the_job() {
    let lab = LabCommands::up("beside", TWO);
    let seconds = 4.0;
    // Of the trunk's 20 Mbit/s, a little before the job and after it, too.
    let full = 20e6 / 8.0 * seconds;
    for (flags, port, least, most) in [
        (&[][..], ("s0", "swp1"), 0.0, 0.01),
        (&["--beside=flows:2:n0-n2"], ("s0", "swp1"), 0.7, 2.0),
        (&["--beside=flows:1:n3-n1"], ("s1", "swp1"), 0.7, 2.0),
        (&["--beside=udp:30:n0-n2"], ("s0", "swp1"), 0.2, 0.6),
    ] {
        let before = lab.sent(port.0, port.1);
        let flags = [&["--hosts", "n0,n1"][..], flags].concat();
        lab.job("openmpi", &flags, &["sleep", &seconds.to_string()]);
        let share = (lab.sent(port.0, port.1) - before) as f64 / full;
        assert!((least..most).contains(&share), "{flags:?}: {share}");
    }
    lab.down();
}

#[test]
fn a_neighbour_runs_on_hosts_that_the_job_leaves_out() {
    let lab = LabCommands::up("neighbour", TWO);
    for mpi in BOTH {
        let before = lab.sent("n3", "eth0");
        let text = lab.all_to_all(mpi, &["--beside", "mpi:n1,n3"]);
        assert!(
            text.contains("x 2 ranks: ") && text.lines().count() == 1,
            "{text}"
        );
        let sent = lab.sent("n3", "eth0") - before;
        // The one block of each call that goes to the other rank, of most calls at least.
        assert!(sent > SENT / 10, "{mpi}: {sent}");
        nothing_of("the neighbour", || lab.kept());
    }
    // The job ends well, and its neighbour cannot run.
    let script = "[ $(hostname) = n0 ] && sleep 3";
    let flags = ["mpirun", "--mpi", "mpich", "--no-shim", "-n", "1"];
    let rest = ["--beside", "mpi:n3", "--", "sh", "-c", script];
    let output = lab.output(&[&flags[..], &rest].concat());
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(
        !output.status.success() && text.contains("the neighbour on n3 ended with"),
        "{text}"
    );
    lab.down();
}

#[test]
fn conditions_end_with_the_job_whatever_ends_it() {
    let lab = LabCommands::up("ends", TWO);
    let job = [
        "mpirun",
        "--mpi=mpich",
        "--no-shim",
        "--loss=1",
        "--beside=flows:1:n0-n2",
        "--beside=mpi:n3",
    ];
    let late = lab.output(&[&job[..], &["--timeout=3", "--", "sleep", "600"]].concat());
    assert_eq!(late.status.code(), Some(124));
    nothing_of("the job", || lab.kept());
    let mut command = lab.command(&[&job[..], &["--", "sleep", "600"]].concat());
    let mut killed = command.stderr(Stdio::null()).spawn().unwrap();
    std::thread::sleep(Duration::from_secs(3));
    assert!(lab.kept().len() > 4, "{:?}", lab.kept());
    killed.kill().unwrap();
    killed.wait().unwrap();
    nothing_of("the job", || lab.kept());
    lab.down();
}

/// The benchmark does this by itself; the others wait for the rank within their calls.
#[test]
fn a_rank_comes_late_to_each_call() {
    let lab = LabCommands::up("late", TWO);
    for mpi in BOTH {
        let bench = bench_path(mpi);
        let program = [&bench, "--size", "1000", "--iterations", "3", "--json"];
        let output = lab.job(mpi, &[], &[&program[..], &["--late", "2:300"]].concat());
        let (_, median) = output.split_once("\"median_seconds\":").expect("a median");
        let median: f64 = median.split(',').next().unwrap().parse().unwrap();
        assert!(median >= 0.3, "{mpi}: {output}");
        let begin = ["mpirun", "--mpi", mpi, "--no-shim", "--"];
        let output = lab.refused(&[&begin, &program[..], &["--late", "4:300"]].concat());
        let expected = "bench: --late: rank 4 is not in this job";
        assert_eq!(output.matches(expected).count(), 1, "{mpi}: {output}");
    }
    lab.down();
}

#[test]
fn bad_conditions_are_refused_before_the_job() {
    let lab = LabCommands::up("bad", TWO);
    for (flags, expected) in [
        (&["--beside", "udp:5:n0-s0"][..], "not a host"),
        (&["--beside", "flows:1:n0-n9"], "two hosts as FROM-TO"),
        (&["--beside", "mpi:n9"], "no such node"),
        (
            &["--beside", "mpi:n0", "--hosts", "n0,n1"],
            "name it in one",
        ),
        (&["--beside", "mpi:n[0-3]"], "no host is left"),
    ] {
        let begin = ["mpirun", "--mpi", "mpich", "--no-shim"];
        let output = lab.refused(&[&begin, flags, &["--", "true"]].concat());
        assert!(output.contains(expected), "{flags:?}: {output}");
    }
    lab.down();
}
