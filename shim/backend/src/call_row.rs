//! Calls of one kind, counted alike on all ranks.
use policy::decision_table::Collective;

/// Calls of one kind, one after the other: the same on all ranks, so that ways can be taken in
/// turn.
#[derive(Debug, Default)]
pub(crate) struct CallRow {
    kind: Option<(Collective, u64)>,
    calls: u64,
}

impl CallRow {
    /// Counts a call; gives how many of its kind came just before.
    pub(crate) fn count(&mut self, collective: Collective, block: u64) -> u64 {
        let same = self.kind.replace((collective, block)) == Some((collective, block));
        self.calls = if same { self.calls + 1 } else { 0 };
        self.calls
    }
}
