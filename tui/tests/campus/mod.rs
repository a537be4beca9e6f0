//! A network of three levels with names as sites have them, of any size.
use api::{AlarmLine, AlarmSubject, LinkLoad, Snapshot, SwitchStatus};
use inventory::topology::{Link, LinkState, Node, NodeKind, Topology};
use inventory::{BitsPerSec, Millis};

/// One core switch, `distributions` below it, `accesses` below each of those, `hosts` on each of
/// the last. The access switches have a second, blocked cable to the next distribution.
pub(crate) fn campus(distributions: usize, accesses: usize, hosts: usize) -> Snapshot {
    let mut network = NetworkBuilder::default();
    network.node("core-1", NodeKind::Switch);
    for d in 1..=distributions {
        let dist = format!("dist-{d:02}");
        network.node(&dist, NodeKind::Switch);
        network.link(
            ("core-1", &format!("HundredGigE1/0/{d}")),
            (&dist, "HundredGigE1/0/49"),
            LinkState::Forwarding,
        );
        for a in 1..=accesses {
            let access = format!("access-{d:02}-{a:02}");
            network.node(&access, NodeKind::Switch);
            network.link(
                (&dist, &format!("TenGigabitEthernet1/1/{a}")),
                (&access, "TenGigabitEthernet1/1/1"),
                LinkState::Forwarding,
            );
            let next = format!("dist-{:02}", d % distributions + 1);
            network.link(
                (&access, "TenGigabitEthernet1/1/2"),
                (&next, &format!("TenGigabitEthernet1/2/{a}")),
                LinkState::Blocked,
            );
            for h in 1..=hosts {
                let host = format!("compute-{:03}", network.hosts + 1);
                network.hosts += 1;
                network.node(&host, NodeKind::Host);
                network.link(
                    (&access, &format!("GigabitEthernet1/0/{h}")),
                    (&host, "enp65s0f0"),
                    LinkState::Forwarding,
                );
            }
        }
    }
    network.snapshot
}

#[derive(Default)]
struct NetworkBuilder {
    snapshot: Snapshot,
    hosts: usize,
}

impl NetworkBuilder {
    fn node(&mut self, name: &str, kind: NodeKind) {
        let s = &mut self.snapshot;
        s.at = Millis(1_770_000_000_000);
        if s.topology == Topology::default() {
            s.topology.root_bridge = Some(name.to_owned());
        }
        s.topology.nodes.push(Node::new(name, kind));
        if kind == NodeKind::Switch {
            s.switches.push(SwitchStatus {
                name: name.to_owned(),
                address: format!("10.0.{}.{}", s.switches.len() / 250, s.switches.len() % 250),
                seen: Some(s.at),
                ..SwitchStatus::default()
            });
        }
    }

    fn link(&mut self, (a, a_port): (&str, &str), (b, b_port): (&str, &str), state: LinkState) {
        let s = &mut self.snapshot;
        let number = s.topology.links.len() as u64;
        s.topology.links.push(Link {
            state,
            ..Link::new(a, a_port, b, b_port)
        });
        let measured = |salt| Some(BitsPerSec((number * salt) % 97 * 10_000_000));
        s.loads.push(LinkLoad {
            a: a.into(),
            b: b.into(),
            aapc_load: number % 31 + 1,
            capacity: 1,
            phases: number % 31 + 1,
            bottleneck: number == 30,
            a_to_b: measured(37),
            b_to_a: measured(53),
        });
    }
}

/// The same with an alarm about `name`.
pub(crate) fn alarmed(mut snapshot: Snapshot, name: &str) -> Snapshot {
    snapshot.alarms.push(AlarmLine {
        subject: AlarmSubject::node(name),
        text: format!("host \"{name}\": seen nowhere; its published place stays"),
        ..AlarmLine::default()
    });
    snapshot
}
