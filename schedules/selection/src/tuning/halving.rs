//! The choice of the ways that are worth another launch.
//!
//! Source: Jamieson and Talwalkar, "Non-stochastic best arm identification and hyperparameter
//! optimization", AISTATS 2016: successive halving. Input: the measurements so far of the ways that
//! took turns. Guarantee: the library's own routine stays, and so does the fastest way at every
//! size. Besides, the better half of each collective's ways stays, at least [`LEAST`]; they are
//! ranked by the size at which they came closest to the fastest way. Cost: O(figures²). Deviations:
//! the paper looks for one best arm. Here there is one for each size, so more than half may stay.
use super::WayTiming;
use crate::decision_table::{Collective, Way};

/// If a collective has fewer ways, all of them stay.
pub const LEAST: usize = 3;

/// Those of `ways` that stay, in their order.
pub fn kept(figures: &[WayTiming], ways: &[Way]) -> Vec<Way> {
    let stay: Vec<Way> = super::MEASURED
        .into_iter()
        .flat_map(|c| best(figures, ways, c))
        .collect();
    ways.iter()
        .copied()
        .filter(|way| *way == Way::Native || stay.contains(way))
        .collect()
}

fn best(figures: &[WayTiming], ways: &[Way], collective: Collective) -> Vec<Way> {
    let own = |way: &&Way| **way != Way::Native && way.serves(collective);
    let mut shares: Vec<(Way, f64)> = ways
        .iter()
        .filter(own)
        .map(|&way| (way, share(figures, ways, collective, way)))
        .collect();
    shares.sort_by(|a, b| a.1.total_cmp(&b.1));
    let fastest = shares.iter().filter(|(_, share)| *share <= 1.0).count();
    shares.truncate(fastest.max(shares.len().div_ceil(2)).max(LEAST));
    shares.into_iter().map(|(way, _)| way).collect()
}

/// The smallest ratio, over all sizes, of a way's time to the time of the fastest way; infinite if
/// the way was not measured.
fn share(figures: &[WayTiming], ways: &[Way], collective: Collective, way: Way) -> f64 {
    let of = |f: &&WayTiming| {
        f.collective == collective && f.way != Way::Native && ways.contains(&f.way)
    };
    let own = figures.iter().filter(of).filter(|f| f.way == way);
    let shares = own.filter_map(|own| {
        let there = figures
            .iter()
            .filter(of)
            .filter(|f| f.timing.block == own.timing.block);
        Some(own.timing.median_ns as f64 / there.map(|f| f.timing.median_ns).min()?.max(1) as f64)
    });
    shares.fold(f64::INFINITY, f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tuning::CallTiming;
    use inventory::Bytes;

    fn ways(names: &[&str]) -> Vec<Way> {
        names.iter().map(|name| name.parse().unwrap()).collect()
    }

    /// Each way's medians at 1, 2, 3... octets.
    fn figures(medians: &[(&str, &[u64])]) -> Vec<WayTiming> {
        let figure = |name: &str, block: u64, median_ns: u64| {
            let way: Way = name.parse().unwrap();
            let collective = if way.serves(Collective::Alltoall) {
                Collective::Alltoall
            } else {
                Collective::Allgather
            };
            WayTiming {
                collective,
                way,
                timing: CallTiming {
                    block: Bytes(block),
                    median_ns,
                    error_ns: 1,
                    times: 9,
                },
            }
        };
        medians
            .iter()
            .flat_map(|&(name, medians)| {
                (1..)
                    .zip(medians)
                    .map(move |(block, &ns)| figure(name, block, ns))
            })
            .collect()
    }

    #[test]
    fn the_slower_half_goes_but_nobody_who_is_the_fastest_somewhere() {
        let names = [
            "native",
            "aapc",
            "aapc none",
            "bundled",
            "aapc sender",
            "aapc tcp",
            "aapc none tcp",
            "aapc barrier",
            "ring",
        ];
        let measured = figures(&[
            ("native", &[10, 10]),
            ("aapc", &[300, 80]),
            ("aapc none", &[120, 90]),
            ("bundled", &[100, 900]),
            ("aapc sender", &[900, 100]),
            ("aapc tcp", &[900, 79]),
            ("aapc none tcp", &[900, 200]),
            ("aapc barrier", &[900, 900]),
            ("ring", &[5, 5]),
        ]);
        assert_eq!(
            kept(&measured, &ways(&names)),
            ways(&["native", "aapc", "aapc none", "bundled", "aapc tcp", "ring"])
        );
        let crossing = figures(&[
            ("aapc", &[1, 9, 9, 9]),
            ("aapc none", &[9, 1, 9, 9]),
            ("bundled", &[9, 9, 1, 9]),
            ("lg", &[9, 9, 9, 1]),
        ]);
        let each = ways(&["aapc", "aapc none", "bundled", "lg"]);
        assert_eq!(kept(&crossing, &each), each);
    }

    #[test]
    fn few_are_measured_on_and_what_was_not_measured_goes_first() {
        let few = ways(&["native", "aapc", "aapc none", "aapc sender"]);
        assert_eq!(kept(&[], &few), few);
        let names = ways(&["native", "aapc barrier", "aapc", "aapc none", "bundled"]);
        let measured = figures(&[("aapc", &[1]), ("aapc none", &[2]), ("bundled", &[3])]);
        assert_eq!(
            kept(&measured, &names),
            ways(&["native", "aapc", "aapc none", "bundled"])
        );
    }
}
