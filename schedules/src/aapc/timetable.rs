//! The phase of one message, without the others.
//!
//! Source: the steps of [`super`], turned round: there phases ask who sends and who receives, here two hosts ask when.
//! Input: as there.
//! Guarantee: the same phases.
//! Cost: O(nodes log nodes) once, then O(log hosts) a message, most of them in constant time.
//! Deviations: none.
use super::{Steps, gcd};
use crate::message::Message;
use crate::root::schedule_root;
use inventory::tree::Tree;

/// When each pair of hosts has its message in [`super::phases`].
#[derive(Debug, Clone)]
pub struct Timetable {
    /// No steps where there are too few hosts for a root.
    steps: Option<Steps>,
    /// Subtree of each host, and its place in it.
    place: Vec<(usize, usize)>,
}

impl Timetable {
    /// That of the tree's hosts.
    pub fn new(tree: &Tree) -> Timetable {
        let mut place = vec![(0, 0); tree.hosts() as usize];
        if tree.hosts() < 3 {
            return Timetable { steps: None, place };
        }
        let subtrees = schedule_root(tree).subtrees;
        for (i, hosts) in subtrees.iter().enumerate() {
            hosts.iter().enumerate().for_each(|(a, &host)| place[host as usize] = (i, a));
        }
        Timetable { steps: Some(Steps::new(subtrees)), place }
    }

    /// The phase of a message, from 0; `None` if one of its ends is no host, or both are the same one.
    pub fn phase(&self, message: Message) -> Option<u32> {
        let [from, to] = [message.src, message.dst].map(|host| self.place.get(host as usize).copied());
        let (from, to) = (from?, to?);
        let phase = self.steps.as_ref().map_or(0, |steps| steps.phase(from, to));
        (message.src != message.dst).then_some(phase as u32)
    }
}

impl Steps {
    /// The phase of host `a` of Ti to host `b` of Tj.
    fn phase(&self, (i, a): (usize, usize), (j, b): (usize, usize)) -> usize {
        match (i, j) {
            (0, 0) => self.step_3(a, b),
            (0, j) => self.step_1(a, j, b),
            (i, 0) => self.step_2(i, a, b),
            (i, j) if i == j => self.step_5(i, a, b),
            (i, j) => self.steps_4_and_6(i, a, j, b),
        }
    }

    /// T0 -> Tj: `q = turn * lcm + r` is where the rotation makes `a` the sender, `r = a - turn` modulo m0, and the alignment makes
    /// `b` the receiver, `r = b + P - start` modulo mj. Both at once fixes `turn` modulo their common divisor, then `r`.
    fn step_1(&self, a: usize, j: usize, b: usize) -> usize {
        let (m0, mj, start) = (self.m(0), self.m(j), self.start(0, j));
        let divisor = gcd(m0, mj);
        let aligned = (b + self.phases - start) % mj;
        let turn = (a + mj - aligned) % divisor;
        let rotated = (a + m0 - turn) % m0;
        let blocks = (aligned + mj - rotated % mj) / divisor * inverse(m0 / divisor, mj / divisor) % (mj / divisor);
        start + turn * (m0 / divisor * mj) + rotated + m0 * blocks
    }

    /// Ti -> T0: `a` sends in its round of m0 phases, when T0's sender is the one that Table 3 pairs with `b`.
    fn step_2(&self, i: usize, a: usize, b: usize) -> usize {
        let m0 = self.m(0);
        let round = self.start(i, 0) / m0 + a;
        self.t0_sends_at(round, (b + 2 * m0 - 1 - round % m0) % m0)
    }

    /// Within T0: the round in which Table 3 pairs the receiver `a` with the sender `b`.
    fn step_3(&self, a: usize, b: usize) -> usize {
        let m0 = self.m(0);
        self.t0_sends_at((a + m0 - b + m0 - 1) % m0, b)
    }

    /// The phase of a round of m0 phases in which T0's host `sender` sends; each does once.
    fn t0_sends_at(&self, round: usize, sender: usize) -> usize {
        let m0 = self.m(0);
        let rotation = self.t0_sender(round * m0);
        round * m0 + (sender + m0 - rotation) % m0
    }

    /// Within Ti.
    fn step_5(&self, i: usize, a: usize, b: usize) -> usize {
        let m = self.m(i);
        let b_sends = self.start(i, i - 1) + b * self.m(i - 1);
        b_sends + (a + m - self.designated_receiver(b_sends, i)) % m
    }

    /// Ti -> Tj, neither of them T0.
    fn steps_4_and_6(&self, i: usize, a: usize, j: usize, b: usize) -> usize {
        self.start(i, j) + a * self.m(j) + b
    }
}

/// `x` with `x * number % modulus == 1`, for numbers without a common divisor (extended Euclid); 0 where `modulus` is 1.
fn inverse(number: usize, modulus: usize) -> usize {
    let (mut r, mut next_r) = (modulus as i64, (number % modulus) as i64);
    let (mut x, mut next_x) = (0, 1);
    while next_r != 0 {
        let times = r / next_r;
        (r, next_r) = (next_r, r - times * next_r);
        (x, next_x) = (next_x, x - times * next_x);
    }
    x.rem_euclid(modulus as i64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aapc::phases;
    use crate::sample::{any_tree, star};
    use proptest::prelude::*;

    #[test]
    fn there_is_no_phase_without_two_hosts() {
        let timetable = Timetable::new(&star(&[2, 1]));
        for (src, dst) in [(0, 0), (0, 3), (3, 0), (u32::MAX, 1)] {
            assert_eq!(timetable.phase(Message { src, dst }), None);
        }
        assert_eq!(Timetable::new(&star(&[2])).phase(Message { src: 0, dst: 1 }), Some(0));
        assert_eq!(Timetable::new(&star(&[1])).phase(Message { src: 0, dst: 0 }), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 128 } else { 10_000 }))]
        #[test]
        fn agrees_with_the_steps(tree in any_tree(1..=64)) {
            let timetable = Timetable::new(&tree);
            for (messages, phase) in phases(&tree).iter().zip(0..) {
                for &m in messages {
                    prop_assert_eq!(timetable.phase(m), Some(phase), "{:?}", m);
                }
            }
        }
    }
}
