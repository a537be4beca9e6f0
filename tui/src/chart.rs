//! Throughput over time as columns, the bound as a line above them, and epoch changes as marks
//! through both.
use crate::format;
use crate::panel_view::PanelView;
use crate::table::put;
use api::JobPoint;
use inventory::units::milliseconds;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use std::time::Duration;

/// The lines of the lowest chart.
pub(crate) const LEAST: u16 = 4;
/// Cells left of the columns, for the scale.
const SCALE: u16 = 11;
const EIGHTHS: [&str; 9] = [" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];
/// The time that a column may stand for, in milliseconds.
const STEPS: [u64; 12] = [
    100, 200, 500, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000, 300_000, 1_800_000, 7_200_000,
];

/// One column of the chart.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct ChartBin {
    speed: Option<f64>,
    bound: Option<f64>,
    /// The epoch that the job followed at the end of the column.
    epoch: u64,
    /// True if the epoch changed within the column.
    changed: bool,
}

/// Draws `history` into `area`: a title line, the columns, a line for time and epochs, with the
/// name of the time at its end.
pub(crate) fn draw(
    view: &PanelView<'_>,
    (name, end): (&str, &str),
    history: &[JobPoint],
    buffer: &mut Buffer,
    area: Rect,
) {
    if area.height < LEAST || area.width < SCALE + 8 {
        return;
    }
    title(view, name, history, buffer, area);
    if history.is_empty() {
        put(
            buffer,
            area.x + 2,
            area.y + 1,
            area.width - 2,
            false,
            &Line::styled("no collective measured yet", view.palette.dim),
        );
        return;
    }
    let plot = Rect {
        x: area.x + SCALE,
        y: area.y + 1,
        width: area.width - SCALE - 1,
        height: area.height - 2,
    };
    let (bins, step) = bins(history, plot.width.into());
    // One line of room above the highest bound, so that a column that reaches the bound never hides
    // its line.
    let highest = bins
        .iter()
        .flat_map(|b| [b.speed, b.bound])
        .flatten()
        .fold(0.0, f64::max)
        .max(1.0);
    let top = highest * f64::from(plot.height) / f64::from(plot.height - 1);
    scale(view, top, buffer, plot);
    for (bin, x) in bins.iter().zip(plot.x..) {
        let width = 1;
        column(view, bin, top, buffer, Rect { x, width, ..plot });
    }
    let (y, height) = (plot.bottom(), 1);
    time(view, (&bins, step, end), buffer, Rect { y, height, ..plot });
}

/// The shares of a link as columns, a cell each. A share that nobody measured is a blank, and none at
/// all a low column in the colour of unimportant things.
pub(crate) fn spark(view: &PanelView<'_>, shares: &[Option<f64>]) -> Line<'static> {
    let p = view.palette;
    let spans = shares.iter().map(|share| match share {
        None => Span::raw(" "),
        Some(s) if *s <= 0.0 => Span::styled(EIGHTHS[1], p.dim),
        Some(s) => {
            let eighth = (s * 8.0).ceil().clamp(1.0, 8.0) as usize;
            Span::styled(EIGHTHS[eighth], crate::table::degree(*s, p))
        }
    });
    Line::from(spans.collect::<Vec<_>>())
}

fn title(view: &PanelView<'_>, name: &str, history: &[JobPoint], buffer: &mut Buffer, area: Rect) {
    let p = view.palette;
    let mut spans = vec![Span::styled(name.to_owned(), p.dim)];
    if let Some(last) = history.last() {
        spans.push(Span::styled(
            format!("  {}", format::throughput(last.bytes_per_sec)),
            p.strong,
        ));
        if let Some(bound) = bound(last) {
            spans.push(Span::styled("   ▁▁ ", p.bound));
            spans.push(Span::styled(
                format!("bound {}", format::throughput(bound)),
                p.dim,
            ));
        }
    }
    put(
        buffer,
        area.x + 2,
        area.y,
        area.width - 2,
        false,
        &Line::from(spans),
    );
}

fn bound(point: &JobPoint) -> Option<f64> {
    point
        .share
        .filter(|s| *s > 0.0 && s.is_finite())
        .map(|s| point.bytes_per_sec / s)
}

/// The newest points. Each column is the mean of the points within its step of time; a step without
/// points stays empty.
fn bins(history: &[JobPoint], width: usize) -> (Vec<ChartBin>, u64) {
    let (first, last) = (
        history.first().map_or(0, |p| p.at.0),
        history.last().map_or(0, |p| p.at.0),
    );
    let step = step(history, last.saturating_sub(first), width);
    let count = ((last.saturating_sub(first) / step) as usize + 1).min(width);
    let start = last.saturating_sub(step * count as u64);
    let mut sums = vec![(0.0, 0.0, 0u32, 0u32); count];
    let mut bins = vec![ChartBin::default(); count];
    let mut epoch = history.first().map_or(0, |p| p.epoch);
    for point in history {
        // The end of a step belongs to it, its begin does not: the newest point falls into the last
        // column.
        let place = (point.at.0 > start)
            .then(|| ((point.at.0 - start - 1) / step) as usize)
            .filter(|&i| i < count);
        if let Some(i) = place {
            let (speed, bounds, n, m) = &mut sums[i];
            *speed += point.bytes_per_sec.max(0.0);
            *n += 1;
            if let Some(b) = bound(point) {
                *bounds += b;
                *m += 1;
            }
            bins[i].changed |= point.epoch != epoch;
            bins[i].epoch = point.epoch;
        }
        epoch = point.epoch;
    }
    for (bin, (speed, bounds, n, m)) in bins.iter_mut().zip(sums) {
        bin.speed = (n > 0)
            .then(|| speed / f64::from(n))
            .filter(|s| s.is_finite());
        bin.bound = (m > 0)
            .then(|| bounds / f64::from(m))
            .filter(|b| b.is_finite());
    }
    // Some readings come a little late: one empty step between two full ones is not a gap.
    for i in 1..count.max(1) - 1 {
        if bins[i].speed.is_none() && bins[i + 1].speed.is_some() && bins[i - 1].speed.is_some() {
            bins[i] = ChartBin {
                changed: false,
                ..bins[i - 1]
            };
        }
    }
    (bins, step)
}

/// The time that a column stands for, in milliseconds: wide enough for the usual reading, and for the
/// whole history in at most four widths.
fn step(history: &[JobPoint], span: u64, width: usize) -> u64 {
    let mut gaps: Vec<u64> = history
        .windows(2)
        .map(|w| milliseconds::of(w[1].at.since(w[0].at)))
        .collect();
    gaps.sort_unstable();
    let usual = gaps.get(gaps.len() * 3 / 4).copied().unwrap_or(1_000);
    let wanted = usual.max(span / (4 * width as u64).max(1)).max(1);
    STEPS
        .into_iter()
        .find(|s| s * 5 >= wanted * 4)
        .unwrap_or(wanted)
}

fn scale(view: &PanelView<'_>, top: f64, buffer: &mut Buffer, plot: Rect) {
    label(0, view, top, buffer, plot);
    label(plot.height - 1, view, top, buffer, plot);
    if plot.height >= 6 {
        label((plot.height - 1) / 2, view, top, buffer, plot);
    }
}

/// A label stands on the line at whose lower edge its value lies.
fn label(above: u16, view: &PanelView<'_>, top: f64, buffer: &mut Buffer, plot: Rect) {
    let value = top * f64::from(above) / f64::from(plot.height);
    put(
        buffer,
        plot.x - SCALE,
        plot.bottom() - 1 - above,
        SCALE - 1,
        true,
        &Line::styled(format::throughput(value), view.palette.dim),
    );
}

fn column(view: &PanelView<'_>, bin: &ChartBin, top: f64, buffer: &mut Buffer, area: Rect) {
    let p = view.palette;
    let cells = f64::from(area.height);
    let eighths = bin
        .speed
        .map_or(0, |s| (s / top * cells * 8.0).round() as usize);
    for (row, y) in (area.y..area.bottom()).rev().enumerate() {
        let part = eighths.saturating_sub(row * 8).min(8);
        if part > 0 {
            buffer.set_string(area.x, y, EIGHTHS[part], p.bar);
        } else if bin.changed {
            buffer.set_string(area.x, y, "┊", p.accent);
        }
    }
    if let Some(bound) = bin.bound {
        let y = area.bottom() - 1 - ((bound / top * cells).round() as u16).min(area.height - 1);
        if buffer[(area.x, y)].symbol() == " " {
            buffer.set_string(area.x, y, "▁", p.bound);
        }
    }
}

/// The time that the chart covers, and the begin of each epoch in it.
fn time(
    view: &PanelView<'_>,
    (bins, step, name): (&[ChartBin], u64, &str),
    buffer: &mut Buffer,
    area: Rect,
) {
    let dim: Style = view.palette.dim;
    let back = format!(
        "-{}",
        format::age(Duration::from_millis(step * bins.len() as u64))
    );
    buffer.set_string(area.x, area.y, &back, dim);
    let mut free = area.x + back.len() as u16 + 1;
    for (bin, x) in bins.iter().zip(area.x..).filter(|(b, _)| b.changed) {
        let label = format!("┊epoch {}", bin.epoch);
        let width = Span::raw(&label).width() as u16;
        if x >= free && x + width < area.right() {
            buffer.set_string(x, area.y, &label, view.palette.accent);
            free = x + width + 1;
        }
    }
    let end = area.x + bins.len() as u16;
    if end >= free + 3 {
        buffer.set_string(end - 3, area.y, name, dim);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use inventory::Millis;

    fn point(second: u64, speed: f64, epoch: u64) -> JobPoint {
        JobPoint {
            at: Millis(second * 1_000),
            bytes_per_sec: speed,
            share: Some(0.5),
            epoch,
        }
    }

    #[test]
    fn a_column_a_reading_and_gaps_stay_gaps() {
        let history: Vec<JobPoint> = (1..=10)
            .filter(|s| !(5..7).contains(s))
            .map(|s| point(s, s as f64, 1 + s / 8))
            .collect();
        let (bins, step) = bins(&history, 40);
        assert_eq!((bins.len(), step), (10, 1_000));
        assert_eq!(bins[4].speed, None);
        assert_eq!(
            (bins[9].speed, bins[9].bound, bins[9].epoch),
            (Some(10.0), Some(20.0), 2)
        );
        assert_eq!(bins.iter().filter(|b| b.changed).count(), 1);
    }

    #[test]
    fn a_long_past_fits_and_odd_figures_do_no_harm() {
        let mut history: Vec<JobPoint> = (1..=500).map(|s| point(s, 5.0, 1)).collect();
        assert!(bins(&history, 30).0.len() <= 30);
        history.push(JobPoint {
            at: Millis(u64::MAX),
            bytes_per_sec: f64::NAN,
            share: Some(0.0),
            epoch: 9,
        });
        history.push(JobPoint {
            at: Millis(0),
            bytes_per_sec: -1.0,
            share: None,
            epoch: 9,
        });
        assert!(bins(&history, 30).0.len() <= 30);
        assert_eq!(bins(&history[..1], 30).0.len(), 1);
    }
}
