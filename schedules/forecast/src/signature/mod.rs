//! The contention signature of a network, and the times it predicts.
//!
//! Source: contention-signature-alltoall, section IV equations 1 (contention-free), 4 and 5
//! (signature); the start-up time and bandwidth of a link are Hockney's. Input: ping-pong times
//! between two hosts, all-to-all times among `n` of them at four message sizes or more. Guarantee:
//! [`fit`] gives each parameter with its standard error and 95 % margin, or refuses and says what
//! is missing. Cost: O(samples²). Deviations: the paper gives no method to find `M`. Here every
//! measured size is tried, and the answer contains the two sizes between which `M` lies. The
//! paper's errors stay below 10 % only if the fitted run saturated the network (its section V.C):
//! fit with as many hosts as there are, or nearly.
mod fit;
mod regression;

pub use fit::{
    FitRefusal, MIN_HOSTS, MIN_SIZES, MIN_SPREAD, ParameterEstimate, PingPongFit, SampleSeries,
    SignatureFit, SizeThreshold, TimeSample, fit, ping_pong,
};

use inventory::Bytes;

/// A link that two hosts have to themselves: a message of `m` octets takes `alpha + beta * m`
/// seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hockney {
    /// Start-up time, seconds.
    pub alpha: f64,
    /// Seconds per octet, the inverse of the bandwidth.
    pub beta: f64,
}

/// The effect of contention on a link's two parameters when all hosts of a network exchange at
/// once.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ContentionSignature {
    /// Start-up time, seconds.
    pub alpha: f64,
    /// Seconds per octet.
    pub beta: f64,
    /// Contention ratio: the time of an octet divided by its time without contention.
    pub gamma: f64,
    /// Additional seconds of each message, from `threshold` on.
    pub delta: f64,
    /// `M`: the smallest message that pays `delta`.
    pub threshold: Bytes,
}

impl ContentionSignature {
    /// Equation 5: seconds of an all-to-all among `n` hosts with blocks of size `block`. Zero for
    /// one host.
    pub fn alltoall(&self, n: u64, block: Bytes) -> f64 {
        let delta = if block >= self.threshold {
            self.delta
        } else {
            0.0
        };
        peers(n) * (self.alpha + block.0 as f64 * self.beta * self.gamma + delta)
    }
}

fn peers(n: u64) -> f64 {
    n.saturating_sub(1) as f64
}

#[cfg(test)]
mod tests;
