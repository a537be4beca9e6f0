//! Networks that are no tree, or whose cables have two rates.
use super::TrueNetwork;
use super::cables::{CableNetwork, ChoiceNumber, SpreadHosts};
use crate::rounds::HostFlow;

/// By what switches choose one of several cables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CableChoice {
    /// By the addresses of the hosts (IEEE 802.1AX calls it a conversation of layers 2 and 3).
    ByHosts,
    /// By the ports, too: each flow anew.
    ByPorts,
}

impl CableChoice {
    fn cable(self, flow: HostFlow, port: ChoiceNumber, cables: usize) -> usize {
        let seed = match self {
            CableChoice::ByHosts => 0,
            CableChoice::ByPorts => port,
        };
        let mixed = (seed ^ ((flow.from as u64) << 32) ^ (flow.to as u64) << 8)
            .wrapping_mul(0x9E37_79B9_7F4A_7C15);
        ((mixed ^ mixed >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 40) as usize % cables
    }
}

/// Two switches with an aggregate of cables between them.
pub(crate) fn aggregate(hosts: usize, cables: usize, choice: CableChoice) -> CableNetwork {
    let spread = SpreadHosts { hosts, switches: 2 };
    let ways = move |flow: HostFlow, port| match (flow.from % 2, flow.to % 2) {
        (from, to) if from == to => Vec::new(),
        (from, _) => vec![from * cables + choice.cable(flow, port, cables)],
    };
    spread.with(&vec![1.0; 2 * cables], Box::new(ways))
}

/// Switches with hosts, each with a cable to every one of several spines.
pub(crate) fn leaves_and_spines(
    hosts: usize,
    switches: usize,
    spines: usize,
    choice: CableChoice,
) -> CableNetwork {
    let spread = SpreadHosts { hosts, switches };
    let ways = move |flow: HostFlow, port| {
        let (from, to) = (flow.from % switches, flow.to % switches);
        let spine = choice.cable(flow, port, spines);
        match from == to {
            true => Vec::new(),
            false => vec![2 * (from * spines + spine), 2 * (to * spines + spine) + 1],
        }
    };
    spread.with(&vec![1.0; 2 * switches * spines], Box::new(ways))
}

/// Three switches in a row; one direction of the first trunk has a part of the other's rate.
pub(crate) fn one_way_slower(hosts: usize, part: f64) -> CableNetwork {
    let spread = SpreadHosts { hosts, switches: 3 };
    let ways = |flow: HostFlow, _| match (flow.from % 3, flow.to % 3) {
        (0, 1) => vec![0],
        (1, 0) => vec![1],
        (1, 2) => vec![2],
        (2, 1) => vec![3],
        (0, 2) => vec![0, 2],
        (2, 0) => vec![3, 1],
        _ => Vec::new(),
    };
    spread.with(&[part, 1.0, 1.0, 1.0], Box::new(ways))
}

/// Three switches in a ring, on which everything goes around in one direction: the way back has
/// other cables.
pub(crate) fn one_way_ring(hosts: usize) -> CableNetwork {
    let spread = SpreadHosts { hosts, switches: 3 };
    let ways = |flow: HostFlow, _| {
        let (mut at, mut way) = (flow.from % 3, Vec::new());
        while at != flow.to % 3 {
            way.push(at);
            at = (at + 1) % 3;
        }
        way
    };
    spread.with(&[1.0; 3], Box::new(ways))
}

/// Switches each of which has a cable to each other one.
pub(crate) fn mesh(hosts: usize, switches: usize) -> CableNetwork {
    let spread = SpreadHosts { hosts, switches };
    let ways = move |flow: HostFlow, _| match (flow.from % switches, flow.to % switches) {
        (from, to) if from == to => Vec::new(),
        (from, to) => vec![from * switches + to],
    };
    spread.with(&vec![1.0; switches * switches], Box::new(ways))
}

/// Two switches with a cable on which both directions share one rate.
pub(crate) fn half_duplex(hosts: usize, times: f64) -> CableNetwork {
    let spread = SpreadHosts { hosts, switches: 2 };
    let ways = |flow: HostFlow, _| vec![0; usize::from(flow.from % 2 != flow.to % 2)];
    spread.with(&[times], Box::new(ways))
}

/// Two switches with a trunk; each third host sends at a part of the rate at which it receives.
pub(crate) fn policed_hosts(hosts: usize, part: f64) -> CableNetwork {
    let spread = SpreadHosts { hosts, switches: 2 };
    let ways = |flow: HostFlow, _| match (flow.from % 2, flow.to % 2) {
        (from, to) if from == to => Vec::new(),
        (from, _) => vec![from],
    };
    let mut network = spread.with(&[1.0; 2], Box::new(ways));
    for host in (0..hosts).step_by(3) {
        network.cables[2 * host] = part * TrueNetwork::CABLE;
    }
    network
}

/// Two switches with a trunk; each third host's cable has a part of the others' rate.
pub(crate) fn unequal_hosts(hosts: usize, part: f64) -> CableNetwork {
    let mut network = policed_hosts(hosts, part);
    for host in (0..hosts).step_by(3) {
        network.cables[2 * host + 1] = part * TrueNetwork::CABLE;
    }
    network
}
