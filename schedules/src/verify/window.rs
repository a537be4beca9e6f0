//! The octets that can be under way over each switch port, counted pair by pair.
use super::{NodeNames, ScheduleViolation};
use crate::window::{OctetWindow, port_queue};
use inventory::Bytes;
use inventory::tree::{NodeNumber, Tree};

/// The octets that the ranks can send over an edge.
#[derive(Debug, Clone, Copy, Default)]
struct EdgeSenders {
    /// Blocks of one all-to-all.
    blocks: u64,
    /// Ranks that send any of them.
    ranks: u64,
    /// One more than the last of these ranks.
    last: usize,
}

/// Checks that no port of a switch ever has more octets to send than [`port_queue`], while each rank
/// has at most a window of them under way, or one block. Rank `r` runs on host `host_of[r]`.
///
/// # Errors
/// [`ScheduleViolation::Overflow`] with the first port that can overflow.
pub fn window(
    hosts: &Tree,
    host_of: &[NodeNumber],
    window: OctetWindow,
) -> Result<(), ScheduleViolation> {
    let mut senders = vec![EdgeSenders::default(); hosts.edges() as usize];
    for (rank, &from) in (1..).zip(host_of) {
        for &to in host_of {
            hosts.path(from, to, |edge| {
                let edge = &mut senders[edge as usize];
                edge.blocks += 1;
                edge.ranks += u64::from(edge.last != rank);
                edge.last = rank;
            });
        }
    }
    let (octets, block) = (window.octets.0, window.largest_block.0);
    let Bytes(queue) = port_queue(hosts);
    for (edge, senders) in (0..).zip(&senders) {
        let Some((from, _)) = hosts.ends(edge) else {
            continue;
        };
        let by_blocks = senders.blocks.saturating_mul(block);
        let by_ranks = senders.ranks.saturating_mul(octets.max(block));
        let most = by_blocks.min(by_ranks);
        if most > queue && !hosts.is_host(from) {
            return Err(ScheduleViolation::Overflow {
                edge: NodeNames(hosts).edge(edge),
                octets: most,
                queue,
            });
        }
    }
    Ok(())
}
