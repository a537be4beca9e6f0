//! Ends that share a segment, as spanning tree and forwarding databases show them.
use crate::acceptance::known::Known;
use crate::claims::ClaimEnd;
use crate::facts::ports::PortIx;
use crate::facts::{DeviceIx, DevicePortIx, Facts, NodeIx};
use crate::ranking::ClaimGrounds;
use inventory::evidence::Evidence;
use inventory::host_report::DiscoveryProtocol;
use std::collections::HashSet;

/// An end of a segment that no device names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum SegmentEnd {
    /// At a port of a device.
    At(DeviceIx, PortIx),
    /// Somewhere among these nodes, which do not answer.
    Dark(Vec<NodeIx>),
}

/// Two ends that share a segment, and the evidence.
#[derive(Debug, Clone)]
pub(crate) struct SegmentPair {
    pub(crate) ends: [SegmentEnd; 2],
    pub(crate) evidence: Vec<Evidence>,
    /// True if no other device can be between them.
    pub(crate) sure: bool,
    /// True if stations were learned between them.
    pub(crate) parted: bool,
    /// The grounds of a cable between just these two.
    pub(crate) grounds: ClaimGrounds,
}

impl SegmentEnd {
    pub(crate) fn device(&self) -> Option<DeviceIx> {
        match self {
            SegmentEnd::At(device, _) => Some(*device),
            SegmentEnd::Dark(_) => None,
        }
    }

    /// The end of a cable. Of several nodes that do not answer, it takes the first.
    pub(crate) fn cable_end(&self) -> ClaimEnd {
        match self {
            SegmentEnd::At(device, port) => ClaimEnd::at(*device, *port),
            SegmentEnd::Dark(nodes) => ClaimEnd::somewhere(nodes[0]),
        }
    }

    /// Its name in evidence and alarms.
    pub(crate) fn label(&self, known: &Known<'_>) -> String {
        match self {
            SegmentEnd::At(..) => known.place_of(&self.cable_end()),
            SegmentEnd::Dark(nodes) => {
                let names: Vec<&str> = nodes.iter().map(|n| known.name(*n)).collect();
                names.join(" or ")
            }
        }
    }
}

/// The ports at which a cable may be that no device names.
pub(crate) struct OpenPorts<'f> {
    facts: &'f Facts<'f>,
    /// Ports that lead to known nodes, and their aggregates.
    taken: HashSet<DevicePortIx>,
    /// By device: true if it sends LLDP, or hears it.
    speaking: Vec<bool>,
}

impl<'f> OpenPorts<'f> {
    pub(crate) fn new(known: &Known<'f>) -> OpenPorts<'f> {
        let facts = known.facts;
        let mut speaking = vec![false; facts.device_count()];
        let lldp = facts
            .statements()
            .filter(|s| s.row.protocol == DiscoveryProtocol::Lldp);
        for statement in lldp {
            speaking[statement.device.0 as usize] = true;
            if let Some(device) = facts.device_of(statement.names.node) {
                speaking[device.0 as usize] = true;
            }
        }
        OpenPorts {
            facts,
            taken: known.taken(),
            speaking,
        }
    }

    /// True if the two ends can belong to one cable that neither device names. Two devices that
    /// both speak LLDP would have named each other, so another device is between them. Spanning
    /// tree speaks against such a device: one that swallows LLDP would swallow its frames, too.
    pub(crate) fn may_be_cable(&self, pair: &SegmentPair) -> bool {
        let unspoken = !pair
            .ends
            .iter()
            .all(|end| end.device().is_some_and(|d| self.speaking[d.0 as usize]));
        !pair.parted && (unspoken || pair.grounds == ClaimGrounds::Designated)
    }

    /// True if a link between these ends would be new and possible.
    pub(crate) fn admit(&self, ends: &[SegmentEnd; 2]) -> bool {
        let [a, b] = ends.each_ref().map(SegmentEnd::device);
        let are_free = ends.iter().all(|end| match end {
            SegmentEnd::At(device, port) => self.is_free((*device, *port)),
            SegmentEnd::Dark(_) => true,
        });
        (a.is_none() || a != b) && are_free
    }

    /// True if the port is up, can hold a cable and leads to no known node.
    pub(crate) fn is_free(&self, (device, port): DevicePortIx) -> bool {
        let port_facts = &self.facts[device].ports[port];
        !self.taken.contains(&(device, port)) && port_facts.up && port_facts.may_be_cabled()
    }
}
