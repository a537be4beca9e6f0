//! The blocks between each pair of hosts.
use inventory::tree::{NodeNumber, Tree};

/// By sender and receiver: the logarithm of a share, where it is known.
pub(super) type HostPairs = Vec<Vec<Option<f64>>>;

/// By pair of hosts: the mean over their ranks.
pub(super) fn by_hosts(
    between: &Tree,
    host_of: &[NodeNumber],
    of: impl Fn(usize, usize) -> Option<f64>,
) -> HostPairs {
    let hosts = between.hosts() as usize;
    let mut sums = vec![vec![(0.0, 0.0); hosts]; hosts];
    for (from, &a) in host_of.iter().enumerate() {
        for (to, &b) in host_of.iter().enumerate() {
            let known = of(from, to).filter(|_| a != b);
            if let (Some(value), Some(sum)) = (known, cell(&mut sums, a, b)) {
                *sum = (sum.0 + value, sum.1 + 1.0);
            }
        }
    }
    sums.iter()
        .map(|row| {
            row.iter()
                .map(|&(sum, count)| (count > 0.0).then(|| sum / count))
                .collect()
        })
        .collect()
}

fn cell<T>(rows: &mut [Vec<T>], a: NodeNumber, b: NodeNumber) -> Option<&mut T> {
    rows.get_mut(a as usize)?.get_mut(b as usize)
}
