use super::*;
use crate::engine::as_published::keep_clusters;
use crate::engine::candidate::tests::{candidate, inventory, link, network, views};
use inventory::observation::StpState;
use inventory::topology::Cluster;

const GONE: u64 = 30_000; // In milliseconds.

fn settled() -> PublishedNetwork {
    PublishedNetwork::new(4, candidate("s0"))
}

/// The network without n2's link.
fn without_n2() -> Topology {
    let mut t = network("s0");
    t.links.pop();
    t
}

fn judged(
    now: u64,
    views: &DeviceViews,
    topology: &Topology,
    settled: Option<&PublishedNetwork>,
    absent: &mut AbsentHosts,
) -> NetworkJudgement {
    let (inventory, damping) = (inventory(), FlapDamping::default());
    let ground = JudgementInput {
        inventory: &inventory,
        views,
        topology: &Arc::new(topology.clone()),
        settled,
        damping: &damping,
        gone_after: Duration::from_millis(GONE),
    };
    judge(Millis(now), &ground, absent)
}

fn judge_at(
    now: u64,
    views: &DeviceViews,
    topology: &Topology,
    absent: &mut AbsentHosts,
) -> NetworkJudgement {
    judged(now, views, topology, Some(&settled()), absent)
}

#[test]
fn a_host_with_its_port_down_keeps_its_place_for_a_while_and_is_then_dropped() {
    let (views, mut absent) = (views(false, StpState::Disabled), AbsentHosts::new());
    let first = judge_at(0, &views, &without_n2(), &mut absent);
    assert_eq!(first.candidate.unwrap().key, settled().key);
    assert!(
        first.alarms[0]
            .to_string()
            .contains("\"n2\": seen nowhere, epoch 4 keeps it on \"s0\""),
        "{:?}",
        first.alarms
    );
    let last = judge_at(GONE, &views, &without_n2(), &mut absent);
    assert_eq!(
        last.candidate.unwrap().key.hosts.keys().collect::<Vec<_>>(),
        ["n0", "n1"]
    );
}

#[test]
fn without_evidence_a_host_keeps_its_place_for_ever() {
    let mut absent = AbsentHosts::new();
    let mut silent = views(false, StpState::Forwarding);
    silent.get_mut("s0").unwrap().stale = Some((Millis(0), "no answer".into()));
    for (views, why) in [
        (views(true, StpState::Forwarding), "port p2 of \"s0\" is up"),
        (silent, "switch \"s0\" does not answer"),
    ] {
        judge_at(0, &views, &without_n2(), &mut absent);
        let late = judge_at(100 * GONE, &views, &without_n2(), &mut absent);
        assert_eq!(late.candidate.unwrap().key, settled().key);
        assert!(
            late.alarms[0].to_string().contains(why),
            "{:?}",
            late.alarms
        );
    }
}

#[test]
fn a_host_whose_new_port_does_not_forward_yet_keeps_its_old_place() {
    let mut topology = network("s1");
    topology.links[3].state = LinkState::Unknown;
    let mut views = views(true, StpState::Forwarding);
    for port in &mut views.get_mut("s1").unwrap().bridge.as_mut().unwrap().ports {
        port.state = Some(StpState::Learning);
    }
    let moving = judge_at(0, &views, &topology, &mut AbsentHosts::new());
    assert_eq!(moving.candidate.unwrap().key, settled().key);
}

#[test]
fn a_host_that_keeps_its_place_keeps_its_cluster() {
    let published = whole(
        &inventory(),
        &DeviceViews::new(),
        in_two_clusters(&["n0", "n2"], network("s0")),
        None,
    )
    .unwrap();
    let settled = PublishedNetwork::new(4, published);
    let kept = judged(
        0,
        &views(false, StpState::Disabled),
        &in_two_clusters(&["n0"], without_n2()),
        Some(&settled),
        &mut AbsentHosts::new(),
    );
    let kept = kept.candidate.unwrap();
    assert_eq!(
        (&kept.key, &kept.network.clusters),
        (&settled.key, &settled.network.clusters)
    );
    let alone = PublishedNetwork {
        network: Topology {
            clusters: vec![cluster("west", &["n2"])],
            ..Topology::clone(&settled.network)
        }
        .into(),
        ..settled
    };
    let mut network = in_two_clusters(&["n0"], network("s0"));
    keep_clusters(&mut network, &alone, &BTreeSet::from(["n2"]));
    assert_eq!(network.clusters[2], cluster("west", &["n2"]));
}

fn cluster(name: &str, hosts: &[&str]) -> Cluster {
    let hosts = hosts.iter().map(|h| (*h).to_owned()).collect();
    Cluster {
        name: name.into(),
        hosts,
        reasons: vec![],
    }
}

fn in_two_clusters(west: &[&str], mut network: Topology) -> Topology {
    network.clusters = vec![cluster("cluster-s0", west), cluster("cluster-s1", &["n1"])];
    network.clusters.retain(|c| !c.hosts.is_empty());
    network
}

#[test]
fn a_host_that_moved_is_where_it_is_now() {
    let mut absent = AbsentHosts::from([("n2".to_owned(), Millis(0))]);
    let moved = judge_at(
        10,
        &views(true, StpState::Forwarding),
        &network("s1"),
        &mut absent,
    );
    assert_eq!(moved.candidate.unwrap().key, candidate("s1").key);
    assert!(absent.is_empty() && moved.alarms.is_empty());
}

#[test]
fn trunks_between_states_or_lost_or_in_a_loop_give_no_tree() {
    let mut moving = network("s0");
    moving.links[0].state = LinkState::Unknown;
    assert!(
        reason_for_no_tree(&moving, StpState::Listening)
            .contains("link s0-s1: a port listens or learns")
    );
    let mut cut = network("s0");
    cut.links.remove(0);
    assert!(
        reason_for_no_tree(&cut, StpState::Forwarding)
            .contains("no forwarding link leads from \"n2\" to n1")
    );
    let mut loop_ = network("s0");
    loop_
        .links
        .push(link("s0", "p8", "s1", LinkState::Forwarding));
    let doubled = reason_for_no_tree(&loop_, StpState::Forwarding);
    assert!(doubled.contains("two links"), "{doubled}");
    let mut ambiguous = network("s0");
    ambiguous.links[0].grade = LinkGrade::Ambiguous;
    assert!(reason_for_no_tree(&ambiguous, StpState::Forwarding).contains("more than one reading"));
}

fn reason_for_no_tree(topology: &Topology, state: StpState) -> String {
    judged(
        0,
        &views(true, state),
        topology,
        None,
        &mut AbsentHosts::new(),
    )
    .candidate
    .unwrap_err()
    .iter()
    .map(TreeDoubt::to_string)
    .collect::<Vec<_>>()
    .join("; ")
}
