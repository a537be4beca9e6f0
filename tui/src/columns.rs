//! The columns of a table, and how many of them, how wide, a line has room for: names stay whole as
//! long as they can, then bars become figures, then the least important columns go.
use crate::panel_view::PanelView;
use crate::rows::TableRow;
use ratatui::text::Line;

/// A column of a panel.
pub(crate) struct TableColumn {
    /// Its name in the configuration and after `:columns`.
    pub(crate) name: &'static str,
    /// Its title on the screen.
    pub(crate) title: &'static str,
    /// Its line in the help.
    pub(crate) help: &'static str,
    pub(crate) width: ColumnWidth,
    pub(crate) right: bool,
    /// Columns of a higher rank give way first; rank 0 stays.
    pub(crate) rank: u8,
    /// True if it shows change, which a recorded picture has none of.
    pub(crate) moving: bool,
    /// The cell of a row for so many cells of room.
    pub(crate) cell: fn(&PanelView<'_>, &TableRow, usize) -> Line<'static>,
}

/// The cells that a column takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ColumnWidth {
    /// Always so many.
    Fixed(u16),
    /// A bar: so many at least, and up to so many where there is room.
    Bar(u16, u16),
    /// As many as its widest cell, and at least so many when it must shrink.
    Content(u16),
    /// Those that the others leave, and at least so many.
    Rest(u16),
}

/// From this rank on, a column gives way before the lines of the tree move closer.
const OPTIONAL: u8 = 4;
/// The widest step of the tree's lines for each level.
const WIDEST_STEP: u16 = 3;

/// The room that the cells of a table want: of the first column by the step of the tree's lines, and
/// of each column with [`ColumnWidth::Content`].
#[derive(Debug, Default, Clone)]
pub(crate) struct TableWants {
    pub(crate) lead: [u16; WIDEST_STEP as usize],
    pub(crate) columns: Vec<u16>,
}

impl TableWants {
    /// Measures all rows.
    pub(crate) fn measured(
        view: &PanelView<'_>,
        columns: &[&TableColumn],
        rows: &[TableRow],
    ) -> TableWants {
        let mut wants = TableWants::default();
        for (at, column) in columns.iter().enumerate() {
            let mut widest = 0;
            if matches!(column.width, ColumnWidth::Content(_)) {
                for row in rows {
                    let width = (column.cell)(view, row, usize::MAX).width() as u16;
                    widest = widest.max(width);
                    let depth = row.hang.depth as u16;
                    if at == 0 {
                        for (step, lead) in (1..).zip(&mut wants.lead) {
                            *lead = (*lead).max(width.saturating_add(depth.saturating_mul(step)));
                        }
                    }
                }
            }
            wants.columns.push(widest);
        }
        wants
    }
}

/// One shown column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PlacedColumn {
    /// Its place among the columns of the panel.
    pub(crate) column: usize,
    /// Its first cell, counted from the line's first.
    pub(crate) x: u16,
    pub(crate) width: u16,
}

/// The columns of a line of `room` cells, and the step of the tree's lines.
pub(crate) fn place(
    columns: &[&TableColumn],
    wants: &TableWants,
    room: u16,
) -> (Vec<PlacedColumn>, u16) {
    let steps = (1..=WIDEST_STEP).rev();
    let mut placed = (Vec::new(), 1);
    for step in steps {
        let mut widths = least(columns, wants, step);
        let gone = shrink(columns, &mut widths, room);
        // Where a narrower step takes no fewer cells, it gains nothing.
        let last = step == 1 || wants.lead[0] == wants.lead[usize::from(step) - 1];
        if gone >= OPTIONAL || last {
            grow(columns, &mut widths, room);
            placed = (line(&widths), step);
            break;
        }
    }
    placed
}

fn least(columns: &[&TableColumn], wants: &TableWants, step: u16) -> Vec<Option<u16>> {
    columns
        .iter()
        .enumerate()
        .map(|(at, column)| match column.width {
            ColumnWidth::Fixed(n) | ColumnWidth::Bar(n, _) | ColumnWidth::Rest(n) => n,
            ColumnWidth::Content(n) if at == 0 => wants.lead[usize::from(step) - 1].max(n),
            // A column without content needs its title only.
            ColumnWidth::Content(n) => wants
                .columns
                .get(at)
                .copied()
                .unwrap_or(0)
                .max(n.min(column.title.len() as u16)),
        })
        .map(Some)
        .collect()
}

/// The cells that the columns take with the gaps between them.
fn total(widths: &[Option<u16>]) -> u16 {
    let shown = widths.iter().flatten();
    shown.fold(0u16, |sum, w| sum.saturating_add(w + u16::from(sum > 0)))
}

/// Takes room from the columns of the highest rank until all fit: first what they can spare, then
/// all of it. Gives the lowest rank of those that are gone.
fn shrink(columns: &[&TableColumn], widths: &mut [Option<u16>], room: u16) -> u8 {
    let mut gone = u8::MAX;
    loop {
        let over = total(widths).saturating_sub(room);
        let shown = (0..columns.len()).filter(|&i| widths[i].is_some() && columns[i].rank > 0);
        let Some(at) = shown.filter(|_| over > 0).max_by_key(|&i| columns[i].rank) else {
            break;
        };
        let width = widths[at].unwrap_or(0);
        widths[at] = match columns[at].width {
            ColumnWidth::Content(least) if width > least => {
                Some(width.saturating_sub(over).max(least))
            }
            _ => {
                gone = gone.min(columns[at].rank);
                None
            }
        };
    }
    // Names are cut last.
    let over = total(widths).saturating_sub(room);
    if let Some(lead) = widths.first_mut().and_then(Option::as_mut) {
        *lead = lead.saturating_sub(over).max(1);
    }
    gone
}

/// Gives the cells that are left to bars, the most important ones first, and then to the column of
/// the rest, or else to the first one.
fn grow(columns: &[&TableColumn], widths: &mut [Option<u16>], room: u16) {
    let mut left = room.saturating_sub(total(widths));
    let mut bars: Vec<usize> = (0..columns.len())
        .filter(|&i| matches!(columns[i].width, ColumnWidth::Bar(..)))
        .collect();
    bars.sort_by_key(|&i| columns[i].rank);
    // Bars of one rank grow alike.
    for same in bars.chunk_by(|&a, &b| columns[a].rank == columns[b].rank) {
        let each = left / same.len() as u16;
        for &i in same {
            if let (ColumnWidth::Bar(_, most), Some(width)) = (columns[i].width, &mut widths[i]) {
                let more = each.min(most.saturating_sub(*width));
                *width += more;
                left -= more;
            }
        }
    }
    let rest = (0..columns.len())
        .find(|&i| widths[i].is_some() && matches!(columns[i].width, ColumnWidth::Rest(_)));
    if let Some(width) = widths.get_mut(rest.unwrap_or(0)).and_then(Option::as_mut) {
        *width += left;
    }
}

fn line(widths: &[Option<u16>]) -> Vec<PlacedColumn> {
    let mut x = 0u16;
    let mut placed = Vec::new();
    for (column, width) in widths.iter().enumerate() {
        if let Some(width) = *width {
            placed.push(PlacedColumn { column, x, width });
            x = x.saturating_add(width + 1);
        }
    }
    placed
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn column(width: ColumnWidth, rank: u8) -> TableColumn {
        TableColumn {
            name: "",
            title: "",
            help: "",
            width,
            right: false,
            rank,
            moving: false,
            cell: |_, _, _| Line::default(),
        }
    }

    #[test]
    fn bars_then_columns_then_lines_give_way_before_names() {
        let all = [
            column(ColumnWidth::Content(8), 0),
            column(ColumnWidth::Content(4), 5),
            column(ColumnWidth::Bar(5, 12), 1),
            column(ColumnWidth::Fixed(6), 4),
        ];
        let columns: Vec<&TableColumn> = all.iter().collect();
        let wants = TableWants {
            lead: [22, 24, 26],
            columns: vec![20, 10, 0, 0],
        };
        assert_eq!(
            widths(60, &columns, &wants),
            (vec![(0, 29), (1, 10), (2, 12), (3, 6)], 3)
        );
        assert_eq!(
            widths(50, &columns, &wants),
            (vec![(0, 26), (1, 10), (2, 5), (3, 6)], 3)
        );
        assert_eq!(
            widths(45, &columns, &wants),
            (vec![(0, 26), (1, 5), (2, 5), (3, 6)], 3)
        );
        assert_eq!(
            widths(40, &columns, &wants),
            (vec![(0, 26), (2, 6), (3, 6)], 3)
        );
        assert_eq!(widths(33, &columns, &wants), (vec![(0, 26), (2, 6)], 3));
        assert_eq!(widths(28, &columns, &wants), (vec![(0, 22), (2, 5)], 1));
        assert_eq!(widths(10, &columns, &wants), (vec![(0, 10)], 1));
    }

    fn widths(room: u16, columns: &[&TableColumn], wants: &TableWants) -> (Vec<(usize, u16)>, u16) {
        let (placed, step) = place(columns, wants, room);
        let widths: Vec<_> = placed.iter().map(|p| (p.column, p.width)).collect();
        (widths, step)
    }

    proptest! {
        #[test]
        fn columns_never_overlap_or_overflow(
            kinds in proptest::collection::vec((0..4u8, 1..30u16, 0..30u16, 0..9u8), 1..12),
            wants in proptest::collection::vec(0..200u16, 12),
            room in 1..400u16,
        ) {
            let all: Vec<TableColumn> = kinds.iter().enumerate().map(|(i, &(kind, n, m, rank))| {
                let width = match kind {
                    0 => ColumnWidth::Fixed(n),
                    1 => ColumnWidth::Bar(n, n + m),
                    2 => ColumnWidth::Content(n),
                    _ => ColumnWidth::Rest(n),
                };
                column(width, if i == 0 { 0 } else { rank.max(1) })
            }).collect();
            let columns: Vec<&TableColumn> = all.iter().collect();
            let wants = TableWants { lead: [wants[0], wants[0] + 3, wants[0] + 6], columns: wants };
            let (placed, step) = place(&columns, &wants, room);
            prop_assert!((1..=3).contains(&step));
            prop_assert_eq!(placed[0].column, 0);
            let mut free = 0;
            for p in &placed {
                prop_assert!(p.x >= free && p.x + p.width <= room.max(1));
                free = p.x + p.width + 1;
            }
        }
    }
}
