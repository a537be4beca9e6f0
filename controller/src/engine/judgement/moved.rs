//! The judgement of a network in which only hosts changed their places, from the one before it.
//!
//! Source: own. Input: the last judgement, and the difference of the topology since. Guarantee: the
//! judgement is the one that [`judge`](super::judge) makes of the whole network (a property test
//! compares them), or there is none. Cost: copies of the lists of hosts; switches, cables and tree
//! stay, because a host is a leaf: wherever it is plugged in, the tree stays a tree. Deviations:
//! where agents report, where a part flaps, where several clusters are published, or where the state
//! of a host's port decides, the whole network is judged.
use super::{
    AbsentHosts, JudgementInput, KeptReason, NetworkJudgement, absence, as_published,
    doubtful_hosts, is_gone,
};
use crate::engine::candidate::{EpochCandidate, PublishedNetwork};
use inventory::alarm::Alarm;
use inventory::difference::TopologyDifference;
use inventory::topology::{Cluster, Link, LinkGrade, LinkState};
use inventory::topology_file::TopologyFile;
use inventory::{BitsPerSec, Millis};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

/// The most hosts whose places are judged one by one.
const FEW: usize = 256;

/// A host's switch, and the rate of its cable.
type RatedAttachment<'a> = (&'a str, BitsPerSec);

/// Judges the network that `last` became by `difference`; `None`: nothing differs. No judgement
/// comes back where only the whole network can be judged; `absent` is unchanged then.
pub(crate) fn judge_moved(
    now: Millis,
    input: &JudgementInput<'_>,
    last: &NetworkJudgement,
    difference: Option<&TopologyDifference>,
    absent: &mut AbsentHosts,
) -> Option<NetworkJudgement> {
    let settled = input.settled?;
    let before = last.candidate.as_ref().ok()?;
    if !is_plain(input, before, settled) {
        return None;
    }
    let moved = match difference {
        Some(difference) => difference.only_hosts()?,
        None => HashSet::new(),
    };
    let concerned = links_of(
        &input.topology.links,
        moved
            .into_iter()
            .chain(last.doubtful.iter().map(String::as_str))
            .chain(absent.keys().map(String::as_str)),
    );
    if concerned.len() > FEW {
        return None;
    }
    let mut away = absent.clone();
    let mut attachments: BTreeMap<&str, RatedAttachment<'_>> = BTreeMap::new();
    for (&host, links) in &concerned {
        match proven(links)?[..] {
            [] => drop(away.entry(host.to_owned()).or_insert(now)),
            [link] => {
                away.remove(host);
                attachments.insert(host, (&link.a, link.rate_bps));
            }
            _ => return None,
        }
    }
    let alarms = keep_away(now, input, settled, &concerned, &away, &mut attachments)?;
    let mut candidate = attached(input, before, &attachments)?;
    let doubtful = doubtful_hosts(concerned.values().flatten().copied());
    if !Arc::ptr_eq(&candidate.file, &before.file) {
        candidate.network = Arc::clone(input.topology);
        if !doubtful.is_empty() {
            let links = &mut Arc::make_mut(&mut candidate.network).links;
            links.retain(|l| l.carries_frames() || !doubtful.contains(&l.b));
        }
        if !away.is_empty() {
            put_back(&mut candidate, settled, &away);
        }
    }
    *absent = away;
    Some(NetworkJudgement {
        candidate: Ok(candidate),
        alarms,
        doubtful,
    })
}

/// The links to each of these hosts.
fn links_of<'a>(
    links: &'a [Link],
    hosts: impl Iterator<Item = &'a str>,
) -> BTreeMap<&'a str, Vec<&'a Link>> {
    let mut own: BTreeMap<&str, Vec<&Link>> = hosts.map(|host| (host, Vec::new())).collect();
    if own.is_empty() {
        return own;
    }
    for link in links {
        if let Some(own) = own.get_mut(link.b.as_str()) {
            own.push(link);
        }
    }
    own
}

/// Those of a host's links that prove its place; `None` where that depends on more than the links.
fn proven<'a>(links: &[&'a Link]) -> Option<Vec<&'a Link>> {
    let mut proven = Vec::new();
    for &link in links {
        match link.state {
            LinkState::Blocked => {}
            _ if link.grade == LinkGrade::Ambiguous => {}
            LinkState::Forwarding => proven.push(link),
            LinkState::Multipath | LinkState::Unknown => return None,
        }
    }
    Some(proven)
}

/// Returns whether a host's place decides nothing but itself.
fn is_plain(
    input: &JudgementInput<'_>,
    before: &EpochCandidate,
    settled: &PublishedNetwork,
) -> bool {
    !input.damping.holds_anything()
        && before.file.clusters.is_empty()
        && is_same_cluster(&input.topology.clusters, &settled.network.clusters)
        && input.views.values().all(|view| view.host.is_none())
}

fn is_same_cluster(now: &[Cluster], then: &[Cluster]) -> bool {
    match (now, then) {
        ([], []) => true,
        ([now], [then]) => now.name == then.name,
        _ => false,
    }
}

/// Keeps the hosts without a proven place in their published places: adds these to `attachments`, and
/// returns the alarms. `None` if a host is to be given up.
fn keep_away<'a>(
    now: Millis,
    input: &JudgementInput<'a>,
    settled: &'a PublishedNetwork,
    concerned: &BTreeMap<&str, Vec<&Link>>,
    away: &'a AbsentHosts,
    attachments: &mut BTreeMap<&'a str, RatedAttachment<'a>>,
) -> Option<Vec<Alarm>> {
    let mut alarms = Vec::new();
    for (host, since) in away {
        let known =
            settled.key.hosts.contains_key(host) && input.inventory.hosts.contains_key(host);
        if !known {
            return None;
        }
        let elsewhere = !concerned.get(host.as_str())?.is_empty();
        let gone = is_gone(input, settled, host);
        if gone.is_ok() && !elsewhere && now.since(*since) >= input.gone_after {
            return None;
        }
        alarms.push(absence(host, settled, elsewhere, gone, input.gone_after));
        let mut places = settled.network.links.iter().filter(|l| l.b == *host);
        let place = places.next().filter(|l| l.grade != LinkGrade::Ambiguous)?;
        attachments.insert(host, (&place.a, place.rate_bps));
    }
    Some(alarms)
}

/// The candidate with these hosts in these places; `None` if that may concern more than the hosts.
fn attached(
    input: &JudgementInput<'_>,
    before: &EpochCandidate,
    attachments: &BTreeMap<&str, RatedAttachment<'_>>,
) -> Option<EpochCandidate> {
    let mut candidate = before.clone();
    for (&host, &(switch, rate)) in attachments {
        let was = before.file.hosts.get(host)?;
        if !was.further_cards.is_empty() {
            return None;
        }
        if (was.switch.as_str(), was.rate) == (switch, rate) {
            continue;
        }
        // A switch that is not listed may leave the file with its last host.
        if !stays(&was.switch, input, before) || !stays(switch, input, before) {
            return None;
        }
        let EpochCandidate { file, key, .. } = &mut candidate;
        for file in [file, key] {
            attachment(Arc::make_mut(file), host, switch, rate)?;
        }
    }
    Some(candidate)
}

fn stays(switch: &str, input: &JudgementInput<'_>, before: &EpochCandidate) -> bool {
    input.inventory.switches.contains_key(switch)
        && before.file.switches.iter().any(|s| s == switch)
}

fn attachment(file: &mut TopologyFile, host: &str, switch: &str, rate: BitsPerSec) -> Option<()> {
    let host = file.hosts.get_mut(host)?;
    host.switch = switch.to_owned();
    host.rate = rate;
    Some(())
}

/// Puts absent hosts back to their published places, as the judgement of the whole does.
fn put_back(candidate: &mut EpochCandidate, settled: &PublishedNetwork, away: &AbsentHosts) {
    let network = Arc::make_mut(&mut candidate.network);
    for host in away.keys() {
        as_published::put_back(network, settled, host, KeptReason::SeenNowhere);
    }
    let kept: BTreeSet<&str> = away.keys().map(String::as_str).collect();
    as_published::keep_clusters(network, settled, &kept);
}

#[cfg(test)]
mod tests;
