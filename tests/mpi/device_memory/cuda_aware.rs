//! Under a CUDA-aware Open MPI, nothing forced: `make test-device OPENMPI_CUDA=PREFIX`.
use super::{CUDA, copies, on_device, text};
use crate::common::epochs::{AT_ONCE, calls, published};
use crate::common::job::TestJobOutput;
use crate::common::lab::{RunningLab, row};
use crate::common::machine_share::MachinePart;
use inventory::Mpi;
use std::time::Duration;

/// Octets of a block, of which calls go heddle's way, and calls of each kind.
const SHAPE: [&str; 2] = ["65536", "4"];

#[test]
fn jobs_with_buffers_on_a_device_of_all_ranks_and_of_some() {
    let prefix = std::env::var("OPENMPI_CUDA").expect("OPENMPI_CUDA names a CUDA-aware Open MPI");
    let up = RunningLab::with(MachinePart::Half, "device", &row(&[2, 2], "20M"));
    let (driver, program) = (CUDA.library(), on_device("device_calls.c", "openmpi"));
    let driver_folder = driver.parent().expect("a driver is in a folder");
    for (device_ranks, expected) in [("all", 4), ("odd", 2), ("first", 1)] {
        let dir = published(&up.lab.dir(), &up.topology());
        let log = dir.join("copies");
        let own = [
            "env".to_owned(),
            format!("LD_LIBRARY_PATH={}:{prefix}/lib", driver_folder.display()),
            format!("DEVICE_DRIVER={}", driver.display()),
            format!("DEVICE_RANKS={device_ranks}"),
            format!("DEVICE_LOG={}", log.display()),
            "DEVICE_CONTEXT=1".to_owned(),
            text(&program).to_owned(),
        ];
        let job = lab::mpi::MpiJob {
            timeout: Some(Duration::from_secs(120)),
            ..lab::mpi::MpiJob::new(Mpi::OpenMpi)
        };
        let words = own.iter().map(String::as_str).chain(SHAPE);
        let mut command = up.lab.mpirun(&job, words);
        let output = command.env(AT_ONCE.0, AT_ONCE.1).output().expect("mpirun");
        let answer = TestJobOutput::new(&output, device_ranks);
        assert_eq!(answer.out, "device: 0 wrong\n", "{device_ranks}");
        // heddle carried calls, and copied where there was a device.
        let calls = calls(&dir);
        for way in ["alltoall aapc tcp", "allgather ring tcp", "allreduce relay"] {
            assert!(calls.contains_key(way), "{device_ranks}: {calls:?}");
        }
        let (to_host, to_device, on_ranks) = copies(&log);
        assert!(to_host > 0 && to_device > 0, "{device_ranks}");
        assert_eq!(on_ranks, expected, "{device_ranks}");
    }
}
