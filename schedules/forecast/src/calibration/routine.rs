//! The routine that serves a call: heddle's, or the library's own.
use inventory::{Bytes, Mpi};
use policy::decision_table::{Collective, DataCarrier, Way};
use policy::library_routine::LibraryRoutine;

/// The routine of a call, as far as its time depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TimedRoutine {
    Library(Mpi, LibraryRoutine),
    /// heddle's phases or ring over the library's messages.
    OverMpi(Mpi),
    /// heddle's phases or ring over TCP.
    OverTcp,
}

impl TimedRoutine {
    /// The routine of a call that goes a way; `None` for ways that nobody measured.
    pub fn for_way(
        way: Way,
        mpi: Mpi,
        collective: Collective,
        ranks: u32,
        block: Bytes,
    ) -> Option<TimedRoutine> {
        let is_known = way.row().is_calibrated(way) && way.serves(collective);
        is_known.then(|| match way.carrier() {
            None => {
                let chosen = LibraryRoutine::chosen(mpi, collective, ranks, block);
                TimedRoutine::Library(mpi, chosen)
            }
            Some(DataCarrier::Mpi) => TimedRoutine::OverMpi(mpi),
            Some(DataCarrier::Tcp) => TimedRoutine::OverTcp,
        })
    }

    /// Whether another routine stands for this one, the best substitute first: the same algorithm
    /// of another library, then any of the same kind.
    pub(super) fn substitutes() -> [fn(TimedRoutine, TimedRoutine) -> bool; 3] {
        [
            |one, other| one == other,
            |one, other| match (one, other) {
                (TimedRoutine::Library(_, one), TimedRoutine::Library(_, other)) => one == other,
                _ => false,
            },
            |one, other| std::mem::discriminant(&one) == std::mem::discriminant(&other),
        ]
    }
}
