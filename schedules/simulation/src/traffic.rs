//! Messages, and the messages that each waits for: a schedule without its reasons.
use inventory::Bytes;

/// Number of a message or barrier in its [`SimulatedTraffic`], in the order they were added.
pub type StepNumber = u32;

/// The way in which a step learns that the step it waits for has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitKind {
    /// At once: both steps belong to the same host, or the block that was received is the one that
    /// is sent on.
    Order,
    /// By a token from another host.
    Token,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TrafficStep {
    Send { src: u32, dst: u32, bytes: u64 },
    Barrier,
}

/// Messages between hosts, barriers, and which of them wait for which. A message that waits for
/// nothing starts at once. A message from a host to itself, or without bytes, takes only its
/// latency.
#[derive(Debug, Clone, Default)]
pub struct SimulatedTraffic {
    pub(super) steps: Vec<TrafficStep>,
    /// The step that is waited for, the step that waits, and the kind of wait.
    waits: Vec<(StepNumber, StepNumber, WaitKind)>,
}

/// The steps that wait for each step.
pub(super) struct StepSuccessors {
    first: Vec<u32>,
    pub(super) steps: Vec<(StepNumber, WaitKind)>,
}

impl StepSuccessors {
    pub(super) fn range(&self, step: StepNumber) -> std::ops::Range<usize> {
        self.first[step as usize] as usize..self.first[step as usize + 1] as usize
    }
}

impl SimulatedTraffic {
    /// No traffic yet.
    pub fn new() -> Self {
        SimulatedTraffic::default()
    }

    /// Adds a message.
    pub fn send(&mut self, src: u32, dst: u32, bytes: Bytes) -> StepNumber {
        self.steps.push(TrafficStep::Send {
            src,
            dst,
            bytes: bytes.0,
        });
        self.steps.len() as StepNumber - 1
    }

    /// Adds a barrier. It waits for the steps that [`SimulatedTraffic::wait`] names, and takes
    /// [`super::SimulationModel::token`] for each of its log2(hosts) rounds.
    pub fn barrier(&mut self) -> StepNumber {
        self.steps.push(TrafficStep::Barrier);
        self.steps.len() as StepNumber - 1
    }

    /// Has `before` start only when `after` has ended.
    pub fn wait(&mut self, after: StepNumber, before: StepNumber, how: WaitKind) {
        self.waits.push((after, before, how));
    }

    /// Number of messages and barriers.
    pub fn steps(&self) -> usize {
        self.steps.len()
    }

    pub(super) fn waits_for(&self) -> Vec<u32> {
        let mut count = vec![0; self.steps.len()];
        self.waits
            .iter()
            .for_each(|&(_, before, _)| count[before as usize] += 1);
        count
    }

    pub(super) fn successors(&self) -> StepSuccessors {
        let mut first = vec![0u32; self.steps.len() + 2];
        self.waits
            .iter()
            .for_each(|&(after, ..)| first[after as usize + 2] += 1);
        (1..first.len()).for_each(|i| first[i] += first[i - 1]);
        let mut steps = vec![(0, WaitKind::Order); self.waits.len()];
        for &(after, before, how) in &self.waits {
            let place = &mut first[after as usize + 1];
            steps[*place as usize] = (before, how);
            *place += 1;
        }
        first.pop();
        StepSuccessors { first, steps }
    }
}
