//! The paths to other hosts: the routers on the way (by ICMP and UDP probes with few hops to live),
//! round-trip times, and the ways that flows take through a fabric (`flows`).
//!
//! Jobs come first. All probes together keep [`SPACING`], at most [`AT_ONCE`] are on their way, and
//! a host is probed again only after [`AGAIN`]. A host with a new address is probed at once. A
//! controller names up to 16 hosts; that makes 128 probes in 7 s every five minutes. The agent as a
//! whole took 0.2 % of a core with a report every 2 s.
mod flows;
pub mod icmp;
mod socket;
mod trace;

use super::packets::PacketSocketError;
use futures_util::future::Either;
use futures_util::stream::{FuturesUnordered, StreamExt};
use icmp::{IcmpEcho, IcmpErrorKind, IcmpMessage, QuotedDatagram, QuotedProbe};
use inventory::host_report::{ProbeDirections, ProbeTarget, ProbedPath, TracedFlows};
use socket::{ProbeSockets, ReceivedIcmp};
use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::io::unix::AsyncFd;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use trace::{ProbeAnswer, ProbeMethod, trace};

/// The time between two probes: at most 20 a second, of less than 100 octets each.
pub(crate) const SPACING: Duration = Duration::from_millis(50);

/// The number of hosts traced at a time, each with one probe on its way.
pub(crate) const AT_ONCE: usize = 8;

/// The time until a host is probed again.
pub(crate) const AGAIN: Duration = Duration::from_secs(300);

/// The limit of hosts, whatever the controller asks for. With so many, steady probing stays below a
/// third of the budget.
pub(crate) const MOST_PEERS: usize = 256;

/// The time after which an answer no longer counts.
const PATIENCE: Duration = Duration::from_secs(1);

/// The first port of UDP probes. Traceroute uses these ports, because nobody listens there.
const FIRST_PORT: u16 = 33434;
const PORTS: u16 = 256;

/// Sockets that are open and not used yet.
#[derive(Debug)]
pub struct Prober {
    sockets: Vec<ProbeSockets>,
}

impl Prober {
    /// Opens sockets for IPv4 and IPv6, if the system supports them.
    ///
    /// # Errors
    /// If the system refuses them: CAP_NET_RAW is missing.
    pub fn open() -> Result<Prober, PacketSocketError> {
        let both = [ProbeSockets::open(false)?, ProbeSockets::open(true)?];
        Ok(Prober {
            sockets: both.into_iter().flatten().collect(),
        })
    }

    /// Probes as directed for ever, and sends all that is known whenever something was traced. What
    /// is no longer asked for is dropped. Returns when either channel is closed.
    ///
    /// # Errors
    /// The system's refusal to watch a socket.
    pub async fn run(
        self,
        directions: watch::Receiver<ProbeDirections>,
        found: watch::Sender<ProbeFindings>,
    ) -> io::Result<()> {
        let air = ProbeTransport::new(self.sockets)?;
        tokio::select! {
            () = probe_paths(&air, directions.clone(), &found) => {}
            () = flows::follow(&air, directions, &found) => {}
        }
        Ok(())
    }
}

/// All that probes have found.
#[derive(Debug, Clone, Default)]
pub struct ProbeFindings {
    pub(crate) paths: Vec<ProbedPath>,
    pub(crate) traces: Vec<TracedFlows>,
}

async fn probe_paths(
    air: &ProbeTransport,
    mut directions: watch::Receiver<ProbeDirections>,
    found: &watch::Sender<ProbeFindings>,
) {
    let mut known = ProbedPeers::default();
    let mut tracing = FuturesUnordered::new();
    known.want(&directions.borrow_and_update().peers);
    loop {
        while let Some(peer) = (tracing.len() < AT_ONCE)
            .then(|| known.take_due(Instant::now()))
            .flatten()
        {
            tracing.push(async move {
                let traced =
                    trace(async |kind, hops| air.ask(peer.address, kind, hops).await).await;
                let ProbeTarget { host, address } = peer.clone();
                (
                    peer,
                    ProbedPath {
                        to: host,
                        address,
                        hops: traced.hops,
                        reached: traced.reached,
                        round_trip: traced.round_trip,
                    },
                )
            });
        }
        // At the limit a host that is due waits for the end of a trace.
        let due = match known.next_due().filter(|_| tracing.len() < AT_ONCE) {
            Some(at) => Either::Left(tokio::time::sleep_until(at)),
            None => Either::Right(std::future::pending()),
        };
        tokio::select! {
            Some((peer, path)) = tracing.next() => {
                known.learn(&peer, path, Instant::now());
                found.send_modify(|all| all.paths = known.paths());
            }
            changed = directions.changed() => {
                if changed.is_err() {
                    return;
                }
                if known.want(&directions.borrow_and_update().peers) {
                    found.send_modify(|all| all.paths = known.paths());
                }
            }
            () = found.closed() => return,
            () = due => {}
        }
    }
}

/// The hosts to probe, the time of each next trace, and the known paths.
#[derive(Debug, Default)]
struct ProbedPeers {
    peers: BTreeMap<ProbeTarget, PeerProbeState>,
}

#[derive(Debug)]
struct PeerProbeState {
    /// `None` while it is being traced.
    due: Option<Instant>,
    path: Option<ProbedPath>,
}

impl ProbedPeers {
    /// Takes in the wanted peers. Returns true if a path was dropped.
    fn want(&mut self, peers: &[ProbeTarget]) -> bool {
        let wanted = &peers[..peers.len().min(MOST_PEERS)];
        let before = self.paths().len();
        self.peers.retain(|peer, _| wanted.contains(peer));
        for peer in wanted {
            self.peers
                .entry(peer.clone())
                .or_insert_with(|| PeerProbeState {
                    due: Some(Instant::now()),
                    path: None,
                });
        }
        self.paths().len() != before
    }

    fn take_due(&mut self, now: Instant) -> Option<ProbeTarget> {
        let (peer, state) = self
            .peers
            .iter_mut()
            .filter(|(_, s)| s.due.is_some_and(|d| d <= now))
            .min_by_key(|(_, s)| s.due)?;
        state.due = None;
        Some(peer.clone())
    }

    fn next_due(&self) -> Option<Instant> {
        self.peers.values().filter_map(|s| s.due).min()
    }

    fn learn(&mut self, peer: &ProbeTarget, path: ProbedPath, now: Instant) {
        // The controller may have asked for others while this one was traced.
        if let Some(state) = self.peers.get_mut(peer) {
            *state = PeerProbeState {
                due: Some(now + AGAIN),
                path: Some(path),
            };
        }
    }

    fn paths(&self) -> Vec<ProbedPath> {
        self.peers.values().filter_map(|s| s.path.clone()).collect()
    }
}

/// The open sockets, the probes on their way, and the time of the next probe.
struct ProbeTransport {
    sockets: Vec<Arc<AsyncFd<ProbeSockets>>>,
    flying: Arc<Mutex<ProbesInFlight>>,
    listeners: Vec<JoinHandle<()>>,
}

/// The probes on their way, never more than twice [`AT_ONCE`].
#[derive(Debug)]
struct ProbesInFlight {
    identifier: u16,
    sequence: u16,
    next: Instant,
    probes: Vec<AwaitedProbe>,
}

#[derive(Debug)]
struct AwaitedProbe {
    to: IpAddr,
    kind: ProbeMethod,
    sequence: u16,
    /// The time since the Unix epoch.
    sent: Duration,
    answer: oneshot::Sender<ProbeAnswer>,
}

impl ProbeTransport {
    fn new(sockets: Vec<ProbeSockets>) -> io::Result<ProbeTransport> {
        // The process number differs between the pingers of one host. An identifier needs no more.
        let identifier = (std::process::id() & 0xffff) as u16;
        let flying = ProbesInFlight {
            identifier,
            sequence: 0,
            next: Instant::now(),
            probes: Vec::new(),
        };
        let mut air = ProbeTransport {
            sockets: Vec::new(),
            flying: Arc::new(Mutex::new(flying)),
            listeners: Vec::new(),
        };
        for socket in sockets {
            let socket = Arc::new(socket.watch()?);
            air.sockets.push(socket.clone());
            air.listeners
                .push(tokio::spawn(listen(socket, air.flying.clone())));
        }
        Ok(air)
    }

    /// Waits for its turn, sends a probe, waits for its answer.
    async fn ask(&self, to: IpAddr, kind: ProbeMethod, hops: u8) -> Option<ProbeAnswer> {
        let turn = lock(&self.flying).turn(Instant::now());
        tokio::time::sleep_until(turn).await;
        let socket = self
            .sockets
            .iter()
            .find(|s| s.get_ref().is_for(to))?
            .get_ref();
        let (echo, answer) = lock(&self.flying).take_off(to, kind);
        let sent = match kind {
            ProbeMethod::Echo => socket.send_echo(to, hops, echo),
            ProbeMethod::Udp | ProbeMethod::Flow(_) => {
                socket.send_udp(SocketAddr::new(to, port(kind, echo.sequence)), hops)
            }
        };
        let answer = match sent {
            Ok(()) => tokio::time::timeout(PATIENCE, answer)
                .await
                .ok()
                .and_then(Result::ok),
            // There is no route, or this host's own firewall refused the probe.
            Err(_) => None,
        };
        // Also without an answer: numbers come again after 65,536 probes.
        lock(&self.flying).land(echo.sequence);
        answer
    }
}

impl Drop for ProbeTransport {
    fn drop(&mut self) {
        self.listeners.iter().for_each(JoinHandle::abort);
    }
}

fn lock(flying: &Mutex<ProbesInFlight>) -> MutexGuard<'_, ProbesInFlight> {
    flying.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The destination port of the UDP probe with this number.
fn port(kind: ProbeMethod, sequence: u16) -> u16 {
    match kind {
        ProbeMethod::Flow(port) => port,
        // Far fewer probes are on their way at once than there are ports, so each has its own.
        ProbeMethod::Echo | ProbeMethod::Udp => FIRST_PORT + sequence % PORTS,
    }
}

async fn listen(socket: Arc<AsyncFd<ProbeSockets>>, flying: Arc<Mutex<ProbesInFlight>>) {
    while let Ok(mut ready) = socket.readable().await {
        // A few at a time, so that a flood of echo replies does not keep this host from its other
        // work.
        for _ in 0..AT_ONCE {
            match socket.get_ref().receive() {
                Ok(arrived) => lock(&flying).arrived(socket.get_ref().port, &arrived),
                Err(e) => {
                    if e.kind() == io::ErrorKind::WouldBlock {
                        ready.clear_ready();
                    }
                    break;
                }
            }
        }
        drop(ready);
        tokio::task::yield_now().await;
    }
}

impl ProbesInFlight {
    /// The time at which the next probe may leave.
    fn turn(&mut self, now: Instant) -> Instant {
        let turn = self.next.max(now);
        self.next = turn + SPACING;
        turn
    }

    /// Gives a probe its number, by which an answer finds its receiver.
    fn take_off(
        &mut self,
        to: IpAddr,
        kind: ProbeMethod,
    ) -> (IcmpEcho, oneshot::Receiver<ProbeAnswer>) {
        self.sequence = self.sequence.wrapping_add(1);
        let (answer, receiver) = oneshot::channel();
        self.probes.push(AwaitedProbe {
            to,
            kind,
            sequence: self.sequence,
            sent: socket::now(),
            answer,
        });
        (
            IcmpEcho {
                identifier: self.identifier,
                sequence: self.sequence,
            },
            receiver,
        )
    }

    fn land(&mut self, sequence: u16) {
        self.probes.retain(|p| p.sequence != sequence);
    }

    /// Hands a message to the probe that it answers; `own_port` is the source port of UDP probes.
    fn arrived(&mut self, own_port: u16, arrived: &ReceivedIcmp) {
        let from = arrived.from;
        let position = match arrived.message {
            IcmpMessage::Reply(echo) => self
                .probes
                .iter()
                .position(|p| p.to == from && self.is_echo(p, echo)),
            // An error from this host itself is not an answer of the network.
            IcmpMessage::Error {
                about: QuotedDatagram { from: own, .. },
                ..
            } if own == from => None,
            IcmpMessage::Error {
                about: QuotedDatagram { to, probe, .. },
                ..
            } => self.probes.iter().position(|p| {
                p.to == to
                    && match probe {
                        QuotedProbe::Echo(echo) => self.is_echo(p, echo),
                        QuotedProbe::Udp(source, target) => {
                            source == own_port
                                && p.kind != ProbeMethod::Echo
                                && target == port(p.kind, p.sequence)
                        }
                    }
            }),
        };
        let Some(position) = position else { return };
        let waiting = self.probes.swap_remove(position);
        // If the clock was set back in between, the time is unknown, and so the answer is dropped.
        let Some(time) = arrived.at.checked_sub(waiting.sent) else {
            return;
        };
        let answer = match arrived.message {
            IcmpMessage::Error {
                why: IcmpErrorKind::Expired,
                ..
            } => ProbeAnswer::Router(from),
            IcmpMessage::Error {
                why: IcmpErrorKind::Unreachable,
                ..
            } if from != waiting.to => ProbeAnswer::Stopped(from),
            // A host that refuses the probe, by its firewall for instance, is reached.
            _ => ProbeAnswer::Host(time),
        };
        // The receiver may have given up just now.
        let _ = waiting.answer.send(answer);
    }

    fn is_echo(&self, probe: &AwaitedProbe, echo: IcmpEcho) -> bool {
        probe.kind == ProbeMethod::Echo
            && echo
                == IcmpEcho {
                    identifier: self.identifier,
                    sequence: probe.sequence,
                }
    }
}

#[cfg(test)]
mod tests;
