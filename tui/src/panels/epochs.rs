//! The published epochs: the reasons for each, its plan, and the duration of every stage.
use super::{Panel, PanelView, detail};
use crate::format;
use crate::table::{PanelTable, RowKey, TableRow, left, right};
use api::{EpochInfo, StageTimes};
use ratatui::text::{Line, Span};
use std::time::Duration;

pub(super) struct EpochsPanel;

impl Panel for EpochsPanel {
    fn title(&self) -> &'static str {
        "Epochs"
    }

    fn sorts(&self) -> &'static [&'static str] {
        &["newest", "oldest", "phases"]
    }

    fn table(&self, view: &PanelView<'_>) -> PanelTable {
        let wide = view.width >= 76;
        let mut columns = vec![right("EPOCH", 5), left("TIME", 8), right("PHASES", 6)];
        if wide {
            columns.extend([
                left("BOTTLENECK", 10),
                right("PUBLISHED", 9),
                right("TAKEN UP", 8),
            ]);
        }
        columns.push(left("WHY", 0));
        let mut epochs: Vec<&EpochInfo> = view.snapshot.epochs.iter().collect();
        match view.sort {
            0 => epochs.reverse(),
            1 => {}
            _ => epochs.sort_by_key(|e| std::cmp::Reverse(e.phases)),
        }
        let rows = epochs.into_iter().map(|e| row(view, e, wide)).collect();
        PanelTable {
            columns,
            rows,
            empty: "nothing published yet",
        }
    }

    fn detail_height(&self) -> u16 {
        10
    }

    fn detail(&self, view: &PanelView<'_>, key: &RowKey) -> Vec<Line<'static>> {
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
                format::count(epoch.phases as usize, "phase"),
                format::count(epoch.hosts as usize, "host"),
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
}

fn row(view: &PanelView<'_>, epoch: &EpochInfo, wide: bool) -> TableRow {
    let current = view
        .snapshot
        .epochs
        .last()
        .is_some_and(|e| e.number == epoch.number);
    let number = if current {
        view.palette.accent
    } else {
        view.palette.text
    };
    let mut cells = vec![
        Line::styled(epoch.number.to_string(), number),
        Line::styled(format::clock(epoch.at, view.zone), view.palette.dim),
        Line::styled(epoch.phases.to_string(), view.palette.strong),
    ];
    if wide {
        let took =
            |span: Option<Duration>| Line::raw(span.map_or_else(|| "–".into(), format::span));
        cells.extend([
            Line::raw(edge(epoch)),
            took(epoch.stages.published),
            took(epoch.stages.taken_up),
        ]);
    }
    let more = if epoch.changes.len() > 1 {
        format!(" (+{})", epoch.changes.len() - 1)
    } else {
        String::new()
    };
    let why = format!("{}{more}", epoch.changes.first().map_or("", String::as_str));
    let words = format!(
        "{} {} {}",
        epoch.number,
        edge(epoch),
        epoch.changes.join(" ")
    );
    cells.push(Line::raw(why));
    TableRow::new(RowKey::Epoch(epoch.number), words, cells)
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
