//! Which path a packet takes, by what answers on its way.
use super::{EdgesOfPath, MessagePaths, PathNumber};
use crate::message::Message;
use inventory::stages::flows::WayCable;
use inventory::stages::hops::WayHop;
use inventory::tree::Tree;
use inventory::tree::parallel_cables::MemberCable;
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};
use std::net::IpAddr;

/// The answers at the ends of cables that lie side by side.
#[derive(Debug, Clone, Default)]
pub struct WayAnswers<'a> {
    /// By the boxes at both ends, and the cable's place among those between them.
    at: HashMap<(&'a str, &'a str, u32), Vec<IpAddr>>,
}

impl<'a> WayAnswers<'a> {
    /// The answers of these hops.
    pub fn new(hops: &'a [WayHop]) -> WayAnswers<'a> {
        let mut at: HashMap<_, Vec<IpAddr>> = HashMap::new();
        for hop in hops {
            let cable = (hop.from.as_str(), hop.at.as_str(), hop.cable);
            at.entry(cable).or_default().push(hop.address);
        }
        WayAnswers { at }
    }

    /// All addresses that answer.
    pub fn all(&self) -> HashSet<IpAddr> {
        self.at.values().flatten().copied().collect()
    }

    /// The proof that a message takes this path.
    pub fn of_path(&self, tree: &Tree, m: Message, path: PathNumber) -> TracedPath {
        let mut cables = EdgesOfPath::new(tree, m);
        cables.set(path);
        let edges = cables.edges.iter().map(|edge| {
            let members = tree.member_cables(edge.edge / 2);
            let Some(&cable) = members.get(edge.place as usize) else {
                return TracedEdge::default();
            };
            let joins =
                |other: &&MemberCable| (other.below, other.above) == (cable.below, cable.above);
            let before = members[..edge.place as usize].iter().filter(joins);
            let ends = [cable.below, cable.above].map(|end| tree.box_name(end));
            let [from, at] = if edge.edge.is_multiple_of(2) {
                ends
            } else {
                [ends[1], ends[0]]
            };
            let place = before.count() as u32;
            let answers = self.at.get(&(from, at, place));
            TracedEdge {
                answers: answers.cloned().unwrap_or_default(),
                cables: members.len(),
                between_boxes: members.iter().filter(joins).count(),
                cable: Some(WayCable {
                    from: from.to_owned(),
                    at: at.to_owned(),
                    cable: place,
                }),
            }
        });
        TracedPath(edges.collect())
    }
}

/// All paths between two hosts that leave each box that they enter, if there are no more than `most`.
pub fn all_paths(tree: &Tree, m: Message, most: u32) -> Option<Vec<PathNumber>> {
    let edges = EdgesOfPath::new(tree, m).edges;
    let mut ends = edges.iter().map(|edge| edge.unit.checked_mul(edge.cables));
    let end = ends.try_fold(0, |most, end| Some(most.max(end?)))?;
    if end > most {
        return None;
    }
    let numbers: Vec<PathNumber> = (0..end).collect();
    let paths = MessagePaths::new(tree, &numbers);
    let whole = numbers.iter().filter(|&&number| paths.is_whole(number, m));
    Some(whole.copied().collect())
}

/// The cable that a path takes of an edge.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
struct TracedEdge {
    answers: Vec<IpAddr>,
    /// Those of the edge, and those of them between the same two boxes; none if nothing lies side by side.
    cables: usize,
    between_boxes: usize,
    cable: Option<WayCable>,
}

/// The proof that a packet takes a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TracedPath(Vec<TracedEdge>);

/// The part of a packet's path that answers show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TraceVerdict {
    /// It takes this one.
    This,
    /// It takes another one.
    Other,
    /// It may take this one.
    Open,
}

impl TracedPath {
    /// True if the packet has a choice somewhere.
    pub fn has_choice(&self) -> bool {
        self.0.iter().any(|edge| edge.cables > 1)
    }

    /// As many ways as its cables' neighbours would be together, at least as many as there are.
    pub fn ways(&self) -> usize {
        let cables = self.0.iter().map(|edge| edge.cables.max(1));
        cables.fold(1, usize::saturating_mul)
    }

    /// The cables where there is a choice, from the sender on.
    pub fn chosen_cables(&self) -> impl Iterator<Item = &WayCable> {
        let chosen = self.0.iter().filter(|edge| edge.cables > 1);
        chosen.filter_map(|edge| edge.cable.as_ref())
    }

    /// The path of a packet to which these addresses answered; `all` are those that answer on any way.
    pub fn verdict(&self, answered: &[IpAddr], all: &HashSet<IpAddr>) -> TraceVerdict {
        if answered.iter().any(|address| {
            all.contains(address) && !self.0.iter().any(|edge| edge.answers.contains(address))
        }) {
            return TraceVerdict::Other;
        }
        let mut certain: Vec<bool> = self
            .0
            .iter()
            .map(|edge| {
                edge.cables <= 1
                    || edge
                        .answers
                        .iter()
                        .any(|address| answered.contains(address))
            })
            .collect();
        // Between two boxes that the packet certainly passes it has one cable, perhaps.
        // Certainty goes from an edge to the next in each round.
        for _ in 0..certain.len() {
            for at in 0..certain.len() {
                let mut beside = [at.wrapping_sub(1), at + 1].into_iter();
                let has_ends = beside.all(|edge| certain.get(edge).is_none_or(|certain| *certain));
                certain[at] |= self.0[at].between_boxes == 1 && has_ends;
            }
        }
        match certain.iter().all(|certain| *certain) {
            true => TraceVerdict::This,
            false => TraceVerdict::Open,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stages::tests::leaf_spine;

    fn hop(from: &str, at: &str, address: [u8; 4]) -> WayHop {
        WayHop {
            from: from.into(),
            at: at.into(),
            cable: 0,
            address: address.into(),
        }
    }

    /// The answers of two leaves and two spines; where spines do not answer, of leaves alone.
    fn hops(spines_answer: bool) -> Vec<WayHop> {
        let mut hops = Vec::new();
        for (leaf, spine) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            let names = [format!("leaf{leaf}"), format!("spine{spine}")];
            if spines_answer {
                hops.push(hop(&names[0], &names[1], [10, 1, leaf, spine]));
            }
            hops.push(hop(&names[1], &names[0], [10, 2, leaf, spine]));
        }
        hops
    }

    #[test]
    fn one_answer_tells_the_spine_whoever_gives_it() {
        let tree = leaf_spine(2, 1, 2, "10G");
        let m = Message { src: 0, dst: 1 };
        let by_spine = |number: PathNumber| {
            let mut cables = EdgesOfPath::new(&tree, m);
            cables.set(number);
            let up = cables.edges.iter().find(|edge| edge.cables > 1).unwrap();
            let cable = tree.member_cables(up.edge / 2)[up.place as usize];
            [cable.above, cable.below].map(|at| tree.box_name(at).to_owned())
        };
        let mut seen = 0;
        for number in (0..4).filter(|&number| EdgesOfPath::new(&tree, m).set(number) == 0) {
            let paths = [number];
            if !super::super::MessagePaths::new(&tree, &paths).is_whole(0, m) {
                continue;
            }
            seen += 1;
            let spine = u8::from(by_spine(number).contains(&"spine1".to_owned()));
            for spines_answer in [true, false] {
                let hops = hops(spines_answer);
                let answers = WayAnswers::new(&hops);
                let path = answers.of_path(&tree, m, number);
                let verdict = |answered: &[[u8; 4]]| {
                    let answered: Vec<IpAddr> = answered.iter().map(|&a| a.into()).collect();
                    path.verdict(&answered, &answers.all())
                };
                assert!(path.has_choice());
                assert_eq!(verdict(&[[10, 9, 9, 9]]), TraceVerdict::Open);
                assert_eq!(verdict(&[[10, 2, 1, spine]]), TraceVerdict::This);
                assert_eq!(verdict(&[[10, 2, 1, 1 - spine]]), TraceVerdict::Other);
                let at_spine = verdict(&[[10, 9, 9, 9], [10, 1, 0, spine]]);
                let known = [TraceVerdict::Open, TraceVerdict::This];
                assert_eq!(at_spine, known[usize::from(spines_answer)]);
            }
        }
        assert_eq!(seen, 2);
    }

    #[test]
    fn of_cables_between_the_same_routers_each_is_known_by_its_own_answer() {
        let cables = "switches: [s0, s1]\nhosts: {a: {switch: s0}, b: {switch: s1}}\nlinks:\n  - {a: s0, \
                      b: s1, state: multipath}\n  - {a: s0, b: s1, state: multipath}\n";
        let tree = samples::trees::topology(cables);
        let m = Message { src: 0, dst: 1 };
        let mut hops = vec![
            hop("s0", "s1", [10, 0, 0, 0]),
            hop("s0", "s1", [10, 0, 0, 1]),
        ];
        hops[1].cable = 1;
        let answers = WayAnswers::new(&hops);
        for m in [m, Message { src: 1, dst: 0 }] {
            assert_eq!(all_paths(&tree, m, 2), Some(vec![0, 1]));
            assert_eq!(all_paths(&tree, m, 1), None);
        }
        for (number, other) in [(0, 1), (1, 0)] {
            let path = answers.of_path(&tree, m, number);
            let verdict =
                |last: u32| path.verdict(&[[10, 0, 0, last as u8].into()], &answers.all());
            assert_eq!(verdict(number), TraceVerdict::This);
            assert_eq!(verdict(other), TraceVerdict::Other);
        }
        assert_eq!(
            answers.of_path(&tree, m, 0).verdict(&[], &answers.all()),
            TraceVerdict::Open
        );
    }
}
