//! Programs in C, Fortran and Python, with threads, plugins and children.
use crate::common::epochs::{AT_ONCE, FORCED, TREE, calls, records, shared, ways};
use crate::common::job::{BOTH, TestJob, compiled};
use std::path::Path;

/// The program loads MPI as Python's extensions do: their MPI library and its dependencies are
/// hidden from the program and from its preloaded libraries.
#[test]
fn an_mpi_library_that_comes_with_a_plugin() {
    for mpi in BOTH {
        let plugin = compiled("datatypes.c", mpi, &["-shared", "-fPIC"]);
        let main = "import ctypes, sys; sys.exit(ctypes.CDLL(sys.argv[1]).main(0, None))";
        let (python, arguments) = (
            Path::new("/usr/bin/python3"),
            ["-c", main, plugin.to_str().expect("a plain path")],
        );
        let (dir, bare) = (shared(TREE), TestJob::bare(mpi, 2).run(python, &arguments));
        let with = TestJob::new(mpi, 2)
            .dir(dir.path())
            .env(FORCED.0, FORCED.1)
            .run(python, &arguments);
        assert_eq!((with.out, with.heddle), (bare.out, Vec::new()), "{mpi}");
        assert_eq!(
            ways(dir.path()),
            ["allgather ring", "alltoall aapc"],
            "{mpi}"
        );
    }
}

#[test]
fn threads_call_at_once() {
    for mpi in BOTH {
        let dir = shared(TREE);
        let output = TestJob::new(mpi, 4)
            .dir(dir.path())
            .env(FORCED.0, FORCED.1)
            .run(&compiled("threads.c", mpi, &[]), &[]);
        assert_eq!(output.out, "threads: 0 wrong\n");
        assert_eq!(calls(dir.path())["alltoall aapc"], 4 * 60);
    }
}

#[test]
fn fortran_by_each_binding() {
    for mpi in BOTH {
        for binding in ["-DMPIF_H", "-DUSE_MPI", "-DUSE_MPI_F08"] {
            let dir = shared(TREE);
            let flags = [binding, "-fallow-argument-mismatch"];
            let output = TestJob::new(mpi, 4)
                .dir(dir.path())
                .env(FORCED.0, FORCED.1)
                .run(&compiled("fortran.F90", mpi, &flags), &[]);
            assert_eq!(output.out, "fortran: 0 wrong\n", "{mpi} {binding}");
            let expected = [
                ("allgather ring", 1),
                ("allgatherv ring", 1),
                ("alltoall aapc", 2),
                ("alltoallv aapc", 2),
            ];
            assert_eq!(
                calls(dir.path()),
                expected.map(|(way, calls)| (way.to_owned(), calls)).into(),
                "{mpi} {binding} did not go through the runtime"
            );
        }
    }
}

/// Debian's mpi4py is built for Open MPI.
#[test]
fn python_through_mpi4py() {
    let dir = shared(TREE);
    let job = TestJob::new("openmpi", 4)
        .dir(dir.path())
        .env(FORCED.0, FORCED.1);
    let output = job.run(
        Path::new("/usr/bin/python3"),
        &["shim/tests/mpi4py_both.py"],
    );
    assert_eq!(output.out, "mpi4py: 0 wrong\n");
    // Two calls of the program, and one by which mpi4py exchanges the lengths of pickled objects.
    assert_eq!(calls(dir.path())["alltoall aapc"], 3);
    assert!(calls(dir.path())["allgather ring"] >= 1);
}

/// The application sees the helper neither by a signal nor by `wait`: the helper is not its child.
#[test]
fn a_program_hears_of_its_own_children_only() {
    for mpi in BOTH {
        let program = compiled("children.c", mpi, &[]);
        let dir = shared(TREE);
        let bare = TestJob::bare(mpi, 3).run(&program, &[]).out;
        let output = TestJob::new(mpi, 3)
            .dir(dir.path())
            .env(AT_ONCE.0, AT_ONCE.1)
            .run(&program, &[]);
        assert_eq!((output.out, output.heddle), (bare, Vec::new()), "{mpi}");
        assert_eq!(records(dir.path()).len(), 1, "{mpi}: a helper was there");
    }
}

/// Debian's Open MPI has no sessions. Where there is no MPI_COMM_WORLD, the calls are the library's.
#[test]
fn a_program_with_sessions() {
    let dir = shared(TREE);
    let output = TestJob::new("mpich", 4)
        .dir(dir.path())
        .env(FORCED.0, FORCED.1)
        .run(&compiled("sessions.c", "mpich", &[]), &[]);
    assert_eq!(output.out, "sessions: 0 wrong\n");
    let line = "heddle: a communicator of a session, without MPI_Init; the MPI library's own \
                routines run";
    assert_eq!(output.heddle, [line]);
    assert_eq!(calls(dir.path())["alltoall aapc"], 2 * 3);
}
