//! `heddle map` on an emulated cluster: no switch is asked, and the tree comes out.
use crate::common::HEDDLE;
use crate::common::lab::{RunningLab, row};
use crate::common::machine_share::MachinePart;
use inventory::TopologyFile;
use inventory::tree::Tree;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn map(lab: &RunningLab, mpi: &str, launcher: &[&str], file: &Path) -> Output {
    let job = [
        "lab",
        "mpirun",
        "--name",
        lab.lab.name(),
        "--no-shim",
        "--timeout",
        "90",
        "--mpi",
    ];
    Command::new(HEDDLE)
        .args(job)
        .arg(mpi)
        .args(launcher)
        .args(["--", HEDDLE, "map", "--network", "10.77.0.0/16", "-o"])
        .arg(file)
        .output()
        .expect("heddle runs")
}

/// The hosts on either side of each trunk: on the one without the first host.
fn sides(tree: &Tree) -> BTreeSet<Vec<String>> {
    let hosts = tree.host_names();
    let inner = tree.top_down().iter().filter(|node| !tree.is_host(**node));
    let below = |trunk: u32| -> Vec<String> {
        let (inside, outside): (Vec<_>, Vec<_>) = hosts.iter().partition(|host| {
            let mut at = tree.host(host);
            while at.is_some_and(|node| node != trunk) {
                at = at.and_then(|node| tree.parent(node));
            }
            at.is_some()
        });
        let side = if inside.contains(&&hosts[0]) {
            outside
        } else {
            inside
        };
        side.into_iter().cloned().collect()
    };
    inner
        .map(|node| below(*node))
        .filter(|side| side.len() > 1)
        .collect()
}

/// Measures the tree into a file. The rate of each cable may be a fifth off.
fn measured_right(lab: &RunningLab, file: &Path) -> Result<(), String> {
    let done = map(lab, "openmpi", &[], file);
    let output = String::from_utf8_lossy(&done.stdout);
    if !output.starts_with("9 hosts, 3 switches that matter; ") {
        return Err(format!("{output}{}", String::from_utf8_lossy(&done.stderr)));
    }
    let text = fs::read_to_string(file).unwrap();
    let found = TopologyFile::parse("cluster.yaml", &text).unwrap();
    assert_eq!(
        found.hosts["n4"].address,
        Some(lab.address("n4").into()),
        "{text}"
    );
    let links = found.links.iter().map(|link| link.rate.0);
    let mut rates = links.chain(found.hosts.values().map(|host| host.rate.0));
    let is_right = sides(&found.tree().unwrap()) == sides(&lab.file.tree().unwrap())
        && rates.all(|rate| (16_000_000..24_000_000).contains(&rate));
    is_right.then_some(()).ok_or(text)
}

#[test]
fn the_tree_is_found_from_the_hosts_alone() {
    let lab = RunningLab::with(MachinePart::Whole, "map", &row(&[3; 3], "20M"));
    let file = lab.path("cluster.yaml");
    // A virtual machine may stop for seconds while times are measured.
    if let Err(problem) = measured_right(&lab, &file) {
        eprintln!("measured once more: {problem}");
        fs::remove_file(&file).unwrap();
        measured_right(&lab, &file).unwrap();
    }

    let again = map(&lab, "openmpi", &[], &file);
    let output = String::from_utf8_lossy(&again.stderr);
    assert!(
        !again.status.success() && output.contains("--force replaces it"),
        "{output}"
    );
    fs::remove_file(&file).unwrap();
    let refused = map(&lab, "mpich", &["--per-host", "2"], &file);
    let output = String::from_utf8_lossy(&refused.stderr);
    assert!(
        !refused.status.success() && output.contains("ranks 0 and 1 are both on n0: "),
        "{output}"
    );
    lab.down();
}

#[test]
fn without_a_launcher_it_says_how_to_start_it() {
    let alone = Command::new(HEDDLE)
        .args(["map", "-o", "cluster.yaml"])
        .env_remove("PMI_SIZE")
        .env_remove("OMPI_COMM_WORLD_SIZE")
        .output()
        .expect("heddle runs");
    let text = String::from_utf8_lossy(&alone.stderr);
    assert!(
        text.contains("mpirun --map-by node -n 16 heddle map -o cluster.yaml"),
        "{text}"
    );
    assert_eq!(alone.status.code(), Some(64));
}

/// The object, the problem, the consequence and a hint; nothing is written.
#[test]
fn kept_rounds_that_cannot_be_read_are_bad_input() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    fs::write(at("other.yaml"), "switches: [s0]\n").unwrap();
    let hosts = r#"{"hosts":[{"name":"a","address":"10.0.0.1:7"},{"name":"b","address":"10.0.0.2:7"},{"name":"c","address":"10.0.0.3:7"}]}"#;
    fs::write(at("few.rounds"), format!("{hosts}\n[[0,1,1e7]]\n")).unwrap();
    fs::write(
        at("foreign.rounds"),
        format!("{hosts}\n[[0,1,1e7]]\n[[0,9,1e7]]\n"),
    )
    .unwrap();
    let (none, cluster) = (at("none.rounds"), at("cluster.yaml"));
    let hint = "nothing was done; name a file that an earlier run kept: --from FILE.rounds";
    let (no_file, no_text) = (
        "no such file or folder",
        "not rounds that heddle map measured: ",
    );
    let line = format!("{no_text}line 3 has a flow that cannot be between 3 hosts; {hint}");
    let no_folder = format!("there is no folder {}; nothing was done", at("no"));
    let cases = [
        (&none, &cluster, format!("{none}: {no_file}; {hint}")),
        (
            &at("other.yaml"),
            &cluster,
            format!("{no_text}line 1 names no hosts: "),
        ),
        (&at("foreign.rounds"), &cluster, line),
        (
            &at("few.rounds"),
            &cluster,
            "1 rounds, too few to tell a tree; ".to_owned(),
        ),
        (&none, &at("no/cluster.yaml"), no_folder),
        (&none, &at(""), "is a folder; nothing was done; ".to_owned()),
    ];
    for (from, output, expected) in cases {
        let map = ["map", "--from", from, "--output", output];
        let done = Command::new(HEDDLE)
            .args(map)
            .output()
            .expect("heddle runs");
        let text = String::from_utf8_lossy(&done.stderr);
        assert!(
            text.starts_with("heddle map: ") && text.contains(&expected),
            "{text}"
        );
        assert!(!text.contains("os error"), "{text}");
        assert_eq!(done.status.code(), Some(64), "{text}");
        assert!(!Path::new(&cluster).exists());
    }
}
