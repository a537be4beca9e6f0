//! The place of each card, and the lines between them.
use super::NetworkView;
use super::card::{DrawnFolding, HEAD, SwitchCard};
use super::link_look::LinkLook;
use super::tree::{DrawnTree, seen_from};
use crate::svg::{SvgElement, SvgNumber, SvgPicture, shortened, text_width};
use inventory::BitsPerSec;

/// The space between a card and the next one below.
const BETWEEN: f64 = 10.0;
/// The distance of lines beside each other in a gap.
const LANE: f64 = 8.0;
/// Lanes beyond these share the last one's place.
const MOST_LANES: usize = 40;
const LABEL: f64 = 10.5;
const WIDEST_PORT: f64 = 110.0;

/// Cards with their places.
pub(super) struct NetworkLayout<'a> {
    view: &'a NetworkView<'a>,
    tree: DrawnTree<'a>,
    cards: Vec<SwitchCard>,
    /// The top of each card.
    tops: Vec<f64>,
    /// The height of each card: down to its last trunk.
    heights: Vec<f64>,
    height: f64,
    columns: Vec<CardColumn>,
    lanes: Vec<LinkLane>,
}

/// The cards of one depth.
#[derive(Default, Clone)]
struct CardColumn {
    x: f64,
    width: f64,
    /// The widest port at the upper end, rate, and port at the lower end of a trunk to the right.
    labels: [f64; 3],
    /// The number of lines up and down in the gap to the right.
    lanes: usize,
}

/// A link beside the tree: its column, its place in the gap, and its two ends.
struct LinkLane {
    link: usize,
    column: usize,
    lane: usize,
    ends: [LaneEnd; 2],
}

#[derive(Clone, Copy)]
struct LaneEnd {
    switch: usize,
    y: f64,
}

impl<'a> NetworkLayout<'a> {
    pub(super) fn new(
        view: &'a NetworkView<'a>,
        tree: DrawnTree<'a>,
        folding: DrawnFolding,
    ) -> NetworkLayout<'a> {
        let cards: Vec<SwitchCard> = tree
            .switches
            .iter()
            .map(|switch| SwitchCard::new(view, switch, folding))
            .collect();
        let (tops, heights, height) = stacked(&tree, &cards);
        let mut layout = NetworkLayout {
            view,
            tree,
            cards,
            tops,
            heights,
            height,
            columns: Vec::new(),
            lanes: Vec::new(),
        };
        layout.measure();
        if !folding.beside {
            layout.lay_lanes();
        }
        let mut x = 0.0;
        for column in &mut layout.columns {
            column.x = x;
            x += column.width + column.gap();
        }
        layout
    }

    /// The width of each column and of what stands to the right of it.
    fn measure(&mut self) {
        let deepest = self
            .tree
            .switches
            .iter()
            .map(|s| s.depth)
            .max()
            .unwrap_or(0);
        self.columns = vec![CardColumn::default(); deepest + 1];
        for (switch, card) in self.tree.switches.iter().zip(&self.cards) {
            let column = &mut self.columns[switch.depth];
            column.width = column.width.max(card.width());
            if let Some((above, link)) = switch.above {
                let labels = self
                    .labels(above, link)
                    .map(|label| text_width(&label, LABEL));
                let room = &mut self.columns[switch.depth - 1].labels;
                for (room, label) in room.iter_mut().zip(labels) {
                    *room = room.max(label);
                }
            }
        }
    }

    /// The upper port, the rate with a remark, and the lower port of a trunk.
    fn labels(&self, above: usize, link: usize) -> [String; 3] {
        let found = &self.view.topology.links[link];
        let (port, _, far) = seen_from(found, &self.tree.switches[above].node.name);
        let short = |port| shortened(port, LABEL, WIDEST_PORT);
        let cables = match (found.members.len(), self.view.ways(link).len()) {
            (0 | 1, 0) => String::new(),
            (0 | 1, ways) => format!("{ways} ways, "),
            (several, _) => format!("{several} × "),
        };
        let measured = if found.is_measured() { "≈" } else { "" };
        let note = self.view.look(link).note();
        let rate = format!("{cables}{measured}{} {note}", found.rate_bps);
        [short(port), rate.trim_end().to_owned(), short(far)]
    }

    /// Gives each link beside the tree a line up and down that no other one touches.
    fn lay_lanes(&mut self) {
        let number = |name: &str| self.tree.switches.iter().position(|s| s.node.name == name);
        let mut wanted: Vec<(usize, [LaneEnd; 2], usize)> = Vec::new();
        for &link in &self.tree.beside {
            let found = &self.view.topology.links[link];
            if let (Some(a), Some(b)) = (number(&found.a), number(&found.b)) {
                let end = |switch: usize| LaneEnd {
                    switch,
                    y: self.tops[switch] + self.cards[switch].row_of(link),
                };
                let mut ends = [end(a), end(b)];
                ends.sort_by(|one, other| one.y.total_cmp(&other.y));
                let column = self.tree.switches[a].depth.min(self.tree.switches[b].depth);
                wanted.push((column, ends, link));
            }
        }
        // Short lines go next to the cards.
        wanted.sort_by(|(_, one, a), (_, other, b)| {
            let length = |ends: &[LaneEnd; 2]| ends[1].y - ends[0].y;
            length(one).total_cmp(&length(other)).then(a.cmp(b))
        });
        let mut taken: Vec<(usize, usize, f64, f64)> = Vec::new();
        for (column, ends, link) in wanted {
            let (from, to) = (ends[0].y - 4.0, ends[1].y + 4.0);
            let lane = (0..MOST_LANES)
                .find(|lane| {
                    !taken.iter().any(|other| {
                        (other.0, other.1) == (column, *lane) && other.2 < to && from < other.3
                    })
                })
                .unwrap_or(MOST_LANES);
            taken.push((column, lane, from, to));
            self.columns[column].lanes = self.columns[column].lanes.max(lane + 1);
            self.lanes.push(LinkLane {
                link,
                column,
                lane,
                ends,
            });
        }
    }

    pub(super) fn drawn(&self) -> SvgPicture {
        let mut content = SvgElement::group();
        for lane in &self.lanes {
            content.push(self.lane(lane));
        }
        for number in 0..self.tree.switches.len() {
            if let Some((above, link)) = self.tree.switches[number].above {
                content.push(self.trunk(number, above, link));
            }
        }
        for (number, card) in self.cards.iter().enumerate() {
            let column = &self.columns[self.tree.switches[number].depth];
            let size = (column.width, self.heights[number]);
            content.push(card.drawn(self.view, (column.x, self.tops[number]), size));
        }
        let last = self.columns.last();
        let width = last.map_or(0.0, |last| last.x + last.width + last.lanes_width());
        SvgPicture {
            width,
            height: self.height,
            content,
        }
    }

    fn trunk(&self, number: usize, above: usize, link: usize) -> SvgElement {
        let column = &self.columns[self.tree.switches[above].depth];
        let (from, to) = (
            column.x + column.width,
            column.x + column.width + column.gap(),
        );
        let y = self.tops[number] + HEAD / 2.0;
        let look = self.view.look(link);
        let found = &self.view.topology.links[link];
        let mut trunk = self.view.marked(SvgElement::group(), Some(link));
        let line = SvgElement::line((from, y), (to, y)).class(look.stroke());
        trunk.push(line.number("stroke-width", thickness(found.rate_bps)));
        let [near, rate, far] = self.labels(above, link);
        let left = from + column.lanes_width() + 6.0;
        let ink = look.ink().unwrap_or("ink");
        let middle = left + column.labels[0] + 12.0 + column.labels[1] / 2.0;
        let label = |x: f64, text: &str, class: &str, anchor: &str| {
            SvgElement::text(x, y - 5.0, text)
                .class(&format!("{class} small halo"))
                .anchor(anchor)
        };
        trunk.push(label(left, &near, "dim", "start"));
        trunk.push(label(middle, &rate, ink, "middle"));
        trunk.push(label(to - 6.0, &far, "dim", "end"));
        if self.view.is_live {
            let from = &self.tree.switches[above].node.name;
            let load = SvgElement::text(middle, y + 13.0, "").class("use halo");
            trunk = trunk.with("data-from", from).and(load.anchor("middle"));
        }
        let tip = format!(
            "{} {} – {} {}, {}, {}, {}",
            found.a, found.a_port, found.b, found.b_port, found.rate_bps, found.state, found.grade
        );
        trunk.tip(&tip)
    }

    fn lane(&self, lane: &LinkLane) -> SvgElement {
        let column = &self.columns[lane.column];
        let x = column.x + column.width + 10.0 + lane.lane as f64 * LANE;
        // An end in a deeper column is reached from its left side.
        let edge = |end: LaneEnd| {
            let depth = self.tree.switches[end.switch].depth;
            let own = &self.columns[depth];
            if depth == lane.column {
                own.x + own.width
            } else {
                own.x
            }
        };
        let [upper, lower] = lane.ends;
        let round = ((lower.y - upper.y) / 2.0).clamp(0.0, 5.0);
        let towards = |end: LaneEnd| if edge(end) < x { -1.0 } else { 1.0 };
        let n = SvgNumber;
        let commands = format!(
            "M{} {}H{}Q{} {} {} {}V{}Q{} {} {} {}H{}",
            n(edge(upper)),
            n(upper.y),
            n(x + towards(upper) * round),
            n(x),
            n(upper.y),
            n(x),
            n(upper.y + round),
            n(lower.y - round),
            n(x),
            n(lower.y),
            n(x + towards(lower) * round),
            n(lower.y),
            n(edge(lower))
        );
        let found = &self.view.topology.links[lane.link];
        let look = match self.view.look(lane.link) {
            LinkLook::Plain => LinkLook::Unknown,
            look => look,
        };
        let path = SvgElement::path(&commands)
            .class(look.stroke())
            .number("stroke-width", 1.6);
        path.tip(&format!("{} – {}, {}", found.a, found.b, look.meaning()))
    }
}

impl CardColumn {
    fn lanes_width(&self) -> f64 {
        if self.lanes == 0 {
            0.0
        } else {
            14.0 + self.lanes as f64 * LANE
        }
    }

    /// The space to the right of the column.
    fn gap(&self) -> f64 {
        (self.labels.iter().sum::<f64>() + 40.0).max(90.0) + self.lanes_width()
    }
}

/// The top and the height of each card, and the height of all.
fn stacked(tree: &DrawnTree<'_>, cards: &[SwitchCard]) -> (Vec<f64>, Vec<f64>, f64) {
    let mut whole: Vec<f64> = cards.iter().map(SwitchCard::height).collect();
    let mut heights = whole.clone();
    for (number, switch) in tree.switches.iter().enumerate().rev() {
        let below: f64 = switch
            .below
            .iter()
            .map(|&child| whole[child] + BETWEEN)
            .sum();
        if let Some(&last) = switch.below.last() {
            let to_last = below - BETWEEN - whole[last] + HEAD;
            heights[number] = heights[number].max(to_last);
        }
        whole[number] = whole[number].max(below - BETWEEN).max(heights[number]);
    }
    let mut tops = vec![0.0; cards.len()];
    let mut y = 0.0;
    for (number, switch) in tree.switches.iter().enumerate() {
        if switch.above.is_none() {
            tops[number] = y;
            y += whole[number] + 2.0 * BETWEEN;
        }
        let mut top = tops[number];
        for &child in &switch.below {
            tops[child] = top;
            top += whole[child] + BETWEEN;
        }
    }
    (tops, heights, (y - 2.0 * BETWEEN).max(0.0))
}

/// Ten times the rate is one pixel more.
fn thickness(rate: BitsPerSec) -> f64 {
    ((rate.0.max(1) as f64).log10() - 6.5).clamp(1.2, 5.5)
}
