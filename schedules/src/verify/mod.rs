//! Checks schedules by their definition, without knowing how they were planned.
//!
//! Source: the three conditions of aapc-2005 section 4 (no contention within a phase, every message
//! once, as many phases as the load); aapc-2007 section 5 for synchronizations. Input: any
//! schedule, also a foreign one, and the tree of its hosts. Guarantee: `Ok` means that the
//! conditions hold for every message and edge, and that the synchronizations keep the promise of
//! the schedule's scheme. If the scheme keeps all messages apart that would collide, no edge ever
//! has more messages under way than it carries at once, whatever the pace of the hosts. A scheme
//! that only limits contention (blocks of phases, dummies, none) promises no order; its tokens only
//! have to be possible. Cost: O(messages * (path length + chains / 64)), memory O(hosts²) and a row of
//! bits per token under way. Deviations: none. Nothing here calls planning code.
mod allgather;
mod alltoall;
mod alltoallv;
#[cfg(test)]
mod brute_force;
mod credit;
mod delivery;
mod lg;
mod relay;
mod rings;
mod room;
mod synchronization;
#[cfg(test)]
mod tests;
mod violation;
mod window;

use crate::message::Message;
use crate::stages::{LinkNumber, MessagePaths};
use inventory::tree::{EdgeNumber, Tree};

pub use allgather::allgather;
pub use alltoall::alltoall;
pub use alltoallv::{LengthViolation, alltoallv};
pub use lg::{LgViolation, lg};
pub use relay::{RelayViolation, relay};
pub use rings::{RingsViolation, rings};
pub use violation::{NamedEdge, NamedMessage, ScheduleViolation, ScheduledPlace};
pub use window::window;

struct NodeNames<'a>(&'a Tree);

impl NodeNames<'_> {
    fn named(&self, m: Message) -> NamedMessage {
        let [src, dst] = [m.src, m.dst].map(|h| match h < self.0.nodes() {
            true => self.0.name(h).into(),
            false => format!("number {h}").into(),
        });
        NamedMessage { src, dst }
    }

    fn edge(&self, edge: EdgeNumber) -> NamedEdge {
        let ends = self.0.ends(edge).map(|(from, to)| NamedEdge {
            from: self.0.name(from).into(),
            to: self.0.name(to).into(),
        });
        ends.unwrap_or_default()
    }

    /// A link by its boxes, where cables lie side by side.
    fn link(&self, paths: &MessagePaths<'_>, link: LinkNumber) -> NamedEdge {
        let (edge, place) = paths.edge(link);
        match self.0.member_cables(edge / 2).get(place) {
            Some(cable) if paths.are_chosen() => {
                let [below, above] =
                    [cable.below, cable.above].map(|at| self.0.box_name(at).into());
                let (from, to) = if edge.is_multiple_of(2) {
                    (below, above)
                } else {
                    (above, below)
                };
                NamedEdge { from, to }
            }
            _ => self.edge(edge),
        }
    }

    fn same_hosts(&self, hosts: &[String]) -> Result<(), ScheduleViolation> {
        let own = self.0.host_names();
        if own.len() != hosts.len() {
            return Err(ScheduleViolation::Hosts(format!(
                "{} instead of {}",
                hosts.len(),
                own.len()
            )));
        }
        match own.iter().zip(hosts).find(|(own, theirs)| own != theirs) {
            Some((own, theirs)) => Err(ScheduleViolation::Hosts(format!(
                "{theirs} stands where {own} is expected"
            ))),
            None => Ok(()),
        }
    }
}
