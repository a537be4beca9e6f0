//! Edges of one message whose users are in order because each was notified of the one before.
//!
//! This is the quick half of the check. A message comes after the former user of an edge if both
//! have one sender, or if its sender was notified, by a token of this message or an earlier one of its
//! own, about the former user or about a later message that comes after it. The giver of a token
//! sends its messages in order; it receives them in order if they all come over one cable of one
//! message. That this cable keeps its own order is part of the whole check. So an edge that is
//! found in order here is in order if all edges are. An edge that is not found in order may be so
//! all the same: the rows of bits tell.
use super::super::delivery::NOWHERE;
use super::order_walk::MessageOrders;
use super::tokens::TokensByMessage;
use crate::capacities::EdgeCapacities;
use crate::transfers::TransferSchedule;
use inventory::Tree;
use inventory::tree::NodeNumber;

/// Once more than one in so many edges is not found in order, all go to the rows of bits.
const WORTH_IT: usize = 8;

/// By edge: true if it carries one message at once and all its users were notified in this way.
pub(super) fn in_order(order: MessageOrders<'_>, capacities: &EdgeCapacities) -> Vec<bool> {
    let MessageOrders {
        tree,
        schedule,
        tokens,
        meetings,
        ..
    } = order;
    let mut in_order: Vec<bool> = (0..tree.edges())
        .map(|edge| tree.ends(edge).is_some() && capacities.width(edge) == 1)
        .collect();
    let all = in_order.iter().filter(|&&asked| asked).count();
    let mut left = all;
    let mut last = vec![NOWHERE; tree.edges() as usize];
    let mut notified = NotifiedMessages::new(tree, schedule, tokens, capacities);
    let mut meeting = meetings.iter().peekable();
    let mut met = 0;
    for (m, position) in schedule.ends().iter().copied().zip(0u32..) {
        while meeting
            .next_if(|&&phase| phase <= schedule.phase(position) as usize)
            .is_some()
        {
            met = position;
        }
        if all - left > all / WORTH_IT {
            return vec![false; in_order.len()];
        }
        notified.hear(m.src, position);
        let mut known = NOWHERE;
        tree.path(m.src, m.dst, |edge| {
            if !in_order[edge as usize] {
                return;
            }
            let former = std::mem::replace(&mut last[edge as usize], position);
            if former == NOWHERE || former == known || former < met {
                return;
            }
            if notified.is_over(m.src, former) {
                known = former;
            } else {
                in_order[edge as usize] = false;
                left -= 1;
            }
        });
    }
    in_order
}

/// The last message about which each host notified each other host.
struct NotifiedMessages<'a> {
    schedule: &'a TransferSchedule,
    tokens: &'a TokensByMessage,
    /// True if senders give the tokens, and not receivers.
    by_sender: bool,
    /// By host: true if its messages come in one after the other.
    receives_in_order: Vec<bool>,
    /// By waiting host and giver.
    last: Vec<u32>,
}

impl<'a> NotifiedMessages<'a> {
    fn new(
        tree: &Tree,
        schedule: &'a TransferSchedule,
        tokens: &'a TokensByMessage,
        capacities: &EdgeCapacities,
    ) -> NotifiedMessages<'a> {
        let mut receives_in_order: Vec<bool> = (0..tree.hosts())
            .map(|host| tree.parent(host).is_some() && capacities.width(2 * host + 1) == 1)
            .collect();
        for parent in (0..tree.nodes()).filter_map(|node| tree.parent(node)) {
            if let Some(leaf) = receives_in_order.get_mut(parent as usize) {
                // A host that others are cabled to receives over more cables than its own.
                *leaf = false;
            }
        }
        NotifiedMessages {
            schedule,
            tokens,
            by_sender: tokens.by_sender,
            receives_in_order,
            last: vec![NOWHERE; (schedule.hosts() as usize).pow(2)],
        }
    }

    fn giver(&self, message: u32) -> NodeNumber {
        let ends = self.schedule.ends()[message as usize];
        if self.by_sender { ends.src } else { ends.dst }
    }

    fn place(&self, waiting: NodeNumber, giver: NodeNumber) -> usize {
        waiting as usize * self.schedule.hosts() as usize + giver as usize
    }

    /// The tokens of the message at this position come in.
    fn hear(&mut self, waiting: NodeNumber, position: u32) {
        for &after in self.tokens.to(position) {
            let place = self.place(waiting, self.giver(after));
            let last = &mut self.last[place];
            if *last == NOWHERE || *last < after {
                *last = after;
            }
        }
    }

    /// True if `waiting` was notified that `message` is over, or is its sender.
    fn is_over(&self, waiting: NodeNumber, message: u32) -> bool {
        if self.schedule.ends()[message as usize].src == waiting {
            return true;
        }
        let giver = self.giver(message);
        let notified = self.last[self.place(waiting, giver)];
        notified == message
            || notified != NOWHERE
                && (self.by_sender || self.receives_in_order[giver as usize])
                // Messages of one phase go at once, so that one of them says nothing of the others.
                && self.schedule.phase(notified) > self.schedule.phase(message)
    }
}
