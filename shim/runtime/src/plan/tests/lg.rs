//! Plans of LG, for ranks that span clusters.
use super::*;
use std::collections::BTreeSet;

/// Ranks on all four hosts.
const SPANNING: [&str; 5] = ["w", "w", "x", "z", "y"];
/// The clusters that switches show too.
const DECLARED: &str = "\nclusters: {east: [y, z], west: [w, x]}";

/// Every rank's plan over slow trunks.
fn plans(hosts: &[&str], force: &str, clusters: &str) -> Vec<DecidedEpoch> {
    let mut lean = lean("10M");
    let text = PAIR.replace("RATE", "10M") + clusters;
    lean.topology = TopologyFile::parse("pair.yaml", &text).unwrap();
    let plan = |rank| unplanned(lean.clone(), ForcedWays::parse(force).unwrap(), hosts)?.plan(rank);
    (0..hosts.len() as u32)
        .map(|rank| plan(rank).unwrap())
        .collect()
}

#[test]
fn ranks_that_span_clusters_go_by_lg_where_forced_to() {
    for clusters in ["", DECLARED] {
        let plans = plans(&SPANNING, "lg", clusters);
        for plan in &plans {
            assert_eq!(plan.policy.digest(), plans[0].policy.digest());
            assert_eq!(plan.policy.decided_way(Collective::Alltoall, 8, 0), Way::Lg);
        }
        let first = &plans[0];
        assert_eq!(
            first.policy.decided_way(Collective::Alltoallv, 8, 0),
            Way::Native
        );
        assert_ne!(
            first.policy.decided_way(Collective::Alltoall, 1 << 30, 0),
            Way::Lg,
            "a message of too many octets"
        );
        assert!(
            first.summary.contains(", lg among 2 clusters, "),
            "{}",
            first.summary
        );
    }
    assert!(
        plans(&SPANNING, "ring", DECLARED)[0]
            .policy
            .parts(Way::Lg)
            .is_empty(),
        "LG is not forced"
    );
}

#[test]
fn every_block_arrives_by_messages_in_clusters_and_between_them() {
    for clusters in ["", DECLARED] {
        let plans = plans(&SPANNING, "lg", clusters);
        let sent = plans
            .iter()
            .map(|plan| plan.policy.parts(Way::Lg)[0].sends.len());
        assert_eq!(
            sent.sum::<usize>(),
            6 + 2 + 3 + 3,
            "in west, in east, and across in each direction"
        );
        let received = plans[3].policy.parts(Way::Lg)[0]
            .receives
            .iter()
            .flat_map(|r| &r.blocks)
            .filter(|b| b.dst == 3);
        assert_eq!(
            received.map(|b| b.src).collect::<BTreeSet<_>>(),
            [0, 1, 2, 4].into()
        );
    }
}

#[test]
fn a_plan_without_lg_gives_the_reason() {
    let elsewhere = "\nclusters: {west: [w, x, y]}";
    for (hosts, clusters, reason) in [
        (
            &["w", "x"][..],
            DECLARED,
            "no lg: all hosts are in one cluster, west",
        ),
        (&SPANNING, elsewhere, "no lg: host z is in no cluster"),
    ] {
        let plan = &plans(hosts, "lg", clusters)[0];
        assert!(plan.summary.contains(reason), "{}", plan.summary);
        assert_eq!(
            plan.policy.decided_way(Collective::Alltoall, 8, 0),
            Way::Native
        );
        assert!(plan.policy.parts(Way::Lg).is_empty());
        assert!(
            plan.policy.decided_way(Collective::Alltoall, 1 << 20, 0) != Way::Lg,
            "as the table says"
        );
    }
}
