//! A host's part: it sends and receives as the coordinator says.
use crate::datagrams::{self, FlowMark, FlowReceiver, LEAD};
use crate::wire::{
    LONGEST_LINE, PeerAnswer, PeerGreeting, PeerOrder, PeerService, RoundOrder, SessionKey,
    read_line, write_line,
};
use std::io::{self, BufReader, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// The time within which a connection stands and a caller has said what it wants.
const CONNECT_TIME: Duration = Duration::from_secs(3);
/// Callers at once that have not said yet what they want.
const MOST_GREETINGS: usize = 256;
/// Ports that are tried until one is free for TCP and UDP.
const TRIES: usize = 16;

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
        let (listener, receiver) = listen()?;
        let port = listener.local_addr()?.port();
        let (flows, arriving) = channel();
        let orders = PeerOrders {
            key: key.clone(),
            arriving,
            receiver,
        };
        let (hand_over, taken) = channel();
        let orders = thread::spawn(move || {
            if let Ok(stream) = taken.recv() {
                // The coordinator is gone: so is the need for this host.
                let _ = orders.follow(stream);
            }
        });
        thread::spawn(move || accept(&listener, &key, &flows, &hand_over));
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

/// A port of every address, for orders and for flows.
fn listen() -> io::Result<(TcpListener, FlowReceiver)> {
    let mut tries = 0..TRIES;
    loop {
        let listener =
            TcpListener::bind(("::", 0)).or_else(|_| TcpListener::bind(("0.0.0.0", 0)))?;
        match (FlowReceiver::bind(listener.local_addr()?), tries.next()) {
            (Ok(receiver), _) => return Ok((listener, receiver)),
            (Err(error), None) => return Err(error),
            (Err(_), Some(_)) => {}
        }
    }
}

/// A flow that is about to come: its sender, and the connection that announced it.
struct ArrivingFlow {
    from: IpAddr,
    mark: FlowMark,
    _announced: TcpStream,
}

fn accept(
    listener: &TcpListener,
    key: &SessionKey,
    flows: &Sender<ArrivingFlow>,
    orders: &Sender<TcpStream>,
) {
    let greeting = Arc::new(());
    loop {
        let Ok((stream, _)) = listener.accept() else {
            // Out of descriptors, for instance: others may give some back.
            thread::sleep(Duration::from_millis(20));
            continue;
        };
        // Each greeting holds one count. Callers beyond the limit are hung up on.
        let counted = greeting.clone();
        if Arc::strong_count(&greeting) > MOST_GREETINGS {
            continue;
        }
        let (key, flows, orders) = (key.clone(), flows.clone(), orders.clone());
        // A caller that says nothing keeps nobody else waiting.
        let greet = move || {
            let _counted = counted;
            if let Ok((wants, stream)) = greeted(stream, &key) {
                match (wants, stream.peer_addr()) {
                    (PeerService::Flow { mark }, Ok(from)) => {
                        let _ = flows.send(ArrivingFlow {
                            from: from.ip(),
                            mark,
                            _announced: stream,
                        });
                    }
                    (PeerService::Flow { .. }, Err(_)) => {}
                    (PeerService::Orders, _) => {
                        let _ = orders.send(stream);
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

struct PeerOrders {
    key: SessionKey,
    arriving: Receiver<ArrivingFlow>,
    receiver: FlowReceiver,
}

/// A flow that is about to be sent, with the connection that announced it.
struct LeavingFlow {
    to: SocketAddr,
    mark: FlowMark,
    _announced: TcpStream,
}

impl PeerOrders {
    fn follow(&self, stream: TcpStream) -> io::Result<()> {
        let mut orders = BufReader::new(stream.try_clone()?);
        loop {
            let PeerOrder::Prepare(order) = read_line(&mut orders)? else {
                return Err(io::ErrorKind::InvalidData.into());
            };
            let (to, from) = match self.prepare(order) {
                Ok(ends) => ends,
                Err(error) => {
                    write_line(&stream, &PeerAnswer::Failed(error.to_string()))?;
                    continue;
                }
            };
            write_line(&stream, &PeerAnswer::Ready)?;
            let PeerOrder::Go = read_line(&mut orders)? else {
                return Err(io::ErrorKind::InvalidData.into());
            };
            let (start, window) = (Instant::now() + LEAD, order.window);
            let send = |flow: LeavingFlow| {
                thread::spawn(move || datagrams::send(flow.to, flow.mark, start, window))
            };
            let sender = to.map(send);
            let receiver = &self.receiver;
            let rate = from.map(|flow| receiver.receive(flow.from, flow.mark, start, window));
            if let Some(sender) = sender {
                // What went wrong shows at the receiver.
                let _ = sender.join();
            }
            write_line(&stream, &PeerAnswer::Done(rate))?;
        }
    }

    /// The connections of a round: the one to send on, and the one to receive from.
    fn prepare(
        &self,
        order: RoundOrder,
    ) -> io::Result<(Option<LeavingFlow>, Option<ArrivingFlow>)> {
        let announce = |to| {
            let mark = fastrand::u64(..);
            let _announced = call(to, &self.key, PeerService::Flow { mark })?;
            Ok::<_, io::Error>(LeavingFlow {
                to,
                mark,
                _announced,
            })
        };
        let to = order.send_to.map(announce).transpose()?;
        let from = match order.receives {
            true => Some(
                self.arriving
                    .recv_timeout(CONNECT_TIME)
                    .map_err(io::Error::other)?,
            ),
            false => None,
        };
        Ok((to, from))
    }
}
