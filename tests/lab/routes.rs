//! Routes that are withdrawn in a fabric whose links all stay: agents trace flows, and an epoch follows.
use crate::common::lab::RunningLab;
use crate::measured::MeasuredLab;
use inventory::topology::LinkState;
use std::time::{Duration, Instant};

const FABRIC: &str = "
switches: [leaf1, leaf2, leaf3]
routers: [spine1, spine2]
hosts:
  n[0-1]: {switch: leaf1, rate: 20M}
  n[2-3]: {switch: leaf2, rate: 20M}
  n4: {switch: leaf3, rate: 20M}
links:
- {a: leaf1, b: spine1, rate: 20M, state: multipath}
- {a: leaf1, b: spine2, rate: 20M, state: multipath}
- {a: leaf2, b: spine1, rate: 20M, state: multipath}
- {a: leaf2, b: spine2, rate: 20M, state: multipath}
- {a: leaf3, b: spine1, rate: 20M, state: multipath}
- {a: leaf3, b: spine2, rate: 20M, state: multipath}
";

/// From the change to the epoch.
const SOON: Duration = Duration::from_secs(20);

impl MeasuredLab {
    /// Waits until the published topology has these links between switches, of which each is a way.
    fn await_ways(&self, expected: &[[&str; 2]]) -> Duration {
        let began = Instant::now();
        self.await_published("the ways", |file| {
            let links = file.links.iter();
            let mut ways: Vec<[&str; 2]> = links
                .filter(|link| link.state != Some(LinkState::Blocked))
                .map(|link| [&*link.a, &*link.b])
                .collect();
            ways.sort_unstable();
            ways == expected
        });
        began.elapsed()
    }

    /// Gives a leaf these routes to another leaf's hosts.
    fn route(&self, leaf: &str, to: &str, next_hops: &[&str]) {
        let mut route = vec!["ip", "route", "replace", to];
        for next_hop in next_hops {
            route.extend(["nexthop", "via", next_hop]);
        }
        self.lab().exec(leaf, &route);
    }
}

/// The next hops of a leaf's route.
fn next_hops(lab: &RunningLab, leaf: &str, to: &str) -> Vec<String> {
    let shown = lab.exec(leaf, &["ip", "route", "show", to]);
    let words: Vec<&str> = shown.split_whitespace().collect();
    let via = words.windows(2).filter(|pair| pair[0] == "via");
    via.map(|pair| pair[1].to_owned()).collect()
}

const ALL: [[&str; 2]; 6] = [
    ["leaf1", "spine1"],
    ["leaf1", "spine2"],
    ["leaf2", "spine1"],
    ["leaf2", "spine2"],
    ["leaf3", "spine1"],
    ["leaf3", "spine2"],
];

#[test]
fn an_epoch_follows_a_withdrawn_route() {
    let lab = MeasuredLab::reporting("routes", FABRIC);
    lab.await_ways(&ALL);
    let to = "10.77.1.0/24";
    let both = next_hops(lab.lab(), "leaf1", to);
    let [first, second] = &both[..] else {
        panic!("{both:?}");
    };
    let job = lab.lab().job(16, ["--seconds", "25"]);
    std::thread::sleep(Duration::from_secs(5));
    lab.route("leaf1", to, &[second]);
    let left = lab.await_ways(&ALL[1..]);
    lab.route("leaf1", to, &[first, second]);
    let back = lab.await_ways(&ALL);
    job.ends_well();
    assert!(left < SOON && back < SOON, "{left:?} {back:?}");
}
