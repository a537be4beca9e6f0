//! Nothing that a program can ask of MPI's state is different with heddle, and errors in a program's
//! arguments reach the handler that they reach without it.
use crate::common::epochs::{FORCED, OVER_TCP, TREE, calls, shared};
use crate::common::job::{TestJob, compiled};

/// The handler that MPI_COMM_WORLD gets after the calls: 0 returns, 1 notes. Then the communicators
/// that get one of their own: in Open MPI an error on the others would end the job.
const OF_THEIR_OWN: [&[&str]; 2] = [&["0", "1", "2", "6"], &["1", "1", "2", "6"]];

/// In MPICH these have none of their own, so their errors go to the handler of MPI_COMM_WORLD.
const THE_WORLDS: [&[&str]; 2] = [&["0"], &["1"]];

fn assert_leaves_the_state_alone(mpi: &str, arguments: &[&str]) {
    let program = compiled("state.c", mpi, &[]);
    let bare = TestJob::bare(mpi, 4).run(&program, arguments).out;
    assert!(bare.ends_with("deleted\n"), "{mpi} {arguments:?}: {bare}");
    for (name, value) in [FORCED, OVER_TCP] {
        let dir = shared(TREE);
        let output = TestJob::new(mpi, 4)
            .dir(dir.path())
            .env(name, value)
            .run(&program, arguments);
        assert_eq!(output.out, bare, "{mpi} {arguments:?}, {value}");
        let ways = calls(dir.path());
        assert!(
            ways.keys().any(|way| way.starts_with("alltoall aapc")),
            "{ways:?}"
        );
    }
}

#[test]
fn state_and_errors_are_those_of_a_program_without_heddle() {
    for arguments in OF_THEIR_OWN {
        assert_leaves_the_state_alone("openmpi", arguments);
        assert_leaves_the_state_alone("mpich", arguments);
    }
}

#[test]
fn a_communicator_without_a_handler_stays_without_one() {
    for arguments in THE_WORLDS {
        assert_leaves_the_state_alone("mpich", arguments);
    }
}
