//! The first octets of a connection: the caller's rank, and the proof that it belongs to this job.
//! A caller of another byte order is refused. Who makes a connection anew says how many octets have
//! come to it, and receives the same, in eight octets.
//!
//! | octets | what |
//! |---|---|
//! | 8 | `heddle` and the version of this protocol, in two octets of the caller's byte order |
//! | 4 | the caller's rank |
//! | 4 | 0: a first call; 1: a connection is made anew; 2: the other rank is to make its own anew |
//! | 8 | for 1: the octets that have come to the caller |
//! | 32 | the communicator's secret |
use std::fmt;

/// Octets of a greeting.
pub const LENGTH: usize = 56;

const NAME: &[u8; 6] = b"heddle";
const VERSION: u16 = 2;
/// The octets before the secret.
const OPEN: usize = 24;

/// A number known to the ranks of one communicator and to no stranger; exchanged through MPI.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct MeshSecret(pub [u8; 32]);

impl fmt::Debug for MeshSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// The first octets of a rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MeshGreeting {
    /// Who calls.
    pub rank: u32,
    /// The purpose of the connection.
    pub wish: MeshWish,
}

/// The purpose of a rank that calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MeshWish {
    /// The first connection.
    Begin,
    /// It is made anew; so many octets have come to the caller.
    GoOn(u64),
    /// The connection that the other rank makes is broken: it is to make it anew.
    CallMe,
}

/// The octets of a greeting.
pub fn write(greeting: MeshGreeting, secret: &MeshSecret) -> [u8; LENGTH] {
    let mut octets = [0; LENGTH];
    octets[..6].copy_from_slice(NAME);
    octets[6..8].copy_from_slice(&VERSION.to_ne_bytes());
    octets[8..12].copy_from_slice(&greeting.rank.to_ne_bytes());
    let (wish, came) = match greeting.wish {
        MeshWish::Begin => (0u32, 0),
        MeshWish::GoOn(came) => (1, came),
        MeshWish::CallMe => (2, 0),
    };
    octets[12..16].copy_from_slice(&wish.to_ne_bytes());
    octets[16..OPEN].copy_from_slice(&came.to_ne_bytes());
    octets[OPEN..].copy_from_slice(&secret.0);
    octets
}

/// The greeting of the rank that calls; `None` for a stranger.
pub fn read(octets: &[u8; LENGTH], secret: &MeshSecret) -> Option<MeshGreeting> {
    // Every octet is looked at, so that the time it takes says nothing of the secret.
    let different = octets[OPEN..]
        .iter()
        .zip(&secret.0)
        .fold(0, |all, (a, b)| all | (a ^ b));
    let known = octets[..6] == *NAME && octets[6..8] == VERSION.to_ne_bytes() && different == 0;
    let number = |at: usize| octets[at..].first_chunk().copied().map(u32::from_ne_bytes);
    let came = octets[16..].first_chunk().copied().map(u64::from_ne_bytes);
    let wish = match number(12)? {
        0 => MeshWish::Begin,
        1 => MeshWish::GoOn(came?),
        2 => MeshWish::CallMe,
        3.. => return None,
    };
    let rank = number(8)?;
    known.then_some(MeshGreeting { rank, wish })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: MeshSecret = MeshSecret([7; 32]);

    #[test]
    fn a_member_is_known_by_rank() {
        let wishes = [
            MeshWish::Begin,
            MeshWish::GoOn(0),
            MeshWish::GoOn(u64::MAX),
            MeshWish::CallMe,
        ];
        for wish in wishes {
            let greeting = MeshGreeting { rank: 70_000, wish };
            assert_eq!(read(&write(greeting, &SECRET), &SECRET), Some(greeting));
        }
    }

    #[test]
    fn strangers_are_refused_whatever_octet_is_wrong() {
        let greeting = MeshGreeting {
            rank: 3,
            wish: MeshWish::Begin,
        };
        for at in (0..8).chain(13..16).chain(OPEN..LENGTH) {
            let mut octets = write(greeting, &SECRET);
            octets[at] ^= 1;
            assert_eq!(read(&octets, &SECRET), None, "octet {at}");
        }
        assert_eq!(read(&[0; LENGTH], &SECRET), None);
        assert_eq!(format!("{SECRET:?}"), "Secret");
    }
}
