//! The steps of every host, in order: the rows of a program's tables.
use crate::alltoall::AlltoallSchedule;
use crate::message::Message;
use crate::synchronization::dummy::DummyMessage;
use crate::synchronization::scheme::SyncMechanism;
use std::collections::HashMap;

/// A row. The `number` of a token is the receiver of the waiting message. Giver, taker and number
/// identify that message, so no other token between the two hosts can be taken for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProgramStep {
    Phase(usize),
    Await {
        from: u32,
        number: u32,
    },
    Send(u32),
    Fill(u32),
    Receive(u32),
    Drain(u32),
    Give {
        to: u32,
        number: u32,
    },
    /// A number of barriers in a row, after a number of receives.
    Barrier {
        times: usize,
        received: usize,
    },
}

/// By host. In each phase a host first awaits tokens, then sends blocks, then receives blocks, each
/// followed by its tokens. With fillers a host ends each phase before the next, so its receives
/// hold it back, too.
pub(super) fn by_host(plan: &AlltoallSchedule, fillers: &[DummyMessage]) -> Vec<Vec<ProgramStep>> {
    let tokens = PlanTokens::from_plan(plan);
    let mut table = ProgramTable {
        hosts: vec![HostProgram::default(); plan.hosts.len()],
        in_step: plan.scheme.mechanism() == SyncMechanism::Dummy,
    };
    for (phase, messages) in plan.phases.iter().enumerate() {
        if plan.scheme.barrier_before(phase) {
            table.barrier();
        }
        let fillers = of_phase(fillers, phase);
        for m in messages {
            let number = m.dst;
            tokens
                .awaited(*m)
                .iter()
                .for_each(|&from| table.put(m.src, phase, ProgramStep::Await { from, number }));
        }
        for m in messages {
            table.put(m.src, phase, ProgramStep::Send(m.dst));
            tokens
                .given(*m, m.src)
                .for_each(|give| table.put(m.src, phase, give));
        }
        fillers
            .iter()
            .for_each(|filler| table.put(filler.from, phase, ProgramStep::Fill(filler.to)));
        for m in messages {
            table.put(m.dst, phase, ProgramStep::Receive(m.src));
            tokens
                .given(*m, m.dst)
                .for_each(|give| table.put(m.dst, phase, give));
        }
        fillers
            .iter()
            .for_each(|filler| table.put(filler.to, phase, ProgramStep::Drain(filler.from)));
    }
    table.hosts.into_iter().map(|host| host.steps).collect()
}

/// The most barriers in one step: the largest number in a table.
const MOST_BARRIERS: usize = u16::MAX as usize;

#[derive(Debug, Clone, Default)]
struct HostProgram {
    steps: Vec<ProgramStep>,
    /// One more than the last phase with steps of this host.
    begun: usize,
    received: usize,
}

struct ProgramTable {
    hosts: Vec<HostProgram>,
    /// True if a phase begins only when all receives of the phases before have ended.
    in_step: bool,
}

/// The fillers of `phase`; `fillers` are in the order of phases.
fn of_phase(fillers: &[DummyMessage], phase: usize) -> &[DummyMessage] {
    let from = fillers.partition_point(|filler| (filler.phase as usize) < phase);
    let to = fillers.partition_point(|filler| filler.phase as usize <= phase);
    &fillers[from..to]
}

impl ProgramTable {
    fn put(&mut self, host: u32, phase: usize, step: ProgramStep) {
        // A message of an unknown host has no place here; the verifier names it.
        let Some(host) = self.hosts.get_mut(host as usize) else {
            return;
        };
        if host.begun <= phase {
            host.begun = phase + 1;
            if self.in_step && host.received > 0 {
                host.steps.push(ProgramStep::Barrier {
                    times: 0,
                    received: host.received,
                });
            }
            host.steps.push(ProgramStep::Phase(phase));
        }
        host.received += usize::from(matches!(
            step,
            ProgramStep::Receive(_) | ProgramStep::Drain(_)
        ));
        host.steps.push(step);
    }

    fn barrier(&mut self) {
        for host in &mut self.hosts {
            match host.steps.last_mut() {
                Some(ProgramStep::Barrier { times, .. }) if *times < MOST_BARRIERS => *times += 1,
                _ => host.steps.push(ProgramStep::Barrier {
                    times: 1,
                    received: host.received,
                }),
            }
        }
    }
}

/// The plan's synchronizations, by the messages that they follow and hold back.
struct PlanTokens {
    awaited: HashMap<Message, Vec<u32>>,
    /// Giver, taker, number.
    given: HashMap<Message, Vec<(u32, u32, u32)>>,
}

impl PlanTokens {
    fn from_plan(plan: &AlltoallSchedule) -> PlanTokens {
        let mut tokens = PlanTokens {
            awaited: HashMap::new(),
            given: HashMap::new(),
        };
        for sync in &plan.syncs {
            tokens
                .awaited
                .entry(sync.before)
                .or_default()
                .push(sync.from);
            tokens
                .given
                .entry(sync.after)
                .or_default()
                .push((sync.from, sync.to, sync.before.dst));
        }
        tokens
    }

    fn awaited(&self, message: Message) -> &[u32] {
        self.awaited.get(&message).map_or(&[], Vec::as_slice)
    }

    fn given(&self, message: Message, giver: u32) -> impl Iterator<Item = ProgramStep> {
        let all = self.given.get(&message).map_or(&[][..], Vec::as_slice);
        all.iter()
            .filter(move |give| give.0 == giver)
            .map(|&(_, to, number)| ProgramStep::Give { to, number })
    }
}
