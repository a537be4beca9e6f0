//! An epoch without its plans, which take megabytes for a thousand hosts.
use super::files::EpochFolder;
use super::{EpochError, OmittedFile};
use crate::layout::TABLE;
use inventory::{Millis, Topology, TopologyFile};
use policy::decision_table::DecisionTable;
use std::io;

/// The parts of an epoch that the history shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EpochOutline {
    /// When it was made.
    pub at: Millis,
    /// The files that other epochs have and this one does not.
    pub omitted: Vec<OmittedFile>,
    /// The network as discovered.
    pub network: Topology,
    /// The tree, blocked links marked.
    pub topology: TopologyFile,
    /// The way of a call at each block size.
    pub table: DecisionTable,
}

impl EpochOutline {
    /// Reads these parts of the epoch of this number, to which `current` need not point. `read` is
    /// described at the top of [`super`].
    ///
    /// # Errors
    /// As [`super::Epoch::open`], for the files it reads.
    pub fn open(
        number: u64,
        read: impl FnMut(&str, u64) -> io::Result<Vec<u8>>,
    ) -> Result<EpochOutline, EpochError> {
        let mut folder = EpochFolder::open_former(number, read)?;
        Ok(EpochOutline {
            at: folder.at(),
            omitted: folder.omitted().to_vec(),
            network: folder.network()?,
            topology: folder.topology()?,
            table: folder.table(TABLE)?,
        })
    }
}
