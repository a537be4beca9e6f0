//! A small fleet, asked over sockets like a large one: everything is found, and a switch that does
//! not answer does not delay the others.
use agent::survey::read_switch;
use agent::{clients, read_all_switches};
use fleet::network::{GeneratedNetwork, NetworkOptions, generate};
use fleet::responder::SnmpResponder;
use infer::infer;
use inventory::device_view::{DeviceViews, apply};
use inventory::inventory_file::Inventory;
use inventory::observation::{DeviceFact, Observation};
use inventory::topology::LinkState;
use std::collections::BTreeSet;
use std::time::Duration;
use tokio::task::JoinSet;

fn inventory(network: &GeneratedNetwork, responder: &SnmpResponder, more: &str) -> Inventory {
    let hosts = network
        .inventory
        .hosts
        .iter()
        .map(|(name, host)| (name.as_str(), host.mac));
    Inventory::parse("fleet.yaml", &responder.inventory(hosts, more)).unwrap()
}

/// Links by the names of their ends, and whether they carry frames.
fn links(t: &inventory::Topology) -> BTreeSet<(String, String, bool)> {
    t.links
        .iter()
        .map(|l| (l.a.clone(), l.b.clone(), l.state == LinkState::Forwarding))
        .collect()
}

fn views(observations: &[Observation]) -> DeviceViews {
    let mut views = DeviceViews::new();
    for observation in observations {
        apply(&mut views, observation);
    }
    views
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sixty_switches_and_six_hundred_hosts_are_found_as_they_are() {
    for host_lldp in [1.0, 0.0] {
        let network = generate(
            &NetworkOptions {
                host_lldp,
                ..NetworkOptions::regular(60, 600)
            },
            2,
        );
        let responder = SnmpResponder::start(&network.views, Duration::from_millis(1))
            .await
            .unwrap();
        let inventory = inventory(&network, &responder, "timing: {timeout: 5s}\n");
        let found = infer(
            &inventory,
            &views(&read_all_switches(&inventory).await.unwrap()),
        );
        assert_eq!(links(&found), links(&network.truth));
        assert_eq!(found.tree().unwrap().hosts(), 600);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn switches_that_are_slow_or_silent_delay_nobody() {
    let network = generate(&NetworkOptions::regular(40, 200), 3);
    let responder = SnmpResponder::start(&network.views, Duration::ZERO)
        .await
        .unwrap();
    // This is far longer than the others take for everything, on any machine.
    responder.delay("s7", Some(Duration::from_secs(100)));
    responder.delay("s8", None);
    let inventory = inventory(&network, &responder, "timing: {timeout: 10m}\n");
    let mut looks = JoinSet::new();
    for (name, client) in clients(&inventory).unwrap() {
        looks.spawn(async move { (read_switch(&name, &client).await, name) });
    }
    let mut done = BTreeSet::new();
    while done.len() < 38 {
        let (observations, name) = looks.join_next().await.expect("the others answer").unwrap();
        assert!(
            observations
                .iter()
                .all(|o| !matches!(o.fact, DeviceFact::Failed { .. })),
            "{name}: {observations:?}"
        );
        done.insert(name);
    }
    assert!(!done.contains("s7") && !done.contains("s8"));
}
