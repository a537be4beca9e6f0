mod lg;

use super::*;
use crate::process_set_view::MOST_RANKS;
use inventory::TopologyFile;
use schedules::synchronization::SyncKind;

const PAIR: &str = "switches: [a, b]\nhosts: \
                    {w: {switch: a}, x: {switch: a}, y: {switch: b}, z: {switch: b}}\nlinks: \
                    [{a: a, b: b, rate: RATE}]";

fn lean(rate: &str) -> LeanEpoch {
    let topology = TopologyFile::parse("pair.yaml", &PAIR.replace("RATE", rate)).unwrap();
    LeanEpoch {
        number: 7,
        topology,
        table: DecisionTable::default(),
    }
}

fn plan(
    rate: &str,
    force: ForcedWays,
    hosts: &[&str],
    rank: u32,
) -> Result<FollowedEpoch, FollowError> {
    let hosts: Vec<String> = hosts.iter().map(|h| (*h).to_owned()).collect();
    UnplannedEpoch::new(lean(rate), Mpi::Mpich, force).plan(&hosts, rank)
}

fn peers(follow: &FollowedEpoch) -> Vec<u32> {
    let way = Way::Aapc {
        sync: SyncKind::Receiver.into(),
        over: DataCarrier::Tcp,
    };
    let mut peers: Vec<u32> = follow
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
    let plans: Vec<FollowedEpoch> = (0..5)
        .map(|rank| plan("1G", ForcedWays::default(), &hosts, rank).unwrap())
        .collect();
    for (rank, follow) in plans.iter().enumerate() {
        assert_eq!(follow.digest(), plans[0].digest());
        assert_eq!(
            peers(follow),
            (0..5).filter(|&p| p != rank as u32).collect::<Vec<_>>(),
            "rank {rank}"
        );
    }
    let next = |rank: u32| {
        plans[rank as usize].parts(Way::Ring {
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

#[test]
fn small_blocks_stay_the_librarys() {
    let follow = plan("1G", ForcedWays::default(), &["w", "x", "y", "z"], 0).unwrap();
    assert_eq!(follow.way(Collective::Alltoall, 8, 0), Way::Native);
    assert_eq!(
        follow.way(Collective::Alltoall, 1 << 20, 0),
        Way::Aapc {
            sync: SyncKind::Receiver.into(),
            over: DataCarrier::Mpi
        }
    );
    assert_eq!(
        follow.way(Collective::Allgather, 1 << 20, 0),
        Way::Ring {
            over: DataCarrier::Mpi
        }
    );
}

#[test]
fn what_may_differ_is_known_without_a_plan() {
    let prospect = |force: &str| {
        UnplannedEpoch::new(lean("1G"), Mpi::Mpich, ForcedWays::parse(force).unwrap())
    };
    let differs = |force: &str, collective, block| prospect(force).may_differ(collective, block);
    assert!(!differs("", Collective::Alltoall, 8) && differs("", Collective::Alltoall, 1 << 20));
    assert!(
        differs("ring", Collective::Allgather, 8)
            && !differs("native", Collective::Alltoall, 1 << 20)
    );
    assert!(
        !prospect("").takes_part(Collective::Alltoallv)
            && prospect("aapc").takes_part(Collective::Alltoallv)
    );
}

#[test]
fn over_faster_trunks_the_library_goes_unless_forced_and_then_several_messages_at_once() {
    let hosts = ["w", "x", "y", "z"];
    let follow = plan("10G", ForcedWays::default(), &hosts, 0).unwrap();
    assert_eq!(follow.way(Collective::Alltoall, 1 << 20, 0), Way::Native);
    assert_eq!(
        follow.way(Collective::Allgather, 1 << 20, 0),
        Way::Ring {
            over: DataCarrier::Mpi
        }
    );
    assert!(
        follow.summary.contains("stays the library's"),
        "{}",
        follow.summary
    );
    let phases = |rate: &str| {
        let forced = plan(rate, ForcedWays::parse("aapc").unwrap(), &hosts, 0).unwrap();
        assert_eq!(
            forced.way(Collective::Alltoall, 8, 0),
            Way::Aapc {
                sync: SyncKind::Receiver.into(),
                over: DataCarrier::Mpi
            }
        );
        assert_eq!(peers(&forced), [1, 2, 3]);
        forced.summary
    };
    assert!(phases("1G").ends_with("4 phases"));
    assert!(phases("10G").contains("3 phases"));
}

#[test]
fn barriers_part_the_steps_of_all_ranks_alike() {
    let force = |name: &str| {
        let turns = |key: &str| (key == "HEDDLE_TURNS").then(|| name.to_owned());
        crate::settings::RuntimeSettings::read(turns).0.force
    };
    for (name, parts) in [
        ("aapc barrier", 4),
        ("aapc barrier(2)", 2),
        ("aapc barrier+receiver(3)", 2),
        ("aapc sender(2)", 1),
    ] {
        for rank in 0..4 {
            let follow = plan("1G", force(name), &["w", "x", "y", "z"], rank).unwrap();
            let Way::Aapc { sync, .. } = follow.way(Collective::Alltoall, 8, 0) else {
                panic!("{name}")
            };
            let planned = follow.parts(Way::Aapc {
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
            .contains("1025 ranks")
    );
}
