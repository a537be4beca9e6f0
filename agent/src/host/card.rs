//! The Ethernet cards as the system shows them now.
use inventory::Mac;
use pnet::datalink::{MacAddr, NetworkInterface, interfaces};

/// One card. Cards come, go and change their names; their number stays for as long as they do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Card {
    /// The system's number for it, above zero.
    pub index: u32,
    /// The system's name for it, now.
    pub name: String,
    /// The address it sends from.
    pub mac: Mac,
    /// Whether it is set up and has a carrier.
    pub up: bool,
}

impl Card {
    /// Every interface with an Ethernet address but loopback, by number: bridges, bonds and virtual ones, too. Empty where the
    /// system shows none.
    pub fn all() -> Vec<Card> {
        let mut cards: Vec<Card> = interfaces().iter().filter_map(Card::of).collect();
        cards.sort_by_key(|card| card.index);
        cards
    }

    fn of(interface: &NetworkInterface) -> Option<Card> {
        let MacAddr(a, b, c, d, e, f) = interface.mac?;
        let mac = Mac([a, b, c, d, e, f]);
        let up = interface.is_up() && interface.is_running();
        (mac.is_station() && !interface.is_loopback()).then(|| Card { index: interface.index, name: interface.name.clone(), mac, up })
    }
}
