//! The octets that each rank may have under way in an all-to-all of small blocks, so that no queue
//! of a switch port overflows. Then no block needs a token.
//!
//! Source: none of the papers. A token costs two frames and the time until it comes, which small
//! blocks do not last. TCP's acknowledgements come anyway, and tell each sender what has arrived.
//! Input: the tree of the hosts, and the ranks on each. Guarantee: while each rank has at most
//! [`OctetWindow::octets`] under way and blocks are no longer than [`OctetWindow::largest_block`],
//! no switch port has more than [`port_queue`] to send, in whatever order and at whatever pace ranks
//! send ([`crate::verify::window`]). Cost: O(nodes). Deviations: none.
use inventory::Bytes;
use inventory::tree::{EdgeNumber, NodeNumber, Tree};

/// The octets of blocks that the queue of each switch port is counted on to hold: what the tree says of
/// it, less a sixteenth for the headers of frames.
pub fn port_queue(tree: &Tree) -> Bytes {
    Bytes(tree.queue().0 - tree.queue().0 / 16)
}

/// The octets of a rank that may be sent and not acknowledged. A single block may always be, however
/// long it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct OctetWindow {
    /// Octets of one rank for all others.
    pub octets: Bytes,
    /// The longest blocks for which that keeps all queues.
    pub largest_block: Bytes,
}

impl OctetWindow {
    /// The largest window for a process set whose rank `r` runs on host `host_of[r]`.
    ///
    /// All senders before a port may fill their windows with blocks that leave through it. A host
    /// with one rank is another matter: each sender has only one block for it.
    pub fn of(hosts: &Tree, host_of: &[NodeNumber]) -> OctetWindow {
        let below = ranks_below(hosts, host_of);
        let all = below[hosts.root() as usize];
        let Bytes(queue) = port_queue(hosts);
        let (mut octets, mut block) = (queue, queue);
        for edge in switch_ports(hosts) {
            let at = edge / 2;
            let own = below[at as usize];
            let (senders, receivers) = if edge.is_multiple_of(2) {
                (own, all - own)
            } else {
                (all - own, own)
            };
            if senders == 0 || receivers == 0 {
                continue;
            }
            let share = queue / senders;
            block = block.min(share);
            if receivers > 1 {
                octets = octets.min(share);
            }
        }
        OctetWindow {
            octets: Bytes(octets),
            largest_block: Bytes(block),
        }
    }
}

/// The edges whose frames queue in a port of a switch, and not on the host that sends them.
fn switch_ports(hosts: &Tree) -> impl Iterator<Item = EdgeNumber> + '_ {
    (0..hosts.edges()).filter(|&edge| {
        hosts
            .ends(edge)
            .is_some_and(|(from, _)| !hosts.is_host(from))
    })
}

/// By node: the ranks below it.
fn ranks_below(hosts: &Tree, host_of: &[NodeNumber]) -> Vec<u64> {
    let mut below: Vec<u64> = vec![0; hosts.nodes() as usize];
    host_of.iter().for_each(|&host| below[host as usize] += 1);
    for &node in hosts.top_down().iter().rev() {
        if let Some(parent) = hosts.parent(node) {
            below[parent as usize] += below[node as usize];
        }
    }
    below
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify;
    use proptest::prelude::*;
    use samples::trees::{any_tree, star};

    fn host_of(ranks: &[u32]) -> Vec<u32> {
        (0..)
            .zip(ranks)
            .flat_map(|(host, &ranks)| std::iter::repeat_n(host, ranks as usize))
            .collect()
    }

    #[test]
    fn trunks_bound_the_window_and_the_ports_of_hosts_the_blocks() {
        let window = |hosts: &[u32], ranks| {
            let tree = star(hosts);
            let OctetWindow {
                octets,
                largest_block,
            } = OctetWindow::of(&tree, &host_of(&vec![ranks; tree.hosts() as usize]));
            (octets.0, largest_block.0)
        };
        let queue = 120 << 10;
        assert_eq!(window(&[24], 1), (queue, queue / 23));
        assert_eq!(window(&[4, 4, 4, 4], 1), (queue / 12, queue / 15));
        assert_eq!(window(&[2, 2], 4), (queue / 12, queue / 12));
        assert_eq!(window(&[1], 4), (queue, queue));
    }

    proptest! {
        #[test]
        fn the_window_keeps_every_queue_and_no_larger_one_does(
            tree in any_tree(2..=12),
            more in prop::collection::vec(1..4u32, 12),
        ) {
            let host_of = host_of(&more[..tree.hosts() as usize]);
            let window = OctetWindow::of(&tree, &host_of);
            let kept = |window| verify::window(&tree, &host_of, window);
            prop_assert_eq!(kept(window), Ok(()));
            let twice = |octets: Bytes| Bytes(2 * octets.0);
            let longer = OctetWindow {
                largest_block: twice(window.largest_block),
                octets: twice(window.octets),
            };
            prop_assert!(kept(longer).is_err(), "{:?}", longer);
        }
    }
}
