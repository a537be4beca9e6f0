//! Floods of the API: clients connect and say nothing. The controller's own work goes on, and
//! nothing is lost.
use crate::common::HEDDLE;
use crate::common::daemon::{ControllerProcess, lldp_report, wait};
use crate::common::machine_share::MachinePart;
use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const TOKEN: &str = "agents-show-this-and-nobody-else";
/// Files the controller may open, at first and at most.
const FILES: (usize, usize) = (64, 512);
/// Two of these are more connections than the controller may open files.
const FLOOD: usize = 300;

const INVENTORY: &str = "switches: {s0: {address: \"127.0.0.1:9\"}}\nsnmp: \
                         {default: {version: 2c, community: x}}\nhosts: [n0, n1]\n";

/// A controller that may open few files, its folder, and the agents' token.
fn controller(dir: &Path, more: &[&str]) -> ControllerProcess {
    private_file("inventory.yaml", INVENTORY, dir);
    private_file("token", TOKEN, dir);
    let mut command = Command::new("sh");
    command.args([
        "-c",
        &format!(
            "ulimit -Sn {} && ulimit -Hn {} && exec \"$@\"",
            FILES.0, FILES.1
        ),
        "sh",
        HEDDLE,
    ]);
    command
        .args(["controller", "--listen", "127.0.0.1:0", "--inventory"])
        .arg(dir.join("inventory.yaml"));
    command
        .arg("--dir")
        .arg(dir.join("shared"))
        .arg("--agent-token-file")
        .arg(dir.join("token"))
        .args(more);
    ControllerProcess::run(command)
}

fn private_file(name: &str, text: &str, dir: &Path) {
    fs::write(dir.join(name), text).unwrap();
    fs::set_permissions(dir.join(name), fs::Permissions::from_mode(0o600)).unwrap();
}

/// Connections that send a little and wait. They connect again when the controller closes them, and
/// they end when this is dropped.
struct ConnectionFlood {
    stop: Arc<AtomicBool>,
    /// The number of connections that the controller closed.
    sent_away: Arc<AtomicUsize>,
    thread: Option<JoinHandle<()>>,
}

impl ConnectionFlood {
    fn started(output: &'static [u8], to: SocketAddr) -> ConnectionFlood {
        let (stop, sent_away) = (
            Arc::new(AtomicBool::new(false)),
            Arc::new(AtomicUsize::new(0)),
        );
        let (flag, count) = (Arc::clone(&stop), Arc::clone(&sent_away));
        let thread = std::thread::spawn(move || {
            let mut open: Vec<TcpStream> = Vec::new();
            while !flag.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(1));
                let before = open.len();
                open.retain_mut(is_open);
                count.fetch_add(before - open.len(), Ordering::Relaxed);
                while open.len() < FLOOD {
                    let Ok(mut stream) = TcpStream::connect_timeout(&to, Duration::from_secs(1))
                    else {
                        break;
                    };
                    stream.set_nonblocking(true).unwrap();
                    let _ = stream.write(output);
                    open.push(stream);
                    // Some thousands a second are flood enough.
                    std::thread::sleep(Duration::from_micros(200));
                }
            }
        });
        ConnectionFlood {
            stop,
            sent_away,
            thread: Some(thread),
        }
    }

    /// Waits until the controller has closed more connections than the flood has.
    fn rages(&self) {
        wait("true", || {
            (self.sent_away.load(Ordering::Relaxed) > 2 * FLOOD).to_string()
        });
    }
}

impl Drop for ConnectionFlood {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

fn is_open(stream: &mut TcpStream) -> bool {
    matches!(stream.read(&mut [0; 64]), Err(e) if e.kind() == ErrorKind::WouldBlock)
}

/// The answer to a request. A client at the flood's address may lose its connection once or twice,
/// and asks again.
fn asked(api: SocketAddr, request: &str, headers: &str, body: &str) -> String {
    let ask = || {
        let mut stream = TcpStream::connect(api)?;
        stream.set_read_timeout(Some(Duration::from_secs(20)))?;
        write!(
            stream,
            "{request} HTTP/1.1\r\nHost: localhost\r\n{headers}Content-Length: {}\r\nConnection: \
             close\r\n\r\n{body}",
            body.len()
        )?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).map(|_| answer)
    };
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        match ask() {
            Ok(answer) if !answer.is_empty() => return answer,
            lost => assert!(Instant::now() < end, "{request}: {lost:?}"),
        }
    }
}

fn agents_report(daemon: &ControllerProcess) {
    for (host, port) in [("n0", 1), ("n1", 2)] {
        let headers =
            format!("Content-Type: application/json\r\nAuthorization: Bearer {TOKEN}\r\n");
        let answer = asked(
            daemon.api,
            &format!("POST /v1/hosts/{host}/report"),
            &headers,
            &lldp_report(host, port),
        );
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
}

fn files(daemon: &ControllerProcess) -> usize {
    fs::read_dir(format!("/proc/{}/fd", daemon.id()))
        .unwrap()
        .count()
}

/// Waits until at most this many files are open.
fn recovers(daemon: &ControllerProcess, calm: usize) {
    wait("true", || (files(daemon) <= calm).to_string());
}

#[test]
fn under_a_flood_of_half_requests_the_controller_reports_reloads_and_publishes() {
    let _share = MachinePart::Whole.take();
    let dir = tempfile::tempdir().unwrap();
    let daemon = controller(dir.path(), &[]);
    let limits = fs::read_to_string(format!("/proc/{}/limits", daemon.id())).unwrap();
    let limit = limits
        .lines()
        .find(|l| l.starts_with("Max open files"))
        .unwrap();
    assert_eq!(
        limit
            .split_whitespace()
            .filter(|w| *w == FILES.1.to_string())
            .count(),
        2,
        "all it may open: {limit}"
    );
    let calm = files(&daemon) + 2;

    let flood = [
        ConnectionFlood::started(b"GET /healthz HTTP/1.1\r\nX-a: ", daemon.api),
        ConnectionFlood::started(b"", daemon.api),
    ];
    flood.iter().for_each(ConnectionFlood::rages);
    assert!(asked(daemon.api, "GET /healthz", "", "").starts_with("HTTP/1.1 200"));
    assert!(
        files(&daemon) < FILES.1 * 3 / 4,
        "{} files are open",
        files(&daemon)
    );
    agents_report(&daemon);
    let inventory = dir.path().join("inventory.yaml");
    fs::write(
        &inventory,
        INVENTORY.replace("s0:", "s7: {address: \"127.0.0.2:9\"}, s0:"),
    )
    .unwrap();
    daemon.signal("-HUP");
    daemon.wait_for_log("inventory read again: 2 switches, 2 hosts");
    daemon.wait_for_log("epoch 1 published");
    assert!(dir.path().join("shared/current").exists());

    drop(flood);
    recovers(&daemon, calm + 2);
    assert!(
        daemon
            .stop()
            .contains("replaces the one that has waited longest")
    );
}

#[test]
fn silent_handshakes_keep_nobody_out() {
    let _share = MachinePart::Whole.take();
    let dir = tempfile::tempdir().unwrap();
    let key =
        rcgen::generate_simple_self_signed(vec!["localhost".to_owned(), "127.0.0.1".to_owned()])
            .unwrap();
    let [cert, secret] =
        ["cert.pem", "key.pem"].map(|name| dir.path().join(name).display().to_string());
    fs::write(&cert, key.cert.pem()).unwrap();
    fs::write(&secret, key.signing_key.serialize_pem()).unwrap();
    let daemon = controller(dir.path(), &["--tls-cert", &cert, "--tls-key", &secret]);
    let calm = files(&daemon) + 2;
    let trusted = tls::authorities::read(Path::new(&cert)).unwrap();
    let trusting = tls::authorities::trusting(&trusted);
    let client =
        ureq::Agent::new_with_config(ureq::Agent::config_builder().tls_config(trusting).build());
    let healthz = || {
        client
            .get(format!("https://{}/healthz", daemon.api))
            .call()
            .and_then(|mut a| a.body_mut().read_to_string())
    };
    assert_eq!(healthz().unwrap(), "ok\n");

    let flood = [
        ConnectionFlood::started(b"", daemon.api),
        ConnectionFlood::started(b"\x16", daemon.api),
    ];
    flood.iter().for_each(ConnectionFlood::rages);
    // This client shares its address with the flood, so the controller may close a handshake or two
    // of it.
    wait("ok", || healthz().unwrap_or_else(|e| e.to_string()));
    fs::write(
        dir.path().join("inventory.yaml"),
        INVENTORY.replace("[n0, n1]", "[n0]"),
    )
    .unwrap();
    daemon.signal("-HUP");
    daemon.wait_for_log("inventory read again: 1 switch, 1 host");

    drop(flood);
    recovers(&daemon, calm);
    daemon.stop();
}
