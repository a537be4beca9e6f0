use super::*;
use crate::BitsPerSec;
use crate::messages::diff;
use crate::model::topology::{LinkGrade, LinkState};
use proptest::prelude::*;

const SWITCHES: usize = 6;
const HOSTS: usize = 12;

fn link(a: String, a_port: usize, b: String, b_port: usize) -> Link {
    Link::new(a, format!("p{a_port}"), b, format!("q{b_port}"))
}

/// A line of switches with two hosts on each.
fn line() -> Topology {
    let nodes = (0..SWITCHES).map(|n| Node::new(switch(n), NodeKind::Switch));
    let trunks = (1..SWITCHES).map(|n| link(switch(n - 1), 90, switch(n), 91));
    let attachments = (0..HOSTS).map(|n| link(switch(n % SWITCHES), n, host(n), 0));
    Topology {
        nodes: nodes
            .chain((0..HOSTS).map(|n| Node::new(host(n), NodeKind::Host)))
            .collect(),
        links: trunks.chain(attachments).collect(),
        clusters: vec![Cluster {
            name: "cluster".to_owned(),
            hosts: (0..HOSTS).map(host).collect(),
            reasons: vec![],
        }],
        ..Topology::default()
    }
}

fn switch(n: usize) -> String {
    format!("s{n}")
}

fn host(n: usize) -> String {
    format!("n{n}")
}

/// One edit by a kind and two numbers; no port gets two cables to one node. `turn` is new each time.
fn edit(t: &mut Topology, turn: usize, (kind, x, y): (u8, usize, usize)) {
    let at = x % t.links.len().max(1);
    match kind {
        0 if !t.links.is_empty() => t.links[at].a = format!("s{}", y % (SWITCHES + 1)),
        1 if !t.links.is_empty() => drop(t.links.remove(at)),
        2 => t.links.push(link(
            format!("s{}", x % SWITCHES),
            100 + turn,
            format!("{}{}", ["n", "s"][y % 2], x % HOSTS),
            y,
        )),
        3 if !t.links.is_empty() => t.links[at].rate_bps = BitsPerSec(1 + y as u64 % 3),
        4 if !t.links.is_empty() => {
            t.links[at].state = [
                LinkState::Forwarding,
                LinkState::Blocked,
                LinkState::Unknown,
            ][y % 3];
        }
        5 if !t.links.is_empty() => {
            t.links[at].grade = [LinkGrade::Certain, LinkGrade::Ambiguous][y % 2];
        }
        6 => {
            let node = x % t.nodes.len();
            t.nodes[node].stale ^= true;
        }
        7 => {
            let node = x % t.nodes.len();
            t.nodes[node].kind = [NodeKind::Switch, NodeKind::Host, NodeKind::Router][y % 3];
        }
        8 if !t.clusters.is_empty() => {
            let from = x % t.clusters.len();
            let host = t.clusters[from].hosts.pop();
            match t.clusters.iter_mut().find(|c| c.name == cluster_name(y)) {
                Some(to) => to.hosts.extend(host),
                None => t.clusters.push(Cluster {
                    name: cluster_name(y),
                    hosts: host.into_iter().collect(),
                    reasons: vec![],
                }),
            }
        }
        9 => t.root_bridge = (!y.is_multiple_of(3)).then(|| format!("s{}", x % SWITCHES)),
        _ if !t.links.is_empty() => {
            let other = y % t.links.len();
            t.links.swap(at, other);
        }
        _ => {}
    }
}

fn cluster_name(n: usize) -> String {
    format!("cluster{}", n % 3)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn the_parts_tell_what_the_wholes_tell(
        first in prop::collection::vec((0u8..11, 0usize..40, 0usize..40), 0..8),
        then in prop::collection::vec((0u8..11, 0usize..40, 0usize..40), 0..6),
    ) {
        let mut before = line();
        first.into_iter().enumerate().for_each(|(turn, e)| edit(&mut before, turn, e));
        let mut after = before.clone();
        then.into_iter().enumerate().for_each(|(turn, e)| edit(&mut after, 10 + turn, e));
        prop_assert_eq!(diff::diff(&before, &after), diff::whole(&before, &after));
    }
}

#[test]
fn a_moved_host_is_all_that_is_left() {
    let (before, mut after) = (line(), line());
    after.links.reverse();
    assert_eq!(TopologyDifference::between(&before, &after), None);
    let attachment = after.links.iter_mut().find(|l| l.b == "n7").unwrap();
    attachment.a = "s3".to_owned();
    let difference = TopologyDifference::between(&before, &after).unwrap();
    assert_eq!(
        [&difference.before, &difference.after].map(|t| (t.nodes.len(), t.links.len())),
        [(3, 1), (3, 1)]
    );
    assert_eq!(difference.only_hosts(), Some(HashSet::from(["n7"])));
    let trunk = after.links.iter_mut().find(|l| l.b == "s2").unwrap();
    trunk.state = LinkState::Blocked;
    let difference = TopologyDifference::between(&before, &after).unwrap();
    assert_eq!(
        difference.only_hosts(),
        None,
        "a link between switches differs, too"
    );
}
