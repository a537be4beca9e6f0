//! The event stream over real TCP: pictures, broken connections, refusals.
#[allow(
    dead_code,
    reason = "each test file needs its own part of the pictures"
)]
mod fixture;

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};
use tui::{AppMessage, ControllerAccess};

/// A server that gives each connection one of `answers` and keeps the requests.
fn serve(answers: Vec<String>) -> (String, mpsc::Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (asked, requests) = mpsc::channel();
    thread::spawn(move || {
        for answer in answers {
            let (mut stream, _) = listener.accept().unwrap();
            asked.send(request(&stream)).unwrap();
            stream.write_all(answer.as_bytes()).unwrap();
        }
    });
    (url, requests)
}

fn request(stream: &TcpStream) -> String {
    let lines = BufReader::new(stream).lines().map(|l| l.unwrap());
    lines
        .take_while(|l| !l.is_empty())
        .collect::<Vec<_>>()
        .join("\n")
}

fn access(url: &str, token: Option<&str>) -> ControllerAccess {
    ControllerAccess {
        url: url.to_owned(),
        token: token.map(str::to_owned),
        authorities: Vec::new(),
    }
}

/// The first `count` messages of `url`, except those that report the wait for the server.
fn follow(url: &str, token: Option<&str>, count: usize) -> Vec<AppMessage> {
    let (sender, messages) = mpsc::channel();
    let (controller, stop) = (access(url, token), Arc::new(AtomicBool::new(false)));
    let flag = stop.clone();
    let reader = thread::spawn(move || controller.follow(&flag, |m| sender.send(m).is_ok()));
    let end = Instant::now() + Duration::from_secs(60);
    let seen = std::iter::repeat_with(|| {
        messages
            .recv_timeout(end.saturating_duration_since(Instant::now()))
            .expect("a message")
    })
    .filter(|m| !matches!(m, AppMessage::Lost(why) if why.contains("timeout")))
    .take(count)
    .collect();
    stop.store(true, Ordering::Relaxed);
    drop(messages);
    reader.join().unwrap();
    seen
}

fn stream(events: &str) -> String {
    let chunk = format!("{:x}\r\n{events}\r\n", events.len());
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: \
         chunked\r\n\r\n{chunk}0\r\n\r\n"
    )
}

fn event(snapshot: &api::Snapshot) -> String {
    format!(
        "event: snapshot\ndata: {}\n\n",
        serde_json::to_string(snapshot).unwrap()
    )
}

fn name(message: &AppMessage) -> String {
    match message {
        AppMessage::Picture(s) => format!("picture {}", s.epochs.len()),
        AppMessage::Lost(why) => format!("lost: {why}"),
        other => format!("{other:?}"),
    }
}

#[test]
fn pictures_come_and_a_closed_connection_is_opened_again() {
    let (full, mut bare) = (fixture::cluster(), fixture::cluster());
    bare.epochs.clear();
    let (url, requests) = serve(vec![
        stream(&(event(&full) + ": alive\n\n" + &event(&bare))),
        stream(&event(&full)),
    ]);
    let seen: Vec<String> = follow(&url, Some("s3cret"), 4).iter().map(name).collect();
    assert_eq!(
        (seen[0].as_str(), seen[1].as_str(), seen[3].as_str()),
        ("picture 3", "picture 0", "picture 3")
    );
    assert!(seen[2].contains("closed the connection"), "{}", seen[2]);
    let asked = requests.recv().unwrap();
    assert!(asked.starts_with("GET /v1/events HTTP/1.1"), "{asked}");
    assert!(
        asked
            .to_lowercase()
            .contains("authorization: bearer s3cret"),
        "{asked}"
    );
}

#[test]
fn one_snapshot_can_be_asked_for() {
    let json = serde_json::to_string(&fixture::hostile()).unwrap();
    let whole = format!(
        "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{json}",
        json.len()
    );
    let refused = "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n".to_owned();
    let (url, requests) = serve(vec![whole, refused]);
    let snapshot = access(&url, Some("s3cret")).snapshot().unwrap();
    assert_eq!(snapshot.topology.root_bridge.as_deref(), Some("s␛[2J0"));
    let asked = requests.recv().unwrap();
    assert!(asked.starts_with("GET /v1/snapshot HTTP/1.1"), "{asked}");
    let problem = access(&url, None).snapshot().unwrap_err();
    assert!(problem.contains("HEDDLE_TOKEN_FILE"), "{problem}");
}

#[test]
fn what_arrives_is_clean() {
    let (url, _requests) = serve(vec![stream(&event(&fixture::hostile()))]);
    let AppMessage::Picture(snapshot) = follow(&url, None, 1).remove(0) else {
        panic!("no picture")
    };
    assert_eq!(snapshot.topology.root_bridge.as_deref(), Some("s␛[2J0"));
}

#[test]
fn refusals_and_nonsense_say_what_to_do() {
    let refused = "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n".to_owned();
    let lost = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n".to_owned();
    let (url, _requests) = serve(vec![
        refused,
        lost,
        stream("event: snapshot\ndata: {\"at\":\"noon\"}\n\n"),
        "SSH-2.0-OpenSSH\r\n".to_owned(),
        "HTTP/1.1 403 Forbidden\r\nContent-Length: 12\r\n\r\nno viewing\r\n".to_owned(),
    ]);
    let seen: Vec<String> = follow(&url, None, 5).iter().map(name).collect();
    assert!(seen[0].contains("wants a token; "), "{seen:?}");
    assert!(seen[4].ends_with("status 403: no viewing"), "{seen:?}");
    assert!(seen[1].contains("is this a heddle controller?"), "{seen:?}");
    assert!(seen[2].contains("snapshot not understood"), "{seen:?}");
    assert!(seen.iter().all(|s| s.starts_with("lost: ")), "{seen:?}");
}

#[test]
fn nobody_there_is_lost_not_an_end() {
    // The near end of a connection: nobody listens there, and no other program can take the port.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let held = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let seen: Vec<String> = follow(&format!("http://{}", held.local_addr().unwrap()), None, 2)
        .iter()
        .map(name)
        .collect();
    assert!(seen.iter().all(|s| s.starts_with("lost: ")), "{seen:?}");
}
