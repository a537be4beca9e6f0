//! Short MPI programs beside the four lasting jobs: many communicators, signals, no descriptors, no
//! helper.
use super::cluster::StressCluster;
use super::jobs::{JobKind, RequestedJob, RunningJob};
use super::{CALLS, HANGS};
use crate::common::lab::of_process;
use std::collections::VecDeque;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// All MPI libraries and ways.
const KINDS: [JobKind; 6] = [
    ("openmpi", Some("aapc,ring")),
    ("mpich", Some("aapc,ring,tcp")),
    ("openmpi", None),
    ("mpich", Some("aapc,ring")),
    ("openmpi", Some("aapc,ring,tcp")),
    ("mpich", None),
];
/// The number of communicators of a program at the same time, and one after the other.
const LIVE: u32 = 1200;
const BRIEF: u32 = 300;
/// The number of these programs that may run when a round ends.
const AT_ONCE: usize = 2;
/// The name of their job records, beside the source's name.
const GUEST: &str = "guest";

/// The trouble of a separate program.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ProgramTrouble {
    /// Communicators come and go.
    Brief(JobKind),
    /// Communicators come and stay.
    Live(JobKind),
    /// SIGALRM a thousand times a second.
    Alarms(JobKind),
    /// No descriptor is free when heddle starts.
    Descriptors(JobKind),
    /// The processes that read the shared directory for its ranks are killed.
    Helpers(JobKind),
}

impl ProgramTrouble {
    /// Five in turn, each over one kind of job after the other. The longest one is rarer.
    pub(crate) fn in_round(round: u64) -> ProgramTrouble {
        let turn = (round / 5) as usize;
        let kind = KINDS[(turn + round as usize % 5) % KINDS.len()];
        match round % 5 {
            0 => ProgramTrouble::Helpers(kind),
            1 => ProgramTrouble::Alarms(kind),
            2 => ProgramTrouble::Descriptors(kind),
            3 if turn % 5 == 1 => ProgramTrouble::Live(kind),
            _ => ProgramTrouble::Brief(kind),
        }
    }

    /// Its name in the table of troubles.
    pub(crate) fn counted_as(&self) -> &'static str {
        match self {
            ProgramTrouble::Brief(_) => "jobs of short-lived communicators",
            ProgramTrouble::Live(_) => "jobs of 1,200 live communicators",
            ProgramTrouble::Alarms(_) => "jobs under SIGALRM",
            ProgramTrouble::Descriptors(_) => "jobs without free descriptors",
            ProgramTrouble::Helpers(_) => "jobs whose helpers are killed",
        }
    }

    fn kind(&self) -> JobKind {
        match *self {
            ProgramTrouble::Brief(kind)
            | ProgramTrouble::Live(kind)
            | ProgramTrouble::Alarms(kind)
            | ProgramTrouble::Descriptors(kind)
            | ProgramTrouble::Helpers(kind) => kind,
        }
    }
}

/// A program under way.
struct RunningProgram {
    trouble: ProgramTrouble,
    job: RunningJob,
    /// Its unique name in the folder of views.
    views: PathBuf,
    began: Instant,
}

/// The programs under way, and the results of those that have ended.
#[derive(Default)]
pub(crate) struct RunningPrograms {
    begun: u32,
    under_way: VecDeque<RunningProgram>,
    pub(crate) communicators: u32,
}

impl RunningPrograms {
    pub(crate) fn begin(&mut self, cluster: &StressCluster, trouble: ProgramTrouble) {
        self.begun += 1;
        let views = cluster.up.path(&format!("views-{}", self.begun));
        symlink(cluster.up.path("views"), &views).unwrap();
        let (source, arguments) = match trouble {
            ProgramTrouble::Brief(_) => communicators("brief", BRIEF),
            ProgramTrouble::Live(_) => communicators("live", LIVE),
            _ => ("steady.c", Vec::new()),
        };
        let set = match trouble {
            ProgramTrouble::Alarms(_) => Some("STEADY_ALARMS=1".to_owned()),
            ProgramTrouble::Descriptors(_) => Some("STEADY_FULL=1".to_owned()),
            _ => None,
        };
        let settings = set
            .into_iter()
            .chain([format!("STRESS_VIEWS=views-{}", self.begun)])
            .collect();
        let name = format!("{} {trouble:?}", self.begun);
        let job = RunningJob::start(
            cluster,
            &RequestedJob {
                name,
                kind: trouble.kind(),
                source,
                arguments,
                settings,
            },
            GUEST,
        );
        self.under_way.push_back(RunningProgram {
            trouble,
            job,
            views,
            began: Instant::now(),
        });
    }

    /// Waits for the first calls of all: no MPI library starts on a host whose cable is out, with
    /// heddle or without it.
    pub(crate) fn have_begun(&self) {
        for guest in &self.under_way {
            goes_on_by(&guest.job, u64::from(guest.job.calls() == 0));
        }
    }

    /// Ends the programs that call until they are ordered to end, after they ran through a round. If
    /// there are many others, it ends the oldest of them.
    pub(crate) fn end_some(&mut self) {
        while let Some(at) = self.under_way.iter().position(|guest| {
            !matches!(
                guest.trouble,
                ProgramTrouble::Brief(_) | ProgramTrouble::Live(_)
            )
        }) {
            self.end(at);
        }
        while self.under_way.len() > AT_ONCE {
            self.end(0);
        }
    }

    pub(crate) fn end_all(&mut self) {
        while !self.under_way.is_empty() {
            self.end(0);
        }
    }

    fn end(&mut self, at: usize) {
        let Some(guest) = self.under_way.remove(at) else {
            return;
        };
        let began = guest.began;
        match guest.trouble {
            ProgramTrouble::Brief(_) => self.communicators += BRIEF,
            ProgramTrouble::Live(_) => self.communicators += LIVE,
            ProgramTrouble::Alarms(_) | ProgramTrouble::Descriptors(_) => {
                goes_on_by(&guest.job, CALLS);
                let has_helpers = !helpers(&guest.views).is_empty();
                let full = matches!(guest.trouble, ProgramTrouble::Descriptors(_));
                assert!(
                    has_helpers != full,
                    "a descriptor was free, or none was: {}",
                    guest.job.output()
                );
                guest.job.tell_to_end();
            }
            ProgramTrouble::Helpers(_) => lose_helpers(&guest),
        }
        let ended = guest.job.end();
        println!(
            "    {} after {:.0} s",
            ended.line,
            began.elapsed().as_secs_f64()
        );
        if let ProgramTrouble::Helpers(_) = guest.trouble {
            // Only this place depends on the words of that line. The ranks that lead a communicator
            // print it: 0 and 1.
            let reports = ended
                .output
                .lines()
                .filter(|line| line.contains("the process that reads it for this job is lost"))
                .count();
            assert!(
                (1..=2).contains(&reports),
                "reported {reports} times: {}",
                ended.output
            );
        }
    }
}

fn communicators(what: &str, number: u32) -> (&'static str, Vec<String>) {
    (
        "comms.c",
        vec![what.to_owned(), number.to_string(), "tell".to_owned()],
    )
}

/// Waits until the job has made this many more calls.
fn goes_on_by(job: &RunningJob, calls: u64) {
    let (before, began) = (job.calls(), Instant::now());
    while job.calls() < before + calls {
        assert!(began.elapsed() < HANGS, "does not go on: {}", job.output());
        assert!(!job.has_ended(), "has ended: {}", job.output());
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Kills the helpers of a job's ranks. The job goes on.
fn lose_helpers(guest: &RunningProgram) {
    goes_on_by(&guest.job, CALLS);
    let helpers = helpers(&guest.views);
    assert!(!helpers.is_empty(), "no helper: {}", guest.job.output());
    assert!(
        Command::new("kill")
            .arg("-KILL")
            .args(&helpers)
            .status()
            .unwrap()
            .success()
    );
    goes_on_by(&guest.job, CALLS);
    guest.job.tell_to_end();
}

/// The processes that read the directory by this name, as seen from outside of their hosts.
fn helpers(views: &Path) -> Vec<String> {
    let processes = fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .map(|entry| entry.path())
        .filter(|process| {
            of_process("comm", process) == "heddle-helper\n"
                && of_process("cmdline", process)
                    .split('\0')
                    .nth(1)
                    .is_some_and(|dir| Path::new(dir).starts_with(views))
        });
    processes
        .map(|process| process.file_name().unwrap().to_string_lossy().into_owned())
        .collect()
}
