//! Hears traps at the address the inventory names; where that fails, polls find the same a little later.
use crate::core::Event;
use crate::watch::TrapKind;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// An address that could not be had is tried again after so long.
const RETRY: Duration = Duration::from_secs(1);

/// Where traps are heard, and the task that does it.
#[derive(Debug, Default)]
pub(super) struct Ear {
    listen: Option<SocketAddr>,
    task: Option<JoinHandle<()>>,
}

impl Ear {
    /// From now on traps are heard at `listen`; a socket that is open there already stays open.
    pub(super) fn listen(&mut self, listen: Option<SocketAddr>, events: &mpsc::Sender<Event>) {
        if self.listen == listen {
            return;
        }
        self.listen = listen;
        let before = self.task.take();
        before.iter().for_each(JoinHandle::abort);
        let events = events.clone();
        self.task = Some(tokio::spawn(async move {
            // Both may claim one port; and what the old one had to say must not come last.
            if let Some(before) = before {
                let _ = before.await;
            }
            match listen {
                Some(listen) => hear(listen, &events).await,
                None => tell(&events, None).await,
            }
        }));
    }
}

async fn hear(listen: SocketAddr, events: &mpsc::Sender<Event>) {
    let mut failures = 0_u64;
    loop {
        match agent::traps(listen).await {
            Ok(mut traps) => {
                failures = 0;
                tell(events, None).await;
                while let Some(trap) = traps.next().await {
                    let _ = events.send(Event::Trap { source: trap.from, kind: kind(trap.kind) }).await;
                }
            }
            // The first failure may be only the socket used before, which takes a moment to close.
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

async fn tell(events: &mpsc::Sender<Event>, problem: Option<String>) {
    let _ = events.send(Event::Trouble { about: "traps".to_owned(), problem }).await; // The shell stops first, and this task with it.
}

fn kind(kind: agent::TrapKind) -> TrapKind {
    match kind {
        agent::TrapKind::LinkUp | agent::TrapKind::LinkDown => TrapKind::Link,
        agent::TrapKind::LldpChange => TrapKind::Lldp,
        agent::TrapKind::TopologyChange => TrapKind::Stp,
        agent::TrapKind::Other => TrapKind::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;
    use std::process::Command;

    /// A port that was free a moment ago.
    fn port() -> u16 {
        UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
    }

    fn at(address: &str, port: u16) -> Option<SocketAddr> {
        Some(SocketAddr::new(address.parse().unwrap(), port))
    }

    fn trouble(event: Event) -> Option<String> {
        match event {
            Event::Trouble { about, problem } if about == "traps" => problem,
            other => panic!("{other}"),
        }
    }

    async fn next(queue: &mut mpsc::Receiver<Event>) -> Event {
        tokio::time::timeout(Duration::from_secs(20), queue.recv()).await.expect("nothing came").unwrap()
    }

    /// Sends a real trap and waits until it is heard.
    async fn assert_hears(port: u16, queue: &mut mpsc::Receiver<Event>) {
        let to = format!("127.0.0.1:{port}");
        let sent = Command::new("snmptrap").args(["-v2c", "-c", "any", &to, "", "1.3.6.1.6.3.1.1.5.3"]).env("MIBS", "").output();
        let sent = sent.expect("no snmptrap on this machine; this test sends real ones: apt install snmp");
        assert!(sent.status.success(), "{}", String::from_utf8_lossy(&sent.stderr));
        assert_eq!(next(queue).await, Event::Trap { source: "127.0.0.1".parse().unwrap(), kind: TrapKind::Link });
    }

    #[tokio::test]
    async fn an_inventory_read_again_goes_on_hearing_wherever_it_says() {
        let (events, mut queue) = mpsc::channel(16);
        let (port, mut ear) = (port(), Ear::default());
        // The same address again; the same port at another one, which cannot be had before the first is closed.
        for address in ["127.0.0.1", "127.0.0.1", "0.0.0.0", "0.0.0.0", "127.0.0.1"] {
            let changed = ear.listen != at(address, port);
            ear.listen(at(address, port), &events);
            if changed {
                assert_eq!(trouble(next(&mut queue).await), None, "{address}");
            }
            assert_hears(port, &mut queue).await;
        }
        ear.listen(None, &events);
        assert_eq!(trouble(next(&mut queue).await), None);
        let freed = async {
            while UdpSocket::bind(("127.0.0.1", port)).is_err() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), freed).await.expect("the port stays in use");
    }

    #[tokio::test]
    async fn a_port_in_use_is_told_once_and_taken_when_it_is_free() {
        let (events, mut queue) = mpsc::channel(16);
        let other = UdpSocket::bind("127.0.0.1:0").unwrap();
        let port = other.local_addr().unwrap().port();
        let mut ear = Ear::default();
        ear.listen(at("127.0.0.1", port), &events);
        let problem = trouble(next(&mut queue).await).expect("the port is in use");
        assert!(problem.contains(&port.to_string()) && problem.contains("polls go on"), "{problem}");
        drop(other);
        assert_eq!(trouble(next(&mut queue).await), None);
        assert_hears(port, &mut queue).await;
    }
}
