//! TCP flows and datagrams between two hosts. One process has the sockets of both, since a socket
//! stays in the namespace in which it was opened.
use super::Percent;
use crate::error::{KernelErrorContext, LabError, LabResult};
use crate::netns;
use crate::state::LabState;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream, UdpSocket};
use std::sync::mpsc::Sender;
use std::thread;
use std::time::{Duration, Instant};

/// Octets of a write, and of a read.
const CHUNK: usize = 64 * 1024;

/// The payload of a datagram that fills a frame of 1,500 octets.
const DATAGRAM: usize = 1472;

/// The octets of such a frame on the cable: with headers, preamble and the gap after it
/// (IEEE 802.3-2018, 3.1.1 and 4.4.2).
const FRAME: usize = 1538;

/// The most datagrams that a late sender sends at once to make up for lost time.
const BURST: u32 = 8;

/// Opens a flow of octets from one host to another, and keeps it full. Its end is sent to `end`.
pub(super) fn start_flow(
    state: &LabState,
    from: &str,
    to: &str,
    end: &Sender<LabResult<()>>,
) -> LabResult<()> {
    let address = data_address(state, to)?;
    let door = netns::within(&netns::path(&state.name, to), || {
        TcpListener::bind((address, 0))
    })?;
    let port = door.local_addr().during(|| place(from, to))?.port();
    let sender = netns::within(&netns::path(&state.name, from), || {
        TcpStream::connect((address, port))
    })?;
    let (receiver, _) = door.accept().during(|| place(from, to))?;
    let (way, end) = (place(from, to), end.clone());
    thread::spawn(move || end.send(Err(broken(way, fill(sender)))));
    thread::spawn(move || empty(receiver));
    Ok(())
}

/// Writes until that fails.
fn fill(mut sender: TcpStream) -> io::Error {
    let octets = vec![0; CHUNK];
    loop {
        if let Err(error) = sender.write_all(&octets) {
            return error;
        }
    }
}

/// Reads until there is no more. The sender sees what went wrong.
fn empty(mut receiver: TcpStream) {
    let mut octets = vec![0; CHUNK];
    while receiver.read(&mut octets).is_ok_and(|length| length > 0) {}
}

/// Sends datagrams from one host to another at this share of the rate of the slowest cable between
/// them. A sender that fails is sent to `end`.
pub(super) fn start_datagrams(
    state: &LabState,
    from: &str,
    to: &str,
    share: Percent,
    end: &Sender<LabResult<()>>,
) -> LabResult<()> {
    let rate = state.plan.slowest_between(from, to)?.0 as f64 * f64::from(share.thousandths())
        / f64::from(Percent::ALL);
    let interval = Duration::from_secs_f64(FRAME as f64 * 8.0 / rate);
    let address = data_address(state, to)?;
    // Nobody reads. A full receive buffer drops what comes, which costs no processor time.
    let receiver = netns::within(&netns::path(&state.name, to), || {
        UdpSocket::bind((address, 0))
    })?;
    let port = receiver.local_addr().during(|| place(from, to))?.port();
    let sender = netns::within(&netns::path(&state.name, from), || {
        let sender = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
        sender.connect(SocketAddrV4::new(address, port))?;
        Ok(sender)
    })?;
    let (way, end) = (place(from, to), end.clone());
    thread::spawn(move || {
        let _open = receiver;
        end.send(Err(broken(way, send_every(interval, &sender))))
    });
    Ok(())
}

/// Sends a datagram each interval, until that fails.
fn send_every(interval: Duration, sender: &UdpSocket) -> io::Error {
    let octets = [0; DATAGRAM];
    let mut due = Instant::now();
    loop {
        let now = Instant::now();
        due = due.max(now.checked_sub(interval * BURST).unwrap_or(now));
        thread::sleep(due.saturating_duration_since(now));
        if let Err(error) = sender.send(&octets) {
            return error;
        }
        due += interval;
    }
}

fn data_address(state: &LabState, host: &str) -> LabResult<Ipv4Addr> {
    let address = state.plan.node(host)?.data;
    address.ok_or_else(|| {
        LabError::Refused(format!(
            "mpirun: host \"{host}\" is not on the data network"
        ))
    })
}

fn place(from: &str, to: &str) -> String {
    format!("mpirun: the traffic from {from} to {to}")
}

fn broken(place: String, cause: io::Error) -> LabError {
    LabError::Kernel { place, cause }
}
