//! Random clusters like those in the simulations of the allgather paper.
//!
//! Source: allgather-switched-clusters, section 5. On average there are five machines for each
//! switch, each at a random switch. Switches are connected at random with mean degree four by
//! GT-ITM (Zegura, Calvert, Bhattacharjee, INFOCOM 1996). Its flat random graphs go back to Waxman,
//! "Routing of multipoint connections", IEEE JSAC 6(9), 1988: switches are points in the unit
//! square, and two of them at distance d are linked with a probability that falls like exp(-d /
//! (beta * L)), where L is the longest distance. Guarantee: the graph is connected, never has two
//! links between the same switches, and has as many links as the mean degree requires. Cost:
//! O(switches + hosts) times the tries for a link, about ten. Deviations: the paper gives neither
//! GT-ITM's method nor its parameters. In a graph of a thousand switches with independent links and
//! mean degree four, about twenty switches have no link. Here each switch is linked to an earlier
//! one first, and the other links follow until the number of links is right.
use super::SplitMix64;
use inventory::topology_file::{TopologyCable, TopologyHost};
use inventory::{BitsPerSec, TopologyFile};
use std::collections::HashSet;

/// Machines for each switch on average.
pub const HOSTS_PER_SWITCH: usize = 5;
/// Links for each switch on average, each counted at both ends.
pub const MEAN_DEGREE: usize = 4;
/// Waxman's beta: the reach of links, as a part of the longest distance.
pub const REACH: f64 = 0.2;

/// A cluster of `switches` s0, s1, ... and `hosts` n0, n1, ..., all links of one rate. It has
/// loops: see [`super::spanning_tree`]. If the mean degree requires more links than there are
/// pairs, all pairs are linked.
pub fn random_cluster(switches: usize, hosts: usize, random: &mut SplitMix64) -> TopologyFile {
    let name = |s: usize| format!("s{s}");
    let host = |random: &mut SplitMix64| {
        TopologyHost::new(name(random.below(switches)), BitsPerSec::GIGABIT)
    };
    let links = waxman(switches, random);
    TopologyFile {
        switches: (0..switches).map(name).collect(),
        hosts: (0..if switches == 0 { 0 } else { hosts })
            .map(|h| (format!("n{h}"), host(random)))
            .collect(),
        links: links
            .into_iter()
            .map(|(a, b)| TopologyCable::new(name(a), name(b), BitsPerSec::GIGABIT))
            .collect(),
        ..TopologyFile::default()
    }
}

/// The links among `switches`, each with the greater end first.
fn waxman(switches: usize, random: &mut SplitMix64) -> Vec<(usize, usize)> {
    let place: Vec<(f64, f64)> = (0..switches)
        .map(|_| (random.unit(), random.unit()))
        .collect();
    let taken = |a: usize, b: usize, random: &mut SplitMix64| {
        let distance = (place[a].0 - place[b].0).hypot(place[a].1 - place[b].1);
        random.unit() < (-distance / (REACH * std::f64::consts::SQRT_2)).exp()
    };
    let mut links = Vec::new();
    for s in 1..switches {
        let earlier = loop {
            let earlier = random.below(s);
            if taken(s, earlier, random) {
                break earlier;
            }
        };
        links.push((s, earlier));
    }
    let mut linked: HashSet<(usize, usize)> = links.iter().copied().collect();
    let wanted = (switches * MEAN_DEGREE / 2).min(switches * switches.saturating_sub(1) / 2);
    while links.len() < wanted {
        let (a, b) = (random.below(switches), random.below(switches));
        let link = (a.max(b), a.min(b));
        if a != b && !linked.contains(&link) && taken(a, b, random) {
            linked.insert(link);
            links.push(link);
        }
    }
    links
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_as_the_paper_says() {
        let cluster = random_cluster(200, 1000, &mut SplitMix64::new(11));
        assert_eq!(
            (
                cluster.switches.len(),
                cluster.hosts.len(),
                cluster.links.len()
            ),
            (200, 1000, 400)
        );
        assert_eq!(
            TopologyFile::parse("cluster", &cluster.to_yaml()).unwrap(),
            cluster
        );
        let at_first = cluster
            .hosts
            .values()
            .filter(|host| host.switch == "s0")
            .count();
        assert!((0..20).contains(&at_first));
        assert_ne!(cluster, random_cluster(200, 1000, &mut SplitMix64::new(12)));
    }

    #[test]
    fn small_ones_have_all_the_links_there_can_be() {
        let links = |switches| {
            random_cluster(switches, 5, &mut SplitMix64::new(1))
                .links
                .len()
        };
        assert_eq!([0, 1, 2, 3, 4, 5, 6].map(links), [0, 0, 1, 3, 6, 10, 12]);
        assert!(
            random_cluster(0, 5, &mut SplitMix64::new(1))
                .hosts
                .is_empty()
        );
    }

    #[test]
    fn near_switches_are_linked_more_often() {
        let mut random = SplitMix64::new(5);
        let links = waxman(400, &mut random);
        let mut again = SplitMix64::new(5);
        let place: Vec<(f64, f64)> = (0..400).map(|_| (again.unit(), again.unit())).collect();
        let mean = links
            .iter()
            .map(|&(a, b)| (place[a].0 - place[b].0).hypot(place[a].1 - place[b].1))
            .sum::<f64>()
            / links.len() as f64;
        // Two random points of the unit square are 0.52 apart on average.
        assert!(mean < 0.4, "{mean}");
    }
}
