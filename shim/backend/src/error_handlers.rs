//! The application's error handlers hear of the application's errors only.
//!
//! heddle asks the library many things about handles of the application, and its ranks agree with
//! each other over the application's communicators. What fails there is heddle's own trouble, but
//! the library would tell the handler of the communicator, which ends the job as a rule. So while
//! such a call lasts, the communicator's handler is the one that only returns codes.
//!
//! Afterwards the communicator has again what it had. In MPICH that may be none: then its errors go
//! to the handler that MPI_COMM_WORLD has by that time. MPI cannot give none back, and asked for it
//! says MPI_ERRORS_ARE_FATAL, as of a communicator that was given that one. So both are left alone,
//! and MPI_COMM_WORLD is quiet in their place.
use crate::abi::{MPI_Comm, MPI_Errhandler};
use crate::mpi::mpi;
use crate::mpi_result::check;
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
        let mut handler = mpi.handle.errors_return;
        // SAFETY: a communicator of the application and a place for its handler.
        let asked = check(unsafe { (mpi.call.Comm_get_errhandler)(comm, &mut handler) });
        if asked.is_err() {
            return QuietGuard(None);
        }
        if cfg!(mpich) && handler == fatal && comm != world {
            drop(now);
            return QuietGuard::on(world);
        }
        // SAFETY: as above.
        let set = check(unsafe { (mpi.call.Comm_set_errhandler)(comm, mpi.handle.errors_return) });
        QuietGuard(set.is_ok().then(|| {
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
                (mpi.call.Errhandler_free)(&mut handler);
            }
        }
    }
}
