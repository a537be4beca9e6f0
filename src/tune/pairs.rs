//! Launches in which every other row of calls goes past the runtime, and each is compared with its neighbour.
use super::job::{self, Launcher, Series};
use anyhow::ensure;
use inventory::Bytes;
use selection::table::Collective;
use selection::tuning::comparison::Comparison;
use std::collections::BTreeMap;
use std::path::Path;

/// Pairs at the beginning of a launch that do not count: plans and connections are made then.
const FIRST: usize = 2;
/// Pairs of times, the library's own first.
type Pairs = BTreeMap<(Collective, Bytes), Vec<(f64, f64)>>;

/// Calls of jobs that follow a shared directory, against the library's own at each size, and a line about the jobs.
pub(super) fn compare(
    launcher: &Launcher,
    dir: &Path,
    epoch: u64,
    sizes: &[Bytes],
    launches: u32,
    rounds: u64,
) -> anyhow::Result<(String, Vec<Comparison>)> {
    let mut pairs = Pairs::new();
    let mut heading = String::new();
    for launch in 1..=launches {
        eprintln!("launch {launch} of {launches}: every other row of calls past heddle");
        let said = launcher.compare(dir, sizes, rounds + FIRST as u64)?;
        ensure!(said.epoch == epoch, "epoch {} came while epoch {epoch} was checked; run this again", said.epoch);
        said.series.iter().for_each(|series| add(&mut pairs, series));
        heading = format!("{}, {} ranks, epoch {}", said.library, said.hosts.len(), said.epoch);
    }
    let compared = pairs.iter().filter_map(|((collective, block), pairs)| Comparison::of(*collective, *block, pairs)).collect();
    Ok((heading, compared))
}

fn add(pairs: &mut Pairs, series: &Series) {
    if let Some(collective) = job::collective(&series.collective) {
        let new = series.own.iter().copied().zip(series.seconds.iter().copied()).skip(FIRST);
        pairs.entry((collective, series.block)).or_default().extend(new);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_pairs_of_a_launch_do_not_count() {
        let series = |n: u32| Series {
            collective: "alltoall".to_owned(),
            block: Bytes(8),
            seconds: (0..n).map(|i| f64::from(i) + 0.5).collect(),
            own: (0..n).map(f64::from).collect(),
        };
        let mut pairs = Pairs::new();
        add(&mut pairs, &series(4));
        add(&mut pairs, &series(3));
        assert_eq!(pairs[&(Collective::Alltoall, Bytes(8))], [(2.0, 2.5), (3.0, 3.5), (2.0, 2.5)]);
    }
}
