//! The switches that hosts hear, where the inventory lists none. Switches send LLDP, CDP or BPDUs
//! without being asked, and so tell a host where it is plugged in.
//!
//! | a host hears | its place | grade |
//! |---|---|---|
//! | LLDP | the sender, since no bridge passes LLDP on | certain |
//! | no LLDP, but CDP | the sender, though another bridge may be between | inferred |
//! | neither, but BPDUs | the designated bridge of its segment, in the same way | inferred |
//! | several senders by the strongest of these | not known: a bridge between passes frames on | - |
//!
//! The bridge address of a BPDU often is another one than the chassis id of LLDP. A host that hears both
//! tells that they are of one switch.
//!
//! Each host has one place at most, so frames make no more switches than there are hosts, whatever
//! they say. If the agent of a host is silent, its place is inferred, and gives way to a host that
//! hears the same port now.
use crate::acceptance::findings::Findings;
use crate::claims::{ClaimEnd, EndPort, slower};
use crate::draft::DraftLink;
use crate::facts::unlisted::{SharedName, UnlistedNames, as_name, station};
use crate::facts::{Facts, NodeIx};
use crate::readers::host::{HeardStranger, strangers};
use inventory::evidence::NeighbourProtocol;
use inventory::host_report::Nic;
use inventory::observation::{LldpNeighbour, NeighbourId};
use inventory::topology::{LinkGrade, LinkState, Node, NodeKind};
use inventory::{BitsPerSec, Mac};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// A switch that a host hears.
struct HeardSender<'f> {
    host: NodeIx,
    card: &'f Nic,
    /// The frames of the one sender.
    frames: Vec<HeardStranger<'f>>,
    old: bool,
}

/// The place of a host on a switch that it hears.
pub(super) struct AnnouncedAttachment {
    pub(super) link: DraftLink,
    /// The rate of the host's card, if it is known.
    pub(super) rate: Option<BitsPerSec>,
    old: bool,
}

/// The places of all hosts that hear one switch, by host. `cards` are those by which hosts are on
/// their networks.
pub(super) fn announced_attachments<'f>(
    facts: &'f Facts<'f>,
    cards: &BTreeMap<NodeIx, &'f Nic>,
    found: &mut Findings<'_, '_>,
) -> BTreeMap<NodeIx, AnnouncedAttachment> {
    let mut frames: BTreeMap<NodeIx, Vec<HeardStranger<'f>>> = BTreeMap::new();
    for (host, card) in cards {
        frames.insert(*host, frames_on(facts, *host, card));
    }
    let bridges = known_bridges(frames.values());
    let senders = frames.into_iter().filter_map(|(host, frames)| {
        let frames = frames.into_iter().map(|frame| frame.by_switch(&bridges));
        sender(facts, host, cards[&host], frames.collect())
    });
    let senders: Vec<HeardSender<'f>> = senders.collect();
    let rows = senders.iter().map(|sender| &sender.frames[0].row);
    let names = UnlistedNames::new(rows, facts.identity.names(), SharedName::IsSeveral, true);
    let mut named: BTreeMap<String, Vec<&HeardSender<'f>>> = BTreeMap::new();
    for sender in &senders {
        if let Some(name) = names.name(&sender.frames[0].row) {
            named.entry(name).or_default().push(sender);
        }
    }
    // Names that are fit for a topology file stay as they are, so that no other takes them.
    let mut named: Vec<_> = named.into_iter().collect();
    named.sort_by_key(|(name, _)| as_name(name) != *name);
    let mut places = BTreeMap::new();
    for (name, senders) in named {
        let mut rows = senders.iter().map(|sender| &sender.frames[0].row);
        let switch = found.add_apart(Node {
            chassis: rows.find_map(station),
            ..Node::new(as_name(&name), NodeKind::Switch)
        });
        for sender in senders {
            places.insert(sender.host, sender.place(found, switch));
        }
    }
    give_way(&mut places);
    places
}

/// The frames of strangers on a card, or on the members of a bond or bridge.
fn frames_on<'f>(facts: &Facts<'f>, host: NodeIx, card: &Nic) -> Vec<HeardStranger<'f>> {
    let Some(statement) = facts.host_statements.get(&host) else {
        return Vec::new();
    };
    let nics = statement
        .report
        .nics
        .iter()
        .filter(|nic| nic.name == card.name || nic.master.as_ref() == Some(&card.name));
    let nics = nics.filter(|nic| nic.up).map(|nic| nic.name.as_str());
    strangers(facts, host, statement, &nics.collect::<Vec<_>>())
}

/// The switches to which the addresses of bridges in BPDUs belong: a card that hears LLDP of one sender
/// and BPDUs of one bridge hears the same switch twice. But if several ports of the sender stand
/// against one of the bridge, the sender only passes BPDUs on.
fn known_bridges<'s>(
    cards: impl Iterator<Item = &'s Vec<HeardStranger<'s>>>,
) -> HashMap<Mac, LldpNeighbour> {
    let mut found: HashMap<Mac, Vec<(&LldpNeighbour, EndPort, u16)>> = HashMap::new();
    for frames in cards {
        let lldp_frames: Vec<_> = frames
            .iter()
            .filter(|frame| frame.protocol == NeighbourProtocol::Lldp)
            .collect();
        let bridges: Vec<_> = frames.iter().filter_map(|f| f.designated()).collect();
        if let ([lldp], [(address, port)]) = (&lldp_frames[..], &bridges[..]) {
            let pair = (&lldp.row, lldp.port(), *port);
            found.entry(*address).or_default().push(pair);
        }
    }
    let own = found.into_iter().filter(|(_, pairs)| {
        let ports: BTreeSet<(&EndPort, u16)> = pairs.iter().map(|p| (&p.1, p.2)).collect();
        let designated: BTreeSet<u16> = pairs.iter().map(|p| p.2).collect();
        let is_one = pairs.iter().all(|pair| who(pair.0) == who(pairs[0].0));
        is_one && ports.len() == designated.len()
    });
    own.map(|(address, pairs)| (address, pairs[0].0.clone()))
        .collect()
}

/// The one sender of the frames that come from the nearest.
fn sender<'f>(
    facts: &Facts<'f>,
    host: NodeIx,
    card: &'f Nic,
    mut frames: Vec<HeardStranger<'f>>,
) -> Option<HeardSender<'f>> {
    let statement = facts.host_statements.get(&host)?;
    let strongest = frames.iter().map(|frame| rank(frame.protocol)).min()?;
    frames.retain(|frame| rank(frame.protocol) == strongest);
    let first = who(&frames[0].row);
    let is_one = frames.iter().all(|frame| who(&frame.row) == first);
    is_one.then_some(HeardSender {
        host,
        card,
        old: statement.old,
        frames,
    })
}

/// The identifiers of a sender.
fn who(row: &LldpNeighbour) -> (Option<&NeighbourId>, &str) {
    (row.chassis.as_ref(), &row.name)
}

impl HeardStranger<'_> {
    /// The same with the identifiers of its switch, if it is a BPDU of a switch that is known.
    fn by_switch(mut self, bridges: &HashMap<Mac, LldpNeighbour>) -> Self {
        let known = self
            .designated()
            .and_then(|(address, _)| bridges.get(&address));
        if let Some(row) = known {
            self.row = row.clone();
        }
        self
    }
}

/// How far the frames of a protocol come: LLDP from the other end of the cable only, CDP from the next
/// bridge that speaks it. A BPDU names the bridge that is nearest to the root.
fn rank(protocol: NeighbourProtocol) -> u8 {
    match protocol {
        NeighbourProtocol::Lldp => 0,
        NeighbourProtocol::Cdp => 1,
        NeighbourProtocol::Stp => 2,
    }
}

impl HeardSender<'_> {
    fn place(&self, found: &Findings<'_, '_>, switch: NodeIx) -> AnnouncedAttachment {
        let is_certain = !self.old && self.frames[0].protocol == NeighbourProtocol::Lldp;
        let port = match &self.frames[..] {
            [frame] => frame.port(),
            // The cables of an aggregate.
            _ => EndPort::Unknown,
        };
        let (host, name) = (found.name(self.host), found.name(switch));
        let mut evidence: Vec<_> = self
            .frames
            .iter()
            .map(|frame| frame.evidence(host, name, self.old))
            .collect();
        let own = EndPort::Named(self.card.name.clone());
        AnnouncedAttachment {
            rate: self.card.rate,
            old: self.old,
            link: DraftLink {
                rate: slower([self.card.rate, None], &mut evidence),
                ends: [ClaimEnd::new(switch, port), ClaimEnd::new(self.host, own)],
                members: vec![],
                state: LinkState::Unknown,
                grade: match is_certain {
                    true => LinkGrade::Certain,
                    false => LinkGrade::Inferred,
                },
                evidence,
            },
        }
    }
}

impl AnnouncedAttachment {
    /// The end of the cable at the switch.
    pub(super) fn end(&self) -> &ClaimEnd {
        &self.link.ends[0]
    }
}

/// A port holds one cable. What a host received there last does not count any more when
/// another receives it now.
fn give_way(places: &mut BTreeMap<NodeIx, AnnouncedAttachment>) {
    let mut fresh: HashMap<ClaimEnd, bool> = HashMap::new();
    for place in places.values().filter(|place| place.end().port.means_one()) {
        *fresh.entry(place.end().clone()).or_default() |= !place.old;
    }
    places.retain(|_, place| !(place.old && fresh.get(place.end()).copied().unwrap_or(false)));
}
