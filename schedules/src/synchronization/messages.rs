//! The messages of a schedule in the order of phases, and each sender's own order among them.
use crate::message::{Message, Synchronization};

/// No message.
pub(super) const NOBODY: u32 = u32::MAX;

/// Messages by number, in the order of phases.
pub(super) struct PhaseMessages {
    pub(super) all: Vec<Message>,
    /// By message: its phase.
    pub(super) phase: Vec<u32>,
}

impl PhaseMessages {
    pub(super) fn numbered(phases: &[Vec<Message>]) -> PhaseMessages {
        let count = phases.iter().map(Vec::len).sum();
        let mut messages = PhaseMessages {
            all: Vec::with_capacity(count),
            phase: Vec::with_capacity(count),
        };
        for (phase, of_phase) in phases.iter().enumerate() {
            messages.all.extend_from_slice(of_phase);
            messages.phase.resize(messages.all.len(), phase as u32);
        }
        messages
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// The messages in their order: number, ends, phase, and the number of the phase's first message.
    pub(super) fn in_order(&self) -> impl Iterator<Item = (u32, Message, u32, u32)> + '_ {
        let (mut start, mut of_start) = (0, NOBODY);
        let all = (0u32..).zip(self.all.iter().zip(&self.phase));
        all.map(move |(number, (&message, &phase))| {
            if phase != of_start {
                (start, of_start) = (number, phase);
            }
            (number, message, phase, start)
        })
    }

    pub(super) fn src(&self, message: u32) -> u32 {
        self.all[message as usize].src
    }

    pub(super) fn phase(&self, message: u32) -> u32 {
        self.phase[message as usize]
    }

    /// The token of `from` after which a message may start.
    pub(super) fn synchronization(&self, after: u32, before: u32, from: u32) -> Synchronization {
        let (after, before) = (self.all[after as usize], self.all[before as usize]);
        Synchronization {
            after,
            before,
            from,
            to: before.src,
        }
    }

    /// The most messages each host sends in one phase.
    fn sent_at_once(&self, hosts: u32) -> Vec<u32> {
        let (mut most, mut now) = (
            vec![0u32; hosts as usize],
            vec![(0u32, NOBODY); hosts as usize],
        );
        for (m, &phase) in self.all.iter().zip(&self.phase) {
            let (count, when) = &mut now[m.src as usize];
            *count = if *when == phase { *count + 1 } else { 1 };
            *when = phase;
            most[m.src as usize] = most[m.src as usize].max(*count);
        }
        most
    }
}

/// Each sender's own order: it starts the messages of a phase together, when all its messages of
/// earlier phases are over.
///
/// A sender has as many *slots* as it sends messages at once; the messages of one slot follow each
/// other. The caller adds the messages one by one, in their order.
pub(super) struct SenderOrders {
    /// First slot of each host; one more at the end.
    first: Vec<u32>,
    /// By host: the latest phase in which it sends, and the number of its messages in it so far.
    busy: Vec<(u32, u32)>,
    /// By host: the number of phases in which it has sent.
    steps: Vec<u32>,
    /// By slot: the message of the latest phase in which its host sends, and the message of the
    /// phase before.
    now: Vec<u32>,
    before: Vec<u32>,
}

impl SenderOrders {
    pub(super) fn new(hosts: u32, messages: &PhaseMessages) -> SenderOrders {
        let mut first = vec![0];
        first.extend(messages.sent_at_once(hosts).iter().scan(0, |slots, most| {
            *slots += most;
            Some(*slots)
        }));
        let (hosts, slots) = (hosts as usize, first[hosts as usize] as usize);
        SenderOrders {
            first,
            busy: vec![(NOBODY, 0); hosts],
            steps: vec![0; hosts],
            now: vec![NOBODY; slots],
            before: vec![NOBODY; slots],
        }
    }

    pub(super) fn slots(&self) -> usize {
        self.now.len()
    }

    /// The number of messages that a host sends at once.
    pub(super) fn width(&self, host: u32) -> u32 {
        self.first[host as usize + 1] - self.first[host as usize]
    }

    /// True if a message of this phase would be the first of `src` in it.
    pub(super) fn begins(&self, src: u32, phase: u32) -> bool {
        self.busy[src as usize].0 != phase
    }

    /// Adds the next message and returns its slot.
    pub(super) fn send(&mut self, number: u32, src: u32, phase: u32) -> usize {
        let host = src as usize;
        let slots = self.first[host] as usize..self.first[host + 1] as usize;
        if self.begins(src, phase) {
            self.busy[host] = (phase, 0);
            self.steps[host] += 1;
            for slot in slots.clone() {
                self.before[slot] = std::mem::replace(&mut self.now[slot], NOBODY);
            }
        }
        let slot = slots.start + self.busy[host].1 as usize;
        self.busy[host].1 += 1;
        self.now[slot] = number;
        slot
    }

    /// The sender's messages of the busy phase before the phase of its latest message.
    pub(super) fn previous_messages(&self, src: u32) -> impl Iterator<Item = u32> + '_ {
        let slots = self.first[src as usize] as usize..self.first[src as usize + 1] as usize;
        self.before[slots]
            .iter()
            .copied()
            .filter(|&message| message != NOBODY)
    }

    /// The number of phases in which the sender has been busy.
    pub(super) fn steps(&self, src: u32) -> u32 {
        self.steps[src as usize]
    }
}
