//! The whole way: `heddle demo` as text, which emulates, discovers, plans, runs, recables, and checks each step itself.
#[path = "common/runtime.rs"]
mod runtime;

use std::path::Path;
use std::process::Command;
use std::sync::Mutex;

fn demo(mpi: &str) {
    // Two clusters at once would be more than two cores hold.
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    runtime::lib();
    let name = format!("t{}{mpi}", std::process::id());
    let mut demo = Command::new("timeout");
    demo.args(["-k", "10", "600", env!("CARGO_BIN_EXE_heddle"), "demo", "--text", "--mpi", mpi, "--name", &name]);
    let out = demo.output().expect("timeout, of coreutils");
    let (said, complained) = (String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    let left = Path::new("/run/heddle-lab").join(&name).exists();
    if left {
        let _ = Command::new(env!("CARGO_BIN_EXE_heddle")).args(["lab", "down", "--name", &name]).status();
    }
    assert!(out.status.success(), "{}\n{said}\n{complained}\n(the lab needs root)", out.status);
    for told in ["n11 moved from s3", "alltoall by aapc", "allgather by ring", "taken up +", "every step checked"] {
        assert!(said.contains(told), "\"{told}\" is missing:\n{said}");
    }
    let number = |before: &str, after: &str| -> Option<u64> {
        said.lines().find_map(|line| line.split_once(before)?.1.split_once(after)?.0.parse().ok())
    };
    let (planned, followed) = (number("epoch ", ": 12 hosts, 36 phases"), number("now follows epoch ", ":"));
    assert!(planned.is_some() && planned < followed, "{planned:?}, {followed:?}:\n{said}");
    assert!(!left, "the demo left its lab behind");
}

#[test]
fn the_whole_way_on_open_mpi() {
    demo("openmpi");
}

#[test]
fn the_whole_way_on_mpich() {
    demo("mpich");
}
