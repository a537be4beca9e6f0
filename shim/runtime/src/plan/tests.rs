mod epoch_of_text;
mod known_flows;
mod lg;
mod of_a_host;

use super::*;
use crate::process_set_view::MOST_RANKS;
use epoch_of_text::epoch_of_text;
use inventory::stages::hops::WayHop;
use inventory::{BitsPerSec, Bytes};
use policy::call_policy::PolicyCall;
use policy::decision_table::Collective;
use policy::learning::{LearningBudget, RowTimes};
use policy::ways::{DataCarrier, Way};
use schedules::stages::traced::TracedPath;
use schedules::synchronization::SyncKind;
use schedules::synchronization::scheme::SyncScheme;
use schedules::transfers::part::RankPart;
use std::collections::HashSet;
use std::num::NonZeroU32;

const PAIR: &str = "switches: [a, b]\nhosts: {w: {switch: a, address: 10.0.0.1}, \
                    x: {switch: a, address: 10.0.0.2}, y: {switch: b, address: 10.0.0.3}, \
                    z: {switch: b, address: 10.0.0.4}}\nlinks: [{a: a, b: b, rate: RATE}]";

fn lean(rate: &str) -> LeanEpoch {
    epoch_of_text(&PAIR.replace("RATE", rate))
}

/// An epoch, with what its policy decides.
#[derive(Debug)]
struct DecidedEpoch {
    follow: FollowedEpoch,
    policy: CallPolicy,
    summary: String,
}

impl DecidedEpoch {
    fn plan(mut self, rank: u32) -> Result<DecidedEpoch, FollowError> {
        for way in self.policy.unplanned() {
            self.summary += &self.follow.plan(rank, &mut self.policy, way, None)?;
        }
        Ok(self)
    }

    fn without_connections(&mut self, collective: Collective) -> Option<Way> {
        let call = PolicyCall {
            collective,
            block: 1 << 22,
            is_even: true,
            is_steady: false,
        };
        self.policy.decide(&call).fallback
    }
}

fn unplanned(
    lean: LeanEpoch,
    force: ForcedWays,
    hosts: &[&str],
) -> Result<DecidedEpoch, FollowError> {
    let hosts: Vec<RankHost> = hosts.iter().map(|h| RankHost::named(h)).collect();
    let mpi = MpiRoutines::from(inventory::Mpi::Mpich);
    let (follow, grounds) = FollowedEpoch::new(lean, &hosts, mpi, force, false)?;
    let mut policy = CallPolicy::default();
    let budget = LearningBudget::new(follow.setup(&grounds), 1);
    policy.follow(grounds, follow.view.place(mpi), budget);
    let summary = String::new();
    Ok(DecidedEpoch {
        follow,
        policy,
        summary,
    })
}

fn plan(
    rate: &str,
    force: ForcedWays,
    hosts: &[&str],
    rank: u32,
) -> Result<DecidedEpoch, FollowError> {
    unplanned(lean(rate), force, hosts)?.plan(rank)
}

fn peers(follow: &DecidedEpoch) -> Vec<u32> {
    let way = Way::Aapc {
        sync: SyncKind::Receiver.into(),
        over: DataCarrier::Tcp,
    };
    let mut peers: Vec<u32> = follow
        .policy
        .parts(way)
        .iter()
        .flat_map(|part| &part.sends)
        .map(|send| send.peer)
        .collect();
    peers.sort_unstable();
    peers
}

#[test]
fn every_rank_makes_the_same_plan_and_sends_to_every_other() {
    let hosts = ["z", "w.cluster.example", "x", "z", "w"];
    let plans: Vec<DecidedEpoch> = (0..5)
        .map(|rank| plan("1G", ForcedWays::default(), &hosts, rank).unwrap())
        .collect();
    for (rank, follow) in plans.iter().enumerate() {
        assert_eq!(follow.policy.digest(), plans[0].policy.digest());
        assert_eq!(
            peers(follow),
            (0..5).filter(|&p| p != rank as u32).collect::<Vec<_>>(),
            "rank {rank}"
        );
    }
    let next = |rank: u32| {
        plans[rank as usize].policy.parts(Way::Ring {
            over: DataCarrier::Mpi,
        })[0]
            .sends[0]
            .peer
    };
    let mut ring: Vec<u32> = (0..5)
        .scan(0, |rank, _| Some(std::mem::replace(rank, next(*rank))))
        .collect();
    let place = |rank: u32| ring.iter().position(|&r| r == rank).unwrap() as i32;
    assert!(
        [1, 4].contains(&(place(0) - place(3)).abs()),
        "ranks of one host are neighbours: {ring:?}"
    );
    ring.sort_unstable();
    assert_eq!(ring, [0, 1, 2, 3, 4]);
}

fn over_tcp(name: &str) -> Way {
    name.parse::<Way>().unwrap().with_carrier(DataCarrier::Tcp)
}

#[test]
fn small_blocks_stay_the_librarys_and_large_ones_go_over_tcp() {
    for rate in ["1G", "10G"] {
        let mut follow = plan(rate, ForcedWays::default(), &["w", "x", "y", "z"], 0).unwrap();
        let ways = [
            (Collective::Alltoall, over_tcp("aapc")),
            (Collective::Allgather, over_tcp("ring")),
            (Collective::Allgatherv, over_tcp("ring")),
            (Collective::Alltoallv, Way::Native),
            (Collective::Alltoallw, Way::Native),
        ];
        for (collective, large) in ways {
            assert_eq!(follow.policy.decided_way(collective, 256, 0), Way::Native);
            assert_eq!(
                follow.policy.decided_way(collective, 1 << 20, 0),
                large,
                "{collective}"
            );
            assert_eq!(follow.without_connections(collective), Some(Way::Native));
        }
    }
}

/// Lengths by sender and receiver for which the phases of equal lengths leave links idle.
#[test]
fn lengths_get_a_plan_where_the_phases_take_longer() {
    let hosts = ["w", "x", "y", "z"];
    let parts = |lengths: &[u64]| -> Vec<Option<RankPart>> {
        (0..4)
            .map(|rank| {
                let follow =
                    plan("1G", ForcedWays::parse("aapc,tcp").unwrap(), &hosts, rank).unwrap();
                follow.follow.part_for_lengths(rank, lengths)
            })
            .collect()
    };
    assert!(parts(&[1000; 16]).iter().all(Option::is_none));
    let skewed: Vec<u64> = (0..16u64)
        .map(|at| [90_000, 1, 7, 40_000, 0, 60_000, 20_000][at as usize % 7])
        .collect();
    let parts = parts(&skewed);
    for part in &parts {
        let part = part.as_ref().unwrap();
        // Those that are empty have their places, too.
        assert_eq!((part.sends.len(), part.receives.len()), (3, 3));
    }
}

#[test]
fn lengths_that_do_not_repeat_are_planned_for_beside_long_calls() {
    let follow = plan("1G", ForcedWays::default(), &["w", "x", "y", "z"], 0).unwrap();
    for (block, alone, repeated) in [(1 << 10, false, true), (1 << 20, true, true)] {
        let plans = |repeats| follow.follow.plans_lengths(block, repeats);
        assert_eq!((plans(false), plans(true)), (alone, repeated), "{block}");
    }
}

/// The trunk is the slow link; who does not use it has others.
#[test]
fn a_process_set_has_a_table_for_its_own_links() {
    let from = |hosts: &[&str]| {
        let open_set = unplanned(lean("10M"), ForcedWays::default(), hosts).unwrap();
        (0..30).find(|k| open_set.policy.may_differ(Collective::Alltoall, 1 << k))
    };
    assert!(from(&["w", "x", "y", "z"]) < from(&["w", "x"]));
}

#[test]
fn without_an_address_nothing_differs_and_nothing_is_planned() {
    let text = PAIR
        .replace("RATE", "10M")
        .replace(", address: 10.0.0.4", "");
    let differs = |hosts: &[&str]| {
        let open_set = unplanned(epoch_of_text(&text), ForcedWays::default(), hosts).unwrap();
        open_set.policy.takes_part(Collective::Alltoall)
            || open_set.policy.takes_part(Collective::Allgatherv)
    };
    assert!(differs(&["w", "x", "y"]) && !differs(&["w", "x", "y", "z"]));
}

#[test]
fn what_may_differ_is_known_without_a_plan() {
    let hosts = ["w", "x", "y", "z"];
    let open_set =
        |force: &str| unplanned(lean("1G"), ForcedWays::parse(force).unwrap(), &hosts).unwrap();
    let differs =
        |force: &str, collective, block| open_set(force).policy.may_differ(collective, block);
    assert!(!differs("", Collective::Alltoall, 8) && differs("", Collective::Alltoall, 1 << 20));
    assert!(
        differs("ring", Collective::Allgather, 8)
            && !differs("native", Collective::Alltoall, 1 << 20)
    );
    assert!(
        !open_set("native").policy.takes_part(Collective::Alltoallv)
            && open_set("aapc").policy.takes_part(Collective::Alltoallv)
    );
}

#[test]
fn over_faster_trunks_several_messages_go_at_once() {
    let phases = |rate: &str| {
        let hosts = ["w", "x", "y", "z"];
        let forced = plan(rate, ForcedWays::parse("aapc").unwrap(), &hosts, 0).unwrap();
        assert_eq!(
            forced.policy.decided_way(Collective::Alltoall, 8, 0),
            Way::Aapc {
                sync: SyncKind::Receiver.into(),
                over: DataCarrier::Mpi
            }
        );
        assert_eq!(peers(&forced), [1, 2, 3]);
        forced.summary
    };
    assert!(phases("1G").contains("aapc, 4 phases"));
    assert!(phases("10G").contains("aapc, 3 phases"));
}

#[test]
fn barriers_part_the_steps_of_all_ranks_alike() {
    let force = |name: &str| {
        crate::settings::RuntimeSettings::read(|key: &str| {
            (key == "HEDDLE_TURNS").then(|| name.to_owned())
        })
        .force
    };
    for (name, parts) in [
        ("aapc barrier", 4),
        ("aapc barrier(2)", 2),
        ("aapc barrier+receiver(3)", 2),
        ("aapc sender(2)", 1),
    ] {
        for rank in 0..4 {
            let follow = plan("1G", force(name), &["w", "x", "y", "z"], rank).unwrap();
            let Way::Aapc { sync, .. } = follow.policy.decided_way(Collective::Alltoall, 8, 0)
            else {
                panic!("{name}")
            };
            let planned = follow.policy.parts(Way::Aapc {
                sync,
                over: DataCarrier::Mpi,
            });
            let sends = || planned.iter().flat_map(|part| &part.sends);
            assert_eq!(
                (planned.len(), sends().count() >= 3),
                (parts, true),
                "{name}"
            );
            assert!(sends().map(|send| send.phase).is_sorted());
        }
    }
}

#[test]
fn what_cannot_be_planned_says_why() {
    let problem = |hosts: &[&str]| plan("1G", ForcedWays::default(), hosts, 0).unwrap_err();
    assert_eq!(problem(&["w", "w"]), FollowError::OneHost("w".into()));
    assert!(
        problem(&["w", "q"])
            .to_string()
            .contains("\"q\" is not in the topology")
    );
    assert!(
        problem(&vec!["w"; MOST_RANKS + 1])
            .to_string()
            .contains("16385 ranks")
    );
}

/// Two switches with two hosts each, and a trunk of half their links' rate.
fn halves() -> LeanEpoch {
    let text = PAIR.replace("switch:", "rate: 1G, switch:");
    epoch_of_text(&text.replace("RATE", "500M"))
}

#[test]
fn several_rings_are_planned_over_slow_trunks_for_a_rank_a_host() {
    let forced = || ForcedWays::parse("rings,tcp").unwrap();
    let plan = |lean, force, hosts: &[&str]| unplanned(lean, force, hosts)?.plan(1);
    let rings =
        |follow: &DecidedEpoch| follow.policy.decided_way(Collective::Allgather, 1 << 22, 0);
    let four = ["w", "x", "y", "z"];
    for force in [forced(), ForcedWays::default()] {
        let mut follow = plan(halves(), force, &four).unwrap();
        assert_eq!(rings(&follow), Way::Rings);
        assert_eq!(
            follow
                .policy
                .decided_way(Collective::Allgatherv, 1 << 22, 0),
            Way::Rings
        );
        let without = follow.without_connections(Collective::Allgather);
        assert_eq!(without, Some(Way::Native));
        let [part] = follow.policy.parts(Way::Rings) else {
            panic!("one part");
        };
        assert_eq!(
            (part.receives.len(), part.streams, part.side_by_side),
            (3, true, true)
        );
    }
    let lacks = |lean, hosts: &[&str]| {
        let follow = plan(lean, forced(), hosts).unwrap();
        assert!(follow.policy.parts(Way::Rings).is_empty(), "{hosts:?}");
        assert_ne!(rings(&follow), Way::Rings);
    };
    lacks(lean("1G"), &four);
    lacks(halves(), &["w", "x", "y", "z", "z"]);
    lacks(halves(), &["w", "x"]);
    // A table of all hosts says several rings: two of them have no slow trunk between them.
    let way = r#"[{"from": 0, "way": "rings", "grounds": "measured"}]"#;
    let json = format!(r#"{{"alltoall": [{{"from": 0, "way": "native"}}], "allgather": {way}}}"#);
    let table = DecisionTable::from_json(json.as_bytes()).unwrap();
    let lean = LeanEpoch { table, ..halves() };
    let follow = plan(lean, ForcedWays::default(), &["w", "x"]).unwrap();
    assert_eq!(rings(&follow), over_tcp("ring"));
}

#[test]
fn calls_that_end_too_soon_show_faster_links() {
    let mut open_set = unplanned(lean("1G"), ForcedWays::default(), &["w", "x", "y", "z"]).unwrap();
    let view = &mut open_set.follow.view;
    let (collective, block) = (Collective::Alltoall, Bytes(1 << 20));
    let bound = Duration::from_secs_f64(view.bound_seconds(collective, block));
    let faster = |view: &ProcessSetView| view.pace(0, 2).unwrap().slowest.0 / 1_000_000_000;
    let at_once = |took| {
        Some(RowTimes {
            since_last: took,
            since_first: took,
        })
    };
    assert!(!view.learn_rates(collective, block, [at_once(bound), None]));
    assert!(!view.learn_rates(collective, block, [None, at_once(bound)]));
    // Others had sent long before the last rank came.
    let late = RowTimes {
        since_last: bound / 8,
        since_first: bound,
    };
    assert!(!view.learn_rates(collective, block, [Some(late), None]));
    assert_eq!(view.wrong_rates(), None);
    // The library sent eight times as fast, so links are that fast at least; its routines reach half.
    assert!(view.learn_rates(collective, block, [at_once(bound / 8), None]));
    assert_eq!(faster(view), 16);
    // As fast as it is paced: perhaps more goes.
    assert!(view.learn_rates(collective, block, [None, at_once(bound / 16)]));
    assert_eq!(faster(view), 32);
    assert!(!view.learn_rates(collective, block, [None, at_once(bound / 16)]));
    let line = view.wrong_rates().unwrap();
    assert!(
        line.contains("published as 1G, carried at least 16.0G"),
        "{line}"
    );
}

#[test]
fn the_octets_between_hosts_are_those_that_every_way_moves() {
    let hosts = ["w", "w", "x", "y"];
    let open_set = unplanned(lean("1G"), ForcedWays::default(), &hosts).unwrap();
    let octets = |collective| {
        open_set
            .follow
            .view
            .octets_between_hosts(collective, Bytes(10))
    };
    // Of the twelve pairs, two are within w.
    assert_eq!(octets(Collective::Alltoall), 100);
    // To w the blocks of two ranks, to the others those of three.
    assert_eq!(octets(Collective::Allgather), 80);
    assert_eq!(octets(Collective::Allreduce), 20);
    assert_eq!(octets(Collective::Bcast), 20);
}

#[test]
fn a_host_is_known_by_its_addresses_first_and_then_by_its_names() {
    let host = |names: &[&str], addresses: &[&str]| {
        RankHost::new(
            names.iter().map(|name| (*name).to_owned()),
            addresses.iter().map(|text| text.parse().unwrap()),
        )
    };
    let hosts = [
        host(&["ib-w"], &["10.99.0.1", "10.0.0.1"]),
        // It had another's name when the inventory was written.
        host(&["w"], &["10.0.0.2"]),
        host(&["ib-y", "node3", "y.cluster.example"], &["10.99.0.3"]),
        host(&["z"], &[]),
    ];
    let view = ProcessSetView::new(&lean("100M"), &hosts).unwrap();
    assert_eq!(view.hosts_of_ranks(), ["w", "x", "y", "z"]);
    let stranger = [host(&["ib-w", "w2"], &["10.99.0.1"])];
    let refused = ProcessSetView::new(&lean("100M"), &stranger).unwrap_err();
    assert!(refused.to_string().contains("ib-w"), "{refused}");
}

/// Two leaves with two hosts each, and two spines that answer.
fn fabric() -> LeanEpoch {
    let mut text = PAIR
        .split_once("\nlinks")
        .unwrap()
        .0
        .replace("[a, b]", "[a, b]\nrouters: [s, t]");
    text += "\nlinks:\n";
    let mut hops = Vec::new();
    for (leaf, spine) in [("a", "s"), ("a", "t"), ("b", "s"), ("b", "t")] {
        text += &format!("- {{a: {leaf}, b: {spine}, rate: 1G, state: multipath}}\n");
        hops.extend([(leaf, spine), (spine, leaf)].map(|(from, at)| WayHop {
            from: from.to_owned(),
            at: at.to_owned(),
            cable: 0,
            address: [10, 9, from.as_bytes()[0], at.as_bytes()[0]].into(),
        }));
    }
    LeanEpoch {
        hops,
        ..epoch_of_text(&text)
    }
}

#[test]
fn through_a_fabric_that_answers_each_message_has_a_way() {
    let hosts = ["w", "x", "y", "z"];
    let plan =
        |lean, rank| unplanned(lean, ForcedWays::parse("aapc,tcp").unwrap(), &hosts)?.plan(rank);
    let way = over_tcp("aapc");
    let mut digests = HashSet::new();
    for rank in 0..4 {
        let planned = plan(fabric(), rank).unwrap();
        let (follow, summary) = (&planned.follow, &planned.summary);
        assert!(summary.ends_with("way through the fabric"), "{summary}");
        let chosen = follow.chosen_ways().unwrap();
        digests.insert(chosen.digest());
        let choices: Vec<bool> = chosen
            .paths()
            .iter()
            .map(|path| path.as_ref().is_some_and(TracedPath::has_choice))
            .collect();
        let beyond = |other: u32| rank / 2 != other / 2;
        assert_eq!(choices, (0..4).map(beyond).collect::<Vec<_>>());
        let peers = |parts: &[RankPart]| parts.iter().flat_map(|part| &part.sends).count();
        assert_eq!(peers(follow.parts_by_ways(way).unwrap()), 3);
        // One flow has one of the two ways.
        let pace = follow.view.pace(0, 2).unwrap();
        assert_eq!(pace.slowest, BitsPerSec::GIGABIT);
    }
    assert_eq!(digests.len(), 1);
    let silent = LeanEpoch {
        hops: Vec::new(),
        ..fabric()
    };
    let follow = plan(silent, 0).unwrap().follow;
    assert!(follow.chosen_ways().is_none());
    assert_eq!(follow.parts_by_ways(way), None);
}

/// Sixteen ranks on each of 1,024 hosts: too many for a message between each two.
#[test]
fn more_ranks_go_by_hosts() {
    let hosts: Vec<String> = (0..1024).map(|host| format!("n{host}")).collect();
    let places: Vec<String> = hosts
        .iter()
        .enumerate()
        .map(|(number, host)| {
            let (leaf, a, b) = (number / 32, number / 256, number % 256);
            format!("{host}: {{switch: leaf{leaf}, rate: 10G, address: 10.0.{a}.{b}}}")
        })
        .collect();
    let trunks: Vec<String> = (0..32)
        .map(|leaf| format!("{{a: core, b: leaf{leaf}, rate: 100G}}"))
        .collect();
    let text = format!(
        "switches: [core, 'leaf[0-31]']\nhosts: {{{}}}\nlinks: [{}]",
        places.join(", "),
        trunks.join(", ")
    );
    let ranks: Vec<&str> = (0..MOST_RANKS).map(|r| hosts[r / 16].as_str()).collect();
    let force = ForcedWays::parse("bundled,aapc,relay,tcp").unwrap();
    let mut set = unplanned(epoch_of_text(&text), force, &ranks).unwrap();
    assert!(
        !set.policy
            .unplanned()
            .contains(&over_tcp("aapc").with_carrier(DataCarrier::Mpi))
    );
    let planned = set.follow.plan(17, &mut set.policy, Way::Bundled, None);
    set.summary = planned.unwrap();
    let [part] = set.policy.parts(Way::Bundled) else {
        panic!("{}", set.summary);
    };
    // Fifteen ranks of its host, before and after; 64 hosts.
    assert_eq!((part.sends.len(), part.receives.len()), (94, 94));
    assert_eq!(set.follow.leaders().unwrap().ranks().len(), 1024);
}

#[test]
fn ranks_that_planned_the_ways_otherwise_have_another_digest() {
    let fabric = fabric();
    let hosts = ["w", "x", "y", "z"]
        .map(|name| RankHost::new(std::iter::once(name.to_owned()), std::iter::empty()));
    let view = ProcessSetView::new(&fabric, &hosts).unwrap();
    let planned = |schemes: &[SyncScheme]| {
        let ways = schemes
            .iter()
            .map(|&sync| PlannedByWays::new(&view, sync).unwrap().unwrap().of_rank(0));
        let chosen = ways.reduce(ChosenWays::with).unwrap();
        (chosen.digest(), chosen.digest_of_plans())
    };
    let [tokens, credit] = [
        SyncKind::Receiver.into(),
        SyncScheme::credit(NonZeroU32::MIN),
    ];
    let (ways, plans) = planned(&[tokens]);
    assert_eq!(planned(&[tokens]), (ways, plans));
    let (same_ways, by_credit) = planned(&[credit]);
    assert_eq!(same_ways, ways);
    assert_ne!(by_credit, plans);
    assert_ne!(planned(&[tokens, credit]).1, plans);
}
