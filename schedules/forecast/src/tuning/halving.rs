//! The choice of the ways that are worth another launch.
//!
//! Source: Jamieson and Talwalkar, "Non-stochastic best arm identification and hyperparameter
//! optimization", AISTATS 2016: successive halving. Input: the measurements so far of the ways that
//! took turns, of a first launch with a single time each. Guarantee: the library's own routine
//! stays, and so does the fastest way at every size at which it is not clearly slower than the
//! library's own. Others stay if they are about as fast somewhere, at most [`RUNNERS_UP`] of them.
//! Cost: O(medians²). Deviations: the paper looks for one best arm and drops half of them. Here
//! there is a best one for each size, and the ways differ by far more than their noise.
use super::WayMedian;
use policy::decision_table::{Collective, Way};
use policy::measurements::MEASURED;

/// A way that takes so many times the time of the fastest one at every size is left out.
const SLOWER: f64 = 1.1;
/// At most so many ways of each collective stay although they are the fastest at no size.
const RUNNERS_UP: usize = 3;

/// Those of `ways` that stay, in their order.
pub fn kept(medians: &[WayMedian], ways: &[Way]) -> Vec<Way> {
    let stay: Vec<Way> = MEASURED
        .into_iter()
        .flat_map(|c| best(medians, ways, c))
        .collect();
    ways.iter()
        .copied()
        .filter(|way| *way == Way::Native || stay.contains(way))
        .collect()
}

fn best(medians: &[WayMedian], ways: &[Way], collective: Collective) -> Vec<Way> {
    let mut shares: Vec<(Way, f64)> = ways
        .iter()
        .filter(|way| **way != Way::Native && way.serves(collective))
        .map(|&way| (way, share(medians, ways, collective, way)))
        .filter(|(_, share)| *share <= SLOWER)
        .collect();
    shares.sort_by(|a, b| a.1.total_cmp(&b.1));
    let fastest = shares.iter().filter(|(_, share)| *share <= 1.0).count();
    shares.truncate(fastest.max(1) + RUNNERS_UP);
    shares.into_iter().map(|(way, _)| way).collect()
}

/// The smallest ratio, over all sizes, of a way's time to the time of the fastest way. Sizes at
/// which it is slower than the library's own routine, by as much, do not count. Infinite without a
/// size.
fn share(medians: &[WayMedian], ways: &[Way], collective: Collective, way: Way) -> f64 {
    let all = medians.iter().filter(|m| m.collective == collective);
    let own = all.clone().filter(|m| m.way == way);
    let shares = own.filter_map(|own| {
        let here = all.clone().filter(|m| m.block == own.block);
        let library = here.clone().find(|m| m.way == Way::Native);
        if library.is_some_and(|library| own.seconds > SLOWER * library.seconds) {
            return None;
        }
        let others = here.filter(|m| m.way != Way::Native && ways.contains(&m.way));
        Some(own.seconds / others.map(|m| m.seconds).min_by(f64::total_cmp)?)
    });
    shares.fold(f64::INFINITY, f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;
    use inventory::Bytes;

    fn ways(names: &[&str]) -> Vec<Way> {
        names.iter().map(|name| name.parse().unwrap()).collect()
    }

    /// Each way's medians at 1, 2, 3... octets.
    fn medians(medians: &[(&str, &[f64])]) -> Vec<WayMedian> {
        let median = |name: &str, block: u64, seconds: f64| {
            let way: Way = name.parse().unwrap();
            let collective = if way.serves(Collective::Alltoall) {
                Collective::Alltoall
            } else {
                Collective::Allgather
            };
            WayMedian {
                collective,
                way,
                block: Bytes(block),
                seconds,
            }
        };
        medians
            .iter()
            .flat_map(|&(name, medians)| {
                (1..)
                    .zip(medians)
                    .map(move |(block, &seconds)| median(name, block, seconds))
            })
            .collect()
    }

    #[test]
    fn what_is_near_the_fastest_somewhere_stays() {
        let names = ["native", "aapc", "aapc none", "bundled", "aapc tcp", "ring"];
        let measured = medians(&[
            ("native", &[100.0, 100.0]),
            ("aapc", &[300.0, 84.0]),
            ("aapc none", &[105.0, 90.0]),
            ("bundled", &[104.0, 900.0]),
            ("aapc tcp", &[900.0, 79.0]),
            ("ring", &[5.0, 5.0]),
        ]);
        assert_eq!(kept(&measured, &ways(&names)), ways(&names));
        let slower = medians(&[
            ("native", &[100.0, 100.0]),
            ("aapc", &[300.0, 88.0]),
            ("aapc none", &[120.0, 99.0]),
            ("aapc tcp", &[900.0, 79.0]),
        ]);
        assert_eq!(
            kept(&slower, &ways(&names[..5])),
            ways(&["native", "aapc tcp"]),
            "one is slower than another at each size, or than the library's own"
        );
    }

    #[test]
    fn few_runners_up_stay_but_all_that_are_the_fastest_somewhere() {
        let names = [
            "aapc",
            "aapc none",
            "aapc sender",
            "aapc barrier",
            "bundled",
            "lg",
        ];
        let alike = medians(&[
            ("aapc", &[1.0]),
            ("aapc none", &[1.05]),
            ("aapc sender", &[1.02]),
            ("aapc barrier", &[1.04]),
            ("bundled", &[1.03]),
            ("lg", &[1.01]),
        ]);
        assert_eq!(
            kept(&alike, &ways(&names)),
            ways(&["aapc", "aapc sender", "bundled", "lg"])
        );
        let crossing = medians(&[
            ("aapc", &[1.0, 9.0, 9.0, 9.0, 9.0]),
            ("aapc none", &[9.0, 1.0, 9.0, 9.0, 9.0]),
            ("aapc sender", &[9.0, 9.0, 1.0, 9.0, 9.0]),
            ("bundled", &[9.0, 9.0, 9.0, 1.0, 9.0]),
            ("lg", &[9.0, 9.0, 9.0, 9.0, 1.0]),
        ]);
        let each = ways(&["aapc", "aapc none", "aapc sender", "bundled", "lg"]);
        assert_eq!(kept(&crossing, &each), each);
    }

    #[test]
    fn what_was_not_measured_goes() {
        let names = ways(&["native", "aapc barrier", "aapc"]);
        assert_eq!(
            kept(&medians(&[("aapc", &[1.0])]), &names),
            ways(&["native", "aapc"])
        );
    }
}
