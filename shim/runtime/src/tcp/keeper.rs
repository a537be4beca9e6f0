//! Connections between two calls. A rank that has left a call may have sent what got lost, and whoever
//! waits for it may not wait for this rank's next call. So a thread, which sleeps until a connection
//! breaks or somebody calls, mends them meanwhile.
use super::TcpMesh;
use super::mesh::wait;
use crate::signals;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, TryLockError, Weak};
use std::thread;
use std::time::Duration;

/// The thread looks again after so long while something is to be mended,
const PAUSE: Duration = Duration::from_millis(20);
/// and after so long otherwise: it is woken when a connection breaks, but not when octets get lost.
const SELDOM: Duration = Duration::from_secs(1);

/// The connections of a rank: a call's while one is under way, else the thread's.
#[derive(Debug)]
pub struct KeptMesh(Arc<Mutex<TcpMesh>>);

impl KeptMesh {
    /// Connections that stand.
    pub fn new(mut mesh: TcpMesh) -> KeptMesh {
        // Without the thread they are mended in calls only.
        let keeper = MeshKeeper::of_this_process();
        if let Some(keeper) = keeper {
            mesh.watch_by(&keeper.epoll);
        }
        let mesh = Arc::new(Mutex::new(mesh));
        if let Some(keeper) = keeper {
            lock(&keeper.meshes).push(Arc::downgrade(&mesh));
        }
        KeptMesh(mesh)
    }

    /// The connections, for a call. A rank that waits for others in any other way must not have them:
    /// they may wait for what got lost on these.
    pub fn lock(&self) -> MutexGuard<'_, TcpMesh> {
        lock(&self.0)
    }
}

impl Drop for KeptMesh {
    fn drop(&mut self) {
        // The thread may have them for a moment more, and must not call the MPI library.
        let mut mesh = self.lock();
        mesh.close();
        mesh.carry_by(None);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

struct MeshKeeper {
    /// Tells of breaks and callers.
    epoll: Epoll,
    meshes: Mutex<Vec<Weak<Mutex<TcpMesh>>>>,
}

impl MeshKeeper {
    fn of_this_process() -> Option<&'static MeshKeeper> {
        static KEEPER: OnceLock<Option<MeshKeeper>> = OnceLock::new();
        static THREAD: OnceLock<bool> = OnceLock::new();
        let keeper = KEEPER
            .get_or_init(|| {
                Some(MeshKeeper {
                    epoll: Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).ok()?,
                    meshes: Mutex::default(),
                })
            })
            .as_ref()?;
        let runs = THREAD.get_or_init(|| {
            let thread = thread::Builder::new().name("heddle-keeper".into());
            signals::with_signals_blocked(|| thread.spawn(|| keeper.run())).is_ok()
        });
        runs.then_some(keeper)
    }

    fn run(&self) {
        let mut events = [EpollEvent::empty(); 64];
        let mut is_busy = false;
        loop {
            // An error leaves it to the calls.
            let pause = if is_busy { PAUSE } else { SELDOM };
            is_busy = wait(&self.epoll, &mut events, pause).is_ok() && self.mend();
        }
    }

    /// Mends the connections of those who are in no call. True if there is more to do.
    fn mend(&self) -> bool {
        let mut is_busy = false;
        lock(&self.meshes).retain(|mesh| {
            let Some(mesh) = mesh.upgrade() else {
                return false;
            };
            is_busy |= match mesh.try_lock() {
                Ok(mut mesh) => mesh.mend_between_calls(),
                Err(TryLockError::Poisoned(mesh)) => mesh.into_inner().mend_between_calls(),
                // A call mends them, and may end before it has.
                Err(TryLockError::WouldBlock) => true,
            };
            true
        });
        is_busy
    }
}
