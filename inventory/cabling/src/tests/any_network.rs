//! Properties of any network and any text.
use super::*;
use proptest::prelude::*;

/// Networks without contradictions: each port in one link.
fn networks() -> impl Strategy<Value = Topology> {
    let rates = [
        BitsPerSec::mega(100),
        BitsPerSec::GIGABIT,
        BitsPerSec::mega(25_000),
    ];
    let states = [
        LinkState::Forwarding,
        LinkState::Blocked,
        LinkState::Unknown,
    ];
    let link = (
        0..4_usize,
        0..4_usize,
        0..3_usize,
        0..3_usize,
        1..3_usize,
        any::<bool>(),
    );
    let hosts = prop::collection::vec((0..4_usize, 0..3_usize, any::<bool>()), 0..8);
    (prop::collection::vec(link, 0..12), hosts).prop_map(move |(links, hosts)| {
        let trunks = links.iter().enumerate().filter(|(_, l)| l.0 != l.1);
        let trunks = trunks.map(|(i, l)| {
            format!(
                "s{} swp{i} s{} {}{i}",
                l.0,
                l.1,
                if l.5 { "swp" } else { "sfp" }
            )
        });
        let uplinks = hosts
            .iter()
            .enumerate()
            .map(|(i, h)| format!("s{} host{i} n{i} {}", h.0, if h.2 { "eth0" } else { "-" }));
        let lines: Vec<String> = trunks.chain(uplinks).collect();
        let mut topology = network(&lines.iter().map(String::as_str).collect::<Vec<_>>());
        let of_trunks: Vec<_> = links.iter().filter(|l| l.0 != l.1).collect();
        for (link, drawn) in topology.links.iter_mut().zip(&of_trunks) {
            link.rate_bps = rates[drawn.2];
            link.state = states[drawn.3];
            if drawn.4 > 1 {
                link.members = (0..drawn.4)
                    .map(|i| AggregateMember {
                        a_port: format!("{}.{i}", link.a_port),
                        b_port: format!("{}.{i}", link.b_port),
                    })
                    .collect();
            }
        }
        for (link, drawn) in topology.links.iter_mut().skip(of_trunks.len()).zip(&hosts) {
            link.rate_bps = rates[drawn.1];
        }
        topology
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(
        if cfg!(debug_assertions) { 256 } else { 10_000 }
    ))]

    #[test]
    fn a_network_is_as_its_own_topology_file_plans(network in networks()) {
        let report = compare(&yaml_plan(&network.to_file().to_yaml()), &network);
        let all = report.as_planned == network.links.len();
        prop_assert!(report.is_as_planned() && all, "{report}");
    }

    #[test]
    fn a_network_is_as_its_own_drawing_plans(mut network in networks()) {
        // A drawing does not state what spanning tree should do, so every link outside loops must
        // forward.
        network.links.iter_mut().for_each(|l| l.state = LinkState::Forwarding);
        let plan = CablingPlan::parse("drawing.dot", &export::dot(&network, None)).unwrap();
        let report = compare(&plan, &network);
        let all = report.notes.is_empty() && report.as_planned == network.links.len();
        prop_assert!(report.is_as_planned() && all, "{report}");
    }

    #[test]
    fn one_cable_taken_away_is_one_difference(
        network in networks(),
        which in any::<prop::sample::Index>(),
    ) {
        prop_assume!(!network.links.is_empty());
        let plan = CablingPlan::parse("drawing.dot", &export::dot(&network, None)).unwrap();
        let mut less = network.clone();
        let gone = less.links.remove(which.index(network.links.len()));
        less.links.iter_mut().for_each(|l| l.state = LinkState::Forwarding);
        let report = compare(&plan, &less);
        let kinds: Vec<FindingKind> = report.differences.iter().map(|d| d.kind).collect();
        prop_assert_eq!(kinds, [FindingKind::Missing], "{}", report);
        prop_assert_eq!(&report.differences[0].planned[0].a_port, &gone.a_port);
    }

    #[test]
    fn any_text_is_read_or_refused(text in any::<String>()) {
        let _ = CablingPlan::parse("any", &text);
        let _ = CablingPlan::parse("any", &format!("graph {{{text}"));
    }

    #[test]
    fn any_words_are_read_or_refused(words in prop::collection::vec(0..20_usize, 0..40)) {
        let known = [
            "{", "}", "[", "]", "--", "->", ":", "=", ";", "+", "\"", "a", "\"b\"", "<", ">",
            "subgraph", "node", "\\", "\n", "1.5",
        ];
        let text: String = words.iter().map(|&w| format!("{} ", known[w])).collect();
        if let Err(e) = CablingPlan::parse("any", &format!("graph {{ {text}}}")) {
            prop_assert!(e.to_string().starts_with("any:"), "{}", e);
        }
    }
}
