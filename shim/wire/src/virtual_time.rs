//! Calls in virtual time: connections take any number of octets at a time, and what is under way
//! takes any time, so that data, tokens and ranks overtake each other as they like. Connections break
//! at any octet, and go on where the count of the other end stands.
use crate::call::{WireCall, WireEvent};
use crate::framing::{BlockFraming, BlockHeader};
use crate::links::PeerLinks;
use crate::sent_log::{OctetsAgain, SentLog};
use crate::shell::{IncomingPlace, OutgoingOctets, WireShell};
use crate::stream_pace::StreamPace;
use crate::streams::WireSetting;
use inventory::tree::Tree;
use inventory::{BitsPerSec, Bytes, TopologyFile};
use proptest::prelude::*;
use schedules::message::Message;
use schedules::synchronization::scheme::{SyncMechanism, SyncScheme};
use schedules::transfers::TransferSchedule;
use schedules::transfers::part::{self, RankPart, SyncToken};
use schedules::{allgather, alltoall};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::ops::Range;
use std::time::Duration;

/// Octets on a connection.
#[derive(Debug, Clone)]
enum OctetSegment {
    Header(Vec<u8>),
    Block {
        block: Message,
        from: usize,
        to: usize,
    },
}

impl OctetSegment {
    fn len(&self) -> usize {
        match self {
            OctetSegment::Header(octets) => octets.len(),
            OctetSegment::Block { from, to, .. } => to - from,
        }
    }

    /// Cuts so many octets off its beginning.
    fn cut(&mut self, octets: usize) -> OctetSegment {
        match self {
            OctetSegment::Header(all) => OctetSegment::Header(all.drain(..octets).collect()),
            OctetSegment::Block { block, from, .. } => {
                *from += octets;
                OctetSegment::Block {
                    block: *block,
                    from: *from - octets,
                    to: *from,
                }
            }
        }
    }
}

/// From one rank to another.
#[derive(Debug, Default)]
struct VirtualConnection {
    /// Octets that have come and were not taken.
    came: VecDeque<OctetSegment>,
    under_way: usize,
    /// The time before which nothing more comes, of data and of tokens.
    not_before: [u64; 2],
    /// Octets that must be there before the receiver is woken.
    wake_at: usize,
    /// The sender wants to know when few are under way.
    is_awaited: bool,
    /// The octets that were sent, and how many of them have come.
    sent: SentLog<(Message, BlockHeader)>,
    octets: u64,
    /// The tokens that were sent, and how many of them have come.
    tokens: Vec<u32>,
    taken: usize,
}

#[derive(Debug)]
enum VirtualArrival {
    Octets(OctetSegment),
    Token(u32),
}

/// Whatever is under way, by time; and a source of chance.
struct VirtualNetwork {
    ranks: u32,
    connections: Vec<VirtualConnection>,
    /// The time, a number that makes times unique, and the connection.
    due: BinaryHeap<Reverse<(u64, u64, usize)>>,
    arrivals: HashMap<u64, VirtualArrival>,
    numbers: u64,
    now: u64,
    seed: u64,
    /// Octets that came of each block at its receiver.
    filled: HashMap<(u32, Message), usize>,
    /// A connection breaks at one event in so many; 0: never.
    breaks: u64,
}

/// A connection takes so many octets at most.
const ROOM: usize = 50_000;
const FEW: usize = 8_192;

impl VirtualNetwork {
    fn chance(&mut self, below: u64) -> u64 {
        // xorshift (Marsaglia 2003)
        self.seed ^= self.seed << 13;
        self.seed ^= self.seed >> 7;
        self.seed ^= self.seed << 17;
        self.seed % below.max(1)
    }

    fn at(&self, from: u32, to: u32) -> usize {
        (from * self.ranks + to) as usize
    }

    fn put(&mut self, at: usize, arrival: VirtualArrival) {
        let later = 1 + self.chance(200);
        let kind = usize::from(matches!(arrival, VirtualArrival::Token(_)));
        let before = &mut self.connections[at].not_before[kind];
        *before = (*before).max(self.now + later);
        // Within a connection nothing overtakes.
        *before += 1;
        self.numbers += 1;
        let number = self.numbers;
        self.due.push(Reverse((*before, number, at)));
        self.arrivals.insert(number, arrival);
    }

    /// The next arrival: who gets it, and what it is.
    fn next(&mut self) -> Option<(u32, Option<WireEvent>)> {
        if self.breaks > 0 && self.chance(self.breaks) == 0 {
            let (from, to) = (
                self.chance(self.ranks.into()),
                self.chance(self.ranks.into()),
            );
            self.break_one(from as u32, to as u32);
        }
        let (arrival, connection) = loop {
            let Reverse((at, number, connection)) = self.due.pop()?;
            self.now = at;
            if let Some(arrival) = self.arrivals.remove(&number) {
                break (arrival, connection);
            }
        };
        let (from, to) = (
            connection as u32 / self.ranks,
            connection as u32 % self.ranks,
        );
        let connection = &mut self.connections[connection];
        match arrival {
            VirtualArrival::Token(id) => {
                connection.taken += 1;
                let token = SyncToken { peer: from, id };
                Some((to, Some(WireEvent::Token(token))))
            }
            VirtualArrival::Octets(segment) => {
                connection.under_way -= segment.len();
                connection.octets += segment.len() as u64;
                connection.came.push_back(segment);
                let there: usize = connection.came.iter().map(OctetSegment::len).sum();
                let is_woken = there >= connection.wake_at.min(ROOM / 2);
                Some((to, is_woken.then_some(WireEvent::Readable(from))))
            }
        }
    }

    /// The connection that this rank made with that one breaks: what is under way on it is lost, data
    /// and the tokens against it. It is made anew at once.
    fn break_one(&mut self, from: u32, to: u32) {
        let (data, tokens) = (self.at(from, to), self.at(to, from));
        for Reverse((_, number, at)) in &self.due {
            let is_lost = self
                .arrivals
                .get(number)
                .is_some_and(|arrival| match arrival {
                    VirtualArrival::Octets(_) => *at == data,
                    VirtualArrival::Token(_) => *at == tokens,
                });
            if is_lost {
                self.arrivals.remove(number);
            }
        }
        let connection = &mut self.connections[data];
        connection.under_way = 0;
        let (octets, sent) = (connection.octets, &mut connection.sent);
        assert_eq!(sent.go_on_at(octets), Ok(()));
        let mut again = Vec::new();
        while let Some(OctetsAgain::In(&source, place)) = sent.next() {
            sent.wrote(place.len());
            again.push((source, place));
        }
        for ((block, header), place) in again {
            self.send(data, block, header, place);
        }
        for number in self.connections[tokens].taken..self.connections[tokens].tokens.len() {
            let id = self.connections[tokens].tokens[number];
            self.put(tokens, VirtualArrival::Token(id));
        }
    }

    /// Lets octets of a header and the block behind it go, in segments.
    fn send(&mut self, at: usize, block: Message, header: BlockHeader, mut place: Range<usize>) {
        if place.start < header.len() {
            let end = place.end.min(header.len());
            let octets = header[place.start..end].to_vec();
            place.start = end;
            self.go(at, OctetSegment::Header(octets));
        }
        while !place.is_empty() {
            let length = place.len().min(1 + self.chance(20_000) as usize);
            let from = place.start - header.len();
            let to = from + length;
            self.go(at, OctetSegment::Block { block, from, to });
            place.start += length;
        }
    }

    fn go(&mut self, at: usize, segment: OctetSegment) {
        self.connections[at].under_way += segment.len();
        self.put(at, VirtualArrival::Octets(segment));
    }

    /// Senders that wait for room.
    fn awaited(&mut self) -> Vec<(u32, u32)> {
        let ranks = self.ranks;
        let all = self.connections.iter_mut().enumerate();
        all.filter(|(_, c)| c.is_awaited && c.under_way <= FEW)
            .map(|(at, connection)| {
                connection.is_awaited = false;
                (at as u32 / ranks, at as u32 % ranks)
            })
            .collect()
    }
}

/// The network as one rank uses it.
struct VirtualShell<'a> {
    network: &'a mut VirtualNetwork,
    me: u32,
}

impl WireShell for VirtualShell<'_> {
    type Failure = String;

    fn read(&mut self, rank: u32, place: IncomingPlace<'_>) -> Result<usize, String> {
        let at = self.network.at(rank, self.me);
        let VirtualNetwork {
            connections,
            filled,
            ..
        } = &mut *self.network;
        let came = &mut connections[at].came;
        let (mut header, block, mut room) = match place {
            IncomingPlace::Header(octets) => (Some((octets, 0)), None, usize::MAX),
            IncomingPlace::Nowhere(octets) => (None, None, octets),
            IncomingPlace::Block { block, from, to } => (None, Some((block, from)), to - from),
        };
        if let Some((octets, _)) = &header {
            room = octets.len();
        }
        let mut taken = 0;
        while let Some(first) = came.front_mut().filter(|_| taken < room) {
            let part = first.cut(first.len().min(room - taken));
            if first.len() == 0 {
                came.pop_front();
            }
            match (&part, &mut header, block) {
                (OctetSegment::Header(octets), Some((place, at)), _) => {
                    place[*at..*at + octets.len()].copy_from_slice(octets);
                    *at += octets.len();
                }
                (
                    OctetSegment::Block {
                        block: of, from, ..
                    },
                    None,
                    Some((expected, place)),
                ) => {
                    if of.src != expected.src || *from != place + taken {
                        return Err(format!("{part:?} for {expected:?} at {place}"));
                    }
                    *filled.entry((self.me, expected)).or_default() += part.len();
                }
                (OctetSegment::Block { .. }, None, None) => {}
                (part, ..) => return Err(format!("{part:?} in the wrong place")),
            }
            taken += part.len();
        }
        Ok(taken)
    }

    fn write(&mut self, rank: u32, octets: OutgoingOctets) -> Result<usize, String> {
        let at = self.network.at(self.me, rank);
        let free = ROOM - self.network.connections[at].under_way.min(ROOM);
        let whole = octets.header.len() + octets.there - octets.after;
        let room = 1 + self.network.chance(ROOM as u64) as usize;
        let sent = whole.min(free).min(room);
        let place = octets.after..octets.after + sent;
        let block = octets.block.block;
        let connection = &mut self.network.connections[at];
        if connection.under_way.is_multiple_of(2) {
            connection.sent.came_but(connection.under_way);
        }
        connection.sent.sent((block, octets.header), place.clone());
        self.network.send(at, block, octets.header, place);
        self.network.connections[at].is_awaited |= sent < whole;
        Ok(sent)
    }

    fn has_mostly_gone(&mut self, rank: u32) -> Result<bool, String> {
        let at = self.network.at(self.me, rank);
        let connection = &mut self.network.connections[at];
        let has = connection.under_way <= FEW;
        connection.is_awaited |= !has;
        Ok(has)
    }

    fn under_way(&mut self, rank: u32) -> Result<usize, String> {
        Ok(self.network.connections[self.network.at(self.me, rank)].under_way)
    }

    fn wake_at(&mut self, rank: u32, octets: usize) -> Result<(), String> {
        let at = self.network.at(rank, self.me);
        self.network.connections[at].wake_at = octets;
        Ok(())
    }

    fn give(&mut self, token: SyncToken) -> Result<(), String> {
        let at = self.network.at(self.me, token.peer);
        self.network.connections[at].tokens.push(token.id);
        self.network.put(at, VirtualArrival::Token(token.id));
        Ok(())
    }

    fn nonsense(&self, rank: u32, problem: &'static str) -> String {
        format!("rank {rank}: {problem}")
    }
}

impl VirtualNetwork {
    fn new(ranks: u32, seed: u64) -> VirtualNetwork {
        let connections = (0..ranks * ranks).map(|_| VirtualConnection::default());
        VirtualNetwork {
            ranks,
            connections: connections.collect(),
            due: BinaryHeap::new(),
            arrivals: HashMap::new(),
            numbers: 0,
            now: 0,
            seed: seed | 1,
            filled: HashMap::new(),
            breaks: 0,
        }
    }

    /// Hands events to a rank's call; true if the call is over.
    fn hand(
        &mut self,
        calls: &mut [WireCall],
        me: u32,
        event: Option<WireEvent>,
    ) -> Result<bool, String> {
        let now = Duration::from_micros(self.now);
        let call = &mut calls[me as usize];
        call.handle(now, event, &mut VirtualShell { network: self, me })?;
        Ok(call.is_over())
    }
}

/// Lets all ranks carry out their parts; the octets that came of each block at its receiver.
fn carry_out(
    parts: &[RankPart],
    framing: BlockFraming,
    length: impl Fn(u32, u32) -> usize,
    (seed, breaks): (u64, u64),
) -> Result<HashMap<(u32, Message), usize>, String> {
    let ranks = parts.len() as u32;
    let rate = BitsPerSec::mega(1 << (seed % 17));
    let links = PeerLinks {
        pace: Some(StreamPace {
            slowest: rate,
            own: rate,
        }),
        frame_time: Duration::ZERO,
    };
    let setting = |me: u32| WireSetting {
        call: 7,
        framing,
        links: vec![links; parts.len()],
        patience: 1e9,
        outgoing: (0..ranks).map(|to| length(me, to)).collect(),
        incoming: (0..ranks).map(|from| length(from, me)).collect(),
    };
    let mut calls: Vec<WireCall> = (0..)
        .zip(parts)
        .map(|(me, part)| WireCall::new(part, setting(me)))
        .collect();
    let mut network = VirtualNetwork::new(ranks, seed);
    network.breaks = breaks;
    for me in 0..ranks {
        network.hand(&mut calls, me, Some(WireEvent::Begun))?;
    }
    let mut idle = 0;
    while idle < 3 {
        if let Some((to, event)) = network.next() {
            idle = 0;
            network.hand(&mut calls, to, event)?;
            for (from, to) in network.awaited() {
                network.hand(&mut calls, from, Some(WireEvent::Writable(to)))?;
            }
            continue;
        }
        idle += 1;
        let mut are_over = true;
        for me in 0..ranks {
            are_over &= network.hand(&mut calls, me, Some(WireEvent::Idle))?;
        }
        if are_over && network.due.is_empty() {
            return match network.connections.iter().all(|c| c.came.is_empty()) {
                true => Ok(network.filled),
                false => Err("octets that nobody takes".to_owned()),
            };
        }
    }
    let stuck = calls.iter().filter(|call| !call.is_over());
    let waits: Vec<String> = stuck.map(WireCall::waits_for).collect();
    Err(format!("hang: {waits:?}"))
}

/// A tree of switches with hosts on it, each switch and host under one of those before it.
fn tree(switches: &[usize], hosts: &[usize]) -> Tree {
    let names: Vec<String> = (0..=switches.len()).map(|n| format!("s{n}")).collect();
    let links: Vec<String> = switches
        .iter()
        .enumerate()
        .map(|(n, parent)| format!("{{a: s{}, b: s{}}}", n + 1, parent % (n + 1)))
        .collect();
    let host =
        |(n, at): (usize, &usize)| format!("  n{n}: {{switch: s{}}}\n", at % (switches.len() + 1));
    let text = format!(
        "switches: [{}]\nhosts:\n{}links: [{}]\n",
        names.join(", "),
        hosts.iter().enumerate().map(host).collect::<String>(),
        links.join(", ")
    );
    TopologyFile::parse("test", &text).unwrap().tree().unwrap()
}

/// The octets that each rank is to have of each other one's block came, and no more.
fn all_came(
    filled: &HashMap<(u32, Message), usize>,
    ranks: u32,
    length: impl Fn(u32, u32) -> usize,
) {
    let mut by_ends: HashMap<(u32, u32), usize> = HashMap::new();
    for (&(at, block), &octets) in filled {
        if block.dst == at {
            *by_ends.entry((block.src, at)).or_default() += octets;
        }
    }
    for from in 0..ranks {
        for to in (0..ranks).filter(|&to| to != from) {
            let came = by_ends.get(&(from, to)).copied().unwrap_or(0);
            assert_eq!(came, length(from, to), "from {from} to {to}");
        }
    }
}

fn parts(schedule: &TransferSchedule, window: Option<Bytes>) -> Vec<RankPart> {
    (0..schedule.hosts())
        .map(|rank| RankPart {
            window,
            ..part::of(schedule, rank)
        })
        .collect()
}

proptest! {
    #[test]
    fn every_all_to_all_ends_and_every_block_comes_once(
        switches in prop::collection::vec(0..8usize, 0..5),
        hosts in prop::collection::vec(0..8usize, 2..9),
        scheme in prop::sample::select(vec!["none", "sender", "receiver", "credit", "credit(3)", "credit(3x4)"]),
        is_framed in any::<bool>(),
        has_window in any::<bool>(),
        breaks in prop::sample::select(vec![0u64, 3, 30, 300]),
        seed in any::<u64>(),
    ) {
        let (tree, scheme) = (tree(&switches, &hosts), scheme.parse::<SyncScheme>().unwrap());
        let schedule = TransferSchedule::on_tree(&tree, &alltoall::plan(&tree, scheme)).unwrap();
        let window = (has_window && scheme == SyncScheme::NO_SYNC).then_some(Bytes(30_000));
        let framing = if is_framed { BlockFraming::Framed } else { BlockFraming::Bare };
        let length = |from: u32, to: u32| {
            let mixed = (u64::from(from * 31 + to * 7) + seed % 1000).wrapping_mul(2_654_435_761);
            (mixed % 5 * (mixed >> 8) % 90_000) as usize
        };
        let mut parts = parts(&schedule, window);
        if scheme.mechanism() == SyncMechanism::Credit {
            parts.iter_mut().for_each(|part| part.lead = Some(Bytes(seed % 100_000)));
        }
        let filled = carry_out(&parts, framing, length, (seed, breaks));
        all_came(&filled.map_err(TestCaseError::fail)?, schedule.hosts(), length);
    }

    #[test]
    fn every_allgather_ends_and_every_block_comes_once(
        switches in prop::collection::vec(0..8usize, 0..5),
        hosts in prop::collection::vec(0..8usize, 2..9),
        breaks in prop::sample::select(vec![0u64, 3, 30, 300]),
        seed in any::<u64>(),
    ) {
        let tree = tree(&switches, &hosts);
        let schedule = TransferSchedule::from(&allgather::plan(&tree));
        let length = |from: u32, _: u32| (u64::from(from + 1) * (seed % 60_000)) as usize;
        let filled = carry_out(&parts(&schedule, None), BlockFraming::Bare, length, (seed, breaks));
        all_came(&filled.map_err(TestCaseError::fail)?, schedule.hosts(), length);
    }
}
