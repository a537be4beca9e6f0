//! The descriptions of a network's ports.
use std::collections::BTreeMap;

/// Ports by node and description; `None` if several ports of a node have the same description.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PortDescriptions(BTreeMap<(String, String), Option<String>>);

impl PortDescriptions {
    /// Adds a port's description, unless it is empty.
    pub fn add(&mut self, node: &str, description: &str, port: &str) {
        if description.is_empty() || port.is_empty() {
            return;
        }
        let known = self
            .0
            .entry((node.to_owned(), description.to_owned()))
            .or_insert_with(|| Some(port.to_owned()));
        if known.as_deref() != Some(port) {
            *known = None;
        }
    }

    /// The only port of a node with this description.
    pub fn port(&self, node: &str, description: &str) -> Option<&str> {
        self.0
            .get(&(node.to_owned(), description.to_owned()))?
            .as_deref()
    }
}
