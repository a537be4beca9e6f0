//! All-to-all personalized communication in contention-free phases on links of different speed.
//!
//! Source: none of the papers, which assume links of one rate. Laminar families are shared out
//! evenly after de Werra, Equitable colorations of graphs, 1971; edges are coloured after König,
//! 1916. The sequence (share out between groups of hosts, then colour) is heddle's own. Input: a
//! tree, one message for each pair of hosts, and the number of messages that each edge carries at
//! once. Guarantee: every ordered pair of hosts has one message, and in no phase an edge has more
//! messages than it carries. There are as many phases as [`crate::bound::bound`] says, so that no
//! schedule has fewer,
//! - wherever at most two limiting cables are between the switches of any two hosts (hosts - leaf
//!   switches - core),
//! - wherever each of these cables, and every host, carries one message at once ([`crate::aapc`]),
//! - and wherever else an even share stays within all widths, as in most regular networks of three
//!   tiers (`family.rs`).
//!
//! Elsewhere it is not known whether the bound can always be reached. `repair.rs` looks for such a
//! schedule and takes a phase more when it finds none: at most one phase or 1 % more on every tree
//! of the tests. Cost: O(hosts² log phases) for networks of a few tiers; a few words of memory for
//! each message. Every limiting cable on the path of a message adds to that: 512 switches in a row,
//! with two hosts each, take minutes. Deviations: hosts of different rates under one switch are in
//! one group. In an all-to-all every host sends the same number of messages, so no host can use a
//! rate beyond the rate that the slowest host or the bottleneck allows.
mod balance;
pub(crate) mod colour;
mod family;
mod groups;
mod halves;
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
/// once as `capacities` say. There are none for one host.
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
