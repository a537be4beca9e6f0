//! What each rank of a host would do alike, one of them does, and hands its share to each other one: a launcher
//! serves one reading after the other, and 128 ranks that each read 1,024 lines would wait for seconds; a plan of a
//! million messages takes 200 MB of memory while it is made.
//!
//! The first that asks takes a name among the kernel's abstract sockets (unix(7)), does the work, and a thread of it
//! serves the others. The name goes with the process, so nothing is left behind. A rank that gets no answer
//! does the work itself.
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

/// The octets for each rank of the host.
pub type HostShares = Vec<(u32, Arc<[u8]>)>;

/// The share of `rank` in what `make` gives, or gave another rank of this host that asked for `name`; that one is
/// waited for as long as `patience` lasts.
pub fn once_a_host(
    name: &str,
    rank: u32,
    patience: Duration,
    make: impl FnOnce() -> Option<HostShares>,
) -> Option<Arc<[u8]>> {
    let Ok(address) = SocketAddr::from_abstract_name(name) else {
        return own_share(make, rank);
    };
    match ask(&address, rank, patience) {
        Ok(octets) => return Some(octets),
        // Nobody has the name.
        Err(e) if e.kind() == io::ErrorKind::ConnectionRefused => {}
        Err(_) => return own_share(make, rank),
    }
    let Ok(door) = UnixListener::bind_addr(&address) else {
        // Another one was faster.
        let share = ask(&address, rank, patience).ok();
        return share.or_else(|| own_share(make, rank));
    };
    let shares = make()?;
    let own = share(&shares, rank).cloned();
    if shares.len() > 1
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

fn own_share(make: impl FnOnce() -> Option<HostShares>, rank: u32) -> Option<Arc<[u8]>> {
    share(&make()?, rank).cloned()
}

fn share(shares: &HostShares, rank: u32) -> Option<&Arc<[u8]>> {
    let found = shares.iter().find(|(of, _)| *of == rank);
    found.map(|(_, share)| share)
}

fn ask(address: &SocketAddr, rank: u32, patience: Duration) -> io::Result<Arc<[u8]>> {
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
        Ok(octets.into())
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
    let mut served = 1;
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
    if let Some(octets) = share(shares, u32::from_le_bytes(rank)) {
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

    fn shares(ranks: u32, octets: &[u8]) -> HostShares {
        (0..ranks).map(|rank| (rank, octets.into())).collect()
    }

    fn impatient(name: &str, octet: u8) -> Option<Arc<[u8]>> {
        once_a_host(name, 1, PATIENCE / 10, || Some(shares(2, &[octet])))
    }

    #[test]
    fn one_works_for_all_that_come() {
        let (name, works) = (name("all"), AtomicUsize::new(0));
        thread::scope(|scope| {
            for rank in 0..8 {
                let (name, works) = (&name, &works);
                scope.spawn(move || {
                    let got = once_a_host(name, rank, PATIENCE, || {
                        works.fetch_add(1, Ordering::Relaxed);
                        thread::sleep(Duration::from_millis(50));
                        let ranks = (0..8).map(|rank| (rank, vec![rank as u8; 1 << 20].into()));
                        Some(ranks.collect())
                    });
                    assert_eq!(got, Some(vec![rank as u8; 1 << 20].into()));
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
    fn who_gets_no_answer_works_alone() {
        let name = name("none");
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        let door = UnixListener::bind_addr(&address).unwrap();
        assert_eq!(impatient(&name, 1), Some([1].into()));
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
            assert_eq!(impatient(&name, 2), Some([2].into()));
        });
    }

    #[test]
    fn a_rank_that_has_no_share_there_works_alone() {
        let name = name("stranger");
        for (rank, ranks) in [(0, 2), (7, 8)] {
            let octets = [rank as u8];
            let got = once_a_host(&name, rank, PATIENCE, || Some(shares(ranks, &octets)));
            assert_eq!(got, Some(octets.into()));
        }
    }

    #[test]
    fn nothing_that_was_made_is_handed_on() {
        assert_eq!(once_a_host(&name("nothing"), 0, PATIENCE, || None), None);
    }
}
