//! Flows of datagrams. A sender fills its own cable, whatever becomes of the datagrams: where cables
//! are full, each flow has its part of what arrives, at once. TCP would look for its rate for longer
//! than a round lasts.
use nix::sys::socket::{
    ControlMessage, ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg, sendmsg, setsockopt,
    sockopt,
};
use socket2::SockRef;
use std::io::{self, IoSlice, IoSliceMut};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The time between an order to start and the start, in which the order reaches every host.
pub(crate) const LEAD: Duration = Duration::from_millis(10);
/// The part of a round that passes before its rate counts: orders do not reach all hosts at once.
const START: f64 = 0.25;
/// Rounds this short are on fast cables: the kernel makes several datagrams of one call.
const FAST_ROUND: Duration = Duration::from_millis(6);
/// The datagrams of one call on fast cables at most.
const MOST_OF_A_CALL: usize = 8;
/// The payload of a datagram at most, and at least. At constant size and pace a full switch would
/// always drop those of the same flow.
const LARGEST: usize = 1448;
const SMALLEST: usize = 1000;
/// Octets of a frame beside the payload of its UDP datagram: preamble and start 8, Ethernet header 14,
/// FCS 4, gap 12, IPv4 20, UDP 8.
const BESIDE: usize = 66;
/// The payload of TCP in an octet on the wire, as rates are reported.
const TCP_PAYLOAD: f64 = 1448.0 / 1538.0;
/// A sender's socket holds back at most this much until the rate of its cable is known: little
/// beside the bytes of a flow.
const SLOW_BUFFER: usize = 8 << 10;
const FAST_BUFFER: usize = 256 << 10;
/// A sender at a pace is faster than its cable by this factor, and ahead by this time, so that the
/// cable never waits for it.
const ABOVE_CABLE: f64 = 1.05;
const AHEAD: Duration = Duration::from_millis(4);
/// The kernel keeps so much for a receiver that does not come to read.
const RECEIVE_BUFFER: usize = 4 << 20;
/// After a round the queues of switches empty: until nothing came for so long, and no longer than
/// that.
const QUIET: Duration = Duration::from_millis(4);
const LONGEST_DRAIN: Duration = Duration::from_millis(200);

/// The datagrams of one flow begin with this.
pub(crate) type FlowMark = u64;

/// The work of a sender. The rate is that of the payload if TCP had sent it, in bits a second.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SentFlow {
    pub(crate) bytes: u64,
    pub(crate) rate: f64,
    /// True if nothing but the cable held it back.
    pub(crate) is_unpaced: bool,
}

/// When a sender sends.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SendingPlan {
    pub(crate) start: Instant,
    pub(crate) window: Duration,
    /// The bytes at most.
    pub(crate) most: u64,
    /// The rate of the sender's cable in bits a second of what TCP would carry, once it is known.
    /// Without it a flow is as fast as its socket lets it be. Where the whole network is one kernel,
    /// a socket waits for what is in the queues of far switches, too, as no real one does: flows
    /// over many full cables would send less.
    pub(crate) cable: Option<f64>,
}

impl SendingPlan {
    /// The pace on slow cables. On fast ones no timer is fine enough.
    fn pace(&self) -> Option<f64> {
        let cable = self.cable.filter(|_| !self.is_fast())?;
        Some(cable * ABOVE_CABLE / TCP_PAYLOAD / 8.0)
    }

    pub(crate) fn is_fast(&self) -> bool {
        self.window <= FAST_ROUND
    }

    /// Waits until so many octets may have been sent at this pace.
    fn wait_for(&self, octets: usize, pace: f64) {
        let after = Duration::from_secs_f64(octets as f64 / pace);
        let due = self.start + after.saturating_sub(AHEAD).min(self.window);
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
    }
}

/// Sends to `to` as planned.
pub(crate) fn send(to: SocketAddr, mark: FlowMark, plan: SendingPlan) -> io::Result<SentFlow> {
    let SendingPlan { start, window, .. } = plan;
    let any: IpAddr = match to {
        SocketAddr::V4(_) => [0u8; 4].into(),
        SocketAddr::V6(_) => [0u16; 8].into(),
    };
    let socket = UdpSocket::bind((any, 0))?;
    socket.connect(to)?;
    let pace = plan.pace();
    let buffer = match plan.is_fast() || pace.is_some() {
        true => FAST_BUFFER,
        false => SLOW_BUFFER,
    };
    SockRef::from(&socket).set_send_buffer_size(buffer)?;
    // A send that blocks returns by the end of the round. The standard library refuses a timeout of
    // zero.
    socket.set_write_timeout(Some(window.max(Duration::from_millis(1))))?;
    let mut datagrams = [0; LARGEST * MOST_OF_A_CALL];
    for datagram in datagrams.chunks_mut(LARGEST) {
        datagram[..8].copy_from_slice(&mark.to_be_bytes());
    }
    let (mut at_once, mut bytes, mut octets) = (plan.is_fast(), 0, 0);
    let mut left: Vec<(Duration, usize)> = Vec::new();
    std::thread::sleep(start.saturating_duration_since(Instant::now()));
    while start.elapsed() < window && bytes < plan.most {
        let sent = if at_once {
            let count = fastrand::usize(MOST_OF_A_CALL / 2..=MOST_OF_A_CALL);
            send_at_once(&socket, &datagrams[..count * LARGEST])
        } else {
            socket.send(&datagrams[..fastrand::usize(SMALLEST..=LARGEST)])
        };
        match sent {
            Ok(count) => {
                bytes += count as u64;
                octets += on_the_wire(count);
                left.push((start.elapsed(), on_the_wire(count)));
                if let Some(pace) = pace {
                    plan.wait_for(octets, pace);
                }
            }
            // This card cannot.
            Err(_) if at_once => at_once = false,
            // The kernel's queue is full, or an earlier datagram was refused.
            Err(error) if error.raw_os_error() == Some(nix::libc::ENOBUFS) => {
                std::thread::yield_now();
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {}
            Err(error) => return Err(error),
        }
    }
    let rate = rate(&left, window);
    Ok(SentFlow {
        bytes,
        rate,
        is_unpaced: pace.is_none(),
    })
}

/// Several datagrams of one size (udp(7), UDP_SEGMENT).
fn send_at_once(socket: &UdpSocket, datagrams: &[u8]) -> io::Result<usize> {
    let size = LARGEST as u16;
    let segments = [ControlMessage::UdpGsoSegments(&size)];
    let parts = [IoSlice::new(datagrams)];
    let descriptor = socket.as_raw_fd();
    Ok(sendmsg::<()>(
        descriptor,
        &parts,
        &segments,
        MsgFlags::empty(),
        None,
    )?)
}

/// The end of the flows to this host.
#[derive(Debug)]
pub(crate) struct FlowReceiver(UdpSocket);

impl FlowReceiver {
    /// Listens on a port of every address.
    ///
    /// # Errors
    /// If the port is taken.
    pub(crate) fn bind(at: SocketAddr) -> io::Result<FlowReceiver> {
        let socket = UdpSocket::bind(at)?;
        SockRef::from(&socket).set_recv_buffer_size(RECEIVE_BUFFER)?;
        setsockopt(&socket, sockopt::ReceiveTimestampns, &true)?;
        Ok(FlowReceiver(socket))
    }

    /// The rate of a flow that starts at `start`, in bits a second of what TCP would carry. Returns
    /// when the queues behind the flow are empty.
    pub(crate) fn receive(
        &self,
        from: IpAddr,
        mark: FlowMark,
        start: Instant,
        window: Duration,
    ) -> f64 {
        // The kernel may put datagrams together again; where it cannot, they come one by one.
        let _ = setsockopt(&self.0, sockopt::UdpGroSegment, &(window <= FAST_ROUND));
        let mut bytes = vec![0; 64 << 10];
        let mut came: Vec<(Duration, usize)> = Vec::new();
        let end = start + window;
        let mut last = end;
        // The kernel tells the time of day.
        let started = SystemTime::now() + start.saturating_duration_since(Instant::now());
        loop {
            let now = Instant::now();
            let until = if now < end {
                end
            } else {
                (last + QUIET).min(end + LONGEST_DRAIN)
            };
            let Some(left) = until.checked_duration_since(now).filter(|l| !l.is_zero()) else {
                break;
            };
            let _ = self.0.set_read_timeout(Some(left));
            let Some((count, time)) = self.next(from, mark, &mut bytes) else {
                continue;
            };
            last = Instant::now();
            let time = time.duration_since(started).unwrap_or_default();
            came.push((time, on_the_wire(count)));
        }
        rate(&came, window)
    }
}

impl FlowReceiver {
    /// The next datagram, if it is of this flow: its length, and when the card had it, however busy
    /// this host is.
    fn next(&self, from: IpAddr, mark: FlowMark, bytes: &mut [u8]) -> Option<(usize, SystemTime)> {
        // The i32 is the size of segments, which comes along with UDP_GRO (udp(7)).
        let mut space = nix::cmsg_space!(nix::sys::time::TimeSpec, i32);
        let (count, sender, time) = {
            let mut parts = [IoSliceMut::new(bytes)];
            let got = recvmsg::<SockaddrStorage>(
                self.0.as_raw_fd(),
                &mut parts,
                Some(&mut space),
                MsgFlags::empty(),
            )
            .ok()?;
            let times = got.cmsgs().ok()?.filter_map(|message| match message {
                ControlMessageOwned::ScmTimestampns(time) => Some(UNIX_EPOCH + time.into()),
                _ => None,
            });
            (got.bytes, got.address?, times.last())
        };
        let v4 = sender.as_sockaddr_in().map(|a| IpAddr::V4(a.ip()));
        let sender = v4.or_else(|| sender.as_sockaddr_in6().map(|a| IpAddr::V6(a.ip())))?;
        // A socket of all addresses has IPv4 senders as IPv4-mapped ones (RFC 4291, 2.5.5.2).
        let is_of_flow = sender.to_canonical() == from.to_canonical()
            && bytes[..count].starts_with(&mark.to_be_bytes());
        is_of_flow.then(|| (count, time.unwrap_or_else(SystemTime::now)))
    }
}

fn on_the_wire(payload: usize) -> usize {
    payload + payload.div_ceil(LARGEST) * BESIDE
}

/// The rate by the times at which so many octets came.
pub(crate) fn rate(came: &[(Duration, usize)], window: Duration) -> f64 {
    let from = window.mul_f64(START);
    let counted = came
        .iter()
        .filter(|(time, _)| (from..window).contains(time));
    let octets: usize = counted.map(|(_, octets)| octets).sum();
    octets as f64 * TCP_PAYLOAD * 8.0 / (window - from).as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(window: Duration, cable: Option<f64>) -> SendingPlan {
        SendingPlan {
            start: Instant::now(),
            window,
            most: u64::MAX,
            cable,
        }
    }

    #[test]
    fn a_sender_at_a_pace_is_little_ahead_of_its_cable() {
        let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
        let (window, cable) = (Duration::from_millis(100), 8e6);
        let to = receiver.local_addr().unwrap();
        let paced = send(to, 1, plan(window, Some(cable))).unwrap();
        // Its pace is that of the cable and a twentieth more, for the time of the round and a bit.
        let octets = cable / TCP_PAYLOAD * ABOVE_CABLE / 8.0 * (window + AHEAD).as_secs_f64();
        assert!(paced.bytes as f64 <= octets + LARGEST as f64, "{paced:?}");
        assert!(paced.bytes > 0 && !paced.is_unpaced, "{paced:?}");
        let unpaced = send(to, 1, plan(window, None)).unwrap();
        assert!(unpaced.is_unpaced && unpaced.bytes > 0, "{unpaced:?}");
    }

    #[test]
    fn a_sender_waits_until_it_is_its_turn_and_no_longer_than_the_round() {
        let (window, pace) = (Duration::from_millis(40), 1e6);
        let waiting = plan(window, None);
        waiting.wait_for(20_000, pace);
        let least = Duration::from_millis(20) - AHEAD;
        assert!(waiting.start.elapsed() >= least, "too early");
        // At this pace they would be due after a quarter of an hour.
        waiting.wait_for(1_000_000_000, pace);
        assert!((window..100 * window).contains(&waiting.start.elapsed()));
    }

    #[test]
    fn rounds_on_fast_cables_have_no_pace() {
        assert_eq!(plan(FAST_ROUND, Some(1e9)).pace(), None);
        let slow = plan(2 * FAST_ROUND, Some(8e6 * TCP_PAYLOAD))
            .pace()
            .unwrap();
        assert!((slow - 1e6 * ABOVE_CABLE).abs() < 1.0, "{slow}");
    }
}
