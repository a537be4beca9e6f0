//! Networks with routers between their spanning trees.
use super::*;
use inventory::host_report::{HostReport, ProbedPath};
use inventory::observation::SystemCapabilities;
use inventory::topology::NodeKind;

/// Makes a device a router.
fn routes(net: &mut InferenceFixture, name: &str) {
    let router = net.view(name);
    router.bridge = None;
    router.lldp.as_mut().unwrap().capabilities = Some(SystemCapabilities {
        bridge: false,
        router: true,
    });
}

/// Makes a switch the root bridge of its part.
fn own_root(net: &mut InferenceFixture, name: &str) {
    let bridge = net.view(name).bridge.as_mut().unwrap();
    bridge.root_bridge = bridge.address.map(|address| BridgeId {
        priority: 0,
        address,
    });
}

#[test]
fn a_router_joins_the_trees_it_stands_between() {
    let mut net = InferenceFixture::new(&["s0", "r0", "s1"], "[n0, n1, n2]");
    net.cable(("s0", 1, F), ("r0", 1, F));
    net.cable(("r0", 2, F), ("s1", 1, F));
    for (h, s, p) in [("n0", "s0", 5), ("n1", "s1", 5), ("n2", "s1", 6)] {
        net.host(h, s, p);
    }
    routes(&mut net, "r0");
    own_root(&mut net, "s1");
    let t = net.infer();
    assert_eq!(
        (alarms(&t).as_str(), t.kind("r0")),
        ("", Some(NodeKind::Router))
    );
    assert_eq!(
        (t.root_bridge.as_deref(), &t.further_root_bridges[..]),
        (Some("s0"), &["s1".to_owned()][..])
    );
    let clusters: Vec<_> = t
        .clusters
        .iter()
        .map(|c| (c.name.as_str(), c.hosts.join(" ")))
        .collect();
    assert_eq!(
        clusters,
        [("cluster-s0", "n0".into()), ("cluster-s1", "n1 n2".into())]
    );
    assert_eq!(link(&t, "r0", "s1").state, LinkState::Forwarding);
    assert_eq!(
        (t.tree().unwrap().hosts(), t.tree().unwrap().nodes()),
        (3, 6)
    );
    let file = t.to_file();
    assert_eq!(
        (
            file.routers.join(" "),
            file.switches.join(" "),
            file.clusters.len()
        ),
        ("r0".into(), "s0 s1".into(), 2)
    );
    assert_eq!(file.tree().unwrap().nodes(), 6);
    // Another link of the same router to the same bridges is not another path; another router is.
    net.cable(("s0", 2, F), ("s1", 2, F));
    let one = net.infer();
    assert_eq!(
        (
            one.clusters.len(),
            one.further_root_bridges.len(),
            alarms(&one).as_str()
        ),
        (1, 0, "")
    );
    assert_eq!(
        one.links.iter().filter(|l| l.carries_frames()).count(),
        one.nodes.len() - 1,
        "{}",
        one.to_file().to_yaml()
    );
}

#[test]
fn of_several_routed_ways_the_first_counts_and_an_alarm_says_so() {
    let mut net = InferenceFixture::new(&["s0", "r0", "r1", "s1"], "[n0, n1]");
    for (r, p) in [("r0", 1), ("r1", 2)] {
        net.cable(("s0", p, F), (r, 1, F));
        net.cable((r, 2, F), ("s1", p, F));
        routes(&mut net, r);
    }
    net.host("n0", "s0", 5);
    net.host("n1", "s1", 5);
    own_root(&mut net, "s1");
    let t = net.infer();
    assert_eq!(
        (link(&t, "r0", "s1").state, link(&t, "r1", "s1").state),
        (LinkState::Forwarding, LinkState::Unknown)
    );
    assert!(
        alarms(&t).starts_with("link r1-s1: routers join both ends by another way, too"),
        "{}",
        alarms(&t)
    );
    assert_eq!((t.clusters.len(), t.tree().unwrap().nodes()), (2, 6));
}

#[test]
fn a_router_that_only_packets_tell_of_joins_what_they_pass_between() {
    let mut net = InferenceFixture::new(&["s0", "s1", "s2"], "[n0, n1, n2]");
    for (h, s) in [("n0", "s0"), ("n1", "s1"), ("n2", "s2")] {
        net.host(h, s, 5);
    }
    own_root(&mut net, "s1");
    own_root(&mut net, "s2");
    assert!(
        net.infer().tree().is_err(),
        "nothing tells that packets pass"
    );
    net.tells(HostReport {
        host: "n0".into(),
        paths: vec![path("n1", true), path("n2", false)],
        ..HostReport::default()
    });
    let t = net.infer();
    assert_eq!(t.kind("unseen-router"), Some(NodeKind::Router));
    let joining = ["s0", "s1"].map(|s| link(&t, s, "unseen-router"));
    assert!(
        joining
            .iter()
            .all(|l| l.carries_frames() && l.grade == LinkGrade::Inferred),
        "{joining:#?}"
    );
    assert_eq!(
        joining[0].evidence[0].to_string(),
        "1 routed hop (10.0.1.1) from n0 to n1"
    );
    assert!(
        alarms(&t).contains("it is taken to be cabled to s0, s1 with 1G each"),
        "{}",
        alarms(&t)
    );
    assert!(
        !t.links
            .iter()
            .any(|l| l.a == "s2" && l.b == "unseen-router"),
        "to n2 no packet came through"
    );
    assert_eq!(t.clusters.len(), 3);
}

fn path(to: &str, reached: bool) -> ProbedPath {
    ProbedPath {
        to: to.to_owned(),
        address: [10, 0, 9, 1].into(),
        hops: vec![Some([10, 0, 1, 1].into())],
        reached,
        round_trip: None,
    }
}
