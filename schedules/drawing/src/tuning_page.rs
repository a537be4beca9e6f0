//! The measurements of `heddle tune` as one HTML file: each way by size with its error bars, the
//! same as multiples of the library's own time, and the table that follows.
use crate::chart::{self, AxisLabel, AxisScale, AxisUnit, ChartLine, ChartPanel, ChartPoint};
use crate::palette;
use crate::svg::escaped;
use inventory::{Bytes, counted};
use policy::decision_table::{Collective, DecisionTable, Way};
use policy::measurements::{CallTiming, MEASURED, TuningRun};
use policy::noise;
use std::fmt::Write as _;

/// The page. `at` is the time of the run, for people.
pub fn html(run: &TuningRun, table: &DecisionTable, at: &str) -> String {
    let mut hosts = run.place.hosts.clone();
    hosts.sort_unstable();
    hosts.dedup();
    let about = format!(
        "{}, {} on {}, epoch {}",
        run.library,
        counted(run.place.hosts.len(), "rank"),
        counted(hosts.len(), "host"),
        run.epoch
    );
    let table = table.clone().for_mpi(run.mpi);
    let mut body = format!(
        "<h1>heddle tune</h1>\n<p class=\"quiet\">{}<br>{}</p>\n",
        escaped(&about),
        escaped(at)
    );
    for collective in MEASURED {
        body += &section(run, &table, collective);
    }
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" \
         content=\"width=device-width\">\n<meta http-equiv=\"Content-Security-Policy\" \
         content=\"default-src 'none'; style-src 'unsafe-inline'\">\n<title>heddle tune: {}</title>\n\
         <style>\n{}{}</style>\n</head>\n<body>\n{body}</body>\n</html>\n",
        escaped(&about),
        include_str!("tuning_page.css"),
        palette::css()
    )
}

/// The ways of a collective that were measured, the library's own first.
fn ways(run: &TuningRun, collective: Collective) -> Vec<Way> {
    let mut ways = Vec::new();
    for figure in run
        .figures
        .iter()
        .filter(|figure| figure.collective == collective)
    {
        if !ways.contains(&figure.way) {
            ways.push(figure.way);
        }
    }
    ways.sort_by_key(|way| *way != Way::Native);
    ways
}

fn section(run: &TuningRun, table: &DecisionTable, collective: Collective) -> String {
    let ways = ways(run, collective);
    if ways.is_empty() {
        return String::new();
    }
    let mut text = format!("<h2>{}</h2>\n", title(collective));
    text += &charts(run, collective, &ways);
    text += "<p class=\"quiet\">Bars reach twice the standard error of the median up and down. Lower is \
             faster.</p>\n";
    text += &medians(run, collective, &ways);
    text += &decided(table, collective);
    text + &trials(run, collective)
}

fn title(collective: Collective) -> &'static str {
    match collective {
        Collective::Alltoall => "all-to-all",
        Collective::Allgather => "allgather",
        _ => "other collectives",
    }
}

/// Times, and times as multiples of the library's own.
fn charts(run: &TuningRun, collective: Collective, ways: &[Way]) -> String {
    let sizes = run.sizes(collective);
    let line = |way: &Way, of: &dyn Fn(Bytes) -> Option<(f64, f64)>| ChartLine {
        name: name(*way),
        points: sizes
            .iter()
            .filter_map(|&block| {
                of(block).map(|(y, error)| ChartPoint {
                    x: block.0 as f64,
                    y,
                    error,
                })
            })
            .collect(),
        is_joined: true,
    };
    let timed = |way: &Way| {
        line(way, &|block| {
            let timing = run.timing(collective, *way, block)?;
            Some((timing.seconds(), 2.0 * timing.error_ns as f64 / 1e9))
        })
    };
    let blocks = || AxisLabel {
        name: "bytes a block".to_owned(),
        scale: AxisScale::Powers(2.0),
        unit: AxisUnit::Octets,
    };
    let times = AxisLabel {
        name: "time of a call, median".to_owned(),
        scale: AxisScale::Powers(10.0),
        unit: AxisUnit::Seconds,
    };
    let panels = [
        ChartPanel {
            title: "time".to_owned(),
            x: blocks(),
            y: times,
            lines: ways.iter().map(timed).collect(),
        },
        ChartPanel {
            title: "against the library's own".to_owned(),
            x: blocks(),
            y: AxisLabel::plain("time / library's own time", AxisScale::Powers(2.0)),
            lines: ways
                .iter()
                .map(|way| {
                    line(way, &|block| {
                        let own = run.timing(collective, Way::Native, block)?;
                        Some(ratio(run.timing(collective, *way, block)?, own))
                    })
                })
                .collect(),
        },
    ];
    chart::picture(&panels).within_page(&format!("{}: time of each way by size", title(collective)))
}

/// A multiple of the library's own time, and twice its standard error.
fn ratio(timing: &CallTiming, own: &CallTiming) -> (f64, f64) {
    let ratio = timing.seconds() / own.seconds();
    let share = |timing: &CallTiming| timing.error_ns as f64 / timing.median_ns.max(1) as f64;
    (
        ratio,
        2.0 * ratio * noise::of_both(share(timing), share(own)),
    )
}

/// `library's own` for the library's own routine.
fn name(way: Way) -> String {
    match way {
        Way::Native => "library's own".to_owned(),
        way => way.to_string(),
    }
}

/// The medians in a table, the fastest of each size marked.
fn medians(run: &TuningRun, collective: Collective, ways: &[Way]) -> String {
    let mut text = "<div class=\"wide\"><table>\n<tr><th>block</th>".to_owned();
    for way in ways {
        let _ = write!(text, "<th>{}</th>", escaped(&name(*way)));
    }
    text += "</tr>\n";
    for block in run.sizes(collective) {
        let timings: Vec<Option<&CallTiming>> = ways
            .iter()
            .map(|way| run.timing(collective, *way, block))
            .collect();
        let best = timings
            .iter()
            .flatten()
            .map(|timing| timing.median_ns)
            .min();
        let _ = write!(text, "<tr><td>{block}</td>");
        for timing in timings {
            let class = match timing.map(|timing| timing.median_ns) == best {
                true => " class=\"best\"",
                false => "",
            };
            let shown = timing.map_or_else(|| "–".to_owned(), time);
            let _ = write!(text, "<td{class}>{shown}</td>");
        }
        text += "</tr>\n";
    }
    text + "</table></div>\n"
}

/// A median with twice its standard error, in the median's unit.
fn time(timing: &CallTiming) -> String {
    let (unit, ns) = match timing.median_ns {
        ns if ns >= 1_000_000_000 => ("s", 1e9),
        ns if ns >= 1_000_000 => ("ms", 1e6),
        _ => ("µs", 1e3),
    };
    let (median, error) = (
        timing.median_ns as f64 / ns,
        2.0 * timing.error_ns as f64 / ns,
    );
    let digits = if median >= 100.0 { 0 } else { 2 };
    format!("{median:.digits$} ± {error:.digits$} {unit}")
}

/// The table that follows.
fn decided(table: &DecisionTable, collective: Collective) -> String {
    let mut text =
        "<table class=\"left\">\n<tr><th>blocks from</th><th>way</th><th>grounds</th></tr>\n"
            .to_owned();
    for entry in table.entries(collective) {
        let _ = writeln!(
            text,
            "<tr><td>{}</td><td>{}</td><td>{}</td></tr>",
            entry.from,
            escaped(&name(entry.way)),
            escaped(&entry.grounds.to_string())
        );
    }
    text + "</table>\n"
}

/// The sizes at which the table was tried once more.
fn trials(run: &TuningRun, collective: Collective) -> String {
    let trials = run
        .trials
        .iter()
        .filter(|trial| trial.comparison.collective == collective);
    let rows: Vec<String> = trials
        .map(|trial| {
            let word = if trial.confirms() {
                "confirmed"
            } else {
                "not confirmed"
            };
            format!(
                "<tr><td>{}</td><td>{}</td><td>{:.2} ± {:.2}</td><td>{word}</td></tr>\n",
                trial.comparison.own.block,
                escaped(&name(trial.way)),
                trial.comparison.ratio(),
                trial.comparison.noise()
            )
        })
        .collect();
    if rows.is_empty() {
        return String::new();
    }
    format!(
        "<p>Tried again, against calls of the library's own beside it:</p>\n<table class=\"left\">\n\
         <tr><th>block</th><th>way</th><th>time / library's own</th><th></th></tr>\n{}</table>\n",
        rows.concat()
    )
}
