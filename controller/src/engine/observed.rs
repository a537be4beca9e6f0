//! The statements of switches, host agents and jobs, and the questions to them.
use super::agents::HostAgents;
use super::claims::AgentClaims;
use super::directions::{self, DirectedHost, DirectionsByHost};
use super::event::{ControllerEffect, EffectList};
use super::reads::PendingReads;
use super::traces::assign_traces;
use crate::jobs::JobTracker;
use crate::loads::LoadMeter;
use crate::{poll_timing, triggers};
use inventory::address::{AddressLookup, network_of};
use inventory::device_view::{self, DeviceView, DeviceViews};
use inventory::host_report::HostReport;
use inventory::inventory_file::Inventory;
use inventory::observation::{DeviceFact, DevicePulse, DeviceTable, Observation};
use inventory::{Millis, Topology};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::time::Duration;

/// The longest wait for further tables before an inference.
const GATHER: Duration = Duration::from_millis(100);

/// The network as its devices describe it, before anything is inferred.
#[derive(Debug, Default)]
pub(super) struct ObservedNetwork {
    pub(super) views: DeviceViews,
    /// The addresses of switches that the inventory names by a name of the DNS.
    pub(super) addresses: BTreeMap<String, IpAddr>,
    pub(super) reads: PendingReads,
    pub(super) meter: LoadMeter,
    pub(super) agents: HostAgents,
    pub(super) claims: AgentClaims,
    pub(super) jobs: JobTracker,
    /// The devices whose statements changed since the last inference, as far as it reads them.
    pub(super) changed: BTreeSet<String>,
    /// The times of the first and the last of these changes, where all have one.
    changed_at: Option<(Millis, Millis)>,
}

/// The news in a host agent's report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum AgentNews {
    /// No news for the operator.
    Nothing,
    /// Two machines report under one name. Neither is believed.
    TwoMachines,
    /// A silent agent reports again.
    ReportsAgain,
    /// The agent fell silent; the reason.
    FellSilent(String),
}

impl ObservedNetwork {
    /// Takes over the views that an earlier journal had of these switches.
    pub(super) fn resume(&mut self, inventory: &Inventory, views: DeviceViews) {
        views
            .keys()
            .filter(|name| inventory.switches.contains_key(*name))
            .for_each(|switch| self.reads.mark_already_read(switch));
        self.change_all(views.keys().cloned());
        self.views = views;
    }

    /// Asks a switch for tables.
    pub(super) fn read(
        &mut self,
        now: Millis,
        inventory: &Inventory,
        switch: &str,
        tables: Vec<DeviceTable>,
        fx: &mut EffectList,
    ) {
        let switches = &inventory.switches;
        let full = poll_timing::full(
            switches.len(),
            switches.get_index_of(switch).unwrap_or_default(),
            inventory.timing.full,
        );
        self.reads.asked(now, switch, &tables, full);
        fx.push(ControllerEffect::Read {
            switch: switch.to_owned(),
            tables,
        });
    }

    /// Asks every switch for every table.
    pub(super) fn read_all(&mut self, now: Millis, inventory: &Inventory, fx: &mut EffectList) {
        for switch in inventory.switches.keys() {
            self.read(now, inventory, switch, DeviceTable::ALL.to_vec(), fx);
        }
    }

    /// Reads the tables that are due by the clock alone.
    pub(super) fn read_due(&mut self, now: Millis, inventory: &Inventory, fx: &mut EffectList) {
        for switch in self.reads.due(now) {
            self.read(now, inventory, &switch, DeviceTable::ALL.to_vec(), fx);
        }
        // A held change does not wait for these reads: a difference in them is a change of its own.
        let again = self.reads.lldp_again(now).into_iter();
        fx.extend(again.map(|switch| ControllerEffect::Read {
            switch,
            tables: vec![DeviceTable::Lldp],
        }));
    }

    /// Measures with a switch's counters, and returns the tables to read again. The views stay as
    /// they are.
    pub(super) fn take_pulse(
        &mut self,
        now: Millis,
        observation: &Observation,
        pulse: &DevicePulse,
    ) -> Vec<DeviceTable> {
        let switch = observation.reporter.as_str();
        let view = self.views.get(switch);
        let before = view
            .filter(|v| v.stale.is_none())
            .and_then(|v| v.pulse.as_ref());
        let first_look =
            view.is_none_or(|v| v.pulse.is_none()) && self.reads.is_first_read_pending(switch);
        // All tables are asked for already: the first pulse has nothing to add.
        let tables = if first_look {
            Vec::new()
        } else {
            triggers::after_pulse(before, pulse)
        };
        let interfaces = view.and_then(|v| v.interfaces.as_ref());
        // A brief pulse has no counters of ports.
        if !pulse.brief {
            self.meter.record(observation.at, switch, pulse, |index| {
                interfaces?.iter().find(|i| i.index == index)?.rate
            });
        }
        if tables.contains(&DeviceTable::Lldp) {
            self.reads.lldp_changed(now, switch);
        }
        tables
    }

    /// Notes that a device states something else since a time.
    fn note_change(&mut self, at: Millis, device: &str) {
        self.changed_at = match self.changed.is_empty() {
            true => Some((at, at)),
            false => self.changed_at.map(|(first, _)| (first, at)),
        };
        self.changed.insert(device.to_owned());
    }

    /// Has all that these devices state read again, by the next inference.
    pub(super) fn change_all(&mut self, devices: impl Iterator<Item = String>) {
        self.changed_at = None;
        self.changed.extend(devices);
    }

    /// Applies a switch's answer to the views. Returns whether it was the last answer missing.
    pub(super) fn apply(&mut self, observation: &Observation) -> bool {
        if device_view::apply(&mut self.views, observation) {
            self.note_change(observation.at, &observation.reporter);
        }
        self.reads
            .answered(&observation.reporter, &observation.fact)
    }

    /// Takes a host agent's report, or its silence.
    pub(super) fn take_report(&mut self, now: Millis, observation: &Observation) -> AgentNews {
        let host = observation.reporter.as_str();
        let was_silent = self.views.get(host).is_some_and(|v| v.stale.is_some());
        let news = match &observation.fact {
            DeviceFact::Host(report) if self.agents.is_double(now, host, report) => {
                if self.views.remove(host).is_some() {
                    self.note_change(observation.at, host);
                }
                self.agents.stirred = true;
                return AgentNews::TwoMachines;
            }
            DeviceFact::Host(_) if was_silent => AgentNews::ReportsAgain,
            DeviceFact::Failed { problem, .. } if !was_silent && self.views.contains_key(host) => {
                AgentNews::FellSilent(problem.clone())
            }
            DeviceFact::Host(_) => AgentNews::Nothing,
            _ => return AgentNews::Nothing,
        };
        if let DeviceFact::Host(report) = &observation.fact {
            self.measure(observation.at, host, report);
        }
        let changed = device_view::apply(&mut self.views, observation);
        if changed {
            self.note_change(observation.at, host);
        }
        self.agents.stirred |= changed;
        news
    }

    /// Measures the load of a host's cards.
    fn measure(&mut self, at: Millis, host: &str, report: &HostReport) {
        let pulse = self.agents.pulse(host, report);
        self.meter.record(at, host, &pulse, |number| {
            report
                .nics
                .iter()
                .find(|n| self.agents.number(host, &n.name) == Some(number))?
                .rate
        });
    }

    /// Forgets the devices that left the inventory.
    pub(super) fn forget(&mut self, old: &Inventory, new: &Inventory) {
        for name in old
            .switches
            .keys()
            .filter(|n| !new.switches.contains_key(*n))
        {
            self.views.remove(name);
            self.reads.forget(name);
            self.meter.forget(name);
        }
        self.views
            .retain(|name, view| view.host.is_none() || new.hosts.contains_key(name));
        for name in self.agents.forget(new) {
            self.meter.forget(&name);
        }
        let listed = [old, new]
            .into_iter()
            .flat_map(|i| i.switches.keys().chain(i.hosts.keys()));
        self.change_all(listed.cloned());
    }

    /// Returns whether an inference would read anything that the last one did not.
    pub(super) fn is_dirty(&self) -> bool {
        !self.changed.is_empty()
    }

    /// The end of the time in which further tables are waited for before an inference: a change shows
    /// in several tables, and an inference of each of them would tell parts of one burst. A cable has two
    /// ends, and a moved one shows at two switches. Where switches are asked in rounds, an inference
    /// costs much of a second, so what one switch shows waits a round for another.
    pub(super) fn gathering_until(&self, inventory: &Inventory) -> Option<Millis> {
        let (first, last) = self.changed_at?;
        let round = poll_timing::round(inventory.switches.len(), inventory.timing.poll);
        match round {
            Some(round) if self.changed.len() == 1 => Some(first.after(round)),
            Some(_) => self.reads.is_any_missing().then(|| last.after(GATHER)),
            None => self.reads.is_any_missing().then(|| first.after(GATHER)),
        }
    }

    /// The time since which all that the last inference read held still.
    pub(super) fn still_since(&self, now: Millis) -> Millis {
        self.changed_at.map_or(now, |(_, last)| last.min(now))
    }

    /// Returns whether agents reported, and none does now.
    pub(super) fn are_agents_silent(&self) -> bool {
        let mut agents = self.views.values().filter(|view| view.host.is_some());
        let (first, rest) = (agents.next(), agents);
        first
            .into_iter()
            .chain(rest)
            .all(|view| view.stale.is_some())
            && first.is_some()
    }

    /// Returns whether the first look at any switch is under way.
    pub(super) fn is_looking(&self, inventory: &Inventory) -> bool {
        inventory
            .switches
            .keys()
            .any(|switch| self.reads.is_first_read_pending(switch))
    }

    /// The switches that answered at least once.
    pub(super) fn switches<'a>(
        &'a self,
        inventory: &'a Inventory,
    ) -> impl Iterator<Item = (&'a String, &'a DeviceView)> {
        self.views
            .iter()
            .filter(|(name, _)| inventory.switches.contains_key(*name))
    }

    /// Reads forwarding databases again, in search of hosts that do not speak LLDP: no cheap
    /// counter announces a change of them.
    pub(super) fn search(&self, inventory: &Inventory, fx: &mut EffectList) {
        for (switch, view) in self.switches(inventory).filter(|(_, v)| v.stale.is_none()) {
            let counted = view
                .pulse
                .as_ref()
                // lldpStatsRemTablesLastChangeTime: a device that serves it has its LLDP table read at each change.
                .is_some_and(|p| p.lldp_last_change.is_some());
            let tables = if counted {
                vec![DeviceTable::Fdb]
            } else {
                vec![DeviceTable::Lldp, DeviceTable::Fdb]
            };
            fx.push(ControllerEffect::Read {
                switch: switch.clone(),
                tables,
            });
        }
    }

    /// The directions for the hosts' agents, if they changed.
    pub(super) fn directions(
        &mut self,
        now: Millis,
        inventory: &Inventory,
        topology: &Topology,
    ) -> Option<DirectionsByHost> {
        let round = self.agents.next_round(now)?;
        let subjects = self.subjects(inventory, topology);
        let mut assignment = directions::assign_probes(subjects.clone(), round);
        assign_traces(&mut assignment, &subjects, topology);
        self.agents.direct(assignment)
    }

    fn subjects<'a>(
        &'a self,
        inventory: &'a Inventory,
        topology: &'a Topology,
    ) -> Vec<DirectedHost<'a>> {
        let attachments = topology.attachments();
        let addresses = AddressLookup::new(&self.views);
        let subjects = inventory.hosts.iter().map(|(name, host)| {
            let view = self.views.get(name).filter(|view| view.stale.is_none());
            let report = view.and_then(|view| view.host.as_ref());
            let attachment = attachments.get(name.as_str());
            let net = addresses.at_card(name, attachment.map_or("", |s| s.1));
            let segment = match (attachment, net) {
                (Some((switch, _)), _) => format!("switch {switch}"),
                (None, Some((address, length))) => {
                    format!("net {}/{length}", network_of(address, length))
                }
                (None, None) => format!("host {name}"),
            };
            DirectedHost {
                segment,
                name,
                address: host.address.or(net.map(|n| n.0)),
                reports: report.is_some(),
                traces: report.is_some_and(|report| report.traces_flows),
            }
        });
        subjects.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use inventory::observation::{ObservationSource, SystemGroup};

    fn inventory(switches: usize) -> Inventory {
        let switches: String = (0..switches)
            .map(|n| format!("s{n}: {{address: 10.0.0.{}}}, ", n + 1))
            .collect();
        let text =
            format!("switches: {{{switches}}}\nsnmp: {{default: {{version: 2c, community: c}}}}");
        Inventory::parse("i.yaml", &text).unwrap()
    }

    fn renamed(network: &mut ObservedNetwork, at: u64, switch: &str) {
        network.apply(&Observation {
            at: Millis(at),
            reporter: switch.to_owned(),
            source: ObservationSource::Snmp,
            fact: DeviceFact::System(SystemGroup {
                name: format!("{switch} at {at}"),
                ..SystemGroup::default()
            }),
        });
    }

    #[test]
    fn what_one_round_shows_is_inferred_at_once() {
        let mut network = ObservedNetwork::default();
        renamed(&mut network, 1000, "s1");
        assert_eq!(network.gathering_until(&inventory(2)), None);
        let until = network.gathering_until(&inventory(30));
        assert_eq!(until, Some(Millis(1500)), "a round");
        renamed(&mut network, 1300, "s2");
        assert_eq!(network.gathering_until(&inventory(30)), None, "both ends");
        assert_eq!(network.still_since(Millis(1500)), Millis(1300));
        network.change_all(["s3".to_owned()].into_iter());
        assert_eq!(network.still_since(Millis(1500)), Millis(1500));
        network.changed.clear();
        renamed(&mut network, 2000, "s1");
        assert_eq!(network.gathering_until(&inventory(30)), Some(Millis(2500)));
    }
}
