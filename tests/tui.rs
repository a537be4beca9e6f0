//! `heddle tui` in a real terminal (tmux): it draws, follows keys and size, and leaves the terminal
//! as it was.
#[path = "../tui/tests/fixture/mod.rs"]
#[allow(dead_code, reason = "the fixture serves several test files")]
mod fixture;

use crate::common::HEDDLE;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::thread::sleep;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(30);

/// A separate tmux server with one shell in it. Dropping it ends both.
struct TmuxServer {
    socket: String,
    folder: tempfile::TempDir,
}

impl TmuxServer {
    fn new(name: &str) -> TmuxServer {
        let tmux = TmuxServer {
            socket: format!("heddle-{name}-{}", std::process::id()),
            folder: tempfile::tempdir().unwrap(),
        };
        let json = serde_json::to_string(&fixture::troubled()).unwrap();
        std::fs::write(tmux.snapshot(), json).unwrap();
        let started = tmux.run(&[
            "-f",
            "/dev/null",
            "new-session",
            "-d",
            "-x",
            "80",
            "-y",
            "24",
            "-s",
            "t",
            "env PS1='ready> ' TERM=screen-256color XDG_CONFIG_HOME=/nonexistent sh",
        ]);
        assert!(
            started.status.success(),
            "tmux: {}",
            String::from_utf8_lossy(&started.stderr)
        );
        tmux.wait("ready>");
        tmux
    }

    fn snapshot(&self) -> PathBuf {
        self.folder.path().join("snapshot.json")
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let tmux = Command::new("tmux")
            .args(["-L", &self.socket])
            .args(arguments)
            .output();
        tmux.unwrap_or_else(|e| panic!("tmux: {e}; this test needs it: apt install tmux"))
    }

    fn type_line(&self, line: &str) {
        self.keys(&["-l", line]);
        self.keys(&["Enter"]);
    }

    fn keys(&self, keys: &[&str]) {
        assert!(
            self.run(&[&["send-keys", "-t", "t"], keys].concat())
                .status
                .success()
        );
    }

    fn screen(&self) -> String {
        String::from_utf8(self.run(&["capture-pane", "-p", "-t", "t"]).stdout).unwrap()
    }

    /// Waits until `text` is on the screen. Returns the screen.
    fn wait(&self, text: &str) -> String {
        self.wait_for(text, |screen| screen.contains(text))
    }

    /// The same for several texts, because tmux also shows a partly drawn screen.
    fn wait_for_all(&self, texts: &[&str]) {
        self.wait_for(&texts.join(", "), |screen| {
            texts.iter().all(|text| screen.contains(text))
        });
    }

    fn wait_for(&self, what: &str, holds: impl Fn(&str) -> bool) -> String {
        let end = Instant::now() + PATIENCE;
        loop {
            let screen = self.screen();
            if holds(&screen) {
                return screen;
            }
            assert!(
                Instant::now() < end,
                "no {what:?} within {PATIENCE:?}; the screen shows\n{screen}"
            );
            sleep(Duration::from_millis(50));
        }
    }

    /// Waits until the alternate screen, mouse reporting and the cursor are in the expected state,
    /// in tmux's view of the terminal.
    fn wait_for_modes(&self, expected: &str) {
        let modes = || {
            self.run(&[
                "display-message",
                "-p",
                "-t",
                "t",
                "#{alternate_on} #{mouse_any_flag} #{cursor_flag}",
            ])
        };
        self.wait_for(&format!("modes {expected}"), |_| {
            String::from_utf8_lossy(&modes().stdout).trim() == expected
        });
    }

    fn start(&self, flags: &str) {
        self.type_line(&format!(
            "{} tui --snapshot {} {flags}",
            HEDDLE,
            self.snapshot().display()
        ));
        self.wait("epoch 41");
    }

    /// The process the shell runs.
    fn child(&self) -> String {
        let shell = String::from_utf8(
            self.run(&["display-message", "-p", "-t", "t", "#{pane_pid}"])
                .stdout,
        )
        .unwrap();
        let child = Command::new("ps")
            .args(["-o", "pid=", "--ppid", shell.trim()])
            .output()
            .unwrap();
        String::from_utf8(child.stdout).unwrap().trim().to_owned()
    }

    /// The shell answers, echoes and reads lines again.
    fn is_restored(&self) {
        self.wait_for("the shell's own screen", |s| !s.contains("epoch 41"));
        self.wait_for_modes("0 0 1");
        self.type_line(
            "stty -a | tr ' ' '\\n' | grep -xE -- '-?(icanon|echo|isig);?' | tr '\\n' \
                        '+'; echo; echo end-$((40+2))",
        );
        self.wait_for_all(&["end-42", "isig+icanon+echo+"]);
    }
}

impl Drop for TmuxServer {
    fn drop(&mut self) {
        self.run(&["kill-server"]);
    }
}

#[test]
fn draws_follows_keys_and_size_and_leaves_no_trace() {
    let t = TmuxServer::new("keys");
    t.start("");
    t.wait_for_modes("1 1 0");
    t.wait_for_all(&["▸ ◆ s0", "┤ 1 Topology ├", "× stale"]);
    t.wait_for("a blocked link shown as such", |s| {
        s.contains("BLOCKED") == s.contains("└╌ s3")
    });
    t.keys(&["2"]);
    t.wait("◀ bottleneck");
    t.keys(&["?"]);
    t.wait("keys, signs and columns");
    t.keys(&["Escape"]);
    t.wait_for("no help", |s| !s.contains("keys, signs"));
    t.keys(&["/", "n", "1", "0", "Enter"]);
    t.wait("/n10");
    assert!(
        t.run(&["resize-window", "-t", "t", "-x", "120", "-y", "40"])
            .status
            .success()
    );
    t.wait_for_all(&["━ 2 Links", "─ 3 Jobs", "─ 4 Epochs", "5 Events"]);
    assert!(
        t.run(&["resize-window", "-t", "t", "-x", "60", "-y", "16"])
            .status
            .success()
    );
    t.wait("┤ 2 Links ├");
    t.keys(&["q"]);
    t.is_restored();
}

/// A terminal that knows these marks never shows half a frame.
#[test]
fn every_frame_is_marked_as_one() {
    const MARKS: (&str, &str) = ("\u{1b}[?2026h", "\u{1b}[?2026l");
    let t = TmuxServer::new("frames");
    let recorded = t.folder.path().join("recorded");
    assert!(
        t.run(&[
            "pipe-pane",
            "-t",
            "t",
            &format!("cat > {}", recorded.display())
        ])
        .status
        .success()
    );
    t.start("");
    t.keys(&["2"]);
    t.wait("◀ bottleneck");
    t.keys(&["q"]);
    let all =
        || String::from_utf8_lossy(&std::fs::read(&recorded).unwrap_or_default()).into_owned();
    t.wait_for("the end of the recording", |_| {
        all().contains("\u{1b}[?1049l")
    });
    let all = all();
    let mut pieces = all.split(MARKS.0);
    let mut outside = pieces.next().unwrap().to_owned();
    let frames = pieces
        .map(|piece| piece.split_once(MARKS.1).expect("the end of a frame"))
        .map(|(frame, after)| {
            outside += after;
            frame
        });
    assert!(
        frames.filter(|frame| frame.contains('─')).count() > 1,
        "{all:?}"
    );
    assert!(!outside.contains('─'), "{outside:?}");
}

#[test]
fn a_signal_leaves_no_trace_either() {
    let t = TmuxServer::new("signal");
    t.start("--ascii --theme colour-blind");
    assert!(t.screen().is_ascii(), "{}", t.screen());
    let pid = t.child();
    assert!(
        Command::new("kill")
            .args(["-TERM", &pid])
            .status()
            .unwrap()
            .success(),
        "kill {pid}"
    );
    t.is_restored();
}

#[test]
fn a_closed_window_ends_it() {
    let t = TmuxServer::new("closed");
    t.start("");
    let pid = t.child();
    t.run(&["kill-server"]);
    let end = Instant::now() + PATIENCE;
    // A process that has ended but was not waited for yet has an empty command line.
    while std::fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| !line.is_empty()) {
        if Instant::now() > end {
            let _ = Command::new("kill").args(["-KILL", &pid]).status();
            panic!("heddle tui still runs {PATIENCE:?} after its terminal was closed");
        }
        sleep(Duration::from_millis(50));
    }
}

#[test]
fn prints_one_picture_without_a_terminal() {
    let t = TmuxServer::new("print");
    let file = t.snapshot().display().to_string();
    let printed = heddle(&["--snapshot", &file, "--print", "100x30"]);
    let text = String::from_utf8(printed.stdout).unwrap();
    assert!(
        printed.status.success()
            && text.lines().count() == 30
            && text.contains("▲ 2 alarms")
            && !text.contains('\u{1b}'),
        "{text}"
    );
    let wrong = heddle(&["--snapshot", &file, "--print", "100"]);
    assert_eq!(wrong.status.code(), Some(2));
    let missing = heddle(&["--snapshot", "/nowhere.json", "--print", "80x24"]);
    assert_eq!(missing.status.code(), Some(64));
    assert!(
        String::from_utf8_lossy(&missing.stderr).contains("/nowhere.json"),
        "{missing:?}"
    );
    let blind = heddle(&["--snapshot", &file]);
    assert_eq!(blind.status.code(), Some(64), "no terminal to draw on");
}

fn heddle(flags: &[&str]) -> Output {
    Command::new(HEDDLE)
        .arg("tui")
        .args(flags)
        .output()
        .unwrap()
}
