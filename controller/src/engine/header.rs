//! With what a core begins: options, and what an earlier one knew. Plain data, for the journal.
use super::damping::FlapDamping;
use super::event::StoredEpoch;
use inventory::device_view::DeviceViews;
use inventory::inventory_file::Inventory;
use inventory::units::milliseconds;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// How the core behaves beyond the inventory's timing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ControllerOptions {
    /// The shared directory's name, for viewers.
    pub directory: String,
    /// A host seen nowhere is dropped so long after it vanished, given evidence that it is gone.
    #[serde(with = "milliseconds")]
    pub gone_after: Duration,
    /// The first epoch waits so long for switches that do not answer and hosts that are not seen.
    #[serde(with = "milliseconds")]
    pub patience: Duration,
}

impl Default for ControllerOptions {
    fn default() -> ControllerOptions {
        ControllerOptions {
            directory: String::new(),
            gone_after: Duration::from_secs(30),
            patience: Duration::from_secs(10),
        }
    }
}

/// With what a core begins; the first line of a journal.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct JournalHeader {
    /// heddle's version.
    pub heddle: String,
    /// The inventory, without secrets.
    pub inventory: Inventory,
    /// Its settings.
    pub options: ControllerOptions,
    /// What the core knew already, where the file continues another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resumed: Option<Box<ResumedState>>,
}

/// What a core knew at a moment, as far as a journal needs it to go on from there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ResumedState {
    /// What the devices said.
    pub views: DeviceViews,
    /// What is published.
    pub current: Option<StoredEpoch>,
    /// The highest epoch number in use.
    pub highest: u64,
    /// Which links flapped lately.
    #[serde(default)]
    pub(crate) damping: FlapDamping,
}
