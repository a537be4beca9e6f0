//! An earlier epoch that an operator publishes again.
use super::*;
use crate::engine::OrderedRollback;
use api::AlarmCode;
use directory::rollback::RollbackOrder;

/// A world with two epochs: n2 moved from s1 to s0.
fn moved() -> (SimulatedCluster, OrderedRollback) {
    let mut w = running();
    w.run(10_000);
    let first = &w.published[0];
    let epoch = StoredEpoch {
        number: first.number,
        network: first.network.clone(),
        file: first.file.clone(),
    };
    w.unplug("s1", 2);
    w.host("n2", "s0", 2);
    w.run(20_000);
    assert_eq!(w.published.len(), 2);
    let order = RollbackOrder {
        epoch: epoch.number,
        replaced: w.published[1].number,
    };
    (w, OrderedRollback { order, epoch })
}

fn holds(w: &SimulatedCluster) -> bool {
    let alarms = w.engine.announced_alarms();
    alarms.iter().any(|a| a.code() == AlarmCode::RollbackHeld)
}

#[test]
fn an_ordered_epoch_stays_until_the_network_changes() {
    let (mut w, ordered) = moved();
    let file = ordered.epoch.file.clone();
    w.event(ControllerEvent::Rollback(Some(Box::new(ordered))));
    w.run(60_000);
    assert_eq!(w.published.len(), 3, "{:#?}", w.logged);
    assert_eq!(w.published[2].file.hosts["n2"], file.hosts["n2"]);
    assert!(holds(&w) && w.rollbacks_ended == 0);
    w.unplug("s1", 1);
    w.host("n1", "s0", 3);
    w.run(20_000);
    assert_eq!(w.published.len(), 4, "{:#?}", w.logged);
    assert_eq!(w.published[3].file.hosts["n2"].switch, "s0");
    assert!(!holds(&w) && w.rollbacks_ended == 1);
}

#[test]
fn an_order_that_is_taken_back_gives_way_to_the_network() {
    let (mut w, ordered) = moved();
    w.event(ControllerEvent::Rollback(Some(Box::new(ordered))));
    w.run(10_000);
    w.event(ControllerEvent::Rollback(None));
    w.run(10_000);
    assert_eq!(w.published.len(), 4);
    assert_eq!(w.published[3].file.hosts["n2"].switch, "s0");
    assert!(!holds(&w) && w.rollbacks_ended == 0);
}

#[test]
fn a_restart_keeps_an_order_that_was_carried_out_and_ends_one_that_is_over() {
    let (mut w, ordered) = moved();
    w.event(ControllerEvent::Rollback(Some(Box::new(ordered.clone()))));
    w.run(10_000);
    // The same order again is what a controller finds when it starts anew.
    w.event(ControllerEvent::Rollback(Some(Box::new(ordered.clone()))));
    w.run(10_000);
    assert_eq!((w.published.len(), holds(&w)), (3, true));
    w.unplug("s1", 1);
    w.host("n1", "s0", 3);
    w.run(20_000);
    w.event(ControllerEvent::Rollback(Some(Box::new(ordered.clone()))));
    w.run(10_000);
    assert_eq!((w.published.len(), holds(&w)), (4, false));
    assert_eq!(w.rollbacks_ended, 2);
}

#[test]
fn a_change_shorter_than_the_hold_down_keeps_the_order() {
    let (mut w, ordered) = moved();
    w.event(ControllerEvent::Rollback(Some(Box::new(ordered))));
    w.run(10_000);
    assert_eq!((w.published.len(), holds(&w)), (3, true));
    let hold = Duration::from_secs(4);
    let mut inventory = w.inventory.clone();
    inventory.timing.hold_down = hold;
    w.event(ControllerEvent::InventoryChanged(Box::new(inventory)));
    w.run(10_000);
    w.unplug("s1", 1);
    w.host("n1", "s0", 3);
    w.run(2_000);
    w.unplug("s0", 3);
    w.host("n1", "s1", 1);
    w.run(10_000);
    assert_eq!((w.published.len(), holds(&w)), (3, true), "{:#?}", w.logged);
    w.unplug("s1", 1);
    w.host("n1", "s0", 3);
    w.run(20_000);
    assert_eq!(
        (w.published.len(), holds(&w)),
        (4, false),
        "{:#?}",
        w.logged
    );
    assert_eq!(w.rollbacks_ended, 1);
}

#[test]
fn the_alarm_of_an_order_that_cannot_be_read_ends_with_the_order() {
    let (mut w, ordered) = moved();
    w.event(unreadable_order());
    w.run(1_000);
    assert!(holds(&w));
    w.event(ControllerEvent::Rollback(None));
    w.run(1_000);
    assert!(!holds(&w), "after --release");
    // An order that is dropped at once, since another epoch is current.
    let mut old = ordered;
    old.order.replaced = 99;
    w.event(unreadable_order());
    w.run(1_000);
    assert!(holds(&w));
    w.event(ControllerEvent::Rollback(Some(Box::new(old))));
    w.run(1_000);
    assert!(!holds(&w), "after an order that is dropped");
    assert_eq!((w.published.len(), w.rollbacks_ended), (2, 1));
    assert!(is_logged("is dropped", &w), "{:#?}", w.logged);
}

fn unreadable_order() -> ControllerEvent {
    ControllerEvent::Trouble {
        about: TroubleArea::Rollback,
        problem: Some("rollback.json: that is no order".to_owned()),
    }
}

fn is_logged(part: &str, w: &SimulatedCluster) -> bool {
    w.logged.iter().any(|line| line.contains(part))
}
