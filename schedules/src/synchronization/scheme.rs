//! The schemes that keep phases apart, by the names of aapc-2007 Table 5.
//!
//! A scheme is a *mechanism* and a block of phases. Within a block of 1 nothing needs to be kept
//! apart, so such a scheme is the paper's `all`; larger blocks are its `partial (bs)`.
use super::{SyncKind, SyncReduction, ahead, between};
use crate::capacities::EdgeCapacities;
use crate::message::{Message, Synchronization};
use crate::stages::MessagePaths;
use inventory::Tree;
use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

/// The mechanism that keeps messages of different phases apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SyncMechanism {
    /// Only the order of phases.
    None,
    /// As [`SyncMechanism::None`], with empty messages for idle hosts ([`super::dummy::dummies`]).
    Dummy,
    /// Tokens from the sender of the earlier message.
    Sender,
    /// Tokens from the receiver of the earlier message.
    Receiver,
    /// Barriers between blocks.
    Barrier,
    /// Barriers between blocks, senders' tokens within.
    BarrierSender,
    /// Barriers between blocks, receivers' tokens within.
    BarrierReceiver,
    /// Tokens from receivers, so early that a number of messages is under way on each lane of a link
    /// ([`super::credit`]). Not in Table 5.
    Credit,
    /// As [`SyncMechanism::None`], and each sender has at most so many octets under way as the
    /// queues of switches hold ([`crate::window`]). Not in Table 5.
    Window,
}

impl SyncMechanism {
    /// All mechanisms of Table 5, in its order.
    pub const ALL: [SyncMechanism; 7] = [
        SyncMechanism::None,
        SyncMechanism::Dummy,
        SyncMechanism::Sender,
        SyncMechanism::Receiver,
        SyncMechanism::Barrier,
        SyncMechanism::BarrierSender,
        SyncMechanism::BarrierReceiver,
    ];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            SyncMechanism::None => "none",
            SyncMechanism::Dummy => "dummy",
            SyncMechanism::Sender => "sender",
            SyncMechanism::Receiver => "receiver",
            SyncMechanism::Barrier => "barrier",
            SyncMechanism::BarrierSender => "barrier+sender",
            SyncMechanism::BarrierReceiver => "barrier+receiver",
            SyncMechanism::Credit => "credit",
            SyncMechanism::Window => "window",
        }
    }

    /// True if the mechanism can be confined to the boundaries between blocks, or to their inside.
    fn knows_blocks(self) -> bool {
        !matches!(
            self,
            SyncMechanism::None | SyncMechanism::Dummy | SyncMechanism::Window
        )
    }
}

impl fmt::Display for SyncMechanism {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for SyncMechanism {
    type Err = SyncSchemeError;

    fn from_str(text: &str) -> Result<Self, SyncSchemeError> {
        SyncMechanism::ALL
            .into_iter()
            .chain([SyncMechanism::Credit, SyncMechanism::Window])
            .find(|mechanism| mechanism.name() == text)
            .ok_or_else(|| SyncSchemeError::Unknown(text.to_owned()))
    }
}

/// The reason why a text or a pair is not a [`SyncScheme`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SyncSchemeError {
    /// The name of an unknown mechanism, or a scheme that is not written as `name` or
    /// `name(block)`.
    #[error(
        "synchronization \"{0}\": expected none, dummy, sender, receiver, barrier, barrier+sender, \
         barrier+receiver, credit or window; those with tokens or barriers take a block as in \
         sender(4), and credit a number of messages, as in credit(4x2) with a number of rounds from 2 to 16"
    )]
    Unknown(String),
    /// A block for a mechanism that synchronizes nothing.
    #[error("synchronization {0}: takes no block of phases, it keeps none apart")]
    NoBlocks(SyncMechanism),
    /// Blocks so small that tokens have nothing to keep apart.
    #[error(
        "synchronization {0}: a block of {1} leaves its tokens nothing to keep apart; give one of \
         at least 2 phases"
    )]
    TooShort(SyncMechanism, u32),
    /// A block of zero phases.
    #[error("synchronization {0}: a block of 0 phases is none; give at least 1")]
    Empty(SyncMechanism),
}

/// A line of aapc-2007's Table 5, [`SyncScheme::WINDOW`] or [`SyncScheme::credit`]. Files contain its name.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(into = "String", try_from = "String")]
pub struct SyncScheme {
    mechanism: SyncMechanism,
    block: NonZeroU32,
    rounds: NonZeroU32,
}

impl SyncScheme {
    /// No synchronization.
    pub const NO_SYNC: SyncScheme = SyncScheme::of_phases(SyncMechanism::None, NonZeroU32::MIN);
    /// No token, and few octets under way.
    pub const WINDOW: SyncScheme = SyncScheme::of_phases(SyncMechanism::Window, NonZeroU32::MIN);
    /// The most rounds of a scheme.
    pub const MOST_ROUNDS: u32 = 16;

    const fn of_phases(mechanism: SyncMechanism, block: NonZeroU32) -> SyncScheme {
        SyncScheme {
            mechanism,
            block,
            rounds: NonZeroU32::MIN,
        }
    }

    /// The scheme of a mechanism with blocks of so many phases. Without a number each phase is a
    /// block of its own.
    ///
    /// # Errors
    /// [`SyncSchemeError`] if the two do not go together: blocks of 0 phases; any block for none
    /// and dummy; for barriers with tokens, no block or one of less than two phases.
    pub fn new(
        mechanism: SyncMechanism,
        block: Option<u32>,
    ) -> Result<SyncScheme, SyncSchemeError> {
        match block {
            Some(0) => Err(SyncSchemeError::Empty(mechanism)),
            Some(_) if !mechanism.knows_blocks() => Err(SyncSchemeError::NoBlocks(mechanism)),
            None | Some(1)
                if matches!(
                    mechanism,
                    SyncMechanism::BarrierSender | SyncMechanism::BarrierReceiver
                ) =>
            {
                Err(SyncSchemeError::TooShort(mechanism, 1))
            }
            _ => Ok(SyncScheme::of_phases(
                mechanism,
                block.and_then(NonZeroU32::new).unwrap_or(NonZeroU32::MIN),
            )),
        }
    }

    /// Every scheme of Table 5. Schemes with blocks come once for each of `blocks`; sizes below 2
    /// add nothing.
    pub fn table_5(blocks: &[u32]) -> Vec<SyncScheme> {
        SyncMechanism::ALL
            .into_iter()
            .flat_map(|mechanism| {
                let all = SyncScheme::new(mechanism, None).ok();
                let partial = blocks
                    .iter()
                    .filter(|&&block| block > 1)
                    .filter_map(move |&block| SyncScheme::new(mechanism, Some(block)).ok());
                all.into_iter().chain(partial)
            })
            .collect()
    }

    /// So many messages are under way on each lane of a link.
    pub fn credit(messages: NonZeroU32) -> SyncScheme {
        SyncScheme::of_phases(SyncMechanism::Credit, messages)
    }

    /// The same where all phases go so many times, each time with the next part of every block; only credit does.
    /// [`SyncScheme::MOST_ROUNDS`] at most.
    pub fn in_rounds(self, rounds: NonZeroU32) -> SyncScheme {
        let goes_on = self.mechanism == SyncMechanism::Credit;
        let most = NonZeroU32::MIN.saturating_add(SyncScheme::MOST_ROUNDS - 1);
        SyncScheme {
            rounds: if goes_on {
                rounds.min(most)
            } else {
                self.rounds
            },
            ..self
        }
    }

    /// The times that all phases go.
    pub fn rounds(self) -> u32 {
        self.rounds.get()
    }

    /// The mechanism.
    pub fn mechanism(self) -> SyncMechanism {
        self.mechanism
    }

    /// Phases per block; for credit, messages.
    pub fn block(self) -> u32 {
        self.block.get()
    }

    /// True if messages that would collide are always kept apart (*fully synchronized*, section 5).
    pub fn keeps_all_apart(self) -> bool {
        match self.mechanism {
            SyncMechanism::None
            | SyncMechanism::Dummy
            | SyncMechanism::Credit
            | SyncMechanism::Window => false,
            SyncMechanism::Sender | SyncMechanism::Receiver | SyncMechanism::Barrier => {
                self.block.get() == 1
            }
            SyncMechanism::BarrierSender | SyncMechanism::BarrierReceiver => true,
        }
    }

    /// The giver of the scheme's tokens; [`SyncKind::None`] if it has no tokens.
    pub fn tokens(self) -> SyncKind {
        match self.mechanism {
            SyncMechanism::None
            | SyncMechanism::Dummy
            | SyncMechanism::Barrier
            | SyncMechanism::Window => SyncKind::None,
            SyncMechanism::Sender | SyncMechanism::BarrierSender => SyncKind::Sender,
            SyncMechanism::Receiver | SyncMechanism::BarrierReceiver | SyncMechanism::Credit => {
                SyncKind::Receiver
            }
        }
    }

    /// True if all hosts meet in a barrier before this phase, counted from 0.
    pub fn barrier_before(self, phase: usize) -> bool {
        let barriers = matches!(
            self.mechanism,
            SyncMechanism::Barrier | SyncMechanism::BarrierSender | SyncMechanism::BarrierReceiver
        );
        barriers && phase > 0 && phase.is_multiple_of(self.block.get() as usize)
    }

    /// The tokens of the scheme, in the order of the messages that wait. They are the tokens of the
    /// full scheme between blocks; or within blocks, if barriers are between the blocks.
    pub fn syncs(
        self,
        tree: &Tree,
        capacities: &EdgeCapacities,
        phases: &[Vec<Message>],
        reduction: SyncReduction,
    ) -> Vec<Synchronization> {
        let paths = MessagePaths::new(tree, &[]);
        self.syncs_on(&paths, capacities, phases, reduction)
    }

    /// [`SyncScheme::syncs`] of messages that take these paths. Only credit counts by link.
    pub(crate) fn syncs_on(
        self,
        paths: &MessagePaths<'_>,
        capacities: &EdgeCapacities,
        phases: &[Vec<Message>],
        reduction: SyncReduction,
    ) -> Vec<Synchronization> {
        if self.mechanism == SyncMechanism::Credit {
            return ahead(paths, capacities, phases, self.block());
        }
        let tree = paths.tree();
        let within = self.mechanism != self.tokens().into();
        between(
            tree,
            capacities,
            phases,
            self.tokens(),
            reduction,
            |after, before| (after / self.block == before / self.block) == within,
        )
    }
}

impl From<SyncKind> for SyncMechanism {
    fn from(kind: SyncKind) -> SyncMechanism {
        match kind {
            SyncKind::None => SyncMechanism::None,
            SyncKind::Sender => SyncMechanism::Sender,
            SyncKind::Receiver => SyncMechanism::Receiver,
            SyncKind::Barrier => SyncMechanism::Barrier,
        }
    }
}

impl From<SyncKind> for SyncScheme {
    /// The scheme that applies this kind to every phase.
    fn from(kind: SyncKind) -> SyncScheme {
        SyncScheme::of_phases(kind.into(), NonZeroU32::MIN)
    }
}

/// `sender`, or `sender(4)` with a block; `credit(4x2)` in two rounds.
impl fmt::Display for SyncScheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.block.get(), self.rounds.get()) {
            (1, 1) => f.pad(self.mechanism.name()),
            (block, 1) => f.pad(&format!("{}({block})", self.mechanism)),
            (block, rounds) => f.pad(&format!("{}({block}x{rounds})", self.mechanism)),
        }
    }
}

impl From<SyncScheme> for String {
    fn from(scheme: SyncScheme) -> String {
        scheme.to_string()
    }
}

impl TryFrom<String> for SyncScheme {
    type Error = SyncSchemeError;

    fn try_from(name: String) -> Result<SyncScheme, SyncSchemeError> {
        name.parse()
    }
}

impl FromStr for SyncScheme {
    type Err = SyncSchemeError;

    fn from_str(text: &str) -> Result<Self, SyncSchemeError> {
        let unknown = || SyncSchemeError::Unknown(text.to_owned());
        let (name, number) = match text.split_once('(') {
            None => (text, None),
            Some((name, rest)) => (name, Some(rest.strip_suffix(')').ok_or_else(unknown)?)),
        };
        let mechanism: SyncMechanism = name.parse().map_err(|_| unknown())?;
        let (block, rounds) = match number.and_then(|number| number.split_once('x')) {
            None => (number, None),
            Some((block, rounds)) => (Some(block), Some(rounds)),
        };
        let block = block.map(str::parse).transpose().map_err(|_| unknown())?;
        let scheme = SyncScheme::new(mechanism, block)?;
        let Some(rounds) = rounds else {
            return Ok(scheme);
        };
        let rounds: NonZeroU32 = rounds.parse().map_err(|_| unknown())?;
        let cut = scheme.in_rounds(rounds);
        let is_possible = rounds > NonZeroU32::MIN && cut.rounds == rounds;
        is_possible.then_some(cut).ok_or_else(unknown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aapc;
    use proptest::prelude::*;
    use samples::trees::{any_tree, star};
    use std::collections::HashMap;

    #[test]
    fn every_line_of_table_5_has_its_name() {
        let found: Vec<String> = SyncScheme::table_5(&[1, 4])
            .iter()
            .map(SyncScheme::to_string)
            .collect();
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
        let [few, most] = [4, 16].map(|number| NonZeroU32::new(number).unwrap());
        let in_rounds = [few, most].map(|rounds| SyncScheme::credit(few).in_rounds(rounds));
        for scheme in SyncScheme::table_5(&[2, 16]).into_iter().chain(in_rounds) {
            assert_eq!(scheme.to_string().parse(), Ok(scheme));
        }
    }

    #[test]
    fn what_does_not_go_together_is_refused() {
        let refused = |text: &str| text.parse::<SyncScheme>().unwrap_err().to_string();
        assert!(refused("sender(0)").contains("sender: a block of 0 phases"));
        assert!(refused("dummy(3)").contains("dummy: takes no block"));
        assert!(refused("barrier+sender").contains("at least 2"));
        for nonsense in [
            "",
            "tuned",
            "sender(",
            "sender(4",
            "sender(-1)",
            "sender(4)x",
            "(4)",
            "credit(4x)",
            "credit(4x1)",
            "credit(4x17)",
            "receiver(4x2)",
        ] {
            assert!(
                refused(nonsense).contains(&format!("\"{nonsense}\": expected none, dummy")),
                "{nonsense}"
            );
        }
    }

    #[test]
    fn barriers_stand_between_blocks() {
        let scheme: SyncScheme = "barrier+receiver(3)".parse().unwrap();
        assert_eq!(
            (0..8)
                .filter(|&phase| scheme.barrier_before(phase))
                .collect::<Vec<_>>(),
            [3, 6]
        );
        let all = SyncScheme::from(SyncKind::Barrier);
        assert_eq!(
            (0..3)
                .map(|phase| all.barrier_before(phase))
                .collect::<Vec<_>>(),
            [false, true, true]
        );
        assert!((0..9).all(|phase| {
            !"sender(3)"
                .parse::<SyncScheme>()
                .unwrap()
                .barrier_before(phase)
        }));
    }

    #[test]
    fn a_block_longer_than_the_schedule_leaves_all_or_nothing() {
        let tree = star(&[3, 3]);
        let (phases, unit) = (aapc::phases(&tree), EdgeCapacities::unit(&tree));
        let count = |text: &str| {
            text.parse::<SyncScheme>()
                .unwrap()
                .syncs(&tree, &unit, &phases, SyncReduction::Minimal)
                .len()
        };
        assert_eq!(
            (count("sender(100)"), count("barrier+sender(100)")),
            (0, count("sender"))
        );
        assert_eq!(
            (count("none"), count("dummy"), count("barrier(2)")),
            (0, 0, 0)
        );
    }

    proptest! {
        #[test]
        fn blocks_part_the_tokens_of_the_full_scheme(
            tree in any_tree(3..=20),
            block in 2..9u32,
            receiver in any::<bool>(),
        ) {
            let (phases, unit) = (aapc::phases(&tree), EdgeCapacities::unit(&tree));
            let phase: HashMap<Message, u32> = (0u32..)
                .zip(&phases)
                .flat_map(|(p, ms)| ms.iter().map(move |&m| (m, p)))
                .collect();
            let (partial, hybrid) = if receiver {
                (SyncMechanism::Receiver, SyncMechanism::BarrierReceiver)
            } else {
                (SyncMechanism::Sender, SyncMechanism::BarrierSender)
            };
            let syncs = |mechanism, block| {
                SyncScheme::new(mechanism, block).unwrap().syncs(
                    &tree,
                    &unit,
                    &phases,
                    SyncReduction::Minimal,
                )
            };
            let (between, within) = (syncs(partial, Some(block)), syncs(hybrid, Some(block)));
            prop_assert!(
                between
                    .iter()
                    .all(|s| phase[&s.after] / block != phase[&s.before] / block)
            );
            prop_assert!(
                within
                    .iter()
                    .all(|s| phase[&s.after] / block == phase[&s.before] / block)
            );
            let mut parts = [between, within].concat();
            let mut full = syncs(partial, None);
            parts.sort();
            full.sort();
            prop_assert_eq!(parts, full);
        }
    }
}
