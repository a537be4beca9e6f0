//! A found topology, compared with the truth.
use crate::truth::{NetworkTruth, both_ways};
use crate::verdict::{InferenceVerdict, VerdictError};
use fleet::network::{GeneratedNetwork, LinkVoice};
use inventory::Topology;
use inventory::topology::{Link, LinkGrade, LinkState, NodeKind};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The true node that a found node stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FoundNode<'n> {
    /// This one, found under its own name in the inventory.
    Named(&'n str),
    /// This one, under an address or a name that it announces.
    Stranger(&'n str),
    /// None: a made-up bridge in the place of this dark part.
    MadeUp(Option<usize>),
}

/// The kind of a found link.
enum LinkJudgement {
    /// The true link of this number.
    Exact(usize),
    /// Right as far as an observer can know.
    Placed,
    False,
}

/// Compares a found topology with the truth. `recorded`: it was found without a list of hosts.
pub(crate) fn judge(
    network: &GeneratedNetwork,
    found: &Topology,
    recorded: bool,
) -> InferenceVerdict {
    let truth = NetworkTruth::new(network);
    let nodes = found_nodes(&truth, found);
    let mut verdict = InferenceVerdict::default();
    let mut recalled: HashMap<usize, LinkGrade> = HashMap::new();
    let mut times: HashMap<usize, usize> = HashMap::new();
    let mut spread: BTreeSet<usize> = BTreeSet::new();
    let mut hosts: BTreeMap<&str, (bool, LinkGrade)> = BTreeMap::new();
    for link in &found.links {
        let judgement = judge_link(&truth, &nodes, link);
        let right = !matches!(judgement, LinkJudgement::False);
        verdict.add_found(link, right);
        if let LinkJudgement::Exact(number) = judgement {
            let best = recalled.entry(number).or_insert(link.grade);
            *best = (*best).min(link.grade);
            *times.entry(number).or_default() += 1;
            let is_way = link.state == LinkState::Multipath;
            if link.carries_frames() && (is_way || !link.members.is_empty()) {
                spread.insert(number);
            }
            verdict.check_state(link, &network.truth.links[number]);
        }
        for end in [&link.a, &link.b] {
            if let Some(FoundNode::Named(host)) = nodes.get(end.as_str()) {
                let attachment = hosts.entry(host).or_insert((right, link.grade));
                *attachment = (attachment.0 && right, attachment.1.max(link.grade));
            }
        }
    }
    for (number, link) in network.truth.links.iter().enumerate() {
        if truth.counts(number, recorded) {
            let is_aggregate = link.state == LinkState::Forwarding && link.members.len() > 1;
            let is_spread = link.state == LinkState::Multipath || is_aggregate;
            verdict.count_spread(link, is_spread.then(|| spread.contains(&number)));
            verdict.count_recall(link, network.voices[number], recalled.get(&number).copied());
        }
    }
    judge_networks(&truth, &nodes, found, recorded, &mut verdict);
    count_made_up(&truth, &nodes, found, &mut verdict);
    verdict.true_links = network.truth.links.len();
    verdict.split_aggregates = times.values().filter(|n| **n > 1).count();
    if !recorded {
        count_hosts(&truth, &hosts, &mut verdict);
    }
    verdict
}

/// The networks: none has switches of two, and that which hosts tell is found.
fn judge_networks(
    truth: &NetworkTruth<'_>,
    nodes: &HashMap<&str, FoundNode<'_>>,
    found: &Topology,
    recorded: bool,
    verdict: &mut InferenceVerdict,
) {
    let networks = &truth.network.networks;
    let mut alone: BTreeSet<usize> = BTreeSet::new();
    for network in &found.networks {
        let own: BTreeSet<usize> = network
            .switches
            .iter()
            .filter_map(|name| match nodes.get(name.as_str()) {
                Some(FoundNode::Named(own)) => networks.iter().position(|n| n.contains(*own)),
                _ => None,
            })
            .collect();
        if own.len() > 1 {
            let text = format!("{}: {}", network.name, network.switches.join(", "));
            verdict.errors.push((VerdictError::MixedNetworks, text));
        }
        alone.extend(own.first().filter(|_| own.len() == 1));
    }
    let hosts: Vec<BTreeSet<&str>> = networks
        .iter()
        .map(|n| truth.speaking_hosts(n, recorded))
        .collect();
    for number in (1..networks.len()).filter(|n| !hosts[*n].is_disjoint(&hosts[0])) {
        verdict.named_networks += 1;
        if alone.contains(&number) {
            verdict.found_networks += 1;
        } else {
            let names: Vec<&str> = networks[number].iter().map(String::as_str).collect();
            let error = (VerdictError::MissedNetwork, names.join(", "));
            verdict.errors.push(error);
        }
    }
}

/// The bridges that were made up, and those of them that do not exist: where nothing is dark, and beyond the
/// number of bridges in a dark part.
fn count_made_up(
    truth: &NetworkTruth<'_>,
    nodes: &HashMap<&str, FoundNode<'_>>,
    found: &Topology,
    verdict: &mut InferenceVerdict,
) {
    let mut times: BTreeMap<Option<usize>, usize> = BTreeMap::new();
    for node in found.nodes.iter().filter(|n| n.kind == NodeKind::Unmanaged) {
        if let Some(FoundNode::MadeUp(part)) = nodes.get(node.name.as_str()) {
            *times.entry(*part).or_default() += 1;
        }
    }
    for (part, number) in times {
        let real = part.map_or(0, |part| truth.bridges_in(part));
        verdict.made_up[0] += number;
        verdict.made_up[1] += number.saturating_sub(real);
    }
}

/// The attachments of the listed hosts.
fn count_hosts(
    truth: &NetworkTruth<'_>,
    hosts: &BTreeMap<&str, (bool, LinkGrade)>,
    verdict: &mut InferenceVerdict,
) {
    let listed = truth
        .network
        .nodes
        .iter()
        .filter(|(name, n)| n.listed && truth.kind(name) == NodeKind::Host);
    for (name, _) in listed {
        match hosts.get(name.as_str()) {
            None => verdict.hosts.unplaced += 1,
            Some((_, LinkGrade::Ambiguous)) => verdict.hosts.ambiguous += 1,
            Some((true, _)) => verdict.hosts.right += 1,
            Some((false, _)) => verdict.hosts.wrong += 1,
        }
    }
}

/// The true node of each found node. Of several that it may stand for, the one to which most of its
/// links lead: one found node is one node.
fn found_nodes<'n, 'f>(
    truth: &NetworkTruth<'n>,
    found: &'f Topology,
) -> HashMap<&'f str, FoundNode<'n>> {
    let mut nodes: HashMap<&str, FoundNode<'n>> = HashMap::new();
    let mut others = Vec::new();
    for node in &found.nodes {
        match truth.network.nodes.get_key_value(node.name.as_str()) {
            Some((name, true_node)) if true_node.asked || true_node.listed => {
                nodes.insert(&node.name, FoundNode::Named(name));
            }
            _ => others.push(node),
        }
    }
    for node in others {
        let candidates = truth.strangers(&node.name, node.chassis);
        let hits = |name: &str| {
            let at_it = found
                .links
                .iter()
                .filter(|l| l.a == node.name || l.b == node.name);
            at_it
                .filter(|l| {
                    let far = if l.a == node.name { &l.b } else { &l.a };
                    let Some(FoundNode::Named(far)) = nodes.get(far.as_str()) else {
                        return false;
                    };
                    let at_a = l.a == node.name;
                    let ends = if at_a { [name, far] } else { [far, name] };
                    truth.exact(l, ends, [!at_a, at_a]).is_some()
                })
                .count()
        };
        let best = candidates.into_iter().rev().max_by_key(|name| hits(name));
        let stands_for = best.map_or_else(
            || FoundNode::MadeUp(dark_part(truth, found, &node.name)),
            FoundNode::Stranger,
        );
        nodes.insert(&node.name, stands_for);
    }
    nodes
}

/// The dark part into which most links of a made-up bridge are plugged.
fn dark_part(truth: &NetworkTruth<'_>, found: &Topology, name: &str) -> Option<usize> {
    let mut parts: BTreeMap<usize, usize> = BTreeMap::new();
    for link in &found.links {
        for [(near, port), (far, _)] in both_ways(link) {
            if far == name
                && let Some(part) = truth.plugged(near, port)
            {
                *parts.entry(part).or_default() += 1;
            }
        }
    }
    let most = parts.into_iter().max_by_key(|(_, n)| *n);
    most.map(|(part, _)| part)
}

fn judge_link<'n>(
    truth: &NetworkTruth<'n>,
    nodes: &HashMap<&str, FoundNode<'n>>,
    link: &Link,
) -> LinkJudgement {
    let ends = [&link.a, &link.b].map(|n| nodes.get(n.as_str()).copied());
    let [Some(a), Some(b)] = ends else {
        return LinkJudgement::False;
    };
    let true_node = |found: FoundNode<'n>| match found {
        FoundNode::Named(n) | FoundNode::Stranger(n) => Some(n),
        FoundNode::MadeUp(_) => None,
    };
    if let (Some(x), Some(y)) = (true_node(a), true_node(b)) {
        let asked = |found| match found {
            FoundNode::Named(n) => {
                truth.node(n).is_some_and(|n| n.asked) && { truth.kind(n) != NodeKind::Host }
            }
            _ => false,
        };
        return match truth.exact(link, [x, y], [asked(a), asked(b)]) {
            Some(number) => LinkJudgement::Exact(number),
            None if link.grade == LinkGrade::Certain => LinkJudgement::False,
            None => {
                let ends = [(x, link.a_port.as_str()), (y, link.b_port.as_str())];
                match truth.joined_unseen(ends) || truth.within_dark(ends) {
                    true => LinkJudgement::Placed,
                    false => LinkJudgement::False,
                }
            }
        };
    }
    let fits = |end: FoundNode<'n>, port: &str, other: FoundNode<'n>| match (other, true_node(end))
    {
        (FoundNode::MadeUp(part), Some(n)) => part.is_some() && truth.plugged(n, port) == part,
        // Bridges that are not asked are one part, however many are made up for it.
        (FoundNode::MadeUp(part), None) => part.is_some() && end == FoundNode::MadeUp(part),
        _ => true,
    };
    match fits(a, &link.a_port, b) && fits(b, &link.b_port, a) {
        true => LinkJudgement::Placed,
        false => LinkJudgement::False,
    }
}

impl InferenceVerdict {
    fn count_recall(&mut self, link: &Link, voice: LinkVoice, found: Option<LinkGrade>) {
        self.voices.entry(voice).or_default().add(found);
        let error = match voice {
            LinkVoice::Spoken => VerdictError::MissedSpoken,
            _ => VerdictError::MissedLearned,
        };
        if !matches!(found, Some(LinkGrade::Certain | LinkGrade::Inferred)) {
            let ends = format!("{} {} - {} {}", link.a, link.a_port, link.b, link.b_port);
            self.errors.push((error, ends));
        }
    }

    /// Counts a link over which flows spread, found as one or not.
    fn count_spread(&mut self, link: &Link, found: Option<bool>) {
        self.spread[0] += usize::from(found.is_some());
        self.spread[1] += usize::from(found == Some(true));
        if found == Some(false) {
            let ends = format!("{} {} - {} {}", link.a, link.a_port, link.b, link.b_port);
            self.errors.push((VerdictError::MissedSpread, ends));
        }
    }

    fn add_found(&mut self, link: &Link, right: bool) {
        let text = format!(
            "{} {} - {} {}: {:?}",
            link.a, link.a_port, link.b, link.b_port, link.evidence
        );
        let (all, error) = match link.grade {
            LinkGrade::Certain => (&mut self.certain, VerdictError::FalseCertain),
            LinkGrade::Inferred => (&mut self.inferred, VerdictError::FalseInferred),
            LinkGrade::Ambiguous => {
                self.ambiguous += 1;
                self.false_ambiguous += usize::from(!right);
                return;
            }
        };
        *all += 1;
        if !right {
            self.errors.push((error, text));
        }
    }

    fn check_state(&mut self, link: &Link, truth: &Link) {
        // A member that was found alone is one of the ways of its aggregate. Where the other ways are not
        // seen, one of them is seen to carry frames, no more.
        let is_member = link.members.is_empty() && truth.members.len() > 1;
        let real = match (truth.state, link.state) {
            (LinkState::Forwarding, LinkState::Multipath) if is_member => LinkState::Multipath,
            (LinkState::Multipath, LinkState::Forwarding) => LinkState::Forwarding,
            (real, _) => real,
        };
        let states = [link.state, real];
        if link.grade == LinkGrade::Ambiguous
            || states[0] == states[1]
            || states.contains(&LinkState::Unknown)
        {
            return;
        }
        let error = match link.grade {
            LinkGrade::Certain => VerdictError::CertainWrongState,
            _ => VerdictError::InferredWrongState,
        };
        let text = format!(
            "{} {} - {} {} is {:?}, in truth {real:?}: {:?}",
            link.a, link.a_port, link.b, link.b_port, link.state, link.evidence
        );
        self.errors.push((error, text));
    }
}
