//! The traffic of planned schedules.
use super::{SimulatedTraffic, StepNumber, WaitKind};
use inventory::Bytes;
use schedules::alltoall::AlltoallSchedule;
use schedules::message::Message;
use schedules::synchronization::scheme::SyncScheme;

/// An all-to-all as planned, with a `block` for every host, the plan's tokens and the barriers of
/// `scheme`. A host starts the messages of a phase when all its earlier messages have ended. Empty
/// messages are left out.
pub fn alltoall(plan: &AlltoallSchedule, block: Bytes, scheme: SyncScheme) -> SimulatedTraffic {
    let hosts = plan.hosts.len();
    let index = |m: &Message| m.src as usize * hosts + m.dst as usize;
    let mut traffic = SimulatedTraffic::new();
    let mut steps = vec![StepNumber::MAX; hosts * hosts];
    // By host: the messages of the last phase in which it sent.
    let mut sent: Vec<Vec<StepNumber>> = vec![Vec::new(); hosts];
    let (mut barrier, mut since_barrier) = (None, 0);
    for (number, phase) in plan.phases.iter().enumerate() {
        if scheme.barrier_before(number) {
            let former = barrier.replace(traffic.barrier());
            let next = traffic.steps() as StepNumber - 1;
            (since_barrier..next)
                .chain(former)
                .for_each(|step| traffic.wait(step, next, WaitKind::Order));
            since_barrier = next + 1;
        }
        let first = traffic.steps() as StepNumber;
        for m in phase {
            let step = traffic.send(m.src, m.dst, block);
            steps[index(m)] = step;
            sent[m.src as usize]
                .iter()
                .chain(&barrier)
                .for_each(|&before| traffic.wait(before, step, WaitKind::Order));
        }
        phase
            .iter()
            .for_each(|m| sent[m.src as usize].retain(|&step| step >= first));
        phase
            .iter()
            .for_each(|m| sent[m.src as usize].push(steps[index(m)]));
    }
    for sync in &plan.syncs {
        traffic.wait(
            steps[index(&sync.after)],
            steps[index(&sync.before)],
            WaitKind::Token,
        );
    }
    traffic
}

/// An all-to-all whose hosts hand a message to the kernel as soon as they have its tokens and have
/// handed over the one before: where blocks fit into the kernel's buffers, messages of a host that
/// wait for no token share its cable. This is the slowest that such messages get: a kernel often
/// serves the earlier ones sooner. No barriers.
pub fn buffered_alltoall(plan: &AlltoallSchedule, block: Bytes) -> SimulatedTraffic {
    let hosts = plan.hosts.len();
    let index = |m: &Message| m.src as usize * hosts + m.dst as usize;
    let mut traffic = SimulatedTraffic::new();
    let mut handed_over = vec![StepNumber::MAX; hosts * hosts];
    let mut sent = handed_over.clone();
    let mut last = vec![None; hosts];
    for m in plan.phases.iter().flatten() {
        // A barrier takes no time where a token takes none.
        let own = traffic.barrier();
        let before = last[m.src as usize].replace(own);
        before
            .into_iter()
            .for_each(|before| traffic.wait(before, own, WaitKind::Order));
        handed_over[index(m)] = own;
        sent[index(m)] = traffic.send(m.src, m.dst, block);
        traffic.wait(own, sent[index(m)], WaitKind::Order);
    }
    for sync in &plan.syncs {
        let (after, before) = (sent[index(&sync.after)], handed_over[index(&sync.before)]);
        traffic.wait(after, before, WaitKind::Token);
    }
    traffic
}

/// An allgather along a ring of hosts: each sends its own block to the next, then the block that it
/// received last.
pub fn ring(ring: &[u32], block: Bytes) -> SimulatedTraffic {
    rounds(ring, block, ring.len().saturating_sub(1))
}

/// A reduce-scatter along a ring of hosts, a `block` for each, and if `gathers` the allgather of an
/// allreduce after it: each sends a part to the next, then what it made of the part that it
/// received last.
pub fn reduction(ring: &[u32], block: Bytes, gathers: bool) -> SimulatedTraffic {
    let once = ring.len().saturating_sub(1);
    rounds(ring, block, if gathers { 2 * once } else { once })
}

/// A broadcast along a ring from its first host on, in so many pieces.
pub fn broadcast(ring: &[u32], piece: Bytes, pieces: usize) -> SimulatedTraffic {
    let mut traffic = SimulatedTraffic::new();
    let links = ring.len().saturating_sub(1);
    for number in 0..pieces {
        for at in 0..links {
            let step = traffic.send(ring[at], ring[at + 1], piece);
            if number > 0 {
                traffic.wait(step - links as StepNumber, step, WaitKind::Order);
            }
            if at > 0 {
                traffic.wait(step - 1, step, WaitKind::Order);
            }
        }
    }
    traffic
}

/// Blocks around a ring: each host sends to the next one so many times.
fn rounds(ring: &[u32], block: Bytes, rounds: usize) -> SimulatedTraffic {
    let n = ring.len();
    let mut traffic = SimulatedTraffic::new();
    for round in 1..=rounds {
        for i in 0..n {
            let step = traffic.send(ring[i], ring[(i + 1) % n], block);
            if round > 1 {
                let former = step - n as StepNumber;
                traffic.wait(former, step, WaitKind::Order);
                let received = former - i as StepNumber + ((i + n - 1) % n) as StepNumber;
                traffic.wait(received, step, WaitKind::Order);
            }
        }
    }
    traffic
}
