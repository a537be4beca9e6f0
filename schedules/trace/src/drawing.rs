//! A call as a drawing (SVG): a row for each rank, with what was planned above what happened, and
//! the critical path.
use crate::critical_path::{PathSegment, PathStep, critical_path};
use crate::job::{TracedCall, TracedJob};
use crate::report::time;
use crate::step::{RankStep, TracedPiece};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::time::Duration;

/// Sizes, in pixels.
const LEFT: f64 = 150.0;
const WIDTH: f64 = 1200.0;
const ROW: f64 = 22.0;
const TOP: f64 = 48.0;
/// Bars of a drawing: a viewer shows no more, and ranks beyond are left out.
const MOST_BARS: usize = 40_000;

/// The drawing of a call.
pub fn svg(job: &TracedJob, call: &TracedCall) -> String {
    let took = call.took().as_secs_f64().max(1e-9);
    let rows = rows(call);
    let height = TOP + ROW * rows as f64 + 40.0;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{:.0}\" height=\"{height:.0}\" \
         font-family=\"sans-serif\" font-size=\"11\">\n<rect width=\"100%\" height=\"100%\" \
         fill=\"white\"/>\n",
        LEFT + WIDTH + 20.0
    );
    let title = format!(
        "call {}: {} of {} B a block, {}, {}",
        call.number,
        call.kind.collective,
        call.kind.block,
        call.kind.way,
        time(call.took())
    );
    text(&mut out, LEFT, 16.0, &title);
    text(
        &mut out,
        LEFT,
        32.0,
        "above: planned, one phase after the other at the links' rates; below: sent; red: the critical path",
    );
    let x = |at: Duration| LEFT + WIDTH * (at.as_secs_f64() / took).min(1.0);
    let plan = Plan::of(job, call);
    for rank in 0..rows as u32 {
        let y = TOP + ROW * f64::from(rank);
        text(&mut out, 4.0, y + 14.0, &job.rank(rank));
        for (piece, began, gone) in sends(call, rank) {
            if let Some((from, to)) = plan.place(piece.phase) {
                bar(&mut out, (x(from), x(to)), (y + 2.0, 4.0), "#c8c8c8", None);
            }
            let colour = colour(piece.peer, call.steps.len());
            let name = format!(
                "phase {} to rank {}: {} to {}",
                piece.phase,
                piece.peer,
                time(began),
                time(gone)
            );
            bar(
                &mut out,
                (x(began), x(gone)),
                (y + 7.0, 11.0),
                &colour,
                Some(&name),
            );
        }
    }
    for segment in critical_path(call, job.network(call)) {
        line(&mut out, &segment, rows as u32, &x);
    }
    axis(&mut out, call.took(), height - 24.0, &x);
    out.push_str("</svg>\n");
    out
}

/// Ranks that are drawn.
fn rows(call: &TracedCall) -> usize {
    let mut bars = 0;
    let within = |steps: &&Vec<_>| {
        bars += steps.len();
        bars <= MOST_BARS
    };
    call.steps.iter().take_while(within).count()
}

/// What a rank sent, from when to when.
fn sends(call: &TracedCall, rank: u32) -> Vec<(TracedPiece, Duration, Duration)> {
    let mut began: HashMap<(u32, u32, u32), Duration> = HashMap::new();
    let mut sends = Vec::new();
    for step in call.steps.get(rank as usize).into_iter().flatten() {
        match step.step {
            RankStep::SendBegan(p) => drop(began.insert((p.peer, p.phase, p.block), step.at)),
            RankStep::SendGone(p) => {
                let since = began.get(&(p.peer, p.phase, p.block));
                sends.extend(since.map(|&since| (p, since, step.at)));
            }
            _ => {}
        }
    }
    sends
}

/// The planned times: all phases equally long.
struct Plan {
    phase: Option<Duration>,
}

impl Plan {
    fn of(job: &TracedJob, call: &TracedCall) -> Plan {
        let pairs = (0..).zip(&call.steps).flat_map(|(rank, steps)| {
            steps.iter().filter_map(move |step| match step.step {
                RankStep::SendBegan(p) => Some((rank, p)),
                _ => None,
            })
        });
        let network = job.network(call);
        let least = pairs.filter_map(|(rank, p)| {
            network?.least(rank, p.peer, crate::critical_path::octets(&call.kind, p))
        });
        Plan { phase: least.max() }
    }

    fn place(&self, phase: u32) -> Option<(Duration, Duration)> {
        let length = self.phase?;
        let from = length.checked_mul(phase)?;
        Some((from, from.checked_add(length)?))
    }
}

fn colour(peer: u32, ranks: usize) -> String {
    format!(
        "hsl({},60%,62%)",
        u64::from(peer) * 330 / ranks.max(1) as u64
    )
}

fn bar(
    out: &mut String,
    (from, to): (f64, f64),
    (y, height): (f64, f64),
    fill: &str,
    name: Option<&str>,
) {
    let width = (to - from).max(0.3);
    let _ = write!(
        out,
        "<rect x=\"{from:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" fill=\"{fill}\""
    );
    match name {
        Some(name) => {
            let _ = writeln!(out, "><title>{}</title></rect>", escaped(name));
        }
        None => out.push_str("/>\n"),
    }
}

fn line(out: &mut String, segment: &PathSegment, rows: u32, x: &dyn Fn(Duration) -> f64) {
    let y = |rank: u32| TOP + ROW * f64::from(rank.min(rows)) + 12.0;
    let dashes = if segment.step == PathStep::Token {
        " stroke-dasharray=\"3,2\""
    } else {
        ""
    };
    let _ = writeln!(
        out,
        "<line x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" stroke=\"red\" stroke-width=\"1.2\"{dashes}/>",
        x(segment.began),
        y(segment.from),
        x(segment.ended),
        y(segment.to)
    );
}

fn axis(out: &mut String, took: Duration, y: f64, x: &dyn Fn(Duration) -> f64) {
    for tenth in 0..=10 {
        let at = took * tenth / 10;
        let _ = writeln!(
            out,
            "<line x1=\"{0:.1}\" y1=\"{TOP}\" x2=\"{0:.1}\" y2=\"{y:.1}\" stroke=\"#e4e4e4\"/>",
            x(at)
        );
        text(out, x(at) - 14.0, y + 14.0, &time(at));
    }
}

fn text(out: &mut String, x: f64, y: f64, words: &str) {
    let _ = writeln!(
        out,
        "<text x=\"{x:.1}\" y=\"{y:.1}\">{}</text>",
        escaped(words)
    );
}

/// What a foreign name may hold.
fn escaped(words: &str) -> String {
    let plain = inventory::sanitize::message(words);
    plain
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}
