use crate::datagrams::rate;
use crate::peer::call;
use crate::wire::PeerService;
use crate::{
    FlowCoordinator, FlowError, FlowPeer, MeasurementLimits, PeerAnswer, PeerChannel, PeerOrder,
    SessionKey, measure_tree,
};
use inventory::Bytes;
use mapping::HostFlow;
use std::io::Write;
use std::net::TcpListener;
use std::net::{Ipv4Addr, SocketAddr};
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
    let flow = |from, to| HostFlow { from, to };
    for round in [
        vec![flow(0, 1)],
        vec![flow(0, 1), flow(1, 2), flow(2, 0)],
        vec![flow(2, 1)],
    ] {
        let measured = coordinator
            .measure(&round, Duration::from_millis(50))
            .unwrap();
        assert_eq!(measured.flows.len(), round.len());
        assert!(measured.flows.iter().all(|f| f.rate > 1e6), "{measured:?}");
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
        Ok(PeerAnswer::Disturbed(Some(rate)))
    }
}

/// Four hosts that tell these rates one after the other, and the last one for ever.
fn told(rates: &[f64]) -> FlowCoordinator {
    let peer = |_| -> Box<dyn PeerChannel + Send> {
        let rates = rates.to_vec();
        Box::new(ToldRate { rates, goes: false })
    };
    FlowCoordinator::over((0..4).map(peer).collect())
}

#[test]
fn flows_that_are_sent_again_have_their_pauses() {
    let mut coordinator = told(&[1e9]);
    let limits = MeasurementLimits {
        budget: Bytes(1 << 30),
        time: Duration::from_secs(60),
        share: 0.5,
    };
    let goes_on = |done, _| match done {
        3 => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    };
    let stopped = measure_tree(&mut coordinator, limits, goes_on).expect_err("ended");
    // Three rounds, each four times 5 ms long, in half of the time.
    let took = stopped.measured.as_ref().unwrap().took;
    assert!(took >= Duration::from_millis(120), "{took:?}");
}

#[test]
fn a_measurement_ends_with_its_budget_though_hosts_are_faster_than_the_first_ones() {
    let mut coordinator = told(&[1e7, 1e7, 1e7, 1e7, 1e10]);
    let limits = MeasurementLimits {
        budget: Bytes(200 << 20),
        time: Duration::from_secs(60),
        share: 1.0,
    };
    let stopped = measure_tree(&mut coordinator, limits, |_, _| ControlFlow::Continue(()));
    let stopped = stopped.expect_err("too fast for the budget");
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
fn no_flow_goes_to_a_port_where_something_else_answers() {
    let other = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let at = other.local_addr().unwrap();
    let answers = thread::spawn(move || other.accept().unwrap().0.write_all(b"SSH-2.0\r\n"));
    let called = call(at, &SessionKey("one".into()), PeerService::Flow { mark: 1 });
    assert!(called.is_err());
    answers.join().unwrap().unwrap();
}
