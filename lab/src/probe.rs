//! One request to the SNMP agent of the same node, which shows when it is up. The crate `agent` has
//! the real client, but the lab may not import it, and a request of fixed shape is enough here.
use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::time::Duration;

/// Sends GETNEXT of `subtree` (encoded, without the leading tag) to the agent on this node. True if
/// it answers with an object of the subtree.
pub(crate) fn answers_from(subtree: &[u8], patience: Duration) -> bool {
    ask(&get_next(subtree), patience).is_ok_and(|answer| is_within(&answer, subtree))
}

/// Sets object `name` to a number of one octet, with community `private`. True if the agent
/// answered at all.
pub(crate) fn set(name: &[u8], value: u8, patience: Duration) -> bool {
    ask(
        &message(b"private", 0xa3, name, &tlv(0x02, &[value])),
        patience,
    )
    .is_ok()
}

fn ask(request: &[u8], patience: Duration) -> io::Result<Vec<u8>> {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    socket.set_read_timeout(Some(patience))?;
    socket.send_to(request, (Ipv4Addr::LOCALHOST, 161))?;
    let mut answer = vec![0; 1500];
    let length = socket.recv(&mut answer)?;
    answer.truncate(length);
    Ok(answer)
}

/// An SNMPv2c GetNextRequest-PDU (RFC 3416, section 4.2.2) for community `public`.
fn get_next(subtree: &[u8]) -> Vec<u8> {
    message(b"public", 0xa1, subtree, &tlv(0x05, &[]))
}

/// A request with one variable binding; `value` is encoded.
fn message(community: &[u8], pdu: u8, name: &[u8], value: &[u8]) -> Vec<u8> {
    let binding = tlv(0x30, &[&tlv(0x06, name), value].concat());
    let pdu = tlv(
        pdu,
        &[tlv(0x02, &[1]), zero(), zero(), tlv(0x30, &binding)].concat(),
    );
    // version(1) is SNMPv2c (RFC 1901, 3).
    tlv(0x30, &[tlv(0x02, &[1]), tlv(0x04, community), pdu].concat())
}

fn zero() -> Vec<u8> {
    tlv(0x02, &[0])
}

/// A BER element with a length of one octet.
fn tlv(tag: u8, content: &[u8]) -> Vec<u8> {
    debug_assert!(content.len() < 128);
    [&[tag, content.len() as u8][..], content].concat()
}

/// True if a response names an object below `subtree`.
fn is_within(answer: &[u8], subtree: &[u8]) -> bool {
    let n = subtree.len();
    answer
        .windows(n + 2)
        .any(|w| w[0] == 0x06 && usize::from(w[1]) > n && w[2..] == *subtree)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn asks_and_understands() {
        let dot1d_bridge = [0x2b, 6, 1, 2, 1, 17];
        let request = get_next(&dot1d_bridge);
        assert_eq!(request.len(), usize::from(request[1]) + 2);
        assert!(
            !is_within(&request, &dot1d_bridge),
            "the request itself is not an answer"
        );
        let set = message(b"private", 0xa3, &dot1d_bridge, &tlv(0x02, &[1]));
        assert_eq!(
            (set[4 + 3 + 7], set[set.len() - 3..].to_vec()),
            (0xa3, vec![2, 1, 1])
        );
        let answer = tlv(0x06, &[0x2b, 6, 1, 2, 1, 17, 1, 1, 0]);
        assert!(is_within(&answer, &dot1d_bridge));
        assert!(!is_within(
            &tlv(0x06, &[0x2b, 6, 1, 2, 1, 31, 1, 1, 0]),
            &dot1d_bridge
        ));
    }
}
