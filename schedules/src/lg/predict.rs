//! How long LG takes, from the contention signature of each cluster and the parameters of the link between them.
//!
//! Source: contention-signature-alltoall, equation 7: the slower cluster's own all-to-all, then `ceil(n2 / n1)` messages of
//! `n1` blocks over the backbone one after the other.
//! Input: clusters with at least one host each.
//! Guarantee: equation 7 for two clusters.
//! Cost: O(clusters²).
//! Deviations: for more clusters a host sends to the others in turn, so the terms of equation 7 add up, and the cluster with
//! the largest sum counts. Equation 7 takes a message for `n1` blocks, which is their mean; where `n1` does not divide `n2` some hold
//! more ([`super::Lg::seconds`] counts them).
use crate::signature::{Hockney, Signature};
use inventory::Bytes;

/// A cluster as the model sees it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Site {
    /// Its own network.
    pub signature: Signature,
    /// Its hosts.
    pub hosts: u64,
}

/// Seconds of an all-to-all of blocks of `block` by LG among `sites` joined by `backbone`.
pub fn seconds(sites: &[Site], backbone: Hockney, block: Bytes) -> f64 {
    let local = sites.iter().map(|s| s.signature.alltoall(s.hosts, block)).fold(0.0, f64::max);
    let abroad = |x: usize| -> f64 {
        let others = sites.iter().enumerate().filter(|&(y, _)| y != x);
        others.map(|(_, y)| exchange(sites[x].hosts, y.hosts, backbone, block)).sum()
    };
    local + (0..sites.len()).map(abroad).fold(0.0, f64::max)
}

/// Both clusters' messages to each other, every host one at a time.
fn exchange(n: u64, other: u64, backbone: Hockney, block: Bytes) -> f64 {
    let (few, many) = (n.min(other), n.max(other));
    many.div_ceil(few.max(1)) as f64 * (backbone.alpha + backbone.beta * block.0 as f64 * few as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BACKBONE: Hockney = Hockney { alpha: 0.01, beta: 1e-9 };

    fn site(hosts: u64, gamma: f64) -> Site {
        Site { signature: Signature { alpha: 5e-5, beta: 8e-9, gamma, delta: 0.005, threshold: Bytes(1024) }, hosts }
    }

    #[test]
    fn equation_7_whichever_cluster_is_first() {
        let (small, large) = (site(3, 2.0), site(7, 4.0));
        let expected = large.signature.alltoall(7, Bytes(4096)) + 3.0 * (0.01 + 1e-9 * 4096.0 * 3.0);
        for sites in [[small, large], [large, small]] {
            assert!((seconds(&sites, BACKBONE, Bytes(4096)) - expected).abs() < 1e-12);
        }
    }

    #[test]
    fn one_cluster_uses_no_backbone_and_each_further_one_adds_its_messages() {
        let eight = site(8, 2.0);
        let times: Vec<f64> = (1..=3).map(|k| seconds(&vec![eight; k], BACKBONE, Bytes(1 << 20))).collect();
        assert_eq!(times[0], eight.signature.alltoall(8, Bytes(1 << 20)));
        let message = 0.01 + 1e-9 * 8.0 * f64::from(1 << 20);
        assert!((times[1] - times[0] - message).abs() < 1e-12 && (times[2] - times[1] - message).abs() < 1e-12);
        assert_eq!(seconds(&[], BACKBONE, Bytes(1)), 0.0);
    }
}
