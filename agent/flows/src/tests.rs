use crate::datagrams::rate;
use crate::{FlowCoordinator, FlowPeer, SessionKey};
use mapping::HostFlow;
use std::net::{Ipv4Addr, SocketAddr};
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
            .measure(&round, Duration::from_millis(20))
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
