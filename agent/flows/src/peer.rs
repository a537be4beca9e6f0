//! A host's part: it sends and receives as the coordinator says.
use crate::datagrams::{self, FlowMark, FlowReceiver, LEAD, SendingPlan};
use crate::wire::{
    LONGEST_LINE, PeerAnswer, PeerGreeting, PeerOrder, PeerService, RoundOrder, RoundOutcome,
    SessionKey, read_line, write_line,
};
use std::io::{self, BufReader, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// The time within which a connection stands and a caller has stated what it wants.
const CONNECT_TIME: Duration = Duration::from_secs(3);
/// Callers at once that have not stated yet what they want.
const MOST_GREETINGS: usize = 256;
/// The answer to a greeting with the right key. Nothing is sent to a port that answers otherwise.
const TAKEN: [u8; 1] = *b"!";
/// Flows that were announced and wait for their round: one is expected.
const MOST_ANNOUNCED: usize = 8;
/// Ports that are tried until one is free for TCP and UDP.
const TRIES: usize = 16;
/// The error of a receiver whose sender does not come.
const UNANNOUNCED: &str = "no host announces its flow, so there is nothing to measure; a firewall between the hosts \
     drops connections, or two agents answer for one host";
/// A host whose processors are busy with other things sends less than this part of what it did
/// before.
const UNDISTURBED: f64 = 0.85;

/// Takes orders and flows on a port, in threads of its own, as long as the process lives.
#[derive(Debug)]
pub struct FlowPeer {
    port: u16,
    orders: JoinHandle<()>,
}

impl FlowPeer {
    /// Starts to listen on a free port of every address.
    ///
    /// # Errors
    /// If no port can be had.
    pub fn start(key: SessionKey) -> io::Result<FlowPeer> {
        // A socket of all IPv6 addresses takes IPv4 as well, but a host may have no IPv6 at all.
        let (listener, receiver) = listen(Ipv6Addr::UNSPECIFIED.into())
            .or_else(|_| listen(Ipv4Addr::UNSPECIFIED.into()))?;
        let port = listener.local_addr()?.port();
        let (flows, arriving) = sync_channel(MOST_ANNOUNCED);
        let orders = PeerFlows::new(key.clone(), arriving, receiver);
        let (hand_over, taken) = sync_channel(1);
        let orders = thread::spawn(move || {
            if let Ok(stream) = taken.recv() {
                // The coordinator is gone: so is the need for this host.
                let _ = follow(&orders, stream);
            }
        });
        let open = Arc::new(AtomicBool::new(true));
        thread::spawn(move || accept(&listener, &key, &flows, Some(&hand_over), &open));
        Ok(FlowPeer { port, orders })
    }

    /// Waits until the coordinator came and went.
    pub fn wait(self) {
        // A thread that panicked has ended, too.
        let _ = self.orders.join();
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.port
    }
}

/// A free port of this address, for TCP and for UDP.
fn listen(address: IpAddr) -> io::Result<(TcpListener, FlowReceiver)> {
    let mut tries = 0..TRIES;
    loop {
        let listener = TcpListener::bind((address, 0))?;
        match (FlowReceiver::bind(listener.local_addr()?), tries.next()) {
            (Ok(receiver), _) => return Ok((listener, receiver)),
            (Err(error), None) => return Err(error),
            (Err(_), Some(_)) => {}
        }
    }
}

/// A flow that is about to come: its sender, and the connection that announced it.
#[derive(Debug)]
pub(crate) struct ArrivingFlow {
    from: IpAddr,
    pub(crate) mark: FlowMark,
    round: u64,
    _announced: TcpStream,
}

/// A flow that is about to be sent, with the connection that announced it.
#[derive(Debug)]
pub(crate) struct LeavingFlow {
    to: SocketAddr,
    pub(crate) mark: FlowMark,
    _announced: TcpStream,
}

fn accept(
    listener: &TcpListener,
    key: &SessionKey,
    flows: &SyncSender<ArrivingFlow>,
    orders: Option<&SyncSender<TcpStream>>,
    open: &AtomicBool,
) {
    let greeting = Arc::new(());
    loop {
        let accepted = listener.accept();
        if !open.load(Ordering::Relaxed) {
            return;
        }
        let Ok((stream, _)) = accepted else {
            // Out of descriptors, for instance: others may give some back.
            thread::sleep(Duration::from_millis(20));
            continue;
        };
        // Each greeting holds one count. Callers beyond the limit are hung up on.
        let counted = greeting.clone();
        if Arc::strong_count(&greeting) > MOST_GREETINGS {
            continue;
        }
        let (key, flows, orders) = (key.clone(), flows.clone(), orders.cloned());
        // A caller that says nothing keeps nobody else waiting.
        let greet = move || {
            let _counted = counted;
            if let Ok((wants, stream)) = greeted(stream, &key) {
                match (wants, stream.peer_addr()) {
                    (PeerService::Flow { mark, round }, Ok(from)) => {
                        // Announcements that nobody waits for must not pile up.
                        let _ = flows.try_send(ArrivingFlow {
                            from: from.ip(),
                            mark,
                            round,
                            _announced: stream,
                        });
                    }
                    (PeerService::Flow { .. }, Err(_)) => {}
                    (PeerService::Orders, _) => {
                        let _ = orders.map(|orders| orders.try_send(stream));
                    }
                }
            }
        };
        // Without a thread the caller is hung up on, too.
        let _ = thread::Builder::new().spawn(greet);
    }
}

fn greeted(mut stream: TcpStream, key: &SessionKey) -> io::Result<(PeerService, TcpStream)> {
    let greeting: PeerGreeting = serde_json::from_str(&first_line(&mut stream)?)?;
    if greeting.key != *key {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    stream.write_all(&TAKEN)?;
    stream.set_read_timeout(None)?;
    stream.set_nodelay(true)?;
    Ok((greeting.wants, stream))
}

/// The first line of a caller, and no byte of what follows, all of it in time.
fn first_line(stream: &mut TcpStream) -> io::Result<String> {
    let (began, mut line, mut byte) = (Instant::now(), Vec::new(), [0]);
    while byte[0] != b'\n' && (line.len() as u64) < LONGEST_LINE {
        let left = CONNECT_TIME.saturating_sub(began.elapsed());
        // The standard library refuses a timeout of zero.
        stream.set_read_timeout(Some(left.max(Duration::from_millis(1))))?;
        stream.read_exact(&mut byte)?;
        line.push(byte[0]);
    }
    String::from_utf8(line).map_err(io::Error::other)
}

/// Connects to a peer and says what is wanted of it.
pub(crate) fn call(to: SocketAddr, key: &SessionKey, wants: PeerService) -> io::Result<TcpStream> {
    let mut stream = TcpStream::connect_timeout(&to, CONNECT_TIME)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(CONNECT_TIME))?;
    write_line(
        &stream,
        &PeerGreeting {
            key: key.clone(),
            wants,
        },
    )?;
    let mut word = [0];
    stream.read_exact(&mut word)?;
    if word != TAKEN {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "something else than a measurement listens there",
        ));
    }
    stream.set_read_timeout(None)?;
    Ok(stream)
}

/// The error of a sender whose receiver does not answer: the host to look at is the receiver.
fn unreached(receiver: SocketAddr, error: &io::Error) -> io::Error {
    io::Error::new(
        error.kind(),
        format!(
            "no connection to {}: {error}; its rank has ended, or a firewall is between them",
            receiver.ip()
        ),
    )
}

/// A port that takes flows, for a host whose orders come on another way. It closes when dropped.
#[derive(Debug)]
pub struct FlowPort {
    address: SocketAddr,
    ends: PeerFlows,
    open: Arc<AtomicBool>,
}

impl FlowPort {
    /// Listens on a free port of this address.
    ///
    /// # Errors
    /// If no port can be had.
    pub fn open(address: IpAddr, key: SessionKey) -> io::Result<FlowPort> {
        let (listener, receiver) = listen(address)?;
        let address = listener.local_addr()?;
        let (flows, arriving) = sync_channel(MOST_ANNOUNCED);
        let open = Arc::new(AtomicBool::new(true));
        let (opened, expected) = (open.clone(), key.clone());
        thread::Builder::new()
            .spawn(move || accept(&listener, &expected, &flows, None, &opened))?;
        let ends = PeerFlows::new(key, arriving, receiver);
        Ok(FlowPort {
            address,
            ends,
            open,
        })
    }

    /// The port's number.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// Makes the connections of a round.
    ///
    /// # Errors
    /// If the receiver does not take the flow, or the sender of the other flow does not come.
    pub fn prepare(&self, order: RoundOrder) -> io::Result<PreparedRound> {
        self.ends.prepare(order)
    }
}

impl Drop for FlowPort {
    fn drop(&mut self) {
        self.open.store(false, Ordering::Relaxed);
        // Wakes the thread that listens.
        let _ = TcpStream::connect_timeout(&self.address, CONNECT_TIME);
    }
}

/// The receiver of flows, and the key of their session.
#[derive(Debug)]
struct PeerFlows {
    key: SessionKey,
    arriving: Receiver<ArrivingFlow>,
    receiver: Arc<FlowReceiver>,
    /// The highest rate at which this host sent without a pace, or received, in whole bits a second:
    /// 0 before.
    fastest: Arc<AtomicU64>,
}

/// A round, ready to start.
#[derive(Debug)]
pub struct PreparedRound {
    pub(crate) to: Option<LeavingFlow>,
    pub(crate) from: Option<ArrivingFlow>,
    receiver: Arc<FlowReceiver>,
    fastest: Arc<AtomicU64>,
    window: Duration,
}

impl PreparedRound {
    /// Sends and receives for the time of the round, and sends at most so many bytes.
    pub fn run(self, most: u64) -> RoundOutcome {
        let (start, window) = (Instant::now() + LEAD, self.window);
        let known = self.fastest.load(Ordering::Relaxed);
        let plan = SendingPlan {
            start,
            window,
            most,
            cable: (known > 0).then_some(known as f64),
        };
        let sender = self
            .to
            .map(|flow| thread::spawn(move || datagrams::send(flow.to, flow.mark, plan)));
        let rate = self
            .from
            .map(|flow| self.receiver.receive(flow.from, flow.mark, start, window));
        // The sent rate can be too low: other traffic was on the way. A cable sends as fast as it
        // receives.
        let came = rate.filter(|_| !plan.is_fast()).unwrap_or_default();
        self.fastest.fetch_max(came as u64, Ordering::Relaxed);
        // The receiver notices a failure of the sender.
        let sent = sender.and_then(|sender| sender.join().ok()?.ok());
        let disturbed = sent.is_some_and(|sent| {
            if sent.is_unpaced {
                self.fastest.fetch_max(sent.rate as u64, Ordering::Relaxed);
            }
            sent.rate < known as f64 * UNDISTURBED
        });
        RoundOutcome {
            rate,
            sent: sent.map_or(0, |sent| sent.bytes),
            disturbed,
        }
    }
}

fn follow(ends: &PeerFlows, stream: TcpStream) -> io::Result<()> {
    let mut orders = BufReader::new(stream.try_clone()?);
    loop {
        let PeerOrder::Prepare(order) = read_line(&mut orders)? else {
            return Err(io::ErrorKind::InvalidData.into());
        };
        let round = match ends.prepare(order) {
            Ok(round) => round,
            Err(error) => {
                write_line(&stream, &PeerAnswer::Failed(error.to_string()))?;
                continue;
            }
        };
        write_line(&stream, &PeerAnswer::Ready)?;
        let PeerOrder::Go = read_line(&mut orders)? else {
            return Err(io::ErrorKind::InvalidData.into());
        };
        write_line(&stream, &PeerAnswer::Done(round.run(u64::MAX)))?;
    }
}

impl PeerFlows {
    fn new(key: SessionKey, arriving: Receiver<ArrivingFlow>, receiver: FlowReceiver) -> PeerFlows {
        PeerFlows {
            key,
            arriving,
            receiver: Arc::new(receiver),
            fastest: Arc::default(),
        }
    }

    /// The flow that was announced for a round. Those of rounds that failed are left.
    fn arriving(&self, round: u64) -> io::Result<ArrivingFlow> {
        let began = Instant::now();
        loop {
            let left = CONNECT_TIME.saturating_sub(began.elapsed());
            let arriving = self.arriving.recv_timeout(left);
            let flow = arriving.map_err(|_| io::Error::other(UNANNOUNCED))?;
            if flow.round == round {
                return Ok(flow);
            }
        }
    }

    fn prepare(&self, order: RoundOrder) -> io::Result<PreparedRound> {
        let to = order
            .send_to
            .map(|to| {
                let mark = fastrand::u64(..);
                let round = order.round;
                let _announced = call(to, &self.key, PeerService::Flow { mark, round })
                    .map_err(|error| unreached(to, &error))?;
                Ok::<_, io::Error>(LeavingFlow {
                    to,
                    mark,
                    _announced,
                })
            })
            .transpose()?;
        let from = match order.receives {
            true => Some(self.arriving(order.round)?),
            false => None,
        };
        Ok(PreparedRound {
            to,
            from,
            receiver: self.receiver.clone(),
            fastest: self.fastest.clone(),
            window: order.window,
        })
    }
}
