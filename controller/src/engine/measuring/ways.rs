//! Measurements of the ways of flows, and what is published of them.
use super::target::{MappingTarget, TargetSubject};
use super::{FlowMeasuring, MeasuredNetwork, MeasuringEffect};
use crate::engine::ControllerEngine;
use crate::engine::counted_ways::{FlowQuestion, has_cables};
use inventory::Topology;
use inventory::stages::flows::KnownFlow;
use std::sync::Arc;

impl FlowMeasuring {
    /// The measurement of the ways of flows, if counters can tell some that are not known.
    pub(super) fn way_target(&self, network: &MeasuredNetwork<'_>) -> Option<MappingTarget> {
        let question = self.way_question(network)?;
        let known = self.mapped.ways.as_ref();
        let is_known = known.is_some_and(|ways| ways.is_complete && question.is_about(ways));
        (!is_known).then_some(MappingTarget {
            subject: TargetSubject::Ways,
            hosts: question.hosts,
        })
    }

    pub(super) fn way_question(&self, network: &MeasuredNetwork<'_>) -> Option<FlowQuestion> {
        let known = self.mapped.ways.as_ref();
        FlowQuestion::new(
            network.published?,
            &network.observed.views,
            network.inventory,
            known,
        )
    }
}

impl FlowMeasuring {
    /// Doubts the ways of flows once the published network lacks one of the cables, or has others beside them:
    /// when the cable is back, switches may choose in another way than before.
    pub(super) fn doubt_ways(&mut self, network: &MeasuredNetwork<'_>) -> Option<MeasuringEffect> {
        let (known, published) = (self.mapped.ways.as_ref()?, network.published?);
        if !known.is_complete || has_cables(published, known) {
            return None;
        }
        let known = Arc::make_mut(&mut self.mapped).ways.as_mut()?;
        known.is_complete = false;
        Some(MeasuringEffect::Keep)
    }
}

impl ControllerEngine {
    /// The flows whose ways are known in the published network.
    pub(in crate::engine) fn known_flows(&self, network: &Topology) -> Vec<KnownFlow> {
        let known = self.measuring.mapped.ways.as_ref();
        let Some(known) = known.filter(|ways| ways.is_complete) else {
            return Vec::new();
        };
        let question = FlowQuestion::new(network, &self.observed.views, &self.inventory, None);
        match question {
            Some(question) if question.is_about(known) => known.flows.clone(),
            _ => Vec::new(),
        }
    }
}
