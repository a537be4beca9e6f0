mod any_network;
mod several_networks;

use super::*;
use crate::export;
use inventory::evidence::{AssumedRate, Evidence};
use inventory::topology::{AggregateMember, Link, LinkGrade, Node, NodeKind, Topology};

/// A network from lines of the form `s0 swp1 s1 swp1`, with `-` for an unknown port. All cables are
/// certain, forwarding and at 1G. Names with `n` are hosts.
fn network(lines: &[&str]) -> Topology {
    let mut topology = Topology::default();
    for line in lines {
        let [a, a_port, b, b_port] = line
            .split(' ')
            .map(|w| w.trim_matches('-').to_owned())
            .collect::<Vec<_>>()
            .try_into()
            .unwrap();
        for name in [&a, &b] {
            if topology.kind(name).is_none() {
                let kind = if name.starts_with('n') {
                    NodeKind::Host
                } else {
                    NodeKind::Switch
                };
                topology.nodes.push(Node::new(name, kind));
            }
        }
        topology.links.push(Link::new(a, a_port, b, b_port));
    }
    topology
}

fn dot_plan(lines: &[&str]) -> CablingPlan {
    let edges: String = lines
        .iter()
        .map(|line| {
            let [a, p, b, q] = line.split(' ').collect::<Vec<_>>().try_into().unwrap();
            format!("\"{a}\":\"{p}\" -- \"{b}\":\"{q}\"\n").replace(":\"-\"", "")
        })
        .collect();
    CablingPlan::parse("plan.dot", &format!("graph G {{\n{edges}}}\n")).unwrap()
}

fn yaml_plan(text: &str) -> CablingPlan {
    CablingPlan::parse("plan.yaml", text).unwrap()
}

fn lines(report: &CablingReport) -> Vec<String> {
    let shown = report.to_string();
    shown.lines().map(str::to_owned).collect()
}

const SMALL: [&str; 4] = [
    "s0 swp1 s1 swp1",
    "s0 swp2 s2 swp1",
    "s1 swp3 n0 eth0",
    "s2 swp3 n1 eth0",
];

#[test]
fn a_plain_topology_file_is_a_plan() {
    let plan = yaml_plan(
        "switches: [s0, s1, s2]\nhosts: {n0: {switch: s1, ranks: 2}, n1: {switch: s2}}\nlinks: \
         [{a: s1, b: s0}, {a: s0, b: s2}]\nclusters: {west: [n0]}\n",
    );
    assert_eq!(
        lines(&compare(&plan, &network(&SMALL))),
        ["ok: 4 cables as planned"]
    );
}

#[test]
fn named_ports_have_to_fit() {
    let text = "switches: [s0, s1, s2]\nhosts: \
                {n0: {switch: s1, port: swp3}, n1: {switch: s2, port: swp9}}\nlinks:\n  - \
                {a: s1, a_port: swp1, b: s0, b_port: swp1}\n  - {a: s0, b: s2, b_port: swp1}\n";
    let report = compare(&yaml_plan(text), &network(&SMALL));
    assert_eq!(
        lines(&report),
        [
            "moved: planned s2 (swp9) - n1; found s2 (swp3) - n1 (eth0)",
            "1 difference; 3 of 4 cables as planned"
        ]
    );
}

#[test]
fn missing_and_extra_cables_are_reported() {
    let plan = dot_plan(&[
        "s0 swp1 s1 swp1",
        "s0 swp4 s2 swp4",
        "s1 swp3 n0 eth0",
        "s9 swp1 s0 swp9",
    ]);
    let found = network(&[
        "s0 swp1 s1 swp1",
        "s1 swp3 n0 eth0",
        "s1 swp7 s2 swp7",
        "s2 swp3 n1 eth0",
    ]);
    assert_eq!(
        lines(&compare(&plan, &found)),
        [
            "missing: planned s0 (swp4) - s2 (swp4); found none",
            "missing: planned s9 (swp1) - s0 (swp9); found no \"s9\" in the network",
            "extra: found s1 (swp7) - s2 (swp7), 1G; not planned",
            "extra: found s2 (swp3) - n1 (eth0), 1G; not planned",
            "4 differences; 2 of 4 cables as planned",
        ]
    );
}

#[test]
fn exchanged_ends_are_one_swap() {
    let found = network(&[
        "s0 swp1 s2 swp1",
        "s0 swp2 s1 swp1",
        "s1 swp3 n0 eth0",
        "s2 swp3 n1 eth0",
    ]);
    let report = compare(&dot_plan(&SMALL), &found);
    assert_eq!(
        lines(&report),
        [
            "swapped: planned s0 (swp1) - s1 (swp1) and s0 (swp2) - s2 (swp1); found s0 (swp1) - \
             s2 (swp1) and s0 (swp2) - s1 (swp1)",
            "1 difference; 2 of 4 cables as planned",
        ]
    );
    assert_eq!(
        (
            report.differences[0].planned.len(),
            report.differences[0].found.len()
        ),
        (2, 2)
    );
}

#[test]
fn swaps_are_seen_between_two_switches_and_without_ports() {
    let crossed = compare(
        &dot_plan(&["s0 swp1 s1 swp1", "s0 swp2 s1 swp2"]),
        &network(&["s0 swp1 s1 swp2", "s0 swp2 s1 swp1"]),
    );
    assert_eq!(
        crossed
            .differences
            .iter()
            .map(|d| d.kind)
            .collect::<Vec<_>>(),
        [FindingKind::Swapped]
    );
    let plan = yaml_plan(
        "switches: [s0, s1]\nhosts: {n0: {switch: s0}, n1: {switch: s1}}\nlinks: \
         [{a: s0, b: s1}]\n",
    );
    let hosts = compare(
        &plan,
        &network(&["s0 swp1 s1 swp1", "s0 swp3 n1 eth0", "s1 swp3 n0 eth0"]),
    );
    assert_eq!(
        lines(&hosts)[0],
        "swapped: planned s0 - n0 and s1 - n1; found s0 (swp3) - n1 (eth0) and s1 (swp3) - n0 \
         (eth0)"
    );
    assert_eq!(hosts.differences.len(), 1);
}

#[test]
fn a_cable_with_one_end_elsewhere_is_moved() {
    let found = network(&[
        "s0 swp1 s1 swp1",
        "s0 swp2 s2 swp8",
        "s2 swp4 n0 eth0",
        "s2 swp3 n1 eth0",
    ]);
    assert_eq!(
        lines(&compare(&dot_plan(&SMALL), &found)),
        [
            "moved: planned s0 (swp2) - s2 (swp1); found s0 (swp2) - s2 (swp8)",
            "moved: planned s1 (swp3) - n0 (eth0); found s2 (swp4) - n0 (eth0)",
            "2 differences; 2 of 4 cables as planned",
        ]
    );
    let both = compare(
        &dot_plan(&["s0 swp1 s1 swp1"]),
        &network(&["s0 swp5 s1 swp6"]),
    );
    assert_eq!(
        lines(&both)[0],
        "moved: planned s0 (swp1) - s1 (swp1); found s0 (swp5) - s1 (swp6)"
    );
}

#[test]
fn slower_is_a_difference_and_faster_a_note() {
    let plan = yaml_plan(
        "switches: [s0, s1, s2]\nhosts: {}\nlinks: [{a: s0, b: s1, rate: 10G}, \
         {a: s0, b: s2, rate: 100M}]\n",
    );
    let mut found = network(&SMALL[..2]);
    assert_eq!(
        lines(&compare(&plan, &found)),
        [
            "slower: s0 (swp1) - s1 (swp1): planned 10G, found 1G",
            "note: faster: s0 (swp2) - s2 (swp1): planned 100M, found 1G",
            "1 difference; 1 of 2 cables as planned",
        ]
    );
    found.links[0]
        .evidence
        .push(Evidence::Rate(AssumedRate::Gigabit));
    let unsure = compare(&plan, &found);
    assert!(
        unsure.is_as_planned(),
        "a rate nobody stated is no difference: {unsure}"
    );
    assert_eq!(
        unsure.notes[1].text,
        "s0 (swp1) - s1 (swp1): planned 10G, found at a rate neither end says"
    );
}

#[test]
fn parallel_cables_without_ports_are_distinguished_by_rate() {
    let plan = yaml_plan(
        "switches: [s0, s1]\nhosts: {}\nlinks: [{a: s0, b: s1, rate: 1G}, \
         {a: s0, b: s1, rate: 10G}]\n",
    );
    let mut found = network(&["s0 swp1 s1 swp1", "s0 swp2 s1 swp2"]);
    found.links[0].rate_bps = BitsPerSec(10_000_000_000);
    assert!(compare(&plan, &found).is_as_planned());
    found.links.remove(0);
    assert_eq!(
        lines(&compare(&plan, &found))[0],
        "missing: planned s0 - s1, 10G; found none"
    );
}

#[test]
fn blocked_is_unexpected_where_the_plan_has_no_other_way() {
    let mut found = network(&["s0 swp1 s1 swp1", "s1 swp2 s2 swp2", "s0 swp2 s2 swp1"]);
    found.links[1].state = LinkState::Blocked;
    let free = compare(&ring(""), &found);
    assert!(
        free.is_as_planned(),
        "the plan leaves the loop to spanning tree: {free}"
    );
    assert_eq!(
        free.notes[0].to_string(),
        "blocked: s1 (swp2) - s2 (swp2): planned in a loop, found blocked by spanning tree"
    );
    assert_eq!(
        lines(&compare(&ring(", state: blocked"), &found)),
        [
            "blocked: s1 (swp2) - s2 (swp2): planned forwarding, as no other planned cable takes \
             its place, found blocked",
            "forwarding: s0 (swp2) - s2 (swp1): planned blocked, found forwarding",
            "2 differences; 1 of 3 cables as planned",
        ]
    );
    let stated = yaml_plan(
        "switches: [s0, s1, s2]\nhosts: {}\nlinks: [{a: s0, b: s1}, \
         {a: s1, b: s2, state: forwarding}, {a: s2, b: s0}]\n",
    );
    assert_eq!(
        compare(&stated, &found).differences[0].text,
        "s1 (swp2) - s2 (swp2): planned forwarding, found blocked"
    );
}

fn ring(extra: &str) -> CablingPlan {
    yaml_plan(&format!(
        "switches: [s0, s1, s2]\nhosts: {{}}\nlinks: [{{a: s0, b: s1}}, {{a: s1, b: s2}}, \
             {{a: s2, b: s0{extra}}}]\n"
    ))
}

#[test]
fn an_aggregate_is_planned_whole_or_cable_by_cable() {
    let mut found = network(&["s0 bond0 s1 bond1"]);
    found.links[0].members = [1, 2]
        .map(|i| AggregateMember {
            a_port: format!("swp{i}"),
            b_port: format!("swp{}", i + 10),
        })
        .into();
    found.links[0].rate_bps = BitsPerSec(20_000_000_000);
    let cables = dot_plan(&["s0 swp1 s1 swp11", "s0 swp2 s1 swp12"]);
    assert!(compare(&cables, &found).is_as_planned());
    let head = "switches: [s0, s1]\nhosts: {}\nlinks: ";
    for whole in [
        "[{a: s0, b: s1, rate: 20G}]",
        "[{a: s0, a_port: bond0, b: s1, rate: 20G}]",
        "[{a: s0, b: s1, rate: 10G}, {a: s0, b: s1, rate: 10G}]",
    ] {
        let report = compare(&yaml_plan(&format!("{head}{whole}")), &found);
        assert!(
            report.is_as_planned() && report.notes.is_empty(),
            "{whole}: {report}"
        );
    }
    found.links[0].members.remove(1);
    let lost = compare(&cables, &found);
    assert_eq!(
        lines(&lost)[0],
        "missing: planned s0 (swp2) - s1 (swp12); found none"
    );
}

#[test]
fn nothing_ambiguous_is_a_difference_by_itself() {
    let mut found = network(&["s0 swp1 s1 swp1", "s0 swp3 n0 -", "s1 swp4 n0 -"]);
    found.links[1].grade = LinkGrade::Ambiguous;
    found.links[2].grade = LinkGrade::Ambiguous;
    let fits = compare(&dot_plan(&["s0 swp1 s1 swp1", "s1 swp4 n0 eth0"]), &found);
    assert!(fits.is_as_planned(), "{fits}");
    assert_eq!(
        fits.notes
            .iter()
            .map(|n| (n.kind, n.grade))
            .collect::<Vec<_>>(),
        [
            (FindingKind::Extra, LinkGrade::Ambiguous),
            (FindingKind::Unconfirmed, LinkGrade::Ambiguous)
        ]
    );
    let elsewhere = compare(&dot_plan(&["s0 swp1 s1 swp1", "s1 swp5 n0 eth0"]), &found);
    assert_eq!(
        lines(&elsewhere)[0],
        "missing (ambiguous): planned s1 (swp5) - n0 (eth0); found nothing certain; perhaps s0 \
         (swp3) - n0 or s1 (swp4) - n0"
    );
}

#[test]
fn what_is_inferred_or_silent_is_reported_as_such() {
    let mut found = network(&["s0 swp1 s1 swp1", "s0 swp2 s2 swp1"]);
    found.links[1].grade = LinkGrade::Inferred;
    let plan = dot_plan(&["s0 swp1 s1 swp1"]);
    assert_eq!(
        lines(&compare(&plan, &found))[0],
        "extra (inferred): found s0 (swp2) - s2 (swp1), 1G; not planned"
    );
    found.links.remove(0);
    found.nodes[1].stale = true;
    let silent = compare(&plan, &found);
    assert_eq!(
        silent.differences[0].to_string(),
        "missing (ambiguous): planned s0 (swp1) - s1 (swp1); found none, but \"s1\" does not answer"
    );
}

#[test]
fn a_port_nobody_names_is_a_note() {
    let report = compare(&dot_plan(&["s1 swp3 n0 eth0"]), &network(&["s1 swp3 n0 -"]));
    assert_eq!(
        lines(&report),
        [
            "note: unconfirmed: s1 (swp3) - n0: planned at n0 (eth0), found at a port nobody names",
            "ok: 1 cable as planned"
        ]
    );
}

#[test]
fn a_plan_of_trunks_is_compared_with_trunks() {
    let report = compare(&dot_plan(&SMALL[..2]), &network(&SMALL));
    assert_eq!(
        lines(&report),
        [
            "note: unconfirmed: the plan names no host of the network; 2 cables of hosts not \
             compared",
            "ok: 2 cables as planned"
        ]
    );
}

#[test]
fn names_that_no_topology_file_takes_are_found_under_their_plain_form() {
    let mut found = network(&SMALL[..2]);
    for name in found
        .nodes
        .iter_mut()
        .map(|n| &mut n.name)
        .chain(found.links.iter_mut().map(|l| &mut l.a))
    {
        *name = name.replace("s0", "core/0");
    }
    assert!(
        compare(
            &yaml_plan(
                "switches: [core-0, s1, s2]\nhosts: {}\nlinks: [{a: core-0, b: s1}, \
                            {a: core-0, b: s2}]\n"
            ),
            &found
        )
        .is_as_planned()
    );
    assert!(
        compare(
            &CablingPlan::parse("drawing.dot", &export::dot(&found, None)).unwrap(),
            &found
        )
        .is_as_planned()
    );
}

#[test]
fn reads_what_ptm_reads() {
    let text = r#"##################
# a plan
##################
graph G {
  LLDP=""  // settings of PTM
  T1="match_type=portdescr, a=[b]"
  hostnametype = "hostname"
  node [shape=box]; edge [style=bold, color=red;]
  /* two
     lines */
  "leaf1":"swp1" -- "spine1":"swp3" [LLDP="match_type=portdescr", BFD="upMinTx=400"]
  leaf2:swp1:n -- "spine" + "1":"swp4"; leaf2
  subgraph cluster_a { leaf3:swp1 -- spine2 -- leaf4:3 { "a\"b\\c":"swp\
7" -- leaf5 [label=<<b>x</b>>] } }
}
"#;
    let cables: Vec<String> = CablingPlan::parse("topology.dot", text)
        .unwrap()
        .cables
        .iter()
        .map(Cable::to_string)
        .collect();
    assert_eq!(
        cables,
        [
            "leaf1 (swp1) - spine1 (swp3)",
            "leaf2 (swp1) - spine1 (swp4)",
            "leaf3 (swp1) - spine2",
            "spine2 - leaf4 (3)",
            "a\"b\\c (swp7) - leaf5",
        ]
    );
}

/// Texts that are not plans, each with the message that refuses it.
const REFUSED: &[(&str, &str)] = &[
    (
        "graph {\n s0:1 -- s1:1\n s0:1 -- s2:1\n}",
        "p:3: port 1 of \"s0\" is planned for two cables; a port holds one",
    ),
    ("graph {\n\n leaf-1:swp1 -- s1", "p:3: \"leaf\" goes on"),
    ("graph {\n leaf.1 -- s1", "p:2: \"leaf\" goes on"),
    (
        "graph {\n a -- {b c}\n}",
        "p:2: a cable cannot end at a group",
    ),
    (
        "graph {\n {b c} -- a\n}",
        "p:2: a cable cannot end at a group",
    ),
    ("graph {\n a -- b\n", "p:3: expected a cable like"),
    ("graph {\n a -- \"b\n", "p:2: text without closing quote"),
    ("graph {\n /* a\n b", "p:2: comment without end"),
    ("graph {\n a [label=<b", "p:2: \"<\" without"),
    (
        "graph {} graph {}",
        "p:1: expected nothing behind the graph",
    ),
    (
        "graph {\n \"a\u{1b}[31m\" -- b\n}",
        "p:2: end \"a\\u{1b}[31m\"",
    ),
    ("graph {\n \"\" -- b\n}", "p:2: end \"\""),
    (
        "graph {\n \"a\u{202e}b\" -- c\n}",
        "p:2: end \"a\\u{202e}b\"",
    ),
    ("strict tree {}", "p:1: expected \"graph\", found \"tree\""),
    ("switches: [s0]\nhosts: {n0: {swtch: s0}}\n", "p:2: "),
    (
        "switches: [s0]\nhosts: {n0: {switch: s1}}\n",
        "p:2: host \"n0\": unknown switch \"s1\"",
    ),
    (
        "switches: [s0]\nhosts: {n0: {switch: s0, port: a}, n1: {switch: s0, port: a}}\n",
        "p:2: port a of \"s0\" is planned for two",
    ),
    (
        "switches: [s0]\nhosts: {n0: {switch: s0, port: \"\\e[31m\"}}\n",
        "p:2: port \"\\u{1b}[31m\": expected",
    ),
    ("", "p:"),
];

#[test]
fn refuses_with_the_line() {
    for (text, expected) in REFUSED {
        assert!(
            refused(text).starts_with(expected),
            "{text:?}: {}",
            refused(text)
        );
        assert!(
            !refused(text).contains(inventory::sanitize::is_hidden),
            "{text:?}"
        );
    }
}

fn refused(text: &str) -> String {
    CablingPlan::parse("p", text).unwrap_err().to_string()
}
