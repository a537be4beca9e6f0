//! A traced call: a row for each rank, with what was planned above what happened, and the critical
//! path.
use crate::svg::{SvgElement, SvgPicture, text_width};
use std::collections::HashMap;
use std::time::Duration;
use trace::critical_path::{self, PathSegment, PathStep, critical_path};
use trace::job::{TracedCall, TracedJob};
use trace::report::time;
use trace::step::{RankStep, TracedPiece};

/// Sizes, in pixels.
const MARGIN: f64 = 16.0;
const WIDTH: f64 = 1200.0;
const ROW: f64 = 22.0;
const TOP: f64 = 64.0;
/// Bars of a drawing: a viewer shows no more, and ranks beyond are left out.
const MOST_BARS: usize = 40_000;
const LEGEND: &str = "above: planned, one phase after the other at the links' rates; below: sent; \
                      red: the critical path";

/// The picture of a call.
pub fn picture(job: &TracedJob, call: &TracedCall) -> SvgPicture {
    let rows = rows(call);
    let names: Vec<String> = (0..rows as u32).map(|rank| job.rank(rank)).collect();
    let widths = names.iter().map(|name| text_width(name, 11.0));
    let scale = TimeScale {
        left: MARGIN + widths.fold(60.0, f64::max) + 12.0,
        took: call.took(),
        rows,
    };
    let mut content = SvgElement::group()
        .and(SvgElement::text(MARGIN, 26.0, &title(call)).class("ink title"))
        .and(SvgElement::text(MARGIN, 44.0, LEGEND).class("dim"))
        .and(scale.axis());
    let plan = CallPlan::from_call(job, call);
    for (rank, name) in (0..).zip(&names) {
        let label = SvgElement::text(MARGIN, scale.y(rank) + 14.0, name);
        content.push(label.class("ink").number("font-size", 11.0));
        for (piece, began, gone) in sends(call, rank) {
            if let Some((from, to)) = plan.place(piece.phase) {
                content.push(
                    scale
                        .bar((from, to), (scale.y(rank) + 2.0, 4.0))
                        .class("plan"),
                );
            }
            let tip = format!(
                "phase {} to rank {}: {} to {}",
                piece.phase,
                piece.peer,
                time(began),
                time(gone)
            );
            let bar = scale.bar((began, gone), (scale.y(rank) + 7.0, 11.0));
            content.push(
                bar.with("fill", &colour(piece.peer, call.steps.len()))
                    .tip(&tip),
            );
        }
    }
    for segment in critical_path(call, job.network(call)) {
        content.push(scale.segment(&segment));
    }
    SvgPicture {
        width: scale.left + WIDTH + 40.0,
        height: scale.floor() + 24.0,
        content,
    }
}

/// The subject of the picture.
pub fn title(call: &TracedCall) -> String {
    let kind = &call.kind;
    format!(
        "call {}: {} of {} B a block, {}, {}",
        call.number,
        kind.collective,
        kind.block,
        kind.way,
        time(call.took())
    )
}

/// Ranks that are drawn.
fn rows(call: &TracedCall) -> usize {
    let mut bars = 0;
    call.steps
        .iter()
        .take_while(|steps| {
            bars += steps.len();
            bars <= MOST_BARS
        })
        .count()
}

/// A message that a rank sent, with its begin and end.
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
struct CallPlan {
    phase: Option<Duration>,
}

impl CallPlan {
    fn from_call(job: &TracedJob, call: &TracedCall) -> CallPlan {
        let pairs = (0..).zip(&call.steps).flat_map(|(rank, steps)| {
            steps.iter().filter_map(move |step| match step.step {
                RankStep::SendBegan(p) => Some((rank, p)),
                _ => None,
            })
        });
        let network = job.network(call);
        let least = pairs.filter_map(|(rank, p)| {
            network?.least(rank, p.peer, critical_path::octets(&call.kind, p))
        });
        CallPlan { phase: least.max() }
    }

    fn place(&self, phase: u32) -> Option<(Duration, Duration)> {
        let length = self.phase?;
        let from = length.checked_mul(phase)?;
        Some((from, from.checked_add(length)?))
    }
}

fn colour(peer: u32, ranks: usize) -> String {
    let hue = u64::from(peer) * 330 / ranks.max(1) as u64;
    format!("hsl({hue},60%,62%)")
}

/// Time to the right, ranks below each other.
struct TimeScale {
    left: f64,
    took: Duration,
    rows: usize,
}

impl TimeScale {
    fn x(&self, at: Duration) -> f64 {
        let took = self.took.as_secs_f64().max(1e-9);
        self.left + WIDTH * (at.as_secs_f64() / took).min(1.0)
    }

    fn y(&self, rank: u32) -> f64 {
        TOP + ROW * f64::from(rank.min(self.rows as u32))
    }

    fn floor(&self) -> f64 {
        self.y(self.rows as u32) + 12.0
    }

    fn bar(&self, (from, to): (Duration, Duration), (y, height): (f64, f64)) -> SvgElement {
        let width = (self.x(to) - self.x(from)).max(0.3);
        SvgElement::rect(self.x(from), y, width, height, 0.0)
    }

    fn segment(&self, segment: &PathSegment) -> SvgElement {
        let from = (self.x(segment.began), self.y(segment.from) + 12.0);
        let to = (self.x(segment.ended), self.y(segment.to) + 12.0);
        let line = SvgElement::line(from, to)
            .class("path")
            .number("stroke-width", 1.4);
        match segment.step {
            PathStep::Token => line.with("stroke-dasharray", "3,2"),
            _ => line,
        }
    }

    fn axis(&self) -> SvgElement {
        let mut axis = SvgElement::group();
        for tenth in 0..=10 {
            let at = self.took * tenth / 10;
            let x = self.x(at);
            axis.push(SvgElement::line((x, TOP - 6.0), (x, self.floor())).class("rule"));
            let label = SvgElement::text(x, self.floor() + 14.0, &time(at));
            axis.push(label.class("dim small").anchor("middle"));
        }
        axis
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use policy::decision_table::{Collective, DataCarrier, Way};
    use schedules::synchronization::SyncKind;
    use trace::file::{CallKind, RankTrace, TraceHeader, TracedNetwork};
    use trace::step::TimedStep;

    const NETWORK: &str =
        "switches: [s0]\nhosts: {a: {switch: s0, rate: 8M}, b: {switch: s0, rate: 8M}}\n";

    fn kind() -> CallKind {
        CallKind {
            collective: Collective::Alltoall,
            way: Way::Aapc {
                sync: SyncKind::Receiver.into(),
                over: DataCarrier::Tcp,
            },
            block: 1448,
            epoch: 3,
        }
    }

    fn trace(rank: u32, knows_network: bool, steps: &[(u64, RankStep)]) -> RankTrace {
        let network = TracedNetwork {
            epoch: 3,
            topology: NETWORK.to_owned(),
        };
        let first = if knows_network { "a" } else { "<b>&\"\u{1b}" };
        RankTrace {
            header: TraceHeader {
                job: 7,
                rank,
                hosts: [first, "b"].map(str::to_owned).into(),
                kinds: vec![kind()],
                clocks: Vec::new(),
                networks: Vec::from_iter((rank == 0 && knows_network).then_some(network)),
                lost: 0,
            },
            steps: steps
                .iter()
                .map(|&(at, step)| TimedStep {
                    at: Duration::from_micros(at),
                    step,
                })
                .collect(),
        }
    }

    /// A call in which rank 0 sends to rank 1.
    fn job(knows_network: bool) -> TracedJob {
        let began = RankStep::CallBegan { call: 1, kind: 0 };
        let ended = RankStep::CallEnded { call: 1 };
        let first = [
            (0, began),
            (1, RankStep::SendBegan(piece(1))),
            (1500, RankStep::SendGone(piece(1))),
            (1501, ended),
        ];
        let second = [
            (0, began),
            (1600, RankStep::Arrived(piece(0))),
            (1601, ended),
        ];
        TracedJob::new(vec![
            trace(0, knows_network, &first),
            trace(1, knows_network, &second),
        ])
        .unwrap()
    }

    fn piece(peer: u32) -> TracedPiece {
        TracedPiece {
            peer,
            phase: 0,
            block: 0,
            blocks: 1,
        }
    }

    #[test]
    fn a_call_has_a_bar_for_each_message_and_for_its_plan() {
        for (knows_network, planned) in [(true, 1), (false, 0)] {
            let job = job(knows_network);
            let text = picture(&job, &job.calls[0]).document("a call");
            assert_eq!(text.matches("class=\"plan\"").count(), planned, "{text}");
            assert_eq!(text.matches("phase 0 to rank 1").count(), 1, "{text}");
            assert!(
                text.contains("class=\"path\"") && !text.contains("<b>"),
                "{text}"
            );
        }
    }
}
