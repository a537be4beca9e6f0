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
    (name, title): (&'static str, &'static str),
    width: ColumnWidth,
    rank: u8,
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
    names: (&'static str, &'static str),
    width: ColumnWidth,
    rank: u8,
    cell: fn(&PanelView<'_>, &TableRow, usize) -> Line<'static>,
    help: &'static str,
) -> TableColumn {
    TableColumn {
        right: true,
        ..left(names, width, rank, cell, help)
    }
}

/// A column that shows change.
const fn moving(column: TableColumn) -> TableColumn {
    TableColumn {
        moving: true,
        ..column
    }
}

pub(crate) trait Panel: Sync {
    /// The name in tabs and titles.
    fn title(&self) -> &'static str;
    /// The columns; the first one always stays.
    fn columns(&self) -> &'static [TableColumn];
    /// The sort orders; the first is the default.
    fn sorts(&self) -> &'static [SortOrder];
    /// The rows in the chosen order.
    fn rows(&self, view: &PanelView<'_>) -> Vec<TableRow>;
    /// The text of a panel without rows.
    fn empty(&self) -> &'static str;
    /// The subject of a row.
    fn key(&self, view: &PanelView<'_>, row: &TableRow) -> Option<RowKey>;
    /// The text of a row that a filter searches.
    fn words(&self, view: &PanelView<'_>, row: &TableRow) -> String;
    /// All facts about the selected line.
    fn detail(&self, view: &PanelView<'_>, key: &RowKey) -> Vec<Line<'static>>;
    /// The height of the detail if it shares a small window with the table.
    fn detail_height(&self) -> u16 {
        7
    }
    /// True if it shows each stage as one node.
    fn folds_stages(&self) -> bool {
        false
    }
    /// The meaning of the panel's signs, for the help.
    fn legend(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }
    /// The number of lines, of `height`, that stay free below the table for [`Panel::below`].
    fn reserve(&self, _height: u16) -> u16 {
        0
    }
    /// Draws a picture about the selected line below the table.
    fn below(
        &self,
        _view: &PanelView<'_>,
        _key: Option<&RowKey>,
        _buffer: &mut Buffer,
        _area: Rect,
    ) {
    }
}

/// The panels in the order of their number keys.
pub(crate) const PANELS: [&dyn Panel; 5] = [
    &topology::TopologyPanel,
    &links::LinksPanel,
    &jobs::JobsPanel,
    &epochs::EpochsPanel,
    &events::EventsPanel,
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
