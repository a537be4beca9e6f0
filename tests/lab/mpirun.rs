//! `heddle lab mpirun` under both MPI libraries.
use super::TWO;
use super::commands::{LabCommands, nothing_of, run};
use crate::common::text;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

const HELLO: &str = r#"
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv) {
    int rank, size, length;
    char name[MPI_MAX_PROCESSOR_NAME];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Get_processor_name(name, &length);
    int *out = malloc(size * sizeof(int)), *in = malloc(size * sizeof(int));
    for (int i = 0; i < size; i++) out[i] = 1000 * rank + i;
    MPI_Alltoall(out, 1, MPI_INT, in, 1, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < size; i++) if (in[i] != 1000 * i + rank) MPI_Abort(MPI_COMM_WORLD, 3);
    printf("rank %d of %d on %s, word %s\n", rank, size, name, getenv("HEDDLE_VERBOSE") ? getenv("HEDDLE_VERBOSE") : "-");
    fflush(stdout);
    if (argc > 1) sleep(atoi(argv[1]));
    MPI_Finalize();
    return 0;
}

"#;

/// Compiles the program above for an MPI.
fn hello(directory: &Path, mpi: &str) -> String {
    let (source, program) = (directory.join("hello.c"), directory.join(mpi));
    fs::write(&source, HELLO).unwrap();
    let compiler = format!("mpicc.{mpi}");
    let compiled = Command::new(&compiler)
        .arg(&source)
        .arg("-o")
        .arg(&program)
        .status();
    let hint = "apt-get install libopenmpi-dev libmpich-dev";
    assert!(
        compiled.is_ok_and(|s| s.success()),
        "{compiler} is missing or failed; run: {hint}"
    );
    program.display().to_string()
}

#[test]
fn mpi_programs_run_across_the_hosts_in_order_and_end_with_their_launcher() {
    let directory = tempfile::tempdir().unwrap();
    let lab = LabCommands::up("mpi", TWO);
    for mpi in ["openmpi", "mpich"] {
        let program = hello(directory.path(), mpi);
        lab.assert_ranks_in_order(mpi, &program);
        lab.assert_job_ends_with_its_launcher(mpi, &program);
    }
    for (flags, expected) in [
        (["-n", "9"], "--per-host"),
        (["--hosts", "s0"], "not a host"),
    ] {
        let command = [
            &["mpirun", "--mpi", "mpich"][..],
            &flags,
            &["--no-shim", "--", "true"],
        ]
        .concat();
        assert!(lab.refused(&command).contains(expected), "{flags:?}");
    }
    lab.down();
}

impl LabCommands {
    /// The ranks fill the hosts in their order, and the named hosts in the order of their names on
    /// the command line.
    fn assert_ranks_in_order(&self, mpi: &str, program: &str) {
        let mut lines: Vec<String> = self.hello(mpi, &[], &[program]);
        lines.sort();
        let expected: Vec<String> = (0..4)
            .map(|r| format!("rank {r} of 4 on n{r}, word 1"))
            .collect();
        assert_eq!(lines, expected, "{mpi}");
        let mut lines = self.hello(
            mpi,
            &["--per-host", "2", "-n", "3", "--hosts", "n2,n1"],
            &[program],
        );
        lines.sort();
        let expected = [
            "rank 0 of 3 on n2, word 1",
            "rank 1 of 3 on n2, word 1",
            "rank 2 of 3 on n1, word 1",
        ];
        assert_eq!(lines, expected, "{mpi}");
    }

    /// The time limit ends everything, and so does the death of the launcher.
    fn assert_job_ends_with_its_launcher(&self, mpi: &str, program: &str) {
        let late = self.output(&[
            "mpirun",
            "--mpi",
            mpi,
            "--no-shim",
            "--timeout",
            "5",
            "--",
            program,
            "600",
        ]);
        assert_eq!(
            late.status.code(),
            Some(124),
            "{mpi}: {}",
            text(&late.stderr)
        );
        self.await_no_rank(program);
        let mut command =
            self.command(&["mpirun", "--mpi", mpi, "--no-shim", "--", program, "600"]);
        let mut launcher = command
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_secs(3));
        launcher.kill().unwrap();
        launcher.wait().unwrap();
        self.await_no_rank(program);
    }

    fn hello(&self, mpi: &str, flags: &[&str], program: &[&str]) -> Vec<String> {
        let arguments = [
            &["mpirun", "--mpi", mpi, "--no-shim", "--timeout", "100"],
            flags,
            &["--"],
            program,
        ]
        .concat();
        let output = run(self.command(&arguments).env("HEDDLE_VERBOSE", "1"));
        assert!(
            output.status.success(),
            "{mpi}: {}{}",
            text(&output.stdout),
            text(&output.stderr)
        );
        text(&output.stdout)
            .lines()
            .filter(|l| l.starts_with("rank"))
            .map(str::to_owned)
            .collect()
    }

    /// No process of the job is left: launcher, agents, daemons, ranks.
    fn await_no_rank(&self, program: &str) {
        nothing_of("the job", || {
            self.named
                .processes()
                .into_iter()
                .filter(|p| {
                    [
                        "mpirun", "mpiexec", "orted", "hydra", "agent", "session", program,
                    ]
                    .iter()
                    .any(|w| p.contains(w))
                })
                .collect()
        });
    }
}
