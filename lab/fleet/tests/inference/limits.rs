//! The figures to which inference is held, by situation.
//!
//! `GOAL` is what the project promises. `TODAY` is what was measured last, where that is worse; a
//! better inference tightens it. The order of the columns is that of [`VerdictLimits`].
use crate::VerdictKey;
use crate::verdict::{InferenceVerdict, VerdictError, share};
use fleet::network::{LinkVoice, NetworkSituation as S};
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

/// The last measurements: the situation, with all bridges asked and with up to three that are not;
/// the worse of both ways to infer.
const TODAY: [(S, [VerdictLimits; 2]); 24] = [
    (
        S::Field,
        [
            limits(0, 0, 0.005, 1.000, 0.935),
            limits(0, 0, 0.000, 1.000, 1.000),
        ],
    ),
    (
        S::TreeAggregates,
        [
            limits(0, 0, 0.000, 0.997, 0.977),
            limits(0, 0, 0.002, 0.989, 1.000),
        ],
    ),
    (
        S::TreeOff,
        [
            limits(0, 0, 0.000, 0.997, 0.925),
            limits(0, 0, 0.000, 1.000, 0.996),
        ],
    ),
    (
        S::PortIds,
        [
            limits(0, 0, 0.000, 1.000, 0.967),
            limits(0, 0, 0.014, 0.977, 0.997),
        ],
    ),
    (
        S::SharedNames,
        [
            limits(0, 0, 0.000, 0.998, 0.979),
            limits(0, 0, 0.003, 0.996, 0.933),
        ],
    ),
    (
        S::BadChassis,
        [
            limits(0, 0, 0.027, 0.967, 0.864),
            limits(0, 0, 0.014, 0.996, 0.947),
        ],
    ),
    (
        S::RelayedFrames,
        [
            limits(0, 0, 0.004, 0.987, 0.877),
            limits(0, 0, 0.008, 0.982, 0.734),
        ],
    ),
    (
        S::DatabasesAlone,
        [
            limits(0, 0, 0.000, 1.000, 0.977),
            limits(0, 0, 0.003, 1.000, 0.974),
        ],
    ),
    (
        S::PartialDatabases,
        [
            limits(0, 0, 0.003, 0.997, 0.916),
            limits(0, 0, 0.027, 1.000, 0.955),
        ],
    ),
    (
        S::UnmanagedSwitches,
        [
            limits(0, 0, 0.028, 1.000, 1.000),
            limits(0, 0, 0.028, 0.982, 0.700),
        ],
    ),
    (
        S::SharedSegments,
        [
            limits(0, 0, 0.050, 0.992, 0.875),
            limits(0, 0, 0.040, 1.000, 0.944),
        ],
    ),
    (
        S::AskedHosts,
        [
            limits(0, 0, 0.000, 1.000, 0.987),
            limits(0, 0, 0.019, 1.000, 0.841),
        ],
    ),
    (
        S::RoutersAndTunnels,
        [
            limits(0, 0, 0.000, 0.972, 0.843),
            limits(0, 0, 0.058, 0.954, 0.571),
        ],
    ),
    (
        S::Phones,
        [
            limits(0, 0, 0.011, 0.969, 0.920),
            limits(0, 0, 0.006, 0.971, 0.533),
        ],
    ),
    (
        S::StaleNeighbours,
        [
            limits(0, 0, 0.027, 0.954, 0.925),
            limits(0, 0, 0.026, 0.927, 0.926),
        ],
    ),
    (
        S::HalfStated,
        [
            limits(0, 0, 0.000, 0.994, 0.951),
            limits(0, 0, 0.003, 1.000, 0.952),
        ],
    ),
    (
        S::VirtualBridges,
        [
            limits(0, 0, 0.003, 0.879, 0.820),
            limits(0, 0, 0.020, 0.885, 0.816),
        ],
    ),
    (
        S::Mixed,
        [
            limits(0, 0, 0.050, 0.963, 0.637),
            limits(0, 0, 0.018, 0.925, 0.489),
        ],
    ),
    (
        S::SeveralNetworks,
        [
            limits(0, 0, 0.000, 0.996, 0.790),
            limits(0, 0, 0.035, 0.986, 0.757),
        ],
    ),
    (
        S::LeafSpine,
        [
            limits(0, 0, 0.004, 0.997, 0.995),
            limits(0, 0, 0.013, 0.996, 1.000),
        ],
    ),
    (
        S::PairedSpines,
        [
            limits(0, 0, 0.000, 0.975, 0.994),
            limits(0, 0, 0.000, 1.000, 1.000),
        ],
    ),
    (
        S::PairedLeaves,
        [
            limits(0, 0, 0.150, 0.965, 0.513),
            limits(0, 0, 0.048, 0.984, 0.465),
        ],
    ),
    (
        S::Trunks,
        [
            limits(0, 0, 0.000, 0.996, 0.994),
            limits(0, 0, 0.004, 0.997, 1.000),
        ],
    ),
    (
        S::Rails,
        [
            limits(0, 0, 0.000, 0.993, 0.860),
            limits(0, 0, 0.000, 1.000, 0.944),
        ],
    ),
];

/// The most networks with switches of two, and the least share of those that hosts tell by LLDP and that
/// are found: with all bridges asked, and with up to three that are not. Databases take a switch's own
/// port for another one's trunk at times, and nobody tells the own port of a switch that is not asked.
const MIXED_TODAY: [usize; 2] = [4, 12];
const FOUND_TODAY: [f64; 2] = [0.81, 0.53];

/// The least share of the links of fabrics over which flows spread that are found as such: with all switches
/// asked, and with up to three that are not; the worse of both ways to infer. Where only one way is seen, as
/// behind a switch without LLDP or beside one that is not asked, it is found to carry frames.
const SPREAD_TODAY: [(S, [f64; 2]); 5] = [
    (S::LeafSpine, [0.538, 0.406]),
    (S::PairedSpines, [0.641, 0.523]),
    (S::PairedLeaves, [0.456, 0.295]),
    (S::Trunks, [0.927, 0.864]),
    (S::Rails, [0.668, 0.449]),
];

/// The largest share of the bridges that are made up and do not exist, of all that are made up.
pub(crate) const MADE_UP: f64 = 0.02;

fn spread(verdict: &InferenceVerdict) -> f64 {
    share(verdict.spread[1], verdict.spread[0]).unwrap_or(1.0)
}

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
    let part = usize::from(key.1);
    let mixed = verdict.count(VerdictError::MixedNetworks);
    let found = share(verdict.found_networks, verdict.named_networks);
    let shares = shares && found.is_none_or(|share| share >= FOUND_TODAY[part]);
    let least = SPREAD_TODAY.iter().find(|(s, _)| *s == key.0);
    let shares = shares && least.is_none_or(|(_, least)| spread(verdict) >= least[part]);
    counts && mixed <= MIXED_TODAY[part] && (shares || cfg!(debug_assertions))
}

/// The rows of `TODAY`, as measured.
pub(crate) fn rows(sums: &BTreeMap<VerdictKey, InferenceVerdict>) -> String {
    let mut text = String::new();
    for situation in S::all() {
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
    for situation in S::OF_FABRICS {
        let [asked, unasked] = [false, true].map(|unasked| {
            let both =
                [false, true].map(|how| sums.get(&(situation, unasked, how)).map_or(1.0, spread));
            (both[0].min(both[1]) * 1000.0).floor() / 1000.0
        });
        let _ = writeln!(text, "(S::{situation:?}, [{asked:.3}, {unasked:.3}]),");
    }
    text
}
