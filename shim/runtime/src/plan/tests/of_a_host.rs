//! One rank of a host plans for the others.
use super::*;

/// Eight ranks on each of eight hosts: each plans by itself, and then one of a host for all.
#[test]
fn ranks_that_one_plans_for_have_the_parts_that_they_would_have_planned() {
    let hosts: Vec<String> = (0..8).map(|host| format!("n{host}")).collect();
    let places = (0..8).map(|n| format!("n{n}: {{switch: s{}, address: 10.0.0.{n}}}", n / 4));
    let text = format!(
        "switches: [s0, s1]\nhosts: {{{}}}\nlinks: [{{a: s0, b: s1}}]",
        places.collect::<Vec<_>>().join(", ")
    );
    let ranks: Vec<&str> = (0..64).map(|rank| hosts[rank / 8].as_str()).collect();
    let way = over_tcp("aapc").with_carrier(DataCarrier::Mpi);
    let planned = |rank: u32, name: Option<&str>| {
        let force = ForcedWays::parse("aapc,tcp").unwrap();
        let mut set = unplanned(epoch_of_text(&text), force, &ranks).unwrap();
        set.follow.plan(rank, &mut set.policy, way, name).unwrap();
        (set.policy.digest(), set.policy.parts(way).to_vec())
    };
    let name = format!("heddle-plan-test-{}", std::process::id());
    std::thread::scope(|scope| {
        for rank in 8..16 {
            let (planned, name) = (&planned, &name);
            scope.spawn(move || {
                let together = planned(rank, Some(name));
                assert_eq!(together.1[0].rank, rank);
                assert_eq!(together, planned(rank, None));
            });
        }
    });
}

#[test]
fn a_plan_comes_to_its_rank_as_it_was_made() {
    let hosts = ["w", "x", "y", "z"];
    let force = ForcedWays::parse("aapc,tcp").unwrap();
    let set = unplanned(fabric(), force, &hosts).unwrap();
    let ways = set.policy.unplanned();
    let ranks = [0, 3];
    for (plan, rank) in set
        .follow
        .plans_of(&ranks, &ways)
        .unwrap()
        .iter()
        .zip(ranks)
    {
        assert!(plan.chosen.is_some());
        let (of, octets) = plan.share().unwrap();
        assert_eq!(
            (of, RankPlan::read(&octets, rank).as_ref()),
            (rank, Some(plan))
        );
        assert!(RankPlan::read(&octets, 1).is_none());
        assert!(RankPlan::read(&octets[..octets.len() / 2], rank).is_none());
    }
}
