use super::*;
use crate::networks::link_nodes;
use inventory::BitsPerSec;
use inventory::cluster_reason::ClusterReason;
use inventory::device_view::DeviceView;
use inventory::evidence::{AssumedRate, Evidence};
use inventory::host_report::{HostReport, ProbedPath, RoundTrip};
use inventory::observation::{BridgeId, BridgeTable};
use inventory::topology::{Cluster, LinkGrade, LinkState};
use proptest::prelude::*;

/// A network that a test changes.
#[derive(Clone, Default)]
struct ClusterFixture {
    nodes: Vec<Node>,
    links: Vec<Link>,
    views: DeviceViews,
    stated: IndexMap<String, Vec<String>>,
}

impl ClusterFixture {
    /// Hosts n0, n1, ... on the switches of a chain, `hosts[i]` on switch `si`.
    fn chain(hosts: &[usize]) -> ClusterFixture {
        let mut net = ClusterFixture::default();
        for (i, count) in hosts.iter().enumerate() {
            net.node(&format!("s{i}"), NodeKind::Switch);
            if i > 0 {
                net.link(&format!("s{}", i - 1), &format!("s{i}"));
            }
            for _ in 0..*count {
                let host = format!("n{}", net.hosts().len());
                net.node(&host, NodeKind::Host);
                net.link(&format!("s{i}"), &host);
            }
        }
        net
    }

    fn node(&mut self, name: &str, kind: NodeKind) {
        self.nodes.push(Node::new(name, kind));
    }

    fn link(&mut self, a: &str, b: &str) -> &mut Link {
        self.links.push(Link {
            a: a.into(),
            a_port: "p".into(),
            b: b.into(),
            b_port: "q".into(),
            members: vec![],
            rate_bps: BitsPerSec::GIGABIT,
            state: LinkState::Forwarding,
            grade: LinkGrade::Certain,
            evidence: vec![],
        });
        self.links.last_mut().unwrap()
    }

    fn find(&mut self, a: &str, b: &str) -> &mut Link {
        self.links
            .iter_mut()
            .find(|l| l.a == a && l.b == b)
            .unwrap()
    }

    fn hosts(&self) -> Vec<String> {
        self.nodes
            .iter()
            .filter(|n| n.kind == NodeKind::Host)
            .map(|n| n.name.clone())
            .collect()
    }

    fn root(&mut self, switch: &str, root: u8) {
        let bridge = BridgeTable {
            root_bridge: Some(BridgeId {
                priority: 0,
                address: inventory::Mac([2, 0, 0, 0, 0, root]),
            }),
            ..BridgeTable::default()
        };
        self.views.entry(switch.into()).or_default().bridge = Some(bridge);
    }

    fn view(&mut self, host: &str) -> &mut DeviceView {
        let view = self.views.entry(host.into()).or_default();
        view.host.get_or_insert_with(|| HostReport {
            host: host.into(),
            ..HostReport::default()
        });
        view
    }

    fn probe(&mut self, from: &str, to: &str, hops: &[u8], us: u32) {
        let path = ProbedPath {
            to: to.into(),
            address: [10, 0, 0, 1].into(),
            hops: hops
                .iter()
                .map(|h| Some([10, 0, 0, *h].into()).filter(|_| *h > 0))
                .collect(),
            reached: true,
            round_trip: (us > 0).then_some(RoundTrip {
                min_us: us,
                median_us: us,
                samples: 5,
            }),
        };
        self.view(from).host.as_mut().unwrap().paths.push(path);
    }

    /// Sets every pair's round trip.
    fn trips(&mut self, us: impl Fn(usize, usize) -> u32) {
        let hosts = self.hosts();
        for a in 0..hosts.len() {
            for b in a + 1..hosts.len() {
                self.probe(&hosts[a], &hosts[b], &[], us(a, b));
            }
        }
    }

    fn found(&self) -> (Vec<Cluster>, Vec<Alarm>) {
        clusters(&ClusterInput {
            nodes: &self.nodes,
            links: &self.links,
            ends: &link_nodes(&self.nodes, &self.links),
            views: &self.views,
            stated: &self.stated,
            routing: &RoutingHosts::new(),
        })
    }

    /// `cluster-s0: n0 n1`.
    fn shown(&self) -> Vec<String> {
        self.found()
            .0
            .iter()
            .map(|c| format!("{}: {}", c.name, c.hosts.join(" ")))
            .collect()
    }

    fn reasons(&self) -> Vec<String> {
        self.found()
            .0
            .into_iter()
            .flat_map(|c| c.reasons)
            .map(|r| r.to_string())
            .collect()
    }

    fn alarms(&self) -> Vec<String> {
        self.found().1.into_iter().map(|a| a.to_string()).collect()
    }
}

#[test]
fn without_any_agent_cables_and_root_bridges_decide() {
    let mut net = ClusterFixture::chain(&[2, 1, 2]);
    assert_eq!(net.shown(), ["cluster-s0: n0 n1 n2 n3 n4"]);
    assert_eq!(net.reasons(), ["no router between s0, s1, s2"]);
    net.find("s1", "s2").state = LinkState::Blocked;
    assert_eq!(
        net.shown().len(),
        1,
        "what is blocked is in the tree's network"
    );
    net.links
        .retain(|l| (l.a.as_str(), l.b.as_str()) != ("s1", "s2"));
    assert_eq!(net.shown(), ["cluster-s0: n0 n1 n2", "cluster-s2: n3 n4"]);
    net.root("s0", 1);
    net.root("s2", 1);
    assert_eq!(net.shown(), ["cluster-s0: n0 n1 n2 n3 n4"]);
    assert_eq!(
        net.reasons()[1],
        "s0 and s2 name one root bridge, 0000.02:00:00:00:00:01"
    );
    net.root("s2", 2);
    assert_eq!(net.shown().len(), 2);
}

#[test]
fn a_router_parts_what_it_joins() {
    let mut net = ClusterFixture::chain(&[2, 0, 2]);
    net.nodes[3].kind = NodeKind::Router;
    assert_eq!(net.nodes[3].name, "s1");
    assert_eq!(net.shown(), ["cluster-s0: n0 n1", "cluster-s2: n2 n3"]);
    assert_eq!(
        net.reasons()[..2],
        [
            "hosts on s0",
            "s1 is a router: the network beyond it has another spanning tree"
        ]
    );
}

#[test]
fn a_host_of_several_places_is_in_a_cluster_only_if_all_are() {
    let mut net = ClusterFixture::chain(&[1, 1, 1]);
    net.links
        .retain(|l| (l.a.as_str(), l.b.as_str()) != ("s1", "s2"));
    net.node("n3", NodeKind::Host);
    net.link("s0", "n3").grade = LinkGrade::Ambiguous;
    net.link("s1", "n3").grade = LinkGrade::Ambiguous;
    assert_eq!(net.shown()[0], "cluster-s0: n0 n1 n3");
    net.link("s2", "n3").grade = LinkGrade::Ambiguous;
    assert_eq!(net.shown(), ["cluster-s0: n0 n1", "cluster-s2: n2"]);
}

#[test]
fn probes_join_and_part_what_no_switch_tells_of() {
    let mut net = ClusterFixture::chain(&[2, 2, 1]);
    net.links.retain(|l| l.a != "s0" || l.b != "s1");
    net.links.retain(|l| l.a != "s1" || l.b != "s2");
    net.probe("n0", "n2", &[1, 0], 0);
    net.probe("n4", "n3", &[], 0);
    assert_eq!(net.shown(), ["cluster-s0: n0 n1", "cluster-s1: n2 n3 n4"]);
    let reasons = net.reasons();
    assert_eq!(
        reasons[1],
        "2 routed hops (10.0.0.1, one that does not answer) from n0 to n2 in cluster-s1"
    );
    assert_eq!(
        reasons[3..],
        [
            "no routed hop from n3 to n4",
            "2 routed hops (10.0.0.1, one that does not answer) from n0 in cluster-s0 to n2"
        ]
    );
    assert_eq!(net.alarms(), [] as [String; 0]);
    // n2 meets the router by another address than n0 does.
    net.probe("n2", "n0", &[9, 8], 0);
    assert_eq!(
        net.reasons()[1],
        "2 routed hops (10.0.0.1, one that does not answer) from n0 to n2 in cluster-s1"
    );
    assert_eq!(
        net.reasons()[4],
        "2 routed hops (10.0.0.9, 10.0.0.8) from n2 to n0 in cluster-s0"
    );
}

#[test]
fn two_virtual_lans_on_the_same_switches_are_two_clusters() {
    let mut net = ClusterFixture::chain(&[3, 3]);
    net.probe("n0", "n1", &[9], 0);
    net.probe("n0", "n3", &[], 0);
    net.probe("n1", "n4", &[], 0);
    net.probe("n4", "n3", &[9], 0);
    assert_eq!(
        net.shown(),
        ["cluster-n1: n1 n4", "cluster-s0: n0 n2 n3 n5"]
    );
    let alarms = net.alarms();
    assert_eq!(alarms.len(), 1, "{alarms:?}");
    assert!(
        alarms[0].contains(
            "hosts \"n0\" and \"n1\": 1 routed hop (10.0.0.9) between them \
                                though switches join them"
        ),
        "{alarms:?}"
    );
}

#[test]
fn probes_that_contradict_each_other_part_nothing() {
    let mut net = ClusterFixture::chain(&[2, 2]);
    net.probe("n0", "n2", &[9], 0);
    net.probe("n2", "n0", &[], 0);
    assert_eq!(net.shown().len(), 1);
    assert!(net.alarms()[0].contains(
        "hosts \"n0\" and \"n2\": 1 routed hop (10.0.0.9) between \
                                      them by one probe and none by others"
    ));
    net.view("n2").stale = Some((inventory::Millis(1), "silent".into()));
    assert_eq!(
        net.shown().len(),
        2,
        "the word of an agent that stopped is worth less"
    );
    let mut round = ClusterFixture::chain(&[3]);
    round.probe("n0", "n1", &[], 0);
    round.probe("n1", "n2", &[], 0);
    round.probe("n0", "n2", &[9], 0);
    assert_eq!((round.shown().len(), round.alarms().len()), (1, 1));
}

#[test]
fn a_probe_joins_nothing_across_a_known_router() {
    let mut net = ClusterFixture::chain(&[2, 0, 2, 1]);
    net.nodes.iter_mut().find(|n| n.name == "s1").unwrap().kind = NodeKind::Router;
    net.links.retain(|l| l.b != "s3");
    let parted = ["cluster-s0: n0 n1", "cluster-s2: n2 n3", "cluster-s3: n4"];
    assert_eq!(net.shown(), parted);
    net.probe("n3", "n0", &[], 0);
    assert_eq!(net.shown(), parted);
    let alarms = net.alarms();
    assert_eq!(alarms.len(), 1);
    assert!(alarms[0].starts_with(
        "host \"n3\": its probe met no routed hop on the way to \"n0\", but \
                               cables lead there only through a router"
    ));
    // A detour over a part with unknown cables joins nothing either.
    net.probe("n4", "n0", &[], 0);
    net.probe("n4", "n3", &[], 0);
    assert_eq!(net.shown(), ["cluster-s0: n0 n1 n4", "cluster-s2: n2 n3"]);
}

#[test]
fn a_probe_of_another_card_counts_for_nothing() {
    let mut net = ClusterFixture::chain(&[1, 1]);
    net.links.retain(|l| l.b != "s1");
    let card = |name: &str, address: [u8; 4]| inventory::host_report::Nic {
        name: name.into(),
        addresses: vec![(address.into(), 24)],
        up: true,
        ..Default::default()
    };
    net.probe("n0", "n1", &[], 0);
    assert_eq!(
        net.shown().len(),
        1,
        "the agent of n1 said nothing of its cards"
    );
    net.view("n1").host.as_mut().unwrap().nics =
        vec![card("q", [10, 9, 0, 1]), card("management", [10, 0, 0, 1])];
    assert_eq!((net.shown().len(), net.alarms().len()), (2, 0));
    net.view("n1").host.as_mut().unwrap().nics[0] = card("q", [10, 0, 0, 1]);
    assert_eq!(net.shown().len(), 1);
}

#[test]
fn long_links_part_with_their_figures() {
    let mut net = ClusterFixture::chain(&[2, 2, 2]);
    let site = |n: usize| n / 2;
    net.trips(|a, b| 180 + 20_300 * u32::from((site(a) < 2) != (site(b) < 2)) + 10 * a as u32);
    assert_eq!(
        net.shown(),
        ["cluster-s0: n0 n1 n2 n3", "cluster-s2: n4 n5"]
    );
    let why = "s1-s2: round trips across take 20 ms or more, others 0.3 ms at most";
    assert_eq!(
        net.reasons(),
        ["no router between s0, s1", why, "hosts on s2", why]
    );
    let mut row = ClusterFixture::chain(&[2, 0, 2]);
    row.trips(|a, b| 180 + 5_000 * u32::from((a < 2) != (b < 2)));
    assert!(
        row.reasons()[1].starts_with("s0-s1 or s1-s2: round trips across take 5 ms or more"),
        "{:?}",
        row.reasons()
    );
    let mut three = ClusterFixture::chain(&[2, 2, 2]);
    three.trips(|a, b| 180 + 3_000 * site(a).abs_diff(site(b)) as u32);
    assert_eq!(
        three.shown(),
        [
            "cluster-s0: n0 n1",
            "cluster-s1: n2 n3",
            "cluster-s2: n4 n5"
        ]
    );
    let mut near = ClusterFixture::chain(&[2, 2]);
    near.trips(|a, b| 50 + 400 * site(a).abs_diff(site(b)) as u32);
    assert_eq!(near.shown().len(), 1, "0.4 ms are no start-up worth saving");
}

#[test]
fn hosts_that_were_not_probed_follow_their_switch() {
    let mut net = ClusterFixture::chain(&[4, 4]);
    for (a, b) in [("n0", "n1"), ("n4", "n5")] {
        net.probe(a, b, &[], 200);
    }
    for (a, b) in [("n0", "n4"), ("n0", "n5"), ("n1", "n4"), ("n1", "n5")] {
        net.probe(a, b, &[], 9_000);
    }
    assert_eq!(
        net.shown(),
        ["cluster-s0: n0 n1 n2 n3", "cluster-s1: n4 n5 n6 n7"]
    );
    net.probe("n3", "n7", &[], 150);
    assert_eq!(net.shown().len(), 1, "one near pair proves the link short");
}

#[test]
fn a_slow_host_is_no_long_link() {
    let mut net = ClusterFixture::chain(&[3, 1]);
    net.trips(|a, b| 200 + 50_000 * u32::from(a == 3 || b == 3));
    assert_eq!(net.shown().len(), 1);
    let mut long = ClusterFixture::chain(&[4, 4]);
    long.trips(|a, b| {
        200 + 20_000 * u32::from((a < 4) != (b < 4)) + 15_000 * u32::from(a == 1 || b == 1)
    });
    assert_eq!(long.shown().len(), 2, "nor does it hide one");
}

#[test]
fn slow_links_part_from_the_rate_at_which_lg_pays() {
    let mut net = ClusterFixture::chain(&[4, 4]);
    net.find("s0", "s1").rate_bps = BitsPerSec(600_000_000);
    assert_eq!(net.shown().len(), 1);
    net.find("s0", "s1").rate_bps = BitsPerSec(100_000_000);
    assert_eq!(
        net.shown(),
        ["cluster-s0: n0 n1 n2 n3", "cluster-s1: n4 n5 n6 n7"]
    );
    assert_eq!(net.reasons()[1], "s0-s1 carries 100M, hosts have 1G");
    net.find("s0", "s1")
        .evidence
        .push(Evidence::Rate(AssumedRate::Gigabit));
    assert_eq!(net.shown().len(), 1, "an assumption parts nothing");
    let mut star = ClusterFixture::chain(&[2, 0, 2, 2]);
    for l in &mut star.links {
        l.rate_bps = BitsPerSec(if l.b.starts_with('s') {
            100_000_000
        } else {
            1_000_000_000
        });
    }
    assert_eq!(
        star.shown(),
        [
            "cluster-s0: n0 n1",
            "cluster-s1: n2 n3",
            "cluster-s3: n4 n5"
        ]
    );
}

#[test]
fn what_is_stated_goes_first_and_the_rest_stays_as_found() {
    let mut net = ClusterFixture::chain(&[3, 2]);
    net.links.retain(|l| l.b != "s1");
    net.stated = [
        ("west".to_owned(), vec!["n0".to_owned(), "n3".to_owned()]),
        (
            "cluster-s1".to_owned(),
            vec!["n1".to_owned(), "n9".to_owned()],
        ),
    ]
    .into();
    assert_eq!(
        net.shown(),
        [
            "west: n0 n3",
            "cluster-s1: n1",
            "cluster-s0: n2",
            "cluster-s1-2: n4"
        ]
    );
    let reasons = net.reasons();
    assert_eq!(
        reasons,
        [
            "stated in the inventory",
            "stated in the inventory",
            "hosts on s0",
            "without n0, n1: stated in the inventory to be elsewhere",
            "hosts on s1",
            "without n3: stated in the inventory to be elsewhere"
        ]
    );
    net.probe("n0", "n3", &[7], 0);
    let alarms = net.alarms();
    assert!(
        alarms[0].contains(
            "cluster \"west\": \"n0\" and \"n3\" are in it as stated in the inventory, \
                       but there is 1 routed hop (10.0.0.7)"
        ),
        "{alarms:?}"
    );
    assert_eq!(net.shown()[0], "west: n0 n3");
}

/// A pair's shortest round trip of five probes: the time of the cables, and a queue that is mostly
/// short and now and then long.
fn noisy(base: u32, draws: &[(u8, u16)], at: usize) -> u32 {
    (0..5)
        .map(|k| {
            let (kind, size) = draws[(at * 5 + k) % draws.len()];
            let queue = if kind < 13 {
                u32::from(size)
            } else {
                u32::from(size) / 200
            };
            base + queue
        })
        .min()
        .unwrap_or(base)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Without a long link nothing is parted, whatever queues (up to 65 ms in one probe of twenty)
    /// and slow hosts add. With one link of 20 ms its ends are parted, and nothing else.
    #[test]
    fn noise_parts_nothing(
        hosts in proptest::collection::vec(0usize..5, 2..6),
        base in 20u32..1_000,
        draws in proptest::collection::vec(any::<(u8, u16)>(), 211),
        slow in 0usize..12,
        asked in 2usize..9,
        long in proptest::option::of(0usize..5),
    ) {
        let sites = hosts.iter().enumerate();
        let site: Vec<usize> = sites.flat_map(|(s, n)| std::iter::repeat_n(s, *n)).collect();
        let mut net = ClusterFixture::chain(&hosts);
        let names = net.hosts();
        let n = names.len();
        for a in 0..n {
            for b in (a + 1..n).filter(|b| (b - a) % n < asked || (a + n - b) % n < asked) {
                let slowness = 3_000 * u32::from(a == slow || b == slow);
                let far = 20_000 * u32::from(long.is_some_and(|l| (site[a] <= l) != (site[b] <= l)));
                let us = noisy(base + slowness + far, &draws, a * n + b);
                net.probe(&names[a], &names[b], &[], us);
            }
        }
        let found = net.found().0;
        for cluster in &found {
            let numbers = cluster.hosts.iter().map(|h| names.iter().position(|n| n == h).unwrap());
            // A slow host that is alone on its switch does not show which side the switch belongs
            // to, nor does any host that is alone beside the long link: its probes may all queue.
            let beside = |s: usize| long.is_some_and(|l| s == l || s == l + 1);
            let alone = |n: usize| hosts[site[n]] == 1 && beside(site[n]);
            let fast = numbers.filter(|n| *n != slow && !alone(*n));
            let sides: BTreeSet<bool> = fast.map(|n| site[n] <= long.unwrap_or(99)).collect();
            prop_assert!(sides.len() <= 1 || found.len() == 1, "{found:?}");
        }
        prop_assert!(found.len() <= 1 + usize::from(long.is_some()), "{found:?}");
        let side = |near: bool| site.iter().filter(|s| (**s <= long.unwrap_or(99)) == near).count();
        // Slow hosts do not count. With three other hosts on each side the link is fully visible,
        // because every pair was probed.
        if side(true) >= 4 && side(false) >= 4 && asked >= n {
            prop_assert_eq!(found.len(), 2);
        }
    }

    /// A host that moves renames no cluster, and the order of lists does not matter.
    #[test]
    fn names_stay(
        hosts in proptest::collection::vec(1usize..4, 2..6),
        cut in 0usize..5,
        moved in 0usize..20,
        to in 0usize..5,
        turn in 0usize..20,
    ) {
        let mut net = ClusterFixture::chain(&hosts);
        let cut = format!("s{}", 1 + cut % (hosts.len() - 1));
        net.links.retain(|l| l.b != cut);
        let reasons = |clusters: Vec<Cluster>| -> BTreeMap<String, Vec<ClusterReason>> {
            clusters.into_iter().map(|c| (c.name, c.reasons)).collect()
        };
        let before = reasons(net.found().0);
        let names = net.hosts();
        let host = &names[moved % names.len()];
        for link in net.links.iter_mut().filter(|l| l.b == *host) {
            link.a = format!("s{}", to % hosts.len());
        }
        let after = reasons(net.found().0);
        let same = after.iter().all(|(name, reasons)| before.get(name) == Some(reasons));
        prop_assert!(same, "{before:?} {after:?}");
        let mut turned = net.clone();
        let (links, nodes) = (turned.links.len(), turned.nodes.len());
        turned.links.rotate_left(turn % links);
        turned.nodes.rotate_left(turn % nodes);
        prop_assert_eq!(turned.shown(), net.shown());
    }
}
