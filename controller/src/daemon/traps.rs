//! Receives traps at the address that the inventory names. If that fails, polls find the same
//! changes a little later.
mod limit;
mod senders;

use super::trouble::send_trouble;
use crate::engine::{ControllerEvent, TroubleArea};
use crate::poll_timing;
use crate::triggers::TrapTopic;
use agent::{SnmpAccess, TrapReceiver};
use inventory::inventory_file::{Credential, Inventory};
use limit::{TrapLimit, TrapOrigin};
use senders::{RefusedTraps, TrapSenders, TrapVerdict};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;

/// The pause before an address that cannot be bound is tried again.
const RETRY: Duration = Duration::from_secs(1);

/// The receiver of traps: its address, its credentials, its known senders, and its task.
#[derive(Debug, Default)]
pub(super) struct TrapListener {
    listen: Option<SocketAddr>,
    credentials: Vec<Credential>,
    /// The senders as the inventory has them.
    stated: TrapSenders,
    /// The same, with the addresses that were looked up.
    senders: watch::Sender<TrapSenders>,
    task: Option<JoinHandle<()>>,
}

impl TrapListener {
    /// Receives traps at the inventory's address, from its switches and users. An open socket stays
    /// open if nothing changed.
    pub(super) fn listen(&mut self, inventory: &Inventory, events: &mpsc::Sender<ControllerEvent>) {
        let listen = inventory.traps.as_ref().map(|traps| traps.listen);
        let credentials: Vec<Credential> = inventory.snmp.values().cloned().collect();
        let stated = TrapSenders::new(inventory);
        if self.listen == listen && self.credentials == credentials && self.stated == stated {
            return;
        }
        let pause = poll_timing::traps(inventory.switches.len());
        self.senders.send_replace(stated.clone());
        let senders = self.senders.subscribe();
        (self.listen, self.credentials, self.stated) = (listen, credentials, stated);
        let before = self.task.take();
        before.iter().for_each(JoinHandle::abort);
        let (events, users) = (events.clone(), agent::snmp_access::users(inventory));
        self.task = Some(tokio::spawn(async move {
            // Both tasks may use the same port, and the old task's events must not come last.
            if let Some(before) = before {
                let _ = before.await;
            }
            match (listen, users) {
                (Some(listen), Ok(users)) => hear(listen, &users, &senders, pause, &events).await,
                (Some(listen), Err(e)) => {
                    let what = "no traps are received there, polls go on";
                    tell(&events, Some(format!("traps: {listen}: {e}; {what}"))).await
                }
                (None, _) => tell(&events, None).await,
            }
        }));
    }

    /// Takes the address at which the name of a switch was looked up.
    pub(super) fn looked_up(&mut self, switch: &str, address: IpAddr) {
        self.senders
            .send_modify(|senders| senders.looked_up(switch, address));
    }
}

async fn hear(
    listen: SocketAddr,
    users: &[SnmpAccess],
    senders: &watch::Receiver<TrapSenders>,
    pause: Duration,
    events: &mpsc::Sender<ControllerEvent>,
) {
    let mut failures = 0_u64;
    loop {
        match agent::traps(listen, users).await {
            Ok(traps) => {
                failures = 0;
                tell(events, None).await;
                pass_on(traps, senders, pause, events).await;
            }
            // The first failure may come from the former socket, which takes a moment to close.
            Err(e) => {
                failures += 1;
                if failures == 2 {
                    tell(events, Some(e.to_string())).await;
                }
            }
        }
        tokio::time::sleep(RETRY).await;
    }
}

/// Passes on the believed traps, as often as [`TrapLimit`] allows, until the socket fails.
async fn pass_on(
    mut traps: TrapReceiver,
    senders: &watch::Receiver<TrapSenders>,
    pause: Duration,
    events: &mpsc::Sender<ControllerEvent>,
) {
    let (mut limit, mut refusals) = (TrapLimit::new(pause), RefusedTraps::default());
    loop {
        let trap = tokio::select! {
            trap = traps.next() => trap,
            () = until([limit.next(), refusals.end()].into_iter().flatten().min()) => {
                let now = Instant::now();
                for (source, kind) in limit.due(now) {
                    hint(events, source, kind).await;
                }
                if refusals.end().is_some_and(|end| now >= end) {
                    refusals = RefusedTraps::default();
                    tell(events, None).await;
                }
                continue;
            }
        };
        let Some(trap) = trap else { return };
        let (source, kind) = (trap.from, kind(trap.kind));
        let verdict = senders.borrow().judge(source, trap.proof);
        let origin = match verdict {
            TrapVerdict::Believed => TrapOrigin::Switch(source, kind),
            TrapVerdict::Stranger => TrapOrigin::Stranger,
            TrapVerdict::Refused => {
                let refusal = refusals.add(Instant::now(), &senders.borrow(), source);
                if let Some(refusal) = refusal {
                    tell(events, Some(refusal)).await;
                }
                continue;
            }
        };
        if limit.take(Instant::now(), origin, (source, kind)) {
            hint(events, source, kind).await;
        }
    }
}

async fn until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

async fn hint(events: &mpsc::Sender<ControllerEvent>, source: IpAddr, kind: TrapTopic) {
    // The daemon stops first, and this task with it.
    let _ = events.send(ControllerEvent::Trap { source, kind }).await;
}

async fn tell(events: &mpsc::Sender<ControllerEvent>, problem: Option<String>) {
    send_trouble(events, TroubleArea::Traps, problem).await;
}

fn kind(kind: agent::TrapKind) -> TrapTopic {
    match kind {
        agent::TrapKind::LinkUp | agent::TrapKind::LinkDown => TrapTopic::Link,
        agent::TrapKind::LldpChange => TrapTopic::Lldp,
        agent::TrapKind::TopologyChange => TrapTopic::Stp,
        agent::TrapKind::Other => TrapTopic::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;
    use std::process::{Command, Output};
    use std::sync::atomic::{AtomicU16, Ordering::Relaxed};

    /// The longest wait, even on a busy machine.
    const LIMIT: Duration = Duration::from_secs(60);

    /// A free port for each test, outside the range of ephemeral ports of Linux.
    fn port() -> u16 {
        static NEXT: AtomicU16 = AtomicU16::new(61_000);
        std::iter::repeat_with(|| NEXT.fetch_add(1, Relaxed))
            .find(|port| UdpSocket::bind(("0.0.0.0", *port)).is_ok())
            .unwrap()
    }

    /// An inventory with an address for traps, or without one.
    fn at(listen: Option<String>) -> Inventory {
        let traps = listen.map_or(String::new(), |listen| {
            format!("traps: {{listen: \"{listen}\"}}\n")
        });
        let text = format!(
            "switches: {{s0: {{address: 127.0.0.1}}}}\nsnmp: \
             {{default: {{version: 2c, community: c}}}}\n{traps}"
        );
        Inventory::parse("i.yaml", &text).unwrap()
    }

    fn trouble(event: ControllerEvent) -> Option<String> {
        match event {
            ControllerEvent::Trouble {
                about: TroubleArea::Traps,
                problem,
            } => problem,
            other => panic!("{other}"),
        }
    }

    async fn next(queue: &mut mpsc::Receiver<ControllerEvent>) -> ControllerEvent {
        tokio::time::timeout(LIMIT, queue.recv())
            .await
            .expect("nothing came")
            .unwrap()
    }

    /// Runs net-snmp's sender of linkDown in a state folder of its own. Senders that run at the same
    /// time and share one can read it half written: such a sender has no engine and learns no other's.
    fn run_sender(program: &str, arguments: &[&str], port: u16) -> Output {
        let state = tempfile::tempdir().unwrap();
        Command::new(program)
            .args(arguments)
            .args([&format!("127.0.0.1:{port}"), "", "1.3.6.1.6.3.1.1.5.3"])
            .env("MIBS", "")
            .env("SNMP_PERSISTENT_DIR", state.path())
            .output()
            .unwrap_or_else(|e| {
                panic!(
                    "no {program} on this machine; this test sends real ones: apt install snmp: {e}"
                )
            })
    }

    /// Sends a real trap and waits until it is received.
    async fn assert_hears(port: u16, queue: &mut mpsc::Receiver<ControllerEvent>) {
        let sent = run_sender("snmptrap", &["-v2c", "-c", "any"], port);
        assert!(
            sent.status.success(),
            "{}",
            String::from_utf8_lossy(&sent.stderr)
        );
        assert_eq!(
            next(queue).await,
            ControllerEvent::Trap {
                source: "127.0.0.1".parse().unwrap(),
                kind: TrapTopic::Link
            }
        );
    }

    #[tokio::test]
    async fn an_inventory_read_again_goes_on_hearing_wherever_it_says() {
        let (events, mut queue) = mpsc::channel(16);
        let (port, mut listener) = (port(), TrapListener::default());
        // The same address comes again, and the same port at another address, which cannot be bound
        // before the first socket is closed.
        for address in ["127.0.0.1", "127.0.0.1", "0.0.0.0", "0.0.0.0", "127.0.0.1"] {
            let inventory = at(Some(format!("{address}:{port}")));
            let changed = listener.listen != inventory.traps.as_ref().map(|t| t.listen);
            listener.listen(&inventory, &events);
            if changed {
                assert_eq!(trouble(next(&mut queue).await), None, "{address}");
            }
            assert_hears(port, &mut queue).await;
        }
        listener.listen(&at(None), &events);
        assert_eq!(trouble(next(&mut queue).await), None);
        let freed = async {
            while UdpSocket::bind(("127.0.0.1", port)).is_err() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(LIMIT, freed)
            .await
            .expect("the port stays in use");
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn an_inform_of_a_user_the_inventory_gained_is_received_and_acknowledged() {
        let (events, mut queue) = mpsc::channel(16);
        let (port, mut listener) = (port(), TrapListener::default());
        let mut inventory = at(Some(format!("127.0.0.1:{port}")));
        listener.listen(&inventory, &events);
        assert_eq!(trouble(next(&mut queue).await), None);
        let user = "switches: {s0: {address: 127.0.0.1}}\n\
                    snmp: {default: {version: 3, user: mon, \
                    auth: {protocol: sha, key: authpass12}, \
                    priv: {protocol: aes, key: privpass12}}}";
        inventory.snmp = Inventory::parse("i.yaml", user).unwrap().snmp;
        listener.listen(&inventory, &events);
        assert_eq!(trouble(next(&mut queue).await), None);
        let once = ["-r", "0", "-t", "30"];
        let secure = [
            "-v3",
            "-u",
            "mon",
            "-l",
            "authPriv",
            "-a",
            "SHA",
            "-A",
            "authpass12",
            "-x",
            "AES",
            "-X",
            "privpass12",
        ];
        let sent = run_sender("snmpinform", &[&once[..], &secure].concat(), port);
        assert!(
            sent.status.success(),
            "not acknowledged: {}",
            String::from_utf8_lossy(&sent.stderr)
        );
        assert_eq!(
            next(&mut queue).await,
            ControllerEvent::Trap {
                source: "127.0.0.1".parse().unwrap(),
                kind: TrapTopic::Link
            }
        );
    }

    #[tokio::test]
    async fn a_port_in_use_is_reported_once_and_taken_when_it_is_free() {
        let (events, mut queue) = mpsc::channel(16);
        let port = port();
        let other = UdpSocket::bind(("127.0.0.1", port)).unwrap();
        let mut listener = TrapListener::default();
        listener.listen(&at(Some(format!("127.0.0.1:{port}"))), &events);
        let problem = trouble(next(&mut queue).await).expect("the port is in use");
        assert!(
            problem.contains(&port.to_string()) && problem.contains("polls go on"),
            "{problem}"
        );
        drop(other);
        assert_eq!(trouble(next(&mut queue).await), None);
        assert_hears(port, &mut queue).await;
    }
}
