//! Where an alarm comes from, and how much it asks of an operator.
use super::arguments::{HostPlace, LinkDoubt, TreeDoubt};
use crate::model::observation::CredentialRefusal;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A problem from which others follow.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum AlarmCause {
    /// Switches refuse a credential.
    Refusal(CredentialRefusal),
    /// This switch never answered.
    UnheardSwitch(String),
    /// This switch stopped answering.
    StaleSwitch(String),
    /// The shared directory does not answer.
    StalledDirectory,
}

/// Where an alarm comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum AlarmOrigin {
    /// Nothing but itself.
    Own,
    /// It states this cause.
    Cause(AlarmCause),
    /// The silence of one of these switches, or of each of them.
    Silence(Vec<String>),
    /// The silence of any switch that never answered: what is behind it is unknown.
    AnyUnheard,
}

/// How much an alarm asks of an operator.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum AlarmSeverity {
    /// Good to know.
    Info,
    /// A part of the network is not served, or is not certain.
    #[default]
    Warning,
    /// Nothing new can be published.
    Error,
}

impl fmt::Display for AlarmSeverity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            AlarmSeverity::Info => "info",
            AlarmSeverity::Warning => "warning",
            AlarmSeverity::Error => "error",
        })
    }
}

impl AlarmOrigin {
    /// That of a host which may be at these places.
    pub(super) fn of_places(places: &[HostPlace]) -> AlarmOrigin {
        let behind = places.iter().filter_map(|place| match place {
            HostPlace::Behind(switch) => Some(switch.clone()),
            HostPlace::At(_) => None,
        });
        AlarmOrigin::Silence(behind.collect())
    }

    /// The silence from which all doubts about the tree may follow.
    pub(super) fn of_doubts(doubts: &[TreeDoubt]) -> AlarmOrigin {
        let mut silent = Vec::new();
        for doubt in doubts {
            match doubt {
                TreeDoubt::SwitchSilent(switch) => silent.push(switch.clone()),
                TreeDoubt::Link(a, b, LinkDoubt::Unsaid) => silent.extend([a.clone(), b.clone()]),
                TreeDoubt::HostUnseen(_) | TreeDoubt::CutOff { .. } => {}
                TreeDoubt::Link(..) | TreeDoubt::Torn(_) | TreeDoubt::Frozen(..) => {
                    return AlarmOrigin::Own;
                }
            }
        }
        match silent.is_empty() {
            true => AlarmOrigin::AnyUnheard,
            false => AlarmOrigin::Silence(silent),
        }
    }
}
