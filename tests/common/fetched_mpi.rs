//! MPI libraries of other vendors and versions than the machine's: scripts/packages fetched them.
use super::job::BOTH;
use super::runtime::lib;
use std::path::PathBuf;
use std::process::Command;

/// Their names, which stand where those of the machine's libraries may stand: the newest, and with
/// the feature `mpis` all that scripts/packages knows.
pub(crate) fn fetched() -> impl Iterator<Item = &'static str> {
    let lists = include_str!("../../scripts/packages");
    let (newest, older) = lists.split_once("older_mpis=(").expect("two lists");
    let older = older.lines().filter(|_| cfg!(feature = "mpis"));
    let entries = newest.lines().chain(older);
    entries
        .filter(|line| line.contains("=="))
        .filter_map(|line| line.trim().strip_prefix('"')?.split(' ').next())
}

/// What follows the name of one by whose standard interface, and not its own, programs are linked.
const STANDARD: &str = "-abi";

/// Where a library lies that was fetched; `None` of the machine's own.
pub(crate) fn folder(mpi: &str) -> Option<PathBuf> {
    let mpi = mpi.trim_end_matches(STANDARD);
    if BOTH.contains(&mpi) {
        return None;
    }
    assert!(fetched().any(|known| known == mpi), "no {mpi}");
    let target = lib().ancestors().nth(2).expect("target/debug/lib");
    let folder = target.join("mpis").join(mpi);
    let is_whole = folder.join("wheels").is_file();
    assert!(
        is_whole,
        "{} is missing: run scripts/packages tests mpis",
        folder.display()
    );
    Some(folder.canonicalize().expect("the folder's path"))
}

/// The launcher of a library.
pub(crate) fn launcher(mpi: &str) -> PathBuf {
    match folder(mpi) {
        Some(folder) if mpi.starts_with("intel") => folder.join("bin/mpiexec.hydra"),
        Some(folder) => folder.join("bin/mpirun"),
        None => format!("mpirun.{mpi}").into(),
    }
}

/// A C compiler for programs of a library.
pub(crate) fn c_compiler(mpi: &str) -> Command {
    let Some(folder) = folder(mpi) else {
        return Command::new(format!("mpicc.{mpi}"));
    };
    // The compiler wrappers of the wheels know other folders.
    let lib = folder.join("lib");
    let mut gcc = Command::new("gcc");
    if mpi.ends_with(STANDARD) {
        gcc.args(["-I", "shim/tests/standard"]);
    }
    gcc.arg("-I").arg(folder.join("include"));
    gcc.arg("-L").arg(&lib);
    gcc.arg(format!(
        "-Wl,-rpath,{},--allow-shlib-undefined",
        lib.display()
    ));
    gcc
}

/// The library that such programs are linked with.
pub(crate) fn linked_library(mpi: &str) -> Option<&'static str> {
    folder(mpi)?;
    Some(if mpi.ends_with(STANDARD) {
        "-lmpi_abi"
    } else {
        "-lmpi"
    })
}
