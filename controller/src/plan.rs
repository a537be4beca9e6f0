//! The network of an epoch that is published from a topology file, without discovery.
use inventory::evidence::Evidence;
use inventory::topology::{AggregateMember, Link, LinkState, Node, NodeKind};
use inventory::topology_file::{TopologyFile, TopologyHost};
use inventory::{BitsPerSec, Topology};

/// The network that a topology file states.
pub fn stated(file: &TopologyFile) -> Topology {
    let switches = file.switches.iter().map(|s| Node::new(s, NodeKind::Switch));
    let inner = switches.chain(file.routers.iter().map(|r| Node::new(r, NodeKind::Router)));
    let trunks = file.links.iter().map(|l| {
        let cables = usize::from(l.cables.get());
        let members = std::iter::repeat_with(|| AggregateMember {
            a_port: String::new(),
            b_port: String::new(),
        })
        .take(cables);
        Link {
            members: members.filter(|_| cables > 1).collect(),
            ..stated_link(&l.a, &l.b, l.rate, l.state.unwrap_or(LinkState::Forwarding))
        }
    });
    Topology {
        nodes: inner
            .chain(file.hosts.keys().map(|h| Node::new(h, NodeKind::Host)))
            .collect(),
        links: trunks
            .chain(
                file.hosts
                    .iter()
                    .flat_map(|(name, h)| h.cards().map(move |card| (name, h, card)))
                    .map(|(name, h, (switch, rate))| {
                        stated_link(switch, name, rate, host_state(h))
                    }),
            )
            .collect(),
        ..Topology::default()
    }
}

fn stated_link(a: &str, b: &str, rate: BitsPerSec, state: LinkState) -> Link {
    Link {
        rate_bps: rate,
        state,
        evidence: vec![Evidence::InTopologyFile],
        ..Link::new(a, "", b, "")
    }
}

fn host_state(host: &TopologyHost) -> LinkState {
    match host.further_cards.is_empty() {
        true => LinkState::Forwarding,
        false => LinkState::Multipath,
    }
}
