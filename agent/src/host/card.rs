//! A card, as far as frames go by it.
use inventory::Mac;

/// One card. Cards come, go and change their names; their number stays for as long as they do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetworkCard {
    /// The system's number for it, above zero.
    pub index: u32,
    /// The system's name for it, now.
    pub name: String,
    /// The address it sends from.
    pub mac: Mac,
    /// Whether it is set up and has a carrier.
    pub up: bool,
}
