use super::super::carrier::tests::{exchange, shapes};
use super::super::door::PeerDoor;
use super::super::mending::tests::stay;
use super::super::tests::ranks;
use super::*;
use schedules::transfers::part;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::Mutex;
use std::sync::atomic::AtomicUsize;
use std::sync::mpsc::{Receiver, Sender, channel};

/// Messages between threads.
#[derive(Debug)]
struct ThreadMessages {
    to: Vec<Sender<Vec<u8>>>,
    from: Receiver<Vec<u8>>,
    posted: u32,
}

impl MeshMessages for ThreadMessages {
    fn post(&mut self, rank: u32, message: &[u8]) -> io::Result<bool> {
        assert!(message.len() <= LONGEST);
        self.posted += 1;
        // A library is full now and then.
        let takes = !self.posted.is_multiple_of(3);
        if takes {
            // A rank that has ended needs no more.
            let _ = self.to[rank as usize].send(message.to_vec());
        }
        Ok(takes)
    }

    fn next(&mut self) -> Option<Vec<u8>> {
        let mut message = self.from.try_recv().ok()?;
        message.resize(LONGEST, 9);
        Some(message)
    }
}

#[test]
fn what_connections_cannot_carry_goes_by_messages() {
    let shapes = shapes();
    let nobody = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .unwrap()
        .local_addr()
        .unwrap();
    let (to, from): (Vec<_>, Vec<_>) = (0..5).map(|_| channel()).unzip();
    let from: Vec<_> = from
        .into_iter()
        .map(|from| Mutex::new(Some(from)))
        .collect();
    let ended = AtomicUsize::new(0);
    let moved = ranks(5, |me, mut mesh| {
        mesh.carry_by(Some(Box::new(ThreadMessages {
            to: to.clone(),
            from: from[me as usize].lock().unwrap().take().unwrap(),
            posted: 0,
        })));
        mesh.mending.patience = Duration::from_millis(50);
        mesh.mending.doors.fill(PeerDoor::at(nobody));
        for call in 0..21usize {
            let part = part::of(&shapes[call % shapes.len()], me);
            let other = (me + 1 + call as u32 % 4) % 5;
            let peer = mesh.peer(other).unwrap();
            let link = if call % 2 == 0 {
                &mut peer.out
            } else {
                &mut peer.back
            };
            if call % 3 == 0 && me != 4 {
                link.breaks_after = Some([1, 30_000, 70_000][call % 9 / 3]);
            }
            exchange(&mut mesh, &part, call, |_, _| 5_000 * (call % 9)).unwrap();
        }
        stay(&mut mesh, &ended);
        mesh.over_library
    });
    assert!(moved.iter().sum::<usize>() >= 8, "{moved:?}");
}

#[test]
fn a_message_that_no_rank_sends_ends_the_call_and_not_the_process() {
    let sent = message(3, MessageKind::OfCaller, u64::MAX, &[7; 5]);
    let kind = MessageKind::OfCaller;
    assert_eq!(read(&sent), Some((3, kind, u64::MAX, &[7; 5][..])));
    let mut wrong = vec![sent[..HEADER + 4].to_vec(), sent[..3].to_vec(), Vec::new()];
    wrong.push(message(3, kind, 0, &[]).iter().map(|_| 255).collect());
    assert!(wrong.iter().all(|message| read(message).is_none()));
    ranks(2, |me, mut mesh| {
        let nothing_asked = [
            message(1 - me, kind, 0, &[1]),
            message(7, MessageKind::GivenUp, 0, &[]),
            message(1 - me, MessageKind::Agreed, 1 << 40, &[]),
        ];
        let (to, from) = channel();
        let mut messages = ThreadMessages {
            to: vec![to.clone(), to],
            from,
            posted: 0,
        };
        for message in nothing_asked {
            assert!(
                mesh.take_message(&message, &mut messages, &mut Vec::new())
                    .is_err()
            );
        }
    });
}
