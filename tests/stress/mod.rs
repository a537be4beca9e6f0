//! Cables move, switches fail, the shared directory freezes or is seen wrong, the controller is
//! flooded, lied to and killed, and programs ask for more than there is: all at once, under MPI
//! jobs of the lab that check every byte. Nothing may hang, no byte may be wrong, no epoch may be
//! lost, and each time the cables as they are become an epoch, which in the end every job follows.
//!
//! A round has a trouble of the network, two of the directory, one of a program of its own and two
//! or four of guests. What meets whom is given by the round and `STRESS_SEED`. `make stress` runs
//! it long, over both MPI libraries and both data paths at once. Needs root.
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

/// What is part of `make test`: one of each family.
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

/// Every job must have gone on by so many calls after a trouble, within the limit, else it hangs. A
/// cable that comes back carries after four seconds of spanning tree, and TCP tries again after as
/// long as it has waited.
const CALLS: u64 = 20;
const HANGS: Duration = Duration::from_secs(120);

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).map_or(default, |text| {
        text.parse()
            .unwrap_or_else(|_| panic!("{variable}={text}: expected a number"))
    })
}

/// Waits until it is so, for as long as a job may take to go on.
fn wait(what: &str, running: &[RunningJob], so: impl Fn() -> bool) {
    let began = Instant::now();
    while !so() {
        let said = || running.iter().map(RunningJob::said).collect::<String>();
        assert!(
            began.elapsed() < HANGS,
            "{what}: not within {} s\n{}",
            HANGS.as_secs(),
            said()
        );
        for job in running {
            assert!(
                !job.has_ended(),
                "{what}: {} has ended\n{}",
                job.name,
                said()
            );
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Until every job has gone on.
fn all_go_on(what: &str, running: &[RunningJob]) {
    let before: Vec<u64> = running.iter().map(RunningJob::calls).collect();
    wait(what, running, || {
        running
            .iter()
            .zip(&before)
            .all(|(job, before)| job.calls() >= before + CALLS)
    });
}

/// What happens side by side; in the last round some of it may be left out.
#[derive(Debug)]
struct StressRound {
    network: NetworkTrouble,
    directory: Vec<DirectoryTrouble>,
    program: Option<ProgramTrouble>,
    guests: Vec<OutsiderTrouble>,
}

impl StressRound {
    /// Of so many troubles at most.
    fn of(round: u64, random: &mut SplitMix64, most: u64) -> StressRound {
        let network = NetworkTrouble::of(round, random);
        let directory = DirectoryTrouble::of(round, random)
            .into_iter()
            .take(most.saturating_sub(1) as usize)
            .collect();
        let program = (most > 3).then(|| ProgramTrouble::of(round));
        let guests = OutsiderTrouble::of(round, random)
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

    /// Causes all of it, waits until the jobs have gone on, and repairs what must be.
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
        let kills = |guest: &OutsiderTrouble| matches!(guest, OutsiderTrouble::Killed);
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

#[test]
fn jobs_epochs_and_bytes_outlive_whatever_fails_floods_freezes_or_lies() {
    let (troubles, seed) = (number("STRESS_TROUBLES", FEW), number("STRESS_SEED", 1));
    let mut cluster = StressCluster::up(RING);
    let watcher = EpochWatcher::new(cluster.shared.path());
    let kinds: &[JobKind] = if troubles > FEW { &ALL } else { &SHORT };
    let running: Vec<RunningJob> = kinds
        .iter()
        .map(|kind| RunningJob::lasting(&cluster, *kind))
        .collect();
    wait("the first calls", &running, || {
        running.iter().all(|job| job.calls() > 0)
    });
    let settled = |cluster: &StressCluster| {
        wait("all communicators on the current epoch", &running, || {
            cluster.is_followed(running.len())
        })
    };
    settled(&cluster);

    let (began, mut programs, mut counts, mut done) = (
        Instant::now(),
        RunningPrograms::default(),
        BTreeMap::<&str, u32>::new(),
        0,
    );
    for round in 0.. {
        // A round's own numbers, whatever the ones before it took.
        let mut random = SplitMix64::new(seed.wrapping_add(round << 32));
        let together = StressRound::of(round, &mut random, troubles - done);
        let (what, before) = (
            format!("round {round} of seed {seed}: {together:?}"),
            began.elapsed(),
        );
        println!("{what}");
        together.go_through(&what, &mut cluster, &running, &mut programs, &mut random);
        programs.end_some();
        together
            .counted_as()
            .into_iter()
            .for_each(|name| *counts.entry(name).or_default() += 1);
        done += together.counted_as().len() as u64;
        if round % 5 == 4 || done == troubles {
            settled(&cluster);
        }
        println!(
            "    {:.1} s, epoch {}, {done} troubles in {:.0} s",
            (began.elapsed() - before).as_secs_f64(),
            cluster.epoch(),
            began.elapsed().as_secs_f64()
        );
        if done == troubles {
            break;
        }
    }
    programs.end_all();
    let lasted = began.elapsed();
    let mut calls = 0;
    for job in running {
        job.tell_to_end();
        let ended = job.end();
        println!("{}", ended.line);
        calls += ended.calls;
        assert!(
            ended.said.contains(" without progress: rank "),
            "the watchdog said nothing: {}",
            ended.said
        );
        let follows = |line: &&str| {
            line.contains("heddle: follows epoch ") && line.contains(", 4 ranks on 4 hosts")
        };
        assert!(
            ended.said.lines().filter(follows).count() > 1,
            "{} followed no second epoch: {}",
            ended.line,
            ended.said
        );
    }
    lineage::check(&cluster, watcher);
    counts
        .iter()
        .for_each(|(name, count)| println!("{count:5} {name}"));
    let (epochs, communicators) = (cluster.epoch(), programs.communicators);
    println!(
        "{done} troubles in {:.0} s: {epochs} epochs, {calls} calls of the lasting jobs, \
         {communicators} communicators beside",
        lasted.as_secs_f64()
    );
}
