//! The lines of the panels: which there are, in which order, with which columns, and the selected one.
use super::{App, InputMode, PanelLines, PanelPosition};
use crate::columns::{TableColumn, TableWants};
use crate::panels::{PANELS, Panel};
use crate::rows::{self, RowKey};
use crate::text_filter::TextFilter;

impl PanelPosition {
    pub(super) fn new(panel: &Panel, chosen: &Option<Vec<usize>>, live: bool) -> PanelPosition {
        let all = panel
            .columns
            .iter()
            .enumerate()
            .filter(|(_, c)| live || !c.moving)
            .map(|(i, _)| i);
        PanelPosition {
            columns: chosen.clone().unwrap_or_else(|| all.collect()),
            ..PanelPosition::default()
        }
    }

    /// Follows `rows` lines on a screen with room for `page`; the selected one was `found` at a
    /// place, or it vanished, and the row now at its place takes the selection.
    fn fit(&mut self, rows: usize, page: usize, found: Option<usize>) {
        self.index = found.unwrap_or(self.index).min(rows.saturating_sub(1));
        (self.page, self.rows) = (page, rows);
        self.offset = self
            .offset
            .clamp((self.index + 1).saturating_sub(page), self.index)
            .min(rows.saturating_sub(page));
    }
}

/// The columns of a panel at these places, the first one of all always first.
pub(crate) fn columns(panel: usize, chosen: &[usize]) -> Vec<&'static TableColumn> {
    let all = PANELS[panel].columns;
    let others = chosen.iter().filter(|&&i| i > 0);
    all.first()
        .into_iter()
        .chain(others.filter_map(|&i| all.get(i)))
        .collect()
}

impl App {
    /// The rows must be made anew.
    pub(super) fn forget_lines(&mut self) {
        for place in &mut self.panels {
            place.lines = None;
        }
    }

    /// The rows of a panel, made anew if something changed them.
    pub(crate) fn lines(&mut self, panel: usize) -> &PanelLines {
        if self.panels[panel].lines.is_none() {
            let made = self.make(panel);
            self.panels[panel].lines = Some(made);
        }
        self.panels[panel].lines.get_or_insert_default()
    }

    fn make(&self, panel: usize) -> PanelLines {
        let view = self.view(panel, 0);
        let place = &self.panels[panel];
        let mut rows = (PANELS[panel].rows)(&view);
        if place.filter.is_empty() {
            self.folds.apply(&view, &mut rows);
        } else {
            rows::filter(&mut rows, |row| {
                place.filter.passes(&(PANELS[panel].words)(&view, row))
            });
        }
        let wants = TableWants::measured(&view, &columns(panel, &place.columns), &rows);
        PanelLines { rows, wants }
    }

    /// The place of the selected row. The place where it was last is tried first.
    fn found(&self, panel: usize) -> Option<usize> {
        let place = &self.panels[panel];
        let selected = place.selected.as_ref()?;
        let rows = &place.lines.as_ref()?.rows;
        let view = self.view(panel, 0);
        if rows
            .get(place.index)
            .is_some_and(|row| (PANELS[panel].key)(&view, row).as_ref() == Some(selected))
        {
            return Some(place.index);
        }
        rows.iter()
            .position(|row| (PANELS[panel].key)(&view, row).as_ref() == Some(selected))
    }

    fn key_at(&self, panel: usize, index: usize) -> Option<RowKey> {
        let row = self.panels[panel].lines.as_ref()?.rows.get(index)?;
        (PANELS[panel].key)(&self.view(panel, 0), row)
    }

    /// Follows the rows on a screen with room for `page` of them.
    pub(crate) fn fit(&mut self, panel: usize, page: usize) {
        let rows = self.lines(panel).rows.len();
        let found = self.found(panel);
        self.panels[panel].fit(rows, page, found);
        self.panels[panel].selected = self.key_at(panel, self.panels[panel].index);
    }

    pub(super) fn page(&self) -> isize {
        match self.mode {
            InputMode::Browse => self.panels[self.focus].page.saturating_sub(1).max(1) as isize,
            _ => 10,
        }
    }

    /// Moves the selection, or scrolls the text, that has the keys; the drawing stops scrolled text
    /// at its end.
    pub(super) fn step(&mut self, by: isize) {
        match &mut self.mode {
            InputMode::Help { scroll } => *scroll = scroll.saturating_add_signed(by),
            InputMode::Choose { switches, at, .. } => {
                *at = at
                    .saturating_add_signed(by)
                    .min(switches.len().saturating_sub(1))
            }
            InputMode::Columns { at } => {
                let last = PANELS[self.focus].columns.len().saturating_sub(1);
                *at = at.saturating_add_signed(by).min(last);
            }
            _ if self.in_detail => {
                self.detail_scroll = self.detail_scroll.saturating_add_signed(by)
            }
            _ => {
                let rows = self.lines(self.focus).rows.len();
                let at = self
                    .found(self.focus)
                    .unwrap_or(self.panels[self.focus].index.min(rows));
                self.select(at.saturating_add_signed(by).min(rows.saturating_sub(1)));
            }
        }
    }

    pub(super) fn select(&mut self, index: usize) {
        self.lines(self.focus);
        let key = self.key_at(self.focus, index);
        let place = &mut self.panels[self.focus];
        (place.selected, place.index) = (key, index);
        self.detail_scroll = 0;
    }

    /// Filters the focused panel. Selects the first row that the filter itself found, unless the
    /// selected row is one of those.
    pub(crate) fn set_filter(&mut self, text: &str) {
        let place = &mut self.panels[self.focus];
        place.filter = TextFilter::new(text);
        place.lines = None;
        self.lines(self.focus);
        let found = self.found(self.focus);
        let rows = &self.lines(self.focus).rows;
        if !found.is_some_and(|at| rows.get(at).is_some_and(|r| r.found))
            && let Some(first) = rows.iter().position(|r| r.found)
        {
            self.select(first);
        }
    }

    pub(super) fn sort(&mut self) {
        let orders = PANELS[self.focus].sorts.len();
        self.sort_by((self.panels[self.focus].sort + 1) % orders, false);
    }

    pub(super) fn reverse(&mut self) {
        let place = &self.panels[self.focus];
        self.sort_by(place.sort, !place.reverse);
    }

    pub(super) fn sort_by(&mut self, sort: usize, reverse: bool) {
        let place = &mut self.panels[self.focus];
        (place.sort, place.reverse, place.lines) = (sort, reverse, None);
    }

    /// Shows the column on which the list of columns stands, or not.
    pub(super) fn toggle_column(&mut self) {
        let InputMode::Columns { at } = self.mode else {
            return;
        };
        if at == 0 {
            return self.say("the first column always stays", true);
        }
        let place = &mut self.panels[self.focus];
        place.lines = None;
        match place.columns.iter().position(|&c| c == at) {
            Some(shown) => {
                place.columns.remove(shown);
            }
            None => {
                // Where it would stand if all columns were there.
                let before = place.columns.iter().position(|&c| c > at);
                place
                    .columns
                    .insert(before.unwrap_or(place.columns.len()), at);
            }
        }
    }
}
