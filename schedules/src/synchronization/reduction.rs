//! The choice of the orders that get tokens.
use super::clocks::{PhaseCount, VectorClocks};
use super::edge_lanes::MessageOrder;
use super::messages::{NOBODY, PhaseMessages, SenderOrders};
use inventory::tree::Tree;

/// An order that gets a token: the numbers of the earlier message and of the one that waits.
pub(super) type TokenOrder = (u32, u32);

/// The order without the senders' own. It leaves out each token that another token between the same
/// hosts makes needless, because the other one follows a message that is no earlier, and is awaited
/// no later.
///
/// `in_turn` tells whether the giver of a token finds its messages to be over in the order of
/// phases.
pub(super) fn chained(
    hosts: u32,
    messages: &PhaseMessages,
    order: &MessageOrder,
    teller: impl Fn(u32) -> u32,
    in_turn: impl Fn(u32) -> bool,
) -> Vec<TokenOrder> {
    // For each pair of hosts the latest token so far, its earlier message counted from 1. Reading a
    // large table takes long, so the first question has nearly always the same answer.
    let mut told: Vec<TokenOrder> = vec![(0, NOBODY); hosts as usize * hosts as usize];
    let mut kept = Vec::with_capacity(messages.len());
    for before in 0..messages.len() as u32 {
        let src = messages.src(before);
        for &after in order.earlier(before) {
            if messages.src(after) == src {
                continue;
            }
            let by = teller(after);
            let told = &mut told[by as usize * hosts as usize + src as usize];
            // Numbers ascend with the phases. They are mostly enough to decide.
            let says_it = told.0 > after
                && (told.0 == after + 1
                    || in_turn(by) && messages.phase(told.0 - 1) > messages.phase(after))
                && (told.1 == before || messages.phase(told.1) < messages.phase(before));
            if !says_it {
                *told = (after + 1, before);
                kept.push((after, before));
            }
        }
    }
    kept
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
            let implied = || {
                earlier[..i]
                    .iter()
                    .any(|&later| clocks.clock(later)[its_slot as usize] >= its_step)
            };
            if messages.src(after) != src && !implied() {
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
