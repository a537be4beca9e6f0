use super::*;
use crate::test_trees::{any_tree_text, topology};
use crate::verify;
use proptest::prelude::*;

/// Two switches with so many hosts each at 20 Mbit/s, and a trunk between them.
fn pair(hosts: [usize; 2], trunk: u32) -> Tree {
    row(&hosts, &[trunk])
}

/// Switches in a row with so many hosts each at 20 Mbit/s, and trunks between them.
fn row(hosts: &[usize], trunks: &[u32]) -> Tree {
    let names: Vec<String> = (0..hosts.len()).map(|s| format!("s{s}")).collect();
    let mut text = format!("switches: [{}]\nhosts:\n", names.join(", "));
    let at = (0..hosts.len()).flat_map(|s| std::iter::repeat_n(s, hosts[s]));
    text.extend(
        (0..)
            .zip(at)
            .map(|(h, s): (u32, _)| format!("  n{h}: {{switch: s{s}, rate: 20M}}\n")),
    );
    text.push_str("links:\n");
    let link =
        |(s, rate): (usize, &u32)| format!("  - {{a: s{s}, b: s{}, rate: {rate}M}}\n", s + 1);
    text.extend(trunks.iter().enumerate().map(link));
    topology(&text)
}

const BLOCK: Bytes = Bytes(65_536);

/// The planned time as a multiple of the bound and of the ring's.
fn shares(tree: &Tree, plan: &IslandRings) -> (f64, f64) {
    let bound = bound::allgather_bound_seconds(tree, BLOCK);
    let ring = bound / super::super::ring_share(tree).unwrap().share;
    (plan.seconds(BLOCK) / bound, plan.seconds(BLOCK) / ring)
}

fn is_sound(tree: &Tree, plan: &IslandRings) {
    assert_eq!(verify::rings(tree, plan), Ok(()));
}

#[test]
fn one_ring_stays_where_no_trunk_is_slow() {
    assert_eq!(gain(&pair([6, 6], 20)), None);
    assert_eq!(gain(&row(&[4, 4, 4], &[20, 100])), None);
    assert_eq!(gain(&pair([1, 11], 19)), None, "not worth it");
}

#[test]
fn simulated_times_are_near_the_bound() {
    let rows: [(&[usize], &[u32]); 6] = [
        (&[6, 6], &[10]),
        (&[6, 6], &[5]),
        (&[4, 4, 4], &[10, 10]),
        (&[3, 9], &[5]),
        (&[8, 8, 8], &[5, 10]),
        (&[16, 16, 16, 16], &[5, 5, 5]),
    ];
    for (hosts, trunks) in rows {
        let tree = row(hosts, trunks);
        let plan = plan(&tree).unwrap();
        is_sound(&tree, &plan);
        let (bound, ring) = shares(&tree, &plan);
        println!(
            "{hosts:?} {trunks:?}: {bound:.2} of the bound, {ring:.2} of the ring, {} phases",
            plan.schedule.phases()
        );
        assert!(
            bound >= 0.999 && bound < 1.35 && ring < 0.95,
            "{bound} {ring}"
        );
    }
}

#[test]
fn leaf_switches_below_slow_uplinks_are_islands() {
    let mut text = "switches: [core, s0, s1, s2]\nhosts:\n".to_owned();
    text.extend((0..12).map(|h| format!("  n{h}: {{switch: s{}, rate: 20M}}\n", h / 4)));
    text += "links: [{a: core, b: s0, rate: 10M}, {a: core, b: s1, rate: 10M}, {a: core, b: s2, rate: 10M}]";
    let tree = topology(&text);
    let plan = plan(&tree).unwrap();
    is_sound(&tree, &plan);
    assert_eq!(plan.rings.len(), 3);
    let (bound, ring) = shares(&tree, &plan);
    println!("{bound:.2} of the bound, {ring:.2} of the ring");
    assert!(bound < 1.3 && ring < 0.95, "{bound} {ring}");
}

/// A random tree with random rates of trunks.
fn any_slow_tree() -> impl Strategy<Value = Tree> {
    let rates = prop::collection::vec(prop::sample::select(vec![1, 2, 5, 10, 10, 10]), 8);
    (any_tree_text(2..=24, 8), rates).prop_map(|(text, rates)| {
        let mut rates = rates.iter();
        let line = |line: &str| match line.strip_suffix('}') {
            Some(host) if host.contains("switch") => format!("{host}, rate: 10M}}\n"),
            Some(link) => format!("{link}, rate: {}M}}\n", rates.next().unwrap()),
            None => format!("{line}\n"),
        };
        topology(&text.lines().map(line).collect::<String>())
    })
}

proptest! {
    #[test]
    fn plans_on_random_trees_are_sound(tree in any_slow_tree()) {
        if let Some(plan) = plan(&tree) {
            prop_assert_eq!(verify::rings(&tree, &plan), Ok(()));
            let (bound, ring) = shares(&tree, &plan);
            prop_assert!(bound > 0.999);
            if std::env::var_os("SHOW_RINGS").is_some() {
                println!("share {bound:.2} {ring:.2}");
            }
        }
    }
}
