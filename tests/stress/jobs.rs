//! MPI programs on the lab's hosts: the four that outlive everything, and short ones beside them.
//! Each tells of its checked calls once a second, so that one that hangs is seen.
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

/// What the program of the four jobs is called, and no other.
pub(crate) const LASTING: &str = "lasting";
/// Milliseconds between a job's rounds of four calls: several jobs share few cores.
const REST: &str = "20";
/// Seconds after which anything ends.
const LIMIT: u64 = 12 * 3600;

/// MPI library, and the ways that are forced; none: the table decides.
pub(crate) type JobKind = (&'static str, Option<&'static str>);

/// A program to be run on all hosts, each of which sees the shared directory in its own way.
pub(crate) struct RequestedJob<'a> {
    pub(crate) name: String,
    pub(crate) kind: JobKind,
    pub(crate) source: &'a str,
    pub(crate) arguments: Vec<String>,
    /// What it finds in its environment, as `NAME=VALUE`.
    pub(crate) settings: Vec<String>,
}

/// What a job has said so far.
struct JobProgress {
    calls: u64,
    /// When it told of calls last.
    at: Instant,
    beside: String,
}

/// A job under way.
pub(crate) struct RunningJob {
    pub(crate) name: String,
    child: Mutex<KilledAtEnd>,
    /// It is there after the first calls; without it the job ends.
    alive: PathBuf,
    told: Arc<Mutex<JobProgress>>,
    readers: Vec<JoinHandle<()>>,
}

/// A job that has ended well.
pub(crate) struct EndedJob {
    /// What it counted.
    pub(crate) line: String,
    pub(crate) said: String,
    /// Calls of rank 0.
    pub(crate) calls: u64,
}

impl RunningJob {
    /// A job that calls until it is told to end.
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
        let told = Arc::new(Mutex::new(JobProgress {
            calls: 0,
            at: Instant::now(),
            beside: String::new(),
        }));
        let streams: [Box<dyn Read + Send>; 2] = [
            Box::new(child.stdout.take().unwrap()),
            Box::new(child.stderr.take().unwrap()),
        ];
        let readers = streams.map(|stream| {
            let told = Arc::clone(&told);
            std::thread::spawn(move || listen(stream, &told))
        });
        RunningJob {
            name: ordered.name.clone(),
            child: Mutex::new(child),
            alive,
            told,
            readers: readers.into(),
        }
    }

    fn told(&self) -> MutexGuard<'_, JobProgress> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls so far, told once a second.
    pub(crate) fn calls(&self) -> u64 {
        self.told().calls
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.child.lock().unwrap().try_wait().unwrap().is_some()
    }

    /// What it said beside its counts.
    pub(crate) fn said(&self) -> String {
        let told = self.told();
        format!("--- {}, {} calls\n{}", self.name, told.calls, told.beside)
    }

    /// Tells it to end.
    pub(crate) fn tell_to_end(&self) {
        fs::remove_file(&self.alive).unwrap();
    }

    /// Waits for its end, for as long as it goes on, and insists that it ends well.
    pub(crate) fn end(mut self) -> EndedJob {
        self.told().at = Instant::now();
        while !self.has_ended() {
            assert!(
                self.told().at.elapsed() < HANGS,
                "{} hangs: {}",
                self.name,
                self.said()
            );
            std::thread::sleep(Duration::from_millis(50));
        }
        let status = self.child.lock().unwrap().wait().unwrap();
        self.readers
            .drain(..)
            .for_each(|reader| reader.join().unwrap());
        let calls = self.calls();
        let said = self.told().beside.clone();
        assert!(status.success(), "{}: {status}: {said}", self.name);
        let counted = said
            .lines()
            .rfind(|line| line.contains(" wrong"))
            .unwrap_or_else(|| panic!("no count: {said}"));
        assert!(counted.ends_with(" 0 wrong"), "{}: {said}", self.name);
        EndedJob {
            line: format!("{}: {counted}", self.name),
            calls,
            said,
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

/// Takes what a job says, to its end.
fn listen(stream: impl Read, told: &Mutex<JobProgress>) {
    for line in BufReader::new(stream).lines().map_while(Result::ok) {
        let counted = line
            .split_once(": ")
            .and_then(|(_, counted)| counted.split_once(" calls so far, 0 wrong"));
        let mut told = told.lock().unwrap_or_else(PoisonError::into_inner);
        match counted {
            Some((counted, _)) => {
                (told.calls, told.at) = (counted.parse().unwrap(), Instant::now())
            }
            None => told.beside += &(line + "\n"),
        }
    }
}
