//! The network that is shown, where there are several.
use super::App;
use crate::picture::IndexedSnapshot;
use inventory::Topology;
use std::sync::Arc;

/// The name of the shown network and its number among all; `None` where there is only one.
pub(crate) fn shown_network(topology: &Topology) -> Option<String> {
    let own = topology.own_network()?;
    let all = &topology.networks;
    let number = all.iter().position(|network| network == own)?;
    Some(format!(
        "network {} ({} of {})",
        own.name,
        number + 1,
        all.len()
    ))
}

impl App {
    /// Shows the next network, of the picture that stands still, too.
    pub(super) fn next_network(&mut self) {
        let topology = self.picture().map(|snapshot| &snapshot.topology);
        let next = topology.and_then(|topology| {
            let all = topology.networks.iter();
            let own = topology.own_network()?;
            let mut after = all.clone().skip_while(|network| *network != own).skip(1);
            after.next().or(topology.networks.first())
        });
        let Some(name) = next.map(|network| network.name.clone()) else {
            return self.say("there is only one network", false);
        };
        let frozen = self.frozen.as_mut();
        let frozen = frozen.map(|frozen| (frozen.picture.as_mut(), &mut frozen.past));
        let live = (self.live.as_mut(), &mut self.past);
        for (picture, past) in std::iter::once(live).chain(frozen) {
            let Some(picture) = picture else { continue };
            let mut snapshot = picture.snapshot.clone();
            snapshot.show_network(&name);
            past.show(&snapshot);
            *picture = Arc::new(IndexedSnapshot::new(snapshot, picture.received));
        }
        self.network = Some(name);
        self.forget_lines();
    }
}
