//! Tokens that receivers give ahead, so that the next messages are on their way when a link has
//! carried the last ones: credit.
//!
//! Source: none of the papers; the receivers' credit of Homa (SIGCOMM 2018) and ExpressPass (SIGCOMM
//! 2017), for traffic that is known beforehand. Input: phases on a tree; in no phase a link carries
//! more messages than it is wide. Guarantee: with a credit of `k` messages a lane never more than `k w`
//! messages are under way over a port of a switch whose link is `w` wide: begun by their senders, and
//! not so far that their receivers have given tokens. How many octets then wait in a port is measured
//! in ns-3 (docs/figures.md), not proven. The order of a sender counts for nothing, as what it has sent may still wait
//! in a port. The first messages of each port, as many, wait for nothing. Cost: O(messages * path
//! length). Deviations: none.
use super::messages::PhaseMessages;
use super::reduction::TokenOrder;
use super::scheme::SyncScheme;
use crate::capacities::EdgeCapacities;
use crate::stages::{LinkNumber, MessagePaths};
use inventory::Bytes;
use inventory::tree::{EdgeNumber, Tree};
use std::collections::VecDeque;
use std::num::NonZeroU32;
use std::time::Duration;

/// The time from a token until the first octet of the message that waits for it, as the networks in
/// ns-3 have it: 12 us each way and two wakings. On real hosts nobody has measured it.
pub const ROUND_TRIP: Duration = Duration::from_micros(34);
/// The part of a port's queue that each lane may fill beside that: found by trying, on stars and
/// chains of 32 hosts at 10 Gbit/s, as the most without drops.
const SHARE: u64 = 4;
/// At the beginning all hosts at a switch send their first messages, and a port passes on what its
/// link carries. So many times its queue may come on top by this count; fewer did in those trials.
const FIRST_MESSAGES: f64 = 9.0 / 8.0;
/// Messages a lane for which there are schedules.
const MESSAGES: [NonZeroU32; 12] = {
    let messages = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64];
    let mut credits = [NonZeroU32::MIN; 12];
    let mut at = 0;
    while at < credits.len() {
        credits[at] = credits[at].saturating_add(messages[at] - 1);
        at += 1;
    }
    credits
};

/// The octets that may be under way on each lane of every link: of the messages before one, when that
/// one begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LaneCredit(pub Bytes);

impl LaneCredit {
    /// The credit on a tree whose ports queue so many octets each.
    pub fn of(tree: &Tree, capacities: &EdgeCapacities, queue: Bytes) -> LaneCredit {
        let on_the_way = capacities.rate().0 as f64 / 8.0 * ROUND_TRIP.as_secs_f64();
        let wanted = on_the_way + (queue.0 / SHARE) as f64;
        let least = (0..tree.edges())
            .filter_map(|edge| {
                let excess = 1.0 - 1.0 / feeders(tree, edge)?.max(1.0);
                let cables = tree.member_cables(edge / 2).iter();
                let widths = cables.map(|cable| capacities.cable_width(edge, *cable));
                let lanes = widths.max().unwrap_or(capacities.width(edge)) as f64;
                Some(FIRST_MESSAGES * queue.0 as f64 / (lanes * excess))
            })
            .fold(wanted, f64::min);
        LaneCredit(Bytes(least as u64))
    }

    /// The synchronization of messages of this size: as many as the credit holds, and at least one. Its
    /// receiver gives tokens when so many octets of a message are still to come as the credit has.
    pub fn scheme(self, message: Bytes) -> SyncScheme {
        let held = self.0.0 / message.0.max(1);
        let messages = MESSAGES.into_iter().rev();
        let messages = messages.filter(|&messages| u64::from(messages.get()) <= held);
        SyncScheme::credit(messages.max().unwrap_or(NonZeroU32::MIN))
    }
}

/// So many times as much comes from the hosts at a switch as the link of its port carries; none for a
/// host's own. What comes over trunks has waited its turn before.
fn feeders(tree: &Tree, edge: EdgeNumber) -> Option<f64> {
    let (at, _) = tree.ends(edge).filter(|&(at, _)| !tree.is_host(at))?;
    let hosts = (0..tree.hosts()).filter(|&host| tree.parent(host) == Some(at));
    let rate: f64 = hosts.map(|host| tree.rate(host).0 as f64).sum();
    Some(rate / tree.rate(edge / 2).0.max(1) as f64)
}

/// The users of a port follow each other in as many lanes as may be under way, in turn.
pub(super) fn orders(
    paths: &MessagePaths<'_>,
    capacities: &EdgeCapacities,
    messages: &PhaseMessages,
    credit: u32,
) -> Vec<TokenOrder> {
    let mut users: Vec<VecDeque<u32>> = vec![VecDeque::new(); paths.links()];
    let room: Vec<u64> = (0..paths.links() as LinkNumber)
        .map(|link| match paths.is_port(link) {
            true => paths.width(link, capacities) * u64::from(credit),
            // A host queues in its own memory.
            false => u64::MAX,
        })
        .collect();
    let (mut orders, mut found) = (Vec::new(), Vec::new());
    for (number, m) in (0u32..).zip(&messages.all) {
        paths.visit(number, *m, |link| {
            let users = &mut users[link as usize];
            users.push_back(number);
            if users.len() as u64 > room[link as usize] {
                found.extend(users.pop_front());
            }
        });
        found.sort_unstable_by(|a, b| b.cmp(a));
        found.dedup();
        orders.extend(found.drain(..).map(|after| (after, number)));
    }
    orders
}

#[cfg(test)]
mod tests;
