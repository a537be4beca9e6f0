//! What is worth telling at once: carriers, cards, neighbours. Counters and times of hearing are not.
use super::nics::Found;
use inventory::Millis;
use inventory::host_report::{Change, Changed, Heard, Nic, Path, Said};
use std::collections::{BTreeMap, VecDeque};

/// Changes kept, the newest ones.
const MOST: usize = 64;

/// What was seen last, and what changed lately.
#[derive(Debug, Default)]
pub(super) struct Changes {
    /// Without counters, by name; `None` before the first look.
    nics: Option<BTreeMap<String, Nic>>,
    heard: BTreeMap<String, Vec<Said>>,
    lately: VecDeque<Change>,
    ways: Vec<Path>,
}

impl Changes {
    /// Takes a look in; whether anything is new. The first look is.
    pub(super) fn learn(&mut self, at: Millis, all: &[Found], heard: &[Heard]) -> bool {
        let nics: BTreeMap<String, Nic> = all.iter().map(|f| (f.nic.name.clone(), still(&f.nic))).collect();
        let heard = said(heard);
        let Some(before) = self.nics.replace(nics.clone()) else {
            self.heard = heard;
            return true;
        };
        let mut new: Vec<(&str, Changed)> = Vec::new();
        for (name, nic) in &nics {
            let old = before.get(name);
            match (old.is_some_and(|o| o.up), nic.up) {
                (false, true) => new.push((name, Changed::Up)),
                (true, false) => new.push((name, Changed::Down)),
                _ => {}
            }
            if old.is_none_or(|o| Nic { up: nic.up, ..o.clone() } != *nic) {
                new.push((name, Changed::Made));
            }
        }
        new.extend(before.keys().filter(|name| !nics.contains_key(*name)).map(|name| (name.as_str(), Changed::Gone)));
        let empty = Vec::new();
        let differs = |name: &&String| self.heard.get(*name).unwrap_or(&empty) != heard.get(*name).unwrap_or(&empty);
        new.extend(nics.keys().filter(differs).map(|name| (name.as_str(), Changed::Neighbour)));
        self.lately.extend(new.iter().map(|(nic, what)| Change { at, nic: (*nic).to_owned(), what: *what }));
        self.lately.drain(..self.lately.len().saturating_sub(MOST));
        self.heard = heard;
        !new.is_empty()
    }

    /// Takes paths in; whether any leads another way than before.
    pub(super) fn learn_paths(&mut self, paths: &[Path]) -> bool {
        let ways: Vec<Path> = paths.iter().map(|p| Path { round_trip: None, ..p.clone() }).collect();
        std::mem::replace(&mut self.ways, ways) != self.ways
    }

    /// The newest changes, oldest first.
    pub(super) fn lately(&self) -> Vec<Change> {
        self.lately.iter().cloned().collect()
    }
}

fn still(nic: &Nic) -> Nic {
    Nic { in_octets: 0, out_octets: 0, ..nic.clone() }
}

fn said(heard: &[Heard]) -> BTreeMap<String, Vec<Said>> {
    let mut said: BTreeMap<String, Vec<Said>> = BTreeMap::new();
    for one in heard {
        said.entry(one.nic.clone()).or_default().push(one.said.clone());
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::card::Card;
    use inventory::host_report::RoundTrip;
    use inventory::observation::BridgeId;
    use inventory::{BitsPerSec, Mac};

    fn found(name: &str, up: bool, octets: u64) -> Found {
        let mac = Mac([2, 0, 0, 0, 0, 1]);
        let nic = Nic { name: name.into(), mac: Some(mac), up, in_octets: octets, ..Nic::default() };
        Found { nic, card: Card { index: 1, name: name.into(), mac, up }, plugged: true }
    }

    fn bpdu(at: u64, port: u16) -> Heard {
        let bridge = BridgeId { priority: 0x8000, address: Mac([2, 0, 0, 0, 0, 9]) };
        let said = Said::Bpdu { root_bridge: bridge, root_path_cost: 0, bridge, port };
        Heard { nic: "eth0".into(), at: Millis(at), said }
    }

    fn whats(changes: &Changes) -> Vec<(u64, Changed)> {
        changes.lately().iter().map(|c| (c.at.0, c.what)).collect()
    }

    #[test]
    fn counters_and_repeated_frames_are_no_news() {
        let mut changes = Changes::default();
        assert!(changes.learn(Millis(1), &[found("eth0", true, 5)], &[bpdu(1, 1)]));
        assert!(!changes.learn(Millis(2), &[found("eth0", true, 99)], &[bpdu(2, 1)]));
        assert_eq!(changes.lately(), []);
    }

    #[test]
    fn cables_cards_and_neighbours_are() {
        let mut changes = Changes::default();
        changes.learn(Millis(1), &[found("eth0", true, 0)], &[bpdu(1, 1)]);
        assert!(changes.learn(Millis(2), &[found("eth0", false, 0)], &[]));
        assert!(changes.learn(Millis(3), &[found("eth0", true, 0)], &[bpdu(1, 2)]));
        let mut faster = found("eth0", true, 0);
        faster.nic.rate = Some(BitsPerSec::GIGABIT);
        assert!(changes.learn(Millis(4), &[faster], &[bpdu(1, 2)]));
        assert!(changes.learn(Millis(5), &[], &[]));
        let all = [
            (2, Changed::Down),
            (2, Changed::Neighbour),
            (3, Changed::Up),
            (3, Changed::Neighbour),
            (4, Changed::Made),
            (5, Changed::Gone),
        ];
        assert_eq!(whats(&changes), all);
    }

    #[test]
    fn another_way_is_news_another_time_is_not() {
        let way = |us| RoundTrip { min_us: us, median_us: us, samples: 1 };
        let path = Path { to: "n1".into(), address: [10, 0, 0, 2].into(), hops: vec![], reached: true, round_trip: Some(way(1)) };
        let mut changes = Changes::default();
        assert!(changes.learn_paths(std::slice::from_ref(&path)));
        assert!(!changes.learn_paths(&[Path { round_trip: Some(way(2)), ..path.clone() }]));
        assert!(changes.learn_paths(&[Path { hops: vec![None], ..path }]));
    }

    #[test]
    fn a_flapping_cable_fills_no_memory() {
        let mut changes = Changes::default();
        (0..1000).for_each(|n| assert!(changes.learn(Millis(n), &[found("eth0", n % 2 == 0, 0)], &[])));
        assert_eq!((changes.lately.len(), changes.lately().last().map(|c| c.at)), (MOST, Some(Millis(999))));
    }
}
