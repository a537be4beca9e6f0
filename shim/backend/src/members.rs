//! Which member belongs to which communicator: an attribute on the communicator, so that MPI itself says
//! when it goes, and a short memory per thread, because looking an attribute up costs as much as a small collective may.
use crate::call::Call;
use crate::member::Member;
use crate::mpi::{SUCCESS, mpi};
use crate::private::{Result, check};
use ::mpi::ffi::MPI_Comm;
use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, Weak};

/// A communicator's member, or nothing where calls pass through for good: intercommunicators, and those of one rank or
/// on one host.
type Seat = Option<Mutex<Member>>;

/// Grows whenever a communicator with a seat is freed: then a handle may come to mean another one.
static GENERATION: AtomicU64 = AtomicU64::new(1);
/// Every seat there is, for those that MPI_Finalize finds still taken.
static SEATS: Mutex<Vec<Weak<Seat>>> = Mutex::new(Vec::new());

thread_local! {
    /// The last communicator this thread called with, at which generation, and its seat.
    static LAST: Cell<(Option<MPI_Comm>, u64, *const Seat)> = const { Cell::new((None, 0, std::ptr::null())) };
}

/// Whether calls on this communicator are known to pass through. Asked first of all: such calls may take less than a
/// microsecond.
pub(crate) fn known_to_pass_through(comm: MPI_Comm) -> bool {
    let (last, remembered, seat) = LAST.get();
    // SAFETY: as in `of`.
    last == Some(comm) && remembered == GENERATION.load(Ordering::Acquire) && unsafe { &*seat }.is_none()
}

/// This process's member of the call's communicator; `None` where calls pass through. The first time it is
/// collective.
pub(crate) fn of<'a>(call: &Call) -> Result<Option<MutexGuard<'a, Member>>> {
    let generation = GENERATION.load(Ordering::Acquire);
    let (comm, remembered, last) = LAST.get();
    let seat = if comm == Some(call.comm) && remembered == generation {
        last
    } else {
        let seat = seat(call)?;
        LAST.set((Some(call.comm), GENERATION.load(Ordering::Acquire), seat));
        seat
    };
    // SAFETY: the attribute owns the seat until the communicator is freed, which no program may do during a
    // collective on it.
    let seat: &'a Seat = unsafe { &*seat };
    Ok(seat.as_ref().map(|member| member.lock().unwrap_or_else(|poisoned| poisoned.into_inner())))
}

fn seat(call: &Call) -> Result<*const Seat> {
    let mpi = mpi();
    let key = key()?;
    let (mut value, mut found): (*mut c_void, c_int) = (std::ptr::null_mut(), 0);
    // SAFETY: a communicator of the application, a key of ours and places for the results.
    check(unsafe { (mpi.call.Comm_get_attr)(call.comm, key, (&raw mut value).cast(), &mut found) })?;
    if found != 0 {
        return Ok(value.cast_const().cast());
    }
    let seat = Arc::new(match others(call.comm)? {
        Some(size) => Member::join(call, size)?.map(Mutex::new),
        None => None,
    });
    lock_seats().push(Arc::downgrade(&seat));
    let value = Arc::into_raw(seat);
    // SAFETY: as above; `forget` takes the value back.
    check(unsafe { (mpi.call.Comm_set_attr)(call.comm, key, value.cast_mut().cast()) })?;
    Ok(value)
}

/// How many members there are, if there are any to meet.
fn others(comm: MPI_Comm) -> Result<Option<usize>> {
    let (mut inter, mut size) = (0, 0);
    // SAFETY: a communicator of the application and places for the results.
    unsafe {
        check((mpi().call.Comm_test_inter)(comm, &mut inter))?;
        check((mpi().call.Comm_size)(comm, &mut size))?;
    }
    Ok((inter == 0 && size > 1).then_some(size as usize))
}

/// The attribute's key. The first call also asks MPI to be told when it goes down: attributes of MPI_COMM_SELF
/// are deleted first thing in MPI_Finalize (MPI-4.1 section 11.2.4).
fn key() -> Result<c_int> {
    static KEY: OnceLock<std::result::Result<c_int, c_int>> = OnceLock::new();
    let create = |delete| {
        let mut key = mpi().keyval_invalid;
        // SAFETY: two callbacks of the right kind and a place for the result.
        check(unsafe { (mpi().call.Comm_create_keyval)(do_not_copy, delete, &mut key, std::ptr::null_mut()) }).map(|()| key)
    };
    let key = *KEY.get_or_init(|| {
        let at_end = create(finalize).map_err(|e| e.0)?;
        // SAFETY: MPI_COMM_SELF and a key of ours; the value is not looked at.
        check(unsafe { (mpi().call.Comm_set_attr)(mpi().handle.comm_self, at_end, std::ptr::null_mut()) }).map_err(|e| e.0)?;
        create(forget).map_err(|e| e.0)
    });
    key.map_err(crate::private::Failed)
}

fn lock_seats() -> MutexGuard<'static, Vec<Weak<Seat>>> {
    SEATS.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// A duplicate of a communicator meets its members anew. Open MPI refuses a null copy function.
unsafe extern "C" fn do_not_copy(_: MPI_Comm, _: c_int, _: *mut c_void, _: *mut c_void, _: *mut c_void, flag: *mut c_int) -> c_int {
    // SAFETY: MPI passes a place for the flag.
    unsafe { *flag = 0 };
    SUCCESS
}

/// The communicator is freed.
unsafe extern "C" fn forget(_: MPI_Comm, _: c_int, value: *mut c_void, _: *mut c_void) -> c_int {
    GENERATION.fetch_add(1, Ordering::AcqRel);
    // SAFETY: the value `seat` set, given back once.
    let seat: Arc<Seat> = unsafe { Arc::from_raw(value.cast_const().cast()) };
    lock_seats().retain(|other| other.as_ptr() != Arc::as_ptr(&seat));
    crate::guarded("the end of a communicator", || seat.as_ref().as_ref().map_or(SUCCESS, leave))
}

/// MPI goes down. Communicators that were never freed, like MPI_COMM_WORLD, are left while MPI still works: neither
/// library can free a communicator from within the end of another one at that time.
unsafe extern "C" fn finalize(_: MPI_Comm, _: c_int, _: *mut c_void, _: *mut c_void) -> c_int {
    crate::guarded("the end of the job", || {
        let seats: Vec<Arc<Seat>> = lock_seats().iter().filter_map(Weak::upgrade).collect();
        seats.iter().filter_map(|seat| seat.as_ref().as_ref()).for_each(|member| {
            leave(member);
        });
        SUCCESS
    })
}

fn leave(member: &Mutex<Member>) -> c_int {
    member.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).leave()
}
