//! One message for each pair of hosts, in turns: the phases of an all-to-all among the hosts, with tokens.
//!
//! Bundles that go all at once overflow queues, and each call waits for a timer: in ns-3 at 10 Gbit/s they came to
//! 0.00 to 0.02 of the bound (docs/figures.md).
use super::{
    CallWay, DataCarrier, HostTraits, MOST_RANKS_BY_PAIRS, MessageForm, PlannedWay, PlanningSet,
    Way, aapc, bundled,
};
use crate::call_time::{AlltoallTime, wire};
use crate::decision_table::Collective;
use inventory::tree::Tree;
use inventory::{Bytes, TopologyFile};
use schedules::bundled as schedule;
use schedules::synchronization::SyncKind;
use schedules::verify::ScheduleViolation;

pub(super) struct BundlesInTurn;

impl CallWay for BundlesInTurn {
    fn usual(&self) -> Way {
        Way::BundledPhases
    }

    fn name(&self) -> &'static str {
        "bundled-phases"
    }

    fn carriers(&self) -> &'static [DataCarrier] {
        &[DataCarrier::Mpi]
    }

    fn serves(&self, _: Way, collective: Collective) -> bool {
        Way::Bundled.serves(collective)
    }

    fn form(&self) -> MessageForm {
        Way::Bundled.form()
    }

    fn is_by_hosts(&self) -> bool {
        true
    }

    fn plan<'a>(&self, _: Way, set: &PlanningSet<'a>) -> Result<PlannedWay<'a>, ScheduleViolation> {
        if set.hosts.hosts() as usize > MOST_RANKS_BY_PAIRS {
            let note = Some(format!(
                "no {}: more than {MOST_RANKS_BY_PAIRS} hosts",
                self.name()
            ));
            return Ok(PlannedWay {
                note,
                ..PlannedWay::default()
            });
        }
        let (plan, phases) = aapc::verified(set.hosts, SyncKind::Receiver.into())?;
        let host_of = set.host_of;
        let planned =
            PlannedWay::new(move |rank| vec![schedule::part_in_phases(host_of, &phases, rank)]);
        Ok(PlannedWay {
            together: bundled::most_together(host_of),
            phases: plan.phases.len(),
            ..planned
        }
        .with_digest((&plan.phases, &plan.syncs)))
    }

    /// Where bundles all at once lose nothing they need no turns: on one switch, in the lab, turns took 1.04 to 1.2 of
    /// the time.
    fn nanoseconds(&self, time: &AlltoallTime, _: Way, block: Bytes) -> Option<u64> {
        bundled::are_lost(time, block)
            .then(|| nanoseconds(time, block))
            .flatten()
    }

    fn is_tried(&self, hosts: HostTraits) -> bool {
        hosts.have_several_ranks
    }

    fn contenders(&self, _: &Tree, _: &TopologyFile) -> Vec<Way> {
        vec![Way::BundledPhases]
    }

    fn copies(&self) -> bool {
        true
    }
}

/// Tokens wait behind what their host has given to its card: two segments of 64 KiB (Linux's
/// `tcp_limit_output_bytes`), and of shorter bundles about a quarter, as measured in the lab.
const AHEAD: u64 = 128 << 10;
const AHEAD_PART: u64 = 4;

/// One bundle after the other over each link; `None` where hosts are too many for phases.
fn nanoseconds(time: &AlltoallTime, block: Bytes) -> Option<u64> {
    let sent = time.longest(|link| {
        let octets = bundled::octets(link, block);
        let ahead = (octets / AHEAD_PART).min(AHEAD);
        let bundle = wire(octets).saturating_add(ahead);
        bundle.saturating_mul(link.host_pairs)
    });
    let turns = time.host_phases?.saturating_mul(time.token(AHEAD));
    let all = sent.saturating_add(turns);
    Some(all.saturating_add(bundled::on_hosts(time, block)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use samples::trees::topology;
    use std::time::Duration;

    /// Four switches in a row, with two hosts each, at 20 Mbit/s; 8 ranks a host.
    fn chain() -> AlltoallTime {
        let tree = topology(
            "switches: [s0, s1, s2, s3]
hosts: {'n[0-1]': {switch: s0, rate: 20M}, 'n[2-3]': {switch: s1, rate: 20M}, 'n[4-5]': {switch: s2, rate: 20M}, 'n[6-7]': {switch: s3, rate: 20M}}
links: [{a: s0, b: s1, rate: 20M}, {a: s1, b: s2, rate: 20M}, {a: s2, b: s3, rate: 20M}]
",
        );
        let host_of: Vec<u32> = (0..64).map(|rank| rank / 8).collect();
        let time = AlltoallTime::of(&tree, &host_of, Duration::ZERO, None).unwrap();
        time.cutting_through()
    }

    /// Milliseconds under Open MPI and MPICH (`scripts/bench-mpi --per-host 8`).
    #[test]
    fn bundles_in_phases_take_about_what_was_measured() {
        for (block, measured) in [
            (64, [49.1, 38.5]),
            (512, [270.6, 296.2]),
            (2048, [1066.6, 1121.9]),
            (8192, [4165.5, 4414.6]),
        ] {
            let expected = nanoseconds(&chain(), Bytes(block)).unwrap() as f64 / 1e6;
            let ratios = measured.map(|ms| ms / expected);
            let are_near = ratios.iter().all(|ratio| (0.9..1.4).contains(ratio));
            assert!(are_near, "{block}: {ratios:?}");
        }
    }
}
