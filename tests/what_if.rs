//! `heddle what-if` from the outside.
use crate::common::golden::check_commands;

#[test]
fn transcripts() {
    let commands = [
        ("move", "what-if --topology row.yaml --move n0=s3"),
        (
            "link",
            "what-if --topology row.yaml --link s0-s2=10G --size 1M",
        ),
        (
            "root-bridge",
            "what-if --topology row.yaml --root-bridge s2",
        ),
        (
            "several-json",
            "what-if --topology row.yaml --move n0=s3 --move n1=s2 --link s1-s2=10G --root-bridge \
             s1 --format json",
        ),
        ("advise", "what-if --topology row.yaml --advise"),
        (
            "advise-json",
            "what-if --topology ../schedule/fast-trunks.yaml --advise --format json",
        ),
        (
            "advise-nothing",
            "what-if --topology ../schedule/one-switch.yaml --advise",
        ),
        ("unknown-host", "what-if --topology row.yaml --move n99=s3"),
        (
            "unknown-switch",
            "what-if --topology row.yaml --root-bridge s4",
        ),
        (
            "unknown-link",
            "what-if --topology row.yaml --link s0-n99=1G",
        ),
        (
            "second-cable",
            "what-if --topology row.yaml --link n0-s1=1G",
        ),
        (
            "host-to-host",
            "what-if --topology row.yaml --link n0-n1=1G",
        ),
        ("bad-rate", "what-if --topology row.yaml --link s0-s1=fast"),
        ("usage", "what-if --topology row.yaml"),
        (
            "usage-both",
            "what-if --topology row.yaml --advise --root-bridge s1",
        ),
        ("usage-move", "what-if --topology row.yaml --move n0"),
        ("usage-link", "what-if --topology row.yaml --link s0"),
    ];
    check_commands("what-if", "txt", commands);
}
