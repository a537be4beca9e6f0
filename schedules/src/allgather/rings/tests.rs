use super::*;
use crate::message::Message;
use crate::transfers::part;
use crate::transfers::part::tests::carried_out;
use crate::verify;
use proptest::prelude::*;
use samples::trees::{any_tree_text, topology};

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
    text.extend(
        trunks
            .iter()
            .enumerate()
            .map(|(s, rate)| format!("  - {{a: s{s}, b: s{}, rate: {rate}M}}\n", s + 1)),
    );
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
        assert!(
            (0.999..1.1).contains(&bound) && ring < 0.85,
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
    assert!(bound < 1.3 && ring < 0.95, "{bound} {ring}");
}

#[test]
fn a_trunk_that_crossings_fill_is_cut_too() {
    // Around one ring the second trunk is fast enough. With the crossings of the hosts behind it, it
    // would be the most loaded link.
    let tree = row(&[8, 8, 8], &[10, 15]);
    let plan = plan(&tree).unwrap();
    is_sound(&tree, &plan);
    assert_eq!(bound::slow_trunks(&tree).len(), 1);
    assert_eq!(plan.rings.len(), 3);
    let (bound, ring) = shares(&tree, &plan);
    assert!(bound < 1.1 && ring < 0.8, "{bound} {ring}");
}

/// A random tree with random rates of trunks.
fn any_slow_tree() -> impl Strategy<Value = Tree> {
    let rates = prop::collection::vec(prop::sample::select(vec![1, 2, 5, 10, 10, 10]), 8);
    (any_tree_text(2..=24, 8), rates).prop_map(|(text, rates)| {
        let mut rates = rates.iter();
        topology(
            &text
                .lines()
                .map(|line| match line.strip_suffix('}') {
                    Some(host) if host.contains("switch") => format!("{host}, rate: 10M}}\n"),
                    Some(link) => format!("{link}, rate: {}M}}\n", rates.next().unwrap()),
                    None => format!("{line}\n"),
                })
                .collect::<String>(),
        )
    })
}

proptest! {
    #[test]
    fn plans_on_random_trees_are_sound(tree in any_slow_tree()) {
        if let Some(plan) = plan(&tree) {
            prop_assert_eq!(verify::rings(&tree, &plan), Ok(()));
            prop_assert!(shares(&tree, &plan).0 > 0.999);
        }
    }
}

/// The transfers of a plan, as [`TransferSchedule::copied`] takes them.
fn transfers(schedule: &TransferSchedule) -> Vec<(u32, Message, NodeNumber)> {
    let phases = schedule.phase_of().iter().zip(schedule.ends());
    phases
        .zip(0..)
        .map(|((&phase, &ends), number)| (phase, ends, schedule.blocks(number)[0].src))
        .collect()
}

#[test]
fn the_verifier_refuses_altered_plans() {
    let tree = row(&[4, 4, 4], &[10, 10]);
    let whole = plan(&tree).unwrap();
    let sound = transfers(&whole.schedule);
    let hosts = tree.hosts();
    let altered = |transfers: &[(u32, Message, NodeNumber)], waits: &[TransferWait]| {
        let schedule =
            TransferSchedule::copied(hosts, transfers.iter().copied()).waiting(waits.to_vec());
        let plan = IslandRings {
            schedule,
            ..whole.clone()
        };
        let output = verify::rings(&tree, &plan).map_err(|violation| violation.to_string());
        output.err().unwrap_or_default()
    };
    let waits = whole.schedule.waits();
    assert_eq!(altered(&sound, waits), "");
    for number in 0..waits.len() {
        let others = [&waits[..number], &waits[number + 1..]].concat();
        let output = altered(&sound, &others);
        assert!(output.contains("nothing keeps"), "{number}: {output}");
    }
    let mut backwards = waits.to_vec();
    let TransferWait { after, before, .. } = backwards[0];
    (backwards[0].after, backwards[0].before) = (before, after);
    assert!(altered(&sound, &backwards).starts_with("wait 0"));
    let change = |at: usize, change: fn(&mut (u32, Message, NodeNumber))| {
        let mut transfers = sound.clone();
        change(&mut transfers[at]);
        altered(&transfers, waits)
    };
    let last = sound.len() - 1;
    assert!(change(last, |t| t.2 = t.1.dst).contains("from the beginning"));
    assert!(change(last, |t| t.0 = 0).contains("before that of the transfer"));
    assert!(change(last, |t| t.1.src = 12).contains("no host has that number"));
    let passed_on = sound.iter().position(|t| t.2 != t.1.src).unwrap();
    let mut early = sound.clone();
    let moved = early.remove(passed_on);
    early.insert(0, (0, moved.1, moved.2));
    assert!(altered(&early, &[]).contains("does not have the block"));
    let mut twice = sound.clone();
    twice.push(sound[last]);
    assert!(altered(&twice, waits).contains("came before"));
    assert!(altered(&sound[..last], &[]).contains("never comes"));
}

#[test]
fn the_parts_of_all_ranks_end() {
    for (hosts, trunks) in [
        (&[6, 6][..], &[10][..]),
        (&[4, 4, 4], &[10, 10]),
        (&[4, 5, 3], &[4, 5]),
    ] {
        let tree = row(hosts, trunks);
        let Some(plan) = plan(&tree) else {
            panic!("{hosts:?}: no plan");
        };
        let parts: Vec<_> = (0..tree.hosts())
            .map(|rank| part::of(&plan.schedule, rank))
            .collect();
        // Each transfer to a rank waits for the one before it to that rank at most.
        carried_out(&parts);
    }
}
