//! The trees that one moved cable makes of a tree.
use inventory::BitsPerSec;
use inventory::alarm::arguments::SuspectedMove;
use inventory::tree::{NodeNumber, Tree, TreeCable};

/// A cable by the numbers of its ends, with its rate.
type NumberedCable = (NodeNumber, NodeNumber, BitsPerSec);

/// Each move of these hosts to another switch, and each move of one end of a trunk.
pub(super) fn moves(tree: &Tree, hosts: &[NodeNumber]) -> Vec<SuspectedMove> {
    let switches = || (tree.hosts()..tree.nodes()).filter(|s| !tree.is_host(*s));
    let of_hosts = hosts.iter().flat_map(|&host| {
        let at = tree.parent(host);
        switches()
            .filter(move |to| Some(*to) != at)
            .map(move |to| SuspectedMove::Host {
                host: tree.name(host).to_owned(),
                to: tree.name(to).to_owned(),
            })
    });
    let trunks = switches().filter_map(|below| Some((below, tree.parent(below)?)));
    let of_trunks = trunks.flat_map(|(below, above)| {
        switches().filter_map(move |to| {
            let is_below = is_within(tree, below, to);
            // The end on the side of `to` moves: with the other one the tree would fall in two.
            let (fixed, from) = if is_below {
                (above, below)
            } else {
                (below, above)
            };
            (to != from).then(|| SuspectedMove::Trunk {
                switch: tree.name(fixed).to_owned(),
                from: tree.name(from).to_owned(),
                to: tree.name(to).to_owned(),
            })
        })
    });
    of_hosts.chain(of_trunks).collect()
}

fn is_within(tree: &Tree, top: NodeNumber, node: NodeNumber) -> bool {
    std::iter::successors(Some(node), |at| tree.parent(*at)).any(|at| at == top)
}

/// The tree after a move; `None` if it has no such nodes.
pub(super) fn moved(tree: &Tree, to: &SuspectedMove) -> Option<Tree> {
    let node = |name: &str| (0..tree.nodes()).find(|node| tree.name(*node) == name);
    let mut cables: Vec<NumberedCable> = tree
        .top_down()
        .iter()
        .filter_map(|&v| Some((v, tree.parent(v)?, tree.rate(v))))
        .collect();
    let (stays, from, to) = match to {
        SuspectedMove::Host { host, to } => {
            let host = node(host)?;
            (host, tree.parent(host)?, node(to)?)
        }
        SuspectedMove::Trunk { switch, from, to } => (node(switch)?, node(from)?, node(to)?),
    };
    let cable = cables
        .iter_mut()
        .find(|(a, b, _)| (*a, *b) == (stays, from) || (*b, *a) == (stays, from))?;
    *cable = (stays, to, cable.2);
    let hosts: Vec<(&str, u32)> = (0..tree.hosts())
        .map(|host| (tree.name(host), tree.ranks(host)))
        .collect();
    let switches: Vec<&str> = (tree.hosts()..tree.nodes()).map(|s| tree.name(s)).collect();
    let cables: Vec<TreeCable<'_>> = cables
        .iter()
        .map(|&(a, b, rate)| TreeCable {
            a: tree.name(a),
            b: tree.name(b),
            rate,
        })
        .collect();
    Tree::new(&hosts, &switches, &cables).ok()
}
