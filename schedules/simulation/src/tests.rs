use super::planned;
use super::*;
use inventory::{Bytes, Tree};
use proptest::prelude::*;
use samples::trees::{any_tree, star, topology};
use schedules::alltoall::{AlltoallAlgorithm, plan_as};
use schedules::bound::{WIRE_PER_PAYLOAD, allgather_bound_seconds, payload_bound_seconds};
use schedules::synchronization::scheme::{SyncMechanism, SyncScheme};
use schedules::synchronization::{SyncKind, SyncReduction};

/// One second of gigabit, without the overhead of frames.
const SECOND: Bytes = Bytes(125_000_000);
const BLOCK: Bytes = Bytes(1 << 20);

fn model(penalty: f64) -> SimulationModel {
    SimulationModel {
        penalty,
        ..SimulationModel::default()
    }
}

fn exact() -> SimulationModel {
    SimulationModel {
        tolerance: 0.0,
        ..SimulationModel::default()
    }
}

fn seconds(tree: &Tree, traffic: &SimulatedTraffic, model: &SimulationModel) -> f64 {
    run(tree, traffic, model).unwrap().seconds()
}

/// The time of the schedule divided by the bound.
fn planned(
    tree: &Tree,
    algorithm: AlltoallAlgorithm,
    sync: SyncKind,
    model: &SimulationModel,
) -> f64 {
    let plan = plan_as(tree, algorithm, sync, SyncReduction::Chain);
    let scheme = SyncScheme::new(
        if sync == SyncKind::Barrier {
            SyncMechanism::Barrier
        } else {
            SyncMechanism::None
        },
        None,
    )
    .unwrap();
    seconds(tree, &planned::alltoall(&plan, BLOCK, scheme), model)
        / payload_bound_seconds(tree, BLOCK)
}

#[test]
fn two_flows_share_and_one_goes_on_alone() {
    // x and y both send to z: each has half of the last cable, then the longer message has all of
    // it.
    let tree = star(&[3]);
    let mut traffic = SimulatedTraffic::new();
    let short = traffic.send(0, 2, SECOND);
    let long = traffic.send(1, 2, Bytes(2 * SECOND.0));
    let ended = |model: &SimulationModel| {
        let timeline = run(&tree, &traffic, model).unwrap();
        [
            timeline.ended[short as usize] / WIRE_PER_PAYLOAD,
            timeline.ended[long as usize] / WIRE_PER_PAYLOAD,
        ]
    };
    let near = |found: [f64; 2], expected: [f64; 2]| {
        assert!(
            found
                .iter()
                .zip(&expected)
                .all(|(a, b)| (a - b).abs() < 1e-9),
            "{found:?} {expected:?}"
        );
    };
    near(ended(&exact()), [2.0, 3.0]);
    // While two hosts send over the edge, it loses half of its capacity.
    near(ended(&model(0.5)), [4.0, 5.0]);
    // Both are late by one latency.
    let late = run(
        &tree,
        &traffic,
        &SimulationModel {
            latency: 0.5,
            ..exact()
        },
    )
    .unwrap();
    assert!((late.seconds() - 3.0 * WIRE_PER_PAYLOAD - 0.5).abs() < 1e-9);
}

#[test]
fn who_is_held_elsewhere_leaves_the_rest_to_others() {
    // w -> y crosses the slow cable and x -> z has the rest: each message has a bottleneck of its
    // own.
    let tree = topology(
        "switches: [a, b]\nhosts: \
         {w: {switch: a}, x: {switch: a}, y: {switch: b}, z: {switch: a}}\nlinks: \
         [{a: a, b: b, rate: 100M}]",
    );
    let mut traffic = SimulatedTraffic::new();
    traffic.send(0, 2, Bytes(SECOND.0 / 10));
    traffic.send(0, 3, Bytes(SECOND.0 / 10 * 9));
    let timeline = run(&tree, &traffic, &exact()).unwrap();
    assert!(
        timeline
            .ended
            .iter()
            .all(|end| (end / WIRE_PER_PAYLOAD - 1.0).abs() < 1e-9),
        "{timeline:?}"
    );
}

#[test]
fn waits_tokens_and_barriers_take_their_time() {
    let tree = star(&[4]);
    let mut traffic = SimulatedTraffic::new();
    let first = traffic.send(0, 1, SECOND);
    let second = traffic.send(2, 3, SECOND);
    let barrier = traffic.barrier();
    let third = traffic.send(0, 1, Bytes(0));
    traffic.wait(first, second, WaitKind::Token);
    traffic.wait(second, barrier, WaitKind::Order);
    traffic.wait(barrier, third, WaitKind::Order);
    let timeline = run(
        &tree,
        &traffic,
        &SimulationModel {
            token: 0.25,
            latency: 0.125,
            ..exact()
        },
    )
    .unwrap();
    let w = WIRE_PER_PAYLOAD;
    let expected = [w + 0.125, 2.0 * w + 0.5, 2.0 * w + 1.0, 2.0 * w + 1.125];
    assert!(
        timeline
            .ended
            .iter()
            .zip(&expected)
            .all(|(a, b)| (a - b).abs() < 1e-9),
        "{timeline:?} {expected:?}"
    );
}

#[test]
fn a_circle_of_waits_is_an_error() {
    let mut traffic = SimulatedTraffic::new();
    let (a, b) = (traffic.send(0, 1, BLOCK), traffic.send(1, 0, BLOCK));
    traffic.wait(a, b, WaitKind::Token);
    traffic.wait(b, a, WaitKind::Token);
    let error = run(&star(&[2]), &traffic, &exact()).unwrap_err();
    assert_eq!(error.left, 2);
    assert!(
        error
            .to_string()
            .starts_with("message \"n0\" -> \"n1\": waits for what comes after it"),
        "{error}"
    );
}

#[test]
fn one_host_takes_no_time() {
    let tree = star(&[1]);
    assert_eq!(seconds(&tree, &planned::ring(&[0], BLOCK), &exact()), 0.0);
}

#[test]
fn a_direct_exchange_over_one_switch_loses_what_congestion_takes() {
    let tree = star(&[12]);
    let ratio = seconds(&tree, &all_at_once(12), &model(0.5)) / payload_bound_seconds(&tree, BLOCK);
    assert!((ratio / 2.0 - 1.0).abs() < 1e-6, "{ratio}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 12 } else { 500 }))]
    #[test]
    fn nothing_beats_the_bound_and_every_run_is_the_same(
        tree in any_tree(2..=24),
        penalty in 0.0..0.8f64,
    ) {
        let (n, bound) = (tree.hosts(), payload_bound_seconds(&tree, BLOCK));
        for traffic in [all_at_once(n), rotation(n)] {
            let timeline = run(&tree, &traffic, &model(penalty)).unwrap();
            let seconds = timeline.seconds();
            prop_assert!(seconds >= bound * (1.0 - 1e-9), "{seconds} < {bound}");
            prop_assert_eq!(&timeline, &run(&tree, &traffic, &model(penalty)).unwrap());
        }
    }

    #[test]
    fn a_synchronized_schedule_takes_its_bound_whatever_congestion_costs(
        tree in any_tree(2..=24),
        penalty in 0.0..0.8f64,
    ) {
        for sync in [SyncKind::Sender, SyncKind::Receiver, SyncKind::Barrier] {
            let ratio = planned(&tree, AlltoallAlgorithm::Aapc, sync, &model(penalty));
            prop_assert!((ratio - 1.0).abs() < 1e-6, "{sync:?}: {ratio}");
        }
        let ring = schedules::allgather::plan(&tree).ring;
        let ratio = seconds(&tree, &planned::ring(&ring, BLOCK), &model(penalty))
            / allgather_bound_seconds(&tree, BLOCK);
        prop_assert!((ratio - 1.0).abs() < 1e-6, "ring: {ratio}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 1 } else { 100 }))]
    /// Of nearly all trees: with 5 of 6,000 the times differed by more, once by 0.26.
    #[test]
    fn coarser_time_is_longer_by_little(trees in prop::collection::vec(any_tree(2..=16), 24)) {
        let differences = trees.iter().map(|tree| {
            let traffic = rotation(tree.hosts());
            let fine = seconds(tree, &traffic, &exact());
            let coarse = seconds(tree, &traffic, &SimulationModel::default());
            (coarse / fine - 1.0).abs()
        });
        let differ: Vec<f64> = differences.filter(|difference| *difference >= 0.05).collect();
        prop_assert!(differ.len() <= 2, "{differ:?}");
    }
}

/// `groups` switches of `hosts` each around a core.
fn groups(groups: usize, hosts: usize, trunk: &str) -> Tree {
    let mut text = format!(
        "switches: [c, {}]\nhosts:\n",
        (0..groups)
            .map(|g| format!("s{g}"))
            .collect::<Vec<_>>()
            .join(", ")
    );
    (0..groups * hosts).for_each(|h| text += &format!("  n{h}: {{switch: s{}}}\n", h / hosts));
    text += "links:\n";
    (0..groups).for_each(|g| text += &format!("  - {{a: c, b: s{g}, rate: {trunk}}}\n"));
    topology(&text)
}

/// Each host sends to all others at once.
fn all_at_once(hosts: u32) -> SimulatedTraffic {
    let mut traffic = SimulatedTraffic::new();
    for src in 0..hosts {
        for k in 1..hosts {
            traffic.send(src, (src + k) % hosts, BLOCK);
        }
    }
    traffic
}

/// Each host sends to the next one, then to the one after it, and so on, and does not wait for what
/// it receives.
fn rotation(hosts: u32) -> SimulatedTraffic {
    let mut traffic = SimulatedTraffic::new();
    for src in 0..hosts {
        for k in 1..hosts {
            let step = traffic.send(src, (src + k) % hosts, BLOCK);
            if k > 1 {
                traffic.wait(step - 1, step, WaitKind::Order);
            }
        }
    }
    traffic
}

/// The project's first estimates for four switches of 8: rotation 1.01, with a penalty of 0.5 2.51,
/// schedule with synchronization 1.00, without 1.14. For four switches of 16 with tenfold trunks:
/// rotation 1.15 and 1.79. They assumed that an edge loses more capacity the more flows share it,
/// down to 1 / 2.5 of it at "0.5". Here 0.5 means half at once, and 0.6 is that floor. So rotation
/// on slow trunks takes 2 (2.5 at 0.6). On fast trunks, where only a few flows too many share an
/// edge, it takes more than 1.79.
fn within(name: &str, found: f64, low: f64, high: f64) {
    assert!((low..=high).contains(&found), "{name}: {found}")
}

/// The time of a rotation divided by the bound, for a share of the rate that congestion takes.
fn rotated(tree: &Tree, penalty: f64) -> f64 {
    seconds(tree, &rotation(tree.hosts()), &model(penalty)) / payload_bound_seconds(tree, BLOCK)
}

#[test]
fn rotation_loses_by_congestion_and_a_schedule_does_not() {
    let slow = groups(4, 8, "1G");
    within("rotation", rotated(&slow, 0.0), 1.0, 1.02);
    within("rotation, half lost", rotated(&slow, 0.5), 1.98, 2.05);
    let most = rotated(&slow, 0.6);
    within("rotation, three fifths lost", most, 2.46, 2.56);
    let aapc = |kind, penalty| planned(&slow, AlltoallAlgorithm::Aapc, kind, &model(penalty));
    let tokens = aapc(SyncKind::Receiver, 0.5);
    within("schedule, half lost", tokens, 1.0 - 1e-9, 1.0 + 1e-6);
    let free = aapc(SyncKind::None, 0.0);
    within("no synchronization", free, 1.08, 1.15);
    let lossy = aapc(SyncKind::None, 0.5);
    within("no synchronization, half lost", lossy, 1.9, 2.3);
}

#[test]
fn over_fast_trunks_rotation_loses_by_congestion_and_a_schedule_does_not() {
    let fast = groups(4, 16, "10G");
    within("rotation", rotated(&fast, 0.0), 1.1, 1.2);
    within("rotation, half lost", rotated(&fast, 0.5), 2.1, 2.2);
    let wide = |kind, penalty| planned(&fast, AlltoallAlgorithm::Capacity, kind, &model(penalty));
    // The plan has 77 phases; 76.8 would be enough.
    let tokens = wide(SyncKind::Receiver, 0.5);
    within("schedule, half lost", tokens, 1.0, 1.003);
    let free = wide(SyncKind::None, 0.0);
    within("no synchronization", free, 1.0, 1.8);
}

#[test]
fn a_token_of_a_tenth_of_a_message_costs_a_tenth() {
    let tree = groups(4, 8, "1G");
    let message = payload_bound_seconds(&tree, BLOCK)
        / schedules::bound::bound(&tree, &schedules::capacities::EdgeCapacities::unit(&tree)).phases
            as f64;
    let ratio = planned(
        &tree,
        AlltoallAlgorithm::Aapc,
        SyncKind::Receiver,
        &SimulationModel {
            token: message / 10.0,
            ..SimulationModel::default()
        },
    );
    assert!((1.08..1.12).contains(&ratio), "{ratio}");
}

/// Blocks of a host that wait for no token share its cable, so each of them is slower.
#[test]
fn blocks_through_buffers_share_their_senders_cable() {
    let tree = samples::trees::row(2, 6);
    let plan = plan_as(
        &tree,
        AlltoallAlgorithm::Aapc,
        SyncKind::Receiver,
        SyncReduction::Chain,
    );
    let longest = |traffic: &SimulatedTraffic| {
        let timeline = run(&tree, traffic, &exact()).unwrap();
        let times = timeline.begun.iter().zip(&timeline.ended);
        times
            .map(|(begun, ended)| ended - begun)
            .fold(0.0, f64::max)
    };
    let in_turn = longest(&planned::alltoall(&plan, BLOCK, plan.scheme));
    let buffered = longest(&planned::buffered_alltoall(&plan, BLOCK));
    assert!(
        (buffered / in_turn - 6.0).abs() < 0.1,
        "{buffered} {in_turn}"
    );
}
