//! The jobs, and the throughput of the selected job's collectives against the bound.
use super::{Panel, PanelView, detail, learned};
use crate::table::{PanelTable, RowKey, TableRow, left, right};
use crate::{chart, format};
use api::{JobPoint, JobStatus};
use directory::job_record::{BoundShare, CallTotal};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;
use std::cmp::Ordering;

pub(super) struct JobsPanel;

impl Panel for JobsPanel {
    fn title(&self) -> &'static str {
        "Jobs"
    }

    fn sorts(&self) -> &'static [&'static str] {
        &["running", "speed", "name"]
    }

    fn table(&self, view: &PanelView<'_>) -> PanelTable {
        let wide = view.width >= 76;
        let mut columns = vec![left("JOB", 0), right("RANKS", 5)];
        if wide {
            columns.extend([right("HOSTS", 5), left("MPI", 7), right("BLOCK", 5)]);
        }
        columns.extend([
            left("WAY", 8),
            right("EPOCH", 5),
            right("SPEED", 10),
            right("BOUND", 5),
        ]);
        let mut jobs: Vec<&JobStatus> = view.snapshot.jobs.iter().collect();
        match view.sort {
            0 => {}
            1 => jobs.sort_by(|a, b| speed(b).total_cmp(&speed(a))),
            _ => jobs.sort_by(|a, b| a.record.program.cmp(&b.record.program)),
        }
        let mut rows: Vec<TableRow> = jobs.into_iter().map(|j| row(view, j, wide)).collect();
        if view.snapshot.jobs_more > 0 {
            let more = Line::styled(
                format!("and {} more", view.snapshot.jobs_more),
                view.palette.dim,
            );
            rows.push(TableRow::new(
                RowKey::Job(String::new()),
                String::new(),
                vec![more],
            ));
        }
        PanelTable {
            columns,
            rows,
            empty: "no job has loaded the runtime yet: LD_PRELOAD=libheddle.so mpirun …",
        }
    }

    fn detail(&self, view: &PanelView<'_>, key: &RowKey) -> Vec<Line<'static>> {
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
            format!("{} on {}", r.ranks, format::count(r.hosts.len(), "host")),
        ));
        lines.push(detail::fact(
            view,
            "running",
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

    fn reserve(&self, height: u16) -> u16 {
        if height >= 10 {
            height - (height / 3).clamp(3, 8)
        } else {
            0
        }
    }

    fn below(&self, view: &PanelView<'_>, key: Option<&RowKey>, buffer: &mut Buffer, area: Rect) {
        let job = view
            .snapshot
            .jobs
            .iter()
            .find(|j| key == Some(&RowKey::Job(j.record.id.clone())));
        let history = job.map_or(&[][..], |j| &j.history);
        chart::draw(view, history, buffer, area);
    }
}

fn row(view: &PanelView<'_>, job: &JobStatus, wide: bool) -> TableRow {
    let p = view.palette;
    let r = &job.record;
    let main = main_call(r);
    let (name, style) = if job.running {
        (r.program.clone(), p.strong)
    } else {
        (format!("{} (ended)", r.program), p.dim)
    };
    let way = match (&r.aside, main) {
        (Some(_), _) => Line::styled("aside", p.warn),
        (None, Some(call)) => Line::raw(call.way.to_string()),
        (None, None) => Line::default(),
    };
    let mut cells = vec![Line::styled(name, style), Line::raw(r.ranks.to_string())];
    if wide {
        cells.extend([
            Line::raw(r.hosts.len().to_string()),
            Line::raw(r.mpi.to_string()),
            Line::raw(main.map_or_else(String::new, |c| format::size(c.block))),
        ]);
    }
    let last = job.history.last().filter(|_| job.running);
    let epoch = if r.epoch == 0 {
        "–".into()
    } else {
        r.epoch.to_string()
    };
    let speed = last.map_or_else(
        || "–".into(),
        |l: &JobPoint| format::throughput(l.bytes_per_sec),
    );
    let share = last
        .and_then(|l| l.share)
        .map_or_else(|| "–".into(), format::percent);
    cells.extend([
        way,
        Line::raw(epoch),
        Line::styled(speed, p.strong),
        Line::raw(share),
    ]);
    let words = format!(
        "{} {} {} {} {}",
        r.program,
        r.user,
        r.mpi,
        r.id,
        r.hosts.join(" ")
    );
    TableRow::new(RowKey::Job(r.id.clone()), words, cells)
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
        let share = c.share_since(None).and_then(BoundShare::share);
        let share = share.map_or_else(|| "–".into(), format::percent);
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
