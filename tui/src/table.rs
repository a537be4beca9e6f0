//! The rows of a panel: the filter, folding, and the drawing.
use crate::columns::{PlacedColumn, TableColumn};
use crate::panels::PanelView;
use crate::theme::Palette;
use crate::tree::TreeBranch;
use inventory::Millis;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

/// The subject of a row; a selection follows it when rows come, go or are sorted anew.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RowKey {
    Node(String),
    Link {
        a: String,
        a_port: String,
        b: String,
        b_port: String,
    },
    Job(String),
    Epoch(u64),
    Event(Millis, String),
    Alarm(String, String),
    Pending(String),
}

/// The object of a row, by its place in the snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RowItem {
    Branch(TreeBranch),
    Link(usize),
    Job(usize),
    /// The jobs that the controller only counts.
    MoreJobs,
    Epoch(usize),
    Event(usize),
    Alarm(usize),
    Pending(usize),
}

/// One line of a table; its cells are made when it is drawn.
#[derive(Debug, Clone)]
pub(crate) struct TableRow {
    pub(crate) item: RowItem,
    /// The place of the row below an earlier one; a filter keeps the earlier rows of each match.
    pub(crate) hang: RowIndent,
    /// True if the filter found the row itself, not only a row below it.
    pub(crate) found: bool,
    /// The number of rows below that are folded away.
    pub(crate) folded: usize,
    /// True if one of the rows that are folded away has an alarm.
    pub(crate) hides_alarm: bool,
}

impl From<RowItem> for TableRow {
    /// A row at the top level.
    fn from(item: RowItem) -> TableRow {
        TableRow {
            item,
            hang: RowIndent::default(),
            found: true,
            folded: 0,
            hides_alarm: false,
        }
    }
}

/// The place of a row below the last row before it that is a level higher.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct RowIndent {
    /// Levels below the root; 0 draws no lines.
    pub(crate) depth: usize,
    /// True if the line to the higher row is dotted.
    pub(crate) dotted: bool,
}

/// Keeps the rows that `matches` accepts, and the rows above those in the tree.
pub(crate) fn filter(rows: &mut Vec<TableRow>, matches: impl Fn(&TableRow) -> bool) {
    let mut wanted = 0;
    let mut keep: Vec<bool> = vec![false; rows.len()];
    for (row, keep) in rows.iter_mut().zip(&mut keep).rev() {
        row.found = matches(row);
        *keep = row.found || row.hang.depth < wanted;
        wanted = if *keep {
            row.hang.depth
        } else {
            wanted.min(row.hang.depth)
        };
    }
    let mut keep = keep.into_iter();
    rows.retain(|_| keep.next().unwrap_or(false));
}

/// Hides the rows below each row that `is_folded` names. `has_alarm` is asked about those.
pub(crate) fn fold(
    rows: &mut Vec<TableRow>,
    is_folded: impl Fn(&TableRow) -> bool,
    has_alarm: impl Fn(&TableRow) -> bool,
) {
    let mut shown: Vec<TableRow> = Vec::with_capacity(rows.len());
    // The depth of the folded row whose rows are being hidden.
    let mut hiding: Option<usize> = None;
    for row in rows.drain(..) {
        if let Some(last) = shown.last_mut()
            && hiding.is_some_and(|depth| row.hang.depth > depth)
        {
            last.folded += 1;
            last.hides_alarm |= has_alarm(&row);
            continue;
        }
        hiding = is_folded(&row).then_some(row.hang.depth);
        shown.push(row);
    }
    *rows = shown;
}

/// For each of `rows` from the place `from` on, `count` of them, the lines that join it to the row
/// above it in the tree, like `│  ├─ ` with three cells a level, or `│├` with one.
pub(crate) fn rails(rows: &[TableRow], from: usize, count: usize, step: usize) -> Vec<String> {
    // One flag for each level: the level goes on below the present row. The loop begins at the last
    // row; a row at the top level ends all others.
    let end = (from + count).min(rows.len());
    let (below, shown) = (&rows[end..], &rows[from.min(end)..end]);
    let mut on: Vec<bool> = Vec::new();
    let mut least = usize::MAX;
    for row in below {
        // Only the first row after the shown ones at each smaller depth matters.
        let depth = row.hang.depth;
        if depth < least {
            on.resize(on.len().max(depth + 1), false);
            on[depth] = true;
            least = depth;
        }
        if depth == 0 {
            break;
        }
    }
    let mut rails = Vec::with_capacity(shown.len());
    for row in shown.iter().rev() {
        let RowIndent { depth, dotted } = row.hang;
        on.resize(on.len().max(depth + 1), false);
        let wide = |c: char, fill: char| {
            let mut text = c.to_string();
            if step > 1 {
                text.extend(std::iter::repeat_n(fill, step - 2));
                text.push(' ');
            }
            text
        };
        let mut rail: String = (1..depth)
            .map(|level| wide(if on[level] { '│' } else { ' ' }, ' '))
            .collect();
        if depth > 0 {
            let corner = if on[depth] { '├' } else { '└' };
            rail += &wide(corner, if dotted { '╌' } else { '─' });
        }
        on.truncate(depth + 1);
        on[depth] = true;
        rails.push(rail);
    }
    rails.reverse();
    rails
}

/// The columns and rows of a table, ready to be drawn.
pub(crate) struct DrawnTable<'a> {
    pub(crate) columns: &'a [&'a TableColumn],
    pub(crate) placed: &'a [PlacedColumn],
    /// The step of the tree's lines.
    pub(crate) step: u16,
    pub(crate) rows: &'a [TableRow],
    /// The text of a table without rows.
    pub(crate) empty: &'a str,
    /// The column by which the rows are sorted, and the mark of its direction.
    pub(crate) sorted: Option<(&'static str, &'static str)>,
}

impl DrawnTable<'_> {
    /// Draws the title line and the rows from `offset`; `selected` is the place of a row. Two cells
    /// on the left mark the selection.
    pub(crate) fn draw(
        &self,
        view: &PanelView<'_>,
        buffer: &mut Buffer,
        area: Rect,
        offset: usize,
        selected: Option<usize>,
    ) {
        let p = view.palette;
        if area.height == 0 || area.width < 4 {
            return;
        }
        for placed in self.placed {
            self.draw_title(view, buffer, area, placed);
        }
        if self.rows.is_empty() {
            let empty = Line::styled(self.empty, p.dim);
            let (x, width) = (area.x + 2, area.width - 2);
            put(buffer, x, area.y + 1, width, false, &empty);
        }
        let count = usize::from(area.height - 1);
        let rails = rails(self.rows, offset, count, self.step.into());
        let shown = self.rows.iter().enumerate().skip(offset).zip(&rails);
        for (((i, row), rail), y) in shown.zip(area.y + 1..area.bottom()) {
            if Some(i) == selected {
                let line = Rect {
                    y,
                    height: 1,
                    ..area
                };
                buffer.set_style(line, p.selected);
                buffer.set_string(area.x, y, "▸", p.accent);
            }
            let rail = Span::styled(rail.as_str(), p.dim);
            self.draw_cells(view, buffer, (area.x + 2, y), row, rail);
        }
    }

    fn draw_title(
        &self,
        view: &PanelView<'_>,
        buffer: &mut Buffer,
        area: Rect,
        placed: &PlacedColumn,
    ) {
        let column = self.columns[placed.column];
        let dim = view.palette.dim;
        let x = area.x + 2 + placed.x;
        let sorted = self.sorted.filter(|(name, _)| *name == column.name);
        let Some((_, mark)) = sorted.filter(|_| placed.width > 1) else {
            let title = Line::styled(column.title, dim);
            return put(buffer, x, area.y, placed.width, column.right, &title);
        };
        // The mark stands behind the title, or on its last letter.
        let room = usize::from(placed.width - 1);
        let title: String = column.title.chars().take(room).collect();
        let mark = Span::styled(mark, view.palette.accent);
        let title = Line::from(vec![Span::styled(title, dim), mark]);
        put(buffer, x, area.y, placed.width, column.right, &title);
    }

    /// Draws the cells of a row; the first one stands behind the row's rail.
    fn draw_cells(
        &self,
        view: &PanelView<'_>,
        buffer: &mut Buffer,
        (x, y): (u16, u16),
        row: &TableRow,
        rail: Span<'_>,
    ) {
        for placed in self.placed {
            let column = self.columns[placed.column];
            let mut x = x + placed.x;
            let mut width = placed.width;
            if placed.x == 0 && rail.width() > 0 {
                // The name keeps half of a column that is too narrow for both.
                let name = (column.cell)(view, row, usize::MAX).width() as u16;
                let room = width.saturating_sub(name).max(width / 2);
                let indent = (rail.width() as u16).min(room);
                put(buffer, x, y, indent, false, &Line::from(rail.clone()));
                (x, width) = (x + indent, width - indent);
            }
            let cell = (column.cell)(view, row, width.into());
            put(buffer, x, y, width, column.right, &cell);
        }
    }
}

/// The cells of a percentage with the gap before it.
const FIGURE: usize = 5;

/// Writes `line` into `width` cells; a line that is cut ends in `…`.
pub(crate) fn put(buffer: &mut Buffer, x: u16, y: u16, width: u16, right: bool, line: &Line<'_>) {
    let area = buffer.area;
    if width == 0 || y >= area.bottom() || x >= area.right() {
        return;
    }
    let width = width.min(area.right() - x);
    let wanted = line.width();
    if wanted <= width.into() {
        let indent = if right { width - wanted as u16 } else { 0 };
        buffer.set_line(x + indent, y, line, width - indent);
    } else {
        let (end, _) = buffer.set_line(x, y, line, width - 1);
        // A wide character that the edge would cut in half gives its cell to the dots.
        let style = buffer[(x + width - 2.min(width), y)].style();
        buffer.set_string(end.min(x + width - 1), y, "…", style);
    }
}

/// A bar of thin lines: the heavy part is `ratio` of `width` cells.
pub(crate) fn bar(ratio: f64, width: usize, fill: Style, rest: Style) -> [Span<'static>; 2] {
    let halves = (ratio.clamp(0.0, 1.0) * width as f64 * 2.0).round() as usize;
    // A share of one percent is visible.
    let halves = if ratio >= 0.005 {
        halves.max(1)
    } else {
        halves
    };
    let full = "━".repeat(halves / 2) + if halves % 2 == 1 { "╸" } else { "" };
    let left = width - halves.div_ceil(2);
    [
        Span::styled(full, fill),
        Span::styled("─".repeat(left), rest),
    ]
}

/// The colour of a share of a link's rate.
pub(crate) fn degree(share: f64, palette: &Palette) -> Style {
    match share {
        s if s >= 0.9 => palette.bad,
        s if s >= 0.7 => palette.warn,
        _ => palette.bar,
    }
}

/// A bar with its percentage, `width` cells in all, or the percentage alone; a dash without a
/// measurement.
pub(crate) fn gauge(share: Option<f64>, width: usize, palette: &Palette) -> Line<'static> {
    let width = width.min(200);
    let Some(share) = share.filter(|s| s.is_finite()) else {
        return Line::styled(format!("{:>width$}", "–"), palette.dim);
    };
    let style = degree(share, palette);
    let percent = crate::format::percent(share);
    if width < FIGURE + 3 {
        // Without a bar, the figure has its colour.
        let style = if share >= 0.7 { style } else { palette.text };
        return Line::styled(format!("{percent:>width$}"), style);
    }
    let [full, rest] = bar(share, width - FIGURE, style, palette.dim);
    Line::from(vec![full, rest, Span::raw(format!("{percent:>FIGURE$}"))])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cutting_never_halves_a_wide_character() {
        for width in 1..12 {
            let mut buffer = Buffer::empty(Rect::new(0, 0, 12, 1));
            put(&mut buffer, 0, 0, width, false, &Line::raw("交换机swi"));
            let shown: String = buffer.content.iter().map(|c| c.symbol()).collect();
            assert!(
                Span::raw(shown.trim_end()).width() <= width as usize + 4,
                "{width}: {shown}"
            );
            assert_eq!(shown.contains('…'), width < 9, "{width}: {shown}");
            assert!(
                buffer.content[width as usize..]
                    .iter()
                    .all(|c| c.symbol() == " "),
                "{width}: {shown}"
            );
        }
    }

    #[test]
    fn bars_show_one_percent_and_never_overflow() {
        let shown = |ratio| {
            bar(ratio, 4, Style::new(), Style::new())
                .map(|s| s.content.to_string())
                .concat()
        };
        assert_eq!(
            [
                shown(0.001),
                shown(0.005),
                shown(0.5),
                shown(1.0),
                shown(7.0)
            ],
            ["────", "╸───", "━━──", "━━━━", "━━━━"]
        );
    }

    fn row(name: usize, depth: usize) -> TableRow {
        TableRow {
            hang: RowIndent {
                depth,
                dotted: name == 5,
            },
            ..RowItem::Link(name).into()
        }
    }

    fn rows() -> Vec<TableRow> {
        let depths = [0, 1, 1, 2, 1, 2].into_iter().enumerate();
        depths.map(|(i, depth)| row(i, depth)).collect()
    }

    fn kept(rows: &[TableRow]) -> Vec<RowItem> {
        rows.iter().map(|r| r.item).collect()
    }

    #[test]
    fn a_filter_keeps_what_a_match_hangs_on() {
        let mut rows = rows();
        let whole = ["", "├─ ", "├─ ", "│  └─ ", "└─ ", "   └╌ "];
        assert_eq!(rails(&rows, 0, 9, 3), whole);
        assert_eq!(
            rails(&rows, 2, 2, 3),
            whole[2..4],
            "a part, as in the whole"
        );
        assert_eq!(rails(&rows, 0, 9, 1), ["", "├", "├", "│└", "└", " └"]);
        filter(&mut rows, |r| r.item == RowItem::Link(3));
        assert_eq!(rails(&rows, 0, 9, 3), ["", "└─ ", "   └─ "]);
        assert_eq!(rows.iter().position(|r| r.found), Some(2));
        assert_eq!(kept(&rows), [0, 2, 3].map(RowItem::Link));
    }

    #[test]
    fn folding_hides_and_counts() {
        let mut shown = rows();
        let alarm = |r: &TableRow| r.item == RowItem::Link(3);
        fold(&mut shown, |r| r.item == RowItem::Link(2), alarm);
        assert_eq!(kept(&shown), [0, 1, 2, 4, 5].map(RowItem::Link));
        assert_eq!((shown[2].folded, shown[2].hides_alarm), (1, true));
        let mut shown = rows();
        fold(&mut shown, |r| r.hang.depth == 0, alarm);
        assert_eq!((shown.len(), shown[0].folded), (1, 5));
    }
}
