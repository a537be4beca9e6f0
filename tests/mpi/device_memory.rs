//! Buffers in the memory of a device, on all ranks or some, give the same bytes as in the host's.
//!
//! There is no card here: `shim/tests/driver.c` stands in for its driver, and `shim/tests/aware.c` lets the
//! MPI library reach a device's memory in the calls that heddle leaves to it.
#[cfg(feature = "device")]
mod cuda_aware;

use crate::common::epochs::{BUNDLED, FORCED, OVER_TCP, TREE, WINDOWED, shared};
use crate::common::job::{BOTH, TestJob, compiled};
use crate::common::once_each::OnceEach;
use crate::common::runtime::lib;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Puts a test program's large buffers into a device's memory.
const ON_DEVICE: [&str; 2] = ["-include", "shim/tests/device.h"];
const RELAYED: (&str, &str) = ("HEDDLE_FORCE", "relay");

/// A stand-in for a driver: the library's name, and what chooses it in the source.
#[derive(Clone, Copy)]
struct TestDriver(&'static str, &'static str);

const CUDA: TestDriver = TestDriver("libcuda.so.1", "-DCUDA");
const HIP: TestDriver = TestDriver("libamdhip64.so.6", "-DHIP");
const OLD_CUDA: TestDriver = TestDriver("libcuda.so.1", "-DOLD");

impl TestDriver {
    /// Its library, compiled once for all tests.
    fn library(self) -> PathBuf {
        static LIBRARIES: OnceEach<PathBuf> = OnceEach::new();
        let TestDriver(name, kind) = self;
        LIBRARIES.get(kind, || {
            let folder = lib().with_file_name("mpi-tests").join(kind);
            fs::create_dir_all(&folder).expect("a folder for the driver");
            let fresh = folder.join(format!("{}-{name}", std::process::id()));
            let done = Command::new("cc")
                .args(["-O1", "-w", "-shared", "-fPIC", kind, "-o"])
                .arg(&fresh)
                .arg(format!("-Wl,-soname,{name}"))
                .args(["shim/tests/driver.c", "-lpthread"])
                .output()
                .expect("cc");
            assert!(
                done.status.success(),
                "{}",
                String::from_utf8_lossy(&done.stderr)
            );
            let library = folder.join(name);
            fs::rename(fresh, &library).expect("the driver in its place");
            library
        })
    }
}

/// A program of shim/tests whose buffers lie on a device, if `DEVICE_DRIVER` names a driver.
fn on_device(source: &str, mpi: &str) -> PathBuf {
    let mut flags = ON_DEVICE.to_vec();
    flags.extend(["-lm", "-ldl"]);
    compiled(source, mpi, &flags)
}

/// The setting that lets an MPI library reach a device's memory.
fn aware(mpi: &str) -> PathBuf {
    compiled("aware.c", mpi, &["-shared", "-fPIC"])
}

/// A program's output without heddle and without a device.
fn bare(source: &str, mpi: &str, (ranks, per_host): (usize, usize)) -> String {
    static BARE: OnceEach<String> = OnceEach::new();
    BARE.get(&format!("{source} {mpi} {ranks} {per_host}"), || {
        TestJob::bare(mpi, ranks)
            .per_host(per_host)
            .run(&on_device(source, mpi), &[])
            .out
    })
}

/// Runs a program with its buffers on a device of these ranks, and compares what it prints.
fn same_bytes(
    source: &str,
    mpi: &str,
    (ranks, per_host): (usize, usize),
    forced: (&str, &str),
    (driver, device_ranks): (TestDriver, &str),
) {
    let what = format!("{source} x {ranks} on {mpi}, {forced:?}, {device_ranks}");
    let dir = shared(TREE);
    let log = dir.path().join("copies");
    let library = driver.library();
    let with = job(mpi, ranks, dir.path(), &library, device_ranks)
        .per_host(per_host)
        .env(forced.0, forced.1)
        .env("DEVICE_LOG", text(&log))
        .run(&on_device(source, mpi), &[]);
    assert_eq!(with.heddle, [] as [&str; 0], "{what}");
    assert_eq!(with.out, bare(source, mpi, (ranks, per_host)), "{what}");
    let (to_host, to_device, on_ranks) = copies(&log);
    assert!(
        to_host > 9 && to_device > 9,
        "{what}: {to_host}, {to_device}"
    );
    let expected = match device_ranks {
        "all" => ranks,
        "odd" => ranks / 2,
        _ => 1,
    };
    assert_eq!(on_ranks, expected, "{what}");
}

/// A job whose ranks load a driver.
fn job<'a>(
    mpi: &'a str,
    ranks: usize,
    dir: &'a Path,
    driver: &'a Path,
    device_ranks: &'a str,
) -> TestJob<'a> {
    TestJob::new(mpi, ranks)
        .preloaded([lib().join("libheddle.so"), aware(mpi)])
        .dir(dir)
        .env("DEVICE_DRIVER", text(driver))
        .env("DEVICE_RANKS", device_ranks)
}

/// Copies from devices, to devices, and the ranks that made some.
fn copies(log: &Path) -> (usize, usize, usize) {
    let log = fs::read_to_string(log).unwrap_or_default();
    let mut ranks: Vec<&str> = log
        .lines()
        .filter_map(|line| line.split(' ').next())
        .collect();
    ranks.sort_unstable();
    ranks.dedup();
    (
        count("to host", &log),
        count("to device", &log),
        ranks.len(),
    )
}

fn count(what: &str, log: &str) -> usize {
    log.lines().filter(|line| line.contains(what)).count()
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a plain path")
}

#[test]
fn every_datatype_from_and_to_a_device() {
    for mpi in BOTH {
        for (shape, forced, ranks) in [
            ((4, 1), FORCED, "all"),
            ((4, 1), OVER_TCP, "odd"),
            ((6, 2), BUNDLED, "odd"),
            ((4, 1), WINDOWED, "first"),
        ] {
            same_bytes("datatypes.c", mpi, shape, forced, (CUDA, ranks));
        }
    }
}

#[test]
fn unequal_blocks_from_and_to_a_device() {
    for mpi in BOTH {
        for (forced, ranks) in [(FORCED, "odd"), (OVER_TCP, "all"), (OVER_TCP, "first")] {
            same_bytes("vectors.c", mpi, (5, 1), forced, (CUDA, ranks));
        }
    }
}

#[test]
fn reductions_and_broadcasts_from_and_to_a_device() {
    for mpi in BOTH {
        for (shape, ranks) in [((5, 1), "all"), ((6, 3), "odd"), ((4, 1), "first")] {
            same_bytes("reductions.c", mpi, shape, RELAYED, (CUDA, ranks));
        }
    }
}

#[test]
fn a_device_of_amds() {
    for mpi in BOTH {
        same_bytes("vectors.c", mpi, (4, 1), OVER_TCP, (HIP, "odd"));
    }
}

/// Memory of a pool belongs to no context, and the thread has none either.
#[test]
fn memory_of_a_pool() {
    let dir = shared(TREE);
    let library = CUDA.library();
    let with = job("mpich", 4, dir.path(), &library, "all")
        .env(OVER_TCP.0, OVER_TCP.1)
        .env("DEVICE_POOL", "1")
        .run(&on_device("datatypes.c", "mpich"), &[]);
    assert_eq!(with.out, bare("datatypes.c", "mpich", (4, 1)));
    assert_eq!(with.heddle, [] as [&str; 0]);
}

#[test]
fn managed_memory_is_used_as_it_is() {
    let dir = shared(TREE);
    let library = CUDA.library();
    let log = dir.path().join("copies");
    let with = job("openmpi", 4, dir.path(), &library, "all")
        .env(OVER_TCP.0, OVER_TCP.1)
        .env("DEVICE_MANAGED", "1")
        .env("DEVICE_LOG", text(&log))
        .run(&on_device("datatypes.c", "openmpi"), &[]);
    assert_eq!(with.out, bare("datatypes.c", "openmpi", (4, 1)));
    assert_eq!((with.heddle, copies(&log)), (Vec::new(), (0, 0, 0)));
}

/// Whoever cannot ask takes buffers for the host's, and says so once.
#[test]
fn a_driver_that_cannot_be_asked() {
    let fails = [
        (
            CUDA,
            "query",
            "cuPointerGetAttributes failed with error 999",
        ),
        (
            HIP,
            "query",
            "hipPointerGetAttributes failed with error 999",
        ),
        (OLD_CUDA, "", "has no function cuPointerGetAttributes"),
    ];
    for (driver, fails, line) in fails {
        let dir = shared(TREE);
        let library = driver.library();
        let with = job("openmpi", 4, dir.path(), &library, "loaded")
            .env(OVER_TCP.0, OVER_TCP.1)
            .env("DEVICE_FAILS", fails)
            .run(&on_device("datatypes.c", "openmpi"), &[]);
        assert_eq!(with.out, bare("datatypes.c", "openmpi", (4, 1)), "{line}");
        assert_eq!(with.heddle.len(), 4, "{:?}", with.heddle);
        assert!(
            with.heddle.iter().all(|text| text.contains(line)),
            "{:?}",
            with.heddle
        );
    }
}

#[test]
fn a_driver_that_fails_in_mid_job_gives_errors_and_nobody_hangs() {
    for mpi in BOTH {
        for forced in [FORCED, OVER_TCP] {
            let dir = shared(TREE);
            let library = CUDA.library();
            let with = job(mpi, 4, dir.path(), &library, "all")
                .env(forced.0, forced.1)
                .env("DEVICE_FAILS", "copy")
                .env("DEVICE_FAILS_ON", "1")
                .run(&on_device("device_fails.c", mpi), &[]);
            assert_eq!(with.out, "errors: rank 1 3, others 0; wrong 0\n", "{mpi}");
            let [line] = &with.heddle[..] else {
                panic!("{mpi}: {:?}", with.heddle);
            };
            assert!(
                line.contains("cuMemcpyAsync failed with error 999"),
                "{line}"
            );
        }
    }
}
