//! The rounds of a map: how long each lasts, and when to stop.
use crate::job_hosts::MapHost;
use crate::kept_rounds::{self, RoundsFile};
use anyhow::{Context, bail};
use flows::{FlowCoordinator, SessionKey};
use inventory::Bytes;
use mapping::{HostFlow, MapSession, MappedTree, MeasuredRound};
use signal_hook::consts::{SIGINT, SIGTERM};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// What a measurement may cost.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MapLimits {
    /// Bytes on the network.
    pub(crate) budget: Bytes,
    /// Time.
    pub(crate) time: Duration,
}

/// What a measurement did cost.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MapCost {
    pub(crate) moved: Bytes,
    pub(crate) took: Duration,
}

/// What was found, and its cost.
pub(crate) struct MapMeasurement {
    pub(crate) tree: MappedTree,
    /// `None` if others measured it.
    pub(crate) cost: Option<MapCost>,
    /// The probability of the tree beside those one change away.
    pub(crate) believed: f64,
}

/// Bytes of a flow that has a cable to itself: more than a switch holds back, and enough frames to
/// tell a rate.
const BYTES_OF_A_FLOW: f64 = 160_000.0;
/// The time of a round: not so short that the start of its flows matters.
const SHORTEST_ROUND: Duration = Duration::from_millis(5);
const LONGEST_ROUND: Duration = Duration::from_millis(200);
/// Rounds without which no tree is believed.
const LEAST_ROUNDS: usize = 28;

/// Measures until the tree is known or the limits are spent.
///
/// # Errors
/// If a host does not take part, or the budget does not suffice for the least rounds.
pub(crate) fn run(
    hosts: &[MapHost],
    key: &SessionKey,
    limits: MapLimits,
    output: &Path,
) -> anyhow::Result<MapMeasurement> {
    let start = Instant::now();
    let ended = Arc::new(AtomicBool::new(false));
    for signal in [SIGTERM, SIGINT] {
        signal_hook::flag::register(signal, ended.clone()).context("no handler of signals")?;
    }
    let kept_at = kept_rounds::path_beside(output);
    let mut kept = RoundsFile::create(kept_at.clone(), hosts)?;
    let peers: Vec<_> = hosts.iter().map(|h| (h.name.clone(), h.address)).collect();
    let mut coordinator = FlowCoordinator::connect(&peers, key)?;
    let (window, rounds) = rounds_within(limits.budget, hosts.len(), &mut coordinator)?;
    let mut session = MapSession::new(hosts.len(), rounds);
    let mut random = fastrand::Rng::new();
    let mut moved = 0.0;
    let stopped = loop {
        if ended.load(Ordering::Relaxed) {
            break Some(anyhow::anyhow!("the job was ended"));
        }
        if start.elapsed() > limits.time {
            let enough = session.rounds_together() >= LEAST_ROUNDS;
            break (!enough).then(|| {
                let seconds = limits.time.as_secs_f64();
                anyhow::anyhow!("{seconds} s do not suffice; give --seconds a higher number")
            });
        }
        let Some(flows) = session.next_round(&mut random) else {
            break None;
        };
        match coordinator.measure(&flows, window) {
            Ok(round) => {
                let bits: f64 = round.flows.iter().map(|f| f.rate).sum();
                moved += bits / 8.0 * window.as_secs_f64();
                kept.add(&round)?;
                session.record(round);
            }
            Err(error) => break Some(error.into()),
        }
    };
    let measurement = MapMeasurement {
        tree: session.tree(),
        believed: session.believed(),
        cost: Some(MapCost {
            moved: Bytes(moved as u64),
            took: start.elapsed(),
        }),
    };
    match stopped {
        None => Ok(measurement),
        Some(error) if measurement.tree.own_rates.is_empty() => Err(error.context(format!(
            "stopped after {} rounds, too few to tell a tree",
            measurement.tree.rounds
        ))),
        Some(error) => Err(error.context(format!(
            "stopped after {} rounds; what they tell: heddle map --from {} -o {}",
            measurement.tree.rounds,
            kept_at.display(),
            output.display()
        ))),
    }
}

/// What rounds tell that were measured before.
pub(crate) fn again(hosts: &[MapHost], rounds: Vec<MeasuredRound>) -> MapMeasurement {
    let mut session = MapSession::new(hosts.len(), rounds.len());
    rounds.into_iter().for_each(|round| session.record(round));
    MapMeasurement {
        tree: session.tree(),
        cost: None,
        believed: session.believed(),
    }
}

/// How long a round lasts, and how many the budget holds beside the flows of each host alone, which
/// are as many bytes as one round.
fn rounds_within(
    budget: Bytes,
    hosts: usize,
    coordinator: &mut FlowCoordinator,
) -> anyhow::Result<(Duration, usize)> {
    // The first flow tells the order of the rates.
    let first = coordinator.measure(&[HostFlow { from: 0, to: 1 }], SHORTEST_ROUND * 2)?;
    let rate = first.flows[0].rate.max(1e6);
    let window = Duration::from_secs_f64(BYTES_OF_A_FLOW * 8.0 / rate);
    let window = window.clamp(SHORTEST_ROUND, LONGEST_ROUND);
    let round = rate / 8.0 * window.as_secs_f64() * hosts as f64;
    let rounds = (budget.0 as f64 / round) as usize;
    if rounds <= LEAST_ROUNDS {
        bail!(
            "a budget of {budget} is too small for {hosts} hosts at {:.0} Mbit/s; give --budget \
             {:.0}M or more",
            rate / 1e6,
            (round * (LEAST_ROUNDS + 1) as f64 / f64::from(1 << 20)).ceil()
        );
    }
    Ok((window, rounds - 1))
}
