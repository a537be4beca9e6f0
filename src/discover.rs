//! `heddle discover`
use crate::Outcome;
use anyhow::Context;
use inventory::export;
use inventory::infer::infer;
use inventory::inventory_file::Inventory;
use inventory::view::{Views, apply};
use std::io::Write;
use std::path::PathBuf;

/// Flags of `heddle discover`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The inventory: which switches to ask, with which credentials, and which hosts to expect
    #[arg(long, value_name = "FILE")]
    inventory: PathBuf,
    /// What to print on standard output
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Format {
    /// A drawing of the tree
    Text,
    /// Nodes, links with their evidence, clusters and alarms
    Json,
    /// Graphviz; readable as a cabling plan too
    Dot,
    /// Slurm's topology.conf
    Slurm,
    /// A topology file for the offline commands
    Topology,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let file = args.inventory.display().to_string();
    let text = std::fs::read_to_string(&args.inventory).with_context(|| file.clone())?;
    let mut inventory = Inventory::parse(&file, &text)?;
    agent::access::read_secrets(&mut inventory).map_err(|e| anyhow::anyhow!("{file}: {e}"))?;

    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().context("no threads to ask from")?;
    let observations = runtime.block_on(agent::look(&inventory))?;
    let mut views = Views::new();
    for observation in &observations {
        apply(&mut views, observation);
    }
    let topology = infer(&inventory, &views);
    for alarm in &topology.alarms {
        eprintln!("heddle: {}", alarm.text);
    }
    let answered = views.values().any(|v| v.seen.is_some());
    if !answered {
        eprintln!("heddle: no switch answered; nothing is known of the network");
    }
    let text = match args.format {
        Format::Text => export::text(&topology),
        Format::Json => serde_json::to_string_pretty(&topology)? + "\n",
        Format::Dot => export::dot(&topology),
        Format::Slurm => match export::slurm(&topology) {
            Ok(conf) => conf,
            Err(e) => {
                eprintln!("heddle: {e}");
                return Ok(Outcome::CheckFailed);
            }
        },
        Format::Topology => {
            let mut file = topology.to_file();
            inventory.rank(&mut file);
            file.to_yaml()
        }
    };
    match std::io::stdout().write_all(text.as_bytes()) {
        // A reader that has seen enough, like head, is no error.
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => Err(e).context("standard output"),
        _ => Ok(if answered { Outcome::Done } else { Outcome::CheckFailed }),
    }
}
