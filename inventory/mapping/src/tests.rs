//! Maps of random networks, of which everything is known.
use crate::simulated::TrueNetwork;
use crate::{HostSet, MapSession, MappedTree};

/// What a map came to.
struct JudgedMap {
    network: TrueNetwork,
    tree: MappedTree,
}

impl JudgedMap {
    fn new(seed: u64, most_rounds: usize) -> JudgedMap {
        let mut rng = fastrand::Rng::with_seed(seed);
        let network = TrueNetwork::random(&mut rng);
        let mut session = MapSession::new(network.hosts, most_rounds);
        while let Some(flows) = session.next_round(&mut rng) {
            session.record(network.measure(&flows, &mut rng));
        }
        let tree = session.tree();
        JudgedMap { network, tree }
    }

    /// The time of an all-to-all by the true trunks over that by the found ones, or the reverse.
    fn bound_ratio(&self) -> f64 {
        let found = self
            .tree
            .trunks
            .iter()
            .map(|t| (t.trunk.side, t.trunk.rate));
        let found = self.network.alltoall_time(found);
        let truth = self
            .network
            .alltoall_time(self.network.trunks.iter().copied());
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

#[test]
fn trees_are_found_from_flows() {
    // Without optimization a map takes seconds.
    let maps = if cfg!(debug_assertions) { 4 } else { 100 };
    let judged: Vec<JudgedMap> = (0..maps).map(|seed| JudgedMap::new(seed, 50)).collect();
    let worst = judged
        .iter()
        .map(JudgedMap::bound_ratio)
        .fold(1.0, f64::max);
    let wrong: usize = judged.iter().map(JudgedMap::wrong).sum();
    let trunks: usize = judged.iter().map(|j| j.tree.trunks.len()).sum();
    let exact = judged.iter().filter(|j| j.is_exact()).count();
    println!("{exact} of {maps} exact, worst bound {worst:.3}, {wrong} of {trunks} trunks wrong");
    assert!(worst < 1.05, "{worst}");
    assert!(wrong * 100 <= trunks, "{wrong} of {trunks}");
    assert!(exact * 100 >= 95 * maps as usize, "{exact} of {maps}");
}

#[test]
fn hosts_that_fill_nothing_have_no_trunk_between_them() {
    let mut rng = fastrand::Rng::with_seed(1);
    let side: HostSet = (0..4).collect();
    let network = TrueNetwork {
        hosts: 12,
        trunks: vec![(side, 10.0 * TrueNetwork::CABLE)],
    };
    let mut session = MapSession::new(12, 50);
    while let Some(flows) = session.next_round(&mut rng) {
        session.record(network.measure(&flows, &mut rng));
    }
    let tree = session.tree();
    assert!(tree.trunks.is_empty(), "{:?}", tree.trunks);
    assert!(tree.unexplained < 0.02 && session.believed() > 0.99);
}

/// Two paths between switches, chosen by address: the two sides are joined by cables that pairs of
/// hosts share, so that no tree explains the rates.
#[test]
fn what_is_no_tree_is_told() {
    let mut rng = fastrand::Rng::with_seed(3);
    let mut session = MapSession::new(12, 50);
    while let Some(flows) = session.next_round(&mut rng) {
        let rate = |flow: &crate::HostFlow| {
            // As many flows as chance has it share one of three cables.
            let cable = |f: &crate::HostFlow| (f.from * 7 + f.to * 13) % 3;
            let crosses = |f: &&crate::HostFlow| f.from % 2 != f.to % 2;
            let sharing = flows
                .iter()
                .filter(crosses)
                .filter(|f| cable(f) == cable(flow))
                .count();
            match flow.from % 2 != flow.to % 2 {
                true => TrueNetwork::CABLE / sharing as f64,
                false => TrueNetwork::CABLE,
            }
        };
        let measured = |flow: &crate::HostFlow| crate::MeasuredFlow {
            flow: *flow,
            rate: rate(flow),
        };
        session.record(crate::MeasuredRound {
            flows: flows.iter().map(measured).collect(),
        });
    }
    let tree = session.tree();
    assert!(tree.unexplained > 0.3, "{tree:?}");
}

#[test]
fn a_session_that_ends_at_once_has_no_tree() {
    let mut rng = fastrand::Rng::with_seed(1);
    let network = TrueNetwork {
        hosts: 5,
        trunks: Vec::new(),
    };
    let mut session = MapSession::new(5, 50);
    for rounds in 0..=6 {
        let tree = session.tree();
        assert_eq!(
            (tree.rounds, tree.own_rates.is_empty()),
            (rounds, rounds < 6)
        );
        let flows = session.next_round(&mut rng).unwrap();
        session.record(network.measure(&flows, &mut rng));
    }
}
