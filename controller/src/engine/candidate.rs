//! From the inferred network to what could be published: a whole tree with every host in its place, or the
//! reasons why there is none.
//!
//! A host that is seen nowhere keeps its place until there is evidence that it is gone; that way neither a
//! switch that stopped answering nor a cable on its way from port to port takes hosts out of a running job's tree.
use super::alarms::{ControllerAlarm, KeptUntil, PresenceDoubt};
use super::damping::{self, Damping};
use super::tree_doubt::{LinkDoubt, TreeDoubt};
use inventory::address::Addresses;
use inventory::evidence::{Evidence, KeptBecause};
use inventory::host_report::SLOTS;
use inventory::inventory_file::Inventory;
use inventory::observation::{Interface, StpState};
use inventory::topology::{Cluster, Grade, Link, LinkState, Node, NodeKind};
use inventory::topology_file::{self, TopologyFile};
use inventory::view::{View, Views};
use inventory::{Millis, Topology};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::time::Duration;

/// A network that could be published.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Candidate {
    /// As inferred, with hosts that keep their place put back.
    pub(crate) network: Topology,
    /// The same as a topology file.
    pub(crate) file: TopologyFile,
    /// The file in one fixed order: equal keys need no new epoch.
    pub(crate) key: TopologyFile,
}

/// What is published.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Settled {
    /// The epoch's number.
    pub(crate) number: u64,
    /// See [`Candidate::network`].
    pub(crate) network: Topology,
    /// See [`Candidate::key`].
    pub(crate) key: TopologyFile,
}

impl Candidate {
    /// Pairs a network with its topology file.
    pub(crate) fn new(network: Topology, file: TopologyFile) -> Candidate {
        let key = key(&file);
        Candidate { network, file, key }
    }
}

impl Settled {
    /// A candidate once it is published.
    pub(crate) fn new(number: u64, candidate: Candidate) -> Settled {
        Settled { number, network: candidate.network, key: candidate.key }
    }
}

/// The file with everything in a fixed order: the order of hosts and cables is no difference.
fn key(file: &TopologyFile) -> TopologyFile {
    let mut key = file.clone();
    key.switches.sort();
    key.hosts.sort_keys();
    for link in &mut key.links {
        if link.a > link.b {
            std::mem::swap(&mut link.a, &mut link.b);
        }
        link.state = link.state.filter(|s| *s == LinkState::Blocked);
    }
    key.links.sort_by(|x, y| (&x.a, &x.b, x.rate, x.state).cmp(&(&y.a, &y.b, y.rate, y.state)));
    key.clusters.sort_keys();
    key.clusters.values_mut().for_each(|hosts| hosts.sort());
    key
}

/// What one inference comes to.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Judgement {
    /// What could be published, or why nothing can.
    pub(crate) candidate: Result<Candidate, Vec<TreeDoubt>>,
    /// Hosts that are not where they belong, and the like.
    pub(crate) alarms: Vec<ControllerAlarm>,
}

/// Since when hosts of the published tree are seen nowhere.
pub(crate) type Absent = BTreeMap<String, Millis>;

/// What is judged, and against what.
#[derive(Clone, Copy)]
pub(crate) struct Ground<'a> {
    pub(crate) inventory: &'a Inventory,
    pub(crate) views: &'a Views,
    /// As inferred from the views.
    pub(crate) topology: &'a Topology,
    pub(crate) settled: Option<&'a Settled>,
    /// What flaps, and so stays as it is published.
    pub(crate) damping: &'a Damping,
    /// A host is given up so long after it vanished, given evidence.
    pub(crate) gone_after: Duration,
}

/// Judges an inferred network at `now`. `absent` is kept up to date.
pub(crate) fn judge(now: Millis, ground: &Ground<'_>, absent: &mut Absent) -> Judgement {
    let Ground { inventory, views, topology, settled, damping, gone_after } = *ground;
    let hosts = hosts(topology);
    let mut network = topology.clone();
    network.links.retain(|l| carries(views, l) || !hosts.contains(l.b.as_str()));
    if let Some(settled) = settled {
        damping::freeze_hosts(damping, &mut network, settled);
    }
    let mut kept: BTreeSet<&str> = settled.map(|_| damping.hosts()).unwrap_or_default();
    let mut alarms = Vec::new();
    let placed: HashSet<String> = network.links.iter().filter(|l| hosts.contains(l.b.as_str())).map(|l| l.b.clone()).collect();
    absent.retain(|host, _| !placed.contains(host) && settled.is_some_and(|s| s.key.hosts.contains_key(host)));
    if let Some(settled) = settled {
        for host in settled.key.hosts.keys().filter(|h| !placed.contains(*h)) {
            let since = *absent.entry(host.clone()).or_insert(now);
            let unlisted = !inventory.hosts.contains_key(host);
            let gone = is_gone(views, topology, settled, host);
            let elsewhere = topology.links.iter().any(|l| l.b == *host);
            if unlisted || (gone.is_ok() && !elsewhere && now.since(since) >= gone_after) {
                continue;
            }
            alarms.push(absence(host, settled, elsewhere, gone, gone_after));
            put_back(&mut network, settled, host, KeptBecause::SeenNowhere);
            kept.insert(host);
        }
        kept.extend(damping.clustered());
        keep_clusters(&mut network, settled, &kept);
    }
    let candidate = match whole(inventory, views, network, settled) {
        Ok(candidate) => match settled.filter(|_| damping.holds_trunks()) {
            Some(settled) => frozen(inventory, views, &candidate, settled),
            None => Ok(candidate),
        },
        torn => torn,
    };
    let candidate = match settled {
        Some(settled) => candidate.map(|c| damping::freeze_claims(damping, c, settled)),
        None => candidate,
    };
    Judgement { candidate, alarms }
}

/// A candidate with the links between switches as they are published.
fn frozen(inventory: &Inventory, views: &Views, candidate: &Candidate, settled: &Settled) -> Result<Candidate, Vec<TreeDoubt>> {
    let frozen = whole(inventory, views, damping::freeze_trunks(&candidate.network, settled), Some(settled));
    frozen.map_err(|doubts| vec![TreeDoubt::Frozen(settled.number, doubts)])
}

/// The tree of a network, or why it is none.
fn whole(inventory: &Inventory, views: &Views, network: Topology, settled: Option<&Settled>) -> Result<Candidate, Vec<TreeDoubt>> {
    let kinds = network.kinds();
    let between = |l: &&Link| [&l.a, &l.b].iter().all(|n| matches!(kinds.get(n.as_str()), Some(NodeKind::Switch | NodeKind::Unmanaged)));
    let doubt = |l: &Link| match l.state {
        LinkState::Unknown if in_transition(views, l) => Some(LinkDoubt::InTransition),
        LinkState::Unknown => Some(LinkDoubt::Unsaid),
        LinkState::Forwarding if l.grade == Grade::Ambiguous => Some(LinkDoubt::Ambiguous),
        LinkState::Forwarding | LinkState::Blocked => None,
    };
    let doubtful = network.links.iter().filter(between).filter_map(|l| Some(TreeDoubt::Link(l.a.clone(), l.b.clone(), doubt(l)?)));
    let mut reasons: Vec<TreeDoubt> = doubtful.collect();
    let file = file(inventory, views, &network, settled);
    reasons.extend(cut_off(&file));
    if reasons.is_empty() {
        reasons.extend(file.tree().err().map(TreeDoubt::Torn));
    }
    if reasons.is_empty() { Ok(Candidate::new(network, file)) } else { Err(reasons) }
}

/// The network as a topology file: hosts in inventory order, only switches and routers that forwarding links connect.
fn file(inventory: &Inventory, views: &Views, network: &Topology, settled: Option<&Settled>) -> TopologyFile {
    let mut file = network.to_file();
    let rank = |name: &str| inventory.hosts.get_index_of(name).unwrap_or(usize::MAX);
    file.hosts.sort_by(|a, _, b, _| (rank(a), a).cmp(&(rank(b), b)));
    let seats = network.seats();
    let addresses = Addresses::new(views);
    for (name, host) in &mut file.hosts {
        let published = settled.and_then(|s| s.key.hosts.get(name));
        host.ranks = ranks(inventory, views, name, published).unwrap_or(host.ranks);
        // As stated, else as its agent says; what is published stays until an agent says so again.
        let said = || Some(addresses.of(name, seats.get(name.as_str())?.1)?.0);
        host.address = inventory.hosts.get(name).and_then(|h| h.address).or_else(said).or_else(|| published?.address);
    }
    let needed: HashSet<String> = file.hosts.values().map(|h| h.switch.clone()).collect();
    let reached = reached(&file);
    file.switches.retain(|s| reached.contains(s) || needed.contains(s));
    file.routers.retain(|r| reached.contains(r));
    // Whatever else is plugged in somewhere (a phone, a printer, a host nobody listed, the way to the world) matters to no schedule.
    let cables = |file: &TopologyFile, s: &str| file.links.iter().filter(|l| l.a == s || l.b == s).count();
    let stranger = |s: &String| !needed.contains(s) && !inventory.switches.contains_key(s);
    while let Some(leaf) = file.switches.iter().chain(&file.routers).find(|s| stranger(s) && cables(&file, s) < 2).cloned() {
        file.switches.retain(|s| *s != leaf);
        file.routers.retain(|r| *r != leaf);
        file.links.retain(|l| l.a != leaf && l.b != leaf);
    }
    let keep: HashSet<&String> = file.switches.iter().chain(&file.routers).collect();
    file.links.retain(|l| keep.contains(&l.a) && keep.contains(&l.b));
    file
}

/// How many ranks a host runs: as stated, else as its agent offers; what is published stays until an agent says so again.
fn ranks(inventory: &Inventory, views: &Views, host: &str, published: Option<&topology_file::Host>) -> Option<u32> {
    let stated = inventory.hosts.get(host).and_then(|h| h.ranks);
    let offered = || views.get(host)?.host.as_ref().map(|report| report.slots).filter(|slots| SLOTS.contains(slots));
    stated.or_else(offered).or(published.map(|h| h.ranks))
}

/// The switches that forwarding links connect to the first host's.
fn reached(file: &TopologyFile) -> BTreeSet<String> {
    let mut near: HashMap<&str, Vec<&str>> = HashMap::new();
    for link in file.links.iter().filter(|l| l.state != Some(LinkState::Blocked)) {
        near.entry(&link.a).or_default().push(&link.b);
        near.entry(&link.b).or_default().push(&link.a);
    }
    let mut reached = BTreeSet::new();
    let mut open: Vec<&str> = file.hosts.values().next().map(|h| h.switch.as_str()).into_iter().collect();
    while let Some(switch) = open.pop() {
        if reached.insert(switch.to_owned()) {
            open.extend(near.get(switch).into_iter().flatten());
        }
    }
    reached
}

/// Names the hosts that forwarding links do not reach.
fn cut_off(file: &TopologyFile) -> Option<TreeDoubt> {
    let reached = reached(file);
    let lost: Vec<String> = file.hosts.iter().filter(|(_, h)| !reached.contains(&h.switch)).map(|(n, _)| n.clone()).collect();
    let from = file.hosts.keys().next()?.clone();
    (!lost.is_empty()).then_some(TreeDoubt::CutOff { from, lost })
}

/// Whether a host's link places it: it carries frames, and nothing else fits the evidence as well.
fn carries(views: &Views, link: &Link) -> bool {
    link.state != LinkState::Blocked && link.grade != Grade::Ambiguous && !in_transition(views, link)
}

/// Whether STP is on its way to forwarding at an end of the link.
fn in_transition(views: &Views, link: &Link) -> bool {
    let moving = |switch: &str, port: &str| {
        let view = views.get(switch)?;
        let index = interface(view, port)?.index;
        let port = view.bridge.as_ref()?.ports.iter().find(|p| p.if_index == index)?;
        Some(matches!(port.state, Some(StpState::Listening | StpState::Learning)))
    };
    link.state != LinkState::Forwarding && [moving(&link.a, &link.a_port), moving(&link.b, &link.b_port)].contains(&Some(true))
}

/// Whether there is evidence that a host is gone from its published place, else what is missing for it.
fn is_gone(views: &Views, topology: &Topology, settled: &Settled, host: &str) -> Result<(), PresenceDoubt> {
    let Some(place) = settled.network.links.iter().find(|l| l.b == host) else { return Ok(()) };
    let (switch, port) = (place.a.as_str(), place.a_port.as_str());
    match views.get(switch) {
        Some(view) if view.stale.is_none() => match view.interfaces.as_ref().map(|_| interface(view, port)) {
            Some(Some(i)) if i.up && !topology.links.iter().any(|l| l.a == switch && l.a_port == port && l.b != host) => {
                Err(PresenceDoubt::PortUp { switch: switch.to_owned(), port: port.to_owned() })
            }
            Some(_) => Ok(()),
            None => Err(PresenceDoubt::Unread(switch.to_owned())),
        },
        // A switch that neither answers nor is linked to another one any more has lost power, with all hosts on it.
        _ if !is_linked(topology, switch) => Ok(()),
        _ => Err(PresenceDoubt::SwitchSilent(switch.to_owned())),
    }
}

/// What is wrong with a host that keeps its place; `elsewhere`: it is seen, but at no place that is certain and forwards.
fn absence(host: &str, settled: &Settled, elsewhere: bool, gone: Result<(), PresenceDoubt>, gone_after: Duration) -> ControllerAlarm {
    let until = match gone {
        _ if elsewhere => KeptUntil::Settled,
        Ok(()) => KeptUntil::Dropped(gone_after),
        Err(why) => KeptUntil::Unproven(why),
    };
    let switch = settled.key.hosts.get(host).map(|h| h.switch.clone()).unwrap_or_default();
    ControllerAlarm::HostKept { host: host.to_owned(), elsewhere, epoch: settled.number, switch, until }
}

/// Puts a host back where the published network has it, and says why.
pub(crate) fn put_back(network: &mut Topology, settled: &Settled, host: &str, because: KeptBecause) {
    let node = || settled.network.nodes.iter().find(|n| n.name == host).cloned();
    let named = || Node { name: host.to_owned(), kind: NodeKind::Host, chassis: None, stale: true };
    if !network.nodes.iter().any(|n| n.name == host) {
        network.nodes.push(node().unwrap_or_else(named));
    }
    if let Some(link) = settled.network.links.iter().find(|l| l.b == host) {
        let evidence = vec![Evidence::Kept { epoch: settled.number, because }];
        network.links.push(Link { state: LinkState::Forwarding, evidence, ..link.clone() });
    }
}

/// Puts hosts that keep their place into the clusters that the published network has them in: where they are not seen, nothing is told
/// of that.
pub(crate) fn keep_clusters(network: &mut Topology, settled: &Settled, kept: &BTreeSet<&str>) {
    let published = || settled.network.clusters.iter().filter(|c| c.hosts.iter().any(|h| kept.contains(h.as_str())));
    let known: HashSet<&str> = published().flat_map(|c| &c.hosts).map(String::as_str).filter(|h| kept.contains(h)).collect();
    network.clusters.iter_mut().for_each(|c| c.hosts.retain(|h| !known.contains(h.as_str())));
    let placed: HashSet<&str> = network.links.iter().map(|l| l.b.as_str()).collect();
    let now: HashMap<String, usize> =
        network.clusters.iter().enumerate().flat_map(|(i, c)| c.hosts.iter().map(move |h| (h.clone(), i))).collect();
    for cluster in published() {
        let back = cluster.hosts.iter().filter(|h| known.contains(h.as_str()) && placed.contains(h.as_str())).cloned();
        let same = network.clusters.iter().position(|c| c.name == cluster.name);
        // Under another name its former companions are still its companions.
        match same.or_else(|| cluster.hosts.iter().find_map(|h| now.get(h).copied())) {
            Some(at) => {
                let position: HashMap<&str, usize> = cluster.hosts.iter().enumerate().map(|(i, h)| (h.as_str(), i)).collect();
                let hosts = &mut network.clusters[at].hosts;
                hosts.extend(back);
                hosts.sort_by_key(|h| position.get(h.as_str()).copied().unwrap_or(usize::MAX));
            }
            None => network.clusters.push(Cluster { hosts: back.collect(), ..cluster.clone() }),
        }
    }
    network.clusters.retain(|c| !c.hosts.is_empty());
}

/// Whether a link leads from the switch to something that is no host.
fn is_linked(topology: &Topology, switch: &str) -> bool {
    let hosts = hosts(topology);
    topology.links.iter().any(|l| (l.a == switch || l.b == switch) && !hosts.contains(l.b.as_str()))
}

fn hosts(topology: &Topology) -> HashSet<&str> {
    topology.nodes.iter().filter(|n| n.kind == NodeKind::Host).map(|n| n.name.as_str()).collect()
}

fn interface<'a>(view: &'a View, name: &str) -> Option<&'a Interface> {
    view.interfaces.as_ref()?.iter().find(|i| i.name == name)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use inventory::BitsPerSec;
    use inventory::host_report::Nic;
    use inventory::observation::{Bridge, BridgePort};

    const GONE: u64 = 30_000; // In milliseconds.

    fn node(name: &str, kind: NodeKind) -> Node {
        Node { name: name.into(), kind, chassis: None, stale: false }
    }

    fn link(a: &str, a_port: &str, b: &str, state: LinkState) -> Link {
        Link {
            a: a.into(),
            a_port: a_port.into(),
            b: b.into(),
            b_port: "up".into(),
            members: Vec::new(),
            rate_bps: BitsPerSec::GIGABIT,
            state,
            grade: Grade::Certain,
            evidence: Vec::new(),
        }
    }

    /// Two switches, n0 on s0, n1 on s1, and n2 on `switch`.
    pub(crate) fn network(switch: &str) -> Topology {
        let nodes = ["s0", "s1"].map(|s| node(s, NodeKind::Switch)).into_iter();
        let nodes = nodes.chain(["n0", "n1", "n2"].map(|h| node(h, NodeKind::Host))).collect();
        let f = LinkState::Forwarding;
        let links = vec![link("s0", "p9", "s1", f), link("s0", "p0", "n0", f), link("s1", "p1", "n1", f), link(switch, "p2", "n2", f)];
        Topology { nodes, links, ..Topology::default() }
    }

    /// A candidate with n2 on `switch`.
    pub(crate) fn candidate(switch: &str) -> Candidate {
        whole(&inventory(), &Views::new(), network(switch), None).unwrap()
    }

    fn inventory() -> Inventory {
        let text = "switches: {s0: {address: 10.0.0.1}, s1: {address: 10.0.0.2}}\nhosts: [n2, n1, n0]\nsnmp: {default: {version: 2c, community: c}}";
        Inventory::parse("i.yaml", text).unwrap()
    }

    /// Both switches answer; every port has the given state.
    fn views(up: bool, state: StpState) -> Views {
        let ports = ["p0", "p1", "p2", "p9"];
        let interface = |(i, name): (usize, &&str)| Interface { index: i as u32 + 1, name: (*name).into(), up, ..Interface::default() };
        let port = |i: u32| BridgePort { number: i, if_index: i, state: Some(state), designated_bridge: None, designated_port: None };
        let view = View {
            interfaces: Some(ports.iter().enumerate().map(interface).collect()),
            bridge: Some(Bridge { ports: (1..=4).map(port).collect(), ..Bridge::default() }),
            ..View::default()
        };
        ["s0", "s1"].map(|s| (s.to_owned(), view.clone())).into()
    }

    fn settled() -> Settled {
        Settled::new(4, candidate("s0"))
    }

    /// The network without n2's link.
    fn without_n2() -> Topology {
        let mut t = network("s0");
        t.links.pop();
        t
    }

    fn judged(now: u64, views: &Views, topology: &Topology, settled: Option<&Settled>, absent: &mut Absent) -> Judgement {
        let (inventory, damping) = (inventory(), Damping::default());
        let ground = Ground { inventory: &inventory, views, topology, settled, damping: &damping, gone_after: Duration::from_millis(GONE) };
        judge(Millis(now), &ground, absent)
    }

    fn judge_at(now: u64, views: &Views, topology: &Topology, absent: &mut Absent) -> Judgement {
        judged(now, views, topology, Some(&settled()), absent)
    }

    #[test]
    fn order_is_no_difference_but_the_file_keeps_the_inventorys() {
        let c = candidate("s0");
        assert_eq!(c.file.hosts.keys().collect::<Vec<_>>(), ["n2", "n1", "n0"]);
        let mut turned = network("s0");
        turned.links.reverse();
        turned.nodes.reverse();
        assert_eq!(whole(&Inventory::default(), &Views::new(), turned, None).unwrap().key, c.key);
        assert_ne!(candidate("s1").key, c.key);
    }

    #[test]
    fn a_host_with_its_port_down_keeps_its_place_for_a_while_and_is_then_dropped() {
        let (views, mut absent) = (views(false, StpState::Disabled), Absent::new());
        let first = judge_at(0, &views, &without_n2(), &mut absent);
        assert_eq!(first.candidate.unwrap().key, settled().key);
        assert!(first.alarms[0].to_string().contains("\"n2\": seen nowhere, epoch 4 keeps it on \"s0\""), "{:?}", first.alarms);
        let last = judge_at(GONE, &views, &without_n2(), &mut absent);
        assert_eq!(last.candidate.unwrap().key.hosts.keys().collect::<Vec<_>>(), ["n0", "n1"]);
    }

    #[test]
    fn without_evidence_a_host_keeps_its_place_for_ever() {
        let mut absent = Absent::new();
        let mut silent = views(false, StpState::Forwarding);
        silent.get_mut("s0").unwrap().stale = Some((Millis(0), "no answer".into()));
        for (views, why) in [(views(true, StpState::Forwarding), "port p2 of \"s0\" is up"), (silent, "switch \"s0\" does not answer")] {
            judge_at(0, &views, &without_n2(), &mut absent);
            let late = judge_at(100 * GONE, &views, &without_n2(), &mut absent);
            assert_eq!(late.candidate.unwrap().key, settled().key);
            assert!(late.alarms[0].to_string().contains(why), "{:?}", late.alarms);
        }
    }

    #[test]
    fn a_host_whose_new_port_does_not_forward_yet_keeps_its_old_place() {
        let mut topology = network("s1");
        topology.links[3].state = LinkState::Unknown;
        let mut views = views(true, StpState::Forwarding);
        for port in &mut views.get_mut("s1").unwrap().bridge.as_mut().unwrap().ports {
            port.state = Some(StpState::Learning);
        }
        let moving = judge_at(0, &views, &topology, &mut Absent::new());
        assert_eq!(moving.candidate.unwrap().key, settled().key);
    }

    #[test]
    fn a_host_that_keeps_its_place_keeps_its_cluster() {
        let cluster = |name: &str, hosts: &[&str]| {
            let hosts = hosts.iter().map(|h| (*h).to_owned()).collect();
            Cluster { name: name.into(), hosts, reasons: vec![] }
        };
        let two = |west: &[&str], mut network: Topology| {
            network.clusters = vec![cluster("cluster-s0", west), cluster("cluster-s1", &["n1"])];
            network.clusters.retain(|c| !c.hosts.is_empty());
            network
        };
        let published = whole(&inventory(), &Views::new(), two(&["n0", "n2"], network("s0")), None).unwrap();
        let settled = Settled::new(4, published);
        let kept = judged(0, &views(false, StpState::Disabled), &two(&["n0"], without_n2()), Some(&settled), &mut Absent::new());
        let kept = kept.candidate.unwrap();
        assert_eq!((&kept.key, &kept.network.clusters), (&settled.key, &settled.network.clusters));
        let alone = Settled { network: Topology { clusters: vec![cluster("west", &["n2"])], ..settled.network.clone() }, ..settled };
        let mut network = two(&["n0"], network("s0"));
        keep_clusters(&mut network, &alone, &BTreeSet::from(["n2"]));
        assert_eq!(network.clusters[2], cluster("west", &["n2"]));
    }

    #[test]
    fn a_host_that_moved_is_where_it_is_now() {
        let mut absent = Absent::from([("n2".to_owned(), Millis(0))]);
        let moved = judge_at(10, &views(true, StpState::Forwarding), &network("s1"), &mut absent);
        assert_eq!(moved.candidate.unwrap().key, candidate("s1").key);
        assert!(absent.is_empty() && moved.alarms.is_empty());
    }

    #[test]
    fn trunks_between_states_or_lost_or_in_a_loop_give_no_tree() {
        let reason = |topology: &Topology, state| {
            judged(0, &views(true, state), topology, None, &mut Absent::new())
                .candidate
                .unwrap_err()
                .iter()
                .map(TreeDoubt::to_string)
                .collect::<Vec<_>>()
                .join("; ")
        };
        let mut moving = network("s0");
        moving.links[0].state = LinkState::Unknown;
        assert!(reason(&moving, StpState::Listening).contains("link s0-s1: STP is between states"));
        let mut cut = network("s0");
        cut.links.remove(0);
        assert!(reason(&cut, StpState::Forwarding).contains("no forwarding link leads from \"n2\" to n1"));
        let mut loop_ = network("s0");
        loop_.links.push(link("s0", "p8", "s1", LinkState::Forwarding));
        assert!(reason(&loop_, StpState::Forwarding).contains("loop"));
        let mut ambiguous = network("s0");
        ambiguous.links[0].grade = Grade::Ambiguous;
        assert!(reason(&ambiguous, StpState::Forwarding).contains("more than one reading"));
    }

    #[test]
    fn a_switch_without_hosts_that_nothing_connects_is_left_out() {
        let mut t = network("s0");
        t.nodes.push(node("s7", NodeKind::Switch));
        assert_eq!(whole(&inventory(), &Views::new(), t, None).unwrap().key, candidate("s0").key);
    }

    #[test]
    fn addresses_are_as_stated_else_as_said_of_the_card_on_the_cable_else_as_published() {
        let mut inventory = inventory();
        inventory.hosts["n0"].address = Some("10.77.0.1".parse().unwrap());
        let mut views = views(true, StpState::Forwarding);
        for (host, address) in [("n0", "10.77.0.9"), ("n1", "10.77.0.2")] {
            let nic = |name: &str, address: &str| Nic {
                name: name.into(),
                addresses: vec![(address.parse().unwrap(), 24)],
                up: true,
                ..Nic::default()
            };
            let nics = vec![nic("mgmt0", "10.0.0.7"), nic("eth0", address)];
            let report = inventory::host_report::HostReport { host: host.into(), slots: 1, nics, ..Default::default() };
            views.insert(host.into(), View { host: Some(report), ..View::default() });
        }
        let mut network = network("s0");
        network.links.iter_mut().filter(|l| l.b.starts_with('n')).for_each(|l| l.b_port = "eth0".into());
        let whole = |views: &Views, settled: Option<&Settled>| whole(&inventory, views, network.clone(), settled).unwrap();
        let addresses = |c: &Candidate| ["n0", "n1", "n2"].map(|h| c.file.hosts[h].address.map(|a| a.to_string()).unwrap_or_default());
        let reported = whole(&views, None);
        assert_eq!(addresses(&reported), ["10.77.0.1", "10.77.0.2", ""]);
        let settled = Settled::new(4, reported);
        views.retain(|name, _| name.starts_with('s'));
        let silent = whole(&views, Some(&settled));
        assert_eq!(silent.key, settled.key, "agents that did not report yet are no reason for an epoch");
    }

    #[test]
    fn ranks_are_as_stated_else_as_offered_else_as_published() {
        let mut inventory = inventory();
        inventory.hosts["n0"].ranks = Some(2);
        let mut views = views(true, StpState::Forwarding);
        for (host, slots) in [("n0", 8), ("n1", 4), ("n2", 0)] {
            let report = inventory::host_report::HostReport { host: host.into(), slots, ..Default::default() };
            views.insert(host.into(), View { host: Some(report), ..View::default() });
        }
        let ranks = |views: &Views, settled: Option<&Settled>| {
            let file = whole(&inventory, views, network("s0"), settled).unwrap().file;
            ["n0", "n1", "n2"].map(|h| file.hosts[h].ranks)
        };
        assert_eq!(ranks(&views, None), [2, 4, 1]);
        let settled = Settled::new(4, whole(&inventory, &views, network("s0"), None).unwrap());
        views.retain(|name, _| name.starts_with('s'));
        assert_eq!(ranks(&views, Some(&settled)), [2, 4, 1], "agents that did not report yet are no reason for an epoch");
    }
}
