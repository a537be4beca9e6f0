//! MPI jobs on this machine, over loopback.
use super::fetched_mpi::{folder, launcher};
use std::path::Path;
use std::process::Command;

/// `mpirun` of an MPI library. After five minutes it counts as hanging and is ended. Its first
/// further argument is the program.
///
/// Many ranks share few cores: with `idle` (libheddle-idle.so) preloaded, a rank that waits does
/// not keep the one it waits for from running. It also keeps MPICH 4.0 over UCX from hanging in
/// MPI_Finalize.
pub(crate) fn mpirun(mpi: &str, ranks: usize, idle: &Path) -> Command {
    let mut command = Command::new("timeout");
    command.args(["-k", "5", "300"]);
    command.arg(launcher(mpi));
    command.args(["-n", &ranks.to_string()]);
    if mpi == "openmpi" || mpi.starts_with("openmpi-4") {
        command.args(["--mca", "plm", "isolated"]);
    }
    if mpi.starts_with("openmpi") {
        command.args(
            "--oversubscribe --allow-run-as-root --bind-to none --mca btl tcp,self --mca pml ob1"
                .split(' '),
        );
        command.args(
            "--mca btl_tcp_if_include lo --mca mpi_yield_when_idle 1 --mca \
                      opal_event_include epoll"
                .split(' '),
        );
        // Its algorithm for small blocks on 12 ranks and more (Bruck) gives wrong bytes where the
        // two datatypes differ. So it uses the linear one.
        command.args(
            "--mca coll_tuned_use_dynamic_rules 1 --mca coll_tuned_alltoall_algorithm 1".split(' '),
        );
    }
    command.env("SHIM", idle).envs(settings(mpi));
    command
}

/// Intel MPI's setting for messages over a network: its wheel takes the machine's libfabric. In shared
/// memory it begins two seconds sooner.
pub(crate) const OVER_A_NETWORK: (&str, &str) = ("I_MPI_FABRICS", "ofi");

/// The variables with which a library's ranks run on one machine.
pub(crate) fn settings(mpi: &str) -> Vec<(&'static str, String)> {
    let mut settings = vec![("UCX_TLS", "tcp,self".to_owned())];
    if let (true, Some(folder)) = (mpi.starts_with("intel"), folder(mpi)) {
        let fabrics = if cfg!(feature = "mpis") {
            OVER_A_NETWORK.1
        } else {
            "shm"
        };
        settings.extend([
            ("I_MPI_ROOT", folder.display().to_string()),
            (OVER_A_NETWORK.0, fabrics.to_owned()),
            ("FI_PROVIDER", "tcp".to_owned()),
            // Older ones poll without end, and rank 0's helper waits for a core.
            ("I_MPI_THREAD_YIELD", "3".to_owned()),
        ]);
    }
    settings
}
