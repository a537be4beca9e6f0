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
/// switches are candidates for its neighbours, if they are few.
pub(crate) fn add_candidates(known: &mut Known<'_>) {
    let unplaced = unplaced(known);
    let silent = known.facts.silent.iter().copied();
    let hidden: Vec<NodeIx> = silent.filter(|node| !unplaced.contains(node)).collect();
    if unplaced.len() * hidden.len() > MOST {
        return;
    }
    for b in &unplaced {
        for a in &hidden {
            let why = Evidence::BehindPossible {
                hidden: known.name(*a).to_owned(),
                unnamed: known.name(*b).to_owned(),
            };
            let ends = [ClaimEnd::somewhere(*a), ClaimEnd::somewhere(*b)];
            let claim = Claim::new(known.facts, ends, ClaimGrounds::BehindSilent, vec![why]);
            known.cables.push(claim);
        }
    }
}
