//! Cables whose ends are members of aggregates.
use super::*;
use inventory::topology::AggregateMember;

fn aggregate(views: &mut DeviceViews, device: &str, members: &[u32]) {
    let interfaces = views.get_mut(device).unwrap().interfaces.as_mut().unwrap();
    interfaces
        .iter_mut()
        .filter(|i| members.contains(&(i.index - 100)))
        .for_each(|i| i.aggregate = Some(200));
    interfaces.push(InterfaceRow {
        index: 200,
        name: "Po1".into(),
        up: true,
        ..InterfaceRow::default()
    });
}

#[test]
fn cables_of_one_aggregate_are_one_link_with_members() {
    let mut views = network(2);
    for (here, there) in [(1, 3), (2, 4)] {
        hears(&mut views, "d1", here, named(2, there));
        hears(&mut views, "d2", there, named(1, here));
    }
    assert_eq!(
        infer_recorded(&views).links.len(),
        2,
        "nothing says that they belong together"
    );
    aggregate(&mut views, "d1", &[1, 2]);
    let one_side = infer_recorded(&views);
    assert_eq!(
        links(&one_side),
        ["d1 Po1 d2 "],
        "and d2 does not say what it calls it"
    );
    aggregate(&mut views, "d2", &[3, 4, 5]);
    for d in ["d1", "d2"] {
        let port = BridgePort {
            number: 1,
            if_index: 200,
            state: Some(StpState::Forwarding),
            designated_bridge: None,
            designated_port: None,
        };
        views.get_mut(d).unwrap().bridge = Some(BridgeTable {
            ports: vec![port],
            ..BridgeTable::default()
        });
    }
    let t = infer_recorded(&views);
    assert_eq!(links(&t), ["d1 Po1 d2 Po1"]);
    let member = |a: &str, b: &str| AggregateMember {
        a_port: a.into(),
        b_port: b.into(),
    };
    let link = &t.links[0];
    assert_eq!(
        link.members,
        [member("Gi0/1", "Gi0/3"), member("Gi0/2", "Gi0/4")]
    );
    assert_eq!(
        (link.rate_bps, link.state, link.grade),
        (
            BitsPerSec(2_000_000_000),
            LinkState::Forwarding,
            LinkGrade::Certain
        )
    );
}

#[test]
fn members_that_list_all_members_neighbours_are_matched_in_order() {
    let mut views = network(2);
    for here in [1, 2] {
        for there in [3, 4] {
            hears(&mut views, "d1", here, named(2, there));
            hears(&mut views, "d2", there, named(1, here));
        }
    }
    aggregate(&mut views, "d1", &[1, 2]);
    aggregate(&mut views, "d2", &[3, 4]);
    let t = infer_recorded(&views);
    assert_eq!(
        (links(&t), t.links[0].members.len(), alarms(&t).as_str()),
        (vec!["d1 Po1 d2 Po1".to_owned()], 2, "")
    );
}
