//! The figures to which inference is held, by situation.
//!
//! `GOAL` is what the project promises. `TODAY` is what was measured last, where that is worse; a
//! better inference tightens it. The order of the columns is that of [`VerdictLimits`].
use crate::VerdictKey;
use crate::verdict::{InferenceVerdict, VerdictError};
use fleet::network::LinkVoice;
use fleet::network::NetworkSituation as S;
use std::collections::BTreeMap;
use std::fmt::Write;

/// The worst allowed figures of a class.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct VerdictLimits {
    pub false_certain: usize,
    pub certain_wrong_state: usize,
    /// The share of inferred links that are false.
    pub false_inferred: f64,
    /// The share of links that are found as certain or inferred, where LLDP or CDP speaks.
    pub spoken: f64,
    /// The same, from forwarding databases alone.
    pub learned: f64,
}

const fn limits(
    false_certain: usize,
    certain_wrong_state: usize,
    false_inferred: f64,
    spoken: f64,
    learned: f64,
) -> VerdictLimits {
    VerdictLimits {
        false_certain,
        certain_wrong_state,
        false_inferred,
        spoken,
        learned,
    }
}

/// With all bridges asked, and with up to three that are not.
pub(crate) const GOAL: [VerdictLimits; 2] = [
    limits(0, 0, 0.02, 0.95, 0.90),
    limits(0, 0, 0.05, 0.95, 0.90),
];

/// What was measured last: the situation, with all bridges asked and with up to three that are not;
/// the worse of both ways to infer.
const TODAY: [(S, [VerdictLimits; 2]); 17] = [
    (
        S::Field,
        [
            limits(0, 4, 0.029, 1.000, 0.890),
            limits(0, 1, 0.031, 1.000, 0.737),
        ],
    ),
    (
        S::TreeAggregates,
        [
            limits(0, 79, 0.696, 0.995, 0.679),
            limits(0, 108, 0.608, 0.983, 0.511),
        ],
    ),
    (
        S::TreeOff,
        [
            limits(0, 452, 0.000, 1.000, 0.000),
            limits(0, 298, 0.273, 1.000, 0.000),
        ],
    ),
    (
        S::PortIds,
        [
            limits(0, 1, 0.048, 1.000, 0.833),
            limits(0, 0, 0.050, 0.983, 0.814),
        ],
    ),
    (
        S::SharedNames,
        [
            limits(0, 0, 0.000, 1.000, 1.000),
            limits(2, 1, 0.400, 0.890, 0.912),
        ],
    ),
    (
        S::BadChassis,
        [
            limits(0, 1, 0.000, 0.989, 0.891),
            limits(0, 1, 0.067, 0.970, 0.666),
        ],
    ),
    (
        S::RelayedFrames,
        [
            limits(4, 0, 0.072, 0.991, 0.447),
            limits(4, 0, 0.260, 1.000, 0.302),
        ],
    ),
    (
        S::DatabasesAlone,
        [
            limits(0, 0, 0.003, 1.000, 0.875),
            limits(0, 0, 0.068, 1.000, 0.920),
        ],
    ),
    (
        S::PartialDatabases,
        [
            limits(0, 0, 0.033, 1.000, 0.923),
            limits(0, 0, 0.109, 1.000, 0.710),
        ],
    ),
    (
        S::UnmanagedSwitches,
        [
            limits(0, 1, 0.235, 1.000, 0.878),
            limits(0, 1, 0.179, 1.000, 0.821),
        ],
    ),
    (
        S::AskedHosts,
        [
            limits(0, 0, 0.076, 0.998, 0.145),
            limits(0, 5, 0.000, 1.000, 0.154),
        ],
    ),
    (
        S::RoutersAndTunnels,
        [
            limits(0, 0, 0.500, 0.989, 0.714),
            limits(0, 0, 0.334, 0.982, 0.387),
        ],
    ),
    (
        S::Phones,
        [
            limits(0, 0, 0.039, 0.992, 0.259),
            limits(0, 0, 0.008, 0.986, 0.333),
        ],
    ),
    (
        S::StaleNeighbours,
        [
            limits(0, 1, 0.296, 0.952, 0.821),
            limits(0, 1, 0.316, 0.932, 0.527),
        ],
    ),
    (
        S::HalfStated,
        [
            limits(0, 0, 0.079, 1.000, 0.813),
            limits(0, 3, 0.206, 0.998, 0.466),
        ],
    ),
    (
        S::VirtualBridges,
        [
            limits(0, 0, 0.000, 0.873, 0.815),
            limits(0, 1, 0.039, 0.892, 0.655),
        ],
    ),
    (
        S::Mixed,
        [
            limits(0, 17, 0.328, 0.932, 0.361),
            limits(8, 5, 0.468, 0.841, 0.290),
        ],
    ),
];

/// The figures of a verdict.
pub(crate) fn measured(verdict: &InferenceVerdict) -> VerdictLimits {
    VerdictLimits {
        false_certain: verdict.count(VerdictError::FalseCertain),
        certain_wrong_state: verdict.count(VerdictError::CertainWrongState),
        false_inferred: verdict.false_inferred(),
        spoken: verdict.voice(LinkVoice::Spoken).recall(),
        learned: verdict.voice(LinkVoice::Learned).recall(),
    }
}

impl VerdictLimits {
    /// The worse of both in each figure.
    fn or_worse(self, other: VerdictLimits) -> VerdictLimits {
        VerdictLimits {
            false_certain: self.false_certain.max(other.false_certain),
            certain_wrong_state: self.certain_wrong_state.max(other.certain_wrong_state),
            false_inferred: self.false_inferred.max(other.false_inferred),
            spoken: self.spoken.min(other.spoken),
            learned: self.learned.min(other.learned),
        }
    }
}

/// The goal, or what was measured last where that is worse.
pub(crate) fn limits_of((situation, unasked, _): VerdictKey) -> VerdictLimits {
    let part = usize::from(unasked);
    let today = TODAY.iter().find(|(s, _)| *s == situation);
    today.map_or(GOAL[part], |(_, today)| today[part].or_worse(GOAL[part]))
}

/// True if no figure is worse than its limit. The few networks of a debug run are too few for
/// shares.
pub(crate) fn hold(key: VerdictKey, verdict: &InferenceVerdict) -> bool {
    let (figures, limits) = (measured(verdict), limits_of(key));
    let shares = figures.or_worse(limits) == limits;
    let counts = figures.false_certain <= limits.false_certain
        && figures.certain_wrong_state <= limits.certain_wrong_state;
    counts && (shares || cfg!(debug_assertions))
}

/// The rows of `TODAY`, as measured.
pub(crate) fn rows(sums: &BTreeMap<VerdictKey, InferenceVerdict>) -> String {
    let mut text = String::new();
    for situation in S::ALL {
        let part = |unasked| {
            let [a, b] = [false, true].map(|recorded| {
                let none = InferenceVerdict::default();
                measured(sums.get(&(situation, unasked, recorded)).unwrap_or(&none))
            });
            let worse = a.or_worse(b);
            // Rounded to the worse side.
            format!(
                "limits({}, {}, {:.3}, {:.3}, {:.3})",
                worse.false_certain,
                worse.certain_wrong_state,
                (worse.false_inferred * 1000.0).ceil() / 1000.0,
                (worse.spoken * 1000.0).floor() / 1000.0,
                (worse.learned * 1000.0).floor() / 1000.0,
            )
        };
        let _ = writeln!(
            text,
            "(S::{situation:?}, [{}, {}]),",
            part(false),
            part(true)
        );
    }
    text
}
