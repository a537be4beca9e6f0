//! What frames said, until it ages out. No I/O: time is an argument.
use super::card::Card;
use crate::frames::bpdu::{Bpdu, Configuration};
use crate::frames::cdp::Announcement;
use crate::frames::lldp::Lldpdu;
use crate::frames::{Frame, Message};
use inventory::Millis;
use inventory::host_report::{Heard, Protocol, Said};
use inventory::observation::{BridgeId, Id};
use std::collections::BTreeMap;
use std::time::Duration;

/// What is kept at most of each card and protocol. A cable has one neighbour; whoever sends more under false names fills no
/// memory, and the one known first stays.
const MOST: usize = 16;

/// What was heard, by card and by who spoke.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    entries: BTreeMap<(u32, Speaker), Entry>,
}

/// Who spoke: a later word of the same speaker replaces the one before (IEEE 802.1AB-2016, 9.2.7: chassis and port).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Speaker {
    Neighbour(Protocol, Id, Id),
    Bridge(BridgeId, u16),
}

#[derive(Debug)]
struct Entry {
    said: Said,
    at: Millis,
    /// When it ages out, by a clock that never jumps.
    until: Duration,
}

impl Memory {
    /// Takes what a frame said at `now`, which is `at` by the host's clock.
    pub(crate) fn hear(&mut self, card: u32, frame: Frame, at: Millis, now: Duration) {
        let Some((speaker, said, holds_for)) = understood(frame.message) else { return };
        let key = (card, speaker);
        if holds_for.is_zero() {
            self.entries.remove(&key);
        } else if self.entries.contains_key(&key) || self.known(card, &key.1) < MOST {
            self.entries.insert(key, Entry { said, at, until: now + holds_for });
        }
    }

    fn known(&self, card: u32, like: &Speaker) -> usize {
        let protocol = |speaker: &Speaker| match speaker {
            Speaker::Neighbour(protocol, ..) => Some(*protocol),
            Speaker::Bridge(..) => None,
        };
        self.entries.keys().filter(|(of, speaker)| *of == card && protocol(speaker) == protocol(like)).count()
    }

    /// What holds at `now` on these cards, under the names they have now. What a card without a carrier heard is forgotten:
    /// whoever is at the other end when it has one again may be somebody else.
    pub(crate) fn told(&mut self, cards: &[Card], now: Duration) -> Vec<Heard> {
        let card_of = |index: u32| cards.iter().find(|card| card.index == index && card.up);
        self.entries.retain(|(card, _), entry| entry.until > now && card_of(*card).is_some());
        let heard = |((index, _), entry): (&(u32, Speaker), &Entry)| {
            let nic = card_of(*index)?.name.clone();
            Some(Heard { nic, at: entry.at, said: entry.said.clone() })
        };
        self.entries.iter().filter_map(heard).collect()
    }
}

/// Who says what, and for how long; `None` where it says nothing of this cable.
fn understood(message: Message) -> Option<(Speaker, Said, Duration)> {
    match message {
        Message::Lldp(unit) => Some(lldp(unit)),
        Message::Cdp(announcement) => Some(cdp(announcement)),
        Message::Bpdu(Bpdu::Configuration(said)) if said.is_designated() => Some(bpdu(said)),
        Message::Bpdu(_) => None,
    }
}

fn lldp(unit: Lldpdu) -> (Speaker, Said, Duration) {
    let Lldpdu { chassis, port, ttl, port_descr, name, capabilities, .. } = unit;
    let speaker = Speaker::Neighbour(Protocol::Lldp, chassis.clone(), port.clone());
    let said = Said::Neighbour { protocol: Protocol::Lldp, chassis, port, port_descr, name, capabilities };
    (speaker, said, Duration::from_secs(ttl.into()))
}

fn cdp(announcement: Announcement) -> (Speaker, Said, Duration) {
    let Announcement { device, port, ttl, name, capabilities, .. } = announcement;
    let speaker = Speaker::Neighbour(Protocol::Cdp, device.clone(), port.clone());
    let said = Said::Neighbour { protocol: Protocol::Cdp, chassis: device, port, port_descr: String::new(), name, capabilities };
    (speaker, said, Duration::from_secs(ttl.into()))
}

fn bpdu(said: Configuration) -> (Speaker, Said, Duration) {
    let Configuration { root_bridge, root_path_cost, bridge, port, .. } = said;
    (Speaker::Bridge(bridge, port), Said::Bpdu { root_bridge, root_path_cost, bridge, port }, said.holds_for())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frames::bpdu::Version;
    use inventory::Mac;

    const SECOND: Duration = Duration::from_secs(1);

    fn cards() -> Vec<Card> {
        let card = |index: u32, name: &str| Card { index, name: name.into(), mac: Mac([2, 0, 0, 0, 1, index as u8]), up: true };
        vec![card(2, "eth0"), card(3, "eth1")]
    }

    fn lldp(chassis: &str, ttl: u16) -> Frame {
        let mut unit = Lldpdu {
            chassis: Id::Text(chassis.into()),
            port: Id::Text("swp1".into()),
            ttl,
            port_descr: String::new(),
            name: chassis.into(),
            descr: String::new(),
            capabilities: None,
            management: vec![],
        };
        if ttl == 0 {
            unit = unit.farewell();
        }
        Frame { source: Mac([2, 0, 0, 0, 0, 9]), message: Message::Lldp(unit) }
    }

    fn bpdu(flags: u8, message_age: u16) -> Frame {
        let bridge = BridgeId { priority: 0x8000, address: Mac([2, 0, 0, 0, 0, 9]) };
        let said = Configuration {
            version: Version::Rstp,
            flags,
            root_bridge: bridge,
            root_path_cost: 0,
            bridge,
            port: 0x8001,
            message_age,
            max_age: 20 << 8,
            hello_time: 2 << 8,
            forward_delay: 15 << 8,
        };
        Frame { source: bridge.address, message: Message::Bpdu(Bpdu::Configuration(said)) }
    }

    fn names(heard: &[Heard]) -> Vec<(&str, u64)> {
        heard.iter().map(|h| (h.nic.as_str(), h.at.0)).collect()
    }

    #[test]
    fn words_age_out_are_renewed_and_taken_back() {
        let mut memory = Memory::default();
        memory.hear(2, lldp("s0", 4), Millis(100), SECOND);
        memory.hear(3, lldp("s1", 120), Millis(100), SECOND);
        memory.hear(3, bpdu(0x3c, 1 << 8), Millis(200), 2 * SECOND);
        assert_eq!(names(&memory.told(&cards(), 4 * SECOND)), [("eth0", 100), ("eth1", 100), ("eth1", 200)]);
        memory.hear(2, lldp("s0", 4), Millis(300), 4 * SECOND);
        assert_eq!(names(&memory.told(&cards(), 7 * SECOND))[0], ("eth0", 300), "renewed, not doubled");
        assert_eq!(names(&memory.told(&cards(), 8 * SECOND)), [("eth1", 100), ("eth1", 200)], "four seconds are over");
        memory.hear(3, lldp("s1", 0), Millis(400), 9 * SECOND);
        assert_eq!(names(&memory.told(&cards(), 20 * SECOND)), [("eth1", 200)], "farewell");
        assert_eq!(memory.told(&cards(), 21 * SECOND), [], "19 of 20 s were left to the BPDU");
    }

    #[test]
    fn a_carrier_lost_and_a_card_gone_take_their_words_along() {
        let mut memory = Memory::default();
        memory.hear(2, lldp("s0", 120), Millis(1), SECOND);
        memory.hear(3, lldp("s1", 120), Millis(1), SECOND);
        let mut now = cards();
        now[0].up = false;
        now[1].name = "data1".into();
        assert_eq!(names(&memory.told(&now, SECOND)), [("data1", 1)], "a name follows its card");
        assert_eq!(names(&memory.told(&cards(), SECOND)), [("eth1", 1)], "not back with the carrier");
        assert_eq!(memory.told(&[], SECOND), []);
    }

    #[test]
    fn only_designated_ports_say_who_is_designated() {
        let mut memory = Memory::default();
        memory.hear(2, bpdu(0x38, 0), Millis(1), SECOND);
        memory.hear(2, Frame { source: Mac([2, 0, 0, 0, 0, 9]), message: Message::Bpdu(Bpdu::TopologyChange) }, Millis(1), SECOND);
        assert_eq!(memory.told(&cards(), SECOND), []);
    }

    #[test]
    fn a_flood_of_names_is_bounded_and_drives_nobody_out() {
        let mut memory = Memory::default();
        memory.hear(2, lldp("z-the-switch", 120), Millis(1), SECOND);
        for n in 0..1000 {
            memory.hear(2, lldp(&format!("liar{n}"), 0xffff), Millis(2), SECOND);
        }
        memory.hear(2, bpdu(0x3c, 0), Millis(3), SECOND);
        memory.hear(2, lldp("z-the-switch", 120), Millis(4), SECOND);
        let heard = memory.told(&cards(), SECOND);
        assert_eq!(heard.len(), MOST + 1, "BPDUs have room of their own");
        assert!(heard.iter().any(|h| matches!(&h.said, Said::Neighbour { name, .. } if name == "z-the-switch" && h.at == Millis(4))));
    }
}
