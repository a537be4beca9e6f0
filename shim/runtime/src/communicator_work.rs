//! When a communicator has done enough for heddle to look at it.
//!
//! Until then its ranks agree on nothing, plan nothing and connect nothing: a call passes to the
//! library at once. What a call on it has in it to gain is not known before, but what a look costs
//! is: some ten small messages a rank, and a plan. So each rank counts the *work* of the calls, one
//! for each and one more for each 4 KiB that this rank exchanges in it, and the ranks look when
//! that is worth a hundred looks. The count is the same on all ranks, without a message.
use crate::settings::RuntimeSettings;
use std::sync::OnceLock;

/// About 0.2 s of calls on a network of 1 Gbit/s, however large they are; a look takes some 2 ms
/// there.
const ENOUGH: u64 = 4096;
/// The work of a call whose size no rank knows alone: each rank has a message for each other one in
/// it, and so few hundred of them are worth a look.
const OF_UNKNOWN_SIZE: u64 = 16;

/// The work of the calls on a communicator so far.
#[derive(Debug, Default)]
pub struct CommunicatorWork {
    work: u64,
    prepared: bool,
}

/// The step to take at a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallAction {
    /// Pass it on.
    Pass,
    /// Pass it on; rank 0 makes ready for the look. Said once, half-way.
    Prepare,
    /// Look.
    Look,
}

impl CommunicatorWork {
    /// Counts a call in which this rank exchanges blocks of `block` octets with each of `ranks`, if
    /// all of them know so.
    pub fn count(&mut self, ranks: u64, block: Option<u64>) -> CallAction {
        self.count_up_to(enough(), ranks, block)
    }

    fn count_up_to(&mut self, enough: u64, ranks: u64, block: Option<u64>) -> CallAction {
        let exchanged = |block: u64| (block.saturating_mul(ranks) >> 12).saturating_add(1);
        let work = block.map_or(OF_UNKNOWN_SIZE, exchanged);
        self.work = self.work.saturating_add(work);
        if self.work >= enough {
            CallAction::Look
        } else if 2 * self.work >= enough && !self.prepared {
            self.prepared = true;
            CallAction::Prepare
        } else {
            CallAction::Pass
        }
    }
}

/// True if the first call counts already: then rank 0 waits for the epoch.
pub fn from_the_first_call() -> bool {
    enough() == 0
}

/// `HEDDLE_AFTER`, and nothing where a way is forced: then it is to be taken from the first call
/// on.
fn enough() -> u64 {
    static ENOUGH_HERE: OnceLock<u64> = OnceLock::new();
    *ENOUGH_HERE.get_or_init(|| enough_by(|name| std::env::var(name).ok()))
}

fn enough_by(var: impl Fn(&str) -> Option<String>) -> u64 {
    let asked = var("HEDDLE_AFTER").and_then(|text| text.parse().ok());
    let forced = RuntimeSettings::read(var).0.force.is_any();
    asked.unwrap_or(if forced { 0 } else { ENOUGH })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_calls_pass_and_many_are_looked_at_once_prepared() {
        let mut worth = CommunicatorWork::default();
        let steps: Vec<CallAction> = (0..8).map(|_| worth.count_up_to(8, 4, Some(8))).collect();
        assert_eq!(
            steps[..4],
            [
                CallAction::Pass,
                CallAction::Pass,
                CallAction::Pass,
                CallAction::Prepare
            ]
        );
        assert_eq!(
            steps[4..],
            [
                CallAction::Pass,
                CallAction::Pass,
                CallAction::Pass,
                CallAction::Look
            ]
        );
    }

    #[test]
    fn large_blocks_count_for_more() {
        let calls = |block| {
            let mut worth = CommunicatorWork::default();
            (1..)
                .find(|_| worth.count_up_to(ENOUGH, 16, block) == CallAction::Look)
                .unwrap()
        };
        let of = |block| calls(Some(block));
        assert_eq!((of(8), of(1 << 16), of(1 << 30)), (4096, 16, 1));
        assert_eq!(calls(None), 256);
    }

    #[test]
    fn a_forced_way_is_taken_at_once() {
        let of = |pairs: &'static [(&str, &str)]| {
            enough_by(|name| pairs.iter().find(|p| p.0 == name).map(|p| p.1.to_owned()))
        };
        assert_eq!(of(&[]), ENOUGH);
        assert_eq!(of(&[("HEDDLE_FORCE", "ring")]), 0);
        assert_eq!(of(&[("HEDDLE_TURNS", "native,ring")]), 0);
        assert_eq!(of(&[("HEDDLE_FORCE", "ring"), ("HEDDLE_AFTER", "3")]), 3);
        assert_eq!(of(&[("HEDDLE_AFTER", "soon")]), ENOUGH);
    }
}
