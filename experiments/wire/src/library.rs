//! What MPI libraries send, in their order and without a plan.
use std::fmt;
use std::str::FromStr;
use wire::call::WireEvent;

/// A library's pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LibraryPattern {
    /// Every block at once.
    Linear,
    /// In step `i` to the rank `i` further on, and on when that of the rank `i` before has come;
    /// for an allgather, around the ring of ranks.
    Pairwise,
    /// As many blocks at once.
    Throttled(u32),
}

impl fmt::Display for LibraryPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LibraryPattern::Linear => f.pad("linear"),
            LibraryPattern::Pairwise => f.pad("pairwise"),
            LibraryPattern::Throttled(most) => f.pad(&format!("throttled:{most}")),
        }
    }
}

impl FromStr for LibraryPattern {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text.split_once(':') {
            None if text == "linear" => Ok(LibraryPattern::Linear),
            None if text == "pairwise" => Ok(LibraryPattern::Pairwise),
            Some(("throttled", most)) => {
                let most = most.parse().ok().filter(|&most| most > 0);
                most.map(LibraryPattern::Throttled).ok_or(())
            }
            _ => Err(()),
        }
    }
}

/// Writes, reads and combines counted octets.
pub(crate) trait CountedOctets {
    fn send(&mut self, to: u32, octets: u32) -> u32;
    fn receive(&mut self, from: u32, octets: u32) -> u32;
    fn combine(&mut self, octets: u32);
}

/// One rank's call.
#[derive(Debug)]
pub(crate) struct LibraryCall {
    pattern: LibraryPattern,
    me: u32,
    size: u32,
    goes_around: bool,
    /// By rank: octets for it.
    outgoing: Vec<u32>,
    /// By step, from 1: octets of its block that have not been written.
    unsent: Vec<u32>,
    /// By rank: octets that have not come.
    missing: Vec<u32>,
    /// Steps that have begun, and blocks that have come.
    begun: u32,
    came: u32,
}

impl LibraryCall {
    pub(crate) fn new(
        pattern: LibraryPattern,
        (me, ranks): (u32, u32),
        size: u32,
        is_allgather: bool,
    ) -> LibraryCall {
        let goes_around = is_allgather && pattern == LibraryPattern::Pairwise;
        let mut missing = vec![if goes_around { 0 } else { size }; ranks as usize];
        missing[me as usize] = 0;
        if goes_around {
            missing[((me + ranks - 1) % ranks) as usize] = size * (ranks - 1);
        }
        LibraryCall {
            pattern,
            me,
            size,
            goes_around,
            outgoing: vec![size; ranks as usize],
            unsent: vec![0; ranks as usize],
            missing,
            begun: 0,
            came: 0,
        }
    }

    /// All at once so many octets to each rank, and from each.
    pub(crate) fn at_once(me: u32, outgoing: Vec<u32>, incoming: Vec<u32>) -> LibraryCall {
        LibraryCall {
            pattern: LibraryPattern::Linear,
            me,
            size: 0,
            goes_around: false,
            unsent: vec![0; outgoing.len()],
            outgoing,
            missing: incoming,
            begun: 0,
            came: 0,
        }
    }

    fn ranks(&self) -> u32 {
        self.missing.len() as u32
    }

    pub(crate) fn is_over(&self) -> bool {
        self.begun == self.ranks() - 1
            && self.missing.iter().all(|octets| *octets == 0)
            && self.unsent.iter().all(|octets| *octets == 0)
    }

    fn may_begin(&self) -> bool {
        let next = self.begun + 1;
        let before = |step: u32| (self.me + self.ranks() - step % self.ranks()) % self.ranks();
        match self.pattern {
            _ if next == self.ranks() => false,
            LibraryPattern::Linear => true,
            LibraryPattern::Throttled(most) => self.begun < most + self.came,
            LibraryPattern::Pairwise if self.goes_around => self.came >= self.begun,
            LibraryPattern::Pairwise => {
                self.begun == 0 || self.missing[before(self.begun) as usize] == 0
            }
        }
    }

    pub(crate) fn handle(&mut self, event: WireEvent, octets: &mut impl CountedOctets) {
        if let WireEvent::Readable(from) = event {
            let missing = &mut self.missing[from as usize];
            let before = missing.div_ceil(self.size.max(1));
            *missing -= octets.receive(from, *missing);
            self.came += before - missing.div_ceil(self.size.max(1));
        }
        while self.may_begin() {
            self.begun += 1;
            let to = self.receiver(self.begun);
            self.unsent[self.begun as usize] = self.outgoing[to as usize];
            self.send(self.begun, octets);
        }
        if let WireEvent::Writable(to) = event {
            let ranks = self.ranks();
            let step = (to + ranks - self.me) % ranks;
            let steps = if self.goes_around {
                1..=self.begun
            } else {
                step..=step
            };
            steps.for_each(|step| self.send(step, octets));
        }
    }

    fn receiver(&self, step: u32) -> u32 {
        let further = if self.goes_around { 1 } else { step };
        (self.me + further) % self.ranks()
    }

    fn send(&mut self, step: u32, octets: &mut impl CountedOctets) {
        let to = self.receiver(step);
        let unsent = &mut self.unsent[step as usize];
        if *unsent > 0 {
            *unsent -= octets.send(to, *unsent);
        }
    }
}
