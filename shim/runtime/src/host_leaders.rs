//! One rank a host, where hosts have several: these alone send reductions and broadcasts over the
//! network, so that each octet crosses a host's link once in each direction.

use std::collections::HashMap;
use std::ops::Range;

/// The leaders of a process set: the lowest rank of each host. A leader's number is its place among
/// them, in ascending order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostLeaders {
    ranks: Vec<u32>,
    /// Numbers, in the order of a ring.
    ring: Vec<u32>,
    /// By rank: the number of its host's leader.
    number: Vec<u32>,
}

impl HostLeaders {
    /// The leaders where rank `r` runs on host `host_of[r]`, along a ring of all ranks; `None` where
    /// each host has one rank.
    pub fn along_ring(ring: &[u32], host_of: &[u32]) -> Option<HostLeaders> {
        let mut of_host = HashMap::new();
        let mut ranks = Vec::new();
        let mut number = Vec::with_capacity(host_of.len());
        for (rank, &host) in (0..).zip(host_of) {
            number.push(*of_host.entry(host).or_insert_with(|| {
                ranks.push(rank);
                ranks.len() as u32 - 1
            }));
        }
        if ranks.len() == host_of.len() {
            return None;
        }
        let leaders = ring
            .iter()
            .filter_map(|rank| ranks.binary_search(rank).ok());
        Some(HostLeaders {
            ring: leaders.map(|leader| leader as u32).collect(),
            number,
            ranks,
        })
    }

    /// The ranks that lead, by number.
    pub fn ranks(&self) -> &[u32] {
        &self.ranks
    }

    /// Their numbers, in the order of the ring.
    pub fn ring(&self) -> &[u32] {
        &self.ring
    }

    /// The number of the leader on this rank's host.
    pub fn number(&self, rank: u32) -> u32 {
        self.number.get(rank as usize).copied().unwrap_or_default()
    }

    /// All ranks, host after host in the order of their leaders, those of a host in ascending order.
    pub fn by_host(&self) -> Vec<u32> {
        let mut ranks: Vec<u32> = (0..self.number.len() as u32).collect();
        ranks.sort_by_key(|&rank| self.number(rank));
        ranks
    }

    /// The ranks on the host of a leader, itself the first, in ascending order.
    pub fn followers(&self, number: u32) -> impl Iterator<Item = u32> {
        let ranks = (0..).zip(&self.number);
        ranks.filter_map(move |(rank, &leader)| (leader == number).then_some(rank))
    }

    /// The places of each host's blocks, by its leader's number, if all ranks' blocks of so many octets lie
    /// in that order.
    pub fn parts(&self, octets: impl Fn(u32) -> usize) -> Vec<Range<usize>> {
        let mut lengths = vec![0; self.ranks.len()];
        for (rank, &leader) in (0..).zip(&self.number) {
            lengths[leader as usize] += octets(rank);
        }
        let parts = lengths.into_iter().scan(0, |end, length| {
            let begin = *end;
            *end += length;
            Some(begin..*end)
        });
        parts.collect()
    }

    /// True if this rank leads.
    pub fn leads(&self, rank: u32) -> bool {
        self.ranks.binary_search(&rank).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_host_has_one_leader_and_the_ring_keeps_its_order() {
        let leaders = HostLeaders::along_ring(&[4, 5, 0, 2, 1, 3], &[0, 1, 0, 1, 2, 2]).unwrap();
        assert_eq!(leaders.ranks(), [0, 1, 4]);
        assert_eq!(leaders.ring(), [2, 0, 1]);
        let numbers: Vec<u32> = (0..6).map(|rank| leaders.number(rank)).collect();
        assert_eq!(numbers, [0, 1, 0, 1, 2, 2]);
        assert_eq!(leaders.by_host(), [0, 2, 1, 3, 4, 5]);
        assert_eq!(leaders.followers(1).collect::<Vec<_>>(), [1, 3]);
        assert_eq!(leaders.parts(|_| 10), [0..20, 20..40, 40..60]);
        let by_rank = leaders.parts(|rank| rank as usize);
        assert_eq!(by_rank, [0..2, 2..6, 6..15]);
        let leads: Vec<u32> = (0..6).filter(|&rank| leaders.leads(rank)).collect();
        assert_eq!(leads, leaders.ranks());
    }

    #[test]
    fn a_rank_a_host_needs_no_leader() {
        assert_eq!(HostLeaders::along_ring(&[1, 0], &[0, 1]), None);
    }
}
