//! Connections between two calls. A rank that has left a call may have sent what got lost, and whoever
//! waits for it may not wait for this rank's next call. So a thread, which sleeps until a connection
//! breaks or somebody calls, mends them meanwhile.
use super::TcpMesh;
use super::mesh::wait;
use crate::signals;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::thread;
use std::time::Duration;

/// The thread looks again after so long while something is to be mended,
const PAUSE: Duration = Duration::from_millis(20);
/// and after so long otherwise: it need not, as it is woken.
const LONG: Duration = Duration::from_secs(3600);

type MeshCell = Mutex<Option<Box<TcpMesh>>>;

/// The connections of a rank: those of a call while one is under way, else the thread's.
pub struct KeptMesh {
    cell: Arc<MeshCell>,
    here: Option<Box<TcpMesh>>,
}

impl fmt::Debug for KeptMesh {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("KeptMesh").field(&self.here).finish()
    }
}

impl KeptMesh {
    /// Connections that stand.
    pub fn new(mut mesh: TcpMesh) -> KeptMesh {
        let cell = Arc::new(MeshCell::default());
        // Without the thread they are mended in calls only.
        if let Some(keeper) = MeshKeeper::of_this_process() {
            mesh.watch_by(&keeper.epoll);
            keeper.cells().push(Arc::downgrade(&cell));
        }
        KeptMesh {
            cell,
            here: Some(Box::new(mesh)),
        }
    }

    /// The connections, for a call.
    pub fn get(&mut self) -> Option<&mut TcpMesh> {
        if self.here.is_none() {
            self.here = lock(&self.cell).take();
        }
        self.here.as_deref_mut()
    }

    /// No call is under way.
    pub fn rest(&mut self) {
        if let Some(mesh) = self.here.take() {
            *lock(&self.cell) = Some(mesh);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

struct MeshKeeper {
    /// Tells of breaks and callers.
    epoll: Epoll,
    cells: Mutex<Vec<Weak<MeshCell>>>,
}

impl MeshKeeper {
    fn of_this_process() -> Option<&'static MeshKeeper> {
        static KEEPER: OnceLock<Option<MeshKeeper>> = OnceLock::new();
        static THREAD: OnceLock<bool> = OnceLock::new();
        let keeper = KEEPER.get_or_init(|| {
            Some(MeshKeeper {
                epoll: Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).ok()?,
                cells: Mutex::default(),
            })
        });
        let keeper = keeper.as_ref()?;
        let runs = THREAD.get_or_init(|| {
            let thread = thread::Builder::new().name("heddle-keeper".into());
            signals::with_signals_blocked(|| thread.spawn(|| keeper.run())).is_ok()
        });
        runs.then_some(keeper)
    }

    fn cells(&self) -> MutexGuard<'_, Vec<Weak<MeshCell>>> {
        lock(&self.cells)
    }

    fn run(&self) {
        let mut events = [EpollEvent::empty(); 64];
        let mut is_busy = false;
        loop {
            let happened = wait(&self.epoll, &mut events, if is_busy { PAUSE } else { LONG });
            is_busy |= happened.is_ok_and(|events| !events.is_empty());
            if is_busy {
                is_busy = self.mend();
            }
        }
    }

    /// Mends the connections of those who are in no call. True if there is more to do.
    fn mend(&self) -> bool {
        let mut is_busy = false;
        self.cells().retain(|cell| {
            let Some(cell) = cell.upgrade() else {
                return false;
            };
            is_busy |= match lock(&cell).as_mut() {
                Some(mesh) => mesh.mend_between_calls(),
                // A call mends them, and may end before it has.
                None => true,
            };
            true
        });
        is_busy
    }
}
