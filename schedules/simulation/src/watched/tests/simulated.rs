//! Random trees, one moved cable, and rates as a busy cluster shows them.
use super::{WHOLE_SHARE, arrivals};
use crate::watched::expected::WatchedPlan;
use crate::watched::judge::{TreeSuspicion, judge};
use crate::watched::{BlockArrivals, SuspicionRow, suspects};
use inventory::TopologyFile;
use inventory::alarm::arguments::SuspectedMove;
use inventory::tree::Tree;
use std::f64::consts::TAU;
use std::fmt::Write;

/// Windows after the move: less than half a minute of a job.
const WINDOWS: usize = 6;

/// So many random trees; fewer where the code is not optimized.
const TREES: usize = if cfg!(debug_assertions) { 24 } else { 200 };

/// 6 to 20 hosts on 2 to 5 switches; trunks of the hosts' rate, or each 2 to 4 times as fast.
fn random_tree(rng: &mut fastrand::Rng) -> Tree {
    let (hosts, switches, equal) = (rng.usize(6..=20), rng.usize(2..=5), rng.bool());
    let names: Vec<String> = (0..switches).map(|s| format!("s{s}")).collect();
    let mut text = format!("switches: [{}]\nhosts:\n", names.join(", "));
    for host in 0..hosts {
        // Each switch has a host.
        let at = if host < switches {
            host
        } else {
            rng.usize(0..switches)
        };
        writeln!(text, "  n{host}: {{switch: s{at}, rate: 100M}}").unwrap();
    }
    text.push_str("links:\n");
    for switch in 1..switches {
        let (to, times) = (
            rng.usize(0..switch),
            if equal { 1 } else { rng.usize(2..=4) },
        );
        writeln!(text, "  - {{a: s{switch}, b: s{to}, rate: {times}00M}}").unwrap();
    }
    TopologyFile::parse("random", &text)
        .unwrap()
        .tree()
        .unwrap()
}

/// Other reasons for slow pairs, the same in all windows of a cluster.
struct OtherCauses {
    /// By pair: slower by this.
    odd: Vec<Vec<f64>>,
    /// By pair: 0 where blocks of a sender go in turn, 1 where they go at once.
    at_once: Vec<Vec<f64>>,
}

impl OtherCauses {
    /// A tenth of the pairs is slow for reasons of their own; in half of the clusters a host sends
    /// at a part of its rate, and in half other traffic takes a part of a way between two hosts.
    fn random(tree: &Tree, rng: &mut fastrand::Rng) -> OtherCauses {
        let hosts = tree.hosts() as usize;
        let mut odd = vec![vec![0.0; hosts]; hosts];
        for pair in odd.iter_mut().flatten() {
            if rng.f64() < 0.1 {
                *pair = (0.25 + 0.6 * rng.f64()).ln();
            }
        }
        if rng.bool() {
            let (slow, by) = (rng.usize(0..hosts), (0.4 + 0.4 * rng.f64()).ln());
            odd[slow].iter_mut().for_each(|pair| *pair += by);
        }
        if rng.bool() {
            let mut taken = vec![false; tree.edges() as usize];
            let (a, b) = (rng.u32(0..hosts as u32), rng.u32(0..hosts as u32));
            tree.path(a, b, |edge| taken[edge as usize] = true);
            let by = (0.4 + 0.4 * rng.f64()).ln();
            for (from, row) in odd.iter_mut().enumerate() {
                for (to, pair) in row.iter_mut().enumerate() {
                    let mut meets = false;
                    tree.path(from as u32, to as u32, |edge| meets |= taken[edge as usize]);
                    *pair += if meets { by } else { 0.0 };
                }
            }
        }
        let way = rng.usize(0..3);
        let mut share = || [0.0, 1.0, rng.f64()][way];
        let mut row = |_| (0..hosts).map(|_| share()).collect();
        OtherCauses {
            odd,
            at_once: (0..hosts).map(&mut row).collect(),
        }
    }
}

/// A window of blocks that follow the plan for the published tree, measured on the true one.
fn window(
    plan: &WatchedPlan,
    truth: &Tree,
    causes: &OtherCauses,
    rng: &mut fastrand::Rng,
) -> BlockArrivals {
    let hosts = truth.hosts() as usize;
    let mut shares = vec![vec![None; hosts]; hosts];
    let [in_turn, at_once] = plan.slowness(truth).unwrap();
    for ((message, in_turn), (_, at_once)) in in_turn.into_iter().zip(at_once) {
        let (from, to) = (message.src as usize, message.dst as usize);
        let slowness = in_turn + causes.at_once[from][to] * (at_once - in_turn);
        let noise = 0.08 * (-2.0 * rng.f64().max(1e-12).ln()).sqrt() * (TAU * rng.f64()).cos();
        let log = slowness.min(causes.odd[from][to]) + noise;
        shares[from][to] = Some((log.exp() * WHOLE_SHARE).min(1.05));
    }
    arrivals(hosts, |from, to| shares[from][to])
}

/// The suspicion of some windows together, and their number until it stood.
fn watched(tree: &Tree, truth: &Tree, rng: &mut fastrand::Rng) -> (Option<TreeSuspicion>, usize) {
    let ranks: Vec<u32> = (0..tree.hosts()).collect();
    let plan = WatchedPlan::new(tree, &ranks).unwrap();
    let causes = OtherCauses::random(truth, rng);
    let mut row = SuspicionRow::default();
    for number in 1..=WINDOWS {
        row.add(judge(tree, &ranks, &window(&plan, truth, &causes, rng)));
        if let Some(suspicion) = row.stands() {
            return (Some(suspicion.clone()), number);
        }
    }
    (None, WINDOWS)
}

/// Pairs that a move makes slower by a third and more.
fn felt(tree: &Tree, truth: &Tree) -> usize {
    let ranks: Vec<u32> = (0..tree.hosts()).collect();
    let plan = WatchedPlan::new(tree, &ranks).unwrap();
    let [slow, _] = plan.slowness(truth).unwrap();
    slow.iter().filter(|(_, slowness)| *slowness < -0.4).count()
}

/// Of 1,100 trees three were (docs/figures.md).
#[test]
fn hardly_any_right_tree_is_suspected() {
    let mut rng = fastrand::Rng::with_seed(16);
    let mut suspected = Vec::new();
    for _ in 0..TREES {
        let tree = random_tree(&mut rng);
        suspected.extend(watched(&tree, &tree, &mut rng).0);
    }
    assert!(suspected.len() * 100 <= TREES, "{suspected:?}");
}

/// Moves of hosts, and of trunks: how many were named, how many were taken for another one, and how
/// many there were.
#[derive(Debug, Default)]
struct MoveCount {
    named: usize,
    taken_for_another: usize,
    all: usize,
}

/// Moves that slow pairs down are noticed, and the cable is named, the surer the more pairs it
/// slows down. A move that slows none costs no schedule anything, and nothing notices it.
#[test]
fn moved_cables_are_named() {
    let mut rng = fastrand::Rng::with_seed(16);
    let [mut few, mut many, mut trunks] = [(); 3].map(|()| MoveCount::default());
    while few.all + many.all + trunks.all < TREES {
        let tree = random_tree(&mut rng);
        let hosts: Vec<u32> = (0..tree.hosts()).collect();
        let moves = suspects::moves(&tree, &hosts);
        let wants_host = rng.bool();
        let is_host = |m: &SuspectedMove| matches!(m, SuspectedMove::Host { .. });
        let moves: Vec<_> = moves.iter().filter(|m| is_host(m) == wants_host).collect();
        let Some(truth) = rng.choice(moves) else {
            continue;
        };
        let Some(moved) = suspects::moved(&tree, truth) else {
            continue;
        };
        let count = match (is_host(truth), felt(&tree, &moved)) {
            (_, 0..4) => continue,
            (true, 4..8) => &mut few,
            (true, _) => &mut many,
            (false, _) => &mut trunks,
        };
        count.all += 1;
        match watched(&tree, &moved, &mut rng).0 {
            Some(output) if output.best == *truth || output.others.contains(truth) => {
                count.named += 1
            }
            Some(_) => count.taken_for_another += 1,
            None => {}
        }
    }
    println!("4 to 7 slow pairs: {few:?}; more: {many:?}; trunks: {trunks:?}");
    let wrong = few.taken_for_another + many.taken_for_another + trunks.taken_for_another;
    assert!(wrong * 30 <= TREES, "{wrong}");
    assert!(many.named * 2 >= many.all && trunks.named * 10 >= trunks.all * 6);
}
