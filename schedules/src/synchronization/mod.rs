//! Which messages must wait for which, so that phases stay apart without barriers.
//!
//! Source: aapc-2007 section 5 (pair-wise synchronizations, sender-based and receiver-based;
//! redundant ones removed). Input: phases on a tree, in none of which an edge carries more messages
//! than it is wide. Guarantee: the synchronizations together with every sender's own order never
//! let more messages be under way on an edge than it is wide: on an edge of width 1, any two in
//! different phases are ordered. A sender starts the messages of a phase, several at once where it
//! is wide, when all it sent in earlier phases is over. [`SyncReduction::Minimal`] is what no other
//! order implies; where all widths are 1, it is the smallest such set. Cost: chain O(messages *
//! path length), where edges are wider than a message O(messages * path length * hosts), as minimal
//! everywhere; memory O(edges * hosts). Deviations:
//! - The paper builds the conflict graph of all message pairs, O(n⁴ switches²), and reduces it in
//!   O(n⁶). The users of an edge of width 1 are totally ordered, so consecutive users say
//!   everything: chaining them per edge has the same closure, and its transitive reduction is the
//!   paper's (a DAG has only one).
//! - The paper knows edges of width 1 only. Wider ones are as many lanes, each with its own chain.
mod clocks;
pub mod dummy;
mod edge_lanes;
mod messages;
mod reduction;
pub mod scheme;
#[cfg(test)]
mod tests;

use crate::capacities::EdgeCapacities;
use crate::message::{Message, Synchronization};
use edge_lanes::MessageOrder;
use inventory::tree::Tree;
use messages::PhaseMessages;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// How messages of different phases are kept apart: what the runtime knows of aapc-2007's Table 5.
/// All of it is [`scheme::SyncScheme`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SyncKind {
    /// Not at all: the order of phases only (`No-sync.`).
    None,
    /// The sender of the earlier message tells when it has sent (`Sender all`): may be early.
    Sender,
    /// The receiver of the earlier message tells when it has it (`Receiver all`): never early.
    Receiver,
    /// A barrier between phases (`Barrier all`): no tokens in the plan.
    Barrier,
}

/// Which of the orders that hold anyway are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SyncReduction {
    /// Every pair of consecutive users of an edge, but what a later token between the same two
    /// hosts says too.
    Chain,
    /// Only what nothing else implies.
    Minimal,
}

impl fmt::Display for SyncKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            SyncKind::None => "none",
            SyncKind::Sender => "sender",
            SyncKind::Receiver => "receiver",
            SyncKind::Barrier => "barrier",
        })
    }
}

/// A name that is no [`SyncKind`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("synchronization \"{0}\": expected none, sender, receiver or barrier")]
pub struct UnknownSync(pub String);

impl FromStr for SyncKind {
    type Err = UnknownSync;

    fn from_str(text: &str) -> Result<Self, UnknownSync> {
        [
            SyncKind::None,
            SyncKind::Sender,
            SyncKind::Receiver,
            SyncKind::Barrier,
        ]
        .into_iter()
        .find(|kind| kind.to_string() == text)
        .ok_or_else(|| UnknownSync(text.to_owned()))
    }
}

/// The synchronizations of `phases`, in the order of the messages that wait; none for
/// [`SyncKind::None`] and [`SyncKind::Barrier`].
///
/// Where every host hangs by one cable that carries one message at once, tokens between two hosts
/// never overtake: ordered by the message they follow or by the message that waits, the tokens from
/// one host to another come in the same order, and no two of them follow, or hold back, the same
/// message.
pub fn syncs(
    tree: &Tree,
    capacities: &EdgeCapacities,
    phases: &[Vec<Message>],
    kind: SyncKind,
    reduction: SyncReduction,
) -> Vec<Synchronization> {
    between(tree, capacities, phases, kind, reduction, |_, _| true)
}

/// Those of [`syncs`] whose phases, of the message that is followed and of the one that waits, are
/// `wanted`.
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
    let messages = PhaseMessages::of(phases);
    let teller = |after: u32| {
        if by_sender {
            messages.src(after)
        } else {
            messages.all[after as usize].dst
        }
    };
    let order = MessageOrder::new(tree, capacities, &messages);
    let kept = match reduction {
        SyncReduction::Chain => {
            let in_turn = receives_in_turn(tree, capacities);
            reduction::chained(tree.hosts(), &messages, &order, teller, |host| {
                by_sender || in_turn[host as usize]
            })
        }
        SyncReduction::Minimal => reduction::transitive_reduction(tree, &messages, &order),
    };
    let sync = |(after, before): (u32, u32)| {
        let (earlier, later) = (messages.all[after as usize], messages.all[before as usize]);
        Synchronization {
            after: earlier,
            before: later,
            from: teller(after),
            to: later.src,
        }
    };
    kept.into_iter()
        .filter(|&(after, before)| wanted(messages.phase(after), messages.phase(before)))
        .map(sync)
        .collect()
}

/// By host: whether all it receives comes over one cable, one message after the other.
fn receives_in_turn(tree: &Tree, capacities: &EdgeCapacities) -> Vec<bool> {
    let mut in_turn: Vec<bool> = (0..tree.hosts())
        .map(|host| capacities.width(2 * host + 1) == 1)
        .collect();
    for parent in (0..tree.nodes())
        .filter_map(|node| tree.parent(node))
        .filter(|&parent| tree.is_host(parent))
    {
        in_turn[parent as usize] = false;
    }
    in_turn
}
