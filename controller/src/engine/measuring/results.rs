//! The results of measurements in words, and the places of hosts that follow from them.
use super::doubtful_hosts::AttachmentFinding;
use super::target::DoubtfulHost;
use inventory::BitsPerSec;
use inventory::mapped_place::{MappedAttachment, MappedPlace, PlaceTrunk};
use std::collections::BTreeMap;

/// The hosts and trunks behind a bridge, a line for each.
pub(super) fn place_lines(place: &MappedPlace) -> Vec<String> {
    // The others are the way in, and trunks elsewhere.
    let mut lines: Vec<String> = place
        .trunks
        .iter()
        .filter(|trunk| {
            let own = trunk.side.iter().filter(|host| place.hosts.contains(host));
            (1..place.hosts.len()).contains(&own.count())
        })
        .map(|trunk| trunk_line(trunk, place))
        .collect();
    if lines.is_empty() {
        lines.push("no cable between its hosts is a bottleneck".to_owned());
    }
    lines.push(cost(place));
    lines
}

fn trunk_line(trunk: &PlaceTrunk, place: &MappedPlace) -> String {
    let own = trunk.side.iter().filter(|host| place.hosts.contains(host));
    format!(
        "trunk {} beside {}: probability {}.{:03}, filled {} times",
        trunk.rate,
        own.cloned().collect::<Vec<_>>().join(" "),
        trunk.probability / 1000,
        trunk.probability % 1000,
        trunk.filled
    )
}

/// Where hosts are: the lines, and the places that are known by now.
pub(super) fn host_lines(
    hosts: &[DoubtfulHost],
    findings: &[AttachmentFinding],
    found: &MappedPlace,
    rates: &BTreeMap<String, BitsPerSec>,
) -> (Vec<String>, Vec<MappedAttachment>) {
    let (mut lines, mut attachments) = (Vec::new(), Vec::new());
    for (host, finding) in hosts.iter().zip(findings) {
        let name = &host.name;
        lines.push(match finding {
            AttachmentFinding::On { node, probability } => {
                attachments.push(MappedAttachment {
                    host: name.clone(),
                    on: node.clone(),
                    among: host.among.clone(),
                    rate: rates.get(name).copied().unwrap_or(BitsPerSec::GIGABIT),
                    probability: *probability,
                    hosts: (found.hosts.len() + found.beside.len()) as u32,
                    rounds: found.rounds,
                    moved: found.moved,
                    at: found.at,
                    link_losses: found.link_losses.get(name).cloned(),
                });
                format!(
                    "{name} is on {node}: probability {}.{:03}",
                    probability / 1000,
                    probability % 1000
                )
            }
            AttachmentFinding::Open(left) => format!(
                "{name} may be on {}: flows filled no cable that decides",
                left.join(" or ")
            ),
            AttachmentFinding::Nowhere => format!(
                "{name} seems to be on none of {}: look at its cable",
                Vec::from_iter(host.candidates.iter().cloned()).join(", ")
            ),
        });
    }
    lines.push(cost(found));
    (lines, attachments)
}

fn cost(place: &MappedPlace) -> String {
    let mb = place.moved.0 as f64 / 1e6;
    format!("{} rounds, {mb:.1} MB moved", place.rounds)
}
