//! The smallest networks for classes of mistakes that were found in recordings of real networks,
//! made of made-up devices: each folder of `smallest_networks` is one, and [`NETWORKS`] has what is
//! right in it.
use agent::recording::read_folder;
use infer::infer_recorded;
use inventory::Millis;
use inventory::device_view::{DeviceViews, apply};
use inventory::topology::{Link, NodeKind, Topology};
use std::path::Path;

/// A network and what is right in it.
struct SmallNetwork {
    folder: &'static str,
    /// Each cable as `device port - device port grade state`; an aggregate with `(members)`.
    cables: &'static [&'static str],
    /// The number of alarms.
    alarms: usize,
}

const NETWORKS: [SmallNetwork; 40] = [
    SmallNetwork {
        folder: "own-name-of-a-neighbour",
        cables: &[
            "00:00:00:aa:00:02 p1 - a p1 certain forwarding",
            "00:00:00:aa:00:03 p1 - a p2 certain forwarding",
            "00:00:00:aa:00:04 p1 - a p3 certain forwarding",
        ],
        alarms: 0,
    },
    SmallNetwork {
        folder: "three-of-one-name",
        cables: &[
            "00:00:00:aa:00:02 p1 - core p1 certain forwarding",
            "00:00:00:aa:00:03 p1 - core p2 certain forwarding",
            "00:00:00:aa:00:04 p1 - core p3 certain forwarding",
        ],
        alarms: 0,
    },
    SmallNetwork {
        folder: "one-port-id-for-all",
        cables: &[
            "a p1 - b p3 certain forwarding",
            "a p2 - c p4 certain forwarding",
        ],
        alarms: 0,
    },
    SmallNetwork {
        folder: "aggregate-known-to-stp",
        cables: &["a Po1 - b Po1 certain forwarding (p1 p1, p2 p2)"],
        alarms: 0,
    },
    SmallNetwork {
        folder: "cdp-through-a-switch",
        cables: &[
            "a p1 - b p8 inferred forwarding",
            "b p2 - SEP0004F2000001 Port 1 inferred forwarding",
        ],
        alarms: 0,
    },
    SmallNetwork {
        folder: "segment-of-three",
        cables: &[
            "a p1 - segment-a-p1  inferred forwarding",
            "b p1 - segment-a-p1  inferred forwarding",
            "c p1 - segment-a-p1  inferred forwarding",
        ],
        alarms: 1,
    },
    SmallNetwork {
        folder: "short-name-in-another-domain",
        cables: &[
            "core.siteb p7 - edgeA p1 certain forwarding",
            "coreA p3 - other.sitea p1 certain forwarding",
        ],
        alarms: 0,
    },
    SmallNetwork {
        folder: "name-of-an-asked-switch",
        cables: &["00:00:00:cc:00:01 p7 - a p1 certain forwarding"],
        alarms: 0,
    },
    SmallNetwork {
        folder: "name-of-an-asked-switch-without-lldp",
        cables: &["00:00:00:cc:00:01 p7 - a p1 certain forwarding"],
        alarms: 0,
    },
    SmallNetwork {
        folder: "null-addresses",
        cables: &[
            "a p1 - unknown-a-p1 00:00:00:00:00:00 inferred forwarding",
            "a p2 - unknown-a-p2 00:00:00:00:00:00 inferred forwarding",
            "a p3 - unknown-a-p3 00:00:00:00:00:00 inferred forwarding",
        ],
        alarms: 3,
    },
    SmallNetwork {
        folder: "cdp-through-a-tunnel",
        cables: &[],
        alarms: 2,
    },
    SmallNetwork {
        folder: "server-without-bridge",
        cables: &["a p3 - box eth0 inferred forwarding"],
        alarms: 0,
    },
    SmallNetwork {
        folder: "disabled-and-up",
        cables: &["a p1 - b p1 certain forwarding"],
        alarms: 0,
    },
    SmallNetwork {
        folder: "local-ids-are-base-ports",
        cables: &["o-a port5 - o-b port3 certain forwarding"],
        alarms: 0,
    },
    SmallNetwork {
        folder: "local-ids-far-from-interfaces",
        cables: &["core ge2 - ie FastEthernet 1/3 certain forwarding"],
        alarms: 0,
    },
    SmallNetwork {
        folder: "no-table-of-local-ports",
        cables: &["h-a 10GE1/0/3 - h-b 10GE1/0/4 certain forwarding"],
        alarms: 0,
    },
    SmallNetwork {
        folder: "description-is-anothers-name",
        cables: &["ex-a ge-0/0/1 - ex-b ge-0/0/5 certain forwarding"],
        alarms: 0,
    },
    SmallNetwork {
        folder: "description-of-two-ports",
        cables: &["s-a Ethernet2 - s-b  certain forwarding"],
        alarms: 0,
    },
    SmallNetwork {
        folder: "description-of-an-aggregate",
        cables: &[
            "core ae3 - os10  certain forwarding (xe-0/0/1 ethernet1/1/1, xe-0/0/2 ethernet1/1/2)",
        ],
        alarms: 0,
    },
    SmallNetwork {
        folder: "ports-behind-a-slash",
        cables: &[
            "mt-a ether1 - mt-b ether2 certain unknown",
            "mt-a ether2 - mt-b ether1 certain unknown",
        ],
        alarms: 0,
    },
    SmallNetwork {
        folder: "cable-for-each-vlan",
        cables: &[
            "pv-a ge7 - pv-b ge5 inferred unknown",
            "pv-a ge8 - pv-b ge6 inferred unknown",
        ],
        alarms: 0,
    },
    SmallNetwork {
        folder: "neighbours-at-vlans",
        cables: &["v-a ge2 - v-b ge2 certain forwarding"],
        alarms: 0,
    },
    SmallNetwork {
        folder: "neighbours-at-vlans-across-a-switch",
        cables: &[
            "mid ge1 - v-a ge2 certain forwarding",
            "mid ge4 - v-b ge3 certain forwarding",
        ],
        alarms: 2,
    },
    SmallNetwork {
        folder: "third-speaker-unasked",
        cables: &[
            "sa ge1 - sb ge2 ambiguous unknown",
            "sa ge1 - sc ge3 ambiguous unknown",
            "sb ge2 - sc ge3 ambiguous unknown",
        ],
        alarms: 3,
    },
    SmallNetwork {
        folder: "management-segment",
        cables: &[
            "leaf1 Et1 - spine Et1 certain forwarding",
            "leaf1 Management1 - leaf2 Management1 ambiguous unknown",
            "leaf1 Management1 - spine Management1 ambiguous unknown",
            "leaf2 Et1 - spine Et2 certain forwarding",
            "leaf2 Management1 - spine Management1 ambiguous unknown",
        ],
        alarms: 3,
    },
    SmallNetwork {
        folder: "management-segment-one-unasked",
        cables: &[
            "leaf1 Et1 - spine Et1 certain forwarding",
            "leaf1 Management1 - leaf2 Management1 ambiguous unknown",
            "leaf1 Management1 - spine Management1 ambiguous unknown",
            "leaf2 Et1 - spine Et2 certain forwarding",
            "leaf2 Management1 - spine Management1 ambiguous unknown",
        ],
        alarms: 3,
    },
    SmallNetwork {
        folder: "management-ports",
        cables: &[
            "leaf1 eth0 - oob ge1 certain unknown",
            "leaf1 swp3 - spine swp1 certain forwarding",
            "leaf2 eth0 - oob ge2 certain unknown",
            "leaf2 swp3 - spine swp2 certain forwarding",
            "oob ge3 - spine eth0 certain unknown",
        ],
        alarms: 0,
    },
    SmallNetwork {
        folder: "loopback-chassis",
        cables: &[
            "t-a ge1 - t-b ge1 certain forwarding",
            "t-a ge3 - unknown-t-a-ge3 p1 inferred forwarding",
            "t-b ge4 - unknown-t-b-ge4 p2 inferred forwarding",
        ],
        alarms: 2,
    },
    SmallNetwork {
        folder: "blocking-members-of-an-aggregate",
        cables: &[
            "h-a BAGG1 - h-b BAGG1 certain forwarding (XGE1/0/1 XGE1/0/1, XGE1/0/2 XGE1/0/2)",
        ],
        alarms: 0,
    },
    SmallNetwork {
        folder: "bridge-id-of-a-pair",
        cables: &["leaf1 swp3 - leaf2 swp3 certain forwarding"],
        alarms: 0,
    },
    SmallNetwork {
        folder: "address-of-a-virtual-router",
        cables: &["far ge2 - rtr xe0 inferred forwarding"],
        alarms: 0,
    },
    SmallNetwork {
        folder: "stations-behind-tunnels",
        cables: &[],
        alarms: 0,
    },
    SmallNetwork {
        folder: "another-chassis-for-each-neighbour",
        cables: &[
            "core Gi1/1 - edge1 1/4 certain forwarding",
            "core Gi1/2 - edge2 1/4 certain forwarding",
        ],
        alarms: 0,
    },
    SmallNetwork {
        folder: "row-with-two-timemarks",
        cables: &["m-a ge3 - m-b ge4 certain forwarding"],
        alarms: 0,
    },
    SmallNetwork {
        folder: "index-of-timemark-and-port",
        cables: &["ms-a Port 3 - ms-b Port 5 certain forwarding"],
        alarms: 0,
    },
    SmallNetwork {
        folder: "database-by-interfaces",
        cables: &["son-a Eth8 - son-b Eth7 inferred forwarding"],
        alarms: 0,
    },
    SmallNetwork {
        folder: "database-by-lldp-numbers",
        cables: &["j-a gigabitEthernet 1/0/8 - j-b gigabitEthernet 1/0/7 inferred forwarding"],
        alarms: 0,
    },
    SmallNetwork {
        folder: "agent-of-a-card",
        cables: &["tor ge1 - node01 ens1f0 certain forwarding"],
        alarms: 0,
    },
    SmallNetwork {
        folder: "one-neighbour-two-ports",
        cables: &["t-a Ethernet3 - t-b Ethernet5 certain forwarding"],
        alarms: 0,
    },
    SmallNetwork {
        folder: "bridge-between-two-that-name-each-other",
        cables: &[
            "mid ge1 - mt-a ether2 inferred forwarding",
            "mid ge4 - mt-b ether3 inferred forwarding",
        ],
        alarms: 1,
    },
];

fn topology(name: &str) -> Topology {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/smallest_networks")
        .join(name);
    let mut views = DeviceViews::new();
    for recording in read_folder(&folder).unwrap().recordings {
        for observation in recording.observations(Millis(1)) {
            apply(&mut views, &observation);
        }
    }
    infer_recorded(&views)
}

fn cable(l: &Link) -> String {
    let Link {
        a,
        a_port,
        b,
        b_port,
        grade,
        state,
        ..
    } = l;
    let members: Vec<String> = l
        .members
        .iter()
        .map(|m| format!("{} {}", m.a_port, m.b_port))
        .collect();
    let members = match members.join(", ") {
        members if members.is_empty() => members,
        members => format!(" ({members})"),
    };
    format!("{a} {a_port} - {b} {b_port} {grade} {state}{members}")
}

#[test]
fn each_network_has_its_cables_and_no_others() {
    for network in &NETWORKS {
        let t = topology(network.folder);
        let found: Vec<String> = t.links.iter().map(cable).collect();
        assert_eq!(found, network.cables, "{}", network.folder);
        assert_eq!(t.alarms.len(), network.alarms, "{}", network.folder);
    }
}

#[test]
fn a_server_is_a_host_and_no_switch() {
    let t = topology("server-without-bridge");
    assert_eq!(t.kind("box"), Some(NodeKind::Host));
}
