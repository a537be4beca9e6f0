//! The BRIDGE-MIB (RFC 4188) of a kernel bridge. snmpd lacks it and asks for it by `pass_persist`.
//!
//! `kernel` reads the bridge, `changes` counts topology changes, which the kernel does not, `table`
//! makes objects of both, and `protocol` speaks with snmpd.
mod changes;
mod kernel;
mod protocol;
mod table;

use crate::error::{KernelErrorContext, LabError, LabResult};
use changes::TopologyChanges;
use kernel::KernelBridge;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, socket,
};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
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
        links: links().during(place)?,
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
    links: OwnedFd,
}

impl BridgeWatcher {
    fn run(&self) {
        let timeout = PollTimeout::try_from(WATCH).unwrap_or(PollTimeout::MAX);
        loop {
            let ready = poll(
                &mut [PollFd::new(self.links.as_fd(), PollFlags::POLLIN)],
                timeout,
            );
            if ready.is_ok_and(|n| n > 0) {
                let mut message = [0; 8192];
                while recv(self.links.as_raw_fd(), &mut message, MsgFlags::empty()).is_ok() {}
            }
            // A port may disappear while it is read; the next reading is then complete.
            if let Ok(bridge) = KernelBridge::read_states(&self.name) {
                lock(&self.changes).see(&bridge, self.began.elapsed());
            }
        }
    }
}

fn links() -> io::Result<OwnedFd> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let links = socket(
        AddressFamily::Netlink,
        SockType::Raw,
        flags,
        SockProtocol::NetlinkRoute,
    )?;
    bind(
        links.as_raw_fd(),
        &NetlinkAddr::new(0, nix::libc::RTMGRP_LINK as u32),
    )?;
    Ok(links)
}

fn lock(changes: &Mutex<TopologyChanges>) -> MutexGuard<'_, TopologyChanges> {
    // A panic of the other thread leaves plain counters behind.
    changes.lock().unwrap_or_else(PoisonError::into_inner)
}
