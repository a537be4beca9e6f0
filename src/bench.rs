//! `heddle bench`
use crate::flags::{CollectiveChoice, whole};
use crate::{CommandOutcome, flags};
use anyhow::{Context, bail};
use clap::ValueEnum;
use clap::builder::PossibleValue;
use inventory::{Bytes, Mpi};
use lab::Lab;
use lab::mpi::MpiJob;
use serde::Deserialize;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

/// Measure collectives across a lab's hosts, with and without heddle's runtime
///
/// This times MPI_Alltoall and MPI_Allgather, with and without the runtime in turn. It prints the
/// medians, their ratio, and the share of the payload bound that the runtime reached.
///
/// The runtime follows the current epoch of the lab's shared directory. Run `heddle controller` on
/// the lab, or `heddle publish`, first.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The name of the lab [default: $HEDDLE_LAB, or "lab" if that is not set]
    #[arg(long, value_name = "NAME")]
    lab: Option<String>,
    /// The MPI library
    #[arg(long, default_value = "both", value_parser = flags::mpi_or_both())]
    mpi: &'static [Mpi],
    /// What is measured
    #[arg(long, value_enum, default_value = "both")]
    collective: CollectiveChoice,
    /// Block sizes in bytes, or with a unit as in 64k and 1M: what a rank sends to each other rank,
    /// or contributes to the allgather
    #[arg(
        long,
        value_name = "N,...",
        value_delimiter = ',',
        default_value = "64k"
    )]
    size: Vec<Bytes>,
    /// Ranks on each host
    #[arg(long, value_name = "K", default_value_t = 1, value_parser = whole::<usize>(1..=1024))]
    per_host: usize,
    /// The time of each measurement, in seconds
    #[arg(long, value_name = "S", default_value_t = 3.0, value_parser = flags::seconds)]
    seconds: f64,
    /// The number of measurements of each kind, with and without the runtime in turn
    #[arg(
        long,
        value_name = "N",
        default_value_t = 3,
        value_parser = whole::<u32>(1..=u32::MAX.into())
    )]
    rounds: u32,
}

/// A line of the benchmark program.
#[derive(Deserialize)]
struct BenchLine {
    collective: String,
    block: u64,
    ranks: u32,
    median_seconds: f64,
}

/// One kind of call, measured in each round.
struct BenchMeasurement {
    collective: String,
    block: u64,
    ranks: u32,
    without: Vec<f64>,
    with: Vec<f64>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<CommandOutcome> {
    let name = crate::lab::named(args.lab.as_ref());
    let lab = Lab::open(&name)?;
    say!(
        "{:8} {:10} {:>9} {:>6} {:>12} {:>12} {:>7} {:>7}",
        "mpi",
        "collective",
        "block",
        "ranks",
        "without",
        "with",
        "ratio",
        "bound"
    );
    for &mpi in args.mpi {
        for measured in measure(&lab, mpi, args)? {
            print(mpi, &measured, bound(&lab, &measured, args.per_host))?;
        }
    }
    Ok(CommandOutcome::Done)
}

/// Measures with and without the runtime in turn, so that other load of the machine affects both.
fn measure(lab: &Lab, mpi: Mpi, args: &Args) -> anyhow::Result<Vec<BenchMeasurement>> {
    let mut all: Vec<BenchMeasurement> = Vec::new();
    for _ in 0..args.rounds {
        for shim in [false, true] {
            for line in job(lab, mpi, shim, args)? {
                let known = all
                    .iter()
                    .position(|m| m.collective == line.collective && m.block == line.block);
                let at = known.unwrap_or_else(|| {
                    all.push(BenchMeasurement {
                        collective: line.collective.clone(),
                        block: line.block,
                        ranks: line.ranks,
                        without: Vec::new(),
                        with: Vec::new(),
                    });
                    all.len() - 1
                });
                let times = if shim {
                    &mut all[at].with
                } else {
                    &mut all[at].without
                };
                times.push(line.median_seconds);
            }
        }
    }
    Ok(all)
}

fn job(lab: &Lab, mpi: Mpi, shim: bool, args: &Args) -> anyhow::Result<Vec<BenchLine>> {
    let collective = args.collective.to_possible_value();
    let kinds = if args.collective == CollectiveChoice::Both {
        2
    } else {
        1
    };
    let sizes: Vec<String> = args.size.iter().map(|size| size.0.to_string()).collect();
    let timeout = Some(Duration::from_secs_f64(
        60.0 + 4.0 * (kinds * args.size.len()) as f64 * args.seconds,
    ));
    let job = MpiJob {
        shim,
        per_host: args.per_host,
        timeout,
        ..MpiJob::new(mpi)
    };
    let program = program(mpi)?.display().to_string();
    let seconds = args.seconds.to_string();
    let flags = [
        "--json",
        "--collective",
        collective.as_ref().map_or("both", PossibleValue::get_name),
        "--size",
        &sizes.join(","),
        "--seconds",
        &seconds,
    ]
    .map(str::to_owned);
    let output = lab
        .mpirun(&job, std::iter::once(program).chain(flags))
        .stderr(Stdio::inherit())
        .output()
        .context("mpirun in the lab")?;
    if !output.status.success() {
        bail!(
            "bench with {mpi}: the job ended with {}; its messages are above",
            output.status
        );
    }
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines()
        .map(|line| {
            serde_json::from_str(line).with_context(|| format!("bench with {mpi}: {line:?}"))
        })
        .collect()
}

/// The benchmark program.
pub(crate) fn program(mpi: Mpi) -> anyhow::Result<PathBuf> {
    beside(&format!("bench-{mpi}"))
}

/// A program that is linked with an MPI: beside the binary that was built or installed.
pub(crate) fn beside(name: &str) -> anyhow::Result<PathBuf> {
    let me = std::env::current_exe().context("this program's own path")?;
    let folder = me.parent().unwrap_or(&me);
    let places = ["lib", "../lib/heddle"].map(|place| folder.join(place).join(name));
    places.into_iter().find(|p| p.is_file()).with_context(|| {
        format!("{name} is missing: install the package heddle-mpi, or run: make build")
    })
}

/// The time in seconds at the payload bound of the lab's current epoch, if there is one.
fn bound(lab: &Lab, measured: &BenchMeasurement, per_host: usize) -> Option<f64> {
    let epoch = directory::reading::current_epoch(&lab.shared_dir())
        .ok()
        .flatten()?;
    let hosts: Vec<String> = lab.plan().ok()?.hosts().map(|h| h.name.clone()).collect();
    let tree = epoch.topology.tree().ok()?.restrict(&hosts).ok()?;
    let ranks = vec![per_host as u32; hosts.len()];
    let block = inventory::Bytes(measured.block);
    Some(match measured.collective.as_str() {
        "alltoall" => schedules::bound::alltoall_seconds(&tree, &ranks, block),
        _ => schedules::bound::allgather_seconds(&tree, &ranks, block),
    })
}

fn print(mpi: Mpi, measured: &BenchMeasurement, bound: Option<f64>) -> anyhow::Result<()> {
    let (without, with) = (median(&measured.without), median(&measured.with));
    let share = bound.map_or("-".to_owned(), |bound| {
        format!("{:.0} %", 100.0 * bound / with)
    });
    let BenchMeasurement {
        collective,
        block,
        ranks,
        ..
    } = measured;
    say!(
        "{:8} {collective:10} {block:>9} {ranks:>6} {:>9.3} ms {:>9.3} ms {:>7.2} {share:>7}",
        mpi.to_string(),
        without * 1e3,
        with * 1e3,
        with / without
    );
    Ok(())
}

fn median(times: &[f64]) -> f64 {
    let mut sorted = times.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}
