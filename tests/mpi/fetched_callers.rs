//! Programs that call, start or load MPI in ways of their own, under the libraries that were fetched:
//! each ends as without heddle. `make test` runs them over heddle's own connections, and `make
//! test-mpis` by default and over the library's messages, too, on every version.
use crate::common::epochs::{AT_ONCE, FORCED, OVER_TCP, TREE, calls, shared};
use crate::common::fetched_mpi::{folder, for_mpi4py, fortran_bindings};
use crate::common::job::{TestJob, compiled};
use crate::common::machine_share::MachinePart;
use crate::common::mpirun::{OVER_A_NETWORK, settings};
use crate::common::runtime::lib;
use std::path::Path;
use std::process::Command;

/// How heddle is set. By default ranks look later than most of these programs end. Older libraries
/// are run in the first way only.
const MODES: [&[(&str, &str)]; 3] = [
    &[OVER_TCP, AT_ONCE],
    &[FORCED, AT_ONCE],
    &[("HEDDLE_WATCHDOG", "60")],
];

/// True where `make test-mpis` runs one of the newest libraries, whose names have no version.
fn is_thorough(mpi: &str) -> bool {
    cfg!(feature = "mpis") && !mpi.trim_end_matches("-abi").contains('-')
}

/// A run of a program as a job of a library.
struct CallersRun<'a> {
    mpi: &'a str,
    ranks: usize,
    program: &'a Path,
    arguments: &'a [&'a str],
    env: Vec<(&'a str, &'a str)>,
    /// The line that heddle says where it serves, if any.
    line: Option<&'a str>,
}

impl<'a> CallersRun<'a> {
    fn new(mpi: &'a str, program: &'a Path) -> CallersRun<'a> {
        CallersRun {
            mpi,
            ranks: 4,
            program,
            arguments: &[],
            env: Vec::new(),
            line: None,
        }
    }

    /// The output, if no mode changes it, and the exit is good. With this way the calls go where
    /// heddle's connections are forced.
    fn assert_alike(&self, way: &str) -> String {
        let what = format!(
            "{} {:?} on {}",
            self.program.display(),
            self.arguments,
            self.mpi
        );
        let job = with_env(TestJob::bare(self.mpi, self.ranks), &self.env);
        let bare = without_ucx(&job.run(self.program, self.arguments).out);
        let modes = if is_thorough(self.mpi) { 3 } else { 1 };
        for mode in &MODES[..modes] {
            let dir = shared(TREE);
            let plain = TestJob::new(self.mpi, self.ranks).dir(dir.path());
            let job = with_env(with_env(plain, &self.env), mode);
            let output = job.run(self.program, self.arguments);
            assert_eq!(without_ucx(&output.out), bare, "{what}, {mode:?}");
            let other = (output.heddle.iter())
                .find(|output| self.line.is_none_or(|line| !output.contains(line)));
            assert_eq!(other, None, "{what}, {mode:?}");
            if mode[0] == OVER_TCP {
                let is_reported = self.line.is_none_or(|_| !output.heddle.is_empty());
                assert!(is_reported, "{what}: no line with {:?}", self.line);
                let ways = calls(dir.path());
                assert!(
                    ways.contains_key(way),
                    "{what}: {ways:?}, {:?}",
                    output.heddle
                );
            }
        }
        bare
    }
}

fn with_env<'a>(job: TestJob<'a>, env: &[(&'a str, &'a str)]) -> TestJob<'a> {
    env.iter()
        .fold(job, |job, (name, value)| job.env(name, value))
}

/// UCX warns of what a program leaves to MPI_Finalize, with heddle and without, by its address.
fn without_ucx(out: &str) -> String {
    out.split_inclusive('\n')
        .filter(|line| !line.contains("UCX"))
        .collect()
}

/// Four threads at once.
fn with_threads(mpi: &str) {
    let program = compiled("threads.c", mpi, &[]);
    let out = CallersRun::new(mpi, &program).assert_alike("alltoall aapc tcp");
    assert_eq!(out, "threads: 0 wrong\n", "{mpi}");
}

/// Programs that do rare things. After MPI_Finalize from atexit, MPICH 5's launcher ends some jobs as if
/// they had failed, without heddle too.
fn with_strange_calls(mpi: &str) {
    let program = compiled("callers.c", mpi, &[]);
    let mut run = CallersRun::new(mpi, &program);
    if mpi.starts_with("mpich") {
        run.arguments = &["main"];
    }
    let out = run.assert_alike("alltoallw aapc tcp");
    assert!(out.contains("one set early is deleted"), "{mpi}: {out}");
}

/// Counts, places and extents that an `int` does not hold; and in `make test-mpis` blocks of 2 GiB.
fn with_large_counts(mpi: &str) {
    let program = compiled("counts.c", mpi, &[]);
    let mut run = CallersRun::new(mpi, &program);
    // These two end in an all-to-all of such extents, without heddle too, and the older one has no
    // forms with large counts.
    if mpi == "mpich-3.4" {
        return;
    }
    if mpi == "mpich-4.0" {
        run.arguments = &["places"];
        run.assert_alike("alltoallv aapc tcp");
        return;
    }
    let out = run.assert_alike("alltoall aapc tcp");
    assert!(out.contains("allgather, a far extent"), "{mpi}: {out}");
    if is_thorough(mpi) {
        let run = CallersRun {
            ranks: 2,
            arguments: &["long"],
            ..run
        };
        run.assert_alike("allgather ring tcp");
    }
}

/// An error that ends the job ends it, and nobody hangs or crashes. The launcher gives the code of the
/// error, or that of the ranks that it kills then, whichever it hears of first.
fn with_a_fatal_error(mpi: &str) {
    let program = compiled("state.c", mpi, &[]);
    let dir = shared(TREE);
    let with = with_env(TestJob::new(mpi, 4).dir(dir.path()), MODES[0]);
    for job in [TestJob::bare(mpi, 4), with] {
        let output = job.output(&program, &["fatal"]);
        let code = output.status.code();
        let is_of_the_error = !matches!(code, None | Some(0 | 124 | 134 | 139));
        assert!(is_of_the_error, "{mpi}: {output:?}");
    }
}

/// Ranks that ranks start. Of these heddle knows nothing, and says so.
fn with_started_ranks(mpi: &str) {
    let program = compiled("spawn.c", mpi, &[]);
    let run = CallersRun {
        ranks: 2,
        env: vec![OVER_A_NETWORK],
        line: Some("a communicator has ranks that other ranks started"),
        ..CallersRun::new(mpi, &program)
    };
    let out = run.assert_alike("alltoall aapc tcp");
    let two = "alone: 2 ranks, 0 wrong\ntogether: 4 ranks, 0 wrong\n";
    assert_eq!(out, two, "{mpi}");
}

/// MPI comes privately with what the program opens, as with Python, Julia and R.
fn from_a_plugin(mpi: &str) {
    let plugin = compiled("datatypes.c", mpi, &["-shared", "-fPIC"]);
    let main = "import ctypes, sys; sys.exit(ctypes.CDLL(sys.argv[1]).main(0, None))";
    let arguments = ["-c", main, plugin.to_str().expect("a plain path")];
    let run = CallersRun {
        arguments: &arguments,
        ..CallersRun::new(mpi, Path::new("python3"))
    };
    run.assert_alike("alltoall aapc tcp");
}

fn from_mpi4py(mpi: &str) {
    let variables = for_mpi4py(mpi);
    let env = variables
        .each_ref()
        .map(|(name, path)| (*name, path.to_str().expect("a plain path")));
    let run = CallersRun {
        arguments: &["shim/tests/mpi4py_both.py"],
        env: env.to_vec(),
        ..CallersRun::new(mpi, Path::new("python3"))
    };
    let out = run.assert_alike("alltoall aapc tcp");
    assert_eq!(out, "mpi4py: 0 wrong\n", "{mpi}");
}

/// A session's communicator has no MPI_COMM_WORLD to ask, and heddle says so. With Intel MPI a session
/// begins MPI_COMM_WORLD, too, and a program that calls MPI_Init later ends, with heddle and without.
fn with_sessions(mpi: &str) {
    let program = compiled("sessions.c", mpi, &[]);
    let dir = shared(TREE);
    let arguments: &[&str] = if mpi.starts_with("intel") {
        &["alone"]
    } else {
        &[]
    };
    let done = TestJob::new(mpi, 4)
        .dir(dir.path())
        .env(OVER_TCP.0, OVER_TCP.1)
        .env(AT_ONCE.0, AT_ONCE.1)
        .run(&program, arguments);
    assert_eq!(done.out, "sessions: 0 wrong\n", "{mpi}");
    let output = done.heddle.concat();
    let is_reported = output.contains("without MPI_Init");
    assert_eq!(is_reported, arguments.is_empty(), "{mpi}: {output}");
}

fn from_fortran(mpi: &str) {
    for binding in fortran_bindings(mpi) {
        let program = compiled("fortran.F90", mpi, &[binding, "-fallow-argument-mismatch"]);
        let out = CallersRun::new(mpi, &program).assert_alike("alltoallv aapc tcp");
        assert_eq!(out, "fortran: 0 wrong\n", "{mpi} {binding}");
    }
}

/// Started without a launcher, as a job of one rank, which starts two more.
fn as_a_singleton(mpi: &str) {
    let program = compiled("spawn.c", mpi, &[]);
    let folder = folder(mpi).expect("fetched");
    let (path, dir) = (std::env::var("PATH").expect("a PATH"), shared(TREE));
    let run = |front: &str| {
        let _share = MachinePart::Half.take();
        let idle = lib().join("libheddle-idle.so");
        let output = Command::new("timeout")
            .args(["-k", "5", "120"])
            .arg(&program)
            .env("PATH", format!("{}:{path}", folder.join("bin").display()))
            .env("LD_PRELOAD", format!("{front}:{}", idle.display()))
            .env("HEDDLE_DIR", dir.path())
            .env(OVER_TCP.0, OVER_TCP.1)
            .env(AT_ONCE.0, AT_ONCE.1)
            .envs(settings(mpi))
            .envs([
                OVER_A_NETWORK,
                ("OMPI_MCA_pml", "ob1"),
                ("OMPI_MCA_btl", "tcp,self"),
                ("OMPI_MCA_btl_tcp_if_include", "lo"),
                ("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe"),
            ])
            .envs(["OMPI", "PRTE"].map(|of| (format!("{of}_ALLOW_RUN_AS_ROOT"), "1")))
            .envs(["OMPI", "PRTE"].map(|of| (format!("{of}_ALLOW_RUN_AS_ROOT_CONFIRM"), "1")))
            .output()
            .expect("timeout, of coreutils");
        let [out, err] =
            [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned());
        assert!(
            output.status.success(),
            "{mpi}: {}: {out}{err}",
            output.status
        );
        (without_ucx(&out), err)
    };
    let front = lib().join("libheddle.so");
    let (bare, with) = (run("").0, run(front.to_str().expect("a plain path")));
    assert_eq!(
        bare, "alone: 1 ranks, 0 wrong\ntogether: 3 ranks, 0 wrong\n",
        "{mpi}"
    );
    assert_eq!(with.0, bare, "{mpi}");
    let mut lines = with.1.lines().filter(|line| line.contains("heddle:"));
    let other = lines.find(|line| !line.contains("ranks that other ranks started"));
    assert_eq!(other, None, "{mpi}");
}

/// All that a library has.
fn assert_callers_alike(mpi: &str) {
    with_threads(mpi);
    with_a_fatal_error(mpi);
    with_strange_calls(mpi);
    with_large_counts(mpi);
    from_a_plugin(mpi);
    // The caller of the standard's interface is built from mpi4py's source, for `make test-mpis`, and
    // asks for libmpi_abi.so.1.
    let older_abi = mpi == "mpich-5.0.0-abi";
    if !mpi.ends_with("-abi") || (cfg!(feature = "mpis") && !older_abi) {
        from_mpi4py(mpi);
    }
    from_fortran(mpi);
}

/// Functions that start ranks, or begin MPI otherwise, which older libraries do not have.
fn assert_starts_alike(mpi: &str) {
    with_started_ranks(mpi);
    as_a_singleton(mpi);
    with_sessions(mpi);
}

#[test]
fn callers_of_intel_mpi() {
    assert_callers_alike("intel");
    assert_starts_alike("intel");
}

#[test]
fn callers_of_the_standards_interface_of_intel_mpi() {
    assert_callers_alike("intel-abi");
    assert_starts_alike("intel-abi");
}

#[test]
fn callers_of_mpich_5() {
    assert_callers_alike("mpich5");
    assert_starts_alike("mpich5");
}

#[test]
fn callers_of_the_standards_interface_of_mpich_5() {
    assert_callers_alike("mpich5-abi");
    assert_starts_alike("mpich5-abi");
}

#[test]
fn callers_of_open_mpi_5() {
    assert_callers_alike("openmpi5");
    assert_starts_alike("openmpi5");
}

/// Each older version that scripts/packages names.
#[cfg(feature = "mpis")]
mod older_versions {
    use super::{assert_callers_alike, is_thorough, with_started_ranks};
    use crate::common::fetched_mpi::assert_of_each;

    fn assert_alike(mpi: &str) {
        assert_callers_alike(mpi);
        // MPICH 3.4 starts none over UCX, without heddle too.
        if mpi != "mpich-3.4" {
            with_started_ranks(mpi);
        }
    }

    #[test]
    fn of_intel_mpi() {
        assert_of_each("intel", |mpi| !is_thorough(mpi), assert_alike);
    }

    #[test]
    fn of_mpich() {
        assert_of_each("mpich", |mpi| !is_thorough(mpi), assert_alike);
    }

    #[test]
    fn of_open_mpi() {
        assert_of_each("openmpi", |mpi| !is_thorough(mpi), assert_alike);
    }
}
