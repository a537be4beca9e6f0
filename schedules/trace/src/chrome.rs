//! A call for Perfetto and `chrome://tracing`: their JSON trace format (Trace Event Format, Google,
//! 2016: complete events `X`, flows `s` and `f`, names `M`).
use crate::job::{TracedCall, TracedJob};
use crate::step::{RankStep, TracedPiece};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::time::Duration;

/// Threads of a rank there: its calls, what it sends, what it receives.
const CALLS: u32 = 0;
const SENDS: u32 = 1;
const RECEIVES: u32 = 2;

/// All calls of a job, each rank a process.
pub fn export(job: &TracedJob, calls: &[&TracedCall]) -> Value {
    let mut events = Vec::new();
    for &rank in &job.ranks {
        events.push(name("process_name", rank, 0, &job.rank(rank)));
        for (thread, title) in [(CALLS, "calls"), (SENDS, "sends"), (RECEIVES, "receives")] {
            events.push(name("thread_name", rank, thread, title));
        }
    }
    let mut offset = Duration::ZERO;
    for call in calls {
        add(call, offset, &mut events);
        // Calls stand one behind the other: what a rank did between them is not recorded.
        offset += call.took() + Duration::from_millis(1);
    }
    json!({"traceEvents": events, "displayTimeUnit": "ms"})
}

fn name(what: &str, rank: u32, thread: u32, name: &str) -> Value {
    json!({"ph": "M", "name": what, "pid": rank, "tid": thread, "args": {"name": name}})
}

fn micros(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1e3
}

fn add(call: &TracedCall, offset: Duration, events: &mut Vec<Value>) {
    let began: HashMap<(u32, u32, u32, u32), Duration> = (0..)
        .zip(&call.steps)
        .flat_map(|(rank, steps)| steps.iter().map(move |step| (rank, step)))
        .filter_map(|(rank, step)| match step.step {
            RankStep::SendBegan(p) => Some(((rank, p.peer, p.phase, p.block), step.at)),
            _ => None,
        })
        .collect();
    for (rank, steps) in (0..).zip(&call.steps) {
        let (Some(first), Some(last)) = (steps.first(), steps.last()) else {
            continue;
        };
        let title = format!(
            "{} of {} B, {}",
            call.kind.collective, call.kind.block, call.kind.way
        );
        let bar = |thread: u32, title: &str, from: Duration, to: Duration| {
            json!({
                "ph": "X", "name": title, "pid": rank, "tid": thread,
                "ts": micros(offset + from), "dur": micros(to.saturating_sub(from)),
            })
        };
        let piece = |thread, piece: TracedPiece, key: (u32, u32, u32, u32), to: Duration| {
            let (way, from) = if thread == SENDS {
                ("to", key.1)
            } else {
                ("from", key.0)
            };
            let title = format!("phase {} {way} {from}", piece.phase);
            began.get(&key).map(|&since| bar(thread, &title, since, to))
        };
        events.push(bar(CALLS, &title, first.at, last.at));
        for step in steps {
            match step.step {
                RankStep::SendGone(p) => {
                    events.extend(piece(SENDS, p, (rank, p.peer, p.phase, p.block), step.at));
                }
                RankStep::Arrived(p) => {
                    events.extend(piece(
                        RECEIVES,
                        p,
                        (p.peer, rank, p.phase, p.block),
                        step.at,
                    ));
                }
                RankStep::TokenGiven(t) => {
                    events.push(flow(
                        "s",
                        (rank, t.peer, t.id),
                        rank,
                        RECEIVES,
                        call,
                        offset + step.at,
                    ));
                }
                RankStep::TokenTaken(t) => {
                    events.push(flow(
                        "f",
                        (t.peer, rank, t.id),
                        rank,
                        SENDS,
                        call,
                        offset + step.at,
                    ));
                }
                _ => {}
            }
        }
    }
}

/// A token: an arrow from its giver to its taker.
fn flow(
    end: &str,
    token: (u32, u32, u32),
    rank: u32,
    thread: u32,
    call: &TracedCall,
    at: Duration,
) -> Value {
    let (giver, taker, id) = token;
    json!({
        "ph": end, "bp": "e", "cat": "token", "name": "token",
        "id": format!("{}-{giver}-{taker}-{id}", call.number),
        "pid": rank, "tid": thread, "ts": micros(at),
    })
}
