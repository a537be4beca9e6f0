//! The time in which switches forward frames.
//!
//! A switch passes a frame on once it has all of it (store and forward: IEEE 802.1Q clause 8.6). Who waits for a
//! message waits for that on each link of its way; the slowest link's part lies in the time that the link is busy.
//! In ns-3 at 100 Mbit/s tokens between blocks of 2 kB, three switches apart, took four times as long as the blocks.
use super::{FRAME, HEADER, SEGMENT, lasting, wire};
use inventory::tree::Tree;

/// How long frames are on the longest way between two hosts.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Forwarding {
    /// Picoseconds for each octet of a frame, on all links of the way but the slowest.
    octet: u64,
}

impl Forwarding {
    /// Among these hosts.
    pub(crate) fn among(hosts: &Tree, used: &[u32]) -> Forwarding {
        // By node: the longest way down to a host, and its slowest link; `None` without a host below.
        let mut down: Vec<Option<(u64, u64)>> = vec![None; hosts.nodes() as usize];
        let mut longest = 0;
        for &node in hosts.top_down().iter().rev() {
            if hosts.is_host(node) && used[node as usize] > 0 {
                down[node as usize] = Some((0, 0));
            }
            let (Some((below, slow)), Some(parent)) = (down[node as usize], hosts.parent(node))
            else {
                continue;
            };
            // Nanoseconds of a thousand octets are picoseconds of one.
            let link = lasting(1000, hosts.rate(node));
            let (up, slow) = (below + link, slow.max(link));
            let other = &mut down[parent as usize];
            if let Some((beside, slower)) = *other {
                longest = longest.max(up + beside - slow.max(slower));
            }
            *other = (*other).max(Some((up, slow)));
        }
        Forwarding { octet: longest }
    }

    /// Nanoseconds from the end of a message of so many octets to the arrival of the token after it, beside what
    /// the slowest link is busy with them.
    pub(crate) fn last_frame_and_token(self, octets: u64) -> u64 {
        let frame = octets.saturating_add(HEADER).min(SEGMENT) + FRAME;
        self.octet.saturating_mul(frame + wire(0)) / 1000
    }
}

#[cfg(test)]
impl super::AlltoallTime {
    /// The same in heddle's lab, whose switches cut through: a port that was idle passes a frame on at once.
    pub(crate) fn cutting_through(self) -> super::AlltoallTime {
        super::AlltoallTime {
            forwarding: Forwarding::default(),
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use samples::trees::topology;

    #[test]
    fn the_longest_way_counts_without_its_slowest_link() {
        let tree = topology(
            "switches: [s0, s1, s2]
hosts: {n0: {switch: s0, rate: 100M}, n1: {switch: s0, rate: 100M}, n2: {switch: s1, rate: 1G}}
links: [{a: s0, b: s1, rate: 1G}, {a: s1, b: s2, rate: 10M}]
",
        );
        // From n0 to n1 over two links of 100 Mbit/s; to n2 over one and two of 1 Gbit/s.
        assert_eq!(Forwarding::among(&tree, &[1, 1, 1]).octet, 80_000);
        assert_eq!(Forwarding::among(&tree, &[1, 0, 1]).octet, 16_000);
        assert_eq!(Forwarding::among(&tree, &[1, 0, 0]).octet, 0);
        let full = 80 * (SEGMENT + FRAME + wire(0));
        let forwarding = Forwarding::among(&tree, &[1, 1, 1]);
        assert_eq!(forwarding.last_frame_and_token(1 << 20), full);
    }
}
