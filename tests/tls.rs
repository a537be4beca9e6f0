//! HTTPS between controllers, viewers, agents and strangers, with authorities made here.
use crate::common::HEDDLE;
use crate::common::daemon::{ControllerProcess, wait};
use crate::common::killed::KilledAtEnd;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};
use tui::AppMessage;

/// An authority in a folder of its own, with the certificate of a controller on loopback.
struct TestAuthority {
    ca: PathBuf,
    cert: String,
    key: String,
}

impl TestAuthority {
    fn new(dir: &Path, name: &str) -> TestAuthority {
        let mut params = CertificateParams::new(vec![]).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let ca = dir.join(name);
        fs::write(&ca, issuer.pem()).unwrap();
        let key = KeyPair::generate().unwrap();
        let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
        let cert = CertificateParams::new(names)
            .unwrap()
            .signed_by(&key, &issuer)
            .unwrap();
        TestAuthority {
            ca,
            cert: cert.pem(),
            key: key.serialize_pem(),
        }
    }

    /// Gives the controller this authority's certificate.
    fn hand(&self, dir: &Path) {
        fs::write(dir.join("cert.pem"), &self.cert).unwrap();
        fs::write(dir.join("key.pem"), &self.key).unwrap();
    }
}

/// An inventory of one switch, which never answers.
fn inventory(dir: &Path) -> PathBuf {
    let path = dir.join("inventory.yaml");
    fs::write(
        &path,
        "switches: {s0: {address: \"127.0.0.1:9\"}}\n\
         snmp: {default: {version: 2c, community: x}}\nhosts: [n0]\n",
    )
    .unwrap();
    path
}

/// The first thing that a viewer sees; that it had to wait does not count.
fn view(url: &str, ca: Option<&Path>) -> AppMessage {
    let (tell, seen) = mpsc::channel();
    let stop = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stop);
    let controller = tui::ControllerAccess {
        url: url.to_owned(),
        token: None,
        authorities: ca
            .map(|ca| tls::authorities::read(ca).unwrap())
            .unwrap_or_default(),
    };
    std::thread::spawn(move || controller.follow(&flag, |m| tell.send(m).is_ok()));
    let end = Instant::now() + Duration::from_secs(60);
    let first = loop {
        match seen
            .recv_timeout(end.saturating_duration_since(Instant::now()))
            .expect("a picture or a reason")
        {
            AppMessage::Lost(why) if why.contains("timeout") => {}
            answer => break answer,
        }
    };
    stop.store(true, Ordering::Relaxed);
    first
}

fn lost(message: AppMessage) -> String {
    let AppMessage::Lost(why) = message else {
        panic!("expected a reason, found {message:?}")
    };
    why
}

#[test]
fn a_viewer_trusts_the_authority_it_is_given_and_no_other() {
    let dir = tempfile::tempdir().unwrap();
    let [ours, theirs] =
        ["ours.pem", "theirs.pem"].map(|name| TestAuthority::new(dir.path(), name));
    ours.hand(dir.path());
    let inventory = inventory(dir.path());
    let [cert, key] = ["cert.pem", "key.pem"].map(|f| dir.path().join(f).display().to_string());
    let daemon = ControllerProcess::start(
        &inventory,
        &dir.path().join("shared"),
        &["--tls-cert", &cert, "--tls-key", &key],
    );
    let https = format!("https://{}", daemon.api);

    assert!(matches!(
        view(&https, Some(&ours.ca)),
        AppMessage::Picture(_)
    ));
    let why = lost(view(&https, Some(&theirs.ca)));
    assert!(why.contains("not by an authority of --ca FILE"), "{why}");
    let why = lost(view(&https, None));
    assert!(why.contains("not by an authority of --ca FILE"), "{why}");
    let why = lost(view(&format!("http://{}", daemon.api), None));
    assert!(why.contains("wants https:// and --ca FILE"), "{why}");

    theirs.hand(dir.path());
    daemon.signal("-HUP");
    daemon.wait_for_log("inventory read again");
    assert!(
        matches!(view(&https, Some(&theirs.ca)), AppMessage::Picture(_)),
        "read again"
    );
    fs::write(dir.path().join("key.pem"), &ours.key).unwrap();
    daemon.signal("-HUP");
    daemon.wait_for_log("the certificate read before stays in use");
    assert!(
        matches!(view(&https, Some(&theirs.ca)), AppMessage::Picture(_)),
        "a key that does not fit changes nothing"
    );
    let output = daemon.stop();
    assert!(
        output.contains("API on https://") && !output.contains("PRIVATE KEY"),
        "{output}"
    );
}

#[test]
fn a_viewer_that_wants_tls_of_a_controller_without_is_reported() {
    let dir = tempfile::tempdir().unwrap();
    let ours = TestAuthority::new(dir.path(), "ours.pem");
    let inventory = inventory(dir.path());
    let daemon = ControllerProcess::start(&inventory, &dir.path().join("shared"), &[]);
    let why = lost(view(&format!("https://{}", daemon.api), Some(&ours.ca)));
    assert!(
        why.contains("it speaks no TLS: connect with http://"),
        "{why}"
    );
    daemon.stop();
}

#[test]
fn bad_certificates_are_reported_with_their_file_and_nothing_is_started() {
    let dir = tempfile::tempdir().unwrap();
    let [ours, theirs] =
        ["ours.pem", "theirs.pem"].map(|name| TestAuthority::new(dir.path(), name));
    let inventory = inventory(dir.path());
    for (cert, key, problem) in [
        (ours.cert.as_str(), theirs.key.as_str(), "key.pem: "),
        ("", &ours.key, "cert.pem: no certificate in it"),
        (
            &ours.cert,
            "hunter22",
            "key.pem: no item of that kind in it",
        ),
        (&ours.key, &ours.key, "cert.pem: no certificate in it"),
    ] {
        fs::write(dir.path().join("cert.pem"), cert).unwrap();
        fs::write(dir.path().join("key.pem"), key).unwrap();
        let mut command = Command::new(HEDDLE);
        command
            .args(["controller", "--listen", "127.0.0.1:0", "--inventory"])
            .arg(&inventory)
            .arg("--dir")
            .arg(dir.path().join("shared"));
        command
            .arg("--tls-cert")
            .arg(dir.path().join("cert.pem"))
            .arg("--tls-key")
            .arg(dir.path().join("key.pem"));
        let output = command.output().unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(
            output.status.code() == Some(64)
                && text.contains(problem)
                && !text.contains("hunter22"),
            "{problem}: {text}"
        );
        assert!(!dir.path().join("shared").exists());
    }
}

/// An agent that asks nothing of its host.
fn agent(api: SocketAddr, token: &str, ca: &Path, log: &Path) -> KilledAtEnd {
    let mut command = Command::new(HEDDLE);
    command.args([
        "agent",
        "--name",
        "n0",
        "--interface",
        "none0",
        "--no-announce",
        "--no-probe",
        "--token-file",
        token,
    ]);
    command
        .args(["--controller", &format!("https://{api}"), "--ca"])
        .arg(ca)
        .stderr(fs::File::create(log).unwrap());
    KilledAtEnd(command.spawn().expect("a program that was built"))
}

#[test]
fn an_agent_trusts_the_authority_it_is_given_and_no_other() {
    let dir = tempfile::tempdir().unwrap();
    let [ours, theirs] =
        ["ours.pem", "theirs.pem"].map(|name| TestAuthority::new(dir.path(), name));
    ours.hand(dir.path());
    let inventory = inventory(dir.path());
    let file = |name: &str| dir.path().join(name).display().to_string();
    let [journal, token] = ["journal", "token"].map(file);
    fs::write(&token, "0123456789abcdef").unwrap();
    let [cert, key] = ["cert.pem", "key.pem"].map(file);
    let more = [
        "--tls-cert",
        &cert,
        "--tls-key",
        &key,
        "--journal",
        &journal,
        "--agent-token-file",
        &token,
    ];
    let daemon = ControllerProcess::start(&inventory, &dir.path().join("shared"), &more);
    let log = dir.path().join("agent.log");
    let stranger = agent(daemon.api, &token, &theirs.ca, &log);
    wait("not by an authority of --ca FILE", || {
        fs::read_to_string(&log).unwrap()
    });
    drop(stranger);
    let journal = || fs::read_to_string(&journal).unwrap();
    assert!(!journal().contains("\"reporter\":\"n0\""));
    let _trusting = agent(daemon.api, &token, &ours.ca, &log);
    wait("\"reporter\":\"n0\"", journal);
    daemon.stop();
}
