//! From a tree to an epoch that may be published.
use inventory::evidence::Evidence;
use inventory::topology::{Grade, Link, LinkState, Node, NodeKind};
use inventory::topology_file::TopologyFile;
use inventory::{Millis, Topology};
use selection::epoch::{Epoch, PlanError};
use selection::tuning::Tuning;

/// An epoch whose schedules the verifier has passed. There is no other way to make one, so nothing else can be published.
#[derive(Debug, Clone)]
pub struct Verified(Epoch);

impl Verified {
    /// Plans and verifies the collectives of all hosts; what was measured decides which way is taken at which size.
    ///
    /// # Errors
    /// [`PlanError`] where the file is no tree, or the verifier refuses the plan.
    pub fn plan(number: u64, at: Millis, file: TopologyFile, network: Topology, tuning: Tuning) -> Result<Verified, PlanError> {
        Epoch::plan(number, at, file, network, tuning).map(Verified)
    }

    /// The epoch.
    pub fn epoch(&self) -> &Epoch {
        &self.0
    }
}

/// The network a topology file states, for epochs that nobody discovered.
pub fn stated(file: &TopologyFile) -> Topology {
    let link = |a: &String, b: &String, rate, state| Link {
        a: a.clone(),
        a_port: String::new(),
        b: b.clone(),
        b_port: String::new(),
        members: Vec::new(),
        rate_bps: rate,
        state,
        grade: Grade::Certain,
        evidence: vec![Evidence::InTopologyFile],
    };
    let switches = file.switches.iter().map(|s| Node::new(s, NodeKind::Switch));
    let inner = switches.chain(file.routers.iter().map(|r| Node::new(r, NodeKind::Router)));
    let trunks = file.links.iter().map(|l| link(&l.a, &l.b, l.rate, l.state.unwrap_or(LinkState::Forwarding)));
    Topology {
        nodes: inner.chain(file.hosts.keys().map(|h| Node::new(h, NodeKind::Host))).collect(),
        links: trunks.chain(file.hosts.iter().map(|(name, h)| link(&h.switch, name, h.rate, LinkState::Forwarding))).collect(),
        ..Topology::default()
    }
}
