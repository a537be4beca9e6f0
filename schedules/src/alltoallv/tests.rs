use super::*;
use crate::verify::{self, LengthViolation};
use proptest::prelude::*;
use samples::trees::{any_tree, any_wide_tree, row, star, topology};

/// Lengths by Zipf's law: the k-th largest is 1 / k^s of the largest; some are nothing.
fn zipf(hosts: u32, exponent: f64, seed: u64) -> Vec<u64> {
    let pairs = (hosts * hosts) as usize;
    let mut place: Vec<usize> = (1..=pairs).collect();
    let mut state = seed.wrapping_mul(2).wrapping_add(1);
    for last in (1..pairs).rev() {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        place.swap(last, (state >> 33) as usize % (last + 1));
    }
    place
        .into_iter()
        .map(|place| match place % 7 {
            6 => 0,
            _ => (1e8 / (place as f64).powf(exponent)) as u64,
        })
        .collect()
}

/// The time that the busiest edge needs.
fn bound(tree: &Tree, lengths: &[u64]) -> f64 {
    let hosts = tree.hosts();
    let mut load = vec![0.0; tree.edges() as usize];
    for (src, dst) in (0..hosts).flat_map(|src| (0..hosts).map(move |dst| (src, dst))) {
        let octets = lengths[(src * hosts + dst) as usize];
        tree.path(src, dst, |edge| {
            load[edge as usize] += octets as f64 * 8.0 / edge_rate(tree, edge) as f64
        });
    }
    load.into_iter().fold(0.0, f64::max)
}

/// Two switches of two hosts.
fn pair() -> Tree {
    topology(
        "switches: [a, b]
hosts: {w: {switch: a}, x: {switch: a}, y: {switch: b}, z: {switch: b}}
links: [{a: a, b: b}]",
    )
}

fn sizes(hosts: u32, of: &[(u32, u32, u64)]) -> Vec<u64> {
    let mut sizes = vec![0; (hosts * hosts) as usize];
    of.iter()
        .for_each(|&(src, dst, octets)| sizes[(src * hosts + dst) as usize] = octets);
    sizes
}

#[test]
fn the_largest_over_the_busiest_cable_comes_first_and_what_is_empty_last() {
    let tree = pair();
    let lengths = sizes(
        4,
        &[
            (0, 2, 1000),
            (1, 3, 4000),
            (0, 1, 3000),
            (2, 3, 500),
            (3, 3, 99),
        ],
    );
    let plan = plan(&tree, &lengths).unwrap();
    verify::alltoallv(&tree, &lengths, &plan).unwrap();
    let first: Vec<(u32, u32)> = plan.messages[..4].iter().map(|m| (m.src, m.dst)).collect();
    assert_eq!(first, [(1, 3), (0, 1), (0, 2), (2, 3)]);
    assert_eq!(plan.messages.len(), 12);
    // The third waits for the trunk, the fourth for the cable of host 3.
    let waits: Vec<_> = plan
        .waits
        .iter()
        .map(|w| (w.after, w.before, w.from))
        .collect();
    assert_eq!(waits, [(0, 2, 3), (0, 3, 3)]);
}

#[test]
fn what_a_plan_takes_is_reported_as_of_any_schedule() {
    let tree = star(&[4, 3]);
    let lengths = zipf(7, 1.0, 3);
    let plan = plan(&tree, &lengths).unwrap();
    let schedule = TransferSchedule::from(&plan);
    assert_eq!(time(&tree, &schedule, &lengths), Some(plan.time));
    assert!(super::plan(&tree, &lengths[1..]).is_none());
    assert!(super::plan(&tree, &vec![u64::MAX; 49]).is_none());
}

#[test]
fn a_plan_that_was_changed_is_refused() {
    let tree = pair();
    let lengths = sizes(4, &[(0, 2, 1000), (1, 3, 4000), (0, 3, 700)]);
    let plan = plan(&tree, &lengths).unwrap();
    let refused = |change: &dyn Fn(&mut LengthSchedule)| {
        let mut plan = plan.clone();
        change(&mut plan);
        verify::alltoallv(&tree, &lengths, &plan).unwrap_err()
    };
    let crowded = refused(&|plan| plan.waits.clear());
    assert!(
        matches!(crowded, LengthViolation::Crowded { .. }),
        "{crowded}"
    );
    let missing = refused(&|plan| plan.messages.truncate(11));
    assert!(matches!(missing, LengthViolation::Missing(11)), "{missing}");
    let twice = refused(&|plan| plan.messages[3] = plan.messages[4]);
    assert!(matches!(twice, LengthViolation::Stray(_)), "{twice}");
    let by_another = refused(&|plan| plan.waits[0].from = 2);
    assert!(
        matches!(by_another, LengthViolation::Wait { .. }),
        "{by_another}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 48 } else { 2_000 }))]
    #[test]
    fn plans_are_sound_and_near_the_bound(
        tree in any_tree(2..=20), exponent in 0.0..1.5, seed in any::<u64>()
    ) {
        let lengths = zipf(tree.hosts(), exponent, seed);
        let plan = plan(&tree, &lengths).unwrap();
        prop_assert_eq!(verify::alltoallv(&tree, &lengths, &plan), Ok(()));
        let ratio = plan.time.as_secs_f64() / bound(&tree, &lengths);
        prop_assert!(ratio < 1.5, "{ratio} of the bound");
    }

    #[test]
    fn plans_for_links_of_any_rate_are_sound(
        tree in any_wide_tree(2..=16, 8), exponent in 0.5..1.5, seed in any::<u64>()
    ) {
        let lengths = zipf(tree.hosts(), exponent, seed);
        let plan = plan(&tree, &lengths).unwrap();
        prop_assert_eq!(verify::alltoallv(&tree, &lengths, &plan), Ok(()));
    }
}

#[test]
fn on_a_row_one_host_after_the_other_sends_and_half_the_messages_wait() {
    let tree = row(4, 4);
    let lengths = zipf(16, 1.0, 1);
    let plan = plan(&tree, &lengths).unwrap();
    let jobs: Vec<MessageJob> = plan
        .messages
        .iter()
        .map(|m| MessageJob::new(&tree, *m, lengths[(m.src * 16 + m.dst) as usize]).unwrap())
        .collect();
    let longest = OpenShop::run(&tree, by_urgency(&tree, jobs, MessageTurn::Longest));
    assert!(plan.waits.len() * 3 < longest.waits.len() * 2);
    assert!(plan.time.as_secs_f64() <= bound(&tree, &lengths) * 1.01);
}
