//! The windows over the panels: the help and the choice of a switch.
use crate::app::{App, ClickTarget, InputMode};
use crate::keys::{KeyContext, TABLE};
use crate::table::put;
use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, BorderType, Clear, Paragraph, Widget};

impl App {
    pub(super) fn overlay(&mut self, buffer: &mut Buffer, area: Rect) {
        match &self.mode {
            InputMode::Help { scroll } => {
                let scroll = self.draw_help(buffer, area, *scroll);
                self.mode = InputMode::Help { scroll };
            }
            InputMode::Choose { host, switches, at } => {
                let choices = self.draw_choices(buffer, area, host, switches, *at);
                self.hits.extend(choices);
            }
            InputMode::Browse | InputMode::Filter => {}
        }
    }

    /// Draws the help from line `scroll` on, or from an earlier line if the text ends; returns that
    /// line.
    fn draw_help(&self, buffer: &mut Buffer, area: Rect, scroll: usize) -> usize {
        let lines = self.help();
        let inner = self.popup(buffer, area, "keys", 74, lines.len() as u16);
        let scroll = scroll.min(lines.len().saturating_sub(inner.height.into()));
        let left = lines.len().saturating_sub(scroll + inner.height as usize);
        Paragraph::new(lines)
            .scroll((scroll as u16, 0))
            .render(inner, buffer);
        if left > 0 {
            let more = Line::styled(format!(" ↓ {left} more "), self.palette.dim);
            let x = inner.right().saturating_sub(12);
            put(buffer, x, inner.bottom(), 12, true, &more);
        }
        scroll
    }

    /// Draws the list of switches that the cable of `host` can move to; gives the places that the
    /// mouse can click.
    fn draw_choices(
        &self,
        buffer: &mut Buffer,
        area: Rect,
        host: &str,
        switches: &[String],
        at: usize,
    ) -> Vec<(Rect, ClickTarget)> {
        let title = format!("move the cable of {host} to");
        let width = (title.len() as u16 + 6).max(30);
        let inner = self.popup(buffer, area, &title, width, switches.len() as u16);
        let offset = (at + 1).saturating_sub(inner.height.into());
        let mut hits = Vec::new();
        let shown = switches.iter().enumerate().skip(offset);
        for ((i, switch), y) in shown.zip(inner.y..inner.bottom()) {
            let row = Rect {
                y,
                height: 1,
                ..inner
            };
            if i == at {
                buffer.set_style(row, self.palette.selected);
                buffer.set_string(row.x, y, "▸", self.palette.accent);
            }
            let width = row.width.saturating_sub(2);
            let name = Line::raw(switch.as_str());
            put(buffer, row.x + 2, y, width, false, &name);
            hits.push((row, ClickTarget::Choice(i)));
        }
        hits
    }

    /// Draws a frame for `height` lines in the middle of `area`; gives the room inside it.
    fn popup(&self, buffer: &mut Buffer, area: Rect, title: &str, width: u16, height: u16) -> Rect {
        let area = area.centered(
            Constraint::Length(width.min(area.width)),
            Constraint::Length((height + 2).min(area.height)),
        );
        let block = Block::bordered()
            .border_type(BorderType::Rounded)
            .border_style(self.palette.accent)
            .title(Line::styled(format!(" {title} "), self.palette.accent));
        let inner = block.inner(area);
        Clear.render(area, buffer);
        block.render(area, buffer);
        Rect {
            x: inner.x + 1,
            width: inner.width.saturating_sub(2),
            ..inner
        }
    }

    /// The key table as text, by context.
    fn help(&self) -> Vec<Line<'static>> {
        let p = self.palette;
        let mut lines = Vec::new();
        let parts = [
            (KeyContext::Browse, ""),
            (KeyContext::Lab, "with a lab"),
            (KeyContext::Filter, "while typing a filter"),
            (KeyContext::Choose, "in a list"),
        ];
        for (context, title) in parts
            .into_iter()
            .filter(|(c, _)| *c != KeyContext::Lab || self.look.lab)
        {
            if !title.is_empty() {
                lines.extend([Line::default(), Line::styled(title, p.accent)]);
            }
            let bindings = TABLE.iter().filter(|b| b.context == context);
            lines.extend(bindings.map(|b| {
                Line::from(vec![
                    Span::styled(format!("{:<12}", b.label), p.strong),
                    Span::raw(b.help),
                ])
            }));
        }
        lines.push(Line::default());
        lines.push(Line::styled(
            "mouse       click selects, the wheel scrolls",
            p.dim,
        ));
        lines
    }
}
