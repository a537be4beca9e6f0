//! For each message the chains of users whose last user is over when the message starts. The
//! planner of synchronizations and the verifier both keep their knowledge in these rows; which
//! messages are joined, and which chain a user continues, each decides by itself.
//!
//! The users of an edge stand in chains, each user after the one that it follows. A chain has a
//! *slot*, and what a message knows is a row of bits, one for each slot: the chain's last user is
//! over. That is a few hundred octets even for thousands of hosts, where a clock with a step of
//! every sender takes kilobytes.
//!
//! A bit speaks of the user that was the last one when the row was made. Once another user has
//! continued the chain, the bit must not be read any more. So it is recorded which slots were taken
//! since each phase, and a row is read without these. The record is kept phase by phase for the
//! current block of phases, and block by block for older ones. When a block ends, and once more
//! when the record of a block is dropped, the rows that are still held are brought up to date.

/// Phases of a block. The few phases of the tests' plans fill several blocks, too.
const BLOCK: usize = if cfg!(test) { 2 } else { 16 };
/// Blocks of which is recorded which slots were taken since.
const BLOCKS: usize = if cfg!(test) { 3 } else { 64 };

/// Bits of so many slots are handled at once, without a rest.
type SlotBits = [u64; 4];

/// Slots of one [`SlotBits`].
const AT_ONCE: usize = 256;

/// In place of a phase: the row was joined in the phase under way, and is right before it.
const FRESH: usize = usize::MAX;

/// The number of a row.
pub(crate) type RowNumber = u32;

/// The number of a chain's bit.
pub(crate) type SlotNumber = u32;

/// The rows of bits that can be read again.
pub(crate) struct KnowledgeRows {
    words: usize,
    values: Vec<SlotBits>,
    /// By row: the phase at whose end it was right.
    made: Vec<usize>,
    /// By row: the number of times that it will be read.
    holders: Vec<u32>,
    free: Vec<RowNumber>,
    /// By block, the oldest ones overwritten: the rows made in it.
    made_in: Vec<Vec<RowNumber>>,
    taken: TakenSlots,
}

impl KnowledgeRows {
    pub(crate) fn new(slots: usize) -> KnowledgeRows {
        let words = slots.div_ceil(AT_ONCE).max(1);
        KnowledgeRows {
            words,
            values: Vec::new(),
            made: Vec::new(),
            holders: Vec::new(),
            free: Vec::new(),
            made_in: vec![Vec::new(); BLOCKS],
            taken: TakenSlots::new(words),
        }
    }

    /// A new row with all the knowledge of the `earlier` ones. It is held once.
    pub(crate) fn join(&mut self, mut earlier: impl Iterator<Item = RowNumber>) -> RowNumber {
        let row = self.begin();
        match earlier.next() {
            None => self.values[row as usize * self.words..][..self.words].fill([0; 4]),
            Some(first) => {
                let made = self.made[first as usize];
                let (target, source) = two_rows(&mut self.values, self.words, row, first);
                target.copy_from_slice(source);
                remove(target, self.taken.since(made));
            }
        }
        earlier.for_each(|other| self.learn(row, other));
        row
    }

    /// Adds the knowledge of the row `other`.
    pub(crate) fn learn(&mut self, row: RowNumber, other: RowNumber) {
        let made = self.made[other as usize];
        let (target, source) = two_rows(&mut self.values, self.words, row, other);
        let known = source.iter().zip(self.taken.since(made));
        for (bits, (known, taken)) in target.iter_mut().zip(known) {
            *bits = std::array::from_fn(|at| bits[at] | known[at] & !taken[at]);
        }
    }

    /// A new row that knows all messages of the phases before this one to be over, of which there
    /// is at least one. It is held once.
    pub(crate) fn everything(&mut self) -> RowNumber {
        let row = self.begin();
        self.values[row as usize * self.words..][..self.words].fill([u64::MAX; 4]);
        self.settle(row, self.taken.phase - 1);
        row
    }

    fn begin(&mut self) -> RowNumber {
        let row = self.free.pop().unwrap_or_else(|| {
            self.holders.push(0);
            self.made.push(0);
            self.values.resize(self.values.len() + self.words, [0; 4]);
            self.holders.len() as u32 - 1
        });
        self.holders[row as usize] = 1;
        self.made[row as usize] = FRESH;
        row
    }

    /// True if the row's message knows the last user of the slot's chain to be over.
    pub(crate) fn is_over(&self, row: RowNumber, slot: SlotNumber) -> bool {
        self.over(row, slot / 64) >> (slot % 64) & 1 == 1
    }

    /// The bits of 64 slots, `word` times 64 and up, for a message of the current phase.
    fn over(&self, row: RowNumber, word: u32) -> u64 {
        let (at, place) = (word as usize / 4, word as usize % 4);
        let known = self.values[row as usize * self.words + at][place];
        let made = self.made[row as usize];
        let since = if made == FRESH {
            0
        } else {
            self.taken.since_in(made, at)[place]
        };
        known & !self.taken.now[at][place] & !since
    }

    /// Visits those of `count` slots from `first` on, counted from 0 and ascending, whose last user
    /// a message of the current phase knows to be over.
    #[inline]
    pub(crate) fn visit_over(
        &self,
        row: RowNumber,
        first: SlotNumber,
        count: SlotNumber,
        mut visit: impl FnMut(usize),
    ) {
        let end = first + count;
        let mut start = first / 64 * 64;
        while start < end {
            let mut bits = self.over(row, start / 64);
            if start < first {
                bits &= u64::MAX << (first - start);
            }
            if end - start < 64 {
                bits &= (1 << (end - start)) - 1;
            }
            while bits != 0 {
                visit((start + bits.trailing_zeros() - first) as usize);
                bits &= bits - 1;
            }
            start += 64;
        }
    }

    /// A message of the current phase continues the slot's chain.
    pub(crate) fn take(&mut self, slot: SlotNumber) {
        set(&mut self.taken.now, slot);
    }

    /// More slots, for chains that were not foreseen.
    pub(crate) fn widen(&mut self) -> std::ops::Range<SlotNumber> {
        let first = (self.words * AT_ONCE) as SlotNumber;
        self.values = lengthened(&self.values, self.words);
        self.taken.widen();
        self.words += 1;
        first..first + AT_ONCE as SlotNumber
    }

    /// Makes the row of a message of the phase right for the end of the phase: the message and its
    /// place in chains are over, the other messages of the phase are not.
    pub(crate) fn finish(&mut self, row: RowNumber, own: &[SlotNumber]) {
        let values = &mut self.values[row as usize * self.words..][..self.words];
        let made = self.made[row as usize];
        if made != FRESH {
            remove(values, self.taken.since(made));
        }
        remove(values, self.taken.now.iter().copied());
        own.iter().for_each(|&slot| set(values, slot));
        self.settle(row, self.taken.phase);
    }

    /// A row with the knowledge of two that were finished in this phase. Each is held once less,
    /// and the new one once.
    pub(crate) fn both(&mut self, [a, b]: [RowNumber; 2]) -> RowNumber {
        let row = self.begin();
        for (at, other) in [a, b].into_iter().enumerate() {
            let (target, source) = two_rows(&mut self.values, self.words, row, other);
            if at == 0 {
                target.copy_from_slice(source);
            } else {
                add(target, source);
            }
            self.release(other);
        }
        self.settle(row, self.taken.phase);
        row
    }

    /// True if the row was finished in the phase under way.
    pub(crate) fn is_of_this_phase(&self, row: RowNumber) -> bool {
        self.made[row as usize] == self.taken.phase
    }

    fn settle(&mut self, row: RowNumber, phase: usize) {
        self.made[row as usize] = phase;
        self.made_in[phase / BLOCK % BLOCKS].push(row);
    }

    /// The next phase begins.
    pub(crate) fn next_phase(&mut self) {
        let ended = self.taken.phase;
        self.taken.end_phase();
        if (ended + 1).is_multiple_of(BLOCK) {
            let block = ended / BLOCK;
            self.bring_up_to_date(block, ended);
            if let Some(oldest) = (block + 1).checked_sub(BLOCKS) {
                // The next block takes the place of this one.
                self.bring_up_to_date(oldest, ended);
                let late = std::mem::take(&mut self.made_in[oldest % BLOCKS]);
                self.made_in[block % BLOCKS].extend(late);
            }
            self.taken.end_block(block);
        }
        self.taken.phase += 1;
    }

    /// Brings the rows that were made in a block to the end of the phase `ended`, and forgets those
    /// that nobody holds.
    fn bring_up_to_date(&mut self, block: usize, ended: usize) {
        let mut rows = std::mem::take(&mut self.made_in[block % BLOCKS]);
        rows.retain(|&row| {
            let made = self.made[row as usize];
            let is_held = self.holders[row as usize] > 0 && made / BLOCK == block;
            if is_held && made != ended {
                let values = &mut self.values[row as usize * self.words..][..self.words];
                remove(values, self.taken.since(made));
                self.made[row as usize] = ended;
            }
            is_held
        });
        self.made_in[block % BLOCKS] = rows;
    }

    /// True if the row is held once.
    pub(crate) fn is_held_once(&self, row: RowNumber) -> bool {
        self.holders[row as usize] == 1
    }

    /// The row will be read so many times more.
    pub(crate) fn hold(&mut self, row: RowNumber, times: u32) {
        self.holders[row as usize] += times;
    }

    pub(crate) fn release(&mut self, row: RowNumber) {
        self.holders[row as usize] -= 1;
        if self.holders[row as usize] == 0 {
            self.free.push(row);
        }
    }
}

/// The slots whose chains got another last user.
struct TakenSlots {
    words: usize,
    /// The phase under way.
    phase: usize,
    /// Taken in the phase under way.
    now: Vec<SlotBits>,
    /// No slot.
    none: Vec<SlotBits>,
    /// Taken in the ended phases of the block under way.
    in_block: Vec<SlotBits>,
    /// By phase of the block under way: taken in the ended phases after it.
    since_phase: Vec<SlotBits>,
    /// By ended block: taken after it, up to the block under way.
    since_block: Vec<SlotBits>,
}

impl TakenSlots {
    fn new(words: usize) -> TakenSlots {
        TakenSlots {
            words,
            phase: 0,
            now: vec![[0; 4]; words],
            none: vec![[0; 4]; words],
            in_block: vec![[0; 4]; words],
            since_phase: vec![[0; 4]; words * BLOCK],
            since_block: vec![[0; 4]; words * BLOCKS],
        }
    }

    /// The slots that were taken in ended phases after `phase`, which is of the block under way or
    /// the last one of another block.
    #[inline]
    fn since(&self, phase: usize) -> impl Iterator<Item = SlotBits> {
        let words = self.words;
        let (taken, later) = if phase / BLOCK == self.phase / BLOCK {
            (&self.since_phase[phase % BLOCK * words..], &self.none)
        } else {
            let block = phase / BLOCK % BLOCKS;
            (&self.since_block[block * words..], &self.in_block)
        };
        let pairs = taken[..words].iter().zip(&later[..words]);
        pairs.map(|(taken, later)| std::array::from_fn(|at| taken[at] | later[at]))
    }

    /// A word of [`TakenSlots::since`].
    fn since_in(&self, phase: usize, word: usize) -> SlotBits {
        if phase / BLOCK == self.phase / BLOCK {
            self.since_phase[phase % BLOCK * self.words + word]
        } else {
            let block = phase / BLOCK % BLOCKS;
            let taken = self.since_block[block * self.words + word];
            std::array::from_fn(|at| taken[at] | self.in_block[word][at])
        }
    }

    fn end_phase(&mut self) {
        let place = self.phase % BLOCK;
        for earlier in self.since_phase[..place * self.words].chunks_mut(self.words) {
            add(earlier, &self.now);
        }
        self.since_phase[place * self.words..][..self.words].fill([0; 4]);
        add(&mut self.in_block, &self.now);
        self.now.fill([0; 4]);
    }

    fn end_block(&mut self, block: usize) {
        for earlier in self.since_block.chunks_mut(self.words) {
            add(earlier, &self.in_block);
        }
        self.since_block[block % BLOCKS * self.words..][..self.words].fill([0; 4]);
        self.in_block.fill([0; 4]);
    }

    fn widen(&mut self) {
        for record in [
            &mut self.now,
            &mut self.none,
            &mut self.in_block,
            &mut self.since_phase,
            &mut self.since_block,
        ] {
            *record = lengthened(record, self.words);
        }
        self.words += 1;
    }
}

fn add(slots: &mut [SlotBits], more: &[SlotBits]) {
    for (bits, more) in slots.iter_mut().zip(more) {
        *bits = std::array::from_fn(|at| bits[at] | more[at]);
    }
}

fn remove(slots: &mut [SlotBits], taken: impl Iterator<Item = SlotBits>) {
    for (bits, taken) in slots.iter_mut().zip(taken) {
        *bits = std::array::from_fn(|at| bits[at] & !taken[at]);
    }
}

fn set(slots: &mut [SlotBits], slot: SlotNumber) {
    let slot = slot as usize;
    slots[slot / AT_ONCE][slot % AT_ONCE / 64] |= 1 << (slot % 64);
}

/// The same rows of bits, each longer by one [`SlotBits`].
fn lengthened(rows: &[SlotBits], words: usize) -> Vec<SlotBits> {
    let mut wider = Vec::with_capacity(rows.len() + rows.len() / words);
    for row in rows.chunks(words) {
        wider.extend_from_slice(row);
        wider.push([0; 4]);
    }
    wider
}

/// A row to be written and another one to be read.
fn two_rows(
    values: &mut [SlotBits],
    words: usize,
    write: RowNumber,
    read: RowNumber,
) -> (&mut [SlotBits], &[SlotBits]) {
    let (to, from) = (write as usize * words, read as usize * words);
    if to < from {
        let (low, high) = values.split_at_mut(from);
        (&mut low[to..][..words], &high[..words])
    } else {
        let (low, high) = values.split_at_mut(to);
        (&mut high[..words], &low[from..][..words])
    }
}
