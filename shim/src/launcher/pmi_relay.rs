//! This rank's lines among those of the MPI library.
//!
//! A launcher takes a value from the library's first line on (Hydra forgets earlier ones, Slurm
//! takes no second first line), and spreads it when all ranks have come to the fence in MPI_Init.
//! So while MPI_Init runs, the library's descriptor leads to a thread of this library, which passes
//! its lines on, and publishes between the answer to the first line and the second. In PMI-2 a
//! message of the library follows its first line before it may put anything. When MPI_Init returns,
//! the descriptor is the launcher's socket again.
use super::pmi::{Pmi, PmiVersion, line, message, word};
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::thread::JoinHandle;

/// A line of the library at most; longer ones pass in pieces.
const PIECE: usize = 8192;

/// The thread between the library and its launcher.
pub(super) struct PmiRelay {
    /// The descriptor that the library knows.
    number: RawFd,
    /// The launcher's socket.
    launcher: OwnedFd,
    /// This library's end of the way to the MPI library.
    library: UnixStream,
    /// Gives what the launcher speaks, if it could publish.
    thread: JoinHandle<Option<PmiVersion>>,
}

impl PmiRelay {
    /// Stands between, to publish this text; `None` where no launcher speaks PMI over a socket.
    pub(super) fn begin(text: impl FnOnce() -> Option<String>) -> Option<PmiRelay> {
        let number_of = |name| -> Option<RawFd> { std::env::var(name).ok()?.parse().ok() };
        let (number, rank) = (number_of("PMI_FD")?, number_of("PMI_RANK")?);
        let launcher = duplicate(number).filter(is_stream)?;
        let text = text()?;
        let (ours, theirs) = UnixStream::pair().ok()?;
        let passing = Passing {
            library: ours.try_clone().ok()?,
            launcher: UnixStream::from(launcher.try_clone().ok()?),
        };
        let thread = without_signals(|| {
            std::thread::Builder::new()
                .name("heddle-pmi".to_owned())
                .spawn(move || passing.run(rank, &text))
        })
        .ok()?;
        // SAFETY: two open descriptors. The library's number leads to the thread from now on.
        if unsafe { libc::dup2(theirs.as_raw_fd(), number) } < 0 {
            let _ = ours.shutdown(Shutdown::Both);
            return None;
        }
        Some(PmiRelay {
            number,
            launcher,
            library: ours,
            thread,
        })
    }

    /// Steps out from between; gives the launcher, if it has this rank's presence. The library must
    /// have its answers.
    pub(super) fn end(self) -> Option<Pmi> {
        let _ = self.library.shutdown(Shutdown::Both);
        let version = self.thread.join().ok().flatten();
        // SAFETY: two open descriptors.
        let back = unsafe { libc::dup2(self.launcher.as_raw_fd(), self.number) };
        version
            .filter(|_| back >= 0)
            .map(|version| Pmi::new(self.number, version))
    }
}

/// A second descriptor of an open socket, which programs that this one becomes do not inherit.
fn duplicate(number: RawFd) -> Option<OwnedFd> {
    // SAFETY: any number may be asked for.
    let copy = unsafe { libc::fcntl(number, libc::F_DUPFD_CLOEXEC, 3) };
    // SAFETY: a new descriptor, which nobody else has.
    (copy >= 0).then(|| unsafe { OwnedFd::from_raw_fd(copy) })
}

/// True for a socket that carries octets in a row.
fn is_stream(socket: &OwnedFd) -> bool {
    let mut kind: libc::c_int = 0;
    let mut size = size_of_val(&kind) as libc::socklen_t;
    let (fd, option) = (socket.as_raw_fd(), libc::SO_TYPE);
    // SAFETY: an open descriptor, and a place of the size that is stated.
    let code = unsafe {
        let kind = (&raw mut kind).cast();
        libc::getsockopt(fd, libc::SOL_SOCKET, option, kind, &mut size)
    };
    code == 0 && kind == libc::SOCK_STREAM
}

/// Starts a thread that takes none of the application's signals.
fn without_signals<T>(start: impl FnOnce() -> T) -> T {
    // SAFETY: all-zero sets are valid values, and the calls fill them.
    let (mut all, mut before): (libc::sigset_t, libc::sigset_t) =
        unsafe { (std::mem::zeroed(), std::mem::zeroed()) };
    // SAFETY: two sets of this function.
    unsafe {
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before);
    }
    let started = start();
    // SAFETY: the set from before.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &before, std::ptr::null_mut()) };
    started
}

/// The two ends that the thread has.
struct Passing {
    library: UnixStream,
    launcher: UnixStream,
}

impl Passing {
    fn run(mut self, rank: RawFd, text: &str) -> Option<PmiVersion> {
        let version = self.beginning(rank, text);
        self.pass_on();
        version
    }

    /// Passes on the first lines of library and launcher; publishes before the library has the last answer.
    fn beginning(&mut self, rank: RawFd, text: &str) -> Option<PmiVersion> {
        let first = next_of(&mut self.library)?;
        self.launcher.write_all(&first).ok()?;
        let is_of = |version: &str| {
            let begin = format!("cmd=init pmi_version={version} ");
            first.starts_with(begin.as_bytes()) && first.ends_with(b"\n")
        };
        let is_two = is_of("2");
        if !is_two && !is_of("1") {
            return None;
        }
        let answer = line(&mut self.launcher)?;
        let begun = answer.starts_with("cmd=response_to_init ") && word(&answer, "rc") == Some("0");
        if begun && is_two {
            self.library.write_all(answer.as_bytes()).ok()?;
            return self.second_message(rank, text);
        }
        let space = if begun {
            self.ask("cmd=get_my_kvsname\n")
        } else {
            None
        };
        let version = space
            .and_then(|space| Some(word(&space, "kvsname")?.to_owned()))
            .map(|space| PmiVersion::One { space })
            .filter(|version| self.publish(version, rank, text).is_some());
        self.library.write_all(answer.as_bytes()).ok()?;
        version
    }

    /// The library's first message after the line, and its answer.
    fn second_message(&mut self, rank: RawFd, text: &str) -> Option<PmiVersion> {
        let asked = next_of(&mut self.library)?;
        self.launcher.write_all(&asked).ok()?;
        // A launcher may write the length before the rest.
        let answer = message(&mut self.launcher);
        let reply = String::from_utf8_lossy(&answer);
        let is_begun =
            word(&reply, "cmd") == Some("fullinit-response") && word(&reply, "rc") == Some("0");
        let version = Some(PmiVersion::Two)
            .filter(|version| is_begun && self.publish(version, rank, text).is_some());
        self.library.write_all(&answer).ok()?;
        version
    }

    fn publish(&mut self, version: &PmiVersion, rank: RawFd, text: &str) -> Option<()> {
        let put = version.put(rank, text);
        self.launcher.write_all(put.as_bytes()).ok()?;
        let answer = version.answer(&mut self.launcher)?;
        let is_put = matches!(
            word(&answer, "cmd"),
            Some("put_result" | "kvs-put-response")
        );
        (is_put && word(&answer, "rc") == Some("0")).then_some(())
    }

    fn ask(&mut self, question: &str) -> Option<String> {
        self.launcher.write_all(question.as_bytes()).ok()?;
        line(&mut self.launcher)
    }

    /// Passes everything on, both ways, until the library has no more to say.
    fn pass_on(&mut self) {
        let mut piece = [0; PIECE];
        loop {
            let entry = |fd| libc::pollfd {
                fd,
                events: libc::POLLIN,
                revents: 0,
            };
            let mut ends = [&self.library, &self.launcher].map(|end| entry(end.as_raw_fd()));
            // SAFETY: two entries.
            if unsafe { libc::poll(ends.as_mut_ptr(), 2, -1) } < 0 {
                continue;
            }
            let [library, launcher] = ends.map(|end| end.revents != 0);
            let passed = if launcher {
                pass(&mut self.launcher, &mut self.library, &mut piece)
            } else if library {
                pass(&mut self.library, &mut self.launcher, &mut piece)
            } else {
                Some(())
            };
            if passed.is_none() {
                // The library hears that its launcher is gone as it would from the launcher.
                let _ = self.library.shutdown(Shutdown::Both);
                return;
            }
        }
    }
}

fn next_of(from: &mut UnixStream) -> Option<Vec<u8>> {
    let mut piece = vec![0; PIECE];
    let length = read(from, &mut piece)?;
    piece.truncate(length);
    Some(piece)
}

fn pass(from: &mut UnixStream, to: &mut UnixStream, piece: &mut [u8]) -> Option<()> {
    let length = read(from, piece)?;
    to.write_all(&piece[..length]).ok()
}

/// The length of what comes next; `None` at the end.
fn read(from: &mut UnixStream, piece: &mut [u8]) -> Option<usize> {
    loop {
        match from.read(piece) {
            Ok(0) => return None,
            Ok(length) => return Some(length),
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
    }
}

#[cfg(test)]
mod tests;
