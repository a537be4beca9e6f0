//! What is sent, and what each message waits for: a schedule without its reasons.
use inventory::Bytes;

/// Number of a message or barrier in its [`SimulatedTraffic`], in the order they were added.
pub type StepNumber = u32;

/// How a step learns that the one it waits for is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitKind {
    /// At once: both are the same host's affair, or what was sent is what is sent on.
    Order,
    /// Another host tells.
    Token,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TrafficStep {
    Send { src: u32, dst: u32, bytes: u64 },
    Barrier,
}

/// Messages between hosts, barriers, and which of them wait for which. A message that waits for
/// nothing starts at once; one from a host to itself, or without bytes, takes no more than its
/// latency.
#[derive(Debug, Clone, Default)]
pub struct SimulatedTraffic {
    pub(super) steps: Vec<TrafficStep>,
    /// After, before, how.
    waits: Vec<(StepNumber, StepNumber, WaitKind)>,
}

/// For every step those that wait for it.
pub(super) struct StepSuccessors {
    first: Vec<u32>,
    pub(super) steps: Vec<(StepNumber, WaitKind)>,
}

impl StepSuccessors {
    pub(super) fn of(&self, step: StepNumber) -> std::ops::Range<usize> {
        self.first[step as usize] as usize..self.first[step as usize + 1] as usize
    }
}

impl SimulatedTraffic {
    /// Nothing yet.
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

    /// Adds a barrier: it waits for what it is told to, and takes [`super::SimulationModel::token`]
    /// for each of its log2(hosts) rounds.
    pub fn barrier(&mut self) -> StepNumber {
        self.steps.push(TrafficStep::Barrier);
        self.steps.len() as StepNumber - 1
    }

    /// `before` does not start until `after` is over.
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
