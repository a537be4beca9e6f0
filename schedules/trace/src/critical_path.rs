//! The critical path of a call: the chain of steps, each of which waited for the one before, that
//! ends when the last rank is done. A change that shortens nothing on it shortens no call.
//!
//! It is found from its end. A block that came was sent by a rank that began when its last token
//! came, or when its block before had gone; a token was given when a block had almost come.
use crate::file::CallKind;
use crate::job::{JobNetwork, TracedCall};
use crate::step::{RankStep, TimedStep, TracedPiece, TracedToken};
use policy::decision_table::Way;
use std::collections::HashMap;
use std::time::Duration;

/// A token that was there when it was asked for is seen so soon after that.
const AT_ONCE: Duration = Duration::from_micros(50);
/// A longer path is cut: no call of a verified schedule has one.
const LONGEST: usize = 1 << 16;

/// A cause of elapsed time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TimeSink {
    /// Data on links, at the rate of the slowest one on the way.
    Wire,
    /// Data that took longer than that: a queue, or a link slower than the topology says.
    SlowLink,
    /// The same where segments were sent again.
    SentAgain,
    /// A token under way, as long as the fastest of its kind.
    TokenInFlight,
    /// The time that a token took longer than that: it stood behind data.
    TokenBehindData,
    /// A rank that could go on and had no processor.
    Processor,
    /// A rank that came late to the call.
    LateRank,
    /// The library's own routine, of which nothing is known.
    Library,
}

impl TimeSink {
    /// All, in the order of a report.
    pub const ALL: [TimeSink; 8] = [
        TimeSink::Wire,
        TimeSink::SlowLink,
        TimeSink::SentAgain,
        TimeSink::TokenInFlight,
        TimeSink::TokenBehindData,
        TimeSink::Processor,
        TimeSink::LateRank,
        TimeSink::Library,
    ];

    /// In a few words.
    pub fn title(self) -> &'static str {
        match self {
            TimeSink::Wire => "data at the links' rates",
            TimeSink::SlowLink => "queues or slow links",
            TimeSink::SentAgain => "segments sent again",
            TimeSink::TokenInFlight => "tokens in flight",
            TimeSink::TokenBehindData => "tokens behind data",
            TimeSink::Processor => "waiting for a processor",
            TimeSink::LateRank => "late ranks",
            TimeSink::Library => "the library's own routine",
        }
    }

    /// For programs.
    pub fn name(self) -> &'static str {
        match self {
            TimeSink::Wire => "wire",
            TimeSink::SlowLink => "slow_link",
            TimeSink::SentAgain => "sent_again",
            TimeSink::TokenInFlight => "token_in_flight",
            TimeSink::TokenBehindData => "token_behind_data",
            TimeSink::Processor => "processor",
            TimeSink::LateRank => "late_rank",
            TimeSink::Library => "library",
        }
    }
}

/// The kind of a segment of the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathStep {
    /// A rank had not come.
    Coming,
    /// Data from one rank to another, in a phase.
    Transfer {
        /// The phase, from 0.
        phase: u32,
    },
    Token,
    /// A rank that could go on.
    Idling,
    /// The library's own routine.
    Library,
}

/// A piece of the critical path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathSegment {
    /// When it began and ended, since the first rank came.
    pub began: Duration,
    /// See [`PathSegment::began`].
    pub ended: Duration,
    /// The rank that it began at, and the one that it ended at.
    pub from: u32,
    /// See [`PathSegment::from`].
    pub to: u32,
    /// Its kind.
    pub step: PathStep,
    /// The cause of its time.
    pub sinks: Vec<(TimeSink, Duration)>,
}

impl PathSegment {
    /// Its time.
    pub fn took(&self) -> Duration {
        self.ended.saturating_sub(self.began)
    }
}

/// The critical path of a call, from its beginning.
pub fn critical_path(call: &TracedCall, network: Option<&JobNetwork>) -> Vec<PathSegment> {
    let mut search = PathSearch {
        call,
        network,
        index: CallIndex::new(call),
        path: Vec::new(),
    };
    if let Some(end) = search.index.end {
        search.back_from(end);
    }
    let mut path = search.path;
    path.reverse();
    path
}

/// The octets of a piece.
pub fn octets(kind: &CallKind, piece: TracedPiece) -> u64 {
    kind.block.saturating_mul(u64::from(piece.blocks))
}

/// A step of a rank: the rank, and the step's place among its steps.
type StepPlace = (u32, usize);

/// Where the other ends of transfers and tokens are.
#[derive(Default)]
struct CallIndex {
    /// By sender, receiver, phase and block.
    began: HashMap<(u32, u32, u32, u32), StepPlace>,
    gone: HashMap<(u32, u32, u32, u32), StepPlace>,
    arrived: HashMap<(u32, u32, u32, u32), StepPlace>,
    /// By giver, taker and number.
    given: HashMap<(u32, u32, u32), StepPlace>,
    /// The fastest token of so many links.
    fastest: HashMap<usize, Duration>,
    /// Segments sent again, by sender and receiver.
    again: HashMap<(u32, u32), u32>,
    /// The last step of the last rank.
    end: Option<StepPlace>,
}

impl CallIndex {
    fn new(call: &TracedCall) -> CallIndex {
        let mut index = CallIndex::default();
        let mut last = Duration::ZERO;
        for (rank, steps) in (0..).zip(&call.steps) {
            for (at, step) in steps.iter().enumerate() {
                index.add(rank, at, step.step);
            }
            if let Some(end) = steps.last().filter(|end| end.at >= last) {
                last = end.at;
                index.end = Some((rank, steps.len() - 1));
            }
        }
        index
    }

    fn add(&mut self, rank: u32, at: usize, step: RankStep) {
        let out = |p: TracedPiece| (rank, p.peer, p.phase, p.block);
        match step {
            RankStep::SendBegan(p) => drop(self.began.insert(out(p), (rank, at))),
            RankStep::SendGone(p) => drop(self.gone.insert(out(p), (rank, at))),
            RankStep::Arrived(p) => drop(
                self.arrived
                    .insert((p.peer, rank, p.phase, p.block), (rank, at)),
            ),
            RankStep::TokenGiven(t) => drop(self.given.insert((rank, t.peer, t.id), (rank, at))),
            RankStep::SentAgain { peer, segments } => {
                *self.again.entry((rank, peer)).or_default() += segments;
            }
            _ => {}
        }
    }
}

/// The way back.
struct PathSearch<'a> {
    call: &'a TracedCall,
    network: Option<&'a JobNetwork>,
    index: CallIndex,
    path: Vec<PathSegment>,
}

impl PathSearch<'_> {
    fn step(&self, (rank, at): StepPlace) -> TimedStep {
        self.call.steps[rank as usize][at]
    }

    /// Goes back from a step to the beginning of the call.
    fn back_from(&mut self, end: StepPlace) {
        self.know_the_fastest_tokens();
        let mut place = Some(end);
        while let Some(at) = place
            && self.path.len() < LONGEST
        {
            let now = self.step(at).at;
            // Where clocks are wrong a cause may come after its effect: the way ends there.
            place = self
                .before(at)
                .filter(|&before| self.step(before).at <= now);
        }
    }

    fn know_the_fastest_tokens(&mut self) {
        for (taker, steps) in (0..).zip(&self.call.steps) {
            for step in steps {
                let RankStep::TokenTaken(token) = step.step else {
                    continue;
                };
                let Some(&given) = self.index.given.get(&(token.peer, taker, token.id)) else {
                    continue;
                };
                let took = step.at.saturating_sub(self.step(given).at);
                let links = self.links(token.peer, taker);
                let fastest = self.index.fastest.entry(links).or_insert(took);
                *fastest = took.min(*fastest);
            }
        }
    }

    fn links(&self, from: u32, to: u32) -> usize {
        self.network
            .map_or(0, |network| network.links(from, to).len())
    }

    /// The step that a step waited for; adds the segment between.
    fn before(&mut self, place: StepPlace) -> Option<StepPlace> {
        let (rank, at) = place;
        match self.step(place).step {
            RankStep::CallBegan { .. } => {
                let came = self.step(place).at;
                self.add(
                    Duration::ZERO,
                    came,
                    rank,
                    rank,
                    PathStep::Coming,
                    vec![(TimeSink::LateRank, came)],
                );
                None
            }
            RankStep::Arriving(piece) | RankStep::Arrived(piece) if self.streams() => {
                self.before_streamed(place, piece)
            }
            RankStep::Arriving(piece) | RankStep::Arrived(piece) => {
                let key = (piece.peer, rank, piece.phase, piece.block);
                let Some(&began) = self.index.began.get(&key) else {
                    return self.beginning_of(rank);
                };
                self.transfer(began, place, piece.peer, rank, piece);
                Some(began)
            }
            RankStep::SendGone(piece) => {
                let key = (rank, piece.peer, piece.phase, piece.block);
                let Some(&began) = self.index.began.get(&key) else {
                    return self.beginning_of(rank);
                };
                self.transfer(began, place, rank, piece.peer, piece);
                Some(began)
            }
            RankStep::TokenTaken(token) => self.before_token(place, token),
            // Everything else was done at once, after what let the rank go on.
            _ => {
                let cause = (0..at).rev().find(|&at| self.lets_go_on((rank, at)))?;
                self.idle((rank, cause), place);
                Some((rank, cause))
            }
        }
    }

    /// True if a rank may have waited for this step.
    fn lets_go_on(&self, place: StepPlace) -> bool {
        match self.step(place).step {
            RankStep::CallBegan { .. } | RankStep::SendGone(_) => true,
            RankStep::Arriving(_) | RankStep::Arrived(_) => true,
            RankStep::TokenTaken(token) => !self.was_early(place, token),
            _ => false,
        }
    }

    /// True if the token was there when it was asked for.
    fn was_early(&self, place: StepPlace, token: TracedToken) -> bool {
        let (rank, at) = place;
        let asked = self.call.steps[rank as usize][..at]
            .iter()
            .rfind(|step| step.step == RankStep::TokenAwaited(token));
        asked.is_some_and(|asked| self.step(place).at.saturating_sub(asked.at) < AT_ONCE)
    }

    fn streams(&self) -> bool {
        matches!(self.call.kind.way, Way::Ring { .. })
    }

    /// Of blocks that stream around a ring: this one waited for the one before it on the same link,
    /// or for its own arrival at the rank that passes it on.
    fn before_streamed(&mut self, place: StepPlace, piece: TracedPiece) -> Option<StepPlace> {
        let (rank, at) = place;
        let same_link = self.call.steps[rank as usize][..at].iter().rposition(|step| {
            matches!(step.step, RankStep::Arrived(before) if before.peer == piece.peer && before.block < piece.block)
        });
        let passed_on = piece.block.checked_sub(1).and_then(|block| {
            self.call.steps.get(piece.peer as usize)?.iter().position(
                |step| matches!(step.step, RankStep::Arrived(before) if before.block == block),
            )
        });
        let places = [
            same_link.map(|at| (rank, at)),
            passed_on.map(|at| (piece.peer, at)),
        ];
        let before = places
            .into_iter()
            .flatten()
            .filter(|&before| self.step(before).at < self.step(place).at)
            .max_by_key(|&before| self.step(before).at)
            .or_else(|| self.begin_place(piece.peer))?;
        self.transfer(before, place, piece.peer, rank, piece);
        Some(before)
    }

    fn before_token(&mut self, place: StepPlace, token: TracedToken) -> Option<StepPlace> {
        let (rank, _) = place;
        let Some(&given) = self.index.given.get(&(token.peer, rank, token.id)) else {
            return self.beginning_of(rank);
        };
        let (began, ended) = (self.step(given).at, self.step(place).at);
        let took = ended.saturating_sub(began);
        let links = self.links(token.peer, rank);
        let least = self
            .index
            .fastest
            .get(&links)
            .copied()
            .unwrap_or(took)
            .min(took);
        let late = self.late(place).min(took - least);
        let sinks = vec![
            (TimeSink::TokenInFlight, least),
            (TimeSink::TokenBehindData, took - least - late),
            (TimeSink::Processor, late),
        ];
        self.add(began, ended, token.peer, rank, PathStep::Token, sinks);
        Some(given)
    }

    /// The time that a rank stood in line for a processor just before a step.
    fn late(&self, (rank, at): StepPlace) -> Duration {
        let before = self.call.steps[rank as usize][..at].iter().rev();
        let mut close =
            before.take_while(|step| self.step((rank, at)).at.saturating_sub(step.at) < AT_ONCE);
        close
            .find_map(|step| match step.step {
                RankStep::WokenLate { late } => Some(Duration::from_nanos(late.into())),
                _ => None,
            })
            .unwrap_or_default()
    }

    fn transfer(
        &mut self,
        began: StepPlace,
        ended: StepPlace,
        from: u32,
        to: u32,
        piece: TracedPiece,
    ) {
        let (start, end) = (self.step(began).at, self.step(ended).at);
        let took = end.saturating_sub(start);
        let octets = octets(&self.call.kind, piece);
        let least = self
            .network
            .and_then(|network| network.least(from, to, octets));
        let arrival = self
            .index
            .arrived
            .get(&(from, to, piece.phase, piece.block));
        // The path may leave a transfer before its end: what that took too long, took too long.
        let whole = arrival.map_or(took, |&at| self.step(at).at.saturating_sub(start).max(took));
        let excess = least.map_or(Duration::ZERO, |least| {
            whole.saturating_sub(least).min(took)
        });
        let late = self.late(ended).min(excess);
        let slow = if self.index.again.contains_key(&(from, to)) {
            TimeSink::SentAgain
        } else {
            TimeSink::SlowLink
        };
        let sinks = vec![
            (TimeSink::Wire, took - excess),
            (slow, excess - late),
            (TimeSink::Processor, late),
        ];
        let step = PathStep::Transfer { phase: piece.phase };
        self.add(start, end, from, to, step, sinks);
    }

    /// From what let a rank go on to what it did.
    fn idle(&mut self, cause: StepPlace, place: StepPlace) {
        let (began, ended) = (self.step(cause).at, self.step(place).at);
        let rank = place.0;
        let (step, sink) = match self.step(cause).step {
            RankStep::CallBegan { .. } if self.call.kind.way == Way::Native => {
                (PathStep::Library, TimeSink::Library)
            }
            _ => (PathStep::Idling, TimeSink::Processor),
        };
        let took = ended.saturating_sub(began);
        self.add(began, ended, rank, rank, step, vec![(sink, took)]);
    }

    fn begin_place(&self, rank: u32) -> Option<StepPlace> {
        let steps = self.call.steps.get(rank as usize)?;
        (!steps.is_empty()).then_some((rank, 0))
    }

    /// The other end is not known: this rank's trace is not there. The path begins here.
    fn beginning_of(&mut self, rank: u32) -> Option<StepPlace> {
        self.begin_place(rank)
    }

    fn add(
        &mut self,
        began: Duration,
        ended: Duration,
        from: u32,
        to: u32,
        step: PathStep,
        mut sinks: Vec<(TimeSink, Duration)>,
    ) {
        sinks.retain(|(_, took)| !took.is_zero());
        if ended > began {
            self.path.push(PathSegment {
                began,
                ended,
                from,
                to,
                step,
                sinks,
            });
        }
    }
}
