//! A program's output, with the runtime and without.
use super::epochs::{
    BUNDLED, BUNDLED_PHASES, BY_LEADERS, CREDITED, OVER_TCP, SEVERAL_RINGS, TREE, WINDOWED,
    records, shared, ways,
};
use super::job::{TestJob, compiled};
use super::once_each::OnceEach;

/// The program's output without heddle, which no test changes.
fn bare(source: &str, mpi: &str, ranks: usize, per_host: usize) -> String {
    static BARE: OnceEach<String> = OnceEach::new();
    BARE.get(&format!("{source} {mpi} {ranks} {per_host}"), || {
        TestJob::bare(mpi, ranks)
            .per_host(per_host)
            .run(&compiled(source, mpi, &[]), &[])
            .out
    })
}

/// Runs a program bare and with the runtime, and compares what they print byte for byte.
pub(crate) fn same_bytes(
    source: &str,
    mpi: &str,
    ranks: usize,
    per_host: usize,
    forced: (&str, &str),
) {
    same_bytes_on(TREE, source, mpi, (ranks, per_host), forced);
}

/// The same with another topology of the same hosts.
pub(crate) fn same_bytes_on(
    tree: &str,
    source: &str,
    mpi: &str,
    (ranks, per_host): (usize, usize),
    forced: (&str, &str),
) {
    let program = compiled(source, mpi, &[]);
    let bare = bare(source, mpi, ranks, per_host);
    let dir = shared(tree);
    let with = TestJob::new(mpi, ranks)
        .per_host(per_host)
        .dir(dir.path())
        .env(forced.0, forced.1)
        .run(&program, &[]);
    assert_eq!(with.out, bare, "{source} x {ranks} on {mpi}");
    assert!(bare.lines().count() > 7, "{bare}");
    assert_eq!(with.heddle, [] as [&str; 0]);
    let ways = ways(dir.path());
    let gone = ways_of(source, forced);
    assert_eq!(
        ways, gone,
        "{source} x {ranks} on {mpi} did not go through the runtime"
    );
    assert!(
        records(dir.path())
            .iter()
            .all(|record| record.finished && record.epoch == 1),
        "{:?}",
        records(dir.path())
    );
}

/// The ways that a program's calls go.
fn ways_of(source: &str, forced: (&str, &str)) -> &'static [&'static str] {
    match source {
        "vectors.c" if forced == OVER_TCP => &[
            "allgather ring tcp",
            "allgatherv ring tcp",
            "alltoall aapc tcp",
            "alltoallv aapc tcp",
            "alltoallw aapc tcp",
        ],
        // A part of the ranks has no slow trunk between them.
        "vectors.c" if forced == SEVERAL_RINGS => &[
            "allgather rings tcp",
            "allgatherv native",
            "allgatherv rings tcp",
            "alltoall aapc tcp",
            "alltoallv aapc tcp",
            "alltoallw aapc tcp",
        ],
        "vectors.c" if forced == BY_LEADERS => &[
            "allgather relay",
            "allgatherv relay",
            "alltoall bundled",
            "alltoallv bundled",
            "alltoallv native",
            "alltoallw bundled",
            "alltoallw native",
        ],
        // Blocks far larger than the mean are the library's.
        "vectors.c" if forced == BUNDLED_PHASES => &[
            "allgather ring",
            "allgatherv ring",
            "alltoall bundled-phases",
            "alltoallv bundled-phases",
            "alltoallv native",
            "alltoallw bundled-phases",
            "alltoallw native",
        ],
        "lengths.c" => &["alltoallv aapc tcp", "alltoallw aapc tcp"],
        "vectors.c" => &[
            "allgather ring",
            "allgatherv ring",
            "alltoall aapc",
            "alltoallv aapc",
            "alltoallw aapc",
        ],
        _ if forced == BY_LEADERS => &["allgather relay", "alltoall bundled"],
        _ if forced == BUNDLED_PHASES => &["allgather ring", "alltoall bundled-phases"],
        _ if forced == BUNDLED => &["allgather ring", "alltoall bundled"],
        _ if forced == CREDITED => &["allgather ring tcp", "alltoall aapc credit(2x3) tcp"],
        _ if forced == WINDOWED => &["allgather ring tcp", "alltoall aapc window tcp"],
        _ if forced == OVER_TCP => &["allgather ring tcp", "alltoall aapc tcp"],
        _ => &["allgather ring", "alltoall aapc"],
    }
}
