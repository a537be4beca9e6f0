//! The MPI runtime under both MPI libraries: programs in C, Fortran and Python give the same bytes
//! with it as without it, for any content of the shared directory, and however often it changes.
//!
//! Ranks run on this machine, each group of them under a host name of its own (a UTS namespace,
//! which takes root). Needs: apt-get install openmpi-bin libopenmpi-dev mpich libmpich-dev gfortran
//! python3-mpi4py clang libclang-dev
mod device_memory;
mod fetched_callers;
mod fetched_libraries;
mod learning;
mod passing;
mod program_state;
mod programs;
mod ranks_that_differ;
mod reductions;
mod running_jobs;
mod same_bytes;
mod shared_directory;
mod standing_aside;
mod ways;

/// Arguments of the benchmark program for a run of few bytes.
const SMALL: [&str; 7] = [
    "--collective",
    "both",
    "--size",
    "5000",
    "--iterations",
    "4",
    "--check",
];
