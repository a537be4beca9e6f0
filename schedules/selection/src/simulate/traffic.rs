//! What is sent, and what each message waits for: a schedule without its reasons.
use inventory::Bytes;

/// Number of a message or barrier in its [`Traffic`], in the order they were added.
pub type Step = u32;

/// How a step learns that the one it waits for is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// At once: both are the same host's affair, or what was sent is what is sent on.
    Order,
    /// Another host tells.
    Token,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    Send { src: u32, dst: u32, bytes: u64 },
    Barrier,
}

/// Messages between hosts, barriers, and which of them wait for which. A message that waits for nothing starts at once; one
/// from a host to itself, or without bytes, takes no more than its latency.
#[derive(Debug, Clone, Default)]
pub struct Traffic {
    pub(super) steps: Vec<What>,
    /// After, before, how.
    waits: Vec<(Step, Step, Wait)>,
}

/// For every step those that wait for it.
pub(super) struct Successors {
    first: Vec<u32>,
    pub(super) steps: Vec<(Step, Wait)>,
}

impl Successors {
    pub(super) fn of(&self, step: Step) -> std::ops::Range<usize> {
        self.first[step as usize] as usize..self.first[step as usize + 1] as usize
    }
}

impl Traffic {
    /// Nothing yet.
    pub fn new() -> Self {
        Traffic::default()
    }

    /// Adds a message.
    pub fn send(&mut self, src: u32, dst: u32, bytes: Bytes) -> Step {
        self.steps.push(What::Send { src, dst, bytes: bytes.0 });
        self.steps.len() as Step - 1
    }

    /// Adds a barrier: it waits for what it is told to, and takes [`super::Model::token`] for each of its log2(hosts) rounds.
    pub fn barrier(&mut self) -> Step {
        self.steps.push(What::Barrier);
        self.steps.len() as Step - 1
    }

    /// `before` does not start until `after` is over.
    pub fn wait(&mut self, after: Step, before: Step, how: Wait) {
        self.waits.push((after, before, how));
    }

    /// Number of messages and barriers.
    pub fn steps(&self) -> usize {
        self.steps.len()
    }

    pub(super) fn waits_for(&self) -> Vec<u32> {
        let mut count = vec![0; self.steps.len()];
        self.waits.iter().for_each(|&(_, before, _)| count[before as usize] += 1);
        count
    }

    pub(super) fn successors(&self) -> Successors {
        let mut first = vec![0u32; self.steps.len() + 2];
        self.waits.iter().for_each(|&(after, ..)| first[after as usize + 2] += 1);
        (1..first.len()).for_each(|i| first[i] += first[i - 1]);
        let mut steps = vec![(0, Wait::Order); self.waits.len()];
        for &(after, before, how) in &self.waits {
            let place = &mut first[after as usize + 1];
            steps[*place as usize] = (before, how);
            *place += 1;
        }
        first.pop();
        Successors { first, steps }
    }
}
