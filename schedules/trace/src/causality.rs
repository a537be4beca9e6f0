//! Clocks put right by the calls themselves: nothing comes before it was sent.
//!
//! Source: bounds on clock offsets from one-way messages (Duda, Harrus, Haddad, Bernard 1987,
//! "Estimating global time in distributed systems"). Input: the steps of a call, by clocks that the
//! ranks have compared, and how well each is known. Guarantee: with the corrections no token and no
//! block comes before it was sent, if any corrections have that property; else there are none. They
//! stay within what is known of the clocks, if that is possible: around a ring everything goes in
//! one direction, and so says little of clocks. Cost: one shortest-path search each way over the
//! pairs of hosts that exchange anything. Deviations: offsets are constant within a call, and each is
//! the middle of its bounds: the fastest messages of both directions are then equally fast.
use crate::step::{RankStep, TimedStep};
use std::collections::HashMap;
use std::time::Duration;

/// Nanoseconds to add to the times of each host, by the number that `host_of` gives its ranks. The
/// clock of host `h` is known to `doubts[h]` nanoseconds against that of the first host, if at all.
pub fn corrections(
    steps: &[Vec<TimedStep>],
    host_of: &[usize],
    doubts: &[Option<i64>],
) -> Vec<i64> {
    let hosts = host_of.iter().max().map_or(0, |most| most + 1);
    let delays = least_delays(steps, host_of);
    let mut bounded = delays.clone();
    for (host, doubt) in doubts.iter().enumerate().take(hosts).skip(1) {
        let Some(doubt) = *doubt else { continue };
        for pair in [(0, host), (host, 0)] {
            let least = bounded.entry(pair).or_insert(doubt);
            *least = doubt.min(*least);
        }
    }
    middles(hosts, &bounded)
        .or_else(|| middles(hosts, &delays))
        .unwrap_or_else(|| vec![0; hosts])
}

/// The middle of each host's bounds; `None` where they contradict each other.
fn middles(hosts: usize, delays: &HashMap<(usize, usize), i64>) -> Option<Vec<i64>> {
    // A host's correction is at most what it takes from it to the first host, and at least minus
    // what it takes from there.
    let to_first: Vec<_> = delays
        .iter()
        .map(|(&(from, to), &d)| (to, from, d))
        .collect();
    let from_first: Vec<_> = delays
        .iter()
        .map(|(&(from, to), &d)| (from, to, d))
        .collect();
    let bounds = nearest(hosts, &to_first)?
        .into_iter()
        .zip(nearest(hosts, &from_first)?);
    Some(
        bounds
            .map(|(most, least)| match (most, least) {
                (Some(most), Some(least)) => most.midpoint(least.saturating_neg()),
                _ => 0,
            })
            .collect(),
    )
}

/// The least time from a host to another that anything seems to have taken; less than nothing where
/// clocks are wrong.
fn least_delays(ranks: &[Vec<TimedStep>], host_of: &[usize]) -> HashMap<(usize, usize), i64> {
    let mut sent: HashMap<(bool, u32, u32, u32, u32), Duration> = HashMap::new();
    for (rank, steps) in (0..).zip(ranks) {
        for TimedStep { at, step } in steps {
            match *step {
                RankStep::TokenGiven(t) => drop(sent.insert((true, rank, t.peer, t.id, 0), *at)),
                RankStep::SendBegan(p) => {
                    sent.insert((false, rank, p.peer, p.phase, p.block), *at);
                }
                _ => {}
            }
        }
    }
    let mut delays = HashMap::new();
    for (rank, steps) in (0..).zip(ranks) {
        for TimedStep { at, step } in steps {
            let (key, peer) = match *step {
                RankStep::TokenTaken(t) => ((true, t.peer, rank, t.id, 0), t.peer),
                RankStep::Arrived(p) => ((false, p.peer, rank, p.phase, p.block), p.peer),
                _ => continue,
            };
            let ends = (host_of.get(peer as usize), host_of.get(rank as usize));
            if let (Some(&began), (Some(&from), Some(&to))) = (sent.get(&key), ends)
                && from != to
            {
                let delay = at.as_nanos() as i64 - began.as_nanos() as i64;
                let least = delays.entry((from, to)).or_insert(delay);
                *least = delay.min(*least);
            }
        }
    }
    delays
}

/// The least sum of delays from the first host to each one; `None` where the delays contradict each
/// other.
fn nearest(hosts: usize, delays: &[(usize, usize, i64)]) -> Option<Vec<Option<i64>>> {
    let mut found = vec![None; hosts];
    *found.first_mut()? = Some(0i64);
    for _ in 0..=hosts {
        let mut changed = false;
        for &(from, to, delay) in delays {
            let Some(sum) = found[from].map(|sum| sum.saturating_add(delay)) else {
                continue;
            };
            if found[to].is_none_or(|known| sum < known) {
                found[to] = Some(sum);
                changed = true;
            }
        }
        if !changed {
            return Some(found);
        }
    }
    None
}
