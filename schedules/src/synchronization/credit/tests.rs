use super::*;
use crate::alltoall::{self, AlltoallSchedule};
use crate::message::Message;
use crate::verify;
use proptest::prelude::*;
use proptest::sample::Index;
use samples::trees::{any_wide_tree, star};
use std::collections::{HashMap, HashSet};

fn planned(tree: &Tree, credit: u32) -> AlltoallSchedule {
    alltoall::plan(tree, SyncScheme::credit(NonZeroU32::new(credit).unwrap()))
}

/// Whoever may begin begins, in the order of each sender; which message is over next, chance says.
/// Gives by edge the most messages under way at a time, and whether all came.
fn played(tree: &Tree, plan: &AlltoallSchedule, mut chance: u64) -> (Vec<u64>, bool) {
    let mut awaited: HashMap<Message, HashSet<Message>> = HashMap::new();
    for sync in &plan.syncs {
        awaited.entry(sync.before).or_default().insert(sync.after);
    }
    let mut left = vec![VecDeque::new(); plan.hosts.len()];
    for message in plan.phases.iter().flatten() {
        left[message.src as usize].push_back(*message);
    }
    let (mut under_way, mut over) = (Vec::<Message>::new(), HashSet::new());
    let mut now = vec![0u64; tree.edges() as usize];
    let mut most = now.clone();
    loop {
        for queue in &mut left {
            while queue
                .front()
                .is_some_and(|m| awaited.get(m).is_none_or(|a| a.is_subset(&over)))
                && let Some(message) = queue.pop_front()
            {
                under_way.push(message);
                tree.path(message.src, message.dst, |edge| now[edge as usize] += 1);
            }
        }
        most.iter_mut()
            .zip(&now)
            .for_each(|(most, now)| *most = (*most).max(*now));
        if under_way.is_empty() {
            return (most, left.iter().all(VecDeque::is_empty));
        }
        chance = chance
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let next = under_way.swap_remove((chance >> 33) as usize % under_way.len());
        tree.path(next.src, next.dst, |edge| now[edge as usize] -= 1);
        over.insert(next);
    }
}

fn keeps_credit(tree: &Tree, plan: &AlltoallSchedule, credit: u32, most: &[u64]) -> bool {
    let capacities = plan.algorithm.capacities(tree);
    (0..tree.edges()).all(|edge| {
        let is_port = tree.ends(edge).is_some_and(|(from, _)| !tree.is_host(from));
        !is_port || most[edge as usize] <= capacities.width(edge) * u64::from(credit)
    })
}

proptest! {
    #[test]
    fn no_port_has_more_messages_under_way_than_its_credit(
        tree in any_wide_tree(3..=12, 5),
        credit in 1..6u32,
        chance in any::<u64>(),
    ) {
        let plan = planned(&tree, credit);
        prop_assert_eq!(verify::alltoall(&tree, &plan), Ok(()));
        let (most, all_came) = played(&tree, &plan, chance);
        prop_assert!(all_came);
        prop_assert!(keeps_credit(&tree, &plan, credit, &most), "{:?}", most);
    }

    #[test]
    fn what_the_verifier_passes_without_a_token_keeps_the_credit(
        tree in any_wide_tree(3..=9, 4),
        lost in any::<Index>(),
        chance in any::<u64>(),
    ) {
        let mut plan = planned(&tree, 2);
        prop_assume!(!plan.syncs.is_empty());
        plan.syncs.remove(lost.index(plan.syncs.len()));
        if verify::alltoall(&tree, &plan).is_ok() {
            let (most, _) = played(&tree, &plan, chance);
            prop_assert!(keeps_credit(&tree, &plan, 2, &most), "{:?}", most);
        }
    }
}

#[test]
fn a_lost_token_is_refused() {
    let tree = star(&[3, 3]);
    let mut plan = planned(&tree, 2);
    verify::alltoall(&tree, &plan).unwrap();
    plan.syncs.pop();
    let refused = verify::alltoall(&tree, &plan).unwrap_err().to_string();
    assert!(refused.contains("2 "), "{refused}");
}

#[test]
fn the_first_messages_of_each_port_wait_for_nothing() {
    let tree = star(&[4]);
    let tokens = |credit| planned(&tree, credit).syncs.len();
    assert_eq!(tokens(2), 4, "one of three on each port");
    assert_eq!(tokens(3), 0);
}

#[test]
fn of_the_first_messages_of_a_port_each_lets_two_more_begin() {
    let mut port = PortUsers::new(1, 4, 0.5);
    let awaited: Vec<Option<u32>> = (0..9).map(|message| port.follows(message)).collect();
    let after = [0, 0, 1, 1, 2, 3, 4].map(Some);
    assert_eq!(awaited[..2], [None; 2]);
    assert_eq!(awaited[2..], after);
}

#[test]
fn the_longest_messages_of_a_number_are_that_many() {
    let credit = of(64_000, false);
    for messages in 1..=64 {
        let Bytes(longest) = credit.longest(messages);
        assert_eq!(credit.messages(Bytes(longest)), messages);
        assert!(credit.messages(Bytes(longest + 1)) < messages || messages == 1);
    }
}

#[test]
fn the_credit_is_what_lies_between_and_a_share_of_the_queue() {
    let text = |trunk: &str| {
        let hosts: String = (0..32)
            .map(|n| format!("  n{n}: {{switch: s{}, rate: 10G}}\n", 1 + n / 8))
            .collect();
        let links: String = (1..5)
            .map(|n| format!("  - {{a: s0, b: s{n}, rate: {trunk}}}\n"))
            .collect();
        format!("switches: [s0, s1, s2, s3, s4]\nhosts:\n{hosts}links:\n{links}")
    };
    let credit = |trunk: &str| {
        let tree = samples::trees::topology(&text(trunk));
        let capacities = EdgeCapacities::from_tree(&tree);
        LaneCredit::on_tree(&tree, &capacities)
    };
    // 42,304 octets on the way, and 32 kB.
    assert_eq!(credit("10G"), of(75_072, true));
    assert_eq!(credit("40G"), of(75_072, true));
    assert_eq!(
        [1 << 20, 65_536, 32_768, 8_192, 1_024]
            .map(|block| credit("40G").scheme(Bytes(block)).to_string()),
        [
            "credit",
            "credit(4x4)",
            "credit(4x2)",
            "credit(9)",
            "credit(64)"
        ]
    );
}

/// A host's ranks share its link and its memory.
#[test]
fn ranks_have_the_credit_of_their_hosts_and_a_shorter_lead() {
    let tree = star(&[8, 8, 8, 8]);
    let ranks: Vec<(String, u32)> = (0..128)
        .map(|rank| (format!("rank {rank}"), rank / 4))
        .collect();
    let leaves = tree.with_ranks(&ranks).unwrap();
    let credit = alltoall::lane_credit(&tree);
    assert_eq!(alltoall::lane_credit(&leaves), credit);
    assert_eq!(credit.lead(&tree), Bytes(credit.octets.0 * 15 / 16));
    assert_eq!(credit.lead(&leaves), Bytes(credit.octets.0 * 2 / 3));
}

/// Of what eight hosts of 25G send at once, four fifths wait before a trunk of 40G, and half before one of 100G.
#[test]
fn a_queue_holds_what_hosts_send_at_once() {
    let hosts: String = (0..24)
        .map(|n| format!("  n{n}: {{switch: s{}, rate: 25G}}\n", 1 + n / 8))
        .collect();
    let [narrow, wide] = ["40G", "100G"].map(|trunk| {
        let links: String = (1..4)
            .map(|n| format!("  - {{a: s0, b: s{n}, rate: {trunk}}}\n"))
            .collect();
        let text = format!("switches: [s0, s1, s2, s3]\nhosts:\n{hosts}links:\n{links}");
        alltoall::lane_credit(&samples::trees::topology(&text))
    });
    let queue = 131_072.0;
    assert_eq!(
        narrow,
        of(
            (queue / (2.0 * 0.8 * (0.5 + 0.5 / 2f64.sqrt()))) as u64,
            true
        )
    );
    assert_eq!(wide, of((queue / (4.0 * 0.5 * 0.75)) as u64, true));
}

#[test]
fn parts_are_not_short_and_use_about_as_much_as_whole_blocks() {
    // Parts of 4,915 would use more of it.
    assert_eq!(scheme(65_536, 24_576), "credit(4x2)");
    // One block is the credit: four parts of a fifth, or six of an eighth, are less.
    assert_eq!(scheme(65_536, 65_536), "credit");
    // A table begins with the shortest length of those that go alike.
    assert_eq!(scheme(65_536, 61_441), "credit");
    assert_eq!(scheme(73_024, 262_144), "credit(4x15)");
    assert_eq!(scheme(95_975, 65_536), "credit(4x3)");
}

/// In ns-3 six parts of 20 kB lost packets on a chain of four switches, all at 25 Gbit/s, and eight of 14 kB none.
#[test]
fn a_port_holds_one_part_more_than_a_lane_has_under_way() {
    assert_eq!(scheme(120_000, 98_304), "credit(8x7)");
    assert_eq!(scheme(120_000, 65_536), "credit(8x5)");
}

#[test]
fn whole_blocks_use_most_of_the_credit() {
    assert_eq!(scheme(58_000, 8192), "credit(6)");
    assert_eq!(scheme(59_000, 8192), "credit(7)");
    assert_eq!(scheme(100_000, 8192), "credit(12)");
}

fn scheme(octets: u64, block: u64) -> String {
    of(octets, true).scheme(Bytes(block)).to_string()
}

fn of(octets: u64, cuts_blocks: bool) -> LaneCredit {
    LaneCredit {
        queue: Bytes(131_072),
        octets: Bytes(octets),
        cuts_blocks,
    }
}
