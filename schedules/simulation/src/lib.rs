//! The time that traffic takes: messages as flows that share every cable fairly.
//!
//! Source: max-min fairness by progressive filling (Bertsekas and Gallager, Data Networks, section
//! 6.5.2); alpha and beta as in contention-signature section 3; the contention penalty is this
//! project's reading of that paper's gamma. Input: a
//! tree with its rates, [`SimulatedTraffic`] (messages and what each waits for), a
//! [`SimulationModel`]. Guarantee: no edge ever carries more than its rate, so no run is faster
//! than the bottleneck edge allows ([`schedules::bound::alltoall_seconds`]); equal input gives an
//! Cost: O(batches * active messages * path length), where a batch is the messages that end
//! together. Memory O(messages + active messages * path length). Deviations: a real network carries
//! packets and TCP, not fluids. Slow start, retransmission timeouts and the unfairness of short
//! flows are left to the penalty. Messages that end within [`SimulationModel::tolerance`] of each
//! other end together, so the earlier ones end late.
//!
//! | module | one idea |
//! |---|---|
//! | `fair` | cables shared by all that cross them |
//! | [`planned`] | what schedules send when |
//! | [`watched`] | whether measured rates contradict the tree of a plan |
mod fair;
pub mod planned;
mod traffic;
pub mod watched;

pub use traffic::{SimulatedTraffic, StepNumber, WaitKind};

use fair::{ActiveFlow, FlowNetwork};
use inventory::Tree;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use traffic::{StepSuccessors, TrafficStep};

/// The costs of the network and the hosts besides the cables' rates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SimulationModel {
    /// Seconds from the start of a message to its first octet: the papers' alpha.
    pub latency: f64,
    /// Seconds until a waiting host has a token. Each round of a dissemination barrier takes as
    /// long.
    pub token: f64,
    /// Share of its capacity, 0 to 1, that an oversubscribed edge loses. An edge is oversubscribed
    /// if the messages of several hosts together could arrive faster than it carries them, each
    /// message as fast as its path and its host allow. A host that sends no more messages at once
    /// than fit side by side ([`schedules::capacities::EdgeCapacities::from_tree`]) divides its rate among
    /// them.
    pub penalty: f64,
    /// Messages end together if their ends differ by at most this share of the first one's time;
    /// the earlier ones wait. Zero is exact.
    pub tolerance: f64,
}

impl Default for SimulationModel {
    /// An ideal network, in which only cables take time.
    fn default() -> Self {
        SimulationModel {
            latency: 0.0,
            token: 0.0,
            penalty: 0.0,
            tolerance: 0.01,
        }
    }
}

/// Messages that can never start because they wait for each other.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "message \"{src}\" -> \"{dst}\": waits for what comes after it, {left} steps never start; the \
     schedule deadlocks, check it with `heddle verify`"
)]
pub struct Deadlock {
    /// Sender of the first message that never starts.
    pub src: String,
    /// Receiver of that message.
    pub dst: String,
    /// Number of messages and barriers that never end.
    pub left: usize,
}

/// The times of all steps, in seconds from the start.
#[derive(Debug, Clone, PartialEq)]
pub struct Timeline {
    /// Time at which each step had nothing left to wait for, by [`StepNumber`].
    pub begun: Vec<f64>,
    /// Time at which each step ended.
    pub ended: Vec<f64>,
}

impl Timeline {
    /// Seconds until everything had ended.
    pub fn seconds(&self) -> f64 {
        self.ended.iter().copied().fold(0.0, f64::max)
    }
}

/// Plays `traffic` on the tree.
///
/// # Errors
/// [`Deadlock`], if steps wait for each other in a circle.
pub fn run(
    tree: &Tree,
    traffic: &SimulatedTraffic,
    model: &SimulationModel,
) -> Result<Timeline, Deadlock> {
    let mut run = SimulationRun::new(tree, traffic, model);
    run.play();
    match (0..traffic.steps.len())
        .find(|i| run.waits_for[*i] > 0 && matches!(traffic.steps[*i], TrafficStep::Send { .. }))
        .map(|i| traffic.steps[i])
    {
        Some(TrafficStep::Send { src, dst, .. }) => {
            let left = run.waits_for.iter().filter(|&&n| n > 0).count();
            Err(Deadlock {
                src: tree.name(src).to_owned(),
                dst: tree.name(dst).to_owned(),
                left,
            })
        }
        _ => Ok(run.timeline),
    }
}

/// Ends that differ by less than this share of a message's time are rounding errors.
const ROUNDING: f64 = 1e-9;

struct SimulationRun<'a> {
    tree: &'a Tree,
    traffic: &'a SimulatedTraffic,
    model: &'a SimulationModel,
    network: FlowNetwork,
    successors: StepSuccessors,
    /// Number of steps that each step still waits for.
    waits_for: Vec<u32>,
    timeline: Timeline,
    now: f64,
    /// Steps that put a message on the wire, or end, at a later time.
    timers: BinaryHeap<Reverse<(SortableSeconds, StepNumber)>>,
    /// Steps that do so now.
    due: Vec<StepNumber>,
    /// Flows on the wire.
    active: Vec<ActiveFlow>,
}

/// A time that can be sorted: it is never negative and never NaN.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct SortableSeconds(u64);

impl SortableSeconds {
    fn new(seconds: f64) -> Self {
        SortableSeconds(seconds.max(0.0).to_bits())
    }

    fn get(self) -> f64 {
        f64::from_bits(self.0)
    }
}

impl<'a> SimulationRun<'a> {
    fn new(tree: &'a Tree, traffic: &'a SimulatedTraffic, model: &'a SimulationModel) -> Self {
        let (steps, waits_for) = (traffic.steps.len(), traffic.waits_for());
        let mut run = SimulationRun {
            tree,
            traffic,
            model,
            network: FlowNetwork::new(tree, model.penalty),
            successors: traffic.successors(),
            timeline: Timeline {
                begun: vec![0.0; steps],
                ended: vec![0.0; steps],
            },
            now: 0.0,
            timers: BinaryHeap::new(),
            due: Vec::new(),
            active: Vec::new(),
            waits_for,
        };
        (0..steps as StepNumber)
            .filter(|&s| run.waits_for[s as usize] == 0)
            .collect::<Vec<_>>()
            .into_iter()
            .for_each(|s| run.begin(s));
        run
    }

    fn play(&mut self) {
        loop {
            self.fire();
            if let Some(wire) = self.until_an_end() {
                self.advance(wire);
            } else if let Some(Reverse((at, _))) = self.timers.peek() {
                self.now = at.get();
            } else {
                return;
            }
        }
    }

    /// Starts a step that waits for nothing any more.
    fn begin(&mut self, step: StepNumber) {
        let begun = self.timeline.begun[step as usize];
        let at = begun
            + match self.traffic.steps[step as usize] {
                TrafficStep::Send { .. } => self.model.latency,
                TrafficStep::Barrier => {
                    // A dissemination barrier has ceil(log2 n) rounds (Hensgen, Finkel, Manber 1988).
                    self.model.token
                        * f64::from(self.tree.hosts().next_power_of_two().trailing_zeros())
                }
            };
        if at <= self.now {
            self.due.push(step)
        } else {
            self.timers.push(Reverse((SortableSeconds::new(at), step)))
        }
    }

    /// Puts the due messages on the wire.
    fn fire(&mut self) {
        while let Some(&Reverse((at, step))) = self.timers.peek()
            // The time is a sum of steps, so that it may miss a timer by its last bit.
            && at.get() <= self.now * (1.0 + f64::EPSILON)
        {
            self.timers.pop();
            self.due.push(step);
        }
        while let Some(step) = self.due.pop() {
            match self.traffic.steps[step as usize] {
                TrafficStep::Send { src, dst, bytes } if bytes > 0 && src != dst => {
                    self.active.push(
                        self.network
                            .enter(self.tree, step, (src, dst), bytes as f64),
                    );
                }
                _ => self.end(step),
            }
        }
    }

    fn end(&mut self, step: StepNumber) {
        self.timeline.ended[step as usize] = self.now;
        for i in self.successors.range(step) {
            let (next, wait) = self.successors.steps[i];
            let known = self.now
                + if wait == WaitKind::Token {
                    self.model.token
                } else {
                    0.0
                };
            let begun = &mut self.timeline.begun[next as usize];
            *begun = begun.max(known);
            self.waits_for[next as usize] -= 1;
            if self.waits_for[next as usize] == 0 {
                self.begin(next);
            }
        }
    }

    /// Shares the cables anew and returns the time until a message ends or another one starts;
    /// `None` if the network is idle.
    fn until_an_end(&mut self) -> Option<f64> {
        self.network.share(&mut self.active);
        let ends = |flow: &ActiveFlow| flow.left / flow.rate;
        let first = self
            .active
            .iter()
            .min_by(|a, b| ends(a).total_cmp(&ends(b)))?;
        let timer = self
            .timers
            .peek()
            .map_or(f64::INFINITY, |Reverse((at, _))| at.get() - self.now);
        if timer < ends(first) {
            return Some(timer);
        }
        let took = self.now + ends(first) - self.timeline.begun[first.step as usize];
        let together = ends(first) + took * self.model.tolerance.max(ROUNDING);
        Some(
            self.active
                .iter()
                .map(ends)
                .filter(|&end| end <= together)
                .fold(ends(first), f64::max),
        )
    }

    /// Lets time pass. Messages that have nothing left to send end.
    fn advance(&mut self, seconds: f64) {
        self.now += seconds;
        let (network, mut over) = (&mut self.network, Vec::new());
        self.active.retain_mut(|flow| {
            let ends = flow.left / flow.rate;
            flow.left -= flow.rate * seconds;
            if ends <= seconds {
                network.leave(flow);
                over.push(flow.step);
            }
            ends > seconds
        });
        over.into_iter().for_each(|step| self.end(step));
    }
}

#[cfg(test)]
mod tests;
