//! The nodes that names mean. A name is the weakest key: devices share factory settings, and names
//! without a domain cross domains.
use super::{Facts, NodeIx};
use std::collections::HashMap;

/// Names that devices have before anybody names them. They tell nobody from others.
const FACTORY_NAMES: [&str; 9] = [
    "switch",
    "router",
    "bridge",
    "localhost",
    "(none)",
    "hostname",
    "default",
    "unknown",
    "noname",
];

/// Names in lower case, and the node that each means; `None` if several nodes have it.
#[derive(Debug, Default)]
pub(crate) struct NameIndex {
    full: HashMap<String, Option<NodeIx>>,
    /// The part before the domain of names that have one.
    short: HashMap<String, Option<NodeIx>>,
    /// The names with a domain of each node.
    qualified: HashMap<NodeIx, Vec<String>>,
}

/// A host name without its domain.
fn short(name: &str) -> &str {
    name.split('.').next().unwrap_or(name)
}

/// True for a name that a device may have from its factory.
pub(crate) fn is_factory_name(name: &str) -> bool {
    FACTORY_NAMES.iter().any(|f| name.eq_ignore_ascii_case(f))
}

/// A name that two nodes claim is nobody's.
fn claim(index: &mut HashMap<String, Option<NodeIx>>, name: &str, node: NodeIx) {
    let owner = index.entry(name.to_owned()).or_insert(Some(node));
    *owner = owner.filter(|known| *known == node);
}

impl NameIndex {
    /// The names of the inventory come first, those of recordings' files last. A system name that
    /// is shared or already taken names no node.
    pub(super) fn new(facts: &Facts<'_>) -> NameIndex {
        let mut index = NameIndex {
            full: HashMap::with_capacity(facts.nodes().len()),
            ..NameIndex::default()
        };
        for (device, own) in facts.devices() {
            for name in &own.own_names {
                index.claim(name, device.into());
            }
        }
        let listed = facts
            .scope
            .switches
            .iter()
            .map(|(name, _)| *name)
            .chain(facts.scope.hosts.keys().map(String::as_str));
        for name in listed {
            let Some(node) = facts.node_named(name) else {
                continue;
            };
            let name = name.to_ascii_lowercase();
            if facts.scope.policy.prefers_own_names {
                index.full.entry(name).or_insert(Some(node));
            } else {
                index.full.insert(name, Some(node));
            }
        }
        index
    }

    fn claim(&mut self, name: &str, node: NodeIx) {
        claim(&mut self.full, name, node);
        if short(name) != name {
            claim(&mut self.short, short(name), node);
            self.qualified
                .entry(node)
                .or_default()
                .push(name.to_owned());
        }
    }

    /// The node that a name means. A name without a domain may mean a node in any domain, if it
    /// means only one. A name with a domain never means a node in another domain.
    pub(crate) fn get(&self, name: &str) -> Option<NodeIx> {
        let name = name.to_ascii_lowercase();
        let plain = short(&name);
        if name.is_empty() {
            return None;
        }
        if plain == name {
            return match (self.full.get(&name), self.short.get(&name)) {
                (Some(node), None) | (None, Some(node)) => *node,
                (Some(full), Some(short)) if full == short => *full,
                _ => None,
            };
        }
        if let Some(owner) = self.full.get(&name) {
            return *owner;
        }
        let node = self.full.get(plain).copied().flatten()?;
        (!self
            .qualified
            .get(&node)
            .is_some_and(|qualified| qualified.iter().any(|q| short(q) == plain)))
        .then_some(node)
    }

    /// True if a listed or asked node has the name.
    pub(crate) fn is_taken(&self, name: &str) -> bool {
        self.full.contains_key(&name.to_ascii_lowercase())
    }
}
