//! What the controller decides, without I/O and without a clock: events in, effects out.
//!
//! ```text
//! Observed --> views --infer--> topology --judge--> candidate --hold-down--> believed --Plan--> Planned --Publish--> Published
//! ```
//! Time is an argument. The inference runs on [`Event::Tick`] only, so that a burst of answers is judged once;
//! [`Core::deadline`] says when the next tick is wanted.
mod agents;
mod alarms;
mod belief;
mod candidate;
mod claims;
mod damping;
mod directions;
mod event;
mod header;
mod measured;
mod reads;
mod show;
mod tree_doubt;
mod trouble;

pub use directions::Rota;
pub use event::{Effect, Event, Known, Order, PlanSummary};
pub use header::{Header, Options, Resumed};
pub use trouble::{StalledWork, TroubleArea};

use crate::jobs::Jobs;
use crate::loads::Meter;
use crate::pace;
use crate::publish::PublishError;
use crate::watch::{self, TrapKind};
use agents::Agents;
use api::{AlarmLine, EpochInfo, EventLine, Level, Stages};
use belief::Belief;
use candidate::{Absent, Candidate, Ground, Judgement, Settled};
use claims::AgentClaims;
use damping::Damping;
use inventory::inventory_file::Inventory;
use inventory::observation::{Fact, Observation, Source, Table};
use inventory::topology_file::TopologyFile;
use inventory::view::{self, View, Views};
use inventory::{Millis, Topology, infer};
use reads::Reads;
use schedules::job::JobRecord;
use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;
use std::time::Duration;
use tree_doubt::TreeDoubt;

/// Lines kept for the event panel.
const LINES: usize = 300;
/// Epochs kept for the epoch panel.
const EPOCHS: usize = 64;
/// Pause before publishing is tried again, at first and at most.
const RETRY: (Duration, Duration) = (Duration::from_secs(2), Duration::from_secs(60));

/// Traps of unknown sources are told at most this often: anybody can send them.
const STRANGERS: Duration = Duration::from_secs(60);

/// How far an epoch in the making is.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Phase {
    Planning,
    /// There is no plan for this tree.
    Unplannable,
    Publishing,
    /// Publishing failed; the next try is due then.
    Failed(Millis),
}

/// An epoch in the making.
#[derive(Debug, Clone)]
struct Task {
    ticket: u64,
    number: u64,
    candidate: Candidate,
    changes: Vec<String>,
    stages: Stages,
    summary: Option<PlanSummary>,
    phase: Phase,
    /// How often publishing failed.
    failures: u32,
    /// Whether only the measurements are new.
    remeasured: bool,
}

/// The controller's mind.
#[derive(Debug)]
pub struct Core {
    inventory: Inventory,
    options: Options,
    started: Millis,
    ticked: Millis,
    wake: bool,
    dirty: bool,
    views: Views,
    reads: Reads,
    topology: Topology,
    judgement: Option<Judgement>,
    /// The epoch that was current when it was made.
    judged: Option<u64>,
    absent: Absent,
    belief: Belief,
    damping: Damping,
    settled: Option<Settled>,
    task: Option<Task>,
    /// Measurements that no epoch has yet.
    measured: Option<String>,
    tickets: u64,
    highest: u64,
    meter: Meter,
    jobs: Jobs,
    agents: Agents,
    claims: AgentClaims,
    epochs: Vec<EpochInfo>,
    lines: VecDeque<EventLine>,
    /// When a trap of an unknown source was told last.
    stranger: Option<Millis>,
    /// The controller's own alarms, by what they are about.
    troubles: BTreeMap<TroubleArea, String>,
    /// Every alarm told, so that each is told once.
    told: Vec<AlarmLine>,
}

impl Core {
    /// A core that knows nothing yet; feed it [`Event::Started`] first.
    pub fn new(inventory: Inventory, options: Options) -> Core {
        Core {
            inventory,
            options,
            started: Millis::default(),
            ticked: Millis::default(),
            wake: false,
            dirty: false,
            views: Views::new(),
            reads: Reads::default(),
            topology: Topology::default(),
            judgement: None,
            judged: None,
            absent: Absent::new(),
            belief: Belief::default(),
            damping: Damping::default(),
            settled: None,
            task: None,
            measured: None,
            tickets: 0,
            highest: 0,
            meter: Meter::default(),
            jobs: Jobs::default(),
            agents: Agents::default(),
            claims: AgentClaims::default(),
            epochs: Vec::new(),
            lines: VecDeque::new(),
            stranger: None,
            troubles: BTreeMap::new(),
            told: Vec::new(),
        }
    }

    /// Takes an event and says what is to be done.
    pub fn handle(&mut self, now: Millis, event: Event) -> Vec<Effect> {
        let mut effects = Vec::new();
        match event {
            Event::Started { current, highest, epochs, problem } => self.start(now, current, highest, epochs, problem, &mut effects),
            Event::Tick => self.tick(now, &mut effects),
            Event::Observed(observation) => self.observe(now, &observation, &mut effects),
            Event::ReportRefused { from, problem } => self.refused(now, from, &problem, &mut effects),
            Event::Trap { source, kind } => self.trap(now, source, kind, &mut effects),
            Event::Job(record) => self.job(now, record),
            Event::JobGone { id } => self.jobs.gone(&id),
            Event::JobsUnread { count } => self.jobs.unread(count),
            Event::Trouble { about, problem } => self.trouble(about, problem),
            Event::Planned { ticket, summary } => self.planned(now, ticket, summary, &mut effects),
            Event::PlanFailed { ticket, problem } => self.unplannable(ticket, &problem),
            Event::Published { ticket } => self.published(now, ticket, &mut effects),
            Event::PublishFailed { ticket, problem } => self.publish_failed(now, ticket, problem),
            Event::Measured { what } => self.new_measurements(what),
            Event::InventoryChanged(inventory) => self.change_inventory(now, *inventory, &mut effects),
        }
        effects
    }

    /// The core a journal began with.
    pub fn begin(header: Header) -> Core {
        let mut core = Core::new(header.inventory, header.options);
        if let Some(resumed) = header.resumed {
            core.highest = resumed.highest;
            core.topology = resumed.current.as_ref().map(|k| k.network.clone()).unwrap_or_default();
            core.settled = resumed.current.map(|k| Settled::new(k.number, Candidate::new(k.network, k.file)));
            resumed.views.keys().filter(|name| core.inventory.switches.contains_key(*name)).for_each(|switch| core.reads.known(switch));
            core.views = resumed.views;
            core.damping = resumed.damping;
            core.dirty = true;
        }
        core
    }

    /// With what a journal goes on from here.
    pub fn header(&self) -> Header {
        let known = |s: &Settled| Known { number: s.number, network: s.network.clone(), file: s.key.clone() };
        let resumed = Resumed {
            views: self.views.clone(),
            current: self.settled.as_ref().map(known),
            highest: self.highest,
            damping: self.damping.clone(),
        };
        let resumed = (!self.views.is_empty()).then(|| Box::new(resumed));
        let heddle = env!("CARGO_PKG_VERSION").to_owned();
        Header { heddle, inventory: self.inventory.clone(), options: self.options.clone(), resumed }
    }

    /// When the next [`Event::Tick`] is wanted; in the past: at once.
    pub fn deadline(&self) -> Option<Millis> {
        let looking = self.looking(self.ticked).next().is_some();
        if self.wake || (self.dirty && !looking) {
            return Some(Millis(0));
        }
        let gone = self.absent.values().map(|since| since.after(self.options.gone_after));
        let patience = (looking || self.settled.is_none()).then(|| self.started.after(self.options.patience));
        let retry = self.task.as_ref().and_then(|t| if let Phase::Failed(at) = t.phase { Some(at) } else { None });
        let belief = self.belief.deadline(self.waiting(self.ticked));
        let all = self.reads.deadlines().chain(gone).chain(patience).chain(retry).chain(belief).chain(self.damping.deadlines());
        all.filter(|at| *at > self.ticked).min()
    }

    fn start(
        &mut self,
        now: Millis,
        current: Option<Known>,
        highest: u64,
        epochs: Vec<EpochInfo>,
        problem: Option<String>,
        fx: &mut Vec<Effect>,
    ) {
        (self.started, self.highest, self.epochs) = (now, highest, epochs);
        self.topology = current.as_ref().map(|k| k.network.clone()).unwrap_or_default();
        self.settled = current.map(|k| Settled::new(k.number, Candidate::new(k.network, k.file)));
        let text = match &self.settled {
            Some(s) => format!("started; epoch {} is current, {} hosts", s.number, s.key.hosts.len()),
            None => "started; nothing is published yet".to_owned(),
        };
        self.say(now, Level::Info, text, fx);
        self.trouble(TroubleArea::Current, problem.map(|p| format!("{p}; a new epoch follows the first whole look at the network")));
        for switch in self.inventory.switches.keys().cloned().collect::<Vec<_>>() {
            self.read(now, &switch, Table::ALL.to_vec(), fx);
        }
        self.agents.stirred = true;
        self.direct(now, fx);
    }

    fn observe(&mut self, now: Millis, observation: &Observation, fx: &mut Vec<Effect>) {
        if observation.source == Source::Agent {
            return self.hear(now, observation, fx);
        }
        let switch = observation.reporter.as_str();
        if !self.inventory.switches.contains_key(switch) {
            return; // A late answer of a switch that left the inventory.
        }
        if let Fact::Pulse(pulse) = &observation.fact {
            let view = self.views.get(switch);
            let before = view.filter(|v| v.stale.is_none()).and_then(|v| v.pulse.as_ref());
            let first_look = view.is_none_or(|v| v.pulse.is_none()) && self.reads.looking(switch);
            let tables = if first_look { Vec::new() } else { watch::after_pulse(before, pulse) };
            let interfaces = view.and_then(|v| v.interfaces.as_ref());
            let rate = |index| interfaces?.iter().find(|i| i.index == index)?.rate;
            if !pulse.brief {
                self.meter.record(observation.at, switch, pulse, rate);
            }
            if !tables.is_empty() {
                self.belief.hint(now);
                if tables.contains(&Table::Lldp) {
                    self.reads.lldp_changed(now, switch);
                }
                self.read(now, switch, tables, fx);
            }
        }
        self.dirty |= view::apply(&mut self.views, observation);
        self.wake |= self.reads.answered(switch, &observation.fact);
    }

    fn trap(&mut self, now: Millis, source: IpAddr, kind: TrapKind, fx: &mut Vec<Effect>) {
        let Some(switch) = self.inventory.switches.iter().find(|(_, s)| s.address.ip() == source).map(|(name, _)| name.clone()) else {
            if self.stranger.is_none_or(|told| now.since(told) >= STRANGERS) {
                self.stranger = Some(now);
                let text = format!("{source} sends traps but is no switch of the inventory; they are ignored");
                self.say(now, Level::Warning, text, fx);
            }
            return;
        };
        match watch::after_trap(kind) {
            tables if tables.is_empty() => fx.push(Effect::Poll { switch }),
            tables => {
                self.belief.hint(now);
                self.read(now, &switch, tables, fx);
            }
        }
    }

    fn read(&mut self, now: Millis, switch: &str, tables: Vec<Table>, fx: &mut Vec<Effect>) {
        let switches = self.inventory.switches.len();
        let full = pace::full(switches, self.inventory.switches.get_index_of(switch).unwrap_or_default(), self.inventory.timing.full);
        self.reads.asked(now, switch, &tables, full);
        fx.push(Effect::Read { switch: switch.to_owned(), tables });
    }

    fn job(&mut self, now: Millis, record: JobRecord) {
        // A job that began later has taken nothing up: it found the epoch there.
        let took_up = |e: &&mut EpochInfo| record.epoch == e.number && record.started < e.at && e.stages.taken_up.is_none();
        if let Some(epoch) = self.epochs.last_mut().filter(took_up) {
            // The job's clock is another machine's: its word counts only between publishing and now.
            let at = record.epoch_since.clamp(epoch.at.min(now), now);
            epoch.stages.taken_up = Some(at.since(epoch.stages.seen));
        }
        self.jobs.record(now, record);
    }

    fn tick(&mut self, now: Millis, fx: &mut Vec<Effect>) {
        (self.ticked, self.wake) = (now, false);
        for switch in self.reads.due(now) {
            self.read(now, &switch, Table::ALL.to_vec(), fx);
        }
        // Nothing is put off for these: what they tell is news of their own.
        let again = self.reads.lldp_again(now).into_iter();
        fx.extend(again.map(|switch| Effect::Read { switch, tables: vec![Table::Lldp] }));
        let looking = self.looking(now).next().is_some();
        let stirred = self.dirty && !looking;
        if stirred {
            self.dirty = false;
            let topology = infer::infer(&self.inventory, &self.views);
            if !inventory::diff::diff(&self.topology, &topology).is_empty() {
                self.belief.change(now);
                self.agents.stirred = true;
            }
            self.damping.compare(now, &self.topology, &topology);
            for host in self.claims.update(&self.inventory, &self.views, &topology) {
                self.damping.contradicted(now, host);
            }
            self.topology = topology;
        }
        self.direct(now, fx);
        let held = self.damping.holds();
        self.damping.settle(now);
        let judgement = self.judgement.take().filter(|_| !stirred && !held && self.steady());
        let judgement = judgement.unwrap_or_else(|| self.judge(now, looking));
        self.judged = self.settled.as_ref().map(|s| s.number);
        let hold = self.inventory.timing.hold_down;
        self.belief.weigh(now, judgement.candidate.as_ref().ok().cloned(), self.settled.as_ref(), hold);
        let missing = !judgement.alarms.is_empty() || judgement.candidate.is_err();
        self.belief.calm(!missing && self.belief.held().is_none() && !self.waiting(now));
        self.judgement = Some(judgement);
        if self.reads.search(now, missing) {
            self.search(fx);
        }
        self.decide(now, fx);
        self.jobs.forget_old(now);
        self.tell(now, fx);
    }

    /// Whether tables that were asked for may still change what is held.
    fn waiting(&self, now: Millis) -> bool {
        self.reads.waiting(now, |switch| self.belief.held().is_some_and(|held| held.concerns(switch)))
    }

    /// Switches whose first look is under way. One that takes too long must not keep the others from being judged.
    fn looking(&self, now: Millis) -> impl Iterator<Item = &String> {
        let patient = now.since(self.started) < self.options.patience;
        self.inventory.switches.keys().filter(move |s| patient && self.reads.looking(s))
    }

    /// Whether the last judgement still holds where nothing new was inferred: it is of what is published now, and time alone
    /// changes nothing. A judgement of a large network costs as much as inferring it.
    fn steady(&self) -> bool {
        let published = self.settled.as_ref().map(|s| s.number);
        published.is_some() && published == self.judged && self.absent.is_empty() && !self.damping.holds()
    }

    /// The judgement of the present views; before everything had its first look there is none to make.
    fn judge(&mut self, now: Millis, looking: bool) -> Judgement {
        if looking {
            return Judgement { candidate: Err(Vec::new()), alarms: Vec::new() }; // Too early for any reason.
        }
        let ground = Ground {
            inventory: &self.inventory,
            views: &self.views,
            topology: &self.topology,
            settled: self.settled.as_ref(),
            damping: &self.damping,
            gone_after: self.options.gone_after,
        };
        let mut judgement = candidate::judge(now, &ground, &mut self.absent);
        if self.settled.is_none() && now.since(self.started) < self.options.patience {
            let silent = self.switches().filter(|(_, v)| v.stale.is_some()).map(|(name, _)| TreeDoubt::SwitchSilent(name.clone()));
            let unseen = |file: &TopologyFile| {
                let hosts = self.inventory.hosts.keys().filter(|h| !file.hosts.contains_key(*h));
                hosts.map(|h| TreeDoubt::HostUnseen(h.clone())).collect::<Vec<_>>()
            };
            let unseen = judgement.candidate.as_ref().map(|c| unseen(&c.key)).unwrap_or_default();
            let reasons: Vec<TreeDoubt> = silent.chain(unseen).collect();
            if !reasons.is_empty() {
                judgement.candidate = Err(reasons);
            }
        }
        judgement
    }

    /// The switches that said anything yet.
    fn switches(&self) -> impl Iterator<Item = (&String, &View)> {
        self.views.iter().filter(|(name, _)| self.inventory.switches.contains_key(*name))
    }

    /// Hosts that speak no LLDP turn up in forwarding databases, which no cheap counter announces.
    fn search(&self, fx: &mut Vec<Effect>) {
        for (switch, view) in self.switches().filter(|(_, v)| v.stale.is_none()) {
            let counted = view.pulse.as_ref().is_some_and(|p| p.lldp_last_change.is_some());
            let tables = if counted { vec![Table::Fdb] } else { vec![Table::Lldp, Table::Fdb] };
            fx.push(Effect::Read { switch: switch.clone(), tables });
        }
    }

    /// Starts, drops or repeats the making of an epoch.
    fn decide(&mut self, now: Millis, fx: &mut Vec<Effect>) {
        let remeasured = self.task.as_ref().filter(|task| task.remeasured).and(self.settled.as_ref());
        let wanted = self.belief.held().map(|h| &h.candidate.key).or(remeasured.map(|settled| &settled.key));
        let busy = matches!(&self.task, Some(Task { phase: Phase::Publishing, .. }));
        if !busy && self.task.as_ref().is_some_and(|t| Some(&t.candidate.key) != wanted) {
            self.task = None;
            self.trouble(TroubleArea::Publish, None);
            self.trouble(TroubleArea::Plan, None);
        }
        match &mut self.task {
            Some(task) if matches!(task.phase, Phase::Failed(at) if now >= at) => {
                task.phase = Phase::Publishing;
                fx.push(Effect::Publish { ticket: task.ticket });
            }
            Some(_) => {}
            None => {
                if let Some(held) = self.belief.believed(now, self.waiting(now)).cloned() {
                    self.order(now, held, fx);
                } else if self.belief.held().is_none() {
                    self.remeasure(now, fx);
                }
            }
        }
    }

    fn order(&mut self, now: Millis, held: belief::Held, fx: &mut Vec<Effect>) {
        let seen = self.belief.first_sign(held.since);
        let stages = Stages { seen, inferred: Some(held.from.since(seen)), believed: Some(now.since(seen)), ..Stages::default() };
        self.begin_task(now, held.candidate, held.changes, stages, fx);
    }

    /// Orders a plan; it is made with the newest measurements.
    fn begin_task(&mut self, now: Millis, candidate: Candidate, mut changes: Vec<String>, stages: Stages, fx: &mut Vec<Effect>) {
        let Some(number) = self.highest.checked_add(1) else {
            let exhausted = PublishError::Exhausted { dir: self.options.directory.clone().into(), highest: self.highest };
            return self.trouble(TroubleArea::Publish, Some(exhausted.to_string()));
        };
        self.tickets += 1;
        let Candidate { file, network, .. } = candidate.clone();
        fx.push(Effect::Plan(Box::new(Order { ticket: self.tickets, number, at: now, file, network })));
        let remeasured = self.settled.as_ref().is_some_and(|settled| settled.key == candidate.key);
        changes.extend(self.measured.take());
        self.task = Some(Task {
            ticket: self.tickets,
            number,
            candidate,
            changes,
            stages,
            summary: None,
            phase: Phase::Planning,
            failures: 0,
            remeasured,
        });
    }

    fn planned(&mut self, now: Millis, ticket: u64, summary: PlanSummary, fx: &mut Vec<Effect>) {
        if let Some(task) = self.task.as_mut().filter(|t| t.ticket == ticket && t.phase == Phase::Planning) {
            task.stages.planned = Some(now.since(task.stages.seen));
            task.summary = Some(summary);
            task.phase = Phase::Publishing;
            self.highest = task.number; // From here on the number may be in use, whatever happens.
            fx.push(Effect::Publish { ticket });
        }
    }

    fn unplannable(&mut self, ticket: u64, problem: &str) {
        if let Some(task) = self.task.as_mut().filter(|t| t.ticket == ticket) {
            task.phase = Phase::Unplannable;
            let stays = self.stays();
            self.trouble(TroubleArea::Plan, Some(format!("no schedule for the tree as it is now: {problem}; {stays}")));
        }
    }

    fn published(&mut self, now: Millis, ticket: u64, fx: &mut Vec<Effect>) {
        let Some(mut task) = self.task.take_if(|t| t.ticket == ticket) else { return };
        task.stages.published = Some(now.since(task.stages.seen));
        let summary = task.summary.unwrap_or_default();
        let text = format!(
            "epoch {} published: {} hosts, {}{} phases, {} ms after the first sign; {}",
            task.number,
            summary.hosts,
            if summary.bound_only { "at least " } else { "" },
            summary.phases,
            now.since(task.stages.seen).as_millis(),
            task.changes.join("; ")
        );
        self.epochs.push(EpochInfo {
            number: task.number,
            at: now,
            changes: task.changes,
            phases: summary.phases,
            bound_only: summary.bound_only,
            bottleneck: summary.bottleneck,
            hosts: summary.hosts,
            stages: task.stages,
        });
        let surplus = self.epochs.len().saturating_sub(EPOCHS);
        self.epochs.drain(..surplus);
        self.settled = Some(Settled::new(task.number, task.candidate));
        self.wake = true;
        for trouble in [TroubleArea::Publish, TroubleArea::Plan, TroubleArea::Current] {
            self.trouble(trouble, None);
        }
        self.say(now, Level::Info, text, fx);
    }

    fn publish_failed(&mut self, now: Millis, ticket: u64, problem: String) {
        if let Some(task) = self.task.as_mut().filter(|t| t.ticket == ticket) {
            let pause = (RETRY.0 * (1 << task.failures.min(6))).min(RETRY.1);
            task.phase = Phase::Failed(now.after(pause));
            task.failures += 1;
            let stays = self.stays();
            self.trouble(TroubleArea::Publish, Some(format!("{problem}; {stays}")));
        }
    }

    fn change_inventory(&mut self, now: Millis, inventory: Inventory, fx: &mut Vec<Effect>) {
        let old = std::mem::replace(&mut self.inventory, inventory);
        for name in old.switches.keys().filter(|n| !self.inventory.switches.contains_key(*n)) {
            self.views.remove(name);
            self.reads.forget(name);
            self.meter.forget(name);
        }
        self.forget_hosts();
        for switch in self.inventory.switches.keys().cloned().collect::<Vec<_>>() {
            self.read(now, &switch, Table::ALL.to_vec(), fx);
        }
        self.dirty = true;
        self.direct(now, fx);
        self.trouble(TroubleArea::Inventory, None);
        let text = format!("inventory read again: {} switches, {} hosts", self.inventory.switches.len(), self.inventory.hosts.len());
        self.say(now, Level::Info, text, fx);
    }

    fn stays(&self) -> String {
        alarms::stays(self.settled.as_ref().map(|s| s.number))
    }

    fn trouble(&mut self, about: TroubleArea, problem: Option<String>) {
        let before = match problem.clone() {
            Some(text) => self.troubles.insert(about, text),
            None => self.troubles.remove(&about),
        };
        self.wake |= before != problem;
    }

    fn say(&mut self, at: Millis, level: Level, text: String, fx: &mut Vec<Effect>) {
        let line = EventLine { at, level, text };
        self.lines.push_back(line.clone());
        let surplus = self.lines.len().saturating_sub(LINES);
        self.lines.drain(..surplus);
        fx.push(Effect::Say(line));
    }

    /// Tells alarms that are new and alarms that are over.
    fn tell(&mut self, now: Millis, fx: &mut Vec<Effect>) {
        let alarms = self.alarms();
        let told = std::mem::replace(&mut self.told, alarms.clone());
        for alarm in alarms.iter().filter(|a| !told.contains(a)) {
            self.say(now, Level::Warning, alarm.text.clone(), fx);
        }
        for alarm in told.iter().filter(|t| !alarms.iter().any(|a| a.about == t.about)) {
            self.say(now, Level::Info, format!("over: {}", alarm.text), fx);
        }
    }
}

#[cfg(test)]
mod tests;
