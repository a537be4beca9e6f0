use super::super::tests::{block, ranks};
use super::*;
use schedules::alltoall;
use schedules::relay::{RelayCollective, share};
use schedules::synchronization::SyncKind;
use schedules::transfers::{TransferSchedule, part};

const RING: [u32; 5] = [3, 0, 4, 2, 1];

/// Octets of `p` parts, of unequal lengths, one behind the other.
fn parts(octets: usize, element: usize, p: usize) -> Vec<Range<usize>> {
    let elements = octets / element;
    let at = |part: usize| (elements * part / p) * element;
    (0..p).map(|part| at(part)..at(part + 1)).collect()
}

/// Elements are numbers of any length, added octet by octet.
fn add(from: &[u8], into: &mut [u8]) {
    assert_eq!(from.len(), into.len());
    into.iter_mut()
        .zip(from)
        .for_each(|(sum, octet)| *sum = sum.wrapping_add(*octet));
}

fn sum(call: usize, n: u32, octets: usize) -> Vec<u8> {
    let mut all = vec![0; octets];
    (0..n).for_each(|rank| add(&block(call, rank, 0, octets), &mut all));
    all
}

fn relay(
    mesh: &mut TcpMesh,
    me: u32,
    collective: RelayCollective,
    own: Option<&[u8]>,
    work: &mut [u8],
    element: usize,
) -> Result<(), MeshError> {
    let position = RING.iter().position(|&rank| rank == me).unwrap();
    let share = share(&RING, position, collective);
    let parts = match collective {
        RelayCollective::Broadcast { .. } => std::iter::once(0..work.len()).collect(),
        _ => parts(work.len(), element, RING.len()),
    };
    let memory = RelayMemory {
        work,
        own,
        parts: &parts,
        element,
        aside: &mut vec![0; chunk_room(element)],
    };
    let combine = &mut |from: &[u8], into: &mut [u8]| {
        assert_eq!(from.len() % element, 0, "whole elements");
        add(from, into);
    };
    mesh.relay(&share, memory, combine, &mut || true, &"a call")
}

#[test]
fn sums_are_the_same_on_all_ranks_in_place_or_not() {
    ranks(5, |me, mut mesh| {
        for (call, (octets, element)) in [
            (1_000_000, 1),
            (40, 8),
            (300_003, 3),
            (8, 8),
            (400_000, 40_000),
            (12, 12),
        ]
        .into_iter()
        .enumerate()
        {
            let own = block(call, me, 0, octets);
            let expected = sum(call, 5, octets);
            let mut work = own.clone();
            relay(
                &mut mesh,
                me,
                RelayCollective::Allreduce,
                None,
                &mut work,
                element,
            )
            .unwrap();
            assert!(work == expected, "{octets} in place at {me}");
            let mut work = vec![9; octets];
            let all = RelayCollective::Allreduce;
            relay(&mut mesh, me, all, Some(&own), &mut work, element).unwrap();
            assert!(work == expected, "{octets} at {me}");
            let mut work = vec![9; octets];
            let own_part = parts(octets, element, 5)[me as usize].clone();
            let each = RelayCollective::ReduceScatter;
            relay(&mut mesh, me, each, Some(&own), &mut work, element).unwrap();
            assert!(
                work[own_part.clone()] == expected[own_part],
                "{octets} at {me}"
            );
        }
    });
}

/// Nobody answers the root of a broadcast: it may be several calls ahead, and its tokens, too.
#[test]
fn a_root_that_is_calls_ahead_disturbs_nobody() {
    let tree = inventory::TopologyFile::parse(
        "test",
        "switches: [s]\nhosts: {a: {switch: s}, b: {switch: s}, c: {switch: s}, d: {switch: s}, e: \
         {switch: s}}\nlinks: []",
    );
    let plan = alltoall::plan(&tree.unwrap().tree().unwrap(), SyncKind::Receiver);
    let schedule = TransferSchedule::try_from(&plan).unwrap();
    ranks(5, |me, mut mesh| {
        let part = part::of(&schedule, me);
        for call in 0..20 {
            for root in [3, 3, 3, 1] {
                let mut work = vec![0; 5000];
                if root == me {
                    work = block(call, root, 0, 5000);
                } else if call % 7 == 3 {
                    std::thread::sleep(std::time::Duration::from_millis(3));
                }
                let spread = RelayCollective::Broadcast { root };
                relay(&mut mesh, me, spread, None, &mut work, 1).unwrap();
                assert!(work == block(call, root, 0, 5000), "call {call} at {me}");
            }
            let outgoing: Vec<Vec<u8>> = (0..5).map(|to| block(call, me, to, 9000)).collect();
            let mut incoming = vec![vec![0; 9000]; 5];
            let outgoing: Vec<&[u8]> = outgoing.iter().map(Vec::as_slice).collect();
            let mut places: Vec<&mut [u8]> = incoming.iter_mut().map(Vec::as_mut_slice).collect();
            mesh.carry_out(&part, &outgoing, &mut places, &mut || true)
                .unwrap();
            for from in (0..5).filter(|&from| from != me) {
                assert!(incoming[from as usize] == block(call, from, me, 9000));
            }
        }
    });
}

#[test]
fn a_rank_that_ends_ends_the_call_of_all() {
    let ended = ranks(5, |me, mut mesh| {
        let mut work = vec![1; 4_000_000];
        let mut call = || {
            relay(
                &mut mesh,
                me,
                RelayCollective::Allreduce,
                None,
                &mut work,
                8,
            )
        };
        call().unwrap();
        if me == 4 {
            return true;
        }
        let failed = call().is_err();
        failed && matches!(call(), Err(MeshError::Closed))
    });
    assert_eq!(ended, [true; 5]);
}
