//! All-to-all personalized communication in contention-free phases.
//!
//! Source: aapc-2005 and aapc-2007, Figure 4 (the six steps, named below), Table 3 (the mapping of
//! step 2). Input: a tree, one message for each pair of hosts, every edge of unit capacity.
//! Guarantee: every ordered pair of hosts has one message, and no two messages of a phase share a
//! directed edge. There are as many phases as the bottleneck edge has load
//! ([`crate::bound::bound`]), so no schedule has fewer. Cost: O(hosts² + phases); the phase of each
//! message is in closed form. Deviations:
//! - The rotation of step 1.b needs no search: it is +1 per `lcm(m0, mj)` phases.
//! - Step 2 follows Table 3, as the algorithm says. The worked example in aapc-2007's Table 4 swaps
//!   the receivers of phases 2 and 3 against Table 3. As a general rule that swap would lose local
//!   messages of T0.
//! - One host or two hosts have no root; their schedules are written down directly.

pub mod in_runs;

use crate::capacities::gcd;
use crate::message::Message;
use crate::root::schedule_root;
use inventory::tree::{NodeNumber, Tree};

/// The phases of an all-to-all among the tree's hosts: none for one host, one for two. Otherwise
/// there are `m0 * (n - m0)`, where `m0` of the `n` hosts are in the largest subtree of the root.
pub fn phases(tree: &Tree) -> Vec<Vec<Message>> {
    match tree.hosts() {
        0 | 1 => Vec::new(),
        2 => vec![vec![Message { src: 0, dst: 1 }, Message { src: 1, dst: 0 }]],
        _ => among_subtrees(&AapcSteps::new(schedule_root(tree).subtrees)),
    }
}

/// All phases are counted before they are filled. There may be many times more phases than hosts,
/// and unused room in each would add up.
fn among_subtrees(steps: &AapcSteps) -> Vec<Vec<Message>> {
    let mut messages = vec![0; steps.phases];
    steps.all(&mut |phase, _, _| messages[phase] += 1);
    let mut phases: Vec<Vec<Message>> = messages.into_iter().map(Vec::with_capacity).collect();
    steps.all(&mut |phase, src, dst| phases[phase].push(Message { src, dst }));
    phases
}

/// The six steps of Figure 4. Subtree `i` is `Ti`, its host `a` is `hosts[i][a]` (`m_i,a` in
/// aapc-2007, `t_i,a` in aapc-2005).
#[derive(Debug, Clone)]
struct AapcSteps {
    hosts: Vec<Vec<NodeNumber>>,
    /// For each subtree the hosts in the subtrees before it: `m0 + … + m(i-1)`.
    before: Vec<usize>,
    /// For each subtree the number of phases after which T0 -> Tj rotates: `lcm(m0, mj)`.
    rotation: Vec<usize>,
    phases: usize,
}

impl AapcSteps {
    fn new(hosts: Vec<Vec<NodeNumber>>) -> Self {
        let mut before = vec![0];
        hosts
            .iter()
            .for_each(|h| before.push(before[before.len() - 1] + h.len()));
        let (m0, n) = (hosts[0].len(), before[hosts.len()]);
        let rotation = hosts
            .iter()
            .map(|h| m0 / gcd(m0 as u64, h.len() as u64) as usize * h.len())
            .collect();
        AapcSteps {
            hosts,
            before,
            rotation,
            phases: m0 * (n - m0),
        }
    }

    fn all(&self, put: &mut impl FnMut(usize, NodeNumber, NodeNumber)) {
        self.t0_sends(put);
        self.t0_receives(put);
        self.local_in_t0(put);
        self.down(put);
        self.local(put);
        self.up(put);
    }

    fn m(&self, i: usize) -> usize {
        self.hosts[i].len()
    }

    /// The first of the `mi * mj` phases of Ti -> Tj (section 4.2).
    fn start(&self, i: usize, j: usize) -> usize {
        if i < j {
            self.m(i) * (self.before[j] - self.before[i + 1])
        } else {
            self.phases - self.m(j) * (self.before[i + 1] - self.before[j + 1])
        }
    }

    /// The host of Tj that receives in `phase`, if one does. Receivers are aligned to the last
    /// phase.
    fn designated_receiver(&self, phase: usize, j: usize) -> usize {
        (phase as i64 - self.phases as i64).rem_euclid(self.m(j) as i64) as usize
    }

    /// Step 1.b, the rotate pattern: the sender in T0 at phase `q` of T0 -> Tj.
    fn rotated(&self, q: usize, j: usize) -> usize {
        // After lcm(m0, mj) phases sender and receiver are where they began: without the step their pairs came again.
        (q + q / self.rotation[j]) % self.m(0)
    }

    /// The host of T0 that sends a global message in `phase`; T0 sends in every phase.
    fn t0_sender(&self, phase: usize) -> usize {
        // T0 -> Tj lasts m0 phases for each host of Tj, so this many hosts behind T0 have had their turn.
        let behind_t0 = self.m(0) + phase / self.m(0);
        let j = self.before.partition_point(|&hosts| hosts <= behind_t0) - 1;
        self.rotated(phase - self.start(0, j), j)
    }

    /// Table 3: the host of T0 that receives in `phase`. The round and the sender of that phase
    /// decide.
    fn t0_receiver(&self, phase: usize) -> usize {
        let round = phase / self.m(0) % self.m(0);
        (self.t0_sender(phase) + 1 + round) % self.m(0)
    }

    /// Step 1: T0 -> Tj.
    fn t0_sends(&self, put: &mut impl FnMut(usize, NodeNumber, NodeNumber)) {
        for j in 1..self.hosts.len() {
            for q in 0..self.m(0) * self.m(j) {
                let phase = self.start(0, j) + q;
                put(
                    phase,
                    self.hosts[0][self.rotated(q, j)],
                    self.hosts[j][self.designated_receiver(phase, j)],
                );
            }
        }
    }

    /// Step 2: Ti -> T0.
    fn t0_receives(&self, put: &mut impl FnMut(usize, NodeNumber, NodeNumber)) {
        for i in 1..self.hosts.len() {
            for q in 0..self.m(0) * self.m(i) {
                let phase = self.start(i, 0) + q;
                put(
                    phase,
                    self.hosts[i][q / self.m(0)],
                    self.hosts[0][self.t0_receiver(phase)],
                );
            }
        }
    }

    /// Step 3: within T0, from the host that receives a global message to the host that sends one.
    fn local_in_t0(&self, put: &mut impl FnMut(usize, NodeNumber, NodeNumber)) {
        // In these rounds Table 3 has the receiver 1 to m0 - 1 hosts after the sender: each pair comes once.
        for phase in 0..self.m(0) * (self.m(0) - 1) {
            put(
                phase,
                self.hosts[0][self.t0_receiver(phase)],
                self.hosts[0][self.t0_sender(phase)],
            );
        }
    }

    /// Step 4: Ti -> Tj for i > j > 0.
    fn down(&self, put: &mut impl FnMut(usize, NodeNumber, NodeNumber)) {
        for i in 2..self.hosts.len() {
            (1..i).for_each(|j| self.broadcast(i, j, put));
        }
    }

    /// Step 5: within Ti, i > 0, during Ti -> Ti-1. Host a sends to b when b sends a global message
    /// and a is the designated receiver.
    fn local(&self, put: &mut impl FnMut(usize, NodeNumber, NodeNumber)) {
        for i in 1..self.hosts.len() {
            let m = self.m(i);
            for b in 0..m {
                let b_sends = self.start(i, i - 1) + b * self.m(i - 1);
                // b sends for m(i-1) phases, at least m(i) as subtrees go by size: each a is the receiver in them.
                for a in (0..m).filter(|&a| a != b) {
                    let wait = (a + m - self.designated_receiver(b_sends, i)) % m;
                    put(b_sends + wait, self.hosts[i][a], self.hosts[i][b]);
                }
            }
        }
    }

    /// Step 6: Ti -> Tj for 0 < i < j.
    fn up(&self, put: &mut impl FnMut(usize, NodeNumber, NodeNumber)) {
        for i in 1..self.hosts.len() {
            (i + 1..self.hosts.len()).for_each(|j| self.broadcast(i, j, put));
        }
    }

    /// The broadcast pattern: each host of Ti in turn sends to every host of Tj.
    fn broadcast(&self, i: usize, j: usize, put: &mut impl FnMut(usize, NodeNumber, NodeNumber)) {
        let start = self.start(i, j);
        for q in 0..self.m(i) * self.m(j) {
            put(
                start + q,
                self.hosts[i][q / self.m(j)],
                self.hosts[j][q % self.m(j)],
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capacities::EdgeCapacities;
    use inventory::BitsPerSec;
    use inventory::tree::TreeCable;
    use proptest::prelude::*;
    use samples::trees::{any_tree, star, topology};
    use std::collections::HashSet;

    /// The messages of a phase as `srcdst`, sorted.
    fn table(tree: &Tree) -> Vec<String> {
        phases(tree)
            .iter()
            .map(|phase| {
                let mut cells: Vec<String> = phase
                    .iter()
                    .map(|m| format!("{}{}", m.src, m.dst))
                    .collect();
                cells.sort();
                cells.join(" ")
            })
            .collect()
    }

    /// aapc-2005, Table 4: T0 = n0 n1 n2, T1 = n3 n4, T2 = n5.
    #[test]
    fn reproduces_table_4_of_aapc_2005() {
        let tree = topology(
            "switches: [s1, s0, s2, s3]\nhosts: {n0: {switch: s0}, n1: {switch: s0}, \
             n2: {switch: s2}, n3: {switch: s3}, n4: {switch: s3}, n5: {switch: s1}}\n\
             links: [{a: s1, b: s0}, {a: s0, b: s2}, {a: s1, b: s3}]",
        );
        assert_eq!(
            table(&tree),
            [
                "04 10 35 51",
                "13 21 45 52",
                "02 24 50",
                "03 20 32",
                "01 14 30 43",
                "12 23 31",
                "05 40",
                "15 34 41 53",
                "25 42 54",
            ]
        );
    }

    /// aapc-2007, Table 4: T0 = n0 n1, T1 = n3 n4, T2 = n2. Phases 2 and 3 follow the paper's Table
    /// 3: in round 1 `m0,1 -> m0,1` and `m0,0 -> m0,0` are (sender, receiver). The paper prints the
    /// receivers m0,0 and m0,1, which is an erratum.
    #[test]
    fn reproduces_the_example_of_aapc_2007_by_its_table_3() {
        let tree = topology(
            "switches: [s0, s1, s2, s3, s4, s5]\nhosts: {n0: {switch: s0}, n1: {switch: s0}, \
             n2: {switch: s3}, n3: {switch: s5}, n4: {switch: s5}}\nlinks: [{a: s0, b: s1}, \
             {a: s1, b: s2}, {a: s2, b: s3}, {a: s1, b: s4}, {a: s3, b: s5}]",
        );
        assert_eq!(
            table(&tree),
            [
                "03 10 21 32",
                "01 14 20 42",
                "13 31",
                "04 30 43",
                "02 23 34 41",
                "12 24 40"
            ]
        );
    }

    #[test]
    fn one_and_two_hosts_are_trivial() {
        assert!(phases(&star(&[1])).is_empty());
        assert!(phases(&star(&[0, 1, 0])).is_empty());
        assert_eq!(table(&star(&[2])), ["01 10"]);
        assert_eq!(table(&star(&[1, 0, 1])), ["01 10"]);
        assert_eq!(table(&star(&[3])), ["01 12 20", "02 10 21"]);
    }

    #[test]
    fn hosts_cabled_to_hosts_are_served_too() {
        for cables in [
            [(0, 1), (1, 2), (2, 3), (3, 4)],
            [(0, 1), (0, 2), (0, 3), (0, 4)],
            [(0, 1), (0, 2), (2, 3), (2, 4)],
        ] {
            let names = ["n0", "n1", "n2", "n3", "n4"];
            let cables = cables.map(|(a, b)| TreeCable {
                a: names[a],
                b: names[b],
                rate: BitsPerSec::GIGABIT,
            });
            let tree = Tree::new(&names.map(|name| (name, 1)), &[], &cables).unwrap();
            crate::verify::alltoall(
                &tree,
                &crate::alltoall::plan(&tree, crate::synchronization::SyncKind::Sender),
            )
            .unwrap();
            crate::verify::allgather(&tree, &crate::allgather::plan(&tree)).unwrap();
        }
    }

    /// There are many cases where they take little time.
    const CASES: u32 = if cfg!(debug_assertions) { 128 } else { 10_000 };

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(CASES))]
        #[test]
        fn every_pair_once_without_contention_at_the_bound(tree in any_tree(2..=64)) {
            let phases = phases(&tree);
            let mut pairs = HashSet::new();
            for phase in &phases {
                let mut edges = HashSet::new();
                for m in phase {
                    prop_assert!(m.src != m.dst && pairs.insert(*m));
                    let mut free = true;
                    tree.path(m.src, m.dst, |edge| free &= edges.insert(edge));
                    prop_assert!(free, "contention at {:?}", m);
                }
            }
            prop_assert_eq!(pairs.len() as u32, tree.hosts() * (tree.hosts() - 1));
            prop_assert_eq!(
                phases.len() as u64,
                crate::bound::bound(&tree, &EdgeCapacities::unit(&tree)).phases
            );
        }
    }
}
