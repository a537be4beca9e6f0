//! Tokens that receivers give ahead, so that the next messages are on their way when a link has
//! carried the last ones: credit.
//!
//! Source: none of the papers; the receivers' credit of Homa (SIGCOMM 2018) and ExpressPass (SIGCOMM
//! 2017), for traffic that is known beforehand. Input: phases on a tree; in no phase a link carries
//! more messages than it is wide. Guarantee: with a credit of `k` messages a lane never more than `k w`
//! messages are under way over a port of a switch whose link is `w` wide: begun by their senders, and
//! not so far that their receivers have given tokens. How many octets then wait in a port is measured
//! in ns-3 (docs/figures.md), not proven. The order of a sender counts for nothing, as what it has
//! sent may still wait in a port. The first messages of each port, at most as many, wait for nothing.
//! Cost: O(messages * path length + ports * hosts). Deviations: none.
use super::messages::PhaseMessages;
use super::reduction::TokenOrder;
use super::scheme::SyncScheme;
use crate::capacities::{EdgeCapacities, loads};
use crate::stages::{LinkNumber, MessagePaths};
use inventory::tree::{EdgeNumber, NodeNumber, Tree};
use inventory::{BitsPerSec, Bytes};
use std::collections::VecDeque;
use std::num::NonZeroU32;
use std::time::Duration;

/// The time in which a token reaches a sender, and the first octet of the message that waited for it the
/// receiver, as the networks in ns-3 have it: 12 us each way. On real hosts nobody has measured it.
pub const ROUND_TRIP: Duration = Duration::from_micros(24);
/// Meanwhile a full frame stands at each end of four links, both ways.
const FRAMES: f64 = 8.0 * 1538.0;
/// A lane may have one part in so many of a port's queue under way beside that. Found by trying, as the most without
/// drops: 6 to 20 hosts of 10 and 25 Gbit/s at each of 2 to 4 switches, trunks of 10 to 100 Gbit/s (docs/figures.md).
const SHARE: f64 = 4.0;
/// At the beginning all hosts at a switch send their first messages, and a port passes on what its
/// link carries. So many times its queue may come on top by this count; fewer did in those trials.
const FIRST_MESSAGES: f64 = 1.05;
/// Such a part of the credit is the lead. Of 64 kB by 48 hosts on a chain of four switches all of it lost packets, though
/// 95 % did not.
const LEAD: (u64, u64) = (15, 16);
/// The same where ranks share a host's link. Of 64 kB by 8 ranks on each of 8 hosts all of it lost packets, and half
/// of it left links idle (docs/figures.md).
const SHARED_LINK: (u64, u64) = (2, 3);
/// Blocks of which the credit holds fewer are cut. With 64 kB in 1, 2, 4 and 8 rounds four leaves and four spines, 2:1,
/// came to 0.83, 0.85, 0.86 and 0.88 of the bound, a star with trunks of 10G to 0.82, 0.88, 0.90 and 0.90; one switch, where
/// hosts' own links are the slowest, to 0.89, 0.77, 0.80 and 0.71 (ns-3).
const PARTS_HELD: u64 = 4;
/// Parts are not shorter: with 24 kB, 12 hosts a switch and trunks of 40G parts of 5 kB came to 0.79, whole blocks to 0.82.
const LEAST_PART: Bytes = Bytes(8 << 10);
/// Messages a lane for which there are schedules. A coarser list leaves credit unused: with 8 kB, 12 hosts of 25 Gbit/s a
/// switch and trunks of 100G, 6 messages came to 0.44 of the bound, and 7 to 0.51 (ns-3).
pub const MESSAGES: [NonZeroU32; 24] = {
    let messages = [
        1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 16, 18, 20, 22, 24, 28, 32, 40, 48, 56, 64,
    ];
    let mut credits = [NonZeroU32::MIN; 24];
    let mut at = 0;
    while at < credits.len() {
        credits[at] = credits[at].saturating_add(messages[at] - 1);
        at += 1;
    }
    credits
};

/// The numbers of messages a lane for blocks in so many rounds: all of them for whole blocks. Among all of them parts would
/// be longer: on a chain of four switches, all at 25 Gbit/s, 64 kB lost packets with 5 parts of 22 kB under way, and none
/// with 8 of 13 kB.
pub fn numbers_of_messages(rounds: NonZeroU32) -> impl Iterator<Item = NonZeroU32> {
    let all = MESSAGES.into_iter();
    all.filter(move |messages| {
        let odd = messages.get() >> messages.trailing_zeros();
        rounds.get() == 1 || odd <= 3
    })
}

/// The octets that may be under way on each lane of every link, but for the headers of full frames: of the messages before
/// one, when that one begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LaneCredit {
    /// Octets of the messages before one, when that one begins.
    pub octets: Bytes,
    /// A port of a switch holds so many.
    pub queue: Bytes,
    /// Long blocks are cut into parts, which go in rounds: trunks are the slowest, and a round trip is longer than the
    /// frames that stand on the way.
    pub cuts_blocks: bool,
}

/// Blocks in which lengths differ so little go in as many rounds: eight lengths for each power of two.
pub fn rounded_up(block: Bytes) -> Bytes {
    let step = (block.0.next_power_of_two() / 16).max(1);
    Bytes(block.0.div_ceil(step) * step)
}

/// The longest part of a block of this size, or a little shorter.
pub fn part_of(block: Bytes, rounds: NonZeroU32) -> Bytes {
    match rounds.get() {
        1 => block,
        several => Bytes(rounded_up(block).0.div_ceil(several.into())),
    }
}

impl LaneCredit {
    /// The credit on a tree.
    pub fn on_tree(tree: &Tree, capacities: &EdgeCapacities) -> LaneCredit {
        let on_the_way = FRAMES + octets_in(ROUND_TRIP, capacities.rate());
        let queue = tree.queue().0 as f64;
        let hosts = FeederRates::new(tree);
        let bursts = ports(tree).map(|edge| most_of_bursts(tree, capacities, &hosts, edge));
        let is_fast = octets_in(ROUND_TRIP, capacities.rate()) > FRAMES;
        LaneCredit {
            octets: Bytes(bursts.fold(on_the_way + queue / SHARE, f64::min) as u64),
            queue: tree.queue(),
            cuts_blocks: is_fast && trunks_are_slowest(tree, capacities),
        }
    }

    /// The same where no block is cut.
    pub fn of_whole_blocks(self) -> LaneCredit {
        LaneCredit {
            cuts_blocks: false,
            ..self
        }
    }

    /// The octets of a message that are still to come when its receiver gives tokens. Where ranks share a host's
    /// link, the first octets of a message may overtake those of others, and do not say that these are over.
    pub fn lead(self, tree: &Tree) -> Bytes {
        let (part, of) = if tree.has_ranks_on_hosts() {
            SHARED_LINK
        } else {
            LEAD
        };
        Bytes(self.octets.0 * part / of)
    }

    /// The messages of this size that it holds, at least one.
    pub fn messages(self, size: Bytes) -> u64 {
        (self.octets.0 / size.0.saturating_add(HEADERS)).max(1)
    }

    /// The longest message of which it holds so many.
    pub fn longest(self, messages: u64) -> Bytes {
        Bytes((self.octets.0 / messages.max(1)).saturating_sub(HEADERS))
    }

    /// The rounds in which blocks of this size go, at most [`SyncScheme::MOST_ROUNDS`]: the fewest in which their parts
    /// use the credit about as well as whole blocks, [`PARTS_HELD`] of them at least. A lane whose next message cannot begin
    /// yet then stands still for a shorter time, and a call's last messages are shorter. A port holds what a lane has under
    /// way, and one part more, whose receiver has just given a token. Other blocks go whole.
    pub fn rounds(self, block: Bytes) -> NonZeroU32 {
        // Lengths that go alike are asked as the longest of them.
        let (held, by_whole) = self.used(rounded_up(block), NonZeroU32::MIN);
        if !self.cuts_blocks || held >= PARTS_HELD {
            return NonZeroU32::MIN;
        }
        let all = (2..=SyncScheme::MOST_ROUNDS).filter_map(NonZeroU32::new);
        let possible: Vec<(NonZeroU32, u64)> = all
            .take_while(|&rounds| part_of(block, rounds) >= LEAST_PART)
            .filter_map(|rounds| {
                let (held, used) = self.used(block, rounds);
                let fits = used + part_of(block, rounds).0 <= self.queue.0;
                (held >= PARTS_HELD && fits).then_some((rounds, used))
            })
            .collect();
        let most = possible.iter().map(|(_, used)| *used).max().unwrap_or(0);
        let least = most.max(by_whole.min(self.octets.0));
        let mut enough = possible
            .iter()
            .filter(|(_, used)| *used >= least - least / 8);
        enough.next().map_or(NonZeroU32::MIN, |(rounds, _)| *rounds)
    }

    /// The synchronization of blocks of this size: as many as the credit holds, and at least one. Its
    /// receiver gives tokens when so many octets of a message are still to come as the credit has.
    pub fn scheme(self, block: Bytes) -> SyncScheme {
        let rounds = self.rounds(block);
        let messages = self.most_messages(part_of(block, rounds), numbers_of_messages(rounds));
        SyncScheme::credit(messages).in_rounds(rounds)
    }

    /// The parts of a block under way on a lane if it goes in so many rounds, and their octets with headers.
    fn used(self, block: Bytes, rounds: NonZeroU32) -> (u64, u64) {
        let part = part_of(block, rounds);
        let of_parts = numbers_of_messages(NonZeroU32::MAX);
        let held = u64::from(self.most_messages(part, of_parts).get());
        (held, held * part.0.saturating_add(HEADERS))
    }

    /// The most of these numbers of messages that it holds.
    fn most_messages(self, size: Bytes, of: impl Iterator<Item = NonZeroU32>) -> NonZeroU32 {
        let held = self.messages(size);
        let possible = of.filter(|&messages| u64::from(messages.get()) <= held);
        possible.max().unwrap_or(NonZeroU32::MIN)
    }
}

/// True if links between switches need more phases than those of hosts.
fn trunks_are_slowest(tree: &Tree, capacities: &EdgeCapacities) -> bool {
    let (loads, mut phases) = (loads(tree), [0, 0]);
    for node in (0..tree.nodes()).filter(|&node| tree.parent(node).is_some()) {
        let edge = 2 * node;
        let needed = loads[edge as usize].div_ceil(capacities.width(edge).max(1));
        let most: &mut u64 = &mut phases[usize::from(is_host(tree, node))];
        *most = needed.max(*most);
    }
    phases[0] > phases[1]
}

/// Octets of a message's own header, and of its last frame's.
const HEADERS: u64 = 130;

fn octets_in(time: Duration, rate: BitsPerSec) -> f64 {
    rate.0 as f64 / 8.0 * time.as_secs_f64()
}

/// The octets that each lane of a port may have under way, so that its queue holds those of a burst. Of octets that
/// come from hosts `f` times as fast as a trunk `1 - 1/f` wait. Not all come at once: of each lane half, and so much more
/// as independent lanes deviate from that, `1/sqrt(lanes)` of it. In ns-3 queues were 0.6 to 1.0 of what this expects, with
/// 1 to 4 lanes, hosts of 10 to 40 Gbit/s 2 to 8 times as fast as their trunk (docs/figures.md).
fn most_of_bursts(
    tree: &Tree,
    capacities: &EdgeCapacities,
    hosts: &FeederRates,
    edge: EdgeNumber,
) -> f64 {
    if tree.ends(edge).is_none_or(|(_, to)| is_host(tree, to)) {
        return f64::INFINITY;
    }
    let lanes = lanes(tree, capacities, edge);
    let at_once = 0.5 + 0.5 / lanes.sqrt();
    tree.queue().0 as f64 / (lanes * hosts.excess(tree, edge) * at_once)
}

/// The ports of switches: a host queues in its own memory.
fn ports(tree: &Tree) -> impl Iterator<Item = EdgeNumber> + '_ {
    (0..tree.edges()).filter(|&edge| tree.ends(edge).is_some_and(|(at, _)| !is_host(tree, at)))
}

/// Each host, and the switch to which its link leads.
fn host_links(tree: &Tree) -> impl Iterator<Item = (NodeNumber, NodeNumber)> + '_ {
    let hosts = (0..tree.nodes()).filter(|&node| is_host(tree, node));
    hosts.filter_map(|host| Some((host, tree.parent(host).filter(|&at| !is_host(tree, at))?)))
}

/// True for a host, also for one whose ranks are leaves.
fn is_host(tree: &Tree, node: NodeNumber) -> bool {
    tree.is_host(node) || tree.holds_ranks(node)
}

/// The lanes of a port: of several cables, those of the widest, and of an aggregate those of one cable.
fn lanes(tree: &Tree, capacities: &EdgeCapacities, edge: EdgeNumber) -> f64 {
    let cables = tree.member_cables(edge / 2).iter();
    let widths = cables.map(|cable| {
        let parts = u64::from(cable.parts.get());
        capacities.cable_width(edge, *cable).div_ceil(parts)
    });
    widths.max().unwrap_or(capacities.width(edge)) as f64
}

/// The part of the credit that the first messages over a port may use.
fn at_first(
    tree: &Tree,
    capacities: &EdgeCapacities,
    (hosts, edge): (&FeederRates, EdgeNumber),
    credit: LaneCredit,
) -> f64 {
    let waiting = lanes(tree, capacities, edge) * hosts.excess(tree, edge);
    let fits = FIRST_MESSAGES * tree.queue().0 as f64 / waiting;
    (fits / credit.octets.0 as f64).min(1.0)
}

/// By node: the rates of the hosts there, together.
struct FeederRates(Vec<f64>);

impl FeederRates {
    fn new(tree: &Tree) -> FeederRates {
        let mut rates = vec![0.0; tree.nodes() as usize];
        for (host, at) in host_links(tree) {
            rates[at as usize] += tree.rate(host).0 as f64;
        }
        FeederRates(rates)
    }

    /// The part that waits of what comes from the hosts at the switch of a port, if all send at once. Octets that come
    /// over trunks have waited before.
    fn excess(&self, tree: &Tree, edge: EdgeNumber) -> f64 {
        let rate = tree.ends(edge).map_or(0.0, |(at, _)| self.0[at as usize]);
        let link = tree.rate(edge / 2).0 as f64;
        1.0 - (link / rate.max(1.0)).min(1.0)
    }
}

/// The users of a port follow each other in as many lanes as may be under way, in turn. Where so many would
/// overflow its queue at the beginning, fewer begin, and each of these that is over lets two more begin, until
/// all lanes are in use.
pub(super) fn orders(
    paths: &MessagePaths<'_>,
    capacities: &EdgeCapacities,
    messages: &PhaseMessages,
    credit: u32,
) -> Vec<TokenOrder> {
    let tree = paths.tree();
    let (of_lane, hosts) = (
        LaneCredit::on_tree(tree, capacities),
        FeederRates::new(tree),
    );
    let mut ports: Vec<Option<PortUsers>> = (0..paths.links() as LinkNumber)
        .map(|link| {
            // A host queues in its own memory.
            let width = Some(paths.width(link, capacities)).filter(|_| paths.is_port(link))?;
            let part = at_first(tree, capacities, (&hosts, paths.edge(link).0), of_lane);
            Some(PortUsers::new(width, credit, part))
        })
        .collect();
    let (mut orders, mut found) = (Vec::new(), Vec::new());
    for (number, m) in (0u32..).zip(&messages.all) {
        paths.visit(number, *m, |link| {
            let port = ports[link as usize].as_mut();
            found.extend(port.and_then(|port| port.follows(number)));
        });
        found.sort_unstable_by(|a, b| b.cmp(a));
        found.dedup();
        orders.extend(found.drain(..).map(|after| (after, number)));
    }
    orders
}

/// The messages over a port, in their order.
struct PortUsers {
    /// So many may be under way, and so many of them at first: no message waits for one of its phase.
    room: u64,
    at_first: u64,
    /// Those that others may still wait for, and the number of the first.
    users: VecDeque<u32>,
    first: u64,
}

impl PortUsers {
    fn new(width: u64, credit: u32, part_at_first: f64) -> PortUsers {
        let room = width * u64::from(credit);
        PortUsers {
            room,
            at_first: width.max((room as f64 * part_at_first) as u64),
            users: VecDeque::new(),
            first: 0,
        }
    }

    /// The message that has to be over before this one begins.
    fn follows(&mut self, message: u32) -> Option<u32> {
        let number = self.first + self.users.len() as u64;
        self.users.push_back(message);
        let beyond = number.checked_sub(self.at_first)?;
        let awaited = (beyond / 2).max(number.saturating_sub(self.room));
        self.users.drain(..(awaited - self.first) as usize);
        self.first = awaited;
        self.users.front().copied()
    }
}

#[cfg(test)]
mod tests;
