//! The controller's decisions, without I/O and without a clock: events in, effects out.
//!
//! ```text
//! observed --infer--> judged --hold-down, plan, publish--> in the making --> public
//! ```
//!
//! | part | its content |
//! |---|---|
//! | `ObservedNetwork` | the statements of switches, host agents and jobs |
//! | `JudgedNetwork` | topology, clusters, alarms, and the parts that flap |
//! | `EpochInMaking` | a candidate on its way to an epoch |
//! | `PublicRecord` | the published epochs, and all messages to operators |
//! | `LearnedState` | what jobs learned about the ways of their calls |
//! | `WatchState` | what the rates of jobs' blocks say against the published tree |
//! | `FlowMeasuring` | measurements of flows between hosts, where no switch answers |
//!
//! Time is an argument. The inference runs on [`ControllerEvent::Tick`] only, so that a burst of
//! answers is judged once. [`ControllerEngine::deadline`] gives the time of the next tick.
mod agents;
mod as_published;
mod awaited;
mod candidate;
mod claims;
mod counted_ways;
mod damping;
mod decisions;
mod directions;
mod event;
mod figures;
mod further_networks;
mod header;
mod hold_down;
mod judged;
mod judgement;
mod learning;
mod making;
mod measuring;
mod moved_cables;
mod observed;
mod public_record;
mod reads;
mod rollback;
mod shown_rates;
mod silent_switches;
mod snapshot;
mod traces;
mod trouble;

pub use counted_ways::FlowQuestion;
pub use directions::DirectionsByHost;
pub use event::{
    ControllerEffect, ControllerEvent, EpochOrder, OrderedRollback, PlanSummary, StoredEpoch,
};
pub use figures::{EngineFigures, MeasuringFigures, PortFigures};
pub use header::{ControllerOptions, JournalHeader, ResumedState};
pub use measuring::{MappingOrder, MappingOutcome};
pub use moved_cables::WatchOrder;
pub use trouble::{StalledWork, TroubleArea};

use crate::triggers::{self, TrapTopic};
use api::{EpochInfo, EventLevel};
use candidate::{EpochCandidate, PublishedNetwork};
use directory::job_record::JobRecord;
use event::EffectList;
use infer::InferenceMemory;
use inventory::inventory_file::Inventory;
use inventory::observation::{DeviceFact, DeviceTable, Observation, ObservationSource};
use inventory::{Millis, counted};
use judged::JudgedNetwork;
use judgement::NetworkJudgement;
use learning::LearnedState;
use making::EpochInMaking;
use measuring::{FlowMeasuring, MeasuringEvent};
use moved_cables::WatchState;
use observed::{AgentNews, ObservedNetwork};
use public_record::PublicRecord;
use rollback::OrderedNetwork;
use shown_rates::ShownRates;
use silent_switches::UnansweringSwitches;
use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;

/// The decisions of the controller; the daemon around it does all I/O.
#[derive(Debug)]
pub struct ControllerEngine {
    inventory: Inventory,
    options: ControllerOptions,
    started: Millis,
    ticked: Millis,
    /// A tick is wanted at once.
    wake: bool,
    /// The time of the next tick, found anew after each event but pulses without news, which are most.
    next_tick: Option<Millis>,
    observed: ObservedNetwork,
    memory: InferenceMemory,
    judged: JudgedNetwork,
    making: EpochInMaking,
    public: PublicRecord,
    learned: LearnedState,
    watch: WatchState,
    shown_rates: ShownRates,
    measuring: FlowMeasuring,
    rollback: OrderedNetwork,
}

impl ControllerEngine {
    /// An engine without any knowledge. Its first event must be [`ControllerEvent::Started`].
    pub fn new(inventory: Inventory, options: ControllerOptions) -> ControllerEngine {
        ControllerEngine {
            inventory,
            options,
            started: Millis::default(),
            ticked: Millis::default(),
            wake: false,
            next_tick: None,
            observed: ObservedNetwork::default(),
            memory: InferenceMemory::default(),
            judged: JudgedNetwork::default(),
            making: EpochInMaking::default(),
            public: PublicRecord::default(),
            learned: LearnedState::default(),
            watch: WatchState::default(),
            shown_rates: ShownRates::default(),
            measuring: FlowMeasuring::default(),
            rollback: OrderedNetwork::default(),
        }
    }

    /// Takes an event, and returns the effects to carry out. This is the controller's protocol.
    pub fn handle(&mut self, now: Millis, event: ControllerEvent) -> Vec<ControllerEffect> {
        let mut effects = Vec::new();
        let before = (self.is_awake(), self.observed.changed.len());
        let is_pulse = matches!(&event, ControllerEvent::Observed(o) if o.fact.is_pulse());
        self.take(now, event, &mut effects);
        let after = (self.is_awake(), self.observed.changed.len());
        if !is_pulse || before != after || !effects.is_empty() {
            self.next_tick = self.find_deadline();
        }
        effects
    }

    fn take(&mut self, now: Millis, event: ControllerEvent, fx: &mut EffectList) {
        match event {
            ControllerEvent::Started {
                current,
                highest,
                epochs,
                problem,
                learned,
                mapped,
            } => {
                self.learned.resume(learned);
                self.resume_mapping(mapped);
                self.start(now, current, highest, epochs, problem, fx)
            }
            ControllerEvent::Tick => self.tick(now, fx),
            ControllerEvent::Observed(observation) => self.take_observed(now, &observation, fx),
            ControllerEvent::ReportRefused { from, problem } => {
                self.report_refused(now, from, &problem, fx)
            }
            ControllerEvent::Trap { source, kind } => self.take_trap(now, source, kind, fx),
            ControllerEvent::LookedUp { switch, address } => {
                self.observed.addresses.insert(switch, address);
            }
            ControllerEvent::Job(record) => self.take_job_record(now, record, fx),
            ControllerEvent::Taught(record) => self.take_lesson(now, &record),
            ControllerEvent::Judged {
                job,
                user,
                epoch,
                suspicion,
            } => self.take_judgement(now, (job, user), epoch, suspicion),
            ControllerEvent::LearnedKept { problem } => self.learned_kept(now, problem.as_deref()),
            ControllerEvent::JobGone { id } => self.observed.jobs.record_removed(&id),
            ControllerEvent::JobsUnread { count } => self.observed.jobs.unread(count),
            ControllerEvent::Trouble { about, problem } => self.public.note_trouble(about, problem),
            ControllerEvent::Rollback(order) => self.take_rollback(now, order.map(|o| *o), fx),
            ControllerEvent::Planned { ticket, summary } => {
                fx.extend(self.making.planned(now, ticket, summary))
            }
            ControllerEvent::PlanFailed { ticket, problem } => {
                self.making.plan_failed(ticket, &problem, &mut self.public)
            }
            ControllerEvent::Published { ticket } => self.published(now, ticket, fx),
            ControllerEvent::PublishFailed { ticket, problem } => {
                let public = &mut self.public;
                self.making.publish_failed(now, ticket, &problem, public)
            }
            ControllerEvent::MappingOrdered { request } => {
                self.measure(now, MeasuringEvent::Ordered { request }, fx)
            }
            ControllerEvent::PlaceMapped { ticket, outcome } => {
                self.measure(now, MeasuringEvent::Ended { ticket, outcome }, fx)
            }
            ControllerEvent::Measured { what } => self.note_measurements(what),
            ControllerEvent::InventoryChanged(inventory) => {
                self.change_inventory(now, *inventory, fx)
            }
        }
    }

    /// Returns whether a tick is wanted at once.
    fn is_awake(&self) -> bool {
        self.wake || self.public.is_changed
    }

    /// The time of the next [`ControllerEvent::Tick`]. A time in the past means: at once.
    pub fn deadline(&self) -> Option<Millis> {
        self.next_tick
    }

    fn find_deadline(&self) -> Option<Millis> {
        let looking = self.is_looking(self.ticked);
        if self.is_awake() {
            return Some(Millis(0));
        }
        if self.observed.is_dirty() && !looking {
            let until = self.observed.gathering_until(&self.inventory);
            return Some(until.filter(|at| *at > self.ticked).unwrap_or_default());
        }
        let patience = self
            .public
            .settled
            .is_none()
            .then(|| self.started.after(self.options.patience))
            .into_iter()
            .chain(self.looking_until());
        let is_waiting = self.making.is_waiting(self.ticked, &self.observed.reads);
        let making = self
            .making
            .retry_at()
            .into_iter()
            .chain(self.making.hold_down.deadline(is_waiting));
        let judged = self.judged.deadlines(self.options.gone_after);
        let hold_down = self.inventory.timing.hold_down;
        let rollback = self.rollback.deadline(hold_down);
        let unanswering = UnansweringSwitches::new(&self.observed, &self.inventory);
        let all = self
            .observed
            .reads
            .deadlines()
            .chain(judged)
            .chain(patience)
            .chain(making)
            .chain(self.learned.deadline())
            .chain(self.measuring.deadline())
            .chain(unanswering.asked_again())
            .chain(rollback);
        // The last tick did what was due then. Counted again, it would cause ticks without a pause.
        all.filter(|at| *at > self.ticked).min()
    }

    fn start(
        &mut self,
        now: Millis,
        current: Option<StoredEpoch>,
        highest: u64,
        epochs: Vec<EpochInfo>,
        problem: Option<String>,
        fx: &mut EffectList,
    ) {
        (self.started, self.public.epochs) = (now, epochs);
        self.take_over(current, highest);
        let text = match &self.public.settled {
            Some(s) => format!(
                "started; epoch {} is current, {}",
                s.number,
                counted(s.key.hosts.len(), "host")
            ),
            None => "started; nothing is published yet".to_owned(),
        };
        self.public.log(now, EventLevel::Info, text, fx);
        self.public.note_trouble(
            TroubleArea::Current,
            problem.map(|p| {
                format!("{p}; a new epoch follows the first complete read of the network")
            }),
        );
        self.observed.read_all(now, &self.inventory, fx);
        if self.inventory.switches.is_empty() && self.public.settled.is_none() {
            // Should no agent report, alarms tell what is missing.
            let hosts = self.inventory.hosts.keys().cloned();
            self.observed.change_all(hosts);
        }
        self.observed.agents.stirred = true;
        self.send_directions(now, fx);
    }

    /// Takes over an epoch that is published already, and the highest number in use.
    fn take_over(&mut self, current: Option<StoredEpoch>, highest: u64) {
        self.making.highest = highest;
        self.judged.topology = current
            .as_ref()
            .map(|k| Arc::clone(&k.network))
            .unwrap_or_default();
        self.public.settled = current
            .map(|k| PublishedNetwork::new(k.number, EpochCandidate::new(k.network, k.file)));
        if let Some(settled) = &self.public.settled {
            self.learned.follow(settled.number, &settled.key);
        }
    }

    fn take_observed(&mut self, now: Millis, observation: &Observation, fx: &mut EffectList) {
        match observation.source {
            ObservationSource::Agent => self.take_report(now, observation, fx),
            _ => self.take_answer(now, observation, fx),
        }
    }

    /// Takes a switch's answer, or its silence.
    fn take_answer(&mut self, now: Millis, observation: &Observation, fx: &mut EffectList) {
        let switch = observation.reporter.as_str();
        if !self.inventory.switches.contains_key(switch) {
            return; // The switch left the inventory while its answer was under way.
        }
        if let DeviceFact::Pulse(pulse) = &observation.fact {
            let tables = self.observed.take_pulse(now, observation, pulse);
            if !tables.is_empty() {
                self.reread(now, switch, tables, fx);
                if pulse.brief {
                    // Ports may have changed, too, and a brief pulse does not show them.
                    fx.push(ControllerEffect::Poll {
                        switch: switch.to_owned(),
                    });
                }
            }
        }
        self.wake |= self.observed.apply(observation);
    }

    /// Takes a host agent's report, or its silence.
    fn take_report(&mut self, now: Millis, observation: &Observation, fx: &mut EffectList) {
        let host = observation.reporter.as_str();
        if !self.inventory.hosts.contains_key(host) {
            return; // The host left the inventory while its report was under way.
        }
        match self.observed.take_report(now, observation) {
            AgentNews::Nothing => {}
            AgentNews::TwoMachines => self.wake = true,
            AgentNews::ReportsAgain => self.public.log(
                now,
                EventLevel::Info,
                format!("host \"{host}\": its agent reports again"),
                fx,
            ),
            AgentNews::FellSilent(problem) => {
                let text = format!(
                    "host \"{host}\": its agent is silent: {problem}; its last report stays \
                     in use"
                );
                self.public.log(now, EventLevel::Warning, text, fx);
            }
        }
    }

    /// Tells of a report that was refused.
    fn report_refused(&mut self, now: Millis, from: IpAddr, problem: &str, fx: &mut EffectList) {
        if self.observed.agents.report_refused(problem) {
            self.public.log(
                now,
                EventLevel::Warning,
                format!("{problem} (from {from}); its reports are refused"),
                fx,
            );
        }
    }

    fn take_trap(&mut self, now: Millis, source: IpAddr, kind: TrapTopic, fx: &mut EffectList) {
        let Some(switch) = self
            .inventory
            .switches
            .iter()
            .find(|(name, s)| match s.address.fixed() {
                Some(address) => address.ip() == source,
                None => self.observed.addresses.get(*name) == Some(&source),
            })
            .map(|(name, _)| name.clone())
        else {
            if self.public.is_stranger_due(now) {
                let text = format!(
                    "{source} sends traps but is not a switch of the inventory; they are ignored"
                );
                self.public.log(now, EventLevel::Warning, text, fx);
            }
            return;
        };
        match triggers::after_trap(kind) {
            tables if tables.is_empty() => fx.push(ControllerEffect::Poll { switch }),
            tables => self.reread(now, &switch, tables, fx),
        }
    }

    /// Reads tables again, after a switch hinted at a change.
    fn reread(&mut self, now: Millis, switch: &str, tables: Vec<DeviceTable>, fx: &mut EffectList) {
        self.making.hold_down.hint(now);
        self.observed.read(now, &self.inventory, switch, tables, fx);
    }

    fn take_job_record(&mut self, now: Millis, mut record: JobRecord, fx: &mut EffectList) {
        self.take_watched(now, &mut record, fx);
        self.public.take_up(now, &record);
        self.observed.jobs.record(now, record);
    }

    fn tick(&mut self, now: Millis, fx: &mut EffectList) {
        (self.ticked, self.wake, self.public.is_changed) = (now, false, false);
        self.observed.read_due(now, &self.inventory, fx);
        let looking = self.is_looking(now);
        let gathering = self
            .observed
            .gathering_until(&self.inventory)
            .is_some_and(|at| now < at);
        let stirred = self.observed.is_dirty() && !looking && !gathering;
        if stirred {
            self.infer(now);
        }
        self.send_directions(now, fx);
        UnansweringSwitches::new(&self.observed, &self.inventory)
            .count(now, &mut self.judged.damping);
        let held = self.judged.damping.holds_anything();
        self.judged.damping.release_calm(now);
        let (settled, gone_after) = (self.public.settled.as_ref(), self.options.gone_after);
        let steady = if stirred || held {
            None
        } else {
            self.judged.take_steady(now, settled, gone_after)
        };
        let judgement = steady.unwrap_or_else(|| self.judge(now, looking));
        let found = match &judgement.candidate {
            Ok(candidate) => Some(candidate.clone()),
            // Before the first look there are no reasons, and no news of other networks.
            Err(reasons) if reasons.is_empty() || self.is_patient(now) => None,
            Err(_) => self
                .judged
                .further
                .without_main(self.public.settled.as_ref()),
        };
        // The gathered facts held still while that lasted.
        let still = match stirred {
            true => self.observed.still_since(now),
            false => now,
        };
        let missing = self.consider((now, still), &judgement, found, fx);
        self.judged.keep(now, judgement, self.public.current());
        if self.observed.reads.is_search_due(now, missing) {
            self.observed.search(&self.inventory, fx);
        }
        let (directory, public) = (&self.options.directory, &mut self.public);
        let reads = &self.observed.reads;
        self.making.decide(now, reads, directory, public, fx);
        for effect in fx.iter_mut() {
            if let ControllerEffect::Plan(order) = effect {
                order.flows = self.known_flows(&order.network);
            }
        }
        self.measure(now, MeasuringEvent::Tick, fx);
        self.observed.jobs.forget_old(now);
        self.watch.forget_old(now);
        self.shown_rates.forget_old(now);
        fx.extend(self.learned.write_due(now));
        let alarms = self.alarms();
        let is_changing = self.making.hold_down.is_waiting(now);
        self.public.announce(now, alarms, is_changing, fx);
    }

    /// Infers a topology from all observations.
    fn infer(&mut self, now: Millis) {
        let ObservedNetwork {
            views,
            claims,
            agents,
            changed,
            ..
        } = &mut self.observed;
        let changed = std::mem::take(changed);
        let all = self.memory.infer_changed(&self.inventory, views, &changed);
        let is_further = self.judged.further.infer(&all);
        let topology = all.main_network();
        let contradicted = claims.update(&self.inventory, views, &topology);
        if self.judged.infer(now, topology, contradicted) | is_further {
            self.making.hold_down.change(now);
            // Without reports there is nobody to direct.
            agents.stirred |= views.values().any(|view| view.host.is_some());
        }
    }

    /// Sends out new directions for the hosts' agents, if they changed.
    fn send_directions(&mut self, now: Millis, fx: &mut EffectList) {
        fx.extend(
            self.observed
                .directions(now, &self.inventory, &self.judged.topology)
                .map(ControllerEffect::Direct),
        );
    }

    /// True while the first epoch waits for whatever may still be found.
    fn is_patient(&self, now: Millis) -> bool {
        self.public.settled.is_none() && now.since(self.started) < self.options.patience
    }

    /// Judges the present views. Before every switch had its first look there is nothing to judge.
    fn judge(&mut self, now: Millis, looking: bool) -> NetworkJudgement {
        if looking {
            // It is too early for a reason.
            return NetworkJudgement {
                candidate: Err(Vec::new()),
                alarms: Vec::new(),
                doubtful: BTreeSet::new(),
            };
        }
        let settled = self.public.settled.as_ref();
        let mut judgement = self.judged.judge(
            now,
            &self.inventory,
            &self.observed.views,
            settled,
            self.options.gone_after,
        );
        if self.is_patient(now) {
            let reasons = self.still_missing(&judgement);
            if !reasons.is_empty() {
                judgement.candidate = Err(reasons);
            }
        }
        judgement
    }

    /// Notes measurements that no epoch contains yet. A plan under way may have read the older
    /// file.
    fn note_measurements(&mut self, what: String) {
        self.making.measured = Some(what);
        self.wake = true;
    }

    fn change_inventory(&mut self, now: Millis, inventory: Inventory, fx: &mut EffectList) {
        let old = std::mem::replace(&mut self.inventory, inventory);
        self.observed.forget(&old, &self.inventory);
        self.judged.forget();
        self.observed.read_all(now, &self.inventory, fx);
        self.send_directions(now, fx);
        self.public.note_trouble(TroubleArea::Inventory, None);
        self.measure(now, MeasuringEvent::InventoryChanged, fx);
        let text = format!(
            "inventory read again: {}, {}",
            counted(self.inventory.switches.len(), "switch"),
            counted(self.inventory.hosts.len(), "host")
        );
        self.public.log(now, EventLevel::Info, text, fx);
    }
}

#[cfg(test)]
mod tests;
