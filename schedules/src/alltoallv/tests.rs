use super::*;
use crate::sample::{any_tree_text, star, topology};
use crate::simulate::{Model, run, schedules};
use crate::verify;
use inventory::BitsPerSec;
use proptest::prelude::*;

/// Sizes by Zipf's law: the k-th largest is 1 / k^s of the largest; which pair has which is drawn by a generator of its own.
fn zipf(hosts: u32, s: f64, seed: u64) -> Vec<Bytes> {
    let pairs = hosts as usize * hosts as usize;
    let mut ranks: Vec<usize> = (1..=pairs).collect();
    let mut state = seed.wrapping_mul(2).wrapping_add(1);
    for i in (1..pairs).rev() {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ranks.swap(i, (state >> 33) as usize % (i + 1));
    }
    ranks.into_iter().map(|k| Bytes((1e9 / (k as f64).powf(s)) as u64)).collect()
}

/// Simulated time over the bound. Half of an oversubscribed edge would be lost.
fn ratio(tree: &Tree, plan: &Alltoallv) -> f64 {
    let bound = plan.bound.load.0 as f64 * 8.0 * crate::bound::WIRE_PER_PAYLOAD / plan.bound.rate.0 as f64;
    run(tree, &schedules::alltoallv(plan), &Model { tolerance: 0.0, penalty: 0.5, ..Model::default() }).unwrap().seconds() / bound
}

/// Two switches of two hosts.
fn pair() -> Tree {
    topology("switches: [a, b]\nhosts: {w: {switch: a}, x: {switch: a}, y: {switch: b}, z: {switch: b}}\nlinks: [{a: a, b: b}]")
}

fn sizes(hosts: u32, of: &[(u32, u32, u64)]) -> Vec<Bytes> {
    let mut sizes = vec![Bytes(0); (hosts * hosts) as usize];
    of.iter().for_each(|&(src, dst, bytes)| sizes[(src * hosts + dst) as usize] = Bytes(bytes));
    sizes
}

#[test]
fn the_largest_over_the_busiest_cable_comes_first() {
    let tree = pair();
    let sizes = sizes(4, &[(0, 2, 10), (1, 3, 40), (0, 1, 30), (2, 3, 5), (3, 3, 99)]);
    let plan = plan(&tree, &sizes).unwrap();
    verify::alltoallv(&tree, &sizes, &plan).unwrap();
    let order: Vec<(u32, u32)> = plan.messages.iter().map(|b| (b.message.src, b.message.dst)).collect();
    assert_eq!(order, [(1, 3), (0, 1), (0, 2), (2, 3)]);
    assert_eq!((plan.bound.edge, plan.bound.load), (("a".into(), "b".into()), Bytes(50)));
    // w's second message waits for its first and for the cable; y's for z's end.
    let syncs: Vec<_> = plan.syncs.iter().map(|s| (s.after.src, s.after.dst, s.before.src, s.before.dst, s.from, s.to)).collect();
    assert_eq!(syncs, [(0, 1, 0, 2, 0, 0), (1, 3, 0, 2, 3, 0), (1, 3, 2, 3, 3, 2)]);
}

#[test]
fn nothing_to_send_is_a_plan() {
    for tree in [star(&[1]), star(&[3])] {
        let sizes = sizes(tree.hosts(), &[(0, 0, 7)]);
        let plan = plan(&tree, &sizes).unwrap();
        verify::alltoallv(&tree, &sizes, &plan).unwrap();
        assert!(plan.messages.is_empty() && plan.syncs.is_empty() && plan.bound.load == Bytes(0));
    }
}

#[test]
fn hosts_may_hang_on_a_host() {
    use inventory::tree::Cable;
    let cables = [("x", "y"), ("y", "z"), ("y", "s"), ("s", "w")].map(|(a, b)| Cable { a, b, rate: BitsPerSec::GIGABIT });
    let tree = Tree::new(&[("x", 1), ("y", 1), ("z", 1), ("w", 1)], &["s"], &cables).unwrap();
    let sizes = vec![Bytes(7); 16];
    let plan = plan(&tree, &sizes).unwrap();
    verify::alltoallv(&tree, &sizes, &plan).unwrap();
    assert_eq!((plan.messages.len(), plan.bound.load), (12, Bytes(21)));
}

#[test]
fn bad_sizes_are_refused() {
    let tree = star(&[3]);
    assert!(plan(&tree, &[Bytes(1); 8]).unwrap_err().to_string().starts_with("sizes: 8 for 3 hosts"));
    let error = plan(&tree, &sizes(3, &[(0, 1, u64::MAX)])).unwrap_err().to_string();
    assert!(error.contains("100 days"), "{error}");
}

#[test]
fn what_is_wrong_is_found() {
    let tree = pair();
    let sizes = zipf(4, 1.0, 3);
    let good = plan(&tree, &sizes).unwrap();
    let wrong = |change: fn(&mut Alltoallv)| {
        let mut plan = good.clone();
        change(&mut plan);
        verify::alltoallv(&tree, &sizes, &plan).unwrap_err().to_string()
    };
    assert!(wrong(|p| p.messages[2].bytes.0 += 1).contains("asked for"));
    assert!(wrong(|p| p.messages.truncate(11)).contains("sent with 0 bytes"));
    assert!(wrong(|p| p.messages.push(p.messages[0])).contains("asked for"));
    assert!(wrong(|p| p.syncs.clear()).contains("leave it no room"));
    assert!(wrong(|p| p.syncs[0].to = 9).contains("awaited by another host"));
    assert!(wrong(|p| p.syncs.iter_mut().for_each(|s| std::mem::swap(&mut s.after, &mut s.before))).contains("later message"));
    assert!(wrong(|p| p.bound.load.0 -= 1).contains("bound: says"));
    assert!(wrong(|p| p.bound.edge.0 = "x".into()).contains("no such edge"));
    assert!(wrong(|p| p.hosts.swap(0, 1)).contains("hosts"));
    let needed = (0..good.syncs.len()).filter(|&lost| {
        let mut plan = good.clone();
        plan.syncs.remove(lost);
        verify::alltoallv(&tree, &sizes, &plan).is_err()
    });
    // The others follow from them.
    assert!(needed.count() > good.syncs.len() / 2);
}

/// Every second trunk and every third host have another rate.
fn uneven(text: &str, trunk: BitsPerSec, host: BitsPerSec) -> String {
    let mut number = 0;
    let line = |line: &str| {
        number += 1;
        match line {
            l if l.contains("a: s") && number % 2 == 0 => l.replace('}', &format!(", rate: {trunk}}}")),
            l if l.contains("{switch") && number % 3 == 0 => l.replace('}', &format!(", rate: {host}}}")),
            l => l.to_owned(),
        }
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 12 } else { 1_000 }))]
    #[test]
    fn within_115_percent_under_zipf(
        text in any_tree_text(16..=if cfg!(debug_assertions) { 24 } else { 64 }, 16),
        trunk in prop::sample::select(vec!["1G", "2G", "3G", "10G"]),
        s in 1.0..1.5f64,
        seed in any::<u64>(),
    ) {
        let tree = topology(&uneven(&text, trunk.parse().unwrap(), BitsPerSec::GIGABIT));
        let sizes = zipf(tree.hosts(), s, seed);
        let plan = plan(&tree, &sizes).unwrap();
        prop_assert_eq!(verify::alltoallv(&tree, &sizes, &plan), Ok(()));
        let ratio = ratio(&tree, &plan);
        prop_assert!((1.0 - 1e-9..1.15).contains(&ratio), "{ratio}");
    }

    #[test]
    fn valid_on_links_of_any_rate(
        text in any_tree_text(2..=16, 8),
        trunk in prop::sample::select(vec!["100M", "2500M", "10G", "40G"]),
        host in prop::sample::select(vec!["100M", "1G", "25G"]),
        sizes in prop::collection::vec(prop_oneof![Just(0u64), 1u64..1_000_000], 256),
    ) {
        let tree = topology(&uneven(&text, trunk.parse().unwrap(), host.parse().unwrap()));
        let sizes: Vec<Bytes> = sizes[..(tree.hosts() * tree.hosts()) as usize].iter().map(|&b| Bytes(b)).collect();
        let plan = plan(&tree, &sizes).unwrap();
        prop_assert_eq!(verify::alltoallv(&tree, &sizes, &plan), Ok(()));
        prop_assert_eq!(&plan, &super::plan(&tree, &sizes).unwrap());
        prop_assert!(plan.messages.is_empty() || ratio(&tree, &plan) >= 1.0 - 1e-9);
    }
}
