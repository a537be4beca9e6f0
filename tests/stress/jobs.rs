//! MPI programs on the lab's hosts: the four lasting jobs, and short ones beside them. Each reports
//! its checked calls once a second, so that a hanging job is noticed.
use super::HANGS;
use super::cluster::StressCluster;
use crate::common::job::compiled;
use crate::common::killed::KilledAtEnd;
use inventory::Mpi;
use lab::mpi::MpiJob;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The name of the four jobs' program, and of no other program.
pub(crate) const LASTING: &str = "lasting";
/// Milliseconds between a job's rounds of four calls: several jobs share few cores.
const REST: &str = "20";
/// The time limit of every job, in seconds.
const LIMIT: u64 = 12 * 3600;

/// The MPI library and the forced ways; without forced ways the table decides.
pub(crate) type JobKind = (&'static str, Option<&'static str>);

/// A program for all hosts, each of which has its own view of the shared directory.
pub(crate) struct RequestedJob<'a> {
    pub(crate) name: String,
    pub(crate) kind: JobKind,
    pub(crate) source: &'a str,
    pub(crate) arguments: Vec<String>,
    /// Its additional environment, as `NAME=VALUE`.
    pub(crate) settings: Vec<String>,
}

/// The output of a job so far.
struct JobProgress {
    calls: u64,
    /// The time of its last report of calls.
    at: Instant,
    beside: String,
}

/// A job under way.
pub(crate) struct RunningJob {
    pub(crate) name: String,
    child: Mutex<KilledAtEnd>,
    /// A file that the job makes after its first calls. The job ends when the file is removed.
    alive: PathBuf,
    progress: Arc<Mutex<JobProgress>>,
    readers: Vec<JoinHandle<()>>,
}

/// A job that has ended well.
pub(crate) struct EndedJob {
    /// Its counts.
    pub(crate) line: String,
    pub(crate) output: String,
    /// The calls of rank 0.
    pub(crate) calls: u64,
}

impl RunningJob {
    /// A job that calls until it is ordered to end.
    pub(crate) fn lasting(cluster: &StressCluster, kind: JobKind) -> RunningJob {
        let (mpi, ways) = kind;
        let name = format!("{mpi} {}", ways.unwrap_or("as the table says"));
        RunningJob::start(
            cluster,
            &RequestedJob {
                name,
                kind,
                source: "steady.c",
                arguments: Vec::new(),
                settings: Vec::new(),
            },
            LASTING,
        )
    }

    /// Starts it under a name that its job records show. A job of steady.c needs no arguments.
    pub(crate) fn start(
        cluster: &StressCluster,
        ordered: &RequestedJob,
        program: &str,
    ) -> RunningJob {
        let alive = cluster.up.path(&format!("{} lives", ordered.name));
        let mut child = KilledAtEnd(
            command(cluster, ordered, program, &alive)
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap(),
        );
        let progress = Arc::new(Mutex::new(JobProgress {
            calls: 0,
            at: Instant::now(),
            beside: String::new(),
        }));
        let streams: [Box<dyn Read + Send>; 2] = [
            Box::new(child.stdout.take().unwrap()),
            Box::new(child.stderr.take().unwrap()),
        ];
        let readers = streams.map(|stream| {
            let progress = Arc::clone(&progress);
            std::thread::spawn(move || listen(stream, &progress))
        });
        RunningJob {
            name: ordered.name.clone(),
            child: Mutex::new(child),
            alive,
            progress,
            readers: readers.into(),
        }
    }

    fn progress(&self) -> MutexGuard<'_, JobProgress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The calls so far, as reported once a second.
    pub(crate) fn calls(&self) -> u64 {
        self.progress().calls
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.child.lock().unwrap().try_wait().unwrap().is_some()
    }

    /// Its output besides its counts.
    pub(crate) fn output(&self) -> String {
        let progress = self.progress();
        format!(
            "--- {}, {} calls\n{}",
            self.name, progress.calls, progress.beside
        )
    }

    /// Tells it to end.
    pub(crate) fn tell_to_end(&self) {
        fs::remove_file(&self.alive).unwrap();
    }

    /// Waits for its end as long as it makes progress, and insists that it ends well.
    pub(crate) fn end(mut self) -> EndedJob {
        self.progress().at = Instant::now();
        while !self.has_ended() {
            assert!(
                self.progress().at.elapsed() < HANGS,
                "{} hangs: {}",
                self.name,
                self.output()
            );
            std::thread::sleep(Duration::from_millis(50));
        }
        let status = self.child.lock().unwrap().wait().unwrap();
        self.readers
            .drain(..)
            .for_each(|reader| reader.join().unwrap());
        let calls = self.calls();
        let output = self.progress().beside.clone();
        assert!(status.success(), "{}: {status}: {output}", self.name);
        let counted = output
            .lines()
            .rfind(|line| line.contains(" wrong"))
            .unwrap_or_else(|| panic!("no count: {output}"));
        assert!(counted.ends_with(" 0 wrong"), "{}: {output}", self.name);
        EndedJob {
            line: format!("{}: {counted}", self.name),
            calls,
            output,
        }
    }
}

/// The launcher of a job, whose program is copied to a name that its job records show.
fn command(
    cluster: &StressCluster,
    ordered: &RequestedJob,
    program: &str,
    alive: &Path,
) -> Command {
    let (mpi, ways) = ordered.kind;
    let built = cluster
        .up
        .path(&format!("{program}-{}-{mpi}", ordered.source));
    if !built.exists() {
        fs::copy(compiled(ordered.source, mpi, &[]), &built).unwrap();
    }
    let library = if mpi == "openmpi" {
        Mpi::OpenMpi
    } else {
        Mpi::Mpich
    };
    let job = MpiJob {
        timeout: Some(Duration::from_secs(LIMIT)),
        ..MpiJob::new(library)
    };
    let mut command = cluster.up.lab.mpirun(&job, ["env"]);
    command
        .args(&ordered.settings)
        .arg(cluster.in_view())
        .arg(&built)
        .args(&ordered.arguments);
    if ordered.arguments.is_empty() {
        command.arg(LIMIT.to_string()).arg(alive).arg(REST);
    }
    command
        .env_remove("HEDDLE_FORCE")
        .env_remove("HEDDLE")
        .envs(ways.map(|ways| ("HEDDLE_FORCE", ways)))
        .env("HEDDLE_AFTER", "0")
        .env("HEDDLE_VERBOSE", "1")
        .env("HEDDLE_WATCHDOG", "2");
    command
}

/// Reads the output of a job to its end.
fn listen(stream: impl Read, progress: &Mutex<JobProgress>) {
    for line in BufReader::new(stream).lines().map_while(Result::ok) {
        let counted = line
            .split_once(": ")
            .and_then(|(_, counted)| counted.split_once(" calls so far, 0 wrong"));
        let mut progress = progress.lock().unwrap_or_else(PoisonError::into_inner);
        match counted {
            Some((counted, _)) => {
                (progress.calls, progress.at) = (counted.parse().unwrap(), Instant::now())
            }
            None => progress.beside += &(line + "\n"),
        }
    }
}
