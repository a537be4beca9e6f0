//! A host of a topology file, with its cards on one network.
use crate::BitsPerSec;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;
use std::time::Duration;

/// A host and its cable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopologyHost {
    /// The switch at the other end of its cable, or the router if no switch is between.
    pub switch: String,
    /// Its cable's rate.
    pub rate: BitsPerSec,
    /// The time that a bit takes through the cable.
    pub delay: Duration,
    /// The number of ranks.
    pub ranks: u32,
    /// Its address on this network, by which other ranks reach it.
    pub address: Option<IpAddr>,
    /// Its other cards on this network, over which its flows spread, too.
    pub further_cards: Vec<FurtherCard>,
    /// How flows choose among its cards.
    pub spread: CardSpread,
}

/// One more card of a host on the same network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FurtherCard {
    /// The switch at the other end of its cable.
    pub switch: String,
    /// Its cable's rate.
    pub rate: BitsPerSec,
    /// Its own address, if it has one.
    pub address: Option<IpAddr>,
}

/// How flows choose among several cards of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CardSpread {
    /// The cards are one aggregate, with one address (IEEE 802.1AX).
    #[default]
    Lacp,
    /// Each card has an address of its own.
    Rails,
}

impl TopologyHost {
    /// A host of one rank with one card.
    pub fn new(switch: String, rate: BitsPerSec) -> TopologyHost {
        TopologyHost {
            switch,
            rate,
            delay: Duration::ZERO,
            ranks: 1,
            address: None,
            further_cards: Vec::new(),
            spread: CardSpread::default(),
        }
    }

    /// The switches at which it has a card, and the cables' rates.
    pub fn cards(&self) -> impl Iterator<Item = (&str, BitsPerSec)> {
        let cards = self.further_cards.iter();
        let further = cards.map(|card| (card.switch.as_str(), card.rate));
        std::iter::once((self.switch.as_str(), self.rate)).chain(further)
    }

    /// All its addresses on this network.
    pub fn addresses(&self) -> impl Iterator<Item = IpAddr> {
        let further = self.further_cards.iter().filter_map(|card| card.address);
        self.address.into_iter().chain(further)
    }
}

impl FurtherCard {
    /// A card without an address of its own.
    pub fn new(switch: String, rate: BitsPerSec) -> FurtherCard {
        FurtherCard {
            switch,
            rate,
            address: None,
        }
    }
}
