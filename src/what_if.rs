//! `heddle what-if`
use crate::CommandOutcome;
use crate::input_file::PlannedTopology;
use crate::output::{print, time};
use crate::predict::ways::calibration;
use anyhow::Context;
use controller::plan::stated;
use drawing::network::{NetworkMoment, compared as side_by_side};
use forecast::calibration::CalibratedTime;
use forecast::what_if::{
    CablingAdvice, CablingChange, NetworkOutlook, OverTcpOutlook, advice, matches_spanning_tree,
    outlook,
};
use inventory::{BitsPerSec, Bytes, TopologyFile, counted, name_ranges};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::PathBuf;

/// The number of pieces of advice that are printed.
const BEST: usize = 10;

/// Compute what a change of the cabling would gain
///
/// This prints the least time of an all-to-all and an allgather, now and after the change, and the
/// links that spanning tree would block after it. Beside the least time stands the one that heddle
/// over TCP is expected to take; nine of ten predictions are off by the stated error at most.
#[derive(clap::Args)]
#[command(group = clap::ArgGroup::new("question")
    .required(true)
    .multiple(true)
    .args(["moves", "links", "added", "root_bridge", "advise"]))]
pub(crate) struct Args {
    #[command(flatten)]
    topology: PlannedTopology,
    /// Move a host's cable to another switch, or those of several hosts as in n[0-3]=s1; may be
    /// given several times
    #[arg(long = "move", value_name = "HOST=SWITCH", value_parser = hosts_and_switch)]
    moves: Vec<(Vec<String>, String)>,
    /// Add a cable between two switches, or give the present cable between two nodes another rate;
    /// s0-s[1-3]=10G means three of them; may be given several times
    #[arg(long = "link", value_name = "A-B=RATE", value_parser = ends_and_rate)]
    links: Vec<(Vec<String>, String)>,
    /// Add a switch or router with cables like those of another, as spine5=spine4 does; may be given
    /// several times
    #[arg(long = "add", value_name = "NEW=LIKE", value_parser = added_and_like)]
    added: Vec<(Vec<String>, String)>,
    /// Make a switch the root bridge
    #[arg(long, value_name = "SWITCH")]
    root_bridge: Option<String>,
    /// List the single changes that would gain most
    #[arg(long, conflicts_with_all = ["moves", "links", "added", "root_bridge"])]
    advise: bool,
    /// The block size in bytes, or with a unit as in 64k and 1M
    #[arg(long, value_name = "N", default_value = "64k")]
    size: Bytes,
    /// The shared directory, whose measurements by heddle tune and by jobs count, too, and most
    /// [default: only the measurements that heddle was made with]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// The form of the output
    #[arg(long, value_enum, default_value_t = WhatIfFormat::Text)]
    format: WhatIfFormat,
}

/// The form of the output.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum WhatIfFormat {
    /// For people
    #[value(alias = "summary")]
    Text,
    /// One object for programs
    Json,
    /// A picture of the network now and after the change; with --advise, after the best one
    Svg,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<CommandOutcome> {
    let place = args.topology.path.display();
    let file = args.topology.read()?;
    let calibration = calibration(args.dir.as_deref())?;
    let now = outlook(&calibration, &file, args.size).with_context(|| place.to_string())?;
    if !matches_spanning_tree(&file) {
        tell!(
            "heddle: {}: its blocked links differ from those that standard path costs give under \
             root bridge \"{}\"; after a change, other links than shown may be blocked",
            place,
            file.switches.first().map_or("", String::as_str)
        );
    }
    let text = if args.advise {
        let advice = advice(&file, args.size).with_context(|| place.to_string())?;
        match args.format {
            WhatIfFormat::Text => advised(args.size, &now, &advice),
            WhatIfFormat::Svg => {
                let best = advice.first().with_context(|| {
                    format!(
                        "{}: no single change makes it faster; nothing to draw",
                        place
                    )
                })?;
                let after = best.change.apply(&file)?;
                let then =
                    outlook(&calibration, &after, args.size).with_context(|| place.to_string())?;
                let title = format!("{}; blocks of {} bytes", best.change, args.size.0);
                drawn(&title, (&file, &now), (&after, &then))
            }
            WhatIfFormat::Json => pretty(&json!({
                "now": as_json(&now),
                "advice": advice.iter().map(advice_json).collect::<Vec<_>>(),
            })),
        }
    } else {
        let changes = args.changes(&file)?;
        let after = changes
            .iter()
            .try_fold(file.clone(), |file, change| change.apply(&file))?;
        let then = outlook(&calibration, &after, args.size)
            .with_context(|| format!("{place} after the changes"))?;
        match args.format {
            WhatIfFormat::Text => compared(args.size, &changes, &now, &then),
            WhatIfFormat::Svg => {
                let title = format!("{}; blocks of {} bytes", listed(&changes), args.size.0);
                drawn(&title, (&file, &now), (&after, &then))
            }
            WhatIfFormat::Json => pretty(&json!({
                "changes": changes.iter().map(CablingChange::to_string).collect::<Vec<_>>(),
                "now": as_json(&now),
                "then": as_json(&then),
            })),
        }
    };
    print(&text)
}

impl Args {
    /// All changes that were asked for: hosts first, then cables, further boxes and the root bridge.
    fn changes(&self, file: &TopologyFile) -> anyhow::Result<Vec<CablingChange>> {
        let moves = each(&self.moves).map(|(host, switch)| {
            Ok(CablingChange::Move {
                host: host.to_owned(),
                switch: switch.to_owned(),
            })
        });
        moves
            .chain(each(&self.links).map(|(ends, rate)| {
                let rate: BitsPerSec = rate
                    .parse()
                    .with_context(|| format!("--link {ends}={rate}"))?;
                Ok(CablingChange::link(file, ends, rate)?)
            }))
            .chain(each(&self.added).map(|(name, like)| {
                Ok(CablingChange::Beside {
                    name: name.to_owned(),
                    like: like.to_owned(),
                })
            }))
            .chain(
                self.root_bridge
                    .iter()
                    .map(|s| Ok(CablingChange::RootBridge(s.clone()))),
            )
            .collect()
    }
}

/// All changes on one line.
fn listed(changes: &[CablingChange]) -> String {
    let changes: Vec<String> = changes.iter().map(CablingChange::to_string).collect();
    changes.join(", ")
}

/// The network now and then, side by side.
fn drawn(
    title: &str,
    (file, now): (&TopologyFile, &NetworkOutlook),
    (after, then): (&TopologyFile, &NetworkOutlook),
) -> String {
    let (before, after) = (stated(file), stated(after));
    let before = NetworkMoment {
        topology: &before,
        heading: "now".to_owned(),
        figures: figures(now, now.alltoall, now.allgather),
    };
    let after = NetworkMoment {
        topology: &after,
        heading: "after the change".to_owned(),
        figures: figures(then, now.alltoall, now.allgather),
    };
    side_by_side(title, &before, &after).document(title)
}

fn figures(of: &NetworkOutlook, all: f64, gather: f64) -> Vec<String> {
    vec![
        phases(of),
        format!(
            "all-to-all at least {}{}",
            time(of.alltoall),
            gain(all, of.alltoall)
        ),
        format!(
            "allgather at least {}{}",
            time(of.allgather),
            gain(gather, of.allgather)
        ),
    ]
}

fn compared(
    block: Bytes,
    changes: &[CablingChange],
    now: &NetworkOutlook,
    then: &NetworkOutlook,
) -> String {
    let mut text = format!("{}; blocks of {} bytes\n", listed(changes), block.0);
    row("", "now".into(), "then".into(), &mut text);
    row(
        "all-to-all",
        format!("at least {}", time(now.alltoall)),
        format!(
            "at least {}{}",
            time(then.alltoall),
            gain(now.alltoall, then.alltoall)
        ),
        &mut text,
    );
    row(
        "",
        over_tcp(now, |o| o.alltoall),
        over_tcp(then, |o| o.alltoall),
        &mut text,
    );
    row("", phases(now), phases(then), &mut text);
    row(
        "allgather",
        format!("at least {}", time(now.allgather)),
        format!(
            "at least {}{}",
            time(then.allgather),
            gain(now.allgather, then.allgather)
        ),
        &mut text,
    );
    row(
        "",
        over_tcp(now, |o| o.allgather),
        over_tcp(then, |o| o.allgather),
        &mut text,
    );
    row(
        "blocked",
        names(&now.blocked),
        names(&then.blocked),
        &mut text,
    );
    text
}

fn row(what: &str, now: String, then: String, text: &mut String) {
    let line = format!("  {what:<12}{now:<31} {then}");
    let _ = writeln!(text, "{}", line.trim_end());
}

fn over_tcp(outlook: &NetworkOutlook, of: fn(&OverTcpOutlook) -> CalibratedTime) -> String {
    outlook
        .over_tcp
        .as_ref()
        .map_or_else(String::new, |over_tcp| predicted(of(over_tcp)))
}

fn advised(block: Bytes, now: &NetworkOutlook, advice: &[CablingAdvice]) -> String {
    let mut text = format!(
        "now: all-to-all at least {}, {}; blocks of {} bytes\n",
        time(now.alltoall),
        phases(now),
        block.0
    );
    if advice.is_empty() {
        text.push_str("no single change of a host, a link or the root bridge makes it faster\n");
    }
    for a in advice.iter().take(BEST) {
        let blocked = if a.blocked == now.blocked {
            String::new()
        } else {
            format!("  blocks {}", names(&a.blocked))
        };
        let _ = writeln!(
            text,
            "  {:<32}{:>10}{}{blocked}",
            a.change.to_string(),
            time(a.alltoall),
            gain(now.alltoall, a.alltoall)
        );
    }
    if advice.len() > BEST {
        let _ = writeln!(
            text,
            "  and {}",
            counted(advice.len() - BEST, "smaller one")
        );
    }
    text
}

/// `over tcp 15.2 ms ± 9 %`
fn predicted(time_over_tcp: CalibratedTime) -> String {
    let error = time_over_tcp
        .error
        .map_or_else(String::new, |error| format!(" ± {:.0} %", error * 100.0));
    format!("over tcp {}{error}", time(time_over_tcp.seconds))
}

/// ` (-25 %)`, or nothing where nothing changes.
fn gain(now: f64, then: f64) -> String {
    let percent = if now > 0.0 {
        (then / now - 1.0) * 100.0
    } else {
        0.0
    };
    // It would be printed as 0 %.
    if percent.abs() < 0.5 {
        String::new()
    } else {
        format!(" ({percent:+.0} %)")
    }
}

fn phases(outlook: &NetworkOutlook) -> String {
    let bound = &outlook.bound;
    if bound.phases == 0 {
        return "nothing to send".to_owned();
    }
    format!(
        "{}, bottleneck {}-{}",
        counted(bound.phases, "phase"),
        bound.edge.0,
        bound.edge.1
    )
}

fn names(links: &[(String, String)]) -> String {
    if links.is_empty() {
        "nothing".into()
    } else {
        links
            .iter()
            .map(|(a, b)| format!("{a}-{b}"))
            .collect::<Vec<_>>()
            .join(", ")
    }
}

fn as_json(outlook: &NetworkOutlook) -> Value {
    json!({
        "alltoall_seconds": outlook.alltoall, "allgather_seconds": outlook.allgather,
        "over_tcp": outlook.over_tcp.map(|over_tcp| json!({
            "alltoall_seconds": over_tcp.alltoall.seconds, "alltoall_error": over_tcp.alltoall.error,
            "allgather_seconds": over_tcp.allgather.seconds, "allgather_error": over_tcp.allgather.error,
        })),
        "bound": outlook.bound, "blocked": outlook.blocked,
    })
}

fn advice_json(advice: &CablingAdvice) -> Value {
    json!({
        "change": advice.change.to_string(),
        "alltoall_seconds": advice.alltoall,
        "blocked": advice.blocked,
    })
}

fn pretty(value: &Value) -> String {
    format!("{value:#}\n")
}

/// `n3=s1`
fn hosts_and_switch(text: &str) -> Result<(Vec<String>, String), String> {
    let (hosts, switch) =
        pair(text).ok_or_else(|| "expected HOST=SWITCH, like n3=s1".to_owned())?;
    let hosts = name_ranges::expand(&hosts).map_err(|e| e.to_string())?;
    Ok((hosts, switch))
}

/// `spine5=spine4`, `spine[5-8]=spine4`
fn added_and_like(text: &str) -> Result<(Vec<String>, String), String> {
    let (names, like) =
        pair(text).ok_or_else(|| "expected NEW=LIKE, like spine5=spine4".to_owned())?;
    let names = name_ranges::expand(&names).map_err(|e| e.to_string())?;
    Ok((names, like))
}

/// `s0-s2=10G`, `s0-s[1-3]=10G`
fn ends_and_rate(text: &str) -> Result<(Vec<String>, String), String> {
    let (ends, rate) = pair(text)
        .filter(|(ends, _)| ends.contains('-'))
        .ok_or_else(|| "expected A-B=RATE, like s0-s2=10G".to_owned())?;
    let ends = name_ranges::expand(&ends).map_err(|e| e.to_string())?;
    Ok((ends, rate))
}

/// Each name with its value.
fn each(flags: &[(Vec<String>, String)]) -> impl Iterator<Item = (&str, &str)> {
    flags.iter().flat_map(|(names, value)| {
        names
            .iter()
            .map(move |name| (name.as_str(), value.as_str()))
    })
}

/// The parts before and behind the first `=`.
fn pair(text: &str) -> Option<(String, String)> {
    let halves = text
        .split_once('=')
        .filter(|(a, b)| !a.is_empty() && !b.is_empty());
    halves.map(|(a, b)| (a.to_owned(), b.to_owned()))
}
