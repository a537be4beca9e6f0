//! Messages on a stream: four octets of length, the least significant first, and the message.
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{self, Write};

/// More than any epoch needs. A longer message means that the other end is out of step.
const LONGEST: usize = 256 << 20;

/// Writes a message whole.
pub(super) fn send(mut to: impl Write, message: &impl Serialize) -> io::Result<()> {
    let body = postcard::to_stdvec(message).map_err(io::Error::other)?;
    let length = u32::try_from(body.len()).map_err(io::Error::other)?;
    to.write_all(&[&length.to_le_bytes()[..], &body].concat())
}

/// Octets that have come, up to any point of a message.
#[derive(Debug, Default)]
pub(super) struct IncomingOctets {
    octets: Vec<u8>,
}

impl IncomingOctets {
    pub(super) fn add(&mut self, octets: &[u8]) {
        self.octets.extend_from_slice(octets);
    }

    /// True if a message has begun that has not come whole.
    pub(super) fn is_partial(&self) -> bool {
        !self.octets.is_empty()
    }

    /// The next whole message.
    pub(super) fn next<M: DeserializeOwned>(&mut self) -> io::Result<Option<M>> {
        let Some(&[a, b, c, d]) = self.octets.first_chunk() else {
            return Ok(None);
        };
        let end = 4 + u32::from_le_bytes([a, b, c, d]) as usize;
        if end > LONGEST {
            return Err(io::Error::other("a message of absurd length"));
        }
        let Some(body) = self.octets.get(4..end) else {
            return Ok(None);
        };
        let message = postcard::from_bytes(body).map_err(io::Error::other)?;
        self.octets.drain(..end);
        Ok(Some(message))
    }
}

#[cfg(test)]
mod tests {
    use super::super::HelperRequest;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn messages_arrive_whole_however_they_are_cut() {
        let messages = [
            HelperRequest::Look,
            HelperRequest::Record {
                name: "a.json".into(),
                json: vec![7; 300],
            },
            HelperRequest::Look,
        ];
        let mut sent = Vec::new();
        messages
            .iter()
            .for_each(|message| send(&mut sent, message).unwrap());
        for size in [1, 3, 5, sent.len()] {
            let (mut incoming, mut came) = (IncomingOctets::default(), Vec::new());
            for octets in sent.chunks(size) {
                incoming.add(octets);
                while let Some(message) = incoming.next::<HelperRequest>().unwrap() {
                    came.push(message);
                }
            }
            assert_eq!(
                (came.as_slice(), incoming.is_partial()),
                (&messages[..], false),
                "{size} octets at a time"
            );
        }
    }

    #[test]
    fn absurd_lengths_are_refused() {
        let mut incoming = IncomingOctets::default();
        incoming.add(&[255; 4]);
        assert!(incoming.next::<HelperRequest>().is_err());
    }

    proptest! {
        #[test]
        fn any_octets_are_read_or_refused(octets in prop::collection::vec(any::<u8>(), 0..64)) {
            let mut incoming = IncomingOctets::default();
            incoming.add(&octets);
            let _ = incoming.next::<HelperRequest>();
        }
    }
}
