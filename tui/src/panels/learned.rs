//! A job's figures about the ways of its calls, and what learning cost and saved.
use super::detail;
use crate::format;
use crate::panel_view::PanelView;
use directory::job_record::JobRecord;
use policy::decision_table::Way;
use policy::learned::RecordedTiming;
use ratatui::text::Line;

/// For each collective and size class: the fastest way, and its time beside that of the library's
/// own routine.
pub(super) fn lines(view: &PanelView<'_>, record: &JobRecord) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    if let Some(cost) = record.learning_cost_seconds {
        let saved = record.learning_saved_seconds;
        lines.push(detail::fact(view, "learning", summary(cost, saved)));
    }
    let classes = classes(&record.learned);
    if classes.is_empty() {
        return lines;
    }
    let title = format!(
        "{:<11}{:<16}{:>6}{:>9}{:>10}{:>7}",
        "LEARNED", "FASTEST", "FROM", "TIMED", "MEAN", "/ OWN"
    );
    lines.push(Line::styled(title, view.palette.dim));
    lines.extend(classes.into_iter().filter_map(line));
    lines
}

fn summary(cost: f64, saved: Option<f64>) -> String {
    let cost = format!("cost {}", format::seconds(cost));
    match saved {
        Some(saved) if saved >= 0.0 => format!("{cost}, saved {}", format::seconds(saved)),
        Some(lost) => format!("{cost}, lost {}", format::seconds(-lost)),
        None => cost,
    }
}

/// The timings of each collective and size class, in the order of the record.
fn classes(timings: &[RecordedTiming]) -> Vec<Vec<&RecordedTiming>> {
    let mut classes: Vec<Vec<&RecordedTiming>> = Vec::new();
    for timing in timings {
        match classes.iter_mut().find(|class| {
            (&class[0].collective, class[0].from) == (&timing.collective, timing.from)
        }) {
            Some(class) => class.push(timing),
            None => classes.push(vec![timing]),
        }
    }
    classes
}

fn line(class: Vec<&RecordedTiming>) -> Option<Line<'static>> {
    let fastest = class.iter().min_by_key(|timing| timing.mean_ns)?;
    let own = class.iter().find(|t| t.way.known() == Some(&Way::Native));
    let beside = own.filter(|own| own.mean_ns > 0).map_or_else(
        || "–".into(),
        |own| format!("{:.2}", fastest.mean_ns as f64 / own.mean_ns as f64),
    );
    Some(Line::raw(format!(
        "{:<11}{:<16}{:>6}{:>9}{:>10}{:>7}",
        fastest.collective,
        fastest.way,
        format::size(fastest.from.0),
        fastest.samples,
        format::seconds(fastest.mean_ns as f64 / 1e9),
        beside
    )))
}
