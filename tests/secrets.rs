//! No secret shows anywhere. The output of a controller with every kind of secret, working and
//! failing, is searched for the secrets' texts.
use crate::common::HEDDLE;
use crate::common::daemon::{ControllerProcess, lldp_report, wait};
use crate::common::killed::KilledAtEnd;
use crate::common::until::until;
use controller::engine::{ControllerEngine, ControllerOptions};
use inventory::inventory_file::Inventory;
use serde_json::Value;
use std::fs;
use std::net::UdpSocket;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

const COMMUNITY: &str = "c0mmunity-Of-s0";
const WRONG_COMMUNITY: &str = "c0mmunity-gu3ssed";
const AUTH: &str = "auth-Phrase-0f-s1";
const PRIV: &str = "priv-Phrase-0f-s1";
const WRONG_AUTH: &str = "auth-Phrase-gu3ssed";
const WHOLE: &str = "whole-T0ken-0123456789abcdef";
const AGENTS: &str = "agents-T0ken-0123456789abcdef";
const SECRETS: [&str; 7] = [
    COMMUNITY,
    WRONG_COMMUNITY,
    AUTH,
    PRIV,
    WRONG_AUTH,
    WHOLE,
    AGENTS,
];

/// net-snmp's agent on four addresses, killed when dropped.
struct SecretsSnmpd(KilledAtEnd);

impl SecretsSnmpd {
    /// Starts it at a port that all four addresses have free. If another process takes the port
    /// first, snmpd ends and is started at another port.
    fn start(folder: &Path) -> (SecretsSnmpd, u16) {
        (0..5)
            .find_map(|_| {
                let port = UdpSocket::bind("127.0.0.1:0")
                    .unwrap()
                    .local_addr()
                    .unwrap()
                    .port();
                let mut snmpd = SecretsSnmpd::at(folder, port);
                snmpd.listens(port).then_some((snmpd, port))
            })
            .expect("snmpd ended at five ports")
    }

    /// Waits until it listens at the last of its addresses, 127.0.0.4 (proc(5), /proc/net/udp).
    /// False if it ends before.
    fn listens(&mut self, port: u16) -> bool {
        until("snmpd listens or ends", || {
            let has_ended = self.0.try_wait().unwrap().is_some();
            let listens = fs::read_to_string("/proc/net/udp")
                .unwrap()
                .contains(&format!(" 0400007F:{port:04X} "));
            (has_ended || listens).then_some(!has_ended)
        })
    }

    fn at(folder: &Path, port: u16) -> SecretsSnmpd {
        let conf = format!(
            "rocommunity {COMMUNITY}\nsysName s0\ncreateUser mon SHA-256 {AUTH} AES \
             {PRIV}\nrouser mon priv\n"
        );
        fs::create_dir_all(folder.join("state")).unwrap();
        fs::write(folder.join("snmpd.conf"), conf).unwrap();
        let program = ["/usr/sbin/snmpd", "/usr/local/sbin/snmpd", "/sbin/snmpd"]
            .into_iter()
            .find(|p| Path::new(p).exists());
        let mut command = Command::new(
            program
                .expect("no snmpd on this machine; this test asks a real one: apt install snmpd"),
        );
        command
            .args(["-f", "-C", "-c"])
            .arg(folder.join("snmpd.conf"))
            .arg("-Lf")
            .arg(folder.join("log"))
            .args(["-I", "-smux"]);
        command.args((1..=4).map(|n| format!("udp:127.0.0.{n}:{port}")));
        command
            .env("MIBS", "")
            .env("SNMP_PERSISTENT_DIR", folder.join("state"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        SecretsSnmpd(KilledAtEnd(command.spawn().unwrap()))
    }
}

fn secret_file(folder: &Path, name: &str, text: &str, mode: u32) -> PathBuf {
    let path = folder.join(name);
    fs::write(&path, format!("{text}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    path
}

/// s0 and s1 accept the controller, s2 and s3 refuse it. The inventory uses every way to keep a
/// secret.
fn inventory(folder: &Path, port: u16) -> String {
    let community = secret_file(folder, "community", COMMUNITY, 0o644);
    format!(
        "switches:
  s0: {{address: 127.0.0.1:{port}, snmp: file}}
  s1: {{address: 127.0.0.2:{port}, snmp: user}}
  s2: {{address: 127.0.0.3:{port}, snmp: inline}}
  s3: {{address: 127.0.0.4:{port}, snmp: wronguser}}
timing: {{timeout: 2s, retries: 0}}
snmp:
  file: {{version: 2c, community: {{file: {}}}}}
  user: {{version: 3, user: mon, auth: {{protocol: sha256, key: {{env: HEDDLE_TEST_AUTH}}}}, priv: {{protocol: aes, key: {{credential: priv}}}}}}
  inline: {{version: 2c, community: {WRONG_COMMUNITY}}}
  wronguser: {{version: 3, user: mon, auth: {{protocol: sha256, key: {WRONG_AUTH}}}, priv: {{protocol: aes, key: {{credential: priv}}}}}}
hosts: [n0, n1]
",
        community.display()
    )
}

fn assert_silent(about: &str, text: &str) {
    for secret in SECRETS {
        assert!(!text.contains(secret), "{about} shows {secret}: {text}");
    }
}

/// Every file below a folder, as text.
fn files(folder: &Path) -> Vec<(PathBuf, String)> {
    let all = fs::read_dir(folder).unwrap().map(|e| e.unwrap().path());
    all.flat_map(|p| {
        if p.is_dir() {
            files(&p)
        } else {
            vec![(
                p.clone(),
                String::from_utf8_lossy(&fs::read(&p).unwrap()).into_owned(),
            )]
        }
    })
    .collect()
}

/// A controller with every kind of secret, the devices it asks and the files it writes.
struct SecretsController {
    dir: TempDir,
    _snmpd: SecretsSnmpd,
    daemon: ControllerProcess,
}

impl SecretsController {
    fn start() -> SecretsController {
        let dir = tempfile::tempdir().unwrap();
        let [folder, credentials] = ["snmpd", "credentials"].map(|name| dir.path().join(name));
        fs::create_dir(&credentials).unwrap();
        secret_file(&credentials, "priv", PRIV, 0o400);
        secret_file(&credentials, "heddle-token", WHOLE, 0o400);
        secret_file(dir.path(), "agents.token", AGENTS, 0o600);
        let (snmpd, port) = SecretsSnmpd::start(&folder);
        fs::write(
            dir.path().join("inventory.yaml"),
            inventory(dir.path(), port),
        )
        .unwrap();
        let daemon = ControllerProcess::run(SecretsController::command(dir.path(), &credentials));
        SecretsController {
            dir,
            _snmpd: snmpd,
            daemon,
        }
    }

    fn command(dir: &Path, credentials: &Path) -> Command {
        let mut command = Command::new(HEDDLE);
        command
            .args(["controller", "--listen", "127.0.0.1:0"])
            .args(["--log", "trace,async_snmp=trace"]);
        for (flag, file) in [
            ("--inventory", "inventory.yaml"),
            ("--dir", "shared"),
            ("--journal", "journal"),
            ("--agent-token-file", "agents.token"),
        ] {
            command.arg(flag).arg(dir.join(file));
        }
        command
            .env("CREDENTIALS_DIRECTORY", credentials)
            .env("HEDDLE_TEST_AUTH", AUTH)
            .stdout(fs::File::create(dir.join("stdout")).unwrap());
        command
    }

    /// Two hosts report, two switches accept the controller and two refuse it, and an epoch is
    /// published.
    fn works(&self) {
        for (host, n) in [("n0", 1), ("n1", 2)] {
            let answer = self.daemon.ask(
                &format!("POST /v1/hosts/{host}/report"),
                &bearer(AGENTS),
                &lldp_report(host, n),
            );
            assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
            assert_silent("the answer to a report", &answer);
        }
        let snapshot = || self.daemon.get("/v1/snapshot", &bearer(WHOLE));
        wait("epoch 1 published", snapshot);
        wait("[true, true, false, false]", || {
            let snapshot = snapshot();
            let body = snapshot.split("\r\n\r\n").nth(1).unwrap();
            let switches = serde_json::from_str::<Value>(body).unwrap()["switches"].take();
            let answers = |name: &str| {
                let mut all = switches.as_array().unwrap().iter();
                all.any(|s| s["name"] == name && s["problem"].is_null())
            };
            format!("{:?} {switches}", ["s0", "s1", "s2", "s3"].map(answers))
        });
    }

    /// Sends wrong tokens and malformed reports.
    fn refuses_requests(&self) {
        for path in "/v1/snapshot /v1/topology /v1/epochs /metrics /healthz /v2".split(' ') {
            for header in [
                bearer(WHOLE),
                bearer(AGENTS),
                bearer("wrong"),
                String::new(),
            ] {
                assert_silent(path, &self.daemon.get(path, &header));
            }
        }
        for (about, token, body) in [
            ("a refused report", AGENTS, "{\"host\":"),
            ("a refused token", "wrong", &lldp_report("n0", 1)),
        ] {
            let request = "POST /v1/hosts/n0/report";
            assert_silent(about, &self.daemon.ask(request, &bearer(token), body));
        }
    }

    /// Has the inventory read again when its secrets cannot be read any more.
    fn refuses_inventories(&self) {
        fs::remove_file(self.dir.path().join("credentials/priv")).unwrap();
        self.daemon.signal("-HUP");
        self.daemon
            .wait_for_log("credential \"user\": credential priv: no such file or folder");
        let file = self.dir.path().join("inventory.yaml");
        let stated = fs::read_to_string(&file).unwrap();
        let inline = format!("{{version: 2c, community: {WRONG_COMMUNITY}}}");
        for (good, bad, message) in [
            (
                "{credential: priv}",
                "{credential: [}",
                "inventory.yaml:9: snmp, credential \"user\", priv key: expected a text",
            ),
            (
                &inline,
                WRONG_COMMUNITY,
                "inventory.yaml:10: snmp, credential: expected a map like",
            ),
        ] {
            fs::write(&file, stated.replace(good, bad)).unwrap();
            self.daemon.signal("-HUP");
            self.daemon.wait_for_log(message);
        }
        assert_silent("an alarm", &self.daemon.get("/v1/snapshot", &bearer(WHOLE)));
    }

    /// Neither its command line nor its environment holds more than the operator set.
    fn process_is_silent(&self) {
        let of = |what: &str| {
            let bytes = fs::read(format!("/proc/{}/{what}", self.daemon.id())).unwrap();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        assert_silent("its command line", &of("cmdline"));
        assert_silent(
            "its environment",
            &of("environ").replace(&format!("HEDDLE_TEST_AUTH={AUTH}"), ""),
        );
    }

    /// Stops it, and searches everything it wrote.
    fn stops_and_wrote_none(self) {
        let log = self.daemon.stop();
        assert!(
            log.contains("community: holds a secret, and every user of this machine may read it"),
            "{log}"
        );
        assert!(!log.contains("agents.token: holds a secret"), "{log}");
        assert_silent("its log", &log);
        let written = |name: &str| fs::read_to_string(self.dir.path().join(name)).unwrap();
        let journal = written("journal");
        assert!(
            journal.contains("host report") || journal.contains("\"heard\""),
            "the journal holds what happened"
        );
        assert_silent("its journal", &journal);
        assert_silent("its output", &written("stdout"));
        let published = files(&self.dir.path().join("shared"));
        assert!(published.iter().any(|(p, _)| p.ends_with("manifest.json")));
        for (path, text) in published {
            assert_silent(&path.display().to_string(), &text);
        }
    }
}

/// The header of a request with a token.
fn bearer(token: &str) -> String {
    format!("Authorization: Bearer {token}\r\nContent-Type: application/json\r\n")
}

#[test]
fn a_controller_shows_none_of_its_secrets_wherever_one_looks() {
    let controller = SecretsController::start();
    controller.works();
    controller.refuses_requests();
    controller.refuses_inventories();
    controller.process_is_silent();
    controller.stops_and_wrote_none();
}

#[test]
fn the_core_shows_no_secret_of_its_inventory() {
    let text = inventory(tempfile::tempdir().unwrap().path(), 161)
        .replace("{env: HEDDLE_TEST_AUTH}", AUTH)
        .replace("{credential: priv}", PRIV);
    let mut inventory = Inventory::parse("inventory.yaml", &text).unwrap();
    inventory
        .resolve_secrets(|_| Ok(COMMUNITY.to_owned()))
        .unwrap();
    let core = ControllerEngine::new(inventory, ControllerOptions::default());
    let shown = format!("{core:?}");
    assert!(shown.contains("(hidden)"));
    assert_silent("the core", &shown);
    assert_silent(
        "a journal's header",
        &serde_json::to_string(&core.header()).unwrap(),
    );
}

/// The message of a controller that cannot read its secrets.
fn refusal(dir: &Path, snmp: &str, flags: &[&str]) -> String {
    let file = dir.join("inventory.yaml");
    fs::write(
        &file,
        format!("switches: {{s0: {{address: \"127.0.0.1:9\"}}}}\nsnmp: {{default: {snmp}}}\n"),
    )
    .unwrap();
    let mut command = Command::new(HEDDLE);
    command
        .args(["controller", "--listen", "127.0.0.1:0", "--inventory"])
        .arg(&file)
        .arg("--dir")
        .arg(dir.join("shared"));
    let output = command
        .args(flags)
        .env_remove("CREDENTIALS_DIRECTORY")
        .env("SHORT", "sh0rt")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(64));
    String::from_utf8(output.stderr).unwrap()
}

fn assert_refused(dir: &Path, snmp: &str, flags: &[&str], problem: &str) {
    let output = refusal(dir, snmp, flags);
    assert!(output.contains(problem), "{problem}: {output}");
    assert!(
        !output.contains("sh0rt") && !output.contains("hunter22"),
        "{output}"
    );
}

/// A file that holds a secret but no text.
fn binary_file(dir: &Path) -> PathBuf {
    let binary = dir.join("binary");
    fs::write(&binary, b"hunter22\xff\xfe").unwrap();
    binary
}

#[test]
fn keys_that_cannot_be_read_are_reported_without_their_content() {
    let dir = tempfile::tempdir().unwrap();
    let binary = format!("{{file: {}}}", binary_file(dir.path()).display());
    for (key, problem) in [
        (
            "{file: /no/such/key}",
            "credential \"default\": file /no/such/key: no such file or folder",
        ),
        (&binary, "no UTF-8"),
        (
            "{env: HEDDLE_NO_SUCH_VARIABLE}",
            "environment variable HEDDLE_NO_SUCH_VARIABLE: not set",
        ),
        ("{env: SHORT}", "at least 8"),
        ("sh0rt", "at least 8"),
        (
            "{credential: auth}",
            "credential auth: CREDENTIALS_DIRECTORY is not set",
        ),
    ] {
        let user = format!("{{version: 3, user: mon, auth: {{protocol: sha256, key: {key}}}}}");
        assert_refused(dir.path(), &user, &[], problem);
    }
}

#[test]
fn tokens_that_cannot_be_read_are_reported_without_their_content() {
    let dir = tempfile::tempdir().unwrap();
    let short = secret_file(dir.path(), "short", "sh0rt", 0o600);
    for (file, problem) in [
        (short, "expected at least 16 characters"),
        (binary_file(dir.path()), "no UTF-8"),
    ] {
        assert_refused(
            dir.path(),
            "{version: 2c, community: public}",
            &["--token-file", file.to_str().unwrap()],
            problem,
        );
    }
}
