//! Measurements of flows between hosts, where no switch answers: when one runs, among which hosts,
//! and what becomes of its result.
//!
//! The operator allows them in the inventory. An order measures every unmanaged place and every
//! doubtful host once. Unasked, a place is measured if no measurement is about its present hosts, a
//! host if it is in doubt for some time and no measurement placed it, or its link was lost since;
//! and neither again for an hour.
//!
//! | part | its content |
//! |---|---|
//! | [`FlowMeasuring`] | the state: events in, effects out |
//! | `course` | the measurement under way, those to come, those that were tried |
//! | `network` | the network that is measured, read only |
//! | `due_targets` | what is to be measured without an order |
//! | `target`, `addresses` | the hosts of a measurement, and where they take part |
//! | `doubtful_hosts`, `unmanaged_places` | what protocols do not decide |
//! | `ways` | the ways of flows: what is to be measured, what is published |
//! | `results` | the result in words, and the places that follow from it |
mod addresses;
mod course;
mod doubtful_hosts;
mod due_targets;
mod network;
mod order;
mod results;
mod target;
mod unmanaged_places;
mod ways;

pub(crate) use course::MappingCourse;
pub use order::{MappingOrder, MappingOutcome};

use super::figures::MeasuringFigures;
use super::{ControllerEffect, ControllerEngine, EffectList};
use api::EventLevel;
use api::mapping::{MappingProgress, MappingStatus};
use course::RunningMapping;
use doubtful_hosts::attachment_findings;
use inventory::inventory_file::MeasuringSettings;
use inventory::mapped_place::{MappedAttachment, MappedPlace, MappedPlaces};
use inventory::stages::flows::MappedWays;
use inventory::{BitsPerSec, Bytes, Millis};
use network::MeasuredNetwork;
use results::{host_lines, place_lines};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use target::{MappingTarget, TargetSubject};

/// The time between two looks for places to measure unasked.
const LOOK: Duration = Duration::from_secs(30);

/// The events of measurements.
#[derive(Debug)]
pub(super) enum MeasuringEvent {
    /// An operator orders all that flows can tell now.
    Ordered { request: u64 },
    /// Time passed.
    Tick,
    /// A measurement ended.
    Ended {
        ticket: u64,
        outcome: Box<MappingOutcome>,
    },
    /// The inventory may allow less than before.
    InventoryChanged,
}

/// The work that the engine does for measurements.
#[derive(Debug)]
enum MeasuringEffect {
    /// Tell operators.
    Log(EventLevel, String),
    /// Begin this measurement.
    Begin(MappingOrder),
    /// End the one under way.
    End,
    /// Flows found something new about these hosts.
    Found(Vec<String>),
    /// Keep the measured places.
    Keep,
    /// An epoch with what was measured is wanted.
    Publish(String),
}

/// The measured places, and the measurements under way and to come.
#[derive(Debug, Default)]
pub(super) struct FlowMeasuring {
    pub(super) mapped: Arc<MappedPlaces>,
    pub(super) course: MappingCourse,
    pub(super) figures: MeasuringFigures,
}

impl FlowMeasuring {
    /// Takes an event, and returns the effects to carry out.
    fn handle(
        &mut self,
        now: Millis,
        event: MeasuringEvent,
        network: &MeasuredNetwork<'_>,
    ) -> Vec<MeasuringEffect> {
        let mut effects = Vec::new();
        match event {
            MeasuringEvent::Ordered { request } => self.take_order(request, network),
            MeasuringEvent::Tick => {
                effects.extend(self.doubt_ways(network));
                self.look(now, network);
            }
            MeasuringEvent::Ended { ticket, outcome } => {
                self.take_end(now, ticket, *outcome, network, &mut effects);
            }
            MeasuringEvent::InventoryChanged => effects.extend(self.end_if_forbidden(now, network)),
        }
        self.begin_next(now, network, &mut effects);
        effects
    }

    /// The state for viewers.
    pub(super) fn status(&self, allowed: bool) -> MappingStatus {
        let course = &self.course;
        let running = course.running.as_ref();
        MappingStatus {
            allowed,
            running: running.map(|running| running.progress.clone()),
            waiting: course.waiting.iter().map(MappingTarget::label).collect(),
            ..course.status.clone()
        }
    }

    /// The time of the next look.
    pub(super) fn deadline(&self) -> Option<Millis> {
        self.course.look
    }

    /// Measure everything now that flows can tell.
    fn take_order(&mut self, request: u64, network: &MeasuredNetwork<'_>) {
        self.course.status.request = request;
        if self.course.running.is_some() {
            // The order that is being carried out is this one, too.
            return;
        }
        self.course.forget_results();
        if network.inventory.measuring.is_none() {
            return self.refuse(
                "measuring: the inventory does not allow it; nothing was measured: add \
                 \"measuring: {}\" to it, and reload"
                    .to_owned(),
            );
        }
        self.course.waiting = network.targets().into();
        self.course.waiting.extend(self.way_target(network));
        if self.course.waiting.is_empty() {
            self.course.status.results.push(
                "no unmanaged switch has three hosts or more, and no host with an agent is in \
                 doubt; there is nothing to measure"
                    .to_owned(),
            );
        }
    }

    /// Looks for places that no measurement is about, if the operator wants that.
    fn look(&mut self, now: Millis, network: &MeasuredNetwork<'_>) {
        let unasked = network.inventory.measuring.as_ref().filter(|s| s.unasked);
        let Some(settings) = unasked else {
            self.course.look = None;
            return;
        };
        if self.course.look.is_some_and(|at| at > now) {
            return;
        }
        self.course.look = Some(now.after(LOOK));
        if !settings.allows(now) || !self.course.is_idle() {
            return;
        }
        let due = self.due_targets(now, network);
        if !due.is_empty() {
            // From now on viewers see the results of these.
            self.course.forget_results();
        }
        for target in &due {
            self.course.try_unasked(target, now);
        }
        self.course.waiting = due.into();
    }

    /// Begins the next measurement that is possible.
    fn begin_next(
        &mut self,
        now: Millis,
        network: &MeasuredNetwork<'_>,
        effects: &mut Vec<MeasuringEffect>,
    ) {
        while self.course.running.is_none()
            && let Some(target) = self.course.waiting.pop_front()
        {
            match self.order(now, &target, network) {
                Ok(order) => {
                    let text = format!(
                        "{}: flows between {} hosts are measured, at most {:.0} MB",
                        target.title(),
                        order.inside.len() + order.beside.len(),
                        order.budget.0 as f64 / 1e6
                    );
                    effects.push(MeasuringEffect::Log(EventLevel::Info, text));
                    self.course.running = Some(RunningMapping {
                        ticket: order.ticket,
                        target,
                        progress: MappingProgress {
                            place: order.place.clone(),
                            hosts: (order.inside.len() + order.beside.len()) as u32,
                            budget: order.budget,
                            ..MappingProgress::default()
                        },
                        link_losses: network.link_losses(&order.inside),
                        switches: network.switches_of(&order.inside),
                    });
                    effects.push(MeasuringEffect::Begin(order));
                }
                Err(problem) => {
                    let text = format!("{}: {problem}; it is not measured", target.title());
                    effects.push(MeasuringEffect::Log(EventLevel::Warning, text.clone()));
                    self.refuse(text);
                }
            }
        }
    }

    fn refuse(&mut self, line: String) {
        self.figures.refused += 1;
        self.course.fail(line);
    }

    fn order(
        &mut self,
        now: Millis,
        target: &MappingTarget,
        network: &MeasuredNetwork<'_>,
    ) -> Result<MappingOrder, String> {
        let Some(settings) = &network.inventory.measuring else {
            return Err("the inventory does not allow it any more".to_owned());
        };
        let budget = left(settings, &self.mapped, now)?;
        let members = network.members(target).map_err(|unfit| unfit.to_string())?;
        let ways = match target.subject {
            TargetSubject::Ways => self.way_question(network),
            TargetSubject::Bridge(_) | TargetSubject::Hosts(_) => None,
        };
        self.course.ticket += 1;
        Ok(MappingOrder {
            ways,
            ticket: self.course.ticket,
            place: target.label(),
            inside: members.inside,
            beside: members.beside,
            budget,
            // It ends within the times of day that the inventory allows.
            longest: settings.longest.min(settings.allowed_for(now)),
            share: settings.share.fraction(),
        })
    }

    /// Ends the measurement under way if the operator does not allow it any more.
    fn end_if_forbidden(
        &self,
        now: Millis,
        network: &MeasuredNetwork<'_>,
    ) -> Option<MeasuringEffect> {
        let settings = network.inventory.measuring.as_ref();
        let is_allowed = settings.is_some_and(|settings| settings.allows(now));
        (self.course.running.is_some() && !is_allowed).then_some(MeasuringEffect::End)
    }

    /// Takes the end of a measurement.
    fn take_end(
        &mut self,
        now: Millis,
        ticket: u64,
        outcome: MappingOutcome,
        network: &MeasuredNetwork<'_>,
        effects: &mut Vec<MeasuringEffect>,
    ) {
        let running = &mut self.course.running;
        let Some(running) = running.take_if(|running| running.ticket == ticket) else {
            return;
        };
        let target = running.target;
        // A failed measurement has loaded the network, too, so its octets count in the day's budget.
        Arc::make_mut(&mut self.mapped).spend(now, outcome.moved);
        self.figures.sent.0 += outcome.moved.0;
        self.figures.ended = Some(now);
        if let Some(ways) = outcome.ways {
            self.take_ways(&target, ways, effects);
        }
        match (outcome.place, outcome.problem) {
            (None, None) => {
                self.figures.measured += 1;
                let text = format!("{}: measured: each has a port", target.title());
                effects.push(MeasuringEffect::Log(EventLevel::Info, text.clone()));
                self.course.status.results.push(text);
            }
            (Some(found), None) => {
                let found = MappedPlace {
                    link_losses: running.link_losses,
                    switches: running.switches,
                    ..found
                };
                self.figures.measured += 1;
                self.course.note_measured(&target, now);
                let found_lines = self.take_found(&target, found, &outcome.rates, network);
                effects.push(MeasuringEffect::Found(target.hosts.clone()));
                let text = format!("{}: measured: {}", target.title(), found_lines.join("; "));
                effects.push(MeasuringEffect::Log(EventLevel::Info, text));
                let place = target.label();
                let lines = found_lines.into_iter().map(|line| match &target.subject {
                    TargetSubject::Bridge(_) => format!("{place}: {line}"),
                    TargetSubject::Hosts(_) | TargetSubject::Ways => line,
                });
                self.course.status.results.extend(lines);
            }
            (_, problem) => {
                self.figures.failed += 1;
                let problem = problem.unwrap_or_default();
                let text = format!("{}: {problem}; what was known before stays", target.title());
                effects.push(MeasuringEffect::Log(EventLevel::Warning, text.clone()));
                self.course.fail(text);
            }
        }
        effects.push(MeasuringEffect::Keep);
    }

    /// Takes the ways of flows. An epoch follows once all are known.
    fn take_ways(
        &mut self,
        target: &MappingTarget,
        ways: MappedWays,
        effects: &mut Vec<MeasuringEffect>,
    ) {
        let before = self.mapped.ways.as_ref().map_or(0, |ways| ways.flows.len());
        if ways.flows.len() > before {
            // The others are measured at the next look.
            self.course.forget_try(target);
        }
        if ways.is_complete {
            effects.push(MeasuringEffect::Publish(target.label()));
        }
        Arc::make_mut(&mut self.mapped).ways = Some(ways);
    }

    /// Takes what flows found, and returns it line by line.
    fn take_found(
        &mut self,
        target: &MappingTarget,
        found: MappedPlace,
        rates: &BTreeMap<String, BitsPerSec>,
        network: &MeasuredNetwork<'_>,
    ) -> Vec<String> {
        let mapped = Arc::make_mut(&mut self.mapped);
        match &target.subject {
            TargetSubject::Bridge(bridge) => {
                let lines = place_lines(&found);
                mapped.take(MappedPlace {
                    bridge: bridge.clone(),
                    rates: rates.clone(),
                    ..found
                });
                lines
            }
            TargetSubject::Hosts(hosts) => {
                let findings = attachment_findings(network.topology(), hosts, &found);
                let (lines, attachments) = host_lines(hosts, &findings, &found, rates);
                mapped.attachments.retain(|attachment: &MappedAttachment| {
                    !hosts.iter().zip(&findings).any(|(host, finding)| {
                        host.name == attachment.host && finding.excludes(&attachment.on)
                    })
                });
                for attachment in attachments {
                    mapped.take_attachment(attachment);
                }
                lines
            }
            TargetSubject::Ways => Vec::new(),
        }
    }
}

impl ControllerEngine {
    /// Takes over what an earlier controller measured.
    pub(super) fn resume_mapping(&mut self, mapped: MappedPlaces) {
        self.measuring.mapped = Arc::new(mapped);
        self.memory.take_mapped(Arc::clone(&self.measuring.mapped));
    }

    /// Hands an event on to the measurements of flows, and carries out their effects.
    pub(super) fn measure(&mut self, now: Millis, event: MeasuringEvent, fx: &mut EffectList) {
        let network = MeasuredNetwork {
            inventory: &self.inventory,
            observed: &self.observed,
            judged: &self.judged,
            published: self
                .public
                .settled
                .as_ref()
                .map(|settled| &*settled.network),
            is_published: self.public.settled.is_some() && self.making.hold_down.held().is_none(),
        };
        for effect in self.measuring.handle(now, event, &network) {
            match effect {
                MeasuringEffect::Log(level, text) => self.public.log(now, level, text, fx),
                MeasuringEffect::Begin(order) => {
                    fx.push(ControllerEffect::MapPlace(Box::new(order)));
                }
                MeasuringEffect::End => fx.push(ControllerEffect::EndMapping),
                MeasuringEffect::Found(hosts) => {
                    self.observed.change_all(hosts.into_iter());
                    self.wake = true;
                    let mapped = Arc::clone(&self.measuring.mapped);
                    self.memory.take_mapped(mapped);
                }
                MeasuringEffect::Publish(what) => {
                    self.making.measured = Some(what);
                    self.wake = true;
                }
                MeasuringEffect::Keep => {
                    let mapped = Arc::clone(&self.measuring.mapped);
                    fx.push(ControllerEffect::KeepMapped(mapped));
                }
            }
        }
    }
}

/// The bytes that may be moved now.
fn left(settings: &MeasuringSettings, mapped: &MappedPlaces, now: Millis) -> Result<Bytes, String> {
    if !settings.allows(now) {
        let times: Vec<String> = settings.times.iter().map(ToString::to_string).collect();
        return Err(format!(
            "the inventory allows measurements at {} UTC only (times: in measuring:)",
            times.join(", ")
        ));
    }
    let moved = mapped.moved_lately(now);
    match settings.budget.0.saturating_sub(moved.0) {
        0 => Err(format!(
            "the budget of {} bytes for 24 hours is spent; order it later, or raise budget: in \
             measuring:",
            settings.budget
        )),
        left => Ok(Bytes(left)),
    }
}
