//! Which way each kind of call went last, so that `HEDDLE_VERBOSE=2` tells of a decision when it is
//! new or another one, and only then.
use policy::decision_table::{Collective, Way};
use std::collections::BTreeMap;

/// A program that calls with ever new sizes is shown these many of them.
const MOST: usize = 256;

/// The last decisions.
#[derive(Debug, Default)]
pub struct LastDecisions {
    ways: BTreeMap<(Collective, u64), (Way, u64)>,
}

impl LastDecisions {
    /// Takes a decision; gives whether it differs from the last one of its kind.
    pub fn record_decision(
        &mut self,
        collective: Collective,
        block: u64,
        way: Way,
        epoch: u64,
    ) -> bool {
        if self.ways.len() >= MOST && !self.ways.contains_key(&(collective, block)) {
            return false;
        }
        self.ways.insert((collective, block), (way, epoch)) != Some((way, epoch))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_of_changes_only_and_of_so_many_sizes() {
        let mut decided = LastDecisions::default();
        let mut news =
            |block, way, epoch| decided.record_decision(Collective::Alltoall, block, way, epoch);
        let aapc: Way = "aapc".parse().unwrap();
        assert!(
            news(8, Way::Native, 1)
                && !news(8, Way::Native, 1)
                && news(8, aapc, 1)
                && news(8, aapc, 2)
                && news(8, Way::Native, 2)
        );
        assert_eq!(
            (100..1000).filter(|&block| news(block, aapc, 2)).count(),
            MOST - 1
        );
        assert!(news(8, aapc, 3));
    }
}
