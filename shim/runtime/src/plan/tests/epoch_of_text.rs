//! An epoch of a topology and nothing else, for tests of this crate and for one with a process of its own.
use directory::epoch::LeanEpoch;
use inventory::TopologyFile;
use policy::decision_table::DecisionTable;
use policy::learned::LearnedWays;
use std::collections::BTreeMap;

pub(crate) fn epoch_of_text(text: &str) -> LeanEpoch {
    let topology = TopologyFile::parse("test.yaml", text).unwrap();
    LeanEpoch {
        number: 7,
        table: DecisionTable::of_all_hosts(&topology.tree().unwrap()),
        further_tables: BTreeMap::new(),
        learned: LearnedWays::default(),
        hops: Vec::new(),
        flows: Vec::new(),
        topology,
    }
}
