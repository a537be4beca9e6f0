use super::*;
use crate::decision_table::DataCarrier;

#[test]
fn every_shipped_cell_is_read_and_belongs_to_a_routine() {
    let lines = include_str!("measured.jsonl").lines().count();
    assert_eq!(shipped_cells().len(), lines);
    assert_eq!(CallCalibration::shipped().calls().len(), lines);
}

#[test]
#[ignore]
fn explore() {
    let all = CallCalibration::shipped();
    let mut off: Vec<f64> = Vec::new();
    for call in all.calls() {
        if let Some(t) = all.seconds(
            call.collective,
            call.routine,
            &call.profile,
            Some(&call.network),
        ) {
            off.push((t / call.seconds - 1.0).abs());
            println!(
                "{:?} {:?} {} {} {:+.2}",
                call.collective,
                call.routine,
                call.network,
                call.profile.block.0,
                t / call.seconds - 1.0
            );
        }
    }
    let ok = off.iter().filter(|o| **o <= 0.1).count();
    println!("{} of {}", ok, off.len());
    let _ = DataCarrier::Tcp;
}
