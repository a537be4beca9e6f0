use super::*;

/// A network of cables written as `a-b 10`, `a-b 5x2` as an aggregate of two or, if it is one way of several,
/// `a=b 10`. Names with an `n` at their beginning are hosts.
fn network<'a>(text: &'a str) -> StagedNetwork<'a> {
    let mut found = StagedNetwork::default();
    for cable in text.split(',') {
        let (ends, rate) = cable.trim().split_once(' ').unwrap();
        let is_way = ends.contains('=');
        let (a, b) = ends.split_once(['-', '=']).unwrap();
        for name in [a, b] {
            let is_known = found.hosts.iter().any(|(own, _)| *own == name);
            match name.starts_with('n') {
                true if !is_known => found.hosts.push((name, 1)),
                false if !found.switches.contains(&name) => found.switches.push(name),
                _ => {}
            }
        }
        let (rate, parts) = rate.split_once('x').unwrap_or((rate, "1"));
        let parts: NonZeroU8 = parts.parse().unwrap();
        let rate = BitsPerSec(rate.parse::<u64>().unwrap() * u64::from(parts.get()));
        found.cables.push(StageCable {
            a,
            b,
            rate,
            is_way,
            parts,
        });
    }
    found
}

/// The edges of the tree, as `a-b rate`, in order.
fn edges(network: &StagedNetwork<'_>) -> String {
    let tree = network.tree().unwrap();
    let edges = tree.top_down().iter().filter_map(|&node| {
        let parent = tree.parent(node)?;
        let mut ends = [tree.name(parent), tree.name(node)];
        ends.sort_unstable();
        Some(format!("{}-{} {}", ends[0], ends[1], tree.rate(node).0))
    });
    let mut edges: Vec<String> = edges.collect();
    edges.sort();
    edges.join(", ")
}

#[test]
fn spines_are_one_node_with_the_sum_of_the_ways() {
    let fabric = network("n0-l1 1, n1-l2 1, l1=s1 4, l1=s2 4, l2=s1 4, l2=s2 4, l3=s1 4, l3=s2 4");
    assert_eq!(
        edges(&fabric),
        "l1-n0 1, l1-s[1-2] 8, l2-n1 1, l2-s[1-2] 8, l3-s[1-2] 8"
    );
    // A trunk from both spines to a switch of the world, one cable each.
    let edge =
        network("n0-l1 1, n1-l2 1, l1=s1 4, l1=s2 4, l2=s1 4, l2=s2 4, s1=w 2, s2=w 2, w-n2 1");
    assert_eq!(
        edges(&edge),
        "l1-n0 1, l1-s[1-2] 8, l2-n1 1, l2-s[1-2] 8, n2-w 1, s[1-2]-w 4"
    );
}

#[test]
fn pods_stay_apart_below_the_planes_that_join_them() {
    // Two pods of two leaves and two spines; spine k of each pod is on plane k.
    let mut text = String::new();
    for pod in ["a", "b"] {
        for leaf in 1..=2 {
            text.push_str(&format!("n{pod}{leaf}-{pod}l{leaf} 1, "));
            for spine in 1..=2 {
                text.push_str(&format!("{pod}l{leaf}={pod}s{spine} 4, "));
            }
        }
        for spine in 1..=2 {
            for core in 1..=2 {
                text.push_str(&format!("{pod}s{spine}=p{spine}{core} 2, "));
            }
        }
    }
    let text = text.trim_end_matches(", ");
    assert_eq!(
        edges(&network(text)),
        "al1-as[1-2] 8, al1-na1 1, al2-as[1-2] 8, al2-na2 1, as[1-2]-p[11-12],p[21-22] 8, bl1-bs[1-2] 8, \
         bl1-nb1 1, bl2-bs[1-2] 8, bl2-nb2 1, bs[1-2]-p[11-12],p[21-22] 8"
    );
}

#[test]
fn cables_beside_each_other_are_one_edge() {
    let trunk = network("n0-s0 1, s0=s1 4, s0=s1 4, s1=s0 4, n1-s1 1");
    assert_eq!(edges(&trunk), "n0-s0 1, n1-s1 1, s0-s1 12");
}

#[test]
fn hosts_on_both_boxes_of_a_pair_have_both_cards() {
    let text = "n0=l1a 1, n0=l1b 1, n1=l1a 1, n1=l1b 1, l1a-l1b 9, c=l1a 4, c=l1b 4, c-n2 1";
    let mut pair = network(text);
    assert_eq!(
        edges(&pair),
        "c-l1a,l1b 8, c-n2 1, l1a,l1b-n0 2, l1a,l1b-n1 2"
    );
    pair.pairs = vec![("l1", vec!["l1a", "l1b"])];
    assert_eq!(edges(&pair), "c-l1 8, c-n2 1, l1-n0 2, l1-n1 2");
}

#[test]
fn rails_are_one_stage_and_the_spines_above_another() {
    let rails = network(
        "n0=r1 4, n0=r2 4, n1=r1 4, n1=r2 4, r1=s1 8, r1=s2 8, r2=s1 8, r2=s2 8, n2-s9 1, s9=s1 2, s9=s2 2",
    );
    assert_eq!(
        edges(&rails),
        "n0-r[1-2] 8, n1-r[1-2] 8, n2-s9 1, r[1-2]-s[1-2] 32, s9-s[1-2] 4"
    );
}

#[test]
fn a_spine_with_a_host_of_its_own_is_still_one_of_the_spines() {
    let text = "n0-l1 1, n1-l2 1, n8-l2 1, n9-l1 1, l1=s1 4, l1=s2 4, l2=s1 4, l2=s2 4";
    let one = format!("{text}, s1-n2 1");
    let both = format!("{one}, s2-n3 1");
    for text in [one, both] {
        let edges = edges(&network(&text));
        assert!(edges.contains("l1-s[1-2] 8, l2-n1 1"), "{edges}");
        assert!(edges.contains("n2-s[1-2] 1"), "{edges}");
    }
}

#[test]
fn an_aggregate_is_one_edge_of_several_cables() {
    let trunk = network("n0-s0 1, s0-s1 4x2, n1-s1 1");
    assert_eq!(edges(&trunk), "n0-s0 1, n1-s1 1, s0-s1 8");
    assert_eq!(members(&trunk.tree().unwrap()), ["s0-s1 8x2"]);
    assert!(!trunk.tree().unwrap().has_members(), "nobody can choose");
    // Beside each other and without a loop: switches that no host has joined are no spines.
    let chain =
        network("n0-a 1, a=x 1, a=x 1, x=b 1, x=b 1, n1-b 1, b=y 1, b=y 1, y=c 1, y=c 1, n2-c 1");
    assert_eq!(
        edges(&chain),
        "a-n0 1, a-x 2, b-n1 1, b-x 2, b-y 2, c-n2 1, c-y 2"
    );
}

#[test]
fn a_spine_that_reaches_a_single_leaf_is_beside_no_other() {
    let fabric = "n0-l1 1, n1-l2 1, l1=s1 4, l1=s2 4, l2=s1 4, l2=s2 4";
    let lone = format!("{fabric}, l1=s3 4");
    assert_eq!(
        edges(&network(&lone)),
        "l1-n0 1, l1-s3 4, l1-s[1-2] 8, l2-n1 1, l2-s[1-2] 8"
    );
}

#[test]
fn what_spreads_over_nothing_stays_a_loop_or_a_tree() {
    let plain = network("n0-s0 1, s0-s1 4, n1-s1 1");
    assert_eq!(edges(&plain), "n0-s0 1, n1-s1 1, s0-s1 4");
    let parallel = network("n0-s0 1, s0-s1 4, s0-s1 4, n1-s1 1");
    assert!(matches!(parallel.tree(), Err(TreeError::Parallel(..))));
    let ring = network("n0-a 1, n1-b 1, n2-c 1, a=b 1, b=c 1, c=a 1");
    assert!(matches!(ring.tree(), Err(TreeError::Loop(..))));
    assert!(matches!(
        StagedNetwork::default().tree(),
        Err(TreeError::NoHost)
    ));
}

/// The cables side by side as `box-box rate`, in order.
fn members(tree: &Tree) -> Vec<String> {
    let cables = tree.members_named(|node| tree.name(node)).into_iter();
    let mut found: Vec<String> = cables
        .flat_map(|edge| edge.cables)
        .map(|mut cable| {
            cable.ends.sort_unstable();
            let [a, b] = cable.ends;
            let parts = match cable.parts.get() {
                1 => String::new(),
                parts => format!("x{parts}"),
            };
            format!("{a}-{b} {}{parts}", cable.rate.0)
        })
        .collect();
    found.sort();
    found
}

#[test]
fn cables_side_by_side_stay_known_however_the_tree_is_cut_and_turned() {
    let text = "n0-l1 1, n1-l2 1, n2-l3 1, l1=s1 4, l1=s2 2, l2=s1 4, l2=s2 2, l3=s1 4, l3=s2 2";
    let tree = network(text).tree().unwrap();
    let all = [
        "l1-s1 4", "l1-s2 2", "l2-s1 4", "l2-s2 2", "l3-s1 4", "l3-s2 2",
    ];
    assert_eq!(members(&tree), all);
    assert!(tree.has_members() && !tree.clone().by_hash().has_members());
    let hashed = ["l1-s1 6x2", "l2-s1 6x2", "l3-s1 6x2"];
    assert_eq!(members(&tree.clone().by_hash()), hashed);
    for node in 0..tree.nodes() {
        assert_eq!(members(&tree.hang_from(node)), all);
    }
    // A switch that becomes the root has no cable to a parent left.
    let some = tree.restrict(&["n2", "n0"]).unwrap();
    assert_eq!(members(&some), [&all[..2], &all[4..]].concat());
    let ranks = [("r0", 0), ("r1", 2), ("r2", 2)].map(|(name, host)| (name.to_owned(), host));
    assert_eq!(members(&tree.with_ranks(&ranks).unwrap()), members(&some));
    // A host with two cards, and a pair that is one switch.
    let bonded = network("n0=p1 1, n0=p2 1, n1=p1 1, n1=p2 1")
        .tree()
        .unwrap();
    let ranks = [("r0", 0), ("r1", 0), ("r2", 1)].map(|(name, host)| (name.to_owned(), host));
    assert_eq!(
        members(&bonded),
        ["n0-p1 1", "n0-p2 1", "n1-p1 1", "n1-p2 1"]
    );
    assert_eq!(
        members(&bonded.with_ranks(&ranks).unwrap()),
        members(&bonded)
    );
}
