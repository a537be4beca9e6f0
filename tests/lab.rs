//! The lab on the real kernel, with real snmpd, lldpd and both MPIs. Without root or a program it
//! needs, `heddle lab up` fails and says which command gives it; so do these tests.
use crate::common::HEDDLE;
use crate::common::lab::TestLab;
use crate::common::until::until_or_why;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

const TWO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/lab/topologies/two.yaml");
const DEMO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/lab/topologies/demo.yaml");

/// No command of these tests takes longer, even on a busy machine, and nothing is waited for
/// longer.
const LIMIT: Duration = Duration::from_secs(150);

/// Runs a command to its end, or kills it and fails after the limit.
fn run(command: &mut Command) -> Output {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let pid = child.id();
    let (out, err) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    let read = |mut from: Box<dyn std::io::Read + Send>| {
        std::thread::spawn(move || {
            let mut all = Vec::new();
            from.read_to_end(&mut all).map(|_| all)
        })
    };
    let (out, err) = (read(Box::new(out)), read(Box::new(err)));
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

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A lab brought up, asked and taken down by `heddle lab`, which is what these tests are about. All
/// others have [`Up`] do it.
///
/// [`Up`]: crate::common::lab::Up
struct LabCommands {
    named: TestLab,
}

impl LabCommands {
    fn new(test: &str) -> LabCommands {
        LabCommands {
            named: TestLab::new(test),
        }
    }

    fn up(test: &str, file: &str) -> LabCommands {
        let lab = LabCommands::new(test);
        lab.ok(&["up", file]);
        lab
    }

    /// Another lab for the same test.
    fn beside(&self, test: &str, file: &str) -> LabCommands {
        let lab = LabCommands {
            named: self.named.beside(test),
        };
        lab.ok(&["up", file]);
        lab
    }

    /// `heddle lab COMMAND --name NAME REST...`
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(HEDDLE);
        command
            .args(["lab", arguments[0], "--name", &self.named.name])
            .args(&arguments[1..])
            .env_remove("HEDDLE_LAB");
        command
    }

    fn output(&self, arguments: &[&str]) -> Output {
        run(&mut self.command(arguments))
    }

    fn ok(&self, arguments: &[&str]) -> String {
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
    fn refused(&self, arguments: &[&str]) -> String {
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

    fn exec(&self, node: &str, program: &[&str]) -> String {
        self.ok(&[&["exec", node, "--"], program].concat())
    }

    /// Values below an object of a switch, as the head node sees them.
    fn walk(&self, address: &str, object: &str) -> Vec<String> {
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

    fn status(&self) -> Value {
        serde_json::from_str(&self.ok(&["status", "--format", "json"])).unwrap()
    }

    /// State of the cable between two nodes.
    fn cable(&self, a: &str, b: &str) -> String {
        let status = self.status();
        let joins =
            |c: &&Value| (c["a"][0] == a && c["b"][0] == b) || (c["a"][0] == b && c["b"][0] == a);
        status["cables"]
            .as_array()
            .unwrap()
            .iter()
            .find(joins)
            .map_or("none", |c| c["state"].as_str().unwrap())
            .to_owned()
    }

    fn await_cable(&self, a: &str, b: &str, state: &str) {
        until_or_why(&format!("{a}-{b} is {state}"), LIMIT, || {
            let seen = self.cable(a, b);
            if seen == state { Ok(()) } else { Err(seen) }
        });
    }

    /// Waits until the head node's init tells who it is: the other nodes are then still to come.
    fn await_head(&self) {
        let (head, end) = (
            self.named.directory().join("nodes/ctl.json"),
            Instant::now() + LIMIT,
        );
        while !head.exists() {
            assert!(Instant::now() < end, "{} does not come", head.display());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn down(&self) {
        self.ok(&["down"]);
        assert_eq!(self.named.left(), Vec::<String>::new());
    }
}

#[test]
fn a_lab_comes_up_is_what_the_file_says_and_leaves_nothing() {
    let lab = LabCommands::up("up", DEMO);
    let status = lab.status();
    assert_eq!(status["up"], true);
    assert_eq!(status["nodes"].as_array().unwrap().len(), 1 + 4 + 12);
    for cable in status["cables"].as_array().unwrap() {
        let expected = if cable["expect_blocked"] == true {
            "blocking"
        } else {
            "forwarding"
        };
        assert_eq!(cable["state"], expected, "{cable}");
    }
    assert_eq!(lab.exec("n7", &["hostname"]), "n7\n");
    assert_eq!(
        lab.output(&["exec", "s1", "--", "sh", "-c", "exit 7"])
            .status
            .code(),
        Some(7)
    );
    assert!(
        lab.refused(&["exec", "n99", "--", "true"])
            .contains("no such node; nodes: ctl, s0")
    );
    assert!(lab.refused(&["up", DEMO]).contains("already up"));
    assert!(
        lab.refused(&["exec", "ctl", "--", "no-such-program"])
            .contains("no-such-program")
    );
    let inventory = fs::read_to_string(lab.named.directory().join("inventory.yaml")).unwrap();
    inventory::inventory_file::Inventory::parse("inventory.yaml", &inventory).unwrap();
    lab.down();
    assert!(lab.refused(&["status"]).contains("not up"));
    lab.ok(&["down"]);
}

/// Runs heddle where `/run` is another one, with a file at every place a bad name may lead to;
/// gives its output and those files that are left.
fn in_another_run(variable: &str, arguments: &[&str]) -> (Output, Vec<String>) {
    let directory = tempfile::tempdir().unwrap();
    let left = directory.path().join("left");
    let script = "mount -t tmpfs none /run && mkdir -p /run/x /run/heddle-lab/a/b || exit 1
        for d in /run /run/x /run/heddle-lab /run/heddle-lab/a /run/heddle-lab/a/b; do touch $d/file; done
        left=$1; shift; \"$@\"; status=$?
        find /run -name file | sort > $left; exit $status";
    let mut command = Command::new("unshare");
    command
        .args([
            "--mount",
            "--propagation",
            "private",
            "sh",
            "-c",
            script,
            "sh",
        ])
        .arg(&left)
        .arg(HEDDLE)
        .arg("lab")
        .args(arguments);
    let output = run(command.env("HEDDLE_LAB", variable));
    let left = fs::read_to_string(left)
        .unwrap_or_else(|_| panic!("{}; run the tests as root", text(&output.stderr)));
    (output, left.lines().map(str::to_owned).collect())
}

#[test]
fn names_that_lead_elsewhere_are_refused_and_nothing_is_deleted() {
    let all = [
        "/run/file",
        "/run/heddle-lab/a/b/file",
        "/run/heddle-lab/a/file",
        "/run/heddle-lab/file",
        "/run/x/file",
    ];
    let check = |variable: &str, arguments: &[&str], words: &str| {
        let (output, left) = in_another_run(variable, arguments);
        let said = text(&output.stderr);
        assert_eq!(
            output.status.code(),
            Some(64),
            "{variable:?} {arguments:?}: {said}"
        );
        assert!(said.contains(words), "{variable:?} {arguments:?}: {said}");
        assert_eq!(left, all, "{variable:?} {arguments:?}");
    };
    for name in ["", ".", "..", "../..", "/run/x", "a/b", "../x", "a.b", "-x"] {
        check("lab", &["down", &format!("--name={name}")], "lab name");
    }
    check("../x", &["down"], "lab name");
    for command in [
        &["status"][..],
        &["up", TWO],
        &["exec", "ctl", "--", "true"],
        &["move", "n0", "s0"],
        &["cut", "s0-s1"],
    ] {
        check("../x", command, "lab name");
    }
    check(
        "../x",
        &["mpirun", "--mpi", "mpich", "--", "true"],
        "lab name",
    );
    check("../x", &["node-init", "ctl"], "lab name");
    check("../x", &["agent", "ctl", "true"], "lab name");
    // An empty variable is none at all.
    check("", &["status"], "lab \"lab\": not up");
}

#[test]
fn agents_answer_with_the_real_network() {
    let lab = LabCommands::up("snmp", TWO);
    // dot1dStpDesignatedRoot: the first switch of the file is the root bridge, for both.
    let root = lab.walk("10.78.1.1", ".1.3.6.1.2.1.17.2.5");
    assert_eq!(
        (root.len(), &root),
        (1, &lab.walk("10.78.1.2", ".1.3.6.1.2.1.17.2.5"))
    );
    assert!(root[0].starts_with("10 00 02 4C 01 00 00 00"), "{root:?}");
    // dot1dStpPortState: three forwarding ports; dot1dBaseBridgeAddress is the root's.
    assert_eq!(
        lab.walk("10.78.1.2", ".1.3.6.1.2.1.17.2.15.1.3"),
        ["5", "5", "5"]
    );
    // lldpRemSysName and lldpRemPortId, once each neighbour has spoken.
    until_or_why("s0 has three neighbours", LIMIT, || {
        let mut names = lab.walk("10.78.1.1", ".1.0.8802.1.1.2.1.4.1.1.9");
        names.sort();
        if names == ["n0", "n1", "s1"] {
            Ok(())
        } else {
            Err(names.join(" "))
        }
    });
    // dot1dTpFdbStatus: every host announces itself, so the far switch has learned all four.
    let learned = || {
        lab.walk("10.78.1.1", ".1.3.6.1.2.1.17.4.3.1.3")
            .iter()
            .filter(|s| *s == "3")
            .count()
    };
    until_or_why("s0 has learned four stations", LIMIT, || {
        Some(learned()).filter(|n| *n >= 4).ok_or_else(learned)
    });
    // ifHighSpeed tells the shaped rate.
    assert_eq!(
        lab.walk("10.78.1.1", ".1.3.6.1.2.1.31.1.1.1.15")
            .iter()
            .filter(|s| *s == "20")
            .count(),
        3
    );
    // SNMPv3 authPriv.
    let v3 = [
        "-l",
        "authPriv",
        "-u",
        "mon256",
        "-a",
        "SHA-256",
        "-A",
        "authpass12",
        "-x",
        "AES",
        "-X",
        "privpass12",
    ];
    let get = [
        &["env", "MIBS=", "snmpget", "-v3"],
        &v3[..],
        &["-Oqvn", "10.78.1.2", ".1.3.6.1.2.1.1.5.0"],
    ]
    .concat();
    assert_eq!(lab.exec("ctl", &get).trim().trim_matches('"'), "s1");
    lab.down();
}

#[test]
fn recabling_is_seen_by_stp_and_by_its_counters() {
    let lab = LabCommands::up("move", TWO);
    let changes = |address: &str| {
        lab.walk(address, ".1.3.6.1.2.1.17.2.4")[0]
            .parse::<u32>()
            .unwrap()
    };
    let before = (changes("10.78.1.1"), changes("10.78.1.2"));
    let said = lab.ok(&["move", "n1", "s1"]);
    assert!(said.contains("n1: from s0 swp3 to s1 swp4"), "{said}");
    lab.await_cable("n1", "s1", "forwarding");
    assert_eq!(lab.cable("n1", "s0"), "none");
    until_or_why("both switches count the change", LIMIT, || {
        let now = (changes("10.78.1.1"), changes("10.78.1.2"));
        if now.0 != before.0 && now.1 != before.1 {
            Ok(())
        } else {
            Err(format!("{now:?}"))
        }
    });
    // Its own interface and address are still there, and so is the way to the others: MAC of n0
    // behind s1's trunk.
    assert!(
        lab.exec("n1", &["ip", "-br", "addr", "show", "eth0"])
            .contains("10.77.0.2/16")
    );
    lab.ok(&["cut", "s0-s1"]);
    assert_eq!(lab.cable("s0", "s1"), "down");
    assert!(lab.refused(&["cut", "s0-s1"]).contains("no cable"));
    lab.ok(&["join", "s0-s1", "--rate", "30M"]);
    lab.await_cable("s0", "s1", "forwarding");
    assert!(
        lab.exec("s0", &["tc", "qdisc", "show", "dev", "swp1"])
            .contains("rate 30Mbit")
    );
    assert!(lab.refused(&["move", "n1", "s1"]).contains("there already"));
    assert!(
        lab.refused(&["move", "s0", "s1"])
            .contains("expected a host and a switch")
    );
    assert!(
        lab.refused(&["join", "n0-s1"])
            .contains("between two switches")
    );
    // Inside the head node the lab can be recabled too, but not taken down.
    lab.exec("ctl", &[HEDDLE, "lab", "move", "n1", "s0"]);
    let inside = lab.output(&["exec", "ctl", "--", HEDDLE, "lab", "down"]);
    assert!(
        text(&inside.stderr).contains("cannot be taken down from inside"),
        "{}",
        text(&inside.stderr)
    );
    lab.down();
}

#[test]
fn a_switch_port_holds_as_many_bytes_as_asked() {
    let lab = LabCommands::new("buffer");
    lab.ok(&["up", TWO, "--port-buffer", "40000"]);
    // The raw form shows the limit itself instead of the time it takes to send.
    let limit = |node: &str, port: &str| {
        lab.exec(node, &["tc", "-s", "-raw", "qdisc", "show", "dev", port])
    };
    for port in ["swp1", "swp2", "swp3"] {
        let shown = limit("s1", port);
        assert!(
            shown.contains("qdisc tbf")
                && shown.contains("limit 40000b")
                && !shown.contains("bands"),
            "{port}: {shown}"
        );
    }
    // A host's card has the kernel's own queue under its rate, as long as that of any card.
    let host = limit("n0", "eth0");
    assert!(
        host.contains("qdisc tbf")
            && host.contains("qdisc pfifo_fast")
            && host.contains("parent 1:1 bands 3"),
        "{host}"
    );
    lab.down();
}

#[test]
fn what_a_killed_up_left_is_cleaned_by_the_next_and_by_down() {
    let lab = LabCommands::new("kill");
    let killed = |moment: &dyn Fn()| {
        let mut up = lab
            .command(&["up", TWO])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        moment();
        up.kill().unwrap();
        up.wait().unwrap();
    };
    for moment in [50, 150, 400] {
        killed(&|| std::thread::sleep(Duration::from_millis(moment)));
    }
    lab.ok(&["down"]);
    // An init on its way to its node finds that it is gone, and ends by itself.
    nothing_of("the killed labs", || lab.named.left());
    killed(&|| lab.await_head());
    assert_ne!(
        lab.named.left(),
        Vec::<String>::new(),
        "the last was killed in the middle of its work"
    );
    lab.ok(&["up", TWO]);
    assert_eq!(lab.exec("n3", &["hostname"]), "n3\n");
    lab.down();
}

#[test]
fn an_up_that_fails_leaves_nothing() {
    let directory = tempfile::tempdir().unwrap();
    for daemon in ["snmpd", "lldpd"] {
        // Found, but not to be started: its interpreter is missing.
        fs::write(directory.path().join(daemon), "#!/no/such/interpreter\n").unwrap();
        fs::set_permissions(
            directory.path().join(daemon),
            fs::Permissions::from_mode(0o755),
        )
        .unwrap();
    }
    let lab = LabCommands::new("fail");
    let output = run(lab.command(&["up", TWO]).env("PATH", directory.path()));
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(64), "{said}");
    assert!(
        said.contains(": starting snmpd: No such file")
            || said.contains(": starting lldpd: No such file"),
        "{said}"
    );
    assert_eq!(lab.named.left(), Vec::<String>::new());
}

#[test]
fn a_demo_that_is_interrupted_takes_its_half_built_lab_down() {
    let lab = LabCommands::new("sig");
    let mut command = Command::new(HEDDLE);
    command
        .args(["demo", "--text", "--name", &lab.named.name])
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut demo = command.spawn().unwrap();
    lab.await_head();
    let signal = |name: &str| {
        assert!(
            Command::new("kill")
                .args([name, &demo.id().to_string()])
                .status()
                .unwrap()
                .success()
        )
    };
    signal("-STOP");
    let state: Value =
        serde_json::from_slice(&fs::read(lab.named.directory().join("state.json")).unwrap())
            .unwrap();
    assert_eq!(
        state["complete"], false,
        "the signal is to come while the lab is built"
    );
    signal("-INT");
    signal("-CONT");
    assert!(demo.wait().unwrap().success());
    assert_eq!(lab.named.left(), Vec::<String>::new());
}

#[test]
fn two_labs_stand_side_by_side() {
    // The name of one is the beginning of the other's, as far as it goes.
    let one = LabCommands::up("one", TWO);
    let other = one.beside("one-s0", TWO);
    one.ok(&["cut", "s0-s1"]);
    assert_eq!(
        (
            one.cable("s0", "s1").as_str(),
            other.cable("s0", "s1").as_str()
        ),
        ("down", "forwarding")
    );
    assert_eq!(
        one.exec("ctl", &["hostname"]),
        other.exec("ctl", &["hostname"])
    );
    one.down();
    assert_eq!(other.status()["up"], true);
    assert_eq!(other.walk("10.78.1.2", ".1.3.6.1.2.1.1.5"), ["s1"]);
    other.down();
}

#[test]
fn forty_switches_come_up() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("forty.yaml");
    let names: Vec<String> = (0..40).map(|i| format!("s{i}")).collect();
    let mut topology = format!("switches: [{}]\nhosts:\n", names.join(", "));
    for i in 0..8 {
        topology += &format!("  n{i}: {{switch: s{}, rate: 20M}}\n", i * 5);
    }
    topology += "links:\n";
    for i in 1..40 {
        topology += &format!("  - {{a: s{}, b: s{i}, rate: 100M}}\n", (i - 1) / 3);
    }
    fs::write(&file, topology).unwrap();
    let lab = LabCommands::up("forty", file.to_str().unwrap());
    assert_eq!(lab.status()["nodes"].as_array().unwrap().len(), 1 + 40 + 8);
    assert_eq!(lab.walk("10.78.1.40", ".1.3.6.1.2.1.1.5"), ["s39"]);
    lab.down();
}

const HELLO: &str = r#"
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv) {
    int rank, size, length;
    char name[MPI_MAX_PROCESSOR_NAME];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Get_processor_name(name, &length);
    int *out = malloc(size * sizeof(int)), *in = malloc(size * sizeof(int));
    for (int i = 0; i < size; i++) out[i] = 1000 * rank + i;
    MPI_Alltoall(out, 1, MPI_INT, in, 1, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < size; i++) if (in[i] != 1000 * i + rank) MPI_Abort(MPI_COMM_WORLD, 3);
    printf("rank %d of %d on %s, word %s\n", rank, size, name, getenv("HEDDLE_VERBOSE") ? getenv("HEDDLE_VERBOSE") : "-");
    fflush(stdout);
    if (argc > 1) sleep(atoi(argv[1]));
    MPI_Finalize();
    return 0;
}
"#;

/// Compiles the program above for an MPI.
fn hello(directory: &Path, mpi: &str) -> String {
    let (source, program) = (directory.join("hello.c"), directory.join(mpi));
    fs::write(&source, HELLO).unwrap();
    let compiler = format!("mpicc.{mpi}");
    let compiled = Command::new(&compiler)
        .arg(&source)
        .arg("-o")
        .arg(&program)
        .status();
    let hint = "apt-get install libopenmpi-dev libmpich-dev";
    assert!(
        compiled.is_ok_and(|s| s.success()),
        "{compiler} is missing or failed; run: {hint}"
    );
    program.display().to_string()
}

#[test]
fn mpi_programs_run_across_the_hosts_in_order_and_end_with_their_launcher() {
    let directory = tempfile::tempdir().unwrap();
    let lab = LabCommands::up("mpi", TWO);
    for mpi in ["openmpi", "mpich"] {
        let program = hello(directory.path(), mpi);
        let mut lines: Vec<String> = lab.hello(mpi, &[], &[&program]);
        lines.sort();
        let expected: Vec<String> = (0..4)
            .map(|r| format!("rank {r} of 4 on n{r}, word 1"))
            .collect();
        assert_eq!(lines, expected, "{mpi}");
        let mut lines = lab.hello(
            mpi,
            &["--per-host", "2", "-n", "3", "--hosts", "n2,n1"],
            &[&program],
        );
        lines.sort();
        let expected = [
            "rank 0 of 3 on n2, word 1",
            "rank 1 of 3 on n2, word 1",
            "rank 2 of 3 on n1, word 1",
        ];
        assert_eq!(lines, expected, "{mpi}");
        // The time limit ends everything, and so does the death of the launcher.
        let late = lab.output(&[
            "mpirun",
            "--mpi",
            mpi,
            "--no-shim",
            "--timeout",
            "5",
            "--",
            &program,
            "600",
        ]);
        assert_eq!(
            late.status.code(),
            Some(124),
            "{mpi}: {}",
            text(&late.stderr)
        );
        lab.await_no_rank(&program);
        let mut command =
            lab.command(&["mpirun", "--mpi", mpi, "--no-shim", "--", &program, "600"]);
        let mut launcher = command
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_secs(3));
        launcher.kill().unwrap();
        launcher.wait().unwrap();
        lab.await_no_rank(&program);
    }
    assert!(
        lab.refused(&[
            "mpirun",
            "--mpi",
            "mpich",
            "-n",
            "9",
            "--no-shim",
            "--",
            "true"
        ])
        .contains("--per-host")
    );
    assert!(
        lab.refused(&[
            "mpirun",
            "--mpi",
            "mpich",
            "--hosts",
            "s0",
            "--no-shim",
            "--",
            "true"
        ])
        .contains("not a host")
    );
    lab.down();
}

impl LabCommands {
    fn hello(&self, mpi: &str, flags: &[&str], program: &[&str]) -> Vec<String> {
        let arguments = [
            &["mpirun", "--mpi", mpi, "--no-shim", "--timeout", "100"],
            flags,
            &["--"],
            program,
        ]
        .concat();
        let output = run(self.command(&arguments).env("HEDDLE_VERBOSE", "1"));
        assert!(
            output.status.success(),
            "{mpi}: {}{}",
            text(&output.stdout),
            text(&output.stderr)
        );
        text(&output.stdout)
            .lines()
            .filter(|l| l.starts_with("rank"))
            .map(str::to_owned)
            .collect()
    }

    /// No process of the job is left: launcher, agents, daemons, ranks.
    fn await_no_rank(&self, program: &str) {
        let job = |p: &String| {
            [
                "mpirun", "mpiexec", "orted", "hydra", "agent", "session", program,
            ]
            .iter()
            .any(|w| p.contains(w))
        };
        nothing_of("the job", || {
            self.named.processes().into_iter().filter(job).collect()
        });
    }
}

/// Waits until nothing is left.
fn nothing_of(what: &str, left: impl Fn() -> Vec<String>) {
    until_or_why(&format!("nothing of {what} is left"), LIMIT, || {
        let left = left();
        if left.is_empty() {
            Ok(())
        } else {
            Err(format!("{left:#?}"))
        }
    });
}
