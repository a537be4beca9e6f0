//! Many devices in one process, each answering SNMPv2c on a loopback address of its own.
mod answer;

use crate::mib::DeviceMib;
use inventory::Mac;
use inventory::device_view::{DeviceView, DeviceViews};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::net::UdpSocket;
use tokio::task::JoinSet;

/// The community every device takes; others get no answer (RFC 3584, 5.2.1).
pub const COMMUNITY: &str = "public";

/// The longest request that is read.
const LONGEST_REQUEST: usize = 4096;

/// Devices that answer until this is dropped.
#[derive(Debug)]
pub struct SnmpResponder {
    devices: BTreeMap<String, Arc<RespondingDevice>>,
    _tasks: JoinSet<()>,
}

/// One device.
#[derive(Debug)]
struct RespondingDevice {
    address: SocketAddr,
    state: Mutex<ResponderState>,
}

#[derive(Debug)]
struct ResponderState {
    view: DeviceView,
    mib: Arc<DeviceMib>,
    /// The time at which these rows were made; counters count on from there.
    since: Instant,
    /// The time until an answer; `None`: the device does not answer.
    delay: Option<Duration>,
}

impl SnmpResponder {
    /// Starts a device for each view, which answers each request after `delay`, as if the way there
    /// and back took that long. Tokio's timers have a resolution of a millisecond and are late
    /// rather than early.
    ///
    /// # Errors
    /// The system's refusal of a socket; one is needed for each device.
    pub async fn start(views: &DeviceViews, delay: Duration) -> io::Result<SnmpResponder> {
        let mut responder = SnmpResponder {
            devices: BTreeMap::new(),
            _tasks: JoinSet::new(),
        };
        for (name, view) in views {
            let socket = UdpSocket::bind("127.0.0.1:0").await?;
            let state = ResponderState {
                view: view.clone(),
                mib: Arc::new(DeviceMib::new(view)),
                since: Instant::now(),
                delay: Some(delay),
            };
            let device = Arc::new(RespondingDevice {
                address: socket.local_addr()?,
                state: Mutex::new(state),
            });
            responder.devices.insert(name.clone(), Arc::clone(&device));
            responder._tasks.spawn(serve(Arc::new(socket), device));
        }
        Ok(responder)
    }

    /// The address at which each device answers.
    pub fn addresses(&self) -> impl Iterator<Item = (&str, SocketAddr)> {
        self.devices
            .iter()
            .map(|(name, device)| (name.as_str(), device.address))
    }

    /// Replaces a device's view from now on. Its clock runs on. If its neighbours or the states of
    /// its ports changed, the counters of these changes follow.
    pub fn replace(&self, device: &str, view: DeviceView) {
        if let Some(device) = self.devices.get(device) {
            device.lock().replace(view);
        }
    }

    /// Makes a device answer after this delay from now on; `None`: not at all.
    pub fn delay(&self, device: &str, delay: Option<Duration>) {
        if let Some(device) = self.devices.get(device) {
            device.lock().delay = delay;
        }
    }

    /// The devices as an operator's inventory, with hosts and their addresses, and further
    /// sections.
    pub fn inventory<'a>(
        &self,
        hosts: impl Iterator<Item = (&'a str, Option<Mac>)>,
        more: &str,
    ) -> String {
        let mut text = format!(
            "snmp: {{default: {{version: 2c, community: {COMMUNITY}}}}}\n{more}switches:\n"
        );
        for (name, address) in self.addresses() {
            // A String takes everything.
            let _ = writeln!(text, "  {name}: {{address: \"{address}\"}}");
        }
        text.push_str("hosts:\n");
        for (name, mac) in hosts {
            let mac = mac.map(|m| format!("mac: \"{m}\"")).unwrap_or_default();
            let _ = writeln!(text, "  {name}: {{{mac}}}");
        }
        text
    }
}

impl RespondingDevice {
    fn lock(&self) -> std::sync::MutexGuard<'_, ResponderState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ResponderState {
    /// Hundredths of a second since the device came up.
    fn uptime(&self) -> u32 {
        let before = self.view.system.as_ref().map_or(0, |s| s.uptime);
        before.wrapping_add((self.since.elapsed().as_millis() / 10) as u32)
    }

    fn replace(&mut self, mut view: DeviceView) {
        let uptime = self.uptime();
        let up = self.since.elapsed().as_millis() as u32 / 10;
        let mut pulse = self.view.pulse.clone().unwrap_or_default();
        pulse.since_top_change = pulse.since_top_change.map(|since| since.wrapping_add(up));
        if let (Some(new), Some(old)) = (&mut view.bridge, &self.view.bridge) {
            let moved = port_states(new) != port_states(old);
            new.top_changes = old.top_changes.wrapping_add(u32::from(moved));
            pulse.since_top_change = if moved {
                Some(0)
            } else {
                pulse.since_top_change.or(Some(up))
            };
        }
        if view.lldp.as_ref().map(|l| &l.neighbours)
            != self.view.lldp.as_ref().map(|l| &l.neighbours)
        {
            pulse.lldp_last_change = Some(uptime);
        }
        view.system.iter_mut().for_each(|s| s.uptime = uptime);
        view.pulse = Some(pulse);
        self.mib = Arc::new(DeviceMib::new(&view));
        self.since = Instant::now();
        self.view = view;
    }
}

fn port_states(
    b: &inventory::observation::BridgeTable,
) -> Vec<(u32, Option<inventory::observation::StpState>)> {
    b.ports
        .iter()
        .map(|p| (p.number, p.state))
        .collect::<Vec<_>>()
}

/// Answers one device's requests, each after its own delay: requests do not wait for each other, as
/// on a long cable.
async fn serve(socket: Arc<UdpSocket>, device: Arc<RespondingDevice>) {
    let mut request = vec![0; LONGEST_REQUEST];
    loop {
        let Ok((length, from)) = socket.recv_from(&mut request).await else {
            continue;
        };
        let (mib, since, delay) = {
            let state = device.lock();
            (Arc::clone(&state.mib), state.since, state.delay)
        };
        let Some(answer) = answer::answer(&mib, since.elapsed(), &request[..length]) else {
            continue;
        };
        let Some(delay) = delay else { continue };
        let socket = Arc::clone(&socket);
        tokio::spawn(async move {
            tokio::time::sleep(delay).await;
            let _ = socket.send_to(&answer, from).await; // Datagrams get lost.
        });
    }
}
