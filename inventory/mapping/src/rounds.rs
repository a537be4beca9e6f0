//! Rounds of flows: what is sent at once, and how fast it went.
use crate::host_set::HostSet;

/// Bytes from one host to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct HostFlow {
    /// The sender.
    pub from: usize,
    /// The receiver.
    pub to: usize,
}

/// A flow with its rate in bit/s of payload, as its receiver saw it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeasuredFlow {
    /// The ends.
    pub flow: HostFlow,
    /// Payload bits a second.
    pub rate: f64,
}

/// Flows that were sent at once: each host sends at most one and receives at most one.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MeasuredRound {
    /// The flows, at most [`crate::MOST_HOSTS`].
    pub flows: Vec<MeasuredFlow>,
}

impl MeasuredRound {
    /// Flows with their rates.
    #[cfg(test)]
    pub(crate) fn new(flows: &[HostFlow], rates: &[f64]) -> MeasuredRound {
        MeasuredRound {
            flows: flows
                .iter()
                .zip(rates)
                .map(|(&flow, &rate)| MeasuredFlow { flow, rate })
                .collect(),
        }
    }

    /// The flows out of `hosts`, and those into them, by their places in the round.
    pub(crate) fn crossing(&self, hosts: HostSet) -> [u128; 2] {
        crossing(self.flows.iter().map(|f| f.flow), hosts)
    }
}

/// The flows out of `hosts`, and those into them, as bits.
pub(crate) fn crossing(flows: impl Iterator<Item = HostFlow>, hosts: HostSet) -> [u128; 2] {
    let (mut out, mut into) = (0, 0);
    for (place, flow) in flows.enumerate() {
        match (hosts.contains(flow.from), hosts.contains(flow.to)) {
            (true, false) => out |= 1 << place,
            (false, true) => into |= 1 << place,
            _ => {}
        }
    }
    [out, into]
}
