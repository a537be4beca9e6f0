//! Calls with peers that send what they like: other headers, octets that nobody asked for, tokens that
//! nobody awaits. The call goes on, waits, or ends with a reason; no block gets more than it has room for.
//! By chance in tests, by a fuzzer's octets with the feature `hostile`.
use crate::call::{WireCall, WireEvent};
use crate::framing::BlockFraming;
use crate::links::PeerLinks;
use crate::shell::{IncomingPlace, OutgoingOctets, WireShell};
use crate::streams::WireSetting;
use inventory::{Bytes, TopologyFile};
use schedules::alltoall;
use schedules::message::Message;
use schedules::synchronization::scheme::SyncScheme;
use schedules::transfers::TransferSchedule;
use schedules::transfers::part::{self, RankPart, SyncToken};
use std::collections::HashMap;
use std::sync::LazyLock;
use std::time::Duration;

const RANKS: u32 = 4;
const CALL: u32 = 7;
/// Octets of blocks, of which each peer has its own: rounds cut them in uneven parts, or none.
const LENGTHS: [usize; 4] = [5_000, 0, 3, 70_001];

/// These numbers decide their acts; they send at most so many octets for each event.
struct HostilePeers<C> {
    choices: C,
    left: usize,
    /// Octets of the blocks that this rank has room for, by sender.
    room: Vec<usize>,
    /// By block: octets that were put into it.
    filled: HashMap<Message, usize>,
}

impl<C: Iterator<Item = u64>> HostilePeers<C> {
    fn chance(&mut self, below: u64) -> u64 {
        self.choices.next().unwrap_or(0) % below.max(1)
    }

    fn some_of(&mut self, most: usize) -> usize {
        let some = self.chance(1 + most.min(self.left) as u64) as usize;
        self.left -= some;
        some
    }

    fn lengths(&mut self) -> Vec<usize> {
        (0..RANKS)
            .map(|_| LENGTHS[self.chance(LENGTHS.len() as u64) as usize])
            .collect()
    }

    fn event(&mut self) -> WireEvent {
        let rank = self.chance(RANKS.into()) as u32;
        match self.chance(8) {
            0 => WireEvent::Writable(rank),
            1 => WireEvent::Idle,
            2 | 3 => WireEvent::Token(SyncToken {
                peer: rank,
                id: self.chance(6) as u32,
            }),
            _ => WireEvent::Readable(rank),
        }
    }
}

impl<C: Iterator<Item = u64>> WireShell for HostilePeers<C> {
    type Failure = &'static str;

    fn read(&mut self, rank: u32, place: IncomingPlace<'_>) -> Result<usize, Self::Failure> {
        Ok(match place {
            IncomingPlace::Nowhere(octets) => self.some_of(octets),
            IncomingPlace::Block { block, from, to } => {
                let room = self.room[block.src as usize];
                assert!(from <= to && to <= room, "{block:?} from {from} to {to}");
                let some = self.some_of(to - from);
                *self.filled.entry(block).or_default() += some;
                some
            }
            IncomingPlace::Header(octets) => {
                let some = self.some_of(octets.len());
                // Mostly a good number of the call, and any length.
                let room = self.room[rank as usize] as u64;
                let lengths = [0, 1, room.saturating_sub(1), room, room + 1, u64::MAX];
                let length = lengths[self.chance(6) as usize];
                let call = if self.chance(20) == 0 { 8 } else { CALL };
                let header = [&call.to_ne_bytes()[..], &length.to_ne_bytes()].concat();
                let missing = octets.len();
                octets[..some].copy_from_slice(&header[header.len() - missing..][..some]);
                some
            }
        })
    }

    fn write(&mut self, _: u32, octets: OutgoingOctets) -> Result<usize, Self::Failure> {
        let most = octets.header.len() + octets.there - octets.after;
        Ok(self.some_of(most))
    }

    fn has_mostly_gone(&mut self, _: u32) -> Result<bool, Self::Failure> {
        Ok(self.chance(2) == 0)
    }

    fn under_way(&mut self, _: u32) -> Result<usize, Self::Failure> {
        Ok(self.chance(100_000) as usize)
    }

    fn wake_at(&mut self, _: u32, _: usize) -> Result<(), Self::Failure> {
        Ok(())
    }

    fn give(&mut self, token: SyncToken) -> Result<(), Self::Failure> {
        assert!(token.peer < RANKS, "{token:?}");
        Ok(())
    }

    fn nonsense(&self, _: u32, problem: &'static str) -> Self::Failure {
        problem
    }
}

fn part_of(sync: &str) -> RankPart {
    let text = "switches: [a, b]\nhosts: {w: {switch: a}, x: {switch: a}, y: {switch: b}, z: {switch: b}}\n\
                links: [{a: a, b: b}]\n";
    let (_, tree) = TopologyFile::parse_tree("four", text).expect("a tree");
    let sync: SyncScheme = sync.parse().expect("a synchronization");
    let plan = alltoall::plan(&tree, sync);
    part::of(
        &TransferSchedule::on_tree(&tree, &plan).expect("its messages"),
        1,
    )
}

/// Planned once, so that a fuzzer makes more calls.
static PARTS: LazyLock<HashMap<&str, RankPart>> =
    LazyLock::new(|| SYNCS.map(|sync| (sync, part_of(sync))).into());

/// Synchronizations of the calls.
pub const SYNCS: [&str; 6] = [
    "none",
    "receiver",
    "credit",
    "credit(3)",
    "credit(3x4)",
    "window",
];

/// A call with this synchronization and so many events, while its peers do what these numbers say.
///
/// # Panics
/// If a block gets more octets than it has room for, or a token goes to nobody.
pub fn call_with_hostile_peers(
    sync: &str,
    framing: BlockFraming,
    events: usize,
    choices: impl Iterator<Item = u64>,
) {
    let mut peers = HostilePeers {
        choices,
        left: 0,
        room: Vec::new(),
        filled: HashMap::new(),
    };
    let [incoming, outgoing] = [(); 2].map(|()| peers.lengths());
    peers.room.clone_from(&incoming);
    let mut part = PARTS[sync].clone();
    if sync.starts_with("credit") {
        part.lead = Some(Bytes(peers.chance(2) * 20_000));
    }
    let setting = WireSetting {
        call: CALL,
        framing,
        links: vec![PeerLinks::default(); RANKS as usize],
        patience: 1.0,
        outgoing,
        incoming,
    };
    let mut call = WireCall::new(&part, setting);
    let mut event = WireEvent::Begun;
    for number in 0..events {
        peers.left = 20_000;
        let now = Duration::from_millis(number as u64);
        if call.handle(now, [event], &mut peers).is_err() {
            break;
        }
        event = peers.event();
    }
    for (block, octets) in &peers.filled {
        let room = peers.room[block.src as usize];
        assert!(*octets <= room, "{block:?} has {octets} of {room}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use schedules::random::SplitMix64;

    proptest! {
        #[test]
        fn a_call_ends_or_waits_whatever_its_peers_send(
            sync in prop::sample::select(SYNCS.to_vec()),
            framing in prop::sample::select(vec![BlockFraming::Bare, BlockFraming::Framed]),
            seed in any::<u64>(),
            events in 1..400usize,
        ) {
            let mut chance = SplitMix64::new(seed);
            let choices = std::iter::repeat_with(|| chance.below_wide(u64::MAX));
            call_with_hostile_peers(sync, framing, events, choices);
        }
    }
}
