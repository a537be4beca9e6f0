//! Rank 0's message to the others. By it, every rank acts on the same view of the shared directory.
use crate::held_epoch::HeldEpoch;
use crate::tracing::recorder::TraceOrder;
use policy::forced::ForcedWays;
use serde::{Deserialize, Serialize};

/// Rank 0's word.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum RootDirective {
    /// Nothing new: go on as you are.
    Keep,
    /// There is nothing to follow, and why.
    Aside(String),
    /// Follow this epoch.
    Follow {
        /// [`directory::epoch::LeanEpoch`] as bytes, without the epoch where all ranks hold it.
        lean: Vec<u8>,
        /// One way at every size.
        force: ForcedWays,
        /// Learn ways from the calls of the job.
        learns: bool,
        /// Look whether the library's messages cross the published tree.
        looks: bool,
        /// Record what each rank does when.
        trace: Option<TraceOrder>,
    },
}

impl RootDirective {
    /// The same word for ranks that hold this epoch.
    #[must_use]
    pub fn to_holders(mut self, held: &HeldEpoch) -> RootDirective {
        if let RootDirective::Follow { lean, .. } = &mut self {
            *lean = held.shorten(std::mem::take(lean));
        }
        self
    }

    /// As bytes; none for [`RootDirective::Keep`], the usual word.
    pub fn to_bytes(&self) -> Vec<u8> {
        match self {
            RootDirective::Keep => Vec::new(),
            word => postcard::to_stdvec(word)
                .unwrap_or_else(|e| unreachable!("bytes and text always serialize: {e}")),
        }
    }

    /// Reads what [`RootDirective::to_bytes`] wrote. Bytes of another heddle's word mean: stand
    /// aside.
    pub fn from_bytes(bytes: &[u8]) -> RootDirective {
        match bytes {
            [] => RootDirective::Keep,
            bytes => postcard::from_bytes(bytes).unwrap_or_else(|e| {
                RootDirective::Aside(format!("rank 0 runs another version of heddle: {e}"))
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_word_arrives() {
        let follow = RootDirective::Follow {
            lean: vec![1, 2, 3],
            force: ForcedWays::default(),
            learns: true,
            looks: false,
            trace: Some(TraceOrder {
                dir: "/traces".into(),
                job: 7,
            }),
        };
        for word in [
            RootDirective::Keep,
            RootDirective::Aside("no epoch".into()),
            follow,
        ] {
            assert_eq!(RootDirective::from_bytes(&word.to_bytes()), word);
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_word(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let _ = RootDirective::from_bytes(&bytes);
        }
    }
}
