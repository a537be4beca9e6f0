use super::*;
use inventory::host_report::ProbeTarget;
use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread::{JoinHandle, spawn};

const TOKEN: &str = "a-secret-of-enough-letters";

/// A server that sends one of `answers` for each request, and returns the requests.
fn server(listener: TcpListener, answers: Vec<&'static str>) -> JoinHandle<Vec<String>> {
    spawn(move || {
        answers
            .into_iter()
            .map(|answer| serve(&listener, answer))
            .collect()
    })
}

fn serve(listener: &TcpListener, answer: &str) -> String {
    let (mut stream, asked) = request(listener);
    stream.write_all(answer.as_bytes()).unwrap();
    asked
}

/// A whole request, and the stream for its answer.
fn request(listener: &TcpListener) -> (TcpStream, String) {
    let (mut stream, _) = listener.accept().unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(10)))
        .unwrap();
    let mut asked = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&asked).into_owned();
        let whole = text.split_once("\r\n\r\n").filter(|(head, body)| {
            let length = head.lines().find_map(|l| {
                l.to_ascii_lowercase()
                    .strip_prefix("content-length: ")
                    .map(str::to_owned)
            });
            length.map_or_else(
                || body.ends_with("0\r\n\r\n"),
                |n| body.len() >= n.parse().unwrap(),
            )
        });
        if whole.is_some() {
            return (stream, text);
        }
        let n = stream.read(&mut buffer).unwrap();
        assert!(n > 0, "the agent ended within {text}");
        asked.extend_from_slice(&buffer[..n]);
    }
}

const AWAY: &str =
    "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
const TAKEN: &str = "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n";

fn controller(address: SocketAddr) -> ControllerClient {
    ControllerClient::new(
        &format!("http://{address}/"),
        "n0",
        Some(AgentToken(TOKEN.to_owned())),
        None,
    )
    .unwrap()
}

fn report(slots: u32) -> Arc<HostReport> {
    Arc::new(HostReport {
        host: "n0".into(),
        slots,
        ..HostReport::default()
    })
}

#[test]
fn a_report_goes_with_the_token_and_directions_come_back() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let way = controller(listener.local_addr().unwrap());
    let directions = "HTTP/1.1 200 OK\r\nContent-Length: 61\r\nConnection: close\r\n\r\n\
                      {\"peers\":[{\"host\":\"n1\",\"address\":\"10.0.0.2\"}],\"every_ms\":500}";
    let asked = server(listener, vec![directions, TAKEN]);
    let peer = ProbeTarget {
        host: "n1".into(),
        address: [10, 0, 0, 2].into(),
    };
    assert_eq!(
        way.post(&report(4)),
        Ok(Some(ProbeDirections {
            peers: vec![peer],
            every_ms: 500,
            ..ProbeDirections::default()
        }))
    );
    assert_eq!(way.post(&report(4)), Ok(None));
    let asked = &asked.join().unwrap()[0];
    let (head, body) = asked.split_once("\r\n\r\n").unwrap();
    assert!(
        head.starts_with("POST /v1/hosts/n0/report HTTP/1.1\r\n"),
        "{head}"
    );
    assert!(
        head.to_ascii_lowercase()
            .contains(&format!("authorization: bearer {TOKEN}")),
        "{head}"
    );
    assert_eq!(
        serde_json::from_str::<HostReport>(body).unwrap(),
        *report(4)
    );
}

#[test]
fn a_refusal_is_reported_in_words_and_without_the_token() {
    for (answer, expected) in [
        (
            "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n",
            "wants the agents' token",
        ),
        (
            "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",
            "is it a heddle controller?",
        ),
        (
            "HTTP/1.1 403 Forbidden\r\nContent-Length: 12\r\n\r\nwho\x1b[2J is n0?",
            "status 403: who [2J is n",
        ),
        (
            "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n",
            "status 503",
        ),
        (
            "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:9/\r\nContent-Length: 0\r\n\r\n",
            "status 302",
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]",
            "no directions",
        ),
        ("nonsense\r\n\r\n", "http"),
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let way = controller(listener.local_addr().unwrap());
        let asked = server(listener, vec![answer]);
        let problem = way.post(&report(1)).unwrap_err();
        assert!(
            problem.contains(expected) && !problem.contains(TOKEN),
            "{problem}"
        );
        asked.join().unwrap();
    }
    assert!(!format!("{:?}", controller(([127, 0, 0, 1], 9).into())).contains(TOKEN));
}

#[tokio::test]
async fn while_the_controller_is_away_only_the_newest_report_waits() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (state, reports) = watch::channel(report(0));
    let (directions, _) = watch::channel(ProbeDirections::default());
    let running = tokio::spawn(controller(listener.local_addr().unwrap()).run(reports, directions));
    let asked = async || {
        let listener = listener.try_clone().unwrap();
        tokio::task::spawn_blocking(move || request(&listener))
            .await
            .unwrap()
    };
    state.send_replace(report(1));
    let (mut stream, first) = asked().await;
    assert!(first.contains("\"slots\":1,"), "{first}");
    (2..=50).for_each(|slots| drop(state.send_replace(report(slots))));
    stream.write_all(AWAY.as_bytes()).unwrap();
    let (mut stream, second) = asked().await;
    assert!(second.contains("\"slots\":50,"), "{second}");
    stream.write_all(TAKEN.as_bytes()).unwrap();
    drop(state);
    running.await.unwrap();
}

#[test]
fn a_reason_that_comes_back_is_reported_once_and_many_are_not_reported_without_end() {
    let mut away = ControllerOutage::new();
    assert_eq!(
        ["timeout", "refused", "timeout", "refused"].map(|reason| away.is_news(reason)),
        [true, true, false, false]
    );
    assert_eq!(
        (0..1_000).filter(|n| away.is_news(&n.to_string())).count(),
        REASONS - 2
    );
}

#[test]
fn what_cannot_work_is_reported_before_anything_starts() {
    let new = |address: &str, host: &str| {
        ControllerClient::new(address, host, None, None)
            .map(drop)
            .map_err(|e| e.to_string())
    };
    for address in ["head:7171", "ftp://head", "http://", "head"] {
        assert!(
            new(address, "n0").unwrap_err().contains("expected http://"),
            "{address}"
        );
    }
    for host in ["", "a/../b", "n0 ", "n\u{202e}0", &"n".repeat(300)] {
        assert!(
            new("https://head:7171", host)
                .unwrap_err()
                .contains("--name"),
            "{host}"
        );
    }
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    fs::write(&file, "not a certificate\n").unwrap();
    assert!(
        ControllerClient::new("https://head", "n0", None, Some(&file))
            .unwrap_err()
            .to_string()
            .contains("certificates as PEM")
    );
    for text in ["", "two words", "\u{e9}\n"] {
        fs::write(&file, text).unwrap();
        assert!(
            AgentToken::read(&file)
                .unwrap_err()
                .to_string()
                .contains("printable ASCII"),
            "{text}"
        );
    }
    fs::write(&file, format!("{TOKEN}\n")).unwrap();
    assert_eq!(AgentToken::read(&file).unwrap().0, TOKEN);
}

#[test]
fn pauses_differ_and_stay_near() {
    let pauses: std::collections::BTreeSet<Duration> = (0..100)
        .map(|_| with_jitter(Duration::from_secs(4)))
        .collect();
    assert!(
        pauses.len() > 50 && pauses.iter().all(|p| (3.0..5.0).contains(&p.as_secs_f64())),
        "{pauses:?}"
    );
}
