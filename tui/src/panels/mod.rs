//! One file a panel. A panel turns a snapshot into a table and a selected line into its detail.
mod detail;
mod epochs;
mod events;
mod jobs;
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

/// What a panel draws from.
pub(crate) struct PanelView<'a> {
    pub(crate) snapshot: &'a Snapshot,
    /// The controller's clock, now.
    pub(crate) clock: Millis,
    pub(crate) zone: &'a TimeZone,
    pub(crate) palette: &'a Palette,
    /// Cells a line has.
    pub(crate) width: u16,
    /// Which of the panel's sort orders.
    pub(crate) sort: usize,
}

/// A panel.
pub(crate) trait Panel: Sync {
    /// Its name in tabs and titles.
    fn title(&self) -> &'static str;
    /// What it can be sorted by; the first is the default.
    fn sorts(&self) -> &'static [&'static str];
    /// Its lines.
    fn table(&self, view: &PanelView<'_>) -> PanelTable;
    /// Everything about the selected line.
    fn detail(&self, view: &PanelView<'_>, key: &RowKey) -> Vec<Line<'static>>;
    /// Lines its detail is worth where the two share a small window.
    fn detail_height(&self) -> u16 {
        7
    }
    /// Lines it keeps free below the table, of `height`, for [`Panel::below`].
    fn reserve(&self, _height: u16) -> u16 {
        0
    }
    /// Draws something about the selected line below the table.
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

/// A link's place in the topology; its ends and ports name it.
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
