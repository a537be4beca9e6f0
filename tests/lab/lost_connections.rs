//! Connections that get lost under a job: the job ends in its time, with every byte right. The MPI
//! library is on the other network, so that only heddle's connections are hit.
use crate::common::epochs::{AT_ONCE, publish, ways};
use crate::common::job::{BOTH, TestJobOutput, compiled};
use crate::common::lab::{RunningLab, row};
use crate::common::machine_share::MachinePart;
use inventory::Mpi;
use lab::conditions::{JobConditions, LibraryNetwork};
use lab::mpi::MpiJob;
use std::collections::HashSet;
use std::fs;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

const HOSTS: [&str; 4] = ["n0", "n1", "n2", "n3"];
const WAYS: (&str, &str) = ("HEDDLE_FORCE", "aapc,relay,ring,tcp");
const TABLE: &str =
    "add table ip lost; add chain ip lost in { type filter hook input priority 0; }";

type MakeTrouble = fn(&RunningLab, usize) -> usize;

/// An accident of a job's connections.
struct Trouble {
    name: &'static str,
    /// Makes it for the time of this number; gives the connections that it hit.
    make: MakeTrouble,
    times: usize,
    pause: Duration,
    /// No call may take longer, in seconds.
    longest: f64,
    settings: &'static [(&'static str, &'static str)],
    reported: Option<&'static str>,
}

impl Trouble {
    /// Without further settings, and with nothing to say.
    fn new(
        name: &'static str,
        make: MakeTrouble,
        (times, pause): (usize, Duration),
        longest: f64,
    ) -> Trouble {
        Trouble {
            name,
            make,
            times,
            pause,
            longest,
            settings: &[],
            reported: None,
        }
    }
}

impl RunningLab {
    fn on(&self, host: &str, words: &[&str]) -> String {
        let output = self.lab.exec(host, words).output().unwrap();
        assert!(
            output.status.success(),
            "{words:?} on {host}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// A rule of a host about what comes from the data network, instead of the last one.
    fn rule(&self, host: &str, rule: &str) {
        let rule =
            format!("{TABLE}; flush chain ip lost in; add rule ip lost in iifname eth0 {rule}");
        self.on(host, &["nft", &rule]);
    }

    /// The connections of a host in the data network: address and port of both ends.
    fn connections(&self, host: &str) -> Vec<[String; 4]> {
        let filter = ["state", "established", "dst", "10.77.0.0/16"];
        let sockets = self.on(host, &[&["ss", "-Htn"], &filter[..]].concat());
        sockets
            .lines()
            .filter_map(|line| {
                let mut words = line.split_whitespace().skip(2);
                let (own, other) = (
                    words.next()?.split_once(':')?,
                    words.next()?.split_once(':')?,
                );
                Some([own.0, own.1, other.0, other.1].map(str::to_owned))
            })
            .collect()
    }

    /// The job under this MPI, which makes the file after its first calls and ends when it is gone.
    fn steady(&self, mpi: &str, library: Mpi, trouble: &Trouble, file: &str) -> Child {
        let program = compiled("steady.c", mpi, &[]);
        let words = [program.to_str().unwrap(), "100", file];
        let job = MpiJob {
            timeout: Some(Duration::from_secs(90)),
            conditions: JobConditions {
                network: LibraryNetwork::Management,
                ..JobConditions::default()
            },
            ..MpiJob::new(library)
        };
        let mut command = self.lab.mpirun(&job, words);
        command.envs([AT_ONCE, WAYS, ("STEADY_REDUCTIONS", "1")]);
        command.envs(trouble.settings.iter().copied());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    }

    /// Lets a job run with this trouble.
    fn goes_through(&self, mpi: &str, library: Mpi, trouble: &Trouble) {
        let name = format!("{}, {mpi}", trouble.name);
        let file = self.path("steady");
        let mut job = self.steady(mpi, library, trouble, file.to_str().unwrap());
        let began = Instant::now();
        while !file.exists() && began.elapsed() < Duration::from_secs(30) {
            std::thread::sleep(Duration::from_millis(20));
        }
        let mut hit = 0;
        for number in 0..trouble.times {
            if job.try_wait().unwrap().is_some() {
                break;
            }
            hit += (trouble.make)(self, number);
            std::thread::sleep(trouble.pause);
        }
        let _ = fs::remove_file(&file);
        let output = TestJobOutput::new(&job.wait_with_output().unwrap(), &name);
        println!(
            "{name}: {} connections hit, {} {:?}",
            hit, output.out, output.heddle
        );
        let (_, longest) = output.out.split_once("the longest ").unwrap();
        let (longest, wrong) = longest.split_once(" s, ").unwrap();
        assert_eq!(wrong.trim(), "0 wrong", "{name}");
        assert!(hit > 0, "{name}");
        assert!(
            longest.parse::<f64>().unwrap() <= trouble.longest,
            "{name}: {}",
            output.out
        );
        if let Some(reported) = trouble.reported {
            let lines = &output.heddle;
            assert!(
                lines.iter().any(|line| line.contains(reported)),
                "{name}: {lines:?}"
            );
        }
        for host in HOSTS {
            let _ = self
                .lab
                .exec(host, ["nft", "delete table ip lost"])
                .output();
        }
    }

    fn jobs_go_through(test: &str, troubles: &[Trouble]) {
        let up = RunningLab::with(MachinePart::Half, test, &row(&[2, 2], "40M"));
        let topology = fs::read_to_string(up.lab.dir().join("topology.yaml")).unwrap();
        let shared = up.lab.dir().join("shared");
        publish(&shared, &topology);
        for trouble in troubles {
            for (mpi, library) in BOTH.into_iter().zip([Mpi::OpenMpi, Mpi::Mpich]) {
                up.goes_through(mpi, library, trouble);
            }
        }
        let ways = ways(&shared);
        for way in ["alltoall aapc tcp", "allgather ring tcp", "allreduce relay"] {
            assert!(ways.iter().any(|taken| taken.starts_with(way)), "{ways:?}");
        }
        up.down();
    }
}

/// The kernel of one host after the other resets its connections: both ends are notified.
fn reset(up: &RunningLab, number: usize) -> usize {
    let killed = up.on(
        HOSTS[number % 4],
        &["ss", "-HK", "-tn", "dst", "10.77.0.0/16"],
    );
    killed.matches("ESTAB").count()
}

/// A firewall answers all packets of another host for a while, calls included: one end is notified.
fn reject(up: &RunningLab, number: usize) -> usize {
    let (host, other) = (HOSTS[number % 4], HOSTS[(number + 1) % 4]);
    let rule = format!(
        "ip saddr {} meta l4proto tcp reject with tcp reset",
        up.address(other)
    );
    up.rule(host, &rule);
    std::thread::sleep(Duration::from_millis(150));
    up.on(host, &["nft", "flush chain ip lost in"]);
    1
}

#[test]
fn a_job_goes_on_when_its_connections_are_reset() {
    let times = (20, Duration::from_millis(300));
    let troubles = [
        Trouble::new("reset", reset, times, 5.0),
        Trouble::new("reject", reject, times, 5.0),
    ];
    RunningLab::jobs_go_through("reset", &troubles);
}

/// A packet filter forgets the connections of a host that stand, and drops their packets; new ones pass.
fn forget(up: &RunningLab, number: usize) -> usize {
    let host = HOSTS[number % 4];
    let connections = up.connections(host);
    let each: Vec<String> = connections
        .iter()
        .map(|[_, own, address, port]| format!("{address} . {port} . {own}"))
        .collect();
    let tuples = each.join(", ");
    up.rule(
        host,
        &format!("ip saddr . tcp sport . tcp dport {{ {tuples} }} drop"),
    );
    connections.len()
}

/// Long packets to a host get lost. The kernel's packets are cut into segments first, as cards do.
fn swallow(up: &RunningLab, _: usize) -> usize {
    for host in HOSTS {
        up.on(host, &["ethtool", "-K", "eth0", "tso", "off", "gso", "off"]);
    }
    up.rule("n2", "ip length > 900 drop");
    up.connections("n2").len()
}

#[test]
fn a_job_goes_on_when_a_packet_filter_drops_its_connections() {
    RunningLab::jobs_go_through(
        "silent",
        &[Trouble::new(
            "forgotten",
            forget,
            (2, Duration::from_secs(8)),
            8.0,
        )],
    );
}

#[test]
fn a_job_goes_on_where_long_packets_get_lost() {
    RunningLab::jobs_go_through(
        "mtu",
        &[Trouble::new(
            "long packets lost",
            swallow,
            (1, Duration::from_secs(18)),
            14.0,
        )],
    );
}

/// Nothing of another host comes any more.
fn part(up: &RunningLab, _: usize) -> usize {
    up.rule("n0", &format!("ip saddr {} drop", up.address("n3")));
    up.connections("n0").len()
}

#[test]
fn what_cannot_be_made_anew_goes_over_the_library() {
    RunningLab::jobs_go_through(
        "parted",
        &[Trouble {
            name: "parted",
            make: part,
            times: 1,
            pause: Duration::from_secs(20),
            longest: 12.0,
            settings: &[("HEDDLE_PATIENCE", "3")],
            reported: Some("goes over the MPI library from now on"),
        }],
    );
}

/// One packet in ten that comes to any host is lost.
fn lose(up: &RunningLab, _: usize) -> usize {
    for host in HOSTS {
        up.rule(host, "numgen random mod 10 == 0 drop");
    }
    up.connections("n0").len()
}

#[test]
fn a_job_goes_on_where_packets_get_lost() {
    RunningLab::jobs_go_through(
        "lossy",
        &[Trouble::new(
            "lossy",
            lose,
            (1, Duration::from_secs(10)),
            30.0,
        )],
    );
}

/// No host has a port left for a new connection, while those that stand are reset.
fn exhaust(up: &RunningLab, number: usize) -> usize {
    let reserve = |ports: &str| {
        let setting = format!("net.ipv4.ip_local_reserved_ports={ports}");
        for host in HOSTS {
            up.on(host, &["sysctl", "-qw", &setting]);
        }
    };
    reserve("1-65535");
    let hit = reset(up, number);
    std::thread::sleep(Duration::from_secs(3));
    reserve("");
    hit
}

/// Another host asks for connections that it never completes, while those that stand are reset.
fn flood(up: &RunningLab, number: usize) -> usize {
    let (host, other) = (HOSTS[number % 4], HOSTS[(number + 1) % 4]);
    let listening = up.on(host, &["ss", "-Hltn"]);
    let ports: HashSet<&str> = listening
        .lines()
        .filter_map(|line| line.split_whitespace().nth(3)?.rsplit_once(':'))
        .map(|(_, port)| port)
        .collect();
    let (flood, address) = (
        compiled("syn_flood.c", "openmpi", &[]),
        up.address(host).to_string(),
    );
    let words: Vec<&str> = [flood.to_str().unwrap(), "3", "10.77.0.0", &address]
        .into_iter()
        .chain(ports)
        .collect();
    let mut flooding = up
        .lab
        .exec(other, words)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(500));
    let hit = reset(up, number);
    assert!(flooding.wait().unwrap().success());
    hit
}

#[test]
fn a_job_goes_on_where_no_connection_can_be_made_for_a_while() {
    // Calls take 3 s on an idle machine and up to 9 s on a busy one; the kernel would wait for fifteen minutes.
    let troubles = [
        Trouble::new(
            "ports exhausted",
            exhaust,
            (2, Duration::from_secs(1)),
            15.0,
        ),
        Trouble::new("SYN flood", flood, (2, Duration::from_secs(1)), 15.0),
    ];
    RunningLab::jobs_go_through("no-ports", &troubles);
}
