//! What each rank of a host would do alike, one of them does, and hands its share to each other one: a launcher
//! serves one reading after the other, and 128 ranks that each read 1,024 lines would wait for seconds; a plan of a
//! million messages takes 200 MB of memory while it is made.
//!
//! The first that asks takes a name among the kernel's abstract sockets (unix(7)), does the work, and a thread of it
//! serves the others. The name goes with the process, so nothing is left behind. A rank that gets no answer
//! works for itself alone.
use crate::helper::above_standard_streams;
use crate::signals;
use nix::poll::{PollFd, PollFlags, poll};
use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
use nix::unistd::getuid;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// The others are served for so long: ranks come to a call together, or late by minutes.
const SERVED: Duration = Duration::from_secs(5);
/// One that is connected says who it is, and takes its share, within this time.
const TAKEN: Duration = Duration::from_secs(3);
/// The octets of the length, before those of the share.
const LENGTH: usize = 8;

/// The octets for each other rank of the host.
pub type HostShares = Vec<(u32, Arc<[u8]>)>;

/// The rank that does the work, as far as another one of its host knows.
enum HostTurn {
    /// This rank, which has the name.
    Ours(UnixListener),
    /// Another rank did it, and this is this one's share.
    Done(Vec<u8>),
    /// Another rank did not hand it over, or cannot be asked.
    Unknown,
}

/// What is there for `rank`: from the work `for_all` ranks of the host if none of them has asked for `name` yet, or
/// what it can `read` of the share that another one hands over within `patience`, or else from the work `alone`.
pub fn once_a_host<T>(
    name: &str,
    rank: u32,
    patience: Duration,
    for_all: impl FnOnce() -> (T, HostShares),
    read: impl FnOnce(&[u8]) -> Option<T>,
    alone: impl FnOnce() -> T,
) -> T {
    match turn(name, rank, patience) {
        HostTurn::Ours(door) => {
            let (own, shares) = for_all();
            if !shares.is_empty()
                && let Ok(door) = above_standard_streams(door)
            {
                let door = UnixListener::from(door);
                // Without a thread the others do the work themselves.
                let _ = signals::with_signals_blocked(|| {
                    thread::Builder::new()
                        .name("heddle-shares".into())
                        .spawn(move || serve(&door, &shares))
                });
            }
            own
        }
        HostTurn::Done(octets) => read(&octets).unwrap_or_else(alone),
        HostTurn::Unknown => alone(),
    }
}

fn turn(name: &str, rank: u32, patience: Duration) -> HostTurn {
    let Ok(address) = SocketAddr::from_abstract_name(name) else {
        return HostTurn::Unknown;
    };
    let mut asked = ask(&address, rank, patience);
    if let Err(e) = &asked
        && e.kind() == io::ErrorKind::ConnectionRefused
    {
        // Nobody has the name.
        if let Ok(door) = UnixListener::bind_addr(&address) {
            return HostTurn::Ours(door);
        }
        // Another one was faster.
        asked = ask(&address, rank, patience);
    }
    asked.map_or(HostTurn::Unknown, HostTurn::Done)
}

fn ask(address: &SocketAddr, rank: u32, patience: Duration) -> io::Result<Vec<u8>> {
    let mut stream = UnixStream::connect_addr(address)?;
    if !is_of_this_user(&stream) {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    stream.set_read_timeout(Some(patience))?;
    stream.write_all(&rank.to_le_bytes())?;
    let mut length = [0; LENGTH];
    stream.read_exact(&mut length)?;
    let mut octets = Vec::new();
    stream.read_to_end(&mut octets)?;
    // The one that serves may end while it hands out.
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

/// Hands their shares to the others, as long as they come in time.
fn serve(door: &UnixListener, shares: &HostShares) {
    let until = Instant::now() + SERVED;
    let mut door_opens = [PollFd::new(door.as_fd(), PollFlags::POLLIN)];
    let mut served = 0;
    while served < shares.len() {
        let left = until.saturating_duration_since(Instant::now()).as_millis() as u16;
        if !matches!(poll(&mut door_opens, left), Ok(1)) {
            return;
        }
        let Ok((stream, _)) = door.accept() else {
            return;
        };
        if is_of_this_user(&stream) {
            served += 1;
            // One that has gone does the work itself.
            let _ = hand_over(stream, shares);
        }
    }
}

fn hand_over(mut stream: UnixStream, shares: &HostShares) -> io::Result<()> {
    stream.set_read_timeout(Some(TAKEN))?;
    stream.set_write_timeout(Some(TAKEN))?;
    let mut rank = [0; 4];
    stream.read_exact(&mut rank)?;
    let rank = u32::from_le_bytes(rank);
    if let Some((_, octets)) = shares.iter().find(|(of, _)| *of == rank) {
        stream.write_all(&(octets.len() as u64).to_le_bytes())?;
        stream.write_all(octets)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    const PATIENCE: Duration = Duration::from_secs(3);

    fn name(of: &str) -> String {
        format!("heddle-test-{}-{of}", std::process::id())
    }

    fn kept(octets: &[u8]) -> Option<Vec<u8>> {
        Some(octets.to_vec())
    }

    fn never_for_all() -> (Vec<u8>, HostShares) {
        unreachable!("another rank has the name")
    }

    fn never_alone() -> Vec<u8> {
        unreachable!("this rank has a share")
    }

    /// Another rank than 1 has the name.
    fn of_the_second(name: &str, alone: u8) -> Vec<u8> {
        once_a_host(name, 1, PATIENCE / 10, never_for_all, kept, || vec![alone])
    }

    #[test]
    fn one_works_for_all_that_come() {
        let (name, works) = (name("all"), AtomicUsize::new(0));
        thread::scope(|scope| {
            for rank in 0..8 {
                let (name, works) = (&name, &works);
                scope.spawn(move || {
                    let got = once_a_host(
                        name,
                        rank,
                        PATIENCE,
                        || {
                            works.fetch_add(1, Ordering::Relaxed);
                            thread::sleep(Duration::from_millis(50));
                            let others = (0..8).filter(|other| *other != rank);
                            let shares =
                                others.map(|rank| (rank, vec![rank as u8; 1 << 20].into()));
                            (vec![rank as u8; 1 << 20], shares.collect())
                        },
                        kept,
                        never_alone,
                    );
                    assert_eq!(got, vec![rank as u8; 1 << 20]);
                });
            }
        });
        assert_eq!(works.load(Ordering::Relaxed), 1);
        // The name is free again.
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        let came = Instant::now();
        while ask(&address, 0, PATIENCE).is_ok() || UnixListener::bind_addr(&address).is_err() {
            assert!(came.elapsed() < SERVED / 2);
        }
    }

    #[test]
    fn who_gets_no_answer_works_for_itself_alone() {
        let name = name("none");
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        let door = UnixListener::bind_addr(&address).unwrap();
        assert_eq!(of_the_second(&name, 1), [1]);
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
            assert_eq!(of_the_second(&name, 2), [2]);
        });
    }

    #[test]
    fn a_rank_that_has_no_share_there_or_cannot_read_it_works_alone() {
        for (of, share) in [("stranger", 7), ("unreadable", 1)] {
            let name = name(of);
            let shares = vec![(share, [9].into()), (8, [9].into())];
            let first = once_a_host(&name, 0, PATIENCE, || (vec![0], shares), kept, never_alone);
            assert_eq!(first, [0]);
            let got = once_a_host(&name, 1, PATIENCE, never_for_all, |_| None, || vec![1]);
            assert_eq!(got, [1]);
        }
    }
}
