//! Which of the cables and boxes side by side each message of a phase takes.
//!
//! Source: König, Über Graphen und ihre Anwendung auf Determinantentheorie und Mengenlehre, 1916: what
//! enters and leaves a stage of equal ways is a bipartite multigraph, whose edges get as many colours as
//! its largest degree. Input: phases in which no edge has more messages than its cables carry together.
//! Guarantee: if there is a choice, no cable has more messages in a phase than it carries, and each
//! message leaves a box that it enters. There is one wherever all ways of a stage of one level carry the
//! same, and where there are several cables between two boxes only; elsewhere messages that find no
//! room push others aside, for a while, and a phase that has no choice then becomes two. Cost: that of the
//! colouring, for each message. Deviations: none.
use super::{EdgesOfPath, LinkNumber, MessagePaths, PathEdge, PathNumber, meets};
use crate::capacities::EdgeCapacities;
use crate::capacity::colour::EdgeColouring;
use crate::message::Message;
use crate::random::SplitMix64;
use inventory::tree::parallel_cables::BoxNumber;
use inventory::tree::{NodeNumber, Tree};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// So many times as many messages as a phase has are pushed aside, at most.
const PUSHES: usize = 64;
/// More ways through stages that are several levels high are not looked at.
const MOST_WAYS: usize = 4096;

/// The path of each message, in the order of phases; none if nothing lies side by side. A phase that finds no
/// room is divided, as long as there are no more than `most`; none where that is not enough, or a message has
/// no way.
pub fn choose(
    tree: &Tree,
    capacities: &EdgeCapacities,
    phases: &mut Vec<Vec<Message>>,
    most: usize,
) -> Vec<PathNumber> {
    if !tree.has_members() {
        return Vec::new();
    }
    let mut chooser = StageChooser::new(tree, capacities);
    let mut paths = Vec::with_capacity(phases.iter().map(Vec::len).sum());
    let (mut number, mut divided) = (0, Vec::new());
    while let Some(phase) = phases.get_mut(number) {
        if let Some(found) = chooser.phase(number, phase) {
            paths.extend(found);
            number += 1;
            continue;
        }
        let rest = phase.split_off(phase.len() / 2);
        phases.insert(number + 1, rest);
        divided.push(number);
        if phases.len() > most || phases[number].is_empty() {
            // The last division is undone first: it counted the phases of those before.
            for number in divided.into_iter().rev() {
                let rest = phases.remove(number + 1);
                phases[number].extend(rest);
            }
            return Vec::new();
        }
    }
    paths
}

/// Phases in which the same switches send to the same ones follow each other, so that messages find the ways
/// of those before. Where nothing lies side by side, all stay in their order.
pub fn in_turn(tree: &Tree, mut phases: Vec<Vec<Message>>) -> Vec<Vec<Message>> {
    if tree.has_members() {
        // A message that follows one former user into a stage and out of it waits for one token, not for two.
        phases.sort_by_cached_key(|phase| {
            let mut ends: Vec<_> = phase
                .iter()
                .map(|m| [m.src, m.dst].map(|host| tree.parent(host)))
                .filter(|[from, to]| from != to)
                .collect();
            ends.sort_unstable();
            ends
        });
    }
    phases
}

/// The part of a message's path between two boxes that no other stands beside.
#[derive(Debug, Clone, Copy)]
struct StagePart {
    message: usize,
    from: usize,
    to: usize,
}

/// The numbers of the sides on which messages enter and leave a stage.
fn sides([enter, leave]: [NodeNumber; 2]) -> [usize; 2] {
    [2 * enter as usize, 2 * leave as usize + 1]
}

struct StageChooser<'a> {
    tree: &'a Tree,
    capacities: &'a EdgeCapacities,
    /// By node: true if it has several boxes.
    is_stage: Vec<bool>,
    /// By node whose ways are all equal: the boxes, each as often as it carries messages at once.
    equal: HashMap<NodeNumber, Vec<BoxNumber>>,
    /// The ways through stages that are several levels high, by their first and last edge.
    ways: HashMap<[u32; 2], Vec<Vec<u32>>>,
    /// By the edges over which messages enter and leave a stage: their ways in the phase before. A
    /// message that stays on its way waits for one former message only.
    before: HashMap<[NodeNumber; 2], Vec<usize>>,
    /// By the side on which messages enter or leave a stage of equal ways: what each of them has carried.
    by_way: Vec<Vec<u32>>,
    /// By cable and direction: the messages of all phases before.
    carried: Vec<u32>,
    /// By cable and direction: the messages of this phase.
    used: Vec<u32>,
    widths: Vec<u32>,
    first: Vec<u32>,
}

impl<'a> StageChooser<'a> {
    fn new(tree: &'a Tree, capacities: &'a EdgeCapacities) -> StageChooser<'a> {
        let paths = MessagePaths::new(tree, &[0]);
        let links = 0..paths.links() as LinkNumber;
        let widths: Vec<u32> = links
            .map(|link| paths.width(link, capacities) as u32)
            .collect();
        let mut boxes: Vec<BTreeSet<BoxNumber>> = vec![BTreeSet::new(); tree.nodes() as usize];
        for (node, parent) in (0..tree.nodes()).filter_map(|v| Some((v, tree.parent(v)?))) {
            for cable in tree.member_cables(node) {
                boxes[node as usize].insert(cable.below);
                boxes[parent as usize].insert(cable.above);
            }
        }
        let mut chooser = StageChooser {
            tree,
            capacities,
            is_stage: boxes.iter().map(|boxes| boxes.len() > 1).collect(),
            equal: HashMap::new(),
            ways: HashMap::new(),
            before: HashMap::new(),
            by_way: vec![Vec::new(); tree.edges() as usize],
            carried: vec![0; widths.len()],
            used: vec![0; widths.len()],
            widths,
            first: paths.first,
        };
        chooser.equal = (0..tree.nodes())
            .filter(|&node| chooser.is_stage[node as usize])
            .filter_map(|node| Some((node, chooser.equal_ways(node)?)))
            .collect();
        chooser
    }

    /// The boxes of a stage, each as often as every edge to it can carry messages to the box; in turn.
    fn equal_ways(&self, stage: NodeNumber) -> Option<Vec<BoxNumber>> {
        let below = (0..self.tree.nodes()).filter(|&v| self.tree.parent(v) == Some(stage));
        let edges = below.map(|v| (v, true)).chain([(stage, false)]);
        let mut found: Option<Vec<BoxNumber>> = None;
        for (node, is_below) in edges.filter(|&(v, _)| self.tree.parent(v).is_some()) {
            let other = if is_below {
                Some(node)
            } else {
                self.tree.parent(node)
            };
            // Between two stages one choice decides two boxes, so that the stages cannot be coloured one by one.
            if other.is_none_or(|other| self.is_stage[other as usize]) {
                return None;
            }
            let mut slots: Vec<(u64, BoxNumber)> = Vec::new();
            let mut taken: HashMap<BoxNumber, u64> = HashMap::new();
            for cable in self.tree.member_cables(node) {
                let at = if is_below { cable.above } else { cable.below };
                for _ in 0..self.capacities.cable_width(2 * node, *cable) {
                    let round = taken.entry(at).or_default();
                    slots.push((*round, at));
                    *round += 1;
                }
            }
            // In turn: few messages are on different boxes, too.
            slots.sort_unstable();
            let boxes: Vec<BoxNumber> = slots.into_iter().map(|(_, at)| at).collect();
            match &found {
                Some(others) if *others != boxes => return None,
                _ => found = Some(boxes),
            }
        }
        found
    }

    fn link(&self, edge: &PathEdge) -> usize {
        2 * (self.first[edge.edge as usize / 2] + edge.place) as usize + edge.edge as usize % 2
    }

    /// The paths of a phase's messages.
    fn phase(&mut self, number: usize, messages: &[Message]) -> Option<Vec<PathNumber>> {
        self.used.fill(0);
        let mut paths: Vec<EdgesOfPath> = Vec::with_capacity(messages.len());
        let mut coloured: BTreeMap<NodeNumber, Vec<StagePart>> = BTreeMap::new();
        let mut pushed = Vec::new();
        for (message, m) in messages.iter().enumerate() {
            let path = EdgesOfPath::new(self.tree, *m);
            paths.push(path);
            for part in self.parts(message, &paths[message].edges) {
                match self.stage_of(&paths[message].edges[part.from..part.to]) {
                    Some(stage) => coloured.entry(stage).or_default().push(part),
                    None => pushed.push(part),
                }
            }
        }
        for (stage, parts) in coloured {
            self.colour(stage, &parts, &mut paths)?;
        }
        self.push_aside(number, &pushed, &mut paths)?;
        for (carried, used) in self.carried.iter_mut().zip(&self.used) {
            *carried += used;
        }
        paths.iter().map(EdgesOfPath::number).collect()
    }

    /// The parts of a path in which there is a choice, or no way: between hosts that have a card each, at one box
    /// of a pair and at the other.
    fn parts(&self, message: usize, edges: &[PathEdge]) -> Vec<StagePart> {
        let (mut parts, mut from) = (Vec::new(), 0);
        for (at, edge) in edges.iter().enumerate() {
            let end = self.tree.ends(edge.edge).map(|(_, end)| end);
            let goes_on = end.is_some_and(|end| self.is_stage[end as usize]);
            if goes_on && at + 1 < edges.len() {
                continue;
            }
            let here = &edges[from..=at];
            let mut pairs = here.windows(2);
            if here.iter().any(|edge| edge.cables > 1)
                || !pairs.all(|pair| meets(self.tree, &pair[0], &pair[1]))
            {
                let to = at + 1;
                parts.push(StagePart { message, from, to });
            }
            from = at + 1;
        }
        parts
    }

    /// The stage of equal ways that these edges enter and leave.
    fn stage_of(&self, edges: &[PathEdge]) -> Option<NodeNumber> {
        let [entry, _] = edges else {
            return None;
        };
        let (_, stage) = self.tree.ends(entry.edge)?;
        self.equal.contains_key(&stage).then_some(stage)
    }

    fn colour(
        &mut self,
        stage: NodeNumber,
        parts: &[StagePart],
        paths: &mut [EdgesOfPath],
    ) -> Option<()> {
        let slots = self.equal[&stage].clone();
        let mut place: HashMap<NodeNumber, usize> = HashMap::new();
        let mut waiting: BTreeMap<[NodeNumber; 2], Vec<StagePart>> = BTreeMap::new();
        let mut degrees: HashMap<(NodeNumber, usize), usize> = HashMap::new();
        for part in parts {
            let edges = &paths[part.message].edges;
            let ends = [edges[part.from].edge / 2, edges[part.from + 1].edge / 2];
            for (end, side) in ends.into_iter().zip(0..) {
                let next = place.len();
                place.entry(end).or_insert(next);
                *degrees.entry((end, side)).or_default() += 1;
            }
            waiting.entry(ends).or_default().push(*part);
        }
        // As many colours as the largest degree are enough (König); no choice is right with fewer.
        if degrees.values().any(|&degree| degree > slots.len()) {
            return None;
        }
        let colours = self.coloured(&waiting, &place, slots.len());
        let node: HashMap<usize, NodeNumber> =
            place.iter().map(|(&node, &at)| (at, node)).collect();
        for ends in waiting.keys() {
            self.before.remove(ends);
        }
        for left in 0..place.len() {
            for (colour, &at) in slots.iter().enumerate() {
                let Some(right) = colours.right_of(left, colour) else {
                    continue;
                };
                let ends = [node[&left], node[&right]];
                let part = waiting.get_mut(&ends).and_then(Vec::pop)?;
                self.before.entry(ends).or_default().push(colour);
                for side in sides(ends) {
                    let carried = &mut self.by_way[side];
                    carried.resize(slots.len(), 0);
                    carried[colour] += 1;
                }
                for edge in &mut paths[part.message].edges[part.from..part.to] {
                    self.take_cable_to(at, edge)?;
                }
            }
        }
        Some(())
    }

    /// Colours the parts that wait at each pair of sides: they stay on the ways of the phase before where these
    /// have carried no more than others, and else take those that have carried the least.
    fn coloured(
        &self,
        waiting: &BTreeMap<[NodeNumber; 2], Vec<StagePart>>,
        place: &HashMap<NodeNumber, usize>,
        ways: usize,
    ) -> EdgeColouring {
        let mut colours = EdgeColouring::new(place.len(), place.len(), ways);
        let mut rest = Vec::new();
        for (ends, parts) in waiting {
            let [left, right] = ends.map(|end| place[&end]);
            let load = self.load_of_ways(*ends);
            let least = (0..ways).map(&load).min();
            let before = self.before.get(ends).map_or(&[][..], Vec::as_slice);
            let mut stay = (before.iter().copied()).filter(|&way| Some(load(way)) == least);
            for _ in parts {
                if !stay.any(|way| colours.add_with(left, right, way)) {
                    rest.push((*ends, left, right));
                }
            }
        }
        let mut by_load: Vec<usize> = (0..ways).collect();
        for (ends, left, right) in rest {
            let load = self.load_of_ways(ends);
            by_load.sort_unstable_by_key(|&way| (load(way), way));
            let mut free = by_load.iter();
            if !free.any(|&way| colours.add_with(left, right, way)) {
                colours.add(left, right);
            }
        }
        colours
    }

    /// The octets that each way from one side of a stage to another has carried.
    fn load_of_ways(&self, ends: [NodeNumber; 2]) -> impl Fn(usize) -> u32 + '_ {
        let carried = sides(ends).map(|side| self.by_way[side].as_slice());
        move |way| carried.iter().filter_map(|side| side.get(way)).sum()
    }

    /// Takes a cable of this edge to a box, the least used one.
    fn take_cable_to(&mut self, at: BoxNumber, edge: &mut PathEdge) -> Option<()> {
        let cables = self.tree.member_cables(edge.edge / 2).iter().zip(0u32..);
        let to_box = cables.filter(|(cable, _)| cable.above == at || cable.below == at);
        let rooms = to_box.map(|(_, place)| {
            let link = self.link(&PathEdge { place, ..*edge });
            let room = self.widths[link].saturating_sub(self.used[link]);
            (room, Reverse(place))
        });
        let (room, Reverse(place)) = rooms.max()?;
        if room == 0 {
            return None;
        }
        edge.place = place;
        let link = self.link(edge);
        self.used[link] += 1;
        Some(())
    }

    /// By how many messages one more on a way exceeds the widths of its links. If all have room: the load of
    /// the fullest one in proportion to its width.
    fn load_on(&self, edges: &[PathEdge], way: &[u32]) -> (u32, u64) {
        let places = edges.iter().zip(way);
        let links = places.map(|(edge, &place)| self.link(&PathEdge { place, ..*edge }));
        let over = links
            .clone()
            .map(|link| (self.used[link] + 1).saturating_sub(self.widths[link]));
        // In integers: ranks choose for themselves, and must choose alike.
        let loads =
            links.map(|link| (u64::from(self.carried[link]) << 16) / u64::from(self.widths[link]));
        match over.sum() {
            0 => (0, loads.max().unwrap_or(0)),
            over => (over, 0),
        }
    }

    /// Gives each part the way with the most room. Where there is none, another has to go elsewhere.
    fn push_aside(
        &mut self,
        phase: usize,
        parts: &[StagePart],
        paths: &mut [EdgesOfPath],
    ) -> Option<()> {
        // Each rank plans for itself, so that chance must be the same on all of them.
        let mut random = SplitMix64::new(phase as u64);
        let mut users: HashMap<usize, Vec<StagePart>> = HashMap::new();
        let mut waiting: Vec<StagePart> = parts.to_vec();
        let mut left = PUSHES * parts.len();
        while let Some(part) = waiting.pop() {
            left = left.checked_sub(1)?;
            let edges = &paths[part.message].edges[part.from..part.to];
            let ways = self.ways(edges);
            let loads: Vec<(u32, u64)> = ways.iter().map(|way| self.load_on(edges, way)).collect();
            let least = loads.iter().min()?;
            let alike = ways.iter().zip(&loads).filter(|(_, load)| *load == least);
            let best: Vec<&Vec<u32>> = alike.map(|(way, _)| way).collect();
            let way = best[random.below_wide(best.len() as u64) as usize].clone();
            for (at, place) in (part.from..part.to).zip(way) {
                paths[part.message].edges[at].place = place;
                let link = self.link(&paths[part.message].edges[at]);
                if self.used[link] >= self.widths[link] {
                    let others = users.get_mut(&link).filter(|others| !others.is_empty())?;
                    let other = others[random.below_wide(others.len() as u64) as usize];
                    self.leave(other, &paths[other.message].edges, &mut users);
                    waiting.push(other);
                }
                self.used[link] += 1;
                users.entry(link).or_default().push(part);
            }
        }
        Some(())
    }

    fn leave(
        &mut self,
        part: StagePart,
        edges: &[PathEdge],
        users: &mut HashMap<usize, Vec<StagePart>>,
    ) {
        for edge in &edges[part.from..part.to] {
            let link = self.link(edge);
            let Some(there) = users.get_mut(&link) else {
                continue;
            };
            if let Some(at) = there.iter().position(|other| other.message == part.message) {
                there.swap_remove(at);
                self.used[link] -= 1;
            }
        }
    }

    /// The places of cables that lead over these edges.
    fn ways(&mut self, edges: &[PathEdge]) -> Vec<Vec<u32>> {
        let key = [edges[0].edge, edges[edges.len() - 1].edge];
        if let Some(ways) = self.ways.get(&key) {
            return ways.clone();
        }
        let mut ways: Vec<Vec<u32>> = vec![Vec::new()];
        for (at, edge) in edges.iter().enumerate() {
            let mut longer = Vec::new();
            for way in &ways {
                for place in 0..edge.cables {
                    let next = PathEdge { place, ..*edge };
                    let fits = at == 0 || {
                        let place = way[at - 1];
                        let before = PathEdge {
                            place,
                            ..edges[at - 1]
                        };
                        meets(self.tree, &before, &next)
                    };
                    if fits && self.widths[self.link(&next)] > 0 && longer.len() < MOST_WAYS {
                        longer.push([way.as_slice(), &[place]].concat());
                    }
                }
            }
            ways = longer;
        }
        self.ways.insert(key, ways.clone());
        ways
    }
}
