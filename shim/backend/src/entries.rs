//! The functions that the front calls: the collectives under their C signatures, each in the form of the standard
//! and in the one with large counts, which also a library without large counts can be called by.
use crate::abi::{MPI_Comm, MPI_Count, MPI_Datatype};
use crate::call::{BlockCounts, CallBuffer, CallRole, CollectiveCall};
use crate::mpi::mpi;
use crate::mpi_result::{MpiErrorCode, MpiResult, check};
use crate::serve;
use policy::decision_table::Collective;
use std::ffi::{c_int, c_void};

pub(crate) type MutAddress = *mut c_void;
pub(crate) type ConstAddress = *const c_void;

/// Defines one collective: its arguments, how its sides are made of them, and how the library is
/// called.
macro_rules! entry {
    ($name:ident, $doc:literal, $collective:ident, ($($argument:ident: $type:ty),*), $send:expr, $receive:expr, $comm:ident, $native:expr) => {
        #[doc = $doc]
        ///
        /// # Safety
        /// As the MPI standard says of its arguments.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($argument: $type),*) -> c_int {
            let native = || $native;
            let (send, receive): ((ConstAddress, BlockCounts, _), (MutAddress, BlockCounts, _)) = ($send, $receive);
            let call = CollectiveCall {
                collective: Collective::$collective,
                send: CallBuffer { at: send.0.cast_mut(), counts: send.1, types: send.2.into() },
                receive: CallBuffer { at: receive.0, counts: receive.1, types: receive.2.into() },
                role: CallRole::Blocks,
                comm: $comm,
                native: &native,
            };
            // SAFETY: passed on to the caller.
            unsafe { serve(&call) }
        }
    };
}

entry!(
    heddle_alltoall, "`MPI_Alltoall`.", Alltoall,
    (s: ConstAddress, sc: c_int, st: MPI_Datatype, r: MutAddress, rc: c_int, rt: MPI_Datatype, comm: MPI_Comm),
    (s, BlockCounts::Each(sc.into()), st), (r, BlockCounts::Each(rc.into()), rt), comm,
    // SAFETY: the application's arguments.
    unsafe { (mpi().call.Alltoall)(s, sc, st, r, rc, rt, comm) }
);
entry!(
    heddle_allgather, "`MPI_Allgather`.", Allgather,
    (s: ConstAddress, sc: c_int, st: MPI_Datatype, r: MutAddress, rc: c_int, rt: MPI_Datatype, comm: MPI_Comm),
    (s, BlockCounts::Each(sc.into()), st), (r, BlockCounts::Each(rc.into()), rt), comm,
    // SAFETY: the application's arguments.
    unsafe { (mpi().call.Allgather)(s, sc, st, r, rc, rt, comm) }
);
entry!(
    heddle_alltoallv, "`MPI_Alltoallv`.", Alltoallv,
    (
        s: ConstAddress, sc: *const c_int, sd: *const c_int, st: MPI_Datatype,
        r: MutAddress, rc: *const c_int, rd: *const c_int, rt: MPI_Datatype, comm: MPI_Comm
    ),
    (s, BlockCounts::Int { counts: sc, places: sd }, st), (r, BlockCounts::Int { counts: rc, places: rd }, rt), comm,
    // SAFETY: the application's arguments.
    unsafe { (mpi().call.Alltoallv)(s, sc, sd, st, r, rc, rd, rt, comm) }
);
entry!(
    heddle_alltoallw, "`MPI_Alltoallw`.", Alltoallw,
    (
        s: ConstAddress, sc: *const c_int, sd: *const c_int, st: *const MPI_Datatype,
        r: MutAddress, rc: *const c_int, rd: *const c_int, rt: *const MPI_Datatype, comm: MPI_Comm
    ),
    (s, BlockCounts::Int { counts: sc, places: sd }, st), (r, BlockCounts::Int { counts: rc, places: rd }, rt), comm,
    // SAFETY: the application's arguments.
    unsafe { (mpi().call.Alltoallw)(s, sc, sd, st, r, rc, rd, rt, comm) }
);
entry!(
    heddle_allgatherv, "`MPI_Allgatherv`.", Allgatherv,
    (s: ConstAddress, sc: c_int, st: MPI_Datatype, r: MutAddress, rc: *const c_int, rd: *const c_int, rt: MPI_Datatype, comm: MPI_Comm),
    (s, BlockCounts::Each(sc.into()), st), (r, BlockCounts::Int { counts: rc, places: rd }, rt), comm,
    // SAFETY: the application's arguments.
    unsafe { (mpi().call.Allgatherv)(s, sc, st, r, rc, rd, rt, comm) }
);
entry!(
    heddle_alltoall_c, "`MPI_Alltoall_c`.", Alltoall,
    (s: ConstAddress, sc: MPI_Count, st: MPI_Datatype, r: MutAddress, rc: MPI_Count, rt: MPI_Datatype, comm: MPI_Comm),
    (s, BlockCounts::Each(sc), st), (r, BlockCounts::Each(rc), rt), comm,
    match mpi().large.Alltoall_c {
        // SAFETY: the application's arguments.
        Some(own) => unsafe { own(s, sc, st, r, rc, rt, comm) },
        None => narrowed(|| {
            let (sc, rc) = (int(sc)?, int(rc)?);
            // SAFETY: the application's arguments.
            Some(unsafe { (mpi().call.Alltoall)(s, sc, st, r, rc, rt, comm) })
        }),
    }
);
entry!(
    heddle_allgather_c, "`MPI_Allgather_c`.", Allgather,
    (s: ConstAddress, sc: MPI_Count, st: MPI_Datatype, r: MutAddress, rc: MPI_Count, rt: MPI_Datatype, comm: MPI_Comm),
    (s, BlockCounts::Each(sc), st), (r, BlockCounts::Each(rc), rt), comm,
    match mpi().large.Allgather_c {
        // SAFETY: the application's arguments.
        Some(own) => unsafe { own(s, sc, st, r, rc, rt, comm) },
        None => narrowed(|| {
            let (sc, rc) = (int(sc)?, int(rc)?);
            // SAFETY: the application's arguments.
            Some(unsafe { (mpi().call.Allgather)(s, sc, st, r, rc, rt, comm) })
        }),
    }
);
entry!(
    heddle_alltoallv_c, "`MPI_Alltoallv_c`.", Alltoallv,
    (
        s: ConstAddress, sc: *const MPI_Count, sd: *const isize, st: MPI_Datatype,
        r: MutAddress, rc: *const MPI_Count, rd: *const isize, rt: MPI_Datatype, comm: MPI_Comm
    ),
    (s, BlockCounts::Large { counts: sc, places: sd }, st), (r, BlockCounts::Large { counts: rc, places: rd }, rt), comm,
    match mpi().large.Alltoallv_c {
        // SAFETY: the application's arguments.
        Some(own) => unsafe { own(s, sc, sd, st, r, rc, rd, rt, comm) },
        None => narrowed(|| {
            let n = peers(comm).ok()?;
            let in_place = s == mpi().in_place;
            // SAFETY: the application's arrays have an entry for each peer; in place those of the
            // send side are not looked at.
            let [sc, sd, rc, rd] = unsafe { [ints(sc, n, in_place)?, ints(sd, n, in_place)?, ints(rc, n, false)?, ints(rd, n, false)?] };
            // SAFETY: the application's arguments.
            Some(unsafe { (mpi().call.Alltoallv)(s, sc.as_ptr(), sd.as_ptr(), st, r, rc.as_ptr(), rd.as_ptr(), rt, comm) })
        }),
    }
);
entry!(
    heddle_alltoallw_c, "`MPI_Alltoallw_c`.", Alltoallw,
    (
        s: ConstAddress, sc: *const MPI_Count, sd: *const isize, st: *const MPI_Datatype,
        r: MutAddress, rc: *const MPI_Count, rd: *const isize, rt: *const MPI_Datatype, comm: MPI_Comm
    ),
    (s, BlockCounts::Large { counts: sc, places: sd }, st), (r, BlockCounts::Large { counts: rc, places: rd }, rt), comm,
    match mpi().large.Alltoallw_c {
        // SAFETY: the application's arguments.
        Some(own) => unsafe { own(s, sc, sd, st, r, rc, rd, rt, comm) },
        None => narrowed(|| {
            let n = peers(comm).ok()?;
            let in_place = s == mpi().in_place;
            // SAFETY: the application's arrays have an entry for each peer; in place those of the
            // send side are not looked at.
            let [sc, sd, rc, rd] = unsafe { [ints(sc, n, in_place)?, ints(sd, n, in_place)?, ints(rc, n, false)?, ints(rd, n, false)?] };
            // SAFETY: the application's arguments.
            Some(unsafe { (mpi().call.Alltoallw)(s, sc.as_ptr(), sd.as_ptr(), st, r, rc.as_ptr(), rd.as_ptr(), rt, comm) })
        }),
    }
);
entry!(
    heddle_allgatherv_c, "`MPI_Allgatherv_c`.", Allgatherv,
    (s: ConstAddress, sc: MPI_Count, st: MPI_Datatype, r: MutAddress, rc: *const MPI_Count, rd: *const isize, rt: MPI_Datatype, comm: MPI_Comm),
    (s, BlockCounts::Each(sc), st), (r, BlockCounts::Large { counts: rc, places: rd }, rt), comm,
    match mpi().large.Allgatherv_c {
        // SAFETY: the application's arguments.
        Some(own) => unsafe { own(s, sc, st, r, rc, rd, rt, comm) },
        None => narrowed(|| {
            let n = peers(comm).ok()?;
            // SAFETY: the application's arrays have an entry for each peer.
            let (sc, [rc, rd]) = (int(sc)?, unsafe { [ints(rc, n, false)?, ints(rd, n, false)?] });
            // SAFETY: the application's arguments.
            Some(unsafe { (mpi().call.Allgatherv)(s, sc, st, r, rc.as_ptr(), rd.as_ptr(), rt, comm) })
        }),
    }
);

/// A call narrowed to the `int` form, in a library that has no other; counts that do not fit are an
/// error.
pub(crate) fn narrowed(call: impl FnOnce() -> Option<c_int>) -> c_int {
    call().unwrap_or(MpiErrorCode::count().0)
}

pub(crate) fn int(count: MPI_Count) -> Option<c_int> {
    c_int::try_from(count).ok()
}

/// # Safety
/// The array must have `n` entries, unless it is to be skipped.
unsafe fn ints<T: Copy + TryInto<c_int>>(
    values: *const T,
    n: usize,
    skip: bool,
) -> Option<Vec<c_int>> {
    let n = if skip || values.is_null() { 0 } else { n };
    // SAFETY: passed on to the caller.
    (0..n)
        .map(|at| unsafe { *values.add(at) }.try_into().ok())
        .collect()
}

/// Ranks a collective on this communicator exchanges blocks with.
fn peers(comm: MPI_Comm) -> MpiResult<usize> {
    let (mut inter, mut size) = (0, 0);
    // SAFETY: a communicator of the application and places for the results.
    unsafe {
        check((mpi().call.Comm_test_inter)(comm, &mut inter))?;
        check(if inter == 0 {
            (mpi().call.Comm_size)(comm, &mut size)
        } else {
            (mpi().call.Comm_remote_size)(comm, &mut size)
        })?;
    }
    Ok(size.max(0) as usize)
}
