//! A value for each host of the inventory.
use super::{Facts, NodeIx};

/// Values by the hosts' nodes, which have consecutive numbers.
#[derive(Debug, Default)]
pub(crate) struct ByHost<T> {
    first: u32,
    values: Vec<T>,
}

impl<T: Default> ByHost<T> {
    pub(crate) fn new(facts: &Facts<'_>) -> ByHost<T> {
        ByHost {
            first: facts.hosts.start,
            values: facts.hosts.clone().map(|_| T::default()).collect(),
        }
    }

    /// The value of a host; `None` for another node.
    pub(crate) fn get(&self, node: NodeIx) -> Option<&T> {
        let place = node.0.checked_sub(self.first)?;
        self.values.get(place as usize)
    }

    pub(crate) fn get_mut(&mut self, node: NodeIx) -> Option<&mut T> {
        let place = node.0.checked_sub(self.first)?;
        self.values.get_mut(place as usize)
    }

    /// Takes out the value of a host.
    pub(crate) fn take(&mut self, node: NodeIx) -> T {
        self.get_mut(node).map(std::mem::take).unwrap_or_default()
    }
}
