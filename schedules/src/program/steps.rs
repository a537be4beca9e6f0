//! What every host does, in order: the rows of a program's tables.
use crate::alltoall::Alltoall;
use crate::message::Message;
use std::collections::HashMap;

/// A row; `number` of a token is the host that the waiting message goes to: with giver and taker that names the message, so
/// no other token between the two can be taken for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    Phase(usize),
    Await { from: u32, number: u32 },
    Send(u32),
    Fill(u32),
    Receive(u32),
    Drain(u32),
    Give { to: u32, number: u32 },
    Barrier { received: usize },
}

/// What keeps phases apart besides the plan's own tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Apart<'a> {
    /// A barrier after each so many phases.
    pub(super) barriers: Option<usize>,
    /// For each phase, messages that carry nothing anybody needs.
    pub(super) fillers: &'a [Vec<Message>],
}

/// By host. In a phase tokens are awaited first, then come blocks that are sent, then blocks that are received, each with
/// the tokens that follow it.
pub(super) fn of(plan: &Alltoall, apart: Apart<'_>) -> Vec<Vec<Step>> {
    let tokens = Tokens::of(plan);
    let mut table = Table { hosts: vec![Host::default(); plan.hosts.len()] };
    for (phase, messages) in plan.phases.iter().enumerate() {
        if phase > 0 && apart.barriers.is_some_and(|block| block > 0 && phase.is_multiple_of(block)) {
            table.barrier();
        }
        let fillers = apart.fillers.get(phase).map_or(&[][..], Vec::as_slice);
        for m in messages {
            let number = m.dst;
            tokens.awaited(*m).iter().for_each(|&from| table.put(m.src, phase, Step::Await { from, number }));
        }
        for m in messages {
            table.put(m.src, phase, Step::Send(m.dst));
            tokens.given(*m, m.src).for_each(|give| table.put(m.src, phase, give));
        }
        fillers.iter().for_each(|m| table.put(m.src, phase, Step::Fill(m.dst)));
        for m in messages {
            table.put(m.dst, phase, Step::Receive(m.src));
            tokens.given(*m, m.dst).for_each(|give| table.put(m.dst, phase, give));
        }
        fillers.iter().for_each(|m| table.put(m.dst, phase, Step::Drain(m.src)));
    }
    table.hosts.into_iter().map(|host| host.steps).collect()
}

#[derive(Debug, Clone, Default)]
struct Host {
    steps: Vec<Step>,
    /// One more than the last phase it has steps in.
    begun: usize,
    received: usize,
}

struct Table {
    hosts: Vec<Host>,
}

impl Table {
    fn put(&mut self, host: u32, phase: usize, step: Step) {
        // A message of no host has no place here; the verifier names it.
        let Some(host) = self.hosts.get_mut(host as usize) else { return };
        if host.begun <= phase {
            host.begun = phase + 1;
            host.steps.push(Step::Phase(phase));
        }
        host.received += usize::from(matches!(step, Step::Receive(_) | Step::Drain(_)));
        host.steps.push(step);
    }

    fn barrier(&mut self) {
        for host in &mut self.hosts {
            host.steps.push(Step::Barrier { received: host.received });
        }
    }
}

/// The plan's synchronizations by the messages they follow and hold back.
struct Tokens {
    awaited: HashMap<Message, Vec<u32>>,
    /// Giver, taker, number.
    given: HashMap<Message, Vec<(u32, u32, u32)>>,
}

impl Tokens {
    fn of(plan: &Alltoall) -> Tokens {
        let mut tokens = Tokens { awaited: HashMap::new(), given: HashMap::new() };
        for sync in &plan.syncs {
            tokens.awaited.entry(sync.before).or_default().push(sync.from);
            tokens.given.entry(sync.after).or_default().push((sync.from, sync.to, sync.before.dst));
        }
        tokens
    }

    fn awaited(&self, message: Message) -> &[u32] {
        self.awaited.get(&message).map_or(&[], Vec::as_slice)
    }

    fn given(&self, message: Message, giver: u32) -> impl Iterator<Item = Step> {
        let all = self.given.get(&message).map_or(&[][..], Vec::as_slice);
        all.iter().filter(move |give| give.0 == giver).map(|&(_, to, number)| Step::Give { to, number })
    }
}
