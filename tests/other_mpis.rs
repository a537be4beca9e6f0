//! MPI libraries that heddle has no backend for, or whose answers are not those that its backend is
//! compiled for: one line, and the library's own routines. The libraries are stand-ins
//! (shim/tests/other.c). Needs: apt-get install gcc
use crate::common::runtime::lib;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use tempfile::TempDir;

/// Compiles shim/tests/other.c.
fn other(flags: &[&str], made: &Path) {
    let done = Command::new("gcc")
        .args(["-w", "shim/tests/other.c", "-o"])
        .arg(made)
        .args(flags)
        .output()
        .expect("gcc");
    let text = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{text}");
}

/// Runs a program over MPI libraries that are compiled with these flags, with a runtime loaded. The
/// program finds the functions of the first.
fn over_others(libraries: &[&[&str]], lib: &Path) -> Output {
    let folder = TempDir::new().expect("a temporary directory");
    let at = folder.path().display();
    let mut flags = vec![
        "-Wl,--no-as-needed".to_owned(),
        format!("-L{at}"),
        format!("-Wl,-rpath,{at}"),
    ];
    for (number, library) in libraries.iter().enumerate() {
        let made = folder.path().join(format!("libmpi_{number}.so"));
        other(
            &[&["-DLIBRARY", "-shared", "-fPIC"], *library].concat(),
            &made,
        );
        flags.push(format!("-lmpi_{number}"));
    }
    let program = folder.path().join("program");
    other(
        &flags.iter().map(String::as_str).collect::<Vec<_>>(),
        &program,
    );
    Command::new(program)
        .env("LD_PRELOAD", lib.join("libheddle.so"))
        .env_remove("HEDDLE")
        .output()
        .expect("the program")
}

/// The calls were the library's own, and one line has this reason.
fn assert_stands_aside(output: &Output, line: &str, what: &str) {
    let [out, err] =
        [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    assert!(output.status.success(), "{what}: {}: {err}", output.status);
    let called = ["Alltoall", "Allgather", "Alltoallv", "Allgatherv"]
        .map(|name| format!("{name} of the library\n"));
    assert_eq!(out, called.concat(), "{what}");
    assert!(
        err.lines().count() == 1 && err.contains(line) && err.contains("own routines run"),
        "{what}: {err}"
    );
}

/// The symbols of this library are not those of an interface that heddle knows, whatever its
/// version text claims.
#[test]
fn over_an_mpi_it_is_not_made_for_it_stands_aside_with_one_line() {
    let flags = ["-DVERSION=\"Open MPI v6.0.0\""];
    let line = "\"Open MPI v6.0.0\": heddle has no backend for this MPI library";
    assert_stands_aside(&over_others(&[&flags], lib()), line, "Open MPI 6");
}

const MPICH: [&str; 1] = ["-DMPICH_ABI"];
const STANDARD: [&str; 1] = ["-DSTANDARD=5"];

/// Libraries by their version text, interface and answers, and what the line about each has.
const DIFFERENT: [(&str, &[&str], &[&str], &str); 9] = [
    // A library that knows of the standard's interface but has its own; most of its functions
    // are missing.
    (
        "MPICH Version: 5.0.2",
        &MPICH,
        &["-DSTANDARD_ABI=-1"],
        "the MPI library has no PMPI_Abort, which heddle needs",
    ),
    (
        "MVAPICH2 Version: 1.9",
        &MPICH,
        &["-DSTANDARD=2"],
        "MPI_Get_version of the library says 2.2, and heddle needs 3.0",
    ),
    (
        "Open MPI v5.0.11",
        &MPICH,
        &["-DSTANDARD=3", "-DHANDLE=0x40"],
        "a handle of a new error handler is 0x40",
    ),
    (
        "CRAY MPICH version 8.1",
        &MPICH,
        &["-DSTANDARD=3", "-DSTATUS=8"],
        "an MPI_Status has more than 20 octets",
    ),
    (
        "Intel(R) MPI Library 2021.9",
        &MPICH,
        &["-DSTANDARD=3", "-DSIZE=4"],
        "MPI_Type_size of MPI_BYTE gives 0, 4",
    ),
    (
        "MPICH Version: 3.9",
        &MPICH,
        &["-DSTANDARD=3", "-DIN_PLACE"],
        "MPI_Alltoall with MPI_IN_PLACE gives 2",
    ),
    (
        "MPICH Version: 6.0",
        &STANDARD,
        &["-DSTANDARD_ABI=2"],
        "MPI_Abi_get_version says 2.0",
    ),
    (
        "Open MPI v6.0.0",
        &STANDARD,
        &["-DSTANDARD_ABI=1", "-DHANDLE=0x40"],
        "a handle of a new error handler is 0x40",
    ),
    (
        "Intel(R) MPI Library 2021.20",
        &STANDARD,
        &["-DSTANDARD_ABI=1", "-DSTATUS=9"],
        "an MPI_Status has more than 32 octets",
    ),
];

/// MPI libraries that no package brings here, by their version text and the functions that they export:
/// those that their sources bind for C, without their letters `MPI_`, beside what their mpi.h stands on.
const RECORDED: [(&str, &str); 2] = [
    (
        "MVAPICH Version: 4.0",
        include_str!("../shim/tests/symbols/mvapich-4.0"),
    ),
    (
        "ParaStation MPI 5.14",
        include_str!("../shim/tests/symbols/parastation-5.14"),
    ),
];

/// A linker's script with which a library exports these only.
fn only(folder: &Path, functions: &str) -> String {
    let names = functions.split_whitespace();
    let exported = names.flat_map(|name| [format!("MPI_{name};"), format!("PMPI_{name};")]);
    let script = folder.join("exported");
    let text = format!(
        "{{ global: MPIR_Dup_fn; {} local: *; }};",
        exported.collect::<String>()
    );
    fs::write(&script, text).expect("written");
    format!("-Wl,--version-script={}", script.display())
}

/// A stand-in that exports what such a library does is found to have MPICH's interface and all that
/// the backend needs. It is asked to the end, where it takes no MPI_IN_PLACE.
#[test]
fn libraries_that_no_package_brings_have_what_the_backend_needs() {
    let folder = TempDir::new().expect("a temporary directory");
    for (version, functions) in RECORDED {
        let version = format!("-DVERSION=\"{version}\"");
        let lacking = functions.replace(" Iprobe ", " ");
        assert_ne!(lacking, functions);
        for (functions, line) in [
            (functions, "MPI_Alltoall with MPI_IN_PLACE gives 2"),
            (
                &lacking,
                "the MPI library has no PMPI_Iprobe, which heddle needs",
            ),
        ] {
            let exported = only(folder.path(), functions);
            let flags = [&version, MPICH[0], "-DSTANDARD=4", "-DIN_PLACE", &exported];
            assert_stands_aside(&over_others(&[&flags], lib()), line, &format!("{flags:?}"));
        }
    }
}

/// The interface is MPICH's or the standard's, whatever the library calls itself. Its answers are
/// compared with what the backend is compiled for.
#[test]
fn over_an_mpi_whose_answers_differ_it_stands_aside_with_one_line() {
    for (version, interface, flags, line) in DIFFERENT {
        let version = format!("-DVERSION=\"{version}\"");
        let flags = [&[version.as_str()], interface, flags].concat();
        assert_stands_aside(&over_others(&[&flags], lib()), line, &format!("{flags:?}"));
    }
}

#[test]
fn with_two_mpi_libraries_it_stands_aside_with_one_line() {
    let first = ["-DVERSION=\"MPICH Version: 4.0\"", "-DMPICH_ABI"];
    let second = ["-DVERSION=\"Open MPI v5.0.11\""];
    let output = over_others(&[&first, &second], lib());
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(err.contains("libmpi_0.so and "), "{err}");
    assert_stands_aside(&output, "this process has two MPI libraries: ", "two");
}

/// Whoever copies one file and forgets the other.
#[test]
fn a_backend_of_another_build_is_not_used() {
    let folder = TempDir::new().expect("a temporary directory");
    fs::copy(
        lib().join("libheddle.so"),
        folder.path().join("libheddle.so"),
    )
    .expect("copied");
    let (code, backend) = (
        folder.path().join("backend.c"),
        folder.path().join("libheddle-mpich.so"),
    );
    fs::write(
        &code,
        "const char *heddle_build(void) { return \"0.0.9+old\"; }",
    )
    .expect("written");
    let mut compiler = Command::new("gcc");
    let compiled = compiler
        .args(["-shared", "-o"])
        .arg(backend)
        .arg(code)
        .status();
    assert!(compiled.expect("gcc").success());
    let flags = ["-DVERSION=\"MPICH Version: 4.0\"", "-DMPICH_ABI"];
    assert_stands_aside(
        &over_others(&[&flags], folder.path()),
        "libheddle-mpich.so is of heddle 0.0.9+old",
        "another build",
    );
}
