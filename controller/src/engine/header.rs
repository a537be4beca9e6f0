//! The start of an engine: options, and the knowledge of an earlier engine. Plain data, for the
//! journal.
use super::ControllerEngine;
use super::damping::FlapDamping;
use super::event::StoredEpoch;
use super::measuring::MappingCourse;
use inventory::Millis;
use inventory::device_view::DeviceViews;
use inventory::inventory_file::Inventory;
use inventory::mapped_place::MappedPlaces;
use inventory::units::milliseconds;
use policy::learned::LearnedFigures;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

/// The engine's settings beyond the inventory's timing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ControllerOptions {
    /// The shared directory's name, for viewers.
    pub directory: String,
    /// A host that is seen nowhere is dropped after this time, if there is evidence that it is
    /// gone.
    #[serde(with = "milliseconds")]
    pub gone_after: Duration,
    /// The first epoch waits this long for silent switches and unseen hosts.
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

/// The start of an engine; the first line of a journal.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct JournalHeader {
    /// heddle's version.
    pub heddle: String,
    /// The inventory, without secrets.
    pub inventory: Inventory,
    /// The engine's settings.
    pub options: ControllerOptions,
    /// The knowledge of the engine so far, where the file continues another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resumed: Option<Box<ResumedState>>,
}

/// The knowledge of an engine at a moment, as far as a journal needs it to continue from there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ResumedState {
    /// The statements of the devices.
    pub views: DeviceViews,
    /// The addresses of switches that have a name of the DNS.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub addresses: BTreeMap<String, IpAddr>,
    /// The published epoch.
    pub current: Option<StoredEpoch>,
    /// The highest epoch number in use.
    pub highest: u64,
    /// The start of the controller.
    #[serde(default)]
    pub started: Millis,
    /// The links that flapped lately.
    #[serde(default)]
    pub(crate) damping: FlapDamping,
    /// The figures that jobs learned.
    #[serde(default, skip_serializing_if = "LearnedFigures::is_empty")]
    pub learned: LearnedFigures,
    /// The places that measurements found.
    #[serde(default, skip_serializing_if = "MappedPlaces::is_empty")]
    pub mapped: MappedPlaces,
    /// The measurement under way, and those to come.
    #[serde(default, skip_serializing_if = "MappingCourse::is_empty")]
    pub(crate) mapping: MappingCourse,
}

impl ControllerEngine {
    /// The engine in the state in which a journal begins.
    pub fn resume_from(header: JournalHeader) -> ControllerEngine {
        let mut engine = ControllerEngine::new(header.inventory, header.options);
        if let Some(resumed) = header.resumed {
            engine.started = resumed.started;
            engine.take_over(resumed.current, resumed.highest);
            engine.observed.resume(&engine.inventory, resumed.views);
            engine.observed.addresses = resumed.addresses;
            engine.judged.damping = resumed.damping;
            engine.learned.resume(resumed.learned);
            engine.resume_mapping(resumed.mapped);
            engine.measuring.course = resumed.mapping;
        }
        engine
    }

    /// The header of a journal that begins in the present state.
    pub fn header(&self) -> JournalHeader {
        let state = ResumedState {
            views: self.observed.views.clone(),
            addresses: self.observed.addresses.clone(),
            current: self.public.settled.as_ref().map(|s| StoredEpoch {
                number: s.number,
                network: Arc::clone(&s.network),
                file: Arc::clone(&s.key),
            }),
            highest: self.making.highest,
            started: self.started,
            damping: self.judged.damping.clone(),
            learned: LearnedFigures::clone(self.learned()),
            mapped: MappedPlaces::clone(&self.measuring.mapped),
            mapping: self.measuring.course.clone(),
        };
        let resumed = (!self.observed.views.is_empty()).then(|| Box::new(state));
        let heddle = env!("CARGO_PKG_VERSION").to_owned();
        JournalHeader {
            heddle,
            inventory: self.inventory.clone(),
            options: self.options.clone(),
            resumed,
        }
    }
}
