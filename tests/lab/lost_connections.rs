//! Connections that get lost under a job: the job ends in its time, with every byte right. The MPI
//! library is on the other network, so that only heddle's connections are hit.
use crate::common::epochs::{AT_ONCE, publish};
use crate::common::job::{BOTH, TestJobOutput, compiled};
use crate::common::lab::{RunningLab, row};
use crate::common::machine_share::MachinePart;
use inventory::Mpi;
use lab::conditions::{JobConditions, LibraryNetwork};
use lab::mpi::MpiJob;
use std::fs;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

const HOSTS: [&str; 4] = ["n0", "n1", "n2", "n3"];
const WAYS: (&str, &str) = ("HEDDLE_FORCE", "aapc,ring,relay,tcp");
/// The job's own time.
const SECONDS: f64 = 8.0;

/// What happens to the connections of a job.
struct Trouble {
    name: &'static str,
    /// Makes it, again and again.
    make: fn(&RunningLab, usize),
    pause: Duration,
    /// No call may take longer, in seconds.
    longest: f64,
    settings: &'static [(&'static str, &'static str)],
    said: Option<&'static str>,
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

    /// A rule of a host about what comes from the data network.
    fn rule(&self, host: &str, rule: &str) {
        let table = "add table ip lost; add chain ip lost in { type filter hook input priority 0; }";
        let rule = format!("{table}; add rule ip lost in iifname eth0 {rule}");
        self.on(host, &["nft", &rule]);
    }

    /// The job under this MPI, which makes the file after its first calls and ends when it is gone.
    fn steady(&self, mpi: &str, library: Mpi, trouble: &Trouble, file: &str) -> Child {
        let program = compiled("steady.c", mpi, &[]);
        let seconds = "100".to_owned();
        let words = [program.to_str().unwrap(), &seconds, file];
        let job = MpiJob {
            timeout: Some(Duration::from_secs(60)),
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
        let file = self.path("steady");
        let job = self.steady(mpi, library, trouble, file.to_str().unwrap());
        let began = Instant::now();
        while !file.exists() {
            assert!(began.elapsed() < Duration::from_secs(30), "no call ended");
            std::thread::sleep(Duration::from_millis(20));
        }
        let began = Instant::now();
        let mut number = 0;
        while began.elapsed() < Duration::from_secs_f64(SECONDS) {
            (trouble.make)(self, number);
            number += 1;
            std::thread::sleep(trouble.pause);
        }
        fs::remove_file(&file).unwrap();
        let name = format!("{}, {mpi}", trouble.name);
        let output = TestJobOutput::new(&job.wait_with_output().unwrap(), &name);
        println!("{name}: {} {:?}", output.out, output.heddle);
        let (_, longest) = output.out.split_once("the longest ").unwrap();
        let (longest, wrong) = longest.split_once(" s, ").unwrap();
        assert_eq!(wrong.trim(), "0 wrong", "{name}");
        assert!(longest.parse::<f64>().unwrap() <= trouble.longest, "{name}: {}", output.out);
        if let Some(said) = trouble.said {
            assert!(output.heddle.iter().any(|line| line.contains(said)), "{:?}", output.heddle);
        }
        for host in HOSTS {
            let _ = self.lab.exec(host, ["nft", "delete table ip lost"]).output();
        }
    }

    fn jobs_go_through(&self, troubles: &[Trouble]) {
        let topology = fs::read_to_string(self.lab.dir().join("topology.yaml")).unwrap();
        publish(&self.lab.dir().join("shared"), &topology);
        for trouble in troubles {
            for (mpi, library) in BOTH.into_iter().zip([Mpi::OpenMpi, Mpi::Mpich]) {
                self.goes_through(mpi, library, trouble);
            }
        }
    }
}

/// All connections of a host in the data network are reset, of one host after the other.
fn reset(up: &RunningLab, number: usize) {
    up.on(HOSTS[number % 4], &["ss", "-K", "-tn", "dst", "10.77.0.0/16"]);
}

#[test]
fn a_job_goes_on_when_its_connections_are_reset() {
    let up = RunningLab::with(MachinePart::Half, "reset", &row(&[2, 2], "40M"));
    up.jobs_go_through(&[Trouble {
        name: "reset",
        make: reset,
        pause: Duration::from_millis(300),
        longest: 5.0,
        settings: &[],
        said: None,
    }]);
    up.down();
}
