//! The measurements that are due: with an order, and without one.
use super::ControllerEngine;
use super::doubtful_hosts::{doubtful_hosts, host_targets};
use super::mapping_target::{DoubtfulHost, MappingTarget};
use super::measuring_addresses::MeasuringAddresses;
use super::unmanaged_places::UnmanagedPlaces;
use inventory::Millis;
use inventory::host_report::HostReport;
use inventory::mapped_place::MappedPlace;
use inventory::topology::NodeKind;
use std::collections::BTreeMap;
use std::time::Duration;

/// The time before a host or a place whose measurement failed is measured unasked again.
const AGAIN: Duration = Duration::from_secs(3600);
/// The same for a place that was measured and is another now. It doubles with each measurement of a
/// day, so that a cable that is bad spends no budget.
const REST: Duration = Duration::from_secs(120);
const DAY: Duration = Duration::from_secs(86_400);

impl ControllerEngine {
    /// All that flows can tell: hosts first, because a place is measured with all of its hosts.
    pub(super) fn targets(&self) -> Vec<MappingTarget> {
        let mut targets = host_targets(self.doubtful(), &self.addresses());
        targets.extend(self.places().targets());
        targets
    }

    /// The targets that are due without an order.
    pub(super) fn due_targets(&mut self, now: Millis) -> Vec<MappingTarget> {
        let course = &mut self.mapping.course;
        course.tried.retain(|(_, at)| now.since(*at) < AGAIN);
        course.tried_hosts.retain(|_, at| now.since(*at) < AGAIN);
        course.measured.retain(|(_, at)| now.since(*at) < DAY);
        let mut doubtful = self.doubtful();
        let tried = &self.mapping.course.tried_hosts;
        doubtful.retain(|host| self.is_unplaced(host) && !tried.contains_key(&host.name));
        let mut due = host_targets(doubtful, &self.addresses());
        let names = due.iter().flat_map(|target| target.hosts.clone()).collect();
        let doubted = std::mem::replace(&mut self.mapping.course.doubted, names);
        due.retain(|target| target.hosts.iter().all(|host| doubted.contains(host)));
        let is_steady = self.making.hold_down.held().is_none() && !self.judged.awaits_frames();
        if self.public.settled.is_some() && is_steady {
            let places = self.places();
            let is_due = |target: &MappingTarget| {
                !self.is_known(target, &places) && !self.rests(target, now)
            };
            due.extend(places.targets().into_iter().filter(is_due));
        }
        let tried = &self.mapping.course.tried;
        due.retain(|target| !tried.iter().any(|(hosts, _)| *hosts == target.hosts));
        // A target that cannot be measured yet is looked at again later.
        let (inventory, topology) = (&self.inventory, &self.judged.topology);
        let is_fit = |target: &MappingTarget| {
            let members = self.observed.members(target, inventory, topology);
            members.is_ok()
        };
        due.retain(is_fit);
        due
    }

    fn places(&self) -> UnmanagedPlaces<'_> {
        UnmanagedPlaces::new(&self.judged.topology, self.inventory.switches.is_empty())
    }

    fn addresses(&self) -> MeasuringAddresses<'_> {
        MeasuringAddresses::new(&self.observed, &self.judged.topology)
    }

    fn doubtful(&self) -> Vec<DoubtfulHost> {
        doubtful_hosts(&self.judged.topology, &self.observed.views, &self.inventory)
    }

    fn report(&self, host: &str) -> Option<&HostReport> {
        self.observed.views.get(host)?.host.as_ref()
    }

    /// True if no measurement placed the host, or its link was lost since.
    fn is_unplaced(&self, host: &DoubtfulHost) -> bool {
        let mapped = &self.mapping.mapped;
        !host.is_placed || mapped.may_have_left(&host.name, self.report(&host.name))
    }

    /// True if any of these hosts was measured too lately.
    fn rests(&self, place: &MappingTarget, now: Millis) -> bool {
        let is_shared = |hosts: &[String]| hosts.iter().any(|host| place.hosts.contains(host));
        let measured = self.mapping.course.measured.iter();
        let times = measured.filter(|(hosts, _)| is_shared(hosts));
        let doublings = (times.clone().count().saturating_sub(1)).min(5) as u32;
        let rest = (REST * 2_u32.pow(doublings)).min(AGAIN);
        times
            .map(|(_, at)| *at)
            .max()
            .is_some_and(|last| now.since(last) < rest)
    }

    /// True if a measurement is about the present hosts of this place, or, where no switch is listed,
    /// about others, too. A host that hears a switch is known to be there, whatever became of its link
    /// since, but the way to a switch that no host heard then is not known.
    fn is_known(&self, place: &MappingTarget, places: &UnmanagedPlaces<'_>) -> bool {
        let hosts: Vec<&str> = place.hosts.iter().map(String::as_str).collect();
        let alone = self.inventory.switches.is_empty();
        let hearing = self.hearing();
        let stays = |m: &MappedPlace| {
            let mut moved = m.moved(|host| self.report(host)).into_iter();
            moved.all(|host| hearing.contains_key(host))
        };
        let is_about = |m: &MappedPlace| m.is_about(&hosts) || (alone && m.covers(&hosts));
        let known = |m: &MappedPlace| is_about(m) && stays(m);
        let mut measured = self.mapping.mapped.places.iter();
        measured.any(known) && !(alone && places.is_open(place))
    }

    /// The switch of each host that hears one, where none is listed.
    pub(super) fn hearing(&self) -> BTreeMap<&str, &str> {
        let topology = &self.judged.topology;
        let kinds = topology.kinds();
        let alone = self.inventory.switches.is_empty();
        let seats = topology.attachments().into_iter();
        let on_switch = seats.map(|(host, (node, _))| (host, node));
        on_switch
            .filter(|(_, node)| alone && kinds.get(node) == Some(&NodeKind::Switch))
            .collect()
    }
}
