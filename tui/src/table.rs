//! The lines of a panel: its columns and rows, the filter, and the drawing of all of them.
use crate::theme::Palette;
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

/// A column; a `width` of 0 takes the room that the others leave.
pub(crate) struct TableColumn {
    pub(crate) title: &'static str,
    pub(crate) width: u16,
    pub(crate) right: bool,
}

/// A left-aligned column.
pub(crate) const fn left(title: &'static str, width: u16) -> TableColumn {
    TableColumn {
        title,
        width,
        right: false,
    }
}

/// A right-aligned column.
pub(crate) const fn right(title: &'static str, width: u16) -> TableColumn {
    TableColumn {
        title,
        width,
        right: true,
    }
}

/// One line of a table.
pub(crate) struct TableRow {
    pub(crate) key: RowKey,
    pub(crate) cells: Vec<Line<'static>>,
    /// The text that a filter searches.
    pub(crate) words: String,
    /// The place of the row below an earlier one; a filter keeps the earlier rows of each match.
    pub(crate) hang: RowIndent,
    /// True if the filter found the row itself, not only a row below it.
    pub(crate) found: bool,
}

impl TableRow {
    /// A row at the top level.
    pub(crate) fn new(key: RowKey, words: String, cells: Vec<Line<'static>>) -> TableRow {
        TableRow {
            key,
            cells,
            words,
            hang: RowIndent::default(),
            found: true,
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

/// All lines of a panel.
pub(crate) struct PanelTable {
    pub(crate) columns: Vec<TableColumn>,
    pub(crate) rows: Vec<TableRow>,
    /// The text of a table without rows.
    pub(crate) empty: &'static str,
}

impl PanelTable {
    /// Keeps the rows that contain `needle`, in any case of its letters, and the rows above those
    /// in the tree.
    pub(crate) fn filter(&mut self, needle: &str) {
        if needle.is_empty() {
            return;
        }
        let needle = needle.to_lowercase();
        let mut wanted = 0;
        let mut keep: Vec<bool> = vec![false; self.rows.len()];
        for (row, keep) in self.rows.iter_mut().zip(&mut keep).rev() {
            row.found = row.words.to_lowercase().contains(&needle);
            *keep = row.found || row.hang.depth < wanted;
            wanted = if *keep {
                row.hang.depth
            } else {
                wanted.min(row.hang.depth)
            };
        }
        let mut keep = keep.into_iter();
        self.rows.retain(|_| keep.next().unwrap_or(false));
        self.empty = "no line matches the filter; esc clears it";
    }

    /// Draws the title line and the rows from `offset`; `selected` is the place of a row.
    pub(crate) fn draw(
        &self,
        buffer: &mut Buffer,
        area: Rect,
        offset: usize,
        selected: Option<usize>,
        palette: &Palette,
    ) {
        if area.height == 0 || area.width < 4 {
            return;
        }
        let spans = self.spans(area);
        for (column, &(x, width)) in self.columns.iter().zip(&spans) {
            let title = Line::styled(column.title, palette.dim);
            put(buffer, x, area.y, width, column.right, &title);
        }
        if self.rows.is_empty() {
            let empty = Line::styled(self.empty, palette.dim);
            let (x, width) = (area.x + 2, area.width - 2);
            put(buffer, x, area.y + 1, width, false, &empty);
        }
        let rails = self.rails();
        let shown = self.rows.iter().zip(&rails).enumerate().skip(offset);
        for ((i, (row, rail)), y) in shown.zip(area.y + 1..area.bottom()) {
            if Some(i) == selected {
                let line = Rect {
                    y,
                    height: 1,
                    ..area
                };
                buffer.set_style(line, palette.selected);
                buffer.set_string(area.x, y, "▸", palette.accent);
            }
            self.draw_cells(buffer, y, &spans, row, Span::styled(rail, palette.dim));
        }
    }

    /// Draws the cells of a row; the first one stands behind the row's rail.
    fn draw_cells(
        &self,
        buffer: &mut Buffer,
        y: u16,
        spans: &[(u16, u16)],
        row: &TableRow,
        rail: Span<'_>,
    ) {
        let mut indent = rail.width() as u16;
        let rail = Line::from(rail);
        for ((column, &(x, width)), cell) in self.columns.iter().zip(spans).zip(&row.cells) {
            indent = indent.min(width);
            put(buffer, x, y, indent, false, &rail);
            put(buffer, x + indent, y, width - indent, column.right, cell);
            indent = 0;
        }
    }

    /// For each row the lines that join it to the row above it in the tree, like `│  ├─ `.
    fn rails(&self) -> Vec<String> {
        // One flag for each level: the level goes on below the present row. The loop begins at the
        // last row.
        let mut on: Vec<bool> = Vec::new();
        let mut rails = Vec::with_capacity(self.rows.len());
        for row in self.rows.iter().rev() {
            let RowIndent { depth, dotted } = row.hang;
            on.resize(on.len().max(depth + 1), false);
            let mut rail: String = (1..depth)
                .map(|level| if on[level] { "│  " } else { "   " })
                .collect();
            if depth > 0 {
                rail += if on[depth] { "├" } else { "└" };
                rail += if dotted { "╌ " } else { "─ " };
            }
            on.truncate(depth + 1);
            on[depth] = true;
            rails.push(rail);
        }
        rails.reverse();
        rails
    }

    /// The begin and the width of each column. Two cells on the left mark the selection, and one
    /// cell separates columns.
    fn spans(&self, area: Rect) -> Vec<(u16, u16)> {
        let gaps = self.columns.len().saturating_sub(1) as u16;
        let fixed: u16 = self.columns.iter().map(|c| c.width).sum();
        let rest = (area.width - 2).saturating_sub(fixed + gaps);
        let mut x = area.x + 2;
        let mut spans = Vec::with_capacity(self.columns.len());
        for column in &self.columns {
            let wanted = if column.width == 0 {
                rest
            } else {
                column.width
            };
            let width = wanted.min(area.right().saturating_sub(x));
            spans.push((x.min(area.right()), width));
            x = x.saturating_add(width + 1);
        }
        spans
    }
}

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

/// A bar with its percentage, `width` cells in all; a dash without a measurement.
pub(crate) fn gauge(share: Option<f64>, width: usize, palette: &Palette) -> Line<'static> {
    let Some(share) = share.filter(|s| s.is_finite()) else {
        return Line::styled(format!("{:>width$}", "–"), palette.dim);
    };
    let fill = match share {
        s if s >= 0.9 => palette.bad,
        s if s >= 0.7 => palette.warn,
        _ => palette.bar,
    };
    let [full, rest] = bar(share, width.saturating_sub(5), fill, palette.dim);
    Line::from(vec![
        full,
        rest,
        Span::raw(format!("{:>5}", crate::format::percent(share))),
    ])
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

    #[test]
    fn a_filter_keeps_what_a_match_hangs_on() {
        let row = |name: &str, depth| TableRow {
            hang: RowIndent {
                depth,
                dotted: name == "n2",
            },
            ..TableRow::new(RowKey::Node(name.into()), name.into(), vec![])
        };
        let rows = vec![
            row("s0", 0),
            row("n0", 1),
            row("s1", 1),
            row("n1", 2),
            row("s2", 1),
            row("n2", 2),
        ];
        let mut table = PanelTable {
            columns: vec![],
            rows,
            empty: "",
        };
        let whole = ["", "├─ ", "├─ ", "│  └─ ", "└─ ", "   └╌ "];
        assert_eq!(table.rails(), whole);
        table.filter("N1");
        assert_eq!(table.rails(), ["", "└─ ", "   └─ "]);
        assert_eq!(table.rows.iter().position(|r| r.found), Some(2));
        let kept: Vec<&str> = table.rows.iter().map(|r| r.words.as_str()).collect();
        assert_eq!(kept, ["s0", "s1", "n1"]);
    }
}
