//! The messages between clusters: the proxies, and the blocks that each of them carries.
//!
//! Source: lg-2008 section 4, Algorithm 1. Input: clusters X and Y of nX and nY hosts, for every
//! ordered pair. Guarantee: every block from X to Y is in one message, and `max(nX, nY)` messages
//! carry them all. Two hosts that exchange messages between clusters do so in both directions. For
//! two clusters the pairs are those of the paper's Figure 3. Cost: O(blocks). Deviations:
//! - Where X is the larger cluster, the paper stores the block of sender u for y with node
//!   `floor(u/n1)*n1 + y`. Where n1 does not divide n2 that node need not exist: of 3 + 7 nodes,
//!   M9,1 and M9,2 are lost. Here the proxies of y share the senders among them.
//! - The printed inter-cluster loop begins at i = 1, which leaves out host 0, and counts `k in [0,
//!   n1]` one too far.
//! - For more than two clusters the pairing is shifted by the clusters' numbers, so that pairs of
//!   clusters load different hosts.
use super::Transfer;
use super::clusters::ClusterPartition;
use crate::message::Message;
use inventory::tree::NodeNumber;

/// One message from each proxy to its destination, for every ordered pair of clusters.
pub(super) fn messages(clusters: &ClusterPartition) -> Vec<Transfer> {
    let list = clusters.list();
    let pairs = (0..list.len())
        .flat_map(|x| (0..list.len()).map(move |y| (x, y)))
        .filter(|(x, y)| x != y);
    pairs
        .flat_map(|(x, y)| between(&list[x].hosts, &list[y].hosts, x < y, x + y - 1))
        .collect()
}

/// The messages from hosts `from` to hosts `to`. Where both sides have as many hosts, `first`
/// decides which one counts as the smaller.
fn between(from: &[NodeNumber], to: &[NodeNumber], first: bool, shift: usize) -> Vec<Transfer> {
    let gathers = from.len() < to.len() || (from.len() == to.len() && first);
    let mut messages = Vec::with_capacity(from.len().max(to.len()));
    for (y, &dst) in to.iter().enumerate() {
        let blocks: Vec<Message> = from.iter().map(|&src| Message { src, dst }).collect();
        if gathers {
            messages.push(Transfer {
                from: from[(y + shift) % from.len()],
                to: dst,
                blocks,
            });
        } else {
            let proxies: Vec<NodeNumber> = (0..from.len())
                .filter(|x| (x + shift) % to.len() == y)
                .map(|x| from[x])
                .collect();
            let shares = shares(&blocks, proxies.len());
            messages.extend(
                proxies
                    .into_iter()
                    .zip(shares)
                    .map(|(from, blocks)| Transfer {
                        from,
                        to: dst,
                        blocks,
                    }),
            );
        }
    }
    messages
}

/// Cuts blocks into `parts` runs of about equal length. None is empty where there are at least as
/// many blocks as parts.
fn shares(blocks: &[Message], parts: usize) -> impl Iterator<Item = Vec<Message>> {
    (0..parts).map(move |part| {
        let [begin, end] = [part, part + 1].map(|part| (part * blocks.len()).div_ceil(parts));
        blocks[begin..end].to_vec()
    })
}
