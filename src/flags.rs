//! Values of flags that several commands take.
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use inventory::Mpi;

/// The collectives of a command that measures or predicts.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum CollectiveChoice {
    /// MPI_Alltoall
    Alltoall,
    /// MPI_Allgather
    Allgather,
    /// One after the other
    Both,
}

/// Reads the name of an MPI library.
pub(crate) fn mpi() -> impl TypedValueParser<Value = Mpi> {
    let names = Mpi::ALL.map(|mpi| PossibleValue::new(mpi.name()).help(mpi.title()));
    PossibleValuesParser::new(names).try_map(|name| name.parse::<Mpi>())
}

/// Reads the name of an MPI library, or `both`.
pub(crate) fn mpi_or_both() -> impl TypedValueParser<Value = &'static [Mpi]> {
    let names = Mpi::ALL.map(|mpi| PossibleValue::new(mpi.name()).help(mpi.title()));
    let both = PossibleValue::new("both").help("One after the other");
    PossibleValuesParser::new(names.into_iter().chain([both])).map(|name| {
        let one = Mpi::ALL.iter().position(|mpi| mpi.name() == name);
        one.map_or(&Mpi::ALL[..], |at| &Mpi::ALL[at..=at])
    })
}
