//! The content of received frames, until it ages out. No I/O: time is an argument.
use super::card::NetworkCard;
use crate::frames::bpdu::{Bpdu, ConfigurationBpdu};
use crate::frames::cdp::CdpAnnouncement;
use crate::frames::lldp::Lldpdu;
use crate::frames::{NeighbourFrame, NeighbourPdu};
use inventory::Millis;
use inventory::host_report::{DiscoveryProtocol, HeardContent, HeardFrame};
use inventory::observation::{BridgeId, NeighbourId};
use std::collections::BTreeMap;
use std::time::Duration;

/// The number of speakers kept for each card and protocol. A cable has one neighbour. A sender with
/// many false names fills no memory, and the speaker known first stays.
const MOST: usize = 16;

/// The content received, by card and by speaker.
#[derive(Debug, Default)]
pub(crate) struct FrameMemory {
    entries: BTreeMap<(u32, FrameSpeaker), RememberedFrame>,
    /// How often each card had lost its link.
    losses: BTreeMap<u32, u32>,
}

/// The sender of a frame. A later frame of the same speaker replaces the earlier one (IEEE
/// 802.1AB-2016, 9.2.7: chassis and port).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum FrameSpeaker {
    Neighbour(DiscoveryProtocol, NeighbourId, NeighbourId),
    Bridge(BridgeId, u16),
}

impl FrameSpeaker {
    fn protocol(&self) -> Option<DiscoveryProtocol> {
        match self {
            FrameSpeaker::Neighbour(protocol, ..) => Some(*protocol),
            FrameSpeaker::Bridge(..) => None,
        }
    }
}

#[derive(Debug)]
struct RememberedFrame {
    content: HeardContent,
    at: Millis,
    /// The time at which it ages out, by a clock that never jumps.
    until: Duration,
}

impl FrameMemory {
    /// Takes in a frame received at `now`; `at` is the same time by the host's clock.
    pub(crate) fn hear(&mut self, card: u32, frame: NeighbourFrame, at: Millis, now: Duration) {
        let Some((speaker, content, holds_for)) = understood(frame.message) else {
            return;
        };
        let key = (card, speaker);
        // A farewell (IEEE 802.1AB-2016, 8.5.4).
        if holds_for.is_zero() {
            self.entries.remove(&key);
        } else if self.entries.contains_key(&key) || self.known(card, &key.1) < MOST {
            self.entries.insert(
                key,
                RememberedFrame {
                    content,
                    at,
                    until: now + holds_for,
                },
            );
        }
    }

    /// Forgets what was received on cards that lost their link since, however briefly: a cable may be
    /// elsewhere within a second, and LLDP holds for minutes.
    pub(crate) fn forget_lost(&mut self, cards: &[NetworkCard]) {
        for card in cards {
            let Some(now) = card.losses else {
                continue;
            };
            let before = self.losses.insert(card.index, now);
            if before.is_some_and(|before| before != now) {
                self.entries.retain(|(of, _), _| *of != card.index);
            }
        }
        self.losses
            .retain(|index, _| cards.iter().any(|card| card.index == *index));
    }

    fn known(&self, card: u32, like: &FrameSpeaker) -> usize {
        let speakers = self.entries.keys();
        let alike =
            speakers.filter(|(of, speaker)| *of == card && speaker.protocol() == like.protocol());
        alike.count()
    }

    /// The content that holds at `now` on these cards, under their present names. What came on a
    /// card without a carrier is forgotten: when the carrier is back, another device may be at the
    /// other end.
    pub(crate) fn current(&mut self, cards: &[NetworkCard], now: Duration) -> Vec<HeardFrame> {
        let card_of = |index: u32| cards.iter().find(|card| card.index == index && card.up);
        self.entries
            .retain(|(card, _), entry| entry.until > now && card_of(*card).is_some());
        self.entries
            .iter()
            .filter_map(|((index, _), entry)| {
                let nic = card_of(*index)?.name.clone();
                Some(HeardFrame {
                    nic,
                    at: entry.at,
                    content: entry.content.clone(),
                })
            })
            .collect()
    }
}

/// The speaker, the content and the time for which it holds; `None` if the message says nothing
/// about this cable.
fn understood(message: NeighbourPdu) -> Option<(FrameSpeaker, HeardContent, Duration)> {
    match message {
        NeighbourPdu::Lldp(unit) => Some(lldp(unit)),
        NeighbourPdu::Cdp(announcement) => Some(cdp(announcement)),
        NeighbourPdu::Bpdu(Bpdu::Configuration(unit)) if unit.is_designated() => Some(bpdu(unit)),
        NeighbourPdu::Bpdu(_) => None,
    }
}

fn lldp(unit: Lldpdu) -> (FrameSpeaker, HeardContent, Duration) {
    let Lldpdu {
        chassis,
        port,
        ttl,
        port_descr,
        name,
        capabilities,
        ..
    } = unit;
    let speaker = FrameSpeaker::Neighbour(DiscoveryProtocol::Lldp, chassis.clone(), port.clone());
    let content = HeardContent::Neighbour {
        protocol: DiscoveryProtocol::Lldp,
        chassis,
        port,
        port_descr,
        name,
        capabilities,
    };
    (speaker, content, Duration::from_secs(ttl.into()))
}

fn cdp(announcement: CdpAnnouncement) -> (FrameSpeaker, HeardContent, Duration) {
    let CdpAnnouncement {
        device,
        port,
        ttl,
        name,
        capabilities,
        ..
    } = announcement;
    let speaker = FrameSpeaker::Neighbour(DiscoveryProtocol::Cdp, device.clone(), port.clone());
    let content = HeardContent::Neighbour {
        protocol: DiscoveryProtocol::Cdp,
        chassis: device,
        port,
        port_descr: String::new(),
        name,
        capabilities,
    };
    (speaker, content, Duration::from_secs(ttl.into()))
}

fn bpdu(unit: ConfigurationBpdu) -> (FrameSpeaker, HeardContent, Duration) {
    let ConfigurationBpdu {
        root_bridge,
        root_path_cost,
        bridge,
        port,
        ..
    } = unit;
    (
        FrameSpeaker::Bridge(bridge, port),
        HeardContent::Bpdu {
            root_bridge,
            root_path_cost,
            bridge,
            port,
        },
        unit.holds_for(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frames::bpdu::StpVersion;
    use inventory::Mac;

    const SECOND: Duration = Duration::from_secs(1);

    fn cards() -> Vec<NetworkCard> {
        let card = |index: u32, name: &str| NetworkCard {
            index,
            name: name.into(),
            mac: Mac([2, 0, 0, 0, 1, index as u8]),
            up: true,
            losses: None,
        };
        vec![card(2, "eth0"), card(3, "eth1")]
    }

    fn lldp(chassis: &str, ttl: u16) -> NeighbourFrame {
        let [id, port] = [chassis, "swp1"].map(|text| NeighbourId::Text(text.into()));
        let mut unit = Lldpdu {
            name: chassis.into(),
            ..Lldpdu::new(id, port, ttl)
        };
        if ttl == 0 {
            unit = unit.farewell();
        }
        NeighbourFrame {
            source: Mac([2, 0, 0, 0, 0, 9]),
            message: NeighbourPdu::Lldp(unit),
        }
    }

    fn bpdu(flags: u8, message_age: u16) -> NeighbourFrame {
        let bridge = BridgeId {
            priority: 0x8000,
            address: Mac([2, 0, 0, 0, 0, 9]),
        };
        let content = ConfigurationBpdu {
            version: StpVersion::Rstp,
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
        NeighbourFrame {
            source: bridge.address,
            message: NeighbourPdu::Bpdu(Bpdu::Configuration(content)),
        }
    }

    fn names(frames: &[HeardFrame]) -> Vec<(&str, u64)> {
        frames.iter().map(|h| (h.nic.as_str(), h.at.0)).collect()
    }

    #[test]
    fn words_age_out_are_renewed_and_taken_back() {
        let mut memory = FrameMemory::default();
        memory.hear(2, lldp("s0", 4), Millis(100), SECOND);
        memory.hear(3, lldp("s1", 120), Millis(100), SECOND);
        memory.hear(3, bpdu(0x3c, 1 << 8), Millis(200), 2 * SECOND);
        assert_eq!(
            names(&memory.current(&cards(), 4 * SECOND)),
            [("eth0", 100), ("eth1", 100), ("eth1", 200)]
        );
        memory.hear(2, lldp("s0", 4), Millis(300), 4 * SECOND);
        assert_eq!(
            names(&memory.current(&cards(), 7 * SECOND))[0],
            ("eth0", 300),
            "renewed, not doubled"
        );
        assert_eq!(
            names(&memory.current(&cards(), 8 * SECOND)),
            [("eth1", 100), ("eth1", 200)],
            "four seconds are over"
        );
        memory.hear(3, lldp("s1", 0), Millis(400), 9 * SECOND);
        assert_eq!(
            names(&memory.current(&cards(), 20 * SECOND)),
            [("eth1", 200)],
            "farewell"
        );
        assert_eq!(
            memory.current(&cards(), 21 * SECOND),
            [],
            "19 of 20 s were left to the BPDU"
        );
    }

    #[test]
    fn a_carrier_lost_and_a_card_gone_take_their_words_along() {
        let mut memory = FrameMemory::default();
        memory.hear(2, lldp("s0", 120), Millis(1), SECOND);
        memory.hear(3, lldp("s1", 120), Millis(1), SECOND);
        let mut now = cards();
        now[0].up = false;
        now[1].name = "data1".into();
        assert_eq!(
            names(&memory.current(&now, SECOND)),
            [("data1", 1)],
            "a name follows its card"
        );
        assert_eq!(
            names(&memory.current(&cards(), SECOND)),
            [("eth1", 1)],
            "not back with the carrier"
        );
        assert_eq!(memory.current(&[], SECOND), []);
    }

    #[test]
    fn a_link_that_was_lost_for_a_moment_takes_the_words_along() {
        let mut memory = FrameMemory::default();
        let lost = |times: Option<u32>| {
            let mut now = cards();
            now[0].losses = times;
            now
        };
        memory.forget_lost(&lost(Some(1)));
        memory.hear(2, lldp("s0", 120), Millis(1), SECOND);
        memory.hear(3, lldp("s1", 120), Millis(1), SECOND);
        for times in [Some(1), None, Some(1)] {
            memory.forget_lost(&lost(times));
        }
        assert_eq!(memory.current(&cards(), SECOND).len(), 2);
        memory.forget_lost(&lost(Some(2)));
        assert_eq!(names(&memory.current(&cards(), SECOND)), [("eth1", 1)]);
    }

    #[test]
    fn only_designated_ports_say_who_is_designated() {
        let mut memory = FrameMemory::default();
        memory.hear(2, bpdu(0x38, 0), Millis(1), SECOND);
        memory.hear(
            2,
            NeighbourFrame {
                source: Mac([2, 0, 0, 0, 0, 9]),
                message: NeighbourPdu::Bpdu(Bpdu::TopologyChange),
            },
            Millis(1),
            SECOND,
        );
        assert_eq!(memory.current(&cards(), SECOND), []);
    }

    #[test]
    fn a_flood_of_names_is_bounded_and_drives_nobody_out() {
        let mut memory = FrameMemory::default();
        memory.hear(2, lldp("z-the-switch", 120), Millis(1), SECOND);
        for n in 0..1000 {
            memory.hear(2, lldp(&format!("liar{n}"), 0xffff), Millis(2), SECOND);
        }
        memory.hear(2, bpdu(0x3c, 0), Millis(3), SECOND);
        memory.hear(2, lldp("z-the-switch", 120), Millis(4), SECOND);
        let frames = memory.current(&cards(), SECOND);
        assert_eq!(frames.len(), MOST + 1, "BPDUs have room of their own");
        assert!(frames.iter().any(|h| {
            let HeardContent::Neighbour { name, .. } = &h.content else {
                return false;
            };
            name == "z-the-switch" && h.at == Millis(4)
        }));
    }
}
