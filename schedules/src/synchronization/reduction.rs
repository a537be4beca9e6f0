//! Which of the orders that hold anyway are told by tokens.
use super::clocks::{PhaseCount, VectorClocks};
use super::edge_lanes::MessageOrder;
use super::messages::{NOBODY, PhaseMessages, SenderOrders};
use inventory::tree::Tree;

/// An order to be told: the earlier message and the one that waits, by number.
pub(super) type TokenOrder = (u32, u32);

/// The order without the senders' own and without tokens that another one between the same hosts
/// makes needless: one that follows no earlier message and is awaited no later.
///
/// `in_turn` says of a teller whether it finds its messages to be over in the order of phases.
pub(super) fn chained(
    hosts: u32,
    messages: &PhaseMessages,
    order: &MessageOrder,
    teller: impl Fn(u32) -> u32,
    in_turn: impl Fn(u32) -> bool,
) -> Vec<TokenOrder> {
    // For each pair of hosts the latest order told of so far.
    let mut told: Vec<TokenOrder> = vec![(NOBODY, NOBODY); hosts as usize * hosts as usize];
    let mut kept = Vec::with_capacity(messages.len());
    for before in 0..messages.len() as u32 {
        let src = messages.src(before);
        for &after in order.of(before) {
            if messages.src(after) == src {
                continue;
            }
            let by = teller(after);
            let told = &mut told[by as usize * hosts as usize + src as usize];
            // Numbers ascend with the phases; mostly they say enough.
            let says_it = told.0 != NOBODY
                && told.0 >= after
                && (told.0 == after
                    || in_turn(by) && messages.phase(told.0) > messages.phase(after))
                && (told.1 == before || messages.phase(told.1) < messages.phase(before));
            if !says_it {
                *told = (after, before);
                kept.push((after, before));
            }
        }
    }
    kept
}

/// The transitive reduction of the order, without the senders' own.
///
/// A vector clock holds, per sender's slot, in how many phases its messages are known to be over.
/// An order is needless if a later one into the same message already knows of it. Only a lane's
/// last user, or what a sender sent last, can be asked again, so only those clocks are kept.
pub(super) fn transitive_reduction(
    tree: &Tree,
    messages: &PhaseMessages,
    order: &MessageOrder,
) -> Vec<TokenOrder> {
    let mut senders = SenderOrders::new(tree.hosts(), messages);
    let mut clocks = VectorClocks::new(senders.slots(), messages.len());
    // How often each message can still be asked is what its followers count down.
    let mut asked = vec![0u32; messages.len()];
    (0..messages.len() as u32)
        .flat_map(|message| order.of(message))
        .for_each(|&earlier| asked[earlier as usize] += 1);
    let mut place = vec![(0u32, 0 as PhaseCount); messages.len()];
    let mut kept = Vec::with_capacity(messages.len());
    for before in 0..messages.len() as u32 {
        let (src, phase) = (messages.src(before), messages.phase(before));
        let slot = senders.send(before, src, phase);
        let earlier = order.of(before);
        for (i, &after) in earlier.iter().enumerate() {
            let (its_slot, its_step) = place[after as usize];
            let implied = || {
                earlier[..i]
                    .iter()
                    .any(|&later| clocks.of(later)[its_slot as usize] >= its_step)
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
