use super::*;
use crate::verify;
use proptest::prelude::*;
use samples::trees::{star, topology};
use std::fmt::Write;

/// Clusters c0, c1, … with these numbers of hosts, in the order of the host numbers.
pub(crate) fn runs(tree: &Tree, sizes: &[u32]) -> ClusterPartition {
    let mut next = 0;
    ClusterPartition::new(
        tree,
        sizes
            .iter()
            .enumerate()
            .map(|(number, size)| {
                next += size;
                HostCluster {
                    name: format!("c{number}"),
                    hosts: (next - size..next).collect(),
                }
            })
            .collect(),
    )
    .unwrap()
}

/// The messages between the clusters, as (from, to), by step.
fn abroad(plan: &LgSchedule) -> Vec<Vec<(u32, u32)>> {
    let cluster = |h: u32| plan.clusters.iter().position(|c| c.hosts.contains(&h));
    plan.steps
        .iter()
        .map(|step| {
            step.iter()
                .filter(|t| cluster(t.from) != cluster(t.to))
                .map(|t| (t.from, t.to))
                .collect::<Vec<_>>()
        })
        .filter(|step| !step.is_empty())
        .collect()
}

/// lg-2008 Figure 3: three and seven hosts. The printed algorithm stores M9,1 with node 10 and M9,2
/// with node 11, which do not exist. Its loop from i = 1 never sends the blocks that host 0
/// gathered. The pairs in the text are right.
#[test]
fn the_papers_example() {
    let tree = star(&[3, 7]);
    let plan = plan(&tree, &runs(&tree, &[3, 7]), None);
    verify::lg(&tree, &plan).unwrap();
    let both = |pairs: &[(u32, u32)]| {
        let mut both: Vec<(u32, u32)> = pairs.iter().flat_map(|&(a, b)| [(a, b), (b, a)]).collect();
        both.sort_unstable();
        both
    };
    let mut steps = abroad(&plan);
    steps.iter_mut().for_each(|step| step.sort_unstable());
    assert_eq!(
        steps,
        [
            both(&[(0, 3), (1, 4), (2, 5)]),
            both(&[(0, 6), (1, 7), (2, 8)]),
            both(&[(0, 9)])
        ]
    );
    let carrier = |src, dst| {
        let block = Message { src, dst };
        plan.steps
            .iter()
            .flatten()
            .filter(|t| t.blocks.contains(&block))
            .map(|t| (t.from, t.to))
            .collect::<Vec<_>>()
    };
    assert_eq!(carrier(7, 2), [(7, 8), (8, 2)], "as in the text");
    assert_eq!(
        (carrier(9, 1), carrier(9, 2)),
        (vec![(9, 7), (7, 1)], vec![(9, 8), (8, 2)]),
        "lost as printed"
    );
    let PhaseBound {
        phases,
        load,
        capacity,
        ref edge,
    } = plan.bound;
    assert_eq!(
        (phases, load, capacity, plan.messages, edge),
        (21, 21, 1, 7, &("s1".into(), "s0".into()))
    );
}

#[test]
fn every_pair_of_sizes() {
    for (n1, n2) in (1..=12).flat_map(|n1| (n1..=24).map(move |n2| (n1, n2))) {
        for sizes in [[n1, n2], [n2, n1]] {
            let tree = star(&sizes);
            let plan = plan(&tree, &runs(&tree, &sizes), None);
            verify::lg(&tree, &plan).unwrap_or_else(|e| panic!("{sizes:?}: {e}"));
            let steps = abroad(&plan);
            assert_eq!(
                steps.len() as u32,
                n2.div_ceil(n1),
                "{sizes:?}: a host of the smaller cluster sends that many"
            );
            assert_eq!(steps.iter().map(Vec::len).sum::<usize>() as u32, 2 * n2);
            let crossing = plan.steps[plan.steps.len() - steps.len()..]
                .iter()
                .flatten();
            assert!(
                crossing
                    .into_iter()
                    .all(|t| t.blocks.len() as u32 <= n2.div_ceil(n2 / n1)),
                "{sizes:?}"
            );
        }
    }
}

#[test]
fn three_clusters_of_eight_send_48_messages_instead_of_384() {
    let tree = star(&[8, 8, 8]);
    let plan = plan(&tree, &runs(&tree, &[8, 8, 8]), None);
    verify::lg(&tree, &plan).unwrap();
    assert_eq!(
        abroad(&plan).iter().map(Vec::len).collect::<Vec<_>>(),
        [24, 24]
    );
}

#[test]
fn one_cluster_is_its_own_schedule_and_one_host_nothing() {
    let tree = star(&[4, 3]);
    let plan = plan(&tree, &runs(&tree, &[7]), None);
    verify::lg(&tree, &plan).unwrap();
    let phases = alltoall::plan(&tree, SyncKind::None).phases;
    let messages = |step: &Vec<Transfer>| {
        step.iter()
            .map(|t| Message {
                src: t.from,
                dst: t.to,
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(plan.steps.iter().map(messages).collect::<Vec<_>>(), phases);
    assert_eq!(
        (plan.bound.phases, plan.bound.load, plan.messages),
        (0, 0, 0)
    );
    let alone = star(&[1]);
    let plan = super::plan(&alone, &runs(&alone, &[1]), None);
    verify::lg(&alone, &plan).unwrap();
    assert!(plan.steps.is_empty());
}

#[test]
fn switches_inside_a_cluster_widen_the_steps() {
    // Two switches of four hosts in the west, one of eight in the east. Only one message at a time
    // can leave the western switch that is further away.
    let text = |rate: &str| {
        let mut text = "switches: [a, b, c]\nhosts:\n".to_owned();
        (0..16).for_each(|h| {
            writeln!(text, "  n{h}: {{switch: {}}}", ["a", "b", "c", "c"][h / 4]).unwrap()
        });
        text + &format!("links: [{{a: a, b: b, rate: {rate}}}, {{a: b, b: c, rate: 10G}}]\n")
    };
    for (rate, steps) in [("1G", 4), ("2G", 2), ("10G", 1)] {
        let tree = topology(&text(rate));
        let plan = plan(&tree, &runs(&tree, &[8, 8]), None);
        verify::lg(&tree, &plan).unwrap();
        assert_eq!(abroad(&plan).len(), steps, "{rate}");
    }
}

#[test]
fn the_backbone_carries_as_many_at_once_as_asked_for() {
    let tree = star(&[6, 6]);
    for (at_once, steps) in [
        (Some(1), 6),
        (Some(2), 3),
        (Some(4), 2),
        (Some(6), 1),
        (Some(0), 6),
        (None, 1),
    ] {
        let plan = plan(&tree, &runs(&tree, &[6, 6]), at_once);
        verify::lg(&tree, &plan).unwrap();
        assert_eq!(abroad(&plan).len(), steps, "{at_once:?}");
        let most = |from: u32| {
            abroad(&plan)
                .iter()
                .map(|s| s.iter().filter(|t| t.0 / 6 == from).count() as u64)
                .max()
        };
        assert!(
            at_once
                .is_none_or(|limit| most(0) <= Some(limit.max(1)) && most(1) <= Some(limit.max(1)))
        );
    }
}

#[test]
fn proxies_share_the_senders() {
    // Seven hosts send to three: three of them are proxies of host 0, two each of hosts 1 and 2.
    let tree = star(&[3, 7]);
    let plan = plan(&tree, &runs(&tree, &[3, 7]), None);
    let carries = |dst| {
        let to = plan
            .steps
            .iter()
            .flatten()
            .filter(|t| t.to == dst && t.from > 2);
        to.map(|t| (t.from, t.blocks.iter().map(|b| b.src).collect::<Vec<_>>()))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        carries(0),
        [(3, vec![3, 4, 5]), (6, vec![6, 7]), (9, vec![8, 9])]
    );
    assert_eq!(carries(1), [(4, vec![3, 4, 5, 6]), (7, vec![7, 8, 9])]);
}

/// Two to six clusters, each a random tree of one to five switches that is cabled to a random
/// place, with uplinks of mixed rates.
pub(crate) fn any_sites() -> impl Strategy<Value = (String, Vec<u32>)> {
    let site = (
        prop::collection::vec(0usize..100, 1..=12),
        prop::collection::vec((0usize..100, 0..3usize), 0..5),
        0..3usize,
        0usize..100,
    );
    prop::collection::vec(site, 2..=6).prop_map(|sites| {
        const RATES: [&str; 3] = ["1G", "2500M", "10G"];
        let (mut hosts, mut links, mut switches) = (String::new(), String::new(), Vec::new());
        let mut host = 0;
        for (c, (at, inner, rate, up)) in sites.iter().enumerate() {
            let count = inner.len() + 1;
            for a in at {
                writeln!(
                    hosts,
                    "  n{host}: {{switch: c{c}s{}, rate: {}}}",
                    a % count,
                    RATES[*rate / 2]
                )
                .unwrap();
                host += 1;
            }
            for (s, (parent, rate)) in inner.iter().enumerate() {
                writeln!(
                    links,
                    "  - {{a: c{c}s{}, b: c{c}s{}, rate: {}}}",
                    s + 1,
                    parent % (s + 1),
                    RATES[*rate]
                )
                .unwrap();
            }
            if c > 0 {
                writeln!(
                    links,
                    "  - {{a: c{c}s{}, b: {}, rate: {}}}",
                    up % count,
                    switches[up % switches.len()],
                    RATES[*rate]
                )
                .unwrap();
            }
            switches.extend((0..count).map(|s| format!("c{c}s{s}")));
        }
        let text = format!(
            "switches: [{}]\nhosts:\n{hosts}links:\n{links}",
            switches.join(", ")
        );
        (text, sites.iter().map(|(at, ..)| at.len() as u32).collect())
    })
}

const CASES: u32 = if cfg!(debug_assertions) { 60 } else { 3_000 };

proptest! {
    #![proptest_config(ProptestConfig::with_cases(CASES))]

    #[test]
    fn any_clusters((text, sizes) in any_sites(), at_once in prop::option::of(1u64..5)) {
        let tree = topology(&text);
        let clusters = runs(&tree, &sizes);
        let plan = plan(&tree, &clusters, at_once);
        prop_assert_eq!(verify::lg(&tree, &plan), Ok(()));
        for step in abroad(&plan) {
            let mut load = vec![0; tree.edges() as usize];
            step.iter()
                .for_each(|&(from, to)| tree.path(from, to, |edge| load[edge as usize] += 1));
            let between = (0..tree.edges()).filter(|&edge| clusters.inside(edge).is_none());
            let most = between.map(|edge| load[edge as usize]).max().unwrap_or(0);
            prop_assert!(
                at_once.is_none_or(|limit| most <= limit),
                "{} at once",
                most
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(CASES))]

    #[test]
    fn flat_clusters_take_as_many_steps_as_the_busiest_host_has_messages(
        sizes in prop::collection::vec(1u32..=12, 2..=6),
    ) {
        let tree = star(&sizes);
        let steps = abroad(&plan(&tree, &runs(&tree, &sizes), None));
        let mut degree = vec![0; 2 * tree.hosts() as usize];
        steps
            .iter()
            .flatten()
            .flat_map(|&(from, to)| [from, tree.hosts() + to])
            .for_each(|end| degree[end as usize] += 1);
        prop_assert_eq!(steps.len(), degree.into_iter().max().unwrap());
        let each_cluster = |&n: &u32| sizes.iter().map(|&other| other.div_ceil(n)).sum::<u32>() - 1;
        prop_assert!(steps.len() as u32 <= sizes.iter().map(each_cluster).max().unwrap());
    }
}
