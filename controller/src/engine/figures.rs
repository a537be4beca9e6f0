//! Figures of the engine that no viewer shows, for metrics.
use super::ControllerEngine;
use api::EventLevel;
use inventory::observation::{InterfaceRow, PortFaults};
use inventory::topology::NodeKind;
use inventory::{Bytes, Millis};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Figures beside the snapshot.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct EngineFigures {
    /// The ports of switches that links end at.
    pub ports: Vec<PortFigures>,
    /// Messages to operators since the start, by level.
    pub events: BTreeMap<EventLevel, u64>,
    /// Measurements of flows since the start.
    pub measuring: MeasuringFigures,
}

/// Measurements of flows between hosts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MeasuringFigures {
    /// Those that found something.
    pub measured: u64,
    /// Those that began and found nothing.
    pub failed: u64,
    /// Those that did not begin.
    pub refused: u64,
    /// The bytes that they sent.
    pub sent: Bytes,
    /// The end of the last one.
    pub ended: Option<Millis>,
}

/// The counters of a switch's port.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PortFigures {
    pub switch: String,
    pub port: String,
    /// It is up.
    pub up: bool,
    /// Octets into and out of the switch since the controller first looked.
    pub octets: Option<(u128, u128)>,
    /// Frames that it lost, as of the last full read.
    pub faults: Option<PortFaults>,
}

impl ControllerEngine {
    /// The figures as of now.
    pub fn figures(&self) -> EngineFigures {
        let topology = &self.judged.topology;
        let kinds = topology.kinds();
        let mut ends: BTreeSet<(&str, &str)> = BTreeSet::new();
        for link in &topology.links {
            let a = link
                .members
                .iter()
                .map(|m| m.a_port.as_str())
                .chain([link.a_port.as_str()]);
            ends.extend(a.map(|port| (link.a.as_str(), port)));
            let b = link
                .members
                .iter()
                .map(|m| m.b_port.as_str())
                .chain([link.b_port.as_str()]);
            ends.extend(b.map(|port| (link.b.as_str(), port)));
        }
        ends.retain(|(node, _)| kinds.get(node) != Some(&NodeKind::Host));
        let mut ports = Vec::new();
        let mut rows: HashMap<&str, &InterfaceRow> = HashMap::new();
        let mut of = "";
        for (switch, port) in ends {
            if switch != of {
                of = switch;
                let view = self.observed.views.get(switch);
                let interfaces = view.and_then(|view| view.interfaces.as_deref());
                rows = interfaces
                    .unwrap_or_default()
                    .iter()
                    .rev()
                    .map(|i| (i.name.as_str(), i))
                    .collect();
            }
            if let Some(row) = rows.get(port) {
                ports.push(PortFigures {
                    switch: switch.to_owned(),
                    port: port.to_owned(),
                    up: row.up,
                    octets: self.observed.meter.octets(switch, row.index),
                    faults: row.faults,
                });
            }
        }
        EngineFigures {
            ports,
            events: self.public.counts.clone(),
            measuring: self.measuring.figures.clone(),
        }
    }
}
