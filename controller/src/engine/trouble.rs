//! Failures of the controller's own work.
use inventory::alarm::code::AlarmCode;
use inventory::alarm::{Alarm, AlarmKind};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// A part of the controller's work that can fail. Journals and viewers get its name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum TroubleArea {
    /// Reading the inventory.
    Inventory,
    /// Reading job records.
    Jobs,
    /// Receiving traps.
    Traps,
    /// Writing the journal.
    Journal,
    /// Reading the certificate.
    Tls,
    /// Reading measurements.
    Measurements,
    /// Reading or writing what jobs learned.
    Learned,
    /// Reading or writing what flows between hosts found.
    Mapped,
    /// Reading the current epoch at the start.
    Current,
    /// Planning.
    Plan,
    /// Publishing.
    Publish,
    /// An operator's order to publish an earlier epoch.
    Rollback,
    /// Running the operator's program after an epoch.
    EpochProgram,
    /// Running the operator's program after alarms.
    AlarmProgram,
    /// The shared directory does not answer.
    Stalled(StalledWork),
    /// A name that another version of heddle wrote into a journal.
    Other(String),
}

/// Work on the shared directory that may hang.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum StalledWork {
    /// Opening it.
    Start,
    /// Reading measurements for a plan.
    Planning,
    /// Writing an epoch.
    Publishing,
    /// Looking for new measurements.
    Measurements,
    /// Looking for job records.
    Jobs,
    /// Writing what jobs learned.
    Learned,
}

const NAMES: [(TroubleArea, &str); 20] = [
    (TroubleArea::Inventory, "inventory"),
    (TroubleArea::Jobs, "jobs"),
    (TroubleArea::Traps, "traps"),
    (TroubleArea::Journal, "journal"),
    (TroubleArea::Tls, "tls"),
    (TroubleArea::Measurements, "measurements"),
    (TroubleArea::Learned, "learned"),
    (TroubleArea::Mapped, "mapped"),
    (TroubleArea::Current, "current"),
    (TroubleArea::Plan, "plan"),
    (TroubleArea::Publish, "publish"),
    (TroubleArea::Rollback, "rollback"),
    (TroubleArea::EpochProgram, "on-epoch"),
    (TroubleArea::AlarmProgram, "on-alarm"),
    (TroubleArea::Stalled(StalledWork::Start), "start stalled"),
    (
        TroubleArea::Stalled(StalledWork::Planning),
        "planning stalled",
    ),
    (
        TroubleArea::Stalled(StalledWork::Publishing),
        "publishing stalled",
    ),
    (
        TroubleArea::Stalled(StalledWork::Measurements),
        "measurements stalled",
    ),
    (TroubleArea::Stalled(StalledWork::Jobs), "jobs stalled"),
    (
        TroubleArea::Stalled(StalledWork::Learned),
        "learned stalled",
    ),
];

impl TroubleArea {
    /// Its alarm: object, place, problem, consequence, hint.
    pub(crate) fn alarm(&self, problem: &str) -> Alarm {
        let problem = problem.to_owned();
        let kind = match self {
            TroubleArea::Inventory => AlarmKind::InventoryUnread { problem },
            TroubleArea::Jobs => AlarmKind::JobRecordsOdd { problem },
            TroubleArea::Traps => AlarmKind::TrapsUnheard { problem },
            TroubleArea::Journal => AlarmKind::JournalUnwritten { problem },
            TroubleArea::Tls => AlarmKind::CertificateUnread { problem },
            TroubleArea::Measurements => AlarmKind::MeasurementsUnread { problem },
            TroubleArea::Learned => AlarmKind::LearnedUnkept { problem },
            TroubleArea::Mapped => AlarmKind::MappedUnkept { problem },
            TroubleArea::Current => AlarmKind::EpochUnread { problem },
            TroubleArea::Plan => AlarmKind::PlanFailed { problem },
            TroubleArea::Publish => AlarmKind::PublishFailed { problem },
            TroubleArea::Rollback => AlarmKind::RollbackHeld { problem },
            TroubleArea::EpochProgram => AlarmKind::EpochProgramFailed { problem },
            TroubleArea::AlarmProgram => AlarmKind::AlarmProgramFailed { problem },
            TroubleArea::Stalled(_) => AlarmKind::DirectoryStalled { problem },
            TroubleArea::Other(_) => AlarmKind::TextOnly {
                code: AlarmCode::Other,
                text: problem,
            },
        };
        Alarm::other(self.to_string(), kind)
    }
}

impl fmt::Display for TroubleArea {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TroubleArea::Other(name) => f.write_str(name),
            area => f.write_str(
                NAMES
                    .iter()
                    .find(|(named, _)| named == area)
                    .map_or("", |(_, name)| name),
            ),
        }
    }
}

impl From<String> for TroubleArea {
    fn from(text: String) -> TroubleArea {
        let known = NAMES.into_iter().find(|(_, name)| *name == text);
        known.map_or(TroubleArea::Other(text), |(area, _)| area)
    }
}

impl Serialize for TroubleArea {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for TroubleArea {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<TroubleArea, D::Error> {
        Ok(String::deserialize(deserializer)?.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_area_reads_back_and_an_unknown_name_is_kept() {
        for (area, name) in NAMES {
            assert_eq!(
                (
                    area.to_string().as_str(),
                    &TroubleArea::from(name.to_owned())
                ),
                (name, &area)
            );
        }
        let other: TroubleArea = serde_json::from_str("\"weather\"").unwrap();
        assert_eq!(
            (serde_json::to_string(&other).unwrap().as_str(), other),
            ("\"weather\"", TroubleArea::Other("weather".into()))
        );
    }
}
