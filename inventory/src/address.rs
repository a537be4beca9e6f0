//! Where a host is reached on the cluster network, by its agent's word: at the card on its cable, or at one that switches learned where
//! no cable names a card. Another card's address would lead over another network, past this one's switches and routers.
use crate::Mac;
use crate::host_report::Nic;
use crate::view::{View, Views};
use std::cell::OnceCell;
use std::collections::HashSet;
use std::net::IpAddr;

/// Looks addresses up in what devices and agents said.
#[derive(Debug)]
pub struct Addresses<'a> {
    views: &'a Views,
    /// Stations that forwarding tables hold; gathered when a host first needs them, for a large network's are millions.
    learned: OnceCell<HashSet<Mac>>,
}

impl<'a> Addresses<'a> {
    /// Addresses by these views.
    pub fn new(views: &'a Views) -> Addresses<'a> {
        Addresses { views, learned: OnceCell::new() }
    }

    /// A host's address and prefix length, where its agent reported a fitting card. `card` is the host's end of its cable, by name or
    /// MAC address; empty where none is known.
    pub fn of(&self, host: &str, card: &str) -> Option<(IpAddr, u8)> {
        let report = self.views.get(host)?.host.as_ref()?;
        let mut cards: Vec<&Nic> = report.cards_at(card).collect();
        if cards.is_empty() {
            let seen = report.nics.iter().filter(|n| n.mac.is_some_and(|mac| self.learned().contains(&mac)));
            cards = seen.flat_map(|n| report.cards_at(&n.name)).collect();
        }
        // IPv4 before IPv6, and then the lowest: the order in which a system lists its addresses changes.
        cards.into_iter().filter(|n| n.up).flat_map(|n| &n.addresses).filter(|(ip, _)| is_reached_from_elsewhere(ip)).min().copied()
    }

    fn learned(&self) -> &HashSet<Mac> {
        let rows = |view: &'a View| view.fdb.iter().flatten().map(|row| row.mac);
        self.learned.get_or_init(|| self.views.values().flat_map(rows).collect())
    }
}

fn is_reached_from_elsewhere(ip: &IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => !ip.is_loopback() && !ip.is_link_local() && !ip.is_unspecified(),
        IpAddr::V6(ip) => !ip.is_loopback() && !ip.is_unicast_link_local() && !ip.is_unspecified(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host_report::HostReport;
    use crate::observation::FdbEntry;

    fn card(name: &str, mac: u8, addresses: &[&str]) -> Nic {
        let addresses = addresses.iter().map(|a| (a.parse().unwrap(), 24)).collect();
        Nic { name: name.into(), mac: Some(Mac([2, 0, 0, 0, 0, mac])), addresses, up: true, ..Nic::default() }
    }

    fn views(nics: Vec<Nic>) -> Views {
        let report = HostReport { host: "n0".into(), nics, ..HostReport::default() };
        Views::from([("n0".into(), View { host: Some(report), ..View::default() })])
    }

    #[test]
    fn the_card_on_the_cable_counts_and_its_bond_and_no_other() {
        let member = Nic { master: Some("bond0".into()), ..card("eth0", 1, &[]) };
        let all = views(vec![
            card("lo", 0, &["127.0.0.1"]),
            card("ib0", 3, &["10.0.0.1"]),
            member,
            card("bond0", 1, &["169.254.0.9", "fd00::1", "10.77.0.9", "10.77.0.5"]),
        ]);
        let lowest = Some(("10.77.0.5".parse().unwrap(), 24));
        assert_eq!(Addresses::new(&all).of("n0", "eth0"), lowest);
        assert_eq!(Addresses::new(&all).of("n0", "02:00:00:00:00:01"), lowest);
        assert_eq!(Addresses::new(&all).of("n0", "ib0"), Some(("10.0.0.1".parse().unwrap(), 24)));
        assert_eq!(Addresses::new(&all).of("n1", "eth0"), None);
    }

    #[test]
    fn without_a_name_at_the_cable_only_a_learned_card_counts() {
        let mut all = views(vec![card("mgmt", 1, &["192.168.0.1"]), card("eth0", 2, &["fd00::1"])]);
        assert_eq!(Addresses::new(&all).of("n0", ""), None);
        let row = FdbEntry { mac: Mac([2, 0, 0, 0, 0, 2]), port: 1 };
        all.insert("s0".into(), View { fdb: Some(vec![row]), ..View::default() });
        assert_eq!(Addresses::new(&all).of("n0", ""), Some(("fd00::1".parse().unwrap(), 24)));
    }

    #[test]
    fn a_card_without_a_carrier_or_with_local_addresses_only_is_none() {
        let down = Nic { up: false, ..card("eth0", 1, &["10.77.0.1"]) };
        assert_eq!(Addresses::new(&views(vec![down])).of("n0", "eth0"), None);
        assert_eq!(Addresses::new(&views(vec![card("eth0", 1, &["fe80::1", "0.0.0.0", "127.0.0.1"])])).of("n0", "eth0"), None);
    }
}
