//! A network that answers the engine's effects, in virtual time.
use crate::engine::*;
use api::AlarmLine;
use directory::epoch::{VerifiedEpoch, WayEvidence};
use inventory::mapped_place::MappedPlaces;
use inventory::observation::*;
use inventory::{BitsPerSec, Mac};
use policy::learned::LearnedFigures;
use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};

/// A port of a switch.
#[derive(Clone)]
pub(super) struct SimulatedPort {
    pub(super) up: bool,
    pub(super) state: StpState,
    pub(super) rate: Option<BitsPerSec>,
    /// The port itself was pulled, as a line card is: only LLDP still lists it.
    pub(super) pulled: bool,
    /// The other end: a switch and its port, or a host.
    pub(super) peer: Option<(String, Option<u32>)>,
    octets: u64,
    octets_per_sec: u64,
}

#[derive(Clone, Default)]
pub(super) struct SimulatedDevice {
    pub(super) ports: BTreeMap<u32, SimulatedPort>,
    top_changes: u32,
    pub(super) lldp_change: u32,
    /// The forwarding database: the port of each host.
    pub(super) learned: BTreeMap<String, u32>,
    /// Ports that were removed and made anew: the agent still lists the dead interfaces.
    remade: Vec<u32>,
    /// The time from which its uptime counts.
    restarted: u64,
}

pub(super) struct SimulatedCluster {
    pub(super) engine: ControllerEngine,
    pub(super) inventory: Inventory,
    pub(super) now: Millis,
    pub(super) published: Vec<EpochOrder>,
    pub(super) logged: Vec<String>,
    pub(super) rollbacks_ended: u32,
    pub(super) kept: Vec<Arc<LearnedFigures>>,
    /// The measurements that were ordered, and what was kept of them last.
    pub(super) mapping: Vec<MappingOrder>,
    pub(super) mapped: Arc<MappedPlaces>,
    /// The measurements that were ended early.
    pub(super) ended: u32,
    pub(super) poll_every: u64,
    pub(super) disk_full: bool,
    pub(super) attempts: usize,
    pub(super) highest: u64,
    pub(super) assignment: DirectionsByHost,
    pub(super) devices: BTreeMap<String, SimulatedDevice>,
    /// The age of each table that an agent serves from its cache, in ms.
    pub(super) cached: BTreeMap<(String, DeviceTable), u64>,
    /// The devices of the last seconds, if an agent has a cache.
    past: VecDeque<(Millis, BTreeMap<String, SimulatedDevice>)>,
    mute: HashSet<String>,
    garbled: BTreeSet<(String, DeviceTable)>,
    /// The time of each message to a switch, in ms.
    slow: BTreeMap<String, u64>,
    /// Tables on their way from slow switches.
    coming: VecDeque<(Millis, String, DeviceTable)>,
    ordered: Option<EpochOrder>,
}

pub(super) fn mac(name: &str) -> Mac {
    let mut octets = [2, 0, 0, 0, 0, 0];
    name.bytes().zip(&mut octets[1..]).for_each(|(b, o)| *o = b);
    Mac(octets)
}

fn inventory(switches: &[&str], hosts: &str) -> Inventory {
    let stated: String = switches
        .iter()
        .enumerate()
        .map(|(i, s)| format!("{s}: {{address: 10.0.0.{}}}, ", i + 1))
        .collect();
    let text = format!(
        "switches: {{{stated}}}\nsnmp: {{default: {{version: 2c, community: c}}}}\nhosts: {hosts}"
    );
    Inventory::parse("i.yaml", &text).unwrap()
}

impl SimulatedCluster {
    pub(super) fn new(switches: &[&str], hosts: &str) -> SimulatedCluster {
        let inventory = inventory(switches, hosts);
        SimulatedCluster {
            engine: ControllerEngine::new(inventory.clone(), ControllerOptions::default()),
            inventory,
            now: Millis(1_000_000),
            published: Vec::new(),
            logged: Vec::new(),
            rollbacks_ended: 0,
            kept: Vec::new(),
            mapping: Vec::new(),
            mapped: Arc::default(),
            ended: 0,
            poll_every: 500,
            disk_full: false,
            attempts: 0,
            highest: 0,
            assignment: DirectionsByHost::default(),
            devices: switches
                .iter()
                .map(|s| ((*s).to_owned(), SimulatedDevice::default()))
                .collect(),
            cached: BTreeMap::new(),
            past: VecDeque::new(),
            mute: HashSet::new(),
            garbled: BTreeSet::new(),
            slow: BTreeMap::new(),
            coming: VecDeque::new(),
            ordered: None,
        }
    }

    /// The alarms of now.
    pub(super) fn alarms(&self) -> Vec<AlarmLine> {
        self.engine.snapshot(self.now).alarms
    }

    /// The switch of each host, as last published.
    pub(super) fn places(&self) -> Vec<&str> {
        let hosts = self.published.last().unwrap().file.hosts.values();
        hosts.map(|host| host.switch.as_str()).collect()
    }

    /// One more switch, before the start.
    pub(super) fn switch(&mut self, name: &str) {
        self.devices
            .insert(name.to_owned(), SimulatedDevice::default());
        let switches: Vec<&str> = self.devices.keys().map(String::as_str).collect();
        let hosts = self
            .inventory
            .hosts
            .keys()
            .cloned()
            .collect::<Vec<_>>()
            .join(", ");
        self.inventory = inventory(&switches, &format!("[{hosts}]"));
        self.engine = ControllerEngine::new(self.inventory.clone(), ControllerOptions::default());
    }

    fn port(&mut self, switch: &str, port: u32) -> &mut SimulatedPort {
        let ports = &mut self.devices.get_mut(switch).unwrap().ports;
        ports.get_mut(&port).unwrap()
    }

    fn plug(&mut self, switch: &str, port: u32, peer: (String, Option<u32>)) {
        let device = self.devices.get_mut(switch).unwrap();
        let port = device.ports.entry(port).or_insert(SimulatedPort {
            up: true,
            state: StpState::Forwarding,
            rate: Some(BitsPerSec::GIGABIT),
            pulled: false,
            peer: None,
            octets: 0,
            octets_per_sec: 0,
        });
        (port.up, port.state, port.peer) = (true, StpState::Forwarding, Some(peer));
        port.pulled = false;
        device.lldp_change += 1;
        device.top_changes += 1;
    }

    pub(super) fn cable(&mut self, a: &str, pa: u32, b: &str, pb: u32) {
        self.plug(a, pa, (b.to_owned(), Some(pb)));
        self.plug(b, pb, (a.to_owned(), Some(pa)));
    }

    pub(super) fn host(&mut self, host: &str, switch: &str, port: u32) {
        self.plug(switch, port, (host.to_owned(), None));
    }

    /// A second card of a host, at 100 Mbit/s.
    pub(super) fn second_card(&mut self, host: &str, switch: &str, port: u32) {
        self.plug(switch, port, (host.to_owned(), Some(1)));
        self.port(switch, port).rate = Some(BitsPerSec::mega(100));
    }

    pub(super) fn unplug(&mut self, switch: &str, port: u32) {
        let found = self.port(switch, port);
        (found.up, found.state, found.peer) = (false, StpState::Disabled, None);
        self.touch_lldp(switch);
    }

    /// The port goes down, but LLDP still lists the neighbour.
    pub(super) fn unplug_silently(&mut self, switch: &str, port: u32) {
        let port = self.port(switch, port);
        (port.up, port.state) = (false, StpState::Disabled);
    }

    /// The port is made anew; its old interface stays in the table, down.
    pub(super) fn remake(&mut self, switch: &str, port: u32) {
        self.devices.get_mut(switch).unwrap().remade.push(port);
    }

    pub(super) fn stp(&mut self, switch: &str, port: u32, state: StpState) {
        self.port(switch, port).state = state;
    }

    pub(super) fn traffic(&mut self, switch: &str, port: u32, octets_per_sec: u64) {
        self.port(switch, port).octets_per_sec = octets_per_sec;
    }

    pub(super) fn touch_lldp(&mut self, switch: &str) {
        self.devices.get_mut(switch).unwrap().lldp_change += 1;
    }

    /// LLDP forgets the neighbour, and counts that.
    pub(super) fn lose_row(&mut self, switch: &str, port: u32) {
        self.port(switch, port).peer = None;
        self.touch_lldp(switch);
    }

    /// LLDP lists a host again, so soon that the time of the last change is the same.
    pub(super) fn restore_row(&mut self, switch: &str, port: u32, host: &str) {
        self.port(switch, port).peer = Some((host.to_owned(), None));
    }

    /// The names of a switch's LLDP neighbours, as the controller knows them.
    pub(super) fn hears_at(&self, switch: &str) -> Vec<String> {
        let lldp = self.engine.observed.views[switch].lldp.as_ref().unwrap();
        lldp.neighbours.iter().map(|n| n.name.clone()).collect()
    }

    /// Its uptime goes back by `ms`.
    pub(super) fn set_uptime_back(&mut self, switch: &str, ms: u64) {
        self.devices.get_mut(switch).unwrap().restarted += ms;
    }

    pub(super) fn mute(&mut self, switch: &str) {
        self.mute.insert(switch.to_owned());
    }

    pub(super) fn unmute(&mut self, switch: &str) {
        self.mute.remove(switch);
    }

    /// From now on every message to a switch takes `ms`. A table takes a dozen messages.
    pub(super) fn slow(&mut self, switch: &str, ms: u64) {
        self.slow.insert(switch.to_owned(), ms);
    }

    pub(super) fn garble(&mut self, switch: &str, table: DeviceTable) {
        self.garbled.insert((switch.to_owned(), table));
    }

    pub(super) fn start(&mut self, current: Option<StoredEpoch>) {
        let highest = self.highest.max(current.as_ref().map_or(0, |k| k.number));
        self.event(ControllerEvent::Started {
            current,
            highest,
            epochs: Vec::new(),
            problem: None,
            learned: LearnedFigures::default(),
            mapped: Default::default(),
        });
    }

    /// Lets `ms` pass, in steps of 10 ms.
    pub(super) fn run(&mut self, ms: u64) {
        let end = self.now.0 + ms;
        while self.now.0 < end {
            self.now.0 += 10;
            for port in self.devices.values_mut().flat_map(|d| d.ports.values_mut()) {
                port.octets += port.octets_per_sec / 100;
            }
            self.remember();
            if self.now.0.is_multiple_of(self.poll_every) {
                for switch in self.devices.keys().cloned().collect::<Vec<_>>() {
                    let fact = if self.mute.contains(&switch) {
                        silence()
                    } else {
                        self.pulse(&switch)
                    };
                    self.observe(&switch, fact);
                }
            }
            while let Some(i) = self.coming.iter().position(|(due, ..)| *due <= self.now) {
                let (_, switch, table) = self.coming.remove(i).unwrap();
                let fact = self.table(&switch, table);
                self.observe(&switch, fact);
            }
            if self.engine.deadline().is_some_and(|at| at <= self.now) {
                self.event(ControllerEvent::Tick);
            }
        }
    }

    pub(super) fn event(&mut self, event: ControllerEvent) {
        for effect in self.engine.handle(self.now, event) {
            match effect {
                ControllerEffect::Poll { switch } => {
                    let fact = self.pulse(&switch);
                    self.observe(&switch, fact);
                }
                ControllerEffect::Read { switch, .. } if self.mute.contains(&switch) => {
                    self.observe(&switch, silence())
                }
                ControllerEffect::Read { switch, tables } if self.slow.contains_key(&switch) => {
                    for (n, table) in tables.into_iter().enumerate() {
                        self.coming.push_back((
                            Millis(self.now.0 + 12 * self.slow[&switch] * (n as u64 + 1)),
                            switch.clone(),
                            table,
                        ));
                    }
                }
                ControllerEffect::Read { switch, tables } => {
                    for table in tables {
                        let fact = self.table(&switch, table);
                        self.observe(&switch, fact);
                    }
                }
                ControllerEffect::Plan(order) => self.plan(*order),
                ControllerEffect::Publish { ticket } => self.publish(ticket),
                ControllerEffect::Direct(assignment) => self.assignment = assignment,
                ControllerEffect::KeepLearned(figures) => {
                    self.kept.push(figures);
                    let problem = self.disk_full.then(|| "disk full".to_owned());
                    self.event(ControllerEvent::LearnedKept { problem });
                }
                ControllerEffect::Judge(order) => {
                    let suspicion = order.judge();
                    let (job, user, epoch) = (order.job, order.user, order.epoch);
                    self.event(ControllerEvent::Judged {
                        job,
                        user,
                        epoch,
                        suspicion,
                    });
                }
                ControllerEffect::MapPlace(order) => self.mapping.push(*order),
                ControllerEffect::KeepMapped(mapped) => self.mapped = mapped,
                ControllerEffect::EndMapping => self.ended += 1,
                ControllerEffect::EndRollback => self.rollbacks_ended += 1,
                ControllerEffect::Say(line) => self.logged.push(line.text),
            }
        }
    }

    fn plan(&mut self, order: EpochOrder) {
        let ticket = order.ticket;
        let answer = match VerifiedEpoch::plan(
            order.number,
            order.at,
            order.file.clone(),
            order.network.clone(),
            WayEvidence::default(),
        ) {
            Ok(plan) => {
                let bound = &plan.epoch().schedules.bound;
                let hosts = order.file.hosts.len() as u32;
                let summary = PlanSummary {
                    phases: bound.phases,
                    bottleneck: bound.edge.clone(),
                    hosts,
                    ..PlanSummary::default()
                };
                ControllerEvent::Planned { ticket, summary }
            }
            Err(e) => ControllerEvent::PlanFailed {
                ticket,
                problem: e.to_string(),
            },
        };
        self.ordered = Some(order);
        self.event(answer);
    }

    fn publish(&mut self, ticket: u64) {
        self.attempts += 1;
        let order = self
            .ordered
            .clone()
            .filter(|o| o.ticket == ticket)
            .expect("only what was planned is published");
        if self.disk_full {
            return self.event(ControllerEvent::PublishFailed {
                ticket,
                problem: "disk full".to_owned(),
            });
        }
        self.published.push(order);
        self.event(ControllerEvent::Published { ticket });
        let shown = self.engine.snapshot(self.now);
        let published = shown.epochs.last().map(|epoch| &epoch.changes);
        let waits = shown.pending.as_ref().map(|pending| &pending.changes);
        assert!(waits.is_none() || waits != published, "{waits:?}");
    }

    fn observe(&mut self, switch: &str, fact: DeviceFact) {
        let observation = Observation {
            at: self.now,
            reporter: switch.to_owned(),
            source: ObservationSource::Snmp,
            fact,
        };
        self.event(ControllerEvent::Observed(observation));
    }

    /// The switch of a host in the last epoch.
    pub(super) fn place(&self, host: &str) -> &str {
        &self.published.last().unwrap().file.hosts[host].switch
    }

    pub(super) fn alarmed(&self, part: &str) -> bool {
        self.engine
            .snapshot(self.now)
            .alarms
            .iter()
            .any(|a| a.text.contains(part))
    }

    /// Keeps the present for agents that will answer from their caches.
    fn remember(&mut self) {
        if let Some(oldest) = self.cached.values().max() {
            self.past.push_back((self.now, self.devices.clone()));
            let oldest = self.now.0.saturating_sub(*oldest);
            while self.past.front().is_some_and(|(at, _)| at.0 < oldest) {
                self.past.pop_front();
            }
        }
    }

    /// A switch as one of its tables shows it.
    fn device(&self, switch: &str, table: DeviceTable) -> &SimulatedDevice {
        let age = self.cached.get(&(switch.to_owned(), table)).copied();
        let at = Millis(self.now.0.saturating_sub(age.unwrap_or_default()));
        let then = self.past.iter().find(|(then, _)| *then >= at);
        match then.filter(|_| age.is_some()) {
            Some((_, devices)) => &devices[switch],
            None => &self.devices[switch],
        }
    }

    fn pulse(&self, switch: &str) -> DeviceFact {
        let [interfaces, bridge, lldp] = [
            DeviceTable::Interfaces,
            DeviceTable::Bridge,
            DeviceTable::Lldp,
        ]
        .map(|table| self.device(switch, table));
        DeviceFact::Pulse(DevicePulse {
            uptime: (self.now.0.saturating_sub(interfaces.restarted) / 10) as u32,
            top_changes: Some(bridge.top_changes),
            since_top_change: None,
            stp_states: bridge.present().map(|(n, p)| (*n, p.state)).collect(),
            lldp_last_change: Some(lldp.lldp_change),
            up: interfaces.present().map(|(n, p)| (*n, p.up)).collect(),
            octets: (interfaces.present())
                .map(|(n, p)| (*n, 0, p.octets))
                .collect(),
            narrow: false,
            brief: false,
        })
    }

    fn table(&self, switch: &str, table: DeviceTable) -> DeviceFact {
        if self.garbled.contains(&(switch.to_owned(), table)) {
            return DeviceFact::Failed {
                table: Some(table),
                problem: "answers nonsense".to_owned(),
                refused: None,
            };
        }
        self.device(switch, table).answer(switch, table)
    }
}

/// The name of an interface.
fn interface_name(number: &u32) -> String {
    format!("swp{number}")
}

impl SimulatedDevice {
    fn answer(&self, switch: &str, table: DeviceTable) -> DeviceFact {
        match table {
            DeviceTable::System => DeviceFact::System(SystemGroup {
                name: switch.to_owned(),
                ..SystemGroup::default()
            }),
            DeviceTable::Interfaces => DeviceFact::Interfaces(self.interfaces()),
            DeviceTable::Bridge => DeviceFact::Bridge(BridgeTable {
                address: Some(mac(switch)),
                root_bridge: Some(BridgeId {
                    priority: 0,
                    address: mac("s0"),
                }),
                ports: (self.present())
                    .map(|(n, p)| bridge_port(*n, p.state))
                    .collect(),
                ..BridgeTable::default()
            }),
            DeviceTable::Lldp => DeviceFact::Lldp(self.lldp(switch)),
            DeviceTable::Fdb => DeviceFact::Fdb(self.stations()),
            DeviceTable::Arp => DeviceFact::Arp(Vec::new()),
            DeviceTable::Routes => DeviceFact::Routes(NextRouters::default()),
        }
    }

    pub(super) fn touch_tree(&mut self) {
        self.top_changes += 1;
    }

    /// The ports that were not pulled.
    fn present(&self) -> impl Iterator<Item = (&u32, &SimulatedPort)> {
        self.ports.iter().filter(|(_, port)| !port.pulled)
    }

    fn stations(&self) -> Vec<FdbEntry> {
        self.learned
            .iter()
            .map(|(host, port)| FdbEntry::new(mac(host), *port))
            .collect()
    }

    fn interfaces(&self) -> Vec<InterfaceRow> {
        let dead = self.remade.iter().map(|n| InterfaceRow {
            index: 0,
            name: interface_name(n),
            ..InterfaceRow::default()
        });
        let live = self.present().map(|(n, p)| InterfaceRow {
            index: *n,
            name: interface_name(n),
            rate: p.rate,
            up: p.up,
            ..InterfaceRow::default()
        });
        dead.chain(live).collect()
    }

    fn lldp(&self, switch: &str) -> LldpTable {
        LldpTable {
            chassis: Some(NeighbourId::Mac(mac(switch))),
            name: switch.to_owned(),
            ports: self
                .ports
                .keys()
                .map(|n| LldpPort {
                    number: *n,
                    kind: None,
                    id: NeighbourId::Text(interface_name(n)),
                    descr: String::new(),
                })
                .collect(),
            neighbours: self
                .ports
                .iter()
                .filter_map(|(n, p)| Some(neighbour(*n, p.peer.as_ref()?)))
                .collect(),
            ..LldpTable::default()
        }
    }
}

fn silence() -> DeviceFact {
    DeviceFact::Failed {
        table: None,
        problem: "no answer".to_owned(),
        refused: None,
    }
}

fn bridge_port(number: u32, state: StpState) -> BridgePort {
    BridgePort {
        number,
        if_index: number,
        state: Some(state),
        designated_bridge: None,
        designated_port: None,
    }
}

fn neighbour(local_port: u32, (name, port): &(String, Option<u32>)) -> LldpNeighbour {
    LldpNeighbour {
        local_port,
        chassis: Some(NeighbourId::Mac(mac(name))),
        port: Some(NeighbourId::Text(
            port.map_or("eth0".to_owned(), |n| format!("swp{n}")),
        )),
        name: name.clone(),
        ..LldpNeighbour::default()
    }
}
