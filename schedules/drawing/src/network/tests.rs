use super::*;
use inventory::alarm::code::AlarmCode;
use inventory::alarm::{Alarm, AlarmKind};
use inventory::evidence::{Evidence, FlowFinding};
use inventory::topology::{Link, LinkGrade, Node};

fn network(switches: usize, hosts: usize, mut links: Vec<Link>) -> Topology {
    let mut nodes: Vec<Node> = (0..switches)
        .map(|i| Node::new(format!("s{i}"), NodeKind::Switch))
        .collect();
    nodes.extend((0..hosts).map(|i| Node::new(format!("n{i}"), NodeKind::Host)));
    links.extend((0..hosts).map(|i| {
        Link::new(
            format!("s{}", i % switches),
            format!("p{i}"),
            format!("n{i}"),
            "eth0",
        )
    }));
    Topology {
        nodes,
        links,
        root_bridge: Some("s0".into()),
        ..Topology::default()
    }
}

fn drawn(topology: &Topology) -> String {
    let text = picture(&NetworkView::new(topology), "a network").document("a network");
    assert_well_formed(&text);
    text
}

/// Every element that begins ends.
fn assert_well_formed(svg: &str) {
    let mut open = Vec::new();
    for part in svg.split('<').skip(1) {
        let (element, _) = part.split_once('>').expect("an element ends");
        if let Some(name) = element.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name));
        } else if !element.ends_with('/') {
            open.push(element.split(' ').next().unwrap());
        }
        assert_eq!(element.matches('"').count() % 2, 0, "{element}");
    }
    assert!(open.is_empty());
    assert!(!svg.contains("NaN") && !svg.contains("inf\""), "{svg}");
}

#[test]
fn a_picture_shows_ports_rates_looks_and_alarms() {
    let mut t = network(
        3,
        6,
        vec![
            Link::new("s0", "swp1", "s1", "swp9"),
            Link::new("s0", "swp2", "s2", "swp9"),
            Link::new("s1", "swp3", "s2", "swp4"),
        ],
    );
    t.links[2].state = LinkState::Blocked;
    t.links[4].grade = LinkGrade::Inferred;
    let whole = drawn(&t);
    assert!(whole.contains("bottleneck: it determines"), "{whole}");
    t.links[5].grade = LinkGrade::Ambiguous;
    t.alarms = vec![Alarm::node(
        "s1",
        AlarmKind::TextOnly {
            code: AlarmCode::Other,
            text: "s1 is silent".into(),
        },
    )];
    let text = drawn(&t);
    for shown in [
        "swp1",
        "swp9",
        "1G",
        "blocked",
        "inferred",
        "ambiguous",
        "▲ s1 is silent",
        "root bridge",
    ] {
        assert!(text.contains(shown), "{shown} is missing in {text}");
    }
    assert_eq!(text, drawn(&t), "the same network gives the same octets");
}

#[test]
fn a_measured_cable_is_distinguished_from_an_inferred_one() {
    let trunks = vec![
        Link::new("s0", "", "s1", ""),
        Link::new("s0", "swp2", "s2", "swp9"),
    ];
    let mut t = network(3, 6, trunks);
    // The other trunk looks like the bottleneck that it is.
    t.links[1].grade = LinkGrade::Inferred;
    assert!(!drawn(&t).contains('≈'));
    t.links[1].evidence = vec![Evidence::Measured(FlowFinding::Behind("s0".to_owned()))];
    let text = drawn(&t);
    for shown in ["≈1G", "≈ measured by flows"] {
        assert!(text.contains(shown), "{shown} is missing in {text}");
    }
}

#[test]
fn hostile_names_stay_text() {
    let mut t = network(1, 1, vec![]);
    for name in [
        "<script>alert(1)</script>",
        "\"quoted' &amp;",
        "\u{202e}txet",
        "\u{5e9}\u{5dc}\u{5d5}\u{5dd}",
        &"x".repeat(255),
    ] {
        t.nodes.push(Node::new(name, NodeKind::Host));
        t.links.push(Link::new("s0", name, name, name));
    }
    let text = drawn(&t);
    assert!(
        !text.contains("<script") && !text.contains('\u{202e}'),
        "{text}"
    );
}

#[test]
fn many_hosts_are_counted() {
    let t = network(
        100,
        2400,
        (1..100)
            .map(|i| Link::new("s0", format!("swp{i}"), format!("s{i}"), "up"))
            .collect(),
    );
    let text = drawn(&t);
    assert_eq!(text.matches("24 hosts · 1G").count(), 100);
    assert!(text.len() < 200_000, "{}", text.len());
}

#[test]
fn any_links_are_drawn() {
    for seed in 0..300 {
        let mut random = fastrand::Rng::with_seed(seed);
        let switches = random.usize(1..12);
        let mut t = network(switches, random.usize(0..8), vec![]);
        for _ in 0..random.usize(0..30) {
            let (a, b) = (random.usize(0..switches + 1), random.usize(0..switches + 1));
            let mut new = Link::new(
                format!("s{a}"),
                random.u8(..).to_string(),
                format!("s{b}"),
                "",
            );
            new.state = [
                LinkState::Forwarding,
                LinkState::Blocked,
                LinkState::Unknown,
            ][random.usize(0..3)];
            t.links.push(new);
        }
        drawn(&t);
    }
}

#[test]
fn a_chain_of_switches_is_no_recursion() {
    let t = network(
        20_000,
        0,
        (1..20_000)
            .map(|i| Link::new(format!("s{}", i - 1), "a", format!("s{i}"), "b"))
            .collect(),
    );
    drawn(&t);
}

#[test]
fn what_changed_is_marked_on_both_sides() {
    let before = network(2, 2, vec![Link::new("s0", "swp1", "s1", "swp1")]);
    let mut after = before.clone();
    after.links[2].a = "s0".into();
    let moment = |topology, heading: &str| NetworkMoment {
        topology,
        heading: heading.into(),
        figures: vec!["2 phases".into()],
    };
    let text = compared(
        "n1 moved",
        &moment(&before, "before"),
        &moment(&after, "after"),
    )
    .document("n1");
    assert_well_formed(&text);
    let marked = |ink: &str| text.matches(&format!(">{ink}</text>")).count();
    assert_eq!((marked("gone"), marked("new")), (1, 1), "{text}");
}

#[test]
fn an_empty_network_is_drawn() {
    assert!(bottleneck(&Topology::default()).is_none());
    drawn(&Topology::default());
}
