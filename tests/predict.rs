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
fn simulated_algorithms() {
    check_all(&[
        (
            "figure-1",
            "predict --topology ../schedule/figure-1.yaml --size 64k --algorithms",
        ),
        (
            "figure-1-congested",
            "predict --topology ../schedule/figure-1.yaml --size 1k,1M --algorithms --gamma 2 \
             --collective alltoall",
        ),
        (
            "fast-trunks-json",
            "predict --topology ../schedule/fast-trunks.yaml --size 1000000 --algorithms --latency \
             0s --format json",
        ),
        (
            "subset",
            "predict --topology ../schedule/figure-1.yaml --size 1M --hosts n4,n0 --algorithms \
             --penalty 0.5 --token 1ms",
        ),
        (
            "clusters",
            "predict --topology clusters.yaml --size 64,64k --collective alltoall --algorithms \
             --gamma 3",
        ),
        (
            "lone",
            "predict --topology ../schedule/lone.yaml --size 1M --algorithms",
        ),
        (
            "reductions",
            "predict --topology ../schedule/figure-1.yaml --size 1M --collective allreduce",
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
        (
            "usage-ideal",
            "predict --topology ../schedule/figure-1.yaml --size 1 --gamma 2",
        ),
        (
            "usage-penalty",
            "predict --topology ../schedule/figure-1.yaml --size 1 --algorithms --penalty 1",
        ),
        (
            "usage-latency",
            "predict --topology ../schedule/figure-1.yaml --size 1 --algorithms --latency 50",
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
