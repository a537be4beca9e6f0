//! Puts the application on a frame: the regions at this size, and the content of each.
use crate::app::{App, ClickTarget, InputMode};
use crate::keys::TABLE;
use crate::panels::{PANELS, PanelView};
use crate::table::put;
use crate::wrap::wrap;
use crate::{ascii, format};
use api::Snapshot;
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
    fn header(&self, buffer: &mut Buffer, area: Rect) {
        let p = self.palette;
        let state = self.state();
        let room = area.width.saturating_sub(state.width() as u16 + 3) as usize;
        let mut parts = vec![
            (0, Span::styled("heddle", p.accent)),
            (2, Span::styled(self.look.address.clone(), p.dim)),
        ];
        if let Some(s) = self.picture() {
            let count = |kind| s.topology.nodes.iter().filter(|n| n.kind == kind).count();
            let epoch = s
                .epochs
                .last()
                .map_or_else(|| "no epoch".into(), |e| format!("epoch {}", e.number));
            parts.push((0, Span::styled(epoch, p.strong)));
            parts.push((1, Span::raw(format::count(count(NodeKind::Host), "host"))));
            parts.push((
                1,
                Span::raw(format::count(count(NodeKind::Switch), "switch")),
            ));
            if !s.alarms.is_empty() {
                parts.push((
                    0,
                    Span::styled(
                        format!("▲ {}", format::count(s.alarms.len(), "alarm")),
                        p.warn,
                    ),
                ));
            }
        }
        for least in [2, 1] {
            if parts.iter().map(|(_, s)| s.width() + 2).sum::<usize>() > room {
                parts.retain(|(importance, _)| *importance != least);
            }
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

    fn banner(&self, buffer: &mut Buffer, area: Rect) {
        let Some((since, why)) = self.lost.as_ref().filter(|_| area.height > 0) else {
            return;
        };
        let shown = if self.picture().is_some() {
            "showing the last picture"
        } else {
            "trying again"
        };
        let text = format!(
            " ✖ controller unreachable since {}, {shown}: {why}",
            format::clock(*since, &self.look.zone)
        );
        buffer.set_style(area, self.palette.banner);
        put(
            buffer,
            area.x,
            area.y,
            area.width,
            false,
            &Line::styled(text, self.palette.banner),
        );
    }

    fn tabs(&mut self, buffer: &mut Buffer, area: Rect) {
        let p = self.palette;
        rule(buffer, area, "─", p.dim);
        let mut x = area.x + 1;
        for (i, panel) in PANELS.iter().enumerate() {
            let label = format!(" {} {} ", i + 1, panel.title());
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
    /// line.
    fn corner(&self, buffer: &mut Buffer, area: Rect, panel: usize) {
        let (p, place) = (self.palette, &self.panels[panel]);
        let mut spans = vec![Span::styled(
            format!(" by {} ", PANELS[panel].sorts()[place.sort]),
            p.dim,
        )];
        if place.rows > place.page {
            spans.push(Span::styled(
                format!("· {} of {} ", place.index + 1, place.rows),
                p.dim,
            ));
        }
        if !place.filter.is_empty() {
            spans.insert(0, Span::styled(format!(" /{} ", place.filter), p.warn));
        }
        let line = Line::from(spans);
        let width = line.width() as u16;
        if width < area.width {
            put(
                buffer,
                area.right() - width - 1,
                area.y,
                width,
                false,
                &line,
            );
        }
    }

    fn draw_panel(&mut self, buffer: &mut Buffer, panel: usize, area: Rect, titled: bool) {
        self.hits.push((area, ClickTarget::Panel(panel)));
        let mut inner = area;
        if titled {
            let title = format!(" {} {} ", panel + 1, PANELS[panel].title());
            let focused = panel == self.focus && !self.in_detail;
            self.title(buffer, area, &title, focused);
            inner.y += 1;
            inner.height = area.height.saturating_sub(1);
        }
        let reserve = PANELS[panel].reserve(inner.height).min(inner.height);
        let [rows, below] =
            Layout::vertical([Constraint::Fill(1), Constraint::Length(reserve)]).areas(inner);
        let table = self.table(panel, rows.width);
        self.panels[panel].fit(&table, rows.height.saturating_sub(1) as usize);
        let offset = self.panels[panel].offset;
        let selected = (panel == self.focus).then_some(self.panels[panel].index);
        table.draw(buffer, rows, offset, selected, &self.palette);
        for (i, y) in (offset..table.rows.len()).zip(rows.y + 1..rows.bottom()) {
            let row = Rect {
                y,
                height: 1,
                ..rows
            };
            self.hits.push((row, ClickTarget::Row(panel, i)));
        }
        if titled {
            let corner = Rect {
                x: area.x + 12,
                width: area.width.saturating_sub(12),
                ..area
            };
            self.corner(buffer, corner, panel);
        }
        let empty = Snapshot::default();
        PANELS[panel].below(
            &self.view(&empty, below.width, 0),
            self.panels[panel].selected.as_ref(),
            buffer,
            below,
        );
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
        let empty = Snapshot::default();
        let view: PanelView<'_> = self.view(&empty, area.width.saturating_sub(4), 0);
        let key = self.panels[self.focus].selected.clone();
        let lines = key
            .map(|key| self.panel().detail(&view, &key))
            .unwrap_or_default();
        let inner = Rect {
            x: area.x + 2,
            y: area.y + 1,
            width: area.width - 3,
            height: area.height.saturating_sub(1),
        };
        let lines: Vec<Line<'_>> = lines
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
    fn footer(&self, buffer: &mut Buffer, area: Rect) -> Option<Position> {
        let p = self.palette;
        let mut x = area.x + 1;
        let mut cursor = None;
        let line = match (&self.note, &self.mode) {
            (_, InputMode::Filter) => {
                let typed = Line::from(vec![
                    Span::styled("/", p.accent),
                    Span::raw(self.panels[self.focus].filter.clone()),
                ]);
                put(buffer, x, area.y, area.width / 2, false, &typed);
                x += (typed.width() as u16).min(area.width / 2);
                cursor = Some(Position::new(x, area.y));
                x += 3;
                self.hints()
            }
            (Some(note), InputMode::Browse) => {
                let (mark, style) = if note.bad {
                    ("✖ ", p.bad)
                } else {
                    ("▸ ", p.accent)
                };
                Line::from(vec![
                    Span::styled(mark, style),
                    Span::styled(note.text.clone(), if note.bad { p.bad } else { p.strong }),
                ])
            }
            _ => self.hints(),
        };
        put(
            buffer,
            x,
            area.y,
            area.right().saturating_sub(x),
            false,
            &line,
        );
        cursor
    }

    fn hints(&self) -> Line<'static> {
        let contexts = self.contexts();
        let hinted = TABLE
            .iter()
            .filter(|b| contexts.contains(&b.context))
            .filter_map(|b| b.hint.map(|hint| (b.label, hint)));
        let key = |label: &'static str| label.split(' ').next().unwrap_or(label);
        let spans = hinted.flat_map(|(label, hint)| {
            [
                Span::styled(key(label), self.palette.strong),
                Span::styled(format!(" {hint}  "), self.palette.dim),
            ]
        });
        Line::from(spans.collect::<Vec<_>>())
    }
}

fn rule(buffer: &mut Buffer, area: Rect, symbol: &str, style: Style) {
    for x in area.x..area.right() {
        buffer[(x, area.y)].set_symbol(symbol).set_style(style);
    }
}
