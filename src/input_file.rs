//! The files that commands take. A command reads all of them before it does anything.
use anyhow::{Context, anyhow, bail};
use cabling::CablingPlan;
use directory::epoch::Epoch;
use directory::reading::current_epoch;
use inventory::TopologyFile;
use inventory::inventory_file::Inventory;
use inventory::topology_file::InputFileError;
use inventory::unreadable::UnreadableFile;
use std::fmt::Display;
use std::path::Path;

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

/// Reads a topology file to plan on: its forwarding links are one tree.
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
