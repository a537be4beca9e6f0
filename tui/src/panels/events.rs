//! The alarms that still stand, and below them the events, newest first.
use super::{Panel, PanelView, detail};
use crate::format;
use crate::table::{PanelTable, RowKey, TableRow, left};
use api::{EventLevel, EventLine};
use ratatui::style::Style;
use ratatui::text::Line;

pub(super) struct EventsPanel;

impl Panel for EventsPanel {
    fn title(&self) -> &'static str {
        "Events"
    }

    fn sorts(&self) -> &'static [&'static str] {
        &["newest", "oldest", "level"]
    }

    fn table(&self, view: &PanelView<'_>) -> PanelTable {
        let columns = vec![left("TIME", 8), left("LEVEL", 9), left("WHAT", 0)];
        let mut events: Vec<&EventLine> = view.snapshot.events.iter().collect();
        if view.sort != 1 {
            events.reverse();
        }
        if view.sort == 2 {
            events.sort_by_key(|e| std::cmp::Reverse(e.level));
        }
        let p = view.palette;
        let alarms = view.snapshot.alarms.iter().map(|a| {
            let cells = vec![
                Line::styled("now", p.warn),
                Line::styled("▲ ALARM", p.bad),
                Line::raw(a.text.clone()),
            ];
            TableRow::new(
                RowKey::Alarm(a.about.clone(), a.text.clone()),
                format!("alarm {} {}", a.about, a.text),
                cells,
            )
        });
        let pending = view
            .snapshot
            .pending
            .iter()
            .flat_map(|change| &change.changes)
            .map(|text| {
                let cells = vec![
                    Line::styled("now", p.warn),
                    Line::styled("◔ pending", p.warn),
                    Line::raw(text.clone()),
                ];
                TableRow::new(
                    RowKey::Pending(text.clone()),
                    format!("pending {text}"),
                    cells,
                )
            });
        let events = events.into_iter().map(|e| {
            let (word, style) = level(view, e.level);
            let time = format::clock(e.at, view.zone);
            let words = format!("{time} {word} {}", e.text);
            let cells = vec![
                Line::styled(time, p.dim),
                Line::styled(word, style),
                Line::raw(e.text.clone()),
            ];
            TableRow::new(RowKey::Event(e.at, e.text.clone()), words, cells)
        });
        PanelTable {
            columns,
            rows: pending.chain(alarms).chain(events).collect(),
            empty: "nothing happened yet",
        }
    }

    fn detail(&self, view: &PanelView<'_>, key: &RowKey) -> Vec<Line<'static>> {
        match key {
            RowKey::Alarm(about, text) => vec![
                detail::heading(view, about, "alarm, still standing"),
                Line::raw(text.clone()),
            ],
            RowKey::Pending(text) => {
                let Some(change) = &view.snapshot.pending else {
                    return Vec::new();
                };
                let what = format!(
                    "seen {}, believed when it holds still until {}",
                    format::clock(change.since, view.zone),
                    format::clock(change.due, view.zone)
                );
                vec![
                    detail::heading(view, "◔ pending", what),
                    Line::raw(text.clone()),
                ]
            }
            RowKey::Event(at, text) => {
                let event = view
                    .snapshot
                    .events
                    .iter()
                    .find(|e| e.at == *at && e.text == *text);
                let Some(event) = event else {
                    return Vec::new();
                };
                let (word, _) = level(view, event.level);
                vec![
                    detail::heading(view, word, format::instant(*at, view.zone)),
                    Line::raw(text.clone()),
                ]
            }
            _ => Vec::new(),
        }
    }
}

/// Symbol and word come first: the level never shows by its colour alone.
fn level(view: &PanelView<'_>, level: EventLevel) -> (&'static str, Style) {
    match level {
        EventLevel::Info => ("· info", view.palette.dim),
        EventLevel::Warning => ("▲ warning", view.palette.warn),
        EventLevel::Error => ("✖ error", view.palette.bad),
    }
}
