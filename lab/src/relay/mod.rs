//! The relay: a process that carries the cables with a delay. It receives every frame at one end
//! and sends it at the other end some time later.
//!
//! The kernel's own delay (netem) is missing in many kernels. A cable with a delay is two veth
//! pairs whose inner ends are in the relay's namespace. One thread for each direction moves frames
//! between packet sockets. A token bucket filter at the outer ends sets the rate, as on any other
//! cable, and the relay only has to keep up. If the relay waits for a core and is late, filters of
//! its own prevent a burst. A cable is transparent: it carries BPDUs, LLDP and all other frames,
//! and when one end is down, so is the other.
//!
//! Limits: a frame has at most 2,048 octets; the tag of an 802.1Q frame is lost on the way (the lab
//! sends none); at most 32,768 frames are on the way in each direction, and further ones are
//! dropped as by a full queue.
//!
//! | module | one idea |
//! |---|---|
//! | `delay_line` | frames in the order of their time (pure) |
//! | `socket` | many frames at once from and to an interface |
//! | `carrier` | the carrier state, passed from one end to the other |
mod carrier;
mod delay_line;
mod socket;

use crate::error::{KernelErrorContext, LabError, LabResult};
use crate::name::LabName;
use crate::netlink::NetlinkNamespace;
use crate::node::{READY, tell};
use crate::plan::{LabCable, RELAY};
use crate::port_shape::PortShape;
use crate::state::{InitIdentity, LabState};
use crate::{block_on, netns};
use delay_line::DelayLine;
use nix::sched::{CloneFlags, setns};
use socket::RelaySocket;
use std::convert::Infallible;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The number of frames that one system call moves.
const BATCH: usize = 64;

/// The relay's interfaces for the cable of this number in the plan, at its ends `a` and `b`.
pub(crate) fn ports(cable: usize) -> [String; 2] {
    [format!("c{cable}a"), format!("c{cable}b")]
}

/// Holds the relay's interfaces of a cable to its rate, with room for all late frames: a burst
/// would overrun the queue behind the cable.
pub(crate) async fn pace(
    relay: &NetlinkNamespace,
    number: usize,
    cable: &LabCable,
) -> LabResult<()> {
    for port in ports(number) {
        relay
            .shape(
                &port,
                &PortShape::of_frames(cable.rate, socket::BUFFER as u32),
            )
            .await?;
    }
    Ok(())
}

/// Carries the lab's cables that have a delay, until it is killed. Call this in a process without
/// threads.
///
/// # Errors
/// [`LabError`] if there is no such lab or its interfaces cannot be opened.
pub fn run(lab: &str) -> LabResult<()> {
    let state = LabState::load(&LabName::new(lab)?)?;
    let Err(error) = serve(&state);
    tell(&state.name, RELAY, &error.to_string());
    Err(error)
}

fn serve(state: &LabState) -> LabResult<Infallible> {
    let path = netns::path(&state.name, RELAY);
    let namespace = File::open(&path).during(|| path.display().to_string())?;
    setns(namespace, CloneFlags::CLONE_NEWNET)
        .during(|| "relay: entering its network namespace".into())?;
    go_first();
    let mut pairs = Vec::new();
    let mut directions: Vec<JoinHandle<io::Result<Infallible>>> = Vec::new();
    for (number, cable) in state
        .plan
        .cables
        .iter()
        .enumerate()
        .filter(|(_, c)| !c.delay.is_zero())
    {
        let place = || {
            format!(
                "relay: cable {}:{} - {}:{}",
                cable.a.node, cable.a.port, cable.b.node, cable.b.port
            )
        };
        let [a, b] = ports(number);
        let (from, to) = (
            Arc::new(RelaySocket::open(&a).during(place)?),
            Arc::new(RelaySocket::open(&b).during(place)?),
        );
        for (from, to) in [(from.clone(), to.clone()), (to, from)] {
            let delay = cable.delay;
            directions.push(std::thread::spawn(move || carry(&from, &to, delay)));
        }
        pairs.push([a, b]);
    }
    block_on(async {
        let wire = NetlinkNamespace::open(RELAY, Path::new("/proc/self/ns/net"))?;
        InitIdentity::of_self()
            .during(|| "relay: reading its process number".into())?
            .save(&state.name, RELAY)?;
        tell(&state.name, RELAY, READY);
        loop {
            carrier::pass_on(&wire, &pairs).await?;
            tokio::time::sleep(carrier::LOOK).await;
            // If a direction fails, the relay ends, and the lab's status shows its cables down.
            if directions.iter().any(JoinHandle::is_finished) {
                return Err(LabError::NotReady(
                    "relay: a cable cannot be read any more".into(),
                ));
            }
        }
    })
}

/// Gives the relay priority over jobs that keep all cores busy: a cable does not wait for a core.
#[allow(unsafe_code, reason = "the priority of a process has no safe wrapper")]
fn go_first() {
    // SAFETY: only integers are passed. Threads started later inherit the priority. Without the
    // right to it the relay is later.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, -15) };
}

/// One direction of a cable.
fn carry(from: &RelaySocket, to: &RelaySocket, delay: Duration) -> io::Result<Infallible> {
    // The least slack: a frame that is due must not wait for other timers.
    let _ = nix::sys::prctl::set_timerslack(1);
    let mut line = DelayLine::new(delay);
    let mut taken = line.blank(BATCH);
    loop {
        from.wait(
            line.next()
                .map(|due| due.saturating_duration_since(Instant::now())),
        )?;
        let count = from.receive(&mut taken)?;
        line.put(Instant::now(), &mut taken[..count]);
        loop {
            let due = line.due(Instant::now(), BATCH);
            if due.len() == 0 {
                break;
            }
            // An interface that is down does not take frames; they are lost as on any cable.
            let sent = to.send(due);
            line.remove(sent.max(1));
        }
    }
}
