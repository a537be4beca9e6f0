//! A host's part: it sends and receives as the coordinator says.
use crate::wire::{
    LONGEST_LINE, PeerAnswer, PeerGreeting, PeerOrder, PeerService, RoundOrder, SessionKey,
    read_line, write_line,
};
use socket2::SockRef;
use std::io::{self, BufReader, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// The time within which a connection stands and a caller has said what it wants.
const CONNECT_TIME: Duration = Duration::from_secs(3);
/// Callers at once that have not said yet what they want.
const MOST_GREETINGS: usize = 256;
/// What a sender's socket holds back at most: little beside what a flow carries.
const SEND_BUFFER: usize = 128 << 10;
/// The part of a flow's time that passes before its rate counts: TCP starts slowly, and buffers on
/// the way fill.
const START: f64 = 0.25;

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
        let listener =
            TcpListener::bind(("::", 0)).or_else(|_| TcpListener::bind(("0.0.0.0", 0)))?;
        let port = listener.local_addr()?.port();
        let (flows, arriving) = channel();
        let orders = FlowEnds {
            key: key.clone(),
            arriving,
        };
        let (hand_over, taken) = channel();
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

fn accept(
    listener: &TcpListener,
    key: &SessionKey,
    flows: &Sender<TcpStream>,
    orders: Option<&Sender<TcpStream>>,
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
                let taker = match wants {
                    PeerService::Flow => Some(&flows),
                    PeerService::Orders => orders.as_ref(),
                };
                let _ = taker.map(|taker| taker.send(stream));
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
    stream.write_all(b"!")?;
    stream.set_read_timeout(None)?;
    stream.set_nodelay(true)?;
    Ok((greeting.wants, stream))
}

/// The first line of a caller, and no byte of what follows, all of it in time.
fn first_line(stream: &mut TcpStream) -> io::Result<String> {
    let (began, mut line, mut byte) = (Instant::now(), Vec::new(), [0]);
    while byte[0] != b'\n' && (line.len() as u64) < LONGEST_LINE {
        let left = CONNECT_TIME.saturating_sub(began.elapsed());
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
    stream.read_exact(&mut [0])?;
    stream.set_read_timeout(None)?;
    Ok(stream)
}

/// A port that takes flows, for a host whose orders come on another way. It closes when dropped.
#[derive(Debug)]
pub struct FlowPort {
    address: SocketAddr,
    ends: FlowEnds,
    open: Arc<AtomicBool>,
}

impl FlowPort {
    /// Listens on a free port of this address.
    ///
    /// # Errors
    /// If no port can be had.
    pub fn open(address: IpAddr, key: SessionKey) -> io::Result<FlowPort> {
        let listener = TcpListener::bind((address, 0))?;
        let address = listener.local_addr()?;
        let (flows, arriving) = channel();
        let open = Arc::new(AtomicBool::new(true));
        let (heard, expected) = (open.clone(), key.clone());
        thread::Builder::new().spawn(move || accept(&listener, &expected, &flows, None, &heard))?;
        let ends = FlowEnds { key, arriving };
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

/// What flows come on, and by which key they are known.
#[derive(Debug)]
struct FlowEnds {
    key: SessionKey,
    arriving: Receiver<TcpStream>,
}

/// A host's part in a round.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RoundOutcome {
    /// The rate of the received flow in payload bits a second; `None` if there was none.
    pub rate: Option<f64>,
    /// The bytes that it sent.
    pub sent: u64,
}

/// The connections of a round, ready to start.
#[derive(Debug)]
pub struct PreparedRound {
    to: Option<TcpStream>,
    from: Option<TcpStream>,
    window: Duration,
}

impl PreparedRound {
    /// Sends and receives for the time of the round, and sends at most so many bytes.
    pub fn run(self, most: u64) -> RoundOutcome {
        let PreparedRound { to, from, window } = self;
        let sender = to.map(|to| thread::spawn(move || send(to, window, most)));
        let rate = from.map(|from| receive(from, window));
        // What went wrong shows at the receiver.
        let sent = sender.and_then(|sender| sender.join().ok()?.ok());
        RoundOutcome {
            rate,
            sent: sent.unwrap_or(0),
        }
    }
}

fn follow(ends: &FlowEnds, stream: TcpStream) -> io::Result<()> {
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
        write_line(&stream, &PeerAnswer::Done(round.run(u64::MAX).rate))?;
    }
}

impl FlowEnds {
    fn prepare(&self, order: RoundOrder) -> io::Result<PreparedRound> {
        let to = order
            .send_to
            .map(|to| call(to, &self.key, PeerService::Flow))
            .transpose()?;
        let from = match order.receives {
            true => Some(
                self.arriving
                    .recv_timeout(CONNECT_TIME)
                    .map_err(io::Error::other)?,
            ),
            false => None,
        };
        Ok(PreparedRound {
            to,
            from,
            window: order.window,
        })
    }
}

/// Sends for the time of a round, and leaves nothing behind on the network.
fn send(mut to: TcpStream, window: Duration, most: u64) -> io::Result<u64> {
    let socket = SockRef::from(&to);
    socket.set_send_buffer_size(SEND_BUFFER)?;
    // Closed, the connection drops what is not sent yet.
    socket.set_linger(Some(Duration::ZERO))?;
    to.set_write_timeout(Some(window.max(Duration::from_millis(1))))?;
    let (bytes, start) = (vec![0; SEND_BUFFER / 4], Instant::now());
    let mut sent = 0;
    while start.elapsed() < window && sent < most {
        match to.write(&bytes) {
            Ok(count) => sent += count as u64,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
    Ok(sent)
}

/// The rate at which bytes came, in bits a second: between the end of the flow's start and its end.
fn receive(mut from: TcpStream, window: Duration) -> f64 {
    let _ = from.set_read_timeout(Some(window * 2 + CONNECT_TIME / 10));
    let mut bytes = vec![0; 64 << 10];
    let mut came: Vec<(Duration, u64)> = Vec::new();
    let (mut first, mut sum) = (None, 0);
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        let start = *first.get_or_insert_with(Instant::now);
        sum += count as u64;
        came.push((start.elapsed(), sum));
        if start.elapsed() > window {
            break;
        }
    }
    rate(&came, window)
}

/// The rate by the times at which so many bytes had come.
pub(crate) fn rate(came: &[(Duration, u64)], window: Duration) -> f64 {
    let from = came
        .iter()
        .position(|(time, _)| *time >= window.mul_f64(START));
    let (Some(from), Some(&(end, last))) = (from.map(|at| came[at]), came.last()) else {
        return 0.0;
    };
    let time = (end - from.0).as_secs_f64();
    if time <= 0.0 {
        return 0.0;
    }
    (last - from.1) as f64 * 8.0 / time
}
