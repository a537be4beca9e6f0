//! The actions on a lab: moving a host's cable, draining a spine, cutting a link and joining it again.
use super::{App, AppEffect, CutLink, InputMode, LabAction};
use crate::rows::RowKey;
use inventory::topology::{Link, LinkState, NodeKind, Topology};
use std::collections::BTreeSet;

impl App {
    pub(super) fn choose_switch(&mut self) {
        let selected = match &self.panels[self.focus].selected {
            Some(RowKey::Node(name)) => name.clone(),
            Some(RowKey::Link { b, .. }) => b.clone(),
            _ => String::new(),
        };
        let topology = self.topology();
        if !is_host(&topology, &selected) {
            return self.say(
                "select a host to move its cable; M moves the next one",
                true,
            );
        }
        let switches = targets(&topology, &selected);
        if switches.is_empty() {
            return self.say(
                &format!("there is no other switch to move {selected} to"),
                true,
            );
        }
        self.mode = InputMode::Choose {
            host: selected,
            switches,
            at: 0,
        };
    }

    /// Moves the next host's cable. On a routed fabric no host keeps its address on another leaf:
    /// there it drains the next spine, or puts back what was cut last.
    pub(super) fn move_next(&mut self) -> Option<AppEffect> {
        let topology = self.topology();
        let spines = spines(&topology);
        // Several links at once are those of a drained spine.
        if self.cuts.last().is_some_and(|links| links.len() > 1) {
            return self.join();
        }
        if spines.len() > 1 {
            let spine = spines[self.turn % spines.len()];
            self.turn += 1;
            return Some(self.cut_all(links_of(&topology, spine)));
        }
        let Some((host, switch)) = next(&topology, self.turn) else {
            self.say("no host to move: it takes a host and two switches", true);
            return None;
        };
        self.turn += 1;
        Some(self.move_host(host, switch))
    }

    pub(super) fn move_host(&mut self, host: String, switch: String) -> AppEffect {
        self.say(&format!("moving the cable of {host} to {switch} …"), false);
        AppEffect::Lab(LabAction::Move { host, switch })
    }

    pub(super) fn cut(&mut self) -> Option<AppEffect> {
        let topology = self.topology();
        let ends = match &self.panels[self.focus].selected {
            Some(RowKey::Link { a, b, .. }) => Some((a.clone(), b.clone())),
            Some(RowKey::Node(name)) => {
                let path = crate::tree::path(&topology, name);
                let parent = path.last().and_then(|b| b.parent);
                parent.map(|parent| (parent.name(&topology).to_owned(), name.clone()))
            }
            _ => None,
        };
        let Some((a, b)) = ends else {
            self.say(
                "select a link, or a node below another, to cut its link",
                true,
            );
            return None;
        };
        Some(self.cut_all(vec![(a, b)]))
    }

    fn cut_all(&mut self, links: Vec<CutLink>) -> AppEffect {
        self.say(&format!("cutting {} …", link_names(&links)), false);
        self.cuts.push(links.clone());
        AppEffect::Lab(LabAction::Cut(links))
    }

    pub(super) fn join(&mut self) -> Option<AppEffect> {
        // It stays in the list until the lab has joined it: after a failure it can be joined again.
        let Some(links) = self.cuts.last().cloned() else {
            self.say("no link was cut from here", true);
            return None;
        };
        self.say(&format!("joining {} …", link_names(&links)), false);
        Some(AppEffect::Lab(LabAction::Join(links)))
    }

    fn topology(&self) -> Topology {
        self.picture()
            .map(|s| s.topology.clone())
            .unwrap_or_default()
    }
}

/// Links by their ends, as `a-b, c-d`.
pub fn link_names(links: &[CutLink]) -> String {
    let names: Vec<String> = links.iter().map(|(a, b)| format!("{a}-{b}")).collect();
    names.join(", ")
}

/// The routers to which flows spread.
fn spines(topology: &Topology) -> Vec<&str> {
    names(topology, NodeKind::Router)
        .filter(|name| links_at(topology, name).any(|l| l.state == LinkState::Multipath))
        .collect()
}

/// The links at a node, each once also where several cables are side by side.
fn links_of(topology: &Topology, node: &str) -> Vec<CutLink> {
    let ends = links_at(topology, node).map(|l| (l.a.clone(), l.b.clone()));
    ends.collect::<BTreeSet<CutLink>>().into_iter().collect()
}

fn links_at<'a>(topology: &'a Topology, node: &str) -> impl Iterator<Item = &'a Link> {
    (topology.links.iter()).filter(move |l| l.a == node || l.b == node)
}

/// The switch that a host hangs on.
pub(crate) fn switch_of<'a>(topology: &'a Topology, host: &str) -> Option<&'a str> {
    let mut ends = topology
        .links
        .iter()
        .filter(|l| l.state != LinkState::Blocked)
        .filter_map(|l| {
            if l.b == host {
                Some(l.a.as_str())
            } else {
                (l.a == host).then_some(l.b.as_str())
            }
        });
    ends.find(|n| names(topology, NodeKind::Switch).any(|s| s == *n))
}

/// The switches a host's cable could move to.
pub(crate) fn targets(topology: &Topology, host: &str) -> Vec<String> {
    let here = switch_of(topology, host);
    names(topology, NodeKind::Switch)
        .filter(|s| Some(*s) != here)
        .map(str::to_owned)
        .collect()
}

/// True if the name belongs to a host.
pub(crate) fn is_host(topology: &Topology, name: &str) -> bool {
    names(topology, NodeKind::Host).any(|h| h == name)
}

/// The move number `turn` of a tour that takes each host in turn one switch further: host and
/// switch.
pub(crate) fn next(topology: &Topology, turn: usize) -> Option<(String, String)> {
    let hosts: Vec<&str> = names(topology, NodeKind::Host).collect();
    let switches: Vec<&str> = names(topology, NodeKind::Switch).collect();
    let host = hosts.get(turn.checked_rem(hosts.len())?)?;
    let here = switch_of(topology, host).and_then(|s| switches.iter().position(|x| *x == s));
    let next = here.map_or(0, |i| (i + 1) % switches.len());
    (here != Some(next))
        .then(|| {
            switches
                .get(next)
                .map(|s| ((*host).to_owned(), (*s).to_owned()))
        })
        .flatten()
}

fn names(topology: &Topology, kind: NodeKind) -> impl Iterator<Item = &str> {
    topology
        .nodes
        .iter()
        .filter(move |n| n.kind == kind)
        .map(|n| n.name.as_str())
}
