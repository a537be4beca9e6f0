//! How long LG takes, from the contention signature of each cluster and the parameters of the link between them.
//!
//! Source: contention-signature-alltoall, equation 7: the slower cluster's own all-to-all, then `ceil(n2 / n1)` messages of
//! `n1` blocks over the backbone one after the other.
//! Input: clusters with at least one host each.
//! Guarantee: equation 7 for two clusters.
//! Cost: O(clusters²).
//! Deviations: for more clusters a host sends to the others in turn, so the terms of equation 7 add up, and the cluster with
//! the largest sum counts. Equation 7 takes every message over the backbone for `n1` blocks, which is their mean, and leaves out
//! that local messages carry blocks to be passed on; [`planned`] counts what a plan really sends.
use super::{Lg, Transfer};
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

/// Seconds that the steps of `plan` take one after the other: each lasts as long as its longest message, whose blocks are `block`
/// each. `signatures` are the clusters', in their order; a cluster without one counts as infinitely fast.
pub fn planned(plan: &Lg, signatures: &[Signature], backbone: Hockney, block: Bytes) -> f64 {
    let mut cluster = vec![0; plan.hosts.len()];
    plan.clusters.iter().enumerate().for_each(|(number, c)| c.hosts.iter().for_each(|&host| cluster[host as usize] = number));
    let seconds = |t: &Transfer| {
        let message = Bytes(block.0.saturating_mul(t.blocks.len() as u64));
        let [from, to] = [t.from, t.to].map(|host| cluster[host as usize]);
        // A message of an all-to-all is the share of one peer.
        if from == to { signatures.get(from).map_or(0.0, |s| s.alltoall(2, message)) } else { backbone.seconds(message) }
    };
    plan.steps.iter().map(|step| step.iter().map(seconds).fold(0.0, f64::max)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lg::plan;
    use crate::lg::tests::runs;
    use crate::sample::star;

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

    #[test]
    fn a_plan_takes_what_equation_7_says_and_what_local_messages_carry_for_others() {
        let (tree, eight) = (star(&[8, 8]), site(8, 2.0));
        let plan = plan(&tree, &runs(&tree, &[8, 8]), None);
        let block = Bytes(1 << 16);
        let passed_on = 7.0 * eight.signature.gamma * eight.signature.beta * block.0 as f64;
        let expected = seconds(&[eight, eight], BACKBONE, block) + passed_on;
        assert!((planned(&plan, &[eight.signature; 2], BACKBONE, block) - expected).abs() < 1e-12);
        let one = self::plan(&tree, &runs(&tree, &[16]), None);
        let busy = one.steps.len() as f64 * eight.signature.alltoall(2, block);
        assert!((planned(&one, &[eight.signature], BACKBONE, block) - busy).abs() < 1e-9);
    }

    #[test]
    fn thirty_and_thirty_machines_of_the_paper() {
        // Section VI.E: gamma 2.6887, delta 5.039 ms, M 1 KB on both sites, gigabit; a backbone of 10 Gbit/s over 1,000 km. Its
        // alphas are not printed: 50 us, and the 5 ms light takes for that way in fibre. Figure 9 is not in the text.
        let signature = Signature { alpha: 50e-6, beta: 8e-9, gamma: 2.6887, delta: 0.005039, threshold: Bytes(1024) };
        let site = Site { signature, hosts: 30 };
        let backbone = Hockney { alpha: 5e-3, beta: 8e-10 };
        let seconds = seconds(&[site, site], backbone, Bytes(1 << 20));
        assert!((seconds - (29.0 * (50e-6 + 2.6887 * 8e-9 * 1048576.0 + 0.005039) + 5e-3 + 8e-10 * 30.0 * 1048576.0)).abs() < 1e-12);
        let one_by_one = signature.alltoall(30, Bytes(1 << 20)) + 30.0 * backbone.seconds(Bytes(1 << 20));
        assert!((one_by_one - seconds - 29.0 * backbone.alpha).abs() < 1e-12, "against equation 6, LG saves 29 start-ups");
    }
}
