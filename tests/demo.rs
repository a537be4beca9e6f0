//! `heddle demo` as text, from its beginning to its end. It emulates, discovers, plans, runs and
//! recables, and checks each step itself.
use crate::common::HEDDLE;
use crate::common::lab::TestLab;
use crate::common::machine_share::MachinePart;
use crate::common::runtime::{bench_path, lib};
use crate::common::until::until_so;
use std::process::Command;

/// The output of a demo with further flags, after its lab is gone.
fn output_of_demo(name: &str, mpi: &str, flags: &[&str]) -> String {
    lib();
    let named = TestLab::new(name, MachinePart::Half);
    let mut demo = Command::new("timeout");
    demo.args([
        "-k",
        "10",
        "600",
        HEDDLE,
        "demo",
        "--text",
        "--mpi",
        mpi,
        "--name",
        &named.name,
    ]);
    demo.args(flags);
    let out = demo.output().expect("timeout, of coreutils");
    let (text, complained) = (
        String::from_utf8_lossy(&out.stdout),
        String::from_utf8_lossy(&out.stderr),
    );
    assert!(
        out.status.success(),
        "{}\n{text}\n{complained}\n(the lab needs root)",
        out.status
    );
    assert_eq!(named.left(), [""; 0], "the demo left its lab behind");
    text.into_owned()
}

fn demo(mpi: &str) {
    let output = output_of_demo(&format!("demo-{mpi}"), mpi, &[]);
    for line in [
        "1 further network beside it",
        "network m0, on which the switches answer: 12 hosts on 1 switch",
        "n11 moved from s3",
        "alltoall by aapc",
        "nothing forced",
        "all-to-all: without heddle",
        "times as fast",
        "taken up +",
        "every step checked",
    ] {
        assert!(output.contains(line), "\"{line}\" is missing:\n{output}");
    }
    let number = |before: &str, after: &str| -> Option<u64> {
        output
            .lines()
            .find_map(|line| line.split_once(before)?.1.split_once(after)?.0.parse().ok())
    };
    let (planned, followed) = (
        number("epoch ", ": 12 hosts, 36 phases"),
        number("now follows epoch ", ":"),
    );
    assert!(
        planned.is_some() && planned < followed,
        "{planned:?}, {followed:?}:\n{output}"
    );
}

#[test]
fn a_spine_is_drained_and_put_back() {
    let output = output_of_demo("demo-fabric", "openmpi", &["--fabric"]);
    for line in [
        "3 switches, 2 routers",
        "spine[1-2]  router\n",
        "drain spine1 while the job runs",
        "taken up +",
        "put spine1 back",
        "every step checked",
    ] {
        assert!(output.contains(line), "\"{line}\" is missing:\n{output}");
    }
}

#[test]
fn the_whole_way_on_open_mpi() {
    demo("openmpi");
}

#[test]
fn the_whole_way_on_mpich() {
    demo("mpich");
}

/// A terminal with one command in it. Closing it sends SIGHUP, as closing a window does.
struct ClosedTerminal(String);

impl ClosedTerminal {
    fn run(lab: &TestLab, command: &[&str]) -> ClosedTerminal {
        let terminal = ClosedTerminal(lab.name.clone());
        let size = [
            "-f",
            "/dev/null",
            "new-session",
            "-d",
            "-x",
            "120",
            "-y",
            "40",
        ];
        terminal.tmux(&[&size[..], command].concat());
        terminal
    }

    fn tmux(&self, arguments: &[&str]) -> String {
        let mut tmux = Command::new("tmux");
        tmux.args(["-L", &self.0]).args(arguments);
        let out = tmux.output().expect("tmux; see scripts/packages");
        String::from_utf8_lossy(&out.stdout).into_owned()
    }

    /// Waits until a text is on the screen.
    fn wait(&self, text: &str) {
        until_so(text, || self.tmux(&["capture-pane", "-p"]).contains(text));
    }
}

impl Drop for ClosedTerminal {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}

#[test]
fn closing_the_terminal_takes_the_demo_down() {
    lib();
    let named = TestLab::new("demo-closed", MachinePart::Half);
    let demo = [
        "env",
        "TERM=screen-256color",
        HEDDLE,
        "demo",
        "--name",
        &named.name,
    ];
    let terminal = ClosedTerminal::run(&named, &demo);
    terminal.wait("Topology");
    drop(terminal);
    until_so("nothing of the demo is left", || named.left().is_empty());
}

#[test]
fn closing_the_terminal_takes_half_a_lab_down_and_leaves_a_whole_one() {
    let named = TestLab::new("closed", MachinePart::Quarter);
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/lab/topologies/demo.yaml");
    let up = [HEDDLE, "lab", "up", file, "--name", &named.name];
    let terminal = ClosedTerminal::run(&named, &up);
    until_so("a part of the lab is there", || {
        !named.processes().iter().all(|p| p.contains(" lab up "))
    });
    drop(terminal);
    until_so("nothing of the lab is left", || named.left().is_empty());

    let status = Command::new(up[0]).args(&up[1..]).status().unwrap();
    assert!(status.success(), "(the lab needs root)");
    let terminal = ClosedTerminal::run(
        &named,
        &[
            "sh",
            "-c",
            "\"$@\"; cat",
            "sh",
            up[0],
            up[1],
            up[2],
            up[3],
            up[4],
            up[5],
        ],
    );
    terminal.wait("already up");
    drop(terminal);
    let words = ["lab", "status", "--name", &named.name];
    let status = Command::new(HEDDLE).args(words).status().unwrap();
    assert!(status.success(), "the lab is gone");
}

#[test]
fn closing_the_terminal_ends_a_job() {
    let named = TestLab::new("job-closed", MachinePart::Half);
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/lab/topologies/demo.yaml");
    let up = ["lab", "up", file, "--name", &named.name];
    assert!(Command::new(HEDDLE).args(up).status().unwrap().success());
    for mpi in ["openmpi", "mpich"] {
        let bench = bench_path(mpi);
        let launcher = [HEDDLE, "lab", "mpirun", "--name", &named.name, "--mpi", mpi];
        let program = ["--", &bench, "--size", "1024", "--seconds", "200"];
        let terminal = ClosedTerminal::run(&named, &[&launcher[..], &program].concat());
        let ranks = || {
            let all = named.processes();
            all.iter().filter(|p| p.contains("bench-")).count()
        };
        until_so("the ranks run", || ranks() > 12);
        drop(terminal);
        until_so("the job is gone", || ranks() == 0);
    }
}
