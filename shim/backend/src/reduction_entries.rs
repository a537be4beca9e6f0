//! More functions that the front calls, as in [`crate::entries`]: reductions and broadcasts.
use crate::abi::{MPI_Comm, MPI_Count, MPI_Datatype, MPI_Op};
use crate::call::{BlockCounts, CallBuffer, CallRole, CollectiveCall};
use crate::entries::{ConstAddress, MutAddress, int, narrowed};
use crate::mpi::mpi;
use crate::{relayed, serve};
use policy::decision_table::Collective;
use std::ffi::c_int;

/// Defines a reduction whose ranks all get something, in both forms.
macro_rules! reduction {
    ($name:ident, $large:ident, $doc:literal, $collective:ident, $form:ident, $large_form:ident) => {
        #[doc = $doc]
        ///
        /// # Safety
        /// As the MPI standard says of its arguments.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(
            s: ConstAddress,
            r: MutAddress,
            n: c_int,
            t: MPI_Datatype,
            op: MPI_Op,
            comm: MPI_Comm,
        ) -> c_int {
            // SAFETY: the application's arguments.
            let native = || unsafe { (mpi().call.$form)(s, r, n, t, op, comm) };
            let call = reduction(
                Collective::$collective,
                (s, r, n.into(), t),
                op,
                comm,
                &native,
            );
            // SAFETY: passed on to the caller.
            unsafe { serve_if_large(&call) }
        }

        #[doc = $doc]
        /// The form with large counts.
        ///
        /// # Safety
        /// As the MPI standard says of its arguments.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $large(
            s: ConstAddress,
            r: MutAddress,
            n: MPI_Count,
            t: MPI_Datatype,
            op: MPI_Op,
            comm: MPI_Comm,
        ) -> c_int {
            let native = || match mpi().large.$large_form {
                // SAFETY: the application's arguments.
                Some(own) => unsafe { own(s, r, n, t, op, comm) },
                None => narrowed(|| {
                    let n = int(n)?;
                    // SAFETY: as above.
                    Some(unsafe { (mpi().call.$form)(s, r, n, t, op, comm) })
                }),
            };
            let call = reduction(Collective::$collective, (s, r, n, t), op, comm, &native);
            // SAFETY: passed on to the caller.
            unsafe { serve_if_large(&call) }
        }
    };
}

reduction!(
    heddle_allreduce,
    heddle_allreduce_c,
    "`MPI_Allreduce`.",
    Allreduce,
    Allreduce,
    Allreduce_c
);
reduction!(
    heddle_reduce_scatter_block,
    heddle_reduce_scatter_block_c,
    "`MPI_Reduce_scatter_block`.",
    ReduceScatterBlock,
    Reduce_scatter_block,
    Reduce_scatter_block_c
);

/// `MPI_Bcast`.
///
/// # Safety
/// As the MPI standard says of its arguments.
#[unsafe(no_mangle)]
unsafe extern "C" fn heddle_bcast(
    b: MutAddress,
    n: c_int,
    t: MPI_Datatype,
    root: c_int,
    comm: MPI_Comm,
) -> c_int {
    // SAFETY: the application's arguments.
    let native = || unsafe { (mpi().call.Bcast)(b, n, t, root, comm) };
    // SAFETY: passed on to the caller.
    unsafe { serve_if_large(&broadcast((b, n.into(), t), root, comm, &native)) }
}

/// `MPI_Bcast_c`.
///
/// # Safety
/// As the MPI standard says of its arguments.
#[unsafe(no_mangle)]
unsafe extern "C" fn heddle_bcast_c(
    b: MutAddress,
    n: MPI_Count,
    t: MPI_Datatype,
    root: c_int,
    comm: MPI_Comm,
) -> c_int {
    let native = || match mpi().large.Bcast_c {
        // SAFETY: the application's arguments.
        Some(own) => unsafe { own(b, n, t, root, comm) },
        None => narrowed(|| {
            let n = int(n)?;
            // SAFETY: as above.
            Some(unsafe { (mpi().call.Bcast)(b, n, t, root, comm) })
        }),
    };
    // SAFETY: passed on to the caller.
    unsafe { serve_if_large(&broadcast((b, n, t), root, comm, &native)) }
}

fn reduction(
    collective: Collective,
    (from, into, count, datatype): (ConstAddress, MutAddress, MPI_Count, MPI_Datatype),
    op: MPI_Op,
    comm: MPI_Comm,
    native: &dyn Fn() -> c_int,
) -> CollectiveCall<'_> {
    let side = |at| CallBuffer {
        at,
        counts: BlockCounts::Each(count),
        types: datatype.into(),
    };
    CollectiveCall {
        collective,
        send: side(from.cast_mut()),
        receive: side(into),
        role: CallRole::Reduction(op),
        comm,
        native,
    }
}

fn broadcast(
    (at, count, datatype): (MutAddress, MPI_Count, MPI_Datatype),
    root: c_int,
    comm: MPI_Comm,
    native: &dyn Fn() -> c_int,
) -> CollectiveCall<'_> {
    let buffer = CallBuffer {
        at,
        counts: BlockCounts::Each(count),
        types: datatype.into(),
    };
    CollectiveCall {
        collective: Collective::Bcast,
        send: buffer,
        receive: buffer,
        role: CallRole::Broadcast { root },
        comm,
        native,
    }
}

/// # Safety
/// As the MPI standard says of the call's arguments.
unsafe fn serve_if_large(call: &CollectiveCall) -> c_int {
    // SAFETY: passed on to the caller.
    unsafe {
        if relayed::is_too_small(call) {
            call.native()
        } else {
            serve(call)
        }
    }
}
