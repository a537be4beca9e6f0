//! The phases of an all-to-all over TCP, with a limit of octets under way in the place of tokens.
use super::{CallWay, DataCarrier, HostTraits, MessageForm, PlannedWay, PlanningSet, Way, aapc};
use crate::call_time::{AlltoallTime, WAKE, wire};
use crate::decision_table::{Collective, OverflowingCall, TOKENS, UnmeasuredSet};
use inventory::tree::Tree;
use inventory::{Bytes, TopologyFile};
use schedules::synchronization::SyncKind;
use schedules::synchronization::scheme::{SyncMechanism, SyncScheme};
use schedules::verify::{self, ScheduleViolation};
use schedules::window::OctetWindow;
use std::ops::Range;
use std::time::Duration;

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

    fn serves(&self, way: Way, collective: Collective) -> bool {
        aapc::goes_over_tcp(way, collective)
    }

    fn form(&self) -> MessageForm {
        MessageForm::Blocks
    }

    fn plan<'a>(&self, _: Way, set: &PlanningSet<'a>) -> Result<PlannedWay<'a>, ScheduleViolation> {
        let window = OctetWindow::of(set.hosts, set.host_of);
        verify::window(set.hosts, set.host_of, window)?;
        aapc::planned(SyncScheme::WINDOW, set, Some(window.octets))
    }

    fn nanoseconds(&self, time: &AlltoallTime, way: Way, block: Bytes) -> Option<u64> {
        let holds = way.is_over_tcp() && block <= time.held;
        holds.then(|| nanoseconds(time, block))
    }

    /// Where the library's own routine overflows a queue, as long as queues mostly hold the blocks.
    fn pays(&self, set: &UnmeasuredSet<'_>, collective: Collective) -> Option<(Range<Bytes>, Way)> {
        if collective != Collective::Alltoall || aapc::goes_in_runs(set) {
            return None;
        }
        let tokens = aapc::smallest(set)?;
        let overflowing = set.overflowing()?;
        let (bottleneck, longer) = (set.alltoall()?, TOKENS * set.delay);
        let lasting = ALLTOALL_IN_A_WINDOW.smallest_block(set.hosts, bottleneck, longer);
        let held = OctetWindow::of(set.hosts, set.host_of).largest_block;
        let (longer, by) = HELD_MOSTLY;
        let end = Bytes((held.0 + 1) * longer / by).min(tokens);
        Some((overflowing.max(lasting)..end, self.usual()))
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

/// Blocks that wait for no tokens may be short.
const ALLTOALL_IN_A_WINDOW: OverflowingCall = OverflowingCall {
    octets: Bytes(0),
    block: Duration::from_micros(300),
    on_fast_links: (Bytes(0), Duration::from_micros(300)),
};
/// Where the library's own routine would go otherwise, blocks half as long again as those that all
/// queues hold go in a window, too: the windows of all ranks are seldom full at once. They took 0.84
/// to 0.99 of the library's time on stars of 16 and 24 hosts, and twice as long ones 1.03 to 1.09.
const HELD_MOSTLY: (u64, u64) = (3, 2);
