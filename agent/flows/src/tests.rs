use crate::datagrams::rate;
use crate::peer::call;
use crate::wire::PeerService;
use crate::{
    FlowCoordinator, FlowError, FlowPeer, FlowPort, MeasurementError, MeasurementLimits,
    PeerAnswer, PeerChannel, PeerOrder, RoundOrder, RoundOutcome, SessionKey, measure_tree,
};
use inventory::Bytes;
use mapping::HostFlow;
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::ops::ControlFlow;
use std::thread;
use std::time::Duration;

#[test]
fn flows_between_peers_are_measured() {
    let key = SessionKey("one".into());
    let peers: Vec<(String, SocketAddr)> = (0..3)
        .map(|n| {
            let peer = FlowPeer::start(key.clone()).unwrap();
            (
                format!("n{n}"),
                SocketAddr::from((Ipv4Addr::LOCALHOST, peer.port())),
            )
        })
        .collect();
    let mut coordinator = FlowCoordinator::connect(&peers, &key).unwrap();
    for round in [
        vec![flow(0, 1)],
        vec![flow(0, 1), flow(1, 2), flow(2, 0)],
        vec![flow(2, 1)],
    ] {
        // On a busy machine a flow may come too late to count.
        let came = (0..100).any(|_| {
            let measured = coordinator
                .measure(&round, Duration::from_millis(50))
                .unwrap()
                .expect("no host goes");
            let flows: Vec<HostFlow> = measured.flows.iter().map(|f| f.flow).collect();
            assert_eq!(flows, round);
            measured.flows.iter().all(|f| f.rate > 1e6)
        });
        assert!(came, "{round:?}");
    }
}

#[test]
fn a_caller_without_the_key_is_refused() {
    let peer = FlowPeer::start(SessionKey("one".into())).unwrap();
    let peers = [(
        "n0".to_owned(),
        SocketAddr::from((Ipv4Addr::LOCALHOST, peer.port())),
    )];
    let refused = FlowCoordinator::connect(&peers, &SessionKey("other".into()));
    let error = refused.err().expect("refused").to_string();
    assert!(error.starts_with("n0 (127.0.0.1:"), "{error}");
}

#[test]
fn only_the_middle_of_a_round_counts() {
    let ms = Duration::from_millis;
    let came = [
        (ms(0), 9_000),
        (ms(9), 9_000),
        (ms(10), 769),
        (ms(20), 769),
        (ms(40), 9_000),
    ];
    assert!((rate(&came, ms(40)) - 1448.0 * 8.0 / 0.03).abs() < 1e-6);
    assert_eq!(rate(&[], ms(40)), 0.0);
}

/// A peer that tells a rate, and that its round is to be done again.
struct ToldRate {
    rates: Vec<f64>,
    sent: u64,
    goes: bool,
}

impl PeerChannel for ToldRate {
    fn address(&self) -> SocketAddr {
        SocketAddr::from((Ipv4Addr::LOCALHOST, 9))
    }

    fn tell(&mut self, order: &PeerOrder) -> Result<(), FlowError> {
        self.goes = *order == PeerOrder::Go;
        Ok(())
    }

    fn answer(&mut self) -> Result<PeerAnswer, FlowError> {
        if !self.goes {
            return Ok(PeerAnswer::Ready);
        }
        let rate = match self.rates.len() {
            1 => self.rates[0],
            _ => self.rates.remove(0),
        };
        Ok(PeerAnswer::Done(RoundOutcome {
            rate: Some(rate),
            sent: self.sent,
            disturbed: true,
        }))
    }
}

const WINDOW: Duration = Duration::from_millis(5);

fn flow(from: usize, to: usize) -> HostFlow {
    HostFlow { from, to }
}

/// Hosts that tell these rates one after the other, and the last one for ever; and so many bytes
/// sent.
fn scripted_peers(hosts: usize, rates: &[f64], sent: u64) -> Vec<Box<dyn PeerChannel + Send>> {
    (0..hosts)
        .map(|_| -> Box<dyn PeerChannel + Send> {
            let rates = rates.to_vec();
            Box::new(ToldRate {
                rates,
                sent,
                goes: false,
            })
        })
        .collect()
}

/// Four of them.
fn scripted(rates: &[f64], sent: u64) -> FlowCoordinator {
    FlowCoordinator::over(scripted_peers(4, rates, sent))
}

#[test]
fn flows_that_are_sent_again_have_their_pauses() {
    let mut coordinator = scripted(&[1e9], 0);
    let limits = MeasurementLimits {
        budget: Bytes(1 << 30),
        time: Duration::from_secs(60),
        share: 0.5,
    };
    let stopped = measure_tree(&mut coordinator, limits, |done, _| match done {
        3 => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    })
    .expect_err("ended");
    // Three rounds, each four times 5 ms long, in half of the time.
    let took = stopped.measured.as_ref().unwrap().took;
    assert!(took >= Duration::from_millis(120), "{took:?}");
}

#[test]
fn a_measurement_ends_with_its_budget_though_hosts_are_faster_than_the_first_ones() {
    // The first flow is sent three times, each four times.
    let mut coordinator = scripted(&[&[1e7; 12][..], &[1e10]].concat(), 0);
    let limits = MeasurementLimits {
        budget: Bytes(200 << 20),
        time: Duration::from_secs(60),
        share: 1.0,
    };
    let stopped = measure_tree(&mut coordinator, limits, |_, _| ControlFlow::Continue(()))
        .expect_err("too fast for the budget");
    // A round of four hosts moves 640 MB at most, and is done four times.
    let moved = stopped.measured.as_ref().unwrap().moved.0;
    assert!(moved < 4 * 640_000_000 + (200 << 20), "{moved}");
    assert!(
        stopped
            .error
            .to_string()
            .contains("a budget of 200M is too small")
    );
}

#[test]
fn a_host_that_is_busy_at_first_does_not_make_all_rounds_longer() {
    // A round of four hosts would move 6.4 MB if the first figure counted, and moves 640 kB.
    let mut coordinator = scripted(&[1e7, 1e7, 1e7, 1e7, 1e8], 0);
    let limits = MeasurementLimits {
        budget: Bytes(24 << 20),
        time: Duration::from_secs(60),
        share: 1.0,
    };
    let measured = measure_tree(&mut coordinator, limits, |_, _| ControlFlow::Continue(()));
    assert!(measured.expect("enough rounds").tree.rounds >= 28);
}

#[test]
fn busy_hosts_do_not_spend_the_budget_of_the_least_rounds() {
    // A round of four hosts is planned for 640 kB, and the least rounds for 18 MB. Where hosts send
    // more than their cables carry, the least rounds take 22 MB.
    for sent in [0, 190_000] {
        let mut coordinator = scripted(&[1e8], sent);
        let limits = MeasurementLimits {
            budget: Bytes(24 << 20),
            time: Duration::from_secs(60),
            share: 1.0,
        };
        let measured = measure_tree(&mut coordinator, limits, |_, _| ControlFlow::Continue(()))
            .expect("enough rounds");
        assert!(measured.tree.rounds >= 28, "{measured:?}");
    }
}

#[test]
fn no_flow_goes_to_a_port_where_something_else_answers() {
    let other = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let at = other.local_addr().unwrap();
    let answers = thread::spawn(move || other.accept().unwrap().0.write_all(b"SSH-2.0\r\n"));
    let called = call(
        at,
        &SessionKey("one".into()),
        PeerService::Flow { mark: 1, round: 1 },
    );
    assert!(called.is_err());
    answers.join().unwrap().unwrap();
}

#[test]
fn what_hosts_send_counts_though_it_does_not_arrive() {
    let mut coordinator = scripted(&[1e6], 1_000_000);
    coordinator.measure(&[flow(0, 1)], WINDOW).unwrap();
    // Each of the four tries.
    assert_eq!(coordinator.moved(), 4e6);
    // Nobody can send less than what came.
    let mut coordinator = scripted(&[1e9], 7);
    coordinator.measure(&[flow(0, 1)], WINDOW).unwrap();
    assert_eq!(coordinator.moved(), 4.0 * 625_000.0);
}

/// A peer whose process is gone at these orders, and comes back where it may.
struct PassingPeer {
    orders: Vec<PeerOrder>,
    gone_at: Vec<usize>,
    comes_back: bool,
    at: u16,
}

impl PassingPeer {
    fn silent(&self) -> FlowError {
        FlowError::Silent {
            name: "n2".into(),
            address: self.address(),
            error: std::io::ErrorKind::TimedOut.into(),
        }
    }
}

impl PeerChannel for PassingPeer {
    fn address(&self) -> SocketAddr {
        SocketAddr::from((Ipv4Addr::LOCALHOST, self.at))
    }

    fn tell(&mut self, order: &PeerOrder) -> Result<(), FlowError> {
        self.orders.push(order.clone());
        Ok(())
    }

    fn answer(&mut self) -> Result<PeerAnswer, FlowError> {
        if self.gone_at.contains(&self.orders.len()) {
            return Err(self.silent());
        }
        Ok(match self.orders.last() {
            Some(PeerOrder::Go) => PeerAnswer::Done(RoundOutcome {
                rate: Some(1e6),
                sent: 0,
                disturbed: false,
            }),
            _ => PeerAnswer::Ready,
        })
    }

    fn is_renewable(&self) -> bool {
        true
    }

    fn come_back(&mut self) -> Result<(), FlowError> {
        self.at += 1;
        match self.comes_back {
            true => Ok(()),
            false => Err(self.silent()),
        }
    }
}

/// A host that is gone at these orders.
fn passing(gone_at: &[usize], comes_back: bool) -> Box<dyn PeerChannel + Send> {
    Box::new(PassingPeer {
        orders: Vec::new(),
        gone_at: gone_at.to_vec(),
        comes_back,
        at: 9,
    })
}

#[test]
fn a_round_is_done_again_when_a_host_comes_back_but_not_forever() {
    let measured = |gone_at: &[usize], comes_back| {
        let mut coordinator =
            FlowCoordinator::over(vec![passing(&[], true), passing(gone_at, comes_back)]);
        let mut measure = || coordinator.measure(&[flow(0, 1)], WINDOW).transpose();
        (0..10).find_map(|_| measure()).expect("an end").is_ok()
    };
    // Gone when it shall get ready, or start; the third order is the question who is there.
    assert!(measured(&[1, 2], true));
    assert!(measured(&[2, 3], true));
    assert!(!measured(&[2, 3], false));
    // Gone again in the round that is repeated, and then in each.
    assert!(measured(&[2, 3, 5], true));
    let always: Vec<usize> = (1..100).collect();
    assert!(!measured(&always, true));
}

#[test]
fn no_flow_runs_after_the_permitted_time_though_a_host_comes_back() {
    // Gone in the first flow, or in the first round after the three of them.
    for (gone, rounds) in [(2, 0), (8, 0)] {
        let peers = vec![passing(&[], true), passing(&[gone, gone + 1], true)];
        let mut coordinator = FlowCoordinator::over(peers);
        let mut asked = 0;
        let goes_on = |done, _| {
            asked += 1;
            assert_eq!(done, rounds);
            // The time is over when the host has come back.
            match asked > gone / 2 {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        };
        let stopped = measure_tree(&mut coordinator, limits(Duration::from_secs(60)), goes_on);
        assert!(
            matches!(stopped.expect_err("ended").error, MeasurementError::Ended),
            "{gone}"
        );
    }
    let mut coordinator = scripted(&[1e8], 0);
    let stopped = measure_tree(&mut coordinator, limits(Duration::ZERO), |_, _| {
        ControlFlow::Continue(())
    })
    .expect_err("no time");
    assert!(matches!(stopped.error, MeasurementError::TimeShort(_)));
    assert_eq!(stopped.moved, Bytes(0));
}

fn limits(time: Duration) -> MeasurementLimits {
    MeasurementLimits {
        budget: Bytes(1 << 30),
        time,
        share: 1.0,
    }
}

#[test]
fn what_hosts_send_counts_though_the_round_fails() {
    let round = [flow(0, 1), flow(1, 2), flow(2, 0)];
    let mut peers = scripted_peers(2, &[1e6], 1_000_000);
    // Gone at the start of the second round.
    peers.push(passing(&[4], true));
    let mut coordinator = FlowCoordinator::over(peers);
    coordinator.do_again_within(0.0);
    coordinator.measure(&round, WINDOW).unwrap();
    let first = coordinator.moved();
    assert_eq!(first, 2e6 + 625.0);
    coordinator.measure(&round, WINDOW).expect_err("gone");
    // The third host does not tell what it sent, so it counts like the fastest.
    assert_eq!(coordinator.moved() - first, 3e6);
    assert_eq!(coordinator.flowed(), WINDOW * 2);
    // The cost is reported with the error.
    let mut peers = scripted_peers(1, &[1e6], 1_000_000);
    peers.push(passing(&[2], true));
    let limits = MeasurementLimits {
        budget: Bytes(1 << 30),
        time: Duration::from_secs(60),
        share: 1.0,
    };
    let stopped = measure_tree(&mut FlowCoordinator::over(peers), limits, |_, _| {
        ControlFlow::Continue(())
    });
    assert_eq!(stopped.expect_err("gone").moved, Bytes(1_000_000));
}

/// A flow that was announced for a round that failed is not taken for that of the next.
#[test]
fn old_announcements_are_left() {
    let key = SessionKey("one".into());
    let open = || FlowPort::open(Ipv4Addr::LOCALHOST.into(), key.clone()).unwrap();
    let (sender, receiver) = (open(), open());
    let to = SocketAddr::from((Ipv4Addr::LOCALHOST, receiver.port()));
    // The receiver never got round 1.
    let _old = sender.prepare(order(1, Some(to), false)).unwrap();
    let sends = sender.prepare(order(2, Some(to), false)).unwrap();
    let receives = receiver.prepare(order(2, None, true)).unwrap();
    let marks = (receives.from.unwrap().mark, sends.to.unwrap().mark);
    assert_eq!(marks.0, marks.1);
    let missed = receiver.prepare(order(3, None, true)).unwrap_err();
    assert!(
        missed
            .to_string()
            .contains("two agents answer for one host")
    );
}

fn order(round: u64, send_to: Option<SocketAddr>, receives: bool) -> RoundOrder {
    RoundOrder {
        round,
        send_to,
        receives,
        window: Duration::from_millis(50),
    }
}
