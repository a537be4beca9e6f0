//! The truth about a generated network, with indexes for look-ups, and the part of it that an observer
//! can know.
//!
//! | truth | observable |
//! |---|---|
//! | a cable that an asked end lists, under an identity that is no other's | yes: recall counts it |
//! | a cable that forwards, between two asked switches that learned stations there | yes, from databases |
//! | the attachment of a listed host that an asked switch learned at its port | yes, from databases |
//! | a bridge that speaks nothing and is not listed, between two visible neighbours | no: it may be a cable |
//! | the wiring among bridges that are not asked, or have neither database nor neighbours nor tree | no: they are one part; a made-up bridge may stand for it |
//! | the attachment of a host behind several of them | that it is behind that part, no more |
//! | the port's name at a device that is not asked | no: any name is right |
//! | a host behind a telephone, or behind a bridge where nobody else is visible | its port is, what is between is not |
//!
//! A made-up link over what is not observable is right if it is `inferred` or `ambiguous`. A certain
//! link is right only if the cable is there.
use fleet::network::{GeneratedNetwork, LinkVoice, TrueNode};
use inventory::Mac;
use inventory::device_view::DeviceView;
use inventory::observation::NeighbourId;
use inventory::topology::{Link, NodeKind};
use petgraph::unionfind::UnionFind;
use std::collections::{BTreeSet, HashMap, HashSet};

/// A node and its port.
pub(crate) type NodePort<'n> = (&'n str, &'n str);

/// The truth with indexes for look-ups.
pub(crate) struct NetworkTruth<'n> {
    pub(crate) network: &'n GeneratedNetwork,
    kinds: HashMap<&'n str, NodeKind>,
    /// By the two nodes: the numbers of the links.
    links: HashMap<NodePort<'n>, Vec<usize>>,
    /// The dark part that each node belongs to: bridges that are not asked and joined.
    dark: HashMap<&'n str, usize>,
    /// The unseen part that each node belongs to: bridges that an observer cannot tell from a
    /// cable, and that are joined.
    unseen: HashMap<&'n str, usize>,
    /// By unseen part: the nodes in it and beside it that an observer sees.
    visible: HashMap<usize, BTreeSet<&'n str>>,
    /// By node and port: the far node and its port.
    behind: HashMap<NodePort<'n>, NodePort<'n>>,
    /// The port of a host's own cable.
    attachments: HashMap<&'n str, NodePort<'n>>,
    /// By device and description of a port: its name.
    described: HashMap<NodePort<'n>, &'n str>,
    /// The addresses in any table of a device that is asked.
    addresses: HashSet<Mac>,
    /// The names of neighbours in any of these tables.
    names: HashSet<&'n str>,
}

fn pair<'a>(a: &'a str, b: &'a str) -> (&'a str, &'a str) {
    if a < b { (a, b) } else { (b, a) }
}

/// The two ends of a link, each with the other after it.
pub(crate) fn both_ways(link: &Link) -> [[NodePort<'_>; 2]; 2] {
    let (a, b) = (
        (link.a.as_str(), link.a_port.as_str()),
        (link.b.as_str(), link.b_port.as_str()),
    );
    [[a, b], [b, a]]
}

/// A port without the number of its logical unit.
fn physical(port: &str) -> &str {
    port.strip_suffix(".0").unwrap_or(port)
}

/// By device and description of a port: its name, where only one port has the description.
fn described(network: &GeneratedNetwork) -> HashMap<NodePort<'_>, &str> {
    let mut names: HashMap<NodePort<'_>, Option<&str>> = HashMap::new();
    for (device, view) in &network.views {
        for i in view.interfaces.iter().flatten() {
            for text in [&i.descr, &i.alias] {
                let name = names.entry((device, text)).or_insert(Some(&i.name));
                *name = name.filter(|name| *name == i.name);
            }
        }
    }
    names
        .into_iter()
        .filter_map(|(end, name)| Some((end, name?)))
        .collect()
}

/// The addresses in the tables of a device: learned, named by neighbours, or of designated bridges.
fn addresses(view: &DeviceView) -> Vec<Mac> {
    let learned = view.fdb.iter().flatten().map(|e| e.mac);
    let neighbours = view.lldp.iter().flat_map(|l| &l.neighbours);
    let named = neighbours.filter_map(|n| match n.chassis {
        Some(NeighbourId::Mac(mac)) => Some(mac),
        _ => None,
    });
    let ports = view.bridge.iter().flat_map(|b| &b.ports);
    let designated = ports.filter_map(|p| Some(p.designated_bridge?.address));
    learned.chain(named).chain(designated).collect()
}

/// The names of the neighbours of a device.
fn names(view: &DeviceView) -> Vec<&str> {
    let lldp = view.lldp.iter().flat_map(|l| &l.neighbours);
    let cdp = view.lldp.iter().flat_map(|l| &l.cdp.neighbours);
    let cdp = cdp.filter_map(|n| match &n.device {
        Some(NeighbourId::Text(name)) => Some(name.as_str()),
        _ => None,
    });
    lldp.map(|n| n.name.as_str()).chain(cdp).collect()
}

impl<'n> NetworkTruth<'n> {
    pub(crate) fn new(network: &'n GeneratedNetwork) -> NetworkTruth<'n> {
        let truth = &network.truth;
        let mut all = NetworkTruth {
            network,
            kinds: truth.nodes.iter().map(|n| (&*n.name, n.kind)).collect(),
            links: HashMap::new(),
            dark: HashMap::new(),
            unseen: HashMap::new(),
            visible: HashMap::new(),
            behind: HashMap::new(),
            attachments: HashMap::new(),
            described: described(network),
            addresses: network.views.values().flat_map(addresses).collect(),
            names: network.views.values().flat_map(names).collect(),
        };
        for (number, link) in truth.links.iter().enumerate() {
            all.links
                .entry(pair(&link.a, &link.b))
                .or_default()
                .push(number);
            all.index_ports(link);
        }
        all.dark = all.parts(|t, n| t.is_dark(n));
        all.unseen = all.parts(|t, n| t.is_unseen(n));
        for (node, part) in all.unseen.clone() {
            let beside = truth
                .links
                .iter()
                .flat_map(both_ways)
                .filter_map(|[(near, _), (far, _)]| (near == node).then_some(far));
            let visible: Vec<&str> = beside.chain([node]).filter(|n| all.is_visible(n)).collect();
            all.visible.entry(part).or_default().extend(visible);
        }
        all
    }

    fn index_ports(&mut self, link: &'n Link) {
        for [(near, port), (far, far_port)] in both_ways(link) {
            self.behind.insert((near, port), (far, far_port));
            for m in &link.members {
                let (own, other) = match near == link.a {
                    true => (&m.a_port, &m.b_port),
                    false => (&m.b_port, &m.a_port),
                };
                self.behind.insert((near, own), (far, other));
            }
            if self.kinds[near] == NodeKind::Host && !self.attachments.contains_key(near) {
                self.attachments.insert(near, (near, port));
            }
        }
    }

    /// The joined parts of the nodes of a kind.
    fn parts(&self, is: impl Fn(&Self, &str) -> bool) -> HashMap<&'n str, usize> {
        let nodes = &self.network.truth.nodes;
        let numbers: HashMap<&str, usize> = nodes
            .iter()
            .enumerate()
            .map(|(i, n)| (&*n.name, i))
            .collect();
        let mut parts = UnionFind::new(nodes.len());
        for link in &self.network.truth.links {
            if is(self, &link.a) && is(self, &link.b) {
                parts.union(numbers[&*link.a], numbers[&*link.b]);
            }
        }
        let of_kind = nodes.iter().filter(|n| is(self, &n.name));
        of_kind
            .map(|n| (&*n.name, parts.find(numbers[&*n.name])))
            .collect()
    }

    /// The truth about a node; `None` for a name that no node has.
    pub(crate) fn node(&self, name: &str) -> Option<&'n TrueNode> {
        self.network.nodes.get(name)
    }

    pub(crate) fn kind(&self, name: &str) -> NodeKind {
        self.kinds[name]
    }

    /// True for a bridge that is not asked, or has nothing to say, and for a host with a virtual
    /// one.
    fn is_dark(&self, name: &str) -> bool {
        let node = &self.network.nodes[name];
        node.bridges && (self.is_blind(name) || self.kind(name) == NodeKind::Host)
    }

    /// True for a bridge that tells nothing of its place: neither database nor neighbours nor
    /// spanning tree.
    fn is_blind(&self, name: &str) -> bool {
        let Some(view) = self.network.views.get(name) else {
            return true;
        };
        let speaks = self.network.nodes[name].speaks;
        let learned = view.fdb.iter().flatten().next().is_some();
        let ports = view.bridge.iter().flat_map(|b| &b.ports);
        let own = view.bridge.as_ref().and_then(|b| b.address);
        let tree = ports
            .into_iter()
            .any(|p| p.designated_bridge.is_some_and(|d| Some(d.address) != own));
        !speaks && !learned && !tree
    }

    /// True for a bridge that an observer cannot tell from a cable.
    fn is_unseen(&self, name: &str) -> bool {
        let mute = !self.network.nodes[name].listed && !self.is_visible(name);
        self.is_dark(name) && (self.kind(name) == NodeKind::Host || mute)
    }

    /// True for a node that an observer can take notice of: one that is asked, or whose address or
    /// name any table has; but for a host only if the inventory lists it.
    fn is_visible(&self, name: &str) -> bool {
        let node = &self.network.nodes[name];
        let host = self.kind(name) == NodeKind::Host;
        let mentioned = self.names.contains(node.called.as_str())
            || node.addresses.iter().any(|m| self.addresses.contains(m));
        node.asked || mentioned && (node.listed || !host)
    }

    /// The true nodes for which a found node may stand by its address or its name, if nobody asked that
    /// node.
    pub(crate) fn strangers(&self, name: &str, chassis: Option<Mac>) -> Vec<&'n str> {
        let plain = name.replace(':', "-");
        let all = self.network.nodes.iter();
        let fits = all.filter(|(key, node)| {
            !name.is_empty() && (node.called == name || **key == name && !node.asked)
                || node.addresses.iter().any(|m| {
                    Some(*m) == chassis || plain.ends_with(&m.to_string().replace(':', "-"))
                })
        });
        fits.map(|(key, _)| key.as_str()).collect()
    }

    /// The number of the true link that a found link between these nodes matches. Ports must match
    /// where `known` says that the end was found as the asked device that it is.
    pub(crate) fn exact(&self, found: &Link, ends: [&str; 2], known: [bool; 2]) -> Option<usize> {
        let all = self.links.get(&pair(ends[0], ends[1]))?;
        all.iter().copied().find(|&number| {
            let link = &self.network.truth.links[number];
            let turned = ends[0] != link.a;
            let turn = |[x, y]: [bool; 2]| if turned { [y, x] } else { [x, y] };
            let [at_a, at_b] = turn(known);
            let (a, b) = match turned {
                true => (&found.b_port, &found.a_port),
                false => (&found.a_port, &found.b_port),
            };
            let fits = |x: &str, y: &str, p: &str, q: &str| {
                (!at_a || self.is_port(&link.a, x, p)) && (!at_b || self.is_port(&link.b, y, q))
            };
            let member = |x: &str, y: &str| {
                link.members
                    .iter()
                    .any(|m| fits(x, y, &m.a_port, &m.b_port))
            };
            let guessed = found
                .evidence
                .contains(&inventory::evidence::Evidence::MembersGuessed);
            let members = guessed
                || found.members.iter().all(|m| match turned {
                    true => member(&m.b_port, &m.a_port),
                    false => member(&m.a_port, &m.b_port),
                });
            let whole = fits(a, b, &link.a_port, &link.b_port);
            members && (whole || found.members.is_empty() && member(a, b))
        })
    }

    /// True if a found port is this one, by its name or its description. No end may tell the far
    /// port of a cable.
    fn is_port(&self, device: &str, found: &str, real: &str) -> bool {
        let found = physical(found);
        found.is_empty() || found == real || self.described.get(&(device, found)) == Some(&real)
    }

    /// True if only what nobody sees is between two ends, and nobody else beside it.
    pub(crate) fn joined_unseen(&self, ends: [NodePort<'_>; 2]) -> bool {
        let [(a, a_port), (b, b_port)] = ends;
        let parts = [self.unseen_at(a, a_port), self.unseen_at(b, b_port)];
        let one = |near: Option<usize>, far: &str, far_part: Option<usize>| {
            let inside = self.unseen.get(far).copied();
            near.is_some() && (far_part == near || inside == near)
        };
        let part = match () {
            () if one(parts[0], b, parts[1]) => parts[0],
            () if one(parts[1], a, parts[0]) => parts[1],
            () => None,
        };
        part.and_then(|p| self.visible.get(&p))
            .is_some_and(|seen| seen.iter().all(|n| *n == a || *n == b))
    }

    /// The unseen part that a port is plugged into.
    fn unseen_at(&self, node: &str, port: &str) -> Option<usize> {
        self.unseen.get(self.far(node, port)?).copied()
    }

    /// The node behind a port, or behind the only cable of a host.
    fn far(&self, node: &str, port: &str) -> Option<&'n str> {
        let behind = match self.kinds.get(node)? {
            NodeKind::Host => self.behind.get(self.attachments.get(node)?),
            _ => self.behind.get(&(node, physical(port))),
        };
        behind.map(|(far, _)| *far)
    }

    /// The dark part that this end of a found link is plugged into, or belongs to.
    pub(crate) fn plugged(&self, node: &str, port: &str) -> Option<usize> {
        let far = self.far(node, port);
        far.and_then(|far| self.dark.get(far))
            .or_else(|| self.dark.get(node))
            .copied()
    }

    /// The number of bridges in a dark part.
    pub(crate) fn bridges_in(&self, part: usize) -> usize {
        self.dark.values().filter(|own| **own == part).count()
    }

    /// True if both ends are in one dark part, or one is plugged into that of the other; but not
    /// where a device tells what is plugged in there.
    pub(crate) fn within_dark(&self, ends: [NodePort<'_>; 2]) -> bool {
        let [(a, a_port), (b, b_port)] = ends;
        let part = |node, other: &str, port| {
            let own = self.dark.get(other).copied();
            let far = self.far(node, port);
            let plugged = far.and_then(|far| self.dark.get(far)).copied();
            let spoken = far.is_some_and(|far| self.is_spoken(node, far));
            own.is_some() && !spoken && (plugged == own || self.dark.get(node).copied() == own)
        };
        part(a, b, a_port) || part(b, a, b_port)
    }

    fn is_spoken(&self, a: &str, b: &str) -> bool {
        let links = self.links.get(&pair(a, b));
        links.is_some_and(|all| {
            all.iter()
                .any(|n| self.network.voices[*n] == LinkVoice::Spoken)
        })
    }

    /// The hosts of which an observer reads that their cables lead to these bridges.
    pub(crate) fn speaking_hosts(
        &self,
        bridges: &BTreeSet<String>,
        recorded: bool,
    ) -> BTreeSet<&'n str> {
        let links = self.network.truth.links.iter().zip(&self.network.voices);
        let spoken = links.enumerate().filter(|(number, (link, voice))| {
            **voice == LinkVoice::Spoken
                && bridges.contains(&link.a)
                && self.counts(*number, recorded)
        });
        let far = spoken.map(|(_, (link, _))| link.b.as_str());
        far.filter(|far| self.kind(far) == NodeKind::Host).collect()
    }

    /// True if an observer can find this link by what he reads. `recorded`: he has no list of
    /// hosts.
    pub(crate) fn counts(&self, number: usize, recorded: bool) -> bool {
        let link = &self.network.truth.links[number];
        let names = |n: &String| {
            let node = &self.network.nodes[n];
            node.asked || !recorded && node.listed || self.kind(n) != NodeKind::Host
        };
        match self.network.voices[number] {
            LinkVoice::Spoken => recorded || names(&link.a) && names(&link.b),
            LinkVoice::Learned => names(&link.a) && names(&link.b),
            LinkVoice::Hidden => false,
        }
    }
}
