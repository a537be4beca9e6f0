//! Carries out the parts of all ranks as far as tokens and blocks allow, each part by itself.
//! Blocks arrive when they are sent.
use super::super::*;
use std::collections::HashSet;

/// The events until no rank could go on.
#[derive(Debug)]
pub(crate) struct CarriedParts {
    /// The ends of the transfers in the order in which they began.
    pub(crate) order: Vec<Message>,
    /// The blocks that reached their destination. A block is listed as often as it came.
    pub(crate) arrived: Vec<Message>,
}

impl CarriedParts {
    /// True if each pair's block has come exactly once.
    pub(crate) fn is_everything(&self, hosts: u32) -> bool {
        let pairs = (0..hosts).flat_map(|src| (0..hosts).map(move |dst| Message { src, dst }));
        let mut arrived = self.arrived.clone();
        arrived.sort_unstable();
        arrived
            .into_iter()
            .eq(pairs.filter(|pair| pair.src != pair.dst))
    }
}

/// Panics if a rank sends other blocks than it names or than the receiver expects, if a token is
/// given twice or left over, and if ranks wait for each other forever.
pub(crate) fn carried_out(parts: &[RankPart]) -> CarriedParts {
    let mut run = PartsRun {
        parts,
        came: parts
            .iter()
            .map(|part| vec![Vec::new(); part.receives.len()])
            .collect(),
        next: vec![(0, 0); parts.len()],
        tokens: HashSet::new(),
        order: Vec::new(),
    };
    while parts.iter().filter(|part| run.goes_on(part)).count() > 0 {}
    for part in parts {
        let sent = run.next[part.rank as usize].0;
        assert_eq!(sent, part.sends.len(), "rank {} hangs", part.rank);
        let came = &run.came[part.rank as usize];
        let planned = part.receives.iter().map(|receive| &receive.blocks);
        assert!(planned.eq(came), "rank {} lacks blocks", part.rank);
    }
    assert!(run.tokens.is_empty(), "tokens left: {:?}", run.tokens);
    let arrived = parts.iter().zip(run.came).flat_map(|(part, came)| {
        came.into_iter()
            .flatten()
            .filter(|block| block.dst == part.rank)
    });
    CarriedParts {
        arrived: arrived.collect(),
        order: run.order,
    }
}

struct PartsRun<'a> {
    parts: &'a [RankPart],
    /// By rank and receive: the blocks that have come.
    came: Vec<Vec<Vec<Message>>>,
    /// By rank: the transfer it sends next, and the next block of it.
    next: Vec<(usize, usize)>,
    /// The giver, the taker and the number of each token that was given and not taken.
    tokens: HashSet<(NodeNumber, NodeNumber, u32)>,
    order: Vec<Message>,
}

impl<'a> PartsRun<'a> {
    /// Sends the rank's next transfer, or the next block of a transfer that streams, if possible.
    fn goes_on(&mut self, part: &RankPart) -> bool {
        let (transfer, first) = self.next[part.rank as usize];
        let Some(send) = part.sends.get(transfer) else {
            return false;
        };
        let count = if part.streams { 1 } else { send.blocks.len() };
        let blocks = &send.blocks[first..][..count];
        let here = blocks.iter().all(|block| self.holds(part, block));
        let token = |token: &SyncToken| (token.peer, part.rank, token.id);
        if !here || !send.wait.iter().all(|t| self.tokens.contains(&token(t))) {
            return false;
        }
        for taken in &send.wait {
            self.tokens.remove(&token(taken));
        }
        if first == 0 {
            self.order.push(Message {
                src: part.rank,
                dst: send.peer,
            });
        }
        let give = self.deliver(part, send, blocks);
        let is_over = first + count == send.blocks.len();
        if is_over {
            self.give(part.rank, &send.give);
            self.give(send.peer, give);
        }
        self.next[part.rank as usize] = if is_over {
            (transfer + 1, 0)
        } else {
            (transfer, first + count)
        };
        true
    }

    /// True if the rank holds a block, and the block is the expected one.
    fn holds(&self, part: &RankPart, block: &OutgoingBlock) -> bool {
        let BlockOrigin::Received {
            transfer,
            block: at,
        } = block.origin
        else {
            assert_eq!(block.block.src, part.rank, "not its own");
            return true;
        };
        let held = self.came[part.rank as usize][transfer as usize].get(at as usize);
        // Around a ring one block is for all hosts.
        assert!(
            held.is_none_or(
                |held| part.streams && held.src == block.block.src || *held == block.block
            )
        );
        held.is_some()
    }

    /// Gives the receiver the blocks. Returns the tokens that the receiver gives once it has all of
    /// them.
    fn deliver(
        &mut self,
        part: &RankPart,
        send: &OutgoingTransfer,
        blocks: &[OutgoingBlock],
    ) -> &'a [SyncToken] {
        let receiver = &self.parts[send.peer as usize];
        let came = &mut self.came[send.peer as usize];
        let (receive, came) = receiver
            .receives
            .iter()
            .zip(came)
            .find(|(receive, came)| receive.peer == part.rank && came.len() < receive.blocks.len())
            .expect("the peer receives it");
        came.extend(blocks.iter().map(|block| block.block));
        assert!(receive.blocks.starts_with(came));
        &receive.give
    }

    fn give(&mut self, giver: NodeNumber, tokens: &[SyncToken]) {
        for token in tokens {
            let is_new = self.tokens.insert((giver, token.peer, token.id));
            assert!(is_new, "the same token twice");
        }
    }
}
