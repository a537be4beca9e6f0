//! What was measured and decided, for people.
use super::algorithms;
use crate::output::time;
use schedules::table::{Collective, Entry, Table, Way};
use schedules::tuning::{Run, Timing};
use std::fmt::Write as _;

/// The medians at each size, the table, and what the library could do better by itself.
pub(super) fn text(run: &Run, table: &Table) -> String {
    let mut hosts = run.place.hosts.clone();
    hosts.sort_unstable();
    hosts.dedup();
    let mut text = format!("{}, {} ranks on {} hosts, epoch {}\n", run.library, run.place.hosts.len(), hosts.len(), run.epoch);
    let table = table.clone().under(run.mpi);
    for collective in [Collective::Alltoall, Collective::Allgather] {
        text += &measured(run, collective);
        text += &tried(run, collective);
        text += &decided(table.entries(collective));
        text += &better(run, collective);
    }
    text + &left_out(run)
}

/// The ways that an early launch showed to be slower at every size.
fn left_out(run: &Run) -> String {
    let mut names: Vec<String> = Vec::new();
    for name in run.early.iter().map(|figure| figure.way.to_string()) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    if names.is_empty() {
        String::new()
    } else {
        format!("\nleft out of later launches, being slower at every size: {}\n", names.join(", "))
    }
}

/// A line a size: the library's own median, and each way's as a multiple of it.
fn measured(run: &Run, collective: Collective) -> String {
    let mut ways: Vec<Way> = Vec::new();
    run.figures.iter().filter(|f| f.collective == collective).for_each(|f| {
        if !ways.contains(&f.way) {
            ways.push(f.way)
        }
    });
    let mut text = format!("\n{collective:<10}{:>12}", "native");
    ways.iter().filter(|way| **way != Way::Native).for_each(|way| _ = write!(text, "{:>18}", way.to_string()));
    text.push('\n');
    for block in run.sizes(collective) {
        let Some(native) = run.timing(collective, Way::Native, block) else { continue };
        let _ = write!(text, "{:>9} {:>12}", block.to_string(), time(native.seconds()));
        for way in ways.iter().filter(|way| **way != Way::Native) {
            let cell = run.timing(collective, *way, block).map_or_else(|| "-".to_owned(), |timing| ratio(timing, native));
            let _ = write!(text, "{cell:>18}");
        }
        text.push('\n');
    }
    text
}

/// A line for each size at which the table was tried: what the way took there of the library's own time.
fn tried(run: &Run, collective: Collective) -> String {
    let trials = run.trials.iter().filter(|trial| trial.comparison.collective == collective);
    trials.fold(String::new(), |text, trial| {
        let word = if trial.confirms() { "confirmed" } else { "not confirmed" };
        let (block, way, comparison) = (trial.comparison.own.block.to_string(), trial.way.to_string(), trial.comparison);
        text + &format!("  tried {block:>8}  {way:<16} {:.2} ± {:.2}, {word}\n", comparison.ratio(), comparison.noise())
    })
}

/// A multiple of the library's own time, and twice its standard error.
fn ratio(timing: &Timing, native: &Timing) -> String {
    let ratio = timing.seconds() / native.seconds();
    let error = ratio * (timing.error_ns as f64 / timing.median_ns as f64).hypot(native.error_ns as f64 / native.median_ns as f64);
    format!("{ratio:.2} ± {:.2}", 2.0 * error)
}

/// A line an entry.
pub(crate) fn decided(entries: &[Entry]) -> String {
    entries.iter().fold(String::new(), |text, entry| {
        text + &format!("  from {:>8}  {:<16} {}\n", entry.from.to_string(), entry.way.to_string(), entry.grounds)
    })
}

/// Where another algorithm of the library beats the one it takes by itself by more than the noise, launched in the same way.
fn better(run: &Run, collective: Collective) -> String {
    let mut text = String::new();
    for block in run.sizes(collective) {
        let here = || run.algorithms.iter().filter(|a| a.collective == collective && a.timing.block == block);
        let Some(own) = here().find(|a| a.name == algorithms::OWN).map(|a| &a.timing) else { continue };
        if let Some(best) = here().filter(|a| a.timing.is_faster_than(own)).min_by_key(|a| a.timing.median_ns) {
            let hint = algorithms::hint(run.mpi, collective, &best.name).unwrap_or_default();
            let share = ratio(&best.timing, own);
            let _ = writeln!(
                text,
                "  {:>8}: without heddle the library's {} takes {share} of its own choice: {hint}",
                block.to_string(),
                best.name
            );
        }
    }
    text
}
