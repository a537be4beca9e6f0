//! The ways of a call, predicted from measured calls.
use super::Args;
use crate::flags::CollectiveChoice;
use crate::output::{TextFormat, print, time};
use crate::{CommandOutcome, input_file};
use directory::reading;
use forecast::calibration::{CallCalibration, WayComparison, WayPrediction};
use inventory::{Tree, counted};
use policy::decision_table::Collective;
use serde_json::json;
use std::fmt::Write as _;
use std::path::Path;

pub(super) fn run(args: &Args, tree: &Tree) -> anyhow::Result<CommandOutcome> {
    let calibration = calibration(args.dir.as_deref())?;
    // Each with the choice that leaves it out.
    let collectives = [
        (Collective::Alltoall, CollectiveChoice::Allgather),
        (Collective::Allgather, CollectiveChoice::Alltoall),
    ];
    let wanted = collectives
        .into_iter()
        .filter(|(_, without)| args.collective != *without);
    let calls: Vec<Vec<WayComparison>> = wanted
        .flat_map(|(collective, _)| args.size.iter().map(move |&block| (collective, block)))
        .map(|(collective, block)| {
            args.mpi
                .iter()
                .map(|&mpi| WayComparison::predicted(&calibration, tree, mpi, collective, block))
                .collect()
        })
        .collect();
    let text = match args.format {
        TextFormat::Text => {
            let tables: Vec<String> = calls.iter().map(|call| table(tree, call)).collect();
            tables.join("\n")
        }
        TextFormat::Json => format!(
            "{}\n",
            json!({
                "hosts": tree.host_names(),
                "predictions": calls.iter().map(|call| as_json(call)).collect::<Vec<_>>(),
            })
        ),
    };
    print(&text)
}

/// The calls that heddle was made with, and those of a shared directory: of the runs of `heddle
/// tune`, and those of which jobs learned.
pub(crate) fn calibration(dir: Option<&Path>) -> anyhow::Result<CallCalibration> {
    let shipped = CallCalibration::shipped().clone();
    let Some(dir) = dir else {
        return Ok(shipped);
    };
    let epoch = input_file::published(dir)?;
    let tree = epoch.topology.tree()?;
    let runs = reading::measurements(dir)?.runs;
    let tuned = runs
        .iter()
        .fold(shipped, |calibration, run| calibration.with(run, &tree));
    Ok(tuned.with_learned(&reading::learned(dir)?, &tree))
}

/// The ways of one call under each library.
fn table(tree: &Tree, call: &[WayComparison]) -> String {
    let Some(first) = call.first() else {
        return String::new();
    };
    let name = match first.collective {
        Collective::Alltoall => "all-to-all".to_owned(),
        other => other.to_string(),
    };
    if tree.hosts() < 2 {
        return format!("{name} among 1 rank: nothing to send\n");
    }
    let mut text = format!(
        "{name} among {}, blocks of {} bytes: at least {}\n",
        counted(tree.hosts(), "rank"),
        first.block.0,
        time(first.bound)
    );
    for compared in call {
        let _ = writeln!(text, "  {}", compared.mpi.title());
        for way in &compared.ways {
            let _ = writeln!(
                text,
                "    {:<34}{:>10}{:>8.2}   {}",
                way.to_string(),
                time(way.time.seconds),
                way.time.seconds / compared.bound,
                error(way)
            );
        }
    }
    text
}

fn error(way: &WayPrediction) -> String {
    way.time.error.map_or_else(
        || "no such call measured".to_owned(),
        |error| format!("± {:.0} %", error * 100.0),
    )
}

fn as_json(call: &[WayComparison]) -> serde_json::Value {
    let ways: Vec<_> = call
        .iter()
        .flat_map(|compared| compared.ways.iter().map(move |way| (compared, way)))
        .map(|(compared, way)| {
            json!({
                "mpi": compared.mpi,
                "way": way.way.to_string(),
                "routine": way.to_string(),
                "seconds": way.time.seconds,
                "ratio": way.time.seconds / compared.bound,
                "error": way.time.error,
            })
        })
        .collect();
    json!({
        "collective": call.first().map(|compared| compared.collective),
        "size": call.first().map(|compared| compared.block),
        "bound_seconds": call.first().map(|compared| compared.bound),
        "ways": ways,
    })
}
