//! The time and the content of each announcement. No I/O: time is an argument.
use super::LldpAnnouncement;
use crate::frames::lldp::Lldpdu;
use crate::frames::{NeighbourFrame, NeighbourPdu};
use crate::host::card::NetworkCard;
use inventory::Mac;
use inventory::observation::{NeighbourId, SystemCapabilities};
use std::collections::BTreeMap;
use std::time::Duration;

/// The number of announcements in quick succession by a card that came up, and the time between
/// them. The card's neighbour may be just as new (IEEE 802.1AB-2016, 9.2.5.19, txFast).
const QUICK: u32 = 3;
const QUICK_EVERY: Duration = Duration::from_secs(1);

/// The time for which a neighbour keeps an announcement, as a multiple of the interval.
const HOLD: u32 = 3;

#[derive(Debug)]
pub(super) struct TransmitState {
    content: LldpAnnouncement,
    /// The chassis, the same on all cards and for all time: the address of the card that had the
    /// lowest number at the beginning.
    chassis: Option<Mac>,
    ports: BTreeMap<u32, TransmitPort>,
    /// The cards by which another program announces, and the time of its last announcement.
    others: BTreeMap<u32, Duration>,
    /// The last watch found no other program. A program that announces by some cards may begin on a
    /// new card at any moment.
    alone: bool,
    /// The frames that wait to be sent.
    words: Vec<OutgoingFrame>,
}

/// A card by which heddle announces, as it was at the last announcement.
#[derive(Debug)]
struct TransmitPort {
    card: NetworkCard,
    due: Duration,
    /// The number of quick announcements that still follow.
    quick: u32,
    /// The neighbour holds an announcement of ours that a farewell must withdraw.
    sent: bool,
}

/// A frame, and the card to send it by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OutgoingFrame {
    pub(super) card: u32,
    pub(super) frame: NeighbourFrame,
}

impl TransmitState {
    pub(super) fn new(content: LldpAnnouncement) -> TransmitState {
        TransmitState {
            content,
            chassis: None,
            ports: BTreeMap::new(),
            others: BTreeMap::new(),
            alone: false,
            words: Vec::new(),
        }
    }

    /// The frames that became due since the last call.
    pub(super) fn take_frames(&mut self) -> Vec<OutgoingFrame> {
        std::mem::take(&mut self.words)
    }

    /// Queues a farewell for each card that is gone or has changed, and an announcement for each
    /// card where one is due. Returns true if a card came up.
    pub(super) fn update_cards(&mut self, cards: &[NetworkCard], now: Duration) -> bool {
        self.chassis = self.chassis.or_else(|| {
            cards
                .iter()
                .min_by_key(|card| card.index)
                .map(|card| card.mac)
        });
        // A card with another count of lost links has changed, too: it may have another neighbour
        // now.
        let gone: Vec<u32> = self
            .ports
            .values()
            .filter(|port| !cards.contains(&port.card))
            .map(|port| port.card.index)
            .collect();
        for index in gone {
            self.farewell(index);
            self.ports.remove(&index);
        }
        let up: Vec<&NetworkCard> = cards
            .iter()
            .filter(|card| card.up && !self.ports.contains_key(&card.index))
            .collect();
        // An lldpd may announce this host under the same chassis and port: a farewell of ours would
        // then delete its row.
        let due = if self.alone {
            now
        } else {
            now + self.content.listen
        };
        for card in &up {
            self.ports.insert(
                card.index,
                TransmitPort {
                    card: (*card).clone(),
                    due,
                    quick: QUICK,
                    sent: false,
                },
            );
        }
        self.announce(now);
        !up.is_empty()
    }

    fn announce(&mut self, now: Duration) {
        let due: Vec<u32> = self
            .ports
            .iter()
            .filter(|(_, port)| port.due <= now)
            .map(|(index, _)| *index)
            .collect();
        for index in due {
            let speaks = !self.others.contains_key(&index);
            if speaks {
                self.say(index, |unit| unit);
            }
            let port = self.ports.get_mut(&index).expect("it is due");
            port.sent |= speaks;
            port.quick = port.quick.saturating_sub(1);
            port.due = now
                + if port.quick > 0 {
                    QUICK_EVERY.min(self.content.every)
                } else {
                    self.content.every
                };
        }
    }

    /// Takes in an announcement by another program. If it is about this host, that program takes
    /// over on the card. It may be about a guest of the host instead: a guest's frames may leave by
    /// the same card, but have another address.
    pub(super) fn hear_other_program(
        &mut self,
        index: u32,
        source: Mac,
        unit: &Lldpdu,
        now: Duration,
    ) {
        let Some(port) = self
            .ports
            .get(&index)
            .filter(|port| same_but_local(source, port.card.mac))
        else {
            return;
        };
        let name = &port.card.name;
        if unit.ttl == 0 {
            if self.others.remove(&index).is_some() {
                tracing::info!(
                    "card {name}: the other program ends its LLDP; heddle announces this host"
                );
                self.again(index, now);
            }
        } else if self.others.contains_key(&index) {
            self.others.insert(index, now);
        } else {
            let as_whom = if unit.name.is_empty() {
                "without a name"
            } else {
                &unit.name
            };
            tracing::info!(
                "card {name}: another program announces this host by LLDP ({as_whom}); heddle \
                 stands aside there"
            );
            // A neighbour keeps one row for each chassis and port. If both are ours, the row
            // belongs to the other program from now on.
            if self.chassis.map(NeighbourId::Mac).as_ref() == Some(&unit.chassis)
                && NeighbourId::Text(port.card.name.clone()) == unit.port
            {
                self.ports.entry(index).and_modify(|port| port.sent = false);
            }
            self.farewell(index);
            self.others.insert(index, now);
            self.alone = false;
        }
    }

    /// Drops every program whose frames did not come since then.
    pub(super) fn forget_unheard_since(&mut self, since: Duration, now: Duration) {
        let silent: Vec<u32> = self
            .others
            .iter()
            .filter(|(_, last)| **last < since)
            .map(|(index, _)| *index)
            .collect();
        for index in silent {
            self.others.remove(&index);
            if let Some(port) = self.ports.get(&index) {
                tracing::info!(
                    "card {}: no other program announces by LLDP any more; heddle announces this \
                     host",
                    port.card.name
                );
            }
            self.again(index, now);
        }
        self.alone = self.others.is_empty();
    }

    fn again(&mut self, index: u32, now: Duration) {
        if let Some(port) = self.ports.get_mut(&index) {
            (port.due, port.quick) = (now, QUICK);
        }
    }

    fn farewell(&mut self, index: u32) {
        if self
            .ports
            .get_mut(&index)
            .is_some_and(|port| std::mem::take(&mut port.sent))
        {
            self.say(index, |unit| unit.farewell());
        }
    }

    fn say(&mut self, index: u32, what: impl Fn(Lldpdu) -> Lldpdu) {
        let (Some(port), Some(chassis)) = (self.ports.get(&index), self.chassis) else {
            return;
        };
        let unit = Lldpdu {
            chassis: NeighbourId::Mac(chassis),
            port: NeighbourId::Text(port.card.name.clone()),
            // A time to live of 0 would withdraw the announcement (IEEE 802.1AB-2016, 8.5.4).
            ttl: u16::try_from((HOLD * self.content.every).as_secs().max(1)).unwrap_or(u16::MAX),
            port_descr: String::new(),
            name: self.content.host.clone(),
            descr: self.content.description.clone(),
            capabilities: Some(SystemCapabilities::default()),
            management: Vec::new(),
        };
        let frame = NeighbourFrame {
            source: port.card.mac,
            message: NeighbourPdu::Lldp(what(unit)),
        };
        self.words.push(OutgoingFrame { card: index, frame });
    }
}

/// Some programs announce by a member of a bond from the member's address with the "local" bit set.
fn same_but_local(a: Mac, b: Mac) -> bool {
    const LOCAL: u8 = 0x02;
    a.0[0] | LOCAL == b.0[0] | LOCAL && a.0[1..] == b.0[1..]
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn card(index: u32, name: &str, up: bool) -> NetworkCard {
        NetworkCard {
            index,
            name: name.into(),
            mac: Mac([0, 0, 0, 0, 1, index as u8]),
            up,
            losses: None,
        }
    }

    fn turns() -> TransmitState {
        listening(Duration::ZERO)
    }

    fn listening(listen: Duration) -> TransmitState {
        TransmitState::new(LldpAnnouncement {
            host: "n3".into(),
            description: String::new(),
            every: 30 * SECOND,
            listen,
        })
    }

    /// The card, port and time to live of each frame that was queued.
    fn sent(turns: &mut TransmitState) -> Vec<(u32, String, u16)> {
        turns
            .take_frames()
            .into_iter()
            .map(|word| match word.frame.message {
                NeighbourPdu::Lldp(Lldpdu {
                    port: NeighbourId::Text(port),
                    ttl,
                    ..
                }) => (word.card, port, ttl),
                other => panic!("{other:?}"),
            })
            .collect()
    }

    fn other(ttl: u16) -> Lldpdu {
        let [chassis, port] = ["other", "eth0"].map(|text| NeighbourId::Text(text.into()));
        Lldpdu {
            name: "n3.example.org".into(),
            ..Lldpdu::new(chassis, port, ttl)
        }
    }

    #[test]
    fn at_once_quickly_then_every_interval() {
        let mut turns = turns();
        let cards = [card(2, "eth0", true), card(3, "eth1", false)];
        let mut times = Vec::new();
        for n in 0..100 {
            assert_eq!(turns.update_cards(&cards, n * SECOND), n == 0, "up once");
            times.extend(sent(&mut turns).iter().map(|word| (n, word.0, word.2)));
        }
        assert_eq!(
            times,
            [
                (0, 2, 90),
                (1, 2, 90),
                (2, 2, 90),
                (32, 2, 90),
                (62, 2, 90),
                (92, 2, 90)
            ]
        );
        let up = [card(2, "eth0", true), card(3, "eth1", true)];
        assert!(turns.update_cards(&up, 100 * SECOND));
        assert_eq!(sent(&mut turns), [(3, "eth1".into(), 90)]);
    }

    #[test]
    fn who_is_renamed_or_gone_says_farewell_under_the_old_name() {
        let mut turns = turns();
        turns.update_cards(&[card(2, "eth0", true)], SECOND);
        turns.take_frames();
        turns.update_cards(&[card(2, "data0", true)], 2 * SECOND);
        assert_eq!(
            sent(&mut turns),
            [(2, "eth0".into(), 0), (2, "data0".into(), 90)]
        );
        turns.update_cards(&[], 3 * SECOND);
        assert_eq!(sent(&mut turns), [(2, "data0".into(), 0)]);
    }

    #[test]
    fn the_chassis_stays_when_its_card_goes() {
        let mut turns = turns();
        turns.update_cards(&[card(3, "eth1", true), card(2, "eth0", false)], SECOND);
        turns.update_cards(&[card(3, "eth1", true)], 40 * SECOND);
        let chassis = |word: &OutgoingFrame| match &word.frame.message {
            NeighbourPdu::Lldp(unit) => unit.chassis.clone(),
            other => panic!("{other:?}"),
        };
        let words = turns.take_frames();
        assert_eq!(
            words.iter().map(chassis).collect::<Vec<_>>(),
            vec![NeighbourId::Mac(Mac([0, 0, 0, 0, 1, 2])); 2]
        );
        assert_eq!(words[0].frame.source, Mac([0, 0, 0, 0, 1, 3]));
    }

    #[test]
    fn stands_aside_for_another_program_on_its_card_only() {
        let mut turns = turns();
        let cards = [card(2, "eth0", true), card(3, "eth1", true)];
        turns.update_cards(&cards, SECOND);
        turns.take_frames();
        turns.hear_other_program(2, Mac([2, 0, 0, 0, 1, 2]), &other(120), 2 * SECOND);
        assert_eq!(
            sent(&mut turns),
            [(2, "eth0".into(), 0)],
            "takes its own word back"
        );
        turns.hear_other_program(2, cards[0].mac, &other(120), 32 * SECOND);
        turns.update_cards(&cards, 40 * SECOND);
        assert_eq!(sent(&mut turns), [(3, "eth1".into(), 90)]);
        turns.update_cards(&[], 41 * SECOND);
        assert_eq!(
            sent(&mut turns),
            [(3, "eth1".into(), 0)],
            "no farewell in another's place"
        );
    }

    #[test]
    fn listens_before_the_first_word_and_says_none_where_another_speaks() {
        let mut turns = listening(32 * SECOND);
        let cards = [card(2, "eth0", true), card(3, "eth1", true)];
        assert!(turns.update_cards(&cards, Duration::ZERO));
        turns.hear_other_program(2, cards[0].mac, &other(120), 29 * SECOND);
        let mut times = Vec::new();
        for n in 1..36 {
            turns.update_cards(&cards, n * SECOND);
            times.extend(sent(&mut turns).iter().map(|word| (n, word.0, word.2)));
        }
        assert_eq!(
            times,
            [(32, 3, 90), (33, 3, 90), (34, 3, 90)],
            "and no farewell by eth0, where nothing was announced"
        );
        turns.update_cards(&[], 36 * SECOND);
        assert_eq!(sent(&mut turns), [(3, "eth1".into(), 0)]);
    }

    #[test]
    fn who_announced_nothing_yet_sends_no_farewell() {
        let mut turns = listening(32 * SECOND);
        turns.update_cards(&[card(2, "eth0", true)], Duration::ZERO);
        turns.update_cards(&[], SECOND);
        assert_eq!(
            sent(&mut turns),
            [],
            "the row in the switch may be another's"
        );
    }

    #[test]
    fn a_card_that_comes_later_is_listened_on_unless_a_watch_found_nobody() {
        let cards = [
            card(2, "eth0", true),
            card(3, "eth1", true),
            card(4, "eth2", true),
        ];
        let mut turns = listening(32 * SECOND);
        turns.update_cards(&cards[..1], Duration::ZERO);
        turns.hear_other_program(2, cards[0].mac, &other(120), 20 * SECOND);
        turns.forget_unheard_since(Duration::ZERO, 65 * SECOND);
        turns.update_cards(&cards[..2], 100 * SECOND);
        turns.update_cards(&cards[..2], 131 * SECOND);
        assert_eq!(
            sent(&mut turns),
            [],
            "the program that speaks by eth0 may speak by eth1, too"
        );
        turns.update_cards(&cards[..2], 132 * SECOND);
        assert_eq!(sent(&mut turns), [(3, "eth1".into(), 90)]);

        turns.forget_unheard_since(100 * SECOND, 165 * SECOND);
        turns.update_cards(&cards[..2], 165 * SECOND);
        turns.take_frames();
        turns.update_cards(&cards, 166 * SECOND);
        assert!(
            sent(&mut turns).contains(&(4, "eth2".into(), 90)),
            "nobody was seen in the last watch"
        );
    }

    #[test]
    fn the_row_of_another_with_the_same_names_is_left_to_it() {
        let mut turns = turns();
        let cards = [card(2, "eth0", true)];
        turns.update_cards(&cards, SECOND);
        turns.take_frames();
        let same = Lldpdu {
            chassis: NeighbourId::Mac(cards[0].mac),
            ..other(120)
        };
        turns.hear_other_program(2, cards[0].mac, &same, 2 * SECOND);
        turns.update_cards(&[], 3 * SECOND);
        assert_eq!(sent(&mut turns), []);
    }

    #[test]
    fn a_guest_behind_the_same_card_is_somebody_else() {
        let mut turns = turns();
        let cards = [card(2, "eth0", true)];
        turns.update_cards(&cards, SECOND);
        turns.take_frames();
        turns.hear_other_program(2, Mac([0x52, 0x54, 0, 0, 0, 1]), &other(120), SECOND);
        turns.hear_other_program(9, cards[0].mac, &other(120), SECOND);
        turns.update_cards(&cards, 40 * SECOND);
        assert_eq!(sent(&mut turns), [(2, "eth0".into(), 90)]);
    }

    #[test]
    fn speaks_again_after_a_farewell_or_a_silent_watch() {
        let mut turns = turns();
        let cards = [card(2, "eth0", true)];
        turns.update_cards(&cards, SECOND);
        turns.hear_other_program(2, cards[0].mac, &other(120), 2 * SECOND);
        turns.take_frames();
        turns.hear_other_program(2, cards[0].mac, &other(0), 3 * SECOND);
        turns.update_cards(&cards, 3 * SECOND);
        assert_eq!(sent(&mut turns), [(2, "eth0".into(), 90)]);
        turns.hear_other_program(2, cards[0].mac, &other(120), 4 * SECOND);
        turns.take_frames();
        turns.forget_unheard_since(4 * SECOND, 65 * SECOND);
        turns.update_cards(&cards, 65 * SECOND);
        assert_eq!(sent(&mut turns), [], "it was seen in that watch");
        turns.forget_unheard_since(5 * SECOND, 70 * SECOND);
        turns.update_cards(&cards, 70 * SECOND);
        assert_eq!(sent(&mut turns), [(2, "eth0".into(), 90)]);
    }
}
