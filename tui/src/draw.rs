//! Puts the application on a frame: the regions at this size, and the content of each.
use crate::app::{App, ClickTarget, InputMode, columns, shown_network};
use crate::keys::{self, KeyAction};
use crate::panels::PANELS;
use crate::table::{DrawnTable, put};
use crate::wrap::wrap;
use crate::{ascii, format};
use inventory::topology::NodeKind;
use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Position, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Wrap};

mod overlay;
mod regions;
use regions::SMALLEST;

impl App {
    /// Draws everything, and remembers all places that the mouse can click.
    pub fn draw(&mut self, frame: &mut Frame<'_>) {
        let area = frame.area();
        self.hits.clear();
        if area.width < SMALLEST.0 || area.height < SMALLEST.1 {
            let text = format!(
                "heddle needs a window of {}x{}; this one has {}x{}",
                SMALLEST.0, SMALLEST.1, area.width, area.height
            );
            frame.render_widget(Paragraph::new(text).wrap(Wrap { trim: true }), area);
            return;
        }
        let regions = self.regions(area);
        let buffer = frame.buffer_mut();
        self.header(buffer, regions.header);
        self.banner(buffer, regions.banner);
        for (panel, area) in &regions.panels {
            self.draw_panel(buffer, *panel, *area, regions.tabs.is_none());
        }
        if let Some(area) = regions.tabs {
            self.tabs(buffer, area);
        }
        self.draw_detail(buffer, regions.detail);
        let cursor = self.footer(buffer, regions.footer);
        self.overlay(buffer, area);
        if self.look.ascii {
            ascii::degrade(buffer);
        }
        if let Some(cursor) = cursor {
            frame.set_cursor_position(cursor);
        }
    }

    /// The source and its state; the least important parts give way first.
    fn header(&mut self, buffer: &mut Buffer, area: Rect) {
        let state = self.state();
        let room = area.width.saturating_sub(state.width() as u16 + 3) as usize;
        let mut parts = self.header_parts();
        for least in [2, 1] {
            if parts.iter().map(|(_, s)| s.width() + 2).sum::<usize>() > room {
                parts.retain(|(importance, _)| *importance != least);
            }
        }
        let alarms = self.picture().is_some_and(|s| !s.alarms.is_empty());
        if alarms && let Some((last, before)) = parts.split_last() {
            // The alarms are the last part; a click leads to them.
            let x = before
                .iter()
                .map(|(_, s)| s.width() as u16 + 2)
                .sum::<u16>()
                + area.x
                + 1;
            let width = last.1.width() as u16;
            let word = Rect { x, width, ..area };
            self.hits
                .push((word, ClickTarget::Word(KeyAction::Panel(4))));
        }
        let spans = parts
            .into_iter()
            .flat_map(|(_, span)| [span, Span::raw("  ")])
            .collect::<Vec<_>>();
        put(
            buffer,
            area.x + 1,
            area.y,
            room as u16,
            false,
            &Line::from(spans),
        );
        put(
            buffer,
            area.right().saturating_sub(state.width() as u16 + 1),
            area.y,
            state.width() as u16,
            false,
            &state,
        );
    }

    /// The parts of the header, each with how soon it gives way: the highest first, 0 never.
    fn header_parts(&self) -> Vec<(u8, Span<'static>)> {
        let p = self.palette;
        let mut parts = vec![
            (0, Span::styled("heddle", p.accent)),
            (2, Span::styled(self.look.address.clone(), p.dim)),
        ];
        if let Some(s) = self.picture() {
            let epoch = s
                .epochs
                .last()
                .map_or_else(|| "no epoch".into(), |e| format!("epoch {}", e.number));
            parts.push((0, Span::styled(epoch, p.strong)));
            if let Some(shown) = shown_network(&s.topology) {
                parts.push((1, Span::raw(shown)));
            }
            parts.push((
                1,
                Span::raw(inventory::counted(count(NodeKind::Host, s), "host")),
            ));
            parts.push((
                1,
                Span::raw(inventory::counted(count(NodeKind::Switch, s), "switch")),
            ));
            if !s.alarms.is_empty() {
                parts.push((
                    0,
                    Span::styled(
                        format!("▲ {}", inventory::counted(s.alarms.len(), "alarm")),
                        p.warn,
                    ),
                ));
            }
        }
        parts
    }

    fn state(&self) -> Line<'static> {
        let p = self.palette;
        if let Some(frozen) = &self.frozen {
            return Line::styled(
                format!("‖ FROZEN {}", format::age(self.now.since(frozen.since))),
                p.banner,
            );
        }
        if self.lost.is_some() {
            return Line::styled("✖ unreachable", p.bad);
        }
        let Some(snapshot) = self.picture() else {
            return Line::styled("○ waiting", p.warn);
        };
        if !self.look.live {
            let at = format::clock(snapshot.at, &self.look.zone);
            return Line::styled(format!("‖ recorded {at}"), p.dim);
        }
        if let Some(silence) = self.silence() {
            return Line::styled(format!("○ silent for {}", format::age(silence)), p.warn);
        }
        match &snapshot.pending {
            Some(change) => {
                let left = change.due.since(self.clock());
                Line::styled(format!("◔ change in {:.1} s", left.as_secs_f64()), p.warn)
            }
            None => Line::styled("● live", p.good),
        }
    }

    /// The lines of the banner: the reason why the controller cannot be reached, with its hint.
    fn banner_lines(&self, width: u16) -> Vec<Line<'static>> {
        let Some((since, why)) = &self.lost else {
            return Vec::new();
        };
        let shown = if self.picture().is_some() {
            "showing the last picture"
        } else {
            "trying again"
        };
        let since = format::clock(*since, &self.look.zone);
        let style = self.palette.banner;
        let text = Line::from(vec![
            Span::styled(" ✖ ", style),
            Span::styled(
                format!("controller unreachable since {since}, {shown}: {why}"),
                style,
            ),
        ]);
        wrap(text, width.saturating_sub(1).into())
    }

    fn banner(&self, buffer: &mut Buffer, area: Rect) {
        buffer.set_style(area, self.palette.banner);
        for (line, y) in self
            .banner_lines(area.width)
            .iter()
            .zip(area.y..area.bottom())
        {
            put(buffer, area.x, y, area.width, false, line);
        }
    }

    fn tabs(&mut self, buffer: &mut Buffer, area: Rect) {
        let p = self.palette;
        rule(buffer, area, "─", p.dim);
        let mut x = area.x + 1;
        for (i, panel) in PANELS.iter().enumerate() {
            let label = format!(" {} {} ", i + 1, panel.title);
            let width = label.len() as u16 + 2;
            if x + width > area.right() {
                break;
            }
            if i == self.focus {
                let line = Line::from(vec![
                    Span::styled("┤", p.dim),
                    Span::styled(label, p.accent),
                    Span::styled("├", p.dim),
                ]);
                put(buffer, x, area.y, width, false, &line);
            } else {
                put(buffer, x + 1, area.y, width - 2, false, &Line::raw(label));
            }
            self.hits
                .push((Rect { x, width, ..area }, ClickTarget::Panel(i)));
            x += width;
        }
        self.corner(
            buffer,
            Rect {
                x,
                width: area.right().saturating_sub(x),
                ..area
            },
            self.focus,
        );
    }

    /// The filter, the sort order and the position in the panel, at the right end of its title
    /// line. Where they have no room, the sort order gives way first, then the filter.
    fn corner(&mut self, buffer: &mut Buffer, area: Rect, panel: usize) {
        let forms = [(true, true), (true, false), (false, false)];
        let mut lines = forms
            .map(|(filter, sort)| (self.corner_line(panel, filter, sort), sort))
            .into_iter();
        let Some((line, sort)) = lines.find(|(line, _)| line.width() < area.width.into()) else {
            return;
        };
        let width = line.width() as u16;
        let x = area.right() - width - 1;
        put(buffer, x, area.y, width, false, &line);
        if sort && panel == self.focus {
            let word = Rect { x, width, ..area };
            self.hits.push((word, ClickTarget::Word(KeyAction::Sort)));
        }
    }

    fn corner_line(&self, panel: usize, filter: bool, sort: bool) -> Line<'static> {
        let (p, place) = (self.palette, &self.panels[panel]);
        let mut spans = Vec::new();
        if filter && !place.filter.text().is_empty() {
            let literal = if place.filter.literal {
                " (as text)"
            } else {
                ""
            };
            let text = format!(" /{}{literal} ", place.filter.text());
            spans.push(Span::styled(text, p.warn));
        }
        if sort {
            let name = PANELS[panel].sorts[place.sort].name;
            spans.push(Span::styled(format!(" by {name} "), p.dim));
        }
        if place.rows > place.page {
            let before = if sort { "·" } else { "" };
            let text = format!("{before} {} of {} ", place.index + 1, place.rows);
            spans.push(Span::styled(text, p.dim));
        }
        Line::from(spans)
    }

    fn draw_panel(&mut self, buffer: &mut Buffer, panel: usize, area: Rect, titled: bool) {
        self.hits.push((area, ClickTarget::Panel(panel)));
        let mut inner = area;
        if titled {
            let title = format!(" {} {} ", panel + 1, PANELS[panel].title);
            let focused = panel == self.focus && !self.in_detail;
            self.title(buffer, area, &title, focused);
            inner.y += 1;
            inner.height = area.height.saturating_sub(1);
        }
        let picture = PANELS[panel].below.as_ref();
        let reserve = picture.map_or(0, |picture| {
            (picture.reserve)(inner.height).min(inner.height)
        });
        let [rows, below] =
            Layout::vertical([Constraint::Fill(1), Constraint::Length(reserve)]).areas(inner);
        self.draw_rows(buffer, panel, rows);
        if titled {
            let corner = Rect {
                x: area.x + 12,
                width: area.width.saturating_sub(12),
                ..area
            };
            self.corner(buffer, corner, panel);
        }
        if let Some(picture) = picture {
            let selected = self.panels[panel].selected.as_ref();
            (picture.draw)(&self.view(panel, below.width), selected, buffer, below);
        }
    }

    /// Draws the lines of a panel, and remembers where its rows and titles are.
    fn draw_rows(&mut self, buffer: &mut Buffer, panel: usize, area: Rect) {
        self.fit(panel, area.height.saturating_sub(1).into());
        let place = &self.panels[panel];
        let Some(lines) = &place.lines else {
            return;
        };
        let columns = columns(panel, &place.columns);
        let room = area.width.saturating_sub(2);
        let (placed, step) = crate::columns::place(&columns, &lines.wants, room);
        let sort = &PANELS[panel].sorts[place.sort];
        let table = DrawnTable {
            columns: &columns,
            placed: &placed,
            step,
            rows: &lines.rows,
            empty: if place.filter.is_empty() {
                PANELS[panel].empty
            } else {
                "no line matches the filter; esc clears it"
            },
            sorted: sort
                .column
                .map(|column| (column, direction(sort.falling != place.reverse))),
        };
        let (offset, rows) = (place.offset, lines.rows.len());
        let selected = (panel == self.focus).then_some(place.index);
        let view = self.view(panel, area.width);
        table.draw(&view, buffer, area, offset, selected);
        let all = PANELS[panel].columns;
        let titles = placed.iter().map(|p| {
            let at = all.iter().position(|c| c.name == columns[p.column].name);
            let title = Rect {
                x: area.x + 2 + p.x,
                width: p.width,
                height: 1.min(area.height),
                ..area
            };
            (title, ClickTarget::Title(panel, at.unwrap_or(0)))
        });
        let shown = (offset..rows).zip(area.y + 1..area.bottom());
        let rows = shown.map(|(i, y)| {
            let height = 1;
            let row = Rect { y, height, ..area };
            (row, ClickTarget::Row(panel, i))
        });
        let hits: Vec<_> = titles.chain(rows).collect();
        self.hits.extend(hits);
    }

    fn title(&self, buffer: &mut Buffer, area: Rect, title: &str, focused: bool) {
        let (line, rule_style, style) = if focused {
            ("━", self.palette.accent, self.palette.accent)
        } else {
            ("─", self.palette.dim, self.palette.strong)
        };
        rule(buffer, Rect { height: 1, ..area }, line, rule_style);
        put(
            buffer,
            area.x + 1,
            area.y,
            area.width - 1,
            false,
            &Line::styled(title.to_owned(), style),
        );
    }

    fn draw_detail(&mut self, buffer: &mut Buffer, area: Rect) {
        self.hits.push((area, ClickTarget::Detail));
        self.title(buffer, area, " Detail ", self.in_detail);
        let view = self.view(self.focus, area.width.saturating_sub(4));
        let key = self.panels[self.focus].selected.clone();
        let detail = key
            .map(|key| (self.panel().detail)(&view, &key))
            .unwrap_or_default();
        let inner = Rect {
            x: area.x + 2,
            y: area.y + 1,
            width: area.width - 3,
            height: area.height.saturating_sub(1),
        };
        let lines: Vec<Line<'_>> = detail
            .into_iter()
            .flat_map(|line| wrap(line, inner.width.into()))
            .collect();
        let room = inner.height as usize;
        self.detail_scroll = self.detail_scroll.min(lines.len().saturating_sub(room));
        for (line, y) in lines
            .iter()
            .skip(self.detail_scroll)
            .zip(inner.y..inner.bottom())
        {
            put(buffer, inner.x, y, inner.width, false, line);
        }
        let left = lines.len().saturating_sub(self.detail_scroll + room);
        if left > 0 {
            put(
                buffer,
                area.x,
                area.y,
                area.width - 1,
                true,
                &Line::styled(format!(" ↓ {left} more "), self.palette.dim),
            );
        }
    }

    /// Draws the key hints, the text that the user types, or a message. Gives the place of the
    /// cursor while the user types.
    fn footer(&mut self, buffer: &mut Buffer, area: Rect) -> Option<Position> {
        let p = self.palette;
        let typed = match &self.mode {
            InputMode::Filter => Some(("/", self.panels[self.focus].filter.text())),
            InputMode::Command { text } => Some((":", text.as_str())),
            _ => None,
        };
        let mut x = area.x + 1;
        if let Some((sign, text)) = typed {
            let typed = Line::from(vec![Span::styled(sign, p.accent), Span::raw(text)]);
            let room = area.width / 2;
            put(buffer, x, area.y, room, false, &typed);
            x += (typed.width() as u16).min(room);
            let cursor = Position::new(x, area.y);
            self.hints(buffer, x + 3, area);
            return Some(cursor);
        }
        let note = self
            .note
            .as_ref()
            .filter(|_| self.mode == InputMode::Browse);
        let Some(note) = note else {
            self.hints(buffer, x, area);
            return None;
        };
        let (mark, style, text) = if note.bad {
            ("✖ ", p.bad, p.bad)
        } else {
            ("▸ ", p.accent, p.strong)
        };
        let line = Line::from(vec![
            Span::styled(mark, style),
            Span::styled(note.text.as_str(), text),
        ]);
        let width = area.right().saturating_sub(x);
        put(buffer, x, area.y, width, false, &line);
        None
    }

    /// Draws the first key of each action with a hint; a click does what the key does.
    fn hints(&mut self, buffer: &mut Buffer, from: u16, area: Rect) {
        let mut x = from;
        let contexts = self.contexts().iter();
        let all = contexts.flat_map(|context| self.look.keys.in_context(*context));
        let hints: Vec<_> = all
            .filter_map(|(binding, keys)| {
                let first = keys::label(keys.get(..1)?);
                Some((first, binding.hint?, binding.action))
            })
            .collect();
        for (key, hint, action) in hints {
            let line = Line::from(vec![
                Span::styled(key, self.palette.strong),
                Span::styled(format!(" {hint}"), self.palette.dim),
            ]);
            let width = line.width() as u16;
            if x + width > area.right() {
                break;
            }
            put(buffer, x, area.y, width, false, &line);
            let word = Rect { x, width, ..area };
            self.hits.push((word, ClickTarget::Word(action)));
            x += width + 2;
        }
    }
}

fn count(kind: NodeKind, s: &api::Snapshot) -> usize {
    s.topology.nodes.iter().filter(|n| n.kind == kind).count()
}

/// The mark of a sort order: the largest first, or the smallest.
fn direction(falling: bool) -> &'static str {
    if falling { "▾" } else { "▴" }
}

fn rule(buffer: &mut Buffer, area: Rect, symbol: &str, style: Style) {
    for x in area.x..area.right() {
        buffer[(x, area.y)].set_symbol(symbol).set_style(style);
    }
}
