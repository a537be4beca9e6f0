use super::super::ArrivedBlocks;
use super::*;

/// A call in which each rank sends as much as `sent` says, and has room for as much as `room` says.
fn exchange_framed(
    mesh: &mut TcpMesh,
    part: &RankPart,
    call: usize,
    sent: impl Fn(u32, u32) -> usize,
    room: impl Fn(u32, u32) -> usize,
) -> Result<ArrivedBlocks, MeshError> {
    let (me, n) = (part.rank, mesh.ranks());
    let outgoing: Vec<Vec<u8>> = (0..n).map(|to| block(call, me, to, sent(me, to))).collect();
    let outgoing: Vec<&[u8]> = outgoing.iter().map(Vec::as_slice).collect();
    let mut incoming: Vec<Vec<u8>> = (0..n).map(|from| vec![0; room(from, me)]).collect();
    let mut places: Vec<&mut [u8]> = incoming.iter_mut().map(Vec::as_mut_slice).collect();
    let arrived = mesh.carry_out_framed(part, &outgoing, &mut places, &mut || true)?;
    for from in (0..n).filter(|&from| from != me) {
        let fits = sent(from, me).min(room(from, me));
        assert!(
            incoming[from as usize][..fits] == block(call, from, me, fits),
            "call {call}: from {from} to {me}"
        );
    }
    Ok(arrived)
}

fn part_of(me: u32) -> RankPart {
    let plan = alltoall::plan(&tree(), SyncKind::Receiver);
    part::of(&TransferSchedule::try_from(&plan).unwrap(), me)
}

fn lengths(call: usize) -> impl Fn(u32, u32) -> usize + Copy {
    const SIZES: [usize; 7] = [0, 100_000, 1, 16_384, 0, 40_001, 7];
    move |from, to| SIZES[(call + 2 * from as usize + to as usize) % SIZES.len()]
}

#[test]
fn framed_and_bare_calls_follow_each_other_without_a_pause() {
    ranks(5, |me, mut mesh| {
        let part = part_of(me);
        for call in 0..14 {
            let arrived = exchange_framed(&mut mesh, &part, call, lengths(call), lengths(call));
            assert_eq!(arrived.unwrap(), ArrivedBlocks::Whole);
            exchange(&mut mesh, &part, call, lengths(call + 1)).unwrap();
        }
    });
}

#[test]
fn a_rank_with_too_little_room_gets_what_fits_and_one_with_too_much_waits_for_no_more() {
    let room = |from: u32, to: u32| match (from, to) {
        (0, 1) => 5,
        (2, 3) => 90_000,
        _ => 50_000,
    };
    ranks(5, |me, mut mesh| {
        let part = part_of(me);
        let arrived = exchange_framed(&mut mesh, &part, 0, |_, _| 50_000, room).unwrap();
        let cut = me == 1;
        assert_eq!(arrived == ArrivedBlocks::Truncated, cut, "rank {me}");
        // The connections stay good.
        let arrived = exchange_framed(&mut mesh, &part, 1, lengths(1), lengths(1));
        assert_eq!(arrived.unwrap(), ArrivedBlocks::Whole);
    });
}

#[test]
fn a_block_that_its_receiver_does_not_expect_is_an_error_when_it_expects_one() {
    let outcomes = ranks(2, |me, mut mesh| {
        let plan = TransferSchedule::direct(2, &[vec![Message { src: 0, dst: 1 }]]);
        let part = part::of(&plan, me);
        let mut call = |of| {
            exchange_framed(
                &mut mesh,
                &part,
                0,
                |_, _| 1000,
                move |_: u32, to: u32| if to == 1 { of } else { 0 },
            )
        };
        [call(0), call(1000)]
    });
    assert!(
        outcomes.iter().all(|[first, _]| first.is_ok()),
        "{outcomes:?}"
    );
    assert!(
        matches!(outcomes[1][1], Err(MeshError::Nonsense { rank: 0, .. })),
        "{outcomes:?}"
    );
}

#[test]
fn a_block_that_its_sender_does_not_have_is_waited_for_until_the_sender_ends_or_goes_on() {
    let plan = TransferSchedule::direct(2, &[vec![Message { src: 0, dst: 1 }]]);
    for calls in [1, 2] {
        let outcomes = ranks(2, |me, mut mesh| {
            let part = part::of(&plan, me);
            let mut call = |at| {
                exchange_framed(
                    &mut mesh,
                    &part,
                    at,
                    move |_: u32, _: u32| if at == 0 { 0 } else { 1000 },
                    |_: u32, to: u32| if to == 1 { 1000 } else { 0 },
                )
            };
            (0..if me == 0 { calls } else { 1 })
                .map(|at| call(at).is_ok())
                .collect::<Vec<_>>()
        });
        assert_eq!(outcomes, [vec![true; calls], vec![false]]);
    }
}
