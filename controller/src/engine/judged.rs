//! The inferred network and its judgement: topology, clusters, alarms, and the parts that flap.
use super::candidate::PublishedNetwork;
use super::damping::FlapDamping;
use super::further_networks::FurtherNetworks;
use super::judgement::{self, AbsentHosts, JudgementInput, NetworkJudgement};
use inventory::alarm::arguments::{KeptUntil, TreeDoubt};
use inventory::alarm::{Alarm, AlarmKind};
use inventory::device_view::DeviceViews;
use inventory::difference::TopologyDifference;
use inventory::inventory_file::Inventory;
use inventory::{Millis, Topology};
use std::sync::Arc;
use std::time::Duration;

/// The network as last inferred, and the judgement of it.
#[derive(Debug, Default)]
pub(super) struct JudgedNetwork {
    pub(super) topology: Arc<Topology>,
    pub(super) further: FurtherNetworks,
    pub(super) judgement: Option<NetworkJudgement>,
    pub(super) damping: FlapDamping,
    absent: AbsentHosts,
    /// The epoch that was current when the judgement was made, and the time of that.
    epoch: Option<u64>,
    at: Millis,
    news: TopologyNews,
}

/// The news about the network since its last judgement.
#[derive(Debug, Default)]
enum TopologyNews {
    /// The judgement is about another network.
    #[default]
    Everything,
    /// The topology is the same. Device tables may differ that it does not show.
    Nothing,
    /// The topology differs in this.
    Parts(Box<TopologyDifference>),
}

impl JudgedNetwork {
    /// Takes a new inference of all networks: the main one, and the hosts whose agents contradicted
    /// themselves. Returns whether any network differs.
    pub(super) fn infer(
        &mut self,
        now: Millis,
        topology: Topology,
        contradicted: Vec<String>,
    ) -> bool {
        let difference = TopologyDifference::between(&self.topology, &topology);
        let differs = difference.as_ref().is_some_and(|d| !d.changes().is_empty());
        if let Some(difference) = &difference {
            self.damping.compare(now, difference);
        }
        for host in contradicted {
            self.damping.claim_changed(now, host);
        }
        self.news = match (std::mem::take(&mut self.news), difference) {
            (TopologyNews::Nothing, Some(difference)) => TopologyNews::Parts(difference.into()),
            (TopologyNews::Nothing, None) => TopologyNews::Nothing,
            // Two differences in a row are not joined: they are rare.
            (TopologyNews::Parts(_) | TopologyNews::Everything, _) => TopologyNews::Everything,
        };
        self.topology = topology.into();
        differs
    }

    /// Drops the judgement: it was made with another inventory.
    pub(super) fn forget(&mut self) {
        self.news = TopologyNews::Everything;
        self.judgement = None;
    }

    /// Takes out the last judgement if it still holds: nothing in it depends on the time since. The
    /// caller makes sure that nothing new was inferred. This saves work, because judging a large
    /// network costs as much as inferring it.
    pub(super) fn take_steady(
        &mut self,
        now: Millis,
        settled: Option<&PublishedNetwork>,
        gone_after: Duration,
    ) -> Option<NetworkJudgement> {
        let times = self.absent.values().map(|since| since.after(gone_after));
        let passed = times.into_iter().any(|at| at > self.at && at <= now);
        let same_epoch = settled.is_some() && settled.map(|s| s.number) == self.epoch;
        // A judgement without absent hosts names no epoch. If its candidate was published, it is
        // the judgement that would be made now.
        let published = self.absent.is_empty() && self.is_published(settled);
        let steady = (same_epoch || published) && !passed && !self.damping.holds_anything();
        self.judgement.take_if(|_| steady)
    }

    /// Returns whether the candidate of the last judgement is what is published.
    fn is_published(&self, settled: Option<&PublishedNetwork>) -> bool {
        let candidate = self
            .judgement
            .as_ref()
            .and_then(|j| j.candidate.as_ref().ok());
        candidate
            .zip(settled)
            .is_some_and(|(candidate, settled)| candidate.key == settled.key)
    }

    /// Judges the network as last inferred.
    pub(super) fn judge(
        &mut self,
        now: Millis,
        inventory: &Inventory,
        views: &DeviceViews,
        settled: Option<&PublishedNetwork>,
        gone_after: Duration,
    ) -> NetworkJudgement {
        let same_ground = settled.map(|s| s.number) == self.epoch || self.is_published(settled);
        let JudgedNetwork {
            topology,
            damping,
            absent,
            news,
            ..
        } = self;
        let input = JudgementInput {
            inventory,
            views,
            topology,
            settled,
            damping,
            gone_after,
        };
        let last = self.judgement.take().filter(|_| same_ground);
        let moved = last.and_then(|last| match news {
            TopologyNews::Everything => None,
            TopologyNews::Nothing => judgement::judge_moved(now, &input, &last, None, absent),
            TopologyNews::Parts(parts) => {
                judgement::judge_moved(now, &input, &last, Some(parts), absent)
            }
        });
        let mut judgement = moved.unwrap_or_else(|| judgement::judge(now, &input, absent));
        self.news = TopologyNews::Nothing;
        self.further.judge(inventory, views, settled);
        if let Ok(candidate) = &mut judgement.candidate {
            self.further.add_to(candidate);
            settled.inspect(|settled| candidate.share_key(settled));
        }
        judgement
    }

    /// Keeps a judgement that was made at this time, while this epoch was published.
    pub(super) fn keep(
        &mut self,
        now: Millis,
        judgement: NetworkJudgement,
        published: Option<u64>,
    ) {
        (self.judgement, self.epoch, self.at) = (Some(judgement), published, now);
    }

    /// The times at which an absent host may be given up, or a held part released.
    pub(super) fn deadlines(&self, gone_after: Duration) -> impl Iterator<Item = Millis> + '_ {
        self.absent
            .values()
            .map(move |since| since.after(gone_after))
            .chain(self.damping.deadlines())
    }

    /// True if a host is kept on its switch until it hears one again.
    pub(super) fn awaits_frames(&self) -> bool {
        self.judgement.as_ref().is_some_and(|judgement| {
            let mut alarms = judgement.alarms.iter();
            alarms.any(|alarm| {
                matches!(
                    &alarm.kind,
                    AlarmKind::HostKept {
                        until: KeptUntil::Heard(_),
                        ..
                    }
                )
            })
        })
    }

    /// The alarms of the inference, without those that another alarm states in more detail. While hosts
    /// are awaited on their switches, the bridge of their network is none that anybody has to measure.
    pub(super) fn inferred_alarms(&self) -> impl Iterator<Item = &Alarm> {
        let awaits = self.awaits_frames();
        let alarms = self.topology.alarms.iter();
        alarms.filter(move |a| {
            let is_early = awaits && matches!(a.kind, AlarmKind::HostsInNetwork { .. });
            !is_early && !self.is_kept(a) && !self.damping.covers(a)
        })
    }

    /// The alarms of the judgement, with the reasons against a tree.
    pub(super) fn judged_alarms(&self, epoch: Option<u64>) -> Vec<Alarm> {
        let Some(judgement) = &self.judgement else {
            return Vec::new();
        };
        let mut alarms: Vec<Alarm> = judgement
            .alarms
            .iter()
            .filter(|a| !self.damping.covers(a))
            .cloned()
            .collect();
        let doubts = judgement
            .candidate
            .as_ref()
            .err()
            .filter(|doubts: &&Vec<TreeDoubt>| !doubts.is_empty());
        alarms.extend(doubts.map(|doubts| {
            let doubts = doubts.clone();
            Alarm::other("network", AlarmKind::NoTree { doubts, epoch })
        }));
        alarms
    }

    /// Returns whether the alarm is about a host that keeps its place: the judgement has an alarm
    /// with more detail for it.
    fn is_kept(&self, alarm: &Alarm) -> bool {
        let own = self
            .judgement
            .iter()
            .flat_map(|judgement| &judgement.alarms);
        let mut kept = own.filter(|own| matches!(own.kind, AlarmKind::HostKept { .. }));
        matches!(alarm.kind, AlarmKind::HostUnfound { .. })
            && kept.any(|own| own.subject == alarm.subject)
    }
}
