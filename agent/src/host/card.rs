//! A card, as far as it matters for frames.
use inventory::Mac;

/// One card. Cards come, go and change their names. The number of a card stays the same while the
/// card exists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetworkCard {
    /// The system's number of the card, above zero.
    pub index: u32,
    /// The card's present name.
    pub name: String,
    /// The source address of its frames.
    pub mac: Mac,
    /// True if the card is up and has a carrier.
    pub up: bool,
    /// How often it lost its link since the system started, as far as known.
    pub losses: Option<u32>,
}
