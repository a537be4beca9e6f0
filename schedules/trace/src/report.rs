//! The causes of a call's time, added up along its critical path.
use crate::critical_path::{PathSegment, PathStep, TimeSink, critical_path, octets};
use crate::file::CallKind;
use crate::job::{TracedCall, TracedJob, on_the_wire};
use crate::step::RankStep;
use inventory::counted;
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

/// Segments of the path that a report names.
const LONGEST_SEGMENTS: usize = 8;
/// Links that a report names.
const BUSIEST_LINKS: usize = 4;

/// A call explained.
#[derive(Debug, Clone, PartialEq)]
pub struct CallReport {
    pub number: u32,
    pub kind: CallKind,
    /// How many calls of its kind there are.
    pub of_its_kind: usize,
    /// Why this one: its place among them.
    pub choice: CallChoice,
    /// From when the first rank came until the last was done.
    pub took: Duration,
    /// The rank that came last, and how long after the first.
    pub last_to_come: Option<(u32, Duration)>,
    /// The causes of the critical path's time.
    pub sinks: BTreeMap<TimeSink, Duration>,
    /// The critical path.
    pub path: Vec<PathSegment>,
    /// The busiest links, each with the share of the call in which the blocks of this call occupied
    /// it.
    pub links: Vec<LinkUse>,
    /// Segments sent again in the call.
    pub sent_again: u64,
}

/// A call's place among those of its kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallChoice {
    Only,
    /// The middle one, by time.
    Median,
    Slowest,
    /// It was asked for.
    Asked,
}

/// How busy a link was, in one direction.
#[derive(Debug, Clone, PartialEq)]
pub struct LinkUse {
    /// Its ends, in the direction of the data.
    pub name: String,
    /// Blocks that went over it.
    pub blocks: u64,
    /// The share of the call's time that they took at the link's rate.
    pub share: f64,
}

/// Reports on the median and on the slowest call of each kind, or on one call.
pub fn reports(job: &TracedJob, asked: Option<u32>) -> Vec<CallReport> {
    if let Some(number) = asked {
        let call = job.calls.iter().find(|call| call.number == number);
        let count = |kind| job.calls.iter().filter(|call| call.kind == kind).count();
        return call
            .map(|call| report(job, call, CallChoice::Asked, count(call.kind)))
            .into_iter()
            .collect();
    }
    let mut kinds: Vec<(CallKind, Vec<&TracedCall>)> = Vec::new();
    let mut places: HashMap<CallKind, usize> = HashMap::new();
    for call in &job.calls {
        let place = *places.entry(call.kind).or_insert_with(|| {
            kinds.push((call.kind, Vec::new()));
            kinds.len() - 1
        });
        kinds[place].1.push(call);
    }
    let mut reports = Vec::new();
    for (_, mut calls) in kinds {
        calls.sort_by_key(|call| (call.took(), call.number));
        let count = calls.len();
        let median = calls[(count - 1) / 2];
        let slowest = calls[count - 1];
        if count == 1 {
            reports.push(report(job, median, CallChoice::Only, count));
        } else {
            reports.push(report(job, median, CallChoice::Median, count));
            reports.push(report(job, slowest, CallChoice::Slowest, count));
        }
    }
    reports
}

fn report(
    job: &TracedJob,
    call: &TracedCall,
    choice: CallChoice,
    of_its_kind: usize,
) -> CallReport {
    let path = critical_path(call, job.network(call));
    let mut sinks = BTreeMap::new();
    for (sink, took) in path.iter().flat_map(|segment| &segment.sinks) {
        *sinks.entry(*sink).or_default() += *took;
    }
    let again = call.steps.iter().flatten().map(|step| match step.step {
        RankStep::SentAgain { segments, .. } => u64::from(segments),
        _ => 0,
    });
    CallReport {
        number: call.number,
        kind: call.kind,
        of_its_kind,
        choice,
        took: call.took(),
        last_to_come: call.last_to_come(),
        sinks,
        links: links(job, call),
        sent_again: again.sum(),
        path,
    }
}

/// The busiest links of a call.
fn links(job: &TracedJob, call: &TracedCall) -> Vec<LinkUse> {
    let Some(network) = job.network(call) else {
        return Vec::new();
    };
    let mut moved: BTreeMap<_, (u64, u64)> = BTreeMap::new();
    for (rank, steps) in (0..).zip(&call.steps) {
        for step in steps {
            if let RankStep::SendBegan(piece) = step.step {
                for link in network.links(rank, piece.peer) {
                    let (blocks, sum) = moved.entry(link).or_default();
                    *blocks += u64::from(piece.blocks);
                    *sum = sum.saturating_add(octets(&call.kind, piece));
                }
            }
        }
    }
    let took = call.took().as_secs_f64().max(1e-9);
    let mut links: Vec<LinkUse> = moved
        .into_iter()
        .map(|(link, (blocks, octets))| LinkUse {
            name: network.name(link),
            blocks,
            share: on_the_wire(octets, network.rate(link)).as_secs_f64() / took,
        })
        .collect();
    links.sort_by(|a, b| {
        b.share
            .total_cmp(&a.share)
            .then_with(|| a.name.cmp(&b.name))
    });
    links.truncate(BUSIEST_LINKS);
    links
}

/// As lines for people.
pub fn text(job: &TracedJob, reports: &[CallReport]) -> String {
    let missing = job.hosts.len() - job.ranks.len();
    let mut lines = vec![format!(
        "{}, {} recorded whole, clocks of hosts known to {}",
        counted(job.hosts.len(), "rank"),
        counted(job.calls.len(), "call"),
        time(job.clock_doubt),
    )];
    if missing > 0 {
        lines.push(format!(
            "the traces of {} are missing: paths end where they would go on",
            counted(missing, "rank")
        ));
    }
    if job.lost > 0 {
        lines.push(format!(
            "{} found no room: the first calls are missing",
            counted(job.lost, "step")
        ));
    }
    for report in reports {
        lines.push(String::new());
        lines.extend(call_lines(job, report));
    }
    lines.join("\n") + "\n"
}

fn call_lines(job: &TracedJob, report: &CallReport) -> Vec<String> {
    let took = report.took.as_secs_f64().max(1e-9);
    let mut lines = vec![title(report)];
    for sink in TimeSink::ALL {
        if let Some(spent) = report.sinks.get(&sink) {
            let share = 100.0 * spent.as_secs_f64() / took;
            let (spent, title) = (time(*spent), sink.title());
            lines.push(format!("  {share:5.1} %  {spent:>9}  {title}"));
        }
    }
    if let Some((rank, late)) = report.last_to_come.filter(|(_, late)| !late.is_zero()) {
        let (rank, late) = (job.rank(rank), time(late));
        lines.push(format!("  last to come: {rank}, {late} after the first"));
    }
    for LinkUse {
        name,
        blocks,
        share,
    } in &report.links
    {
        let busy = 100.0 * share;
        lines.push(format!(
            "  link {name}: {blocks} blocks, busy {busy:.0} % of the time"
        ));
    }
    if report.sent_again > 0 {
        lines.push(format!("  segments sent again: {}", report.sent_again));
    }
    lines.extend(longest_lines(job, report));
    lines
}

/// The call, and why it is reported.
fn title(report: &CallReport) -> String {
    let CallKind {
        collective,
        way,
        block,
        epoch,
    } = report.kind;
    let choice = match report.choice {
        CallChoice::Only => "the only one".to_owned(),
        CallChoice::Median => format!("the median of {}", report.of_its_kind),
        CallChoice::Slowest => format!("the slowest of {}", report.of_its_kind),
        CallChoice::Asked => format!("one of {}", report.of_its_kind),
    };
    let (number, took) = (report.number, time(report.took));
    format!(
        "call {number}, {collective} of {block} B a block, {way}, epoch {epoch}, {choice}: {took}"
    )
}

/// The segments of the path with the most time beyond their data, of those worth a line.
fn longest_lines(job: &TracedJob, report: &CallReport) -> Vec<String> {
    let mut longest: Vec<&PathSegment> = report
        .path
        .iter()
        .filter(|segment| waste(segment) * 1000 > report.took)
        .collect();
    longest.sort_by_key(|segment| std::cmp::Reverse((waste(segment), segment.ended)));
    longest.truncate(LONGEST_SEGMENTS);
    let mut lines = Vec::new();
    if !longest.is_empty() {
        lines.push("  what it waited for longest:".to_owned());
    }
    lines.extend(
        longest
            .into_iter()
            .map(|segment| segment_line(job, segment)),
    );
    lines
}

/// The time of a segment beyond its data at the links' rates.
fn waste(segment: &PathSegment) -> Duration {
    let spent = segment
        .sinks
        .iter()
        .filter(|(sink, _)| *sink != TimeSink::Wire);
    spent.map(|(_, took)| *took).sum()
}

fn segment_line(job: &TracedJob, segment: &PathSegment) -> String {
    let (from, to) = (job.rank(segment.from), job.rank(segment.to));
    let what = match segment.step {
        PathStep::Coming => format!("{to} to come"),
        PathStep::Transfer { phase } => format!("data of phase {phase}, {from} to {to}"),
        PathStep::Token => format!("a token, {from} to {to}"),
        PathStep::Idling => format!("{to}, which could go on"),
        PathStep::Library => format!("{to}, in the library's routine"),
    };
    let most = segment
        .sinks
        .iter()
        .filter(|(sink, _)| *sink != TimeSink::Wire)
        .max_by_key(|(_, took)| *took)
        .map_or("", |(sink, _)| sink.title());
    format!(
        "  {:>9} at {:>9}: {what} ({most})",
        time(waste(segment)),
        time(segment.began)
    )
}

/// A time for people.
pub fn time(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    match seconds {
        s if s >= 100.0 => format!("{s:.0} s"),
        s if s >= 1.0 => format!("{s:.2} s"),
        s if s >= 1e-3 => format!("{:.2} ms", s * 1e3),
        s => format!("{:.0} us", s * 1e6),
    }
}

/// For programs.
pub fn json(job: &TracedJob, reports: &[CallReport]) -> serde_json::Value {
    let seconds = |time: Duration| time.as_secs_f64();
    let calls: Vec<_> = reports
        .iter()
        .map(|report| {
            let sinks: serde_json::Map<_, _> = report
                .sinks
                .iter()
                .map(|(sink, took)| (sink.name().to_owned(), seconds(*took).into()))
                .collect();
            let links: Vec<_> = report
                .links
                .iter()
                .map(|link| serde_json::json!({"link": link.name, "blocks": link.blocks, "busy": link.share}))
                .collect();
            serde_json::json!({
                "call": report.number,
                "collective": report.kind.collective,
                "way": report.kind.way.to_string(),
                "block": report.kind.block,
                "epoch": report.kind.epoch,
                "calls": report.of_its_kind,
                "seconds": seconds(report.took),
                "last_to_come": report.last_to_come.map(|(rank, at)| serde_json::json!({"rank": rank, "seconds": seconds(at)})),
                "sinks_seconds": sinks,
                "links": links,
                "sent_again": report.sent_again,
            })
        })
        .collect();
    serde_json::json!({
        "job": format!("{:016x}", job.job),
        "hosts": job.hosts,
        "clock_doubt_seconds": seconds(job.clock_doubt),
        "lost_steps": job.lost,
        "calls": calls,
    })
}
