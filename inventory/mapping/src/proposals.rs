//! Sides of trunks that the rounds suggest: hosts between which flows are never slowed down.
use crate::host_set::HostSet;
use crate::rounds::MeasuredRound;
use crate::trunk_tree::trunk_side;

/// The groups of an average-linkage clustering by the mean rate of the flows between two groups:
/// hosts of one switch reach each other at full rate whatever else is sent.
pub(crate) fn proposed_sides(hosts: usize, rounds: &[MeasuredRound]) -> Vec<HostSet> {
    let mut rate = vec![vec![(0.0, 0.0); hosts]; hosts];
    for flow in rounds.iter().flat_map(|r| &r.flows) {
        let (a, b) = (flow.flow.from, flow.flow.to);
        for (a, b) in [(a, b), (b, a)] {
            rate[a][b].0 += flow.rate.max(1.0).ln();
            rate[a][b].1 += 1.0;
        }
    }
    let mut groups: Vec<HostSet> = (0..hosts).map(HostSet::one).collect();
    let mut found = Vec::new();
    while groups.len() > 2 {
        let pairs = (0..groups.len()).flat_map(|i| (0..i).map(move |j| (i, j)));
        let nearest = pairs
            .filter_map(|(i, j)| Some((mean_rate(groups[i], groups[j], &rate)?, i, j)))
            .max_by(|a, b| a.0.total_cmp(&b.0));
        let Some((_, i, j)) = nearest else { break };
        let joined = groups[i].with(groups[j]);
        groups.swap_remove(i);
        groups[j] = joined;
        found.extend(trunk_side(hosts, joined));
    }
    found
}

fn mean_rate(a: HostSet, b: HostSet, rate: &[Vec<(f64, f64)>]) -> Option<f64> {
    let pairs = a.iter().flat_map(|x| b.iter().map(move |y| (x, y)));
    let (sum, count) = pairs.fold((0.0, 0.0), |(s, c), (x, y)| {
        (s + rate[x][y].0, c + rate[x][y].1)
    });
    // One flow says less than many.
    (count > 0.0).then(|| sum / count - 0.1 / f64::sqrt(count))
}

/// Sides that explain the flows that are slower than expected: in a round that fills a trunk, slow
/// flows join its two sides, and the others stay on one. `excess` has each flow's logarithm of the
/// expected rate over the measured one. The two sides are the signs of the leading eigenvector, as
/// for a cut that many slow flows cross.
pub(crate) fn sides_of_slow_flows(
    hosts: usize,
    rounds: &[MeasuredRound],
    excess: &[Vec<f64>],
) -> Vec<HostSet> {
    let mut same = vec![vec![0.0; hosts]; hosts];
    for (round, excess) in rounds.iter().zip(excess) {
        let mean = excess.iter().sum::<f64>() / excess.len().max(1) as f64;
        for (flow, slow) in round.flows.iter().zip(excess) {
            let (a, b) = (flow.flow.from, flow.flow.to);
            let likeness = (mean - slow).clamp(-0.5, 0.5);
            same[a][b] += likeness;
            same[b][a] += likeness;
        }
    }
    // Makes every eigenvalue positive, so that the largest one leads.
    let shift = same
        .iter()
        .map(|row| row.iter().map(|v| v.abs()).sum::<f64>())
        .fold(0.0, f64::max);
    // Any start will do that is not orthogonal to the leading eigenvector. This one is the same
    // each time.
    let mut vector: Vec<f64> = (0..hosts).map(|h| ((h * 7 + 1) as f64).sin()).collect();
    for _ in 0..200 {
        let next: Vec<f64> = (0..hosts)
            .map(|a| shift * vector[a] + (0..hosts).map(|b| same[a][b] * vector[b]).sum::<f64>())
            .collect();
        let length = next.iter().map(|v| v * v).sum::<f64>().sqrt().max(1e-300);
        vector = next.into_iter().map(|v| v / length).collect();
    }
    let mut order: Vec<usize> = (0..hosts).collect();
    order.sort_by(|a, b| vector[*a].total_cmp(&vector[*b]));
    // Each cut along the vector is proposed, not only the one between its signs.
    (2..hosts.saturating_sub(1))
        .filter_map(|count| trunk_side(hosts, order[..count].iter().copied().collect::<HostSet>()))
        .collect()
}
