//! `heddle schedule` and `heddle verify` from the outside.
use crate::common::HEDDLE;
use crate::common::golden::{check_commands, folder};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// All-to-all schedules: the name of each golden file and the command behind it.
const ALLTOALL: &[(&str, &str)] = &[
    (
        "alltoall-figure-1",
        "schedule alltoall --topology figure-1.yaml",
    ),
    (
        "alltoall-figure-1-json",
        "schedule alltoall --topology figure-1.yaml --minimal --format json",
    ),
    (
        "alltoall-sender",
        "schedule alltoall --topology figure-1.yaml --algorithm aapc --sync sender --minimal",
    ),
    (
        "alltoall-barrier",
        "schedule alltoall --topology figure-1.yaml --sync barrier",
    ),
    (
        "alltoall-none",
        "schedule alltoall --topology one-switch.yaml --sync none",
    ),
    (
        "alltoall-subset",
        "schedule alltoall --topology figure-1.yaml --hosts n4,n0 --format json",
    ),
    ("alltoall-lone", "schedule alltoall --topology lone.yaml"),
    (
        "alltoall-fast-trunks",
        "schedule alltoall --topology fast-trunks.yaml",
    ),
    (
        "alltoall-fast-trunks-json",
        "schedule alltoall --topology fast-trunks.yaml --format json",
    ),
    (
        "alltoall-fast-trunks-aapc",
        "schedule alltoall --topology fast-trunks.yaml --algorithm aapc",
    ),
    (
        "alltoall-lg",
        "schedule alltoall --topology sites.yaml --algorithm lg",
    ),
    (
        "alltoall-lg-json",
        "schedule alltoall --topology sites.yaml --algorithm lg --format json",
    ),
    (
        "alltoall-lg-routed",
        "schedule alltoall --topology routed.yaml --algorithm lg",
    ),
    (
        "alltoall-lg-outside",
        "schedule alltoall --topology sites-outside.yaml --algorithm lg",
    ),
    (
        "alltoall-ranks",
        "schedule alltoall --topology ranks.yaml --hosts c,a",
    ),
    (
        "alltoall-dummy",
        "schedule alltoall --topology figure-1.yaml --sync dummy",
    ),
    (
        "alltoall-partial",
        "schedule alltoall --topology figure-1.yaml --sync sender --block 4",
    ),
    (
        "alltoall-barrier-tokens",
        "schedule alltoall --topology figure-1.yaml --sync barrier+receiver --block 4 \
         --format json",
    ),
    (
        "alltoall-no-host",
        "schedule alltoall --topology no-host.yaml --format json",
    ),
    (
        "alltoall-reordered",
        "schedule alltoall --topology figure-1.yaml --minimal --reorder",
    ),
];

/// Allgather schedules, in the same way.
const ALLGATHER: &[(&str, &str)] = &[
    (
        "allgather-figure-1",
        "schedule allgather --topology figure-1.yaml",
    ),
    (
        "allgather-figure-1-json",
        "schedule allgather --topology figure-1.yaml --algorithm lr1 --format json",
    ),
    (
        "allgather-routed",
        "schedule allgather --topology routed.yaml",
    ),
    (
        "allgather-sites",
        "schedule allgather --topology sites.yaml",
    ),
    (
        "allgather-ranks",
        "schedule allgather --topology ranks.yaml",
    ),
    ("allgather-lone", "schedule allgather --topology lone.yaml"),
    (
        "allgather-no-host",
        "schedule allgather --topology no-host.yaml",
    ),
];

/// Schedules that a verifier reads, in the same way.
const VERIFY: &[(&str, &str)] = &[
    (
        "verify-collides",
        "verify --topology one-switch.yaml collides.json",
    ),
    (
        "verify-crossing-ring",
        "verify --topology figure-1.yaml crossing-ring.json",
    ),
    (
        "verify-elsewhere",
        "verify --topology one-switch.yaml elsewhere.json",
    ),
    ("verify-cut", "verify --topology one-switch.yaml cut.json"),
];

/// Commands that are refused, in the same way.
const REFUSED: &[(&str, &str)] = &[
    ("bad-router", "schedule alltoall --topology no-router.yaml"),
    (
        "bad-router-alone",
        "schedule alltoall --topology router-alone.yaml",
    ),
    ("bad-delay", "schedule alltoall --topology long-delay.yaml"),
    (
        "allgather-lr2-refused",
        "schedule allgather --topology figure-1.yaml --algorithm lr2",
    ),
    (
        "bad-schedule",
        "verify --topology one-switch.yaml stray.json",
    ),
    (
        "bad-missing-schedule",
        "verify --topology one-switch.yaml nowhere.json",
    ),
    (
        "bad-no-schedule",
        "verify --topology one-switch.yaml one-switch.yaml",
    ),
    ("bad-yaml", "schedule alltoall --topology misspelt.yaml"),
    ("bad-loop", "schedule allgather --topology loop.yaml"),
    (
        "bad-host",
        "schedule alltoall --topology figure-1.yaml --hosts n0,n6",
    ),
    (
        "bad-host-twice",
        "schedule allgather --topology figure-1.yaml --hosts n0,n1,n0",
    ),
    (
        "bad-missing-topology",
        "schedule alltoall --topology nowhere.yaml",
    ),
    (
        "bad-block",
        "schedule alltoall --topology figure-1.yaml --sync barrier+receiver",
    ),
    ("bad-parts", "schedule alltoall --topology parts.yaml"),
    (
        "usage-lg",
        "schedule alltoall --topology sites.yaml --algorithm lg --sync sender",
    ),
    (
        "bad-empty-host",
        "schedule alltoall --topology figure-1.yaml --hosts n0,,n1",
    ),
    ("bad-rate", "schedule alltoall --topology no-rate.yaml"),
    (
        "usage-sync",
        "schedule alltoall --topology figure-1.yaml --sync locks",
    ),
    (
        "usage-algorithm",
        "schedule allgather --topology figure-1.yaml --algorithm aapc",
    ),
];

#[test]
fn transcripts() {
    let commands = [ALLTOALL, ALLGATHER, VERIFY, REFUSED].concat();
    check_commands("schedule", "txt", commands);
}

fn schedule(args: &[&str]) -> Vec<u8> {
    let output = Command::new(HEDDLE)
        .arg("schedule")
        .args(args)
        .current_dir(folder("schedule"))
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{args:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    output.stdout
}

/// Exit status and standard output of `heddle verify`.
fn verify(topology: &str, schedule: &Path) -> (Option<i32>, String) {
    let mut command = Command::new(HEDDLE);
    let output = command
        .args(["verify", "--topology", topology])
        .arg(schedule)
        .current_dir(folder("schedule"))
        .output()
        .unwrap();
    (
        output.status.code(),
        String::from_utf8(output.stdout).unwrap(),
    )
}

#[test]
fn whatever_is_scheduled_verifies() {
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("schedule.json");
    let verifies = |topology: &str, collective: &str, flags: &[&str]| {
        std::fs::write(
            &file,
            schedule(
                &[
                    &[collective, "--topology", topology, "--format", "json"],
                    flags,
                ]
                .concat(),
            ),
        )
        .unwrap();
        let (code, message) = verify(topology, &file);
        let name = if collective == "alltoall" {
            "all-to-all"
        } else {
            collective
        };
        assert!(
            code == Some(0) && message.starts_with(&format!("ok: {name} among ")),
            "{topology} {flags:?}: {message}"
        );
    };
    let schemes = "none; dummy; sender; receiver; barrier; sender --block 2; receiver --block 3; \
                   barrier --block 2; barrier+sender --block 2; barrier+receiver --block 4";
    for topology in
        "figure-1.yaml one-switch.yaml lone.yaml fast-trunks.yaml ranks.yaml sites.yaml routed.yaml"
            .split(' ')
    {
        for scheme in schemes.split("; ") {
            let flags: Vec<&str> = ["--sync"].into_iter().chain(scheme.split(' ')).collect();
            verifies(topology, "alltoall", &flags);
            verifies(topology, "alltoall", &[&flags[..], &["--minimal"]].concat());
        }
        for algorithm in ["auto", "aapc", "capacity", "lg"] {
            verifies(topology, "alltoall", &["--algorithm", algorithm]);
        }
        for algorithm in ["auto", "lr1", "lr3"] {
            verifies(topology, "allgather", &["--algorithm", algorithm]);
        }
    }
}

#[test]
fn a_schedule_for_other_cables_is_a_violation() {
    let scratch = tempfile::tempdir().unwrap();
    let (file, moved) = (
        scratch.path().join("schedule.json"),
        scratch.path().join("moved.yaml"),
    );
    std::fs::write(
        &file,
        schedule(&[
            "alltoall",
            "--topology",
            "figure-1.yaml",
            "--format",
            "json",
        ]),
    )
    .unwrap();
    let cables = std::fs::read_to_string(folder("schedule").join("figure-1.yaml")).unwrap();
    std::fs::write(
        &moved,
        cables.replace("n2: {switch: s2}", "n2: {switch: s3}"),
    )
    .unwrap();
    let (code, message) = verify(moved.to_str().unwrap(), &file);
    assert_eq!(code, Some(1));
    assert!(
        message.starts_with("violation: edge ")
            && message.contains(", phase ")
            && message.ends_with(" collide\n"),
        "{message}"
    );
}

#[test]
fn a_lost_token_is_a_violation() {
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("schedule.json");
    let mut plan: Value = serde_json::from_slice(&schedule(&[
        "alltoall",
        "--topology",
        "figure-1.yaml",
        "--format",
        "json",
        "--minimal",
    ]))
    .unwrap();
    plan["syncs"].as_array_mut().unwrap().pop();
    std::fs::write(&file, plan.to_string()).unwrap();
    let (code, message) = verify("figure-1.yaml", &file);
    assert!(
        code == Some(1) && message.contains("are ordered by no synchronization"),
        "{message}"
    );
}
