//! How MPI libraries carry an allreduce: steps, each of which begins when the one before is over.
use crate::library::CountedOctets;
use std::collections::VecDeque;
use std::fmt;
use std::ops::Range;
use std::str::FromStr;
use wire::call::WireEvent;

/// Octets of an element.
pub(crate) const ELEMENT: u32 = 8;

/// A library's pattern. Where the ranks are no power of two, the halving ones have some ranks hand their
/// elements to their neighbours, and get the result from them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReductionPattern {
    /// To the first rank, which combines them, and from there to all.
    Linear,
    /// Parts go around the ring of ranks, combined and then whole.
    Ring,
    /// All elements to a rank twice as far away in each step.
    Doubling,
    /// Halves, quarters and so on to such ranks, and back (Rabenseifner).
    Halving,
}

impl ReductionPattern {
    const ALL: [(ReductionPattern, &str); 4] = [
        (ReductionPattern::Linear, "linear"),
        (ReductionPattern::Ring, "ring"),
        (ReductionPattern::Doubling, "doubling"),
        (ReductionPattern::Halving, "rabenseifner"),
    ];
}

impl fmt::Display for ReductionPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(ReductionPattern::ALL[*self as usize].1)
    }
}

impl FromStr for ReductionPattern {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let mut all = ReductionPattern::ALL.into_iter();
        all.find(|(_, name)| *name == text)
            .map(|(pattern, _)| pattern)
            .ok_or(())
    }
}

/// The parts of `octets`, one for each rank.
pub(crate) fn parts(octets: u32, ranks: u32) -> Vec<Range<usize>> {
    let ends: Vec<usize> = (0..=u64::from(ranks))
        .map(|part| {
            let elements = u64::from(octets / ELEMENT) * part / u64::from(ranks);
            (elements * u64::from(ELEMENT)) as usize
        })
        .collect();
    ends.windows(2).map(|part| part[0]..part[1]).collect()
}

/// The messages that a rank sends and receives at once: the other rank and the octets of each.
#[derive(Debug, Clone, Default)]
struct ReductionStep {
    sends: Vec<(u32, u32)>,
    receives: Vec<(u32, u32)>,
    combines: bool,
}

impl ReductionStep {
    /// With one other rank.
    fn swap(peer: u32, [out, back]: [u32; 2], combines: bool) -> ReductionStep {
        ReductionStep {
            sends: vec![(peer, out)],
            receives: vec![(peer, back)],
            combines,
        }
    }

    fn send(peer: u32, octets: u32) -> ReductionStep {
        ReductionStep {
            sends: vec![(peer, octets)],
            ..ReductionStep::default()
        }
    }

    fn receive(peer: u32, octets: u32, combines: bool) -> ReductionStep {
        ReductionStep {
            receives: vec![(peer, octets)],
            combines,
            ..ReductionStep::default()
        }
    }
}

/// One rank's call.
#[derive(Debug)]
pub(crate) struct SteppedCall {
    /// The messages of the present step that are not over, and the steps after it.
    steps: VecDeque<ReductionStep>,
    /// Octets of each message of the present step that are to be combined when it has come.
    whole: Vec<u32>,
}

impl SteppedCall {
    pub(crate) fn new(
        pattern: ReductionPattern,
        (me, ranks): (u32, u32),
        octets: u32,
    ) -> SteppedCall {
        let steps = match pattern {
            ReductionPattern::Linear => linear(me, ranks, octets),
            ReductionPattern::Ring => ring(me, ranks, octets),
            ReductionPattern::Doubling => folded(me, ranks, octets, &doubling),
            ReductionPattern::Halving => folded(me, ranks, octets, &halving),
        };
        let mut call = SteppedCall {
            steps: steps.into(),
            whole: Vec::new(),
        };
        call.begin_step();
        call
    }

    pub(crate) fn is_over(&self) -> bool {
        self.steps.is_empty()
    }

    fn begin_step(&mut self) {
        let first = self.steps.front().map(|step| step.receives.iter());
        let octets = first.into_iter().flatten().map(|(_, octets)| *octets);
        self.whole = octets.collect();
    }

    /// Goes on as far as it can after any event.
    pub(crate) fn handle(&mut self, _: WireEvent, shell: &mut impl CountedOctets) {
        while let Some(step) = self.steps.front_mut() {
            for (to, octets) in step.sends.iter_mut().filter(|(_, octets)| *octets > 0) {
                *octets -= shell.send(*to, *octets);
            }
            for ((from, octets), whole) in step.receives.iter_mut().zip(&mut self.whole) {
                *octets -= shell.receive(*from, *octets);
                if *octets == 0 && step.combines {
                    shell.combine(std::mem::take(whole));
                }
            }
            let mut left = step.sends.iter().chain(&step.receives);
            if left.any(|(_, octets)| *octets > 0) {
                return;
            }
            self.steps.pop_front();
            self.begin_step();
        }
    }
}

fn linear(me: u32, ranks: u32, octets: u32) -> Vec<ReductionStep> {
    if me > 0 {
        return vec![
            ReductionStep::send(0, octets),
            ReductionStep::receive(0, octets, false),
        ];
    }
    let others: Vec<(u32, u32)> = (1..ranks).map(|rank| (rank, octets)).collect();
    let gathers = ReductionStep {
        receives: others.clone(),
        combines: true,
        ..ReductionStep::default()
    };
    let spreads = ReductionStep {
        sends: others,
        ..ReductionStep::default()
    };
    vec![gathers, spreads]
}

fn ring(me: u32, ranks: u32, octets: u32) -> Vec<ReductionStep> {
    let lengths: Vec<u32> = parts(octets, ranks)
        .iter()
        .map(|part| part.len() as u32)
        .collect();
    // The parts that pass this rank, those that it gets behind those that it sends.
    let passing: Vec<u32> = (0..2 * ranks)
        .map(|step| (me + 2 * ranks - step) % ranks)
        .collect();
    let steps = (0..).zip(passing.windows(2)).take(2 * (ranks as usize - 1));
    steps
        .map(|(step, parts)| ReductionStep {
            sends: vec![((me + 1) % ranks, lengths[parts[0] as usize])],
            receives: vec![(passing[1], lengths[parts[1] as usize])],
            combines: step < ranks - 1,
        })
        .collect()
}

/// The steps of a pattern for a power of two of ranks: by rank among them, and their number's logarithm.
type StepsOfPower<'a> = &'a dyn Fn(u32, u32, u32) -> Vec<(u32, ReductionStep)>;

fn folded(me: u32, ranks: u32, octets: u32, steps: StepsOfPower<'_>) -> Vec<ReductionStep> {
    let power = ranks.ilog2();
    let odd = ranks - (1 << power);
    if me < 2 * odd && me.is_multiple_of(2) {
        return vec![
            ReductionStep::send(me + 1, octets),
            ReductionStep::receive(me + 1, octets, false),
        ];
    }
    let is_double = me < 2 * odd;
    let number = if is_double { me / 2 } else { me - odd };
    let mut all = Vec::new();
    if is_double {
        all.push(ReductionStep::receive(me - 1, octets, true));
    }
    for (peer, mut step) in steps(number, power, octets) {
        let peers = step.sends.iter_mut().chain(&mut step.receives);
        peers.for_each(|(to, _)| {
            *to = if peer < odd { 2 * peer + 1 } else { peer + odd };
        });
        all.push(step);
    }
    if is_double {
        all.push(ReductionStep::send(me - 1, octets));
    }
    all
}

fn doubling(number: u32, power: u32, octets: u32) -> Vec<(u32, ReductionStep)> {
    (0..power)
        .map(|step| number ^ (1 << step))
        .map(|peer| (peer, ReductionStep::swap(peer, [octets; 2], true)))
        .collect()
}

fn halving(number: u32, power: u32, octets: u32) -> Vec<(u32, ReductionStep)> {
    let parts = parts(octets, 1 << power);
    let (mut own, mut down, mut up) = (0..parts.len(), Vec::new(), Vec::new());
    for step in 0..power {
        let peer = number ^ (1 << step);
        let middle = own.start + own.len() / 2;
        let halves = [own.start..middle, middle..own.end];
        let [kept, given] = if number & (1 << step) == 0 {
            halves
        } else {
            let [first, second] = halves;
            [second, first]
        };
        let [kept_octets, given_octets] =
            [&kept, &given].map(|half| (parts[half.end - 1].end - parts[half.start].start) as u32);
        let there = ReductionStep::swap(peer, [given_octets, kept_octets], true);
        let back = ReductionStep::swap(peer, [kept_octets, given_octets], false);
        down.push((peer, there));
        up.push((peer, back));
        own = kept;
    }
    up.reverse();
    down.append(&mut up);
    down
}
