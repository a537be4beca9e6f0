//! CDP: read, write, refuse.
use super::*;

#[test]
fn reads_cdp() {
    assert_eq!(
        NeighbourFrame::read(&octets(CDP)),
        Ok(NeighbourFrame {
            source: PORT,
            message: NeighbourPdu::Cdp(cdp())
        })
    );
}

#[test]
fn writes_cdp() {
    // The frame of lldpd without its version and platform.
    let expected = "01 08 0000 00010006 7331 00020011 00000001 0101cc0004 0a090001 00030008 \
                    73777033 00040008 00000008";
    let (written, expected) = (cdp().write(), octets(expected));
    assert_eq!(
        (&written[..2], &written[4..]),
        (&expected[..2], &expected[4..])
    );
    assert!(
        CdpAnnouncement::read(&written).is_ok(),
        "and the checksum is right"
    );
    let frame = NeighbourFrame {
        source: PORT,
        message: NeighbourPdu::Cdp(cdp()),
    }
    .write();
    assert_eq!(
        (&frame[..12], &frame[14..22]),
        (&octets(CDP)[..12], &octets(CDP)[14..22])
    );
}

/// Recorded from a switch. 0x2893 above is the checksum over 75 octets, the last of which is below
/// 0x80. Cisco's devices add the last octet as the low one of a word, and from 0x80 on as a
/// negative number less one. RFC 1071 adds it as the high one.
#[test]
fn an_odd_last_octet_is_summed_in_either_way() {
    let with = |last: u8, sum: u16| {
        let mut octets = octets("0200 0000 00010005 61 00030005 62 00050005 00");
        octets[2..4].copy_from_slice(&sum.to_be_bytes());
        *octets.last_mut().unwrap() = last;
        CdpAnnouncement::read(&octets).is_ok()
    };
    // The words before the last octet: 0200 0001 0005 6100 0300 0562 0005 0005.
    let rest: u16 = 0x0200 + 0x0001 + 0x0005 + 0x6100 + 0x0300 + 0x0562 + 0x0005 + 0x0005;
    for (last, word) in [(0x41, 0x0041), (0x41, 0x4100), (0x90, 0x9000)] {
        assert!(with(last, !(rest + word)), "{last:02x} as {word:04x}");
    }
    // 0xff8f carries.
    assert!(with(0x90, !(rest.wrapping_add(0xff8f) + 1)));
    assert!(!with(0x41, !rest) && !with(0x90, !(rest + 0x90)));
}

#[test]
fn refuses_cdp() {
    let sealed =
        |content: &str| CdpAnnouncement::read(&cdp::sealed(octets(content))).map_err(|e| e.problem);
    let whole = "02b4 0000 00010006 7331 00030008 73777033";
    assert!(sealed(whole).is_ok());
    for (content, why) in [
        (
            "03b4 0000 00010006 7331 00030008 73777033",
            "neither version 1 nor 2",
        ),
        (
            "02b4 0000 00010003 7331 00030008 73777033",
            "a TLV that runs past the end, or is shorter than its head",
        ),
        (
            "02b4 0000 00010006 7331 00030009 73777033",
            "a TLV that runs past the end, or is shorter than its head",
        ),
        (
            "02b4 0000 00010006 7331 000300",
            "a TLV that runs past the end, or is shorter than its head",
        ),
        ("02b4 0000 00030008 73777033", "no device ID"),
        ("02b4 0000 00010004 00030008 73777033", "no device ID"),
        ("02b4 0000 00010006 7331", "no port ID"),
    ] {
        assert_eq!(sealed(content), Err(why), "{content}");
    }
    assert_eq!(
        CdpAnnouncement::read(&octets(whole)).map_err(|e| e.problem),
        Err("a wrong checksum")
    );
    assert_eq!(
        CdpAnnouncement::read(&[2, 180, 0]).map_err(|e| e.problem),
        Err("ends within its head")
    );
    let strange_addresses =
        "02b4 0000 00010006 7331 00030008 73777033 00020013 ffffffff 0101cc0004 0a090001 01ff";
    assert_eq!(
        sealed(strange_addresses).map(|a| a.addresses),
        Ok(vec![address("10.9.0.1")]),
        "as far as they are whole"
    );
}
