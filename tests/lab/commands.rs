//! Runs `heddle lab` for tests.
use crate::common::lab::TestLab;
use crate::common::machine_share::MachinePart;
use crate::common::until::until_or_why;
use crate::common::{HEDDLE, text};
use serde_json::Value;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// The time limit of every command and every wait of these tests, even on a busy machine.
pub(super) const LIMIT: Duration = Duration::from_secs(150);

/// Runs a command to its end, or kills it and fails after the limit.
pub(super) fn run(command: &mut Command) -> Output {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let pid = child.id();
    let (out, err) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    let (out, err) = (read_aside(Box::new(out)), read_aside(Box::new(err)));
    let end = Instant::now() + LIMIT;
    let status = loop {
        match child.try_wait().unwrap() {
            Some(status) => break status,
            None if Instant::now() > end => {
                child.kill().unwrap();
                panic!("{command:?} (process {pid}) took longer than {LIMIT:?}");
            }
            None => std::thread::sleep(Duration::from_millis(20)),
        }
    };
    Output {
        status,
        stdout: out.join().unwrap().unwrap(),
        stderr: err.join().unwrap().unwrap(),
    }
}

fn read_aside(
    mut from: Box<dyn std::io::Read + Send>,
) -> std::thread::JoinHandle<std::io::Result<Vec<u8>>> {
    std::thread::spawn(move || {
        let mut all = Vec::new();
        from.read_to_end(&mut all).map(|_| all)
    })
}

/// A lab that is brought up, asked and taken down by `heddle lab`, the subject of these tests. All
/// other tests use [`RunningLab`].
///
/// [`RunningLab`]: crate::common::lab::RunningLab
pub(super) struct LabCommands {
    pub(super) named: TestLab,
}

impl LabCommands {
    pub(super) fn new(test: &str) -> LabCommands {
        LabCommands {
            named: TestLab::new(test, MachinePart::Quarter),
        }
    }

    pub(super) fn up(test: &str, file: &str) -> LabCommands {
        let lab = LabCommands::new(test);
        lab.ok(&["up", file]);
        lab
    }

    /// Another lab for the same test.
    pub(super) fn beside(&self, test: &str, file: &str) -> LabCommands {
        let lab = LabCommands {
            named: self.named.beside(test),
        };
        lab.ok(&["up", file]);
        lab
    }

    /// `heddle lab COMMAND --name NAME REST...`
    pub(super) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(HEDDLE);
        command
            .args(["lab", arguments[0], "--name", &self.named.name])
            .args(&arguments[1..])
            .env_remove("HEDDLE_LAB");
        command
    }

    pub(super) fn output(&self, arguments: &[&str]) -> Output {
        run(&mut self.command(arguments))
    }

    pub(super) fn ok(&self, arguments: &[&str]) -> String {
        let output = self.output(arguments);
        assert!(
            output.status.success(),
            "{arguments:?}: {}{}",
            text(&output.stdout),
            text(&output.stderr)
        );
        text(&output.stdout)
    }

    /// The message of a refusal: bad input is exit status 64.
    pub(super) fn refused(&self, arguments: &[&str]) -> String {
        let output = self.output(arguments);
        assert_eq!(
            output.status.code(),
            Some(64),
            "{arguments:?}: {}{}",
            text(&output.stdout),
            text(&output.stderr)
        );
        text(&output.stderr)
    }

    pub(super) fn exec(&self, node: &str, program: &[&str]) -> String {
        self.ok(&[&["exec", node, "--"], program].concat())
    }

    /// Values below an object of a switch, as the head node sees them.
    pub(super) fn walk(&self, address: &str, object: &str) -> Vec<String> {
        let walk = [
            "snmpbulkwalk",
            "-v2c",
            "-c",
            "public",
            "-Oqvn",
            address,
            object,
        ];
        let all = self.exec("ctl", &[&["env", "MIBS="][..], &walk].concat());
        all.lines()
            .map(|l| l.trim().trim_matches('"').trim().to_owned())
            .collect()
    }

    pub(super) fn status(&self) -> Value {
        serde_json::from_str(&self.ok(&["status", "--format", "json"])).unwrap()
    }

    /// The state of the cable between two nodes.
    pub(super) fn cable(&self, a: &str, b: &str) -> String {
        let status = self.status();
        status["cables"]
            .as_array()
            .unwrap()
            .iter()
            .find(|c| (c["a"][0] == a && c["b"][0] == b) || (c["a"][0] == b && c["b"][0] == a))
            .map_or("none", |c| c["state"].as_str().unwrap())
            .to_owned()
    }

    pub(super) fn await_cable(&self, a: &str, b: &str, state: &str) {
        until_or_why(&format!("{a}-{b} is {state}"), LIMIT, || {
            let seen = self.cable(a, b);
            if seen == state { Ok(()) } else { Err(seen) }
        });
    }

    /// Waits until the head node's init reports its process. The other nodes do not exist yet then.
    pub(super) fn await_head(&self) {
        let (head, end) = (
            self.named.directory().join("nodes/ctl.json"),
            Instant::now() + LIMIT,
        );
        while !head.exists() {
            assert!(Instant::now() < end, "{} does not come", head.display());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    pub(super) fn down(&self) {
        self.ok(&["down"]);
        assert_eq!(self.named.left(), Vec::<String>::new());
    }
}

/// Waits until the list is empty.
pub(super) fn nothing_of(what: &str, left: impl Fn() -> Vec<String>) {
    until_or_why(&format!("nothing of {what} is left"), LIMIT, || {
        let left = left();
        if left.is_empty() {
            Ok(())
        } else {
            Err(format!("{left:#?}"))
        }
    });
}
