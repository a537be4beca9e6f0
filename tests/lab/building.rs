//! Labs are built, even over the remains of another lab, and leave nothing behind.
use super::commands::{LabCommands, nothing_of, run};
use super::{DEMO, TWO};
use crate::common::{HEDDLE, text};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::time::Duration;

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
    assert!(
        lab.exec("n7", &["heddle", "--version"])
            .starts_with("heddle ")
    );
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

#[test]
fn what_a_killed_up_left_is_cleaned_by_the_next_and_by_down() {
    let lab = LabCommands::new("kill");
    for moment in [50, 150, 400] {
        killed_at(&|| std::thread::sleep(Duration::from_millis(moment)), &lab);
    }
    lab.ok(&["down"]);
    // An init process that enters a node finds that the node is gone, and ends by itself.
    nothing_of("the killed labs", || lab.named.left());
    killed_at(&|| lab.await_head(), &lab);
    assert_ne!(
        lab.named.left(),
        Vec::<String>::new(),
        "the last was killed in the middle of its work"
    );
    lab.ok(&["up", TWO]);
    assert_eq!(lab.exec("n3", &["hostname"]), "n3\n");
    lab.down();
}

fn killed_at(moment: &dyn Fn(), lab: &LabCommands) {
    let mut up = lab
        .command(&["up", TWO])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    moment();
    up.kill().unwrap();
    up.wait().unwrap();
}

#[test]
fn an_up_that_fails_leaves_nothing() {
    let directory = tempfile::tempdir().unwrap();
    for daemon in ["snmpd", "lldpd"] {
        // The program exists but cannot be started: its interpreter is missing.
        fs::write(directory.path().join(daemon), "#!/no/such/interpreter\n").unwrap();
        fs::set_permissions(
            directory.path().join(daemon),
            fs::Permissions::from_mode(0o755),
        )
        .unwrap();
    }
    let lab = LabCommands::new("fail");
    let output = run(lab.command(&["up", TWO]).env("PATH", directory.path()));
    let answer = text(&output.stderr);
    assert_eq!(output.status.code(), Some(64), "{answer}");
    assert!(
        answer.contains(": starting snmpd: No such file")
            || answer.contains(": starting lldpd: No such file"),
        "{answer}"
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
    signal("-STOP", &demo);
    let state: Value =
        serde_json::from_slice(&fs::read(lab.named.directory().join("state.json")).unwrap())
            .unwrap();
    assert_eq!(
        state["complete"], false,
        "the signal is to come while the lab is built"
    );
    signal("-INT", &demo);
    signal("-CONT", &demo);
    assert!(demo.wait().unwrap().success());
    assert_eq!(lab.named.left(), Vec::<String>::new());
}

fn signal(name: &str, demo: &std::process::Child) {
    assert!(
        Command::new("kill")
            .args([name, &demo.id().to_string()])
            .status()
            .unwrap()
            .success()
    )
}

#[test]
fn two_labs_stand_side_by_side() {
    // The name of one lab is the beginning of the other's name.
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
