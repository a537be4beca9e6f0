//! The state of each communicator of the application. It is an attribute of the communicator, so that
//! MPI itself says when the communicator goes. Each thread has a short memory of states beside,
//! because looking an attribute up costs as much as a small collective may.
//!
//! A communicator costs next to nothing until the calls on it are worth a look
//! ([`runtime::communicator_work`]). A duplicate shares what its parent has, count and process set
//! alike, because all calls on both are made by the same ranks in one order; only threads that call
//! at once could make another order on each rank, so under MPI_THREAD_MULTIPLE each communicator is
//! on its own.
use crate::abi::MPI_Comm;
use crate::call::CollectiveCall;
use crate::call_amount::CallAmount;
use crate::call_comm::CallComm;
use crate::error_handlers::{guarded, quietly};
use crate::meeting::{self, MeetingOutcome};
use crate::mpi::{self, SUCCESS, mpi};
use crate::mpi_result::{MpiErrorCode, MpiResult, check};
use crate::process_set::{self, ProcessSet};
use crate::{passing, registry, root_rank};
use runtime::communicator_work::{CallAction, CommunicatorWork, WORTH_A_LOOK};
use runtime::look_allowance;
use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

/// A communicator and its duplicates.
pub(crate) struct CommState {
    /// This process's rank and how many there are.
    rank: c_int,
    size: c_int,
    /// Calls pass through for good: the above, and where all ranks are on one host or not all have
    /// the runtime.
    passes: AtomicBool,
    stage: Mutex<CommStage>,
}

enum CommStage {
    Counting(CommunicatorWork),
    Joined(Arc<Mutex<ProcessSet>>),
}

/// Grows whenever a communicator is freed: then a handle may come to mean another one.
static GENERATION: AtomicU64 = AtomicU64::new(1);
/// Every state there is, for those that MPI_Finalize finds still there.
static STATES: Mutex<Vec<Weak<CommState>>> = Mutex::new(Vec::new());

thread_local! {
    /// The last communicator this thread called with, at which generation, and its state.
    static LAST: Cell<(Option<MPI_Comm>, u64, *const CommState)> = const { Cell::new((None, 0, std::ptr::null())) };
}

/// True if calls on this communicator are known to pass through. Asked first of all: such calls may
/// take less than a microsecond.
pub(crate) fn known_to_pass_through(comm: MPI_Comm) -> bool {
    let (last, remembered, state) = LAST.get();
    // SAFETY: as in `of`.
    last == Some(comm)
        && remembered == GENERATION.load(Ordering::Acquire)
        && unsafe { &*state }.passes_through()
}

/// This process's state of a communicator.
pub(crate) fn state_of<'a>(comm: MPI_Comm) -> MpiResult<&'a CommState> {
    let generation = GENERATION.load(Ordering::Acquire);
    let (last, remembered, state) = LAST.get();
    let state = if last == Some(comm) && remembered == generation {
        state
    } else {
        let state = attribute(comm)?;
        LAST.set((Some(comm), GENERATION.load(Ordering::Acquire), state));
        state
    };
    // SAFETY: the attribute owns the state until the communicator is freed, which no program may do
    // during a collective on it.
    Ok(unsafe { &*state })
}

impl CommState {
    /// Of a communicator that no attribute is on yet. A communicator of one rank, or of two groups,
    /// has nobody to exchange blocks with in heddle's ways.
    fn query(comm: MPI_Comm) -> MpiResult<CommState> {
        let (mut inter, mut rank, mut size) = (0, 0, 0);
        // SAFETY: a communicator of the application and places for the results.
        unsafe {
            check((mpi().call.Comm_test_inter)(comm, &mut inter))?;
            check((mpi().call.Comm_rank)(comm, &mut rank))?;
            check((mpi().call.Comm_size)(comm, &mut size))?;
        }
        let passes = AtomicBool::new(inter != 0 || size < 2);
        Ok(CommState {
            rank,
            size,
            passes,
            stage: Mutex::new(CommStage::Counting(CommunicatorWork::default())),
        })
    }

    /// The communicator during a call on it.
    pub(crate) fn within(&self, comm: MPI_Comm) -> CallComm {
        CallComm {
            comm,
            rank: self.rank,
            size: self.size,
        }
    }

    /// True if calls pass through for good.
    pub(crate) fn passes_through(&self) -> bool {
        self.passes.load(Ordering::Relaxed)
    }

    /// Counts a call; gives the process set that serves it, if one does. The call at which that is
    /// first asked for is collective.
    pub(crate) fn process_set(
        &self,
        call: &CollectiveCall,
        amount: CallAmount,
    ) -> MpiResult<Option<Arc<Mutex<ProcessSet>>>> {
        let mut stage = self.stage.lock().unwrap_or_else(PoisonError::into_inner);
        let worth = match &mut *stage {
            CommStage::Joined(set) => return Ok(Some(Arc::clone(set))),
            CommStage::Counting(worth) => worth,
        };
        let may_meet_again = worth.may_meet_again();
        let is_worth_a_look = match worth.count(self.size as u64, amount.known_to_all()) {
            CallAction::Pass => return Ok(None),
            CallAction::Prepare => {
                if self.rank == 0 {
                    root_rank::prepare();
                }
                return Ok(None);
            }
            CallAction::Meet => worth.lived() >= WORTH_A_LOOK && look_allowance::affords_another(),
            CallAction::MeetFirst => {
                let affords = look_allowance::affords_another();
                if affords && self.rank == 0 {
                    root_rank::prepare();
                }
                affords
            }
            CallAction::Look => true,
        };
        match meeting::meet(&self.within(call.comm), is_worth_a_look, may_meet_again)? {
            MeetingOutcome::Joined(set) => {
                *stage = CommStage::Joined(Arc::clone(&set));
                return Ok(Some(set));
            }
            MeetingOutcome::Apart => self.passes.store(true, Ordering::Relaxed),
            MeetingOutcome::TooEarly => {}
        }
        Ok(None)
    }

    fn joined(&self) -> Option<Arc<Mutex<ProcessSet>>> {
        match &*self.stage.lock().unwrap_or_else(PoisonError::into_inner) {
            CommStage::Joined(set) => Some(Arc::clone(set)),
            CommStage::Counting(_) => None,
        }
    }
}

/// The attribute's value, set now if there is none.
fn attribute(comm: MPI_Comm) -> MpiResult<*const CommState> {
    let mpi = mpi();
    let key = key()?;
    let (mut value, mut found): (*mut c_void, c_int) = (std::ptr::null_mut(), 0);
    // A handle that is not a communicator fails here, with the library's own error, and only once.
    // SAFETY: a communicator of the application, a key of ours and places for the results.
    check(unsafe { (mpi.call.Comm_get_attr)(comm, key, (&raw mut value).cast(), &mut found) })?;
    if found != 0 {
        return Ok(value.cast_const().cast());
    }
    let state = Arc::new(CommState::query(comm)?);
    lock_states().push(Arc::downgrade(&state));
    let value = Arc::into_raw(state);
    quietly(comm, || {
        // SAFETY: as above; `forget` takes the value back.
        check(unsafe { (mpi.call.Comm_set_attr)(comm, key, value.cast_mut().cast()) })
    })?;
    Ok(value)
}

/// The attribute's key. The first call also asks MPI for a call when it goes down: attributes of
/// MPI_COMM_SELF are deleted first thing in MPI_Finalize (MPI-4.1 section 11.2.4).
fn key() -> MpiResult<c_int> {
    static KEY: OnceLock<std::result::Result<c_int, c_int>> = OnceLock::new();
    let create = |copy, delete| {
        let mut key = mpi().keyval_invalid;
        // SAFETY: two callbacks of the right kind and a place for the result.
        check(unsafe {
            (mpi().call.Comm_create_keyval)(copy, delete, &mut key, std::ptr::null_mut())
        })
        .map(|()| key)
    };
    let key = *KEY.get_or_init(|| {
        let at_end = create(do_not_copy, finalize).map_err(|e| e.0)?;
        let own = mpi().handle.comm_self;
        quietly(own, || {
            // SAFETY: MPI_COMM_SELF and a key of ours; the value is not looked at.
            check(unsafe { (mpi().call.Comm_set_attr)(own, at_end, std::ptr::null_mut()) })
        })
        .map_err(|e| e.0)?;
        create(share, forget).map_err(|e| e.0)
    });
    key.map_err(MpiErrorCode)
}

fn lock_states() -> MutexGuard<'static, Vec<Weak<CommState>>> {
    STATES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Open MPI refuses a null copy function.
unsafe extern "C" fn do_not_copy(
    _: MPI_Comm,
    _: c_int,
    _: *mut c_void,
    _: *mut c_void,
    _: *mut c_void,
    flag: *mut c_int,
) -> c_int {
    // SAFETY: MPI passes a place for the flag.
    unsafe { *flag = 0 };
    SUCCESS
}

/// The communicator is duplicated.
unsafe extern "C" fn share(
    _: MPI_Comm,
    _: c_int,
    _: *mut c_void,
    value: *mut c_void,
    copy: *mut c_void,
    flag: *mut c_int,
) -> c_int {
    let state: *const CommState = value.cast_const().cast();
    // SAFETY: the value `attribute` set, which lives as long as the parent.
    let shared = !mpi::threads_call_at_once() || unsafe { &*state }.passes_through();
    // SAFETY: MPI passes places for the flag and for a value, and gives that back to `forget`,
    // once.
    unsafe {
        *flag = c_int::from(shared);
        if shared {
            Arc::increment_strong_count(state);
            *copy.cast::<*const CommState>() = state;
        }
    }
    SUCCESS
}

/// The communicator is freed.
unsafe extern "C" fn forget(comm: MPI_Comm, _: c_int, value: *mut c_void, _: *mut c_void) -> c_int {
    // First of all: threads remember states by handle, and none may find this one from now on.
    GENERATION.fetch_add(1, Ordering::AcqRel);
    if passing::forget(comm) {
        registry::count_passed();
    }
    // SAFETY: the value `attribute` or `share` set, given back once.
    let state: Arc<CommState> = unsafe { Arc::from_raw(value.cast_const().cast()) };
    guarded("the end of a communicator", || {
        if let Some(state) = Arc::into_inner(state) {
            lock_states().retain(|other| other.strong_count() > 0);
            if let CommStage::Joined(set) = state
                .stage
                .into_inner()
                .unwrap_or_else(PoisonError::into_inner)
            {
                registry::communicator_freed(&set);
            }
        }
        SUCCESS
    })
}

/// MPI goes down. Communicators that were never freed, like MPI_COMM_WORLD, are left while MPI
/// still works: neither library can free a communicator from within the end of another one at that
/// time.
unsafe extern "C" fn finalize(_: MPI_Comm, _: c_int, _: *mut c_void, _: *mut c_void) -> c_int {
    guarded("the end of the job", || {
        registry::count_passed();
        let states: Vec<Arc<CommState>> = lock_states().iter().filter_map(Weak::upgrade).collect();
        states
            .iter()
            .filter_map(|state| state.joined())
            .chain(registry::all())
            .for_each(|set| process_set::lock(&set).leave());
        root_rank::finish_records();
        SUCCESS
    })
}
