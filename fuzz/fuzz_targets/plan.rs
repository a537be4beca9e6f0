//! Plans of cabling in either form, compared with a network that has none of the cables.
#![no_main]
use cabling::{CablingPlan, compare};
use inventory::Topology;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Ok(plan) = CablingPlan::parse("fuzz", &String::from_utf8_lossy(bytes)) {
        let report = compare(&plan, &Topology::default());
        assert_eq!(
            report.differences.len(),
            plan.cables.len(),
            "all are missing"
        );
    }
});
