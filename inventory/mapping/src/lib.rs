//! The tree of switches between hosts, from what flows between the hosts measured.
mod host_rates;
mod host_set;
mod likelihood;
mod misfit;
mod proposals;
mod rounds;
mod search;
mod session;
mod sharing;
#[cfg(test)]
mod simulated;
#[cfg(test)]
mod tests;
mod trunk_tree;

pub use host_rates::HostRates;
pub use host_set::{HostSet, MOST_HOSTS};
pub use misfit::TreeMisfit;
pub use rounds::{HostFlow, MeasuredFlow, MeasuredRound};
pub use session::{FoundTrunk, MapSession, MappedTree};
pub use trunk_tree::{MappedTrunk, TrunkRates};
