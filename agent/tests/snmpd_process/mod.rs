//! A real snmpd on loopback, and real UDP peers that misbehave.
#![allow(dead_code, reason = "each test file uses its part")]
use inventory::inventory_file::Inventory;
use inventory::observation::{DeviceFact, DeviceTable, Observation};
use std::net::{SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// net-snmp's agent, killed when dropped.
pub(crate) struct SnmpdProcess {
    pub(crate) address: SocketAddr,
    folder: PathBuf,
    child: Child,
}

/// The users and the community of every [`SnmpdProcess`].
const CONF: &str = "\
rocommunity c0mmunity
rocommunity6 c0mmunity
sysName real
createUser monsha SHA authpass12 AES privpass12
createUser monsha256 SHA-256 authpass12 AES privpass12
rouser monsha priv
rouser monsha256 priv
";

impl SnmpdProcess {
    pub(crate) fn start() -> SnmpdProcess {
        SnmpdProcess::start_on("127.0.0.1:0")
    }

    /// Starts one at an address, or at a free port if the address has none. Another program may
    /// take the port first, which ends snmpd.
    pub(crate) fn start_on(address: &str) -> SnmpdProcess {
        SnmpdProcess::start_with(address, "")
    }

    /// Starts one with further lines of configuration.
    pub(crate) fn start_with(address: &str, lines: &str) -> SnmpdProcess {
        (0..5)
            .find_map(|_| SnmpdProcess::try_on(address, lines))
            .unwrap_or_else(|| panic!("snmpd ended at five ports of {address}"))
    }

    fn try_on(address: &str, lines: &str) -> Option<SnmpdProcess> {
        let address = UdpSocket::bind(address).unwrap().local_addr().unwrap();
        let folder = std::env::temp_dir().join(format!(
            "heddle-snmpd-{}-{}",
            std::process::id(),
            address.port()
        ));
        std::fs::create_dir_all(&folder).unwrap();
        let conf = format!("{CONF}{lines}");
        std::fs::write(folder.join("snmpd.conf"), conf).unwrap();
        SnmpdProcess {
            child: run(address, &folder),
            address,
            folder,
        }
        .awake()
    }

    /// Kills it without a farewell and starts it anew. It has then forgotten its engine's boots, as
    /// `snmpd -C` on a tmpfs does.
    pub(crate) fn restart(self) -> SnmpdProcess {
        let mut old = self;
        old.child.kill().unwrap();
        old.child.wait().unwrap();
        std::fs::remove_dir_all(old.folder.join("state")).unwrap();
        old.child = run(old.address, &old.folder);
        old.awake().expect("snmpd at the port it had before")
    }

    /// Waits until it answers; `None` if it ends instead.
    fn awake(mut self) -> Option<SnmpdProcess> {
        let socket = UdpSocket::bind(SocketAddr::new(self.address.ip(), 0)).unwrap();
        socket
            .set_read_timeout(Some(Duration::from_millis(50)))
            .unwrap();
        let log = |snmpd: &SnmpdProcess| {
            std::fs::read_to_string(snmpd.folder.join("log")).unwrap_or_default()
        };
        let began = Instant::now();
        while began.elapsed() < Duration::from_secs(60) {
            if self.child.try_wait().unwrap().is_some() {
                eprintln!("snmpd ends at {}; its log: {}", self.address, log(&self));
                return None;
            }
            // GET sysUpTime.0 by hand: SNMPv2c, community c0mmunity.
            let get = b"\x30\x2a\x02\x01\x01\x04\x09c0mmunity\xa0\x1a\x02\x02\x2a\x2a\
                        \x02\x01\x00\x02\x01\x00\x30\x0e\x30\x0c\x06\x08\x2b\x06\x01\x02\x01\x01\x03\x00\x05\x00";
            let _ = socket.send_to(get, self.address);
            if socket.recv(&mut [0; 1500]).is_ok() {
                return Some(self);
            }
        }
        panic!(
            "snmpd does not answer on {}; its log: {}",
            self.address,
            log(&self)
        );
    }
}

fn run(address: SocketAddr, folder: &Path) -> Child {
    std::fs::create_dir_all(folder.join("state")).unwrap();
    let program = ["/usr/sbin/snmpd", "/usr/local/sbin/snmpd", "/sbin/snmpd"]
        .into_iter()
        .find(|p| Path::new(p).exists());
    let program =
        program.expect("no snmpd on this machine; this test asks a real one: apt install snmpd");
    Command::new(program)
        .args(["-f", "-C", "-c"])
        .arg(folder.join("snmpd.conf"))
        .arg("-Lf")
        .arg(folder.join("log"))
        .args([
            "-I",
            "-smux",
            &format!(
                "{}:{address}",
                if address.is_ipv4() { "udp" } else { "udp6" }
            ),
        ])
        .env("MIBS", "")
        .env("SNMP_PERSISTENT_DIR", folder.join("state"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap_or_else(|e| panic!("{program}: {e}"))
}

impl Drop for SnmpdProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// An inventory of switches by name, address and credential, with patience for a busy machine. One
/// agent may play several switches, which an inventory file could not state.
pub(crate) fn inventory(switches: &[(&str, SocketAddr, &str)]) -> Inventory {
    let stated: String = switches
        .iter()
        .enumerate()
        .map(|(i, (name, _, snmp))| format!("  {name}: {{address: 127.1.0.{i}, snmp: {snmp}}}\n"))
        .collect();
    let user = |user, auth, key, privacy| {
        format!(
            "{{version: 3, user: {user}, auth: {{protocol: {auth}, key: {key}}}, \
             priv: {{protocol: aes, key: {privacy}}}}}"
        )
    };
    let sha = user("monsha", "sha", "authpass12", "privpass12");
    let sha256 = user("monsha256", "sha256", "authpass12", "privpass12");
    let wrong_auth = user("monsha", "sha", "authgu3ss", "privpass12");
    let wrong_priv = user("monsha", "sha", "authpass12", "privgu3ss");
    let nobody = user("n0body", "sha", "authpass12", "privpass12");
    let text = format!(
        "switches:\n{stated}timing: {{timeout: 10s, retries: 1}}
snmp:
  good: {{version: 2c, community: c0mmunity}}
  wrong: {{version: 2c, community: gu3ssed}}
  sha: {sha}
  sha256: {sha256}
  wrongauth: {wrong_auth}
  wrongpriv: {wrong_priv}
  nobody: {nobody}
"
    );
    let mut inventory = Inventory::parse("inventory.yaml", &text).unwrap();
    for (name, address, _) in switches {
        inventory.switches[*name].address = (*address).into();
    }
    inventory
}

/// The same inventory with two tries of 400 ms, for tests that wait for a silent switch.
pub(crate) fn impatient(switches: &[(&str, SocketAddr, &str)]) -> Inventory {
    let mut inventory = inventory(switches);
    inventory.timing.timeout = Duration::from_millis(400);
    inventory
}

/// The only observation of a switch, which must be a failure.
pub(crate) fn failure<'o>(
    observations: &'o [Observation],
    switch: &str,
) -> (Option<DeviceTable>, &'o str) {
    let all: Vec<_> = observations
        .iter()
        .filter(|o| o.reporter == switch)
        .collect();
    match &all[..] {
        [
            Observation {
                fact: DeviceFact::Failed { table, problem, .. },
                ..
            },
        ] => (*table, problem),
        other => panic!("expected one failure of {switch}, found {other:#?}"),
    }
}

/// True if every table of a switch was read.
pub(crate) fn is_whole(observations: &[Observation], switch: &str) -> bool {
    let all: Vec<_> = observations
        .iter()
        .filter(|o| o.reporter == switch)
        .collect();
    all.len() == DeviceTable::ALL.len()
        && !all
            .iter()
            .any(|o| matches!(o.fact, DeviceFact::Failed { .. }))
}

/// A thread that receives the datagrams to an address and handles each of them, until dropped.
pub(crate) struct DatagramResponder {
    pub(crate) address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl DatagramResponder {
    pub(crate) fn new(
        mut take: impl FnMut(&UdpSocket, &[u8], SocketAddr) + Send + 'static,
    ) -> DatagramResponder {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket
            .set_read_timeout(Some(Duration::from_millis(20)))
            .unwrap();
        let (address, stop) = (
            socket.local_addr().unwrap(),
            Arc::new(AtomicBool::new(false)),
        );
        let stopped = stop.clone();
        let thread = std::thread::spawn(move || {
            let mut buffer = [0; 65536];
            while !stopped.load(Relaxed) {
                let Ok((n, from)) = socket.recv_from(&mut buffer) else {
                    continue;
                };
                take(&socket, &buffer[..n], from);
            }
        });
        DatagramResponder {
            address,
            stop,
            thread: Some(thread),
        }
    }
}

impl Drop for DatagramResponder {
    fn drop(&mut self) {
        self.stop.store(true, Relaxed);
        if let Some(thread) = self.thread.take() {
            let ended = thread.join();
            assert!(
                ended.is_ok() || std::thread::panicking(),
                "what answers has panicked"
            );
        }
    }
}
