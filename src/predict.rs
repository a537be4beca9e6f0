//! `heddle predict`
pub(crate) mod ways;

use crate::flags::{CollectiveChoice, NameList};
use crate::input_file::PlannedTopology;
use crate::output::{TextFormat, print, time};
use crate::schedule::tree_of;
use crate::{CommandOutcome, flags};
use forecast::predict::{self, RingPrediction};
use inventory::{Bytes, Mpi, Tree, counted};
use serde_json::json;
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
/// Of reductions and broadcasts few were measured: heddle's ring is simulated instead, on a network
/// without TCP, where messages share every link fairly and nothing is lost to congestion.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    topology: PlannedTopology,
    /// Block sizes in bytes, or with a unit as in 64k and 1M: what a rank sends to each other rank,
    /// or contributes to the allgather
    #[arg(long, value_name = "N,...", value_delimiter = ',', required = true)]
    size: Vec<Bytes>,
    /// What is predicted
    #[arg(long, value_enum, default_value_t = CollectiveChoice::Both)]
    collective: CollectiveChoice,
    /// The hosts that take part, each with all of its ranks, in this order: n0,n1 or node[01-40]
    /// [default: all]
    #[arg(long, value_name = "HOST,...")]
    hosts: Vec<NameList>,
    /// The MPI library
    #[arg(long, value_parser = flags::mpi_or_both(), default_value = "both")]
    mpi: &'static [Mpi],
    /// The shared directory, whose measurements by heddle tune and by jobs count, too, and most
    /// [default: only the measurements that heddle was made with]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
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
    let Some(collective) = args.collective.relayed() else {
        return ways::run(args, &tree);
    };
    let predicted = args
        .size
        .iter()
        .map(|&block| predict::relay(&tree, collective, block));
    let calls: Vec<RingPrediction> = predicted.collect::<Result<_, _>>()?;
    print(&match args.format {
        TextFormat::Text => calls.iter().map(|call| line(&tree, call)).collect(),
        TextFormat::Json => format!("{}\n", to_json(&tree, &calls)),
    })
}

fn line(tree: &Tree, call: &RingPrediction) -> String {
    if tree.hosts() < 2 {
        return format!("{} among 1 rank: nothing to send\n", call.collective);
    }
    let times = call
        .ratio()
        .map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.2}"));
    format!(
        "{} among {}, blocks of {} bytes: at least {}\n  {:<28}{:>10}{times:>8}\n",
        call.collective,
        counted(tree.hosts(), "rank"),
        call.block.0,
        time(call.bound),
        "ring",
        time(call.seconds)
    )
}

fn to_json(tree: &Tree, calls: &[RingPrediction]) -> serde_json::Value {
    let predictions = calls.iter().map(|call| {
        json!({
            "collective": call.collective.name(),
            "size": call.block,
            "bound_seconds": call.bound,
            "algorithms": [{"algorithm": "ring", "seconds": call.seconds, "ratio": call.ratio()}],
        })
    });
    json!({"hosts": tree.host_names(), "predictions": predictions.collect::<Vec<_>>()})
}
