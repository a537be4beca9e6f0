//! Decides which changes to report at once: those of carriers, cards and neighbours, but not those
//! of counters and times of hearing.
use super::nics::KernelNic;
use inventory::host_report::{HeardContent, HeardFrame, Nic, ProbedPath, TracedFlows};
use std::collections::BTreeMap;

/// The last state seen.
#[derive(Debug, Default)]
pub(super) struct ChangeDetector {
    /// The cards by name, without counters; `None` before the first look.
    nics: Option<BTreeMap<String, Nic>>,
    frames: BTreeMap<String, Vec<HeardContent>>,
    ways: Vec<ProbedPath>,
    traces: Vec<TracedFlows>,
}

impl ChangeDetector {
    /// Takes in a look. Returns true if anything is new, as at the first look.
    pub(super) fn learn(&mut self, all: &[KernelNic], frames: &[HeardFrame]) -> bool {
        let nics = Some(
            all.iter()
                .map(|f| (f.nic.name.clone(), still(&f.nic)))
                .collect(),
        );
        let frames = content(frames);
        let new = self.nics != nics || self.frames != frames;
        (self.nics, self.frames) = (nics, frames);
        new
    }

    /// Takes in paths. Returns true if any path leads another way than before.
    pub(super) fn learn_paths(&mut self, paths: &[ProbedPath]) -> bool {
        let ways: Vec<ProbedPath> = paths
            .iter()
            .map(|p| ProbedPath {
                // A round trip takes another time at each look.
                round_trip: None,
                ..p.clone()
            })
            .collect();
        std::mem::replace(&mut self.ways, ways) != self.ways
    }

    /// Takes in traced flows. Returns true if any take other ways than before.
    pub(super) fn learn_traces(&mut self, traces: &[TracedFlows]) -> bool {
        let is_news = self.traces != traces;
        self.traces = traces.to_vec();
        is_news
    }
}

fn still(nic: &Nic) -> Nic {
    Nic {
        in_octets: 0,
        out_octets: 0,
        ..nic.clone()
    }
}

fn content(frames: &[HeardFrame]) -> BTreeMap<String, Vec<HeardContent>> {
    let mut content: BTreeMap<String, Vec<HeardContent>> = BTreeMap::new();
    for one in frames {
        content
            .entry(one.nic.clone())
            .or_default()
            .push(one.content.clone());
    }
    content
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::card::NetworkCard;
    use inventory::host_report::RoundTrip;
    use inventory::observation::BridgeId;
    use inventory::{BitsPerSec, Mac, Millis};

    fn found(name: &str, up: bool, octets: u64) -> KernelNic {
        let mac = Mac([2, 0, 0, 0, 0, 1]);
        let nic = Nic {
            name: name.into(),
            mac: Some(mac),
            up,
            in_octets: octets,
            ..Nic::default()
        };
        KernelNic {
            nic,
            card: NetworkCard {
                index: 1,
                name: name.into(),
                mac,
                up,
                losses: None,
            },
            link_losses: None,
            plugged: true,
        }
    }

    fn bpdu(at: u64, port: u16) -> HeardFrame {
        let bridge = BridgeId {
            priority: 0x8000,
            address: Mac([2, 0, 0, 0, 0, 9]),
        };
        let content = HeardContent::Bpdu {
            root_bridge: bridge,
            root_path_cost: 0,
            bridge,
            port,
        };
        HeardFrame {
            nic: "eth0".into(),
            at: Millis(at),
            content,
        }
    }

    #[test]
    fn counters_and_repeated_frames_are_no_news() {
        let mut changes = ChangeDetector::default();
        assert!(changes.learn(&[found("eth0", true, 5)], &[bpdu(1, 1)]));
        assert!(!changes.learn(&[found("eth0", true, 99)], &[bpdu(2, 1)]));
    }

    #[test]
    fn cables_cards_and_neighbours_are() {
        let mut changes = ChangeDetector::default();
        let mut faster = found("eth0", true, 0);
        faster.nic.rate = Some(BitsPerSec::GIGABIT);
        let up = found("eth0", true, 0);
        let looks: [(&[KernelNic], &[HeardFrame]); 6] = [
            (&[], &[]),
            (std::slice::from_ref(&up), &[]),
            (&[found("eth0", false, 0)], &[]),
            (std::slice::from_ref(&up), &[bpdu(3, 1)]),
            (std::slice::from_ref(&up), &[bpdu(3, 2)]),
            (&[faster], &[bpdu(3, 2)]),
        ];
        for (number, (all, frames)) in looks.into_iter().enumerate() {
            assert!(changes.learn(all, frames), "look {number}");
            assert!(!changes.learn(all, frames), "look {number} again");
        }
        assert!(changes.learn(&[], &[]), "gone");
    }

    #[test]
    fn another_way_is_news_another_time_is_not() {
        let path = ProbedPath {
            to: "n1".into(),
            address: [10, 0, 0, 2].into(),
            hops: vec![],
            reached: true,
            round_trip: Some(way(1)),
        };
        let mut changes = ChangeDetector::default();
        assert!(changes.learn_paths(std::slice::from_ref(&path)));
        assert!(!changes.learn_paths(&[ProbedPath {
            round_trip: Some(way(2)),
            ..path.clone()
        }]));
        assert!(changes.learn_paths(&[ProbedPath {
            hops: vec![None],
            ..path
        }]));
    }

    fn way(us: u32) -> RoundTrip {
        RoundTrip {
            min_us: us,
            median_us: us,
            samples: 1,
        }
    }
}
