//! Before any call goes another way than the library's own, the ranks make sure that the library's
//! messages cross the tree that they follow.
use super::SetAgreement;
use crate::call_comm::CallComm;
use crate::mpi_result::MpiResult;
use inventory::Bytes;
use policy::call_policy::CallPolicy;
use policy::decision_table::{Collective, Way};
use runtime::agreement_pace::AgreementPace;
use runtime::network_evidence::{self, NetworkVerdict, REPORT, RankEvidence};
use runtime::plan::FollowedEpoch;
use runtime::watchdog;
use std::time::{Duration, Instant};

/// Octets of each rank that go to all others where that is all that shows which network they cross. More
/// would cost as much as a call: MPICH's allgather of 512 B took 64 ranks half a second at 20 Mbit/s.
const SHOWING: usize = 64;

/// The knowledge about the network that the library uses, the same on all ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum NetworkKnowledge {
    /// Nobody looked since the epoch was taken up.
    #[default]
    Unknown,
    /// The ranks look after the call under way, which goes the library's way.
    Asked,
    OfTheTree,
}

impl NetworkKnowledge {
    /// Where the ranks do not look, an operator knows.
    pub(super) fn before(looks: bool) -> NetworkKnowledge {
        if looks {
            NetworkKnowledge::Unknown
        } else {
            NetworkKnowledge::OfTheTree
        }
    }
}

impl SetAgreement {
    /// True if the ranks look first, after a call that goes the library's way. Not where the environment
    /// forces a way, nor where no address says what to look for: then nothing goes over TCP.
    fn asks_network(&self, policy: &CallPolicy, collective: Collective) -> bool {
        self.network != NetworkKnowledge::OfTheTree
            && !policy.is_forced(collective)
            && self
                .followed()
                .is_some_and(|followed| followed.view.host_addresses().is_some())
    }

    /// True if the ranks look after the call under way.
    pub(crate) fn looks_after_this_call(&self) -> bool {
        self.network == NetworkKnowledge::Asked
    }

    /// The ranks look after this call, if they do at all.
    pub(crate) fn ask_network(&mut self, policy: &CallPolicy, collective: Collective) {
        if self.asks_network(policy, collective) {
            self.network = NetworkKnowledge::Asked;
        }
    }

    /// True if the next call may go another way than the library's: it is known that the library's messages
    /// cross the tree. If not, this call goes the library's way, and the ranks look after it; before a long
    /// one, they look at once. Collective.
    pub(crate) fn may_leave_the_library(
        &mut self,
        within: &CallComm,
        policy: &CallPolicy,
        collective: Collective,
        block: u64,
    ) -> MpiResult<bool> {
        if !self.asks_network(policy, collective) {
            return Ok(true);
        }
        if policy.takes_long(collective, block) && self.shows_network(within)? {
            self.network = NetworkKnowledge::OfTheTree;
            return Ok(true);
        }
        self.network = NetworkKnowledge::Asked;
        Ok(false)
    }

    /// True if a few messages of the library's show that they cross the tree; nothing follows if they do
    /// not. Collective.
    fn shows_network(&self, within: &CallComm) -> MpiResult<bool> {
        let Some(FollowedEpoch { view, .. }) = self.followed() else {
            return Ok(false);
        };
        watchdog::begin_wait(|| format!("{}: a first look at the networks", self.me()));
        within.gather_all(&[0; SHOWING])?;
        let hosts = view.host_addresses().unwrap_or_default();
        let own = RankEvidence::collected(&hosts, Duration::ZERO);
        let moved = Bytes(SHOWING as u64);
        let between_hosts = view.octets_between_hosts(Collective::Allgather, moved);
        let reports = self.reports(within, own)?;
        // These messages are too short for a time to say anything.
        let verdict = network_evidence::verdict(&reports, between_hosts, Duration::ZERO);
        Ok(verdict == NetworkVerdict::OnTree)
    }

    /// The reports of all ranks. Collective.
    fn reports(&self, within: &CallComm, own: RankEvidence) -> MpiResult<Vec<RankEvidence>> {
        let gathered = within.gather_all(&own.to_bytes())?;
        let reports = gathered.as_chunks::<REPORT>().0.iter();
        Ok(reports.map(RankEvidence::from_bytes).collect())
    }

    /// A call has gone, and took so long here. If the ranks want to look after it, all report what they see: when they
    /// met, and why they stand aside where that is another network. Collective.
    pub(crate) fn look_for_network(
        &mut self,
        within: &CallComm,
        (collective, _, block): (Collective, Way, u64),
        took: Duration,
    ) -> MpiResult<Option<(Instant, Option<String>)>> {
        if self.network != NetworkKnowledge::Asked {
            return Ok(None);
        }
        let Some(FollowedEpoch { view, .. }) = self.followed() else {
            return Ok(None);
        };
        let hosts = view.host_addresses().unwrap_or_default();
        watchdog::begin_wait(|| format!("{}: the networks of all ranks", self.me()));
        let reports = self.reports(within, RankEvidence::collected(&hosts, took))?;
        let met = Instant::now();
        // Of a call whose lengths each rank knows in part, all may stay within hosts.
        let block = Bytes(if collective.has_own_lengths() {
            0
        } else {
            block
        });
        let bound = Duration::try_from_secs_f64(view.bound_seconds(collective, block));
        let between_hosts = view.octets_between_hosts(collective, block);
        let verdict = network_evidence::verdict(&reports, between_hosts, bound.unwrap_or_default());
        if verdict == NetworkVerdict::OnTree {
            self.network = NetworkKnowledge::OfTheTree;
            return Ok(Some((met, None)));
        }
        let tree = network_evidence::prefix(&hosts);
        self.network = NetworkKnowledge::Unknown;
        let mut problem = format!("{verdict}; the published tree is that of {tree}");
        if let NetworkVerdict::OtherNetwork(address) = verdict {
            // Rank 0 knows whether the epoch has that network's tree, and has a word for all soon.
            self.pace = AgreementPace::new(1);
            let root = self.root.as_mut().zip(address);
            if root.is_some_and(|(root, address)| root.sees_network(address)) {
                problem.clear();
            }
        }
        Ok(Some((met, Some(problem))))
    }
}
