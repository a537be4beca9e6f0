//! Generated routines (`heddle schedule … --format c`): compiled without a warning and run under
//! both MPI libraries, with every byte checked.
//!
//! Ranks run on this machine, each group of them under a host name of its own (a UTS namespace,
//! which takes root). Needs: apt-get install openmpi-bin libopenmpi-dev mpich libmpich-dev clang
//! libclang-dev
use crate::common::job::BOTH;
use crate::common::machine_share::MachinePart;
use crate::common::mpirun::mpirun;
use crate::common::runtime::lib;
use crate::common::{HEDDLE, text};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

/// Three switches in a row.
const CHAIN: &str = "switches: [s0, s1, s2]
hosts: {n0: {switch: s0}, n1: {switch: s0}, n2: {switch: s1}, n3: {switch: s2}, n4: {switch: s2}, n5: {switch: s2}}
links: [{a: s0, b: s1}, {a: s1, b: s2}]
";
const ONE_SWITCH: &str = "switches: [s]
hosts: {n0: {switch: s}, n1: {switch: s}, n2: {switch: s}, n3: {switch: s}, n4: {switch: s}}
";
const STAR: &str = "switches: [core, a, b, c]
hosts: {n0: {switch: a}, n1: {switch: b}, n2: {switch: c}, n3: {switch: a}, n4: {switch: b}, n5: {switch: c}, n6: {switch: a}, n7: {switch: core}, n8: {switch: a}}
links: [{a: core, b: a}, {a: core, b: b}, {a: core, b: c}]
";
/// Hosts that send several messages at once, over a trunk that carries five.
const WIDE: &str = "switches: [s0, s1]
hosts: {n0: {switch: s0, rate: 2G}, n1: {switch: s0, rate: 2G}, n2: {switch: s0, rate: 4G}, n3: {switch: s1, rate: 2G}, n4: {switch: s1, rate: 2G}, n5: {switch: s1, rate: 2G}, n6: {switch: s1, rate: 2G}}
links: [{a: s0, b: s1, rate: 5G}]
";
const PAIR: &str = "switches: [s]\nhosts: {n0: {switch: s}, n1: {switch: s}}\n";
const LONE: &str = "switches: [s]\nhosts: {n0: {switch: s}}\n";

/// Every scheme of aapc-2007, Table 5.
const SCHEMES: [&str; 13] = [
    "--sync none",
    "--sync dummy",
    "--sync sender",
    "--sync sender --minimal",
    "--sync sender --block 2",
    "--sync receiver",
    "--sync receiver --minimal",
    "--sync receiver --block 3",
    "--sync barrier",
    "--sync barrier --block 4",
    "--sync barrier+sender --block 3",
    "--sync barrier+receiver --block 3",
    "--sync barrier+receiver --block 1000",
];
const SOME: [&str; 4] = [
    "--sync none",
    "--sync dummy",
    "--sync receiver",
    "--sync barrier+sender --block 5",
];

/// Generated files, and the names of their functions.
struct GeneratedRoutines {
    folder: TempDir,
    alltoalls: Vec<String>,
    allgathers: Vec<String>,
}

impl GeneratedRoutines {
    fn new() -> GeneratedRoutines {
        GeneratedRoutines {
            folder: TempDir::new().expect("a temporary directory"),
            alltoalls: Vec::new(),
            allgathers: Vec::new(),
        }
    }

    /// Adds an all-to-all for the topology.
    fn alltoall(mut self, topology: &str, flags: &str) -> GeneratedRoutines {
        let name = format!(
            "alltoall{}_{}",
            self.alltoalls.len(),
            flags.replace(['-', '+', ' '], "")
        );
        self.generate("alltoall", topology, flags, &name);
        self.alltoalls.push(name);
        self
    }

    fn allgather(mut self, topology: &str) -> GeneratedRoutines {
        let name = format!("allgather{}", self.allgathers.len());
        self.generate("allgather", topology, "--algorithm auto", &name);
        self.allgathers.push(name);
        self
    }

    fn generate(&self, collective: &str, topology: &str, flags: &str, name: &str) {
        let file = self.folder.path().join("topology.yaml");
        fs::write(&file, topology).expect("written");
        let mut command = Command::new(HEDDLE);
        command
            .args(["schedule", collective, "--format", "c"])
            .args(flags.split(' '))
            .arg("--topology")
            .arg(&file);
        let text = done(&mut command, "heddle schedule").stdout;
        fs::write(self.folder.path().join(name).with_extension("c"), text).expect("written");
    }

    /// The check program, compiled with all generated files.
    fn compile(&self, mpi: &str, flags: &[&str]) -> PathBuf {
        let program = self.folder.path().join(format!("check-{mpi}"));
        let compiler = || {
            let mut command = Command::new(format!("mpicc.{mpi}"));
            command.args("-std=c11 -O1 -Wall -Wextra -Wpedantic -Werror".split(' '));
            command
        };
        let what = format!("mpicc.{mpi}, of the packages named at the top of tests/generated.rs");
        let object = |name: &String, function: &str| {
            let object = self.folder.path().join(format!("{name}-{mpi}.o"));
            let mut command = compiler();
            command
                .args(flags)
                .arg(format!("-D{function}={name}"))
                .arg("-o")
                .arg(&object)
                .arg("-c");
            done(
                command.arg(self.folder.path().join(name).with_extension("c")),
                &what,
            );
            object
        };
        let mut link = compiler();
        link.arg(
            "-Wl,--wrap=PMPI_Alltoall,--wrap=PMPI_Allgather,--wrap=PMPI_Isend,--wrap=PMPI_Irecv",
        )
        .arg("-o")
        .arg(&program);
        link.args([
            listed("ALLTOALLS", &self.alltoalls),
            listed("ALLGATHERS", &self.allgathers),
        ])
        .arg("tests/generated/check.c");
        link.args(
            self.alltoalls
                .iter()
                .map(|name| object(name, "HEDDLE_ALLTOALL")),
        );
        link.args(
            self.allgathers
                .iter()
                .map(|name| object(name, "HEDDLE_ALLGATHER")),
        );
        done(&mut link, &what);
        program
    }

    /// Runs the check program, one job at a time on this machine, and insists that it finds every
    /// byte right and leaves nothing behind. Returns the number of tokens.
    fn run(
        &self,
        mpi: &str,
        program: &Path,
        ranks: usize,
        per_host: usize,
        arguments: &[&str],
    ) -> u64 {
        let _share = MachinePart::Half.take();
        let mut command = mpirun(mpi, ranks, &lib().join("libheddle-idle.so"));
        command
            .env("PER_HOST", per_host.to_string())
            .arg("shim/tests/host.sh")
            .arg(program)
            .args(arguments);
        let octets = done(&mut command, "timeout, of coreutils").stdout;
        let output = String::from_utf8_lossy(&octets);
        let numbers: Vec<u64> = output
            .split(' ')
            .filter_map(|word| word.parse().ok())
            .collect();
        let [routines, checks, given, awaited, wrong] = numbers[..] else {
            panic!("{mpi}: {output}")
        };
        assert_eq!(
            (routines, awaited, wrong),
            (
                (self.alltoalls.len() + self.allgathers.len()) as u64,
                given,
                0
            ),
            "{mpi}: {output}"
        );
        assert!(checks > 0, "{mpi}: {output}");
        assert_eq!(running(self.folder.path()), [] as [PathBuf; 0]);
        given
    }
}

/// A list of names as check.c takes it.
fn listed(list: &str, names: &[String]) -> String {
    format!(
        "-D{list}={}",
        names
            .iter()
            .map(|name| format!("X({name}) "))
            .collect::<String>()
    )
}

/// Runs a command and insists that it ends well.
fn done(command: &mut Command, what: &str) -> Output {
    let output = command.output().unwrap_or_else(|e| panic!("{what}: {e}"));
    assert!(
        output.status.success(),
        "{command:?}: {}\n{}\n{}\n(124: out of time; host names of their own need root)",
        output.status,
        text(&output.stdout),
        text(&output.stderr)
    );
    output
}

/// The programs of this folder that still run.
fn running(folder: &Path) -> Vec<PathBuf> {
    let processes = fs::read_dir("/proc").expect("/proc").flatten();
    processes
        .filter_map(|process| fs::read_link(process.path().join("exe")).ok())
        .filter(|exe| exe.starts_with(folder))
        .collect()
}

const BY_RANK: [&str; 1] = ["-DHEDDLE_HOSTS_BY_RANK"];

#[test]
fn every_scheme_carries_every_byte() {
    let routines = SCHEMES
        .iter()
        .fold(GeneratedRoutines::new(), |routines, scheme| {
            routines.alltoall(CHAIN, scheme)
        })
        .allgather(CHAIN);
    for mpi in BOTH {
        let program = routines.compile(mpi, &BY_RANK);
        assert!(routines.run(mpi, &program, 6, 1, &["served"]) > 0);
    }
}

#[test]
fn every_topology_carries_every_byte() {
    for (topology, ranks) in [(ONE_SWITCH, 5), (STAR, 9), (WIDE, 7), (PAIR, 2)] {
        let routines = SOME
            .iter()
            .fold(GeneratedRoutines::new(), |routines, scheme| {
                routines.alltoall(topology, scheme)
            })
            .allgather(topology);
        for mpi in BOTH {
            let program = routines.compile(mpi, &BY_RANK);
            routines.run(mpi, &program, ranks, 1, &["served"]);
        }
    }
}

/// MPICH has 2,048 communicators at a time; one rank alone makes and frees them quickly.
#[test]
fn communicators_come_and_go() {
    let routines = GeneratedRoutines::new()
        .alltoall(LONE, "--sync receiver")
        .allgather(LONE);
    for mpi in BOTH {
        let program = routines.compile(mpi, &BY_RANK);
        routines.run(mpi, &program, 1, 1, &["served", "2100"]);
    }
}

#[test]
fn ranks_find_their_hosts_by_name() {
    let shuffled = CHAIN
        .replace("{n0: {switch: s0}, ", "{")
        .replace("}}\n", "}, n0: {switch: s0}}\n");
    assert_ne!(shuffled, CHAIN);
    let in_a_domain = (0..6).fold(shuffled.clone(), |text, n| {
        text.replace(&format!("n{n}:"), &format!("n{n}.example.org:"))
    });
    let routines = GeneratedRoutines::new()
        .alltoall(CHAIN, "--sync receiver")
        .alltoall(&in_a_domain, "--sync sender")
        .allgather(&shuffled);
    let several = "switches: [s0, s1]\nhosts: {n0: {switch: s0, ranks: 2}, n1: {switch: s1, ranks: 2}, n2: {switch: s1, ranks: 2}}\nlinks: [{a: s0, b: s1}]\n";
    let shared = GeneratedRoutines::new()
        .alltoall(several, "--sync receiver")
        .allgather(several);
    for mpi in BOTH {
        let program = routines.compile(mpi, &[]);
        routines.run(mpi, &program, 6, 1, &["served"]);
        routines.run(mpi, &program, 6, 2, &["aside"]);
        let program = shared.compile(mpi, &[]);
        shared.run(mpi, &program, 6, 2, &["served"]);
        shared.run(mpi, &program, 6, 1, &["aside"]);
    }
}

#[test]
fn routines_replace_the_librarys_own() {
    let mut routines = GeneratedRoutines::new()
        .alltoall(CHAIN, "--sync receiver")
        .allgather(CHAIN);
    let file = |name: &str| routines.folder.path().join(name).with_extension("c");
    for (own, replaced) in [
        (&routines.alltoalls[0], "MPI_Alltoall"),
        (&routines.allgathers[0], "MPI_Allgather"),
    ] {
        fs::rename(file(own), file(replaced)).expect("renamed");
    }
    (routines.alltoalls, routines.allgathers) = (
        vec!["MPI_Alltoall".to_owned()],
        vec!["MPI_Allgather".to_owned()],
    );
    for mpi in BOTH {
        let program = routines.compile(mpi, &["-DHEDDLE_REPLACE"]);
        routines.run(mpi, &program, 6, 1, &["served"]);
    }
}
