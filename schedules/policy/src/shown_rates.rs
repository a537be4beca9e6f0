//! The rates that a call has shown: it ended sooner than the published ones allow.
//!
//! Source: own. Input: a tree, the ranks on its hosts, and the time of a call. Guarantee: each link that
//! is named carried what the call must send over it ([`schedules::bound`]), so it is at least as fast as
//! shown, if its blocks crossed the tree at all. Cost: one pass over the links.
use crate::decision_table::{Collective, CollectiveTraffic};
use crate::recorded_name::RecordedName;
use inventory::natural_order::natural;
use inventory::{BitsPerSec, Bytes, Tree};
use schedules::bound;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

pub use inventory::alarm::arguments::and_more_links;

/// A call that takes less than the bound by more than this factor shows that rates are wrong: clocks and
/// headers make less.
pub const TOO_FAST: f64 = 1.25;

/// A call that ended sooner than the published rates allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FastCall<C = Collective> {
    pub collective: C,
    /// The size of its blocks.
    pub block: Bytes,
    /// Its time, in nanoseconds.
    pub took_ns: u64,
}

/// The same in a record, which another version of heddle may have written.
pub type RecordedFastCall = FastCall<RecordedName<Collective>>;

impl RecordedFastCall {
    /// The call, if this version knows its collective.
    pub fn known(&self) -> Option<FastCall> {
        Some(FastCall {
            collective: *self.collective.known()?,
            block: self.block,
            took_ns: self.took_ns,
        })
    }
}

impl From<FastCall> for RecordedFastCall {
    fn from(call: FastCall) -> RecordedFastCall {
        FastCall {
            collective: call.collective.into(),
            block: call.block,
            took_ns: call.took_ns,
        }
    }
}

impl fmt::Display for FastCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (took, Bytes(block)) = (Duration::from_nanos(self.took_ns), self.block);
        write!(f, "{} of {block} B a block in {took:.1?}", self.collective)
    }
}

/// A link that is faster than published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FasterLink {
    pub ends: (String, String),
    /// Its published rate.
    pub published: BitsPerSec,
    /// The rate that it carried at least.
    pub shown: BitsPerSec,
}

/// The links that a call showed to be faster than published, with `ranks[h]` ranks on host `h` of the tree
/// (missing entries: none); the most wrong one first. None where no link alone makes the bound.
pub fn faster_links(tree: &Tree, ranks: &[u32], call: &FastCall) -> Vec<FasterLink> {
    let blocks = match call.collective.traffic() {
        CollectiveTraffic::Exchange => bound::exchange_blocks,
        CollectiveTraffic::Gather | CollectiveTraffic::CombineForEach => bound::gather_blocks,
        CollectiveTraffic::Combine | CollectiveTraffic::Spread => bound::spread_blocks,
    };
    let took = Duration::from_nanos(call.took_ns.max(1)).as_secs_f64();
    let mut links: Vec<(u32, f64)> = Vec::new();
    for (edge, load) in bound::edge_loads(tree, ranks, blocks) {
        let factor = load.seconds(call.block) / took;
        match links.last_mut() {
            // The other direction of the same cable.
            Some((link, most)) if *link == edge / 2 => *most = most.max(factor),
            _ => links.push((edge / 2, factor)),
        }
    }
    links.retain(|&(_, factor)| factor > TOO_FAST);
    links.sort_by(|a, b| b.1.total_cmp(&a.1));
    links
        .into_iter()
        .filter_map(|(link, factor)| {
            let published = tree.rate(link);
            let (a, b) = tree.ends(2 * link)?;
            let mut ends = [a, b].map(|end| tree.name(end).to_owned());
            ends.sort_by_cached_key(|end| natural(end));
            Some(FasterLink {
                ends: ends.into(),
                published,
                shown: BitsPerSec((published.0 as f64 * factor) as u64),
            })
        })
        .collect()
}

impl fmt::Display for FasterLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ((a, b), published, shown) = (&self.ends, self.published, self.shown);
        write!(
            f,
            "link {a}-{b}: published as {published}, carried at least {shown}"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use samples::trees::topology;

    fn two_switches() -> Tree {
        topology(
            "switches: [s0, s1]\nhosts: {a: {switch: s0}, b: {switch: s0}, c: {switch: s1}, d: {switch: s1}}\n\
             links: [{a: s0, b: s1, rate: 100M}]",
        )
    }

    fn call(collective: Collective, took: f64) -> FastCall {
        FastCall {
            collective,
            block: Bytes(1 << 20),
            took_ns: (took * 1e9) as u64,
        }
    }

    #[test]
    fn the_link_that_carried_more_than_it_can_is_named_with_its_rate() {
        let tree = two_switches();
        let bound = bound::alltoall_seconds(&tree, &[1; 4], Bytes(1 << 20));
        let links = |took| faster_links(&tree, &[1; 4], &call(Collective::Alltoall, took));
        assert_eq!(links(bound), []);
        let [trunk] = links(bound / 8.0).try_into().unwrap();
        assert!(trunk.shown.0.abs_diff(800_000_000) < 1_000_000, "{trunk}");
        assert!(
            trunk
                .to_string()
                .starts_with("link s0-s1: published as 100M"),
            "{trunk}"
        );
        // So soon, and the hosts' links are faster, too.
        assert_eq!(links(bound / 40.0).len(), 5);
    }

    #[test]
    fn ranks_of_one_side_show_nothing_of_the_trunk() {
        let tree = two_switches();
        let soon = call(Collective::Allgather, 1e-6);
        let links = faster_links(&tree, &[1, 1], &soon);
        let named =
            |link: &FasterLink| link.ends.0.starts_with('s') && link.ends.1.starts_with('s');
        assert_eq!((links.len(), links.iter().any(named)), (2, false));
    }
}
