//! The API over sockets.
use super::*;
use crate::clock::SteadyClock;
use crate::engine::{ControllerEvent, DirectionsByHost};
use inventory::Millis;
use inventory::host_report::{HostReport, ProbeDirections, ProbeTarget};
use inventory::observation::{DeviceFact, Observation, ObservationSource};
use std::fs;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc;

/// A controller's API with hosts n0 and n1, without a controller.
struct ServedApi {
    address: SocketAddr,
    shown: watch::Sender<ServedSnapshot>,
    events: mpsc::Receiver<ControllerEvent>,
    _rota: watch::Sender<Arc<DirectionsByHost>>,
}

const FILES: usize = 1_024;
/// Nothing here takes longer, even on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);
const VIEWERS: &str = "0123456789abcdef";
const AGENTS: &str = "fedcba9876543210";

async fn start(viewers: Option<&str>, agents: Option<&str>) -> ServedApi {
    let (shown, look) = watch::channel(ServedSnapshot::new(Snapshot {
        at: Millis(1),
        ..Snapshot::default()
    }));
    let (tell, events) = mpsc::channel(64);
    let peer = ProbeTarget {
        host: "n1".into(),
        address: "10.0.0.1".parse().unwrap(),
    };
    let rota = DirectionsByHost::from([
        (
            "n0".into(),
            ProbeDirections {
                peers: vec![peer],
                every_ms: 2_000,
            },
        ),
        (
            "n1".into(),
            ProbeDirections {
                peers: vec![],
                every_ms: 2_000,
            },
        ),
    ]);
    let (_rota, directions) = watch::channel(Arc::new(rota));
    let keys = ApiTokens::new(viewers.map(BearerToken::new), agents.map(BearerToken::new)).unwrap();
    let listener = bind("127.0.0.1:0".parse().unwrap(), &keys).await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(serve(
        listener,
        None,
        ApiState {
            keys,
            shown: look,
            intake: ReportIntake::new(SteadyClock::default(), tell, directions),
        },
        FILES,
    ));
    ServedApi {
        address,
        shown,
        events,
        _rota,
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
    let _ = stream.write_all(body.as_bytes()).await; // What is too large is refused before its end.
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    String::from_utf8(answer).unwrap()
}

async fn rest(mut stream: TcpStream) -> String {
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer).await; // What comes before a reset counts.
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

fn of(host: &str) -> String {
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
    let with = |t: &str| format!("Host: head.cluster\r\nAuthorization: Bearer {t}\r\n");
    assert!(
        ask(address, "/v1/snapshot", "Host: x\r\n")
            .await
            .starts_with("HTTP/1.1 401")
    );
    assert!(
        ask(address, "/metrics", &with("0123456789abcdee"))
            .await
            .starts_with("HTTP/1.1 401")
    );
    assert!(
        ask(address, "/v1/snapshot", &with("0123456789abcdef"))
            .await
            .starts_with("HTTP/1.1 200")
    );
    for scheme in ["bearer ", "BEARER  "] {
        let header = with("0123456789abcdef").replace("Bearer ", scheme);
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
            &with("0123456789abcdef").replace("Bearer ", "Basic ")
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
    let mut heard = String::new();
    let mut buffer = [0; 4096];
    for at in 1..=3 {
        let wanted = format!("\"at\":{at},");
        while !heard.contains(&wanted) {
            let n = stream.read(&mut buffer).await.unwrap();
            assert!(n > 0, "the stream ended after {heard}");
            heard.push_str(&String::from_utf8_lossy(&buffer[..n]));
        }
        shown
            .send(ServedSnapshot::new(Snapshot {
                at: Millis(at + 1),
                ..Snapshot::default()
            }))
            .unwrap();
    }
    assert!(
        heard.contains("text/event-stream") && heard.contains("event: snapshot"),
        "{heard}"
    );
}

#[tokio::test]
async fn a_report_becomes_an_observation_and_is_answered_with_directions() {
    let mut served = start(None, Some(AGENTS)).await;
    let answer = report(served.address, "n0", AGENTS, &of("n0")).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(
        answer.ends_with(r#"{"peers":[{"host":"n1","address":"10.0.0.1"}],"every_ms":2000}"#),
        "{answer}"
    );
    let Some(ControllerEvent::Observed(Observation {
        reporter,
        source,
        fact: DeviceFact::Host(said),
        ..
    })) = served.events.recv().await
    else {
        panic!("expected a report");
    };
    assert_eq!(
        (reporter.as_str(), source, said.slots),
        ("n0", ObservationSource::Agent, 2)
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
        let answer = report(address, "n0", token, &of("n0")).await;
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status}")),
            "{token}: {answer}"
        );
        assert!(
            status != 403 || answer.contains("may view, and report nothing"),
            "{answer}"
        );
    }
    let with = |t: &str| format!("Host: x\r\nAuthorization: Bearer {t}\r\n");
    for path in [
        "/v1/snapshot",
        "/v1/events",
        "/v1/topology",
        "/v1/epochs",
        "/metrics",
    ] {
        let answer = ask(address, path, &with(AGENTS)).await;
        assert!(
            answer.starts_with("HTTP/1.1 403") && answer.contains("may report, and view nothing"),
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

#[tokio::test]
async fn nobody_reports_without_the_agents_token_on_loopback_either() {
    for viewers in [None, Some(VIEWERS)] {
        let ServedApi {
            address,
            mut events,
            ..
        } = start(viewers, None).await;
        for token in ["", VIEWERS, AGENTS] {
            let answer = report(address, "n0", token, &of("n0")).await;
            assert!(
                answer.starts_with("HTTP/1.1 403") && answer.contains("--agent-token-file"),
                "{token}: {answer}"
            );
        }
        assert!(events.try_recv().is_err());
    }
    let agents = start(None, Some(AGENTS)).await;
    assert!(
        report(agents.address, "n0", "", &of("n0"))
            .await
            .starts_with("HTTP/1.1 401")
    );
    assert!(
        ask(agents.address, "/v1/topology", "Host: localhost\r\n")
            .await
            .starts_with("HTTP/1.1 200"),
        "whoever is here may view"
    );
    assert!(
        bind(
            "0.0.0.0:0".parse().unwrap(),
            &ApiTokens::new(None, Some(BearerToken::new(AGENTS))).unwrap()
        )
        .await
        .is_err()
    );
}

#[tokio::test]
async fn a_body_is_of_the_length_stated_before_it() {
    let ServedApi {
        address,
        mut events,
        ..
    } = start(None, Some(AGENTS)).await;
    let with = |more: &str| {
        format!(
            "Host: x\r\nContent-Type: application/json\r\nAuthorization: Bearer {AGENTS}\r\n{more}"
        )
    };
    let post = "POST /v1/hosts/n0/report";
    for coded in [
        "Transfer-Encoding: chunked\r\n",
        "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
    ] {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream
            .write_all(format!("{post} HTTP/1.1\r\n{}\r\n0\r\n\r\n", with(coded)).as_bytes())
            .await
            .unwrap();
        assert!(rest(stream).await.starts_with("HTTP/1.1 411"), "{coded}");
    }
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream
        .write_all(format!("{post} HTTP/1.1\r\n{}\r\n{{", with("Content-Length: 5\r\n")).as_bytes())
        .await
        .unwrap();
    stream.shutdown().await.unwrap();
    let answer = rest(stream).await;
    assert!(
        answer.starts_with("HTTP/1.1 400") && answer.contains("ended before"),
        "{answer}"
    );
    assert!(events.try_recv().is_err());
}

#[tokio::test]
async fn who_sends_no_whole_request_is_let_go_and_so_is_who_has_no_more() {
    let ServedApi { address, .. } = start(None, None).await;
    let mut open = Vec::new();
    for text in [
        "",
        "GET /healthz HTTP/1.1\r\nX-a: ",
        "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ] {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(text.as_bytes()).await.unwrap();
        open.push(tokio::spawn(tokio::time::timeout(LIMIT, rest(stream))));
    }
    for (stream, answer) in open.into_iter().zip(["", "", "HTTP/1.1 200"]) {
        let said = stream.await.unwrap().expect("an end");
        assert!(
            said.starts_with(answer) && (said.is_empty() == answer.is_empty()),
            "{said}"
        );
    }
}

/// Octets of memory this process has (proc(5), VmRSS).
fn resident() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let kilobytes = status
        .lines()
        .find_map(|l| l.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB"))
        .unwrap();
    1024 * kilobytes.parse::<usize>().unwrap()
}

const LARGE: usize = 16 << 20;
/// As many as one address may have where [`FILES`] may be open.
const VIEWERS_AT_ONCE: usize = FILES / 32;

#[tokio::test]
async fn viewers_share_one_copy_and_one_that_does_not_read_is_let_go() {
    let ServedApi { address, shown, .. } = start(None, None).await;
    let large = Snapshot {
        directory: "d".repeat(LARGE),
        ..Snapshot::default()
    };
    shown.send_replace(ServedSnapshot::new(large));
    let (one, other) = (shown.borrow().clone(), shown.borrow().clone());
    assert!(
        one.event().as_ptr() == other.event().as_ptr()
            && one.event().as_ptr_range().contains(&other.json().as_ptr())
    );
    let before = resident();
    let mut viewers = Vec::new();
    for _ in 0..VIEWERS_AT_ONCE {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream
            .write_all(b"GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
            .await
            .unwrap();
        assert!(stream.peek(&mut [0]).await.unwrap() > 0);
        viewers.push(stream);
    }
    let more = resident().saturating_sub(before);
    assert!(
        more < LARGE * VIEWERS_AT_ONCE / 4,
        "{more} octets for {VIEWERS_AT_ONCE} viewers"
    );
    let (mut stalled, mut reading) = (viewers.pop().unwrap(), viewers.pop().unwrap());
    // To write is all that shows the end of a connection to one that does not read.
    let ended = async {
        while stalled.write_all(b"G").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    let mut buffer = vec![0; 1 << 16];
    tokio::pin!(ended);
    let all = tokio::time::timeout(LIMIT, async {
        loop {
            tokio::select! {
                () = &mut ended => break,
                read = reading.read(&mut buffer) => assert!(read.unwrap() > 0, "who reads stays"),
            }
        }
    });
    all.await.expect("it is let go");
    shown.send_replace(ServedSnapshot::new(Snapshot {
        at: Millis(77),
        ..Snapshot::default()
    }));
    let mut heard = String::new();
    while !heard.contains("\"at\":77,") {
        let n = reading.read(&mut buffer).await.unwrap();
        assert!(n > 0, "who reads stays");
        heard.push_str(&String::from_utf8_lossy(&buffer[..n]));
    }
}

#[tokio::test]
async fn a_flood_of_half_requests_and_silent_handshakes_keeps_nobody_out() {
    let ServedApi {
        address,
        shown: _shown,
        ..
    } = start(None, None).await;
    let mut viewer = TcpStream::connect(address).await.unwrap();
    viewer
        .write_all(b"GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .await
        .unwrap();
    let mut buffer = [0; 4096];
    assert!(viewer.read(&mut buffer).await.unwrap() > 0);
    let mut flood = Vec::new();
    for n in 0..FILES {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let _ = stream.write_all(b"GET /healthz HTTP/1.1\r\nX-a: ").await;
        flood.push(stream);
        if n % 100 == 99 {
            assert!(
                ask(address, "/healthz", "Host: localhost\r\n")
                    .await
                    .starts_with("HTTP/1.1 200"),
                "after {n}"
            );
        }
    }
    let none = tokio::time::timeout(Duration::from_millis(200), viewer.read(&mut buffer)).await;
    assert!(none.is_err(), "the viewer stays: {none:?}");
}

#[tokio::test]
async fn what_is_no_report_is_refused_with_the_reason() {
    let ServedApi {
        address,
        mut events,
        ..
    } = start(None, Some(AGENTS)).await;
    let large = format!("{{\"host\":\"{}\"}}", "n".repeat(1 << 20));
    for (host, body, status, reason) in [
        ("n0", "{", 422, "EOF while parsing"),
        ("n0", r#"{"host":"n0"}"#, 422, "missing field `slots`"),
        (
            "n0",
            &of("n0").replace(r#""nics":["#, r#""nics":[{"alias":"lan0"}"#),
            422,
            "unknown field `alias`",
        ),
        (
            "n0",
            &of("n0\u{7}"),
            422,
            "host: characters that cannot be seen",
        ),
        ("n0", &large, 413, "at most 1048576 octets"),
        ("n1", &of("n0"), 403, "a report of it says it is \"n0\""),
        (
            "n0",
            &of("n0").replace(":2", ":0"),
            422,
            "slots: 0; expected 1 to 65536",
        ),
        (
            "n0",
            &of("n0").replace(":2", ":4294967295"),
            422,
            "slots: 4294967295; expected 1 to 65536",
        ),
        ("n7", &of("n7"), 403, "the inventory does not list it"),
    ] {
        let answer = report(address, host, AGENTS, body).await;
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status}")) && answer.contains(reason),
            "{reason}: {answer}"
        );
    }
    let plain = format!(
        "Host: localhost\r\nContent-Type: text/plain\r\nAuthorization: Bearer {AGENTS}\r\n"
    );
    assert!(
        send(address, "POST /v1/hosts/n0/report", &plain, &of("n0"))
            .await
            .starts_with("HTTP/1.1 415")
    );
    for part in ["says it is", "does not list it"] {
        let Some(ControllerEvent::ReportRefused { from, problem }) = events.recv().await else {
            panic!("expected a refusal")
        };
        assert!(from.is_loopback() && problem.contains(part), "{problem}");
    }
    assert!(events.try_recv().is_err(), "nothing else is taken");
}

#[tokio::test]
async fn a_host_that_reports_without_end_is_held_back_alone() {
    let ServedApi {
        address,
        mut events,
        ..
    } = start(None, Some(AGENTS)).await;
    for unfit in [
        r#"{"host":"n0"}"#.to_owned(),
        of("n0").replace(":2", ":0"),
        of("n1"),
    ]
    .iter()
    .cycle()
    .take(30)
    {
        assert!(
            report(address, "n0", AGENTS, unfit)
                .await
                .starts_with("HTTP/1.1 4"),
            "{unfit}"
        );
    }
    assert!(
        report(address, "n0", AGENTS, &of("n0"))
            .await
            .starts_with("HTTP/1.1 200"),
        "what others send in its name does not count"
    );
    let mut refused = false;
    for _ in 0..200 {
        let answer = report(address, "n0", AGENTS, &of("n0")).await;
        refused =
            answer.starts_with("HTTP/1.1 429") && answer.to_lowercase().contains("retry-after");
        if refused {
            break;
        }
        while events.try_recv().is_ok() {} // Somebody takes what is let through.
    }
    assert!(refused, "nobody reports two hundred times without a pause");
    assert!(
        report(address, "n1", AGENTS, &of("n1"))
            .await
            .starts_with("HTTP/1.1 200")
    );
}

#[tokio::test]
async fn a_host_that_reports_no_more_has_failed_once() {
    let (tell, mut events) = mpsc::channel(64);
    let (_rota, directions) = watch::channel(Arc::new(DirectionsByHost::from([(
        "n0".into(),
        ProbeDirections {
            peers: vec![],
            every_ms: 2_000,
        },
    )])));
    let intake = ReportIntake::new(SteadyClock::default(), tell, directions);
    let heard = std::time::Instant::now();
    intake.heard("n0", heard);
    let second = std::time::Duration::from_secs(1);
    assert_eq!(intake.silent(heard + 10 * second), []);
    assert_eq!(
        intake.silent(heard + 12 * second),
        [("n0".to_owned(), 11 * second)]
    );
    assert_eq!(intake.silent(heard + 60 * second), [], "told once");
    assert!(events.try_recv().is_err());
}
