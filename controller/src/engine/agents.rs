//! Host agents: what they say counts as any device's word, and whom each is to probe.
//!
//! A cluster works without any of them: an agent that falls silent, speaks for a host the inventory
//! does not list, or shares its name with another machine changes nothing but what is told.
use super::alarms::ControllerAlarm;
use super::directions::DirectionsByHost;
use inventory::host_report::HostReport;
use inventory::inventory_file::Inventory;
use inventory::observation::DevicePulse;
use inventory::units::milliseconds;
use inventory::{Mac, Millis};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Two machines under one name are believed again once only one of them has reported for so long.
const PEACE: Duration = Duration::from_secs(600);
/// Rounds of probes, where one round cannot cover everything.
const ROUND: Duration = Duration::from_secs(300);
/// Different refusals told; whoever has a token may make up names.
const REFUSALS: usize = 64;

/// What is known of the hosts' agents beyond their last word.
#[derive(Debug, Clone, Default)]
pub(crate) struct HostAgents {
    hosts: BTreeMap<String, AgentMachine>,
    refused: BTreeSet<String>,
    rota: DirectionsByHost,
    round: u64,
    /// Whether the rota may be out of date.
    pub(crate) stirred: bool,
}

/// Which machine an agent runs on.
#[derive(Debug, Clone, Default)]
struct AgentMachine {
    cards: BTreeSet<Mac>,
    /// The machine that reported before, where no card is the same.
    former: BTreeSet<Mac>,
    /// When two machines last reported in turn.
    double: Option<Millis>,
    /// Its cards by the number they have for the meter: cards come and go, numbers stay.
    numbers: Vec<String>,
}

/// Cards of one host that are measured.
const MEASURED: usize = 256;

impl AgentMachine {
    /// Whether the host's name is claimed by two machines. One that takes another's place does not
    /// come back in turn.
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

    /// The counters of a report, as a switch's pulse would have them.
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

    fn alarm(&self, host: &str) -> Option<ControllerAlarm> {
        self.double?;
        let cards = [&self.former, &self.cards].map(|cards| cards.first().copied());
        Some(ControllerAlarm::TwoMachines(host.to_owned(), cards))
    }
}

impl HostAgents {
    pub(crate) fn alarms(&self) -> impl Iterator<Item = ControllerAlarm> + '_ {
        self.hosts
            .iter()
            .filter_map(|(host, agent)| agent.alarm(host))
    }

    /// The number a host's card is measured under.
    pub(crate) fn number(&self, host: &str, card: &str) -> Option<u32> {
        self.hosts.get(host)?.number(card)
    }

    /// Whether the host's name is claimed by two machines, of which this is one.
    pub(crate) fn is_double(&mut self, now: Millis, host: &str, report: &HostReport) -> bool {
        self.hosts
            .entry(host.to_owned())
            .or_default()
            .is_double(now, report)
    }

    /// The counters of a host's report, as a switch's pulse would have them.
    pub(crate) fn pulse(&mut self, host: &str, report: &HostReport) -> DevicePulse {
        self.hosts.entry(host.to_owned()).or_default().pulse(report)
    }

    /// Takes a refused report. Returns whether its problem is to be told: each is told once.
    pub(crate) fn report_refused(&mut self, problem: &str) -> bool {
        self.refused.len() < REFUSALS && self.refused.insert(problem.to_owned())
    }

    /// Forgets hosts that left the inventory, and what was refused by the old one; gives those
    /// hosts.
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

    /// The round of probes to make a rota for; `None` while the last rota is up to date.
    pub(crate) fn next_round(&mut self, now: Millis) -> Option<u64> {
        let round = now.0 / milliseconds::of(ROUND);
        if !std::mem::take(&mut self.stirred) && self.round == round {
            return None;
        }
        self.round = round;
        Some(round)
    }

    /// Takes a rota; gives it back if it is another one than before.
    pub(crate) fn direct(&mut self, rota: DirectionsByHost) -> Option<DirectionsByHost> {
        if rota == self.rota {
            return None;
        }
        self.rota = rota.clone();
        Some(rota)
    }
}
