//! A schedule as a Gantt chart: a row for each direction of each cable, a column for each phase. A
//! cell is a message, and where a row never has two cells in a column, no two messages share a
//! cable.
use crate::network::BOLD_TITLE;
use crate::palette;
use crate::svg::{SvgElement, SvgNumber, SvgPicture, shortened, text_width};
use inventory::natural_order::natural;
use inventory::tree::{EdgeNumber, NodeNumber, Tree};
use schedules::capacities::EdgeCapacities;
use std::collections::BTreeMap;

/// A message from one host to another.
pub type HostPair = (NodeNumber, NodeNumber);

/// A schedule to draw.
pub struct ScheduleView<'a> {
    /// The tree of its hosts.
    pub tree: &'a Tree,
    /// The messages of each phase.
    pub phases: &'a [Vec<HostPair>],
    /// The messages that a link carries at once.
    pub capacities: &'a EdgeCapacities,
    /// The bottleneck, from and to.
    pub bottleneck: Option<(String, String)>,
    /// `phase`, `step`.
    pub column: &'static str,
}

const LEFT: f64 = 20.0;
const TOP: f64 = 92.0;
const ROW: f64 = 18.0;
/// The rows of a cable that carries several messages at once are so high for each of them.
const LANE: f64 = 9.0;
const LANE_WITH_WORDS: f64 = 16.0;
const LETTERS: f64 = 10.0;
/// The widest chart, and the narrowest cell.
const WIDEST: f64 = 2400.0;
const NARROWEST: f64 = 3.0;
/// Viewers become slow with more.
const MOST_CELLS: usize = 40_000;

/// A row: a direction of a cable.
struct CableRow {
    name: String,
    is_bottleneck: bool,
    /// The phase, the lane and the message of each cell.
    cells: Vec<(usize, usize, HostPair)>,
    /// The most messages at once.
    most: usize,
    capacity: u64,
    /// Between switches first.
    order: (bool, bool, Vec<inventory::natural_order::NaturalKey>),
}

/// The chart with its title.
pub fn picture(schedule: &ScheduleView<'_>, title: &str) -> SvgPicture {
    let all = rows(schedule);
    let cells: usize = all.iter().map(|row| row.cells.len()).sum();
    let is_too_large = cells > MOST_CELLS;
    let shown: Vec<&CableRow> = all
        .iter()
        .filter(|row| !is_too_large || !row.order.0)
        .collect();
    let count: usize = shown.iter().map(|row| row.cells.len()).sum();
    let columns = match count {
        0..=MOST_CELLS => schedule.phases.len(),
        _ => (schedule.phases.len() * MOST_CELLS / count).max(1),
    };
    let grid = ChartGrid::new(schedule, &shown, columns);
    let mut content =
        SvgElement::group().and(SvgElement::text(LEFT, 30.0, title).class("ink title"));
    let described = described(&all, &shown, columns, schedule);
    for (i, line) in described.iter().enumerate() {
        let y = 50.0 + 16.0 * i as f64;
        content.push(
            SvgElement::text(LEFT, y, line)
                .class("dim")
                .number("font-size", 11.5),
        );
    }
    content.push(grid.scale(schedule));
    let mut y = TOP;
    for row in shown {
        content.push(grid.row(schedule, row, y));
        y += grid.height(row);
    }
    let texts = described
        .iter()
        .map(|line| text_width(line, 11.5))
        .fold(text_width(title, BOLD_TITLE), f64::max);
    SvgPicture {
        width: grid.end().max(LEFT + texts) + 20.0,
        height: y + 20.0,
        content,
    }
}

/// A description of the chart in words.
fn described(
    all: &[CableRow],
    shown: &[&CableRow],
    columns: usize,
    schedule: &ScheduleView<'_>,
) -> Vec<String> {
    let most = all.iter().map(|row| row.most).max().unwrap_or(0);
    let within = all.iter().all(|row| row.most as u64 <= row.capacity);
    let at_once = match (most, within) {
        (0, _) => "nothing is sent".to_owned(),
        (1, _) => "each row is one direction of a cable: no two messages share it at any time".to_owned(),
        (_, true) => "each row is one direction of a cable: it carries as many messages at once as its rate allows".to_owned(),
        (most, false) => format!("each row is one direction of a cable; up to {most} messages share one"),
    };
    let mut left_out = Vec::new();
    if shown.len() < all.len() {
        left_out.push("cables of hosts are left out, for there are many".to_owned());
    }
    if columns < schedule.phases.len() {
        left_out.push(format!(
            "the first {columns} of {} {}s",
            schedule.phases.len(),
            schedule.column
        ));
    }
    [at_once]
        .into_iter()
        .chain((!left_out.is_empty()).then(|| left_out.join("; ")))
        .collect()
}

/// Every direction of every cable that carries a message.
fn rows(schedule: &ScheduleView<'_>) -> Vec<CableRow> {
    let tree = schedule.tree;
    let mut rows: BTreeMap<EdgeNumber, CableRow> = BTreeMap::new();
    let name = |node| tree.name(node).to_owned();
    for (phase, messages) in schedule.phases.iter().enumerate() {
        let mut used: BTreeMap<EdgeNumber, usize> = BTreeMap::new();
        for &(from, to) in messages {
            tree.path(from, to, |edge| {
                let Some((a, b)) = tree.ends(edge) else {
                    return;
                };
                let row = rows.entry(edge).or_insert_with(|| CableRow {
                    name: format!("{} → {}", tree.name(a), tree.name(b)),
                    is_bottleneck: schedule
                        .bottleneck
                        .as_ref()
                        .is_some_and(|(x, y)| *x == name(a) && *y == name(b)),
                    cells: Vec::new(),
                    most: 0,
                    capacity: schedule.capacities.width(edge),
                    order: (
                        tree.is_host(a) || tree.is_host(b),
                        tree.is_host(b),
                        vec![natural(tree.name(a)), natural(tree.name(b))],
                    ),
                });
                let lane = used.entry(edge).or_default();
                row.cells.push((phase, *lane, (from, to)));
                *lane += 1;
                row.most = row.most.max(*lane);
            });
        }
    }
    let mut rows: Vec<CableRow> = rows.into_values().collect();
    rows.sort_by(|one, other| {
        (!one.is_bottleneck, &one.order).cmp(&(!other.is_bottleneck, &other.order))
    });
    rows
}

/// The columns of the chart.
struct ChartGrid {
    names: f64,
    cell: f64,
    columns: usize,
    has_words: bool,
}

impl ChartGrid {
    fn new(schedule: &ScheduleView<'_>, rows: &[&CableRow], columns: usize) -> ChartGrid {
        let names = rows
            .iter()
            .map(|row| text_width(&row.name, 11.0))
            .fold(60.0, f64::max)
            .min(260.0);
        let words = rows
            .iter()
            .flat_map(|row| &row.cells)
            .map(|&(_, _, pair)| text_width(&message(schedule.tree, pair), LETTERS))
            .fold(24.0, f64::max)
            + 8.0;
        let room = WIDEST / columns.max(1) as f64;
        let has_words = words <= room;
        let cell = if has_words {
            words.min(140.0)
        } else {
            room.clamp(NARROWEST, 16.0)
        };
        ChartGrid {
            names,
            cell,
            columns,
            has_words,
        }
    }

    fn height(&self, row: &CableRow) -> f64 {
        let lane = if self.has_words {
            LANE_WITH_WORDS
        } else {
            LANE
        };
        (row.most as f64 * lane).max(ROW)
    }

    fn x(&self, column: usize) -> f64 {
        LEFT + self.names + 46.0 + column as f64 * self.cell
    }

    fn end(&self) -> f64 {
        self.x(self.columns)
    }

    /// The numbers of the phases.
    fn scale(&self, schedule: &ScheduleView<'_>) -> SvgElement {
        let mut scale = SvgElement::group();
        let word = SvgElement::text(self.x(0) - 8.0, TOP - 8.0, schedule.column);
        scale.push(word.class("dim small").anchor("end"));
        let every = (26.0 / self.cell).ceil().max(1.0) as usize;
        let every = [1, 2, 5, 10, 20, 50, 100, 1000]
            .into_iter()
            .find(|step| *step >= every)
            .unwrap_or(every);
        for column in (0..self.columns).step_by(every) {
            let x = self.x(column) + self.cell / 2.0;
            let number = SvgElement::text(x, TOP - 8.0, &column.to_string());
            scale.push(number.class("dim small").anchor("middle"));
        }
        scale
    }

    fn row(&self, schedule: &ScheduleView<'_>, row: &CableRow, y: f64) -> SvgElement {
        let height = self.height(row);
        let mut drawn = SvgElement::group();
        let ink = if row.is_bottleneck {
            "hot-ink bold"
        } else {
            "ink"
        };
        let base = y + height / 2.0 + 4.0;
        let name = SvgElement::text(LEFT, base, &shortened(&row.name, 11.0, self.names));
        drawn.push(name.class(ink).number("font-size", 11.0));
        let total = SvgElement::text(self.x(0) - 8.0, base, &row.cells.len().to_string());
        drawn.push(total.class("dim small").anchor("end"));
        drawn.push(
            SvgElement::line((self.x(0), y + height), (self.end(), y + height)).class("rule"),
        );
        let gap = if self.cell > 6.0 { 1.5 } else { 0.4 };
        for &(phase, lane, pair) in row.cells.iter().filter(|cell| cell.0 < self.columns) {
            let high = (height - 3.0) / row.most as f64;
            let top = y + 1.5 + lane as f64 * high;
            let (x, wide) = (self.x(phase) + gap / 2.0, self.cell - gap);
            let words = message(schedule.tree, pair);
            let cell = SvgElement::rect(
                x,
                top,
                wide,
                high - 0.5,
                if self.has_words { 3.0 } else { 0.0 },
            );
            let hue = hue(pair.0, schedule.tree.hosts());
            let cell = cell.with("fill", &format!("hsl({},55%,72%)", SvgNumber(hue)));
            drawn.push(cell.tip(&format!(
                "{} {phase}: {words} over {}",
                schedule.column, row.name
            )));
            if self.has_words {
                let words = shortened(&words, LETTERS, wide - 4.0);
                let text = SvgElement::text(x + wide / 2.0, top + 11.5, &words);
                drawn.push(
                    text.with("fill", "#1f2328")
                        .number("font-size", LETTERS)
                        .anchor("middle"),
                );
            }
        }
        drawn
    }
}

/// `n0→n3`
fn message(tree: &Tree, (from, to): HostPair) -> String {
    format!("{}→{}", tree.name(from), tree.name(to))
}

/// A colour for each sender; neighbours in number are far apart in colour.
fn hue(host: NodeNumber, hosts: u32) -> f64 {
    let golden = 0.618_033_988_75;
    if hosts <= palette::SERIES as u32 {
        return f64::from(host) * 360.0 / f64::from(hosts.max(1));
    }
    ((f64::from(host) * golden).fract() * 360.0).floor()
}

#[cfg(test)]
mod tests {
    use super::*;
    use inventory::TopologyFile;
    use schedules::alltoall::AlltoallAlgorithm;
    use schedules::synchronization::SyncKind;

    fn drawn(file: &str) -> String {
        let tree = TopologyFile::parse("t", file).unwrap().tree().unwrap();
        let plan = schedules::alltoall::plan(&tree, SyncKind::Receiver);
        let phases: Vec<Vec<HostPair>> = plan
            .phases
            .iter()
            .map(|phase| phase.iter().map(|m| (m.src, m.dst)).collect())
            .collect();
        let view = ScheduleView {
            tree: &tree,
            phases: &phases,
            capacities: &AlltoallAlgorithm::faster_for(&tree).capacities(&tree),
            bottleneck: Some(plan.bound.edge.clone()),
            column: "phase",
        };
        picture(&view, "all-to-all").document("all-to-all")
    }

    #[test]
    fn every_message_is_on_every_cable_of_its_path() {
        let text = drawn(
            "switches: [s0, s1]\nlinks: [{a: s0, b: s1}]\nhosts: {n0: {switch: s0}, n1: {switch: s0}, n2: {switch: s1}}",
        );
        // n0 and n1 are two cables apart, n2 is three from both.
        assert_eq!(text.matches(" over ").count(), 2 * 2 + 4 * 3);
        assert!(text.contains("no two messages share"), "{text}");
    }

    #[test]
    fn a_large_schedule_stays_a_picture() {
        let hosts: Vec<String> = (0..100)
            .map(|i| format!("n{i}: {{switch: s{}}}", i % 2))
            .collect();
        let text = drawn(&format!(
            "switches: [s0, s1]\nlinks: [{{a: s0, b: s1}}]\nhosts: {{{}}}",
            hosts.join(", ")
        ));
        assert!(text.len() < 8 << 20, "{}", text.len());
        assert!(!text.contains("NaN"));
    }
}
