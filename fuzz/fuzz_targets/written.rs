//! A topology in every written form: it consists of visible characters, and reads back as the same
//! topology.
use cabling::{CablingPlan, FindingKind, compare, export};
use inventory::topology::LinkGrade;
use inventory::{Topology, TopologyFile, sanitize};

/// Writes it in every form.
pub fn everywhere(topology: &Topology) {
    let json = serde_json::to_string_pretty(topology).expect("plain data serializes");
    assert_eq!(
        serde_json::from_str::<Topology>(&json).ok().as_ref(),
        Some(topology)
    );
    let (dot, file) = (export::dot(topology, None), topology.to_file());
    let yaml = file.to_yaml();
    let slurm = [export::slurm(topology), export::slurm_yaml(topology)]
        .into_iter()
        .filter_map(Result::ok);
    for text in slurm.chain([json, export::text(topology), dot.clone(), yaml.clone()]) {
        assert!(
            !text.contains(|c| c != '\n' && sanitize::is_hidden(c)),
            "{text:?}"
        );
    }
    if let Ok(again) = TopologyFile::parse("written", &yaml) {
        assert_eq!(again, file);
    }
    let sure = topology
        .links
        .iter()
        .all(|l| l.grade != LinkGrade::Ambiguous);
    if let Ok(plan) = CablingPlan::parse("written.dot", &dot)
        && sure
    {
        let report = compare(&plan, topology);
        let other = report
            .differences
            .iter()
            .find(|d| d.kind != FindingKind::Blocked);
        assert!(other.is_none(), "the network is not as it is: {report}");
    }
}
