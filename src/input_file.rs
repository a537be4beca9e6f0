//! The files that commands take. A command reads all of them before it does anything.
use anyhow::{Context, anyhow, bail};
use cabling::CablingPlan;
use directory::epoch::Epoch;
use directory::reading::current_epoch;
use inventory::inventory_file::Inventory;
use inventory::topology_file::InputFileError;
use inventory::tree::TreeError;
use inventory::unreadable::UnreadableFile;
use inventory::{TopologyFile, Tree, counted};
use schedules::bound::bound;
use schedules::capacities::EdgeCapacities;
use schedules::shared_cables;
use std::fmt::Display;
use std::path::{Path, PathBuf};

/// The error about a file that a command needs.
fn refused(problem: impl Display) -> anyhow::Error {
    anyhow!("{problem}; nothing was done")
}

/// Reads a text file.
pub(crate) fn text(path: &Path) -> anyhow::Result<String> {
    std::fs::read_to_string(path).map_err(|cause| refused(UnreadableFile::new(path, cause)))
}

fn read<T>(
    path: &Path,
    parse: impl Fn(&str, &str) -> Result<T, InputFileError>,
) -> anyhow::Result<T> {
    parse(&path.display().to_string(), &text(path)?).map_err(refused)
}

/// Reads a topology file for the lab, which builds loops, too.
pub(crate) fn network(path: &Path) -> anyhow::Result<TopologyFile> {
    read(path, TopologyFile::parse)
}

/// A topology file to plan on, and which of its networks.
#[derive(clap::Args)]
pub(crate) struct PlannedTopology {
    /// Topology file
    #[arg(long = "topology", value_name = "FILE")]
    pub(crate) path: PathBuf,
    /// One of several networks in the file. Without it, the one to which its hosts' links can bring most
    #[arg(long, value_name = "NAME")]
    network: Option<String>,
}

impl PlannedTopology {
    /// Reads the chosen network, and says which one it is where nobody chose.
    pub(crate) fn read(&self) -> anyhow::Result<TopologyFile> {
        let all = topology(&self.path)?;
        if let Some(name) = &self.network {
            let network = all.clone().in_network(name);
            let chosen =
                network.map_err(|cause| refused(format!("{}: {cause}", self.path.display())))?;
            tell_shared(&chosen, &all)?;
            return Ok(chosen);
        }
        tell_shared(&all, &all)?;
        if let Some(main) = all.name.as_ref().filter(|_| !all.networks.is_empty()) {
            tell_others(main, all.networks.keys());
        }
        Ok(all.alone())
    }
}

/// Says what others add to a network's cables, where they share some.
fn tell_shared(chosen: &TopologyFile, all: &TopologyFile) -> anyhow::Result<()> {
    let rest = all.all_networks().filter(|other| other.name != chosen.name);
    let others: Vec<&TopologyFile> = rest.collect();
    let trees: Result<Vec<Tree>, TreeError> = others.iter().map(|other| other.tree()).collect();
    // Of parallel cables each network may use another one.
    let own = chosen.tree()?;
    if let Some(shared) = shared_cables::most_loaded(&own, &trees?, |a, b| {
        chosen
            .links
            .iter()
            .filter(|l| [&*l.a, &*l.b] == [a, b] || [&*l.a, &*l.b] == [b, a])
            .count()
            == 1
    }) {
        let names = others.iter().filter_map(|other| other.name.clone());
        tell!(
            "heddle: the cable {}-{} is shared with other networks ({}): {} + {} messages, {} if all send \
             at once, where the bound of this one alone is {}",
            shared.ends.0,
            shared.ends.1,
            names.collect::<Vec<_>>().join(", "),
            shared.own,
            shared.others,
            counted(shared.phases, "phase"),
            counted(
                bound(&own, &EdgeCapacities::from_tree(&own)).phases,
                "phase"
            )
        );
    }
    Ok(())
}

/// Says that a network is one of several.
pub(crate) fn tell_others<'n>(shown: &str, others: impl Iterator<Item = &'n String>) {
    let others: Vec<&str> = others.map(String::as_str).collect();
    tell!(
        "heddle: this is network {shown}, and there are others: {}; --network NAME shows one of them",
        others.join(", ")
    );
}

/// Reads a topology file to plan on: its forwarding links are one tree in each network.
pub(crate) fn topology(path: &Path) -> anyhow::Result<TopologyFile> {
    read(path, TopologyFile::parse_tree).map(|(file, _)| file)
}

/// Reads an inventory, without its secrets.
pub(crate) fn inventory(path: &Path) -> anyhow::Result<Inventory> {
    read(path, Inventory::parse)
}

/// Refuses a path at which no folder can be opened.
pub(crate) fn shared_directory(dir: &Path) -> anyhow::Result<()> {
    if let Err(cause) = std::fs::read_dir(dir) {
        bail!(
            "{}; expected the shared directory that heddle controller or heddle publish writes",
            UnreadableFile::new(dir, cause)
        );
    }
    Ok(())
}

/// Reads the current epoch of a shared directory.
pub(crate) fn published(dir: &Path) -> anyhow::Result<Epoch> {
    shared_directory(dir)?;
    let shown = dir.display();
    current_epoch(dir)?.with_context(|| {
        format!("{shown}: no epoch is published there; start heddle controller, or heddle publish")
    })
}

/// Reads a plan of the cabling.
pub(crate) fn plan(path: &Path) -> anyhow::Result<CablingPlan> {
    read(path, CablingPlan::parse)
}
