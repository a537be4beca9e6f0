//! Parts of topologies for this crate's tests.
use crate::BitsPerSec;
use crate::topology::{Grade, Link, LinkState, Node, NodeKind};

/// A node of which nothing but name and kind is known.
pub(crate) fn node(name: &str, kind: NodeKind) -> Node {
    Node { name: name.into(), kind, chassis: None, stale: false }
}

/// A certain, forwarding gigabit link from port p to port q.
pub(crate) fn link(a: &str, b: &str) -> Link {
    Link {
        a: a.into(),
        a_port: "p".into(),
        b: b.into(),
        b_port: "q".into(),
        members: vec![],
        rate_bps: BitsPerSec::GIGABIT,
        state: LinkState::Forwarding,
        grade: Grade::Certain,
        evidence: vec![],
    }
}
