//! `heddle predict` from the outside.
use crate::common::golden::{check, folder, transcript};

#[test]
fn ways_of_calls() {
    check_all(&[
        (
            "ways",
            "predict --topology ../schedule/figure-1.yaml --size 64k",
        ),
        (
            "ways-json",
            "predict --topology ../schedule/figure-1.yaml --size 8k --mpi mpich --collective \
             alltoall --format json",
        ),
        (
            "ways-lone",
            "predict --topology ../schedule/lone.yaml --size 1M",
        ),
    ]);
}

#[test]
fn reductions_are_simulated() {
    check_all(&[(
        "reductions",
        "predict --topology ../schedule/figure-1.yaml --size 1M --collective allreduce",
    )]);
}

#[test]
fn refusals() {
    check_all(&[
        (
            "bad-host",
            "predict --topology ../schedule/figure-1.yaml --size 1M --hosts n0,n6",
        ),
        (
            "usage-size",
            "predict --topology ../schedule/figure-1.yaml --size 1X",
        ),
    ]);
}

fn check_all(commands: &[(&str, &str)]) {
    let folder = folder("predict");
    for (golden, command) in commands {
        let args: Vec<&str> = command.split(' ').collect();
        check(
            &folder.join(golden).with_extension("txt"),
            &transcript(&folder, &args),
        );
    }
}
