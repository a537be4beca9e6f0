//! Halves of flows, in which each set of the family gets half its messages, rounded up or down.
//!
//! A flow of an odd number of messages is an arc from its set of senders to its set of receivers. A
//! set with an odd number of arcs gets one more, from the set above it or to it; the topmost sets
//! get it from a hub. So at every stop there is an even number of ends of arcs. They become
//! partners by twos, and arcs with their partners are circles. Every second message of a circle, by
//! the direction in which its arc is walked, goes to one half: what partners add to their stop and
//! take from it is the same. Cost: linear in the flows.
use super::family::{LaminarFamily, NONE};
use super::groups::GroupFlow;
use crate::random::SplitMix64;

/// An end of an arc: twice the arc's number, and one more for the end at which it arrives. Arcs are
/// numbered from 1.
type ArcEnd = u32;

/// In place of an end.
const NO_END: ArcEnd = 0;

/// The rooms that are used again for every half.
pub(super) struct FlowHalves {
    /// By end: the other one of its two.
    partner: Vec<ArcEnd>,
    /// For each set as senders, each set as receivers, and the hub: the end without a partner.
    single: Vec<ArcEnd>,
    /// Bits of the stops with such an end. The others are skipped, because deep trees have many.
    odd: Vec<u64>,
    /// By arc: true if its message goes to the first half.
    is_first: Vec<Option<bool>>,
    halves: [Vec<GroupFlow>; 2],
}

impl FlowHalves {
    pub(super) fn new(family: &LaminarFamily) -> FlowHalves {
        let stops = 2 * family.parent.len() + 1;
        FlowHalves {
            partner: Vec::new(),
            single: vec![NO_END; stops],
            odd: vec![0; stops.div_ceil(64)],
            is_first: Vec::new(),
            halves: Default::default(),
        }
    }

    /// The two halves of the flows, each with the sets of its senders and of its receivers.
    pub(super) fn divide(
        &mut self,
        flows: &[GroupFlow],
        sets: impl Fn(&GroupFlow) -> [u32; 2],
        family: &LaminarFamily,
        random: &mut SplitMix64,
    ) -> [Vec<GroupFlow>; 2] {
        self.partner.clear();
        // Arc 0 is no arc: `arc` writes there for ends without a partner, and nobody reads it.
        self.partner.extend([NO_END; 2]);
        let odd = flows.iter().filter(|flow| flow.count % 2 == 1);
        odd.for_each(|flow| self.arc(sets(flow)));
        self.pass_on(family);
        self.walk(random);
        self.deal(flows)
    }

    fn arc(&mut self, stops: [u32; 2]) {
        let first = self.partner.len() as ArcEnd;
        self.partner.extend([NO_END; 2]);
        for (end, stop) in (first..).zip(stops) {
            // Without branches, because they would be taken by chance.
            let other = std::mem::take(&mut self.single[stop as usize]);
            (self.partner[other as usize], self.partner[end as usize]) = (end, other);
            self.single[stop as usize] = if other == NO_END { end } else { NO_END };
            self.odd[stop as usize / 64] ^= 1 << (stop % 64);
        }
    }

    /// An arc more for each set with an odd number. A larger set has a larger number, so those of
    /// the sets above are still to come.
    fn pass_on(&mut self, family: &LaminarFamily) {
        let (sets, hub) = (family.parent.len(), 2 * family.parent.len());
        for word in 0..self.odd.len() {
            while self.odd[word] != 0 {
                let stop = word * 64 + self.odd[word].trailing_zeros() as usize;
                let receivers = if stop < sets { 0 } else { sets };
                let above = match family.parent[stop - receivers] {
                    NONE => hub,
                    parent => parent as usize + receivers,
                };
                let ends = if stop < sets {
                    [above, stop]
                } else {
                    [stop, above]
                };
                self.arc(ends.map(|end| end as u32));
            }
        }
    }

    /// Walks round every circle, in a direction by chance.
    fn walk(&mut self, random: &mut SplitMix64) {
        let arcs = self.partner.len() / 2;
        self.is_first.clear();
        self.is_first.resize(arcs, None);
        for arc in 1..arcs {
            if self.is_first[arc].is_some() {
                continue;
            }
            let (start, ahead) = (2 * arc as ArcEnd, random.next() & 1 == 1);
            let mut end = start;
            loop {
                self.is_first[end as usize / 2] = Some((end % 2 == 0) == ahead);
                end = self.partner[end as usize ^ 1];
                if end == start {
                    break;
                }
            }
        }
    }

    /// The halves, as the circles say.
    fn deal(&mut self, flows: &[GroupFlow]) -> [Vec<GroupFlow>; 2] {
        let none = GroupFlow {
            from: 0,
            to: 0,
            count: 0,
        };
        self.halves
            .iter_mut()
            .for_each(|half| half.resize(flows.len().max(half.len()), none));
        let [these, those] = &mut self.halves;
        let (mut to_these, mut to_those, mut arc) = (0, 0, 0);
        for flow in flows {
            let odd = flow.count % 2;
            // Arcs of flows come first, in the order of the flows; those of sets are only for the circles.
            arc += odd as usize;
            let up = odd & u32::from(self.is_first[arc] == Some(true));
            let count = flow.count / 2 + up;
            these[to_these] = GroupFlow { count, ..*flow };
            to_these += usize::from(count > 0);
            let count = flow.count - count;
            those[to_those] = GroupFlow { count, ..*flow };
            to_those += usize::from(count > 0);
        }
        [these[..to_these].to_vec(), those[..to_those].to_vec()]
    }
}
