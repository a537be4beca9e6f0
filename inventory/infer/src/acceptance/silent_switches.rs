//! Switches that do not answer and that no device names. They may be anywhere in the unknown parts
//! of the network.
use super::known::Known;
use crate::claims::{Claim, ClaimEnd};
use crate::facts::NodeIx;
use crate::ranking::ClaimGrounds;
use inventory::evidence::Evidence;

/// With more candidates than this, none is shown.
const MOST: usize = 6;

/// The switches of the inventory that never answered and have no cable.
pub(crate) fn unplaced(known: &Known<'_>) -> Vec<NodeIx> {
    let cabled = known.cabled();
    let silent = known.facts.silent.iter().copied();
    silent.filter(|node| !cabled.contains(node)).collect()
}

/// Only another silent switch can keep such a switch from being named by LLDP. So the silent
/// switches are candidates for its neighbours, if they are few. `unplaced`: the switches without a cable.
pub(crate) fn candidates(known: &Known<'_>, unplaced: &[NodeIx]) -> Vec<Claim> {
    let silent = known.facts.silent.iter().copied();
    let hidden: Vec<NodeIx> = silent.filter(|node| !unplaced.contains(node)).collect();
    if unplaced.len() * hidden.len() > MOST {
        return vec![];
    }
    let pairs = unplaced
        .iter()
        .flat_map(|b| hidden.iter().map(move |a| (*a, *b)));
    let claims = pairs.map(|(a, b)| {
        let why = Evidence::BehindPossible {
            hidden: known.name(a).to_owned(),
            unnamed: known.name(b).to_owned(),
        };
        let ends = [ClaimEnd::somewhere(a), ClaimEnd::somewhere(b)];
        Claim::new(known.facts, ends, ClaimGrounds::BehindSilent, vec![why])
    });
    claims.collect()
}
