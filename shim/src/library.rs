//! Which MPI library serves this process, and where calls go.
use crate::collectives::ServedCollectives;
use crate::found_mpi::{FoundMpi, ServedCollective};
use crate::mapped_file::MappedFile;
use crate::profiler;
use passes::PassTable;
use presence::Ability;

/// Where the calls go.
pub(crate) struct ServedLibrary {
    file: MappedFile,
    /// The calls that are the library's own.
    pub(crate) passed: &'static PassTable,
    pub(crate) collectives: ServedCollectives,
    /// Heddle's ability in this process.
    pub(crate) ability: Ability,
}

impl ServedLibrary {
    /// Finds the library and opens its backend.
    pub(crate) fn find() -> ServedLibrary {
        let (found, ability) = FoundMpi::find(ServedCollectives::NAMES);
        ServedLibrary {
            passed: found.passed(),
            collectives: ServedCollectives::find(&found),
            file: found.file,
            ability,
        }
    }

    /// Where a call of a profiling name goes, by its return address. Calls of the library for
    /// itself stays its own: MPICH's collective files call `PMPI_` names with the library's locks
    /// held. All others are served: the Fortran bindings of Open MPI, which call these names and
    /// not the `MPI_` ones, and profilers. `unprofiled` is where a call goes that no profiler wants.
    pub(crate) fn target_of_call<F: Copy>(
        &self,
        collective: &ServedCollective<F>,
        unprofiled: F,
        from: usize,
    ) -> F {
        if self.file.holds(from) {
            return collective.own;
        }
        if collective.profiler.is_some() {
            profiler::came_back();
            collective.served
        } else {
            unprofiled
        }
    }
}
