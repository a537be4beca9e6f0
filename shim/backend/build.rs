//! Tells the crate which MPI it is compiled for (`cfg(open_mpi)` or `cfg(mpich)`, from `$MPICC`), and
//! compiles the constants that no binding generator can express.
fn main() {
    println!("cargo:rerun-if-env-changed=MPICC");
    println!("cargo:rerun-if-changed=src/constants.c");
    println!("cargo:rustc-check-cfg=cfg(open_mpi, mpich)");
    let mut c = cc::Build::new();
    c.compiler(std::env::var("MPICC").unwrap_or_else(|_| "mpicc".into())).file("src/constants.c");
    let expanded = c.clone().define("WHICH", None).expand();
    let expanded = String::from_utf8_lossy(&expanded);
    let which = expanded.lines().find_map(|l| l.trim().strip_prefix("which_mpi ")).unwrap_or_default();
    match which {
        "open_mpi" | "mpich" => println!("cargo:rustc-cfg={which}"),
        _ => panic!("mpi.h of $MPICC is neither Open MPI's nor MPICH's; heddle has no backend for it"),
    }
    c.compile("heddle_constants");
}
