//! Ranks are threads, connected over loopback.
use super::greeting::{self, MeshGreeting, MeshSecret, MeshWish};
use super::{MeshError, MeshListener, TcpMesh};
use inventory::stages::flows::{DOOR, SOURCES};
use nix::sys::socket::{Backlog, listen};
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Barrier;
use std::time::{Duration, Instant};

/// Many threads share few cores.
const PATIENCE: Duration = Duration::from_secs(120);
const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const SECRET: MeshSecret = MeshSecret([9; 32]);

/// Runs `work` on each of `n` ranks of a mesh.
pub(super) fn ranks<T: Send>(n: u32, work: impl Fn(u32, TcpMesh) -> T + Sync) -> Vec<T> {
    ranks_at(HERE, n, work)
}

fn ranks_at<T: Send>(here: IpAddr, n: u32, work: impl Fn(u32, TcpMesh) -> T + Sync) -> Vec<T> {
    let doors: Vec<MeshListener> = (0..n).map(|_| MeshListener::open(here).unwrap()).collect();
    let addresses: Vec<SocketAddr> = doors.iter().map(MeshListener::address).collect();
    std::thread::scope(|scope| {
        let (addresses, work) = (&addresses, &work);
        let threads: Vec<_> = (0..n)
            .zip(doors)
            .map(|(me, door)| {
                scope.spawn(move || {
                    work(
                        me,
                        door.connect(me, addresses, &SECRET, PATIENCE, || true)
                            .unwrap(),
                    )
                })
            })
            .collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    })
}

/// The octet at a place of the block from one rank to another in a call.
fn octet(call: usize, from: u32, to: u32, at: usize) -> u8 {
    (call * 31 + from as usize * 7 + to as usize * 13 + at * 3 + at / 251) as u8
}

pub(super) fn block(call: usize, from: u32, to: u32, length: usize) -> Vec<u8> {
    (0..length).map(|at| octet(call, from, to, at)).collect()
}

#[test]
fn more_ranks_than_strangers_are_let_wait_and_by_ipv6() {
    let met = ranks_at(Ipv6Addr::LOCALHOST.into(), 80, |_, mut mesh| {
        (0..80).filter(|&rank| mesh.peer(rank).is_ok()).count()
    });
    assert_eq!(met, [79; 80]);
}

#[test]
fn connections_come_from_the_ports_that_are_asked_for_or_say_that_they_do_not() {
    let taken = TcpListener::bind((HERE, 0)).unwrap();
    let (own, taken) = (
        MeshListener::open(HERE).unwrap().address().port(),
        taken.local_addr().unwrap().port(),
    );
    let doors: Vec<MeshListener> = (0..2).map(|_| MeshListener::open(HERE).unwrap()).collect();
    let addresses: Vec<SocketAddr> = doors.iter().map(MeshListener::address).collect();
    let ports = [vec![None, Some(own)], vec![Some(taken), None]];
    let kept: Vec<bool> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..)
            .zip(doors.into_iter().zip(ports))
            .map(|(me, (door, ports))| {
                let addresses = &addresses;
                scope.spawn(move || {
                    let door = door.calling_from(ports);
                    let mesh = door.connect(me, addresses, &SECRET, PATIENCE, || true);
                    mesh.unwrap().takes_ways()
                })
            })
            .collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    });
    assert_eq!(kept, [true, false]);
}

/// Addresses that no other process uses: tests of other checkouts may run beside these.
fn own_addresses() -> [IpAddr; 2] {
    let [a, b, c, d] = std::process::id().to_be_bytes();
    [1, 2]
        .map(|last| Ipv4Addr::new(127, 64 | a ^ b, c, d).to_bits() & !3 | last)
        .map(|own| Ipv4Addr::from(own).into())
}

#[test]
fn a_job_takes_the_flows_of_the_job_before_it() {
    for _ in 0..2 {
        let doors = own_addresses().map(|own| MeshListener::open_known(own).unwrap());
        let addresses: Vec<SocketAddr> = doors.iter().map(MeshListener::address).collect();
        assert_eq!(
            addresses.iter().map(SocketAddr::port).collect::<Vec<_>>(),
            [DOOR; 2]
        );
        // Another job on this host has another door.
        let beside = MeshListener::open_known(addresses[0].ip()).unwrap();
        assert_ne!(beside.address().port(), DOOR);
        let meshes: Vec<TcpMesh> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..)
                .zip(doors)
                .map(|(me, door)| {
                    let addresses = &addresses;
                    scope.spawn(move || {
                        let door = door.calling_from(vec![Some(*SOURCES.start()); 2]);
                        door.connect(me, addresses, &SECRET, PATIENCE, || true)
                            .unwrap()
                    })
                })
                .collect();
            threads.into_iter().map(|t| t.join().unwrap()).collect()
        });
        assert!(meshes.iter().all(TcpMesh::takes_ways));
    }
}

#[test]
fn strangers_are_hung_up_on_and_disturb_nobody() {
    let door = MeshListener::open(HERE).unwrap();
    let other = MeshListener::open(HERE).unwrap();
    let doors = [door.address(), other.address()];
    let mut strangers: Vec<TcpStream> = (0..3)
        .map(|_| TcpStream::connect(doors[0]).unwrap())
        .collect();
    strangers[0]
        .write_all(&greeting::write(
            MeshGreeting {
                rank: 1,
                wish: MeshWish::Begin,
            },
            &MeshSecret([1; 32]),
        ))
        .unwrap();
    strangers[1].write_all(b"GET / HTTP/1.1\r\n").unwrap();
    let mut mesh = std::thread::scope(|scope| {
        let connect = |me, door: MeshListener| {
            scope.spawn(move || {
                door.connect(me, &doors, &SECRET, PATIENCE, || true)
                    .unwrap()
            })
        };
        let (a, b) = (connect(0, door), connect(1, other));
        b.join().unwrap();
        a.join().unwrap()
    });
    strangers[0]
        .set_read_timeout(Some(Duration::from_secs(10)))
        .unwrap();
    assert!(
        !matches!(strangers[0].read(&mut [0; 8]), Ok(1..)),
        "nothing is sent to strangers"
    );
    assert!(mesh.peer(1).is_ok() && mesh.peer(0).is_err() && mesh.peer(2).is_err());
}

#[test]
fn a_door_that_nobody_opens_ends_with_the_deadline() {
    let door = MeshListener::open(HERE).unwrap();
    // A port that listens and never accepts: its greeting never comes.
    let mute = TcpListener::bind((HERE, 0)).unwrap();
    let doors = [door.address(), mute.local_addr().unwrap()];
    let problem = door
        .connect(0, &doors, &SECRET, Duration::from_millis(200), || true)
        .unwrap_err();
    assert!(
        problem.to_string().contains("0 of 1 ranks called in time"),
        "{problem}"
    );
    let door = MeshListener::open(HERE).unwrap();
    let doors = [door.address(), mute.local_addr().unwrap()];
    drop(mute);
    let refused = door
        .connect(0, &doors, &SECRET, PATIENCE, || true)
        .unwrap_err();
    assert_eq!(refused.kind(), std::io::ErrorKind::ConnectionRefused);
}

#[test]
fn a_machine_that_does_not_answer_is_told_from_a_rank_that_does_not_call() {
    let door = MeshListener::open(HERE).unwrap();
    // The kernel drops calls to a socket whose queue is full, as a firewall may.
    let full = TcpListener::bind((HERE, 0)).unwrap();
    listen(&full, Backlog::new(0).unwrap()).unwrap();
    let _waits = TcpStream::connect(full.local_addr().unwrap()).unwrap();
    let doors = [door.address(), full.local_addr().unwrap()];
    let problem = door
        .connect(0, &doors, &SECRET, Duration::from_millis(200), || true)
        .unwrap_err();
    assert_eq!(problem.to_string(), "the machine of rank 1 does not answer");
}

#[test]
fn where_no_machine_answers_nobody_waits_long() {
    let door = MeshListener::open(HERE).unwrap();
    let full = TcpListener::bind((HERE, 0)).unwrap();
    listen(&full, Backlog::new(0).unwrap()).unwrap();
    let _waits = TcpStream::connect(full.local_addr().unwrap()).unwrap();
    let silent = full.local_addr().unwrap();
    let doors = [door.address(), silent, silent, silent];
    let began = Instant::now();
    let problem = door
        .connect(0, &doors, &SECRET, PATIENCE, || true)
        .unwrap_err();
    assert_eq!(problem.to_string(), "the machine of rank 1 does not answer");
    assert!(
        began.elapsed() < Duration::from_secs(2),
        "{:?}",
        began.elapsed()
    );
}

#[test]
fn a_rank_that_hangs_up_before_it_calls_is_not_waited_for() {
    let door = MeshListener::open(HERE).unwrap();
    let other = TcpListener::bind((HERE, 0)).unwrap();
    let doors = [door.address(), other.local_addr().unwrap()];
    std::thread::scope(|scope| {
        scope.spawn(|| {
            other
                .accept()
                .unwrap()
                .0
                .read_exact(&mut [0; greeting::LENGTH])
                .unwrap()
        });
        let problem = door
            .connect(0, &doors, &SECRET, PATIENCE, || true)
            .unwrap_err();
        assert_eq!(problem.to_string(), "rank 1 has given its connections up");
    });
}

#[test]
fn a_door_holds_many_callers_before_it_is_answered() {
    let door = MeshListener::open(HERE).unwrap();
    let call = |_| TcpStream::connect_timeout(&door.address(), Duration::from_secs(20)).unwrap();
    assert_eq!((0..300).map(call).collect::<Vec<_>>().len(), 300);
}

/// Nobody waits for the last ranks of a broadcast: the others may be calls ahead.
#[test]
fn a_token_may_come_calls_ahead_and_never_late() {
    let given = Barrier::new(2);
    ranks(2, |me, mut mesh| {
        let wait = |mesh: &mut TcpMesh| {
            let (mut tokens, mut naps) = (Vec::new(), 0);
            loop {
                let progress = &mut || {
                    naps += 1;
                    naps < 5
                };
                match mesh.wait(&mut Vec::new(), &mut tokens, progress) {
                    Ok(_) => {}
                    Err(MeshError::Wait(_)) => return Ok(tokens),
                    Err(other) => return Err(other),
                }
            }
        };
        if me == 1 {
            let early = [mesh.begin(), mesh.begin(), mesh.begin()];
            assert!(early.iter().all(Vec::is_empty));
            mesh.give(0, 7).unwrap();
            given.wait();
            given.wait();
            assert!(wait(&mut mesh).is_err(), "a token of a call that is over");
        } else {
            assert!(mesh.begin().is_empty());
            given.wait();
            let came = wait(&mut mesh);
            mesh.give(1, 8).unwrap();
            given.wait();
            assert_eq!(came.unwrap(), []);
            assert!(mesh.begin().is_empty());
            assert_eq!(mesh.begin().len(), 1);
        }
    });
}
