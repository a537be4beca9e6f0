//! A streak: like calls, one after the other, that all go the library's own way. Until the ranks are due to agree, or rank 0 to time a call,
//! nothing is asked of MPI for them and next to nothing touched: in a small call each cache line counts, since the kernel's network code,
//! which runs in between, has driven them all out.
use crate::call::{Call, Counts};
use crate::mpi::mpi;
use crate::private::check;
use ::mpi::ffi::MPI_Datatype;
use schedules::table::Collective;

/// What calls of a streak have in common: all that their amount follows from.
type Kind = (Collective, i64, MPI_Datatype);

/// The streak that a communicator is in, if any.
#[derive(Debug, Default)]
pub(crate) struct Streak {
    kind: Option<Kind>,
    /// Calls it may still take.
    left: u64,
    taken: u64,
}

// SAFETY: a handle of the MPI library, which all threads may use; it is only compared.
unsafe impl Send for Streak {}

impl Streak {
    /// Whether this call goes on with it; then it is counted.
    pub(crate) fn takes(&mut self, call: &Call) -> bool {
        let takes = self.left > 0 && self.kind == kind(call);
        if takes {
            self.left -= 1;
            self.taken += 1;
        }
        takes
    }

    /// Takes up to so many calls like this one.
    pub(crate) fn begin(&mut self, call: &Call, calls: u64) {
        let kind = kind(call).filter(|kind| self.kind == Some(*kind) || predefined(kind.2));
        (self.kind, self.left, self.taken) = (kind, if kind.is_some() { calls } else { 0 }, 0);
    }

    /// Ends it; gives how many calls it took.
    pub(crate) fn end(&mut self) -> u64 {
        self.left = 0;
        std::mem::take(&mut self.taken)
    }
}

/// Nothing where blocks differ.
fn kind(call: &Call) -> Option<Kind> {
    match call.receive.counts {
        Counts::Each(count) => Some((call.collective, count, call.receive.datatype)),
        Counts::Int { .. } | Counts::Large { .. } => None,
    }
}

/// The handle of any other type may come to mean another one, on this rank alone.
fn predefined(datatype: MPI_Datatype) -> bool {
    let (mut integers, mut addresses, mut types, mut combiner) = (0, 0, 0, 0);
    // SAFETY: a datatype of the application and places for the results.
    let known = unsafe { (mpi().call.Type_get_envelope)(datatype, &mut integers, &mut addresses, &mut types, &mut combiner) };
    check(known).is_ok() && combiner == mpi().combiner_named
}
