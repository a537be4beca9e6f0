//! The first octets of a connection: the caller's rank, and the proof that it belongs to this job.
//! A caller of another byte order is refused.
//!
//! | octets | what |
//! |---|---|
//! | 8 | `heddle` and the version of this protocol, in two octets of the caller's byte order |
//! | 4 | the caller's rank |
//! | 32 | the communicator's secret |
use std::fmt;

/// Octets of a greeting.
pub const LENGTH: usize = 44;

const NAME: &[u8; 6] = b"heddle";
const VERSION: u16 = 1;

/// A number known to the ranks of one communicator and to no stranger; exchanged through MPI.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct MeshSecret(pub [u8; 32]);

impl fmt::Debug for MeshSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// The greeting of `rank`.
pub fn write(rank: u32, secret: &MeshSecret) -> [u8; LENGTH] {
    let mut octets = [0; LENGTH];
    octets[..6].copy_from_slice(NAME);
    octets[6..8].copy_from_slice(&VERSION.to_ne_bytes());
    octets[8..12].copy_from_slice(&rank.to_ne_bytes());
    octets[12..].copy_from_slice(&secret.0);
    octets
}

/// The rank that calls; `None` for a stranger.
pub fn read(octets: &[u8; LENGTH], secret: &MeshSecret) -> Option<u32> {
    // Every octet is looked at, so that the time it takes says nothing of the secret.
    let different = octets[12..]
        .iter()
        .zip(&secret.0)
        .fold(0, |all, (a, b)| all | (a ^ b));
    let known = octets[..6] == *NAME && octets[6..8] == VERSION.to_ne_bytes() && different == 0;
    let rank = u32::from_ne_bytes([octets[8], octets[9], octets[10], octets[11]]);
    known.then_some(rank)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: MeshSecret = MeshSecret([7; 32]);

    #[test]
    fn a_member_is_known_by_rank() {
        assert_eq!(read(&write(70_000, &SECRET), &SECRET), Some(70_000));
    }

    #[test]
    fn strangers_are_refused_whatever_octet_is_wrong() {
        for at in (0..8).chain(12..LENGTH) {
            let mut octets = write(3, &SECRET);
            octets[at] ^= 1;
            assert_eq!(read(&octets, &SECRET), None, "octet {at}");
        }
        assert_eq!(read(&[0; LENGTH], &SECRET), None);
        assert_eq!(format!("{SECRET:?}"), "Secret");
    }
}
