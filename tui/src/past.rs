//! The load of each link over the last minutes, as far as pictures of it came.
use crate::format;
use api::{LinkLoad, Snapshot};
use inventory::topology::{Link, Topology};
use inventory::{BitsPerSec, Millis};
use std::collections::{HashMap, VecDeque};

/// The readings that are kept for each link, one a second.
const KEPT: usize = 120;
const SECOND: u64 = 1_000;
/// The mark of a link without a reading.
const UNKNOWN: u8 = u8::MAX;

/// A link's load in both directions, in percent of its rate: from its first end, and to it.
type LinkReading = [u8; 2];

/// The readings of all links of the newest picture, in all its networks.
#[derive(Debug, Clone, Default)]
pub(crate) struct LinkPast {
    /// The links of the newest picture, those of the shown network first: ends and ports.
    links: Vec<[String; 4]>,
    /// The oldest readings first; each has one entry a link.
    readings: VecDeque<Vec<LinkReading>>,
    second: u64,
}

impl LinkPast {
    /// Takes in a picture. The last one of a second counts.
    pub(crate) fn add(&mut self, snapshot: &Snapshot) {
        self.show(snapshot);
        let Millis(at) = snapshot.at;
        let second = at / SECOND;
        if second == self.second {
            self.readings.pop_back();
        }
        self.second = second;
        self.readings.push_back(
            snapshot
                .networks()
                .flat_map(
                    |(topology, loads): (&Topology, &[LinkLoad])| -> Vec<LinkReading> {
                        let loads = loads.iter().map(Some).chain(std::iter::repeat(None));
                        let links = topology.links.iter().zip(loads);
                        links
                            .map(|(link, load)| {
                                load.map_or([UNKNOWN; 2], |l| {
                                    [
                                        percent(l.a_to_b, link.rate_bps),
                                        percent(l.b_to_a, link.rate_bps),
                                    ]
                                })
                            })
                            .collect()
                    },
                )
                .collect(),
        );
        if self.readings.len() > KEPT {
            self.readings.pop_front();
        }
    }

    /// Puts the links in the order of a picture: those of the network that it shows come first.
    pub(crate) fn show(&mut self, snapshot: &Snapshot) {
        let networks = snapshot.networks();
        let links: Vec<&Link> = networks.flat_map(|(network, _)| &network.links).collect();
        let known = self
            .links
            .iter()
            .map(|link| link.each_ref().map(String::as_str));
        if !known.eq(links.iter().map(|link| ends(link))) {
            self.follow(&links);
        }
    }

    /// Sorts the readings anew, for another topology.
    fn follow(&mut self, links: &[&Link]) {
        let known: HashMap<[&str; 4], usize> = self
            .links
            .iter()
            .enumerate()
            .map(|(i, l)| (l.each_ref().map(String::as_str), i))
            .collect();
        let before: Vec<Option<usize>> =
            links.iter().map(|l| known.get(&ends(l)).copied()).collect();
        for reading in &mut self.readings {
            *reading = before
                .iter()
                .map(|at| at.map_or([UNKNOWN; 2], |at| reading[at]))
                .collect();
        }
        self.links = links.iter().map(|l| ends(l).map(str::to_owned)).collect();
    }

    /// The newest readings of a link, at most `count`, the oldest first: the share of its rate in
    /// direction 0 or 1, or in the busier one.
    pub(crate) fn loads(
        &self,
        link: usize,
        direction: Option<usize>,
        count: usize,
    ) -> Vec<Option<f64>> {
        let skip = self.readings.len().saturating_sub(count);
        self.readings
            .iter()
            .skip(skip)
            .map(|reading| {
                let both = reading.get(link)?;
                match direction {
                    Some(one) => known(*both.get(one)?),
                    None => both.iter().filter_map(|&p| known(p)).reduce(f64::max),
                }
            })
            .collect()
    }
}

fn known(p: u8) -> Option<f64> {
    (p != UNKNOWN).then(|| f64::from(p) / 100.0)
}

fn ends(link: &Link) -> [&str; 4] {
    [&link.a, &link.a_port, &link.b, &link.b_port]
}

fn percent(measured: Option<BitsPerSec>, rate: BitsPerSec) -> u8 {
    match format::share(measured, rate) {
        Some(share) if share > 0.0 => (share * 100.0).clamp(1.0, 250.0) as u8,
        Some(_) => 0,
        None => UNKNOWN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use api::FurtherNetwork;

    fn picture(second: u64, loads: &[(&str, u64)]) -> Snapshot {
        let mut s = Snapshot {
            at: Millis(second * SECOND),
            ..Snapshot::default()
        };
        for (name, load) in loads {
            s.topology.links.push(Link {
                rate_bps: BitsPerSec(100),
                ..Link::new("s0", "1", *name, "")
            });
            s.loads.push(LinkLoad {
                a_to_b: Some(BitsPerSec(*load)),
                ..LinkLoad::default()
            });
        }
        s
    }

    #[test]
    fn readings_follow_their_link_and_count_once_a_second() {
        let mut past = LinkPast::default();
        past.add(&picture(1, &[("a", 10), ("b", 20)]));
        past.add(&picture(1, &[("a", 30), ("b", 40)]));
        past.add(&picture(2, &[("b", 50), ("c", 0)]));
        assert_eq!(past.loads(0, None, 9), [Some(0.4), Some(0.5)]);
        assert_eq!(past.loads(1, Some(0), 9), [None, Some(0.0)]);
        assert_eq!(past.loads(1, Some(1), 9), [None, None]);
        for second in 3..500 {
            past.add(&picture(second, &[("b", 500)]));
        }
        assert_eq!(past.loads(0, None, 999).len(), KEPT);
        assert_eq!(past.loads(0, None, 1), [Some(2.5)]);
        assert_eq!(past.loads(7, None, 1), [None]);
    }

    #[test]
    fn each_network_has_its_past_whichever_is_shown() {
        let mut past = LinkPast::default();
        past.add(&both_networks(1, [10, 20]));
        let mut turned = both_networks(1, [10, 20]);
        let further = &mut turned.further[0];
        std::mem::swap(&mut turned.topology, &mut further.topology);
        std::mem::swap(&mut turned.loads, &mut further.loads);
        past.show(&turned);
        assert_eq!(past.loads(0, None, 9), [Some(0.2)]);
        past.add(&both_networks(2, [30, 40]));
        assert_eq!(past.loads(0, None, 9), [Some(0.1), Some(0.3)]);
        assert_eq!(past.loads(1, None, 9), [Some(0.2), Some(0.4)]);
    }

    fn both_networks(second: u64, loads: [u64; 2]) -> Snapshot {
        let mut shown = picture(second, &[("a", loads[0])]);
        let other = picture(second, &[("b", loads[1])]);
        shown.further.push(FurtherNetwork {
            topology: other.topology,
            loads: other.loads,
        });
        shown
    }
}
