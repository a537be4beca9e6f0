use super::*;

/// A certain, forwarding gigabit link from port p to port q.
fn link(a: &str, b: &str) -> Link {
    Link::new(a, "p", b, "q")
}

#[test]
fn names_that_no_file_takes_are_made_plain_and_stay_apart() {
    let switches = ["core 1", "core/1", "core-1"].map(|n| Node::new(n, NodeKind::Switch));
    let hosts = ["02:00:00:00:00:01", "two places"].map(|n| Node::new(n, NodeKind::Host));
    let links = vec![
        link("core 1", "core-1"),
        link("core/1", "core-1"),
        link("core 1", "02:00:00:00:00:01"),
        link("core 1", "two places"),
        link("core/1", "two places"),
    ];
    let nodes = switches.into_iter().chain(hosts).collect();
    let clusters = vec![Cluster {
        name: "cluster".into(),
        hosts: vec!["02:00:00:00:00:01".into()],
        reasons: vec![],
    }];
    let t = Topology {
        nodes,
        links,
        clusters,
        root_bridge: Some("core/1".into()),
        ..Topology::default()
    };
    let file = t.to_file();
    assert_eq!(
        file.switches,
        ["core-1-3", "core-1-2", "core-1"],
        "the root bridge first"
    );
    assert_eq!(file.hosts.keys().collect::<Vec<_>>(), ["02-00-00-00-00-01"]);
    assert_eq!(
        TopologyFile::parse("t.yaml", &file.to_yaml()).unwrap(),
        file
    );
}

#[test]
fn routers_are_written_as_routers_where_they_join_something() {
    let mut nodes: Vec<Node> = ["r0", "r1", "silent"]
        .into_iter()
        .map(|n| Node::new(n, NodeKind::Router))
        .collect();
    nodes.extend([
        Node::new("s0", NodeKind::Switch),
        Node::new("n0", NodeKind::Host),
        Node::new("n1", NodeKind::Host),
    ]);
    let links = vec![
        link("r0", "r1"),
        link("r0", "s0"),
        link("s0", "n0"),
        link("r1", "n1"),
    ];
    let file = Topology {
        nodes,
        links,
        ..Topology::default()
    }
    .to_file();
    assert_eq!(
        (file.routers.join(" "), file.switches.join(" ")),
        ("r0 r1".into(), "s0".into())
    );
    assert_eq!(file.hosts["n1"].switch, "r1");
    assert_eq!(
        TopologyFile::parse("t.yaml", &file.to_yaml()).unwrap(),
        file
    );
    assert_eq!(file.tree().unwrap().nodes(), 5);
}
