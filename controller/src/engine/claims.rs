//! The claims of agents about their hosts that go into epochs: ranks and addresses. No other
//! evidence confirms them, so they are damped as links are.
use inventory::Topology;
use inventory::address::AddressLookup;
use inventory::device_view::DeviceViews;
use inventory::inventory_file::Inventory;
use std::collections::BTreeMap;
use std::net::IpAddr;

/// The last claims of one agent. A value that the inventory states is not taken from the agent.
#[derive(Debug, Clone, Copy, Default)]
struct AgentClaim {
    ranks: Option<u32>,
    address: Option<IpAddr>,
}

impl AgentClaim {
    /// Fills the gaps from earlier claims.
    fn or(self, before: AgentClaim) -> AgentClaim {
        AgentClaim {
            ranks: self.ranks.or(before.ranks),
            address: self.address.or(before.address),
        }
    }

    /// Returns whether an earlier claim had another value.
    fn contradicts(&self, before: &AgentClaim) -> bool {
        before.ranks.is_some_and(|then| self.ranks != Some(then))
            || before
                .address
                .is_some_and(|then| self.address != Some(then))
    }
}

/// The last claims, by host.
#[derive(Debug, Clone, Default)]
pub(crate) struct AgentClaims(BTreeMap<String, AgentClaim>);

impl AgentClaims {
    /// Takes the present claims of agents. Returns the hosts whose claims changed.
    pub(crate) fn update(
        &mut self,
        inventory: &Inventory,
        views: &DeviceViews,
        topology: &Topology,
    ) -> Vec<String> {
        if self.0.is_empty() && views.values().all(|view| view.host.is_none()) {
            return Vec::new();
        }
        let (attachments, addresses) = (topology.attachments(), AddressLookup::new(views));
        let mut changed = Vec::new();
        for (host, report) in views
            .iter()
            .filter_map(|(name, view)| Some((name, view.host.as_ref()?)))
        {
            let stated = inventory.hosts.get(host);
            let card = attachments.get(host.as_str()).map(|at| at.1);
            let claim = AgentClaim {
                ranks: Some(report.slots).filter(|_| stated.is_none_or(|h| h.ranks.is_none())),
                address: card
                    .filter(|_| stated.is_none_or(|h| h.address.is_none()))
                    .and_then(|card| Some(addresses.at_card(host, card)?.0)),
            };
            let before = self.0.get(host).copied().unwrap_or_default();
            let now = claim.or(before);
            if now.contradicts(&before) {
                changed.push(host.clone());
            }
            self.0.insert(host.clone(), now);
        }
        self.0.retain(|host, _| inventory.hosts.contains_key(host));
        changed
    }
}
