//! Switches that do not answer and that no device names. They may be anywhere in the unknown parts
//! of the network.
use super::InferenceScope;
use super::device::Port;
use super::trunks::{TrunkLink, cable};
use inventory::device_view::DeviceViews;
use inventory::evidence::Evidence;
use inventory::topology::LinkGrade;
use std::collections::BTreeSet;

/// With more candidates than this, none is shown.
const MOST: usize = 6;

/// The switches of the inventory that never answered and have no cable.
pub(super) fn unplaced<'a>(
    scope: &InferenceScope<'a>,
    views: &DeviceViews,
    trunks: &[TrunkLink],
) -> Vec<&'a str> {
    let placed: BTreeSet<&str> = trunks
        .iter()
        .flat_map(|t| [t.link.a.as_str(), t.link.b.as_str()])
        .collect();
    silent(scope, views)
        .filter(|name| !placed.contains(name))
        .collect()
}

fn silent<'s, 'a>(
    scope: &'s InferenceScope<'a>,
    views: &'s DeviceViews,
) -> impl Iterator<Item = &'a str> + 's {
    scope
        .switches
        .iter()
        .map(|(name, _)| *name)
        .filter(|name| views.get(*name).is_none_or(|v| v.seen.is_none()))
}

/// Only another silent switch can keep such a switch from being named by LLDP. So the silent
/// switches are candidates for its neighbours, if they are few.
pub(super) fn missing(
    scope: &InferenceScope<'_>,
    views: &DeviceViews,
    trunks: &mut Vec<TrunkLink>,
) {
    let unplaced = unplaced(scope, views, trunks);
    let hidden: BTreeSet<&str> = silent(scope, views)
        .filter(|name| !unplaced.contains(name))
        .collect();
    if unplaced.len() * hidden.len() > MOST {
        return;
    }
    let nowhere = || Port {
        name: String::new(),
        index: None,
    };
    let candidate = |a: &str, b: &str| {
        let why = Evidence::BehindPossible {
            hidden: a.to_owned(),
            unnamed: b.to_owned(),
        };
        cable(
            [(a, nowhere()), (b, nowhere())],
            [None, None],
            LinkGrade::Ambiguous,
            vec![why],
            false,
        )
    };
    trunks.extend(
        unplaced
            .iter()
            .flat_map(|b| hidden.iter().map(|a| candidate(a, b)))
            .collect::<Vec<_>>(),
    );
}
