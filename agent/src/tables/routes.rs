//! The routers next to a device: the next hops of its routes, from IP-FORWARD-MIB's inetCidrRouteTable and,
//! where that is empty, ipCidrRouteTable (RFC 4292), and its peers in BGP4-MIB (RFC 4273).
use super::arp::{ip, typed_ip};
use super::{TableObjects, number};
use crate::walk::WalkAnswers;
use inventory::observation::NextRouters;
use std::collections::BTreeSet;
use std::net::IpAddr;

/// inetCidrRouteIfIndex, indexed by the destination, the length of its prefix, a policy and the next hop.
const INET_IF_INDEX: &[u32] = &[1, 3, 6, 1, 2, 1, 4, 24, 7, 1, 7];
/// ipCidrRouteIfIndex, indexed by destination, mask, type of service and next hop.
const CIDR_IF_INDEX: &[u32] = &[1, 3, 6, 1, 2, 1, 4, 24, 4, 1, 5];
/// bgpPeerState, indexed by the peer's address.
const PEER_STATE: &[u32] = &[1, 3, 6, 1, 2, 1, 15, 3, 1, 2];
const PEER_LOCAL_ADDRESS: &[u32] = &[1, 3, 6, 1, 2, 1, 15, 3, 1, 5];
/// established(6), of bgpPeerState.
const ESTABLISHED: u32 = 6;

/// So many routes are read. Next hops are few, and come with the first destinations.
pub(crate) const MOST_ROUTES: usize = 2048;

pub(crate) const OBJECTS: TableObjects = TableObjects {
    scalars: &[],
    columns: &[INET_IF_INDEX, PEER_STATE, PEER_LOCAL_ADDRESS],
};

/// The objects of the older table.
pub(crate) const FURTHER: TableObjects = TableObjects {
    scalars: &[],
    columns: &[CIDR_IF_INDEX],
};

/// The older table, if the device does not serve the newer.
pub(super) fn further(answers: &WalkAnswers) -> Option<TableObjects> {
    let is_newer_served = answers.column(INET_IF_INDEX).next().is_some();
    (!is_newer_served).then_some(FURTHER)
}

pub(crate) fn read(answers: &WalkAnswers) -> NextRouters {
    let newer = answers
        .column(INET_IF_INDEX)
        .filter_map(|(index, value)| Some((number(Some(value))?, inet_next_hop(index)?)));
    let older = answers.column(CIDR_IF_INDEX).filter_map(|(index, value)| {
        // Destination, mask, type of service, next hop.
        let [_, _, _, _, mask @ .., _, _, _, _, _] = index else {
            return None;
        };
        // A mask of zeros is the default route, which tells nothing: see `inet_next_hop`.
        let leads_somewhere = mask.iter().any(|part| *part != 0);
        let next_hop = index.get(9..).and_then(ip).filter(|_| leads_somewhere)?;
        Some((number(Some(value))?, next_hop))
    });
    // The next hop of a network at the device's own interface is 0.0.0.0 or none (RFC 4292).
    let neighbours = newer.chain(older).filter(|(if_index, address)| {
        *if_index != 0 && !address.is_unspecified() && !address.is_loopback()
    });
    let next_hops: BTreeSet<(u32, IpAddr)> = neighbours.collect();
    NextRouters {
        next_hops: next_hops.into_iter().collect(),
        peers: peers(answers),
    }
}

/// The next hop in an index of inetCidrRouteTable: behind the destination, its prefix length, and a policy,
/// which is an object identifier with its length before it. Every device that is managed has a default route,
/// also if it hands on nothing.
fn inet_next_hop(index: &[u32]) -> Option<IpAddr> {
    let destination = *index.get(1)? as usize;
    let rest = index.get(2_usize.checked_add(destination)?..)?;
    match rest {
        [prefix, policy, rest @ ..] if *prefix > 0 => typed_ip(rest.get(*policy as usize..)?),
        _ => None,
    }
}

fn peers(answers: &WalkAnswers) -> Vec<(IpAddr, IpAddr)> {
    let states = answers.column(PEER_STATE);
    let established = states.filter(|(_, state)| number(Some(state)) == Some(ESTABLISHED));
    let peers = established.filter_map(|(index, _)| {
        let own = answers.cell(PEER_LOCAL_ADDRESS, index)?.as_ip()?;
        Some((IpAddr::V4(own), ip(index)?))
    });
    peers.collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::answers;
    use super::*;
    use snmp::Value;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    const INET: &str = "1.3.6.1.2.1.4.24.7.1.7";

    #[test]
    fn next_hops_are_reported_once_by_interface() {
        let link_local = format!(
            "{INET}.2.16{}.64.0.4.20.254.128{}.9.0.0.0.4",
            ".0".repeat(16),
            ".0".repeat(13)
        );
        let routes = read(&answers(&[
            (
                &format!("{INET}.1.4.10.1.0.0.16.2.0.0.1.4.10.0.0.1"),
                Value::Integer(3),
            ),
            (
                &format!("{INET}.1.4.10.2.0.0.16.3.1.3.6.1.4.10.0.0.1"),
                Value::Integer(3),
            ),
            (
                &format!("{INET}.1.4.10.2.0.0.16.2.0.0.1.4.10.0.0.3"),
                Value::Integer(4),
            ),
            // The device's own network, and a route to nowhere.
            (
                &format!("{INET}.1.4.10.0.0.0.31.2.0.0.1.4.0.0.0.0"),
                Value::Integer(3),
            ),
            (
                &format!("{INET}.1.4.0.0.0.0.0.2.0.0.1.4.10.0.0.7"),
                Value::Integer(3),
            ),
            (
                &format!("{INET}.1.4.10.9.0.0.16.2.0.0.1.4.10.0.0.9"),
                Value::Integer(0),
            ),
            (&link_local, Value::Integer(4)),
        ]));
        let expected = [(3, ip("10.0.0.1")), (4, ip("10.0.0.3")), (4, ip("fe80::9"))];
        assert_eq!(routes.next_hops, expected);
        assert_eq!(routes.peers, []);
    }

    #[test]
    fn the_older_table_is_asked_for_where_the_newer_is_empty() {
        let old = (
            "1.3.6.1.2.1.4.24.4.1.5.10.1.0.0.255.255.0.0.0.10.0.0.1",
            Value::Integer(3),
        );
        let new = (
            &*format!("{INET}.1.4.10.1.0.0.16.2.0.0.1.4.10.0.0.1"),
            Value::Integer(3),
        );
        assert!(further(&answers(&[])).is_some());
        assert!(further(&answers(&[new])).is_none());
        let default = "1.3.6.1.2.1.4.24.4.1.5.0.0.0.0.0.0.0.0.0.10.0.0.7";
        let older = read(&answers(&[old, (default, Value::Integer(3))]));
        assert_eq!(older.next_hops, [(3, ip("10.0.0.1"))]);
    }

    #[test]
    fn only_established_peers_count() {
        let cell = |column: u32, peer: &str, value: Value| {
            (format!("1.3.6.1.2.1.15.3.1.{column}.{peer}"), value)
        };
        let own = Value::IpAddress([10, 0, 0, 0]);
        let cells = [
            cell(2, "10.0.0.1", Value::Integer(6)),
            cell(5, "10.0.0.1", own.clone()),
            cell(2, "10.0.0.3", Value::Integer(1)),
            cell(5, "10.0.0.3", own),
            cell(2, "10.0.0.5", Value::Integer(6)),
        ];
        let cells: Vec<_> = cells
            .iter()
            .map(|(oid, value)| (oid.as_str(), value.clone()))
            .collect();
        assert_eq!(
            read(&answers(&cells)).peers,
            [(ip("10.0.0.0"), ip("10.0.0.1"))]
        );
    }

    #[test]
    fn indices_that_end_too_soon_are_no_next_hops() {
        let whole = "1.4.10.1.0.0.16.2.0.0.1.4.10.0.0.1";
        for end in 0..whole.len() {
            let cut = format!("{INET}.{}", &whole[..end]);
            let cut = cut.trim_end_matches('.');
            assert_eq!(
                read(&answers(&[(cut, Value::Integer(3))])).next_hops,
                [],
                "{cut}"
            );
        }
        let huge = format!("{INET}.1.4294967295.10.1");
        assert_eq!(read(&answers(&[(&huge, Value::Integer(3))])).next_hops, []);
    }
}
