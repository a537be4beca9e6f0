//! Vector clocks: the messages that are known to be over when a message is.
//!
//! A clock holds, for each sender's slot, the number of phases whose messages are known to be over.
use super::messages::NOBODY;

/// A number of phases in which a sender is busy. It is at most the number of its messages, which is
/// less than the number of hosts, and the messages of 65,536 hosts could not even be numbered.
/// Clocks cause nearly all memory traffic, so short numbers pay off.
pub(super) type PhaseCount = u16;

/// Vector clocks of some messages, in rows that are used again.
pub(super) struct VectorClocks {
    width: usize,
    /// Row of each message.
    row: Vec<u32>,
    values: Vec<PhaseCount>,
    /// By row: the number of messages that will still read it.
    holders: Vec<u32>,
    free: Vec<u32>,
}

impl VectorClocks {
    pub(super) fn new(width: usize, messages: usize) -> Self {
        VectorClocks {
            width,
            row: vec![NOBODY; messages],
            values: Vec::new(),
            holders: Vec::new(),
            free: Vec::new(),
        }
    }

    fn range(&self, row: u32) -> std::ops::Range<usize> {
        row as usize * self.width..(row as usize + 1) * self.width
    }

    pub(super) fn clock(&self, message: u32) -> &[PhaseCount] {
        &self.values[self.range(self.row[message as usize])]
    }

    /// Gives `message` a clock with all the knowledge of the `earlier` ones. If no other message
    /// reads the clock of one of them, its row is taken over.
    pub(super) fn join(&mut self, message: u32, earlier: &[u32]) -> &mut [PhaseCount] {
        let heir = earlier
            .iter()
            .position(|&one| self.holders[self.row[one as usize] as usize] == 1);
        let row = match heir {
            Some(at) => std::mem::replace(&mut self.row[earlier[at] as usize], NOBODY),
            None => self.begin(earlier.first().copied()),
        };
        self.row[message as usize] = row;
        let known_already = heir.unwrap_or(0);
        for &other in earlier
            .iter()
            .enumerate()
            .filter(|&(at, _)| at != known_already)
            .map(|(_, other)| other)
        {
            let (own, other) = (self.range(row), self.range(self.row[other as usize]));
            let (low, high) = self.values.split_at_mut(own.start.max(other.start));
            let (target, source) = if own.start < other.start {
                (&mut low[own], &high[..self.width])
            } else {
                (&mut high[..self.width], &low[other])
            };
            join(target, source);
        }
        let own = self.range(row);
        &mut self.values[own]
    }

    /// A new row with the clock of `message`, or an empty clock.
    fn begin(&mut self, message: Option<u32>) -> u32 {
        let row = self.free.pop().unwrap_or_else(|| {
            self.holders.push(0);
            self.values.resize(self.values.len() + self.width, 0);
            self.holders.len() as u32 - 1
        });
        let own = self.range(row);
        match message {
            Some(message) => {
                let known = self.range(self.row[message as usize]);
                self.values.copy_within(known, own.start);
            }
            None => self.values[own].fill(0),
        }
        row
    }

    pub(super) fn hold(&mut self, message: u32, holders: u32) {
        self.holders[self.row[message as usize] as usize] = holders;
    }

    /// One message fewer will read the clock of `message`.
    pub(super) fn release(&mut self, message: u32) {
        let row = self.row[message as usize];
        if row == NOBODY {
            return;
        }
        self.holders[row as usize] -= 1;
        if self.holders[row as usize] == 0 {
            self.free.push(row);
        }
    }
}

/// Adds the knowledge of `other` to `clock`.
fn join(clock: &mut [PhaseCount], other: &[PhaseCount]) {
    clock
        .iter_mut()
        .zip(other)
        .for_each(|(own, theirs)| *own = (*own).max(*theirs));
}
