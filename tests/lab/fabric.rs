//! A lab of leaves and spines whose routed ways have equal cost, under a controller on its head node.
use crate::common::HEDDLE;
use crate::common::epochs::{AT_ONCE, publish};
use crate::common::job::{BOTH, TestJobOutput};
use crate::common::killed::KilledAtEnd;
use crate::common::lab::RunningLab;
use crate::common::machine_share::MachinePart;
use crate::common::runtime::bench_path;
use crate::common::until::{LIMIT, until_or_why};
use inventory::{Mpi, TopologyFile};
use lab::mpi::MpiJob;
use lab::plan::CONTROL;
use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

const FABRIC: &str = "
switches: [leaf1, leaf2]
routers: [spine1, spine2]
hosts: {n0: {switch: leaf1, rate: 20M}, n1: {switch: leaf1, rate: 20M}, n2: {switch: leaf2, rate: 20M}}
links:
- {a: leaf1, b: spine1, rate: 40M, state: multipath}
- {a: leaf1, b: spine2, rate: 40M, state: multipath}
- {a: leaf2, b: spine1, rate: 40M, state: multipath}
- {a: leaf2, b: spine2, rate: 40M, state: multipath}
";

impl RunningLab {
    /// The topology that the controller published last; nothing before the first epoch.
    fn published(&self) -> String {
        let shared = self.lab.dir().join("shared");
        let current = fs::read_to_string(shared.join("current")).unwrap_or_default();
        let number: u64 = match current.split(' ').next().map(str::parse) {
            Some(Ok(number)) => number,
            _ => return String::new(),
        };
        let epoch = shared.join(format!("epochs/{number:08}/topology.yaml"));
        fs::read_to_string(epoch).unwrap_or_default()
    }

    fn await_ways(&self, ways: usize, of_hosts: usize) {
        until_or_why("the published ways", LIMIT, || {
            let text = self.published();
            let found = text.matches("state: multipath").count();
            let hosts = TopologyFile::parse("published", &text).map_or(0, |file| file.hosts.len());
            match (found, hosts) == (ways, of_hosts) {
                true => Ok(()),
                false => Err(format!("{found} ways of {hosts} hosts in\n{text}")),
            }
        });
    }
}

/// Whether a drawing begins with the spines and has both leaves below, each with the sum of its ways.
fn are_drawn_below_spines(drawn: &str, ways: &str) -> bool {
    let leaves = ["leaf1", "leaf2"].map(|leaf| format!("80M  {leaf}  "));
    drawn.starts_with("spine[1-2]  router\n")
        && leaves.iter().all(|leaf| {
            let mut lines = drawn.lines();
            lines.any(|line| line.contains(leaf) && line.ends_with(ways))
        })
}

#[test]
fn ways_are_found_published_and_left_when_a_spine_is_drained() {
    let up = RunningLab::new("ways", FABRIC);
    let controller = KilledAtEnd(up.start_controller("controller.log", &["--log", "warn"]));
    up.await_ways(4, 3);
    let drawn = up.discover(&up.inventory("", ""), "text", &[]);
    assert!(are_drawn_below_spines(&drawn, "2 ways"), "{drawn}");
    for leaf in ["leaf1", "leaf2"] {
        up.lab.cut(leaf, "spine1").unwrap();
    }
    up.await_ways(0, 3);
    for leaf in ["leaf1", "leaf2"] {
        up.lab.join(leaf, "spine1", None).unwrap();
    }
    up.await_ways(4, 3);
    let output = up.lab.exec(CONTROL, [HEDDLE, "status"]).output().unwrap();
    let status = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(status.contains("0 of 4 switches silent"), "{status}");
    drop(controller);
    up.down();
}

impl RunningLab {
    /// Ends LLDP at a port.
    fn fall_silent(&self, router: &str, port: &str) {
        let lldpcli = ["lldpcli", "-u", "/run/lldpd.socket", "configure", "ports"];
        let off = [port, "lldp", "status", "disabled"];
        self.exec(router, &[&lldpcli[..], &off[..]].concat());
    }

    /// Waits until so many of the four ways are known by routes alone.
    fn await_unspoken_ways(&self, count: usize) {
        let inventory = self.inventory("", "");
        until_or_why("links that only routes tell", LIMIT, || {
            let links = self.discover(&inventory, "json", &[]);
            let unspoken = links.matches("routes: spine").count();
            let ways = links.matches(r#""state": "multipath""#).count();
            let spoken = links.matches("LLDP: spine").count();
            match (unspoken, ways, spoken) == (count, 4, 4 - count) {
                true => Ok(()),
                false => Err(links),
            }
        });
    }
}

/// snmpd serves inetCidrRouteTable, in which Linux shows one next hop of several.
#[test]
fn ways_between_routers_that_do_not_speak_are_found_by_routes() {
    let up = RunningLab::new("unspoken", FABRIC);
    up.fall_silent("leaf1", "ge2");
    up.fall_silent("spine2", "ge1");
    up.await_unspoken_ways(1);
    for router in ["leaf1", "leaf2", "spine1", "spine2"] {
        up.fall_silent(router, "ge1");
        up.fall_silent(router, "ge2");
    }
    up.await_unspoken_ways(4);
    let drawn = up.discover(&up.inventory("", ""), "text", &[]);
    assert!(
        are_drawn_below_spines(&drawn, "2 ways  inferred"),
        "{drawn}"
    );
    up.down();
}

#[test]
fn a_job_follows_a_tree_of_stages() {
    let up = RunningLab::with(MachinePart::Half, "staged", FABRIC);
    let topology = fs::read_to_string(up.lab.dir().join("topology.yaml")).unwrap();
    let shared = up.lab.dir().join("shared");
    publish(&shared, &topology);
    for (mpi, library) in BOTH.into_iter().zip([Mpi::OpenMpi, Mpi::Mpich]) {
        let bench = bench_path(mpi);
        let words = [&bench, "--size", "65536", "--iterations", "4", "--check"];
        let job = MpiJob {
            timeout: Some(Duration::from_secs(60)),
            ..MpiJob::new(library)
        };
        let mut command = up.lab.mpirun(&job, words);
        command.envs([AT_ONCE, ("HEDDLE_FORCE", "aapc"), ("HEDDLE_VERBOSE", "1")]);
        let output = TestJobOutput::new(&command.output().unwrap(), mpi);
        assert!(output.out.contains("every byte checked"), "{}", output.out);
        let follows = output.heddle.iter().any(|line| line.contains("epoch 1"));
        assert!(follows, "{:?}", output.heddle);
    }
    up.down();
}

/// Two leaves with four hosts each, whose ways together carry half of what these send.
const NARROW: &str = "
switches: [leaf1, leaf2]
routers: [spine1, spine2]
hosts:
  n[0-3]: {switch: leaf1, rate: 20M}
  n[4-7]: {switch: leaf2, rate: 20M}
links:
- {a: leaf1, b: spine1, rate: 20M, state: multipath}
- {a: leaf1, b: spine2, rate: 20M, state: multipath}
- {a: leaf2, b: spine1, rate: 20M, state: multipath}
- {a: leaf2, b: spine2, rate: 20M, state: multipath}
";

impl RunningLab {
    /// Octets that went from each spine to each leaf, ever.
    fn passed_on(&self) -> [u64; 4] {
        let ports = [
            ("spine1", "ge1"),
            ("spine1", "ge2"),
            ("spine2", "ge1"),
            ("spine2", "ge2"),
        ];
        ports.map(|(spine, port)| {
            let file = format!("/sys/class/net/{port}/statistics/tx_bytes");
            self.exec(spine, &["cat", &file]).trim().parse().unwrap()
        })
    }

    /// All-to-alls over heddle's connections of so many kilobytes a block.
    pub(super) fn over_ways(
        &self,
        mpi: &str,
        library: Mpi,
        kilobytes: u32,
        length: [&str; 2],
    ) -> Command {
        let (bench, size) = (bench_path(mpi), (kilobytes * 1024).to_string());
        let words = [&bench, "--check", "--size", size.as_str()];
        let job = MpiJob {
            timeout: Some(Duration::from_secs(90)),
            ..MpiJob::new(library)
        };
        let mut command = self.lab.mpirun(&job, words.into_iter().chain(length));
        command.envs([
            AT_ONCE,
            ("HEDDLE_FORCE", "aapc,tcp"),
            ("HEDDLE_VERBOSE", "1"),
        ]);
        command
    }

    /// The median of a few, in milliseconds; what heddle printed; and the octets on each way.
    fn median_over_ways(&self, mpi: &str, library: Mpi) -> (f64, Vec<String>, [u64; 4]) {
        let before = self.passed_on();
        let mut command = self.over_ways(mpi, library, 64, ["--iterations", "8"]);
        let output = TestJobOutput::new(&command.output().unwrap(), mpi);
        assert!(output.out.contains("every byte checked"), "{}", output.out);
        let shown = output.out.split(" ms median").next().unwrap();
        let median = shown.rsplit(' ').next().unwrap().parse().unwrap();
        let after = self.passed_on();
        (
            median,
            output.heddle,
            std::array::from_fn(|at| after[at] - before[at]),
        )
    }

    /// Waits for the octets on each way within two seconds to be right.
    fn await_octets(&self, what: &str, are_right: impl Fn([u64; 4]) -> bool) {
        until_or_why(what, LIMIT, || {
            let before = self.passed_on();
            std::thread::sleep(Duration::from_secs(2));
            let after = self.passed_on();
            let octets = std::array::from_fn(|at| after[at] - before[at]);
            let are_right = are_right(octets);
            are_right.then_some(()).ok_or_else(|| format!("{octets:?}"))
        });
    }
}

/// True if each way carried about as much as any other.
fn are_even(octets: [u64; 4]) -> bool {
    let (most, least) = (octets.iter().max().unwrap(), octets.iter().min().unwrap());
    *least > 500_000 && *most as f64 <= 1.1 * *least as f64
}

/// The links are there, but one router has no route over the first spine: jobs find it out soon, and say so.
fn jobs_find_a_way_without_a_route(up: &RunningLab) {
    let to_leaf2 = ["ip", "route", "replace", "10.77.1.0/24"];
    let [first, second] = [
        ["nexthop", "via", "10.77.2.242"],
        ["nexthop", "via", "10.77.3.242"],
    ];
    up.exec("leaf1", &[&to_leaf2[..], &second].concat());
    for (mpi, library) in BOTH.into_iter().zip([Mpi::OpenMpi, Mpi::Mpich]) {
        let mut command = up.over_ways(mpi, library, 16, ["--iterations", "2"]);
        let job = TestJobOutput::new(&command.output().unwrap(), mpi);
        assert!(job.out.contains("every byte checked"), "{}", job.out);
        let remarks = job.heddle.join("\n");
        assert!(
            remarks.contains("over other ways than the one planned"),
            "{mpi}: {remarks}"
        );
    }
    up.exec("leaf1", &[&to_leaf2[..], &first, &second].concat());
}

#[test]
fn messages_of_a_job_take_the_ways_that_are_chosen_for_them() {
    let up = RunningLab::with(MachinePart::Half, "chosen", NARROW);
    let controller = KilledAtEnd(up.start_controller("controller.log", &["--log", "warn"]));
    up.await_ways(4, 8);
    drop(controller);
    let jobs = || BOTH.into_iter().zip([Mpi::OpenMpi, Mpi::Mpich]);
    let chosen: Vec<f64> = jobs()
        .map(|(mpi, library)| {
            let (took, heddle, octets) = up.median_over_ways(mpi, library);
            let unknown = heddle
                .iter()
                .find(|line| line.contains("ways of its connections"));
            assert_eq!(unknown, None);
            assert!(are_even(octets), "{octets:?}");
            took
        })
        .collect();
    let shared = up.lab.shared_dir();
    let state = |topology: &str| {
        fs::remove_dir_all(&shared).unwrap();
        fs::create_dir(&shared).unwrap();
        publish(&shared, topology);
    };
    // The network that the controller found as a file, with the routers' addresses.
    state(&up.published());
    let (_, _, octets) = up.median_over_ways("mpich", Mpi::Mpich);
    assert!(are_even(octets), "{octets:?}");
    jobs_find_a_way_without_a_route(&up);
    // Routers that answer a host six times at once and then once a second, as Linux does by itself.
    for router in ["leaf1", "leaf2", "spine1", "spine2"] {
        up.exec(router, &["sysctl", "-qw", "net.ipv4.icmp_ratelimit=1000"]);
    }
    // Where the machine is busy, an answer may come too late for a job: the next one asks again.
    let mut octets = Vec::new();
    let is_even = (0..3).any(|_| {
        let (_, _, of_job) = up.median_over_ways("mpich", Mpi::Mpich);
        octets.push(of_job);
        are_even(of_job)
    });
    assert!(is_even, "{octets:?}");
    // The same topology without them: ports are left to the hash.
    state(&fs::read_to_string(up.lab.dir().join("topology.yaml")).unwrap());
    let hashed: Vec<f64> = jobs()
        .map(|(mpi, library)| up.median_over_ways(mpi, library).0)
        .collect();
    assert!(
        chosen.iter().sum::<f64>() < hashed.iter().sum(),
        "{chosen:?} {hashed:?}"
    );
    up.down();
}

#[test]
fn a_job_goes_on_while_a_spine_is_drained_and_takes_its_ways_again_afterwards() {
    let up = RunningLab::with(MachinePart::Half, "drained", NARROW);
    let controller = KilledAtEnd(up.start_controller("controller.log", &["--log", "warn"]));
    up.await_ways(4, 8);
    let mut command = up.over_ways("mpich", Mpi::Mpich, 16, ["--seconds", "30"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let job = command.spawn().unwrap();
    up.await_octets("both spines carry the same", are_even);
    for leaf in ["leaf1", "leaf2"] {
        up.lab.cut(leaf, "spine1").unwrap();
    }
    up.await_ways(0, 8);
    up.await_octets("one spine carries all", |octets| {
        octets[0] < 20_000 && octets[2] > 500_000
    });
    for leaf in ["leaf1", "leaf2"] {
        up.lab.join(leaf, "spine1", None).unwrap();
    }
    up.await_ways(4, 8);
    up.await_octets("both carry the same again", are_even);
    let output = TestJobOutput::new(&job.wait_with_output().unwrap(), "drained");
    assert!(output.out.contains("every byte checked"), "{}", output.out);
    let times = output
        .heddle
        .iter()
        .filter(|line| line.contains("planned") && line.contains("way through the fabric"))
        .count();
    assert!(times >= 2, "before and after: {:?}", output.heddle);
    let problem = output.heddle.iter().find(|line| line.contains("TCP path"));
    assert_eq!(problem, None);
    drop(controller);
    up.down();
}
