//! Test suites that others wrote, with the runtime and without it. Each of their tests must end in
//! the same way. `make test-suites SUITES=FOLDER` builds them from sources in a folder (see
//! scripts/build-suites) and runs these tests; without SUITES they do not run.
//!
//! Ranks run on this machine, each group of them under a host name of its own (a UTS namespace,
//! which takes root). A suite finds an MPI library's errors with the runtime, too: only differences
//! fail here.
use crate::common::epochs::{FORCED, OVER_TCP, TREE, calls, shared};
use crate::common::job::{BOTH, TestJob};
use crate::common::runtime::lib;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

/// The names of the only tests to run, separated by commas: `ONLY=alltoallv,icalltoall`.
const ONLY: &str = "ONLY";
/// The only MPI library to run: `ONLY_MPI=mpich`.
const ONLY_MPI: &str = "ONLY_MPI";

/// The name of a program's end beside those of the tests in it.
const WHOLE: &str = "the program";

/// The results of the tests, by their names.
type SuiteOutcomes = BTreeMap<String, String>;

/// One program of a suite on a number of ranks. Its output gives the result of each of its tests.
struct SuiteProgram<'a> {
    name: String,
    mpi: &'a str,
    ranks: usize,
    path: PathBuf,
    arguments: Vec<String>,
    outcomes: fn(&Output) -> SuiteOutcomes,
}

impl SuiteProgram<'_> {
    /// With the runtime, `forced` to its ways, or without it. Returns the results of its tests, and
    /// the calls that the runtime served.
    fn run(&self, forced: Option<(&str, &str)>) -> (SuiteOutcomes, u64) {
        // Processes that the program starts itself run under this machine's own name.
        let here = fs::read_to_string("/proc/sys/kernel/hostname").expect("a host name");
        let dir = shared(&TREE.replace(
            "hosts: {",
            &format!("hosts: {{{}: {{switch: s1}}, ", here.trim()),
        ));
        let arguments: Vec<&str> = self.arguments.iter().map(String::as_str).collect();
        // More ranks than hosts: some of these have two or three, the last one fewer.
        let per_host = self.ranks.div_ceil(8);
        let Some(forced) = forced else {
            let idle = loaded(&["libheddle-idle.so"]);
            let job = TestJob::bare(self.mpi, self.ranks)
                .per_host(per_host)
                .env("LD_PRELOAD", &idle);
            return ((self.outcomes)(&job.output(&self.path, &arguments)), 0);
        };
        let both = loaded(&["libheddle.so", "libheddle-idle.so"]);
        let job = TestJob::new(self.mpi, self.ranks)
            .per_host(per_host)
            .dir(dir.path())
            .env(forced.0, forced.1)
            .env("LD_PRELOAD", &both);
        let outcomes = (self.outcomes)(
            &job.env("HEDDLE_PATIENCE", "30")
                .output(&self.path, &arguments),
        );
        let calls = if dir.path().join("jobs").exists() {
            calls(dir.path())
        } else {
            BTreeMap::new()
        };
        (
            outcomes,
            calls
                .iter()
                .filter(|(way, _)| !way.ends_with("native"))
                .map(|(_, calls)| calls)
                .sum(),
        )
    }

    /// True if the operator asked for it, and it was built: an MPI library may lack functions that
    /// it calls.
    fn is_wanted(&self) -> bool {
        let asked = |variable: &str, name: &str| {
            let only = std::env::var(variable).unwrap_or_default();
            only.is_empty() || only.split(',').any(|part| name.contains(part))
        };
        asked(ONLY, &self.name) && asked(ONLY_MPI, self.mpi) && self.path.exists()
    }
}

/// Processes that the program starts itself load the libraries of their launcher.
fn loaded(names: &[&str]) -> String {
    names
        .iter()
        .map(|name| lib().join(name).display().to_string())
        .collect::<Vec<_>>()
        .join(":")
}

/// The folder where scripts/build-suites put a suite.
fn built(mpi: &str, suite: &str) -> PathBuf {
    let target = lib()
        .parent()
        .and_then(Path::parent)
        .expect("target/debug/lib is in target");
    target.join("suites").join(mpi).join(suite)
}

/// Runs each program without the runtime and with each of its data paths, and insists that every
/// test ends in the same way.
fn alike(suite: &str, programs: &[SuiteProgram]) {
    let (mut differences, mut served, mut ends) = (Vec::new(), 0, BTreeMap::<String, u32>::new());
    let wanted: Vec<&SuiteProgram> = programs
        .iter()
        .filter(|program| program.is_wanted())
        .collect();
    assert!(
        !wanted.is_empty(),
        "{suite}: no test to run; has scripts/build-suites built it?"
    );
    for program in &wanted {
        let name = format!("{} x {} on {}", program.name, program.ranks, program.mpi);
        let (bare, _) = program.run(None);
        for end in bare.values() {
            *ends.entry(end.clone()).or_default() += 1;
        }
        for forced in [FORCED, OVER_TCP] {
            let (with, calls) = program.run(Some(forced));
            served += calls;
            let hangs =
                |outcomes: &SuiteOutcomes| outcomes.get(WHOLE).is_some_and(|end| end == "hung");
            let names = bare
                .keys()
                .chain(with.keys().filter(|name| !bare.contains_key(*name)));
            // The tests after a test that hangs did not run.
            let compared = names.filter(|name| *name == WHOLE || !(hangs(&bare) || hangs(&with)));
            for test in compared.filter(|test| bare.get(*test) != with.get(*test)) {
                let difference = format!(
                    "{name}: {test}: without: {}; with {}: {}",
                    outcome_of(&bare, test),
                    forced.1,
                    outcome_of(&with, test)
                );
                println!("{difference}");
                differences.push(difference);
            }
        }
    }
    println!(
        "{suite}: {} programs; their tests without the runtime: {ends:?}; the runtime served \
         {served} calls",
        wanted.len()
    );
    assert!(
        differences.is_empty(),
        "{suite}: {} tests end otherwise with the runtime:\n{}",
        differences.len(),
        differences.join("\n")
    );
    assert!(served > 0, "{suite}: nothing went through the runtime");
}

fn outcome_of(outcomes: &SuiteOutcomes, test: &str) -> String {
    outcomes
        .get(test)
        .map_or("not run", String::as_str)
        .to_owned()
}

/// The result of a program that is one test.
fn as_a_whole(output: &Output, passed: bool) -> SuiteOutcomes {
    let end = match output.status.code() {
        Some(124 | 137) => "hung",
        Some(0) if passed => "passed",
        _ => "failed",
    };
    BTreeMap::from([(WHOLE.to_owned(), end.to_owned())])
}

/// MPICH's tests say so if they find nothing wrong. Each names the numbers of ranks it is made for.
fn mpich_tests(folder: &str) -> Vec<SuiteProgram<'static>> {
    let mut programs = Vec::new();
    for mpi in BOTH {
        let built = built(mpi, "mpich").join(folder);
        let source = self::built("sources", "mpich/test/mpi").join(folder);
        let lists = [
            built.join("testlist"),
            source.join("testlist"),
            source.join("testlist.in"),
        ];
        let list = lists
            .iter()
            .find_map(|list| fs::read_to_string(list).ok())
            .unwrap_or_default();
        for line in list.lines().filter(|line| {
            !line.starts_with(['#', '@']) && !line.contains("mem=") && !line.contains("xfail")
        }) {
            let mut words = line.split_whitespace();
            let (Some(name), Some(Ok(ranks))) = (words.next(), words.next().map(str::parse)) else {
                continue;
            };
            if ranks > 16 {
                continue;
            }
            let arguments = words
                .filter_map(|word| Some(word.strip_prefix("arg=")?.to_owned()))
                .collect();
            let outcomes = |output: &Output| {
                as_a_whole(
                    output,
                    String::from_utf8_lossy(&output.stdout).contains(" No Errors"),
                )
            };
            programs.push(SuiteProgram {
                name: format!("{folder}/{name}"),
                mpi,
                ranks,
                path: built.join(name),
                arguments,
                outcomes,
            });
        }
    }
    programs
}

#[test]
fn mpich_collectives() {
    alike("MPICH coll", &mpich_tests("coll"));
}

#[test]
fn mpich_fortran_collectives() {
    for folder in ["f77/coll", "f90/coll", "f08/coll"] {
        alike(&format!("MPICH {folder}"), &mpich_tests(folder));
    }
}

#[test]
fn mpich_errors_of_collectives() {
    alike("MPICH errors/coll", &mpich_tests("errors/coll"));
}

#[test]
fn mpich_communicators_and_processes() {
    let programs = [
        "comm",
        "init",
        "spawn",
        "threads/comm",
        "threads/coll",
        "errhan",
    ]
    .iter()
    .flat_map(|folder| mpich_tests(folder));
    alike(
        "MPICH comm, init, spawn, threads",
        &programs.collect::<Vec<_>>(),
    );
}

/// Python's unittest names each test and its result. Only rank 0's output counts.
fn mpi4py_tests(suite: &str) -> Vec<SuiteProgram<'static>> {
    const MODULES: &str = "cco_buf cco_buf_inter cco_nb_buf cco_nb_vec cco_ngh_buf cco_ngh_obj \
                           cco_obj cco_obj_inter cco_pr_buf cco_pr_ngh_buf cco_pr_vec cco_vec \
                           cco_vec_inter comm comm_inter comm_topo dynproc spawn threads util_pkl5";
    let mut programs = Vec::new();
    for mpi in BOTH {
        let built = built(mpi, suite);
        for (module, ranks) in MODULES
            .split_whitespace()
            .flat_map(|module| [1, 2, 3, 5].map(|ranks| (module, ranks)))
        {
            if !built.join(format!("test/test_{module}.py")).exists() {
                continue;
            }
            let script = format!(
                "PYTHONPATH='{0}' exec python3 '{0}/test/runtests.py' --no-builddir -v -i \
                 '^test_{module}\\.py$' 2>&1 | if [ ${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}} = 0 ]; \
                 then cat; else cat >/dev/null; fi",
                built.display()
            );
            let arguments = vec!["-c".to_owned(), script];
            let outcomes = |output: &Output| {
                let text = String::from_utf8_lossy(&output.stdout).into_owned();
                let ended = text.lines().filter_map(|line| line.split_once(" ... "));
                let mut outcomes: SuiteOutcomes = ended
                    .map(|(test, end)| (test.to_owned(), end.trim().to_owned()))
                    .collect();
                outcomes.extend(as_a_whole(output, text.contains("\nOK")));
                outcomes
            };
            programs.push(SuiteProgram {
                name: format!("{suite}/{module}"),
                mpi,
                ranks,
                path: "/bin/bash".into(),
                arguments,
                outcomes,
            });
        }
    }
    programs
}

#[test]
fn mpi4py_4() {
    alike("mpi4py 4", &mpi4py_tests("mpi4py-4.0.3"));
}

#[test]
fn mpi4py_3() {
    alike("mpi4py 3", &mpi4py_tests("mpi4py-3.1.6"));
}

/// The first and the last word of each line that begins with a size.
fn by_size(output: &Output) -> SuiteOutcomes {
    let text = String::from_utf8_lossy(&output.stdout);
    let mut outcomes: SuiteOutcomes = text
        .lines()
        .filter(|line| line.trim_start().starts_with(|c: char| c.is_ascii_digit()))
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            Some((format!("{} B", words.next()?), words.last()?.to_owned()))
        })
        .collect();
    outcomes.extend(as_a_whole(output, !outcomes.is_empty()));
    outcomes
}

/// Intel's benchmarks, compiled to check the received data: a line for each size, whose last column
/// counts the errors.
#[test]
fn intel_mpi_benchmarks() {
    let mut programs = Vec::new();
    for mpi in BOTH {
        for (ranks, program, names) in [
            (4, "IMB-MPI1", "Alltoall Alltoallv Allgather Allgatherv"),
            (9, "IMB-MPI1", "Alltoall Alltoallv Allgather Allgatherv"),
            (4, "IMB-NBC", "Ialltoall Ialltoallv Iallgather Iallgatherv"),
        ] {
            for name in names.split(' ') {
                let flags =
                    format!("{name} -npmin {ranks} -msglog 0:18 -iter 5 -iter_policy off -time 5");
                let arguments = flags.split(' ').map(str::to_owned).collect();
                programs.push(SuiteProgram {
                    name: format!("{program} {name}"),
                    mpi,
                    ranks,
                    path: built(mpi, "imb").join(program),
                    arguments,
                    outcomes: by_size,
                });
            }
        }
    }
    alike("Intel MPI Benchmarks", &programs);
}

/// OSU's benchmarks with validation: a line for each size, whose last column says Pass or Fail.
#[test]
fn osu_micro_benchmarks() {
    let mut programs = Vec::new();
    for mpi in BOTH {
        for name in
            "alltoall alltoallv alltoallw allgather allgatherv ialltoall iallgather".split(' ')
        {
            let folder = if name.starts_with('i') {
                "non_blocking"
            } else {
                "blocking"
            };
            for ranks in [3, 8] {
                let path = built(mpi, "osu").join(format!("c/mpi/collective/{folder}/osu_{name}"));
                let arguments = "-c -m 1:262144 -i 5 -x 1"
                    .split(' ')
                    .map(str::to_owned)
                    .collect();
                programs.push(SuiteProgram {
                    name: format!("osu_{name}"),
                    mpi,
                    ranks,
                    path,
                    arguments,
                    outcomes: by_size,
                });
            }
        }
    }
    alike("OSU Micro-Benchmarks", &programs);
}
