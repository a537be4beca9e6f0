//! Tests against a real snmpd: both versions, wrong credentials, a restart that forgets.
mod snmpd_process;

use agent::{SnmpClient, clients, read_all_switches};
use inventory::observation::{DeviceFact, DeviceTable, LldpTable};
use snmpd_process::{SnmpdProcess, failure, impatient, inventory, is_whole};
use std::time::Duration;

async fn client(snmpd: &SnmpdProcess, credential: &str) -> SnmpClient {
    clients(&inventory(&[("s0", snmpd.address, credential)]))
        .unwrap()
        .remove(0)
        .1
}

#[tokio::test]
async fn every_version_reads_the_same_tables() {
    let snmpd = SnmpdProcess::start();
    for credential in ["good", "sha", "sha256"] {
        let client = client(&snmpd, credential).await;
        let DeviceFact::System(system) = client.read(DeviceTable::System).await else {
            panic!("no system group by {credential}")
        };
        assert_eq!(
            (system.name.as_str(), system.descr.is_empty()),
            ("real", false)
        );
        let DeviceFact::Interfaces(interfaces) = client.read(DeviceTable::Interfaces).await else {
            panic!("no interfaces by {credential}")
        };
        let lo = interfaces
            .iter()
            .find(|i| i.name == "lo")
            .expect("the loopback interface");
        assert!(lo.up && lo.in_octets > 0, "{lo:?}");
        let DeviceFact::Pulse(pulse) = client.pulse().await else {
            panic!("no pulse by {credential}")
        };
        assert!(
            pulse.up.contains(&(lo.index, true))
                && pulse.octets.iter().any(|(i, ..)| *i == lo.index),
            "{pulse:?}"
        );
        assert_eq!(
            (pulse.top_changes, pulse.lldp_last_change),
            (None, None),
            "this snmpd has neither BRIDGE-MIB nor LLDP-MIB"
        );
    }
}

#[tokio::test]
async fn a_switch_may_be_managed_over_ipv6_alone() {
    let snmpd = SnmpdProcess::start_on("[::1]:0");
    for credential in ["good", "sha256"] {
        let observations = read_all_switches(&inventory(&[("s0", snmpd.address, credential)]))
            .await
            .unwrap();
        assert!(is_whole(&observations, "s0"), "{observations:#?}");
    }
    let observations = read_all_switches(&impatient(&[("s0", snmpd.address, "wrong")]))
        .await
        .unwrap();
    let (_, problem) = failure(&observations, "s0");
    assert!(
        problem.starts_with(&format!(
            "no answer from [::1]:{} after 2 tries",
            snmpd.address.port()
        )),
        "{problem}"
    );
}

#[tokio::test]
async fn tables_that_are_not_served_are_empty_not_failures() {
    let snmpd = SnmpdProcess::start();
    let client = client(&snmpd, "good").await;
    assert_eq!(
        client.read(DeviceTable::Lldp).await,
        DeviceFact::Lldp(LldpTable::default())
    );
    assert_eq!(client.read(DeviceTable::Fdb).await, DeviceFact::Fdb(vec![]));
    let DeviceFact::Bridge(bridge) = client.read(DeviceTable::Bridge).await else {
        panic!("no bridge")
    };
    assert_eq!(bridge.ports, []);
}

/// snmpd plays a router that serves Nokia's table of neighbours instead of the standard one.
#[tokio::test]
async fn a_vendors_table_is_read_from_that_vendors_device_alone() {
    const ROW: &str = "\
override .1.3.6.1.4.1.6527.3.1.2.59.4.1.1.7.77.5.1.1 octet_str swp9
override .1.3.6.1.4.1.6527.3.1.2.59.4.1.1.9.77.5.1.1 octet_str s9
";
    for (model, read) in [(".1.3.6.1.4.1.6527.1.3.4", 1), (".1.3.6.1.4.1.8072.3", 0)] {
        let conf = format!("sysobjectid {model}\n{ROW}");
        let snmpd = SnmpdProcess::start_with("127.0.0.1:0", &conf);
        let client = client(&snmpd, "good").await;
        for look in ["first", "second"] {
            let DeviceFact::Lldp(lldp) = client.read(DeviceTable::Lldp).await else {
                panic!("no LLDP table of {model}")
            };
            let neighbours: Vec<_> = lldp
                .neighbours
                .iter()
                .map(|n| (n.if_index, n.name.as_str()))
                .collect();
            assert_eq!(
                neighbours,
                [(Some(5), "s9")][..read],
                "{model}, {look} look"
            );
        }
    }
}

#[tokio::test]
async fn wrong_credentials_are_named_and_the_rest_goes_on() {
    let snmpd = SnmpdProcess::start();
    let at = |(name, credential): (&'static str, &'static str)| (name, snmpd.address, credential);
    let answered = [
        ("s0", "good"),
        ("s2", "wrongauth"),
        ("s4", "nobody"),
        ("s5", "sha256"),
    ]
    .map(at);
    let unanswered = [("s1", "wrong"), ("s3", "wrongpriv")].map(at);
    let observations = [
        read_all_switches(&inventory(&answered)).await.unwrap(),
        read_all_switches(&impatient(&unanswered)).await.unwrap(),
    ]
    .concat();
    for whole in ["s0", "s5"] {
        assert!(is_whole(&observations, whole), "{whole}: {observations:#?}");
    }
    for (switch, words) in [
        (
            "s1",
            "after 2 tries of 400 ms; down, unreachable, or it refuses this community",
        ),
        ("s2", "refuses user \"monsha\": wrong auth key or protocol"),
        ("s3", "user \"monsha\""),
        ("s4", "refuses user \"n0body\": unknown user"),
    ] {
        let (table, problem) = failure(&observations, switch);
        assert!(
            table.is_none()
                && problem.contains(words)
                && problem.contains(&snmpd.address.to_string()),
            "{switch}: {problem}"
        );
        assert!(
            !problem.contains("gu3ss") && !problem.contains("pass12"),
            "{problem}"
        );
    }
}

#[tokio::test]
async fn a_restart_that_forgets_the_engine_is_survived() {
    let snmpd = SnmpdProcess::start();
    let mut inventory = inventory(&[("s0", snmpd.address, "sha256")]);
    (inventory.timing.timeout, inventory.timing.retries) = (Duration::from_secs(5), 0);
    let client = clients(&inventory).unwrap().remove(0).1;
    assert!(matches!(client.pulse().await, DeviceFact::Pulse(_)));
    let _snmpd = snmpd.restart();
    // The refusal comes from an engine that is still unknown, so the first poll may go unanswered.
    // That ends the session.
    let first = client.pulse().await;
    let second = client.pulse().await;
    assert!(
        matches!(second, DeviceFact::Pulse(_)),
        "first {first:?}, then {second:?}"
    );
}
