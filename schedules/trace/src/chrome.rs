//! A call for Perfetto and `chrome://tracing`: their JSON trace format (Trace Event Format, Google,
//! 2016: complete events `X`, flows `s` and `f`, names `M`).
use crate::job::{TracedCall, TracedJob};
use crate::step::{RankStep, TimedStep, TracedPiece};
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

/// A bar of a rank.
fn bar(rank: u32, thread: u32, title: &str, from: Duration, took: Duration) -> Value {
    json!({
        "ph": "X", "name": title, "pid": rank, "tid": thread,
        "ts": micros(from), "dur": micros(took),
    })
}

/// A piece on its way: sender, receiver, phase and block.
type PieceKey = (u32, u32, u32, u32);

fn add(call: &TracedCall, offset: Duration, events: &mut Vec<Value>) {
    let mut began: HashMap<PieceKey, Duration> = HashMap::new();
    for (rank, steps) in (0..).zip(&call.steps) {
        for step in steps {
            if let RankStep::SendBegan(p) = step.step {
                began.insert((rank, p.peer, p.phase, p.block), step.at);
            }
        }
    }
    let kind = call.kind;
    let title = format!("{} of {} B, {}", kind.collective, kind.block, kind.way);
    for (rank, steps) in (0..).zip(&call.steps) {
        let (Some(first), Some(last)) = (steps.first(), steps.last()) else {
            continue;
        };
        let took = last.at.saturating_sub(first.at);
        events.push(bar(rank, CALLS, &title, offset + first.at, took));
        let piece = |thread, piece: TracedPiece, key: PieceKey, to: Duration| {
            let (way, other) = if thread == SENDS {
                ("to", key.1)
            } else {
                ("from", key.0)
            };
            let title = format!("phase {} {way} {other}", piece.phase);
            let since = *began.get(&key)?;
            Some(bar(
                rank,
                thread,
                &title,
                offset + since,
                to.saturating_sub(since),
            ))
        };
        for TimedStep { at, step } in steps {
            events.extend(match *step {
                RankStep::SendGone(p) => piece(SENDS, p, (rank, p.peer, p.phase, p.block), *at),
                RankStep::Arrived(p) => piece(RECEIVES, p, (p.peer, rank, p.phase, p.block), *at),
                RankStep::TokenGiven(t) => Some(flow(
                    "s",
                    (rank, t.peer, t.id),
                    RECEIVES,
                    call,
                    offset + *at,
                )),
                RankStep::TokenTaken(t) => {
                    Some(flow("f", (t.peer, rank, t.id), SENDS, call, offset + *at))
                }
                _ => None,
            });
        }
    }
}

/// A token: an arrow from its giver to its taker, of which this is one end.
fn flow(
    end: &str,
    (giver, taker, id): (u32, u32, u32),
    thread: u32,
    call: &TracedCall,
    at: Duration,
) -> Value {
    let rank = if end == "s" { giver } else { taker };
    json!({
        "ph": end, "bp": "e", "cat": "token", "name": "token",
        "id": format!("{}-{giver}-{taker}-{id}", call.number),
        "pid": rank, "tid": thread, "ts": micros(at),
    })
}
