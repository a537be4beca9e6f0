//! Datagrams one by one through the queues of switches.
use super::normal;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Switches and cards.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SwitchKind {
    /// By how much the cables are faster than those of [`super::TrueNetwork::CABLE`].
    pub(crate) times_faster: f64,
    /// The octets that wait at a port at most.
    pub(crate) queue: f64,
    /// True if a datagram leaves before it came whole.
    pub(crate) cuts_through: bool,
    /// By how much flows start later than others, and datagrams pass later, in seconds.
    pub(crate) late: f64,
    /// The part of the flows whose host is busy for a part of the round.
    pub(crate) busy: f64,
}

/// A datagram, or several of fast hosts, that comes to a cable: picoseconds, and a number that makes
/// two of them differ; then the flow, the place of the cable on its way, and the octets.
type ComingDatagram = Reverse<((u64, usize), usize, usize, u64)>;

const TICKS: f64 = 1e12;
const BYTES_OF_A_FLOW: f64 = 160_000.0;
const HEADER: f64 = 64.0;
/// Datagrams of a flow, or bunches of them.
const MOST_OF_A_FLOW: f64 = 500.0;

/// A round under way.
struct DatagramRound {
    kind: SwitchKind,
    cables: Vec<f64>,
    window: f64,
    /// The datagrams that count as one.
    together: f64,
    /// When each cable has sent what it has.
    free: Vec<f64>,
    events: BinaryHeap<ComingDatagram>,
    number: usize,
}

impl DatagramRound {
    fn new(cables: &[f64], kind: SwitchKind) -> DatagramRound {
        let cables: Vec<f64> = cables.iter().map(|rate| rate * kind.times_faster).collect();
        let window = (BYTES_OF_A_FLOW * 8.0 / cables[0]).clamp(5e-3, 0.2);
        let together = (window * cables[0] / 8.0 / 1500.0 / MOST_OF_A_FLOW).ceil();
        DatagramRound {
            kind,
            window,
            together: together.max(1.0),
            free: vec![0.0; cables.len()],
            cables,
            events: BinaryHeap::new(),
            number: 0,
        }
    }

    fn push(&mut self, at: f64, flow: usize, hop: usize, octets: u64) {
        self.number += 1;
        let time = (at.max(0.0) * TICKS) as u64;
        self.events
            .push(Reverse(((time, self.number), flow, hop, octets)));
    }

    fn size(&self, rng: &mut fastrand::Rng) -> u64 {
        rng.u64(1066..=1514) * self.together as u64
    }

    /// Passes a datagram over a cable: when it begins, and when it has left. `None` if the queue is
    /// full; a host's own cable holds its sender back instead.
    fn pass(&mut self, now: f64, cable: usize, hop: usize, octets: f64) -> Option<(f64, f64)> {
        let rate = self.cables[cable];
        let begins = now.max(self.free[cable]);
        let waits = (begins - now) * rate / 8.0;
        if hop > 0 && waits + octets > self.kind.queue.max(self.together * 3000.0) {
            return None;
        }
        let ends = begins + octets * 8.0 / rate;
        self.free[cable] = ends;
        Some((begins, ends))
    }
}

/// The rates at which flows arrive that all start at once.
pub(crate) fn arrived_rates(
    cables: &[f64],
    ways: &[Vec<usize>],
    kind: SwitchKind,
    rng: &mut fastrand::Rng,
) -> Vec<f64> {
    let mut round = DatagramRound::new(cables, kind);
    let (window, mut came) = (round.window, vec![0.0; ways.len()]);
    let mut ends = Vec::new();
    for flow in 0..ways.len() {
        let is_busy = rng.f64() < kind.busy;
        let part: f64 = if is_busy { rng.f64() } else { 1.0 };
        ends.push(window * part.max(0.3));
        let (start, size) = (normal(rng).abs() * kind.late, round.size(rng));
        round.push(start, flow, 0, size);
    }
    while let Some(Reverse(((time, _), flow, hop, octets))) = round.events.pop() {
        let (now, cable) = (time as f64 / TICKS, ways[flow][hop]);
        let rate = round.cables[cable];
        // The sender follows its cable, as long as it is not busy.
        let next = now + octets as f64 * 8.0 / rate;
        if hop == 0 && next < ends[flow] {
            let size = round.size(rng);
            round.push(next, flow, 0, size);
        }
        let Some((begins, left)) = round.pass(now, cable, hop, octets as f64) else {
            continue;
        };
        if let Some(next) = ways[flow].get(hop + 1) {
            let arrives = match kind.cuts_through && round.cables[*next] <= rate {
                true => begins + HEADER * 8.0 / rate,
                false => left,
            };
            round.push(
                arrives + normal(rng).abs() * kind.late,
                flow,
                hop + 1,
                octets,
            );
        } else if (window / 4.0..window).contains(&left) {
            came[flow] += octets as f64;
        }
    }
    came.into_iter()
        .map(|octets| octets * 8.0 / (0.75 * window) / kind.times_faster)
        .collect()
}
