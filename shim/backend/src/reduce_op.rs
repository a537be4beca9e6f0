//! heddle's questions about the operation of a reduction.
use crate::abi::{MPI_Datatype, MPI_Op};
use crate::datatype::DatatypeLayout;
use crate::error_handlers::quietly;
use crate::mpi::{SUCCESS, mpi};
use crate::mpi_result::check;
use std::sync::{Mutex, PoisonError};

/// True if the library defines the operation: each of them commutes.
pub(crate) fn is_predefined(op: MPI_Op) -> bool {
    #[cfg(open_mpi)]
    return mpi().handle.ops.contains(&op);
    #[cfg(not(open_mpi))]
    crate::abi::is_predefined_op(op.0)
}

/// Pairs of a predefined operation and a datatype, and whether they go together. Only predefined
/// datatypes do, and no handle of those ever comes to mean another one.
static KNOWN: Mutex<Vec<(PredefinedPair, bool)>> = Mutex::new(Vec::new());

#[derive(Clone, Copy, PartialEq)]
struct PredefinedPair(MPI_Op, MPI_Datatype);

// SAFETY: handles are process-wide.
unsafe impl Send for PredefinedPair {}

/// True if the library combines elements of the datatype by this predefined operation, where they
/// lie without gaps.
pub(crate) fn takes(op: MPI_Op, datatype: MPI_Datatype) -> bool {
    if !DatatypeLayout::query(datatype).is_ok_and(|layout| layout.plain) {
        return false;
    }
    let pair = PredefinedPair(op, datatype);
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, takes)) = known.iter().find(|(other, _)| *other == pair) {
        return *takes;
    }
    let (mut from, mut into) = ([0u128; 4], [0u128; 4]);
    let (from, into) = (from.as_mut_ptr().cast(), into.as_mut_ptr().cast());
    // SAFETY: there is room for what is combined: nothing.
    let takes = quietly_everywhere(|| unsafe {
        (mpi().call.Reduce_local)(from, into, 0, datatype, op) == SUCCESS
    });
    known.push((pair, takes));
    takes
}

/// True if the result is the same in whatever order ranks combine: of an operation that the library
/// defines, but for sums and products of what are no whole numbers. The library itself says what those
/// are: it combines their bits (MPI-4.1, 6.9.2).
pub(crate) fn is_exact(op: MPI_Op, datatype: MPI_Datatype) -> bool {
    let handle = &mpi().handle;
    let rounds = op == handle.op_sum || op == handle.op_prod;
    is_predefined(op) && (!rounds || takes(handle.op_band, datatype))
}

/// True if an operation of the application may be carried out in any order.
pub(crate) fn commutes(op: MPI_Op) -> bool {
    let mut commutes = 0;
    op != mpi().handle.op_null
        && quietly_everywhere(|| {
            // SAFETY: an operation of the application and a place for the result.
            check(unsafe { (mpi().call.Op_commutative)(op, &mut commutes) }).is_ok()
        })
        && commutes != 0
}

/// Questions without a communicator that fail are reported to the handler of MPI_COMM_WORLD, or of
/// MPI_COMM_SELF (MPI-4.0, 9.3).
fn quietly_everywhere<T>(ask: impl FnOnce() -> T) -> T {
    let handle = &mpi().handle;
    quietly(handle.comm_world, || quietly(handle.comm_self, ask))
}
