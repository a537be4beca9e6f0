//! The aggregates of ports that their device does not report as members.
use crate::facts::ports::PortIx;
use crate::facts::{DevicePortIx, Facts};
use inventory::observation::StpState;
use std::collections::HashMap;

/// The aggregate of each such port.
#[derive(Debug, Default)]
pub(crate) struct UnreportedMembers(HashMap<DevicePortIx, PortIx>);

impl UnreportedMembers {
    pub(super) fn add(&mut self, member: DevicePortIx, aggregate: PortIx) {
        self.0.insert(member, aggregate);
    }

    /// The aggregate that has the port as a member, reported or found.
    pub(crate) fn aggregate(
        &self,
        facts: &Facts<'_>,
        (device, port): DevicePortIx,
    ) -> Option<PortIx> {
        let reported = facts[device].ports[port].aggregate;
        reported.or_else(|| self.0.get(&(device, port)).copied())
    }

    /// The port that takes part in bridging for a port: its aggregate, its unit, or the port itself.
    pub(crate) fn whole(&self, facts: &Facts<'_>, (device, port): DevicePortIx) -> DevicePortIx {
        let aggregate = self.aggregate(facts, (device, port)).unwrap_or(port);
        (device, facts[device].ports.whole(aggregate))
    }

    /// The port's STP state, or that of its aggregate.
    pub(crate) fn state(
        &self,
        facts: &Facts<'_>,
        (device, port): DevicePortIx,
    ) -> Option<StpState> {
        let ports = &facts[device].ports;
        let unreported = self
            .0
            .get(&(device, port))
            .and_then(|aggregate| ports.state(*aggregate));
        unreported.or_else(|| ports.state(port))
    }
}
