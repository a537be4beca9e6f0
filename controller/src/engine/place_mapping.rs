//! Measurements of flows between hosts, where no switch answers: when one runs, among which hosts,
//! and what becomes of its result.
//!
//! The operator allows them in the inventory. An order measures every unmanaged place and every
//! doubtful host once. Unasked, a place is measured if no measurement is about its present hosts, a
//! host if it is in doubt for some time and no measurement placed it, or its link was lost since;
//! and neither again for an hour.
use super::doubtful_hosts::seat_findings;
use super::figures::MeasuringFigures;
use super::mapping_results::{told_hosts, told_place};
use super::mapping_target::{MappingTarget, TargetSubject, UnfitTarget};
use super::{ControllerEffect, ControllerEngine};
use api::EventLevel;
use api::mapping::{MappingProgress, MappingStatus};
use inventory::inventory_file::MeasuringSettings;
use inventory::mapped_place::{CardLosses, MappedPlace, MappedPlaces, MappedSeat};
use inventory::units::milliseconds;
use inventory::{BitsPerSec, Bytes, Millis};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

/// The time between two looks for places to measure unasked.
const LOOK: Duration = Duration::from_secs(30);

/// The order to measure a place.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MappingOrder {
    /// Its number; the answer quotes it.
    pub ticket: u64,
    /// The unmanaged bridge, or the hosts whose switch is sought.
    pub place: String,
    /// The hosts behind the bridge, or these hosts, with their addresses.
    pub inside: Vec<(String, IpAddr)>,
    /// Hosts elsewhere.
    pub beside: Vec<(String, IpAddr)>,
    /// The bytes to move at most.
    pub budget: Bytes,
    /// The time to take at most.
    #[serde(with = "milliseconds")]
    pub longest: Duration,
    /// The part of the time in which flows run, from 0 to 1.
    pub share: f64,
}

/// The outcome of a measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MappingOutcome {
    /// The place; `None` if it is not known.
    pub place: Option<MappedPlace>,
    /// The rates of the cables of its hosts.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub rates: BTreeMap<String, BitsPerSec>,
    /// The bytes moved.
    pub moved: Bytes,
    /// The reason why it is not known.
    pub problem: Option<String>,
}

impl MappingOutcome {
    /// A measurement that moved nothing.
    pub(crate) fn failed(problem: String) -> MappingOutcome {
        MappingOutcome {
            place: None,
            rates: BTreeMap::new(),
            moved: Bytes(0),
            problem: Some(problem),
        }
    }
}

/// The measured places, and the measurements under way and to come.
#[derive(Debug, Default)]
pub(super) struct PlaceMapping {
    pub(super) mapped: Arc<MappedPlaces>,
    pub(super) course: MappingCourse,
    pub(super) figures: MeasuringFigures,
}

/// The measurement under way, and those to come.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct MappingCourse {
    waiting: VecDeque<MappingTarget>,
    running: Option<RunningMapping>,
    ticket: u64,
    /// When places with these hosts were measured unasked, and it failed.
    pub(super) tried: Vec<(Vec<String>, Millis)>,
    /// When places with these hosts were measured in the last day.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) measured: Vec<(Vec<String>, Millis)>,
    /// When doubtful hosts were.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) tried_hosts: BTreeMap<String, Millis>,
    /// The hosts that were in doubt at the last look.
    pub(super) doubted: Vec<String>,
    /// The next look for places to measure unasked.
    look: Option<Millis>,
    status: MappingStatus,
}

/// A measurement under way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct RunningMapping {
    ticket: u64,
    target: MappingTarget,
    progress: MappingProgress,
    link_losses: BTreeMap<String, CardLosses>,
    /// The switches that its hosts heard when it began.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    switches: BTreeMap<String, String>,
}

impl PlaceMapping {
    fn refuse(&mut self, line: String) {
        self.figures.refused += 1;
        self.course.fail(line);
    }
}

impl MappingCourse {
    /// True if nothing was ever ordered.
    pub(crate) fn is_empty(&self) -> bool {
        *self == MappingCourse::default()
    }

    fn is_idle(&self) -> bool {
        self.running.is_none() && self.waiting.is_empty()
    }

    fn try_unasked(&mut self, target: &MappingTarget, now: Millis) {
        match &target.subject {
            TargetSubject::Bridge(_) => self.tried.push((target.hosts.clone(), now)),
            TargetSubject::Hosts(_) => {
                let hosts = target.hosts.iter().map(|host| (host.clone(), now));
                self.tried_hosts.extend(hosts);
            }
        }
    }

    fn note_measured(&mut self, target: &MappingTarget, now: Millis) {
        if let TargetSubject::Bridge(_) = target.subject {
            self.tried.retain(|(hosts, _)| *hosts != target.hosts);
            self.measured.push((target.hosts.clone(), now));
        }
    }

    fn forget_results(&mut self) {
        (self.status.results, self.status.failures) = (Vec::new(), 0);
    }

    fn fail(&mut self, line: String) {
        self.status.failures += 1;
        self.status.results.push(line);
    }
}

impl PlaceMapping {
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
}

impl ControllerEngine {
    /// Takes an order to measure everything now that flows can tell.
    pub(super) fn take_mapping_order(
        &mut self,
        now: Millis,
        request: u64,
        fx: &mut Vec<ControllerEffect>,
    ) {
        let targets = self.targets();
        let mapping = &mut self.mapping;
        mapping.course.status.request = request;
        if mapping.course.running.is_some() {
            // The order that is being carried out is this one, too.
            return;
        }
        mapping.course.forget_results();
        match &self.inventory.measuring {
            None => mapping.refuse(
                "measuring: the inventory does not allow it; nothing was measured: add \
                 \"measuring: {}\" to it, and reload"
                    .to_owned(),
            ),
            Some(_) if targets.is_empty() => mapping.course.status.results.push(
                "no unmanaged switch has three hosts or more, and no host with an agent is in \
                 doubt; there is nothing to measure"
                    .to_owned(),
            ),
            Some(_) => mapping.course.waiting = targets.into(),
        }
        self.measure_next(now, fx);
    }

    /// Looks for places that no measurement is about, if the operator wants that.
    pub(super) fn look_for_places(&mut self, now: Millis, fx: &mut Vec<ControllerEffect>) {
        let unasked = self.inventory.measuring.as_ref().filter(|s| s.unasked);
        let Some(settings) = unasked else {
            self.mapping.course.look = None;
            return;
        };
        if self.mapping.course.look.is_some_and(|at| at > now) {
            return;
        }
        self.mapping.course.look = Some(now.after(LOOK));
        if !settings.allows(now) || !self.mapping.course.is_idle() {
            return;
        }
        let due = self.due_targets(now);
        let course = &mut self.mapping.course;
        if !due.is_empty() {
            // From now on viewers see the results of these.
            course.forget_results();
        }
        due.iter()
            .for_each(|target| course.try_unasked(target, now));
        course.waiting = due.into();
        self.measure_next(now, fx);
    }

    /// Begins the next measurement that is possible.
    fn measure_next(&mut self, now: Millis, fx: &mut Vec<ControllerEffect>) {
        while self.mapping.course.running.is_none()
            && let Some(target) = self.mapping.course.waiting.pop_front()
        {
            match self.mapping_order(now, &target) {
                Ok(order) => {
                    let progress = MappingProgress {
                        place: order.place.clone(),
                        hosts: (order.inside.len() + order.beside.len()) as u32,
                        budget: order.budget,
                        ..MappingProgress::default()
                    };
                    let text = format!(
                        "{}: flows between {} hosts are measured, at most {:.0} MB",
                        target.told(),
                        progress.hosts,
                        order.budget.0 as f64 / 1e6
                    );
                    self.public.log(now, EventLevel::Info, text, fx);
                    let switches = self.heard_by(&order.inside);
                    self.mapping.course.running = Some(RunningMapping {
                        switches,
                        ticket: order.ticket,
                        target,
                        progress,
                        link_losses: self.observed.link_losses(&order.inside),
                    });
                    fx.push(ControllerEffect::MapPlace(Box::new(order)));
                }
                Err(problem) => {
                    let text = format!("{}: {problem}; it is not measured", target.told());
                    self.public.log(now, EventLevel::Warning, text.clone(), fx);
                    self.mapping.refuse(text);
                }
            }
        }
    }

    /// The switches that these hosts hear.
    fn heard_by(&self, hosts: &[(String, IpAddr)]) -> BTreeMap<String, String> {
        let hearing = self.hearing();
        let switch =
            |host: &String| Some((host.clone(), (*hearing.get(host.as_str())?).to_owned()));
        hosts.iter().filter_map(|(host, _)| switch(host)).collect()
    }

    fn mapping_order(
        &mut self,
        now: Millis,
        target: &MappingTarget,
    ) -> Result<MappingOrder, String> {
        let Some(settings) = &self.inventory.measuring else {
            return Err("the inventory does not allow it any more".to_owned());
        };
        let budget = left(settings, &self.mapping.mapped, now)?;
        let members = self
            .observed
            .members(target, &self.inventory, &self.judged.topology);
        let members = members.map_err(|unfit| explained(&unfit))?;
        self.mapping.course.ticket += 1;
        Ok(MappingOrder {
            ticket: self.mapping.course.ticket,
            place: target.label(),
            inside: members.inside,
            beside: members.beside,
            budget,
            longest: settings.longest.min(settings.allowed_for(now)),
            share: settings.share.fraction(),
        })
    }

    /// Ends the measurement under way if the operator does not allow it any more.
    pub(super) fn end_forbidden_mapping(&mut self, now: Millis, fx: &mut Vec<ControllerEffect>) {
        let allowed = self.inventory.measuring.as_ref();
        if self.mapping.course.running.is_some() && !allowed.is_some_and(|s| s.allows(now)) {
            fx.push(ControllerEffect::EndMapping);
        }
    }

    /// Takes the end of a measurement.
    pub(super) fn take_mapping(
        &mut self,
        now: Millis,
        ticket: u64,
        outcome: MappingOutcome,
        fx: &mut Vec<ControllerEffect>,
    ) {
        let running = &mut self.mapping.course.running;
        let Some(running) = running.take_if(|running| running.ticket == ticket) else {
            return;
        };
        let target = running.target;
        Arc::make_mut(&mut self.mapping.mapped).spend(now, outcome.moved);
        let figures = &mut self.mapping.figures;
        figures.sent.0 += outcome.moved.0;
        figures.ended = Some(now);
        match (outcome.place, outcome.problem) {
            (Some(found), None) => {
                let found = MappedPlace {
                    link_losses: running.link_losses,
                    switches: running.switches,
                    ..found
                };
                figures.measured += 1;
                self.mapping.course.note_measured(&target, now);
                let lines = self.take_found(&target, found, &outcome.rates);
                let text = format!("{}: measured: {}", target.told(), lines.join("; "));
                self.public.log(now, EventLevel::Info, text, fx);
                let place = target.label();
                let lines = lines.into_iter().map(|line| match &target.subject {
                    TargetSubject::Bridge(_) => format!("{place}: {line}"),
                    TargetSubject::Hosts(_) => line,
                });
                self.mapping.course.status.results.extend(lines);
            }
            (_, problem) => {
                figures.failed += 1;
                let problem = problem.unwrap_or_default();
                let text = format!("{}: {problem}; what was known before stays", target.told());
                self.public.log(now, EventLevel::Warning, text.clone(), fx);
                self.mapping.course.fail(text);
            }
        }
        let kept = Arc::clone(&self.mapping.mapped);
        fx.push(ControllerEffect::KeepMapped(kept));
        self.measure_next(now, fx);
    }

    /// Takes what flows told, and says it line by line.
    fn take_found(
        &mut self,
        target: &MappingTarget,
        found: MappedPlace,
        rates: &BTreeMap<String, BitsPerSec>,
    ) -> Vec<String> {
        let mapped = Arc::make_mut(&mut self.mapping.mapped);
        self.observed.changed.extend(target.hosts.iter().cloned());
        self.wake = true;
        let lines = match &target.subject {
            TargetSubject::Bridge(bridge) => {
                let lines = told_place(&found);
                mapped.take(MappedPlace {
                    bridge: bridge.clone(),
                    rates: rates.clone(),
                    ..found
                });
                lines
            }
            TargetSubject::Hosts(hosts) => {
                let told = seat_findings(&self.judged.topology, hosts, &found);
                let (lines, seats) = told_hosts(hosts, &told, &found, rates);
                let is_ruled_out = |seat: &MappedSeat| {
                    let mut told = hosts.iter().zip(&told);
                    told.any(|(host, finding)| host.name == seat.host && finding.excludes(&seat.on))
                };
                mapped.seats.retain(|seat| !is_ruled_out(seat));
                seats.into_iter().for_each(|seat| mapped.take_seat(seat));
                lines
            }
        };
        self.memory.take_mapped(Arc::clone(&self.mapping.mapped));
        lines
    }

    /// Takes over what an earlier controller measured.
    pub(super) fn resume_mapping(&mut self, mapped: MappedPlaces) {
        self.mapping.mapped = Arc::new(mapped);
        self.memory.take_mapped(Arc::clone(&self.mapping.mapped));
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

fn explained(unfit: &UnfitTarget) -> String {
    match unfit {
        UnfitTarget::Silent(hosts) => format!(
            "no agent that measures reports for {}; start it there, without --no-measure",
            hosts.join(", ")
        ),
        UnfitTarget::Networks => "its hosts have no network in common".to_owned(),
        UnfitTarget::TooMany(hosts) => {
            format!("{hosts} hosts are more than one measurement holds")
        }
        UnfitTarget::NoWitnesses => {
            "too few hosts with an agent, in a network with it, are on the \
                                     switches where it may be; start agents there, or give it an \
                                     address in their network"
                .to_owned()
        }
    }
}
