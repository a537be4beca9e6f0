//! Host agents: their reports are observations like those of switches, and each gets hosts to
//! probe.
//!
//! A cluster works without agents. An agent may fall silent, report for a host that the inventory
//! does not list, or share its name with another machine: that changes the messages to operators,
//! and nothing else.
use super::directions::DirectionsByHost;
use inventory::alarm::{Alarm, AlarmKind};
use inventory::host_report::HostReport;
use inventory::inventory_file::Inventory;
use inventory::observation::DevicePulse;
use inventory::units::milliseconds;
use inventory::{Mac, Millis};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Two machines under one name are believed again after only one of them reported for this time.
const PEACE: Duration = Duration::from_secs(600);
/// The time of one round of probes. One round may cover only a part of the segments.
const ROUND: Duration = Duration::from_secs(300);
/// The most different refusals that are announced: any client with a token can make up names.
const REFUSALS: usize = 64;

/// The state of the hosts' agents, beyond their last reports.
#[derive(Debug, Clone, Default)]
pub(crate) struct HostAgents {
    hosts: BTreeMap<String, AgentMachine>,
    refused: BTreeSet<String>,
    assignment: DirectionsByHost,
    round: u64,
    /// The directions may be out of date.
    pub(crate) stirred: bool,
}

/// The machine that an agent runs on.
#[derive(Debug, Clone, Default)]
struct AgentMachine {
    cards: BTreeSet<Mac>,
    /// The machine that reported before, if it has no card in common with the present one.
    former: BTreeSet<Mac>,
    /// The last time at which two machines reported in turn.
    double: Option<Millis>,
    /// Its cards; the index is a card's number in the load meter. Cards come and go, numbers stay.
    numbers: Vec<String>,
}

/// The most cards of one host that are measured.
const MEASURED: usize = 256;

impl AgentMachine {
    /// Returns whether two machines use the host's name. A machine that replaced another one is not
    /// a second machine: the former one does not report again.
    fn is_double(&mut self, now: Millis, report: &HostReport) -> bool {
        let cards: BTreeSet<Mac> = report
            .nics
            .iter()
            .filter_map(|n| n.mac)
            .filter(|m| m.is_station())
            .collect();
        if !cards.is_empty() {
            if !self.cards.is_empty() && self.cards.is_disjoint(&cards) {
                if !self.former.is_disjoint(&cards) {
                    self.double = Some(now);
                }
                self.former = std::mem::take(&mut self.cards);
            }
            self.cards = cards;
        }
        self.double = self.double.filter(|at| now.since(*at) < PEACE);
        self.double.is_some()
    }

    /// The counters of a report, in the form of a switch's pulse.
    fn pulse(&mut self, report: &HostReport) -> DevicePulse {
        let mut octets = Vec::new();
        for nic in &report.nics {
            if !self.numbers.contains(&nic.name) && self.numbers.len() < MEASURED {
                self.numbers.push(nic.name.clone());
            }
            octets.extend(
                self.number(&nic.name)
                    .map(|n| (n, nic.in_octets, nic.out_octets)),
            );
        }
        DevicePulse {
            octets,
            ..DevicePulse::default()
        }
    }

    fn number(&self, card: &str) -> Option<u32> {
        u32::try_from(self.numbers.iter().position(|n| n == card)?).ok()
    }

    fn alarm(&self, host: &str) -> Option<Alarm> {
        self.double?;
        let mut cards = [&self.former, &self.cards].map(|cards| cards.first().copied());
        // Whoever reported last, the alarm is the same.
        cards.sort();
        Some(Alarm::node(host, AlarmKind::TwoMachines { cards }))
    }
}

impl HostAgents {
    pub(crate) fn alarms(&self) -> impl Iterator<Item = Alarm> + '_ {
        self.hosts
            .iter()
            .filter_map(|(host, agent)| agent.alarm(host))
    }

    /// The number of a host's card in the load meter.
    pub(crate) fn number(&self, host: &str, card: &str) -> Option<u32> {
        self.hosts.get(host)?.number(card)
    }

    /// Returns whether two machines use the host's name, and the report comes from one of them.
    pub(crate) fn is_double(&mut self, now: Millis, host: &str, report: &HostReport) -> bool {
        self.hosts
            .entry(host.to_owned())
            .or_default()
            .is_double(now, report)
    }

    /// The counters of a host's report, in the form of a switch's pulse.
    pub(crate) fn pulse(&mut self, host: &str, report: &HostReport) -> DevicePulse {
        self.hosts.entry(host.to_owned()).or_default().pulse(report)
    }

    /// Takes a refused report. Returns whether its problem is new: each is announced once.
    pub(crate) fn report_refused(&mut self, problem: &str) -> bool {
        self.refused.len() < REFUSALS && self.refused.insert(problem.to_owned())
    }

    /// Forgets the hosts that left the inventory, and all refusals. Returns those hosts.
    pub(crate) fn forget(&mut self, inventory: &Inventory) -> Vec<String> {
        let gone: Vec<String> = self
            .hosts
            .keys()
            .filter(|name| !inventory.hosts.contains_key(*name))
            .cloned()
            .collect();
        for name in &gone {
            self.hosts.remove(name);
        }
        self.refused.clear();
        self.stirred = true;
        gone
    }

    /// The round of probes that needs new directions; `None` while the last directions are up to
    /// date.
    pub(crate) fn next_round(&mut self, now: Millis) -> Option<u64> {
        let round = now.0 / milliseconds::of(ROUND);
        if !std::mem::take(&mut self.stirred) && self.round == round {
            return None;
        }
        self.round = round;
        Some(round)
    }

    /// Takes directions. Returns them if they differ from the last ones.
    pub(crate) fn direct(&mut self, assignment: DirectionsByHost) -> Option<DirectionsByHost> {
        if assignment == self.assignment {
            return None;
        }
        self.assignment = assignment.clone();
        Some(assignment)
    }
}
