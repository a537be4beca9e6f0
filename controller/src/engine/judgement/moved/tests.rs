use super::super::judge;
use super::*;
use crate::engine::candidate::tests::{link, node};
use crate::engine::damping::FlapDamping;
use inventory::Topology;
use inventory::device_view::{DeviceView, DeviceViews};
use inventory::inventory_file::Inventory;
use inventory::observation::InterfaceRow;
use inventory::topology::{LinkState, NodeKind};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use std::time::Duration;

const SWITCHES: usize = 5;
const PORTS: usize = 8;
const HOSTS: usize = 9;
const GONE: Duration = Duration::from_millis(4_000);

/// One step: what happens, and two numbers that say where.
type NetworkEdit = (u8, usize, usize);

/// A line of switches, with the hosts on them in turn.
fn line() -> Topology {
    let f = LinkState::Forwarding;
    let switches = (0..SWITCHES).map(|n| node(&format!("s{n}"), NodeKind::Switch));
    let hosts = (0..HOSTS).map(|n| node(&format!("n{n}"), NodeKind::Host));
    let trunks = (1..SWITCHES).map(|n| link(&format!("s{}", n - 1), "up", &format!("s{n}"), f));
    let attachments = (0..HOSTS).map(|n| attachment_of(n, n, n));
    Topology {
        nodes: switches.chain(hosts).collect(),
        links: trunks.chain(attachments).collect(),
        ..Topology::default()
    }
}

fn attachment_of(host: usize, switch: usize, port: usize) -> Link {
    let (switch, port) = (
        format!("s{}", switch % SWITCHES),
        format!("p{}", port % PORTS),
    );
    link(&switch, &port, &format!("n{host}"), LinkState::Forwarding)
}

fn inventory() -> Inventory {
    let text = "switches: {s0: {address: 10.0.0.1}, s1: {address: 10.0.0.2}, s2: {address: \
                10.0.0.3}, s3: {address: 10.0.0.4}}\nhosts: [n8, n1, n0, n2, n3, n4, n5, n6]\n\
                snmp: {default: {version: 2c, community: c}}";
    Inventory::parse("i.yaml", text).unwrap()
}

fn views() -> DeviceViews {
    let view = DeviceView {
        interfaces: Some(
            (0..PORTS)
                .map(|n| InterfaceRow {
                    index: n as u32 + 1,
                    name: format!("p{n}"),
                    up: !n.is_multiple_of(2),
                    ..InterfaceRow::default()
                })
                .collect(),
        ),
        ..DeviceView::default()
    };
    (0..SWITCHES)
        .map(|n| (format!("s{n}"), view.clone()))
        .collect()
}

/// A network under edits, with the two ways to judge it side by side.
struct JudgedWorld {
    topology: Arc<Topology>,
    views: DeviceViews,
    settled: Option<PublishedNetwork>,
    last: Option<NetworkJudgement>,
    absent: AbsentHosts,
    now: Millis,
    epoch: u64,
    /// The judgements that were made of the hosts alone, and those of them with a doubtful host.
    moved: usize,
    doubted: usize,
}

impl JudgedWorld {
    fn new() -> JudgedWorld {
        JudgedWorld {
            topology: Arc::new(line()),
            views: views(),
            settled: None,
            last: None,
            absent: AbsentHosts::new(),
            now: Millis(0),
            epoch: 0,
            moved: 0,
            doubted: 0,
        }
    }

    /// Judges the network after an edit in both ways; they must agree.
    fn step(&mut self, edit: NetworkEdit) {
        let mut topology = Topology::clone(&self.topology);
        self.edit(&mut topology, edit);
        let difference = TopologyDifference::between(&self.topology, &topology);
        self.topology = Arc::new(topology);
        let (inventory, damping) = (inventory(), FlapDamping::default());
        let input = JudgementInput {
            inventory: &inventory,
            views: &self.views,
            topology: &self.topology,
            settled: self.settled.as_ref(),
            damping: &damping,
            gone_after: GONE,
        };
        let mut absent = self.absent.clone();
        let last = self.last.take();
        let moved = last.and_then(|last| {
            judge_moved(self.now, &input, &last, difference.as_ref(), &mut absent)
        });
        let whole = judge(self.now, &input, &mut self.absent);
        if let Some(moved) = &moved {
            self.moved += 1;
            assert_eq!(
                (&moved.alarms, &moved.doubtful),
                (&whole.alarms, &whole.doubtful)
            );
            let (one, other) = (moved.candidate.as_ref().unwrap(), whole.candidate.as_ref());
            let other = other.expect("the tree stays whole");
            assert_eq!((&one.file, &one.key), (&other.file, &other.key));
            assert_eq!(pairs(&one.network), pairs(&other.network));
            self.doubted += usize::from(!moved.doubtful.is_empty());
            assert_eq!(absent, self.absent);
        }
        self.last = Some(moved.unwrap_or(whole));
    }

    fn edit(&mut self, topology: &mut Topology, (kind, x, y): NetworkEdit) {
        let host = x % HOSTS;
        let name = format!("n{host}");
        let mut links = topology.links.iter_mut();
        let attachment = links.find(|l| l.b == name);
        let at = attachment.is_some();
        match kind {
            // A move, or the way back from nowhere.
            0..=5 => {
                match attachment {
                    Some(link) => *link = attachment_of(host, y, y),
                    None => topology.links.push(attachment_of(host, y, y)),
                }
                topology
                    .links
                    .retain(|l| l.b != name || l.grade != LinkGrade::Ambiguous);
            }
            6..=8 if at => topology.links.retain(|l| l.b != name),
            9 => attachment
                .into_iter()
                .for_each(|l| l.rate_bps = BitsPerSec(1_000 * (1 + y as u64 % 2))),
            10 => attachment.into_iter().for_each(|l| {
                l.state = [LinkState::Unknown, LinkState::Blocked][y % 2];
            }),
            11 => topology.links[x % (SWITCHES - 1)].rate_bps = BitsPerSec(5_000 + y as u64),
            12 if y.is_multiple_of(3) => topology.links.push(attachment_of(host, y, y)),
            13 => topology.nodes[x % SWITCHES].stale ^= true,
            14 if y.is_multiple_of(4) => {
                topology.links[x % (SWITCHES - 1)].state = LinkState::Unknown
            }
            15 => {
                let port = (format!("s{}", x % SWITCHES), y % PORTS);
                let view = self.views.get_mut(&port.0).unwrap();
                view.interfaces.as_mut().unwrap()[port.1].up ^= true;
            }
            16..=18 => self.publish(),
            19 => *topology = line(),
            // Half of a move: the host is seen at its old place and at a new one.
            20 => {
                topology.links.extend(at.then(|| attachment_of(host, y, y)));
                let own = topology.links.iter_mut().filter(|l| l.b == name);
                own.for_each(|l| l.grade = LinkGrade::Ambiguous);
            }
            _ => self.now = self.now.after(Duration::from_millis(100 * (y as u64 % 40))),
        }
    }

    fn publish(&mut self) {
        let candidate = self.last.as_ref().and_then(|j| j.candidate.as_ref().ok());
        if let Some(candidate) = candidate {
            self.epoch += 1;
            self.settled = Some(PublishedNetwork::new(self.epoch, candidate.clone()));
        }
    }
}

/// The switch and the host of each link of a host.
fn pairs(network: &Topology) -> BTreeSet<(&str, &str)> {
    let of_hosts = network.links.iter().filter(|l| l.b.starts_with('n'));
    of_hosts.map(|l| (l.a.as_str(), l.b.as_str())).collect()
}

/// Five sequences of a thousand edits each: moves, losses, returns, rates, states, time, epochs.
#[test]
fn the_moved_are_judged_as_the_whole_is() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let edits = prop::collection::vec((0u8..24, 0usize..1_000, 0usize..1_000), 1_000);
    for _ in 0..5 {
        let mut world = JudgedWorld::new();
        let drawn = edits.new_tree(&mut runner).unwrap().current();
        drawn.into_iter().for_each(|edit| world.step(edit));
        assert!(
            world.moved > 100 && world.doubted > 20,
            "only {} steps were incremental, {} of them in doubt",
            world.moved,
            world.doubted
        );
    }
}
