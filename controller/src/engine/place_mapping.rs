//! Measurements of flows between hosts, where no switch answers: when one runs, among which hosts,
//! and what becomes of its result.
//!
//! The operator allows them in the inventory. An order measures every unmanaged place once. Unasked,
//! a place is measured if no measurement is about its present hosts, and not again for an hour.
use super::unmanaged_places::{UnfitPlace, UnmanagedPlace, unmanaged_places};
use super::{ControllerEffect, ControllerEngine};
use api::EventLevel;
use api::mapping::{MappingProgress, MappingStatus};
use inventory::inventory_file::MeasuringSettings;
use inventory::mapped_place::{MappedPlace, MappedPlaces, PlaceTrunk};
use inventory::units::milliseconds;
use inventory::{Bytes, Millis};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

/// The time before a place is measured unasked again.
const AGAIN: Duration = Duration::from_secs(3600);
/// The time between two looks for places to measure unasked.
const LOOK: Duration = Duration::from_secs(30);

/// The order to measure a place.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MappingOrder {
    /// Its number; the answer quotes it.
    pub ticket: u64,
    /// The unmanaged bridge.
    pub bridge: String,
    /// The hosts behind it, with their addresses.
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

/// What a measurement came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MappingOutcome {
    /// The place; `None` if it is not known.
    pub place: Option<MappedPlace>,
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
            moved: Bytes(0),
            problem: Some(problem),
        }
    }
}

/// The measurements so far, and those to come.
#[derive(Debug, Default)]
pub(super) struct PlaceMapping {
    pub(super) mapped: Arc<MappedPlaces>,
    waiting: VecDeque<UnmanagedPlace>,
    running: Option<(u64, UnmanagedPlace, MappingProgress)>,
    ticket: u64,
    /// When a place was measured unasked, by its hosts.
    tried: BTreeMap<Vec<String>, Millis>,
    /// The next look for places to measure unasked.
    look: Option<Millis>,
    status: MappingStatus,
}

impl PlaceMapping {
    /// What viewers see.
    pub(super) fn status(&self, allowed: bool) -> MappingStatus {
        MappingStatus {
            allowed,
            running: self
                .running
                .as_ref()
                .map(|(_, _, progress)| progress.clone()),
            waiting: self
                .waiting
                .iter()
                .map(|place| place.bridge.clone())
                .collect(),
            ..self.status.clone()
        }
    }

    /// The time of the next look.
    pub(super) fn deadline(&self) -> Option<Millis> {
        self.look
    }

    fn fail(&mut self, line: String) {
        self.status.failures += 1;
        self.status.results.push(line);
    }
}

impl ControllerEngine {
    /// Takes an order to measure every unmanaged place now.
    pub(super) fn take_mapping_order(
        &mut self,
        now: Millis,
        request: u64,
        fx: &mut Vec<ControllerEffect>,
    ) {
        self.mapping.status.request = request;
        if self.mapping.running.is_some() {
            // The order that is being carried out is this one, too.
            return;
        }
        (self.mapping.status.results, self.mapping.status.failures) = (Vec::new(), 0);
        let places = unmanaged_places(&self.judged.topology);
        match &self.inventory.measuring {
            None => self.mapping.fail(
                "measuring: the inventory does not allow it; nothing was measured: add \
                 \"measuring: {}\" to it, and reload"
                    .to_owned(),
            ),
            Some(_) if places.is_empty() => self.mapping.status.results.push(
                "no unmanaged switch has three hosts or more; there is nothing to measure"
                    .to_owned(),
            ),
            Some(_) => self.mapping.waiting = places.into(),
        }
        self.measure_next(now, fx);
    }

    /// Looks for places that no measurement is about, if the operator wants that.
    pub(super) fn look_for_places(&mut self, now: Millis, fx: &mut Vec<ControllerEffect>) {
        let unasked = self.inventory.measuring.as_ref().filter(|s| s.unasked);
        let Some(settings) = unasked else {
            self.mapping.look = None;
            return;
        };
        if self.mapping.look.is_some_and(|at| at > now) {
            return;
        }
        self.mapping.look = Some(now.after(LOOK));
        let is_idle = self.mapping.running.is_none() && self.mapping.waiting.is_empty();
        let is_settled = self.public.settled.is_some() && self.making.hold_down.held().is_none();
        if !settings.allows(now) || !is_idle || !is_settled {
            return;
        }
        let mapping = &mut self.mapping;
        mapping.tried.retain(|_, at| now.since(*at) < AGAIN);
        let mut places = unmanaged_places(&self.judged.topology);
        places.retain(|place| {
            let hosts: Vec<&str> = place.hosts.iter().map(String::as_str).collect();
            let known = mapping.mapped.places.iter().any(|m| m.is_about(&hosts));
            !known && !mapping.tried.contains_key(&place.hosts)
        });
        // A place whose agents do not all report yet is looked at again.
        let topology = &self.judged.topology;
        places.retain(|place| {
            self.observed
                .members(place, &self.inventory, topology)
                .is_ok()
        });
        if !places.is_empty() {
            // What viewers see is of these.
            (mapping.status.results, mapping.status.failures) = (Vec::new(), 0);
        }
        mapping
            .tried
            .extend(places.iter().map(|place| (place.hosts.clone(), now)));
        mapping.waiting = places.into();
        self.measure_next(now, fx);
    }

    /// Begins the next measurement that is possible.
    fn measure_next(&mut self, now: Millis, fx: &mut Vec<ControllerEffect>) {
        while self.mapping.running.is_none()
            && let Some(place) = self.mapping.waiting.pop_front()
        {
            match self.mapping_order(now, &place) {
                Ok(order) => {
                    let progress = MappingProgress {
                        place: place.bridge.clone(),
                        hosts: (order.inside.len() + order.beside.len()) as u32,
                        budget: order.budget,
                        ..MappingProgress::default()
                    };
                    let text = format!(
                        "unmanaged bridge \"{}\": flows between {} hosts are measured, at most \
                         {:.0} MB",
                        place.bridge,
                        progress.hosts,
                        order.budget.0 as f64 / 1e6
                    );
                    self.public.log(now, EventLevel::Info, text, fx);
                    self.mapping.running = Some((order.ticket, place, progress));
                    fx.push(ControllerEffect::MapPlace(Box::new(order)));
                }
                Err(problem) => {
                    let text = format!(
                        "unmanaged bridge \"{}\": {problem}; it is not measured",
                        place.bridge
                    );
                    self.public.log(now, EventLevel::Warning, text.clone(), fx);
                    self.mapping.fail(text);
                }
            }
        }
    }

    fn mapping_order(
        &mut self,
        now: Millis,
        place: &UnmanagedPlace,
    ) -> Result<MappingOrder, String> {
        let Some(settings) = &self.inventory.measuring else {
            return Err("the inventory does not allow it any more".to_owned());
        };
        let budget = left(settings, &self.mapping.mapped, now)?;
        let members = self
            .observed
            .members(place, &self.inventory, &self.judged.topology);
        let members = members.map_err(|unfit| explained(&unfit))?;
        self.mapping.ticket += 1;
        Ok(MappingOrder {
            ticket: self.mapping.ticket,
            bridge: place.bridge.clone(),
            inside: members.inside,
            beside: members.beside,
            budget,
            longest: settings.longest,
            share: settings.share.fraction(),
        })
    }

    /// Takes the end of a measurement.
    pub(super) fn take_mapping(
        &mut self,
        now: Millis,
        ticket: u64,
        outcome: MappingOutcome,
        fx: &mut Vec<ControllerEffect>,
    ) {
        let Some((_, place, _)) = self.mapping.running.take_if(|(own, ..)| *own == ticket) else {
            return;
        };
        let mapped = Arc::make_mut(&mut self.mapping.mapped);
        mapped.spend(now, outcome.moved);
        match (outcome.place, outcome.problem) {
            (Some(found), None) => {
                let lines = told(&found);
                let text = format!(
                    "unmanaged bridge \"{}\": measured: {}",
                    place.bridge,
                    lines.join("; ")
                );
                self.public.log(now, EventLevel::Info, text, fx);
                let place = format!("{}: ", place.bridge);
                self.mapping
                    .status
                    .results
                    .extend(lines.iter().map(|l| format!("{place}{l}")));
                self.observed.changed.extend(found.hosts.iter().cloned());
                mapped.take(found);
                self.memory.take_mapped(mapped.places.clone());
                self.wake = true;
            }
            (_, problem) => {
                let problem = problem.unwrap_or_default();
                let text = format!(
                    "unmanaged bridge \"{}\": {problem}; what was known before stays",
                    place.bridge
                );
                self.public.log(now, EventLevel::Warning, text.clone(), fx);
                self.mapping.fail(text);
            }
        }
        fx.push(ControllerEffect::KeepMapped(Arc::clone(
            &self.mapping.mapped,
        )));
        self.measure_next(now, fx);
    }

    /// Takes over what an earlier controller measured.
    pub(super) fn resume_mapping(&mut self, mapped: MappedPlaces) {
        self.memory.take_mapped(mapped.places.clone());
        self.mapping.mapped = Arc::new(mapped);
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

fn explained(unfit: &UnfitPlace) -> String {
    match unfit {
        UnfitPlace::Silent(hosts) => format!(
            "no agent that measures reports for {}; start it there, without --no-measure",
            hosts.join(", ")
        ),
        UnfitPlace::Networks => "its hosts have no network in common".to_owned(),
        UnfitPlace::TooMany(hosts) => {
            format!("{hosts} hosts are more than one measurement holds")
        }
    }
}

/// The result, line by line.
fn told(place: &MappedPlace) -> Vec<String> {
    let trunk = |trunk: &PlaceTrunk| {
        let own = trunk.side.iter().filter(|host| place.hosts.contains(host));
        format!(
            "trunk {} beside {}: probability {}.{:03}, filled {} times",
            trunk.rate,
            own.cloned().collect::<Vec<_>>().join(" "),
            trunk.probability / 1000,
            trunk.probability % 1000,
            trunk.filled
        )
    };
    let cost = format!(
        "{} rounds, {:.1} MB moved",
        place.rounds,
        place.moved.0 as f64 / 1e6
    );
    // The others are the way in, and trunks elsewhere.
    let is_inside = |trunk: &&PlaceTrunk| {
        let own = trunk.side.iter().filter(|host| place.hosts.contains(host));
        (1..place.hosts.len()).contains(&own.count())
    };
    let mut lines: Vec<String> = place.trunks.iter().filter(is_inside).map(trunk).collect();
    if lines.is_empty() {
        lines.push("no cable between its hosts is a bottleneck".to_owned());
    }
    lines.push(cost);
    lines
}
