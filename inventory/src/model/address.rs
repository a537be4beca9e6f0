//! The address of a host on the cluster network, as its agent reports it. It is the address of the
//! card on its cable, or, if no cable names a card, of a card that switches learned. The address of
//! another card would lead over another network, past the switches and routers of this one.
pub(crate) mod fault;

use crate::Mac;
use crate::model::device_view::DeviceViews;
use crate::model::host_report::Nic;
use std::cell::OnceCell;
use std::collections::HashSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

pub use fault::AddressFault;

/// True if both addresses are in one network with a prefix of this length.
pub fn shares_network(a: IpAddr, b: IpAddr, prefix: u8) -> bool {
    let differ = match (a, b) {
        (IpAddr::V4(a), IpAddr::V4(b)) => u128::from(a.to_bits() ^ b.to_bits()) << 96,
        (IpAddr::V6(a), IpAddr::V6(b)) => a.to_bits() ^ b.to_bits(),
        _ => return false,
    };
    differ.leading_zeros() >= u32::from(prefix)
}

/// The first address of the network with a prefix of this length.
pub fn network_of(address: IpAddr, prefix: u8) -> IpAddr {
    let prefix = u32::from(prefix);
    match address {
        IpAddr::V4(ip) => {
            // A shift by the whole width, as for a prefix of 0, has no value: the mask has no bit then.
            let mask = u32::MAX.checked_shl(32_u32.saturating_sub(prefix));
            IpAddr::V4(Ipv4Addr::from_bits(ip.to_bits() & mask.unwrap_or(0)))
        }
        IpAddr::V6(ip) => {
            let mask = u128::MAX.checked_shl(128_u32.saturating_sub(prefix));
            IpAddr::V6(Ipv6Addr::from_bits(ip.to_bits() & mask.unwrap_or(0)))
        }
    }
}

/// Looks addresses up in the statements of devices and agents.
#[derive(Debug)]
pub struct AddressLookup<'a> {
    views: &'a DeviceViews,
    /// Stations in forwarding tables. They are gathered when a host first needs them, because a
    /// large network has millions.
    learned: OnceCell<HashSet<Mac>>,
}

impl<'a> AddressLookup<'a> {
    /// A look-up in these views.
    pub fn new(views: &'a DeviceViews) -> AddressLookup<'a> {
        AddressLookup {
            views,
            learned: OnceCell::new(),
        }
    }

    /// A host's address and prefix length, if its agent reported a suitable card. `card` is the
    /// host's end of its cable, by name or MAC address; empty if none is known.
    pub fn at_card(&self, host: &str, card: &str) -> Option<(IpAddr, u8)> {
        let report = self.views.get(host)?.host.as_ref()?;
        let mut cards: Vec<&Nic> = report.cards_at(card).collect();
        if cards.is_empty() {
            let seen = report
                .nics
                .iter()
                .filter(|n| n.mac.is_some_and(|mac| self.learned().contains(&mac)));
            cards = seen.flat_map(|n| report.cards_at(&n.name)).collect();
        }
        lowest(cards.into_iter())
    }

    /// The addresses of a host that no switch has seen, on all of its cards, the lowest first.
    pub fn of_unseen(&self, host: &str) -> Vec<(IpAddr, u8)> {
        let report = self.views.get(host).and_then(|view| view.host.as_ref());
        let cards = report.into_iter().flat_map(|report| &report.nics);
        let mut all: Vec<(IpAddr, u8)> = usable(cards).collect();
        all.sort_unstable();
        all
    }

    fn learned(&self) -> &HashSet<Mac> {
        self.learned.get_or_init(|| {
            self.views
                .values()
                .flat_map(|view| view.fdb.iter().flatten().map(|row| row.mac))
                .collect()
        })
    }
}

/// IPv4 before IPv6, and then the lowest, because the order in which a system lists its addresses
/// changes.
fn lowest<'n>(cards: impl Iterator<Item = &'n Nic>) -> Option<(IpAddr, u8)> {
    usable(cards).min()
}

fn usable<'n>(cards: impl Iterator<Item = &'n Nic>) -> impl Iterator<Item = (IpAddr, u8)> {
    let up = cards.filter(|n| n.up).flat_map(|n| &n.addresses);
    up.copied().filter(is_reached_from_elsewhere)
}

/// True if other hosts can send to an address with this prefix length.
pub fn is_reached_from_elsewhere(address: &(IpAddr, u8)) -> bool {
    let is_local = match address.0.to_canonical() {
        IpAddr::V4(ip) => ip.is_link_local(),
        IpAddr::V6(ip) => ip.is_unicast_link_local(),
    };
    !is_local && AddressFault::within(*address).is_none()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::device_view::DeviceView;
    use crate::model::host_report::HostReport;
    use crate::model::observation::FdbEntry;

    fn card(name: &str, mac: u8, addresses: &[&str]) -> Nic {
        let addresses = addresses.iter().map(|a| (a.parse().unwrap(), 24)).collect();
        Nic {
            name: name.into(),
            mac: Some(Mac([2, 0, 0, 0, 0, mac])),
            addresses,
            up: true,
            ..Nic::default()
        }
    }

    fn views(nics: Vec<Nic>) -> DeviceViews {
        let report = HostReport {
            host: "n0".into(),
            nics,
            ..HostReport::default()
        };
        DeviceViews::from([(
            "n0".into(),
            DeviceView {
                host: Some(report),
                ..DeviceView::default()
            },
        )])
    }

    #[test]
    fn the_card_on_the_cable_counts_and_its_bond_and_no_other() {
        let member = Nic {
            master: Some("bond0".into()),
            ..card("eth0", 1, &[])
        };
        let all = views(vec![
            card("lo", 0, &["127.0.0.1"]),
            card("ib0", 3, &["10.0.0.1"]),
            member,
            card(
                "bond0",
                1,
                &["169.254.0.9", "fd00::1", "10.77.0.9", "10.77.0.5"],
            ),
        ]);
        let lowest = Some(("10.77.0.5".parse().unwrap(), 24));
        assert_eq!(AddressLookup::new(&all).at_card("n0", "eth0"), lowest);
        assert_eq!(
            AddressLookup::new(&all).at_card("n0", "02:00:00:00:00:01"),
            lowest
        );
        assert_eq!(
            AddressLookup::new(&all).at_card("n0", "ib0"),
            Some(("10.0.0.1".parse().unwrap(), 24))
        );
        assert_eq!(AddressLookup::new(&all).at_card("n1", "eth0"), None);
    }

    #[test]
    fn without_a_name_at_the_cable_only_a_learned_card_counts() {
        let mut all = views(vec![
            card("mgmt", 1, &["192.168.0.1"]),
            card("eth0", 2, &["fd00::1"]),
        ]);
        assert_eq!(AddressLookup::new(&all).at_card("n0", ""), None);
        let row = FdbEntry::new(Mac([2, 0, 0, 0, 0, 2]), 1);
        all.insert(
            "s0".into(),
            DeviceView {
                fdb: Some(vec![row]),
                ..DeviceView::default()
            },
        );
        assert_eq!(
            AddressLookup::new(&all).at_card("n0", ""),
            Some(("fd00::1".parse().unwrap(), 24))
        );
    }

    #[test]
    fn a_card_without_a_carrier_or_with_local_addresses_only_is_none() {
        let down = Nic {
            up: false,
            ..card("eth0", 1, &["10.77.0.1"])
        };
        assert_eq!(
            AddressLookup::new(&views(vec![down])).at_card("n0", "eth0"),
            None
        );
        let none = [
            "fe80::1",
            "0.0.0.0",
            "127.0.0.1",
            "255.255.255.255",
            "224.0.0.1",
            "ff02::1",
            "::",
            "::ffff:127.0.0.1",
            "10.0.0.255",
            "10.0.0.0",
        ];
        assert_eq!(
            AddressLookup::new(&views(vec![card("eth0", 1, &none)])).at_card("n0", "eth0"),
            None
        );
    }

    #[test]
    fn what_is_no_hosts_address_is_distinguished_from_what_is() {
        for (address, length, expected) in [
            ("10.0.1.255", 23, Some(AddressFault::Broadcast)),
            ("10.0.0.255", 23, None),
            ("10.0.1.0", 23, None),
            ("10.0.0.0", 23, Some(AddressFault::Network)),
            ("10.0.0.0", 31, None),
            ("10.0.0.1", 31, None),
            ("10.0.0.1", 32, None),
            ("10.0.0.1", 0, None),
            ("10.0.0.1", 255, None),
            ("0.1.2.3", 32, Some(AddressFault::Network)),
            ("fd00::", 64, None),
            ("::1", 128, Some(AddressFault::Loopback)),
        ] {
            assert_eq!(
                AddressFault::within((address.parse().unwrap(), length)),
                expected,
                "{address}/{length}"
            );
        }
        assert_eq!(AddressFault::of_stated("127.0.0.1".parse().unwrap()), None);
    }
}
