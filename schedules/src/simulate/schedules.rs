//! What this crate's own schedules put on the wire.
use super::{Step, Traffic, Wait};
use crate::alltoall::Alltoall;
use crate::lg::Lg;
use crate::message::Message;
use inventory::Bytes;

/// What keeps the phases of an all-to-all apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Apart {
    /// The schedule's own tokens, if it has any, and each sender's order.
    Tokens,
    /// Every phase starts with a barrier.
    Barriers,
}

/// An all-to-all as planned, `block` to every host. A host has as many messages under way as it sends in its fullest phase.
pub fn alltoall(plan: &Alltoall, block: Bytes, apart: Apart) -> Traffic {
    let hosts = plan.hosts.len();
    let mut traffic = Traffic::new();
    let mut steps = vec![Step::MAX; hosts * hosts];
    let index = |m: &Message| m.src as usize * hosts + m.dst as usize;
    let at_once = at_once(plan);
    let mut sent: Vec<Vec<Step>> = vec![Vec::new(); hosts];
    let mut barrier = None;
    for phase in &plan.phases {
        let first = traffic.steps() as Step;
        for m in phase {
            let step = traffic.send(m.src, m.dst, block);
            steps[index(m)] = step;
            let own = &mut sent[m.src as usize];
            if let Some(before) = own.len().checked_sub(at_once[m.src as usize]) {
                traffic.wait(own[before], step, Wait::Order);
            }
            own.push(step);
            if let Some(barrier) = barrier {
                traffic.wait(barrier, step, Wait::Order);
            }
        }
        if apart == Apart::Barriers {
            let next = traffic.barrier();
            (first..next).for_each(|step| traffic.wait(step, next, Wait::Order));
            barrier = Some(next);
        }
    }
    for sync in &plan.syncs {
        traffic.wait(steps[index(&sync.after)], steps[index(&sync.before)], Wait::Token);
    }
    traffic
}

/// How many messages each host sends in its fullest phase.
fn at_once(plan: &Alltoall) -> Vec<usize> {
    let (mut most, mut now) = (vec![1; plan.hosts.len()], vec![0; plan.hosts.len()]);
    for phase in &plan.phases {
        phase.iter().for_each(|m| now[m.src as usize] += 1);
        for m in phase {
            most[m.src as usize] = most[m.src as usize].max(now[m.src as usize]);
        }
        phase.iter().for_each(|m| now[m.src as usize] = 0);
    }
    most
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
