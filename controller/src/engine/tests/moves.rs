//! A host's cable moves: one epoch, whatever the timing of ports, neighbours and caches.
use super::world::{SimulatedCluster, mac};
use crate::engine::ControllerEvent;
use inventory::observation::{DeviceTable, StpState};
use inventory::{BitsPerSec, Mac};
use proptest::prelude::*;

const RATE: BitsPerSec = BitsPerSec::mega(20);
/// The tables that agents serve from caches.
const CACHED: [DeviceTable; 4] = [
    DeviceTable::Interfaces,
    DeviceTable::Bridge,
    DeviceTable::Lldp,
    DeviceTable::Fdb,
];

/// The state of a port after its cable was pulled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EmptyPort {
    Down,
    /// Down, and its rate is no longer stated.
    Rateless,
    /// No table but LLDP's lists it, as after the removal of a line card or a kernel interface.
    Pulled,
}

/// A moved cable, with times in ms.
#[derive(Debug, Clone)]
struct CableMove {
    left: EmptyPort,
    /// The host runs an LLDP daemon.
    speaks: bool,
    /// From the unplugging to the plugging.
    away: u64,
    /// For how long the old switch lists the neighbour after the unplugging.
    forgets: u64,
    /// From the plugging to the neighbour's first frame.
    hears: u64,
    /// Time in each of the states listening and learning.
    forward_delay: u64,
    /// The age of the tables in the caches of both switches.
    ages: [[u64; 4]; 2],
    /// The start, relative to the poll.
    starts: u64,
}

fn any_move() -> impl Strategy<Value = CableMove> {
    let left = prop_oneof![
        Just(EmptyPort::Down),
        Just(EmptyPort::Rateless),
        Just(EmptyPort::Pulled)
    ];
    let forward_delay = prop_oneof![Just(0), 100..3_000_u64];
    let times = (50..3_000_u64, 0..120_000_u64, 0..3_000_u64);
    (
        left,
        any::<bool>(),
        times,
        forward_delay,
        [ages(), ages()],
        0..500_u64,
    )
        .prop_map(
            |(left, speaks, (away, forgets, hears), forward_delay, ages, starts)| CableMove {
                left,
                speaks,
                away,
                forgets,
                hears,
                forward_delay,
                ages,
                starts,
            },
        )
}

fn age() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), 0..300_u64, 0..1_500_u64]
}

fn ages() -> [impl Strategy<Value = u64>; 4] {
    [age(), age(), age(), age()]
}

/// Two switches, n0 on s0, and n1 and n2 on s1; all links have one rate.
fn running(moved: &CableMove) -> SimulatedCluster {
    let Mac(octets) = mac("n2");
    let octets: Vec<String> = octets.iter().map(|o| format!("{o:02x}")).collect();
    let hosts = format!(
        "{{n0: {{}}, n1: {{}}, n2: {{mac: \"{}\"}}}}",
        octets.join(":")
    );
    let mut w = SimulatedCluster::new(&["s0", "s1"], &hosts);
    w.cable("s0", 9, "s1", 9);
    w.host("n0", "s0", 1);
    w.host("n1", "s1", 1);
    w.host("n2", "s1", 2);
    for device in w.devices.values_mut() {
        device
            .ports
            .values_mut()
            .for_each(|port| port.rate = Some(RATE));
    }
    if !moved.speaks {
        w.lose_row("s1", 2);
    }
    learn(&mut w, ["s1", "s0"], 2);
    for (switch, ages) in ["s1", "s0"].into_iter().zip(moved.ages) {
        let aged = CACHED.into_iter().zip(ages).filter(|(_, age)| *age > 0);
        w.cached
            .extend(aged.map(|(table, age)| ((switch.to_owned(), table), age)));
    }
    w.start(None);
    w.run(5_000);
    assert_eq!(w.published.len(), 1, "{:#?}", w.logged);
    w
}

/// The switches learn n2 at its port and at the trunk.
fn learn(w: &mut SimulatedCluster, [own, other]: [&str; 2], port: u32) {
    for (switch, port) in [(own, port), (other, 9)] {
        let device = w.devices.get_mut(switch).unwrap();
        device.learned.insert("n2".to_owned(), port);
    }
}

/// Carries out what is due at `at` after the unplugging.
fn step(w: &mut SimulatedCluster, moved: &CableMove, at: u64) {
    let CableMove { away, .. } = *moved;
    if at == 0 {
        w.unplug_silently("s1", 2);
        let old = w.devices.get_mut("s1").unwrap();
        let port = old.ports.get_mut(&2).unwrap();
        port.pulled = moved.left == EmptyPort::Pulled;
        port.rate = port.rate.filter(|_| moved.left != EmptyPort::Rateless);
        old.learned.remove("n2");
    }
    if at == moved.forgets / 10 * 10 && moved.speaks {
        w.lose_row("s1", 2);
    }
    let Some(since) = at.checked_sub(away / 10 * 10) else {
        return;
    };
    let is_now = |after: u64| since == after / 10 * 10;
    if is_now(0) {
        w.host("n2", "s0", 2);
        let port = w.devices.get_mut("s0").unwrap().ports.get_mut(&2).unwrap();
        (port.rate, port.peer) = (Some(RATE), None);
        if moved.forward_delay > 0 {
            w.stp("s0", 2, StpState::Listening);
        }
    }
    if is_now(moved.hears) && moved.speaks {
        w.restore_row("s0", 2, "n2");
        w.touch_lldp("s0");
    }
    if moved.forward_delay > 0 && is_now(moved.forward_delay) {
        w.stp("s0", 2, StpState::Learning);
    }
    if is_now(2 * moved.forward_delay) {
        w.stp("s0", 2, StpState::Forwarding);
        w.devices.values_mut().for_each(|d| d.touch_tree());
        learn(w, ["s0", "s1"], 2);
    }
}

fn check(moved: &CableMove) {
    let mut w = running(moved);
    w.run(moved.starts);
    let longest = moved.away + moved.hears + 2 * moved.forward_delay + 100;
    for at in (0..longest.max(moved.forgets) + 20_000).step_by(10) {
        step(&mut w, moved, at);
        w.run(10);
    }
    let moves: Vec<_> = w
        .engine
        .snapshot(w.now)
        .epochs
        .into_iter()
        .map(|e| e.changes)
        .collect();
    assert_eq!(w.published.len(), 2, "{moves:#?}\n{:#?}", w.logged);
    // While one forwarding database is older than the other, the trunk is less certain.
    assert_eq!(moves[1][0], "n2 moved from s1 port swp2 to s0 port swp2");
    let host = &w.published[1].file.hosts["n2"];
    assert_eq!((host.switch.as_str(), host.rate), ("s0", RATE));
    w.event(ControllerEvent::Tick);
    assert_eq!(w.alarms(), []);
}

/// Once the port was gone from the interface table, its rate was assumed, and published.
#[test]
fn a_port_that_was_removed_has_no_rate() {
    check(&CableMove {
        left: EmptyPort::Pulled,
        speaks: true,
        away: 400,
        forgets: 60_000,
        hears: 600,
        forward_delay: 2_000,
        ages: [[0; 4]; 2],
        starts: 0,
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 100 } else { 2000 }))]

    #[test]
    fn a_moved_cable_is_one_epoch(moved in any_move()) {
        check(&moved);
    }
}
