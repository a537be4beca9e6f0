//! Ethernet frames (IEEE 802.3-2018, 3.2.6; tags of IEEE 802.1Q-2018, 9.5).
use super::FrameError;
use inventory::Mac;

/// A frame without its tags and its check sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EthernetFrame<'f> {
    /// The destination address.
    pub destination: Mac,
    /// The source address.
    pub source: Mac,
    /// The content.
    pub payload: EthernetPayload<'f>,
}

/// The content of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EthernetPayload<'f> {
    /// A protocol with an EtherType; the content may end in padding.
    Typed {
        ethertype: u16,
        /// The octets after the EtherType.
        content: &'f [u8],
    },
    /// Logical link control, without padding.
    Llc(&'f [u8]),
}

/// Tags of VLANs and of providers.
const TAGS: [u16; 2] = [0x8100, 0x88a8];

/// The number of tags removed at most: a provider's and a customer's.
const MOST_TAGS: usize = 2;

/// The lowest EtherType. A smaller value of the field is a length.
const LEAST_ETHERTYPE: u16 = 0x600;

/// The octets that a frame is padded to, without its check sequence.
const SHORTEST: usize = 60;

impl<'f> EthernetFrame<'f> {
    /// Reads a frame.
    ///
    /// # Errors
    /// If the frame is shorter than its type or length field requires.
    pub fn read(octets: &'f [u8]) -> Result<EthernetFrame<'f>, FrameError> {
        let (addresses, rest) = octets
            .split_first_chunk::<12>()
            .ok_or(bad(octets.len(), "ends within the addresses"))?;
        let [a, b, c, d, e, f, source @ ..] = *addresses;
        let (mut field, mut rest) = word(rest).ok_or(bad(octets.len(), "ends before its type"))?;
        for _ in 0..MOST_TAGS {
            if TAGS.contains(&field) {
                let inner = rest.get(2..).and_then(word);
                (field, rest) = inner.ok_or(bad(octets.len(), "ends within a tag"))?;
            }
        }
        let payload = if field >= LEAST_ETHERTYPE {
            EthernetPayload::Typed {
                ethertype: field,
                content: rest,
            }
        } else {
            EthernetPayload::Llc(
                rest.get(..usize::from(field))
                    .ok_or(bad(octets.len(), "shorter than its length field says"))?,
            )
        };
        Ok(EthernetFrame {
            destination: Mac([a, b, c, d, e, f]),
            source: Mac(source),
            payload,
        })
    }

    /// Writes the frame, untagged and padded. Content beyond 1,500 octets is cut, because Ethernet
    /// does not carry more.
    pub fn write(&self) -> Vec<u8> {
        let (field, content) = match self.payload {
            EthernetPayload::Typed { ethertype, content } => (Some(ethertype), content),
            EthernetPayload::Llc(content) => (None, content),
        };
        let content = &content[..content.len().min(1500)];
        let field = field.unwrap_or(content.len() as u16);
        let mut octets = [
            &self.destination.0[..],
            &self.source.0,
            &field.to_be_bytes(),
            content,
        ]
        .concat();
        octets.resize(octets.len().max(SHORTEST), 0);
        octets
    }
}

/// The first two octets as a number, and the rest.
fn word(octets: &[u8]) -> Option<(u16, &[u8])> {
    octets
        .split_first_chunk()
        .map(|(word, rest)| (u16::from_be_bytes(*word), rest))
}

fn bad(at: usize, problem: &'static str) -> FrameError {
    FrameError::new("Ethernet", at, problem)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: [u8; 12] = [0x01, 0x80, 0xc2, 0, 0, 0x0e, 2, 0, 0, 0, 0, 7];

    fn read(rest: &[u8]) -> Result<EthernetPayload<'static>, FrameError> {
        let octets = [&HEADER, rest].concat().leak();
        EthernetFrame::read(octets).map(|frame| frame.payload)
    }

    #[test]
    fn reads_types_lengths_and_tags() {
        assert_eq!(
            read(&[0x88, 0xcc, 1, 2]),
            Ok(EthernetPayload::Typed {
                ethertype: 0x88cc,
                content: &[1, 2]
            })
        );
        assert_eq!(
            read(&[0, 2, 1, 2, 0, 0]),
            Ok(EthernetPayload::Llc(&[1, 2])),
            "padding is taken off"
        );
        let tagged = [0x88, 0xa8, 0, 5, 0x81, 0, 0, 7, 0x88, 0xcc, 9];
        assert_eq!(
            read(&tagged),
            Ok(EthernetPayload::Typed {
                ethertype: 0x88cc,
                content: &[9]
            })
        );
        let thrice = [0x81, 0, 0, 1, 0x81, 0, 0, 2, 0x81, 0, 0, 3];
        assert_eq!(
            read(&thrice),
            Ok(EthernetPayload::Typed {
                ethertype: 0x8100,
                content: &[0, 3]
            }),
            "a third tag is some other protocol"
        );
    }

    #[test]
    fn writes_with_padding() {
        let (destination, source) = (Mac([0x01, 0x80, 0xc2, 0, 0, 0x0e]), Mac([2, 0, 0, 0, 0, 7]));
        let octets = EthernetFrame {
            destination,
            source,
            payload: EthernetPayload::Llc(&[0x42, 0x42, 3]),
        }
        .write();
        assert_eq!(
            (&octets[..12], &octets[12..18], octets.len()),
            (&HEADER[..], &[0, 3, 0x42, 0x42, 3, 0][..], 60)
        );
        assert_eq!(
            EthernetFrame::read(&octets),
            Ok(EthernetFrame {
                destination,
                source,
                payload: EthernetPayload::Llc(&[0x42, 0x42, 3])
            })
        );
        let long = EthernetFrame {
            destination,
            source,
            payload: EthernetPayload::Llc(&[0; 2000]),
        }
        .write();
        assert_eq!(
            (long.len(), &long[12..14]),
            (1514, &1500u16.to_be_bytes()[..])
        );
    }

    #[test]
    fn refuses_what_ends_early() {
        for (rest, problem) in [
            (&[][..], "ends before its type"),
            (&[0x88], "ends before its type"),
            (&[0x81, 0, 0], "ends within a tag"),
            (&[0x81, 0, 0, 5, 0x88], "ends within a tag"),
            (&[0, 3, 1, 2], "shorter than its length field says"),
        ] {
            assert_eq!(read(rest).map_err(|e| e.problem), Err(problem), "{rest:?}");
        }
        assert_eq!(
            EthernetFrame::read(&HEADER[..11]).map_err(|e| e.problem),
            Err("ends within the addresses")
        );
    }
}
