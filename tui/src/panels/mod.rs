//! One file a panel. A panel turns a snapshot into a table, and a selected line into its detail.
mod detail;
mod epochs;
mod events;
mod jobs;
mod learned;
mod links;
mod topology;

use crate::table::{PanelTable, RowKey};
use crate::theme::Palette;
use api::Snapshot;
use inventory::Millis;
use inventory::topology::Link;
use jiff::tz::TimeZone;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

/// The input of a panel.
pub(crate) struct PanelView<'a> {
    pub(crate) snapshot: &'a Snapshot,
    /// The present time of the controller's clock.
    pub(crate) clock: Millis,
    pub(crate) zone: &'a TimeZone,
    pub(crate) palette: &'a Palette,
    /// The width of a line, in cells.
    pub(crate) width: u16,
    /// The index of the sort order.
    pub(crate) sort: usize,
}

/// A panel.
pub(crate) trait Panel: Sync {
    /// The name in tabs and titles.
    fn title(&self) -> &'static str;
    /// The sort orders; the first is the default.
    fn sorts(&self) -> &'static [&'static str];
    /// The lines.
    fn table(&self, view: &PanelView<'_>) -> PanelTable;
    /// All facts about the selected line.
    fn detail(&self, view: &PanelView<'_>, key: &RowKey) -> Vec<Line<'static>>;
    /// The height of the detail if it shares a small window with the table.
    fn detail_height(&self) -> u16 {
        7
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
