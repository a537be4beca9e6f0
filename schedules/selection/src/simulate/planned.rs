//! What planned schedules put on the wire.
use super::{Step, Traffic, Wait};
use inventory::Bytes;
use schedules::alltoall::Alltoall;
use schedules::lg::Lg;
use schedules::message::Message;
use schedules::sync::scheme::Scheme;

/// An all-to-all as planned, `block` to every host, with the plan's tokens and the barriers of `scheme`. A host starts the messages of
/// a phase when all it sent before is over; messages that carry nothing are left out.
pub fn alltoall(plan: &Alltoall, block: Bytes, scheme: Scheme) -> Traffic {
    let hosts = plan.hosts.len();
    let index = |m: &Message| m.src as usize * hosts + m.dst as usize;
    let mut traffic = Traffic::new();
    let mut steps = vec![Step::MAX; hosts * hosts];
    // By host: the messages of the last phase it sent in.
    let mut sent: Vec<Vec<Step>> = vec![Vec::new(); hosts];
    let (mut barrier, mut since_barrier) = (None, 0);
    for (number, phase) in plan.phases.iter().enumerate() {
        if scheme.barrier_before(number) {
            let former = barrier.replace(traffic.barrier());
            let next = traffic.steps() as Step - 1;
            (since_barrier..next).chain(former).for_each(|step| traffic.wait(step, next, Wait::Order));
            since_barrier = next + 1;
        }
        let first = traffic.steps() as Step;
        for m in phase {
            let step = traffic.send(m.src, m.dst, block);
            steps[index(m)] = step;
            sent[m.src as usize].iter().chain(&barrier).for_each(|&before| traffic.wait(before, step, Wait::Order));
        }
        phase.iter().for_each(|m| sent[m.src as usize].retain(|&step| step >= first));
        phase.iter().for_each(|m| sent[m.src as usize].push(steps[index(m)]));
    }
    for sync in &plan.syncs {
        traffic.wait(steps[index(&sync.after)], steps[index(&sync.before)], Wait::Token);
    }
    traffic
}

/// An allgather along a ring of hosts: each sends its own block to the next, then what it got last.
pub fn ring(ring: &[u32], block: Bytes) -> Traffic {
    let n = ring.len();
    let mut traffic = Traffic::new();
    for round in 1..n {
        for i in 0..n {
            let step = traffic.send(ring[i], ring[(i + 1) % n], block);
            if round > 1 {
                let former = step - n as Step;
                traffic.wait(former, step, Wait::Order);
                let received = former - i as Step + ((i + n - 1) % n) as Step;
                traffic.wait(received, step, Wait::Order);
            }
        }
    }
    traffic
}

/// An all-to-all among clusters, `block` to every host: a barrier before every step but the first.
pub fn lg(plan: &Lg, block: Bytes) -> Traffic {
    let mut traffic = Traffic::new();
    let mut barrier = None;
    for step in &plan.steps {
        let first = traffic.steps() as Step;
        for transfer in step {
            let bytes = Bytes(block.0.saturating_mul(transfer.blocks.len() as u64));
            let own = traffic.send(transfer.from, transfer.to, bytes);
            if let Some(barrier) = barrier {
                traffic.wait(barrier, own, Wait::Order);
            }
        }
        let next = traffic.barrier();
        (first..next).for_each(|own| traffic.wait(own, next, Wait::Order));
        barrier = Some(next);
    }
    traffic
}
