use super::super::carrier::tests::{exchange, shapes};
use super::super::tests::{block, ranks};
use super::*;
use crate::tcp::keeper::KeptMesh;
use crate::tcp::relay::{RelayMemory, chunk_room};
use schedules::relay::{RelayCollective, share};
use schedules::transfers::part::{self, RankPart};
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A rank that has ended goes on to answer others until all have.
pub(in crate::tcp) fn stay(mesh: &mut TcpMesh, ended: &AtomicUsize) {
    ended.fetch_add(1, Ordering::SeqCst);
    while ended.load(Ordering::SeqCst) < mesh.ranks() as usize {
        let (mut ready, mut tokens) = (Vec::new(), Vec::new());
        mesh.wait(&mut ready, &mut tokens, &mut || true).unwrap();
    }
}

/// Breaks one of this rank's connections after so many octets, and the same one as another rank
/// sees it.
fn break_one(mesh: &mut TcpMesh, me: u32, number: usize) {
    let others = (0..mesh.ranks()).filter(|&rank| rank != me);
    let other = others.clone().nth(number % others.count()).unwrap();
    let peer = mesh.peer(other).unwrap();
    let link = if number.is_multiple_of(2) {
        &mut peer.out
    } else {
        &mut peer.back
    };
    link.breaks_after = Some([1, 7, 20_000, 65_536, 131_072][number % 5]);
}

#[test]
fn every_byte_comes_once_wherever_connections_break() {
    let shapes = shapes();
    let ended = AtomicUsize::new(0);
    let broken = AtomicUsize::new(0);
    ranks(5, |me, mut mesh| {
        let parts: Vec<RankPart> = shapes.iter().map(|shape| part::of(shape, me)).collect();
        for call in 0..40usize {
            let part = &parts[call % parts.len()];
            break_one(&mut mesh, me, call * 7 + me as usize * 3);
            exchange(&mut mesh, part, call, |_, _| 10_000 * (call % 11)).unwrap();
        }
        let peers = mesh.peers.iter().flatten();
        let links = peers.flat_map(|peer| [&peer.out, &peer.back]);
        broken.fetch_add(
            links.filter(|link| link.has_broken()).count(),
            Ordering::SeqCst,
        );
        stay(&mut mesh, &ended);
    });
    assert!(broken.into_inner() > 20);
}

#[test]
fn sums_are_right_wherever_connections_break() {
    const RING: [u32; 4] = [2, 0, 3, 1];
    const OCTETS: usize = 400_000;
    let ended = AtomicUsize::new(0);
    ranks(4, |me, mut mesh| {
        let at = RING.iter().position(|&rank| rank == me).unwrap();
        let share = share(&RING, at, RelayCollective::Allreduce);
        for call in 0..20usize {
            let mut work = block(call, me, 0, OCTETS);
            let parts: Vec<_> = (0..4)
                .map(|part| part * OCTETS / 4..(part + 1) * OCTETS / 4)
                .collect();
            break_one(&mut mesh, me, call * 3 + me as usize);
            let memory = RelayMemory {
                work: &mut work,
                own: None,
                parts: &parts,
                element: 1,
                aside: &mut vec![0; chunk_room(1)],
            };
            let combine = &mut |from: &[u8], into: &mut [u8]| {
                into.iter_mut()
                    .zip(from)
                    .for_each(|(sum, octet)| *sum = sum.wrapping_add(*octet));
            };
            mesh.relay(&share, memory, combine, &mut || true, &"a call")
                .unwrap();
            let sum = |at: usize| {
                (0..4).fold(0u8, |sum, from| {
                    sum.wrapping_add(block(call, from, 0, OCTETS)[at])
                })
            };
            for at in [0, 1, 99_999, 100_000, 250_000, OCTETS - 1] {
                assert_eq!(work[at], sum(at), "call {call}, octet {at} at {me}");
            }
        }
        stay(&mut mesh, &ended);
    });
}

/// The octets that are lost are asked for after the call in which they were sent.
#[test]
fn a_connection_that_breaks_between_calls_costs_no_octet() {
    let shapes = shapes();
    let ended = AtomicUsize::new(0);
    ranks(5, |me, mut mesh| {
        for call in 0..20usize {
            for peer in mesh.peers.iter_mut().flatten() {
                let cause = || io::ErrorKind::ConnectionReset.into();
                match (call + me as usize) % 3 {
                    0 => peer.out.breaks(cause()),
                    1 => peer.back.breaks(cause()),
                    _ => {}
                }
            }
            let part = part::of(&shapes[call % shapes.len()], me);
            exchange(&mut mesh, &part, call, |_, _| 30_000).unwrap();
        }
        stay(&mut mesh, &ended);
    });
}

/// The last octets of a call get lost when the other rank has them and has gone on to something else.
#[test]
fn a_rank_that_is_in_no_call_answers() {
    let shapes = shapes();
    let all_are_done = Barrier::new(5);
    ranks(5, |me, mesh| {
        let part = part::of(&shapes[0], me);
        let kept = KeptMesh::new(mesh);
        for call in 0..10usize {
            let mut mesh = kept.lock();
            let before = mesh.peer((me + 1) % 5).unwrap();
            before.out.breaks_after = Some(30_000);
            exchange(&mut mesh, &part, call, |_, _| 30_000).unwrap();
            drop(mesh);
            all_are_done.wait();
        }
        let mesh = kept.lock();
        let peers = mesh.peers.iter().flatten();
        assert_eq!(peers.filter(|peer| peer.out.has_broken()).count(), 1);
    });
}

/// A rank that comes late has no room for what the others send meanwhile, and is there.
#[test]
fn a_late_rank_is_waited_for() {
    let shapes = shapes();
    let ended = AtomicUsize::new(0);
    ranks(5, |me, mut mesh| {
        if me == 2 {
            std::thread::sleep(Duration::from_secs(9));
        }
        exchange(&mut mesh, &part::of(&shapes[6], me), 0, |_, _| 6_000_000).unwrap();
        stay(&mut mesh, &ended);
        let links = mesh
            .peers
            .iter()
            .flatten()
            .flat_map(|peer| [&peer.out, &peer.back]);
        assert_eq!(
            links.filter(|link| link.has_broken()).count(),
            0,
            "rank {me}"
        );
    });
}
