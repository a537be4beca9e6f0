//! The synchronizations that keep phases apart without barriers.
//!
//! Source: aapc-2007 section 5 (pair-wise synchronizations, sender-based and receiver-based,
//! without the redundant ones). Input: phases on a tree; in no phase an edge carries more messages
//! than it is wide. Guarantee: the synchronizations, together with every sender's own order, never
//! let more messages be under way on an edge than it is wide. On an edge of width 1 any two
//! messages of different phases are ordered. A sender starts the messages of a phase (several at
//! once where it is wide) when all its messages of earlier phases are over.
//! [`SyncReduction::Minimal`] keeps only the orders that no others imply. If all widths are 1, it
//! is the smallest such set. Cost: O(messages * path length) for the chain; where edges are wider
//! than a message, O(messages * path length * lanes / 64); for the minimal set, O(messages * path
//! length * hosts). The chain of half a million messages is made by up to three threads, each a step
//! ahead of the next. Memory O(edges * hosts + messages). Deviations:
//! - The paper builds the conflict graph of all message pairs, O(n⁴ switches²), and reduces it in
//!   O(n⁶). The users of an edge of width 1 are totally ordered, so consecutive users suffice: the
//!   chains of all edges have the same closure, and their transitive reduction is the paper's (a
//!   DAG has only one).
//! - In the paper all edges have width 1. Here a wider edge has several lanes, each with its own
//!   chain.
mod clocks;
pub mod credit;
pub mod dummy;
mod edge_lanes;
mod lane_requests;
mod messages;
mod reduction;
pub mod scheme;
#[cfg(test)]
mod tests;

use crate::batches::handed_on;
use crate::capacities::EdgeCapacities;
use crate::message::{Message, Synchronization};
use crate::stages::MessagePaths;
use edge_lanes::MessageOrder;
use inventory::tree::Tree;
use messages::PhaseMessages;
use reduction::{ChainedTokens, TokenOrder};

/// The mechanisms of aapc-2007's Table 5 that the runtime supports to keep messages of different
/// phases apart. [`scheme::SyncScheme`] has the whole table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SyncKind {
    /// Only the order of phases (`No-sync.`).
    None,
    /// The sender of the earlier message gives a token when it has sent (`Sender all`). The token
    /// may be early.
    Sender,
    /// The receiver of the earlier message gives a token when it has the message (`Receiver all`).
    /// The token is never early.
    Receiver,
    /// A barrier between phases (`Barrier all`). The plan has no tokens.
    Barrier,
}

/// The orders that get tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SyncReduction {
    /// Every pair of consecutive users of an edge, except the pairs that a later token between the
    /// same two hosts implies.
    Chain,
    /// Only the pairs that no others imply.
    Minimal,
}

/// The synchronizations of `phases`, in the order of the messages that wait. [`SyncKind::None`] and
/// [`SyncKind::Barrier`] have none.
///
/// If every host has one cable, which carries one message at a time, tokens between two hosts never
/// overtake each other: in the order of the messages that they follow, and in the order of the
/// messages that wait, the tokens from one host to another come in the same order. No two of them
/// follow, or hold back, the same message.
pub fn syncs(
    tree: &Tree,
    capacities: &EdgeCapacities,
    phases: &[Vec<Message>],
    kind: SyncKind,
    reduction: SyncReduction,
) -> Vec<Synchronization> {
    between(tree, capacities, phases, kind, reduction, |_, _| true)
}

/// The synchronizations of [`syncs`] for which `wanted` accepts the phases of the earlier and of
/// the waiting message.
fn between(
    tree: &Tree,
    capacities: &EdgeCapacities,
    phases: &[Vec<Message>],
    kind: SyncKind,
    reduction: SyncReduction,
    wanted: impl Fn(u32, u32) -> bool,
) -> Vec<Synchronization> {
    let by_sender = match kind {
        SyncKind::None | SyncKind::Barrier => return Vec::new(),
        SyncKind::Sender => true,
        SyncKind::Receiver => false,
    };
    let messages = PhaseMessages::numbered(phases);
    let teller = |after: u32| {
        if by_sender {
            messages.src(after)
        } else {
            messages.all[after as usize].dst
        }
    };
    let mut kept = Vec::with_capacity(messages.len());
    let mut keep = |(after, before): TokenOrder| {
        if wanted(messages.phase(after), messages.phase(before)) {
            kept.push(messages.synchronization(after, before, teller(after)));
        }
    };
    match reduction {
        SyncReduction::Chain => {
            let in_turn = receives_in_turn(tree, capacities);
            let in_turn = |host: u32| by_sender || in_turn[host as usize];
            let mut chained = ChainedTokens::new(tree.hosts(), &messages);
            handed_on(
                messages.len(),
                |give| MessageOrder::in_batches(tree, capacities, &messages, give),
                |order| chained.add(&order, teller, in_turn, &mut keep),
            );
        }
        SyncReduction::Minimal => {
            let order = MessageOrder::whole(tree, capacities, &messages);
            let reduced = reduction::transitive_reduction(tree, &messages, &order);
            reduced.into_iter().for_each(keep);
        }
    }
    kept
}

/// The tokens with which receivers let so many messages be under way on each lane of a link
/// ([`credit`]).
fn ahead(
    paths: &MessagePaths<'_>,
    capacities: &EdgeCapacities,
    phases: &[Vec<Message>],
    credit: u32,
) -> Vec<Synchronization> {
    let messages = PhaseMessages::numbered(phases);
    credit::orders(paths, capacities, &messages, credit)
        .into_iter()
        .map(|(after, before)| {
            messages.synchronization(after, before, messages.all[after as usize].dst)
        })
        .collect()
}

/// The tokens of [`ahead`] as the numbers of two messages: the second waits until the first is over.
pub(crate) fn credit_orders(
    paths: &MessagePaths<'_>,
    capacities: &EdgeCapacities,
    phases: &[Vec<Message>],
    credit: u32,
) -> Vec<(u32, u32)> {
    let messages = PhaseMessages::numbered(phases);
    credit::orders(paths, capacities, &messages, credit)
}

/// By host: true if all its messages come over one cable, one after the other.
fn receives_in_turn(tree: &Tree, capacities: &EdgeCapacities) -> Vec<bool> {
    let mut in_turn: Vec<bool> = (0..tree.hosts())
        .map(|host| capacities.width(2 * host + 1) == 1)
        .collect();
    for parent in (0..tree.nodes())
        .filter_map(|node| tree.parent(node))
        .filter(|&parent| tree.is_host(parent))
    {
        // A host that others are cabled to receives over more cables than its own.
        in_turn[parent as usize] = false;
    }
    in_turn
}
