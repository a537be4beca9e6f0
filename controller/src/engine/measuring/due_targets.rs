//! The measurements that are due without an order.
use super::target::{DoubtfulHost, MappingTarget};
use super::unmanaged_places::UnmanagedPlaces;
use super::{FlowMeasuring, MeasuredNetwork};
use inventory::Millis;
use std::time::Duration;

/// The time before a host or a place whose measurement failed is measured unasked again.
const AGAIN: Duration = Duration::from_secs(3600);
/// The same for a place that was measured and is another now. It doubles with each measurement of a
/// day, so that a cable that is bad spends no budget.
const REST: Duration = Duration::from_secs(120);
const DAY: Duration = Duration::from_secs(86_400);

impl FlowMeasuring {
    /// The targets that are due without an order.
    pub(super) fn due_targets(
        &mut self,
        now: Millis,
        network: &MeasuredNetwork<'_>,
    ) -> Vec<MappingTarget> {
        let course = &mut self.course;
        course.tried.retain(|(_, at)| now.since(*at) < AGAIN);
        course.tried_hosts.retain(|_, at| now.since(*at) < AGAIN);
        course.measured.retain(|(_, at)| now.since(*at) < DAY);
        let mut due = self.due_hosts(network);
        if network.is_steady() {
            let places = network.places();
            due.extend(places.targets().into_iter().filter(|target| {
                !self.is_known(target, &places, network) && !self.rests(target, now)
            }));
            due.extend(self.way_target(network));
        }
        let tried = &self.course.tried;
        due.retain(|target| {
            // A target that cannot be measured yet is looked at again later.
            !tried.iter().any(|(hosts, _)| *hosts == target.hosts)
                && network.members(target).is_ok()
        });
        due
    }

    /// Hosts that were in doubt at the last look, too.
    fn due_hosts(&mut self, network: &MeasuredNetwork<'_>) -> Vec<MappingTarget> {
        let mut doubtful = network.doubtful();
        let tried = &self.course.tried_hosts;
        doubtful.retain(|host| self.is_unplaced(host, network) && !tried.contains_key(&host.name));
        let mut due = network.host_targets(doubtful);
        let names = due.iter().flat_map(|target| target.hosts.clone()).collect();
        let doubted = std::mem::replace(&mut self.course.doubted, names);
        due.retain(|target| target.hosts.iter().all(|host| doubted.contains(host)));
        due
    }

    /// True if no measurement placed the host, or its link was lost since.
    fn is_unplaced(&self, host: &DoubtfulHost, network: &MeasuredNetwork<'_>) -> bool {
        let report = network.report(&host.name);
        !host.is_placed || self.mapped.may_have_left(&host.name, report)
    }

    /// True if any of these hosts was measured too lately.
    fn rests(&self, place: &MappingTarget, now: Millis) -> bool {
        let measured = self.course.measured.iter();
        let times =
            measured.filter(|(hosts, _)| hosts.iter().any(|host| place.hosts.contains(host)));
        // Five doublings of REST are beyond AGAIN.
        let doublings = (times.clone().count().saturating_sub(1)).min(5) as u32;
        let rest = (REST * 2_u32.pow(doublings)).min(AGAIN);
        times
            .map(|(_, at)| *at)
            .max()
            .is_some_and(|last| now.since(last) < rest)
    }

    /// True if a measurement is about the present hosts of this place, or, where no switch is listed,
    /// about others, too. A host that hears a switch is known to be there, whatever became of its link
    /// since, but the way to a switch that announced itself to no host then is not known.
    fn is_known(
        &self,
        place: &MappingTarget,
        places: &UnmanagedPlaces<'_>,
        network: &MeasuredNetwork<'_>,
    ) -> bool {
        let hosts: Vec<&str> = place.hosts.iter().map(String::as_str).collect();
        let alone = network.lists_no_switch();
        let hearing = network.hearing();
        let mut measured = self.mapped.places.iter().filter(|measured| {
            let is_about = measured.is_about(&hosts) || (alone && measured.covers(&hosts));
            let mut moved = measured.moved(|host| network.report(host)).into_iter();
            is_about && moved.all(|host| hearing.contains_key(host))
        });
        measured.next().is_some() && !(alone && places.is_open(place))
    }
}
