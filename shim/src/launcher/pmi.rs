//! PMI: questions over a socket whose descriptor the launcher leaves in PMI_FD, an answer for each. The
//! MPI library speaks over it in MPI_Init and MPI_Finalize, and where it starts processes or joins
//! others'. PMI-1 has lines of words. PMI-2 has fields that end in `;`, and before them their length
//! in six characters (draft of MPICH's wiki, "PMI v2 API", and Slurm's client, which agree).
//!
//! The socket is this library's while a call of heddle's is the only one in MPI. Where threads may
//! call at once, everything is read when MPI_Init returns.
use presence::difference::Published;
use presence::{KEY, text};
use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::mem::ManuallyDrop;
use std::os::fd::{AsRawFd, FromRawFd, RawFd};
use std::sync::{Mutex, PoisonError};

/// Seconds for which an answer is waited for. A launcher answers within a millisecond; an answer
/// that came later would be taken for that of the MPI library's next line.
const PATIENCE: u32 = 60;
/// Octets of a line at most: a presence, and what stands before it.
const LINE: usize = 2 * text::LONGEST;

/// The protocol of the library and its launcher.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PmiVersion {
    /// PMI-1, with the job's space of names.
    One { space: String },
    /// PMI-2.
    Two,
}

impl PmiVersion {
    /// Puts a value under a rank's key.
    pub(super) fn put(&self, rank: RawFd, text: &str) -> String {
        match self {
            PmiVersion::One { space } => {
                format!("cmd=put kvsname={space} key={KEY}-{rank} value={text}\n")
            }
            PmiVersion::Two => framed(&format!("cmd=kvs-put;key={KEY}-{rank};value={text};")),
        }
    }

    fn get(&self, rank: u32) -> String {
        match self {
            PmiVersion::One { space } => format!("cmd=get kvsname={space} key={KEY}-{rank}\n"),
            PmiVersion::Two => framed(&format!("cmd=kvs-get;key={KEY}-{rank};")),
        }
    }

    /// The next answer of the launcher.
    pub(super) fn answer(&self, socket: &mut (impl Read + AsRawFd)) -> Option<String> {
        match self {
            PmiVersion::One { .. } => line(socket),
            PmiVersion::Two => String::from_utf8(message(socket)).ok(),
        }
    }
}

fn framed(fields: &str) -> String {
    format!("{:6}{fields}", fields.len())
}

/// A launcher that has this rank's presence.
pub(super) struct Pmi {
    /// The MPI library's, which closes it.
    socket: RawFd,
    version: PmiVersion,
    read: Mutex<ReadSoFar>,
}

#[derive(Default)]
struct ReadSoFar {
    ranks: HashMap<u32, Published>,
    /// The launcher did not answer, or not as expected: nobody asks again.
    failed: bool,
    /// Nothing may be asked any more: another thread may be speaking.
    closed: bool,
}

impl Pmi {
    pub(super) fn new(socket: RawFd, version: PmiVersion) -> Pmi {
        Pmi {
            socket,
            version,
            read: Mutex::default(),
        }
    }

    /// The text that the launcher has of a rank.
    pub(super) fn read(&self, rank: u32) -> Option<Published> {
        let mut so_far = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = so_far.ranks.get(&rank) {
            return Some(known.clone());
        }
        if so_far.failed || so_far.closed {
            return None;
        }
        let published = self.ask(rank);
        match &published {
            Some(known) => drop(so_far.ranks.insert(rank, known.clone())),
            None => so_far.failed = true,
        }
        published
    }

    /// Reads what the launcher has of all ranks, and asks nothing afterwards.
    pub(super) fn read_all(&self) {
        let stated = std::env::var("PMI_SIZE").ok();
        let size = stated.and_then(|text| text.parse().ok()).unwrap_or(0);
        (0..size).all(|rank| self.read(rank).is_some());
        let mut so_far = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        so_far.closed = true;
    }

    fn ask(&self, rank: u32) -> Option<Published> {
        send(self.socket, self.version.get(rank).as_bytes())?;
        // SAFETY: the MPI library keeps it open until MPI_Finalize; it is not closed here.
        let mut socket = ManuallyDrop::new(unsafe { File::from_raw_fd(self.socket) });
        let answer = self.version.answer(&mut *socket)?;
        if !matches!(
            word(&answer, "cmd"),
            Some("get_result" | "kvs-get-response")
        ) {
            return None;
        }
        let is_there = word(&answer, "rc") == Some("0");
        match word(&answer, "value").filter(|_| is_there) {
            Some(text) => Some(Published::Text(text.to_owned())),
            None => Some(Published::Nothing(None)),
        }
    }
}

/// Sends a line; `None` if the launcher is gone, which must not end the process by a signal.
fn send(socket: RawFd, line: &[u8]) -> Option<()> {
    // SAFETY: the octets of the line.
    let sent = unsafe { libc::send(socket, line.as_ptr().cast(), line.len(), libc::MSG_NOSIGNAL) };
    (usize::try_from(sent) == Ok(line.len())).then_some(())
}

/// The next line; `None` if the launcher is silent or gone, or says more than a line.
pub(super) fn line(socket: &mut (impl Read + AsRawFd)) -> Option<String> {
    let mut read = Vec::new();
    while read.last() != Some(&b'\n') {
        let room = LINE.checked_sub(read.len()).filter(|room| *room > 0)?;
        read_some(socket, room, &mut read)?;
    }
    String::from_utf8(read).ok()
}

/// The next message of PMI-2, with its length before it; a part of one if the launcher is silent or
/// gone, or says something else.
pub(super) fn message(socket: &mut (impl Read + AsRawFd)) -> Vec<u8> {
    const LENGTH: usize = 6;
    let mut read = Vec::new();
    let mut whole = LENGTH;
    while read.len() < whole && read_some(socket, whole - read.len(), &mut read).is_some() {
        if read.len() == LENGTH && whole == LENGTH {
            let length = std::str::from_utf8(&read).map(str::trim);
            whole += length.map_or(0, |length| length.parse().unwrap_or(0));
        }
    }
    read
}

/// Appends what comes next, at most this many octets.
fn read_some(socket: &mut (impl Read + AsRawFd), room: usize, into: &mut Vec<u8>) -> Option<()> {
    let mut piece = [0; LINE];
    if !becomes_readable(socket.as_raw_fd()) {
        return None;
    }
    match socket.read(&mut piece[..room.min(LINE)]) {
        Ok(0) => None,
        Ok(length) => {
            into.extend_from_slice(&piece[..length]);
            Some(())
        }
        Err(e) if e.kind() == std::io::ErrorKind::Interrupted => Some(()),
        Err(_) => None,
    }
}

/// Waits a second at a time: a job that is stopped meanwhile has lost one of them, not all.
fn becomes_readable(socket: RawFd) -> bool {
    (0..PATIENCE).any(|_| {
        let mut poll = libc::pollfd {
            fd: socket,
            events: libc::POLLIN,
            revents: 0,
        };
        // SAFETY: one entry.
        unsafe { libc::poll(&mut poll, 1, 1000) > 0 }
    })
}

/// The value of a name in a line or message of `name=value`, in any order.
pub(super) fn word<'a>(answer: &'a str, name: &str) -> Option<&'a str> {
    // The length of a message stands before its first field.
    let words = answer
        .trim_start_matches(|c: char| c == ' ' || c.is_ascii_digit())
        .split(|c: char| c.is_ascii_whitespace() || c == ';');
    let mut pairs = words.filter_map(|word| word.split_once('='));
    pairs.find(|pair| pair.0 == name).map(|pair| pair.1)
}
