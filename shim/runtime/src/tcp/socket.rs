//! Options of a connection's two ends.
#![allow(unsafe_code, reason = "two options have no safe wrapper: setsockopt with an integer")]
use inventory::BitsPerSec;
use std::ffi::c_int;
use std::io;
use std::net::TcpStream;
use std::os::fd::AsRawFd;

/// Octets that wait in a sender's socket at most: enough to keep a link busy over a local round trip. With more, "written" would
/// say nothing of "on the wire".
const SEND_BUFFER: c_int = 64 * 1024;

/// The queue that tokens and acknowledgements go to before data: the highest priority that needs no capability (socket(7)).
const URGENT: c_int = 6;

/// The end that sends blocks.
pub(super) fn sends_blocks(stream: &TcpStream) -> io::Result<()> {
    common(stream)?;
    set(stream, libc::SO_SNDBUF, SEND_BUFFER)
}

/// The end that receives them, and sends acknowledgements and tokens.
pub(super) fn sends_tokens(stream: &TcpStream) -> io::Result<()> {
    common(stream)?;
    set(stream, libc::SO_PRIORITY, URGENT)
}

/// Sends no faster than a link of this rate passes payload on: bursts would only queue in switches.
pub(super) fn pace(stream: &TcpStream, rate: BitsPerSec) -> io::Result<()> {
    let payload = rate.0 as f64 / 8.0 / schedules::bound::WIRE_PER_PAYLOAD;
    set(stream, libc::SO_MAX_PACING_RATE, payload as u64)
}

fn common(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_nonblocking(true)
}

/// An option of SOL_SOCKET that takes a plain number.
fn set<T: Copy>(stream: &TcpStream, option: c_int, value: T) -> io::Result<()> {
    // SAFETY: the descriptor is open, and the value lives as long as the call, which reads as many octets as it has.
    let code = unsafe {
        libc::setsockopt(stream.as_raw_fd(), libc::SOL_SOCKET, option, (&raw const value).cast(), size_of::<T>() as libc::socklen_t)
    };
    if code == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
