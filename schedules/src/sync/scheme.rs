//! The ways to keep phases apart, by the names of aapc-2007 Table 5.
//!
//! A *mechanism* and a block of phases make a scheme: within a block of 1 there is nothing to keep apart, so it is the paper's
//! `all`; larger ones are its `partial (bs)`.
use super::{Reduction, SyncKind, between};
use crate::capacities::Capacities;
use crate::message::{Message, Sync};
use inventory::Tree;
use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

/// What keeps messages of different phases apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mechanism {
    /// The order of phases only.
    None,
    /// As [`Mechanism::None`], with messages that carry nothing for idle hosts ([`super::dummy::dummies`]).
    Dummy,
    /// Tokens of the sender of the earlier message.
    Sender,
    /// Tokens of its receiver.
    Receiver,
    /// Barriers between blocks.
    Barrier,
    /// Barriers between blocks, sender's tokens within.
    BarrierSender,
    /// Barriers between blocks, receiver's tokens within.
    BarrierReceiver,
}

impl Mechanism {
    /// All, in the order of Table 5.
    pub const ALL: [Mechanism; 7] = [
        Mechanism::None,
        Mechanism::Dummy,
        Mechanism::Sender,
        Mechanism::Receiver,
        Mechanism::Barrier,
        Mechanism::BarrierSender,
        Mechanism::BarrierReceiver,
    ];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Mechanism::None => "none",
            Mechanism::Dummy => "dummy",
            Mechanism::Sender => "sender",
            Mechanism::Receiver => "receiver",
            Mechanism::Barrier => "barrier",
            Mechanism::BarrierSender => "barrier+sender",
            Mechanism::BarrierReceiver => "barrier+receiver",
        }
    }

    /// Whether it can be confined to what is between blocks, or within them.
    fn knows_blocks(self) -> bool {
        !matches!(self, Mechanism::None | Mechanism::Dummy)
    }
}

impl fmt::Display for Mechanism {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Mechanism {
    type Err = SchemeError;

    fn from_str(text: &str) -> Result<Self, SchemeError> {
        Mechanism::ALL.into_iter().find(|mechanism| mechanism.name() == text).ok_or_else(|| SchemeError::Unknown(text.to_owned()))
    }
}

/// What is no [`Scheme`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SchemeError {
    /// No mechanism's name, or a scheme written otherwise than `name` or `name(block)`.
    #[error(
        "synchronization \"{0}\": expected none, dummy, sender, receiver, barrier, barrier+sender or barrier+receiver, the last five with a block as in sender(4) if wanted"
    )]
    Unknown(String),
    /// A block where nothing is synchronized.
    #[error("synchronization {0}: takes no block of phases, it keeps none apart")]
    NoBlocks(Mechanism),
    /// Blocks that leave tokens nothing to do.
    #[error("synchronization {0}: a block of {1} leaves its tokens nothing to keep apart; give one of at least 2 phases")]
    TooShort(Mechanism, u32),
    /// A block of no phases.
    #[error("synchronization {0}: a block of 0 phases is none; give at least 1")]
    Empty(Mechanism),
}

/// A line of aapc-2007's Table 5. In files it is its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Scheme {
    mechanism: Mechanism,
    block: NonZeroU32,
}

impl Scheme {
    /// No synchronization.
    pub const NO_SYNC: Scheme = Scheme { mechanism: Mechanism::None, block: NonZeroU32::MIN };

    /// `mechanism` with blocks of so many phases; without, each phase is a block of its own.
    ///
    /// # Errors
    /// [`SchemeError`] where the two do not go together: blocks of 0 phases; any for none and dummy; of less than two
    /// phases, or not said, for barriers with tokens.
    pub fn new(mechanism: Mechanism, block: Option<u32>) -> Result<Scheme, SchemeError> {
        match block {
            Some(0) => Err(SchemeError::Empty(mechanism)),
            Some(_) if !mechanism.knows_blocks() => Err(SchemeError::NoBlocks(mechanism)),
            None | Some(1) if matches!(mechanism, Mechanism::BarrierSender | Mechanism::BarrierReceiver) => {
                Err(SchemeError::TooShort(mechanism, 1))
            }
            _ => Ok(Scheme { mechanism, block: block.and_then(NonZeroU32::new).unwrap_or(NonZeroU32::MIN) }),
        }
    }

    /// Every scheme of Table 5, those with blocks for each of `blocks`; sizes below 2 add nothing.
    pub fn table_5(blocks: &[u32]) -> Vec<Scheme> {
        let sized = |mechanism| {
            let all = Scheme::new(mechanism, None).ok();
            let partial = blocks.iter().filter(|&&block| block > 1).filter_map(move |&block| Scheme::new(mechanism, Some(block)).ok());
            all.into_iter().chain(partial)
        };
        Mechanism::ALL.into_iter().flat_map(sized).collect()
    }

    /// What it keeps phases apart with.
    pub fn mechanism(self) -> Mechanism {
        self.mechanism
    }

    /// Phases a block.
    pub fn block(self) -> u32 {
        self.block.get()
    }

    /// Whether messages that would collide are always kept apart (*fully synchronized*, section 5).
    pub fn keeps_all_apart(self) -> bool {
        match self.mechanism {
            Mechanism::None | Mechanism::Dummy => false,
            Mechanism::Sender | Mechanism::Receiver | Mechanism::Barrier => self.block.get() == 1,
            Mechanism::BarrierSender | Mechanism::BarrierReceiver => true,
        }
    }

    /// Who gives its tokens; [`SyncKind::None`] if it has none.
    pub fn tokens(self) -> SyncKind {
        match self.mechanism {
            Mechanism::None | Mechanism::Dummy | Mechanism::Barrier => SyncKind::None,
            Mechanism::Sender | Mechanism::BarrierSender => SyncKind::Sender,
            Mechanism::Receiver | Mechanism::BarrierReceiver => SyncKind::Receiver,
        }
    }

    /// Whether all hosts meet in a barrier before this phase, counted from 0.
    pub fn barrier_before(self, phase: usize) -> bool {
        let barriers = matches!(self.mechanism, Mechanism::Barrier | Mechanism::BarrierSender | Mechanism::BarrierReceiver);
        barriers && phase > 0 && phase.is_multiple_of(self.block.get() as usize)
    }

    /// Its tokens, in the order of the messages that wait: those of the full scheme that are not within a block; where there are
    /// barriers between blocks, those that are.
    pub fn syncs(self, tree: &Tree, capacities: &Capacities, phases: &[Vec<Message>], reduction: Reduction) -> Vec<Sync> {
        let block = |phase: u32| phase / self.block;
        let within = self.mechanism != self.tokens().into();
        between(tree, capacities, phases, self.tokens(), reduction, |after, before| (block(after) == block(before)) == within)
    }
}

impl From<SyncKind> for Mechanism {
    fn from(kind: SyncKind) -> Mechanism {
        match kind {
            SyncKind::None => Mechanism::None,
            SyncKind::Sender => Mechanism::Sender,
            SyncKind::Receiver => Mechanism::Receiver,
            SyncKind::Barrier => Mechanism::Barrier,
        }
    }
}

impl From<SyncKind> for Scheme {
    /// The scheme that says it for every phase.
    fn from(kind: SyncKind) -> Scheme {
        Scheme { mechanism: kind.into(), block: NonZeroU32::MIN }
    }
}

/// `sender`, or `sender(4)` with a block.
impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.block.get() {
            1 => f.pad(self.mechanism.name()),
            block => f.pad(&format!("{}({block})", self.mechanism)),
        }
    }
}

impl From<Scheme> for String {
    fn from(scheme: Scheme) -> String {
        scheme.to_string()
    }
}

impl TryFrom<String> for Scheme {
    type Error = SchemeError;

    fn try_from(name: String) -> Result<Scheme, SchemeError> {
        name.parse()
    }
}

impl FromStr for Scheme {
    type Err = SchemeError;

    fn from_str(text: &str) -> Result<Self, SchemeError> {
        let unknown = || SchemeError::Unknown(text.to_owned());
        let (name, block) = match text.split_once('(') {
            None => (text, None),
            Some((name, rest)) => (name, Some(rest.strip_suffix(')').and_then(|block| block.parse().ok()).ok_or_else(unknown)?)),
        };
        Scheme::new(name.parse().map_err(|_| unknown())?, block)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aapc;
    use crate::sample::{any_tree, star};
    use proptest::prelude::*;
    use std::collections::HashMap;

    #[test]
    fn every_line_of_table_5_has_its_name() {
        let found: Vec<String> = Scheme::table_5(&[1, 4]).iter().map(Scheme::to_string).collect();
        let expected = [
            "none",
            "dummy",
            "sender",
            "sender(4)",
            "receiver",
            "receiver(4)",
            "barrier",
            "barrier(4)",
            "barrier+sender(4)",
            "barrier+receiver(4)",
        ];
        assert_eq!(found, expected);
        for scheme in Scheme::table_5(&[2, 16]) {
            assert_eq!(scheme.to_string().parse(), Ok(scheme));
        }
    }

    #[test]
    fn what_does_not_go_together_is_refused() {
        let refused = |text: &str| text.parse::<Scheme>().unwrap_err().to_string();
        assert!(refused("sender(0)").contains("sender: a block of 0 phases"));
        assert!(refused("dummy(3)").contains("dummy: takes no block"));
        assert!(refused("barrier+sender").contains("at least 2"));
        for nonsense in ["", "tuned", "sender(", "sender(4", "sender(-1)", "sender(4)x", "(4)"] {
            assert!(refused(nonsense).contains(&format!("\"{nonsense}\": expected none, dummy")), "{nonsense}");
        }
    }

    #[test]
    fn barriers_stand_between_blocks() {
        let scheme: Scheme = "barrier+receiver(3)".parse().unwrap();
        assert_eq!((0..8).filter(|&phase| scheme.barrier_before(phase)).collect::<Vec<_>>(), [3, 6]);
        let all = Scheme::from(SyncKind::Barrier);
        assert_eq!((0..3).map(|phase| all.barrier_before(phase)).collect::<Vec<_>>(), [false, true, true]);
        assert!((0..9).all(|phase| !"sender(3)".parse::<Scheme>().unwrap().barrier_before(phase)));
    }

    #[test]
    fn a_block_longer_than_the_schedule_leaves_all_or_nothing() {
        let tree = star(&[3, 3]);
        let (phases, unit) = (aapc::phases(&tree), Capacities::unit(&tree));
        let count = |text: &str| text.parse::<Scheme>().unwrap().syncs(&tree, &unit, &phases, Reduction::Minimal).len();
        assert_eq!((count("sender(100)"), count("barrier+sender(100)")), (0, count("sender")));
        assert_eq!((count("none"), count("dummy"), count("barrier(2)")), (0, 0, 0));
    }

    proptest! {
        #[test]
        fn blocks_part_the_tokens_of_the_full_scheme(tree in any_tree(3..=20), block in 2..9u32, receiver in any::<bool>()) {
            let (phases, unit) = (aapc::phases(&tree), Capacities::unit(&tree));
            let phase: HashMap<Message, u32> = (0u32..).zip(&phases).flat_map(|(p, ms)| ms.iter().map(move |&m| (m, p))).collect();
            let (partial, hybrid) = if receiver { (Mechanism::Receiver, Mechanism::BarrierReceiver) } else { (Mechanism::Sender, Mechanism::BarrierSender) };
            let syncs = |mechanism, block| Scheme::new(mechanism, block).unwrap().syncs(&tree, &unit, &phases, Reduction::Minimal);
            let (between, within) = (syncs(partial, Some(block)), syncs(hybrid, Some(block)));
            prop_assert!(between.iter().all(|s| phase[&s.after] / block != phase[&s.before] / block));
            prop_assert!(within.iter().all(|s| phase[&s.after] / block == phase[&s.before] / block));
            let mut parts = [between, within].concat();
            let mut full = syncs(partial, None);
            parts.sort();
            full.sort();
            prop_assert_eq!(parts, full);
        }
    }
}
