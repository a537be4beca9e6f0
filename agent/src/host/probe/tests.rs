use super::*;
use inventory::host_report::RoundTrip;

fn peer(n: u8) -> ProbeTarget {
    ProbeTarget {
        host: format!("n{n}"),
        address: IpAddr::from([10, 0, 0, n]),
    }
}

fn path(n: u8) -> ProbedPath {
    let round_trip = Some(RoundTrip {
        min_us: 1,
        median_us: 1,
        samples: 1,
    });
    ProbedPath {
        to: peer(n).host,
        address: peer(n).address,
        hops: vec![],
        reached: true,
        round_trip,
    }
}

#[tokio::test]
async fn new_hosts_are_probed_at_once_and_known_ones_rarely() {
    let mut known = ProbedPeers::default();
    assert!(!known.want(&[peer(1)]));
    let start = Instant::now();
    assert_eq!(known.take_due(start), Some(peer(1)), "at once");
    assert_eq!(
        (known.take_due(start), known.next_due()),
        (None, None),
        "it is being traced"
    );
    known.learn(&peer(1), path(1), start);
    assert_eq!(known.next_due(), Some(start + AGAIN));
    assert!(
        !known.want(&[peer(1), peer(2)]),
        "nothing that was known is gone"
    );
    assert_eq!(known.take_due(Instant::now()), Some(peer(2)));
    assert!(known.want(&[peer(2)]));
    assert_eq!(known.paths(), []);
    known.learn(&peer(1), path(1), start);
    assert_eq!(
        known.paths(),
        [],
        "an answer for a host no longer wanted is dropped"
    );
}

#[test]
fn a_controller_that_wants_too_much_gets_a_bounded_part() {
    let many: Vec<ProbeTarget> = (0..2000_u32)
        .map(|n| ProbeTarget {
            host: n.to_string(),
            address: IpAddr::from(n.to_be_bytes()),
        })
        .collect();
    let mut known = ProbedPeers::default();
    tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap()
        .block_on(async { known.want(&many) });
    assert_eq!(known.peers.len(), MOST_PEERS);
}

fn flying() -> ProbesInFlight {
    ProbesInFlight {
        identifier: 9,
        sequence: u16::MAX - 1,
        next: Instant::now(),
        probes: Vec::new(),
    }
}

fn arrived(from: IpAddr, message: IcmpMessage) -> ReceivedIcmp {
    ReceivedIcmp {
        from,
        at: socket::now() + Duration::from_millis(1),
        message,
    }
}

#[tokio::test]
async fn probes_keep_their_distance() {
    let (mut flying, now) = (flying(), Instant::now());
    let turns: Vec<Duration> = (0..3).map(|_| flying.turn(now) - now).collect();
    assert_eq!(turns, [Duration::ZERO, SPACING, 2 * SPACING]);
    let later = now + Duration::from_secs(9);
    assert_eq!(flying.turn(later), later, "idle time is not saved up");
}

#[tokio::test]
async fn only_what_fits_in_every_part_is_an_answer() {
    let (to, router, own) = (
        peer(1).address,
        IpAddr::from([10, 0, 0, 254]),
        IpAddr::from([10, 0, 0, 9]),
    );
    let mut flying = flying();
    let (IcmpEcho { sequence, .. }, mut answer) = flying.take_off(to, ProbeMethod::Echo);
    let echo = |identifier, sequence| IcmpEcho {
        identifier,
        sequence,
    };
    let error = |from, probe| IcmpMessage::Error {
        why: IcmpErrorKind::Expired,
        about: QuotedDatagram { from, to, probe },
    };
    for (from, message) in [
        (to, IcmpMessage::Reply(echo(8, sequence))),
        (to, IcmpMessage::Reply(echo(9, sequence.wrapping_add(1)))),
        (router, IcmpMessage::Reply(echo(9, sequence))),
        (
            router,
            error(
                own,
                QuotedProbe::Udp(1000, port(ProbeMethod::Udp, sequence)),
            ),
        ),
        (own, error(own, QuotedProbe::Echo(echo(9, sequence)))),
    ] {
        flying.arrived(1000, &arrived(from, message));
        assert!(answer.try_recv().is_err(), "{message:?} from {from}");
    }
    flying.arrived(
        1000,
        &arrived(router, error(own, QuotedProbe::Echo(echo(9, sequence)))),
    );
    assert_eq!(answer.try_recv(), Ok(ProbeAnswer::Router(router)));
    let (IcmpEcho { sequence, .. }, mut answer) = flying.take_off(to, ProbeMethod::Udp);
    assert_eq!(sequence, 0, "numbers start anew after the last");
    let refused = IcmpMessage::Error {
        why: IcmpErrorKind::NoPort,
        about: QuotedDatagram {
            from: own,
            to,
            probe: QuotedProbe::Udp(1000, FIRST_PORT),
        },
    };
    flying.arrived(1001, &arrived(to, refused));
    assert!(answer.try_recv().is_err(), "another program's probe");
    flying.arrived(1000, &arrived(to, refused));
    assert!(
        matches!(answer.try_recv(), Ok(ProbeAnswer::Host(time)) if time >= Duration::from_millis(1))
    );
    assert!(flying.probes.is_empty());
}

#[tokio::test]
async fn a_clock_set_back_answers_nothing() {
    let (mut flying, to) = (flying(), peer(1).address);
    let (IcmpEcho { sequence, .. }, mut answer) = flying.take_off(to, ProbeMethod::Echo);
    let at = socket::now() - Duration::from_secs(3600);
    flying.arrived(
        0,
        &ReceivedIcmp {
            from: to,
            at,
            message: IcmpMessage::Reply(IcmpEcho {
                identifier: 9,
                sequence,
            }),
        },
    );
    assert!(answer.try_recv().is_err());
}
