//! Infers a topology from device views, as a pure function: cables, the places of hosts, the state
//! of links by spanning tree (STP), and contradictions.
//!
//! Readers turn facts into claims; one place accepts claims by a ranking, which stands as a table
//! in `ranking`. Contradictions become alarms and links of grade
//! [`Ambiguous`](inventory::topology::LinkGrade::Ambiguous); nothing is chosen silently. The same
//! views give the same topology, in the same order.
//!
//! ```text
//! views --facts--> who is who, ports and addresses as numbers
//!       --readers--> claims: these two ends share a cable
//!       --acceptance--> cables, by whose word counts
//!       --places--> the attachment of each host
//!       --draft--> links that the operator states
//!       --states--> links that carry frames
//!       --networks--> a host may have a card in several
//!       --measured--> places of hosts, and trunks, found by flows between hosts
//!       --clusters--> hosts that share a spanning tree, without a router, a slow link or a long
//!                     link between them
//! ```
//!
//! | item | for |
//! |---|---|
//! | [`infer()`] | a network whose switches and hosts an inventory names |
//! | [`infer_recorded`] | recordings, without a list of the devices that belong to the network |
//! | [`InferenceMemory`] | the same network again and again, of which little changes |
//! | [`descriptions`] | the port descriptions of an inferred network |
//!
//! A new source of evidence is a reader: a file in `readers`, a row in the ranking, a line in
//! `acceptance`. Each step takes the network so far and gives findings, or the next network.
mod acceptance;
mod carried;
mod claims;
mod clusters;
mod crossing_hosts;
mod descriptions;
mod draft;
mod facts;
mod finished;
mod host_addresses;
mod learned_between;
mod memory;
mod network_names;
mod networks;
mod places;
mod policy;
mod ranking;
mod readers;
mod routed;
mod states;
mod traced;
mod vlans;
mod ways;

pub use descriptions::descriptions;
pub use memory::InferenceMemory;

use draft::{DraftNetwork, measured, measured_attachments, operator};
use facts::device::DeviceFacts;
use facts::{Facts, InferenceScope, far_reading};
use indexmap::IndexMap;
use inventory::device_view::DeviceViews;
use inventory::inventory_file::Inventory;
use inventory::mapped_place::MappedPlaces;
use inventory::topology::Topology;
use policy::InferencePolicy;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Infers the network from the statements of the inventory's switches. Views of other devices are
/// not used.
pub fn infer(inventory: &Inventory, views: &DeviceViews) -> Topology {
    InferenceMemory::default().infer_changed(inventory, views, &BTreeSet::new())
}

/// Infers the network from recordings alone: every device that answered, and every node that they
/// name.
pub fn infer_recorded(views: &DeviceViews) -> Topology {
    let switches = views
        .keys()
        .map(|name| (name.as_str(), "its recording".to_owned()))
        .collect();
    let scope = InferenceScope {
        switches,
        hosts: &IndexMap::new(),
        stated: None,
        policy: InferencePolicy::RECORDED,
        mapped: &MappedPlaces::default(),
    };
    let devices: Vec<Arc<DeviceFacts>> = views
        .iter()
        .map(|(name, view)| Arc::new(DeviceFacts::new(name, view)))
        .collect();
    infer_in(&scope, views, &devices)
}

fn infer_in(
    scope: &InferenceScope<'_>,
    views: &DeviceViews,
    devices: &[Arc<DeviceFacts>],
) -> Topology {
    let facts = Facts::new(scope, views, devices);
    // All neighbours' statements are read now. They settle how some devices number ports, and these are read again.
    let settled = far_reading::settled(&facts);
    let facts = match &settled {
        Some(devices) => Facts::new(scope, views, devices),
        None => facts,
    };
    let mut known = acceptance::accept_cables(&facts);
    let unplaced = acceptance::silent_switches::unplaced(&known);
    let candidates = acceptance::silent_switches::candidates(&known, &unplaced);
    known.cables.extend(candidates);
    let (hosts, found) = places::place_hosts(&known, &unplaced);
    found.add_to(&mut known);
    let draft = operator::with_stated(DraftNetwork::new(known, hosts));
    let (draft, roots) = states::with_states(draft);
    // Last: flows count least, and decide only what everything before leaves open.
    let draft = measured::with_trunks(measured_attachments::with_attachments(draft));
    draft.finish(roots)
}

#[cfg(test)]
mod recorded_tests;
#[cfg(test)]
mod tests;
