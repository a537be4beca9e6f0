//! The rounds of a measurement: how long each lasts, and when to stop.
use crate::{FlowCoordinator, FlowError};
use inventory::{BitsPerSec, Bytes};
use mapping::{HostFlow, MapSession, MappedTree};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// The probability from which a trunk is believed.
pub const BELIEVED: f64 = 0.99;
/// A tree that leaves more of the flows unexplained is no tree.
const MOST_UNEXPLAINED: f64 = 0.3;
/// Bytes of a flow that has a cable to itself: more than a switch holds back, and enough frames to
/// tell a rate.
const BYTES_OF_A_FLOW: f64 = 160_000.0;
/// The time of a round: not so short that the start of its flows matters.
const SHORTEST_ROUND: Duration = Duration::from_millis(5);
const LONGEST_ROUND: Duration = Duration::from_millis(200);
/// Rounds without which no tree is believed.
const LEAST_ROUNDS: usize = 28;
/// Octets on the wire for one of payload: 1538 for 1448 (IEEE 802.3 clause 4, RFC 7323).
const WIRE: f64 = 1538.0 / 1448.0;

/// What a measurement may cost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeasurementLimits {
    /// Bytes on the network.
    pub budget: Bytes,
    /// Time.
    pub time: Duration,
    /// The part of the time in which flows may run, from 0 to 1.
    pub share: f64,
}

/// What was found so far, and its cost.
#[derive(Debug, Clone, PartialEq)]
pub struct FlowMeasurement {
    /// The tree.
    pub tree: MappedTree,
    /// The bytes that were moved.
    pub moved: Bytes,
    /// The time that it took.
    pub took: Duration,
    /// The probability of the tree beside those one change away.
    pub believed: f64,
}

/// Why a measurement stopped before it told a tree.
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
        /// The budget.
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
    /// What was measured by then, if any round was.
    pub measured: Option<FlowMeasurement>,
    /// The reason.
    pub error: MeasurementError,
}

impl FlowMeasurement {
    /// True if the tree explains enough of what was measured.
    pub fn fits_a_tree(&self) -> bool {
        self.tree.unexplained <= MOST_UNEXPLAINED
    }
}

/// Measures until the tree is known or the limits are spent. `goes_on` is called before each round
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
    let plan = RoundPlan::within(limits.budget, coordinator);
    let RoundPlan {
        window,
        rounds,
        rate,
    } = match plan {
        Ok(plan) => plan,
        Err(error) => {
            let measured = None;
            return Err(Box::new(StoppedMeasurement { measured, error }));
        }
    };
    let mut session = MapSession::new(coordinator.hosts(), rounds);
    let mut random = fastrand::Rng::new();
    let mut done = 0;
    let stopped = loop {
        if goes_on(done, Bytes(coordinator.moved() as u64)).is_break() {
            break Some(MeasurementError::Ended);
        }
        if start.elapsed() > limits.time {
            let too_few = session.rounds_together() < LEAST_ROUNDS;
            break too_few.then_some(MeasurementError::TimeShort(limits.time));
        }
        if coordinator.moved() >= limits.budget.0 as f64 {
            break too_few_for(limits.budget, coordinator, &session, rate);
        }
        let Some(flows) = session.next_round(&mut random) else {
            break None;
        };
        let (began, flowed) = (Instant::now(), coordinator.flowed());
        match coordinator.measure(&flows, window) {
            Ok(round) => {
                done += 1;
                coordinator.keep(&round);
                session.record(round);
            }
            Err(error) => break Some(error.into()),
        }
        rest(began, coordinator.flowed() - flowed, limits.share);
    };
    let measured = FlowMeasurement {
        tree: session.tree(),
        believed: session.believed(),
        moved: Bytes(coordinator.moved() as u64),
        took: start.elapsed(),
    };
    match stopped {
        None => Ok(measured),
        Some(error) => {
            let measured = Some(measured);
            Err(Box::new(StoppedMeasurement { measured, error }))
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
}

impl RoundPlan {
    fn within(
        budget: Bytes,
        coordinator: &mut FlowCoordinator,
    ) -> Result<RoundPlan, MeasurementError> {
        let hosts = coordinator.hosts();
        // The first flow tells the order of the rates.
        let first = coordinator.measure(&[HostFlow { from: 0, to: 1 }], SHORTEST_ROUND * 2)?;
        let rate = first.flows[0].rate.max(1e6);
        let window = Duration::from_secs_f64(BYTES_OF_A_FLOW * 8.0 / rate);
        let window = window.clamp(SHORTEST_ROUND, LONGEST_ROUND);
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
        })
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
