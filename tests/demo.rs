//! `heddle demo` as text, from its beginning to its end. It emulates, discovers, plans, runs and
//! recables, and checks each step itself.
use crate::common::HEDDLE;
use crate::common::lab::TestLab;
use crate::common::machine_share::MachinePart;
use crate::common::runtime::lib;
use std::process::Command;

fn demo(mpi: &str) {
    lib();
    let named = TestLab::new(&format!("demo-{mpi}"), MachinePart::Half);
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
    let out = demo.output().expect("timeout, of coreutils");
    let (said, complained) = (
        String::from_utf8_lossy(&out.stdout),
        String::from_utf8_lossy(&out.stderr),
    );
    assert!(
        out.status.success(),
        "{}\n{said}\n{complained}\n(the lab needs root)",
        out.status
    );
    for told in [
        "n11 moved from s3",
        "alltoall by aapc",
        "nothing forced",
        "all-to-all without heddle",
        "times as fast",
        "taken up +",
        "every step checked",
    ] {
        assert!(said.contains(told), "\"{told}\" is missing:\n{said}");
    }
    let number = |before: &str, after: &str| -> Option<u64> {
        said.lines()
            .find_map(|line| line.split_once(before)?.1.split_once(after)?.0.parse().ok())
    };
    let (planned, followed) = (
        number("epoch ", ": 12 hosts, 36 phases"),
        number("now follows epoch ", ":"),
    );
    assert!(
        planned.is_some() && planned < followed,
        "{planned:?}, {followed:?}:\n{said}"
    );
    assert_eq!(named.left(), [""; 0], "the demo left its lab behind");
}

#[test]
fn the_whole_way_on_open_mpi() {
    demo("openmpi");
}

#[test]
fn the_whole_way_on_mpich() {
    demo("mpich");
}
