//! The BRIDGE-MIB (RFC 4188) of a kernel bridge. snmpd lacks it and asks for it by `pass_persist`.
//!
//! `kernel` reads the bridge, `changes` counts topology changes, which the kernel does not, `table`
//! makes objects of both, and `protocol` speaks with snmpd.
mod changes;
mod kernel;
mod protocol;
mod table;

use crate::error::{KernelErrorContext, LabError, LabResult};
use crate::netlink::LinkChanges;
use changes::TopologyChanges;
use kernel::KernelBridge;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use table::ObjectTable;

/// The greatest age of the objects in an answer: one walk sees one state, the next poll a new one.
const FRESH: Duration = Duration::from_millis(100);

/// The interval at which the topology change flag is read; the kernel announces changes of ports
/// only.
const WATCH: Duration = Duration::from_millis(200);

/// Serves the objects of bridge `name` on standard input and output until the input ends.
///
/// # Errors
/// [`crate::LabError::Kernel`] if there is no such bridge or snmpd is gone.
pub fn serve(name: &str) -> LabResult<()> {
    let began = Instant::now();
    let place = || format!("bridge-mib: bridge {name}");
    let bridge = match KernelBridge::read(name) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            return Err(LabError::Refused(format!(
                "{}: there is none here; snmpd on a switch of a lab runs this, for the bridge br0",
                place()
            )));
        }
        read => read.during(place)?,
    };
    let changes = Arc::new(Mutex::new(TopologyChanges::new(&bridge)));
    let watcher = BridgeWatcher {
        name: name.to_owned(),
        began,
        changes: changes.clone(),
        links: LinkChanges::open().during(place)?,
    };
    std::thread::spawn(move || watcher.run());
    let mut cache: Option<(Instant, ObjectTable)> = None;
    let source = |look: &mut dyn FnMut(&ObjectTable)| -> io::Result<()> {
        if cache.as_ref().is_none_or(|(at, _)| at.elapsed() > FRESH) {
            let bridge = KernelBridge::read(name)?;
            let now = began.elapsed();
            let mut changes = lock(&changes);
            changes.see(&bridge, now);
            cache = Some((Instant::now(), table::build(&bridge, &changes, now)));
        }
        if let Some((_, table)) = &cache {
            look(table);
        }
        Ok(())
    };
    protocol::serve(&mut io::stdin().lock(), &mut io::stdout().lock(), source).during(place)
}

/// Reads the bridge at each change of the node's interfaces, and at intervals.
struct BridgeWatcher {
    name: String,
    began: Instant,
    changes: Arc<Mutex<TopologyChanges>>,
    links: LinkChanges,
}

impl BridgeWatcher {
    fn run(&self) {
        loop {
            self.links.wait(WATCH);
            // A port may disappear while it is read; the next reading is then complete.
            if let Ok(bridge) = KernelBridge::read_states(&self.name) {
                lock(&self.changes).see(&bridge, self.began.elapsed());
            }
        }
    }
}

fn lock(changes: &Mutex<TopologyChanges>) -> MutexGuard<'_, TopologyChanges> {
    // A panic of the other thread leaves plain counters behind.
    changes.lock().unwrap_or_else(PoisonError::into_inner)
}
