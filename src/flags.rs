//! Values of flags that several commands take.
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use inventory::{Mpi, name_ranges, units};
use policy::decision_table::Collective;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;

/// The collectives of a command that measures or predicts.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum CollectiveChoice {
    /// MPI_Alltoall
    Alltoall,
    /// MPI_Allgather
    Allgather,
    /// MPI_Alltoall, then MPI_Allgather
    Both,
    /// MPI_Allreduce
    Allreduce,
    /// MPI_Reduce_scatter_block
    ReduceScatterBlock,
    /// MPI_Bcast
    Bcast,
}

impl CollectiveChoice {
    /// The reduction or broadcast.
    pub(crate) fn relayed(self) -> Option<Collective> {
        match self {
            CollectiveChoice::Alltoall | CollectiveChoice::Allgather | CollectiveChoice::Both => {
                None
            }
            CollectiveChoice::Allreduce => Some(Collective::Allreduce),
            CollectiveChoice::ReduceScatterBlock => Some(Collective::ReduceScatterBlock),
            CollectiveChoice::Bcast => Some(Collective::Bcast),
        }
    }
}

/// Reads the name of one of several values.
pub(crate) fn one_of<T: Copy + Send + Sync + 'static, const N: usize>(
    all: [T; N],
    named: fn(T) -> PossibleValue,
) -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(all.map(named)).try_map(move |name| {
        let one = all.into_iter().find(|&one| named(one).get_name() == name);
        one.ok_or("no such value")
    })
}

fn named_mpi(mpi: Mpi) -> PossibleValue {
    PossibleValue::new(mpi.name()).help(mpi.title())
}

/// Reads the name of an MPI library.
pub(crate) fn mpi() -> impl TypedValueParser<Value = Mpi> {
    one_of(Mpi::ALL, named_mpi)
}

/// Reads the name of an MPI library, or `both`.
pub(crate) fn mpi_or_both() -> impl TypedValueParser<Value = &'static [Mpi]> {
    one_of(
        [&Mpi::ALL[..1], &Mpi::ALL[1..], &Mpi::ALL],
        |libraries| match libraries {
            [mpi] => named_mpi(*mpi),
            _ => PossibleValue::new("both").help("One after the other"),
        },
    )
}

/// Reads a time with its unit.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    units::duration::parse(text).ok_or_else(|| "expected a time such as 500ms, 5s or 1m".to_owned())
}

/// Reads a whole number in this range.
pub(crate) fn whole<N: TryFrom<u64>>(
    range: RangeInclusive<u64>,
) -> impl Fn(&str) -> Result<N, String> + Clone {
    move |text| {
        let number = text.parse().ok().filter(|n| range.contains(n));
        let (least, most) = (range.start(), range.end());
        number
            .and_then(|n| N::try_from(n).ok())
            .ok_or_else(|| match *most {
                u64::MAX => format!("expected a whole number from {least} on"),
                most => format!("expected a whole number from {least} to {most}"),
            })
    }
}

/// Reads a time in seconds.
pub(crate) fn seconds(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|s: &f64| s.is_finite() && *s > 0.0)
        .ok_or_else(|| "expected a number of seconds greater than zero".to_owned())
}

/// Names of hosts: `n0,n1`, `node[01-40]`.
#[derive(Debug, Clone)]
pub(crate) struct NameList(Vec<String>);

impl FromStr for NameList {
    type Err = String;

    fn from_str(text: &str) -> Result<NameList, String> {
        let names = name_ranges::expand(text).map_err(|e| e.to_string())?;
        Ok(NameList(names))
    }
}

impl NameList {
    /// The names of a flag that may be given several times.
    pub(crate) fn all(lists: &[NameList]) -> Vec<String> {
        lists.iter().flat_map(|list| list.0.clone()).collect()
    }
}
