//! Connections that take long, send little or read nothing.
use super::*;

#[tokio::test]
async fn a_body_is_of_the_length_stated_before_it() {
    let ServedApi {
        address,
        mut events,
        ..
    } = start(None, Some(AGENTS)).await;
    let post = "POST /v1/hosts/n0/report";
    for coded in [
        "Transfer-Encoding: chunked\r\n",
        "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
    ] {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream
            .write_all(
                format!("{post} HTTP/1.1\r\n{}\r\n0\r\n\r\n", headers_with(coded)).as_bytes(),
            )
            .await
            .unwrap();
        assert!(rest(stream).await.starts_with("HTTP/1.1 411"), "{coded}");
    }
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream
        .write_all(
            format!(
                "{post} HTTP/1.1\r\n{}\r\n{{",
                headers_with("Content-Length: 5\r\n")
            )
            .as_bytes(),
        )
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

fn headers_with(more: &str) -> String {
    format!("Host: x\r\nContent-Type: application/json\r\nAuthorization: Bearer {AGENTS}\r\n{more}")
}

#[tokio::test]
async fn a_client_without_a_whole_request_or_a_further_one_is_disconnected() {
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
        let output = stream.await.unwrap().expect("an end");
        assert!(
            output.starts_with(answer) && (output.is_empty() == answer.is_empty()),
            "{output}"
        );
    }
}

/// The octets of memory of this process (proc(5), VmRSS).
fn resident() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let kilobytes = status
        .lines()
        .find_map(|l| l.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB"))
        .unwrap();
    1024 * kilobytes.parse::<usize>().unwrap()
}

const LARGE: usize = 16 << 20;
/// The most connections of one address, with [`FILES`] open files.
const VIEWERS_AT_ONCE: usize = FILES / 32;

#[tokio::test]
async fn viewers_share_one_copy_and_one_that_does_not_read_is_let_go() {
    let ServedApi { address, shown, .. } = start(None, None).await;
    let large = Snapshot {
        directory: "d".repeat(LARGE),
        ..Snapshot::default()
    };
    shown.show(ServedSnapshot::new(large));
    let (one, other) = (shown.shown(), shown.shown());
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
    // A client that does not read notices the end of its connection only by writing.
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
                read = reading.read(&mut buffer) => assert!(read.unwrap() > 0, "it stays"),
            }
        }
    });
    all.await.expect("it is let go");
    shown.show(ServedSnapshot::new(Snapshot {
        at: Millis(77),
        ..Snapshot::default()
    }));
    let mut received = String::new();
    while !received.contains("\"at\":77,") {
        let n = reading.read(&mut buffer).await.unwrap();
        assert!(n > 0, "a viewer that reads stays connected");
        received.push_str(&String::from_utf8_lossy(&buffer[..n]));
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
