//! A PMPI profiler beside the runtime, preloaded before the runtime or after it. The profiler sees
//! every call, and the runtime serves every call.
//!
//! Needs: apt-get install openmpi-bin libopenmpi-dev mpich libmpich-dev gfortran python3-mpi4py
//! eztrace otf2-tools
use crate::common::epochs::{FORCED, TREE, calls, shared};
use crate::common::job::{BOTH, TestJob, TestJobOutput, compiled};
use crate::common::runtime::lib;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// The two orders of loading.
#[derive(Clone, Copy, Debug, PartialEq)]
enum LoadedFirst {
    Profiler,
    Heddle,
}

const ORDERS: [LoadedFirst; 2] = [LoadedFirst::Profiler, LoadedFirst::Heddle];

impl LoadedFirst {
    fn libraries(self, profiler: PathBuf) -> [PathBuf; 2] {
        let heddle = lib().join("libheddle.so");
        match self {
            LoadedFirst::Profiler => [profiler, heddle],
            LoadedFirst::Heddle => [heddle, profiler],
        }
    }
}

fn profiler(mpi: &str, flags: &[&str]) -> PathBuf {
    compiled("profiler.c", mpi, &[&["-shared", "-fPIC"], flags].concat())
}

fn by_way<const N: usize>(expected: [(&str, u64); N]) -> BTreeMap<String, u64> {
    expected.map(|(way, calls)| (way.to_owned(), calls)).into()
}

/// The profiler's counts.
fn counted(output: &TestJobOutput) -> &str {
    output
        .out
        .lines()
        .find(|line| line.starts_with("profiler: "))
        .unwrap_or_else(|| panic!("the profiler did not tell: {}", output.out))
}

fn has_large_counts(mpi: &str) -> bool {
    mpi == "mpich"
}

/// Each call reaches the profiler once and the runtime once. The library's internal calls, here to
/// write a file, stay the library's own if they come from the library's own file.
#[test]
fn in_both_orders_it_sees_every_call_and_every_call_is_served() {
    for mpi in BOTH {
        let large: &[&str] = if has_large_counts(mpi) {
            &["-DLARGE_COUNTS"]
        } else {
            &[]
        };
        let (program, profiler) = (compiled("profiled.c", mpi, large), profiler(mpi, large));
        for order in ORDERS {
            let dir = shared(TREE);
            let file = dir.path().join("file");
            // Open MPI collects the pieces of a file in plugins, which are other files, so these
            // calls are served.
            let arguments: &[&str] = if mpi == "mpich" {
                &[file.to_str().expect("a plain path")]
            } else {
                &[]
            };
            let output = TestJob::new(mpi, 4)
                .preloaded(order.libraries(profiler.clone()))
                .dir(dir.path())
                .env(FORCED.0, FORCED.1)
                .run(&program, arguments);
            let large = if has_large_counts(mpi) { 5 } else { 0 };
            let counts = format!(
                "profiler: 5 alltoall, 5 allgather, 5 alltoallv, 5 allgatherv, {large} alltoall_c"
            );
            assert_eq!(counted(&output), counts, "{mpi}, {order:?} first");
            assert!(
                output.out.contains("profiled: 0 wrong\n"),
                "{mpi}, {order:?} first: {}",
                output.out
            );
            assert_eq!(output.heddle, [] as [&str; 0], "{mpi}, {order:?} first");
            let served = by_way([
                ("allgather ring", 5),
                ("allgatherv ring", 5),
                ("alltoall aapc", 5 + large),
                ("alltoallv aapc", 5),
            ]);
            assert_eq!(calls(dir.path()), served, "{mpi}, {order:?} first");
        }
    }
}

/// Switched off, the runtime serves nothing and the profiler still sees every call.
#[test]
fn switched_off_it_still_sees_every_call() {
    for mpi in BOTH {
        for order in ORDERS {
            let job = TestJob::new(mpi, 4)
                .preloaded(order.libraries(profiler(mpi, &[])))
                .env("HEDDLE", "off");
            let output = job.run(&compiled("profiled.c", mpi, &[]), &[]);
            assert_eq!(
                counted(&output),
                "profiler: 5 alltoall, 5 allgather, 5 alltoallv, 5 allgatherv, 0 alltoall_c",
                "{mpi}, {order:?} first"
            );
            assert!(
                output.out.contains("profiled: 0 wrong\n") && output.heddle.is_empty(),
                "{mpi}, {order:?} first: {}",
                output.out
            );
        }
    }
}

/// A profiler for C sees Fortran's calls as it does without heddle. It sees them in MPICH but not
/// in Open MPI, whose Fortran functions call the profiling names.
#[test]
fn fortran_is_served_in_both_orders() {
    for mpi in BOTH {
        let seen = if mpi == "mpich" {
            "2 alltoall, 1 allgather, 2 alltoallv, 1 allgatherv"
        } else {
            "0 alltoall, 0 allgather, 0 alltoallv, 0 allgatherv"
        };
        let program = compiled(
            "fortran.F90",
            mpi,
            &["-DMPIF_H", "-fallow-argument-mismatch"],
        );
        for order in ORDERS {
            let dir = shared(TREE);
            let job = TestJob::new(mpi, 4).preloaded(order.libraries(profiler(mpi, &[])));
            let output = job
                .dir(dir.path())
                .env(FORCED.0, FORCED.1)
                .run(&program, &[]);
            assert_eq!(
                counted(&output),
                format!("profiler: {seen}, 0 alltoall_c"),
                "{mpi}, {order:?} first"
            );
            assert!(
                output.out.contains("fortran: 0 wrong\n") && output.heddle.is_empty(),
                "{mpi}, {order:?} first: {}",
                output.out
            );
            let served = by_way([
                ("allgather ring", 1),
                ("allgatherv ring", 1),
                ("alltoall aapc", 2),
                ("alltoallv aapc", 2),
            ]);
            assert_eq!(calls(dir.path()), served, "{mpi}, {order:?} first");
        }
    }
}

/// Python opens MPI privately. Debian's mpi4py is built for Open MPI.
#[test]
fn python_is_served_in_both_orders() {
    for order in ORDERS {
        let dir = shared(TREE);
        let job = TestJob::new("openmpi", 4).preloaded(order.libraries(profiler("openmpi", &[])));
        let output = job.dir(dir.path()).env(FORCED.0, FORCED.1).run(
            Path::new("/usr/bin/python3"),
            &["shim/tests/mpi4py_both.py"],
        );
        assert!(
            counted(&output).starts_with("profiler: 3 alltoall, "),
            "{order:?} first: {}",
            output.out
        );
        assert!(
            output.out.contains("mpi4py: 0 wrong\n") && output.heddle.is_empty(),
            "{order:?} first: {}",
            output.out
        );
        assert_eq!(calls(dir.path())["alltoall aapc"], 3, "{order:?} first");
    }
}

/// EZTrace does not call the profiling names but the next library's function. If EZTrace is loaded
/// first, heddle serves its calls. If heddle is loaded first, EZTrace bypasses heddle, and one line
/// says so and names the remedy. EZTrace's trace has all calls either way.
#[test]
fn one_that_calls_past_the_profiling_names_must_come_first() {
    for mpi in BOTH {
        let eztrace = format!("libeztrace-{mpi}.so");
        for order in ORDERS {
            let (dir, traces) = (shared(TREE), TempDir::new().expect("a temporary directory"));
            let plain = TestJob::new(mpi, 4)
                .preloaded(order.libraries(eztrace.clone().into()))
                .dir(dir.path())
                .env(FORCED.0, FORCED.1);
            let folder = traces.path().join("trace");
            let job = plain
                .env("EZTRACE_TRACE_DIR", folder.to_str().expect("a plain path"))
                .env("EZTRACE_TRACE", mpi);
            let output = job.run(&compiled("profiled.c", mpi, &[]), &[]);
            assert!(
                output.out.contains("profiled: 0 wrong\n"),
                "{mpi}, {order:?} first: {}",
                output.out
            );
            assert_eq!(
                traced(traces.path(), "MPI_Alltoall"),
                4 * 5,
                "{mpi}, {order:?} first"
            );
            if order == LoadedFirst::Profiler {
                assert_eq!(output.heddle, [] as [&str; 0], "{mpi}");
                let served = by_way([
                    ("allgather ring", 5),
                    ("allgatherv ring", 5),
                    ("alltoall aapc", 5),
                    ("alltoallv aapc", 5),
                ]);
                assert_eq!(calls(dir.path()), served, "{mpi}");
            } else {
                let [line] = &output.heddle[..] else {
                    panic!("{mpi}: {:?}", output.heddle)
                };
                assert!(
                    line.contains(&eztrace) && line.contains("load it before heddle"),
                    "{mpi}: {line}"
                );
                assert_eq!(calls(dir.path()), by_way([]), "{mpi}");
            }
        }
    }
}

/// Calls of a function in EZTrace's trace below a folder.
fn traced(folder: &Path, function: &str) -> usize {
    let script = "otf2-print $(find \"$0\" -name '*.otf2')";
    let output = Command::new("sh")
        .args(["-c", script])
        .arg(folder)
        .output()
        .expect("sh");
    assert!(
        output.status.success(),
        "otf2-print: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let entered = format!("Region: \"{function}\"");
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter(|line| line.starts_with("ENTER") && line.contains(&entered))
        .count()
}
