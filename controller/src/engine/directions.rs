//! Directions for the hosts' agents: the hosts that each one probes. Few probes cover every pair of
//! segments, so that thousands of hosts cost next to nothing.
//!
//! Source: own. Input: hosts with their segment (a switch, or a subnet if the switch is not known),
//! their address, and whether an agent reports for them. Guarantee: no host probes more than
//! [`MOST`] others. Within a round, every segment with an agent probes one of its own hosts and
//! every other segment that has an address, as far as `MOST` allows. If it does not allow all of
//! them, each round continues where the last one ended. With few segments, up to [`PAIRS`] hosts of
//! a segment probe another segment, each one a different host: that tells a long link from a slow
//! host. The same input gives the same answer. Cost: one to three probes for each ordered pair of
//! segments; the number of hosts on them does not matter.
use inventory::host_report::{ProbeDirections, ProbeTarget};
use inventory::units::milliseconds;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

/// The directions for each host of the inventory, by name.
pub type DirectionsByHost = BTreeMap<String, ProbeDirections>;

/// The most hosts that one host probes.
pub(crate) const MOST: usize = 16;
/// The number of hosts by which a segment probes another one, with at most [`FEW`] segments.
const PAIRS: usize = 3;
/// With more segments than this, many pairs of segments cross each link anyway.
const FEW: usize = 8;
/// The bounds of the time between two reports of a host.
const EVERY: (Duration, Duration) = (Duration::from_secs(2), Duration::from_secs(60));
// All hosts together report 100 times a second at most, up to 6,000 hosts.
const PER_HOST: Duration = Duration::from_millis(10);

/// A host that gets directions.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct DirectedHost<'a> {
    /// Its switch, or something else that it shares with the hosts near to it.
    pub(crate) segment: String,
    pub(crate) name: &'a str,
    pub(crate) address: Option<IpAddr>,
    /// Its agent reports.
    pub(crate) reports: bool,
    /// Its agent reports, and traces flows.
    pub(crate) traces: bool,
}

/// The hosts of one segment that may probe, and those that may be probed.
#[derive(Default)]
struct ProbeSegment<'a> {
    probers: Vec<&'a str>,
    /// The hosts whose agent reports, as they are up; all hosts, if no agent reports.
    targets: Vec<(&'a str, IpAddr)>,
}

/// Makes the directions for every host. `round` counts up slowly.
pub(crate) fn assign_probes(mut subjects: Vec<DirectedHost<'_>>, round: u64) -> DirectionsByHost {
    subjects.sort();
    let every_ms = milliseconds::of(
        PER_HOST
            .saturating_mul(subjects.len() as u32)
            .clamp(EVERY.0, EVERY.1),
    );
    let mut assignment: DirectionsByHost = subjects
        .iter()
        .map(|s| {
            (
                s.name.to_owned(),
                ProbeDirections {
                    every_ms,
                    ..ProbeDirections::default()
                },
            )
        })
        .collect();
    let segments: Vec<ProbeSegment<'_>> = subjects
        .chunk_by(|a, b| a.segment == b.segment)
        .map(segment)
        .collect();
    for (at, segment) in segments.iter().enumerate() {
        // Each segment begins with the next one, so that no two have the same first target.
        let others: Vec<&ProbeSegment<'_>> = (1..segments.len())
            .map(|d| &segments[(at + d) % segments.len()])
            .filter(|s| !s.targets.is_empty())
            .collect();
        if let Some(near) = segment.near() {
            direct(near.0, near.1, &mut assignment);
        }
        // One probe of each host is left for a neighbour.
        let room = (segment.probers.len() * (MOST - 1)).min(others.len());
        for i in 0..room {
            let other = others[(window(round, room, others.len()) + i) % others.len()];
            let pairs = if segments.len() > FEW {
                1
            } else {
                PAIRS.min(segment.probers.len()).min(other.targets.len())
            };
            for pair in 0..pairs {
                let prober = segment.probers[(i + pair) % segment.probers.len()];
                direct(
                    prober,
                    other.targets[(at + pair) % other.targets.len()],
                    &mut assignment,
                );
            }
        }
    }
    assignment
}

fn direct(prober: &str, (host, address): (&str, IpAddr), assignment: &mut DirectionsByHost) {
    if let Some(directions) = assignment.get_mut(prober) {
        directions.peers.push(ProbeTarget {
            host: host.to_owned(),
            address,
        });
    }
}

impl<'a> ProbeSegment<'a> {
    /// A host that probes, and another host of the same segment: a short path, for comparison.
    fn near(&self) -> Option<(&'a str, (&'a str, IpAddr))> {
        let prober = *self.probers.first()?;
        Some((
            prober,
            *self
                .targets
                .iter()
                .rev()
                .find(|(host, _)| *host != prober)?,
        ))
    }
}

fn segment<'a>(hosts: &[DirectedHost<'a>]) -> ProbeSegment<'a> {
    let probers: Vec<&str> = hosts.iter().filter(|s| s.reports).map(|s| s.name).collect();
    let awake: Vec<_> = addresses(true, hosts).collect();
    ProbeSegment {
        probers,
        targets: if awake.is_empty() {
            addresses(false, hosts).collect()
        } else {
            awake
        },
    }
}

fn addresses<'a>(
    awake: bool,
    hosts: &[DirectedHost<'a>],
) -> impl Iterator<Item = (&'a str, IpAddr)> {
    hosts
        .iter()
        .filter(move |s| s.reports || !awake)
        .filter_map(|s| Some((s.name, s.address?)))
}

/// The first of the `room` segments, among `all`, that a round covers. If it covers all, it is 0.
fn window(round: u64, room: usize, all: usize) -> usize {
    if room == all {
        0
    } else {
        ((round % all as u64) as usize * room) % all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// `each` hosts on each switch; `reports` takes a host's number, and returns whether it has an
    /// agent.
    fn subjects(
        names: &[String],
        each: usize,
        reports: impl Fn(usize) -> bool,
    ) -> Vec<DirectedHost<'_>> {
        let all = names
            .iter()
            .enumerate()
            .map(|(i, name)| (format!("s{:03}", i / each), i, name.clone()))
            .collect::<Vec<_>>();
        all.into_iter()
            .map(|(segment, i, _)| DirectedHost {
                segment,
                name: &names[i],
                address: Some(IpAddr::from([10, 0, (i >> 8) as u8, i as u8])),
                reports: reports(i),
                traces: reports(i),
            })
            .collect()
    }

    fn names(count: usize) -> Vec<String> {
        (0..count).map(|i| format!("n{i:04}")).collect()
    }

    /// The ordered pairs of segments that an assignment covers, with `each` hosts on a segment.
    fn covered(assignment: &DirectionsByHost, each: usize) -> BTreeSet<(usize, usize)> {
        assignment
            .iter()
            .flat_map(|(host, d)| {
                d.peers
                    .iter()
                    .map(|p| (segment_number(host, each), segment_number(&p.host, each)))
            })
            .collect()
    }

    fn segment_number(name: &str, each: usize) -> usize {
        name[1..].parse::<usize>().unwrap() / each
    }

    #[test]
    fn every_pair_of_segments_is_probed_both_ways_by_few_probes() {
        let names = names(1000);
        let assignment = assign_probes(subjects(&names, 25, |_| true), 0);
        assert_eq!(
            covered(&assignment, 25)
                .iter()
                .filter(|(a, b)| a != b)
                .count(),
            40 * 39
        );
        assert_eq!(
            assignment.values().map(|d| d.peers.len()).sum::<usize>(),
            40 * 39 + 40,
            "one probe a pair, one for a neighbour"
        );
        assert!(
            assignment.values().all(|d| d.peers.len() <= 3),
            "spread over the hosts"
        );
        let mut probed: BTreeMap<&str, usize> = BTreeMap::new();
        assignment
            .values()
            .flat_map(|d| &d.peers)
            .for_each(|p| *probed.entry(&p.host).or_default() += 1);
        assert!(
            probed.values().all(|n| *n <= 3),
            "no host is probed by all: {probed:?}"
        );
        assert_eq!(assignment["n0000"].every_ms, 10_000);
    }

    #[test]
    fn rounds_cover_all_pairs_and_no_host_probes_more_than_its_share() {
        let names = names(200);
        let mut seen = BTreeSet::new();
        for round in 0..7 {
            let assignment = assign_probes(subjects(&names, 2, |i| i % 2 == 0), round);
            assert!(assignment.values().all(|d| d.peers.len() <= MOST));
            seen.extend(covered(&assignment, 2).into_iter().filter(|(a, b)| a != b));
        }
        assert_eq!(
            seen.len(),
            100 * 99,
            "99 others, 15 a round: all within 7 rounds"
        );
    }

    #[test]
    fn few_segments_probe_each_other_by_several_hosts_and_each_has_a_near_pair() {
        let names = names(8);
        let pairs: BTreeSet<(String, String)> = assign_probes(subjects(&names, 4, |_| true), 0)
            .into_iter()
            .flat_map(|(host, d)| d.peers.into_iter().map(move |p| (host.clone(), p.host)))
            .collect();
        assert_eq!(
            [
                probes_across("s0", "s0", &pairs),
                probes_across("s0", "s1", &pairs),
                probes_across("s1", "s0", &pairs),
                probes_across("s1", "s1", &pairs)
            ],
            [1, 3, 3, 1],
            "{pairs:?}"
        );
        assert!(pairs.iter().all(|(a, b)| a != b));
    }

    fn probes_across(from: &str, to: &str, pairs: &BTreeSet<(String, String)>) -> usize {
        pairs
            .iter()
            .filter(|(a, b)| {
                (a.as_str() < "n0004") == (from == "s0") && (b.as_str() < "n0004") == (to == "s0")
            })
            .count()
    }

    #[test]
    fn no_host_probes_itself_or_a_host_without_address() {
        let names = names(6);
        let mut all = subjects(&names, 3, |_| true);
        all.iter_mut()
            .filter(|s| s.segment == "s001")
            .for_each(|s| s.address = None);
        let assignment = assign_probes(all, 0);
        assert_eq!(covered(&assignment, 3), BTreeSet::from([(0, 0), (1, 0)]));
        assert_eq!(
            assignment.len(),
            6,
            "hosts without anything to probe report all the same"
        );
    }

    #[test]
    fn sleeping_hosts_are_probed_only_where_nobody_is_awake_and_order_does_not_matter() {
        let names = names(9);
        let mut all = subjects(&names, 3, |i| i < 3 || i == 5);
        let first = assign_probes(all.clone(), 0);
        let targets: BTreeSet<&str> = first
            .values()
            .flat_map(|d| &d.peers)
            .map(|p| p.host.as_str())
            .collect();
        assert!(
            targets.contains("n0005")
                && !targets.contains("n0003")
                && targets.iter().any(|t| *t > "n0005"),
            "{targets:?}"
        );
        all.reverse();
        assert_eq!(assign_probes(all, 0), first);
        assert!(
            first["n0004"].peers.is_empty(),
            "a host without reports has nothing to probe"
        );
    }
}
