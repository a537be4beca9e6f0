//! Random trees, and the networks next to them.
use super::{LAB, MOST_ROUNDS, map};
use crate::simulated::TrueNetwork;
use crate::simulated::cables::{CableNetwork, SharingKind};
use crate::simulated::datagrams::SwitchKind;
use crate::{HostSet, MapSession, MappedTree};

/// A network, and the tree that was found.
struct JudgedMap {
    network: TrueNetwork,
    tree: MappedTree,
}

impl JudgedMap {
    fn new(seed: u64, sharing: SharingKind) -> JudgedMap {
        let mut rng = fastrand::Rng::with_seed(seed);
        let network = TrueNetwork::random(&mut rng);
        let cables = CableNetwork::of_tree(&network);
        let tree = map(&cables, sharing, &mut rng).tree();
        JudgedMap { network, tree }
    }

    /// The time of an all-to-all by the true trunks over that by the found ones, or the reverse.
    fn bound_ratio(&self) -> f64 {
        let found = self
            .tree
            .trunks
            .iter()
            .map(|t| (t.trunk.side, t.trunk.rates.least()));
        let found = self.network.alltoall_time(found);
        let truth = self.network.trunks.iter().copied();
        let truth = self.network.alltoall_time(truth);
        (truth / found).max(found / truth)
    }

    /// Trunks that are believed and are not there.
    fn wrong(&self) -> usize {
        let sides = self.network.sides();
        let believed = self.tree.trunks.iter().filter(|t| t.probability >= 0.99);
        believed.filter(|t| !sides.contains(&t.trunk.side)).count()
    }

    /// True if every trunk that bounds an all-to-all, or nearly, is found, and no other one.
    fn is_exact(&self) -> bool {
        let found: Vec<HostSet> = self.tree.trunks.iter().map(|t| t.trunk.side).collect();
        let sides = self.network.sides();
        let felt = self.network.felt_sides();
        felt.iter().all(|side| found.contains(side)) && found.iter().all(|s| sides.contains(s))
    }
}

/// Maps random trees. Without optimization a map takes seconds.
fn judge(what: &str, maps: u64, sharing: SharingKind) {
    let maps = if cfg!(debug_assertions) { 3 } else { maps };
    let judged: Vec<JudgedMap> = (0..maps)
        .map(|seed| JudgedMap::new(seed, sharing))
        .collect();
    let bounds = judged.iter().map(JudgedMap::bound_ratio);
    let worst = bounds.fold(1.0, f64::max);
    let wrong: usize = judged.iter().map(JudgedMap::wrong).sum();
    let trunks: usize = judged.iter().map(|j| j.tree.trunks.len()).sum();
    let exact = judged.iter().filter(|j| j.is_exact()).count();
    let refused = judged.iter().filter(|j| j.tree.misfit.is_some()).count();
    println!(
        "{what}: {exact} of {maps} exact, {refused} refused, worst bound {worst:.3}, {wrong} of \
         {trunks} trunks wrong"
    );
    assert!(worst < 1.05, "{worst}");
    assert!(wrong * 100 <= trunks, "{wrong} of {trunks}");
    // Not more than one in twenty, or one.
    let missed = maps as usize - exact;
    assert!(missed * 20 <= maps.max(20) as usize, "{exact} of {maps}");
    assert_eq!(refused, 0);
}

#[test]
fn trees_are_found_from_flows() {
    judge("TCP", 40, SharingKind::Tcp);
}

#[test]
fn trees_are_found_from_datagrams() {
    judge("datagrams", 100, SharingKind::Datagrams(LAB));
}

/// Switches that let datagrams through before they came whole, a jitter of 10 us, and hosts at
/// 1 to 100 Gbit/s.
#[test]
fn trees_of_fast_switches_are_found() {
    for times_faster in [50.0, 500.0, 5000.0] {
        let kind = SwitchKind {
            times_faster,
            queue: 1e6,
            cuts_through: true,
            late: 10e-6,
            busy: 0.01,
        };
        let what = format!("{} Gbit/s", times_faster / 50.0);
        judge(&what, 10, SharingKind::Datagrams(kind));
    }
}

#[test]
fn hosts_that_fill_nothing_have_no_trunk_between_them() {
    let mut rng = fastrand::Rng::with_seed(1);
    let side: HostSet = (0..4).collect();
    let network = TrueNetwork {
        hosts: 12,
        trunks: vec![(side, 10.0 * TrueNetwork::CABLE)],
    };
    let cables = CableNetwork::of_tree(&network);
    let mut session = map(&cables, SharingKind::Tcp, &mut rng);
    let tree = session.tree();
    assert!(tree.trunks.is_empty(), "{:?}", tree.trunks);
    assert!(tree.unexplained < 0.02 && session.believed() > 0.99);
}

/// The tree is right, but nothing tells it from one that busy hosts only pretend.
#[test]
fn where_hosts_are_busy_no_trunk_is_believed() {
    let network = TrueNetwork {
        hosts: 8,
        trunks: vec![((0..4).collect(), TrueNetwork::CABLE)],
    };
    let cables = CableNetwork::of_tree(&network);
    let tree = |busy: f64| {
        let mut rng = fastrand::Rng::with_seed(1);
        let kind = SwitchKind { busy, ..LAB };
        map(&cables, SharingKind::Datagrams(kind), &mut rng).tree()
    };
    let believed = |tree: &MappedTree| tree.trunks.iter().any(|t| t.probability >= 0.99);
    let (idle, busy) = (tree(0.0), tree(0.35));
    assert!(idle.unexplained < 0.02 && believed(&idle), "{idle:?}");
    assert!(busy.unexplained > 0.1 && !believed(&busy), "{busy:?}");
    assert!(!busy.trunks.is_empty(), "{busy:?}");
}

#[test]
fn rounds_that_were_kept_tell_the_same_tree() {
    for seed in 0..3 {
        let mut rng = fastrand::Rng::with_seed(seed);
        let cables = CableNetwork::of_tree(&TrueNetwork::random(&mut rng));
        let (mut live, mut kept) = (MapSession::new(cables.hosts, MOST_ROUNDS), Vec::new());
        while let Some(flows) = live.next_round(&mut rng) {
            let round = cables.measure(&flows, SharingKind::Datagrams(LAB), &mut rng);
            kept.push(round.clone());
            live.record(round);
        }
        let mut again = MapSession::new(cables.hosts, MOST_ROUNDS);
        again.replay(kept);
        assert_eq!(again.tree(), live.tree(), "{seed}");
    }
}

#[test]
fn a_session_that_ends_at_once_has_no_tree() {
    let mut rng = fastrand::Rng::with_seed(1);
    let network = CableNetwork::of_hosts(5, TrueNetwork::CABLE);
    let mut session = MapSession::new(5, MOST_ROUNDS);
    for rounds in 0..=6 {
        let tree = session.tree();
        assert_eq!(
            (tree.rounds, tree.own_rates.is_empty()),
            (rounds, rounds < 6)
        );
        let flows = session.next_round(&mut rng).unwrap();
        session.record(network.measure(&flows, SharingKind::Tcp, &mut rng));
    }
}
