//! `heddle tune --check`: checks that the present decision table makes no call slower.
use super::Args;
use super::job::{ComparedCalls, JobLauncher};
use super::report::widest;
use crate::CommandOutcome;
use crate::output::{print, time};
use anyhow::Context;
use directory::epoch::Epoch;
use forecast::tuning::pairs::{self, PromiseCheck};
use inventory::Bytes;
use policy::decision_table::DecisionTable;
use policy::measurements::comparison::{ComparisonVerdict, MARGIN, TunedComparison};
use policy::ways::Way;

pub(super) fn run(
    args: &Args,
    launcher: &JobLauncher,
    epoch: &Epoch,
) -> anyhow::Result<CommandOutcome> {
    let schedules = epoch
        .schedules_of(args.network.as_deref())
        .context("the network that is checked")?;
    let table = schedules.table.clone().for_mpi(args.mpi);
    let sizes: Vec<Bytes> = pairs::sizes(&args.size, &table).into_iter().collect();
    let (heading, compared) = super::compare(
        launcher,
        launcher.dir(),
        epoch.number,
        args.launches,
        &ComparedCalls {
            sizes: &sizes,
            only: None,
            pairs: args.rounds,
        },
    )?;
    print(&format!("{heading}\n{}", report(&compared, &table)))?;
    Ok(match PromiseCheck::from_comparisons(&compared) {
        PromiseCheck::Broken(_) => CommandOutcome::CheckFailed,
        PromiseCheck::Kept | PromiseCheck::Open(_) => CommandOutcome::Done,
    })
}

/// A line for each comparison, and a line about all of them.
fn report(compared: &[TunedComparison], table: &DecisionTable) -> String {
    let ways: Vec<Way> = compared
        .iter()
        .map(|one| table.choose(one.collective, one.own.block))
        .collect();
    let width = widest(ways.iter().copied());
    let mut text = format!(
        "{:<10}{:>9}  {:<width$}{:>12}{:>12}{:>7}  tuned / own\n",
        "", "block", "goes", "own", "tuned", "pairs"
    );
    for (comparison, way) in compared.iter().zip(ways) {
        let TunedComparison {
            collective,
            own,
            tuned,
            ..
        } = comparison;
        let (block, way, seconds) = (
            own.block.to_string(),
            way.to_string(),
            [own, tuned].map(|timing| time(timing.seconds())),
        );
        let line = format!(
            "{collective:<10}{block:>9}  {way:<width$}{:>12}{:>12}{:>7}",
            seconds[0], seconds[1], own.times
        );
        text += &format!(
            "{line}  {:.3} ± {:.3}  {}\n",
            comparison.ratio(),
            comparison.noise(),
            word(comparison.verdict())
        );
    }
    let percent = (MARGIN - 1.0) * 100.0;
    let sum = match PromiseCheck::from_comparisons(compared) {
        PromiseCheck::Kept => {
            format!("no call is more than {percent:.0} % slower than the library's own")
        }
        PromiseCheck::Open(open) => format!(
            "no call is shown to be more than {percent:.0} % slower; at {open} sizes the noise \
             hides it: more --rounds or --launches"
        ),
        PromiseCheck::Broken(slower) => {
            format!(
                "more than {percent:.0} % slower than the library's own at {slower} sizes: run \
                 heddle tune again, with more --rounds"
            )
        }
    };
    text + &sum + "\n"
}

fn word(verdict: ComparisonVerdict) -> &'static str {
    match verdict {
        ComparisonVerdict::Faster => "faster",
        ComparisonVerdict::Holds => "holds",
        ComparisonVerdict::Open => "within the noise",
        ComparisonVerdict::Slower => "SLOWER",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use policy::decision_table::Collective;

    fn compared(ratio: f64) -> TunedComparison {
        let pairs: Vec<(f64, f64)> = (1..6)
            .map(|i| (f64::from(i), ratio * f64::from(i)))
            .collect();
        TunedComparison::from_pairs(Collective::Alltoall, Bytes(1 << 16), &pairs).unwrap()
    }

    #[test]
    fn a_line_a_size_and_one_that_sums_up() {
        assert!(
            text(&[1.0, 0.5]).ends_with("no call is more than 2 % slower than the library's own\n")
        );
        let slower = text(&[1.0, 1.1]);
        assert!(
            slower.contains("more than 2 % slower than the library's own at 1 sizes"),
            "{slower}"
        );
        assert!(slower.lines().any(|line| line.starts_with("alltoall")
            && line.contains("64k  ")
            && line.ends_with("1.100 ± 0.000  SLOWER")));
    }

    fn text(ratios: &[f64]) -> String {
        report(
            &ratios
                .iter()
                .map(|&ratio| compared(ratio))
                .collect::<Vec<_>>(),
            &DecisionTable::default(),
        )
    }
}
