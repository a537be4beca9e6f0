//! The jobs, and the throughput of the selected job's collectives against the bound.
use super::{Panel, PanelBelow, detail, falling, learned, left, right, rising, unmarked};
use crate::columns::{ColumnWidth, TableColumn};
use crate::panel_view::PanelView;
use crate::port_names::middle;
use crate::rows::{RowItem, RowKey, TableRow};
use crate::{chart, format};
use api::{JobPoint, JobStatus};
use directory::job_record::{BoundShare, CallTotal};
use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::Line;
use std::cmp::Ordering;

const COLUMNS: &[TableColumn] = &[
    left(
        ("job", "JOB", ColumnWidth::Content(8), 0),
        name,
        "the program",
    ),
    right(
        ("ranks", "RANKS", ColumnWidth::Fixed(5), 4),
        |view, row, _| with_job(view, row, |j| Line::raw(j.record.ranks.to_string())),
        "its ranks",
    ),
    right(
        ("hosts", "HOSTS", ColumnWidth::Fixed(5), 5),
        |view, row, _| with_job(view, row, |j| Line::raw(j.record.hosts.len().to_string())),
        "the hosts they run on",
    ),
    left(
        ("mpi", "MPI", ColumnWidth::Fixed(7), 6),
        |view, row, _| with_job(view, row, |j| Line::raw(j.record.mpi.to_string())),
        "the MPI library",
    ),
    right(
        ("block", "BLOCK", ColumnWidth::Fixed(5), 5),
        |view, row, _| {
            with_job(view, row, |j| {
                let block = main_call(&j.record).map(|c| format::size(c.block));
                Line::raw(block.unwrap_or_default())
            })
        },
        "bytes for each other rank in the calls that take longest",
    ),
    left(
        ("way", "WAY", ColumnWidth::Fixed(8), 3),
        |view, row, _| with_job(view, row, |j| way(view, j)),
        "the way that these calls go",
    ),
    right(
        ("epoch", "EPOCH", ColumnWidth::Fixed(6), 3),
        |view, row, _| {
            with_job(view, row, |j| match j.record.epoch {
                0 => Line::raw("–"),
                n => Line::raw(n.to_string()),
            })
        },
        "the epoch that it follows",
    ),
    right(
        ("speed", "SPEED", ColumnWidth::Fixed(10), 1),
        |view, row, _| {
            with_job(view, row, |j| {
                let speed = latest(j).map(|l| format::throughput(l.bytes_per_sec));
                figure(view, j, speed)
            })
        },
        "bytes that all ranks receive a second, in rank 0's calls; dimmed: the last ones of a job that ended",
    ),
    right(
        ("bound", "BOUND", ColumnWidth::Fixed(5), 2),
        |view, row, _| {
            with_job(view, row, |j| {
                let share = latest(j).and_then(|l| l.share).map(format::percent);
                figure(view, j, share)
            })
        },
        "the share of the speed that the cables allow",
    ),
    left(
        ("user", "USER", ColumnWidth::Content(4), 8),
        |view, row, width| with_job(view, row, |j| Line::raw(middle(&j.record.user, width))),
        "the owner",
    ),
];

pub(super) const PANEL: Panel = Panel {
    title: "Jobs",
    columns: COLUMNS,
    sorts: &[
        unmarked("running"),
        falling("speed", "speed"),
        rising("name", "job"),
        falling("ranks", "ranks"),
    ],
    empty: "no job has loaded the runtime yet: LD_PRELOAD=libheddle.so mpirun …",
    legend: &[
        (
            "aside",
            "it uses its MPI library's own routines; the detail says why",
        ),
        ("▁▁", "in the chart: the speed that the cables allow"),
        ("┊", "in the chart: here the job took up another epoch"),
    ],
    detail_height: 7,
    folds_stages: false,
    rows,
    key,
    words,
    detail: about,
    below: Some(PanelBelow {
        reserve,
        draw: charts,
    }),
};

fn rows(view: &PanelView<'_>) -> Vec<TableRow> {
    let jobs = &view.snapshot.jobs;
    let mut order: Vec<usize> = (0..jobs.len()).collect();
    match view.sort {
        0 => {}
        1 => order.sort_by(|&a, &b| speed(&jobs[b]).total_cmp(&speed(&jobs[a]))),
        2 => order.sort_by(|&a, &b| jobs[a].record.program.cmp(&jobs[b].record.program)),
        _ => order.sort_by_key(|&i| std::cmp::Reverse(jobs[i].record.ranks)),
    }
    let jobs = order.into_iter().map(|i| RowItem::Job(i).into()).collect();
    let mut rows = view.directed(jobs);
    if view.snapshot.jobs_more > 0 {
        rows.push(RowItem::MoreJobs.into());
    }
    rows
}

fn key(view: &PanelView<'_>, row: &TableRow) -> Option<RowKey> {
    let id = job_of(view, row).map(|j| j.record.id.clone());
    Some(RowKey::Job(id.unwrap_or_default()))
}

fn words(view: &PanelView<'_>, row: &TableRow) -> String {
    job_of(view, row).map_or_else(String::new, |job| {
        let r = &job.record;
        format!(
            "{} {} {} {} {}",
            r.program,
            r.user,
            r.mpi,
            r.id,
            r.hosts.join(" ")
        )
    })
}

fn about(view: &PanelView<'_>, key: &RowKey) -> Vec<Line<'static>> {
    let Some(job) = view
        .snapshot
        .jobs
        .iter()
        .find(|j| *key == RowKey::Job(j.record.id.clone()))
    else {
        return Vec::new();
    };
    let r = &job.record;
    let state = if job.running {
        "running".into()
    } else {
        format!("ended {} ago", format::age(view.clock.since(r.updated)))
    };
    let mut lines = vec![detail::heading(
        view,
        &r.program,
        format!("{} of {}, {state}", r.mpi, r.user),
    )];
    if let Some(why) = &r.aside {
        lines.push(detail::styled(view, "▲ aside", why, view.palette.warn));
    }
    let epoch = match r.epoch {
        0 => "follows none".into(),
        n => format!("{n}, since {}", format::clock(r.epoch_since, view.zone)),
    };
    lines.push(detail::fact(view, "epoch", epoch));
    lines.push(detail::fact(
        view,
        "ranks",
        format!(
            "{} on {}",
            r.ranks,
            inventory::counted(r.hosts.len(), "host")
        ),
    ));
    let ran = if job.running { "running" } else { "ran" };
    lines.push(detail::fact(
        view,
        ran,
        format!(
            "{}, since {}",
            format::span(r.updated.since(r.started)),
            format::clock(r.started, view.zone)
        ),
    ));
    lines.extend(calls(view, &r.calls));
    lines.extend(learned::lines(view, r));
    lines.push(detail::fact(view, "hosts", r.hosts.join(" ")));
    lines.push(detail::fact(view, "id", &r.id));
    lines
}

fn reserve(height: u16) -> u16 {
    if height >= 10 {
        height - (height / 3).clamp(3, 8)
    } else {
        0
    }
}

fn charts(view: &PanelView<'_>, key: Option<&RowKey>, buffer: &mut Buffer, area: Rect) {
    let job = view
        .snapshot
        .jobs
        .iter()
        .find(|j| key == Some(&RowKey::Job(j.record.id.clone())));
    let series = job.map_or(&[][..], |j| view.jobs.series(j));
    let charts = usize::from(area.height / chart::LEAST).min(series.len());
    let has_ended = job.is_some_and(|job| !job.running);
    let end = if has_ended { "end" } else { "now" };
    if charts == 0 {
        let history = job.map_or(&[][..], |j| &j.history);
        return chart::draw(view, ("throughput", end), history, buffer, area);
    }
    let areas = Layout::vertical(vec![Constraint::Fill(1); charts]).split(area);
    for (series, area) in series.iter().zip(areas.iter()) {
        let name = series.collective.to_string();
        chart::draw(view, (&name, end), &series.points, buffer, *area);
    }
}

fn job_of<'a>(view: &PanelView<'a>, row: &TableRow) -> Option<&'a JobStatus> {
    match row.item {
        RowItem::Job(index) => view.snapshot.jobs.get(index),
        _ => None,
    }
}

fn with_job(
    view: &PanelView<'_>,
    row: &TableRow,
    cell: impl Fn(&JobStatus) -> Line<'static>,
) -> Line<'static> {
    job_of(view, row).map_or_else(Line::default, cell)
}

fn name(view: &PanelView<'_>, row: &TableRow, width: usize) -> Line<'static> {
    let p = view.palette;
    let Some(job) = job_of(view, row) else {
        return Line::styled(format!("and {} more", view.snapshot.jobs_more), p.dim);
    };
    let (behind, style) = if job.running {
        ("", p.strong)
    } else {
        (" (ended)", p.dim)
    };
    let name = middle(&job.record.program, width.saturating_sub(behind.len()));
    Line::styled(name + behind, style)
}

fn way(view: &PanelView<'_>, job: &JobStatus) -> Line<'static> {
    match (&job.record.aside, main_call(&job.record)) {
        (Some(_), _) => Line::styled("aside", view.palette.warn),
        (None, Some(call)) => Line::raw(call.way.to_string()),
        (None, None) => Line::default(),
    }
}

/// The last reading of a running job; of one that ended, the last one with calls in it.
fn latest(job: &JobStatus) -> Option<&JobPoint> {
    job.history
        .iter()
        .rev()
        .find(|point| job.running || point.bytes_per_sec > 0.0)
}

/// A job's figure: dimmed once it has ended.
fn figure(view: &PanelView<'_>, job: &JobStatus, text: Option<String>) -> Line<'static> {
    let style = match job.running {
        true => view.palette.strong,
        false => view.palette.dim,
    };
    Line::styled(text.unwrap_or_else(|| "–".into()), style)
}

fn speed(job: &JobStatus) -> f64 {
    job.history.last().map_or(0.0, |p| p.bytes_per_sec)
}

/// The collective on which the job spends most of its time.
fn main_call(record: &directory::job_record::JobRecord) -> Option<&CallTotal> {
    record
        .calls
        .iter()
        .max_by(|a, b| a.seconds.partial_cmp(&b.seconds).unwrap_or(Ordering::Equal))
}

/// For each collective, way and block size: the calls, their time, and the share of the bound.
fn calls(view: &PanelView<'_>, calls: &[CallTotal]) -> Vec<Line<'static>> {
    if calls.is_empty() {
        return Vec::new();
    }
    let title = format!(
        "{:<11}{:<16}{:>6}{:>9}{:>10}{:>7}",
        "COLLECTIVE", "WAY", "BLOCK", "CALLS", "MEAN", "BOUND"
    );
    let mut lines = vec![Line::styled(title, view.palette.dim)];
    lines.extend(calls.iter().map(|c| {
        let mean = if c.calls > 0 {
            format::seconds(c.seconds / c.calls as f64)
        } else {
            "–".into()
        };
        let share = c
            .share_since(None)
            .and_then(BoundShare::share)
            .map_or_else(|| "–".into(), format::percent);
        Line::raw(format!(
            "{:<11}{:<16}{:>6}{:>9}{:>10}{:>7}",
            c.collective,
            c.way,
            format::size(c.block),
            c.calls,
            mean,
            share
        ))
    }));
    lines
}
