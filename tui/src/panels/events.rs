//! The alarms that still stand, and below them the events, newest first.
use super::{Panel, detail, falling, left};
use crate::columns::{ColumnWidth, TableColumn};
use crate::format;
use crate::panel_view::PanelView;
use crate::rows::{RowItem, RowKey, TableRow};
use api::EventLevel;
use ratatui::style::Style;
use ratatui::text::Line;

const COLUMNS: &[TableColumn] = &[
    left(
        ("time", "TIME", ColumnWidth::Fixed(8), 0),
        |view, row, _| cells(view, row, 0),
        "the time of day; \"now\" for what still stands",
    ),
    left(
        ("level", "LEVEL", ColumnWidth::Fixed(9), 2),
        |view, row, _| cells(view, row, 1),
        "how urgent it is",
    ),
    left(
        ("what", "WHAT", ColumnWidth::Rest(20), 1),
        |view, row, _| cells(view, row, 2),
        "what happened",
    ),
];

pub(super) const PANEL: Panel = Panel {
    title: "Events",
    columns: COLUMNS,
    sorts: &[falling("newest", "time"), falling("level", "level")],
    empty: "nothing happened yet",
    legend: &[],
    detail_height: 7,
    folds_stages: false,
    rows,
    key,
    words,
    detail: about,
    below: None,
};

fn rows(view: &PanelView<'_>) -> Vec<TableRow> {
    let s = view.snapshot;
    let mut order: Vec<usize> = (0..s.events.len()).collect();
    order.reverse();
    if view.sort == 1 {
        order.sort_by_key(|&i| std::cmp::Reverse(s.events[i].level));
    }
    let events = order.into_iter().map(|i| RowItem::Event(i).into());
    let events = view.directed(events.collect());
    let pending = s
        .pending
        .iter()
        .flat_map(|change| 0..change.changes.len())
        .map(|i| RowItem::Pending(i).into());
    let alarms = (0..s.alarms.len()).map(|i| RowItem::Alarm(i).into());
    pending.chain(alarms).chain(events).collect()
}

fn key(view: &PanelView<'_>, row: &TableRow) -> Option<RowKey> {
    let s = view.snapshot;
    Some(match row.item {
        RowItem::Pending(i) => RowKey::Pending(s.pending.as_ref()?.changes.get(i)?.clone()),
        RowItem::Alarm(i) => {
            let alarm = s.alarms.get(i)?;
            RowKey::Alarm(alarm.subject.clone(), alarm.text.clone())
        }
        RowItem::Event(i) => {
            let event = s.events.get(i)?;
            RowKey::Event(event.at, event.text.clone())
        }
        _ => return None,
    })
}

fn words(view: &PanelView<'_>, row: &TableRow) -> String {
    let about = match row.item {
        RowItem::Alarm(i) => view
            .snapshot
            .alarms
            .get(i)
            .map_or_else(String::new, |a| a.subject.to_string()),
        _ => String::new(),
    };
    let [time, level, what] = [0, 1, 2].map(|at| cells(view, row, at));
    format!("{time} {level} {about} {what}")
}

fn about(view: &PanelView<'_>, key: &RowKey) -> Vec<Line<'static>> {
    match key {
        RowKey::Alarm(about, text) => vec![
            detail::heading(view, &about.to_string(), "alarm, still standing"),
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

/// A line's cell: the time, the level or the text.
fn cells(view: &PanelView<'_>, row: &TableRow, at: usize) -> Line<'static> {
    let (p, s) = (view.palette, view.snapshot);
    let cells = match row.item {
        RowItem::Pending(i) => {
            let changes = s.pending.as_ref().map(|change| &change.changes);
            let text = changes.and_then(|c| c.get(i)).cloned();
            Some((("now".to_owned(), p.warn), ("◔ pending", p.warn), text))
        }
        RowItem::Alarm(i) => {
            let text = s.alarms.get(i).map(|a| a.text.clone());
            Some((("now".to_owned(), p.warn), ("▲ ALARM", p.bad), text))
        }
        RowItem::Event(i) => s.events.get(i).map(|e| {
            let time = format::clock(e.at, view.zone);
            ((time, p.dim), level(view, e.level), Some(e.text.clone()))
        }),
        _ => None,
    };
    match (cells, at) {
        (Some(((time, style), _, _)), 0) => Line::styled(time, style),
        (Some((_, (word, style), _)), 1) => Line::styled(word, style),
        (Some((_, _, text)), _) => Line::raw(text.unwrap_or_default()),
        (None, _) => Line::default(),
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
