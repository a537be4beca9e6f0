//! The collectives that can be timed.
use clap::ValueEnum;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

/// A name on the command line: a collective, or one of two groups of them.
#[derive(Clone)]
pub(crate) struct BenchSelection(pub(crate) Vec<BenchCollective>);

impl BenchSelection {
    const BOTH: &str = "both";
    const ALL: &str = "all";

    /// Reads the name.
    pub(crate) fn parser() -> impl TypedValueParser<Value = BenchSelection> {
        let single = BenchCollective::value_variants().iter();
        let groups = [
            PossibleValue::new(Self::BOTH).help("MPI_Alltoall and MPI_Allgather"),
            PossibleValue::new(Self::ALL).help("Ping-pong, MPI_Alltoall and MPI_Allgather"),
        ];
        let names = single.filter_map(ValueEnum::to_possible_value);
        PossibleValuesParser::new(names.chain(groups)).try_map(|name| Self::named(&name))
    }

    fn named(name: &str) -> Result<BenchSelection, String> {
        use BenchCollective::{Allgather, Alltoall, Pingpong};
        Ok(BenchSelection(match name {
            Self::BOTH => vec![Alltoall, Allgather],
            Self::ALL => vec![Pingpong, Alltoall, Allgather],
            name => vec![BenchCollective::from_str(name, false)?],
        }))
    }
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum BenchCollective {
    Alltoall,
    Allgather,
    /// Every other block is three times as long as the others
    Alltoallv,
    /// The same, with a datatype for each rank
    Alltoallw,
    /// Every other rank contributes three times as much as the others
    Allgatherv,
    /// Bytes, by exclusive or
    Allreduce,
    /// The same, a block for each rank
    ReduceScatterBlock,
    /// From rank 0
    Bcast,
    /// No collective: half of the way to the last rank and back, which is usually on another host
    Pingpong,
}

impl BenchCollective {
    /// Whether each rank sends one block, and the same to all.
    pub(crate) fn goes_to_all(self) -> bool {
        matches!(
            self,
            BenchCollective::Allgather
                | BenchCollective::Allgatherv
                | BenchCollective::Allreduce
                | BenchCollective::Bcast
        )
    }

    /// Whether each rank gets one block, made of those of others.
    pub(crate) fn comes_as_one(self) -> bool {
        use BenchCollective::{Allreduce, Bcast, ReduceScatterBlock};
        matches!(self, Allreduce | ReduceScatterBlock | Bcast)
    }

    /// Whether blocks differ in length.
    pub(crate) fn is_unequal(self) -> bool {
        use BenchCollective::{Allgatherv, Alltoallv, Alltoallw};
        matches!(self, Alltoallv | Alltoallw | Allgatherv)
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            BenchCollective::Alltoall => "alltoall",
            BenchCollective::Allgather => "allgather",
            BenchCollective::Alltoallv => "alltoallv",
            BenchCollective::Alltoallw => "alltoallw",
            BenchCollective::Allgatherv => "allgatherv",
            BenchCollective::Allreduce => "allreduce",
            BenchCollective::ReduceScatterBlock => "reduce_scatter_block",
            BenchCollective::Bcast => "bcast",
            BenchCollective::Pingpong => "pingpong",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_collective_or_a_group() {
        let names = |name| {
            let names = BenchSelection::named(name).map(|found| found.0);
            names.map(|found| found.iter().map(|c| c.name()).collect::<Vec<_>>())
        };
        assert_eq!(names("all").unwrap(), ["pingpong", "alltoall", "allgather"]);
        assert_eq!(
            names("reduce-scatter-block").unwrap(),
            ["reduce_scatter_block"]
        );
        assert!(names("gather").is_err());
    }
}
