//! What is found, held against what is true.
use fleet::network::GeneratedNetwork;
use inventory::Topology;
use inventory::topology::{Link, LinkGrade, LinkState, NodeKind};
use petgraph::unionfind::UnionFind;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// What a true link joins, as far as it matters for what can be known of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum TrueLinkKind {
    /// Two switches that answer.
    Answering,
    /// One that answers, and one that does not.
    HalfSilent,
    /// Two that do not answer.
    BothSilent,
    /// A host and a switch that answers.
    Host,
    /// A host and a switch that does not.
    HostOfSilent,
    /// A switch or a host, and a bridge nobody lists.
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

/// What became of the true links of a kind.
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

    /// The share of the links that are stated, as certain or as inferred.
    pub(crate) fn stated(&self) -> f64 {
        (self.certain + self.inferred) as f64 / self.all as f64
    }

    /// The share of the links that are stated, or among the candidates of what is said to be
    /// ambiguous.
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
    /// True links whose state is said to be the other.
    pub false_state: Vec<String>,
}

/// The truth, ready to be asked.
struct NetworkTruth<'n> {
    network: &'n GeneratedNetwork,
    kinds: HashMap<&'n str, NodeKind>,
    /// By the two nodes.
    links: HashMap<(&'n str, &'n str), Vec<&'n Link>>,
    /// The part of what does not answer that each node belongs to: silent switches and bridges
    /// nobody lists, joined.
    dark: HashMap<&'n str, usize>,
    /// What a port of an answering switch leads to.
    behind: HashMap<(&'n str, &'n str), &'n str>,
    /// What a host is plugged into.
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

    /// The true link a found one between listed nodes is. Ports count where the switch answers.
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
            // Where one end does not tell its aggregates, that end of an aggregate has no name.
            let open = |said: &String, named: &String| {
                said.is_empty() && !found.members.is_empty() || said == named
            };
            let whole = (!at_a || open(a, &link.a_port)) && (!at_b || open(b, &link.b_port));
            members && (whole || found.members.is_empty() && member(a, b))
        })
    }

    /// The part of what does not answer that this end of a found link is plugged into.
    fn plugged(&self, node: &str, port: &str) -> Option<usize> {
        let far = if self.kinds.get(node)? == &NodeKind::Host {
            self.under.get(node)
        } else {
            self.behind.get(&(node, port))
        };
        // A silent switch that hangs on something dark is dark itself.
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

/// Compares.
pub(crate) fn judge(network: &GeneratedNetwork, found: &Topology) -> InferenceVerdict {
    let truth = NetworkTruth::new(network);
    let mut verdict = InferenceVerdict::default();
    let mut recalled: HashMap<*const Link, LinkGrade> = HashMap::new();
    let nameless = nameless(&truth, found);
    let mut under_nameless: BTreeSet<&str> = BTreeSet::new();
    let mut nameless_ports: BTreeSet<(&str, &str)> = BTreeSet::new();
    for link in &found.links {
        let right = match [&link.a, &link.b].map(|n| nameless.get(n.as_str())) {
            [None, None] => {
                let real = truth.of(link);
                if let Some(real) = real {
                    let best = recalled
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
                }
                real.is_some()
            }
            ends => both_ways(link).into_iter().zip(ends.into_iter().rev()).all(
                |([(near, port), _], bridge)| match bridge {
                    Some(part) => {
                        let plugged = truth.plugged(near, port);
                        if plugged.is_some()
                            && plugged == *part
                            && link.grade != LinkGrade::Ambiguous
                        {
                            under_nameless.insert(near);
                            nameless_ports.insert((near, port));
                        }
                        plugged.is_some() && plugged == *part
                    }
                    None => true,
                },
            ),
        };
        match (link.grade, right) {
            (LinkGrade::Certain, _) => verdict.certain += 1,
            (LinkGrade::Inferred, _) => verdict.inferred += 1,
            (LinkGrade::Ambiguous, _) => verdict.ambiguous += 1,
        }
        let told = || {
            format!(
                "{} {} - {} {}: {:?}",
                link.a, link.a_port, link.b, link.b_port, link.evidence
            )
        };
        match (link.grade, right) {
            (LinkGrade::Certain, false) => verdict.false_certain.push(told()),
            (LinkGrade::Inferred, false) => verdict.false_inferred.push(told()),
            (LinkGrade::Ambiguous, false) => verdict.false_ambiguous += 1,
            (_, true) => {}
        }
    }
    for link in &network.truth.links {
        let kind = truth.kind(link);
        let tally = verdict.kinds.entry(kind).or_default();
        tally.all += 1;
        let by_nameless = both_ways(link).into_iter().any(|[(near, port), _]| {
            let host = truth.kinds[near] == NodeKind::Host;
            if host {
                under_nameless.contains(near)
            } else {
                nameless_ports.contains(&(near, port))
            }
        });
        match recalled.get(&std::ptr::from_ref(link)) {
            Some(LinkGrade::Certain) => tally.certain += 1,
            Some(LinkGrade::Inferred) => tally.inferred += 1,
            None if by_nameless && kind == TrueLinkKind::Unlisted => tally.inferred += 1,
            None if by_nameless => tally.nameless += 1,
            Some(LinkGrade::Ambiguous) => tally.ambiguous += 1,
            None => {}
        }
    }
    verdict
}

/// The bridges without a name that were found, and the dark part each stands for: where most of its
/// links are plugged in.
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

    /// What became of the links among what the inventory lists: switches and hosts, cables to
    /// bridges nobody lists left out.
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
