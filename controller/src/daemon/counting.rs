//! Finds the ways of flows by the counters that switches are asked for anyway.
use crate::engine::{ControllerEvent, FlowQuestion, MappingOrder, MappingOutcome};
use crate::loads::LoadMeter;
use flows::{PeerChannel, SurveyLimits, count_ways};
use inventory::Bytes;
use inventory::observation::DeviceFact;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The time between two looks at what switches have counted.
const LOOK: Duration = Duration::from_millis(200);
/// A flow shows by then: agents count anew every few seconds, and are asked every few.
const SHOWN: Duration = Duration::from_secs(30);

/// The counters of switches so far.
#[derive(Debug, Clone, Default)]
pub(super) struct CableCounters(Arc<Mutex<LoadMeter>>);

impl CableCounters {
    /// Takes the counters that an event tells.
    pub(super) fn note(&self, event: &ControllerEvent) {
        if let ControllerEvent::Observed(observation) = event
            && let DeviceFact::Pulse(pulse) = &observation.fact
            && !pulse.brief
        {
            let mut meter = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            meter.record(observation.at, &observation.reporter, pulse, |_| None);
        }
    }

    /// The octets that each cable has carried; nothing while a switch does not say.
    fn carried(&self, question: &FlowQuestion) -> Option<Vec<u64>> {
        let meter = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let octets = question.cables.iter().map(|(cable, interface)| {
            let (received, sent) = meter.octets(&cable.switch, *interface)?;
            u64::try_from(if cable.is_sent { sent } else { received }).ok()
        });
        octets.collect()
    }
}

/// Answers the question of an order, as far as its budget and time allow.
pub(super) fn count(
    order: &MappingOrder,
    question: &FlowQuestion,
    peers: &mut [Box<dyn PeerChannel + Send>],
    counters: &CableCounters,
    time: Duration,
    progress: impl FnMut(u32, u64) -> ControlFlow<()>,
) -> MappingOutcome {
    let limits = SurveyLimits {
        budget: order.budget.0,
        time,
        share: order.share,
        slowest: question.slowest.0 / 8,
        look: LOOK,
        shown: SHOWN,
    };
    let asked = (&question.pairs[..], question.cables.len());
    let report = count_ways(
        peers,
        asked,
        &limits,
        || counters.carried(question),
        progress,
    );
    MappingOutcome {
        moved: Bytes(report.moved),
        ways: Some(question.answered(&report.ports, report.is_confirmed)),
        problem: report.problem,
        ..MappingOutcome::failed(String::new())
    }
}
