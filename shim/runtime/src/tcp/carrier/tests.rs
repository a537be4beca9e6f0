mod framed;

use super::super::StreamPace;
use super::super::tests::{block, ranks};
use super::*;
use inventory::tree::Tree;
use inventory::{BitsPerSec, Bytes, TopologyFile};
use schedules::lg::{self, ClusterPartition, HostCluster};
use schedules::synchronization::SyncKind;
use schedules::transfers::{TransferSchedule, part};
use schedules::{allgather, alltoall};

const TREE: &str = "switches: [s0, s1]
hosts: {n0: {switch: s0}, n1: {switch: s0}, n2: {switch: s0}, n3: {switch: s1}, n4: {switch: s1}}
links: [{a: s0, b: s1}]";
const LENGTHS: [usize; 8] = [1, 100_000, 3, 65_536, 1, 1, 300_001, 16_384];

fn tree() -> Tree {
    TopologyFile::parse("test", TREE).unwrap().tree().unwrap()
}

/// A call with blocks of `length(from, to)` octets; around a ring `to` is the sender, too.
pub(in crate::tcp) fn exchange(
    mesh: &mut TcpMesh,
    part: &RankPart,
    call: usize,
    length: impl Fn(u32, u32) -> usize,
) -> Result<(), MeshError> {
    let (me, n) = (part.rank, mesh.ranks());
    let of = |from: u32, to: u32| {
        let to = if part.streams { from } else { to };
        block(call, from, to, length(from, to))
    };
    let outgoing: Vec<Vec<u8>> = (0..n).map(|to| of(me, to)).collect();
    let mut incoming: Vec<Vec<u8>> = (0..n)
        .map(|from| {
            if from == me {
                of(me, me)
            } else {
                vec![0; of(from, me).len()]
            }
        })
        .collect();
    let mut places: Vec<&mut [u8]> = incoming.iter_mut().map(Vec::as_mut_slice).collect();
    mesh.carry_out(
        part,
        &outgoing.iter().map(Vec::as_slice).collect::<Vec<_>>(),
        &mut places,
        &mut || true,
    )?;
    for from in 0..n {
        assert!(
            incoming[from as usize] == of(from, me),
            "call {call}: from {from} to {me}"
        );
    }
    Ok(())
}

/// Two islands on both sides of a slow trunk.
const ISLANDS: &str = "switches: [s0, s1]
hosts: {n0: {switch: s0, rate: 1G}, n1: {switch: s1, rate: 1G}, n2: {switch: s0, rate: 1G},
        n3: {switch: s1, rate: 1G}, n4: {switch: s1, rate: 1G}}
links: [{a: s0, b: s1, rate: 500M}]";

fn rings() -> TransferSchedule {
    let tree = TopologyFile::parse("test", ISLANDS)
        .unwrap()
        .tree()
        .unwrap();
    allgather::rings::plan(&tree).unwrap().schedule
}

/// One schedule of each shape.
pub(in crate::tcp) fn shapes() -> Vec<TransferSchedule> {
    let tree = tree();
    let planned = |sync| TransferSchedule::try_from(&alltoall::plan(&tree, sync)).unwrap();
    let cluster = |name: &str, hosts: Vec<u32>| HostCluster {
        name: name.to_owned(),
        hosts,
    };
    let clusters = ClusterPartition::new(
        &tree,
        vec![cluster("a", vec![0, 1, 2]), cluster("b", vec![3, 4])],
    )
    .unwrap();
    vec![
        planned(SyncKind::Receiver),
        TransferSchedule::from(&allgather::plan(&tree)),
        TransferSchedule::around(&[3, 0, 4, 2, 1]),
        rings(),
        planned(SyncKind::Sender),
        TransferSchedule::from(&lg::plan(&tree, &clusters, None)),
        planned(SyncKind::None),
    ]
}

#[test]
fn schedules_of_every_shape_follow_each_other_without_a_pause() {
    let shapes = shapes();
    ranks(5, |me, mut mesh| {
        let pace = |mega| StreamPace {
            slowest: BitsPerSec::mega(mega),
            own: BitsPerSec::mega(10_000),
        };
        mesh.pace(|rank| [Some(pace(1_000)), None, Some(pace(10_000))][rank as usize % 3])
            .unwrap();
        let parts: Vec<RankPart> = shapes.iter().map(|shape| part::of(shape, me)).collect();
        for (call, length) in LENGTHS.into_iter().enumerate() {
            for part in &parts {
                exchange(&mut mesh, part, call, |_, _| length).unwrap();
            }
        }
    });
}

#[test]
fn blocks_may_differ_in_length_and_be_empty() {
    let tree = tree();
    let shapes = [
        TransferSchedule::try_from(&alltoall::plan(&tree, SyncKind::Receiver)).unwrap(),
        TransferSchedule::from(&allgather::plan(&tree)),
        rings(),
    ];
    let lengths = [0, 100_000, 1, 16_384, 0, 40_001, 7];
    ranks(5, |me, mut mesh| {
        for call in 0..lengths.len() {
            for shape in &shapes {
                exchange(&mut mesh, &part::of(shape, me), call, |from, to| {
                    lengths[(call + 2 * from as usize + to as usize) % lengths.len()]
                })
                .unwrap();
            }
            for shape in &shapes {
                exchange(&mut mesh, &part::of(shape, me), call, |from: u32, _| {
                    if from == 2 { 300_000 } else { 0 }
                })
                .unwrap();
            }
        }
    });
}

/// Connections are far slower than the rates that they are believed to have, as beside others' traffic.
#[test]
fn on_crowded_links_turns_end_and_every_byte_comes() {
    const SLOW: BitsPerSec = BitsPerSec::mega(20);
    const BELIEVED: BitsPerSec = BitsPerSec::GIGABIT;
    let pace = |rate| {
        Some(StreamPace {
            slowest: rate,
            own: rate,
        })
    };
    let plan = alltoall::plan(&tree(), SyncKind::Receiver);
    let schedule = TransferSchedule::try_from(&plan).unwrap();
    ranks(5, |me, mut mesh| {
        let part = part::of(&schedule, me);
        mesh.pace(|_| pace(SLOW)).unwrap();
        mesh.peers
            .iter_mut()
            .flatten()
            .for_each(|peer| peer.links.pace = pace(BELIEVED));
        for call in 0..3 {
            exchange(&mut mesh, &part, call, |_, _| 400_000).unwrap();
        }
        assert!(mesh.has_abandoned_turns(), "rank {me}");
        // Where nobody is in the way, turns are kept.
        mesh.pace(|_| pace(BELIEVED)).unwrap();
        for call in 3..6 {
            exchange(&mut mesh, &part, call, |_, _| 1000).unwrap();
        }
    });
}

#[test]
fn a_rank_that_ends_in_a_call_is_an_error_everywhere_and_no_hang() {
    let schedule =
        TransferSchedule::try_from(&alltoall::plan(&tree(), SyncKind::Receiver)).unwrap();
    let outcomes = ranks(5, |me, mut mesh| {
        let part = part::of(&schedule, me);
        (me != 2).then(|| [(); 2].map(|()| exchange(&mut mesh, &part, 0, |_, _| 50_000)))
    });
    for [first, second] in outcomes.iter().flatten() {
        assert!(
            matches!(first, Err(MeshError::Lost { .. }))
                && matches!(second, Err(MeshError::Closed)),
            "{outcomes:?}"
        );
    }
}

#[test]
fn blocks_of_any_length_pass_any_window() {
    let schedule = TransferSchedule::try_from(&alltoall::plan(&tree(), SyncKind::None)).unwrap();
    ranks(5, |me, mut mesh| {
        for (call, window) in [1, 1_000, 70_000, 1 << 30].into_iter().enumerate() {
            let part = RankPart {
                window: Some(Bytes(window)),
                ..part::of(&schedule, me)
            };
            exchange(&mut mesh, &part, call, |from: u32, to: u32| {
                LENGTHS[(from + 3 * to) as usize % LENGTHS.len()]
            })
            .unwrap();
        }
    });
}

/// Otherwise the last octets of a block fill their sender's window for 40 ms after they have come.
#[test]
fn in_a_window_a_block_is_acknowledged_as_soon_as_it_is_whole() {
    let schedule = TransferSchedule::try_from(&alltoall::plan(&tree(), SyncKind::None)).unwrap();
    let all_have_come = std::sync::Barrier::new(5);
    let under_way = ranks(5, |me, mut mesh| {
        let part = RankPart {
            window: Some(Bytes(1 << 20)),
            ..part::of(&schedule, me)
        };
        let mut under_way = 0;
        for call in 0..20 {
            exchange(&mut mesh, &part, call, |_, _| 4_000).unwrap();
            all_have_come.wait();
            let peers = mesh.peers.iter().flatten();
            under_way += peers.filter(|peer| peer.under_way().unwrap() > 0).count();
            all_have_come.wait();
        }
        under_way
    });
    // Of 400 blocks; a loaded kernel may be late with some.
    assert!(under_way.iter().sum::<usize>() < 100, "{under_way:?}");
}
