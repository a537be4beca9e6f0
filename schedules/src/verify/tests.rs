use super::*;
use crate::allgather::AllgatherSchedule;
use crate::alltoall::AlltoallSchedule;
use crate::synchronization::{SyncKind, SyncReduction};
use crate::{allgather as ring, alltoall as planner};
use proptest::prelude::*;
use proptest::sample::Index;
use samples::trees::{any_tree, star};

fn refused(tree: &Tree, plan: &AlltoallSchedule) -> String {
    alltoall(tree, plan).unwrap_err().to_string()
}

/// The verifier's refusal of a plan that was right before the change.
fn refusal(change: fn(&mut AlltoallSchedule)) -> String {
    let tree = star(&[2, 2]);
    let mut plan = planner::plan(&tree, SyncKind::Sender);
    alltoall(&tree, &plan).unwrap();
    change(&mut plan);
    refused(&tree, &plan)
}

#[test]
fn names_edge_phase_and_messages() {
    assert_eq!(
        refusal(|p| p.hosts.swap(0, 1)),
        "hosts: the schedule's are not those of the topology in its order: n1 stands where n0 is \
         expected"
    );
    assert_eq!(
        refusal(|p| p.phases[1][0].dst = 9),
        "phase 1: host number 9 does not exist"
    );
    assert_eq!(
        refusal(|p| p.bound.load = 5),
        "bound: says 4 phases by load 5, capacity 1 of edge s1 -> s0; its load is 4 and its \
         capacity 1"
    );
    assert_eq!(
        refusal(|p| p.phases.push(Vec::new())),
        "phase 4: it has no message"
    );
    let late = refusal(|p| {
        let message = p.phases[0].remove(0);
        p.phases.push(vec![message]);
    });
    assert_eq!(
        late,
        "5 phases: the load of the bottleneck edge s1 -> s0 asks for 4"
    );
    let merged = refusal(|p| {
        let last = p.phases.pop().unwrap();
        p.phases[0].extend(last);
    });
    assert_eq!(
        merged,
        "edge s1 -> s0, phase 0: n2 -> n0 and n3 -> n1 collide"
    );
}

#[test]
fn names_wrong_synchronizations() {
    assert!(refusal(|p| p.syncs.clear()).ends_with("are ordered by no synchronization"));
    let reason = |change: fn(&mut AlltoallSchedule)| {
        let refusal = refusal(change);
        refusal.split_once(": ").unwrap().1.to_owned()
    };
    assert_eq!(
        reason(|p| p.syncs[0].from = p.syncs[0].after.dst),
        "the schedule says that senders tell"
    );
    assert_eq!(
        reason(|p| p.scheme = SyncKind::Barrier.into()),
        "the schedule says it has none"
    );
    assert_eq!(
        reason(|p| p.syncs[0].to = 9),
        "awaited by another host than the sender"
    );
    assert_eq!(reason(|p| p.syncs[0].after.src = 77), "no such message");
}

#[test]
fn a_ring_that_lies_or_collides_is_refused() {
    let tree = star(&[2, 2]);
    let good = ring::plan_as(&tree, ring::AllgatherAlgorithm::Lr1).unwrap();
    allgather(&tree, &good).unwrap();
    let with = |change: fn(&mut AllgatherSchedule)| {
        let mut plan = good.clone();
        change(&mut plan);
        allgather(&tree, &plan).unwrap_err().to_string()
    };
    assert_eq!(
        with(|p| p.ring.swap(1, 2)),
        "edge s0 -> s1: n0 -> n2 and n1 -> n3 collide in the ring"
    );
    assert_eq!(
        with(|p| p.longest_path = 1),
        "ring: says longest path 1; it passes 2 switches"
    );
    assert_eq!(
        with(|p| p.contention_free = false),
        "ring: says not contention-free; it is"
    );
    assert_eq!(with(|p| p.ring[0] = 1), "ring: host n1 comes twice");
    assert_eq!(with(|p| p.ring.truncate(3)), "ring: host n3 is missing");
    assert_eq!(
        with(|p| p.ring[0] = 4),
        "ring: host number 4 does not exist"
    );
}

/// One slow host in a topology file makes all others hundreds of messages wide. Clocks for all of
/// their messages would fill the memory.
#[test]
fn more_messages_at_once_than_clocks_can_follow_are_refused() {
    use crate::alltoall::AlltoallAlgorithm;
    use std::fmt::Write;
    let mut text = "switches: [s]\nhosts:\n  n0: {switch: s, rate: 1M}\n".to_owned();
    (1..200).for_each(|h| writeln!(text, "  n{h}: {{switch: s, rate: 400G}}").unwrap());
    let tree = samples::trees::topology(&text);
    let mut plan = planner::plan_as(
        &tree,
        AlltoallAlgorithm::Capacity,
        SyncKind::Receiver,
        SyncReduction::Chain,
    );
    let all: Vec<Message> = (1..200)
        .flat_map(|src| (1..200).map(move |dst| Message { src, dst }))
        .filter(|m| m.src != m.dst)
        .collect();
    plan.phases = vec![all];
    (1..200).for_each(|h| {
        plan.phases
            .push(vec![Message { src: 0, dst: h }, Message { src: h, dst: 0 }])
    });
    plan.syncs.clear();
    assert_eq!(
        refused(&tree, &plan),
        "hosts send 39403 messages at once in their busiest phases; synchronizations are checked \
         for up to 20480"
    );
}

#[test]
fn the_empty_schedule_of_one_host_is_right() {
    let tree = star(&[1]);
    alltoall(&tree, &planner::plan(&tree, SyncKind::Receiver)).unwrap();
    allgather(&tree, &ring::plan(&tree)).unwrap();
}

fn kinds() -> impl Strategy<Value = (SyncKind, SyncReduction)> {
    let kinds = vec![
        SyncKind::None,
        SyncKind::Sender,
        SyncKind::Receiver,
        SyncKind::Barrier,
    ];
    (
        prop::sample::select(kinds),
        prop::sample::select(vec![SyncReduction::Chain, SyncReduction::Minimal]),
    )
}

proptest! {
    #[test]
    fn what_is_planned_is_right(tree in any_tree(1..=64), (kind, reduction) in kinds()) {
        prop_assert_eq!(
            alltoall(&tree, &planner::plan_reduced(&tree, kind, reduction)),
            Ok(())
        );
        prop_assert_eq!(allgather(&tree, &ring::plan(&tree)), Ok(()));
    }

    #[test]
    fn mutated_messages_are_refused(
        tree in any_tree(3..=20),
        what in 0..4,
        from in any::<Index>(),
        at in any::<Index>(),
        to in any::<Index>(),
    ) {
        let mut plan = planner::plan(&tree, SyncKind::Receiver);
        let from = from.index(plan.phases.len());
        let at = at.index(plan.phases[from].len());
        let to = to.index(plan.phases.len());
        let message = plan.phases[from][at];
        match what {
            0 => drop(plan.phases[from].remove(at)),
            1 => plan.phases[to].push(message),
            2 => {
                plan.phases[from][at] = Message {
                    src: message.dst,
                    dst: message.src,
                }
            }
            _ => drop(plan.phases.remove(from)),
        }
        prop_assert!(alltoall(&tree, &plan).is_err());
    }

    /// A moved message may by chance leave a schedule that is right. Then the definition must hold,
    /// checked by the slow method.
    #[test]
    fn a_moved_message_is_refused_unless_nothing_collides(
        tree in any_tree(3..=20),
        from in any::<Index>(),
        at in any::<Index>(),
        to in any::<Index>(),
    ) {
        let mut plan = planner::plan(&tree, SyncKind::None);
        let (from, to) = (from.index(plan.phases.len()), to.index(plan.phases.len()));
        let at = at.index(plan.phases[from].len());
        let message = plan.phases[from].remove(at);
        let mut edges = std::collections::HashSet::new();
        plan.phases[to]
            .iter()
            .for_each(|m| tree.path(m.src, m.dst, |edge| assert!(edges.insert(edge))));
        let mut free = true;
        tree.path(message.src, message.dst, |edge| free &= edges.insert(edge));
        plan.phases[to].push(message);
        prop_assert_eq!(alltoall(&tree, &plan).is_ok(), free);
    }

    #[test]
    fn every_token_of_the_minimal_set_counts(
        tree in any_tree(3..=20),
        kind in 0..2usize,
        lost in any::<Index>(),
    ) {
        let kind = [SyncKind::Sender, SyncKind::Receiver][kind];
        let mut plan = planner::plan_reduced(&tree, kind, SyncReduction::Minimal);
        prop_assume!(plan.syncs.len() > 1);
        plan.syncs.remove(lost.index(plan.syncs.len()));
        let unordered = matches!(
            alltoall(&tree, &plan),
            Err(ScheduleViolation::Unordered { .. })
        );
        prop_assert!(unordered);
    }

    #[test]
    fn mutated_tokens_are_refused(tree in any_tree(3..=20), what in 0..4, at in any::<Index>()) {
        let mut plan = planner::plan_reduced(&tree, SyncKind::Receiver, SyncReduction::Minimal);
        prop_assume!(!plan.syncs.is_empty());
        let at = at.index(plan.syncs.len());
        let sync = &mut plan.syncs[at];
        match what {
            0 => std::mem::swap(&mut sync.after, &mut sync.before),
            1 => sync.from = sync.to,
            2 => sync.to = sync.before.dst,
            _ => sync.before = sync.after,
        }
        prop_assert!(alltoall(&tree, &plan).is_err());
    }
}
