//! The ways to load the runtime, each as docs/loading.md describes it: under both launchers and
//! Slurm, by the module file, by the task prolog, linked.
//!
//! Slurm runs here, on four emulated hosts (network, process and UTS namespaces, which takes root).
//! Needs: apt-get install slurmctld slurmd slurm-client slurm-wlm-basic-plugins environment-modules
//! openmpi-bin mpich gcc
use crate::common::epochs::{FORCED, TREE, calls, shared, ways};
use crate::common::job::{BOTH, TestJob, compiled};
use crate::common::machine_share::MachinePart;
use crate::common::mpirun::{OVER_A_NETWORK, settings};
use crate::common::runtime::lib;
use std::fmt;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

const GUIDE: &str = include_str!("../docs/loading.md");
/// The ways in the job records of the benchmark program if the runtime served it.
const SERVED: [&str; 2] = ["allgather ring", "alltoall aapc"];

/// The commands of the guide under a name.
fn snippet(name: &str) -> &'static str {
    let (_, from) = GUIDE
        .split_once(&format!("```sh {name}\n"))
        .unwrap_or_else(|| panic!("docs/loading.md has no `{name}`"));
    from.split_once("```").expect("the end of the block").0
}

fn executable(path: &Path, text: &[u8]) {
    fs::write(path, text).expect("written");
    fs::set_permissions(path, Permissions::from_mode(0o755)).expect("its mode");
}

/// Runs of a script of which all but the last may meet a fault of Open MPI's own.
const TRIES: u32 = 3;

/// The output of a script. Slurm's own lines are among the errors.
struct ScriptOutput {
    out: String,
    err: String,
}

impl fmt::Display for ScriptOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n{}", self.out, self.err)
    }
}

/// A library's settings for this machine, under Slurm: many ranks share few cores, over one interface.
fn set(command: &mut Command, mpi: &str) {
    command
        .env(
            "PMI",
            if mpi.starts_with("openmpi") {
                "pmix"
            } else {
                "pmi2"
            },
        )
        .envs(settings(mpi))
        .envs([OVER_A_NETWORK])
        .env("I_MPI_PMI_LIBRARY", "libpmi2.so.0");
    if !BOTH.contains(&mpi) {
        // Else what MPICH 5 tells its ranks of its addresses is longer than Slurm takes, on some days.
        command.envs([("UCX_NET_DEVICES", "net0"), ("UCX_UNIFIED_MODE", "y")]);
    }
    for setting in "btl=tcp,self pml=ob1 btl_tcp_if_include=lo oob_tcp_if_include=lo".split(' ') {
        let (name, value) = setting.split_once('=').expect("a name and a value");
        command.env(format!("OMPI_MCA_{name}"), value);
    }
    // Otherwise the other ranks wait for one that died.
    command.env("SLURM_KILL_BAD_EXIT", "1");
    command.envs([
        ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
        ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
    ]);
}

/// An installation, a shared directory with an epoch, and a folder for Slurm.
struct SlurmSite {
    folder: TempDir,
    shared: TempDir,
}

impl SlurmSite {
    fn new() -> SlurmSite {
        let site = SlurmSite {
            folder: TempDir::new().expect("a temporary directory"),
            shared: shared(TREE),
        };
        let prefix = site.prefix();
        for folder in "lib bin share/heddle/modulefiles share/heddle/slurm".split(' ') {
            fs::create_dir_all(prefix.join(folder)).expect("a folder");
        }
        symlink(lib(), prefix.join("lib/heddle")).expect("a link");
        for file in ["modulefiles/heddle", "slurm/heddle-task-prolog"] {
            let mut fill = Command::new("share/fill");
            let filled = fill
                .arg(&prefix)
                .arg(site.shared.path())
                .arg(Path::new("share").join(file))
                .output()
                .expect("share/fill");
            assert!(filled.status.success(), "{filled:?}");
            executable(&prefix.join("share/heddle").join(file), &filled.stdout);
        }
        site
    }

    fn prefix(&self) -> PathBuf {
        self.folder.path().join("prefix")
    }

    /// Replaces the folders and the program of the guide with those of this site.
    fn filled(&self, text: &str, program: &Path) -> String {
        let small = format!(
            "{} --collective both --size 5000 --iterations 4 --check",
            show(program)
        );
        let prefix = show(&self.prefix());
        text.replace("/usr/lib/heddle", &format!("{prefix}/lib/heddle"))
            .replace("/usr/share/heddle", &format!("{prefix}/share/heddle"))
            .replace("/srv/heddle", &show(self.shared.path()))
            .replace("./program", &small)
    }

    /// Runs a script in a Slurm cluster, one cluster at a time. Returns its output.
    ///
    /// On a busy machine Open MPI 4.1 dies in about one of a hundred MPI_Inits under `srun`, also
    /// without heddle: a block comes before the rank has announced who takes blocks, and its TCP module
    /// calls a null pointer. Then the others cannot connect to it, and the script runs again.
    fn slurm(&self, mpi: &str, configuration: &str, script: &str) -> ScriptOutput {
        let _share = MachinePart::Half.take();
        let mut number = 0;
        loop {
            number += 1;
            let (success, output) = self.slurm_once(mpi, configuration, script);
            if success {
                return output;
            }
            let is_known = output.err.contains("Open MPI failed to TCP connect");
            assert!(is_known && number < TRIES, "{mpi}: {script}\n{output}");
        }
    }

    /// True if the script ended well, and its output.
    fn slurm_once(&self, mpi: &str, configuration: &str, script: &str) -> (bool, ScriptOutput) {
        let cluster = TempDir::new_in(self.folder.path()).expect("a temporary directory");
        let tools = cluster.path().join("tools");
        fs::create_dir(&tools).expect("a folder");
        for name in ["mpirun", "mpiexec"]
            .into_iter()
            .filter(|_| BOTH.contains(&mpi))
        {
            executable(
                &tools.join(name),
                format!("#!/bin/sh\nexec {name}.{mpi} \"$@\"\n").as_bytes(),
            );
        }
        let program = if BOTH.contains(&mpi) {
            lib().join(format!("bench-{mpi}"))
        } else {
            compiled("vectors.c", mpi, &[])
        };
        fs::write(
            cluster.path().join("more.conf"),
            self.filled(configuration, &program),
        )
        .expect("written");
        let path = std::env::var("PATH").expect("a PATH");
        let mut command = Command::new("timeout");
        command
            .args(["-k", "1", "300", "shim/tests/slurm.sh"])
            .arg(cluster.path())
            .args(["bash", "-euc", &self.filled(script, &program)]);
        // Otherwise the loader prefers a library of Cargo's folder to the one a program names.
        for name in ["HEDDLE", "HEDDLE_DIR", "HEDDLE_VERBOSE", "LD_LIBRARY_PATH"] {
            command.env_remove(name);
        }
        command
            .env("LD_PRELOAD", lib().join("libheddle-idle.so"))
            .env(FORCED.0, FORCED.1)
            .env("PATH", format!("{}:{path}", tools.display()));
        set(&mut command, mpi);
        let output = command.output().expect("timeout, of coreutils");
        let [out, err] = [output.stdout, output.stderr]
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        (output.status.success(), ScriptOutput { out, err })
    }

    /// A script that names the library to preload, and libheddle-idle.so beside it. Without the
    /// latter, MPICH over UCX may hang at its end if many ranks share a core.
    fn with_idle(script: &str) -> String {
        script.replace(
            "libheddle.so",
            &format!("libheddle.so:{}", lib().join("libheddle-idle.so").display()),
        )
    }

    /// The ways that the jobs of this site went.
    fn ways(&self) -> Vec<String> {
        if self.shared.path().join("jobs").exists() {
            ways(self.shared.path())
        } else {
            Vec::new()
        }
    }
}

fn show(path: &Path) -> String {
    path.display().to_string()
}

/// The launchers find Slurm's allocation, and start a rank on each host.
#[test]
fn each_launcher_hands_it_to_all_ranks() {
    for mpi in BOTH {
        let site = SlurmSite::new();
        let output = site.slurm(
            mpi,
            "",
            &format!(
                "salloc -N4 -n4 bash -euc '{}'",
                SlurmSite::with_idle(snippet(mpi))
            ),
        );
        assert_eq!(output.out.matches("x 4 ranks: ").count(), 2, "{output}");
        assert_eq!(site.ways(), SERVED, "{mpi}: {output}");
    }
}

#[test]
fn slurm_exports_it() {
    for mpi in BOTH {
        let site = SlurmSite::new();
        // Slurm keeps a value that is set already.
        let output = site.slurm(
            mpi,
            "",
            &format!(
                "unset LD_PRELOAD\n{}",
                SlurmSite::with_idle(snippet("srun"))
            ),
        );
        assert_eq!(site.ways(), SERVED, "{mpi}: {output}");
    }
}

/// By PMI-2, and by PMIx for Open MPI. Slurm keeps what ranks publish, so they know of each other.
#[test]
fn slurm_exports_it_to_ranks_of_the_fetched_libraries() {
    for mpi in ["intel", "intel-abi", "mpich5", "mpich5-abi", "openmpi5"] {
        // On a busy machine MPICH 5.0 dies in some MPI_Inits, also without heddle.
        let mut tries =
            (0..TRIES).map(|_| served_under_srun(mpi).inspect_err(|e| eprintln!("{e}")));
        assert!(tries.any(|served| served.is_ok()), "{mpi}");
    }
}

fn served_under_srun(mpi: &str) -> Result<(), String> {
    let site = SlurmSite::new();
    let _share = MachinePart::Half.take();
    let line = SlurmSite::with_idle(snippet("srun"));
    let (success, output) = site.slurm_once(mpi, "", &format!("unset LD_PRELOAD\n{line}"));
    let ways = site.ways();
    let is_served = ["alltoallv aapc", "allgatherv ring"]
        .iter()
        .all(|way| ways.iter().any(|gone| gone == way));
    let is_quiet = output.out.lines().count() == 73 && !output.err.contains("heddle:");
    (success && is_served && is_quiet)
        .then_some(())
        .ok_or_else(|| format!("{mpi}: {ways:?}, {output}"))
}

#[test]
fn the_module_file_loads_it_and_takes_it_back() {
    for mpi in BOTH {
        let site = SlurmSite::new();
        let unloaded = "module unload heddle; echo \"left: ${HEDDLE_DIR:-nothing} $LD_PRELOAD\"";
        // Inside an allocation, mpirun needs no more.
        let script = format!(
            ". /usr/share/modules/init/bash\n{}\nsalloc -N4 -n4 mpirun ./program\n{unloaded}",
            snippet("module")
        );
        let output = site.slurm(mpi, "", &script);
        assert_eq!(output.out.matches("x 4 ranks: ").count(), 4, "{output}");
        assert!(
            output.out.contains(&format!(
                "left: nothing {}\n",
                lib().join("libheddle-idle.so").display()
            )),
            "{output}"
        );
        assert_eq!(
            calls(site.shared.path()).into_iter().collect::<Vec<_>>(),
            SERVED.map(|way| (way.to_owned(), 8)),
            "{mpi}: {output}"
        );
    }
}

#[test]
fn the_task_prolog_loads_it_for_everybody_who_does_not_say_off() {
    let (_, configured) = GUIDE
        .split_once("```conf\n")
        .expect("docs/loading.md: slurm.conf");
    let configured = configured
        .split_once("```")
        .expect("the end of the block")
        .0;
    for mpi in BOTH {
        let site = SlurmSite::new();
        let output = site.slurm(mpi, configured, snippet("off"));
        assert_eq!(output.out.matches("x 4 ranks: ").count(), 2, "{output}");
        assert_eq!(site.ways(), [] as [&str; 0], "{mpi}: {output}");
        let output = site.slurm(mpi, configured, snippet("prolog"));
        assert_eq!(site.ways(), SERVED, "{mpi}: {output}");
        // The user's own choice of a shared directory is kept, and heddle is loaded once.
        let output = site.slurm(
            mpi,
            configured,
            "HEDDLE_DIR=/of/my/own srun -n1 printenv HEDDLE_DIR LD_PRELOAD",
        );
        let loaded = format!(
            "{0}/lib/heddle/libheddle.so:{1}",
            site.prefix().display(),
            lib().join("libheddle-idle.so").display()
        );
        assert_eq!(
            output.out,
            format!("/of/my/own\n{loaded}\n"),
            "{mpi}: {output}"
        );
    }
}

/// On a node without the library or in an empty environment, the prolog still prints what Slurm can
/// read.
#[test]
fn the_task_prolog_says_only_what_slurm_reads() {
    let site = SlurmSite::new();
    let prolog = site.prefix().join("share/heddle/slurm/heddle-task-prolog");
    let run = |loaded: Option<&str>| {
        let mut command = Command::new(&prolog);
        command
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .envs(loaded.map(|loaded| ("LD_PRELOAD", loaded)));
        let output = command.output().expect("the prolog");
        assert!(
            output.status.success() && output.stderr.is_empty(),
            "{output:?}"
        );
        String::from_utf8(output.stdout).expect("text")
    };
    let (dir, library) = (
        site.shared.path().display().to_string(),
        site.prefix().join("lib/heddle/libheddle.so"),
    );
    assert_eq!(
        run(None),
        format!(
            "export HEDDLE_DIR={dir}\nexport LD_PRELOAD={}\n",
            library.display()
        )
    );
    assert_eq!(
        run(Some(library.to_str().expect("a plain path"))),
        format!("export HEDDLE_DIR={dir}\n")
    );
    fs::remove_file(site.prefix().join("lib/heddle")).expect("removed");
    assert_eq!(run(None), "");
}

#[test]
fn linked_it_needs_no_preload() {
    for mpi in BOTH {
        let site = SlurmSite::new();
        let program = site.folder.path().join("program");
        let source = fs::canonicalize("shim/tests/steady.c").expect("shim/tests");
        let shown = snippet("link")
            .replace("mpicc", &format!("mpicc.{mpi}"))
            .replace("program.c", &source.display().to_string());
        let compile = site.filled(
            &shown.replace("-o program", &format!("-o {}", program.display())),
            &program,
        );
        let done = Command::new("bash")
            .args(["-euc", &compile])
            .output()
            .expect("bash");
        assert!(
            done.status.success(),
            "{compile}: {}",
            String::from_utf8_lossy(&done.stderr)
        );
        let text = site.slurm(
            mpi,
            "",
            &format!(
                "HEDDLE_DIR=/srv/heddle srun -n4 --mpi=$PMI {} 1",
                program.display()
            ),
        );
        assert!(text.out.contains(" 0 wrong\n"), "{text}");
        assert_eq!(site.ways(), SERVED, "{mpi}: {text}");
    }
}

/// Traces of a program that is no MPI program: descriptors, threads, and whether heddle's
/// library is mapped.
const SHELL: &str = "cd /proc/$$; echo fd/* task/*; grep -c libheddle.so maps";
const PYTHON: &str = "import os
fds, tasks = (sorted(os.listdir('/proc/self/' + what)) for what in ('fd', 'task'))
print('fds', len(fds), fds, 'tasks', len(tasks))
print(sum('libheddle.so' in line for line in open('/proc/self/maps')))";

/// The lines of such a program, loaded or not: what it has, and how often the library is mapped.
fn shown(program: &[&str], library: Option<&Path>, dir: &Path) -> (String, u32) {
    let mut command = Command::new(program[0]);
    command
        .args(&program[1..])
        .env_remove("LD_PRELOAD")
        .env_remove("HEDDLE")
        .envs(library.map(|library| ("LD_PRELOAD", library)))
        .env("HEDDLE_DIR", dir)
        .env("HEDDLE_VERBOSE", "2");
    let output = command.output().expect("the program");
    let [out, err] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    assert_eq!(err, "", "{program:?}");
    let (has, mapped) = out.trim_end().split_once('\n').expect("two lines");
    // The only thread of a process has its number.
    let number = has.split("task/").nth(1).unwrap_or("no number");
    (
        has.replace(number, "PID"),
        mapped.parse().expect("a number"),
    )
}

#[test]
fn a_program_that_is_no_mpi_program_is_left_alone() {
    let dir = shared(TREE);
    let library = lib().join("libheddle.so");
    for program in [&["sh", "-c", SHELL], &["python3", "-c", PYTHON]] {
        let (own, unmapped) = shown(program, None, dir.path());
        let (loaded, mapped) = shown(program, Some(&library), dir.path());
        assert_eq!(own, loaded, "{program:?}");
        assert!(unmapped == 0 && mapped > 0, "{program:?}: {mapped}");
    }
}

/// Runs a program with AddressSanitizer under an MPI, with this LD_PRELOAD beside the lab's library and
/// this in ASAN_OPTIONS.
fn sanitized(mpi: &str, dir: &Path, preload: &str, options: &str) -> Output {
    let program = compiled("steady.c", mpi, &["-fsanitize=address"]);
    let preload = format!("{preload}:{}", lib().join("libheddle-idle.so").display());
    TestJob::new(mpi, 4)
        .dir(dir)
        .env(FORCED.0, FORCED.1)
        .env("SHIM", &preload)
        // The MPI libraries keep memory until the end.
        .env("ASAN_OPTIONS", &format!("detect_leaks=0:{options}"))
        .output(&program, &["1"])
}

#[test]
fn address_sanitizer_refuses_it_and_takes_it_by_either_way_of_the_guide() {
    let (heddle, folder) = (lib().join("libheddle.so"), lib().display().to_string());
    let heddle = heddle.to_str().expect("a plain path");
    let (_, hint) = GUIDE.split_once("```text\nASan").expect("ASan's line");
    let hint = hint.split_once(';').expect("a hint behind it").0;
    let first = snippet("asan-first").replace("/usr/lib/heddle", &folder);
    let output = Command::new("bash")
        .args(["-euc", &format!("{first}\nprintf %s \"$LD_PRELOAD\"")])
        .env_remove("LD_PRELOAD")
        .output()
        .expect("bash");
    let first = String::from_utf8(output.stdout).expect("a plain path");
    let (name, order) = snippet("asan-order").trim().split_once('=').unwrap();
    assert_eq!(name, "ASAN_OPTIONS");
    for mpi in BOTH {
        let dir = shared(TREE);
        let refused = sanitized(mpi, dir.path(), heddle, "");
        let text = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(!refused.status.success() && text.contains(hint), "{text}");
        for (preload, options) in [(&first[..], ""), (heddle, order)] {
            let dir = shared(TREE);
            let output = sanitized(mpi, dir.path(), preload, options);
            let [out, err] = [&output.stdout, &output.stderr].map(|b| String::from_utf8_lossy(b));
            let is_well = output.status.success() && out.contains(" 0 wrong\n");
            assert!(is_well, "{mpi} {preload} {options}: {out}{err}");
            assert_eq!(ways(dir.path()), SERVED, "{mpi} {preload} {options}: {err}");
        }
    }
}
