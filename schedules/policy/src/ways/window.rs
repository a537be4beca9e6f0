//! The phases of an all-to-all over TCP, with a limit of octets under way in the place of tokens.
use super::{CallWay, DataCarrier, HostTraits, MessageForm, PlannedPart, PlanningSet, Way, aapc};
use crate::call_time::{AlltoallTime, WAKE, wire};
use crate::decision_table::{Collective, CollectiveTraffic};
use inventory::tree::Tree;
use inventory::{Bytes, TopologyFile};
use schedules::synchronization::SyncKind;
use schedules::synchronization::scheme::{SyncMechanism, SyncScheme};
use schedules::verify::{self, ScheduleViolation};
use schedules::window::OctetWindow;

pub(super) struct WindowedPhases;

impl CallWay for WindowedPhases {
    fn usual(&self) -> Way {
        super::phases(SyncScheme::WINDOW)
    }

    fn is(&self, way: Way) -> bool {
        way.sync()
            .is_some_and(|sync| sync.mechanism() == SyncMechanism::Window)
    }

    fn name(&self) -> &'static str {
        aapc::NAME
    }

    fn carriers(&self) -> &'static [DataCarrier] {
        &[DataCarrier::Tcp]
    }

    /// Only TCP says what has come.
    fn serves(&self, way: Way, collective: Collective) -> bool {
        way.carrier() == Some(DataCarrier::Tcp)
            && collective.traffic() == CollectiveTraffic::Exchange
    }

    fn form(&self) -> MessageForm {
        MessageForm::Blocks
    }

    fn plan(&self, _: Way, set: &PlanningSet<'_>) -> Result<PlannedPart, ScheduleViolation> {
        let window = OctetWindow::of(set.hosts, set.host_of);
        verify::window(set.hosts, set.host_of, window)?;
        aapc::planned(SyncScheme::WINDOW, set, |part| {
            part.window = Some(window.octets);
        })
    }

    fn nanoseconds(&self, time: &AlltoallTime, way: Way, block: Bytes) -> Option<u64> {
        let holds = way.carrier() == Some(DataCarrier::Tcp) && block <= time.held;
        holds.then(|| nanoseconds(time, block))
    }

    fn is_tried(&self, hosts: HostTraits) -> bool {
        hosts.have_several_ranks
    }

    /// A window holds blocks of one size: where longer ones do not fit, tokens keep them apart.
    fn with_longer_blocks(&self, _: Way) -> Option<Way> {
        Some(super::phases(SyncKind::Receiver))
    }

    fn contenders(&self, _: &Tree, _: &TopologyFile) -> Vec<Way> {
        vec![self.usual()]
    }
}

/// A message waits until others have arrived.
fn nanoseconds(time: &AlltoallTime, block: Bytes) -> u64 {
    let sent = time.longest(|link| wire(block.0).saturating_mul(link.blocks));
    let steps = time.phases.saturating_mul(WAKE);
    sent.saturating_add(steps).saturating_add(2 * time.delay)
}
