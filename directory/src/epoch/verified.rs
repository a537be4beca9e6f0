//! The only way to an epoch that may be published.
use super::{Epoch, PlanError, WayEvidence};
use inventory::stages::flows::KnownFlow;
use inventory::{Millis, Topology, TopologyFile};
use std::sync::Arc;

/// An epoch whose schedules the verifier has passed. There is no other way to make one, so no other
/// epoch can be published.
#[derive(Debug, Clone)]
pub struct VerifiedEpoch(Epoch);

impl VerifiedEpoch {
    /// Plans and verifies the collectives of all hosts. The evidence decides the way at each block
    /// size.
    ///
    /// # Errors
    /// [`PlanError`] where the file does not describe a tree, or the verifier refuses the plan.
    pub fn plan(
        number: u64,
        at: Millis,
        file: impl Into<Arc<TopologyFile>>,
        network: impl Into<Arc<Topology>>,
        evidence: WayEvidence,
    ) -> Result<VerifiedEpoch, PlanError> {
        Epoch::plan(number, at, file, network, evidence).map(VerifiedEpoch)
    }

    /// The same with flows whose ways are known. They make no schedule wrong.
    #[must_use]
    pub fn with_flows(self, flows: Vec<KnownFlow>) -> VerifiedEpoch {
        VerifiedEpoch(Epoch { flows, ..self.0 })
    }

    /// The epoch.
    pub fn epoch(&self) -> &Epoch {
        &self.0
    }
}
