//! The windows over the panels: the help and the choice of a switch.
use crate::app::{App, ClickTarget, InputMode};
use crate::commands::COMMANDS;
use crate::keys::{self, KeyContext};
use crate::panels::PANELS;
use crate::table::put;
use crate::wrap::wrap;
use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, BorderType, Clear, Widget};

/// The width of the help beside which the keys have their own column.
const WIDE: u16 = 118;
/// The width of the help in a narrower window, and of the list of columns.
const NARROW: u16 = 78;

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
            InputMode::Columns { at } => {
                let choices = self.draw_columns(buffer, area, *at);
                self.hits.extend(choices);
            }
            InputMode::Browse | InputMode::Filter | InputMode::Command { .. } => {}
        }
    }

    /// Draws the help from line `scroll` on, or from an earlier line if the text ends; returns that
    /// line. A wide window has the keys at the left, and everything else at the right.
    fn draw_help(&self, buffer: &mut Buffer, area: Rect, scroll: usize) -> usize {
        let wide = area.width >= WIDE;
        let room = usize::from(if wide {
            (WIDE - 6) / 2
        } else {
            NARROW.min(area.width) - 4
        });
        let (mut keys, panel) = (
            wrapped(self.key_help(), room),
            wrapped(self.panel_help(), room),
        );
        let title = format!("help: {}", self.panel().title);
        let (width, length) = if wide {
            (WIDE, keys.len().max(panel.len()))
        } else {
            keys.push(Line::default());
            keys.extend(panel.clone());
            (NARROW, keys.len())
        };
        let inner = self.popup(buffer, area, &title, width, length as u16);
        let scroll = scroll.min(length.saturating_sub(inner.height.into()));
        let parts = if wide { 2 } else { 1 };
        let columns = Layout::horizontal(vec![Constraint::Fill(1); parts])
            .spacing(2)
            .split(inner);
        for (lines, part) in [&keys, &panel].into_iter().zip(columns.iter()) {
            for (line, y) in lines.iter().skip(scroll).zip(part.y..part.bottom()) {
                put(buffer, part.x, y, part.width, false, line);
            }
        }
        let left = length.saturating_sub(scroll + inner.height as usize);
        if left > 0 {
            let more = Line::styled(
                format!(" ↓ {left} more: signs, columns, commands "),
                self.palette.dim,
            );
            put(buffer, inner.x, inner.bottom(), inner.width, true, &more);
        }
        scroll
    }

    /// Draws the list of the panel's columns; gives the places that the mouse can click.
    fn draw_columns(&self, buffer: &mut Buffer, area: Rect, at: usize) -> Vec<(Rect, ClickTarget)> {
        let chosen = &self.panels[self.focus].columns;
        let room = usize::from(NARROW.min(area.width).saturating_sub(6));
        let columns = PANELS[self.focus].columns.iter().enumerate();
        let items = columns.map(|(i, column)| {
            let mark = if i == 0 || chosen.contains(&i) {
                "[x]"
            } else {
                "[ ]"
            };
            let line = Line::from(vec![
                Span::raw(format!("{mark} {:<11}", column.name)),
                Span::styled(column.help, self.palette.dim),
            ]);
            wrap(line, room)
        });
        let items: Vec<_> = items.collect();
        let height = items.iter().map(Vec::len).sum::<usize>();
        let inner = self.popup(buffer, area, "columns", NARROW, height as u16);
        self.draw_list(buffer, inner, &items, at)
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
        let items: Vec<_> = switches
            .iter()
            .map(|s| vec![Line::raw(s.clone())])
            .collect();
        self.draw_list(buffer, inner, &items, at)
    }

    /// Draws the items of a list, each of some lines, with a mark at item `at`; gives their places.
    fn draw_list(
        &self,
        buffer: &mut Buffer,
        area: Rect,
        items: &[Vec<Line<'_>>],
        at: usize,
    ) -> Vec<(Rect, ClickTarget)> {
        let mut hits = Vec::new();
        let mut y = area.y;
        for (i, lines) in items.iter().enumerate().skip(first_shown(items, at, area)) {
            let height = area.bottom().saturating_sub(y).min(lines.len() as u16);
            if height == 0 {
                break;
            }
            let item = Rect { y, height, ..area };
            if i == at {
                buffer.set_style(item, self.palette.selected);
                buffer.set_string(item.x, y, "▸", self.palette.accent);
            }
            let width = item.width.saturating_sub(2);
            for (line, y) in lines.iter().zip(y..item.bottom()) {
                put(buffer, item.x + 2, y, width, false, line);
            }
            hits.push((item, ClickTarget::Choice(i)));
            y = item.bottom();
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

    /// The keys, by context.
    fn key_help(&self) -> Vec<Line<'static>> {
        let mut lines = Vec::new();
        let parts = [
            (KeyContext::Browse, "keys"),
            (KeyContext::Lab, "with a lab"),
            (KeyContext::Typing, "while typing a filter or a command"),
        ];
        for (context, title) in parts
            .into_iter()
            .filter(|(c, _)| *c != KeyContext::Lab || self.look.lab)
        {
            lines.push(Line::styled(title, self.palette.accent));
            let keys = self.look.keys.in_context(context);
            lines.extend(keys.map(|(b, keys)| self.entry(&keys::label(keys), b.help)));
        }
        lines
    }

    /// The signs and columns of the focused panel, the commands, the mouse.
    fn panel_help(&self) -> Vec<Line<'static>> {
        let accent = self.palette.accent;
        let mut lines = Vec::new();
        let signs = self.panel().legend;
        if !signs.is_empty() {
            lines.push(Line::styled("signs", accent));
            lines.extend(signs.iter().map(|(sign, help)| self.entry(sign, help)));
        }
        lines.push(Line::styled("columns", accent));
        let columns = self.panel().columns.iter();
        lines.extend(columns.map(|c| self.entry(c.title, c.help)));
        lines.push(Line::styled("commands, after :", accent));
        for (name, words, help) in COMMANDS {
            let words = words.split([' ', ',']).next().unwrap_or_default();
            lines.push(self.entry(&format!("{name} {words}"), help));
        }
        lines.push(self.entry("…", "the name of every key's action: quit, zoom, freeze"));
        lines.push(Line::styled("mouse", accent));
        lines.push(self.entry("click", "selects; on a title sorts; on a hint does it"));
        lines.push(self.entry("wheel", "scrolls"));
        lines
    }

    fn entry(&self, name: &str, help: &'static str) -> Line<'static> {
        Line::from(vec![
            Span::styled(format!("{name:<14} "), self.palette.strong),
            Span::raw(help),
        ])
    }
}

fn wrapped(lines: Vec<Line<'static>>, room: usize) -> Vec<Line<'static>> {
    let lines = lines.into_iter().flat_map(|line| wrap(line, room));
    lines.collect::<Vec<_>>()
}

/// The first item of a list such that item `at` still has room in `area`.
fn first_shown(items: &[Vec<Line<'_>>], at: usize, area: Rect) -> usize {
    let mut all = 0..at;
    all.find(|first| items[*first..=at].iter().map(Vec::len).sum::<usize>() <= area.height.into())
        .unwrap_or(at)
}
