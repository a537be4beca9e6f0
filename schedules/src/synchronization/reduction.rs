//! The choice of the orders that get tokens.
use super::clocks::{PhaseCount, VectorClocks};
use super::edge_lanes::MessageOrder;
use super::messages::{PhaseMessages, SenderOrders};
use inventory::tree::Tree;

/// An order that gets a token: the numbers of the earlier message and of the one that waits.
pub(super) type TokenOrder = (u32, u32);

/// The order without the senders' own. It leaves out each token that another token between the same
/// hosts makes needless, because the other one follows a message that is no earlier, and is awaited
/// no later.
pub(super) struct ChainedTokens<'m> {
    messages: &'m PhaseMessages,
    /// The number of messages so far.
    seen: u32,
    /// By waiting host: its tokens so far, the latest last.
    awaited: Vec<Vec<TokenOrder>>,
}

impl ChainedTokens<'_> {
    pub(super) fn new(hosts: u32, messages: &PhaseMessages) -> ChainedTokens<'_> {
        ChainedTokens {
            messages,
            seen: 0,
            awaited: vec![Vec::new(); hosts as usize],
        }
    }

    /// Gives the tokens of the next messages. `teller` is the giver of a token, and `in_turn` tells whether it
    /// finds its messages to be over in the order of phases.
    pub(super) fn add(
        &mut self,
        order: &MessageOrder,
        teller: impl Fn(u32) -> u32,
        in_turn: impl Fn(u32) -> bool,
        mut give: impl FnMut(TokenOrder),
    ) {
        let messages = self.messages;
        for (before, number) in (self.seen..).zip(0..order.len() as u32) {
            let src = messages.src(before);
            let awaited = &mut self.awaited[src as usize];
            for &after in order.earlier(number) {
                if messages.src(after) == src {
                    continue;
                }
                let by = teller(after);
                // A token follows a message that is earlier than the one that awaits it.
                let later = awaited.iter().rev().take_while(|other| other.1 > after);
                let last = later.copied().find(|other| teller(other.0) == by);
                let is_needless = last.is_some_and(|(other, awaiting)| {
                    let is_no_earlier = other == after
                        || in_turn(by) && messages.phase(other) > messages.phase(after);
                    is_no_earlier
                        && (awaiting == before || messages.phase(awaiting) < messages.phase(before))
                });
                if !is_needless {
                    awaited.push((after, before));
                    give((after, before));
                }
            }
        }
        self.seen += order.len() as u32;
    }
}

/// The transitive reduction of the order, without the senders' own.
///
/// A vector clock holds, for each sender's slot, the number of phases whose messages are known to
/// be over. An order is needless if a later one into the same message implies it. Only the clocks
/// of a lane's last user and of a sender's latest messages can be read again, so only those are
/// kept.
pub(super) fn transitive_reduction(
    tree: &Tree,
    messages: &PhaseMessages,
    order: &MessageOrder,
) -> Vec<TokenOrder> {
    let mut senders = SenderOrders::new(tree.hosts(), messages);
    let mut clocks = VectorClocks::new(senders.slots(), messages.len());
    // The number of followers that may still read the clock of each message.
    let mut asked = vec![0u32; messages.len()];
    (0..messages.len() as u32)
        .flat_map(|message| order.earlier(message))
        .for_each(|&earlier| asked[earlier as usize] += 1);
    let mut place = vec![(0u32, 0 as PhaseCount); messages.len()];
    let mut kept = Vec::with_capacity(messages.len());
    for before in 0..messages.len() as u32 {
        let (src, phase) = (messages.src(before), messages.phase(before));
        let slot = senders.send(before, src, phase);
        let earlier = order.earlier(before);
        for (i, &after) in earlier.iter().enumerate() {
            let (its_slot, its_step) = place[after as usize];
            // The latest come first, and only a later one can know this one to be over.
            let mut later = earlier[..i].iter().map(|&later| clocks.clock(later));
            if messages.src(after) != src
                && !later.any(|clock| clock[its_slot as usize] >= its_step)
            {
                kept.push((after, before));
            }
        }
        let step = senders.steps(src) as PhaseCount;
        place[before as usize] = (slot as u32, step);
        if asked[before as usize] > 0 {
            clocks.join(before, earlier)[slot] = step;
            clocks.hold(before, asked[before as usize]);
        }
        earlier.iter().for_each(|&one| clocks.release(one));
    }
    kept
}
