//! `heddle predict` from the outside.
use crate::common::golden::check_commands;

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
    check_all(&[
        (
            "reductions",
            "predict --topology ../schedule/figure-1.yaml --size 1M --collective allreduce",
        ),
        (
            "reductions-lone",
            "predict --topology ../schedule/lone.yaml --size 1M --collective bcast",
        ),
    ]);
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
    check_commands("predict", "txt", commands.iter().copied());
}
