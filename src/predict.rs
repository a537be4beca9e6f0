//! `heddle predict`
pub(crate) mod ways;

use crate::flags::{CollectiveChoice, NameList};
use crate::input_file::PlannedTopology;
use crate::output::{TextFormat, print, time};
use crate::schedule::tree_of;
use crate::{CommandOutcome, flags};
use anyhow::Context;
use forecast::predict::{self, AlgorithmComparison};
use inventory::{Bytes, Mpi, Tree, counted};
use schedules::lg::ClusterPartition;
use schedules::synchronization::scheme::SyncMechanism;
use serde_json::json;
use simulation::SimulationModel;
use std::fmt::Write as _;
use std::path::PathBuf;

/// With more ranks the simulation takes minutes and gigabytes.
const MOST_RANKS: u64 = 2048;

/// Predict how long each way of a collective takes on a topology
///
/// The ways are the MPI library's own routine and heddle's schedules, over the library's messages
/// and over TCP. Times are those of calls that were measured, carried over to this topology. Nine of
/// ten predictions are off by the stated error at most. Calls were measured between 8 and 100
/// Mbit/s; a prediction far from all of them comes without an error. The bound is the time that the
/// bottleneck link needs at line rate; the next column is the predicted time as a multiple of it.
///
/// With --algorithms, and for reductions and broadcasts, of which few were measured, this simulates
/// heddle's schedules and the algorithms of textbooks instead, on a network without TCP: messages
/// are flows that share every link fairly. Unless --gamma or --penalty is given, that network loses
/// nothing to congestion.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    topology: PlannedTopology,
    /// Block sizes in bytes, or with a unit as in 64k and 1M: what a rank sends to each other rank,
    /// or contributes to the allgather
    #[arg(long, value_name = "N,...", value_delimiter = ',', required = true)]
    size: Vec<Bytes>,
    /// The collective
    #[arg(long, value_enum, default_value_t = CollectiveChoice::Both)]
    collective: CollectiveChoice,
    /// The hosts that take part, each with all of its ranks, in this order: n0,n1 or node[01-40]
    /// [default: all]
    #[arg(long, value_name = "HOST,...")]
    hosts: Vec<NameList>,
    /// The MPI library
    #[arg(long, value_parser = flags::mpi_or_both(), default_value = "both", conflicts_with = "algorithms")]
    mpi: &'static [Mpi],
    /// The shared directory, whose measurements by heddle tune and by jobs count, too, and most
    /// [default: only the measurements that heddle was made with]
    #[arg(long, value_name = "DIR", conflicts_with = "algorithms")]
    dir: Option<PathBuf>,
    /// Simulate algorithms on a network without TCP
    #[arg(long)]
    algorithms: bool,
    /// With --algorithms: the time from the start of a message to the arrival of its first byte
    #[arg(long, value_name = "TIME", default_value = "50us", requires = "algorithms", value_parser = seconds)]
    latency: f64,
    /// With --algorithms: the time from the end of a message until a waiting host has the token [default: the latency]
    #[arg(long, value_name = "TIME", requires = "algorithms", value_parser = seconds)]
    token: Option<f64>,
    /// With --algorithms: the share of its rate that an oversubscribed link loses
    #[arg(long, value_name = "0..1", default_value_t = 0.0, requires = "algorithms", value_parser = share)]
    penalty: f64,
    /// The same, given as a measured contention ratio: the link loses 1 - 1 / RATIO
    #[arg(long, value_name = "RATIO", requires = "algorithms", conflicts_with = "penalty", value_parser = ratio)]
    gamma: Option<f64>,
    /// The form of the output
    #[arg(long, value_enum, default_value_t = TextFormat::Text)]
    format: TextFormat,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<CommandOutcome> {
    let file = args.topology.read()?;
    let tree = tree_of(
        &args.topology.path,
        &file,
        &NameList::all(&args.hosts),
        MOST_RANKS,
    )?;
    let clusters = ClusterPartition::of(&tree, &file)
        .with_context(|| args.topology.path.display().to_string())?;
    if !args.algorithms && args.collective.relayed().is_none() {
        return ways::run(args, &tree);
    }
    let model = SimulationModel {
        latency: args.latency,
        token: args.token.unwrap_or(args.latency),
        penalty: args
            .gamma
            .map_or(args.penalty, SimulationModel::penalty_of_gamma),
        ..SimulationModel::default()
    };
    let mut comparisons = Vec::new();
    for &block in &args.size {
        if let Some(collective) = args.collective.relayed() {
            comparisons.push(predict::relay(&tree, collective, block, &model)?);
            continue;
        }
        if args.collective != CollectiveChoice::Allgather {
            comparisons.push(predict::alltoall(&tree, &clusters, block, &model)?);
        }
        if args.collective != CollectiveChoice::Alltoall {
            comparisons.push(predict::allgather(&tree, block, &model)?);
        }
    }
    let text = match args.format {
        TextFormat::Text => {
            comparisons
                .iter()
                .map(|c| table(&tree, c))
                .collect::<Vec<_>>()
                .join("\n")
                + assumption(&model)
        }
        TextFormat::Json => format!("{}\n", to_json(&tree, &model, &comparisons)),
    };
    print(&text)
}

/// A note on the model, if no contention ratio was measured.
fn assumption(model: &SimulationModel) -> &'static str {
    if model.penalty > 0.0 {
        ""
    } else {
        "\nThis assumes that oversubscribed links lose nothing. Real ones do: give a measured \
         contention ratio with --gamma.\n"
    }
}

fn table(tree: &Tree, comparison: &AlgorithmComparison) -> String {
    let mut text = format!(
        "{} among {}, blocks of {} bytes: at least {}\n",
        if comparison.collective == "alltoall" {
            "all-to-all"
        } else {
            comparison.collective
        },
        counted(tree.hosts(), "rank"),
        comparison.block.0,
        time(comparison.bound)
    );
    for p in &comparison.predictions {
        let times = comparison
            .ratio(p)
            .map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.2}"));
        let _ = writeln!(
            text,
            "  {:<28}{:>10}{times:>8}",
            p.to_string(),
            time(p.seconds)
        );
    }
    text
}

fn to_json(
    tree: &Tree,
    model: &SimulationModel,
    comparisons: &[AlgorithmComparison],
) -> serde_json::Value {
    let compared = |c: &AlgorithmComparison| {
        let algorithms: Vec<_> = c
            .predictions
            .iter()
            .map(|p| {
                json!({
                    "algorithm": p.algorithm,
                    "sync": p.sync.map(SyncMechanism::name),
                    "seconds": p.seconds,
                    "ratio": c.ratio(p),
                })
            })
            .collect();
        json!({
            "collective": c.collective,
            "size": c.block,
            "bound_seconds": c.bound,
            "algorithms": algorithms,
        })
    };
    json!({
        "hosts": tree.host_names(),
        "model": {
            "latency_seconds": model.latency,
            "token_seconds": model.token,
            "penalty": model.penalty,
        },
        "predictions": comparisons.iter().map(compared).collect::<Vec<_>>(),
    })
}

/// `50us`, `1.5ms`, `2s` in seconds.
fn seconds(text: &str) -> Result<f64, String> {
    let wrong = || format!("\"{text}\": expected a time like 50us, 1.5ms or 2s, up to an hour");
    let split = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .ok_or_else(wrong)?;
    let number: f64 = text[..split].parse().map_err(|_| wrong())?;
    match &text[split..] {
        "us" => Some(number / 1e6),
        "ms" => Some(number / 1e3),
        "s" => Some(number),
        _ => None,
    }
    .filter(|&seconds| seconds <= 3600.0)
    .ok_or_else(wrong)
}

fn share(text: &str) -> Result<f64, String> {
    let wrong = || format!("\"{text}\": expected a share, 0 or more and less than 1");
    text.parse()
        .ok()
        .filter(|share| (0.0..1.0).contains(share))
        .ok_or_else(wrong)
}

fn ratio(text: &str) -> Result<f64, String> {
    let wrong = || format!("\"{text}\": expected a contention ratio, 1 or more");
    text.parse()
        .ok()
        .filter(|gamma: &f64| *gamma >= 1.0 && gamma.is_finite())
        .ok_or_else(wrong)
}
