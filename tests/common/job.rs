//! Test programs as MPI jobs on this machine, with the runtime loaded or without.
use super::fetched_mpi::{c_compiler, fortran_compiler, linked_library, linked_with_fortran};
use super::machine_share::MachinePart;
use super::mpirun::mpirun;
use super::once_each::OnceEach;
use super::runtime::lib;
use crate::common::text;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The MPI libraries.
pub(crate) const BOTH: [&str; 2] = ["openmpi", "mpich"];

/// A program of shim/tests, compiled for an MPI, once for all tests.
pub(crate) fn compiled(source: &str, mpi: &str, flags: &[&str]) -> PathBuf {
    static PROGRAMS: OnceEach<PathBuf> = OnceEach::new();
    let name = format!("{source}{}-{mpi}", flags.concat()).replace('/', "_");
    PROGRAMS.get(&name, || compile(source, mpi, flags, &name))
}

fn compile(source: &str, mpi: &str, flags: &[&str], name: &str) -> PathBuf {
    let folder = lib().with_file_name("mpi-tests");
    fs::create_dir_all(&folder).expect("a folder for test programs");
    let (made, fresh) = (
        folder.join(name),
        tempfile::Builder::new()
            .prefix(name)
            .tempfile_in(&folder)
            .expect("a file")
            .into_temp_path(),
    );
    let is_fortran = source.ends_with(".F90");
    let mut command = if is_fortran {
        fortran_compiler(mpi)
    } else {
        c_compiler(mpi)
    };
    command
        .args(["-O1", "-w", "-o"])
        .arg(&fresh)
        .args(flags)
        .arg(Path::new("shim/tests").join(source))
        .arg("-lpthread");
    if is_fortran {
        command.args(linked_with_fortran(mpi));
    } else {
        command.args(linked_library(mpi));
    }
    let done = command
        .output()
        .unwrap_or_else(|e| panic!("{command:?}: {e}; see scripts/packages"));
    assert!(
        done.status.success(),
        "{source}: {}",
        String::from_utf8_lossy(&done.stderr)
    );
    fresh.persist(&made).expect("the program in its place");
    made
}

/// A run of a program under an MPI's launcher.
pub(crate) struct TestJob<'a> {
    mpi: &'a str,
    ranks: usize,
    per_host: usize,
    /// The libraries to preload, in this order. The front is one of them unless the job runs
    /// without heddle.
    preloaded: Vec<PathBuf>,
    env: Vec<(&'a str, &'a str)>,
}

impl<'a> TestJob<'a> {
    pub(crate) fn new(mpi: &'a str, ranks: usize) -> TestJob<'a> {
        TestJob {
            mpi,
            ranks,
            per_host: 1,
            preloaded: vec![lib().join("libheddle.so")],
            env: Vec::new(),
        }
    }

    pub(crate) fn bare(mpi: &'a str, ranks: usize) -> TestJob<'a> {
        TestJob::new(mpi, ranks).preloaded([])
    }

    /// Preloads these libraries, in this order, instead of the front that was built.
    pub(crate) fn preloaded(self, libraries: impl Into<Vec<PathBuf>>) -> TestJob<'a> {
        TestJob {
            preloaded: libraries.into(),
            ..self
        }
    }

    pub(crate) fn per_host(self, per_host: usize) -> TestJob<'a> {
        TestJob { per_host, ..self }
    }

    pub(crate) fn env(mut self, name: &'a str, value: &'a str) -> TestJob<'a> {
        self.env.push((name, value));
        self
    }

    pub(crate) fn dir(self, dir: &'a Path) -> TestJob<'a> {
        self.env("HEDDLE_DIR", dir.to_str().expect("a plain path"))
    }

    /// Runs it and insists that it ends well.
    pub(crate) fn run(&self, program: &Path, arguments: &[&str]) -> TestJobOutput {
        TestJobOutput::new(
            &self.output(program, arguments),
            &format!("{} x {} on {}", program.display(), self.ranks, self.mpi),
        )
    }

    /// Runs it when the machine has room for it, however it ends; again where MPICH failed in MPI_Finalize.
    pub(crate) fn output(&self, program: &Path, arguments: &[&str]) -> Output {
        let _share = MachinePart::Half.take();
        let mut command = self.command(program, arguments);
        let mut output = command.output().expect("timeout, of coreutils");
        for _ in 0..2 {
            if is_lost_by_mpich(&output) {
                output = command.output().expect("timeout, of coreutils");
            }
        }
        output
    }

    /// The command that runs it. The caller must have [`MachinePart::Half`].
    pub(crate) fn command(&self, program: &Path, arguments: &[&str]) -> Command {
        let idle = lib().join("libheddle-idle.so");
        let mut command = mpirun(self.mpi, self.ranks, &idle);
        command
            .arg("shim/tests/host.sh")
            .arg(program)
            .args(arguments);
        for name in
            "HEDDLE HEDDLE_DIR HEDDLE_FORCE HEDDLE_VERBOSE HEDDLE_AFTER LD_PRELOAD".split(' ')
        {
            command.env_remove(name);
        }
        let preload: Vec<String> = self
            .preloaded
            .iter()
            .chain([&idle])
            .map(|p| p.display().to_string())
            .collect();
        command
            .env("SHIM", preload.join(":"))
            .env("PER_HOST", self.per_host.to_string())
            // The times that a job learns depend on the machine.
            .env("HEDDLE_LEARN", "off")
            // Between ranks of one machine messages cross no network.
            .env("HEDDLE_NETWORK", "published");
        command.envs(self.env.iter().copied());
        command
    }
}

/// True if all that failed is how MPICH 5 closes its connections over UCX: a rank finds one that another rank has
/// closed already. Of 450 jobs without heddle 2 ended so, of 250 with it 3.
fn is_lost_by_mpich(output: &Output) -> bool {
    let complaint = "MPIDI_UCX_mpi_finalize_hook Connection reset by remote peer";
    !output.status.success() && String::from_utf8_lossy(&output.stderr).contains(complaint)
}

/// The output of a job.
pub(crate) struct TestJobOutput {
    pub(crate) out: String,
    /// The runtime's lines, without the lines of launchers and libraries.
    pub(crate) heddle: Vec<String>,
}

impl TestJobOutput {
    pub(crate) fn new(output: &Output, what: &str) -> TestJobOutput {
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        assert!(
            output.status.success(),
            "{what}: {}\n{out}\n{err}\n(124: out of time; host names of their own need root)",
            output.status
        );
        let heddle = err
            .lines()
            .filter(|line| line.contains("heddle:"))
            .map(str::to_owned)
            .collect();
        TestJobOutput { out, heddle }
    }

    /// The runtime printed one line, with this in it.
    #[track_caller]
    pub(crate) fn says_only(&self, text: &str) {
        let lines = &self.heddle;
        assert!(lines.len() == 1 && lines[0].contains(text), "{lines:?}");
    }
}
