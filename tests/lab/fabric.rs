//! A lab of leaves and spines whose routed ways have equal cost, under a controller on its head node.
use crate::common::HEDDLE;
use crate::common::epochs::{AT_ONCE, publish};
use crate::common::job::{BOTH, TestJobOutput};
use crate::common::killed::KilledAtEnd;
use crate::common::lab::RunningLab;
use crate::common::machine_share::MachinePart;
use crate::common::runtime::lib;
use crate::common::until::{LIMIT, until_or_why};
use inventory::Mpi;
use inventory::TopologyFile;
use lab::mpi::MpiJob;
use lab::plan::CONTROL;
use std::fs;
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

    fn await_ways(&self, ways: usize) {
        until_or_why("the published ways", LIMIT, || {
            let text = self.published();
            let found = text.matches("state: multipath").count();
            let hosts = TopologyFile::parse("published", &text).map_or(0, |file| file.hosts.len());
            match (found, hosts) == (ways, 3) {
                true => Ok(()),
                false => Err(format!("{found} ways of {hosts} hosts in\n{text}")),
            }
        });
    }
}

#[test]
fn ways_are_found_published_and_left_when_a_spine_is_drained() {
    let up = RunningLab::new("ways", FABRIC);
    let controller = KilledAtEnd(up.start_controller("controller.log", &["--log", "warn"]));
    up.await_ways(4);
    let drawn = up.discover(&up.inventory("", ""), "text", &[]);
    assert!(drawn.contains("80M  spine[1-2]  router  2 ways"), "{drawn}");
    for leaf in ["leaf1", "leaf2"] {
        up.lab.cut(leaf, "spine1").unwrap();
    }
    up.await_ways(0);
    for leaf in ["leaf1", "leaf2"] {
        up.lab.join(leaf, "spine1", None).unwrap();
    }
    up.await_ways(4);
    let status = up.lab.exec(CONTROL, [HEDDLE, "status"]).output().unwrap();
    let status = String::from_utf8_lossy(&status.stdout).into_owned();
    assert!(status.contains("0 of 4 switches silent"), "{status}");
    drop(controller);
    up.down();
}

#[test]
fn a_job_follows_a_tree_of_stages() {
    let up = RunningLab::with(MachinePart::Half, "staged", FABRIC);
    let topology = fs::read_to_string(up.lab.dir().join("topology.yaml")).unwrap();
    let shared = up.lab.dir().join("shared");
    publish(&shared, &topology);
    for (mpi, library) in BOTH.into_iter().zip([Mpi::OpenMpi, Mpi::Mpich]) {
        let bench = lib().join(format!("bench-{mpi}"));
        let bench = bench.to_str().unwrap();
        let words = [bench, "--size", "65536", "--iterations", "4", "--check"];
        let job = MpiJob {
            timeout: Some(Duration::from_secs(60)),
            ..MpiJob::new(library)
        };
        let mut command = up.lab.mpirun(&job, words);
        command.envs([AT_ONCE, ("HEDDLE_FORCE", "aapc"), ("HEDDLE_VERBOSE", "1")]);
        let said = TestJobOutput::new(&command.output().unwrap(), mpi);
        assert!(said.out.contains("every byte checked"), "{}", said.out);
        let follows = said.heddle.iter().any(|line| line.contains("epoch 1"));
        assert!(follows, "{:?}", said.heddle);
    }
    up.down();
}
