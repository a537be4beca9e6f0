//! A found topology, compared with the truth.
use fleet::network::GeneratedNetwork;
use inventory::Topology;
use inventory::topology::{Link, LinkGrade, LinkState, NodeKind};
use petgraph::unionfind::UnionFind;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The kind of a true link, on which it depends how much can be found out about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum TrueLinkKind {
    /// Two switches that answer.
    Answering,
    /// A switch that answers, and one that does not.
    HalfSilent,
    /// Two switches that do not answer.
    BothSilent,
    /// A host and a switch that answers.
    Host,
    /// A host and a switch that does not.
    HostOfSilent,
    /// A switch or a host, and an unmanaged bridge.
    Unlisted,
}

impl TrueLinkKind {
    pub(crate) const ALL: [TrueLinkKind; 6] = [
        TrueLinkKind::Answering,
        TrueLinkKind::HalfSilent,
        TrueLinkKind::BothSilent,
        TrueLinkKind::Host,
        TrueLinkKind::HostOfSilent,
        TrueLinkKind::Unlisted,
    ];
}

/// The numbers of true links of a kind, by the way they were found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct LinkTally {
    pub all: usize,
    pub certain: usize,
    pub inferred: usize,
    /// Among the candidates.
    pub ambiguous: usize,
    /// Found, on a nameless bridge that stands for the silent switch.
    pub nameless: usize,
}

impl LinkTally {
    fn plus(self, t: LinkTally) -> LinkTally {
        LinkTally {
            all: self.all + t.all,
            certain: self.certain + t.certain,
            inferred: self.inferred + t.inferred,
            ambiguous: self.ambiguous + t.ambiguous,
            nameless: self.nameless + t.nameless,
        }
    }

    /// The share of the links that were found as certain or inferred.
    pub(crate) fn stated(&self) -> f64 {
        (self.certain + self.inferred) as f64 / self.all as f64
    }

    /// The share of the links that are stated, or among the candidates of an ambiguous link.
    pub(crate) fn named(&self) -> f64 {
        self.stated() + self.ambiguous as f64 / self.all as f64
    }

    /// The share of the links that are named, or in the right place under a made-up name.
    pub(crate) fn placed(&self) -> f64 {
        self.named() + self.nameless as f64 / self.all as f64
    }
}

/// One network's verdict, or the sum of many.
#[derive(Debug, Default)]
pub(crate) struct InferenceVerdict {
    pub kinds: BTreeMap<TrueLinkKind, LinkTally>,
    pub certain: usize,
    pub inferred: usize,
    pub ambiguous: usize,
    pub false_certain: Vec<String>,
    pub false_inferred: Vec<String>,
    pub false_ambiguous: usize,
    /// True links that were found with the wrong state.
    pub false_state: Vec<String>,
}

/// The truth with indexes for look-ups.
struct NetworkTruth<'n> {
    network: &'n GeneratedNetwork,
    kinds: HashMap<&'n str, NodeKind>,
    /// By the two nodes.
    links: HashMap<(&'n str, &'n str), Vec<&'n Link>>,
    /// The dark part that each node belongs to: silent switches and unmanaged bridges that are
    /// joined with each other.
    dark: HashMap<&'n str, usize>,
    /// The node behind a port of an answering switch.
    behind: HashMap<(&'n str, &'n str), &'n str>,
    /// The node that a host is plugged into.
    under: HashMap<&'n str, &'n str>,
}

fn key<'a>(a: &'a str, b: &'a str) -> (&'a str, &'a str) {
    if a < b { (a, b) } else { (b, a) }
}

impl<'n> NetworkTruth<'n> {
    fn new(network: &'n GeneratedNetwork) -> NetworkTruth<'n> {
        let truth = &network.truth;
        let kinds: HashMap<&str, NodeKind> = truth
            .nodes
            .iter()
            .map(|n| (n.name.as_str(), n.kind))
            .collect();
        let numbers: HashMap<&str, usize> = truth
            .nodes
            .iter()
            .enumerate()
            .map(|(i, n)| (n.name.as_str(), i))
            .collect();
        let dark = |n: &str| kinds[n] == NodeKind::Unmanaged || network.silent.contains(n);
        let mut parts = UnionFind::new(truth.nodes.len());
        let mut links: HashMap<_, Vec<_>> = HashMap::new();
        let (mut behind, mut under) = (HashMap::new(), HashMap::new());
        for link in &truth.links {
            links.entry(key(&link.a, &link.b)).or_default().push(link);
            if dark(&link.a) && dark(&link.b) {
                parts.union(numbers[link.a.as_str()], numbers[link.b.as_str()]);
            }
            for [(near, port), (far, _)] in both_ways(link) {
                behind.insert((near, port), far);
                behind.extend(
                    link.members
                        .iter()
                        .flat_map(|m| [(link.a.as_str(), &m.a_port), (link.b.as_str(), &m.b_port)])
                        .filter_map(|(n, p)| (n == near).then_some(((near, p.as_str()), far))),
                );
                if kinds[near] == NodeKind::Host {
                    under.insert(near, far);
                }
            }
        }
        let dark = truth
            .nodes
            .iter()
            .filter(|n| dark(&n.name))
            .map(|n| (n.name.as_str(), parts.find(numbers[n.name.as_str()])))
            .collect();
        NetworkTruth {
            network,
            kinds,
            links,
            dark,
            behind,
            under,
        }
    }

    fn kind(&self, link: &Link) -> TrueLinkKind {
        let silent = [&link.a, &link.b]
            .into_iter()
            .filter(|n| self.network.silent.contains(*n))
            .count();
        let is = |kind| self.kinds[link.a.as_str()] == kind || self.kinds[link.b.as_str()] == kind;
        match silent {
            _ if is(NodeKind::Unmanaged) => TrueLinkKind::Unlisted,
            0 if is(NodeKind::Host) => TrueLinkKind::Host,
            _ if is(NodeKind::Host) => TrueLinkKind::HostOfSilent,
            0 => TrueLinkKind::Answering,
            1 => TrueLinkKind::HalfSilent,
            _ => TrueLinkKind::BothSilent,
        }
    }

    /// The true link that a found link between listed nodes matches. Ports must match where the
    /// switch answers.
    fn of(&self, found: &Link) -> Option<&'n Link> {
        let all = self.links.get(&key(&found.a, &found.b))?;
        all.iter().copied().find(|link| {
            let turned = found.a != link.a;
            let (a, b) = if turned {
                (&found.b_port, &found.a_port)
            } else {
                (&found.a_port, &found.b_port)
            };
            let asked = |n: &String| {
                self.kinds[n.as_str()] == NodeKind::Switch && !self.network.silent.contains(n)
            };
            let (at_a, at_b) = (asked(&link.a), asked(&link.b));
            let fits = |x: &str, y: &str, p: &str, q: &str| (!at_a || x == p) && (!at_b || y == q);
            let member = |x: &str, y: &str| {
                link.members
                    .iter()
                    .any(|m| fits(x, y, &m.a_port, &m.b_port))
            };
            let guessed = found
                .evidence
                .contains(&inventory::evidence::Evidence::MembersGuessed);
            let members = guessed
                || found.members.iter().all(|m| {
                    if turned {
                        member(&m.b_port, &m.a_port)
                    } else {
                        member(&m.a_port, &m.b_port)
                    }
                });
            // If one end does not report its aggregates, that end of an aggregate has no name.
            let open = |found_port: &String, named: &String| {
                found_port.is_empty() && !found.members.is_empty() || found_port == named
            };
            let whole = (!at_a || open(a, &link.a_port)) && (!at_b || open(b, &link.b_port));
            members && (whole || found.members.is_empty() && member(a, b))
        })
    }

    /// The dark part that this end of a found link is plugged into.
    fn plugged(&self, node: &str, port: &str) -> Option<usize> {
        let far = if self.kinds.get(node)? == &NodeKind::Host {
            self.under.get(node)
        } else {
            self.behind.get(&(node, port))
        };
        // A silent switch that is plugged into a dark part belongs to it.
        far.and_then(|f| self.dark.get(f))
            .or_else(|| self.dark.get(node))
            .copied()
    }
}

fn both_ways(link: &Link) -> [[(&str, &str); 2]; 2] {
    let (a, b) = (
        (link.a.as_str(), link.a_port.as_str()),
        (link.b.as_str(), link.b_port.as_str()),
    );
    [[a, b], [b, a]]
}

/// The found links, compared with the truth one by one.
#[derive(Default)]
struct FoundLinks<'t> {
    /// By true link: the best grade with which it was found.
    recalled: HashMap<*const Link, LinkGrade>,
    /// The nodes that were found on the right nameless bridge, and their ports.
    under_nameless: BTreeSet<&'t str>,
    nameless_ports: BTreeSet<(&'t str, &'t str)>,
}

impl<'t> FoundLinks<'t> {
    /// True if a found link between listed nodes is right. Records its grade, and a wrong state.
    fn listed(
        &mut self,
        truth: &NetworkTruth<'_>,
        link: &Link,
        verdict: &mut InferenceVerdict,
    ) -> bool {
        let Some(real) = truth.of(link) else {
            return false;
        };
        let best = self
            .recalled
            .entry(std::ptr::from_ref(real))
            .or_insert(link.grade);
        *best = (*best).min(link.grade);
        let states = [link.state, real.state];
        if link.grade != LinkGrade::Ambiguous
            && states[0] != states[1]
            && !states.contains(&LinkState::Unknown)
        {
            verdict.false_state.push(format!("{link:?}"));
        }
        true
    }

    /// True if one end of a found link is plugged into the dark part that the nameless bridge at
    /// the other end stands for.
    fn on_nameless(
        &mut self,
        truth: &NetworkTruth<'_>,
        grade: LinkGrade,
        (near, port): (&'t str, &'t str),
        part: Option<usize>,
    ) -> bool {
        let plugged = truth.plugged(near, port);
        let right = plugged.is_some() && plugged == part;
        if right && grade != LinkGrade::Ambiguous {
            self.under_nameless.insert(near);
            self.nameless_ports.insert((near, port));
        }
        right
    }

    /// Adds a true link to the tally of its kind.
    fn count(&self, truth: &NetworkTruth<'_>, link: &Link, verdict: &mut InferenceVerdict) {
        let kind = truth.kind(link);
        let tally = verdict.kinds.entry(kind).or_default();
        tally.all += 1;
        let by_nameless = both_ways(link).into_iter().any(|[(near, port), _]| {
            if truth.kinds[near] == NodeKind::Host {
                self.under_nameless.contains(near)
            } else {
                self.nameless_ports.contains(&(near, port))
            }
        });
        match self.recalled.get(&std::ptr::from_ref(link)) {
            Some(LinkGrade::Certain) => tally.certain += 1,
            Some(LinkGrade::Inferred) => tally.inferred += 1,
            None if by_nameless && kind == TrueLinkKind::Unlisted => tally.inferred += 1,
            None if by_nameless => tally.nameless += 1,
            Some(LinkGrade::Ambiguous) => tally.ambiguous += 1,
            None => {}
        }
    }
}

/// Compares a found topology with the truth.
pub(crate) fn judge(network: &GeneratedNetwork, found: &Topology) -> InferenceVerdict {
    let truth = NetworkTruth::new(network);
    let mut verdict = InferenceVerdict::default();
    let mut links = FoundLinks::default();
    let nameless = nameless(&truth, found);
    for link in &found.links {
        let right =
            match [&link.a, &link.b].map(|n| nameless.get(n.as_str())) {
                [None, None] => links.listed(&truth, link, &mut verdict),
                ends => both_ways(link).into_iter().zip(ends.into_iter().rev()).all(
                    |([end, _], bridge)| {
                        bridge.is_none_or(|part| links.on_nameless(&truth, link.grade, end, *part))
                    },
                ),
            };
        verdict.add_found(link, right);
    }
    for link in &network.truth.links {
        links.count(&truth, link, &mut verdict);
    }
    verdict
}

/// The nameless bridges that were found, each with the dark part into which most of its links are
/// plugged.
fn nameless<'t>(truth: &NetworkTruth<'_>, found: &'t Topology) -> HashMap<&'t str, Option<usize>> {
    let mut parts: HashMap<&str, BTreeMap<usize, usize>> = found
        .nodes
        .iter()
        .filter(|n| !truth.kinds.contains_key(n.name.as_str()))
        .map(|n| (n.name.as_str(), BTreeMap::new()))
        .collect();
    for link in &found.links {
        for [(near, port), (far, _)] in both_ways(link) {
            if let (Some(parts), Some(part)) = (parts.get_mut(far), truth.plugged(near, port)) {
                *parts.entry(part).or_default() += 1;
            }
        }
    }
    parts
        .into_iter()
        .map(|(name, parts)| {
            (
                name,
                parts
                    .into_iter()
                    .max_by_key(|(_, n)| *n)
                    .map(|(part, _)| part),
            )
        })
        .collect()
}

impl InferenceVerdict {
    fn add_found(&mut self, link: &Link, right: bool) {
        let text = || {
            format!(
                "{} {} - {} {}: {:?}",
                link.a, link.a_port, link.b, link.b_port, link.evidence
            )
        };
        match link.grade {
            LinkGrade::Certain => self.certain += 1,
            LinkGrade::Inferred => self.inferred += 1,
            LinkGrade::Ambiguous => self.ambiguous += 1,
        }
        match (link.grade, right) {
            (LinkGrade::Certain, false) => self.false_certain.push(text()),
            (LinkGrade::Inferred, false) => self.false_inferred.push(text()),
            (LinkGrade::Ambiguous, false) => self.false_ambiguous += 1,
            (_, true) => {}
        }
    }

    pub(crate) fn add(&mut self, seed: u64, other: InferenceVerdict) {
        for (kind, t) in other.kinds {
            let sum = self.kinds.entry(kind).or_default();
            *sum = sum.plus(t);
        }
        self.certain += other.certain;
        self.inferred += other.inferred;
        self.ambiguous += other.ambiguous;
        self.false_ambiguous += other.false_ambiguous;
        let with_seed = |all: Vec<String>| {
            all.into_iter()
                .map(move |text| format!("seed {seed}: {text}"))
        };
        self.false_certain.extend(with_seed(other.false_certain));
        self.false_inferred.extend(with_seed(other.false_inferred));
        self.false_state.extend(with_seed(other.false_state));
    }

    /// The sum of the links between listed switches and hosts, without cables to unmanaged bridges.
    pub(crate) fn listed(&self) -> LinkTally {
        let listed = self
            .kinds
            .iter()
            .filter(|(kind, _)| **kind != TrueLinkKind::Unlisted)
            .map(|(_, t)| *t);
        listed.fold(LinkTally::default(), LinkTally::plus)
    }

    pub(crate) fn table(&self) -> String {
        let mut text = format!(
            "{:>14} {:>7} {:>8} {:>9} {:>10} {:>9} {:>7}\n",
            "kind", "all", "certain", "inferred", "ambiguous", "nameless", "missed"
        );
        for kind in TrueLinkKind::ALL {
            let t = self.kinds.get(&kind).copied().unwrap_or_default();
            let missed = t.all - t.certain - t.inferred - t.ambiguous - t.nameless;
            let name = format!("{kind:?}");
            text += &format!(
                "{name:>14} {:>7} {:>8} {:>9} {:>10} {:>9} {missed:>7}\n",
                t.all, t.certain, t.inferred, t.ambiguous, t.nameless
            );
        }
        let listed = self.listed();
        let percent = |share: f64| format!("{:.2} %", 100.0 * share);
        text += &format!(
            "found: {} certain ({} false), {} inferred ({} false), {} ambiguous ({} false); {} \
             wrong states\n",
            self.certain,
            self.false_certain.len(),
            self.inferred,
            self.false_inferred.len(),
            self.ambiguous,
            self.false_ambiguous,
            self.false_state.len(),
        );
        text += &format!(
            "recall of {} listed links: {} stated, {} with candidates, {} with made-up names",
            listed.all,
            percent(listed.stated()),
            percent(listed.named()),
            percent(listed.placed()),
        );
        text
    }
}
