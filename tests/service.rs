//! The daemons as services: what they tell systemd over a real notify socket, and their lines in the
//! journal.
use crate::common::HEDDLE;
use crate::common::daemon::ControllerProcess;
use crate::common::golden::folder;
use crate::common::killed::KilledAtEnd;
use crate::common::stalled_storage::{StallableFolder, StalledStorage};
use crate::common::until::{LIMIT, until_so};
use std::fs::{self, File, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The watchdog's limit in these tests, in microseconds. A turn of the loop takes a second.
const WATCHDOG_USEC: &str = "6000000";

/// systemd's end of the notify socket.
struct NotifySocket {
    folder: TempDir,
    socket: UnixDatagram,
}

impl NotifySocket {
    fn new() -> NotifySocket {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("notify");
        let socket = UnixDatagram::bind(&path).unwrap();
        // An agent has given up its user when it is ready.
        for (path, mode) in [(folder.path(), 0o755), (&path, 0o777)] {
            fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        }
        NotifySocket { folder, socket }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// `heddle` as systemd starts it: the watchdog is for its process number.
    fn heddle(&self, args: &[&str]) -> Command {
        let mut command = Command::new("sh");
        command
            .args(["-c", "WATCHDOG_PID=$$ exec \"$0\" \"$@\"", HEDDLE])
            .args(args)
            .env("WATCHDOG_USEC", WATCHDOG_USEC)
            .env("NOTIFY_SOCKET", self.path("notify"));
        command
    }

    fn controller(&self, journal: &Path) -> ControllerProcess {
        let good = folder("controller").join("good.yaml");
        let mut command = self.heddle(&["controller", "--listen", "127.0.0.1:0", "--inventory"]);
        command.arg(good).arg("--dir").arg(self.path("shared"));
        command.arg("--journal").arg(journal);
        ControllerProcess::run(command)
    }

    /// The next message, if one comes in this time.
    fn message(&self, within: Duration) -> Option<String> {
        let mut octets = [0; 4096];
        self.socket.set_read_timeout(Some(within)).unwrap();
        let length = self.socket.recv(&mut octets).ok()?;
        Some(String::from_utf8(octets[..length].to_vec()).unwrap())
    }

    /// The messages up to one with a line that begins so, that one included.
    fn until(&self, begin: &str) -> Vec<String> {
        let end = Instant::now() + LIMIT;
        let mut messages: Vec<String> = Vec::new();
        while !messages
            .iter()
            .any(|m| m.lines().any(|line| line.starts_with(begin)))
        {
            let left = end.saturating_duration_since(Instant::now());
            let next = self.message(left.max(Duration::from_millis(1)));
            messages.push(next.unwrap_or_else(|| panic!("no {begin}: {messages:?}")));
        }
        messages
    }
}

#[test]
fn a_controller_is_ready_when_it_serves_reloads_and_says_that_it_ends() {
    let systemd = NotifySocket::new();
    let daemon = systemd.controller(&systemd.path("journal"));
    let start = systemd.until("READY=1");
    assert!(
        start.last().unwrap().contains("STATUS=no epoch yet"),
        "{start:?}"
    );
    assert!(daemon.get("/healthz", "").starts_with("HTTP/1.1 200"));
    systemd.until("WATCHDOG=1");
    // A status follows what the controller says: its switch is silent.
    systemd.until("STATUS=no epoch yet, ");

    daemon.signal("-HUP");
    let reload = systemd.until("RELOADING=1");
    assert!(reload.last().unwrap().contains("MONOTONIC_USEC="));
    systemd.until("READY=1");
    daemon.stop();
    systemd.until("STOPPING=1");
}

#[test]
fn a_controller_that_cannot_start_is_never_ready() {
    let systemd = NotifySocket::new();
    fs::write(systemd.path("shared"), "no folder").unwrap();
    let good = folder("controller").join("good.yaml");
    let mut command = systemd.heddle(&["controller", "--listen", "127.0.0.1:0", "--inventory"]);
    let ended = command
        .arg(good)
        .arg("--dir")
        .arg(systemd.path("shared"))
        .output();
    assert_eq!(ended.unwrap().status.code(), Some(64));
    while let Some(message) = systemd.message(Duration::from_millis(1)) {
        assert!(!message.contains("READY"), "{message}");
    }
}

#[test]
fn a_core_that_hangs_feeds_no_watchdog() {
    let systemd = NotifySocket::new();
    // It is dropped after the disk, because it cannot end while the disk is frozen.
    let _daemon;
    let disk = StallableFolder::new(StalledStorage::Disk);
    // The core writes its journal itself, so a disk that does not answer stops it.
    _daemon = systemd.controller(&disk.path().join("journal"));
    systemd.until("WATCHDOG=1");
    disk.stall();
    // The core hangs when it writes the next event; a message before that is a true one.
    let mut silent = Instant::now();
    let limit = Duration::from_secs(6);
    let end = Instant::now() + LIMIT;
    while silent.elapsed() < limit {
        assert!(Instant::now() < end, "the core goes on");
        if systemd.message(Duration::from_millis(200)).is_some() {
            silent = Instant::now();
        }
    }
    disk.go_on();
    systemd.until("WATCHDOG=1");
}

#[test]
fn an_agent_is_ready_when_it_has_looked_and_says_who_does_not_answer() {
    let systemd = NotifySocket::new();
    let mut command = systemd.heddle(&["agent", "--controller", "http://127.0.0.1:9"]);
    command.args(["--no-announce", "--no-probe"]);
    let mut agent = KilledAtEnd(command.spawn().unwrap());
    systemd.until("READY=1");
    systemd.until("WATCHDOG=1");
    systemd.until("STATUS=http://127.0.0.1:9: ");
    let kill = Command::new("kill").arg(agent.id().to_string()).status();
    assert!(kill.unwrap().success());
    systemd.until("STOPPING=1");
    assert!(agent.wait().unwrap().success());
}

/// A controller's lines on its standard error, which `JOURNAL_STREAM` names, or something else. It
/// cannot start at first, and then it can.
fn lines(is_the_journal: bool) -> Vec<String> {
    let beside = TempDir::new().unwrap();
    let log = beside.path().join("log");
    let stderr = File::create(&log).unwrap();
    let found = stderr.metadata().unwrap();
    let inode = found.ino() + u64::from(!is_the_journal);
    let controller = |dir: &Path| {
        let mut command = Command::new(HEDDLE);
        command
            .args(["controller", "--listen", "127.0.0.1:0", "--inventory"])
            .arg(folder("controller").join("good.yaml"))
            .arg("--dir")
            .arg(dir)
            .env("JOURNAL_STREAM", format!("{}:{inode}", found.dev()))
            .stderr(stderr.try_clone().unwrap());
        KilledAtEnd(command.spawn().unwrap())
    };
    // Nothing can be published into a file.
    assert_eq!(controller(&log).wait().unwrap().code(), Some(64));
    let text = || fs::read_to_string(&log).unwrap();
    let running = controller(&beside.path().join("shared"));
    until_so("a warning and more", || {
        text().contains("never answered") && text().contains("API on")
    });
    drop(running);
    text().lines().map(str::to_owned).collect()
}

#[test]
fn lines_for_the_journal_have_a_priority_and_no_time() {
    let journal = lines(true);
    assert!(journal[0].starts_with("<3>heddle: "), "{journal:?}");
    assert!(journal.iter().any(|line| line.starts_with("<6>API on")));
    assert!(journal.iter().any(|line| line.starts_with("<4>")));
    for line in &journal {
        let begin: Vec<char> = line.chars().take(4).collect();
        assert!(
            matches!(begin[..], ['<', '3'..='7', '>', first] if !first.is_ascii_digit()),
            "{line}"
        );
    }
    let other = lines(false);
    assert!(other[0].starts_with("heddle: "), "{other:?}");
    assert!(other.iter().all(|line| !line.starts_with('<')), "{other:?}");
    assert!(other.iter().any(|line| line.contains(" INFO ")));
}
