//! Says which MPI the package is for (`cfg(open_mpi)`, `cfg(mpich)` or `cfg(standard_abi)`),
//! compiles the constants that only mpi.h knows, and lets the C compiler compare src/abi with mpi.h.
use std::mem::{align_of, offset_of, size_of};

#[allow(dead_code, non_camel_case_types)] // compared, not used; MPI's names
#[path = "src/abi/mpich.rs"]
mod mpich;
#[allow(dead_code, non_camel_case_types)]
#[path = "src/abi/open_mpi.rs"]
mod open_mpi;
#[allow(dead_code, non_camel_case_types)]
#[path = "src/abi/standard.rs"]
mod standard;

/// The layout that src/abi declares for one MPI, under the names of constants.c.
macro_rules! layout {
    ($mpi:ident) => {
        [
            ("HANDLE_SIZE", size_of::<$mpi::MpiHandle>()),
            ("STATUS_SIZE", size_of::<$mpi::MPI_Status>()),
            ("STATUS_ALIGNMENT", align_of::<$mpi::MPI_Status>()),
            ("STATUS_ERROR_OFFSET", offset_of!($mpi::MPI_Status, error)),
            ("STATUS_SOURCE_OFFSET", offset_of!($mpi::MPI_Status, source)),
            ("STATUS_TAG_OFFSET", offset_of!($mpi::MPI_Status, tag)),
        ]
    };
}

fn main() {
    println!("cargo:rerun-if-changed=../src/constants.c");
    println!("cargo:rerun-if-changed=../src/abi");
    println!("cargo:rustc-check-cfg=cfg(open_mpi, mpich, standard_abi)");
    let package = std::env::var("CARGO_PKG_NAME").expect("cargo names the package");
    let (mpi, wanted, layout) = match package.as_str() {
        "openmpi" => ("open_mpi", "WANT_OPEN_MPI", layout!(open_mpi)),
        "mpich" => ("mpich", "WANT_MPICH", layout!(mpich)),
        "abi" => ("standard_abi", "WANT_STANDARD", layout!(standard)),
        _ => panic!("no MPI is known for the package {package}"),
    };
    println!("cargo:rustc-cfg={mpi}");
    let mut c = cc::Build::new();
    if package != "abi" {
        let named = format!("MPICC_{}", package.to_uppercase());
        println!("cargo:rerun-if-env-changed={named}");
        c.compiler(std::env::var(named).unwrap_or_else(|_| format!("mpicc.{package}")));
    }
    c.file("../src/constants.c").define(wanted, None);
    for (name, value) in layout {
        c.define(name, value.to_string().as_str());
    }
    c.compile("heddle_constants");
}
