//! The content of a panel: the picture of the network, its past, and the user's choices.
use crate::job_past::JobPast;
use crate::past::LinkPast;
use crate::picture::IndexedSnapshot;
use crate::rows::TableRow;
use crate::theme::Palette;
use api::Snapshot;
use inventory::Millis;
use inventory::stages::folded::FoldedWay;
use jiff::tz::TimeZone;

/// The input of a panel.
pub(crate) struct PanelView<'a> {
    pub(crate) snapshot: &'a Snapshot,
    /// The same with its indices.
    pub(crate) picture: &'a IndexedSnapshot,
    /// True if `snapshot` has each stage as one node.
    pub(crate) is_folded: bool,
    pub(crate) past: &'a LinkPast,
    pub(crate) jobs: &'a JobPast,
    /// The present time of the controller's clock.
    pub(crate) clock: Millis,
    pub(crate) zone: &'a TimeZone,
    pub(crate) palette: &'a Palette,
    /// The width of a line, in cells.
    pub(crate) width: u16,
    /// The index of the sort order.
    pub(crate) sort: usize,
    /// True if the sort order is reversed.
    pub(crate) reverse: bool,
}

impl PanelView<'_> {
    /// The links of the network that are this one link, if there are several.
    pub(crate) fn ways(&self, link: usize) -> &[FoldedWay] {
        let ways = self.picture.ways(link);
        if self.is_folded && ways.len() > 1 {
            ways
        } else {
            &[]
        }
    }

    /// The newest readings of a link, at most `count`; of several ways the mean.
    pub(crate) fn past_of(
        &self,
        link: usize,
        direction: Option<usize>,
        count: usize,
    ) -> Vec<Option<f64>> {
        let ways = self.picture.ways(link);
        let one = [FoldedWay {
            link,
            is_reversed: false,
        }];
        let own = if self.is_folded && !ways.is_empty() {
            ways
        } else {
            &one
        };
        let readings = own.iter().map(|way| {
            let direction = direction.map(|one| one ^ usize::from(way.is_reversed));
            self.past.loads(way.link, direction, count)
        });
        let all: Vec<Vec<Option<f64>>> = readings.collect();
        (0..all.first().map_or(0, Vec::len))
            .map(|at| {
                let known = all.iter().filter_map(|way| *way.get(at)?);
                let count = known.clone().count();
                (count > 0).then(|| known.sum::<f64>() / count as f64)
            })
            .collect()
    }

    /// Turns rows that are in the sort order around, if the user wants the reverse.
    pub(crate) fn directed(&self, mut rows: Vec<TableRow>) -> Vec<TableRow> {
        if self.reverse {
            rows.reverse();
        }
        rows
    }
}
