//! Sends flows between hosts and measures how fast they are.
//!
//! Each host runs a [`FlowPeer`]. One [`FlowCoordinator`] tells them, round after round, who sends
//! to whom, and gathers the rates that the receivers saw.
//!
//! The daemon uses the same rounds. There the orders come in the answers to what a host tells its
//! controller ([`FlowStatement`], [`FlowReply`]), and a [`FlowPort`] takes flows only.
//!
//! A round has three steps, so that its flows start together:
//!
//! 1. Every sender announces its flow to its receiver over TCP. Each peer says that it is ready.
//! 2. The coordinator says *go* to all.
//! 3. A moment later senders send datagrams for the time of the round. Receivers tell the rate.
//!
//! A survey finds the ways of flows ([`count_ways`]): hosts send segments from chosen ports, and counters of
//! cables tell which of them carried each.
mod coordinator;
mod datagrams;
mod measurement;
mod peer;
mod survey;
#[cfg(test)]
mod tests;
mod wire;

pub use coordinator::{FlowCoordinator, FlowError, PATIENCE, PeerChannel};
pub use measurement::{
    BELIEVED, FlowMeasurement, MeasurementError, MeasurementLimits, StoppedMeasurement,
    TreelessNetwork, line_rate, measure_tree,
};
pub use peer::{FlowPeer, FlowPort, PreparedRound};
pub use survey::{AskedPair, SurveyLimits, SurveyReport, count_ways};
pub use wire::{
    FlowReply, FlowStatement, FlowStep, PeerAnswer, PeerOrder, PortFlow, PortFlows, RoundOrder,
    RoundOutcome, SEGMENT, SessionKey,
};
