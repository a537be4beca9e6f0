//! One file a panel. A panel turns a snapshot into a table, and a selected line into its detail.
mod detail;
mod epochs;
mod events;
mod jobs;
mod learned;
mod links;
mod topology;

use crate::columns::{ColumnWidth, TableColumn};
use crate::panel_view::PanelView;
use crate::rows::{RowKey, TableRow};
use inventory::topology::Link;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

/// A sort order of a panel.
pub(crate) struct SortOrder {
    pub(crate) name: &'static str,
    /// The column that shows the order and that a click sorts by, if there is one.
    pub(crate) column: Option<&'static str>,
    /// True if the largest comes first.
    pub(crate) falling: bool,
}

const fn rising(name: &'static str, column: &'static str) -> SortOrder {
    SortOrder {
        name,
        column: Some(column),
        falling: false,
    }
}

const fn falling(name: &'static str, column: &'static str) -> SortOrder {
    SortOrder {
        name,
        column: Some(column),
        falling: true,
    }
}

/// An order that no column shows.
const fn unmarked(name: &'static str) -> SortOrder {
    SortOrder {
        name,
        column: None,
        falling: true,
    }
}

/// A left-aligned column.
const fn left(
    (name, title, width, rank): (&'static str, &'static str, ColumnWidth, u8),
    cell: fn(&PanelView<'_>, &TableRow, usize) -> Line<'static>,
    help: &'static str,
) -> TableColumn {
    TableColumn {
        name,
        title,
        help,
        width,
        right: false,
        rank,
        moving: false,
        cell,
    }
}

/// A right-aligned column.
const fn right(
    place: (&'static str, &'static str, ColumnWidth, u8),
    cell: fn(&PanelView<'_>, &TableRow, usize) -> Line<'static>,
    help: &'static str,
) -> TableColumn {
    TableColumn {
        right: true,
        ..left(place, cell, help)
    }
}

/// A column that shows change.
const fn moving(column: TableColumn) -> TableColumn {
    TableColumn {
        moving: true,
        ..column
    }
}

pub(crate) struct Panel {
    /// The name in tabs and titles.
    pub(crate) title: &'static str,
    /// The columns; the first one always stays.
    pub(crate) columns: &'static [TableColumn],
    /// The sort orders; the first is the default.
    pub(crate) sorts: &'static [SortOrder],
    /// The text of a panel without rows.
    pub(crate) empty: &'static str,
    /// The meaning of the panel's signs, for the help.
    pub(crate) legend: &'static [(&'static str, &'static str)],
    /// The height of the detail if it shares a small window with the table.
    pub(crate) detail_height: u16,
    /// True if it shows each stage as one node.
    pub(crate) folds_stages: bool,
    /// The rows in the chosen order.
    pub(crate) rows: fn(&PanelView<'_>) -> Vec<TableRow>,
    /// The subject of a row.
    pub(crate) key: fn(&PanelView<'_>, &TableRow) -> Option<RowKey>,
    /// The text of a row that a filter searches.
    pub(crate) words: fn(&PanelView<'_>, &TableRow) -> String,
    /// All facts about the selected line.
    pub(crate) detail: fn(&PanelView<'_>, &RowKey) -> Vec<Line<'static>>,
    /// The picture about the selected line below the table, if the panel has one.
    pub(crate) below: Option<PanelBelow>,
}

pub(crate) struct PanelBelow {
    /// The number of lines, of a height, that stay free for it.
    pub(crate) reserve: fn(u16) -> u16,
    pub(crate) draw: fn(&PanelView<'_>, Option<&RowKey>, &mut Buffer, Rect),
}

/// The panels in the order of their number keys.
pub(crate) const PANELS: [&Panel; 5] = [
    &topology::PANEL,
    &links::PANEL,
    &jobs::PANEL,
    &epochs::PANEL,
    &events::PANEL,
];

/// The place of a link in the topology; its ends and ports name it.
pub(crate) fn find_link(view: &PanelView<'_>, key: &RowKey) -> Option<usize> {
    view.snapshot
        .topology
        .links
        .iter()
        .position(|l| link_key(l) == *key)
}

fn link_key(link: &Link) -> RowKey {
    RowKey::Link {
        a: link.a.clone(),
        a_port: link.a_port.clone(),
        b: link.b.clone(),
        b_port: link.b_port.clone(),
    }
}
