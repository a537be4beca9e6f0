//! The sorts of interfaces and what lies below what. The members of aggregates come from
//! IEEE8023-LAG-MIB (IEEE 802.3ad) and CISCO-PAGP-MIB if a device serves them, else from the layers
//! of IF-MIB's ifStackTable.
use super::{number, text};
use crate::walk::WalkAnswers;
use inventory::observation::InterfaceKind;
use std::collections::{HashMap, HashSet};

pub(super) const TYPE: &[u32] = &[1, 3, 6, 1, 2, 1, 2, 2, 1, 3];
pub(super) const NAME: &[u32] = &[1, 3, 6, 1, 2, 1, 31, 1, 1, 1, 1];
/// dot3adAggPortAttachedAggID.
pub(super) const ATTACHED: &[u32] = &[1, 2, 840, 10006, 300, 43, 1, 2, 1, 1, 13];
/// pagpGroupIfIndex.
pub(super) const PAGP_GROUP: &[u32] = &[1, 3, 6, 1, 4, 1, 9, 9, 98, 1, 1, 1, 1, 8];
/// ifStackStatus, indexed by the higher layer and the lower.
pub(super) const STACK_STATUS: &[u32] = &[1, 3, 6, 1, 2, 1, 31, 1, 2, 1, 3];

/// ifType (IANAifType-MIB): ieee8023adLag; propVirtual and propMultiplexor, which Cisco gives
/// port-channels among other things.
const LAG: u32 = 161;
const PROPRIETARY: [u32; 2] = [53, 54];

/// The ifIndex of each member's aggregate, by the member's ifIndex.
pub(super) fn aggregates(answers: &WalkAnswers) -> HashMap<u32, u32> {
    let stated = [ATTACHED, PAGP_GROUP].into_iter().flat_map(|column| {
        answers.column(column).filter_map(|(index, value)| {
            let [member] = index else { return None };
            // 0: the port is attached to no aggregator now (IEEE 802.3ad,
            // dot3adAggPortAttachedAggID).
            let aggregate = number(Some(value)).filter(|a| *a != 0 && a != member)?;
            Some((*member, aggregate))
        })
    });
    // The first statement about a member counts: that of LACP, then of PAgP, then of the layers.
    let mut aggregates = HashMap::new();
    for (member, aggregate) in stated.chain(layered(answers)) {
        aggregates.entry(member).or_insert(aggregate);
    }
    // If several units are over one cable, the first counts.
    let mut carried: Vec<(u32, u32, u32)> = carried(answers, &aggregates).collect();
    carried.sort_unstable();
    for (_, cable, aggregate) in carried {
        aggregates.entry(cable).or_insert(aggregate);
    }
    // An aggregate is not itself a member.
    let groups: HashSet<u32> = aggregates.values().copied().collect();
    aggregates.retain(|member, _| !groups.contains(member));
    aggregates
}

/// Junos states of units what is true of the cables below them, too: `ge-0/0/1.0` is a member of
/// `ae0.0`, so `ge-0/0/1` is one of `ae0`. Each triple is a unit, its cable and the cable's aggregate.
fn carried(
    answers: &WalkAnswers,
    aggregates: &HashMap<u32, u32>,
) -> impl Iterator<Item = (u32, u32, u32)> {
    let below = below(answers);
    let bundles: HashMap<u32, u32> = layers(answers)
        .filter(|(higher, lower)| is_unit_of(answers, *higher, *lower))
        .collect();
    aggregates.iter().filter_map(move |(unit, aggregate)| {
        let cable = below.get(unit)?;
        let bundle = bundles.get(aggregate).unwrap_or(aggregate);
        Some((*unit, *cable, *bundle))
    })
}

/// True if `higher` is named after `lower` as units are: `ae0.0` after `ae0`.
fn is_unit_of(answers: &WalkAnswers, higher: u32, lower: u32) -> bool {
    let [unit, whole] = [higher, lower].map(|index| text(answers.cell(NAME, &[index])));
    let carrier = unit.rsplit_once('.').map(|(carrier, _)| carrier);
    carrier.is_some_and(|carrier| !carrier.is_empty() && carrier == whole)
}

/// The pairs of a higher and a lower interface in ifStackTable.
fn layers(answers: &WalkAnswers) -> impl Iterator<Item = (u32, u32)> + '_ {
    answers
        .column(STACK_STATUS)
        .filter_map(|(index, _)| match index {
            // 0 stands for the end of the stack, above and below (RFC 2863, ifStackTable).
            [higher, lower] if *higher != 0 && *lower != 0 && higher != lower => {
                Some((*higher, *lower))
            }
            _ => None,
        })
}

/// The ifIndex of the only interface directly below another, by the other's. One that lies over
/// several is an aggregate, whose members are known otherwise, or a VLAN, which tells nothing about
/// cables.
pub(super) fn below(answers: &WalkAnswers) -> HashMap<u32, u32> {
    let mut below: HashMap<u32, Option<u32>> = HashMap::new();
    for (higher, lower) in layers(answers) {
        below
            .entry(higher)
            // A VLAN lies over all ports of a switch: with thousands of VLANs, a list for each
            // would be larger than all other facts.
            .and_modify(|only| *only = None)
            .or_insert(Some(lower));
    }
    below
        .into_iter()
        .filter_map(|(higher, only)| Some((higher, only?)))
        .collect()
}

/// The sort of an interface. ifConnectorPresent is not asked for: many switches give a connector to
/// aggregates and VLANs, and some deny it to ports that are up.
pub(super) fn kind(answers: &WalkAnswers, index: u32) -> InterfaceKind {
    if is_aggregate(answers, index) {
        return InterfaceKind::Aggregate;
    }
    match number(answers.cell(TYPE, &[index])) {
        None => InterfaceKind::Unsaid,
        Some(kind) => match kind {
            // ethernetCsmacd, iso88023Csmacd, starLan, fastEther, fastEtherFX, gigabitEthernet.
            6 | 7 | 11 | 62 | 69 | 117 => InterfaceKind::Cable,
            // l2vlan, l3ipvlan, l3ipxvlan.
            135..=137 => InterfaceKind::Vlan,
            209 => InterfaceKind::Bridge,
            // tunnel, mplsTunnel, mpls, sixToFour.
            131 | 150 | 166 | 215 => InterfaceKind::Tunnel,
            24 => InterfaceKind::Loopback,
            kind if PROPRIETARY.contains(&kind) => InterfaceKind::Virtual,
            _ => InterfaceKind::Other,
        },
    }
}

/// Aggregates are layers above their members, but so are VLANs and tunnels. The type distinguishes
/// them. A unit of an aggregate lies over the aggregate, too, which is not its member.
fn layered(answers: &WalkAnswers) -> impl Iterator<Item = (u32, u32)> + '_ {
    layers(answers)
        .filter(|(higher, lower)| {
            is_aggregate(answers, *higher) && !is_unit_of(answers, *higher, *lower)
        })
        .map(|(higher, lower)| (lower, higher))
}

fn is_aggregate(answers: &WalkAnswers, index: u32) -> bool {
    match number(answers.cell(TYPE, &[index])) {
        Some(LAG) => true,
        Some(kind) if PROPRIETARY.contains(&kind) => {
            let name = text(answers.cell(NAME, &[index])).to_ascii_lowercase();
            [
                "po",
                "port-channel",
                "port-channel ",
                "ae",
                "lag",
                "trk",
                "bond",
                "eth-trunk",
            ]
            .iter()
            .any(|prefix| {
                name.strip_prefix(*prefix)
                    .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
            })
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{answers, octets};
    use super::*;
    use snmp::Value;

    #[test]
    fn lacp_goes_before_the_layers_and_vlans_are_none() {
        let answers = answers(&[
            ("1.2.840.10006.300.43.1.2.1.1.13.1", Value::Integer(501)),
            ("1.2.840.10006.300.43.1.2.1.1.13.2", Value::Integer(0)),
            ("1.2.840.10006.300.43.1.2.1.1.13.3", Value::Integer(3)),
            ("1.3.6.1.2.1.31.1.2.1.3.502.1", Value::Integer(1)),
            ("1.3.6.1.2.1.31.1.2.1.3.502.4", Value::Integer(1)),
            ("1.3.6.1.2.1.31.1.2.1.3.503.5", Value::Integer(1)),
            ("1.3.6.1.2.1.31.1.2.1.3.10.6", Value::Integer(1)),
            ("1.3.6.1.2.1.31.1.2.1.3.0.7", Value::Integer(1)),
            ("1.3.6.1.2.1.2.2.1.3.502", Value::Integer(161)),
            ("1.3.6.1.2.1.2.2.1.3.503", Value::Integer(53)),
            ("1.3.6.1.2.1.31.1.1.1.1.503", octets("Po3")),
            ("1.3.6.1.2.1.2.2.1.3.10", Value::Integer(53)),
            ("1.3.6.1.2.1.31.1.1.1.1.10", octets("Vl10")),
        ]);
        assert_eq!(
            aggregates(&answers),
            HashMap::from([(1, 501), (4, 502), (5, 503)])
        );
    }

    #[test]
    fn cables_below_the_units_of_an_aggregate_are_members_too() {
        let kind =
            |index: u32, kind: i32| (format!("1.3.6.1.2.1.2.2.1.3.{index}"), Value::Integer(kind));
        let name =
            |index: u32, name: &str| (format!("1.3.6.1.2.1.31.1.1.1.1.{index}"), octets(name));
        let cells = [
            over(537, 505),
            over(538, 506),
            over(541, 128),
            over(541, 537),
            over(541, 538),
            kind(128, 161),
            kind(541, 53),
            name(505, "ge-0/0/1"),
            name(506, "ge-0/0/2"),
            name(537, "ge-0/0/1.0"),
            name(538, "ge-0/0/2.0"),
            name(128, "ae0"),
            name(541, "ae0.0"),
        ];
        let cells: Vec<_> = cells
            .iter()
            .map(|(oid, value)| (oid.as_str(), value.clone()))
            .collect();
        assert_eq!(
            aggregates(&answers(&cells)),
            HashMap::from([(537, 541), (538, 541), (505, 128), (506, 128)])
        );
    }

    fn over(higher: u32, lower: u32) -> (String, Value) {
        (
            format!("1.3.6.1.2.1.31.1.2.1.3.{higher}.{lower}"),
            Value::Integer(1),
        )
    }

    #[test]
    fn types_tell_sorts_apart() {
        let cell = |index: u32, kind: i32| (format!("1.3.6.1.2.1.2.2.1.3.{index}"), kind);
        let kinds = [6, 117, 53, 161, 135, 136, 209, 131, 150, 24, 53, 1];
        let cells: Vec<_> = (1..).zip(kinds).map(|(i, k)| cell(i, k)).collect();
        let mut cells: Vec<_> = cells
            .iter()
            .map(|(oid, kind)| (oid.as_str(), Value::Integer(*kind)))
            .collect();
        cells.push(("1.3.6.1.2.1.31.1.1.1.1.3", octets("port-channel1")));
        cells.push(("1.3.6.1.2.1.2.2.1.3.13", octets("6")));
        let answers = answers(&cells);
        use InterfaceKind as K;
        assert_eq!(
            (1..=14).map(|i| kind(&answers, i)).collect::<Vec<_>>(),
            [
                K::Cable,
                K::Cable,
                K::Aggregate,
                K::Aggregate,
                K::Vlan,
                K::Vlan,
                K::Bridge,
                K::Tunnel,
                K::Tunnel,
                K::Loopback,
                K::Virtual,
                K::Other,
                K::Unsaid,
                K::Unsaid
            ]
        );
    }

    #[test]
    fn the_only_interface_below_is_kept_and_the_ends_of_the_stack_are_not() {
        let answers = answers(&[
            ("1.3.6.1.2.1.31.1.2.1.3.0.7", Value::Integer(1)),
            ("1.3.6.1.2.1.31.1.2.1.3.537.505", Value::Integer(1)),
            ("1.3.6.1.2.1.31.1.2.1.3.10.505", Value::Integer(1)),
            ("1.3.6.1.2.1.31.1.2.1.3.10.506", Value::Integer(1)),
            ("1.3.6.1.2.1.31.1.2.1.3.10.507", Value::Integer(1)),
            ("1.3.6.1.2.1.31.1.2.1.3.505.0", Value::Integer(1)),
            ("1.3.6.1.2.1.31.1.2.1.3.8.8", Value::Integer(1)),
            ("1.3.6.1.2.1.31.1.2.1.3.9", Value::Integer(1)),
        ]);
        assert_eq!(below(&answers), HashMap::from([(537, 505)]));
    }

    #[test]
    fn refuses_aggregates_of_aggregates_and_wrong_types() {
        let answers = answers(&[
            ("1.2.840.10006.300.43.1.2.1.1.13.1", Value::Integer(2)),
            ("1.2.840.10006.300.43.1.2.1.1.13.2", Value::Integer(3)),
            ("1.2.840.10006.300.43.1.2.1.1.13.4", octets("5")),
            ("1.2.840.10006.300.43.1.2.1.1.13.5.1", Value::Integer(5)),
        ]);
        assert_eq!(aggregates(&answers), HashMap::from([(1, 2)]));
    }
}
