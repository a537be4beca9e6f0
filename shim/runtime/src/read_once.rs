//! What each rank of a host would read alike, one of them reads, and hands to the others: a launcher serves
//! one reading after the other, and 128 ranks that each read 1,024 lines would wait for seconds.
//!
//! The first that asks takes a name among the kernel's abstract sockets (unix(7)), reads, and a thread of it
//! serves the others. The name goes with the process, so nothing is left behind. A rank that gets no answer
//! reads itself.
use crate::helper::above_standard_streams;
use crate::signals;
use nix::poll::{PollFd, PollFlags, poll};
use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
use nix::unistd::getuid;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::thread;
use std::time::{Duration, Instant};

/// A rank that reads is waited for so long before another one reads, too: 16,384 lines take a second.
const PATIENCE: Duration = Duration::from_secs(3);
/// The others are served for so long: ranks come to a call together, or late by minutes.
const SERVED: Duration = Duration::from_secs(5);
/// The octets of the length, before those that were read.
const LENGTH: usize = 8;

/// The octets that `read` gives, or gave another rank of this host that asked for `name`; `others` says from
/// them how many more ranks of the host will ask.
pub fn read_once(
    name: &str,
    others: impl FnOnce(&[u8]) -> usize,
    read: impl FnOnce() -> Option<Vec<u8>>,
) -> Option<Vec<u8>> {
    let Ok(address) = SocketAddr::from_abstract_name(name) else {
        return read();
    };
    match ask(&address) {
        Ok(octets) => return Some(octets),
        // Nobody has the name.
        Err(e) if e.kind() == io::ErrorKind::ConnectionRefused => {}
        Err(_) => return read(),
    }
    let Ok(door) = UnixListener::bind_addr(&address) else {
        // Another one was faster.
        return ask(&address).ok().or_else(read);
    };
    let octets = read()?;
    let others = others(&octets);
    if others > 0
        && let Ok(door) = above_standard_streams(door)
    {
        let (door, octets) = (UnixListener::from(door), octets.clone());
        // Without a thread the others read themselves.
        let _ = signals::with_signals_blocked(|| {
            thread::Builder::new()
                .name("heddle-lines".into())
                .spawn(move || serve(&door, &octets, others))
        });
    }
    Some(octets)
}

fn ask(address: &SocketAddr) -> io::Result<Vec<u8>> {
    let mut stream = UnixStream::connect_addr(address)?;
    if !is_of_this_user(&stream) {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut length = [0; LENGTH];
    stream.read_exact(&mut length)?;
    let mut octets = Vec::new();
    stream.read_to_end(&mut octets)?;
    // The one that reads may end while it hands out.
    if octets.len() as u64 == u64::from_le_bytes(length) {
        Ok(octets)
    } else {
        Err(io::ErrorKind::UnexpectedEof.into())
    }
}

/// True if a process of this user has the other end. Abstract sockets are open to all users.
fn is_of_this_user(stream: &UnixStream) -> bool {
    getsockopt(stream, PeerCredentials).is_ok_and(|peer| peer.uid() == getuid().as_raw())
}

/// Hands the octets to so many others, as long as they come in time.
fn serve(door: &UnixListener, octets: &[u8], others: usize) {
    let until = Instant::now() + SERVED;
    let mut door_opens = [PollFd::new(door.as_fd(), PollFlags::POLLIN)];
    let mut served = 0;
    while served < others {
        let left = until.saturating_duration_since(Instant::now()).as_millis() as u16;
        if !matches!(poll(&mut door_opens, left), Ok(1)) {
            return;
        }
        let Ok((mut stream, _)) = door.accept() else {
            return;
        };
        if !is_of_this_user(&stream) {
            continue;
        }
        served += 1;
        // One that has gone reads itself.
        let _ = (stream.set_write_timeout(Some(PATIENCE)))
            .and_then(|()| stream.write_all(&(octets.len() as u64).to_le_bytes()))
            .and_then(|()| stream.write_all(octets));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn name(of: &str) -> String {
        format!("heddle-test-{}-{of}", std::process::id())
    }

    #[test]
    fn one_reads_for_all_that_come() {
        let (name, reads) = (name("all"), AtomicUsize::new(0));
        let lines = vec![7; 1 << 20];
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let got = read_once(
                        &name,
                        |_| 7,
                        || {
                            reads.fetch_add(1, Ordering::Relaxed);
                            thread::sleep(Duration::from_millis(50));
                            Some(lines.clone())
                        },
                    );
                    assert_eq!(got, Some(lines.clone()));
                });
            }
        });
        assert_eq!(reads.load(Ordering::Relaxed), 1);
        // The name is free again.
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        let came = Instant::now();
        while ask(&address).is_ok() || UnixListener::bind_addr(&address).is_err() {
            assert!(came.elapsed() < SERVED / 2);
        }
    }

    #[test]
    fn who_gets_no_answer_reads_itself() {
        let name = name("none");
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        let door = UnixListener::bind_addr(&address).unwrap();
        let unheard = read_once(&name, |_| 1, || Some(vec![1]));
        assert_eq!(unheard, Some(vec![1]));
        // Half of what was promised.
        thread::scope(|scope| {
            scope.spawn(|| {
                // The one that came above has gone.
                for _ in 0..2 {
                    let (mut stream, _) = door.accept().unwrap();
                    let _ = stream.write_all(&2u64.to_le_bytes());
                    let _ = stream.write_all(&[9]);
                }
            });
            assert_eq!(read_once(&name, |_| 1, || Some(vec![2])), Some(vec![2]));
        });
    }

    #[test]
    fn nothing_that_was_read_is_handed_on() {
        assert_eq!(read_once(&name("nothing"), |_| 1, || None), None);
    }
}
