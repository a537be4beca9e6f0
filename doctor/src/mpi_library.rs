//! The work of jobs with an MPI library, read from the library's file alone: heddle's front chooses
//! the backend of a process by the same symbols.
use crate::exported_symbols::exported_symbols;
use crate::interface_symbols::{OF_EVERY_LIBRARY, STANDARD_VERSION, backend_for_own};
use crate::jobs::{JobFindings, backend_file};
use crate::probe::runtime_folder;
use inventory::unreadable::UnreadableFile;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Findings about the library in this file, and how its launcher loads heddle.
pub fn look_at_library(file: &Path, dir: &Path) -> JobFindings {
    let mut findings = JobFindings { list: Vec::new() };
    library(&mut findings, file, dir);
    findings
}

/// The same of the library that a program is linked with.
pub fn look_at_program(program: &Path, dir: &Path) -> JobFindings {
    let mut findings = JobFindings { list: Vec::new() };
    findings.note("program", &program.display().to_string());
    let linked = linked_with(program);
    match linked.iter().find(|file| is_mpi(file)).or(linked.first()) {
        Some(file) => library(&mut findings, file, dir),
        None => findings.missing(
            "MPI",
            "the program is linked with no libmpi: heddle does not see one that is linked \
             statically; of one that is opened later, as Python does, name the file by --mpi-library",
        ),
    }
    findings
}

/// True of an MPI library with an interface that a backend is for.
fn is_mpi(file: &Path) -> bool {
    let octets = std::fs::read(file).unwrap_or_default();
    let symbols = exported_symbols(&octets);
    symbols.contains(OF_EVERY_LIBRARY.to_bytes()) && interface(&symbols).is_some()
}

/// The files named libmpi that the loader would load with a program.
fn linked_with(program: &Path) -> Vec<PathBuf> {
    let output = Command::new("ldd")
        .arg(program)
        .env_remove("LD_PRELOAD")
        .output();
    let printed = output.map(|output| output.stdout).unwrap_or_default();
    let text = String::from_utf8_lossy(&printed).into_owned();
    text.lines()
        .filter_map(|line| {
            let (name, file) = line.trim().split_once(" => ")?;
            let file = file.split_once(" (").map_or(file, |(file, _)| file);
            name.starts_with("libmpi").then(|| PathBuf::from(file))
        })
        .collect()
}

fn library(findings: &mut JobFindings, file: &Path, dir: &Path) {
    let octets = match std::fs::read(file) {
        Ok(octets) => octets,
        Err(cause) => {
            let problem = UnreadableFile::new(file, cause);
            return findings.missing("MPI", &problem.to_string());
        }
    };
    findings.note("MPI", &file.display().to_string());
    let symbols = exported_symbols(&octets);
    if !symbols.contains(OF_EVERY_LIBRARY.to_bytes()) {
        return findings.missing(
            "interface",
            "this file is no MPI library: it has no MPI functions",
        );
    }
    let Some((backend, whose)) = interface(&symbols) else {
        return findings.missing(
            "interface",
            "neither Open MPI's nor MPICH's nor the standard's: heddle prints one line, and the MPI \
             library's own routines run",
        );
    };
    findings.note("interface", whose);
    let Some(lib) = runtime_folder() else {
        return findings.missing(
            "library",
            "libheddle.so is not beside this heddle: run make install",
        );
    };
    let file = backend_file(&lib, backend);
    if file.is_file() {
        findings.note("backend", &file.display().to_string());
    } else {
        let problem = format!("{} is missing: jobs run without heddle", file.display());
        findings.missing("backend", &problem);
    }
    let (front, dir) = (lib.join("libheddle.so"), dir.display());
    let front = front.display();
    let launch = if backend == "openmpi" {
        format!("mpirun -x HEDDLE_DIR={dir} -x LD_PRELOAD={front} ./program")
    } else {
        format!("mpiexec -genv HEDDLE_DIR {dir} -genv LD_PRELOAD {front} ./program")
    };
    findings.note("launch", &launch);
    findings.note(
        "srun",
        &format!("srun --export=ALL,HEDDLE_DIR={dir},LD_PRELOAD={front} ./program"),
    );
}

/// The backend for the interface that a library's symbols tell, and whose that is.
fn interface(symbols: &BTreeSet<&[u8]>) -> Option<(&'static str, &'static str)> {
    match backend_for_own(|symbol| symbols.contains(symbol.to_bytes())) {
        Some("openmpi") => Some(("openmpi", "Open MPI's")),
        Some(backend) => Some((backend, "MPICH's")),
        None => symbols
            .contains(STANDARD_VERSION.to_bytes())
            .then_some(("abi", "the MPI standard's own")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interface_is_known_by_exported_names() {
        assert_eq!(backend(&["MPIR_Dup_fn"]), Some("mpich"));
        assert_eq!(backend(&["ompi_mpi_comm_world"]), Some("openmpi"));
        assert_eq!(backend(&["MPIR_Dup_fn_x"]), None);
        assert_eq!(backend(&["MPIR_Dup_fn", "ompi_mpi_comm_world"]), None);
        assert_eq!(backend(&["PMPI_Abi_get_version"]), Some("abi"));
        // It has its own, and knows of the standard's.
        let both = backend(&["PMPI_Abi_get_version", "MPIR_Dup_fn"]);
        assert_eq!(both, Some("mpich"));
    }

    fn backend(names: &[&'static str]) -> Option<&'static str> {
        let symbols = names.iter().map(|name| name.as_bytes()).collect();
        interface(&symbols).map(|(backend, _)| backend)
    }
}
