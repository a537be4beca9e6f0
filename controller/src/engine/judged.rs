//! The inferred network and its judgement: topology, clusters, alarms, and the parts that flap.
use super::alarms::ControllerAlarm;
use super::candidate::PublishedNetwork;
use super::damping::FlapDamping;
use super::judgement::{self, AbsentHosts, JudgementInput, NetworkJudgement};
use super::tree_doubt::TreeDoubt;
use inventory::alarm::{Alarm, AlarmKind, AlarmSubject};
use inventory::device_view::DeviceViews;
use inventory::inventory_file::Inventory;
use inventory::{Millis, Topology, diff};
use std::time::Duration;

/// The network as last inferred, and the judgement of it.
#[derive(Debug, Default)]
pub(super) struct JudgedNetwork {
    pub(super) topology: Topology,
    pub(super) judgement: Option<NetworkJudgement>,
    pub(super) damping: FlapDamping,
    absent: AbsentHosts,
    /// The epoch that was current when the judgement was made.
    epoch: Option<u64>,
}

impl JudgedNetwork {
    /// Takes a new inference, and the hosts whose agents contradicted themselves. Returns whether
    /// the network differs.
    pub(super) fn infer(
        &mut self,
        now: Millis,
        topology: Topology,
        contradicted: Vec<String>,
    ) -> bool {
        let differs = !diff::diff(&self.topology, &topology).is_empty();
        self.damping.compare(now, &self.topology, &topology);
        for host in contradicted {
            self.damping.claim_changed(now, host);
        }
        self.topology = topology;
        differs
    }

    /// Takes out the last judgement if it still holds: it was made with the same epoch published,
    /// and nothing in it depends on time. The caller makes sure that nothing new was inferred. This
    /// saves work, because judging a large network costs as much as inferring it.
    pub(super) fn take_steady(&mut self, published: Option<u64>) -> Option<NetworkJudgement> {
        let steady = published.is_some()
            && published == self.epoch
            && self.absent.is_empty()
            && !self.damping.holds_anything();
        self.judgement.take().filter(|_| steady)
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
        let JudgedNetwork {
            topology,
            damping,
            absent,
            ..
        } = self;
        judgement::judge(
            now,
            &JudgementInput {
                inventory,
                views,
                topology,
                settled,
                damping,
                gone_after,
            },
            absent,
        )
    }

    /// Keeps a judgement that was made while this epoch was published.
    pub(super) fn keep(&mut self, judgement: NetworkJudgement, published: Option<u64>) {
        (self.judgement, self.epoch) = (Some(judgement), published);
    }

    /// The times at which an absent host may be given up, or a held part released.
    pub(super) fn deadlines(&self, gone_after: Duration) -> impl Iterator<Item = Millis> + '_ {
        self.absent
            .values()
            .map(move |since| since.after(gone_after))
            .chain(self.damping.deadlines())
    }

    /// The alarms of the inference, without those that another alarm states in more detail.
    pub(super) fn inferred_alarms(&self) -> impl Iterator<Item = &Alarm> {
        self.topology
            .alarms
            .iter()
            .filter(|a| !self.is_kept(a) && !self.damping.covers(a))
    }

    /// The alarms of the judgement, with the reasons against a tree.
    pub(super) fn judged_alarms(&self, epoch: Option<u64>) -> Vec<ControllerAlarm> {
        let Some(judgement) = &self.judgement else {
            return Vec::new();
        };
        let mut alarms: Vec<ControllerAlarm> = judgement
            .alarms
            .iter()
            .filter(|a| !self.damping.covers_controller_alarm(a))
            .cloned()
            .collect();
        let doubts = judgement
            .candidate
            .as_ref()
            .err()
            .filter(|doubts: &&Vec<TreeDoubt>| !doubts.is_empty());
        alarms.extend(doubts.map(|doubts| ControllerAlarm::NoTree(doubts.clone(), epoch)));
        alarms
    }

    /// Returns whether the alarm is about a host that keeps its place: the judgement has an alarm
    /// with more detail for it.
    fn is_kept(&self, alarm: &Alarm) -> bool {
        let (AlarmSubject::Node(name), AlarmKind::HostUnfound(_)) = (&alarm.subject, &alarm.kind)
        else {
            return false;
        };
        let kept = |own: &ControllerAlarm| match own {
            ControllerAlarm::HostKept { host, .. } => host == name,
            _ => false,
        };
        self.judgement
            .as_ref()
            .is_some_and(|judgement| judgement.alarms.iter().any(kept))
    }
}
