//! The mouse.
use super::{App, AppEffect, ClickTarget, InputMode};
use crate::panels::PANELS;
use crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::Position;

impl App {
    pub(super) fn mouse(&mut self, event: MouseEvent) -> Option<AppEffect> {
        let at = Position::new(event.column, event.row);
        // What was drawn last lies on top.
        let hits = self.hits.iter().rev();
        let target = hits
            .clone()
            .find(|(area, _)| area.contains(at))
            .map(|(_, t)| *t);
        match event.kind {
            MouseEventKind::Down(MouseButton::Left) => return self.click(target),
            MouseEventKind::ScrollDown => self.wheel(target, 3),
            MouseEventKind::ScrollUp => self.wheel(target, -3),
            _ => {}
        }
        None
    }

    fn click(&mut self, target: Option<ClickTarget>) -> Option<AppEffect> {
        let overlay = matches!(
            self.mode,
            InputMode::Help { .. } | InputMode::Choose { .. } | InputMode::Columns { .. }
        );
        match (target?, &mut self.mode) {
            (ClickTarget::Choice(i), InputMode::Choose { at, .. }) => {
                *at = i;
                return self.accept();
            }
            (ClickTarget::Choice(i), InputMode::Columns { at }) => {
                *at = i;
                self.toggle_column();
            }
            (ClickTarget::Word(action), _) => return self.act(action),
            _ if overlay => self.mode = InputMode::Browse,
            (ClickTarget::Panel(panel), _) => self.go(panel),
            (ClickTarget::Row(panel, row), _) => {
                self.go(panel);
                self.select(row);
            }
            (ClickTarget::Title(panel, column), _) => {
                self.go(panel);
                self.sort_by_column(column);
            }
            (ClickTarget::Detail, _) => self.in_detail = true,
            (ClickTarget::Choice(_), _) => {}
        }
        None
    }

    /// Sorts by a column; once more, the other way around.
    fn sort_by_column(&mut self, column: usize) {
        let panel = PANELS[self.focus];
        let name = panel.columns.get(column).map(|c| c.name);
        let place = &self.panels[self.focus];
        match panel
            .sorts
            .iter()
            .position(|sort| sort.column.is_some() && sort.column == name)
        {
            Some(sort) if sort == place.sort => self.reverse(),
            Some(sort) => self.sort_by(sort, false),
            None => self.say("the lines cannot be sorted by this column", true),
        }
    }

    fn wheel(&mut self, target: Option<ClickTarget>, by: isize) {
        match target {
            _ if self.mode != InputMode::Browse => self.step(by),
            Some(ClickTarget::Detail) => {
                self.detail_scroll = self.detail_scroll.saturating_add_signed(by)
            }
            Some(
                ClickTarget::Panel(panel)
                | ClickTarget::Row(panel, _)
                | ClickTarget::Title(panel, _),
            ) => {
                if panel != self.focus {
                    self.go(panel);
                }
                self.in_detail = false;
                self.step(by);
            }
            _ => {}
        }
    }
}
