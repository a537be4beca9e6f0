//! The place of each host. LLDP tells it, received by the host's switch or by the host itself.
//! Otherwise the edge port on which its MAC address is learned tells it, with the other frames that
//! the host hears. A host has one attachment; if the evidence fits several, all are shown as ambiguous
//! and raise an alarm. Where the inventory lists no switch, the switches that hosts hear tell, and
//! the networks of hosts.
mod announced_switches;
pub(crate) mod attachment;
mod confirmation;
mod learned_hosts;
mod port_tables;
mod shared_networks;
mod shared_ports;

use crate::acceptance::findings::{Additions, Findings};
use crate::acceptance::islands::{DeviceIslands, IslandExit};
use crate::acceptance::known::Known;
use crate::claims::EndPort;
use crate::draft::DraftLink;
use crate::facts::host_statements::HostStatement;
use crate::facts::ports::PortIx;
use crate::facts::{DeviceIx, DevicePortIx, Facts, NodeIx};
use crate::networks::{BridgedParts, NetworkKey, ends_at_own_port};
use crate::readers::host::{self, HostClaims, SilentSwitchPort};
use crate::ways::{EndStatements, SwitchPair, pair};
use attachment::Attachment;
use inventory::Mac;
use inventory::alarm::AlarmKind;
use inventory::alarm::arguments::{HostNotFound, HostPlace};
use inventory::evidence::{DevicePort, Evidence};
use inventory::natural_order::natural;
use inventory::topology::LinkGrade;
use learned_hosts::LearnedHosts;
use port_tables::{PortOccupants, TrunkPorts, is_learned_at, learned_ports};
use shared_ports::add_attached;
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

/// The attachments found for one host.
struct FoundPlaces {
    macs: Vec<Mac>,
    places: Vec<Attachment>,
    /// The networks in which it has a card of its own, as far as it is seen.
    networks: usize,
    /// Links to devices that do not answer and that the host may be behind.
    behind: Vec<DraftLink>,
    /// Switches that never answered and whose frames the host hears.
    silent: Vec<SilentSwitchPort>,
    /// Its statements that contradict those of switches.
    contradicted: Vec<AlarmKind>,
}

/// The place of a host: its links, and the alarms about it.
#[derive(Default)]
struct HostPlacement {
    /// Links to ports that other hosts may have, too.
    at_ports: Vec<DraftLink>,
    links: Vec<DraftLink>,
    alarms: Vec<AlarmKind>,
}

/// All facts about the places of hosts.
struct PlaceSearch<'i, 'f> {
    facts: &'f Facts<'f>,
    trunks: TrunkPorts,
    occupants: PortOccupants,
    edges: LearnedHosts<'i, 'f>,
    parts: BridgedParts,
    /// Switches that act as one, once they are asked for.
    pairs: OnceCell<BTreeSet<SwitchPair>>,
    /// Switches with a known cable between them.
    joined: BTreeSet<SwitchPair>,
    /// True if no switch may be anywhere.
    all_placed: bool,
}

/// The links of all hosts of the inventory to their attachments, with an alarm for each host whose
/// attachment is not known.
pub(crate) fn place_hosts(known: &Known<'_>, unplaced: &[NodeIx]) -> (Vec<DraftLink>, Additions) {
    let mut found = Findings::new(known);
    let links = match known.facts.scope.lists_no_switch() {
        true => shared_networks::place_hosts(known, &mut found),
        false => on_switches(known, unplaced, &mut found),
    };
    (links, found.done())
}

/// The links of all hosts to switches that were asked, or to those behind them.
fn on_switches(
    known: &Known<'_>,
    unplaced: &[NodeIx],
    found: &mut Findings<'_, '_>,
) -> Vec<DraftLink> {
    let facts = known.facts;
    let islands = DeviceIslands::new(known);
    let trunks = TrunkPorts::new(known);
    let mut announced = port_tables::announced(facts, &trunks);
    let parts = bridged_parts(known, unplaced);
    let named = |host: NodeIx| {
        let places = announced.get(host).map_or(&[][..], Vec::as_slice);
        announced_at(facts, places, &parts)
    };
    let search = PlaceSearch {
        facts,
        trunks,
        // Only what hosts state themselves is compared with these.
        occupants: match facts.host_statements.is_empty() {
            true => PortOccupants::default(),
            false => PortOccupants::new(facts),
        },
        edges: LearnedHosts::new(known, &islands, &named, unplaced),
        parts,
        all_placed: unplaced.is_empty(),
        joined: known
            .cables
            .iter()
            .map(|cable| pair(cable.ends[0].node, cable.ends[1].node))
            .collect(),
        pairs: OnceCell::new(),
    };
    let mut links = Vec::with_capacity(facts.scope.hosts.len());
    let mut attached = Vec::new();
    for (host, _, _) in facts.hosts() {
        let announced = announced.take(host);
        let places = search.places(known, host, announced);
        found.add_station(host, places.macs.first().copied());
        let placed = search.settle(known, host, places);
        attached.extend(placed.at_ports);
        links.extend(placed.links);
        for kind in placed.alarms {
            found.alarm(host, kind);
        }
    }
    add_attached(facts, found, (attached, &search.trunks), links)
}

impl PlaceSearch<'_, '_> {
    /// The attachments of a host that the evidence allows.
    fn places(&self, known: &Known<'_>, host: NodeIx, announced: Vec<Attachment>) -> FoundPlaces {
        let (facts, edges) = (self.facts, &self.edges);
        let statement = facts.host_statements.get(&host);
        let claims = self.claims(host, statement);
        let macs: Vec<Mac> = facts.identity.macs_of_host(host).collect();
        let (mut places, contradicted) =
            confirmation::confirm(facts, announced, claims.certain, |claim: &Attachment| {
                self.occupants.others(facts, claim, host)
            });
        let mut behind = Vec::new();
        if places.iter().all(|s| s.own) {
            let ends = edges.first_of(known, edges.ends(&macs));
            let rows = at(facts, &macs, &ends);
            if places.is_empty() && claims.inferred.is_empty() {
                behind = edges.links_beyond(known, host, &ends);
            }
            places = match (places.is_empty(), statement) {
                (false, Some(statement)) => {
                    confirmation::compare_with_learned(places, rows, statement, facts)
                }
                _ => confirmation::add_weak_evidence(rows, claims.inferred),
            };
        } else if places.iter().all(|s| s.trunk) {
            // A host whose LLDP comes through a trunk is behind a device that passes LLDP on. The
            // learned rows tell where its frames come from.
            let rows = at(facts, &macs, &edges.ends(&macs));
            places = if rows.len() == 1 { rows } else { places };
        } else if statement.is_none() {
            places.extend(self.denied(&macs, &places));
        }
        self.doubt(&mut places);
        let (networks, places) = self.in_networks(places, &macs, statement);
        let mut learned = macs.iter().flat_map(|mac| learned_ports(facts, *mac));
        if behind.is_empty() && places.len() != networks && learned.next().is_some() {
            behind = edges.candidate_links(known, host);
        }
        FoundPlaces {
            macs,
            places,
            networks,
            behind,
            silent: claims.silent,
            contradicted,
        }
    }

    /// The places that the host itself claims.
    fn claims(&self, host: NodeIx, statement: Option<&HostStatement<'_>>) -> HostClaims {
        statement
            .map(|statement| {
                host::propose(self.facts, host, statement, &|port| {
                    self.trunks.inner.contains(&port)
                })
            })
            .unwrap_or_default()
    }

    /// Further possible places of a host that switches hear: on devices that pass LLDP on. Such a device
    /// learned the card from which the frames come. Where it learned another card only, and the hearing port did
    /// not, the host has a cable there, too.
    fn denied(&self, macs: &[Mac], places: &[Attachment]) -> Vec<Attachment> {
        let sending: Vec<Mac> = macs
            .iter()
            .copied()
            .filter(|mac| {
                places.iter().any(|place| {
                    place.card.is_none_or(|card| card == *mac)
                        || is_learned_at(self.facts, *mac, place)
                })
            })
            .collect();
        let exits = self.edges.denied_exits(&sending);
        at(self.facts, macs, &exits)
            .into_iter()
            .filter(|place| !self.facts[place.device].hears_lldp)
            .map(|place| Attachment {
                grade: LinkGrade::Ambiguous,
                ..place
            })
            .collect()
    }

    /// Marks an attachment as ambiguous if rows show that its port leads on to other switches.
    fn doubt(&self, places: &mut [Attachment]) {
        for place in places
            .iter_mut()
            .filter(|s| s.grade == LinkGrade::Certain && !s.own)
        {
            let ports = &self.facts[place.device].ports;
            let whole: Option<PortIx> = place.port.index().map(|port| ports.whole(port));
            if let Some(port) = whole
                && self.edges.leads_elsewhere((place.device, port))
            {
                place.grade = LinkGrade::Ambiguous;
                let at = self.facts[place.device].place(port);
                place.evidence.push(Evidence::OthersLearned(at));
            }
        }
    }

    /// The number of networks in which the host has a card of its own, and its attachments there.
    fn in_networks(
        &self,
        places: Vec<Attachment>,
        macs: &[Mac],
        statement: Option<&HostStatement<'_>>,
    ) -> (usize, Vec<Attachment>) {
        if places.len() < 2 {
            return (1, places);
        }
        let by_network = self.by_network(places);
        let networks = by_network.len();
        let narrowed = by_network.into_iter().flat_map(|own| match own.len() {
            1 => own,
            _ => self.narrow(attachment::merge_bonds(self.facts, own, statement), macs),
        });
        (networks, narrowed.collect())
    }

    /// The attachments of each network in which the host has a card of its own. All are of one where it may be
    /// the same card that is seen in two places, before and after it moved.
    fn by_network(&self, places: Vec<Attachment>) -> Vec<Vec<Attachment>> {
        let mut networks: BTreeMap<NetworkKey, Vec<Attachment>> = BTreeMap::new();
        let mut networks_of_card: BTreeMap<&str, BTreeSet<NetworkKey>> = BTreeMap::new();
        for place in &places {
            let card = networks_of_card.entry(&place.host_port).or_default();
            card.insert(self.parts.at(self.facts, &place.end()));
        }
        if !networks_of_card
            .iter()
            .all(|(card, networks)| !card.is_empty() && networks.len() == 1)
        {
            return vec![places];
        }
        for place in places {
            let network = self.parts.at(self.facts, &place.end());
            networks.entry(network).or_default().push(place);
        }
        networks.into_values().collect()
    }

    /// Keeps the attachments with the better evidence: switches that answer before stale ones, edge ports
    /// before trunks. For a host that just moved, it keeps the port at which its frames come in.
    fn narrow(&self, mut places: Vec<Attachment>, macs: &[Mac]) -> Vec<Attachment> {
        prefer(&mut places, |s| !s.old);
        prefer(&mut places, |s| !s.trunk);
        let is_learned = |s: &Attachment| macs.iter().any(|mac| is_learned_at(self.facts, *mac, s));
        let disputed = places.iter().any(|s| s.grade == LinkGrade::Ambiguous);
        if !disputed && places.iter().filter(|s| is_learned(s)).count() == 1 {
            prefer(&mut places, is_learned);
        }
        places
    }

    /// The links of a host to its attachment, or the alarm that it has none or several.
    fn settle(&self, known: &Known<'_>, host: NodeIx, found: FoundPlaces) -> HostPlacement {
        let facts = self.facts;
        let FoundPlaces {
            macs,
            places,
            networks,
            behind,
            silent,
            contradicted,
        } = found;
        let mut placed = HostPlacement {
            alarms: contradicted,
            ..HostPlacement::default()
        };
        let links = &mut placed.links;
        // The operator's statement decides later, and is then compared with what was found.
        if crate::draft::operator::states_place_of(facts, host) {
            links.extend(places.into_iter().map(|p| p.found_link(facts, host)));
            return placed;
        }
        let has_one_each = places.len() == networks || self.are_at_pair(known, &places);
        let is_in_trunk = places.iter().any(|place| place.trunk);
        let has_cards = self.all_placed && have_cards(&places);
        if has_cards && !has_one_each {
            placed.alarms.push(ambiguous(known, &places, &behind));
        }
        let alone = (has_one_each || has_cards) && !is_in_trunk && behind.is_empty();
        match (places.len(), alone) {
            (0, _) => match confirmation::link_to_silent_switch(facts, host, &silent) {
                Some(link) => links.push(link),
                None if !behind.is_empty() => {
                    placed.alarms.extend(hidden(known, &behind));
                    links.extend(behind);
                }
                None => placed.alarms.push(self.nowhere(&macs)),
            },
            (_, true) => {
                let found = places.into_iter().map(|p| p.found_link(facts, host));
                placed.at_ports = found.collect();
                // An aggregate without a name is never the port of another host, too.
                links.extend(
                    placed
                        .at_ports
                        .extract_if(.., |link| link.ends[0].port == EndPort::Unknown),
                );
            }
            _ => {
                placed.alarms.push(ambiguous(known, &places, &behind));
                let places = places.into_iter();
                links.extend(places.map(|s| s.link(facts, host, LinkGrade::Ambiguous)));
                links.extend(behind.into_iter().map(|link| DraftLink {
                    grade: LinkGrade::Ambiguous,
                    ..link
                }));
            }
        }
        placed
    }

    /// True unless the port may lead to several hosts: an aggregate without known members may lead to a switch.
    fn leads_to_one_host(&self, place: &Attachment) -> bool {
        let own = &self.facts[place.device];
        place.port.index().is_some_and(|port| {
            !own.ports[port].is_aggregate()
                || own.ports.iter().any(|(_, p)| p.aggregate == Some(port))
                || own.learned.behind(own.ports.whole(port)).len() == 1
        })
    }

    /// True if a host has one card on each of two switches that act as one, announced or learned at each.
    fn are_at_pair(&self, known: &Known<'_>, places: &[Attachment]) -> bool {
        let [one, other] = places else {
            return false;
        };
        let [a, b] = [one, other].map(|place| NodeIx::from(place.device));
        let are_learned = places
            .iter()
            .all(|place| place.host_port.is_empty() && !place.own && self.leads_to_one_host(place));
        let are_cards =
            one.host_port != other.host_port || (are_learned && self.joined.contains(&pair(a, b)));
        are_cards && !(one.old || other.old) && self.pairs(known).contains(&pair(a, b))
    }

    /// Switches that act as one.
    fn pairs(&self, known: &Known<'_>) -> &BTreeSet<SwitchPair> {
        self.pairs.get_or_init(|| {
            let ports = known.announced_hosts.iter();
            let announced =
                ports.flat_map(|(at, hosts)| hosts.iter().map(move |host| (*host, *at)));
            let cables = known.cables.iter().map(|cable| &cable.ends);
            EndStatements::known(known).switch_pairs(cables, announced.chain(alone(self.facts)))
        })
    }

    fn nowhere(&self, macs: &[Mac]) -> AlarmKind {
        let learned = macs.iter().flat_map(|m| learned_ports(self.facts, *m));
        let far: BTreeSet<DevicePort> = learned
            .map(|(device, port)| self.facts[device].place(port))
            .collect();
        let why = match (macs.is_empty(), far.is_empty()) {
            (true, _) => HostNotFound::NoName,
            (false, true) => HostNotFound::Unlearned,
            (false, false) => HostNotFound::TrunksOnly(far.into_iter().collect()),
        };
        AlarmKind::HostUnfound { why }
    }
}

/// The hosts that are learned alone at ports.
fn alone(facts: &Facts<'_>) -> impl Iterator<Item = (NodeIx, DevicePortIx)> {
    facts.devices().flat_map(move |(device, own)| {
        own.learned
            .ports()
            .filter_map(move |(port, rows)| match rows {
                [(_, mac)] => {
                    let owner = facts.identity.owner_of(*mac)?;
                    facts.is_host(owner).then_some((owner, (device, port)))
                }
                _ => None,
            })
    })
}

/// True if switches hear cards of their own at all these places: the host has a cable to each.
fn have_cards(places: &[Attachment]) -> bool {
    if places.len() < 2 {
        return false;
    }
    let cards: BTreeSet<&str> = places.iter().map(|p| p.host_port.as_str()).collect();
    cards.len() == places.len()
        && places
            .iter()
            .all(|p| p.grade == LinkGrade::Certain && !p.old && !p.own && !p.host_port.is_empty())
}

/// The device that hears each card of a host, in each network.
fn announced_at(facts: &Facts<'_>, places: &[Attachment], parts: &BridgedParts) -> Vec<DeviceIx> {
    if let [only] = places {
        return (!only.trunk).then_some(only.device).into_iter().collect();
    }
    let mut devices = BTreeMap::new();
    for place in places.iter().filter(|place| !place.trunk) {
        let network = parts.at(facts, &place.end());
        let card = (network, place.host_port.as_str());
        devices.entry(card).or_insert(place.device);
    }
    devices.into_values().collect()
}

/// The switches that cables may join.
fn bridged_parts(known: &Known<'_>, unplaced: &[NodeIx]) -> BridgedParts {
    let link_ends = EndStatements::known(known);
    let cables = known.cables.iter().filter(|cable| {
        !ends_at_own_port(known.facts, &cable.ends) && !link_ends.is_routed(&cable.ends)
    });
    let ends = cables.map(|cable| cable.ends.each_ref().map(|end| end.node));
    BridgedParts::new(known.facts, &known.nodes, ends, unplaced)
}

/// Keeps the attachments that fit, or all if none fits.
fn prefer(places: &mut Vec<Attachment>, fits: impl Fn(&Attachment) -> bool) {
    if places.iter().any(&fits) {
        places.retain(fits);
    }
}

/// The edge port rule: a station is cabled to the port at which the path of its frames began.
fn at(facts: &Facts<'_>, macs: &[Mac], ends: &BTreeSet<IslandExit>) -> Vec<Attachment> {
    let places = ends.iter().filter_map(|exit| {
        let IslandExit::Port(device, port) = *exit else {
            return None;
        };
        let evidence = vec![Evidence::LearnedAtEdge {
            at: facts[device].place(port),
            macs: macs.to_vec(),
            stale: facts[device].stale,
        }];
        let (port, card) = (EndPort::At(port), String::new());
        Some(Attachment {
            old: facts[device].stale,
            ..Attachment::new(device, port, card, LinkGrade::Inferred, evidence)
        })
    });
    places.collect()
}

/// The alarm about a host that may be behind several devices that do not answer.
fn hidden(known: &Known<'_>, behind: &[DraftLink]) -> Option<AlarmKind> {
    let names = behind.iter().map(|l| known.name(l.ends[0].node).to_owned());
    let mut grades = behind.iter().map(|l| l.grade);
    let is_unclear = grades.any(|grade| grade == LinkGrade::Ambiguous);
    is_unclear.then(|| AlarmKind::HostHidden {
        behind: names.collect(),
    })
}

/// The alarm about a host that may be at several places.
fn ambiguous(known: &Known<'_>, places: &[Attachment], behind: &[DraftLink]) -> AlarmKind {
    let facts = known.facts;
    let at = places.iter().map(|s| HostPlace::At(s.place(facts)));
    let mut places: Vec<HostPlace> = at.collect();
    places.extend(
        behind
            .iter()
            .map(|l| HostPlace::Behind(known.name(l.ends[0].node).to_owned())),
    );
    places.sort_by_cached_key(|p| natural(&p.to_string()));
    AlarmKind::HostAmbiguous { places }
}
