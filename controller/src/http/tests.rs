//! The API over sockets.
mod browser;
mod connections;
mod page;
mod reports;
mod schema;

use super::*;
use crate::clock::SteadyClock;
use crate::engine::{ControllerEvent, DirectionsByHost};
use crate::flow_exchange::FlowExchange;
use inventory::Millis;
use inventory::host_report::{HostReport, ProbeDirections, ProbeTarget, TraceTarget};
use inventory::observation::{DeviceFact, Observation, ObservationSource};
use std::fs;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::{mpsc, watch};

/// A controller's API with hosts n0 and n1, without a controller.
struct ServedApi {
    address: SocketAddr,
    shown: Arc<SnapshotSender>,
    events: mpsc::Receiver<ControllerEvent>,
    flows: FlowExchange,
    _assignment: watch::Sender<Arc<DirectionsByHost>>,
}

const FILES: usize = 1_024;
/// The longest wait, even on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);
const VIEWERS: &str = "0123456789abcdef";
const AGENTS: &str = "fedcba9876543210";

fn trace() -> TraceTarget {
    TraceTarget {
        host: "n1".into(),
        address: [10, 0, 0, 1].into(),
        flows: 20,
    }
}

async fn start(viewers: Option<&str>, agents: Option<&str>) -> ServedApi {
    let (shown, look) = snapshot_feed(ServedSnapshot::new(Snapshot {
        at: Millis(1),
        ..Snapshot::default()
    }));
    let shown = Arc::new(shown);
    tokio::spawn(serve_again(Arc::clone(&shown)));
    let (tell, events) = mpsc::channel(64);
    let peer = ProbeTarget {
        host: "n1".into(),
        address: "10.0.0.1".parse().unwrap(),
    };
    let assignment = DirectionsByHost::from([
        (
            "n0".into(),
            ProbeDirections {
                peers: vec![peer],
                traces: vec![trace()],
                every_ms: 2_000,
                ..ProbeDirections::default()
            },
        ),
        (
            "n1".into(),
            ProbeDirections {
                every_ms: 2_000,
                ..ProbeDirections::default()
            },
        ),
    ]);
    let (_assignment, directions) = watch::channel(Arc::new(assignment));
    let keys = ApiTokens::new(viewers.map(BearerToken::new), agents.map(BearerToken::new)).unwrap();
    let listener = bind("127.0.0.1:0".parse().unwrap(), &keys).await.unwrap();
    let address = listener.local_addr().unwrap();
    let orders = MappingOrders::new(SteadyClock::default(), tell.clone());
    let intake = ReportIntake::new(SteadyClock::default(), tell, directions);
    let flows = intake.flows().clone();
    tokio::spawn(serve(
        listener,
        None,
        ApiState {
            keys,
            shown: look,
            orders,
            intake,
        },
        FILES,
    ));
    ServedApi {
        address,
        shown,
        events,
        flows,
        _assignment,
    }
}

/// Shows the same snapshot again to each viewer that comes.
async fn serve_again(shown: Arc<SnapshotSender>) {
    loop {
        shown.viewer().await;
        shown.show(shown.shown());
    }
}

async fn send(address: SocketAddr, request: &str, headers: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let length = if body.is_empty() {
        String::new()
    } else {
        format!("Content-Length: {}\r\n", body.len())
    };
    let head = format!("{request} HTTP/1.1\r\n{headers}{length}Connection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).await.unwrap();
    // A body that is too large is refused before its end.
    let _ = stream.write_all(body.as_bytes()).await;
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    String::from_utf8(answer).unwrap()
}

async fn rest(mut stream: TcpStream) -> String {
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer).await; // The text before a reset counts.
    answer
}

async fn ask(address: SocketAddr, path: &str, headers: &str) -> String {
    send(address, &format!("GET {path}"), headers, "").await
}

async fn report(address: SocketAddr, host: &str, token: &str, body: &str) -> String {
    let headers = format!(
        "Host: localhost\r\nContent-Type: application/json\r\nAuthorization: Bearer {token}\r\n"
    );
    send(
        address,
        &format!("POST /v1/hosts/{host}/report"),
        &headers,
        body,
    )
    .await
}

fn report_of(host: &str) -> String {
    serde_json::to_string(&HostReport {
        host: host.into(),
        slots: 2,
        ..HostReport::default()
    })
    .unwrap()
}

#[tokio::test]
async fn serves_every_path_over_a_socket() {
    let ServedApi { address, .. } = start(None, None).await;
    let here = "Host: localhost:7171\r\n";
    for (path, part) in [
        ("/v1/snapshot", "\"directory\""),
        ("/v1/topology", "\"nodes\""),
        ("/v1/epochs", "[]"),
        ("/metrics", "heddle_epoch 0"),
        ("/healthz", "ok"),
    ] {
        let answer = ask(address, path, here).await;
        assert!(
            answer.starts_with("HTTP/1.1 200") && answer.contains(part),
            "{path}: {answer}"
        );
    }
    let answer = ask(address, "/v2", here).await;
    assert!(answer.starts_with("HTTP/1.1 404"), "{answer}");
    assert!(
        ask(address, "/v1/snapshot", "Host: evil.example\r\n")
            .await
            .starts_with("HTTP/1.1 403")
    );
    assert!(
        ask(address, "/v1/snapshot", "Host: [::1]:7171\r\n")
            .await
            .starts_with("HTTP/1.1 200")
    );
    for (target, status) in [
        ("http://evil.example", 403),
        ("http://localhost@evil.example", 403),
        ("http://127.0.0.1:7171", 200),
    ] {
        let answer = ask(address, &format!("{target}/v1/snapshot"), here).await;
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status}")),
            "{target}: {answer}"
        );
    }
    assert!(
        ask(
            address,
            "/v1/snapshot",
            "Host: localhost\r\nHost: evil.example\r\n"
        )
        .await
        .starts_with("HTTP/1.1 403")
    );
}

#[tokio::test]
async fn a_token_is_wanted_where_one_is_set() {
    let ServedApi { address, .. } = start(Some(VIEWERS), None).await;
    assert!(
        ask(address, "/v1/snapshot", "Host: x\r\n")
            .await
            .starts_with("HTTP/1.1 401")
    );
    assert!(
        ask(address, "/metrics", &bearer_headers("0123456789abcdee"))
            .await
            .starts_with("HTTP/1.1 401")
    );
    assert!(
        ask(address, "/v1/snapshot", &bearer_headers("0123456789abcdef"))
            .await
            .starts_with("HTTP/1.1 200")
    );
    for scheme in ["bearer ", "BEARER  "] {
        let header = bearer_headers("0123456789abcdef").replace("Bearer ", scheme);
        assert!(
            ask(address, "/v1/snapshot", &header)
                .await
                .starts_with("HTTP/1.1 200"),
            "{scheme}"
        );
    }
    assert!(
        ask(
            address,
            "/v1/snapshot",
            &bearer_headers("0123456789abcdef").replace("Bearer ", "Basic ")
        )
        .await
        .starts_with("HTTP/1.1 401")
    );
    assert!(
        ask(address, "/healthz", "Host: x\r\n")
            .await
            .starts_with("HTTP/1.1 200")
    );
}

fn bearer_headers(t: &str) -> String {
    format!("Host: head.cluster\r\nAuthorization: Bearer {t}\r\n")
}

#[tokio::test]
async fn listening_to_the_network_wants_a_token() {
    let problem = bind("0.0.0.0:0".parse().unwrap(), &ApiTokens::default())
        .await
        .unwrap_err()
        .to_string();
    assert!(problem.contains("--token-file"), "{problem}");
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("token");
    fs::write(&file, "short\n").unwrap();
    assert!(
        BearerToken::read(&file)
            .err()
            .unwrap()
            .to_string()
            .contains("at least 16")
    );
    fs::write(&file, "0123456789abcdef\n").unwrap();
    assert!(
        bind(
            "0.0.0.0:0".parse().unwrap(),
            &ApiTokens::new(BearerToken::read(&file).ok(), None).unwrap()
        )
        .await
        .is_ok()
    );
}

#[tokio::test]
async fn events_follow_the_snapshots() {
    let ServedApi { address, shown, .. } = start(None, None).await;
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream
        .write_all(b"GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .await
        .unwrap();
    let mut received = String::new();
    let mut buffer = [0; 4096];
    for at in 1..=3 {
        let wanted = format!("\"at\":{at},");
        while !received.contains(&wanted) {
            let n = stream.read(&mut buffer).await.unwrap();
            assert!(n > 0, "the stream ended after {received}");
            received.push_str(&String::from_utf8_lossy(&buffer[..n]));
        }
        shown.show(ServedSnapshot::new(Snapshot {
            at: Millis(at + 1),
            ..Snapshot::default()
        }));
    }
    assert!(
        received.contains("text/event-stream") && received.contains("event: snapshot"),
        "{received}"
    );
}

#[tokio::test]
async fn each_token_opens_its_own_door_only() {
    let ServedApi {
        address,
        events: _events,
        ..
    } = start(Some(VIEWERS), Some(AGENTS)).await;
    for (token, status) in [
        (VIEWERS, 403),
        (AGENTS, 200),
        ("0123456789abcdee", 401),
        ("", 401),
    ] {
        let answer = report(address, "n0", token, &report_of("n0")).await;
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status}")),
            "{token}: {answer}"
        );
        assert!(
            status != 403 || answer.contains("may view, but not report"),
            "{answer}"
        );
    }
    let with = |t: &str| format!("Host: x\r\nAuthorization: Bearer {t}\r\n");
    for path in "/v1/snapshot /v1/events /v1/topology /v1/epochs /v1/schema /metrics".split(' ') {
        let answer = ask(address, path, &with(AGENTS)).await;
        assert!(
            answer.starts_with("HTTP/1.1 403") && answer.contains("may report, but not view"),
            "{path}: {answer}"
        );
    }
    assert!(
        ask(address, "/v1/topology", &with(VIEWERS))
            .await
            .starts_with("HTTP/1.1 200")
    );
    assert!(matches!(
        ApiTokens::new(
            Some(BearerToken::new(VIEWERS)),
            Some(BearerToken::new(VIEWERS))
        ),
        Err(HttpError::OneToken)
    ));
}
