//! The drawing of a panel's rows.
use crate::columns::{PlacedColumn, TableColumn};
use crate::panel_view::PanelView;
use crate::rows::{TableRow, rails};
use crate::theme::Palette;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

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
        let cut: String = column.title.chars().take(room).collect();
        let mark = Span::styled(mark, view.palette.accent);
        let title = Line::from(vec![Span::styled(cut, dim), mark]);
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
    let rounded = (ratio.clamp(0.0, 1.0) * width as f64 * 2.0).round() as usize;
    // A share of one percent is visible.
    let halves = if ratio >= 0.005 {
        rounded.max(1)
    } else {
        rounded
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
        assert_eq!(
            [
                bar_of_four(0.001),
                bar_of_four(0.005),
                bar_of_four(0.5),
                bar_of_four(1.0),
                bar_of_four(7.0)
            ],
            ["────", "╸───", "━━──", "━━━━", "━━━━"]
        );
    }

    fn bar_of_four(ratio: f64) -> String {
        bar(ratio, 4, Style::new(), Style::new())
            .map(|s| s.content.to_string())
            .concat()
    }
}
