//! All-to-all personalized communication in contention-free phases on links of different speed.
//!
//! Source: none of the papers, which know links of one rate. Evenly sharing out laminar families:
//! de Werra, Equitable colorations of graphs, 1971; edge colouring: König, 1916. The order of
//! business (share out between groups of hosts, then colour) is heddle's own. Input: a tree, one
//! message a pair of hosts, and how many messages each edge carries at once. Guarantee: every
//! ordered pair of hosts once and in no phase more messages on an edge than it carries. As many
//! phases as [`crate::bound::bound`] says, and so no schedule has fewer,
//! - wherever the cables that limit are at most two between any two hosts' switches (hosts - leaf
//!   switches - core),
//! - wherever each of these carries one message at once, and so does every host ([`crate::aapc`]),
//! - and wherever else an even share keeps within all widths, as in most regular networks of three
//!   tiers (`family.rs`).
//!
//! Elsewhere whether the bound can always be reached is not known; `repair.rs` looks for it and
//! takes a phase more when it finds nothing: at most one phase or 1 % more on every tree of the
//! tests. Cost: O(hosts² log phases) for networks of a few tiers; a few words of memory a message.
//! Every limiting cable on the way of a message adds to that: 512 switches in a row, two hosts
//! each, take minutes. Deviations: hosts of different rates under one switch are in one group,
//! because in an all-to-all every host sends the same number of messages, so no host can make use
//! of a rate beyond what the slowest one, or the bottleneck, leaves it.
mod balance;
pub(crate) mod colour;
mod family;
mod groups;
mod lift;
mod repair;
mod split;
#[cfg(test)]
mod tests;

use crate::aapc;
use crate::capacities::EdgeCapacities;
use crate::message::Message;
use family::LaminarFamily;
use groups::HostGroups;
use inventory::Tree;

/// The phases of an all-to-all among the tree's hosts, where every edge carries as many messages at
/// once as `capacities` say. None for one host.
pub fn phases(tree: &Tree, capacities: &EdgeCapacities) -> Vec<Vec<Message>> {
    if tree.hosts() < 2 {
        return Vec::new();
    }
    let groups = HostGroups::new(tree, capacities);
    if let Some(unit) = groups.unit_tree() {
        return aapc::phases(&unit);
    }
    let family = LaminarFamily::new(&groups);
    let even = split::split(&groups, &family);
    let kept = if family.safe {
        even
    } else {
        repair::repair(&groups, even)
    };
    lift::lift(&groups, kept)
}
