//! The report of `heddle tune`: measurements and decisions, for people.
use crate::output::time;
use forecast::tuning::algorithms;
use inventory::counted;
use policy::decision_table::{Collective, DecisionEntry, DecisionTable, Way};
use policy::measurements::{CallTiming, MEASURED, TuningRun, WayTrial};
use policy::noise;
use std::fmt::Write as _;

/// The medians at each size, the table, and better choices among the library's own algorithms.
pub(super) fn text(run: &TuningRun, table: &DecisionTable) -> String {
    let mut hosts = run.place.hosts.clone();
    hosts.sort_unstable();
    hosts.dedup();
    let mut text = format!(
        "{}, {} on {}, epoch {}\n",
        run.library,
        counted(run.place.hosts.len(), "rank"),
        counted(hosts.len(), "host"),
        run.epoch
    );
    let table = table.clone().for_mpi(run.mpi);
    for collective in MEASURED {
        text += &measured(run, collective);
        text += &tried(run, collective);
        text += &decided(table.entries(collective));
        text += &better(run, collective);
    }
    text + &left_out(run)
}

/// The ways that an early launch showed to be slower at every size.
fn left_out(run: &TuningRun) -> String {
    let mut names: Vec<String> = Vec::new();
    for name in run.early.iter().map(|figure| figure.way.to_string()) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    if names.is_empty() {
        String::new()
    } else {
        format!(
            "\nleft out of later launches, being slower at every size: {}\n",
            names.join(", ")
        )
    }
}

/// A line for each size: the library's own median, and each way's median as a multiple of it.
fn measured(run: &TuningRun, collective: Collective) -> String {
    let mut ways: Vec<Way> = Vec::new();
    run.figures
        .iter()
        .filter(|f| f.collective == collective && f.way != Way::Native)
        .for_each(|f| {
            if !ways.contains(&f.way) {
                ways.push(f.way)
            }
        });
    let heading = [format!("{collective:<9}"), "native".to_owned()]
        .into_iter()
        .chain(ways.iter().map(Way::to_string));
    let mut rows: Vec<Vec<String>> = vec![heading.collect()];
    for block in run.sizes(collective) {
        let Some(native) = run.timing(collective, Way::Native, block) else {
            continue;
        };
        let own = [block.to_string(), time(native.seconds())];
        rows.push(
            own.into_iter()
                .chain(ways.iter().map(|way| {
                    run.timing(collective, *way, block)
                        .map_or_else(|| "-".to_owned(), |timing| ratio(timing, native))
                }))
                .collect(),
        );
    }
    format!("\n{}", aligned(&rows))
}

/// Right-aligned columns, as wide as their widest cell and two blanks apart.
fn aligned(rows: &[Vec<String>]) -> String {
    rows.iter()
        .map(|row| {
            let cells = row.iter().enumerate().map(|(column, cell)| {
                format!("{cell:>0$}", column_width(column, rows).unwrap_or_default())
            });
            cells.collect::<Vec<_>>().join("  ") + "\n"
        })
        .collect()
}

fn column_width(column: usize, rows: &[Vec<String>]) -> Option<usize> {
    rows.iter()
        .filter_map(|row| row.get(column))
        .map(|cell| cell.chars().count())
        .max()
}

/// The width of a column of ways.
pub(super) fn widest(ways: impl Iterator<Item = Way>) -> usize {
    ways.map(|way| way.to_string().len())
        .max()
        .unwrap_or_default()
        .max(Way::Native.to_string().len())
}

/// A line for each size at which the table was tried: the way's time as a multiple of the library's
/// own.
fn tried(run: &TuningRun, collective: Collective) -> String {
    let width = widest(trials(run, collective).map(|trial| trial.way));
    trials(run, collective).fold(String::new(), |text, trial| {
        let word = if trial.confirms() {
            "confirmed"
        } else {
            "not confirmed"
        };
        let (block, way, comparison) = (
            trial.comparison.own.block.to_string(),
            trial.way.to_string(),
            trial.comparison,
        );
        text + &format!(
            "  tried {block:>8}  {way:<width$}  {:.2} ± {:.2}, {word}\n",
            comparison.ratio(),
            comparison.noise()
        )
    })
}

fn trials(run: &TuningRun, collective: Collective) -> impl Iterator<Item = &WayTrial> {
    run.trials
        .iter()
        .filter(move |trial| trial.comparison.collective == collective)
}

/// A multiple of the library's own time, and twice its standard error.
fn ratio(timing: &CallTiming, native: &CallTiming) -> String {
    let ratio = timing.seconds() / native.seconds();
    let error = ratio
        * noise::of_both(
            timing.error_ns as f64 / timing.median_ns as f64,
            native.error_ns as f64 / native.median_ns as f64,
        );
    format!("{ratio:.2} ± {:.2}", 2.0 * error)
}

/// A line for each entry.
pub(crate) fn decided(entries: &[DecisionEntry]) -> String {
    let width = widest(entries.iter().map(|entry| entry.way));
    entries.iter().fold(String::new(), |text, entry| {
        text + &format!(
            "  from {:>8}  {:<width$}  {}\n",
            entry.from.to_string(),
            entry.way.to_string(),
            entry.grounds
        )
    })
}

/// The sizes at which another algorithm of the library beats its own choice.
fn better(run: &TuningRun, collective: Collective) -> String {
    let mut text = String::new();
    for (best, own) in algorithms::better(run, collective) {
        let hint = algorithms::hint(run.mpi, collective, &best.name).unwrap_or_default();
        let (block, share) = (best.timing.block.to_string(), ratio(&best.timing, own));
        let _ = writeln!(
            text,
            "  {block:>8}: without heddle the library's {} takes {share} of its own choice: {hint}",
            best.name
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use inventory::Mpi;
    use inventory::{Bytes, Millis, TopologyFile};

    use policy::measurements::comparison::TunedComparison;
    use policy::measurements::{LibraryTiming, MeasuredPlace, TuningRuns, WayTiming};

    const SIZES: [u64; 3] = [1 << 10, 16 << 10, 256 << 10];

    fn timing(block: u64, us: u64) -> CallTiming {
        CallTiming {
            block: Bytes(block),
            median_ns: us * 1000,
            error_ns: us * 20,
            times: 12,
        }
    }

    fn figures(collective: Collective, of: &[(&str, [u64; 3])]) -> Vec<WayTiming> {
        of.iter()
            .flat_map(|(way, took)| {
                SIZES
                    .into_iter()
                    .zip(*took)
                    .map(move |(block, us)| WayTiming {
                        collective,
                        way: way.parse().unwrap(),
                        timing: timing(block, us),
                    })
            })
            .collect()
    }

    /// A run with everything that a report can show: a way with a long name, a size at which a way
    /// is missing, trials that confirm and that do not, forced algorithms.
    fn run(tree: &inventory::tree::Tree) -> TuningRun {
        let native = [150, 1_610, 180_000];
        let long = ("aapc barrier+receiver(16) tcp", [16_123, 700, 95_000]);
        let mut alltoall = figures(
            Collective::Alltoall,
            &[
                ("native", native),
                ("bundled", [160, 2000, 1]),
                long,
                ("aapc", [3000, 1500, 178_000]),
            ],
        );
        alltoall
            .retain(|figure| figure.way != Way::Bundled || figure.timing.block < Bytes(256 << 10));
        TuningRun {
            at: Millis(1),
            mpi: Mpi::OpenMpi,
            library: "Open MPI v4.1.4".to_owned(),
            network: None,
            epoch: 7,
            place: MeasuredPlace::of(tree, &["n0", "n1", "n2", "n3"]).unwrap(),
            pingpong: Vec::new(),
            figures: [
                alltoall,
                figures(
                    Collective::Allgather,
                    &[("native", native), ("ring", [120, 1_000, 90_000])],
                ),
            ]
            .concat(),
            early: figures(Collective::Alltoall, &[("aapc none", [9000; 3])]),
            trials: vec![
                trial(16 << 10, long.0, 0.44),
                trial(256 << 10, long.0, 1.07),
            ],
            algorithms: [("own choice", 1_600), ("pairwise", 900)]
                .map(|(name, us)| LibraryTiming {
                    collective: Collective::Alltoall,
                    name: name.to_owned(),
                    timing: timing(16 << 10, us),
                })
                .into(),
        }
    }

    fn trial(block: u64, way: &str, ratio: f64) -> WayTrial {
        WayTrial {
            way: way.parse().unwrap(),
            comparison: TunedComparison::from_pairs(
                Collective::Alltoall,
                Bytes(block),
                &[(1.0, ratio), (1.0, ratio), (1.0, ratio + 0.01)],
            )
            .unwrap(),
        }
    }

    #[test]
    fn the_report_is_as_it_once_looked_right() {
        let file = "switches: [s0, s1]\nlinks: [{a: s0, b: s1}]\nhosts: {n0: {switch: s0}, \
                    n1: {switch: s0}, n2: {switch: s1}, n3: {switch: s1}}";
        let tree = TopologyFile::parse("t", file).unwrap().tree().unwrap();
        let tuning = TuningRuns::default().with(run(&tree));
        let found = text(&tuning.runs[0], &forecast::tuning::table(&tuning, &tree));
        let golden = include_str!("../../tests/golden/tune/report.txt");
        assert!(
            found == golden,
            "tests/golden/tune/report.txt differs\n--- expected\n{golden}\n--- found\n{found}"
        );
    }

    #[test]
    fn the_page_has_a_line_for_each_way_and_no_way_out() {
        let file = "switches: [s0, s1]\nlinks: [{a: s0, b: s1}]\nhosts: {n0: {switch: s0}, \
                    n1: {switch: s0}, n2: {switch: s1}, n3: {switch: s1}}";
        let tree = TopologyFile::parse("t", file).unwrap().tree().unwrap();
        let mut tuning = TuningRuns::default().with(run(&tree));
        tuning.runs[0].library = "Open MPI <script>".to_owned();
        let page = drawing::tuning_page::html(
            &tuning.runs[0],
            &forecast::tuning::table(&tuning, &tree),
            "2026-01-01",
        );
        if let Some(path) = std::env::var_os("TUNING_PAGE") {
            std::fs::write(path, &page).unwrap();
        }
        // Four ways of the all-to-all and two of the allgather, each in two charts.
        assert_eq!(page.matches("<polyline").count(), 12, "{page}");
        for shown in [
            "aapc barrier+receiver(16) tcp",
            "library&#39;s own",
            "not confirmed",
            "±",
        ] {
            assert!(page.contains(shown), "{shown} is missing:\n{page}");
        }
        assert!(!page.contains("<script") && !page.contains("NaN"), "{page}");
    }

    #[test]
    fn no_two_headings_touch_whatever_the_ways_are_called() {
        let longest = schedules::synchronization::scheme::SyncScheme::table_5(&[4, 16])
            .into_iter()
            .map(|sync| format!("aapc {sync} tcp"));
        let ways: Vec<String> = longest.filter(|name| name.parse::<Way>().is_ok()).collect();
        assert!(ways.iter().any(|way| way.len() > 18), "{ways:?}");
        let rows = vec![ways.clone(), vec!["1.00 ± 0.01".to_owned(); ways.len()]];
        let text = aligned(&rows);
        let heading: Vec<&str> = text
            .lines()
            .next()
            .unwrap()
            .split("  ")
            .map(str::trim)
            .filter(|cell| !cell.is_empty())
            .collect();
        assert_eq!(heading, ways);
    }
}
