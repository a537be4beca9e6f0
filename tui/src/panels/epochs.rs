//! The published epochs: the reasons for each, its plan, and the duration of every stage.
use super::{Panel, detail, falling, left, right};
use crate::columns::{ColumnWidth, TableColumn};
use crate::format;
use crate::panel_view::PanelView;
use crate::port_names::middle;
use crate::rows::{RowItem, RowKey, TableRow};
use api::{EpochInfo, StageTimes};
use ratatui::text::{Line, Span};
use std::time::Duration;

const COLUMNS: &[TableColumn] = &[
    right(
        ("epoch", "EPOCH", ColumnWidth::Fixed(6), 0),
        |view, row, _| with_epoch(view, row, |e| number(view, e)),
        "its number",
    ),
    left(
        ("time", "TIME", ColumnWidth::Fixed(8), 2),
        |view, row, _| {
            with_epoch(view, row, |e| {
                Line::styled(format::clock(e.at, view.zone), view.palette.dim)
            })
        },
        "when jobs could first follow it",
    ),
    right(
        ("phases", "PHASES", ColumnWidth::Fixed(7), 3),
        |view, row, _| {
            with_epoch(view, row, |e| {
                Line::styled(e.phases.to_string(), view.palette.strong)
            })
        },
        "phases of an all-to-all of all hosts",
    ),
    left(
        ("bottleneck", "BOTTLENECK", ColumnWidth::Content(10), 5),
        |view, row, width| with_epoch(view, row, |e| Line::raw(middle(&edge(e), width))),
        "the link that makes so many phases necessary",
    ),
    right(
        ("published", "PUBLISHED", ColumnWidth::Fixed(9), 6),
        |view, row, _| with_epoch(view, row, |e| took(e.stages.published)),
        "from the first sign of the change to the epoch",
    ),
    right(
        ("taken-up", "TAKEN UP", ColumnWidth::Fixed(8), 7),
        |view, row, _| with_epoch(view, row, |e| took(e.stages.taken_up)),
        "until the first running job followed it",
    ),
    left(
        ("why", "WHY", ColumnWidth::Rest(20), 1),
        |view, row, _| with_epoch(view, row, |e| Line::raw(why(e))),
        "what changed",
    ),
];

pub(super) const PANEL: Panel = Panel {
    title: "Epochs",
    columns: COLUMNS,
    sorts: &[falling("newest", "epoch"), falling("phases", "phases")],
    empty: "nothing published yet",
    legend: &[],
    detail_height: 10,
    folds_stages: false,
    rows,
    key,
    words,
    detail: about,
    below: None,
};

fn rows(view: &PanelView<'_>) -> Vec<TableRow> {
    let epochs = &view.snapshot.epochs;
    let mut order: Vec<usize> = (0..epochs.len()).collect();
    match view.sort {
        0 => order.reverse(),
        _ => order.sort_by_key(|&i| std::cmp::Reverse(epochs[i].phases)),
    }
    let rows = order.into_iter().map(|i| RowItem::Epoch(i).into());
    view.directed(rows.collect())
}

fn key(view: &PanelView<'_>, row: &TableRow) -> Option<RowKey> {
    epoch_of(view, row).map(|e| RowKey::Epoch(e.number))
}

fn words(view: &PanelView<'_>, row: &TableRow) -> String {
    epoch_of(view, row).map_or_else(String::new, |e| {
        format!("{} {} {}", e.number, edge(e), e.changes.join(" "))
    })
}

fn about(view: &PanelView<'_>, key: &RowKey) -> Vec<Line<'static>> {
    let Some(epoch) = view
        .snapshot
        .epochs
        .iter()
        .find(|e| *key == RowKey::Epoch(e.number))
    else {
        return Vec::new();
    };
    let mut lines = vec![detail::heading(
        view,
        &format!("epoch {}", epoch.number),
        format!("published {}", format::instant(epoch.at, view.zone)),
    )];
    lines.push(detail::fact(
        view,
        "plan",
        format!(
            "{}{} for {}, bottleneck {}",
            if epoch.bound_only { "at least " } else { "" },
            inventory::counted(epoch.phases as usize, "phase"),
            inventory::counted(epoch.hosts as usize, "host"),
            edge(epoch)
        ),
    ));
    lines.extend(stages(view, &epoch.stages));
    lines.extend(
        epoch
            .changes
            .iter()
            .enumerate()
            .map(|(i, c)| detail::fact(view, if i == 0 { "why" } else { "" }, c)),
    );
    lines
}

fn epoch_of<'a>(view: &PanelView<'a>, row: &TableRow) -> Option<&'a EpochInfo> {
    match row.item {
        RowItem::Epoch(index) => view.snapshot.epochs.get(index),
        _ => None,
    }
}

fn with_epoch(
    view: &PanelView<'_>,
    row: &TableRow,
    cell: impl Fn(&EpochInfo) -> Line<'static>,
) -> Line<'static> {
    epoch_of(view, row).map_or_else(Line::default, cell)
}

/// The number; that of the current epoch stands out.
fn number(view: &PanelView<'_>, epoch: &EpochInfo) -> Line<'static> {
    let current = view.snapshot.epochs.last();
    let style = if current.is_some_and(|e| e.number == epoch.number) {
        view.palette.accent
    } else {
        view.palette.text
    };
    Line::styled(epoch.number.to_string(), style)
}

fn took(span: Option<Duration>) -> Line<'static> {
    Line::raw(span.map_or_else(|| "–".into(), format::span))
}

fn why(epoch: &EpochInfo) -> String {
    let first = epoch.changes.first().map_or("", String::as_str);
    match epoch.changes.len() {
        0 | 1 => first.to_owned(),
        several => format!("{first} (+{})", several - 1),
    }
}

fn edge(epoch: &EpochInfo) -> String {
    let (from, to) = &epoch.bottleneck;
    if from.is_empty() && to.is_empty() {
        "none".into()
    } else {
        format!("{from}→{to}")
    }
}

/// The stages in the order of their ends; each bar begins where the one before it ends.
fn stages(view: &PanelView<'_>, stages: &StageTimes) -> Vec<Line<'static>> {
    let mut all = [
        ("inferred", stages.inferred),
        ("believed", stages.believed),
        ("planned", stages.planned),
        ("published", stages.published),
        ("taken up", stages.taken_up),
    ];
    all.sort_by_key(|(_, end)| end.unwrap_or(Duration::MAX));
    let width = usize::from(view.width).saturating_sub(34).clamp(8, 40);
    let total = all
        .iter()
        .filter_map(|s| s.1)
        .max()
        .unwrap_or_default()
        .max(Duration::from_millis(1));
    let mut lines = vec![detail::fact(
        view,
        "seen",
        format::instant(stages.seen, view.zone),
    )];
    let mut begin = Duration::ZERO;
    for (name, end) in all {
        let Some(end) = end else {
            lines.push(detail::styled(
                view,
                name,
                format!("{:>8}", "–"),
                view.palette.dim,
            ));
            continue;
        };
        let cell = |span: Duration| (span.div_duration_f64(total) * width as f64) as usize;
        let indent = cell(begin.min(end)).min(width - 1);
        let length = (cell(end) - indent).max(1);
        let mut line = detail::fact(view, name, format!("{:>8}", format::span(end)));
        line.push_span(Span::styled(
            format!(
                "  +{:<8}  {}",
                format::span(end.saturating_sub(begin)),
                " ".repeat(indent)
            ),
            view.palette.dim,
        ));
        line.push_span(Span::styled("━".repeat(length), view.palette.bar));
        lines.push(line);
        begin = end;
    }
    // Before the first stage has ended, there are no bars to draw.
    if all.iter().all(|s| s.1.is_none()) {
        lines.truncate(1);
        lines.push(Line::from(Span::styled(
            "no stage was measured",
            view.palette.dim,
        )));
    }
    lines
}
