//! Measurements of the ways of flows, and what is published of them.
use super::target::{MappingTarget, TargetSubject};
use super::{FlowMeasuring, MeasuredNetwork};
use crate::engine::ControllerEngine;
use crate::engine::counted_ways::FlowQuestion;
use inventory::Topology;
use inventory::stages::flows::KnownFlow;

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
