//! Host agents: what they say counts as any device's word, and whom each is to probe.
//!
//! A cluster works without any of them: an agent that falls silent, speaks for a host the inventory does not list, or
//! shares its name with another machine changes nothing but what is told.
use super::alarms::ControllerAlarm;
use super::directions::{self, Rota, Subject};
use super::{Core, Effect};
use api::Level;
use inventory::address::Addresses;
use inventory::host_report::HostReport;
use inventory::observation::{Fact, Observation, Pulse};
use inventory::units::milliseconds;
use inventory::view;
use inventory::{Mac, Millis};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::time::Duration;

/// Two machines under one name are believed again once only one of them has reported for so long.
const PEACE: Duration = Duration::from_secs(600);
/// Rounds of probes, where one round cannot cover everything.
const ROUND: Duration = Duration::from_secs(300);
/// Different refusals told; whoever has a token may make up names.
const REFUSALS: usize = 64;

/// What is known of the hosts' agents beyond their last word.
#[derive(Debug, Clone, Default)]
pub(crate) struct Agents {
    hosts: BTreeMap<String, Agent>,
    refused: BTreeSet<String>,
    rota: Rota,
    round: u64,
    /// Whether the rota may be out of date.
    pub(crate) stirred: bool,
}

/// Which machine an agent runs on.
#[derive(Debug, Clone, Default)]
struct Agent {
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

impl Agent {
    /// Whether the host's name is claimed by two machines. One that takes another's place does not come back in turn.
    fn is_double(&mut self, now: Millis, report: &HostReport) -> bool {
        let cards: BTreeSet<Mac> = report.nics.iter().filter_map(|n| n.mac).filter(|m| m.is_station()).collect();
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
    fn pulse(&mut self, report: &HostReport) -> Pulse {
        let mut octets = Vec::new();
        for nic in &report.nics {
            if !self.numbers.contains(&nic.name) && self.numbers.len() < MEASURED {
                self.numbers.push(nic.name.clone());
            }
            octets.extend(self.number(&nic.name).map(|n| (n, nic.in_octets, nic.out_octets)));
        }
        Pulse { octets, ..Pulse::default() }
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

impl Agents {
    pub(crate) fn alarms(&self) -> impl Iterator<Item = ControllerAlarm> + '_ {
        self.hosts.iter().filter_map(|(host, agent)| agent.alarm(host))
    }

    /// The number a host's card is measured under.
    pub(crate) fn number(&self, host: &str, card: &str) -> Option<u32> {
        self.hosts.get(host)?.number(card)
    }
}

impl Core {
    /// Takes a host agent's report, or its silence.
    pub(super) fn hear(&mut self, now: Millis, observation: &Observation, fx: &mut Vec<Effect>) {
        let host = observation.reporter.as_str();
        if !self.inventory.hosts.contains_key(host) {
            return; // It left the inventory on the way.
        }
        let was_silent = self.views.get(host).is_some_and(|v| v.stale.is_some());
        match &observation.fact {
            Fact::Host(report) if self.agents.hosts.entry(host.to_owned()).or_default().is_double(now, report) => {
                self.dirty |= self.views.remove(host).is_some();
                (self.wake, self.agents.stirred) = (true, true);
                return;
            }
            Fact::Host(_) if was_silent => self.say(now, Level::Info, format!("host \"{host}\": its agent reports again"), fx),
            Fact::Failed { problem, .. } if !was_silent && self.views.contains_key(host) => {
                let text = format!("host \"{host}\": its agent is silent: {problem}; what it said last stays until switches say otherwise");
                self.say(now, Level::Warning, text, fx);
            }
            Fact::Host(_) => {}
            _ => return,
        }
        if let Fact::Host(report) = &observation.fact {
            let agent = self.agents.hosts.entry(host.to_owned()).or_default();
            let pulse = agent.pulse(report);
            let rate = |number| report.nics.iter().find(|n| agent.number(&n.name) == Some(number))?.rate;
            self.meter.record(observation.at, host, &pulse, rate);
        }
        let changed = view::apply(&mut self.views, observation);
        self.dirty |= changed;
        self.agents.stirred |= changed;
    }

    /// Somebody reported who should not; each problem is told once.
    pub(super) fn refused(&mut self, now: Millis, from: IpAddr, problem: &str, fx: &mut Vec<Effect>) {
        if self.agents.refused.len() < REFUSALS && self.agents.refused.insert(problem.to_owned()) {
            self.say(now, Level::Warning, format!("{problem} (from {from}); its reports are refused"), fx);
        }
    }

    /// Forgets hosts that left the inventory, and what was refused by the old one.
    pub(super) fn forget_hosts(&mut self) {
        let hosts = &self.inventory.hosts;
        self.views.retain(|name, view| view.host.is_none() || hosts.contains_key(name));
        let gone: Vec<String> = self.agents.hosts.keys().filter(|name| !hosts.contains_key(*name)).cloned().collect();
        for name in gone {
            self.agents.hosts.remove(&name);
            self.meter.forget(&name);
        }
        self.agents.refused.clear();
        self.agents.stirred = true;
    }

    /// Says anew what is wanted of each host, if that changed.
    pub(super) fn direct(&mut self, now: Millis, fx: &mut Vec<Effect>) {
        let round = now.0 / milliseconds::of(ROUND);
        if !std::mem::take(&mut self.agents.stirred) && self.agents.round == round {
            return;
        }
        self.agents.round = round;
        let rota = directions::rota(self.subjects(), round);
        if rota != self.agents.rota {
            self.agents.rota = rota.clone();
            fx.push(Effect::Direct(rota));
        }
    }

    fn subjects(&self) -> Vec<Subject<'_>> {
        let seats = self.topology.seats();
        let addresses = Addresses::new(&self.views);
        let subject = |(name, host): (&'_ String, &inventory::inventory_file::Host)| {
            let view = self.views.get(name);
            let seat = seats.get(name.as_str());
            let net = addresses.of(name, seat.map_or("", |s| s.1));
            let segment = match (seat, net) {
                (Some((switch, _)), _) => format!("switch {switch}"),
                (None, Some((address, length))) => format!("net {}", network(address, length)),
                (None, None) => format!("host {name}"),
            };
            (segment, host.address.or(net.map(|n| n.0)), view.is_some_and(|v| v.host.is_some() && v.stale.is_none()))
        };
        let hosts = self.inventory.hosts.iter();
        hosts.map(|h| (h.0, subject(h))).map(|(name, (segment, address, reports))| Subject { segment, name, address, reports }).collect()
    }
}

/// The network an address is in, as text.
fn network(address: IpAddr, length: u8) -> String {
    match address {
        IpAddr::V4(ip) => {
            let mask = u32::MAX.checked_shl(32u32.saturating_sub(length.into())).unwrap_or(0);
            format!("{}/{length}", std::net::Ipv4Addr::from(u32::from(ip) & mask))
        }
        IpAddr::V6(ip) => {
            let mask = u128::MAX.checked_shl(128u32.saturating_sub(length.into())).unwrap_or(0);
            format!("{}/{length}", std::net::Ipv6Addr::from(u128::from(ip) & mask))
        }
    }
}
