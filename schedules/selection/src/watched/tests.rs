//! The judge on rates that were measured, and on simulated ones.
mod measured;
mod simulated;

use super::arrivals::BlockArrivals;
use super::judge::{SuspectedMove, judge};
use crate::test_trees::row;
use inventory::tree::Tree;

/// What a link of 20 Mbit/s passes on, in Mbit/s of payload.
const WHOLE: f64 = 20.0 / schedules::bound::WIRE_PER_PAYLOAD;

/// The part of that which TCP reaches.
const WHOLE_SHARE: f64 = 0.97;

fn arrivals(ranks: usize, share: impl Fn(usize, usize) -> Option<f64>) -> BlockArrivals {
    let pairs = (0..ranks).flat_map(|to| (0..ranks).map(move |from| (from, to)));
    let levels = pairs.map(|(from, to)| BlockArrivals::level(share(from, to)));
    BlockArrivals::gathered(ranks, levels.collect()).unwrap()
}

fn of_text(text: &str) -> BlockArrivals {
    let rows: Vec<Vec<Option<f64>>> = text
        .lines()
        .map(|line| line.split(' ').map(|rate| rate.parse().ok()).collect())
        .collect();
    arrivals(rows.len(), |from, to| Some(rows[from][to]? / WHOLE))
}

fn one_rank_each(tree: &Tree) -> Vec<u32> {
    (0..tree.hosts()).collect()
}

#[test]
fn a_move_in_the_lab_is_suspected_and_the_right_tree_is_not() {
    let tree = row(3, 3);
    let ranks = one_rank_each(&tree);
    for text in measured::RIGHT {
        let said = judge(&tree, &ranks, &of_text(text));
        println!("{said:?}");
        assert!(said.is_none());
    }
    for text in &measured::MOVED[..3] {
        let said = judge(&tree, &ranks, &of_text(text));
        println!("{said:?}");
        let moved = SuspectedMove::Host {
            host: "n8".into(),
            to: "s0".into(),
        };
        assert_eq!(said.map(|said| said.best), Some(moved));
    }
}
