//! The meaning of ids and numbers of ports that may be several ports'.
use super::{alarms, links, lldp_of, mac, text};
use crate::infer_recorded;
use inventory::device_view::{DeviceView, DeviceViews};
use inventory::observation::{
    BridgePort, BridgeTable, InterfaceKind, InterfaceRow, LldpNeighbour, LldpPort, LldpTable,
};
use inventory::topology::LinkGrade;
use inventory::{BitsPerSec, Millis};

/// A switch with ports `x1` to `x5` at ifIndexes from `first`, which are base ports 1 to 5, after as many
/// other interfaces, `EMP-1` to `EMP-5`. Its ids are the numbers of base ports.
fn switch(n: u8, first: u32, listed: bool) -> DeviceView {
    let interface = |index: u32, name: String| InterfaceRow {
        index,
        name,
        rate: Some(BitsPerSec::GIGABIT),
        up: true,
        ..InterfaceRow::default()
    };
    let others = (1..first.min(6)).map(|i| interface(i, format!("EMP-{i}")));
    let own = (0..5).map(|i| interface(first + i, format!("x{}", i + 1)));
    DeviceView {
        seen: Some(Millis(1)),
        interfaces: Some(others.chain(own).collect()),
        bridge: Some(BridgeTable {
            ports: (1..=5)
                .map(|number| BridgePort {
                    number,
                    if_index: first + number - 1,
                    state: None,
                    designated_bridge: None,
                    designated_port: None,
                })
                .collect(),
            ..BridgeTable::default()
        }),
        lldp: Some(LldpTable {
            chassis: Some(mac(n)),
            name: format!("sw{n}"),
            ports: (1..=5)
                .filter(|_| listed)
                .map(|number| LldpPort {
                    number,
                    kind: None,
                    id: text(&number.to_string()).unwrap(),
                    descr: String::new(),
                })
                .collect(),
            ..LldpTable::default()
        }),
        ..DeviceView::default()
    }
}

/// Two such switches with a cable from port 2 to port 3.
fn pair(first: u32, listed: bool) -> DeviceViews {
    let mut views: DeviceViews = [1, 2]
        .map(|n| (format!("d{n}"), switch(n, first, listed)))
        .into();
    for (device, near, far, port) in [("d1", 2, 2, 3), ("d2", 3, 1, 2)] {
        let lldp = lldp_of(&mut views, device);
        lldp.neighbours.push(LldpNeighbour {
            local_port: near,
            chassis: Some(mac(far)),
            port: text(&match listed {
                true => port.to_string(),
                false => format!("x{port}"),
            }),
            name: format!("sw{far}"),
            ..LldpNeighbour::default()
        });
    }
    views
}

#[test]
fn ids_are_base_ports_though_other_interfaces_have_these_indexes() {
    for first in [2, 3, 6, 1001] {
        let t = infer_recorded(&pair(first, true));
        assert_eq!(links(&t), ["d1 x2 d2 x3"], "{first}: {}", alarms(&t));
        assert_eq!(t.links[0].grade, LinkGrade::Certain, "{first}");
    }
}

#[test]
fn numbers_without_a_table_are_what_the_neighbours_name() {
    for first in [2, 3, 6, 1001] {
        let t = infer_recorded(&pair(first, false));
        assert_eq!(links(&t), ["d1 x2 d2 x3"], "{first}: {}", alarms(&t));
    }
    // The same, but the numbers are ifIndexes.
    let mut views = pair(3, false);
    for view in views.values_mut() {
        for row in &mut view.lldp.as_mut().unwrap().neighbours {
            row.local_port += 2;
        }
    }
    assert_eq!(links(&infer_recorded(&views)), ["d1 x2 d2 x3"]);
}

#[test]
fn a_port_that_is_down_is_not_meant() {
    let mut views = pair(2, true);
    for view in views.values_mut() {
        let interfaces = view.interfaces.as_mut().unwrap();
        for row in interfaces
            .iter_mut()
            .filter(|row| ["x1", "x2"].contains(&row.name.as_str()))
        {
            row.up = row.name == "x2";
        }
    }
    let t = infer_recorded(&views);
    assert_eq!(
        (links(&t), t.alarms.len()),
        (vec!["d1 x2 d2 x3".to_owned()], 0)
    );
}

#[test]
fn descriptions_do_not_outvote_ids() {
    let mut views = pair(1001, true);
    let lldp = lldp_of(&mut views, "d1");
    // The far port's alias is the near port's name.
    lldp.neighbours[0].port_descr = "x2".into();
    let far = views.get_mut("d2").unwrap().interfaces.as_mut().unwrap();
    far.iter_mut().find(|row| row.name == "x3").unwrap().alias = "x2".into();
    lldp_of(&mut views, "d2").neighbours.clear();
    let t = infer_recorded(&views);
    assert_eq!(links(&t), ["d1 x2 d2 x3"]);
}

#[test]
fn a_number_of_two_ports_is_not_certain_to_be_one_of_them() {
    for first in [2, 3] {
        let mut views = pair(first, false);
        let far = views.get_mut("d2").unwrap();
        far.lldp.as_mut().unwrap().neighbours.clear();
        let t = infer_recorded(&views);
        assert_eq!(links(&t).len(), 1, "{first}: {}", alarms(&t));
        assert_eq!(t.links[0].grade, LinkGrade::Inferred, "{first}");
    }
}

#[test]
fn the_description_of_one_port_does_not_outvote_the_ids_of_all() {
    let mut views = pair(1001, true);
    let lldp = lldp_of(&mut views, "d2");
    lldp.ports[2].descr = "x5".into();
    let t = infer_recorded(&views);
    assert_eq!(links(&t), ["d1 x2 d2 x3"], "{}", alarms(&t));
    assert_eq!(t.links[0].grade, LinkGrade::Certain);
}

#[test]
fn without_base_ports_a_number_may_be_one() {
    let mut views = pair(2, true);
    for view in views.values_mut() {
        view.bridge = None;
    }
    let t = infer_recorded(&views);
    assert_eq!(links(&t).len(), 1, "{}", alarms(&t));
    assert_eq!(t.links[0].grade, LinkGrade::Inferred);
    // Names that end in the numbers are a witness.
    let mut views = pair(1, true);
    for view in views.values_mut() {
        view.bridge = None;
    }
    let t = infer_recorded(&views);
    assert_eq!(links(&t), ["d1 x2 d2 x3"], "{}", alarms(&t));
    assert_eq!(t.links[0].grade, LinkGrade::Certain);
}

#[test]
fn without_a_table_a_row_at_a_vlan_is_at_no_port() {
    let mut views = pair(1, false);
    for view in views.values_mut() {
        view.interfaces.as_mut().unwrap().push(InterfaceRow {
            index: 50,
            name: "vlan10".into(),
            kind: InterfaceKind::Vlan,
            up: true,
            ..InterfaceRow::default()
        });
        let rows = &mut view.lldp.as_mut().unwrap().neighbours;
        rows.push(LldpNeighbour {
            local_port: 50,
            port: text("vlan10"),
            ..rows[0].clone()
        });
    }
    let t = infer_recorded(&views);
    assert_eq!(links(&t), ["d1 x2 d2 x3"], "{}", alarms(&t));
}

#[test]
fn without_a_table_two_rows_at_one_number_are_at_one_port() {
    let mut views = pair(1, false);
    views.remove("d2");
    let rows = &mut lldp_of(&mut views, "d1").neighbours;
    rows.push(LldpNeighbour {
        port: Some(mac(2)),
        ..rows[0].clone()
    });
    let t = infer_recorded(&views);
    assert_eq!(links(&t), ["d1 x2 sw2 x3"], "{}", alarms(&t));
}

#[test]
fn a_strangers_id_beside_an_asked_devices_name_and_port_is_not_certain() {
    let mut views = pair(1, true);
    let far = views.get_mut("d2").unwrap();
    far.lldp.as_mut().unwrap().neighbours.clear();
    let rows = &mut lldp_of(&mut views, "d1").neighbours;
    rows[0].chassis = Some(mac(9));
    let t = infer_recorded(&views);
    assert_eq!(links(&t).len(), 1, "{}", alarms(&t));
    assert_eq!(t.links[0].grade, LinkGrade::Inferred);
    // A device of this name without that port is another one.
    let rows = &mut lldp_of(&mut views, "d1").neighbours;
    rows[0].port = text("x77");
    let t = infer_recorded(&views);
    assert_eq!(t.links[0].grade, LinkGrade::Certain);
}
