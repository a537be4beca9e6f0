//! Explanations of slow pairs without a moved cable: a host that sends or receives slowly, and a
//! trunk that is slow in a direction, by itself or for other traffic.
use super::host_pairs::HostPairs;
use inventory::tree::{EdgeNumber, Tree};

/// Rounds of fitting, each kind of cause in turn.
const ROUNDS: usize = 6;

/// The slowness of each pair that no single host or trunk explains. Every host and every direction of
/// a trunk explains as much as the middle one of its pairs is slower. No cause makes a pair faster.
pub(super) fn unexplained(tree: &Tree, pairs: &HostPairs) -> HostPairs {
    let mut causes: Vec<Vec<(usize, usize)>> = vec![Vec::new(); tree.edges() as usize];
    for (from, row) in pairs.iter().enumerate() {
        for (to, _) in row.iter().enumerate().filter(|(_, pair)| pair.is_some()) {
            // The first edge is the sender's cable, the last one the receiver's.
            tree.path(from as u32, to as u32, |edge: EdgeNumber| {
                causes[edge as usize].push((from, to));
            });
        }
    }
    causes.retain(|pairs| !pairs.is_empty());
    let mut taken = vec![0.0f64; causes.len()];
    let mut left = pairs.clone();
    for _ in 0..ROUNDS {
        for (of, taken) in causes.iter().zip(&mut taken) {
            let middle = median(of.iter().filter_map(|&(a, b)| left[a][b]));
            let more = (*taken + middle).min(0.0) - *taken;
            *taken += more;
            for &(a, b) in of {
                left[a][b] = left[a][b].map(|value| value - more);
            }
        }
    }
    left
}

/// The middle one; 0 of none.
pub(super) fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}
