//! The calls that the front hands to the MPI library without the backend: the backend writes here
//! which ones, and the front counts them.
//!
//! There are two sorts. All calls on one communicator may pass for good. And calls of a *kind* may
//! pass: calls of one collective on one communicator with the same counts and datatypes. The backend
//! allows so many of them, and so much work by all kinds together, and counts later what has passed.
//! So a call costs a few comparisons in place of the way through the backend, whose code the kernel
//! has driven out of the processor's cache since the last call.
//!
//! Only one thread at a time reads and writes kinds: where threads may call MPI at once, the backend
//! allows none.
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed};

/// The collectives of which a kind may pass: one of each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub enum PassedCollective {
    /// `MPI_Alltoall`.
    Alltoall,
    /// `MPI_Allgather`.
    Allgather,
}

/// Their number.
const COLLECTIVES: usize = 2;

impl PassedCollective {
    /// All of them.
    pub const ALL: [PassedCollective; COLLECTIVES] =
        [PassedCollective::Alltoall, PassedCollective::Allgather];
}

/// The bits of an argument that are a count: above an `int` there may be anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CountBits {
    Int,
    /// `MPI_Count`.
    Large,
}

impl CountBits {
    const fn mask(self) -> usize {
        match self {
            CountBits::Int => u32::MAX as usize,
            CountBits::Large => usize::MAX,
        }
    }
}

/// The arguments that make the kind of a call, each as a machine word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallWords {
    /// The counts of the send and of the receive side.
    pub counts: [usize; 2],
    /// Their datatypes.
    pub types: [usize; 2],
    /// The communicator.
    pub comm: usize,
}

/// The calls that pass. Front and backend have the same declaration.
#[derive(Debug)]
#[repr(C)]
pub struct PassTable {
    /// The communicator whose calls all pass; 0, which is none, where no communicator does.
    comm: AtomicUsize,
    /// The bits of an argument that are a handle: above one of four octets there may be anything.
    handle_bits: usize,
    /// The work that calls of all kinds may do.
    work: AtomicU64,
    kinds: [PassedKind; COLLECTIVES],
}

/// Calls of a kind.
#[derive(Debug)]
#[repr(C)]
struct PassedKind {
    /// So many more may pass.
    left: AtomicU32,
    /// So many might pass when the backend looked last.
    allowed: AtomicU32,
    /// The work of each.
    work: AtomicU64,
    counts: [AtomicUsize; 2],
    types: [AtomicUsize; 2],
    comm: AtomicUsize,
}

impl PassedKind {
    const fn none() -> PassedKind {
        PassedKind {
            left: AtomicU32::new(0),
            allowed: AtomicU32::new(0),
            work: AtomicU64::new(0),
            counts: [AtomicUsize::new(0), AtomicUsize::new(0)],
            types: [AtomicUsize::new(0), AtomicUsize::new(0)],
            comm: AtomicUsize::new(0),
        }
    }

    /// The bits in which a call is not of this kind; 0 if it is.
    #[inline]
    fn differs(&self, words: CallWords, counts: CountBits, handles: usize) -> usize {
        let differ = |own: &AtomicUsize, other: usize| own.load(Relaxed) ^ other;
        let of_counts =
            differ(&self.counts[0], words.counts[0]) | differ(&self.counts[1], words.counts[1]);
        let of_handles = differ(&self.types[0], words.types[0])
            | differ(&self.types[1], words.types[1])
            | differ(&self.comm, words.comm);
        of_counts & counts.mask() | of_handles & handles
    }
}

impl PassTable {
    /// Nothing passes.
    pub const fn new(handle_bits: usize) -> PassTable {
        PassTable {
            comm: AtomicUsize::new(0),
            handle_bits,
            work: AtomicU64::new(0),
            kinds: [const { PassedKind::none() }; COLLECTIVES],
        }
    }

    /// True if all calls on this communicator pass.
    #[inline]
    pub fn passes_all(&self, comm: usize) -> bool {
        comm & self.handle_bits == self.comm.load(Relaxed)
    }

    /// True if this call passes by its kind; then it is counted.
    #[inline]
    pub fn passes_one(
        &self,
        collective: PassedCollective,
        counts: CountBits,
        words: CallWords,
    ) -> bool {
        let kind = &self.kinds[collective as usize];
        let (left, work, each) = (
            kind.left.load(Relaxed),
            self.work.load(Relaxed),
            kind.work.load(Relaxed),
        );
        let passes = left > 0 && each <= work && kind.differs(words, counts, self.handle_bits) == 0;
        if passes {
            kind.left.store(left - 1, Relaxed);
            self.work.store(work - each, Relaxed);
        }
        passes
    }

    /// All calls on this communicator pass from now on.
    pub fn pass_all(&self, comm: usize) {
        self.comm.store(comm & self.handle_bits, Relaxed);
    }

    /// No communicator's calls pass any more because of [`PassTable::pass_all`].
    pub fn forget_all(&self) {
        self.comm.store(0, Relaxed);
    }

    /// So many calls of a kind may pass, each of so much work. The counts must fit an `int`.
    pub fn allow(&self, collective: PassedCollective, words: CallWords, calls: u32, work: u64) {
        let kind = &self.kinds[collective as usize];
        for side in 0..2 {
            kind.counts[side].store(words.counts[side], Relaxed);
            kind.types[side].store(words.types[side] & self.handle_bits, Relaxed);
        }
        kind.comm.store(words.comm & self.handle_bits, Relaxed);
        kind.work.store(work, Relaxed);
        kind.allowed.store(calls, Relaxed);
        kind.left.store(calls, Relaxed);
    }

    /// Calls of all kinds together may do so much work.
    pub fn allow_work(&self, work: u64) {
        self.work.store(work, Relaxed);
    }

    /// The calls of a collective that have passed by their kind and were not taken before.
    pub fn take_passed(&self, collective: PassedCollective) -> u32 {
        let kind = &self.kinds[collective as usize];
        let left = kind.left.load(Relaxed);
        kind.allowed.swap(left, Relaxed) - left
    }

    /// No call of this collective passes by its kind any more.
    pub fn refuse(&self, collective: PassedCollective) {
        let kind = &self.kinds[collective as usize];
        kind.left.store(0, Relaxed);
        kind.allowed.store(0, Relaxed);
    }

    /// True if calls of some kind on this communicator may pass, or have passed and were not taken.
    pub fn has_kind_on(&self, comm: usize) -> bool {
        self.kinds.iter().any(|kind| {
            kind.allowed.load(Relaxed) > 0
                && (kind.comm.load(Relaxed) ^ comm) & self.handle_bits == 0
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HANDLES_OF_FOUR_OCTETS: usize = u32::MAX as usize;
    const WORDS: CallWords = CallWords {
        counts: [8, 8],
        types: [0x4c00_0101, 0x4c00_0101],
        comm: 0x4400_0000,
    };

    fn passes(table: &PassTable, words: CallWords) -> bool {
        table.passes_one(PassedCollective::Alltoall, CountBits::Int, words)
    }

    #[test]
    fn so_many_calls_pass_and_are_counted() {
        let table = PassTable::new(HANDLES_OF_FOUR_OCTETS);
        assert!(!passes(&table, WORDS));
        table.allow(PassedCollective::Alltoall, WORDS, 3, 10);
        table.allow_work(100);
        let passed = (0..5).filter(|_| passes(&table, WORDS)).count();
        assert_eq!(passed, 3);
        assert_eq!(table.take_passed(PassedCollective::Alltoall), 3);
        assert_eq!(table.take_passed(PassedCollective::Alltoall), 0);
        assert_eq!(table.take_passed(PassedCollective::Allgather), 0);
    }

    #[test]
    fn kinds_share_their_work() {
        let table = PassTable::new(usize::MAX);
        for collective in PassedCollective::ALL {
            table.allow(collective, WORDS, 100, 10);
        }
        table.allow_work(35);
        let pass = |collective| table.passes_one(collective, CountBits::Int, WORDS);
        assert!(pass(PassedCollective::Alltoall));
        assert!(pass(PassedCollective::Allgather));
        assert!(pass(PassedCollective::Alltoall));
        assert!(!pass(PassedCollective::Alltoall) && !pass(PassedCollective::Allgather));
        assert_eq!(table.take_passed(PassedCollective::Alltoall), 2);
        table.allow_work(10);
        assert!(pass(PassedCollective::Alltoall));
    }

    #[test]
    fn another_argument_is_another_kind_and_what_lies_above_an_int_is_nothing() {
        let table = PassTable::new(HANDLES_OF_FOUR_OCTETS);
        table.allow(PassedCollective::Alltoall, WORDS, 100, 1);
        table.allow_work(100);
        let [first, second] = WORDS.counts;
        let [sent, received] = WORDS.types;
        for counts in [[first + 1, second], [first, second + 1]] {
            assert!(!passes(&table, CallWords { counts, ..WORDS }));
        }
        for types in [[sent + 1, received], [sent, received + 1]] {
            assert!(!passes(&table, CallWords { types, ..WORDS }));
        }
        let comm = WORDS.comm + 1;
        assert!(!passes(&table, CallWords { comm, ..WORDS }));
        let above = 7 << 32;
        let dirty = CallWords {
            counts: [first | above, second],
            types: [sent, received | above],
            comm: WORDS.comm | above,
        };
        assert!(passes(&table, dirty));
        let large = |words| table.passes_one(PassedCollective::Alltoall, CountBits::Large, words);
        assert!(!large(dirty), "a large count that only ends alike");
        assert!(large(WORDS));
    }

    #[test]
    fn what_is_refused_does_not_pass_and_its_communicator_may_go() {
        let table = PassTable::new(usize::MAX);
        table.allow(PassedCollective::Alltoall, WORDS, 1, 1);
        table.allow_work(1);
        assert!(passes(&table, WORDS));
        assert!(
            table.has_kind_on(WORDS.comm),
            "a call that passed is not counted yet"
        );
        table.take_passed(PassedCollective::Alltoall);
        assert!(!table.has_kind_on(WORDS.comm));
        table.allow(PassedCollective::Alltoall, WORDS, 1, 1);
        table.refuse(PassedCollective::Alltoall);
        assert!(!passes(&table, WORDS) && !table.has_kind_on(WORDS.comm));
        table.pass_all(WORDS.comm);
        assert!(table.passes_all(WORDS.comm));
        table.forget_all();
        assert!(!table.passes_all(WORDS.comm));
    }
}
