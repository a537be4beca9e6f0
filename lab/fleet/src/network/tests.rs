use super::*;
use infer::infer;
use inventory::topology::{LinkGrade, LinkState, NodeKind};

fn joined(t: &Topology) -> Vec<(String, String, LinkState)> {
    t.links
        .iter()
        .map(|l| {
            (
                format!("{} {}", l.a, l.a_port),
                format!("{} {}", l.b, l.b_port),
                l.state,
            )
        })
        .collect()
}

#[test]
fn the_same_seed_gives_the_same_network() {
    let (one, again) = (make(7), make(7));
    assert_eq!((one.views, &one.truth), (again.views, &again.truth));
    assert_ne!(one.truth, make(8).truth);
}

fn make(seed: u64) -> GeneratedNetwork {
    generate(&NetworkOptions::field(seed), seed)
}

#[test]
fn where_all_is_well_everything_is_found() {
    let network = generate(&NetworkOptions::regular(40, 200), 1);
    let t = infer(&network.inventory, &network.views);
    let (mut found, mut truth) = (joined(&t), joined(&network.truth));
    found.sort();
    truth.sort();
    let other = found
        .iter()
        .zip(&truth)
        .find(|(found, truth)| found != truth);
    assert_eq!((other, found.len()), (None, truth.len()));
    assert!(t.links.iter().all(|l| l.grade == LinkGrade::Certain) && t.tree().is_ok());
    assert_eq!(t.root_bridge, network.truth.root_bridge);
}

#[test]
fn spanning_tree_leaves_one_way_between_any_two() {
    for seed in 0..50 {
        let mut options = NetworkOptions::field(seed);
        options.redundant = 5;
        let network = generate(&options, seed);
        let carrying = network
            .truth
            .links
            .iter()
            .filter(|l| l.state == LinkState::Forwarding)
            .count();
        assert_eq!(
            carrying + 1,
            network.truth.nodes.len(),
            "seed {seed}: a tree over all nodes"
        );
        assert!(network.truth.tree().is_ok(), "seed {seed}");
    }
}

#[test]
fn the_silent_say_nothing_and_the_others_all() {
    let network = generate(
        &NetworkOptions {
            silent: 0.5,
            ..NetworkOptions::regular(30, 60)
        },
        3,
    );
    assert!(!network.silent.is_empty() && network.silent.len() < 30);
    assert_eq!(network.views.len() + network.silent.len(), 30);
    assert_eq!(
        (
            network.inventory.switches.len(),
            network.truth.names(NodeKind::Switch).count()
        ),
        (30, 30)
    );
}

#[test]
fn a_host_that_was_moved_is_found_where_it_is() {
    for host_lldp in [1.0, 0.0] {
        let mut network = generate(
            &NetworkOptions {
                host_lldp,
                ..NetworkOptions::regular(20, 100)
            },
            5,
        );
        let from = network
            .truth
            .links
            .iter()
            .find(|l| l.b == "n7")
            .unwrap()
            .a
            .clone();
        let to = if from == "s3" { "s4" } else { "s3" };
        assert_eq!(network.recable("n7", to), Some([from, to.to_owned()]));
        assert_eq!(network.recable("n7", to), None, "it hangs there already");
        let found = infer(&network.inventory, &network.views);
        let (mut found, mut truth) = (joined(&found), joined(&network.truth));
        // Without LLDP nobody says how a host calls its port.
        found
            .iter_mut()
            .chain(&mut truth)
            .filter(|l| l.1.starts_with('n'))
            .for_each(|l| l.1 = l.1.replace("eth0", ""));
        found.sort();
        truth.sort();
        assert_eq!(found, truth);
    }
}
