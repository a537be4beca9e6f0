//! The IP addresses of stations: IP-MIB ipNetToMediaTable and ipNetToPhysicalTable (RFC 4293).
use super::{TableObjects, mac};
use crate::walk::WalkAnswers;
use inventory::observation::ArpEntry;
use std::collections::BTreeSet;
use std::net::IpAddr;

const MEDIA: &[u32] = &[1, 3, 6, 1, 2, 1, 4, 22, 1, 2];
const PHYSICAL: &[u32] = &[1, 3, 6, 1, 2, 1, 4, 35, 1, 4];

pub(crate) const OBJECTS: TableObjects = TableObjects {
    scalars: &[],
    columns: &[MEDIA, PHYSICAL],
};

pub(crate) fn read(answers: &WalkAnswers) -> Vec<ArpEntry> {
    let media = answers
        .column(MEDIA)
        .filter_map(|(index, value)| match index {
            [if_index, address @ ..] => Some((*if_index, ip(address)?, value)),
            [] => None,
        });
    // ifIndex, InetAddressType, length, address.
    let physical = answers
        .column(PHYSICAL)
        .filter_map(|(index, value)| match index {
            [if_index, address @ ..] => Some((*if_index, typed_ip(address)?, value)),
            [] => None,
        });
    let entries = media.chain(physical).filter_map(|(if_index, ip, value)| {
        Some(ArpEntry {
            ip,
            mac: mac(Some(value))?,
            if_index,
        })
    });
    entries.collect::<BTreeSet<_>>().into_iter().collect()
}

/// An InetAddressType, the address's length and the address (RFC 4001). An address of one link may have the
/// number of the link behind it.
pub(super) fn typed_ip(index: &[u32]) -> Option<IpAddr> {
    match index {
        [1 | 2, length, address @ ..] if address.len() == *length as usize => ip(address),
        [3 | 4, length, address @ .., _, _, _, _] if address.len() + 4 == *length as usize => {
            ip(address)
        }
        _ => None,
    }
}

pub(super) fn ip(parts: &[u32]) -> Option<IpAddr> {
    let octets: Vec<u8> = parts
        .iter()
        .map(|&p| u8::try_from(p).ok())
        .collect::<Option<_>>()?;
    <[u8; 4]>::try_from(octets.as_slice())
        .map(IpAddr::from)
        .or_else(|_| <[u8; 16]>::try_from(octets.as_slice()).map(IpAddr::from))
        .ok()
}

#[cfg(test)]
mod tests {
    use super::super::tests::{answers, octets};
    use super::*;
    use inventory::Mac;

    #[test]
    fn joins_both_tables() {
        let six = format!(
            "1.3.6.1.2.1.4.35.1.4.2.2.16.254.128{}",
            ".0".repeat(13) + ".1"
        );
        let entries = read(&answers(&[
            (
                "1.3.6.1.2.1.4.22.1.2.2.10.0.0.1",
                octets([2, 0, 0, 0, 0, 1]),
            ),
            (
                "1.3.6.1.2.1.4.35.1.4.2.1.4.10.0.0.1",
                octets([2, 0, 0, 0, 0, 1]),
            ),
            (&six, octets([2, 0, 0, 0, 0, 2])),
        ]));
        assert_eq!(
            entries,
            [
                ArpEntry {
                    ip: "10.0.0.1".parse().unwrap(),
                    mac: Mac([2, 0, 0, 0, 0, 1]),
                    if_index: 2
                },
                ArpEntry {
                    ip: "fe80::1".parse().unwrap(),
                    mac: Mac([2, 0, 0, 0, 0, 2]),
                    if_index: 2
                }
            ]
        );
    }

    #[test]
    fn refuses_incomplete_entries() {
        let entries = read(&answers(&[
            ("1.3.6.1.2.1.4.22.1.2.2.10.0.0.1", octets([])),
            ("1.3.6.1.2.1.4.22.1.2.2.10.0.0", octets([2, 0, 0, 0, 0, 1])),
            (
                "1.3.6.1.2.1.4.35.1.4.2.1.9.10.0.0.1",
                octets([2, 0, 0, 0, 0, 1]),
            ),
            (
                "1.3.6.1.2.1.4.22.1.2.2.10.0.0.300",
                octets([2, 0, 0, 0, 0, 1]),
            ),
        ]));
        assert_eq!(entries, []);
    }
}
