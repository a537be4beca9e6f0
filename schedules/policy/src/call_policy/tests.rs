use super::*;
use crate::decision_table::{DecisionEntry, DecisionGrounds, Mpi};
use crate::learning::LearningBudget;
use crate::ways::{PlanningSet, planned_ring};
use inventory::TopologyFile;
use std::time::Duration;

const PAIR: &str = "switches: [a, b]\nhosts: {w: {switch: a}, x: {switch: a}, \
                    y: {switch: b}, z: {switch: b}}\nlinks: [{a: a, b: b, rate: 20M}]";
const LARGE: u64 = 1 << 20;

fn over(name: &str) -> Way {
    name.parse().unwrap()
}

/// All-to-alls go over TCP from 64 kB on, by phases.
fn grounds() -> PolicyGrounds {
    let entry = |from: u64, name: &str| DecisionEntry {
        from: Bytes(from),
        way: over(name),
        mpi: None,
        grounds: DecisionGrounds::Elsewhere,
    };
    let entries = vec![entry(0, "native"), entry(1 << 16, "aapc tcp")];
    PolicyGrounds {
        table: DecisionTable::default().with_entries(Collective::Alltoall, entries),
        has_addresses: true,
        ..PolicyGrounds::default()
    }
}

fn following(grounds: PolicyGrounds) -> CallPolicy {
    let tree = TopologyFile::parse("t", PAIR).unwrap().tree().unwrap();
    let place = LearnedPlace::new(&tree, &[0, 1, 2, 3], Mpi::Mpich);
    let mut policy = CallPolicy::default();
    assert!(policy.follow(grounds, place, LearningBudget::default()));
    policy
}

fn planned(policy: CallPolicy) -> CallPolicy {
    let ways = policy.unplanned();
    planned_for(policy, &ways)
}

fn planned_for(mut policy: CallPolicy, ways: &[Way]) -> CallPolicy {
    let topology = TopologyFile::parse("t", PAIR).unwrap();
    let tree = topology.tree().unwrap();
    let set = PlanningSet {
        hosts: &tree,
        leaves: &tree,
        host_of: &[0, 1, 2, 3],
        topology: &topology,
        ring: &planned_ring(&tree).unwrap(),
    };
    for &way in ways {
        let planned = way.row().plan(way, &set).unwrap();
        policy.keep_plan(way, planned.of_rank(0), &set.ring.ring);
    }
    policy
}

fn alltoall(block: u64) -> PolicyCall {
    PolicyCall {
        collective: Collective::Alltoall,
        block,
        is_even: true,
        is_steady: false,
    }
}

fn decided(way: &str, fallback: &str) -> CallDecision {
    CallDecision {
        way: over(way),
        fallback: Some(over(fallback)),
        class: None,
    }
}

#[test]
fn calls_go_the_librarys_way_where_nothing_is_followed() {
    let mut policy = CallPolicy::default();
    assert_eq!(policy.decide(&alltoall(LARGE)), decided("native", "native"));
    let mut policy = planned(following(grounds()));
    policy.stand_aside();
    assert_eq!(policy.decide(&alltoall(LARGE)), decided("native", "native"));
    assert!(!policy.takes_part(Collective::Alltoall) && policy.digest() == 0);
}

#[test]
fn the_table_decides_and_says_what_goes_without_connections() {
    let mut policy = following(grounds());
    assert_eq!(policy.decide(&alltoall(8)), decided("native", "native"));
    assert_eq!(policy.decide(&alltoall(LARGE)).way, over("aapc tcp"));
    let mut policy = planned(policy);
    assert_eq!(
        policy.decide(&alltoall(LARGE)),
        decided("aapc tcp", "native")
    );
    let without = PolicyGrounds {
        has_addresses: false,
        ..grounds()
    };
    let mut policy = planned(following(without));
    assert_eq!(policy.decide(&alltoall(LARGE)), decided("native", "native"));
}

#[test]
fn a_way_is_planned_when_a_call_first_is_to_go_it() {
    let force = ForcedWays::turns("native,aapc tcp,aapc window tcp").unwrap();
    let mut policy = following(PolicyGrounds { force, ..grounds() });
    let mut ways = Vec::new();
    let mut plans = Vec::new();
    while ways.len() < 3 {
        let way = policy.decide(&alltoall(LARGE)).way;
        if policy.lacks_plan(way) {
            plans.push((way, ways.len()));
            policy = planned_for(policy, &[way]);
        } else {
            ways.push(way);
        }
    }
    let [native, tokens, window] = ["native", "aapc tcp", "aapc window tcp"].map(over);
    // One of them before the first call: whether ranks plan at all does not hang on whose turn it is.
    assert_eq!(plans, [(tokens, 0), (window, 2)]);
    assert_eq!(ways, [native, tokens, window]);
    assert!(policy.unplanned().is_empty());
}

#[test]
fn forced_ways_are_taken_in_turn_and_keep_their_schedule_without_connections() {
    let force = ForcedWays::turns("native,aapc tcp").unwrap();
    let mut policy = following(PolicyGrounds { force, ..grounds() });
    // Whichever comes first: the ranks plan.
    assert_eq!(policy.decide(&alltoall(LARGE)).way, over("aapc tcp"));
    let mut policy = planned(policy);
    let ways: Vec<Way> = (0..4)
        .map(|_| policy.decide(&alltoall(LARGE)).way)
        .collect();
    let turns = ["native", "aapc tcp", "aapc tcp", "native"];
    assert_eq!(ways, turns.map(over));
    policy.decide(&alltoall(8));
    policy.decide(&alltoall(LARGE));
    assert_eq!(policy.decide(&alltoall(LARGE)), decided("aapc tcp", "aapc"));
}

#[test]
fn what_is_learned_comes_before_the_table_and_stays_at_its_place() {
    let learning = || PolicyGrounds {
        learned: Some(Vec::new()),
        ..grounds()
    };
    let mut policy = planned(following(learning()));
    let decision = policy.decide(&alltoall(LARGE));
    let class = CallClass::new(Collective::Alltoall, LARGE);
    assert_eq!((decision.fallback, decision.class), (None, Some(class)));
    let first = decision.way;
    policy.refuse(first);
    assert_ne!(policy.decide(&alltoall(LARGE)).way, first);
    let (place, setup) = (policy.place.clone().unwrap(), Duration::ZERO);
    assert!(!policy.follow(learning(), place, LearningBudget::new(setup, 1)));
    assert_ne!(policy.decide(&alltoall(LARGE)).way, first);
    let tree = TopologyFile::parse("t", PAIR).unwrap().tree().unwrap();
    let other = LearnedPlace::new(&tree, &[0, 0, 1, 2], Mpi::Mpich);
    assert!(policy.follow(learning(), other, LearningBudget::new(setup, 1)));
    assert_eq!(policy.decide(&alltoall(LARGE)).way, first);
}
