//! The network of an epoch that is published from a topology file, without discovery.
use inventory::Topology;
use inventory::evidence::Evidence;
use inventory::topology::{Link, LinkGrade, LinkState, Node, NodeKind};
use inventory::topology_file::TopologyFile;

/// The network that a topology file states.
pub fn stated(file: &TopologyFile) -> Topology {
    let link = |a: &String, b: &String, rate, state| Link {
        a: a.clone(),
        a_port: String::new(),
        b: b.clone(),
        b_port: String::new(),
        members: Vec::new(),
        rate_bps: rate,
        state,
        grade: LinkGrade::Certain,
        evidence: vec![Evidence::InTopologyFile],
    };
    let switches = file.switches.iter().map(|s| Node::new(s, NodeKind::Switch));
    let inner = switches.chain(file.routers.iter().map(|r| Node::new(r, NodeKind::Router)));
    let trunks = file
        .links
        .iter()
        .map(|l| link(&l.a, &l.b, l.rate, l.state.unwrap_or(LinkState::Forwarding)));
    Topology {
        nodes: inner
            .chain(file.hosts.keys().map(|h| Node::new(h, NodeKind::Host)))
            .collect(),
        links: trunks
            .chain(
                file.hosts
                    .iter()
                    .map(|(name, h)| link(&h.switch, name, h.rate, LinkState::Forwarding)),
            )
            .collect(),
        ..Topology::default()
    }
}
