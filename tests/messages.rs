//! Messages to tired operators: wrong files, wrong addresses, wrong names. Each names object, place,
//! problem, consequence and a way out.
use crate::common::HEDDLE;
use std::fs;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

const SNMP: &str = "snmp:\n  default: {version: 2c, community: public}\n";

/// A folder with the files that an operator gives.
fn given(files: &[(&str, &[u8])]) -> TempDir {
    let dir = tempfile::tempdir().expect("a folder");
    for (name, content) in files {
        fs::write(dir.path().join(name), content).expect("written");
    }
    dir
}

/// Runs a command in the folder; it must fail with this status. Returns its messages.
fn refused(dir: &TempDir, status: i32, command: &str) -> String {
    let output = Command::new(HEDDLE)
        .args(command.split(' '))
        .current_dir(dir.path())
        .env_remove("HEDDLE_DIR")
        .output()
        .expect("heddle runs");
    let text = String::from_utf8(output.stderr).expect("UTF-8");
    assert_eq!(output.status.code(), Some(status), "{command}: {text}");
    text
}

/// Runs a command on one file `f.yaml` with this content, and compares its whole message.
#[track_caller]
fn says(content: &[u8], command: &str, message: &str) {
    let dir = given(&[("f.yaml", content)]);
    let output = refused(&dir, 64, command);
    assert_eq!(output.trim_end(), format!("heddle: {message}"), "{command}");
}

const PLAN: &str = "schedule alltoall --topology f.yaml";
const DISCOVER: &str = "discover --inventory f.yaml";

#[test]
fn a_file_of_the_other_form_is_recognized() {
    let inventory = format!("switches:\n  s0: {{address: 10.0.0.1}}\n{SNMP}hosts: [n0]\n");
    says(
        inventory.as_bytes(),
        PLAN,
        "f.yaml: this is an inventory, which names switches to ask; expected a topology file, \
         which states a network: heddle discover --format topology writes one; nothing was done",
    );
    says(
        b"switches: [s0]\nhosts: {n0: {switch: s0}}\n",
        DISCOVER,
        "f.yaml: this is a topology file, which states a network; expected an inventory, which \
         names switches with their addresses and credentials; docs/inventory.md has both; nothing \
         was done",
    );
    says(
        b"switches: {s0: {}}\nhosts: {n0: {switch: s0}}\n",
        PLAN,
        "f.yaml:1: switches: a map stands here; expected a list of names, like [s0, s1]; nothing \
         was done",
    );
}

#[test]
fn mistakes_of_editors_are_reported() {
    for (content, problem) in [
        (
            &b"switches:\n\ts0: {}\n"[..],
            "f.yaml:2: a tab indents this line, and YAML allows only spaces there; replace each \
             tab by two spaces",
        ),
        (
            b"",
            "f.yaml: the file is empty, or has comments only; expected at least switches and \
             hosts, as in docs/inventory.md",
        ),
        (
            b"\xff\xfes\0w\0",
            "f.yaml: it is not text in UTF-8; save it as UTF-8",
        ),
        (
            b"switches:\n  s0: {address: 10.0.0.1}\nhosts: [node[01-40]]\n",
            "f.yaml:3: the range node[01-40] stands in a list or map in brackets, and its own \
             brackets end that; put it into quotes: \"node[01-40]\"",
        ),
        (
            b"\xef\xbb\xbfswitches:\n  s0: {address: 10.0.0.1}\n",
            "f.yaml:2: switch \"s0\": unknown credential \"default\"; known under snmp: none, \
             expected one like snmp: {default: {version: 2c, community: NAME}}",
        ),
    ] {
        says(content, DISCOVER, &format!("{problem}; nothing was done"));
    }
}

#[test]
fn a_credential_that_cannot_be_read_is_named() {
    let text = "switches:\n  s0: {address: 10.0.0.1}\nsnmp:\n  default: {version: 2c, community: \
                {file: no/file}}\n  core: {version: 3, user: u, auth: {protocol: rot13}}\n";
    says(
        text.as_bytes(),
        DISCOVER,
        "f.yaml:5: snmp, credential \"core\", auth protocol: expected one of md5, sha, sha224, \
         sha256, sha384, sha512; what stands there is not shown; nothing was done",
    );
    let (text, _) = text.split_once("  core").expect("two credentials");
    says(
        text.as_bytes(),
        DISCOVER,
        "f.yaml: credential \"default\": file no/file: no such file or folder; nothing was done",
    );
}

#[test]
fn links_that_make_no_tree_come_with_their_line() {
    for (link, problem) in [
        (
            "{a: s1, b: s0}",
            "two links join s0 and s1, and both forward; frames would circle: leave one out, mark \
             one `state: blocked`, or mark members of an aggregate `state: multipath`",
        ),
        (
            "{a: s1, b: s9}",
            "link s1-s9: unknown switch \"s9\"; known switches: s0, s1",
        ),
    ] {
        for command in [PLAN, "publish --topology f.yaml --dir shared"] {
            let message = format!("f.yaml:6: {problem}; nothing was done");
            says(network(link).as_bytes(), command, &message);
        }
    }
    says(
        b"switches: [s0, s1]\nhosts: {}\nlinks: [{a: s0, b: s1}, {a: s1, b: s0}]\n",
        PLAN,
        "f.yaml:2: topology has no host; nothing can be planned; nothing was done",
    );
}

fn network(link: &str) -> String {
    format!(
        "switches: [s0, s1]\nhosts:\n  n0: {{switch: s0}}\nlinks:\n  - {{a: s0, b: s1}}\n  - \
             {link}\n"
    )
}

#[test]
fn values_of_flags_that_do_not_fit_say_what_does() {
    let good: (&str, &[u8]) = (
        "f.yaml",
        b"switches: [s0, s1]\nhosts: {n0: {switch: s0}}\nlinks: \
                                 [{a: s0, b: s1}]\n",
    );
    let dir = given(&[good]);
    for (status, command, message) in [
        (
            2,
            "controller --inventory f.yaml --dir d --listen 7171",
            "expected an address and a port: 127.0.0.1:7171 serves this machine, 0.0.0.0:7171 \
             others, too",
        ),
        (
            64,
            "what-if --topology f.yaml --link s0-s9=10G",
            "link s0-s9: \"s9\" is not in the topology, whose switches are s0, s1; nothing was \
             computed",
        ),
        (
            64,
            "what-if --topology f.yaml --move n7=s0",
            "host \"n7\" is not in the topology, whose hosts are n0; nothing was computed",
        ),
        (
            64,
            "tui --print 80x24 --snapshot f.yaml",
            "f.yaml: line 1: it is not JSON; nothing is shown: expected a snapshot of this \
             version's controller, as curl http://HEAD:7171/v1/snapshot writes it",
        ),
        (
            64,
            "tune --dir . --mpi openmpi -- no-such-launcher -n 2",
            "launcher \"no-such-launcher\": no such program on the search path; nothing was \
             measured: give the command that starts your jobs after \"--\", or load its module \
             first",
        ),
        (
            64,
            "history --dir nowhere",
            "nowhere/epochs: no such file or folder; expected the shared directory that heddle \
             controller or heddle publish writes",
        ),
    ] {
        let output = refused(&dir, status, command);
        assert!(output.contains(message), "{command}: {output}");
    }
}

/// Two switches with a host each.
const PAIR: &[u8] = b"switches: [s0, s1]\nhosts: {n0: {switch: s0}, n1: {switch: s1}}\nlinks: \
                      [{a: s0, b: s1}]\n";

/// Runs each command in a folder with `f.yaml`; it must fail with this status, and say this.
fn all_refused(commands: &[(i32, &str, &str)]) {
    let dir = given(&[("f.yaml", PAIR)]);
    for (status, command, message) in commands {
        let output = refused(&dir, *status, command);
        assert!(output.contains(message), "{command}: {output}");
    }
    let left = fs::read_dir(dir.path()).expect("the folder").count();
    assert_eq!(left, 1, "something was made");
}

#[test]
fn what_is_not_there_is_reported_by_every_command() {
    let no_directory = "heddle: nowhere: no such file or folder; expected the shared directory";
    all_refused(&[
        (
            64,
            "predict --topology f.yaml --size 64k --dir nowhere",
            no_directory,
        ),
        (64, "discover --dir nowhere", no_directory),
        (64, "history --dir nowhere --release", no_directory),
        (
            64,
            "discover --dir .",
            "heddle: .: no epoch is published there; start heddle controller, or heddle publish",
        ),
        (
            64,
            "init 127.0.0.1:1 --community-file f.yaml --hosts none -o -",
            "heddle: none: no such file or folder; nothing was done",
        ),
        (
            64,
            "tui --print 80x24 --config none",
            "heddle: none: no such file or folder; nothing is shown: name another configuration file",
        ),
        (
            64,
            "tui --print 80x24 --token-file none",
            "heddle: token file none: no such file or folder",
        ),
        (
            64,
            "init 127.0.0.1:1 --community-file none -o -",
            "none: no such file or folder; nothing was asked",
        ),
        (
            64,
            "init 127.0.0.1:1 --community-file f.yaml -o none/x.yaml",
            "heddle: none: no such file or folder; nothing was asked: choose another file",
        ),
        (
            64,
            "tui --print 80x24 --connect 127.0.0.1:1",
            "http://127.0.0.1:1: nothing listens there; is the controller up, and the address right?",
        ),
    ]);
}

#[test]
fn programs_bridges_and_traces_that_are_not_there_are_reported() {
    all_refused(&[
        (
            64,
            "trace . --job x",
            "heddle: .: no file ends in .heddle-trace; run the job with HEDDLE_TRACE=.",
        ),
        (
            64,
            "controller --inventory f.yaml --dir d --on-epoch none",
            "heddle: --on-epoch none: no such file or folder; nothing was started",
        ),
        (
            64,
            "lab bridge-mib none",
            "heddle: bridge-mib: bridge none: there is none here; ",
        ),
    ]);
}

#[test]
fn a_file_in_the_place_of_a_folder_is_reported() {
    let no_folder = "heddle: f.yaml: a part of the path is a file; name a folder; expected the \
                     shared directory that heddle controller or heddle publish writes";
    let taken = "heddle: f.yaml: a file of this name is there already; choose another name";
    all_refused(&[
        (64, "discover --dir f.yaml", no_folder),
        (64, "history --dir f.yaml --rollback 3", no_folder),
        (64, "cert head --dir f.yaml", taken),
        (64, "completions --man f.yaml", taken),
    ]);
}

#[test]
fn a_pointer_that_cannot_be_read_is_reported_once() {
    let dir = given(&[]);
    fs::create_dir_all(dir.path().join("d/current")).expect("a folder");
    assert_eq!(
        refused(&dir, 64, "discover --dir d"),
        "heddle: d/current: not a regular file\n"
    );
}

#[test]
fn files_that_are_read_later_are_reported_as_well() {
    let inventory = format!("switches:\n  s0: {{address: '127.0.0.1:9'}}\n{SNMP}hosts: [n0]\n");
    let dir = given(&[("f.yaml", inventory.as_bytes())]);
    let controller = "controller --inventory f.yaml --dir d --listen 127.0.0.1:0";
    for (command, message) in [
        (
            format!("{controller} --tls-cert none --tls-key none"),
            "heddle: TLS file none: no such file or folder; nothing was started\n",
        ),
        (
            format!("{controller} --journal none/j"),
            "heddle: journal none/j: no such file or folder; nothing was started\n",
        ),
        (
            "discover --inventory f.yaml --reports none".to_owned(),
            "heddle: --reports none: no such file or folder; nothing was asked\n",
        ),
    ] {
        let output = refused(&dir, 64, &command);
        assert!(output.ends_with(message), "{command}: {output}");
    }
}

#[test]
fn a_check_names_every_part_that_is_wrong() {
    let inventory = format!("switches:\n  s0: {{address: '127.0.0.1:9'}}\n{SNMP}hosts: [n0]\n");
    let token = b"0123456789abcdef0123456789abcdef";
    let dir = given(&[("f.yaml", inventory.as_bytes()), ("token", token)]);
    let command = "controller --check --inventory f.yaml --dir token --listen 127.0.0.1:0 \
                   --token-file token --agent-token-file token --journal . --on-epoch none \
                   --on-alarm token";
    let output = Command::new(HEDDLE)
        .args(command.split_whitespace())
        .current_dir(dir.path())
        .output()
        .expect("heddle runs");
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let outcomes: Vec<(&str, &str)> = text
        .lines()
        .filter_map(|line| line.split_once(' '))
        .collect();
    for (name, problem) in [
        ("agents' token", "both files have the same token"),
        (
            "directory",
            "token: a part of the path is a file; name a folder",
        ),
        ("address", "not tried, because a token is wrong"),
        ("journal", ".: it is a folder; name a file in it"),
        ("on-epoch", "none: no such file or folder"),
        ("on-alarm", "make it executable with chmod +x"),
    ] {
        let is_named = outcomes.iter().any(|(word, rest)| {
            *word == "WRONG" && rest.trim_start().starts_with(name) && rest.contains(problem)
        });
        assert!(is_named, "{name}: {text}");
    }
}

#[test]
fn flags_that_make_no_sense_are_refused_before_anything_is_done() {
    all_refused(&[
        (
            64,
            "schedule alltoall --topology f.yaml --hosts n7",
            "; nothing was done",
        ),
        (
            2,
            "history --dir . --rollback x",
            "expected a whole number from 1 on",
        ),
        (2, "cert --days 0", "expected a whole number from 1 to 3650"),
        (
            2,
            "lab up f.yaml --port-buffer 10",
            "expected a whole number from 3100 to",
        ),
        (
            2,
            "init 127.0.0.1:1 --user u --auth md5 -o -",
            "required arguments were not provided:\n  --auth-file <FILE>",
        ),
        (
            64,
            "schedule alltoall --topology f.yaml --network x",
            "heddle: f.yaml: there is no network \"x\"; there is only one, which needs no name; \
             nothing was done",
        ),
        (
            64,
            "tui --print 80x24 --connect ftp://head",
            "heddle: --connect ftp://head: expected HOST:PORT, [::1]:PORT or https://HOST:PORT",
        ),
        (
            64,
            "tui --print 80x24 --connect fd00::1",
            "heddle: --connect fd00::1: expected HOST:PORT, [::1]:PORT or https://HOST:PORT",
        ),
        (
            64,
            "demo --name a/b --text",
            "heddle: lab name \"a/b\": expected 1 to 32 letters",
        ),
        (
            64,
            "cert a_b/c --dir tls",
            "heddle: name \"a_b/c\": expected an IP address or a name of the DNS",
        ),
    ]);
}

#[test]
fn an_epoch_that_is_not_kept_is_not_rolled_back_to() {
    let dir = given(&[("f.yaml", b"switches: [s0]\nhosts: {n0: {switch: s0}}\n")]);
    let published = Command::new(HEDDLE)
        .args(["publish", "--topology", "f.yaml", "--dir", "d"])
        .current_dir(dir.path())
        .output();
    assert!(published.expect("heddle runs").status.success());
    assert_eq!(
        refused(&dir, 64, "history --dir d --rollback 9"),
        "heddle: epoch 9: it is not kept in d; nothing was done: heddle history --dir d lists \
         those that are\n"
    );
}

#[test]
fn a_node_for_jobs_needs_no_compiler_and_a_verdict_is_given() {
    let node = heddle(&["doctor"]);
    assert!(
        ["clang", "tmux", "gfortran"]
            .iter()
            .all(|program| !node.contains(program)),
        "{node}"
    );
    assert!(
        node.contains("other purposes: heddle doctor --for agent,lab,build,tests"),
        "{node}"
    );
    assert!(heddle(&["doctor", "--for", "build,tests"]).contains("gfortran"));
    let jobs = heddle(&["doctor", "--mpi"]);
    assert!(
        jobs.contains("directory  MISSING: HEDDLE_DIR is not set"),
        "{jobs}"
    );
    let verdict = jobs.lines().last().unwrap_or_default();
    assert!(
        verdict.starts_with("jobs that start here lack: ") && verdict.ends_with("directory"),
        "{jobs}"
    );
}

fn heddle(arguments: &[&str]) -> String {
    let output = Command::new(HEDDLE)
        .args(arguments)
        .env_remove("HEDDLE_DIR")
        .output();
    String::from_utf8(output.expect("heddle runs").stdout).expect("UTF-8")
}

/// docs/alarms.md has the catalogue of the code; UPDATE_GOLDEN=1 writes it.
#[test]
fn the_document_of_alarms_has_every_code() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/alarms.md");
    let text = fs::read_to_string(&path).expect("a document");
    let begin = text.find("code | meaning").expect("a table");
    let table = inventory::alarm::code::AlarmCode::markdown();
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, text[..begin].to_owned() + &table).expect("a document");
    } else {
        assert!(
            text[begin..] == table,
            "docs/alarms.md; UPDATE_GOLDEN=1 writes it anew"
        );
    }
}

#[test]
fn the_document_of_the_environment_has_every_variable_and_no_other() {
    use inventory::environment::{VARIABLES, VariableReader};
    let document = include_str!("../docs/environment.md");
    let rows = document
        .lines()
        .filter(|line| line.starts_with("| `HEDDLE"));
    let expected: Vec<String> = [
        VariableReader::Jobs,
        VariableReader::Commands,
        VariableReader::Units,
    ]
    .into_iter()
    .flat_map(|reader| VARIABLES.iter().filter(move |v| v.reader == reader))
    .map(|v| format!("| `{}` | {} |", v.name, v.meaning))
    .collect();
    assert_eq!(rows.collect::<Vec<&str>>(), expected);
}

#[test]
fn a_misspelt_variable_is_reported_and_a_foreign_one_is_not() {
    let output = Command::new(HEDDLE)
        .args(["completions", "fish"])
        .env("HEDDLE_DRI", "/srv/heddle")
        .env("HEDDLE_SNMP_SECRET", "x")
        .output()
        .expect("heddle runs");
    assert!(output.status.success());
    assert_eq!(
        String::from_utf8_lossy(&output.stderr),
        "heddle: HEDDLE_DRI is set, but heddle knows no such variable; did you mean \
         HEDDLE_DIR?\n"
    );
}
