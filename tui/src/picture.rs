//! A snapshot on the screen, with what every line would otherwise have to look up in it.
use api::{AlarmLine, LinkLoad, Snapshot, SwitchStatus};
use inventory::stages::folded::{FoldedNetwork, FoldedWay};
use inventory::{BitsPerSec, Millis};
use std::collections::{HashMap, HashSet};

/// A snapshot, and its indices.
#[derive(Debug, Default)]
pub(crate) struct IndexedSnapshot {
    pub(crate) snapshot: Snapshot,
    /// The time of its arrival.
    pub(crate) received: Millis,
    /// The same with each stage as one node; none where flows spread over nothing.
    folded: Option<FoldedSnapshot>,
    switches: HashMap<String, usize>,
    alarmed: HashSet<String>,
}

#[derive(Debug)]
struct FoldedSnapshot {
    snapshot: Snapshot,
    ways: Vec<Vec<FoldedWay>>,
    stages: HashMap<String, String>,
}

impl FoldedSnapshot {
    fn folded(snapshot: &Snapshot) -> Option<FoldedSnapshot> {
        let FoldedNetwork {
            topology,
            ways,
            stages,
        } = snapshot.topology.folded()?;
        let loads = topology.links.iter().zip(&ways).map(|(link, own)| {
            let parts = own.iter().filter_map(|way| {
                let load = snapshot.loads.get(way.link)?;
                Some((load, way.is_reversed))
            });
            together([&link.a, &link.b], parts)
        });
        Some(FoldedSnapshot {
            snapshot: Snapshot {
                loads: loads.collect(),
                topology,
                ..snapshot.clone()
            },
            ways,
            stages,
        })
    }
}

/// The load of several ways, of which some have their ends the other way around.
fn together<'a>([a, b]: [&str; 2], parts: impl Iterator<Item = (&'a LinkLoad, bool)>) -> LinkLoad {
    let all = LinkLoad {
        a: a.to_owned(),
        b: b.to_owned(),
        ..LinkLoad::default()
    };
    parts.fold(all, |all, (load, is_reversed)| {
        let directions = (load.a_to_b, load.b_to_a);
        let (a_to_b, b_to_a) = match is_reversed {
            true => (directions.1, directions.0),
            false => directions,
        };
        LinkLoad {
            aapc_load: all.aapc_load.saturating_add(load.aapc_load),
            capacity: all.capacity.saturating_add(load.capacity),
            phases: all.phases.max(load.phases),
            bottleneck: all.bottleneck || load.bottleneck,
            a_to_b: sum(all.a_to_b, a_to_b),
            b_to_a: sum(all.b_to_a, b_to_a),
            ..all
        }
    })
}

fn sum(one: Option<BitsPerSec>, other: Option<BitsPerSec>) -> Option<BitsPerSec> {
    match (one, other) {
        (Some(one), Some(other)) => Some(BitsPerSec(one.0.saturating_add(other.0))),
        (one, other) => one.or(other),
    }
}

impl IndexedSnapshot {
    pub(crate) fn new(snapshot: Snapshot, received: Millis) -> IndexedSnapshot {
        let switches = snapshot.switches.iter().enumerate();
        let subjects = snapshot.alarms.iter().flat_map(AlarmLine::subjects);
        IndexedSnapshot {
            switches: switches.map(|(i, s)| (s.name.clone(), i)).collect(),
            alarmed: subjects
                .filter_map(|subject| subject.name().map(str::to_owned))
                .collect(),
            folded: FoldedSnapshot::folded(&snapshot),
            snapshot,
            received,
        }
    }

    /// The picture with each stage as one node, where there is any.
    pub(crate) fn folded(&self) -> &Snapshot {
        let folded = self.folded.as_ref();
        folded.map_or(&self.snapshot, |folded| &folded.snapshot)
    }

    /// The links that are one link of the folded picture, if there are several.
    pub(crate) fn ways(&self, folded_link: usize) -> &[FoldedWay] {
        let folded = self.folded.as_ref();
        let ways = folded.and_then(|folded| folded.ways.get(folded_link));
        ways.map_or(&[], Vec::as_slice)
    }

    /// The switches of a stage.
    pub(crate) fn boxes<'a>(&'a self, stage: &'a str) -> impl Iterator<Item = &'a str> {
        let stages = self.folded.iter().flat_map(|folded| &folded.stages);
        let own = stages.filter(move |(_, of)| *of == stage);
        own.map(|(name, _)| name.as_str())
    }

    /// The state of the switch `name`.
    pub(crate) fn switch(&self, name: &str) -> Option<&SwitchStatus> {
        self.snapshot.switches.get(*self.switches.get(name)?)
    }

    /// True if an alarm, or one that follows from it, is about `name`.
    pub(crate) fn has_alarm(&self, name: &str) -> bool {
        self.alarmed.contains(name) || self.boxes(name).any(|own| self.alarmed.contains(own))
    }
}
