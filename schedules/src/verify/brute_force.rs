//! The definition of a right all-to-all, checked in the plainest way, against the verifier: on
//! random trees, random plans, and plans spoilt by random edits.
use super::alltoall;
use crate::alltoall::{AlltoallAlgorithm, AlltoallSchedule, plan_as};
use crate::bound::bound;
use crate::capacities::EdgeCapacities;
use crate::message::{Message, Synchronization};
use crate::packed::packed;
use crate::synchronization::scheme::SyncScheme;
use crate::synchronization::{SyncKind, SyncReduction};
use inventory::tree::TreeCable;
use inventory::{BitsPerSec, Tree};
use proptest::prelude::*;
use proptest::sample::Index;
use samples::trees::{any_tree, any_wide_tree};
use std::collections::HashMap;

/// Messages with their phases, in the order of phases.
type PlacedMessages = Vec<(usize, Message)>;

fn placed(plan: &AlltoallSchedule) -> PlacedMessages {
    let phases = plan.phases.iter().enumerate();
    phases
        .flat_map(|(phase, messages)| messages.iter().map(move |&m| (phase, m)))
        .collect()
}

/// True if the plan is right by definition. Hosts and certificate are those of the planner.
pub(super) fn is_right(tree: &Tree, plan: &AlltoallSchedule) -> bool {
    let messages = placed(plan);
    let capacities = plan.algorithm.capacities(tree);
    every_pair_once(tree, &messages)
        && plan.phases.iter().all(|phase| !phase.is_empty())
        && no_contention(tree, plan, &capacities)
        && as_many_phases_as_allowed(tree, plan, &capacities)
        && tokens_are_possible(plan, &messages)
        && (!plan.scheme.keeps_all_apart() || widths_are_kept(tree, plan))
}

fn every_pair_once(tree: &Tree, messages: &PlacedMessages) -> bool {
    let hosts = 0..tree.hosts();
    let mut pairs = hosts
        .clone()
        .flat_map(|src| hosts.clone().map(move |dst| Message { src, dst }))
        .filter(|pair| pair.src != pair.dst);
    messages
        .iter()
        .all(|&(_, m)| m.src != m.dst && m.src < tree.hosts() && m.dst < tree.hosts())
        && pairs.all(|pair| messages.iter().filter(|(_, m)| *m == pair).count() == 1)
}

fn uses(tree: &Tree, m: Message, edge: u32) -> bool {
    let mut uses = false;
    tree.path(m.src, m.dst, |e| uses |= e == edge);
    uses
}

fn no_contention(tree: &Tree, plan: &AlltoallSchedule, capacities: &EdgeCapacities) -> bool {
    (0..tree.edges()).all(|edge| {
        plan.phases.iter().all(|phase| {
            phase.iter().filter(|m| uses(tree, **m, edge)).count() as u64 <= capacities.width(edge)
        })
    })
}

fn as_many_phases_as_allowed(
    tree: &Tree,
    plan: &AlltoallSchedule,
    capacities: &EdgeCapacities,
) -> bool {
    let (phases, least) = (plan.phases.len() as u64, bound(tree, capacities).phases);
    match plan.algorithm {
        AlltoallAlgorithm::Aapc => phases == least,
        AlltoallAlgorithm::Capacity => (least..=2 * least).contains(&phases),
    }
}

fn phase(messages: &PlacedMessages, message: Message) -> Option<usize> {
    let mut all = messages.iter();
    all.find(|(_, other)| *other == message).map(|at| at.0)
}

fn tokens_are_possible(plan: &AlltoallSchedule, messages: &PlacedMessages) -> bool {
    plan.syncs.iter().all(|sync| {
        let giver = match plan.scheme.tokens() {
            SyncKind::Sender => sync.after.src,
            SyncKind::Receiver => sync.after.dst,
            SyncKind::None | SyncKind::Barrier => return false,
        };
        let later = phase(messages, sync.after)
            .zip(phase(messages, sync.before))
            .is_some_and(|(a, b)| a < b);
        later && sync.from == giver && sync.to == sync.before.src && sync.from != sync.to
    })
}

/// Computes the order's closure over all pairs. For every edge it tries all sets of users, and
/// finds the largest set without two users in order.
pub(super) fn widths_are_kept(tree: &Tree, plan: &AlltoallSchedule) -> bool {
    let messages = placed(plan);
    let over = closure(plan, &messages);
    let capacities = plan.algorithm.capacities(tree);
    (0..tree.edges()).all(|edge| {
        let users: Vec<usize> = (0..messages.len())
            .filter(|&i| uses(tree, messages[i].1, edge))
            .collect();
        users.is_empty()
            || !antichain(
                &users,
                &|a, b| over[b][a],
                &mut Vec::new(),
                capacities.width(edge) + 1,
            )
    })
}

/// For each message the messages that are over when it starts, by tokens, by its sender's own order
/// and by barriers.
fn closure(plan: &AlltoallSchedule, messages: &PlacedMessages) -> Vec<Vec<bool>> {
    let number: HashMap<Message, usize> = messages
        .iter()
        .enumerate()
        .map(|(i, &(_, m))| (m, i))
        .collect();
    let mut over = vec![vec![false; messages.len()]; messages.len()];
    for (i, &(phase, m)) in messages.iter().enumerate() {
        let awaited = plan
            .syncs
            .iter()
            .filter(|s| s.before == m)
            .map(|s: &Synchronization| number[&s.after]);
        let own = (0..i).filter(|&j| {
            messages[j].1.src == m.src && messages[j].0 < phase
                || (messages[j].0 + 1..=phase).any(|phase| plan.scheme.barrier_before(phase))
        });
        for j in awaited.chain(own).collect::<Vec<_>>() {
            let known = over[j].clone();
            over[i]
                .iter_mut()
                .zip(known)
                .for_each(|(own, theirs)| *own |= theirs);
            over[i][j] = true;
        }
    }
    over
}

/// True if `chosen` can be extended to an antichain of `size` by some of `users`.
fn antichain(
    users: &[usize],
    apart: &impl Fn(usize, usize) -> bool,
    chosen: &mut Vec<usize>,
    size: u64,
) -> bool {
    if chosen.len() as u64 == size {
        return true;
    }
    users.iter().enumerate().any(|(i, &user)| {
        let fits = chosen.iter().all(|&one| !apart(one, user));
        fits && {
            chosen.push(user);
            let found = antichain(&users[i + 1..], apart, chosen, size);
            chosen.pop();
            found
        }
    })
}

/// A way to spoil a plan, with the places where.
#[derive(Debug, Clone)]
struct PlanEdit {
    what: u8,
    at: [Index; 3],
}

fn any_edit() -> impl Strategy<Value = PlanEdit> {
    (0..11u8, any::<[Index; 3]>()).prop_map(|(what, at)| PlanEdit { what, at })
}

fn spoil(plan: &mut AlltoallSchedule, edit: &PlanEdit) {
    let [a, b, c] = edit.at;
    let phase = a.index(plan.phases.len());
    let to = b.index(plan.phases.len());
    if plan.phases[phase].is_empty() {
        return;
    }
    let at = c.index(plan.phases[phase].len());
    match edit.what {
        0 => drop(plan.phases[phase].remove(at)),
        1 => {
            let doubled = plan.phases[phase][at];
            plan.phases[to].push(doubled);
        }
        2 => plan.phases.swap(phase, to),
        3 => {
            let moved = plan.phases[phase].remove(at);
            plan.phases[to].push(moved);
        }
        4 => {
            let m = &mut plan.phases[phase][at];
            std::mem::swap(&mut m.src, &mut m.dst);
        }
        _ if plan.syncs.is_empty() => {}
        5 | 6 => drop(plan.syncs.remove(a.index(plan.syncs.len()))),
        7 => {
            let (one, other) = (a.index(plan.syncs.len()), b.index(plan.syncs.len()));
            let after = plan.syncs[other].after;
            plan.syncs[one].after = after;
        }
        9 | 10 => notified_of_another(plan, a.index(plan.syncs.len()), b),
        _ => {
            let one = a.index(plan.syncs.len());
            let sync = &mut plan.syncs[one];
            std::mem::swap(&mut sync.from, &mut sync.to);
        }
    }
}

/// A token tells of another message that its giver sends or receives, in a later phase.
fn notified_of_another(plan: &mut AlltoallSchedule, token: usize, which: Index) {
    let messages = placed(plan);
    let sync = plan.syncs[token];
    let (after, before) = (phase(&messages, sync.after), phase(&messages, sync.before));
    let others: Vec<Message> = messages
        .iter()
        .filter(|&&(phase, m)| {
            let same_giver = [m.src, m.dst].contains(&sync.from)
                && (m.dst == sync.from) == (sync.after.dst == sync.from);
            same_giver && after < Some(phase) && Some(phase) < before
        })
        .map(|&(_, m)| m)
        .collect();
    if !others.is_empty() {
        plan.syncs[token].after = others[which.index(others.len())];
    }
}

const SCHEMES: [&str; 8] = [
    "sender",
    "receiver",
    "sender",
    "receiver",
    "barrier",
    "barrier+sender(2)",
    "barrier+receiver(3)",
    "receiver(3)",
];

/// Hosts cabled to hosts. A host with others below it receives over several cables.
fn hosts_under_hosts() -> impl Strategy<Value = Tree> {
    let parents = (4..8usize).prop_flat_map(|n| (1..n).map(|h| 0..h).collect::<Vec<_>>());
    parents.prop_map(|parents| {
        let names: Vec<String> = (0..=parents.len()).map(|h| format!("n{h}")).collect();
        let hosts: Vec<(&str, u32)> = names.iter().map(|name| (name.as_str(), 1)).collect();
        let cables: Vec<TreeCable<'_>> = parents
            .iter()
            .enumerate()
            .map(|(child, &parent)| TreeCable {
                a: &names[child + 1],
                b: &names[parent],
                rate: BitsPerSec::GIGABIT,
            })
            .collect();
        Tree::new(&hosts, &[], &cables).unwrap()
    })
}

/// Two plans on edges of one message, and one on wider edges.
fn plans([unit, hung, wide]: [&Tree; 3], scheme: SyncScheme, chain: bool) -> [AlltoallSchedule; 3] {
    let reduction = if chain {
        SyncReduction::Chain
    } else {
        SyncReduction::Minimal
    };
    let [narrow, hung] =
        [unit, hung].map(|tree| plan_as(tree, AlltoallAlgorithm::Aapc, scheme, reduction));
    let capacities = EdgeCapacities::from_tree(wide);
    let phases = packed(wide, &capacities);
    let syncs = scheme.syncs(wide, &capacities, &phases, reduction);
    let wide = AlltoallSchedule {
        algorithm: AlltoallAlgorithm::Capacity,
        hosts: wide.host_names().to_vec(),
        bound: bound(wide, &capacities),
        phases,
        scheme,
        syncs,
        paths: Vec::new(),
    };
    [narrow, hung, wide]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 128 } else { 10_000 }))]
    #[test]
    fn the_verifier_decides_as_the_definition(
        unit in any_tree(3..=9),
        hung in hosts_under_hosts(),
        wide in any_wide_tree(3..=8, 5),
        scheme in prop::sample::select(SCHEMES.to_vec()),
        chain in any::<bool>(),
        edits in prop::collection::vec(any_edit(), 0..4),
    ) {
        let trees = [&unit, &hung, &wide];
        let plans = plans(trees, scheme.parse().unwrap(), chain);
        for (tree, mut plan) in trees.into_iter().zip(plans) {
            let verdict = alltoall(tree, &plan);
            prop_assert!(is_right(tree, &plan) == verdict.is_ok(), "unspoilt: {:?}", verdict);
            for edit in &edits {
                spoil(&mut plan, edit);
                let verdict = alltoall(tree, &plan);
                prop_assert!(is_right(tree, &plan) == verdict.is_ok(), "{:?}: {:?}", edit, verdict);
            }
        }
    }
}
