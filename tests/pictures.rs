//! The pictures that commands draw: each as it once looked right, and each as XML that others read.
use crate::common::HEDDLE;
use crate::common::golden::{check, folder};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

fn picture(folder: &Path, args: &str) -> String {
    let output = Command::new(HEDDLE)
        .args(args.split(' '))
        .current_dir(folder)
        .output()
        .expect("heddle runs");
    assert!(output.status.success(), "{args}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Python's reader of XML takes the document.
fn assert_is_xml(text: &str) {
    let mut python = Command::new("python3")
        .args([
            "-c",
            "import sys, xml.dom.minidom as m; m.parse(sys.stdin.buffer)",
        ])
        .stdin(Stdio::piped())
        .spawn()
        .expect("python3 of scripts/packages tests");
    python
        .stdin
        .take()
        .unwrap()
        .write_all(text.as_bytes())
        .unwrap();
    assert!(python.wait().unwrap().success(), "{text}");
}

#[test]
fn pictures_are_as_they_once_looked_right() {
    let golden = folder("pictures");
    for (name, args) in [
        ("discover", "discover --walks ../walks/demo --format svg"),
        (
            "alltoall",
            "schedule alltoall --topology ../schedule/figure-1.yaml --format svg",
        ),
        (
            "fast-trunks",
            "schedule alltoall --topology ../schedule/fast-trunks.yaml --format svg",
        ),
        (
            "lg",
            "schedule alltoall --topology ../schedule/sites.yaml --algorithm lg --format svg",
        ),
        (
            "allgather",
            "schedule allgather --topology ../schedule/figure-1.yaml --format svg",
        ),
        (
            "what-if",
            "what-if --topology ../what-if/row.yaml --move n0=s3 --link s1-s2=10G --format svg",
        ),
        (
            "advise",
            "what-if --topology ../what-if/row.yaml --advise --format svg",
        ),
    ] {
        let text = picture(&golden, args);
        assert_is_xml(&text);
        check(&golden.join(name).with_extension("svg"), &text);
    }
}

#[test]
fn history_draws_an_epoch_beside_the_one_before() {
    let place = tempfile::tempdir().unwrap();
    let cluster = |switch: &str| {
        let text = format!(
            "switches: [s0, s1]\nlinks: [{{a: s0, b: s1}}]\nhosts: {{n0: {{switch: s0}}, n1: {{switch: {switch}}}}}\n"
        );
        std::fs::write(place.path().join("cluster.yaml"), text).unwrap();
        picture(place.path(), "publish --topology cluster.yaml --dir dir");
    };
    cluster("s0");
    cluster("s1");
    for epoch in ["", " --epoch 2"] {
        let text = picture(
            place.path(),
            &format!("history --dir dir --format svg{epoch}"),
        );
        assert_is_xml(&text);
        assert!(
            text.contains(">epoch 1<") && text.contains(">epoch 2<"),
            "{text}"
        );
        assert_eq!(
            (
                text.matches(">gone<").count(),
                text.matches(">new<").count()
            ),
            (1, 1),
            "{text}"
        );
    }
    let first = picture(place.path(), "history --dir dir --format svg --epoch 1");
    assert!(
        !first.contains(">epoch 2<"),
        "the first epoch has none before it: {first}"
    );
}
