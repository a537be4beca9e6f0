//! The application's error handlers hear of the application's errors only.
//!
//! heddle asks the library many things about handles of the application, and its ranks agree with
//! each other over the application's communicators. A failure there is heddle's own trouble, but
//! the library would tell the handler of the communicator, which ends the job as a rule. So while
//! such a call lasts, the communicator's handler is the one that only returns codes.
//!
//! Afterwards the communicator has again what it had. In MPICH that may be none: then its errors go
//! to the handler that MPI_COMM_WORLD has by that time. MPI cannot give none back, and asked for it
//! says MPI_ERRORS_ARE_FATAL, as of a communicator that was given that one. So both are left alone,
//! and MPI_COMM_WORLD is quiet in their place.
use crate::abi::{MPI_Comm, MPI_Errhandler};
#[cfg(standard_abi)]
use crate::mpi::SUCCESS;
use crate::mpi::mpi;
use crate::mpi_result::{MpiResult, check};
use runtime::stderr;
use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A communicator that is quiet now, for how many calls, and its own handler.
struct QuietComm {
    comm: MPI_Comm,
    calls: u32,
    handler: MPI_Errhandler,
}

// SAFETY: handles are process-wide.
unsafe impl Send for QuietComm {}

/// Threads may be in such calls at once, on MPI_COMM_SELF for instance: the last one puts the
/// handler back.
static NOW: Mutex<Vec<QuietComm>> = Mutex::new(Vec::new());

fn now() -> MutexGuard<'static, Vec<QuietComm>> {
    NOW.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Errors on the communicator come back as codes from now on.
pub(crate) fn return_errors(comm: MPI_Comm) -> MpiResult<()> {
    // SAFETY: a communicator, and a predefined handler.
    check(unsafe { (mpi().call.Comm_set_errhandler)(comm, errors_return()) })
}

#[cfg(not(standard_abi))]
fn errors_return() -> MPI_Errhandler {
    mpi().handle.errors_return
}

/// MPI_ERRORS_RETURN of a library with the standard's binary interface: Intel MPI
/// 2021.19 has the numbers of MPI_ERRORS_RETURN and MPI_ERRORS_ABORT exchanged. It is the handler
/// that files begin with (MPI-5.0, section 14.7), unless the program gave them another one. A
/// handler of heddle's own would not do: MPICH 5.0.2 returns MPI_SUCCESS after it.
#[cfg(standard_abi)]
fn errors_return() -> MPI_Errhandler {
    use std::ffi::c_void;
    use std::sync::OnceLock;
    const FILE_NULL: usize = 0x118;
    const RETURN: usize = 0x143;
    const EXCHANGED: usize = 0x142;
    static FOUND: OnceLock<usize> = OnceLock::new();
    let found = FOUND.get_or_init(|| {
        let (call, mut handler) = (&mpi().call, mpi().handle.errors_are_fatal);
        // SAFETY: no file, and a place for its handler, which is given back.
        let code = unsafe { (call.File_get_errhandler)(FILE_NULL, &mut handler) };
        let answer = handler.0 as usize;
        if code == SUCCESS {
            // SAFETY: as above.
            unsafe { (call.Errhandler_free)(&mut handler) };
        }
        match answer {
            RETURN | EXCHANGED => answer,
            _ if mpi().routines.is_intel() => EXCHANGED,
            _ => RETURN,
        }
    });
    MPI_Errhandler(*found as *mut c_void)
}

/// Runs `ask`, whose errors on `comm` come back as codes and reach no handler.
pub(crate) fn quietly<T>(comm: MPI_Comm, ask: impl FnOnce() -> T) -> T {
    let _quiet = QuietGuard::on(comm);
    ask()
}

/// As long as it lives, `0` is quiet; `None` where the library refused.
struct QuietGuard(Option<MPI_Comm>);

impl QuietGuard {
    fn on(comm: MPI_Comm) -> QuietGuard {
        let (mpi, mut now) = (mpi(), now());
        if let Some(quiet) = now.iter_mut().find(|quiet| quiet.comm == comm) {
            quiet.calls += 1;
            return QuietGuard(Some(comm));
        }
        let (fatal, world) = (mpi.handle.errors_are_fatal, mpi.handle.comm_world);
        let mut handler = fatal;
        // SAFETY: a communicator of the application and a place for its handler.
        let asked = check(unsafe { (mpi.call.Comm_get_errhandler)(comm, &mut handler) });
        if asked.is_err() {
            return QuietGuard(None);
        }
        if mpi.lends_handlers && handler == fatal && comm != world {
            drop(now);
            return QuietGuard::on(world);
        }
        QuietGuard(return_errors(comm).is_ok().then(|| {
            now.push(QuietComm {
                comm,
                calls: 1,
                handler,
            });
            comm
        }))
    }
}

impl Drop for QuietGuard {
    fn drop(&mut self) {
        let Some(comm) = self.0 else { return };
        let (mpi, mut now) = (mpi(), now());
        let Some(at) = now.iter().position(|quiet| quiet.comm == comm) else {
            return;
        };
        now[at].calls -= 1;
        if now[at].calls == 0 {
            let mut handler = now.swap_remove(at).handler;
            // SAFETY: the communicator's own handler, which was asked for once and is given back
            // once.
            unsafe {
                (mpi.call.Comm_set_errhandler)(comm, handler);
                // A handler that was asked for is a reference to be freed (MPI-3.1, 8.3).
                (mpi.call.Errhandler_free)(&mut handler);
            }
        }
    }
}

/// Runs `what`; a panic must not reach C, and after it the other ranks wait for messages that never
/// come: the job ends, with a message.
pub(crate) fn guarded(what: &str, run: impl FnOnce() -> c_int) -> c_int {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| {
        stderr::write_line(&format!(
            "bug in {what} (see above); the job cannot go on. HEDDLE=off runs it without heddle"
        ));
        // 70 is EX_SOFTWARE of sysexits.h: an internal error.
        // SAFETY: ends every process of the job.
        unsafe { (mpi().call.Abort)(mpi().handle.comm_self, 70) };
        std::process::abort()
    })
}
