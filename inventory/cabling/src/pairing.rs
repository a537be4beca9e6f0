//! Pairs planned cables with found cables.
use super::found_cables::FoundCable;
use super::{Cable, CableEnd, fits};
use inventory::BitsPerSec;
use inventory::topology::LinkState;
use std::cmp::Reverse;
use std::collections::HashMap;

/// The values that must be equal in one round: the ends, each without its port if the round ignores
/// it, and state and rate, if the round compares them.
type PairingKey<'a> = ([CableEnd<'a>; 2], Option<(LinkState, Option<BitsPerSec>)>);

/// For each planned cable its found cable, if there is one. Cables that agree in more ports are
/// paired first, then those that agree in state and rate, because nothing else tells parallel
/// cables without named ports apart.
pub(super) fn pair(planned: &[Cable], found: &[FoundCable]) -> Vec<Option<usize>> {
    let mut pairs = vec![None; planned.len()];
    let mut taken = vec![false; found.len()];
    let mut fastest_first: Vec<usize> = (0..planned.len()).collect();
    fastest_first.sort_by_key(|&p| Reverse(planned[p].rate_bps));
    for ports in [[true, true], [true, false], [false, true], [false, false]] {
        for exact in [true, false] {
            let mut offers: HashMap<PairingKey<'_>, Vec<usize>> = HashMap::new();
            let mut free: Vec<usize> = (0..found.len()).filter(|&i| !taken[i]).collect();
            free.sort_by_key(|&i| found[i].cable.rate_bps);
            for i in free {
                if let Some(key) = key(&found[i].cable, ports, exact) {
                    offers.entry(key).or_default().push(i);
                }
            }
            for &p in &fastest_first {
                if pairs[p].is_some() {
                    continue;
                }
                let Some(offered) =
                    key(&planned[p], ports, exact).and_then(|key| offers.get_mut(&key))
                else {
                    continue;
                };
                if let Some(at) = offered
                    .iter()
                    .rposition(|&i| agree(&planned[p], &found[i].cable))
                {
                    let i = offered.remove(at);
                    taken[i] = true;
                    pairs[p] = Some(i);
                }
            }
        }
    }
    pairs
}

/// `None` if a port that the round compares has no name.
fn key(cable: &Cable, ports: [bool; 2], exact: bool) -> Option<PairingKey<'_>> {
    let [a, b] = cable.ends();
    let ends = [key_end(a, ports[0])?, key_end(b, ports[1])?];
    Some((
        ends,
        exact.then(|| (cable.state.unwrap_or(LinkState::Forwarding), cable.rate_bps)),
    ))
}

fn key_end<'a>((node, port): CableEnd<'a>, asked: bool) -> Option<CableEnd<'a>> {
    match (asked, port) {
        (true, "") => None,
        (true, port) => Some((node, port)),
        (false, _) => Some((node, "")),
    }
}

/// True if the two cables may be the same.
pub(super) fn agree(one: &Cable, other: &Cable) -> bool {
    one.ends()
        .into_iter()
        .zip(other.ends())
        .all(|(x, y)| fits(x, y))
}
