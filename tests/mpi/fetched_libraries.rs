//! MPI libraries of other vendors and versions than the machine's: the same bytes, errors and state
//! by default, forced, and over TCP. docs/mpi-libraries.md has the table.
use crate::common::epochs::{AT_ONCE, FORCED, OVER_TCP, TREE, calls, records, shared};
use crate::common::fetched_mpi::folder;
use crate::common::job::{BOTH, TestJob, compiled};
use crate::common::machine_share::MachinePart;
use crate::common::runtime::lib;
use crate::common::{HEDDLE, text};
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

/// Every form of a call, with datatypes of every kind; reductions; wrong arguments; and what a
/// program can ask of MPI's state.
const PROGRAMS: [(&str, &[&str]); 4] = [
    ("vectors.c", &[]),
    ("reductions.c", &[]),
    ("errors.c", &[]),
    ("state.c", &["1", "1", "2", "6"]),
];

/// With this a communicator without an error handler takes that of MPI_COMM_WORLD. Open MPI ends the
/// job over its error.
const INHERITED: (&str, &[&str]) = ("state.c", &["1"]);

fn assert_same_with_heddle(mpi: &str) {
    let inherited = Some(INHERITED).filter(|_| !mpi.starts_with("openmpi"));
    for (source, arguments) in PROGRAMS.into_iter().chain(inherited) {
        let program = compiled(source, mpi, &[]);
        let bare = TestJob::bare(mpi, 4).run(&program, arguments).out;
        // By default ranks look later than such a program ends. Where ways are forced, rank 0 waits
        // for its helper, however busy the others are.
        for (name, value) in [("HEDDLE_WATCHDOG", "60"), FORCED, OVER_TCP] {
            let dir = shared(TREE);
            let mut job = TestJob::new(mpi, 4).dir(dir.path()).env(name, value);
            if name == FORCED.0 {
                job = job.env(AT_ONCE.0, AT_ONCE.1);
            }
            let output = job.run(&program, arguments);
            assert_eq!(output.out, bare, "{source} on {mpi}, {name}={value}");
            assert!(
                output.heddle.is_empty(),
                "{mpi}, {name}={value}: {:?}",
                output.heddle
            );
            if name == FORCED.0 && source != "reductions.c" {
                let ways = calls(dir.path());
                let served = ways.keys().any(|way| way.starts_with("alltoall aapc"));
                assert!(served, "{source} on {mpi}, {value}: {ways:?}");
                for record in records(dir.path()) {
                    assert_eq!(record.mpi.to_string(), routines(mpi));
                }
            }
        }
    }
}

/// Whose routines jobs of a library learn of: its name and major version.
fn routines(mpi: &str) -> String {
    let name = mpi.split(|c: char| c == '-' || c.is_ascii_digit()).next();
    let number = mpi
        .split(|c: char| !c.is_ascii_digit())
        .find(|text| !text.is_empty());
    let (name, number) = (name.expect("a name"), number.unwrap_or("2021"));
    format!("{name}-{number}")
}

#[test]
fn intel_mpi() {
    assert_same_with_heddle("intel");
}

#[test]
fn mpich_5() {
    assert_same_with_heddle("mpich5");
}

#[test]
fn open_mpi_5() {
    assert_same_with_heddle("openmpi5");
}

/// The MPI standard's own binary interface, on the libraries that offer it.
#[test]
fn the_standards_interface_of_intel_mpi() {
    assert_same_with_heddle("intel-abi");
}

#[test]
fn the_standards_interface_of_mpich_5() {
    assert_same_with_heddle("mpich5-abi");
}

/// Each version that scripts/packages names, by its own interface and by the standard's if it has
/// that.
#[cfg(feature = "mpis")]
mod every_version {
    use super::assert_same_with_heddle;
    use crate::common::fetched_mpi::assert_of_each;

    #[test]
    fn of_intel_mpi() {
        assert_of_each("intel", |_| true, assert_same_with_heddle);
    }

    #[test]
    fn of_mpich() {
        assert_of_each("mpich", |_| true, assert_same_with_heddle);
    }

    #[test]
    fn of_open_mpi() {
        assert_of_each("openmpi", |_| true, assert_same_with_heddle);
    }
}

/// Heddle has the standard's numbers as the headers of libraries have them.
#[test]
fn the_standards_numbers_are_those_of_its_headers() {
    let ours = numbers_of(&[]);
    assert!(ours.contains("HEDDLE_COMM_WORLD"), "{ours}");
    for mpi in ["intel", "mpich5"] {
        let headers = folder(mpi).expect("fetched").join("include");
        let include = headers.to_str().expect("a plain path");
        let theirs = numbers_of(&["-DSTANDARD_HEADER=<mpi_abi.h>", "-I", include]);
        assert_eq!(ours, theirs, "{mpi}");
    }
}

fn numbers_of(header: &[&str]) -> String {
    let done = Command::new("gcc")
        .args(["-S", "-o", "-", "-DWANT_STANDARD", "-DHANDLE_SIZE=8"])
        .args("-DSTATUS_SIZE=32 -DSTATUS_ALIGNMENT=4 -DSTATUS_ERROR_OFFSET=8".split(' '))
        .args(["-DSTATUS_SOURCE_OFFSET=0", "-DSTATUS_TAG_OFFSET=4"])
        .args(header)
        .arg("shim/backend/src/constants.c")
        .output()
        .expect("gcc");
    let text = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{header:?}: {text}");
    String::from_utf8_lossy(&done.stdout).into_owned()
}

/// Programs that do rare things, under the machine's own libraries.
#[test]
fn what_few_programs_do() {
    for mpi in BOTH {
        let program = compiled("callers.c", mpi, &[]);
        let bare = TestJob::bare(mpi, 4).run(&program, &[]).out;
        assert!(bare.contains("one set early is deleted"), "{mpi}: {bare}");
        let dir = shared(TREE);
        let output = TestJob::new(mpi, 4)
            .dir(dir.path())
            .env(OVER_TCP.0, OVER_TCP.1)
            .env(AT_ONCE.0, AT_ONCE.1)
            .run(&program, &[]);
        assert_eq!(output.out, bare, "{mpi}");
        let ways = calls(dir.path());
        assert!(ways.contains_key("alltoallw aapc tcp"), "{mpi}: {ways:?}");
    }
}

/// A library's version text is a name: here a copy of MPICH's calls itself Open MPI.
#[test]
fn a_library_that_lies_about_its_name_is_served_by_what_it_is() {
    const NAME: &[u8] = b"MPICH Version:";
    const OTHER: &[u8] = b"Open MPI v5.1:";
    let theirs = folder("mpich5").expect("fetched").join("lib");
    let lies = TempDir::new().expect("a folder");
    let mut octets = fs::read(theirs.join("libmpi.so.12")).expect("the library");
    let named: Vec<usize> = (0..octets.len() - NAME.len())
        .filter(|&at| octets[at..].starts_with(NAME))
        .collect();
    assert!(!named.is_empty());
    for at in named {
        octets[at..][..NAME.len()].copy_from_slice(OTHER);
    }
    fs::write(lies.path().join("libmpi.so.12"), octets).expect("written");
    // The libraries that it needs itself lie here.
    symlink(theirs.join("mpich"), lies.path().join("mpich")).expect("a link");
    let (program, dir) = (compiled("vectors.c", "mpich5", &[]), shared(TREE));
    let output = TestJob::new("mpich5", 4)
        .dir(dir.path())
        .env(
            "LD_LIBRARY_PATH",
            lies.path().to_str().expect("a plain path"),
        )
        .env(FORCED.0, FORCED.1)
        .env("HEDDLE_VERBOSE", "2")
        .run(&program, &[]);
    let bare = TestJob::bare("mpich5", 4).run(&program, &[]).out;
    assert_eq!(output.out, bare);
    // No figure of it is taken for one of MPICH 5.
    let routines: Vec<String> = (records(dir.path()).iter())
        .map(|record| record.mpi.to_string())
        .collect();
    assert!(
        !routines.is_empty() && routines.iter().all(|mpi| mpi == "mpich"),
        "{routines:?}"
    );
    assert!(
        calls(dir.path()).contains_key("alltoall aapc"),
        "{:?}",
        output.heddle
    );
}

/// Two plugins bring an MPI library each, out of the global scope. Calls go to the one with which the
/// plugin is linked that begins MPI, whichever was opened first.
#[test]
fn a_process_with_two_private_libraries_keeps_its_own() {
    let library = compiled("datatypes.c", "mpich5", &["-shared", "-fPIC"]);
    let plugin = library.to_str().expect("a plain path");
    let libmpi = folder("openmpi5")
        .expect("fetched")
        .join("lib/libmpi.so.40");
    let other = libmpi.to_str().expect("a plain path");
    let main = "import ctypes, sys; opened = [ctypes.CDLL(file) for file in sys.argv[2:]]; \
                sys.exit(next(o for o in opened if hasattr(o, 'main')).main(0, None))";
    for opened in [[plugin, other], [other, plugin]] {
        let arguments = [&["-c", main, "plugins"], &opened[..]].concat();
        let bare = TestJob::bare("mpich5", 4).run(Path::new("python3"), &arguments);
        let dir = shared(TREE);
        let output = TestJob::new("mpich5", 4)
            .dir(dir.path())
            .env(FORCED.0, FORCED.1)
            .env(AT_ONCE.0, AT_ONCE.1)
            .run(Path::new("python3"), &arguments);
        assert_eq!(output.out, bare.out, "{opened:?}");
        let line = "this process has two MPI libraries: ";
        let is_reported = output.heddle.len() == 1 && output.heddle[0].contains(line);
        assert!(is_reported, "{opened:?}: {:?}", output.heddle);
    }
}

/// The launchers take the lines of docs/loading.md: that of MPICH, and that of Open MPI.
#[test]
fn each_launcher_hands_it_to_all_ranks() {
    for (mpi, line, launcher) in [
        ("intel", "mpich", "mpiexec"),
        ("intel", "mpich", "mpiexec.hydra"),
        ("intel", "mpich", "mpirun"),
        ("mpich5", "mpich", "mpiexec"),
        ("openmpi5", "openmpi", "mpirun"),
        ("openmpi5", "openmpi", "prterun"),
    ] {
        let guide = include_str!("../../docs/loading.md");
        let (_, from) = guide
            .split_once(&format!("```sh {line}\n"))
            .expect("the line");
        let line = from.split_once("```").expect("the end of the block").0;
        let dir = shared(TREE);
        let (out, err) = launched(
            mpi,
            &line
                .replace("mpiexec", launcher)
                .replace("mpirun", launcher),
            &dir,
        );
        let ways = calls(dir.path());
        assert!(
            ways.contains_key("alltoall aapc"),
            "{launcher} of {mpi}: {ways:?}\n{out}\n{err}"
        );
    }
}

/// The output and errors of a line of the guide, with a program whose ranks are on hosts of their own.
fn launched(mpi: &str, line: &str, dir: &TempDir) -> (String, String) {
    let (_share, place) = (MachinePart::Half.take(), TempDir::new().expect("a folder"));
    let rank = place.path().join("rank");
    let program = compiled("state.c", mpi, &[]);
    let script = format!(
        "#!/bin/sh\nexport LD_PRELOAD=$LD_PRELOAD:{}\nexec unshare --uts sh -c 'hostname n${{PMIX_RANK:-$PMI_RANK}}; exec {}'\n",
        lib().join("libheddle-idle.so").display(),
        program.display()
    );
    fs::write(&rank, script).expect("written");
    fs::set_permissions(&rank, Permissions::from_mode(0o755)).expect("its mode");
    let line = line
        .replace("/usr/lib/heddle", lib().to_str().expect("a plain path"))
        .replace("/srv/heddle", dir.path().to_str().expect("a plain path"))
        .replace("./program", rank.to_str().expect("a plain path"));
    let folder = folder(mpi).expect("fetched");
    let path = std::env::var("PATH").expect("a PATH");
    let done = Command::new("timeout")
        .args(["-k", "5", "120", "bash", "-euc", &line])
        .env("PATH", format!("{}:{path}", folder.join("bin").display()))
        .env(FORCED.0, FORCED.1)
        .env(AT_ONCE.0, AT_ONCE.1)
        .env("HEDDLE_NETWORK", "published")
        .env("HEDDLE_LEARN", "off")
        // Four ranks of root share one machine, and nothing but its loopback interface.
        .envs([
            ("I_MPI_FABRICS", "shm"),
            ("I_MPI_THREAD_YIELD", "3"),
            ("UCX_TLS", "tcp,self"),
        ])
        .env("I_MPI_ROOT", &folder)
        .envs([
            ("OMPI_MCA_pml", "ob1"),
            ("OMPI_MCA_btl", "tcp,self"),
            ("OMPI_MCA_btl_tcp_if_include", "lo"),
        ])
        .envs(["OMPI", "PRTE"].map(|of| (format!("{of}_ALLOW_RUN_AS_ROOT"), "1")))
        .envs(["OMPI", "PRTE"].map(|of| (format!("{of}_ALLOW_RUN_AS_ROOT_CONFIRM"), "1")))
        .env("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe")
        .output()
        .expect("timeout, of coreutils");
    (text(&done.stdout), text(&done.stderr))
}

/// The exit status and the words of `heddle doctor` about a file.
fn doctor(flag: &str, file: &Path) -> (Option<i32>, String) {
    let done = Command::new(HEDDLE)
        .args(["doctor", "--dir", "/srv/heddle", flag])
        .arg(file)
        .output()
        .expect("heddle doctor");
    let text = String::from_utf8_lossy(&done.stdout);
    (done.status.code(), text.into_owned())
}

/// What `heddle doctor` says of a library's file, and of a program that is linked with it.
#[test]
fn doctor_tells_who_serves_a_library() {
    for (mpi, library, backend, line) in [
        (
            "intel",
            "libmpi.so.12",
            "mpich",
            "mpiexec -genv HEDDLE_DIR /srv/heddle -genv LD_PRELOAD",
        ),
        (
            "mpich5",
            "libmpi.so.12",
            "mpich",
            "mpiexec -genv HEDDLE_DIR /srv/heddle -genv LD_PRELOAD",
        ),
        (
            "intel-abi",
            "libmpi_abi.so.1",
            "abi",
            "mpiexec -genv HEDDLE_DIR /srv/heddle -genv LD_PRELOAD",
        ),
        (
            "mpich5-abi",
            "libmpi_abi.so.1",
            "abi",
            "mpiexec -genv HEDDLE_DIR /srv/heddle -genv LD_PRELOAD",
        ),
        (
            "openmpi5",
            "libmpi.so.40",
            "openmpi",
            "mpirun -x HEDDLE_DIR=/srv/heddle -x LD_PRELOAD=",
        ),
    ] {
        let file = folder(mpi).expect("fetched").join("lib").join(library);
        let program = compiled("state.c", mpi, &[]);
        for (code, output) in [
            doctor("--mpi-library", &file),
            doctor("--program", &program),
        ] {
            let backend = format!("/libheddle-{backend}.so\n");
            assert!(
                output.contains(&backend) && output.contains(line),
                "{mpi}: {output}"
            );
            assert_eq!(code, Some(0), "{mpi}: {output}");
        }
    }
    for file in ["/nonexistent/libmpi.so", "Cargo.toml"] {
        assert_eq!(
            doctor("--mpi-library", Path::new(file)).0,
            Some(1),
            "{file}"
        );
    }
    let (code, output) = doctor("--program", Path::new(HEDDLE));
    assert!(output.contains("linked with no libmpi"), "{output}");
    assert_eq!(code, Some(1));
}
