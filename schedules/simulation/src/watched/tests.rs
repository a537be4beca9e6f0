//! The judge on rates that were measured, and on simulated ones.
mod measured;
mod simulated;

use super::arrivals::BlockArrivals;
use super::judge::judge;
use inventory::alarm::arguments::SuspectedMove;
use inventory::tree::Tree;
use samples::trees::row;

/// The part of a link's rate that TCP reaches.
const WHOLE_SHARE: f64 = 0.97;

fn arrivals(ranks: usize, share: impl Fn(usize, usize) -> Option<f64>) -> BlockArrivals {
    let pairs = (0..ranks).flat_map(|to| (0..ranks).map(move |from| (from, to)));
    let levels = pairs.map(|(from, to)| BlockArrivals::level(share(from, to)));
    BlockArrivals::gathered(ranks, levels.collect()).unwrap()
}

fn one_rank_each(tree: &Tree) -> Vec<u32> {
    (0..tree.hosts()).collect()
}

fn judged(rows: [&str; 12]) -> Option<SuspectedMove> {
    let tree = row(2, 6);
    let arrivals = BlockArrivals::from_rows(&rows.map(str::to_owned)).unwrap();
    let output = judge(&tree, &one_rank_each(&tree), &arrivals);
    println!("{output:?}");
    output.map(|output| output.best)
}

#[test]
fn a_move_in_the_lab_is_suspected_and_the_right_tree_is_not() {
    for rows in measured::RIGHT {
        assert_eq!(judged(rows), None);
    }
    for rows in measured::MOVED {
        let (host, to) = ("n11".into(), "s0".into());
        assert_eq!(judged(rows), Some(SuspectedMove::Host { host, to }));
    }
}
