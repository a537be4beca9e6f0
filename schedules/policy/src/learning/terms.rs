//! The length and the allowed cost of a row of a way, by who measured that way before.
use std::time::Duration;

/// The rows of a way that is tried: long beside an agreement. Early in a job a shorter one has to do.
const ROWS: [Duration; 3] = [
    Duration::from_millis(30),
    Duration::from_millis(8),
    Duration::from_millis(2),
];
/// The first row in a job: whatever is expected, the way may take many times as long.
const FIRST: [Duration; 1] = [ROWS[2]];

/// The terms on which a row is tried.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct TrialTerms {
    /// The row takes about so long: the longest of these that can be paid for.
    pub(super) rows: &'static [Duration],
    /// The loss that is expected beside the fastest way counts so many times.
    pub(super) weight: u32,
    /// Each call counts for at least this part of one of the fastest way. A way that takes r times as
    /// long then costs (r - 1) / `least` hundredths of the time so far.
    pub(super) least: f64,
}

impl TrialTerms {
    /// The terms of a way that this job tried, or that earlier ones know. Those found it to be slower or
    /// guessed, so it may cost only a part of the budget.
    pub(super) fn of(is_tried: bool, is_known: bool) -> TrialTerms {
        let (rows, weight, least): (&'static [Duration], u32, f64) = match (is_tried, is_known) {
            (false, false) => (&FIRST, 1, 0.5),
            (false, true) => (&FIRST, 4, 0.1),
            (true, false) => (&ROWS, 1, 0.0),
            (true, true) => (&ROWS, 4, 0.0),
        };
        TrialTerms {
            rows,
            weight,
            least,
        }
    }
}
