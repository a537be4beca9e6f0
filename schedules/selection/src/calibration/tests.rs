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
    let mut goal: Vec<f64> = Vec::new();
    let mut fit: Vec<f64> = Vec::new();
    for cell in shipped_cells() {
        let call = cell.call().unwrap();
        if let Some(t) = all.seconds(
            call.collective,
            call.routine,
            &call.profile,
            Some(&call.network),
        ) {
            let o = t / call.seconds - 1.0;
            off.push(o.abs());
            let rate = cell.shape.slower;
            let is_goal = [1024, 8192, 65536, 262144].contains(&cell.block.0)
                && matches!(
                    (&*cell.shape.name, cell.shape.each),
                    ("switch", 16) | ("pair" | "star" | "chain" | "wide", 4)
                );
            if is_goal {
                goal.push(o.abs());
                let t = all
                    .seconds(call.collective, call.routine, &call.profile, None)
                    .unwrap();
                fit.push((t / call.seconds - 1.0).abs());
            }
            println!(
                "{:?} {:?} {} {} {} {:+.2} {:?} {}",
                call.collective,
                call.routine,
                call.network,
                cell.shape.each,
                cell.block.0,
                o,
                cell.seconds,
                is_goal
            );
            let _ = rate;
        }
    }
    for (n, mut off) in [("all", off), ("goal", goal), ("goalfit", fit)] {
        let ok = off.iter().filter(|o| **o <= 0.1).count();
        off.sort_by(f64::total_cmp);
        print!(
            "{n} {:.3} : {} of {} median {:.3} q90 {:.3} ",
            ok as f64 / off.len() as f64,
            ok,
            off.len(),
            off[off.len() / 2],
            off[off.len() * 9 / 10]
        );
    }
    println!();
    let _ = DataCarrier::Tcp;
}
