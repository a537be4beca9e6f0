//! From the inferred network to a candidate for an epoch, or to the reasons against one.
//!
//! A host that is seen nowhere keeps its place until there is evidence that it is gone. So a
//! running job's tree loses no host when a switch stops answering, or while a cable moves from port
//! to port.
mod moved;
mod unheard;

pub(crate) use moved::judge_moved;

use super::as_published;
use super::candidate::{EpochCandidate, PublishedNetwork, in_transition, interface, whole};
use super::damping::FlapDamping;
use inventory::alarm::arguments::{AbsenceSign, KeptUntil, PresenceDoubt, TreeDoubt};
use inventory::alarm::{Alarm, AlarmKind};
use inventory::device_view::DeviceViews;
use inventory::evidence::{DevicePort, KeptReason};
use inventory::inventory_file::Inventory;
use inventory::topology::{Link, LinkGrade, LinkState, NodeKind};
use inventory::{Millis, Topology};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;
use std::time::Duration;
use unheard::UnheardHosts;

/// The judgement of one inference.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct NetworkJudgement {
    /// The candidate for an epoch, or the reasons against one.
    pub(crate) candidate: Result<EpochCandidate, Vec<TreeDoubt>>,
    /// Alarms about hosts that keep their place without being seen there.
    pub(crate) alarms: Vec<Alarm>,
    /// The hosts with a link of which it is not certain that it carries frames.
    pub(crate) doubtful: BTreeSet<String>,
}

/// The hosts of the published tree that have no place now, since when.
pub(crate) type AbsentHosts = BTreeMap<String, Millis>;

/// The input of a judgement.
#[derive(Clone, Copy)]
pub(crate) struct JudgementInput<'a> {
    pub(crate) inventory: &'a Inventory,
    pub(crate) views: &'a DeviceViews,
    /// As inferred from the views.
    pub(crate) topology: &'a Arc<Topology>,
    pub(crate) settled: Option<&'a PublishedNetwork>,
    /// The parts that flap, and therefore stay as they are published.
    pub(crate) damping: &'a FlapDamping,
    /// The time after which an absent host is given up, if there is evidence.
    pub(crate) gone_after: Duration,
}

/// Judges an inferred network at `now`. `absent` is kept up to date.
pub(crate) fn judge(
    now: Millis,
    input: &JudgementInput<'_>,
    absent: &mut AbsentHosts,
) -> NetworkJudgement {
    let &JudgementInput {
        inventory,
        views,
        topology,
        settled,
        damping,
        ..
    } = input;
    let hosts = hosts(topology);
    // A copy of a large network costs more than the rest of its judgement, so it is made only where
    // the network is to be changed.
    let mut network = Arc::clone(topology);
    let links = network.links.iter();
    let doubtful = doubtful_hosts(links.filter(|l| hosts.contains(l.b.as_str())));
    if !network.links.iter().all(|l| is_proven(l, views, &hosts)) {
        Arc::make_mut(&mut network)
            .links
            .retain(|l| is_proven(l, views, &hosts));
    }
    if let Some(settled) = settled.filter(|_| !damping.hosts().is_empty()) {
        as_published::freeze_hosts(damping, Arc::make_mut(&mut network), settled);
    }
    let unheard = UnheardHosts::new(now, input, absent);
    if !unheard.awaited.is_empty() {
        let links = &mut Arc::make_mut(&mut network).links;
        links.retain(|l| !unheard.awaited.contains(l.b.as_str()));
    }
    let placed: HashSet<String> = network
        .links
        .iter()
        .filter(|l| hosts.contains(l.b.as_str()))
        .map(|l| l.b.clone())
        .collect();
    absent.retain(|host, _| {
        let is_away = !placed.contains(host) || unheard.all.contains(host.as_str());
        is_away && settled.is_some_and(|s| s.key.hosts.contains_key(host))
    });
    let mut alarms = Vec::new();
    if let Some(settled) = settled {
        alarms = keep_absent(now, input, settled, &placed, absent, &mut network);
        unheard.tell(&mut alarms, input.gone_after);
    }
    let published = settled.map(|settled| &*settled.key);
    let candidate = whole(inventory, views, network, published);
    let candidate = match settled {
        Some(settled) => as_damped(input, candidate, settled),
        None => candidate,
    };
    NetworkJudgement {
        candidate,
        alarms,
        doubtful,
    }
}

fn is_proven(l: &Link, views: &DeviceViews, hosts: &HashSet<&str>) -> bool {
    carries(views, l) || !hosts.contains(l.b.as_str())
}

/// The hosts with a link among these of which it is not certain that it carries frames.
fn doubtful_hosts<'a>(links: impl Iterator<Item = &'a Link>) -> BTreeSet<String> {
    let doubtful = links.filter(|link| !link.carries_frames());
    doubtful.map(|link| link.b.clone()).collect()
}

/// The candidate in which all that flaps stays as published.
fn as_damped(
    input: &JudgementInput<'_>,
    candidate: Result<EpochCandidate, Vec<TreeDoubt>>,
    settled: &PublishedNetwork,
) -> Result<EpochCandidate, Vec<TreeDoubt>> {
    let damping = input.damping;
    let frozen = candidate.and_then(|candidate| {
        if damping.holds_trunks() {
            frozen(input.inventory, input.views, &candidate, settled)
        } else {
            Ok(candidate)
        }
    });
    frozen.map(|candidate| as_published::freeze_claims(damping, candidate, settled))
}

/// Puts the published hosts that have no place now back to their published places, unless there is
/// evidence that they are gone. Returns an alarm for each of them.
fn keep_absent(
    now: Millis,
    input: &JudgementInput<'_>,
    settled: &PublishedNetwork,
    placed: &HashSet<String>,
    absent: &mut AbsentHosts,
    network: &mut Arc<Topology>,
) -> Vec<Alarm> {
    let (topology, gone_after) = (input.topology, input.gone_after);
    let mut kept: BTreeSet<&str> = input.damping.hosts();
    let mut alarms = Vec::new();
    for host in settled.key.hosts.keys().filter(|h| !placed.contains(*h)) {
        let since = *absent.entry(host.clone()).or_insert(now);
        let unlisted = !input.inventory.hosts.contains_key(host);
        let gone = is_gone(input, settled, host);
        let elsewhere = topology.links.iter().any(|l| l.b == *host);
        if unlisted || (gone.is_ok() && !elsewhere && now.since(since) >= gone_after) {
            continue;
        }
        alarms.push(absence(host, settled, elsewhere, gone, gone_after));
        let network = Arc::make_mut(network);
        if input.inventory.switches.is_empty() {
            as_published::keep_bridge(network, settled, host);
        }
        as_published::put_back(network, settled, host, KeptReason::SeenNowhere);
        kept.insert(host);
    }
    kept.extend(input.damping.clustered());
    if !kept.is_empty() {
        as_published::keep_clusters(Arc::make_mut(network), settled, &kept);
    }
    alarms
}

/// Gives a candidate the published links between switches.
fn frozen(
    inventory: &Inventory,
    views: &DeviceViews,
    candidate: &EpochCandidate,
    settled: &PublishedNetwork,
) -> Result<EpochCandidate, Vec<TreeDoubt>> {
    let frozen = whole(
        inventory,
        views,
        as_published::freeze_trunks(&candidate.network, settled),
        Some(&settled.key),
    );
    frozen.map_err(|doubts| vec![TreeDoubt::Frozen(settled.number, doubts)])
}

/// Returns whether a link proves a host's place: it carries frames, and its evidence has one
/// reading.
fn carries(views: &DeviceViews, link: &Link) -> bool {
    link.state != LinkState::Blocked
        && link.grade != LinkGrade::Ambiguous
        && !in_transition(views, link)
}

/// Looks for evidence that a host left its published place. The error says what is missing for it.
fn is_gone(
    &JudgementInput {
        inventory,
        views,
        topology,
        ..
    }: &JudgementInput<'_>,
    settled: &PublishedNetwork,
    host: &str,
) -> Result<AbsenceSign, PresenceDoubt> {
    let Some(place) = settled.network.links.iter().find(|l| l.b == host) else {
        return Ok(AbsenceSign::PortDown);
    };
    let (switch, port) = (place.a.as_str(), place.a_port.as_str());
    match views.get(switch) {
        Some(view) if view.stale.is_none() => {
            match view.interfaces.as_ref().map(|_| interface(view, port)) {
                Some(Some(i))
                    if i.up
                        && !topology
                            .links
                            .iter()
                            .any(|l| l.a == switch && l.a_port == port && l.b != host) =>
                {
                    Err(PresenceDoubt::PortUp(DevicePort::new(switch, port)))
                }
                Some(_) => Ok(AbsenceSign::PortDown),
                None => Err(PresenceDoubt::Unread(switch.to_owned())),
            }
        }
        _ if inventory.switches.is_empty() && is_card_down(views, place) => {
            Ok(AbsenceSign::CardDown)
        }
        // Nobody asked a switch when this was published.
        _ if inventory.switches.is_empty() || !has_switch(&settled.network) => {
            Err(PresenceDoubt::Untold)
        }
        // The switch does not answer, and no link leads to it from another switch: it lost power,
        // and all its hosts lost their network.
        _ if !is_linked(topology, switch) => Ok(AbsenceSign::SwitchCutOff),
        _ => Err(PresenceDoubt::SwitchSilent(switch.to_owned())),
    }
}

fn has_switch(topology: &Topology) -> bool {
    let mut nodes = topology.nodes.iter();
    nodes.any(|node| node.kind == NodeKind::Switch)
}

/// True if the host's agent reports and says that its card on this link is down.
fn is_card_down(views: &DeviceViews, place: &Link) -> bool {
    let view = views.get(&place.b).filter(|view| view.stale.is_none());
    let report = view.and_then(|view| view.host.as_ref());
    report.is_some_and(|report| {
        let mut own = report.nics.iter().filter(|card| card.name == place.b_port);
        own.any(|card| !card.up)
    })
}

/// The alarm for a host that keeps its place. `elsewhere`: it is seen at a place that is not
/// certain, or does not forward.
fn absence(
    host: &str,
    settled: &PublishedNetwork,
    elsewhere: bool,
    gone: Result<AbsenceSign, PresenceDoubt>,
    gone_after: Duration,
) -> Alarm {
    let until = match gone {
        _ if elsewhere => KeptUntil::Settled,
        Ok(sign) => KeptUntil::Dropped(sign, gone_after),
        Err(why) => KeptUntil::Unproven(why),
    };
    let switch = settled
        .key
        .hosts
        .get(host)
        .map(|h| h.switch.clone())
        .unwrap_or_default();
    let kind = AlarmKind::HostKept {
        elsewhere,
        epoch: settled.number,
        switch,
        until,
    };
    Alarm::node(host, kind)
}

/// Returns whether a link joins the switch to a node other than a host.
fn is_linked(topology: &Topology, switch: &str) -> bool {
    let hosts = hosts(topology);
    topology
        .links
        .iter()
        .any(|l| (l.a == switch || l.b == switch) && !hosts.contains(l.b.as_str()))
}

fn hosts(topology: &Topology) -> HashSet<&str> {
    topology
        .nodes
        .iter()
        .filter(|n| n.kind == NodeKind::Host)
        .map(|n| n.name.as_str())
        .collect()
}

#[cfg(test)]
mod tests;
