//! Whole plans on random trees, checked without the planner's own code.
use super::phases;
use crate::bound::bound;
use crate::capacities::EdgeCapacities;
use crate::random::SplitMix64;
use inventory::Tree;
use samples::trees::topology;
use std::fmt::Write;

/// Number of random trees per test; the release run is the thorough one.
const TREES: u64 = if cfg!(debug_assertions) { 80 } else { 10_000 };

/// A switch: the switch above it, the width of the cable to it in messages, and the widths of its
/// hosts.
struct WidthSwitch {
    above: usize,
    width: u64,
    hosts: Vec<u64>,
}

fn tree(switches: &[WidthSwitch]) -> Tree {
    let names: Vec<String> = (0..switches.len()).map(|s| format!("s{s}")).collect();
    let mut text = format!("switches: [{}]\nhosts:\n", names.join(", "));
    let hosts = switches
        .iter()
        .enumerate()
        .flat_map(|(s, switch)| switch.hosts.iter().map(move |width| (s, width)));
    hosts.enumerate().for_each(|(h, (s, width))| {
        writeln!(text, "  n{h}: {{switch: s{s}, rate: {width}G}}").unwrap()
    });
    let links: Vec<String> = (1..switches.len())
        .map(|s| {
            format!(
                "{{a: s{s}, b: s{}, rate: {}G}}",
                switches[s].above, switches[s].width
            )
        })
        .collect();
    topology(&format!("{text}links: [{}]\n", links.join(", ")))
}

/// The number of phases, after a check that every message comes once and no edge exceeds its width.
fn checked(tree: &Tree, capacities: &EdgeCapacities) -> u64 {
    let plan = phases(tree, capacities);
    let n = tree.hosts() as usize;
    let mut seen = vec![false; n * n];
    let mut used = vec![0; tree.edges() as usize];
    for messages in &plan {
        used.fill(0);
        for m in messages {
            assert!(
                m.src != m.dst
                    && !std::mem::replace(&mut seen[m.src as usize * n + m.dst as usize], true),
                "{m:?} again"
            );
            tree.path(m.src, m.dst, |edge| used[edge as usize] += 1);
        }
        assert!(
            (0..tree.edges()).all(|edge| used[edge as usize] <= capacities.width(edge)),
            "too many on an edge"
        );
    }
    assert_eq!(seen.iter().filter(|&&seen| seen).count(), n * (n - 1));
    plan.len() as u64
}

fn one_of(random: &mut SplitMix64, choice: &[u64]) -> u64 {
    choice[random.below_wide(choice.len() as u64) as usize]
}

fn hosts(random: &mut SplitMix64, most: u64, widths: &[u64]) -> Vec<u64> {
    (0..random.below_wide(most + 1))
        .map(|_| one_of(random, widths))
        .collect()
}

/// Leaf switches under a core; the core may have hosts, too.
fn depth_two(random: &mut SplitMix64) -> Tree {
    let widths: &[u64] = [&[1][..], &[1, 10], &[5], &[2, 3]][random.below_wide(4) as usize];
    let uplinks: &[u64] =
        [&[1][..], &[1, 2, 4, 10], &[8, 16, 20], &[3, 7]][random.below_wide(4) as usize];
    let mut switches = vec![WidthSwitch {
        above: 0,
        width: 0,
        hosts: hosts(random, 4, widths),
    }];
    for _ in 0..1 + random.below_wide(6) {
        switches.push(WidthSwitch {
            above: 0,
            width: one_of(random, uplinks),
            hosts: hosts(random, 12, widths),
        });
    }
    switches[0].hosts.push(widths[0]);
    tree(&switches)
}

/// Switches in a random tree, in rows, or in three regular tiers.
fn deep(random: &mut SplitMix64) -> Tree {
    let widths: &[u64] = [&[1][..], &[1, 10], &[5]][random.below_wide(3) as usize];
    let links: &[u64] =
        [&[1][..], &[1, 2, 3, 4, 10], &[4, 10, 40], &[8, 16, 20]][random.below_wide(4) as usize];
    let mut switches = vec![WidthSwitch {
        above: 0,
        width: 0,
        hosts: hosts(random, 6, widths),
    }];
    if random.below_wide(3) == 0 {
        let (tiers, leaves, each) = (
            2 + random.below_wide(3),
            2 + random.below_wide(3),
            2 + random.below_wide(9),
        );
        let (upper, lower) = (one_of(random, links), one_of(random, links));
        for _ in 0..tiers {
            let above = switches.len();
            switches.push(WidthSwitch {
                above: 0,
                width: upper,
                hosts: Vec::new(),
            });
            for _ in 0..leaves {
                switches.push(WidthSwitch {
                    above,
                    width: lower,
                    hosts: vec![widths[0]; each as usize],
                });
            }
        }
    } else {
        for s in 1..3 + random.below_wide(8) as usize {
            let above = if random.below_wide(2) == 0 {
                s - 1
            } else {
                random.below_wide(s as u64) as usize
            };
            switches.push(WidthSwitch {
                above,
                width: one_of(random, links),
                hosts: hosts(random, 10, widths),
            });
        }
    }
    switches[0].hosts.push(widths[0]);
    tree(&switches)
}

#[test]
fn depth_two_always_reaches_the_bound() {
    let mut random = SplitMix64::new(2);
    for _ in 0..TREES {
        let tree = depth_two(&mut random);
        let capacities = EdgeCapacities::from_tree(&tree);
        assert_eq!(
            checked(&tree, &capacities),
            bound(&tree, &capacities).phases
        );
    }
}

#[test]
fn deeper_trees_come_within_a_hundredth() {
    let mut random = SplitMix64::new(3);
    let (mut sum, mut bounds) = (0, 0);
    for i in 0..TREES {
        let tree = deep(&mut random);
        let capacities = EdgeCapacities::from_tree(&tree);
        let (phases, bound) = (
            checked(&tree, &capacities),
            bound(&tree, &capacities).phases,
        );
        assert!(
            phases <= bound + (bound / 100).max(1),
            "{phases} phases, bound {bound}, tree {i}"
        );
        (sum, bounds) = (sum + phases, bounds + bound);
    }
    assert!(sum * 1000 <= bounds * 1001, "{sum} phases, bounds {bounds}");
}

#[test]
fn faster_trunks_save_nine_phases_of_ten() {
    let tree = tree(&[
        WidthSwitch {
            above: 0,
            width: 0,
            hosts: Vec::new(),
        },
        leaf(0),
        leaf(0),
        leaf(0),
        leaf(0),
    ]);
    assert_eq!(bound(&tree, &EdgeCapacities::unit(&tree)).phases, 1728);
    assert_eq!(checked(&tree, &EdgeCapacities::from_tree(&tree)), 173);
}

fn leaf(above: usize) -> WidthSwitch {
    WidthSwitch {
        above,
        width: 10,
        hosts: vec![1; 24],
    }
}

#[test]
fn trunks_of_one_message_under_wider_ones_reach_the_bound() {
    let mut switches = vec![WidthSwitch {
        above: 0,
        width: 0,
        hosts: vec![2; 3],
    }];
    for _ in 0..3 {
        let above = switches.len();
        switches.push(WidthSwitch {
            above: 0,
            width: 1,
            hosts: Vec::new(),
        });
        (0..2).for_each(|_| {
            switches.push(WidthSwitch {
                above,
                width: 1,
                hosts: vec![2; 10],
            })
        });
    }
    switches.push(WidthSwitch {
        above: 0,
        width: 40,
        hosts: vec![2; 4],
    });
    let tree = tree(&switches);
    let capacities = EdgeCapacities::from_tree(&tree);
    assert_eq!(
        (checked(&tree, &capacities), capacities.are_unit()),
        (bound(&tree, &capacities).phases, false)
    );
}
