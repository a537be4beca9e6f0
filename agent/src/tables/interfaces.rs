//! IF-MIB ifTable and ifXTable (RFC 2863).
use super::layers::{NAME, TYPE};
use super::{TableObjects, arp, layers, mac, number, queues, text, vendors};
use crate::walk::WalkAnswers;
use inventory::BitsPerSec;
use inventory::observation::{InterfaceRow, PortFaults};
use snmp::Value;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;

const DESCR: &[u32] = &[1, 3, 6, 1, 2, 1, 2, 2, 1, 2];
const SPEED: &[u32] = &[1, 3, 6, 1, 2, 1, 2, 2, 1, 5];
const PHYS_ADDRESS: &[u32] = &[1, 3, 6, 1, 2, 1, 2, 2, 1, 6];
pub(crate) const OPER_STATUS: &[u32] = &[1, 3, 6, 1, 2, 1, 2, 2, 1, 8];
pub(crate) const IN_OCTETS: &[u32] = &[1, 3, 6, 1, 2, 1, 2, 2, 1, 10];
pub(crate) const OUT_OCTETS: &[u32] = &[1, 3, 6, 1, 2, 1, 2, 2, 1, 16];
const IN_DISCARDS: &[u32] = &[1, 3, 6, 1, 2, 1, 2, 2, 1, 13];
const IN_ERRORS: &[u32] = &[1, 3, 6, 1, 2, 1, 2, 2, 1, 14];
const OUT_DISCARDS: &[u32] = &[1, 3, 6, 1, 2, 1, 2, 2, 1, 19];
const OUT_ERRORS: &[u32] = &[1, 3, 6, 1, 2, 1, 2, 2, 1, 20];
pub(crate) const HC_IN_OCTETS: &[u32] = &[1, 3, 6, 1, 2, 1, 31, 1, 1, 1, 6];
pub(crate) const HC_OUT_OCTETS: &[u32] = &[1, 3, 6, 1, 2, 1, 31, 1, 1, 1, 10];
const HIGH_SPEED: &[u32] = &[1, 3, 6, 1, 2, 1, 31, 1, 1, 1, 15];
const ALIAS: &[u32] = &[1, 3, 6, 1, 2, 1, 31, 1, 1, 1, 18];

/// ipAdEntIfIndex, indexed by the address.
const OWN_ADDRESS: &[u32] = &[1, 3, 6, 1, 2, 1, 4, 20, 1, 2];
/// ipAdEntNetMask.
const OWN_MASK: &[u32] = &[1, 3, 6, 1, 2, 1, 4, 20, 1, 3];
/// ipAddressIfIndex, ipAddressType and ipAddressPrefix (RFC 4293), indexed by InetAddressType, length and
/// address. The last names a row whose index ends with the length of the prefix.
const OWN_ADDRESS_OF_ANY_TYPE: &[u32] = &[1, 3, 6, 1, 2, 1, 4, 34, 1, 3];
const SORT_OF_ADDRESS: &[u32] = &[1, 3, 6, 1, 2, 1, 4, 34, 1, 4];
const OWN_PREFIX: &[u32] = &[1, 3, 6, 1, 2, 1, 4, 34, 1, 5];
const PREFIX_ENTRY: &[u32] = &[1, 3, 6, 1, 2, 1, 4, 32, 1];
/// unicast(1), of ipAddressType.
const UNICAST: u32 = 1;

pub(crate) const OBJECTS: TableObjects = TableObjects {
    scalars: &[vendors::OBJECT_ID],
    columns: &[
        DESCR,
        TYPE,
        SPEED,
        PHYS_ADDRESS,
        OPER_STATUS,
        IN_OCTETS,
        OUT_OCTETS,
        IN_DISCARDS,
        IN_ERRORS,
        OUT_DISCARDS,
        OUT_ERRORS,
        NAME,
        HC_IN_OCTETS,
        HC_OUT_OCTETS,
        HIGH_SPEED,
        ALIAS,
        layers::ATTACHED,
        layers::PAGP_GROUP,
        layers::STACK_STATUS,
        OWN_ADDRESS,
        OWN_ADDRESS_OF_ANY_TYPE,
        SORT_OF_ADDRESS,
        OWN_MASK,
        OWN_PREFIX,
    ],
};

/// ifOperStatus up(1).
pub(crate) const UP: u32 = 1;

/// ifOperStatus unknown(4). Some systems report it for interfaces that do work.
const UNKNOWN: u32 = 4;

/// The largest value of ifSpeed. It stands for any higher rate, too.
const SPEED_FULL: u32 = u32::MAX;

pub(crate) fn read(answers: &WalkAnswers) -> Vec<InterfaceRow> {
    let aggregates = layers::aggregates(answers);
    let below = layers::below(answers);
    let mut addresses = own_addresses(answers);
    let mut subnets = own_subnets(answers);
    let queues = queues::read(answers);
    // Columns can be sparse. So a row exists if any of the naming columns or its state has it.
    let columns = [DESCR, NAME, OPER_STATUS]
        .into_iter()
        .flat_map(|column| answers.column(column));
    let indices: BTreeSet<u32> = columns
        .filter_map(|(index, _)| if let [n] = index { Some(*n) } else { None })
        .collect();
    let rows = indices.into_iter().map(|index| {
        let cell = |column| answers.cell(column, &[index]);
        let octets = |wide, narrow| {
            cell(wide)
                .or(cell(narrow))
                .and_then(Value::as_u64)
                .unwrap_or_default()
        };
        let (name, descr) = (text(cell(NAME)), text(cell(DESCR)));
        InterfaceRow {
            index,
            name: if name.is_empty() { descr.clone() } else { name },
            descr,
            alias: text(cell(ALIAS)),
            mac: mac(cell(PHYS_ADDRESS)),
            kind: layers::kind(answers, index),
            rate: rate(number(cell(SPEED)), number(cell(HIGH_SPEED))),
            // Only a port that reports another state is down; one that reports none may work.
            up: cell(OPER_STATUS)
                .is_none_or(|status| matches!(number(Some(status)), Some(UP | UNKNOWN))),
            aggregate: aggregates.get(&index).copied(),
            below: below.get(&index).copied(),
            addresses: Vec::from_iter(addresses.remove(&index).unwrap_or_default()),
            subnets: Vec::from_iter(subnets.remove(&index).unwrap_or_default()),
            in_octets: octets(HC_IN_OCTETS, IN_OCTETS),
            out_octets: octets(HC_OUT_OCTETS, OUT_OCTETS),
            queue: queues.get(&index).copied(),
            faults: faults([IN_ERRORS, OUT_ERRORS, IN_DISCARDS, OUT_DISCARDS].map(&cell)),
        }
    });
    let mut interfaces: Vec<InterfaceRow> = rows.collect();
    tell_apart(&mut interfaces);
    interfaces
}

/// True if an index of ipAddressTable is an address of the device itself.
fn is_own(answers: &WalkAnswers, index: &[u32]) -> bool {
    let sort = number(answers.cell(SORT_OF_ADDRESS, index));
    sort.is_none_or(|sort| sort == UNICAST)
}

/// The device's own addresses, by the ifIndex at which it has them. Those of one link mean nothing elsewhere.
fn own_addresses(answers: &WalkAnswers) -> BTreeMap<u32, BTreeSet<IpAddr>> {
    let old = answers
        .column(OWN_ADDRESS)
        .filter_map(|(address, value)| Some((arp::ip(address)?, value)));
    let any = answers
        .column(OWN_ADDRESS_OF_ANY_TYPE)
        .filter(|(index, _)| matches!(index, [1 | 2, ..]) && is_own(answers, index))
        .filter_map(|(index, value)| Some((arp::typed_ip(index)?, value)));
    let mut addresses: BTreeMap<u32, BTreeSet<IpAddr>> = BTreeMap::new();
    for (address, value) in old.chain(any) {
        if let Some(index) = number(Some(value)) {
            addresses.entry(index).or_default().insert(address);
        }
    }
    addresses
}

/// The device's own addresses with the lengths of their prefixes, by the ifIndex at which it has them.
fn own_subnets(answers: &WalkAnswers) -> BTreeMap<u32, BTreeSet<(IpAddr, u8)>> {
    let old = answers.column(OWN_ADDRESS).filter_map(|(index, value)| {
        let mask = u32::from(answers.cell(OWN_MASK, index)?.as_ip()?);
        let length = u8::try_from(mask.leading_ones()).ok()?;
        Some((value, (arp::ip(index)?, length)))
    });
    let any = answers
        .column(OWN_ADDRESS_OF_ANY_TYPE)
        .filter(|(index, _)| is_own(answers, index))
        .filter_map(|(index, value)| {
            // A device without a row for the prefix answers zeroDotZero (RFC 4293,
            // ipAddressPrefix).
            let row = answers.cell(OWN_PREFIX, index)?.as_oid()?.arcs();
            let length = row.strip_prefix(PREFIX_ENTRY)?.last()?;
            Some((value, (arp::typed_ip(index)?, u8::try_from(*length).ok()?)))
        });
    let mut subnets: BTreeMap<u32, BTreeSet<(IpAddr, u8)>> = BTreeMap::new();
    for (index, subnet) in old.chain(any) {
        if let Some(index) = number(Some(index)) {
            subnets.entry(index).or_default().insert(subnet);
        }
    }
    subnets
}

fn faults(cells: [Option<&Value>; 4]) -> Option<PortFaults> {
    let counted = cells.map(number);
    let [in_errors, out_errors, in_discards, out_discards] = counted.map(Option::unwrap_or_default);
    counted.iter().any(Option::is_some).then_some(PortFaults {
        in_errors,
        out_errors,
        in_discards,
        out_discards,
    })
}

/// If two interfaces have the same ifName, it names neither. An interface with a unique ifDescr
/// then goes by that. (net-snmp 5.9 keeps the ifName of an interface that is gone when a new one
/// gets its ifIndex, and reports the new one's ifDescr.)
fn tell_apart(interfaces: &mut [InterfaceRow]) {
    let mut names: HashMap<&str, usize> = HashMap::new();
    // How many interfaces have a text as their name, or as their description.
    let mut words: HashMap<&str, usize> = HashMap::new();
    for InterfaceRow { name, descr, .. } in interfaces.iter() {
        *names.entry(name).or_default() += 1;
        *words.entry(name).or_default() += 1;
        if descr != name {
            *words.entry(descr).or_default() += 1;
        }
    }
    let renamed: Vec<usize> = (0..interfaces.len())
        .filter(|&at| {
            let InterfaceRow { name, descr, .. } = &interfaces[at];
            names[name.as_str()] > 1 && !descr.is_empty() && words[descr.as_str()] == 1
        })
        .collect();
    renamed
        .into_iter()
        .for_each(|at| interfaces[at].name = interfaces[at].descr.clone());
}

/// The rate from which on ifHighSpeed cannot be in Mbit/s: ten times the fastest aggregate.
const ABSURD_RATE: u64 = 10_000_000_000_000;

/// The lowest rate of a cable. A smaller number was meant in Mbit/s.
const LOWEST_RATE: u64 = 1_000_000;

/// ifSpeed is exact but ends at 4.29 Gbit/s, where some devices let it wrap. ifHighSpeed is in
/// whole Mbit/s.
fn rate(speed: Option<u32>, high_speed: Option<u32>) -> Option<BitsPerSec> {
    let high = high_speed
        .map(|high| high_rate(speed.map(u64::from), high.into()))
        .unwrap_or_default();
    let exact = speed
        .filter(|&s| s != SPEED_FULL)
        .map(u64::from)
        .unwrap_or_default();
    let worthless = exact == 0 || exact < LOWEST_RATE && high != 0;
    let rate = if high > u64::from(SPEED_FULL) || worthless {
        high
    } else {
        exact
    };
    (rate > 0).then_some(BitsPerSec(rate))
}

/// The rate in bit/s. Some devices report kbit/s or bit/s in ifHighSpeed; ifSpeed tells. Without it
/// a rate that would be absurd is in bit/s.
fn high_rate(speed: Option<u64>, high: u64) -> u64 {
    let possible = [1_000_000, 1_000, 1]
        .map(|unit| (unit, high.saturating_mul(unit)))
        .into_iter()
        .filter(|(unit, rate)| *rate < ABSURD_RATE && (*unit == 1_000_000 || *rate >= LOWEST_RATE));
    let full = u64::from(SPEED_FULL);
    let matching = possible.clone().find(|(unit, rate)| match speed {
        Some(s) if s == full => *rate >= full,
        // ifHighSpeed is rounded (RFC 2863).
        Some(s) => rate.abs_diff(s) < *unit,
        None => false,
    });
    // The largest value stands for any higher one.
    let rate = matching
        .or_else(|| possible.clone().find(|(unit, _)| *unit != 1_000))
        .filter(|_| high != full);
    rate.map_or(0, |(_, rate)| rate)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{answers, octets};
    use super::*;

    #[test]
    fn reads_a_row_with_and_without_the_wide_columns() {
        let rows = read(&answers(&[
            ("1.3.6.1.2.1.2.2.1.2.7", octets("GigabitEthernet7")),
            ("1.3.6.1.2.1.2.2.1.5.7", Value::Gauge32(1_000_000_000)),
            ("1.3.6.1.2.1.2.2.1.6.7", octets([2, 0, 0, 0, 0, 7])),
            ("1.3.6.1.2.1.2.2.1.8.7", Value::Integer(1)),
            ("1.3.6.1.2.1.2.2.1.10.7", Value::Counter32(11)),
            ("1.3.6.1.2.1.31.1.1.1.10.7", Value::Counter64(1 << 40)),
            ("1.3.6.1.2.1.2.2.1.8.8", Value::Integer(2)),
            ("1.3.6.1.2.1.31.1.1.1.1.8", octets("swp8")),
        ]));
        assert_eq!(rows.len(), 2);
        assert_eq!(
            (
                rows[0].name.as_str(),
                rows[0].up,
                rows[0].in_octets,
                rows[0].out_octets
            ),
            ("GigabitEthernet7", true, 11, 1 << 40)
        );
        assert_eq!(rows[0].rate, Some(BitsPerSec::GIGABIT));
        assert_eq!(
            (
                rows[1].index,
                rows[1].name.as_str(),
                rows[1].up,
                rows[1].rate,
                rows[1].mac
            ),
            (8, "swp8", false, None, None)
        );
    }

    #[test]
    fn an_interface_has_its_own_addresses_and_none_of_its_network() {
        let old = |address: &str| format!("1.3.6.1.2.1.4.20.1.2.{address}");
        let new = |column: u32, address: &str| format!("1.3.6.1.2.1.4.34.1.{column}.1.4.{address}");
        let cells = [
            ("1.3.6.1.2.1.2.2.1.2.7".to_owned(), octets("ge7")),
            (old("10.0.0.1"), Value::Integer(7)),
            (new(3, "10.0.0.1"), Value::Integer(7)),
            (new(4, "10.0.0.1"), Value::Integer(1)),
            (new(3, "10.0.0.3"), Value::Integer(7)),
            (new(4, "10.0.0.3"), Value::Integer(3)),
            (new(3, "10.0.1.1"), Value::Integer(8)),
            (new(3, "10.0.2.1"), Value::Integer(7)),
        ];
        let cells: Vec<_> = cells
            .iter()
            .map(|(oid, value)| (oid.as_str(), value.clone()))
            .collect();
        let addresses = ["10.0.0.1", "10.0.2.1"].map(|a| a.parse::<IpAddr>().unwrap());
        assert_eq!(read(&answers(&cells))[0].addresses, addresses);
    }

    #[test]
    fn addresses_have_their_prefixes_by_mask_or_by_the_row_that_they_name() {
        let row = "1.3.6.1.2.1.4.32.1.5.7.1.4.10.0.2.0.31";
        let of_link = format!("{}.7.0.0.0", [".254.128", &".0".repeat(13), ".9"].concat());
        let cells = [
            ("1.3.6.1.2.1.2.2.1.2.7".to_owned(), octets("ge7")),
            (
                "1.3.6.1.2.1.4.20.1.2.10.0.0.1".to_owned(),
                Value::Integer(7),
            ),
            (
                "1.3.6.1.2.1.4.20.1.3.10.0.0.1".to_owned(),
                Value::IpAddress([255, 255, 255, 252]),
            ),
            (
                "1.3.6.1.2.1.4.34.1.3.1.4.10.0.2.1".to_owned(),
                Value::Integer(7),
            ),
            (
                "1.3.6.1.2.1.4.34.1.5.1.4.10.0.2.1".to_owned(),
                Value::ObjectIdentifier(snmp::Oid::parse(row).unwrap()),
            ),
            // An address that names no row, as RFC 4293 allows, and one of a link.
            (
                "1.3.6.1.2.1.4.34.1.3.1.4.10.0.4.1".to_owned(),
                Value::Integer(7),
            ),
            (
                "1.3.6.1.2.1.4.34.1.5.1.4.10.0.4.1".to_owned(),
                Value::ObjectIdentifier(snmp::Oid::parse("0.0").unwrap()),
            ),
            (
                format!("1.3.6.1.2.1.4.34.1.3.4.20{of_link}"),
                Value::Integer(7),
            ),
            (
                format!("1.3.6.1.2.1.4.34.1.5.4.20{of_link}"),
                Value::ObjectIdentifier(
                    snmp::Oid::parse("1.3.6.1.2.1.4.32.1.5.7.4.20.64").unwrap(),
                ),
            ),
        ];
        let cells: Vec<_> = cells
            .iter()
            .map(|(oid, value)| (oid.as_str(), value.clone()))
            .collect();
        let row = &read(&answers(&cells))[0];
        let subnets = [("10.0.0.1", 30), ("10.0.2.1", 31), ("fe80::9", 64)];
        assert_eq!(
            row.subnets,
            subnets.map(|(a, length)| (a.parse().unwrap(), length))
        );
        assert_eq!(row.addresses.len(), 3, "{:?}", row.addresses);
    }

    /// The report of net-snmp 5.9 about a switch with a new port under a used ifIndex.
    #[test]
    fn a_name_of_two_interfaces_is_nobodys_where_their_descriptions_differ() {
        let names = |rows: &[(u32, &'static str, &'static str)]| {
            let column = |column: &str, index: u32, text: &'static str| {
                (format!("{column}.{index}"), octets(text))
            };
            let cells: Vec<_> = rows
                .iter()
                .flat_map(|&(index, name, descr)| {
                    [
                        column("1.3.6.1.2.1.31.1.1.1.1", index, name),
                        column("1.3.6.1.2.1.2.2.1.2", index, descr),
                    ]
                })
                .collect();
            let cells: Vec<_> = cells
                .iter()
                .map(|(oid, value)| (oid.as_str(), value.clone()))
                .collect();
            read(&answers(&cells))
                .into_iter()
                .map(|i| i.name)
                .collect::<Vec<_>>()
        };
        assert_eq!(
            names(&[
                (4, "swp3", "swp4"),
                (5, "swp1", "swp1"),
                (8, "swp3", "swp3")
            ]),
            ["swp4", "swp1", "swp3"]
        );
        assert_eq!(
            names(&[(1, "1", "Port 1"), (2, "1", "Port 2")]),
            ["Port 1", "Port 2"]
        );
        assert_eq!(
            names(&[(1, "1", "Port"), (2, "1", "Port")]),
            ["1", "1"],
            "nothing tells these apart"
        );
        assert_eq!(
            names(&[(1, "g1", "Gigabit"), (2, "g2", "Gigabit")]),
            ["g1", "g2"]
        );
    }

    #[test]
    fn the_rate_is_exact_where_it_can_be() {
        for (speed, high, expected) in [
            (Some(20_000_000), Some(20), 20_000_000),
            (Some(2_500_000_000), Some(3), 2_500_000_000),
            (Some(SPEED_FULL), Some(25_000), 25_000_000_000),
            (Some(1_410_065_408), Some(10_000), 10_000_000_000),
            (None, Some(100), 100_000_000),
            (Some(10_000_000), None, 10_000_000),
            // ifHighSpeed in bit/s and in kbit/s, and ifSpeed in Mbit/s.
            (Some(1_000_000_000), Some(1_000_000_000), 1_000_000_000),
            (Some(10_000_000), Some(10_000_000), 10_000_000),
            (None, Some(1_000_000_000), 1_000_000_000),
            (Some(1_000_000_000), Some(1_000_000), 1_000_000_000),
            (Some(SPEED_FULL), Some(10_000_000), 10_000_000_000),
            (Some(100), Some(100), 100_000_000),
            (Some(64_000), Some(0), 64_000),
            (Some(SPEED_FULL), Some(6_400_000), 6_400_000_000_000),
        ] {
            assert_eq!(rate(speed, high), Some(BitsPerSec(expected)));
        }
        assert_eq!(rate(Some(0), Some(0)), None);
        assert_eq!(rate(Some(SPEED_FULL), Some(u32::MAX)), None);
    }

    #[test]
    fn refuses_indices_and_types_that_are_none() {
        let rows = read(&answers(&[
            ("1.3.6.1.2.1.2.2.1.8.7.1", Value::Integer(1)),
            ("1.3.6.1.2.1.2.2.1.8.9", octets("up")),
        ]));
        assert_eq!(rows.len(), 1);
        assert_eq!((rows[0].index, rows[0].up), (9, false));
    }

    #[test]
    fn only_a_port_that_says_so_is_down() {
        let status = |n| ("1.3.6.1.2.1.2.2.1.8.3", Value::Integer(n));
        let up = |cells: &[(&str, Value)]| read(&answers(cells))[0].up;
        assert_eq!(
            [1, 2, 3, 4, 5, 6, 7].map(|n| up(&[status(n)])),
            [true, false, false, true, false, false, false]
        );
        assert!(
            up(&[("1.3.6.1.2.1.31.1.1.1.1.3", octets("swp3"))]),
            "not said"
        );
    }
}
