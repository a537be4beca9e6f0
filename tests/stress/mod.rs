//! Cables move, switches fail, the shared directory freezes or is seen wrong, the controller is
//! flooded, lied to and killed, and programs ask for more than there is. All this happens at the
//! same time, under MPI jobs of the lab that check every byte. Nothing may hang, no byte may be
//! wrong, and no epoch may be lost. Each time the present cabling becomes an epoch, and in the end
//! every job follows it.
//!
//! A round has a trouble of the network, two of the directory, one of a separate program and two or
//! four of outsiders. The round and `STRESS_SEED` decide their combination. `make stress` runs it
//! for a long time, over both MPI libraries and both data paths at once. Needs root.
mod cluster;
mod directory;
mod hostile_records;
mod jobs;
mod lineage;
mod network;
mod outsiders;
mod programs;

use self::directory::DirectoryTrouble;
use cluster::StressCluster;
use jobs::{JobKind, RunningJob};
use lineage::EpochWatcher;
use network::NetworkTrouble;
use outsiders::OutsiderTrouble;
use programs::{ProgramTrouble, RunningPrograms};
use schedules::random::SplitMix64;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// A ring of switches, so that one link is blocked until it is needed.
const RING: &str = "switches: [s0, s1, s2]
hosts: {n0: {switch: s0, rate: 50M}, n1: {switch: s1, rate: 50M}, n2: {switch: s2, rate: 50M}, n3: {switch: s0, rate: 50M}}
links: [{a: s0, b: s1, rate: 50M}, {a: s0, b: s2, rate: 50M}, {a: s1, b: s2, rate: 50M, state: blocked}]
";

/// The number of troubles that `make test` runs. Every family takes part.
const FEW: u64 = 38;
const SHORT: [JobKind; 2] = [
    ("openmpi", Some("aapc,ring,tcp")),
    ("mpich", Some("aapc,ring")),
];
const ALL: [JobKind; 4] = [
    ("openmpi", Some("aapc,ring")),
    ("openmpi", Some("aapc,ring,tcp")),
    ("mpich", Some("aapc,ring")),
    ("mpich", Some("aapc,ring,tcp")),
];

/// After a trouble, every job must make this many calls within the limit. Otherwise it hangs. A
/// cable that comes back carries after four seconds of spanning tree, and TCP doubles its waiting
/// time before it tries again.
const CALLS: u64 = 20;
const HANGS: Duration = Duration::from_secs(120);

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).map_or(default, |text| {
        text.parse()
            .unwrap_or_else(|_| panic!("{variable}={text}: expected a number"))
    })
}

/// Waits until the condition holds, for as long as a job may take to go on.
fn wait(what: &str, running: &[RunningJob], so: impl Fn() -> bool) {
    let began = Instant::now();
    while !so() {
        let output = || running.iter().map(RunningJob::output).collect::<String>();
        assert!(
            began.elapsed() < HANGS,
            "{what}: not within {} s\n{}",
            HANGS.as_secs(),
            output()
        );
        for job in running {
            assert!(
                !job.has_ended(),
                "{what}: {} has ended\n{}",
                job.name,
                output()
            );
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Waits until every job has gone on.
fn all_go_on(what: &str, running: &[RunningJob]) {
    let before: Vec<u64> = running.iter().map(RunningJob::calls).collect();
    wait(what, running, || {
        running
            .iter()
            .zip(&before)
            .all(|(job, before)| job.calls() >= before + CALLS)
    });
}

/// The troubles that happen side by side. The last round may leave out some of them.
#[derive(Debug)]
struct StressRound {
    network: NetworkTrouble,
    directory: Vec<DirectoryTrouble>,
    program: Option<ProgramTrouble>,
    guests: Vec<OutsiderTrouble>,
}

impl StressRound {
    /// Makes a round of at most this many troubles.
    fn drawn(round: u64, random: &mut SplitMix64, most: u64) -> StressRound {
        let network = NetworkTrouble::drawn(round, random);
        let directory = DirectoryTrouble::drawn(round, random)
            .into_iter()
            .take(most.saturating_sub(1) as usize)
            .collect();
        let program = (most > 3).then(|| ProgramTrouble::in_round(round));
        let guests = OutsiderTrouble::drawn(round, random)
            .into_iter()
            .take(most.saturating_sub(4) as usize)
            .collect();
        StressRound {
            network,
            directory,
            program,
            guests,
        }
    }

    fn counted_as(&self) -> Vec<&'static str> {
        let others = self
            .directory
            .iter()
            .map(DirectoryTrouble::counted_as)
            .chain(self.program.iter().map(ProgramTrouble::counted_as));
        [self.network.counted_as()]
            .into_iter()
            .chain(others)
            .chain(self.guests.iter().map(OutsiderTrouble::counted_as))
            .collect()
    }

    /// Causes all troubles, waits until the jobs have gone on, and repairs the troubles that do not
    /// pass by themselves.
    fn go_through(
        &self,
        what: &str,
        cluster: &mut StressCluster,
        running: &[RunningJob],
        programs: &mut RunningPrograms,
        random: &mut SplitMix64,
    ) {
        if let Some(program) = self.program {
            programs.begin(cluster, program);
        }
        let mut held = Vec::new();
        // A controller that is dead sees nothing of the network's trouble.
        for guest in self
            .guests
            .iter()
            .filter(|guest| kills(guest))
            .chain(self.guests.iter().filter(|guest| !kills(guest)))
        {
            held.push(guest.cause(cluster, random));
        }
        programs.have_begun();
        for directory in &self.directory {
            directory.cause(cluster, random);
        }
        self.network.cause(cluster);
        all_go_on(what, running);
        if NetworkTrouble::repair(cluster) {
            all_go_on(&format!("{what}: the trunk is back"), running);
        }
        for directory in &self.directory {
            directory.repair(cluster);
        }
        for guest in &self.guests {
            guest.repair(cluster);
        }
        wait(
            &format!("{what}: an epoch of the cables as they are"),
            running,
            || cluster.is_published(),
        );
        wait(
            &format!("{what}: an answer of the controller"),
            running,
            || cluster.is_well(),
        );
        drop(held);
    }
}

fn kills(guest: &OutsiderTrouble) -> bool {
    matches!(guest, OutsiderTrouble::Killed)
}

/// Waits until the jobs follow the current epoch.
fn all_follow(cluster: &StressCluster, running: &[RunningJob]) {
    wait("all communicators on the current epoch", running, || {
        cluster.is_followed(running.len())
    });
}

/// The rounds of a stress test, and their troubles so far.
struct StressRun {
    cluster: StressCluster,
    running: Vec<RunningJob>,
    programs: RunningPrograms,
    began: Instant,
    counts: BTreeMap<&'static str, u32>,
    /// The number of troubles.
    done: u64,
}

impl StressRun {
    /// Brings up the lab, and jobs that all follow its first epoch.
    fn begin(cluster: StressCluster, kinds: &[JobKind]) -> StressRun {
        let running: Vec<RunningJob> = kinds
            .iter()
            .map(|kind| RunningJob::lasting(&cluster, *kind))
            .collect();
        wait("the first calls", &running, || {
            running.iter().all(|job| job.calls() > 0)
        });
        all_follow(&cluster, &running);
        StressRun {
            cluster,
            running,
            programs: RunningPrograms::default(),
            began: Instant::now(),
            counts: BTreeMap::new(),
            done: 0,
        }
    }

    /// Goes through a round. Troubles beyond the number that is left are left out.
    fn go_through(&mut self, round: u64, seed: u64, troubles: u64) {
        // The numbers of a round do not depend on the rounds before it.
        let mut random = SplitMix64::new(seed.wrapping_add(round << 32));
        let together = StressRound::drawn(round, &mut random, troubles - self.done);
        let what = format!("round {round} of seed {seed}: {together:?}");
        let before = self.began.elapsed();
        println!("{what}");
        together.go_through(
            &what,
            &mut self.cluster,
            &self.running,
            &mut self.programs,
            &mut random,
        );
        self.programs.end_some();
        for name in together.counted_as() {
            *self.counts.entry(name).or_default() += 1;
            self.done += 1;
        }
        if round % 5 == 4 || self.done == troubles {
            all_follow(&self.cluster, &self.running);
        }
        println!(
            "    {:.1} s, epoch {}, {} troubles in {:.0} s",
            (self.began.elapsed() - before).as_secs_f64(),
            self.cluster.epoch(),
            self.done,
            self.began.elapsed().as_secs_f64()
        );
    }

    /// Ends the jobs, and insists that all is well.
    fn end(mut self, watcher: EpochWatcher) {
        self.programs.end_all();
        let lasted = self.began.elapsed();
        let calls: u64 = self.running.into_iter().map(end_lasting).sum();
        lineage::check(&self.cluster, watcher);
        self.counts
            .iter()
            .for_each(|(name, count)| println!("{count:5} {name}"));
        println!(
            "{} troubles in {:.0} s: {} epochs, {calls} calls of the lasting jobs, {} \
             communicators beside",
            self.done,
            lasted.as_secs_f64(),
            self.cluster.epoch(),
            self.programs.communicators
        );
    }
}

/// Ends a job, which must have met troubles and followed several epochs. Returns its calls.
fn end_lasting(job: RunningJob) -> u64 {
    job.tell_to_end();
    let ended = job.end();
    println!("{}", ended.line);
    assert!(
        ended.output.contains(" without progress: rank "),
        "the watchdog printed nothing: {}",
        ended.output
    );
    assert!(
        ended
            .output
            .lines()
            .filter(|line| line.contains("heddle: follows epoch ")
                && line.contains(", 4 ranks on 4 hosts"))
            .count()
            > 1,
        "{} followed no second epoch: {}",
        ended.line,
        ended.output
    );
    ended.calls
}

#[test]
fn jobs_epochs_and_bytes_outlive_whatever_fails_floods_freezes_or_lies() {
    let (troubles, seed) = (number("STRESS_TROUBLES", FEW), number("STRESS_SEED", 1));
    let cluster = StressCluster::up(RING);
    let watcher = EpochWatcher::new(cluster.shared.path());
    let kinds: &[JobKind] = if troubles > FEW { &ALL } else { &SHORT };
    let mut run = StressRun::begin(cluster, kinds);
    for round in 0.. {
        run.go_through(round, seed, troubles);
        if run.done == troubles {
            break;
        }
    }
    run.end(watcher);
}
