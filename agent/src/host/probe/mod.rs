//! How far other hosts are: routers on the way (by ICMP and UDP probes with few hops to live) and
//! round-trip times.
//!
//! Jobs come first. All probes together keep [`SPACING`], at most [`AT_ONCE`] are on their way, and
//! a host is probed again only after [`AGAIN`]; a host whose address is new is probed at once. With
//! 16 hosts to probe, as many as a controller names, that is 128 probes in 7 s every five minutes;
//! the agent as a whole took 0.2 % of a core with a report every 2 s.
pub mod icmp;
mod socket;
mod trace;

use super::packets::PacketSocketError;
use futures_util::future::Either;
use futures_util::stream::{FuturesUnordered, StreamExt};
use icmp::{IcmpEcho, IcmpErrorKind, IcmpMessage, QuotedDatagram, QuotedProbe};
use inventory::host_report::{ProbeTarget, ProbedPath};
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

/// Time between two probes: 20 a second at most, of less than 100 octets each.
pub(crate) const SPACING: Duration = Duration::from_millis(50);

/// Hosts traced at a time, each with one probe on its way.
pub(crate) const AT_ONCE: usize = 8;

/// Time until a host is probed again.
pub(crate) const AGAIN: Duration = Duration::from_secs(300);

/// Hosts probed at most, whatever the controller asks for: with these, steady probing stays below a
/// third of the budget.
pub(crate) const MOST_PEERS: usize = 256;

/// An answer that takes longer is none.
const PATIENCE: Duration = Duration::from_secs(1);

/// Ports of UDP probes: where traceroutes have always knocked and nobody listens.
const FIRST_PORT: u16 = 33434;
const PORTS: u16 = 256;

/// Sockets that are open and not used yet.
#[derive(Debug)]
pub struct Prober {
    sockets: Vec<ProbeSockets>,
}

impl Prober {
    /// Opens sockets for IPv4 and IPv6, as far as the system speaks them.
    ///
    /// # Errors
    /// Where the system refuses: CAP_NET_RAW is missing.
    pub fn open() -> Result<Prober, PacketSocketError> {
        let both = [ProbeSockets::open(false)?, ProbeSockets::open(true)?];
        Ok(Prober {
            sockets: both.into_iter().flatten().collect(),
        })
    }

    /// Probes `peers` forever and tells of all paths known whenever one was looked at; a host no
    /// longer among the peers is dropped from them. Returns when nobody listens or names peers any
    /// more.
    ///
    /// # Errors
    /// The system's refusal to watch a socket.
    pub async fn run(
        self,
        mut peers: watch::Receiver<Vec<ProbeTarget>>,
        found: watch::Sender<Vec<ProbedPath>>,
    ) -> io::Result<()> {
        let air = ProbeTransport::new(self.sockets)?;
        let mut known = ProbedPeers::default();
        let mut tracing = FuturesUnordered::new();
        known.want(&peers.borrow_and_update());
        loop {
            while let Some(peer) = (tracing.len() < AT_ONCE)
                .then(|| known.take_due(Instant::now()))
                .flatten()
            {
                let air = &air;
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
            let due = match known.next_due().filter(|_| tracing.len() < AT_ONCE) {
                Some(at) => Either::Left(tokio::time::sleep_until(at)),
                None => Either::Right(std::future::pending()),
            };
            tokio::select! {
                Some((peer, path)) = tracing.next() => {
                    known.learn(&peer, path, Instant::now());
                    found.send_replace(known.paths());
                }
                changed = peers.changed() => {
                    if changed.is_err() {
                        return Ok(());
                    }
                    if known.want(&peers.borrow_and_update()) {
                        found.send_replace(known.paths());
                    }
                }
                () = found.closed() => return Ok(()),
                () = due => {}
            }
        }
    }
}

/// Which hosts are to be probed when, and what is known of them.
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
    /// Takes over what is wanted now; whether a path is gone with it.
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

/// Sockets in use, probes on their way, and whose turn it is.
struct ProbeTransport {
    sockets: Vec<Arc<AsyncFd<ProbeSockets>>>,
    flying: Arc<Mutex<ProbesInFlight>>,
    listeners: Vec<JoinHandle<()>>,
}

/// Probes on their way: never more than [`AT_ONCE`].
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
    /// Since the Unix epoch.
    sent: Duration,
    answer: oneshot::Sender<ProbeAnswer>,
}

impl ProbeTransport {
    fn new(sockets: Vec<ProbeSockets>) -> io::Result<ProbeTransport> {
        // The process number differs between pingers on one host, which is all an identifier is
        // for.
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
            ProbeMethod::Udp => socket.send_udp(SocketAddr::new(to, port(echo.sequence)), hops),
        };
        let answer = match sent {
            Ok(()) => tokio::time::timeout(PATIENCE, answer)
                .await
                .ok()
                .and_then(Result::ok),
            // No route, or a firewall of this host's own.
            Err(_) => None,
        };
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

/// Where the UDP probe of this number goes.
fn port(sequence: u16) -> u16 {
    FIRST_PORT + sequence % PORTS
}

async fn listen(socket: Arc<AsyncFd<ProbeSockets>>, flying: Arc<Mutex<ProbesInFlight>>) {
    while let Ok(mut ready) = socket.readable().await {
        // A few at a time: whoever floods this host with echo replies shall not keep it from all
        // else.
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
    /// When the next probe may leave.
    fn turn(&mut self, now: Instant) -> Instant {
        let turn = self.next.max(now);
        self.next = turn + SPACING;
        turn
    }

    /// Gives a probe its number, by which the answer finds the receiver.
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

    /// Hands a message to the probe it answers; `own_port` is that of UDP probes.
    fn arrived(&mut self, own_port: u16, arrived: &ReceivedIcmp) {
        let from = arrived.from;
        let position = match arrived.message {
            IcmpMessage::Reply(echo) => self
                .probes
                .iter()
                .position(|p| p.to == from && self.is_echo(p, echo)),
            // What this host says to itself is no answer of the network's.
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
                                && p.kind == ProbeMethod::Udp
                                && target == port(p.sequence)
                        }
                    }
            }),
        };
        let Some(position) = position else { return };
        let waiting = self.probes.swap_remove(position);
        // A clock set back between the two makes the time unknown, and so the answer.
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
            _ => ProbeAnswer::Host(time),
        };
        // Whoever asked may have lost patience just now.
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
