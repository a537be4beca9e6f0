//! How much data a call moves.
use runtime::call_forecast::{CallPlace, CallSize, NOT_SERVED};

/// The amount of data a call moves, in octets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CallAmount {
    /// A block; where they differ, the mean of those this rank receives.
    pub(crate) block: u64,
    /// True if every block is small enough to be served.
    pub(crate) fits: bool,
    /// True if each rank knows its own blocks only.
    pub(crate) differs: bool,
    /// Octets that this rank moves for each rank.
    pub(crate) moved: u64,
    /// The ranks agreed on it before the call, or each knows it alone.
    pub(crate) is_agreed: bool,
    /// No block is far larger than the mean, as far as all ranks know.
    pub(crate) is_even: bool,
    /// Where the call has one among others whose lengths it repeats.
    pub(crate) place: Option<CallPlace>,
}

impl CallAmount {
    /// Octets that a rank moves for each rank, if their number is the same on all ranks.
    pub(crate) fn known_to_all(self) -> Option<u64> {
        (!self.differs).then_some(self.moved)
    }

    /// The same of a call whose size the ranks agreed on or forecast.
    pub(crate) fn with_size(self, size: CallSize) -> CallAmount {
        if size.block == NOT_SERVED {
            return CallAmount {
                fits: false,
                ..self
            };
        }
        CallAmount {
            block: size.block,
            fits: true,
            is_agreed: size.is_agreed,
            is_even: size.is_even,
            place: size.place,
            ..self
        }
    }
}
