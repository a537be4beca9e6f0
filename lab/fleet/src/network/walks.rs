//! A generated network as recorded walks, one for each device that answers.
use super::GeneratedNetwork;
use crate::mib::DeviceMib;

impl GeneratedNetwork {
    /// The walk of a device in the format of snmprec; empty if the device does not answer.
    pub fn walk(&self, device: &str) -> String {
        match (self.views.get(device), self.layers.get(device)) {
            (Some(view), Some(layers)) => DeviceMib::layered(view, layers).snmprec(),
            _ => String::new(),
        }
    }
}
