//! Which ways flows take where no router answers: the question to counters of cables, and what follows from the
//! answer.
use flows::AskedPair;
use inventory::device_view::DeviceViews;
use inventory::inventory_file::Inventory;
use inventory::stages::flows::{CountedCable, KnownFlow, MappedWays, WayCable};
use inventory::topology::{Link, LinkState, NodeKind};
use inventory::tree::Tree;
use inventory::{BitsPerSec, Topology};
use schedules::message::Message;
use schedules::stages::traced::{WayAnswers, all_paths};
use serde::Serialize;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

/// Two hosts with more ways between them are not asked about.
const MOST_WAYS: u32 = 64;

/// The ways between hosts, and the cables whose counters tell them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FlowQuestion {
    /// The hosts, as topology files call them.
    pub hosts: Vec<String>,
    /// The cables, each with the number of the counting interface.
    pub cables: Vec<(CountedCable, u32)>,
    /// Pairs of these hosts, with ways by these cables.
    pub pairs: Vec<AskedPair>,
    /// The rate of the slowest of the cables.
    pub slowest: BitsPerSec,
}

impl FlowQuestion {
    /// The flows that have these ports, by pair and way.
    pub(crate) fn answered(&self, ports: &[Vec<Option<u16>>], is_complete: bool) -> MappedWays {
        let ways = self.pairs.iter().zip(ports).flat_map(|(pair, ports)| {
            let ways = pair.ways.iter().zip(ports);
            ways.filter_map(move |(way, port)| Some((pair, way, (*port)?)))
        });
        MappedWays {
            cables: self.cables.iter().map(|(cable, _)| cable.clone()).collect(),
            flows: ways
                .map(|(pair, way, port)| KnownFlow {
                    from: self.hosts[pair.from].clone(),
                    to: self.hosts[pair.to].clone(),
                    port,
                    cables: way
                        .iter()
                        .map(|&at| self.cables[at].0.cable.clone())
                        .collect(),
                })
                .collect(),
            is_complete,
        }
    }
}

/// The network with the cables of aggregates between switches as ways of their own: where flows may be measured,
/// counters say which cable each takes.
pub(super) fn cables_apart(network: Arc<Topology>) -> Arc<Topology> {
    let kinds = network.kinds();
    if !network.links.iter().any(|link| is_apart(&kinds, link)) {
        return network;
    }
    let mut apart = Topology::clone(&network);
    apart.links.clear();
    for link in &network.links {
        if !is_apart(&kinds, link) {
            apart.links.push(link.clone());
            continue;
        }
        apart.links.extend(link.members.iter().map(|member| Link {
            a_port: member.a_port.clone(),
            b_port: member.b_port.clone(),
            rate_bps: BitsPerSec(link.rate_bps.0 / link.members.len() as u64),
            state: LinkState::Multipath,
            members: Vec::new(),
            ..link.clone()
        }));
    }
    drop(kinds);
    apart.into()
}

/// True for an aggregate between switches of which each cable has a port at both ends.
fn is_apart(kinds: &HashMap<&str, NodeKind>, link: &Link) -> bool {
    let mut ports = link.members.iter().flat_map(|m| [&m.a_port, &m.b_port]);
    let mut ends = [&link.a, &link.b].into_iter();
    link.state == LinkState::Forwarding
        && link.members.len() > 1
        && ports.all(|port| !port.is_empty())
        && ends.all(|end| kinds.get(end.as_str()) != Some(&NodeKind::Host))
}

impl FlowQuestion {
    /// Nothing where each flow has one way, where routers answer for them all, or where counters are missing.
    pub(super) fn new(
        network: &Topology,
        views: &DeviceViews,
        inventory: &Inventory,
        known: Option<&MappedWays>,
    ) -> Option<FlowQuestion> {
        if !network
            .links
            .iter()
            .any(|link| link.state == LinkState::Multipath)
        {
            return None;
        }
        let counters = counters(network, views, inventory);
        let tree = network.to_file().tree().ok()?;
        let hops = network.hops();
        let answering = hops.iter().map(|hop| WayCable {
            from: hop.from.clone(),
            at: hop.at.clone(),
            cable: hop.cable,
        });
        let ways = PairWays {
            tree: &tree,
            counters: &counters,
            answering: answering.collect(),
        };
        let mut question = FlowQuestion {
            hosts: tree.host_names().to_vec(),
            cables: Vec::new(),
            pairs: Vec::new(),
            slowest: BitsPerSec(u64::MAX),
        };
        let mut numbers: HashMap<WayCable, usize> = HashMap::new();
        for (src, dst) in
            (0..tree.hosts()).flat_map(|src| (0..tree.hosts()).map(move |dst| (src, dst)))
        {
            let Some(ways) = ways.between(Message { src, dst }) else {
                continue;
            };
            let ways: Vec<Vec<usize>> = ways
                .into_iter()
                .map(|way| {
                    way.into_iter()
                        .map(|cable| question.number(cable, &counters, &mut numbers))
                        .collect()
                })
                .collect();
            question.pairs.push(AskedPair {
                from: src as usize,
                to: dst as usize,
                known: vec![None; ways.len()],
                ways,
            });
        }
        if let Some(known) = known.filter(|known| question.is_about(known)) {
            question.remember(known);
        }
        (!question.pairs.is_empty()).then_some(question)
    }

    fn number(
        &mut self,
        cable: WayCable,
        counters: &BTreeMap<WayCable, CableCounter>,
        numbers: &mut HashMap<WayCable, usize>,
    ) -> usize {
        let counter = &counters[&cable];
        *numbers.entry(cable).or_insert_with(|| {
            self.slowest = self.slowest.min(counter.rate);
            self.cables
                .push((counter.counted.clone(), counter.interface));
            self.cables.len() - 1
        })
    }

    /// True if a former answer is about the cables of this question.
    pub(super) fn is_about(&self, known: &MappedWays) -> bool {
        let own = self.cables.iter().map(|(cable, _)| cable);
        own.clone().all(|cable| known.cables.contains(cable)) && own.len() == known.cables.len()
    }

    fn remember(&mut self, known: &MappedWays) {
        let mut ports: HashMap<(&str, &str, Vec<&WayCable>), u16> = HashMap::new();
        for flow in &known.flows {
            let key = (
                flow.from.as_str(),
                flow.to.as_str(),
                flow.cables.iter().collect(),
            );
            ports.insert(key, flow.port);
        }
        for pair in &mut self.pairs {
            let [from, to] = [pair.from, pair.to].map(|host| self.hosts[host].as_str());
            for (way, known) in pair.ways.iter().zip(&mut pair.known) {
                let cables = way.iter().map(|&at| &self.cables[at].0.cable).collect();
                *known = ports.get(&(from, to, cables)).copied();
            }
        }
    }
}

/// True if a network has the cables among which flows had a choice, and no more side by side with them.
pub(super) fn has_cables(network: &Topology, known: &MappedWays) -> bool {
    let mut counts: BTreeMap<[&str; 2], u32> = BTreeMap::new();
    for WayCable { from, at, cable } in known.cables.iter().map(|counted| &counted.cable) {
        let count = counts.entry([from, at]).or_default();
        *count = (cable + 1).max(*count);
    }
    counts.into_iter().all(|(ends, count)| {
        let beside = network.links.iter().filter(|link| {
            let own = [link.a.as_str(), &link.b];
            link.carries_frames() && (own == ends || own == [ends[1], ends[0]])
        });
        beside.count() == count as usize
    })
}

/// The counter of a cable in one direction.
struct CableCounter {
    counted: CountedCable,
    interface: u32,
    rate: BitsPerSec,
}

/// The counters of the ways: where they leave a switch, or else where they arrive at one.
fn counters(
    network: &Topology,
    views: &DeviceViews,
    inventory: &Inventory,
) -> BTreeMap<WayCable, CableCounter> {
    let plain = network.with_plain_names();
    let mut places: HashMap<[&str; 2], u32> = HashMap::new();
    let mut found = BTreeMap::new();
    let ways = network.links.iter().zip(&plain.links);
    for (link, plain) in ways.filter(|(link, _)| link.state == LinkState::Multipath) {
        let ends = [plain.a.as_str(), plain.b.as_str()];
        let next = places
            .entry([ends[0].min(ends[1]), ends[0].max(ends[1])])
            .or_default();
        let cable = std::mem::replace(next, *next + 1);
        let at_a = (link.a.as_str(), link.a_port.as_str());
        let at_b = (link.b.as_str(), link.b_port.as_str());
        for ([from, at], [leaves, arrives]) in
            [(ends, [at_a, at_b]), ([ends[1], ends[0]], [at_b, at_a])]
        {
            let counting = [(leaves, true), (arrives, false)].into_iter().find_map(
                |((node, port), is_sent)| {
                    let view = inventory
                        .switches
                        .contains_key(node)
                        .then(|| views.get(node))??;
                    let row = view
                        .interfaces
                        .as_ref()?
                        .iter()
                        .find(|row| row.name == port)?;
                    Some((node, port, is_sent, row.index))
                },
            );
            let Some((switch, port, is_sent, interface)) = counting else {
                continue;
            };
            let way = WayCable {
                from: from.to_owned(),
                at: at.to_owned(),
                cable,
            };
            let counted = CountedCable {
                cable: way.clone(),
                switch: switch.to_owned(),
                port: port.to_owned(),
                is_sent,
            };
            found.insert(
                way,
                CableCounter {
                    counted,
                    interface,
                    rate: link.rate_bps,
                },
            );
        }
    }
    found
}

/// The ways between two hosts.
struct PairWays<'a> {
    tree: &'a Tree,
    counters: &'a BTreeMap<WayCable, CableCounter>,
    /// Those at whose end a router answers.
    answering: HashSet<WayCable>,
}

impl PairWays<'_> {
    /// The cables of each way; nothing if there is one only, if routers answer, or if some are not counted.
    fn between(&self, m: Message) -> Option<Vec<Vec<WayCable>>> {
        let paths = all_paths(self.tree, m, MOST_WAYS)?;
        let answers = WayAnswers::default();
        let ways: Vec<Vec<WayCable>> = paths
            .into_iter()
            .map(|path| {
                answers
                    .of_path(self.tree, m, path)
                    .chosen_cables()
                    .cloned()
                    .collect()
            })
            .collect();
        let mut all = ways.iter().flatten();
        let is_counted = all.clone().all(|cable| self.counters.contains_key(cable));
        let is_traced = all.any(|cable| self.answering.contains(cable));
        (ways.len() > 1 && is_counted && !is_traced).then_some(ways)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use inventory::device_view::DeviceView;
    use inventory::observation::InterfaceRow;
    use inventory::topology::{Node, NodeKind, WayAddress};

    const TRUNK: &str = "switches: {s0: {address: 10.0.0.1}, s1: {address: 10.0.0.2}}\nsnmp: {default: \
                         {version: 2c, community: public}}\nhosts: [n0, n1, n2]\n";

    /// Two switches with an aggregate of two cables, of which one at least counts, and three hosts.
    fn network() -> Topology {
        let switches = ["s0", "s1"].map(|name| Node::new(name, NodeKind::Switch));
        let hosts = ["n0", "n1", "n2"].map(|name| Node::new(name, NodeKind::Host));
        let mut links = vec![trunk_way("p1"), trunk_way("p2")];
        for (switch, host) in [("s0", "n0"), ("s1", "n1"), ("s1", "n2")] {
            links.push(Link {
                state: LinkState::Forwarding,
                ..Link::new(switch, "x", host, "eth0")
            });
        }
        Topology {
            nodes: switches.into_iter().chain(hosts).collect(),
            links,
            ..Topology::default()
        }
    }

    fn trunk_way(port: &str) -> Link {
        Link {
            state: LinkState::Multipath,
            rate_bps: BitsPerSec::GIGABIT,
            ..Link::new("s0", port, "s1", port)
        }
    }

    fn views(counting: &[&str]) -> DeviceViews {
        let view = DeviceView {
            interfaces: Some(
                [(11, "p1"), (12, "p2")]
                    .map(|(index, name)| InterfaceRow {
                        index,
                        name: name.to_owned(),
                        ..InterfaceRow::default()
                    })
                    .into(),
            ),
            ..DeviceView::default()
        };
        let views = counting
            .iter()
            .map(|name| ((*name).to_owned(), view.clone()));
        views.collect()
    }

    fn question(
        network: &Topology,
        counting: &[&str],
        known: Option<&MappedWays>,
    ) -> Option<FlowQuestion> {
        let inventory = Inventory::parse("i.yaml", TRUNK).unwrap();
        FlowQuestion::new(network, &views(counting), &inventory, known)
    }

    #[test]
    fn each_pair_is_asked_about_the_cables_that_are_counted_where_they_can_be() {
        let asked = question(&network(), &["s0", "s1"], None).unwrap();
        let pairs: Vec<[usize; 2]> = asked
            .pairs
            .iter()
            .map(|pair| [pair.from, pair.to])
            .collect();
        assert_eq!(pairs, [[0, 1], [0, 2], [1, 0], [2, 0]]);
        assert!(asked.pairs.iter().all(|pair| pair.ways.len() == 2));
        let counted: Vec<(&str, bool, u32)> = (asked.cables.iter())
            .map(|(cable, interface)| (cable.switch.as_str(), cable.is_sent, *interface))
            .collect();
        let at_both = [
            ("s0", true, 11),
            ("s0", true, 12),
            ("s1", true, 11),
            ("s1", true, 12),
        ];
        assert_eq!(counted, at_both);
        let asked = question(&network(), &["s1"], None).unwrap();
        assert_eq!(asked.cables[0].0.switch, "s1");
        assert!(!asked.cables[0].0.is_sent);
        assert_eq!(question(&network(), &[], None), None);
        let mut alone = network();
        alone.links.remove(0);
        assert_eq!(question(&alone, &["s0", "s1"], None), None);
        let answering = Topology {
            way_addresses: ["s0", "s1"]
                .map(|node| WayAddress {
                    node: node.into(),
                    port: "p1".into(),
                    address: [10, 0, 0, 9].into(),
                })
                .into(),
            ..network()
        };
        assert_eq!(
            question(&answering, &["s0", "s1"], None),
            None,
            "traces tell the ways"
        );
    }

    #[test]
    fn what_was_found_is_asked_no_more_and_another_cable_makes_it_void() {
        let asked = question(&network(), &["s0", "s1"], None).unwrap();
        let ports = [
            [Some(61_000), None],
            [Some(61_001), Some(61_002)],
            [None; 2],
            [None; 2],
        ];
        let known = asked.answered(&ports.map(Vec::from), false);
        assert_eq!(known.flows.len(), 3);
        let [from, to] = [&known.flows[2].from, &known.flows[2].to];
        assert_eq!([from, to], ["n0", "n2"]);
        let again = question(&network(), &["s0", "s1"], Some(&known)).unwrap();
        let found: Vec<_> = again.pairs.iter().map(|pair| pair.known.clone()).collect();
        assert_eq!(found, ports.map(Vec::from));
        assert!(has_cables(&network(), &known));
        let mut smaller = network();
        smaller.links.remove(0);
        assert!(!has_cables(&smaller, &known));
        let mut larger = network();
        let third = Link {
            a_port: "p3".into(),
            b_port: "p2".into(),
            ..larger.links[1].clone()
        };
        larger.links.insert(2, third);
        assert!(!has_cables(&larger, &known));
        let asked = question(&larger, &["s0", "s1"], Some(&known));
        let all = asked
            .iter()
            .flat_map(|asked| &asked.pairs)
            .flat_map(|pair| &pair.known);
        assert!(all.flatten().next().is_none());
    }
}
