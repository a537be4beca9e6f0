//! The rounds of a measurement: how long each lasts, and when to stop.
use crate::{FlowCoordinator, FlowError};
use inventory::{BitsPerSec, Bytes};
use mapping::{HostFlow, MapSession, MappedTree, TreeMisfit};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// The probability from which a trunk is believed.
pub const BELIEVED: f64 = 0.99;
/// Where a tree leaves more of the flows unexplained, the network is not that tree.
const MOST_UNEXPLAINED: f64 = 0.2;
/// Bytes of a flow that has a cable to itself: more than a switch holds back, and enough frames to
/// tell a rate.
const BYTES_OF_A_FLOW: f64 = 160_000.0;
/// The time of a round: not so short that the start of its flows matters.
const SHORTEST_ROUND: Duration = Duration::from_millis(5);
const LONGEST_ROUND: Duration = Duration::from_millis(200);
/// How often the first flow is sent.
const FIRST_FLOWS: usize = 3;
/// Rounds without which no tree is believed.
const LEAST_ROUNDS: usize = 28;
/// Octets on the wire for one of payload: 1538 for 1448 (IEEE 802.3 clause 4, RFC 7323).
const WIRE: f64 = 1538.0 / 1448.0;

/// The most that a measurement may cost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeasurementLimits {
    /// Bytes on the network.
    pub budget: Bytes,
    pub time: Duration,
    /// The part of the time in which flows may run, from 0 to 1.
    pub share: f64,
}

/// The result so far, and its cost.
#[derive(Debug, Clone, PartialEq)]
pub struct FlowMeasurement {
    pub tree: MappedTree,
    /// The bytes that were sent.
    pub moved: Bytes,
    /// The time that it took.
    pub took: Duration,
    /// The probability of the tree beside those one change away.
    pub believed: f64,
}

/// Why a measurement stopped before it found a tree.
#[derive(Debug, thiserror::Error)]
pub enum MeasurementError {
    /// A host did not do its part.
    #[error(transparent)]
    Flow(#[from] FlowError),
    /// The budget does not hold the least rounds.
    #[error(
        "a budget of {budget} is too small for {hosts} hosts at {:.0} Mbit/s", .rate / 1e6
    )]
    BudgetSmall {
        budget: Bytes,
        /// The number of hosts.
        hosts: usize,
        /// The payload rate of a flow in bit/s.
        rate: f64,
        /// The budget that suffices.
        needed: Bytes,
    },
    /// The time does not hold the least rounds.
    #[error("{} s do not suffice", .0.as_secs_f64())]
    TimeShort(Duration),
    /// The caller ended it.
    #[error("the measurement was ended")]
    Ended,
}

/// A measurement that stopped early.
#[derive(Debug)]
pub struct StoppedMeasurement {
    /// The result of the rounds by then, if there were any.
    pub measured: Option<FlowMeasurement>,
    /// The bytes that were sent.
    pub moved: Bytes,
    /// The reason.
    pub error: MeasurementError,
}

impl StoppedMeasurement {
    fn after(
        measured: Option<FlowMeasurement>,
        coordinator: &FlowCoordinator,
        error: MeasurementError,
    ) -> StoppedMeasurement {
        StoppedMeasurement {
            measured,
            moved: Bytes(coordinator.moved() as u64),
            error,
        }
    }
}

/// A sign in the rates of flows that a network is not a tree.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum TreelessNetwork {
    /// See [`TreeMisfit::Steady`].
    #[error(
        "flows that were sent again were equally fast each time, and far from what the best tree \
         lets expect; so switches choose between cables by the addresses of hosts (aggregates, \
         several paths), or the way back is not the way there"
    )]
    Steady,
    /// See [`TreeMisfit::Changing`].
    #[error(
        "the same flows had other rates each time; so switches choose between cables for each flow \
         (aggregates, several paths), or there is other traffic"
    )]
    Changing,
    /// Much was slower, and nothing tells why: the part from 0 to 1.
    #[error(
        "{:.0} % of the flows were much slower than the best one lets expect; other traffic, \
         several paths between switches or aggregates that choose a cable by address do that",
        .0 * 100.0
    )]
    Slow(f64),
}

impl FlowMeasurement {
    fn since(start: Instant, session: &mut MapSession, coordinator: &FlowCoordinator) -> Self {
        FlowMeasurement {
            tree: session.tree(),
            moved: Bytes(coordinator.moved() as u64),
            took: start.elapsed(),
            believed: session.believed(),
        }
    }

    /// The reason why the network is not a tree, or does not seem to be one.
    pub fn treeless(&self) -> Option<TreelessNetwork> {
        match self.tree.misfit {
            Some(TreeMisfit::Steady) => Some(TreelessNetwork::Steady),
            Some(TreeMisfit::Changing) => Some(TreelessNetwork::Changing),
            None => (self.tree.unexplained > MOST_UNEXPLAINED)
                .then_some(TreelessNetwork::Slow(self.tree.unexplained)),
        }
    }
}

/// Measures until the tree is known or the limits are spent. `goes_on` is called before flows run,
/// with the rounds and the bytes so far.
///
/// # Errors
/// [`StoppedMeasurement`] if a host does not take part, the limits do not suffice for the least
/// rounds, or `goes_on` breaks.
pub fn measure_tree(
    coordinator: &mut FlowCoordinator,
    limits: MeasurementLimits,
    mut goes_on: impl FnMut(usize, Bytes) -> ControlFlow<()>,
) -> Result<FlowMeasurement, Box<StoppedMeasurement>> {
    let start = Instant::now();
    let mut stop = |rounds, coordinator: &FlowCoordinator| {
        if goes_on(rounds, Bytes(coordinator.moved() as u64)).is_break() {
            return Some(MeasurementError::Ended);
        }
        (start.elapsed() > limits.time).then_some(MeasurementError::TimeShort(limits.time))
    };
    let plan = RoundPlan::within(limits.budget, coordinator, |coordinator| {
        stop(0, coordinator)
    })
    .map_err(|error| StoppedMeasurement::after(None, coordinator, error))?;
    let mut session = MapSession::new(coordinator.hosts(), plan.rounds);
    let mut random = fastrand::Rng::new();
    let mut done = 0;
    // The flows of a round in which a host went.
    let mut again = None;
    let stopped = loop {
        match stop(done, coordinator) {
            None => {}
            Some(MeasurementError::TimeShort(_)) if session.rounds_together() >= LEAST_ROUNDS => {
                break None;
            }
            error => break error,
        }
        let dearest = coordinator.dearest();
        if coordinator.moved() + plan.round_bytes(dearest) > limits.budget.0 as f64 {
            break too_few_for(limits.budget, coordinator, &session, plan.rate);
        }
        let Some(flows) = again.take().or_else(|| session.next_round(&mut random)) else {
            break None;
        };
        let (began, flowed) = (Instant::now(), coordinator.flowed());
        let least = plan.least_bytes_after(session.rounds_together(), dearest);
        coordinator.do_again_within(limits.budget.0 as f64 - least);
        match coordinator.measure(&flows, plan.window) {
            Ok(None) => again = Some(flows),
            Ok(Some(round)) => {
                done += 1;
                coordinator.keep(&round);
                session.record(round);
            }
            Err(error) => break Some(error.into()),
        }
        rest(began, coordinator.flowed() - flowed, limits.share);
    };
    let measured = FlowMeasurement::since(start, &mut session, coordinator);
    match stopped {
        None => Ok(measured),
        Some(error) => {
            let measured = Some(measured);
            Err(StoppedMeasurement::after(measured, coordinator, error).into())
        }
    }
}

/// Leaves the rest of the time to others, after flows that ran so long since `began`.
fn rest(began: Instant, flowed: Duration, share: f64) {
    let whole = flowed.div_f64(share.clamp(0.001, 1.0));
    std::thread::sleep(whole.saturating_sub(began.elapsed()));
}

/// The error of a budget that is spent after too few rounds: hosts may be faster than the first
/// one, and rounds are done again.
fn too_few_for(
    budget: Bytes,
    coordinator: &FlowCoordinator,
    session: &MapSession,
    rate: f64,
) -> Option<MeasurementError> {
    let together = session.rounds_together();
    let each = coordinator.moved() / together.max(1) as f64;
    (together < LEAST_ROUNDS).then(|| MeasurementError::BudgetSmall {
        budget,
        hosts: coordinator.hosts(),
        rate,
        needed: Bytes((each * (LEAST_ROUNDS + 1) as f64).ceil() as u64),
    })
}

/// How long a round lasts, and how many the budget holds beside the flows of each host alone, which
/// are as many bytes as one round.
struct RoundPlan {
    window: Duration,
    rounds: usize,
    /// The payload rate of the first flow in bit/s.
    rate: f64,
    bytes: f64,
}

impl RoundPlan {
    fn within(
        budget: Bytes,
        coordinator: &mut FlowCoordinator,
        mut stop: impl FnMut(&FlowCoordinator) -> Option<MeasurementError>,
    ) -> Result<RoundPlan, MeasurementError> {
        let hosts = coordinator.hosts();
        // The first flow tells the order of the rates. A host that is busy for a moment seems slower,
        // and all rounds would last longer, and cost more.
        let mut rate = 1e6_f64;
        let mut firsts = 0;
        while firsts < FIRST_FLOWS {
            if let Some(error) = stop(coordinator) {
                return Err(error);
            }
            let first = coordinator.measure(&[HostFlow { from: 0, to: 1 }], SHORTEST_ROUND * 2)?;
            if let Some(first) = first {
                rate = rate.max(first.flows[0].rate);
                firsts += 1;
            }
        }
        let window = Duration::from_secs_f64(BYTES_OF_A_FLOW * 8.0 / rate)
            .clamp(SHORTEST_ROUND, LONGEST_ROUND);
        let round = rate / 8.0 * window.as_secs_f64() * hosts as f64;
        let rounds = (budget.0 as f64 / round) as usize;
        if rounds <= LEAST_ROUNDS {
            return Err(MeasurementError::BudgetSmall {
                budget,
                hosts,
                rate,
                needed: Bytes((round * (LEAST_ROUNDS + 1) as f64).ceil() as u64),
            });
        }
        Ok(RoundPlan {
            window,
            rounds: rounds - 1,
            rate,
            bytes: round,
        })
    }

    /// The bytes of a round: as many as planned, or as the dearest one took, because senders at a pace
    /// send more than their cables carry.
    fn round_bytes(&self, dearest: f64) -> f64 {
        self.bytes.max(dearest)
    }

    /// The bytes that the rest of the least rounds takes after so many, and the flows of each host
    /// alone.
    fn least_bytes_after(&self, rounds: usize, dearest: f64) -> f64 {
        (LEAST_ROUNDS + 1).saturating_sub(rounds) as f64 * self.round_bytes(dearest)
    }
}

/// The rate on the wire, as rates are sold where it is near one.
pub fn line_rate(payload: f64) -> BitsPerSec {
    let wire = payload * WIRE;
    let sold = [
        1, 10, 20, 100, 200, 1_000, 2_500, 5_000, 10_000, 20_000, 25_000, 40_000, 50_000, 100_000,
        200_000, 400_000,
    ];
    let near = sold
        .iter()
        .map(|mega| f64::from(*mega) * 1e6)
        .find(|r| (wire / r - 1.0).abs() < 0.08);
    let scale = 10f64.powf(wire.max(1.0).log10().floor() - 1.0);
    BitsPerSec(near.unwrap_or_else(|| (wire / scale).round() * scale) as u64)
}
