//! The algorithms that MPI libraries can be forced to use, and the settings that force them.
//!
//! Source: `ompi_info --param coll tuned --level 9` of Open MPI 4.1; the control variables that
//! `mpichversion` of MPICH 4.0 documents.
use policy::decision_table::{Collective, CollectiveTraffic, Mpi};
use policy::measurements::{CallTiming, LibraryTiming, TuningRun};

/// Algorithms that are forced in one launch: one for each collective.
#[derive(Debug)]
pub struct ForcedAlgorithms {
    alltoall: &'static str,
    allgather: &'static str,
    /// Environment variables that force them.
    environment: &'static [(&'static str, &'static str)],
}

const DYNAMIC: (&str, &str) = ("OMPI_MCA_coll_tuned_use_dynamic_rules", "1");
const OPEN_ALLTOALL: &str = "OMPI_MCA_coll_tuned_alltoall_algorithm";
const OPEN_ALLGATHER: &str = "OMPI_MCA_coll_tuned_allgather_algorithm";
const MPICH_ALLTOALL: &str = "MPIR_CVAR_ALLTOALL_INTRA_ALGORITHM";
const MPICH_ALLGATHER: &str = "MPIR_CVAR_ALLGATHER_INTRA_ALGORITHM";

/// The library's own choice. It is measured without the runtime, too, so that the comparison with
/// forced algorithms is fair.
pub const OWN: &str = "own choice";
const UNFORCED: ForcedAlgorithms = ForcedAlgorithms {
    alltoall: OWN,
    allgather: OWN,
    environment: &[],
};

const OPEN_MPI: [ForcedAlgorithms; 5] = [
    UNFORCED,
    ForcedAlgorithms {
        alltoall: "linear",
        allgather: "bruck",
        environment: &[DYNAMIC, (OPEN_ALLTOALL, "1"), (OPEN_ALLGATHER, "2")],
    },
    ForcedAlgorithms {
        alltoall: "pairwise",
        allgather: "recursive doubling",
        environment: &[DYNAMIC, (OPEN_ALLTOALL, "2"), (OPEN_ALLGATHER, "3")],
    },
    ForcedAlgorithms {
        alltoall: "modified bruck",
        allgather: "ring",
        environment: &[DYNAMIC, (OPEN_ALLTOALL, "3"), (OPEN_ALLGATHER, "4")],
    },
    ForcedAlgorithms {
        alltoall: "linear with sync",
        allgather: "neighbor exchange",
        environment: &[DYNAMIC, (OPEN_ALLTOALL, "4"), (OPEN_ALLGATHER, "5")],
    },
];

const MPICH: [ForcedAlgorithms; 4] = [
    UNFORCED,
    ForcedAlgorithms {
        alltoall: "brucks",
        allgather: "brucks",
        environment: &[(MPICH_ALLTOALL, "brucks"), (MPICH_ALLGATHER, "brucks")],
    },
    ForcedAlgorithms {
        alltoall: "scattered",
        allgather: "recursive_doubling",
        environment: &[
            (MPICH_ALLTOALL, "scattered"),
            (MPICH_ALLGATHER, "recursive_doubling"),
        ],
    },
    ForcedAlgorithms {
        alltoall: "pairwise",
        allgather: "ring",
        environment: &[(MPICH_ALLTOALL, "pairwise"), (MPICH_ALLGATHER, "ring")],
    },
];

/// The algorithms of a library.
pub fn offered_by(mpi: Mpi) -> &'static [ForcedAlgorithms] {
    match mpi {
        Mpi::OpenMpi => &OPEN_MPI,
        Mpi::Mpich => &MPICH,
    }
}

impl ForcedAlgorithms {
    /// The library's name for the algorithm of a collective.
    pub fn name(&self, collective: Collective) -> &'static str {
        match collective.traffic() {
            CollectiveTraffic::Exchange => self.alltoall,
            // The others are not measured.
            _ => self.allgather,
        }
    }

    /// The algorithms' names, for people to read.
    pub fn names(&self) -> String {
        format!(
            "{} (alltoall) and {} (allgather)",
            self.alltoall, self.allgather
        )
    }

    /// The environment variables that force them.
    pub fn environment(&self) -> impl Iterator<Item = String> {
        self.environment
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
    }
}

/// The setting that makes a library use an algorithm, for a person to type.
pub fn hint(mpi: Mpi, collective: Collective, name: &str) -> Option<String> {
    let algorithms = offered_by(mpi)
        .iter()
        .find(|a| a.name(collective) == name)?;
    let about = if collective == Collective::Alltoall {
        "alltoall"
    } else {
        "allgather"
    };
    Some(
        algorithms
            .environment
            .iter()
            .filter(|variable| variable.0 == DYNAMIC.0 || variable.0.to_lowercase().contains(about))
            .map(|(name, value)| format!("{name}={value}"))
            .collect::<Vec<_>>()
            .join(" "),
    )
}

/// The sizes at which another algorithm of the library beats the library's own choice by more than
/// the noise, when both are launched in the same way. For each such size: the fastest algorithm,
/// and the time of the library's own choice.
pub fn better(run: &TuningRun, collective: Collective) -> Vec<(&LibraryTiming, &CallTiming)> {
    run.sizes(collective)
        .into_iter()
        .filter_map(|block| {
            let all = run.algorithms.iter();
            let here = all.filter(|a| a.collective == collective && a.timing.block == block);
            let own = &here.clone().find(|a| a.name == OWN)?.timing;
            let best = here
                .filter(|a| a.timing.is_faster_than(own))
                .min_by_key(|a| a.timing.median_ns)?;
            Some((best, own))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_algorithm_is_forced_by_its_own_variables() {
        let hint = |mpi, collective, name| hint(mpi, collective, name).unwrap();
        assert_eq!(
            hint(Mpi::Mpich, Collective::Allgather, "ring"),
            "MPIR_CVAR_ALLGATHER_INTRA_ALGORITHM=ring"
        );
        assert_eq!(
            hint(Mpi::OpenMpi, Collective::Alltoall, "pairwise"),
            "OMPI_MCA_coll_tuned_use_dynamic_rules=1 OMPI_MCA_coll_tuned_alltoall_algorithm=2"
        );
    }
}
