//! Cables move, switches fail, a host's view of the shared directory breaks and the controller dies, all under MPI jobs of the lab that
//! check every byte. Nothing may hang, no byte may be wrong, and in the end every job follows the epoch of the cables as they are.
//!
//! `make stress` runs it long, over both MPI libraries and both data paths at once. Needs root.
#[path = "../common/mod.rs"]
mod common;
#[allow(dead_code)]
#[path = "../common/job.rs"]
mod job;
mod jobs;
#[path = "../common/runtime.rs"]
mod runtime;
mod troubles;
mod views;

use jobs::Running;
use schedules::random::Random;
use std::time::{Duration, Instant};
use troubles::{Cluster, Trouble};

/// A ring of switches, so that one link is blocked until it is needed.
const RING: &str = "switches: [s0, s1, s2]
hosts: {n0: {switch: s0, rate: 50M}, n1: {switch: s1, rate: 50M}, n2: {switch: s2, rate: 50M}, n3: {switch: s0, rate: 50M}}
links: [{a: s0, b: s1, rate: 50M}, {a: s0, b: s2, rate: 50M}, {a: s1, b: s2, rate: 50M, state: blocked}]
";

/// MPI library and forced ways of a job.
type Kind = (&'static str, &'static str);
const SHORT: [Kind; 2] = [("openmpi", "aapc,ring,tcp"), ("mpich", "aapc,ring")];
const ALL: [Kind; 4] = [("openmpi", "aapc,ring"), ("openmpi", "aapc,ring,tcp"), ("mpich", "aapc,ring"), ("mpich", "aapc,ring,tcp")];

/// Every job must have gone on by so many calls after a trouble, within the limit, else it hangs. A cable that comes back carries
/// after four seconds of spanning tree, and TCP tries again after as long as it has waited.
const CALLS: u64 = 20;
const HANGS: Duration = Duration::from_secs(120);

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{variable}={text}: expected a number")))
}

/// Waits until it is so, for as long as a job may take to go on.
fn wait(what: &str, running: &[Running], so: impl Fn() -> bool) {
    let began = Instant::now();
    while !so() {
        let said = || running.iter().map(Running::said).collect::<String>();
        assert!(began.elapsed() < HANGS, "{what}: not within {} s\n{}", HANGS.as_secs(), said());
        for job in running {
            assert!(!job.has_ended(), "{what}: {} has ended\n{}", job.name, said());
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Until every job has gone on.
fn all_go_on(what: &str, running: &[Running]) {
    let before: Vec<u64> = running.iter().map(Running::calls).collect();
    wait(what, running, || running.iter().zip(&before).all(|(job, before)| job.calls() >= before + CALLS));
}

#[test]
fn jobs_outlive_moved_cables_failed_switches_broken_views_and_a_dead_controller() {
    let (troubles, seed) = (number("STRESS_TROUBLES", 4), number("STRESS_SEED", 1));
    let mut random = Random::new(seed);
    let mut cluster = Cluster::up(RING);
    let kinds: &[Kind] = if troubles > 4 { &ALL } else { &SHORT };
    let running: Vec<Running> = kinds.iter().map(|kind| Running::start(&cluster, *kind)).collect();
    wait("the first calls", &running, || running.iter().all(|job| job.calls() > 0));
    let settled = |cluster: &Cluster| wait("all communicators on the current epoch", &running, || cluster.is_followed(running.len()));
    settled(&cluster);

    let began = Instant::now();
    for round in 0..troubles {
        cluster.break_a_view(round, &mut random);
        if round % 4 == 1 {
            cluster.kill_controller();
        }
        let trouble = Trouble::number(round, &mut random);
        cluster.cause(&trouble);
        all_go_on(&format!("{trouble:?}, number {round} of seed {seed}"), &running);
        if cluster.repair() {
            all_go_on("the cable is back", &running);
        }
        if round % 5 == 4 || round + 1 == troubles {
            settled(&cluster);
        }
    }
    let (lasted, epoch) = (began.elapsed(), cluster.epoch());
    println!("{}; {epoch} epochs in {:.0} s", cluster.caused, lasted.as_secs_f64());
    for job in running {
        let ended = job.end();
        println!("{}", ended.line);
        assert!(ended.line.ends_with(" 0 wrong"), "{}: {}", ended.line, ended.said);
        assert!(ended.said.contains(" without progress: rank "), "the watchdog said nothing: {}", ended.said);
        assert!(ended.followed > 1, "{} followed no second epoch: {}", ended.line, ended.said);
    }
}
