//! The building blocks of the detail pane: labelled facts, and the parts that links and nodes
//! share.
use crate::panel_view::PanelView;
use crate::port_names::short;
use crate::table::gauge;
use crate::tree::{TreeBranch, ports};
use crate::{chart, format};
use api::AlarmLine;
use inventory::BitsPerSec;
use inventory::topology::{Link, LinkGrade, LinkState};
use ratatui::style::Style;
use ratatui::text::{Line, Span};

const LABEL: usize = 11;

/// A labelled fact.
pub(super) fn fact(view: &PanelView<'_>, label: &str, value: impl Into<String>) -> Line<'static> {
    styled(view, label, value, view.palette.text)
}

/// A labelled fact in the given style.
pub(super) fn styled(
    view: &PanelView<'_>,
    label: &str,
    value: impl Into<String>,
    style: Style,
) -> Line<'static> {
    Line::from(vec![
        Span::styled(format!("{label:<LABEL$}"), view.palette.dim),
        Span::styled(value.into(), style),
    ])
}

/// The heading of the pane: a name and a description.
pub(super) fn heading(view: &PanelView<'_>, name: &str, what: impl Into<String>) -> Line<'static> {
    Line::from(vec![
        Span::styled(name.to_owned(), view.palette.strong),
        Span::raw("  "),
        Span::styled(what.into(), view.palette.dim),
    ])
}

/// The alarms about one of `names`.
pub(super) fn alarms(
    view: &PanelView<'_>,
    concerns: impl Fn(&AlarmLine) -> bool,
) -> Vec<Line<'static>> {
    let about = view.snapshot.alarms.iter().filter(|a| concerns(a));
    about
        .map(|a| styled(view, "▲ alarm", &a.text, view.palette.warn))
        .collect()
}

/// The spanning tree's state of a link, in a word; the mark of its grade follows.
pub(super) fn state(link: &Link) -> &'static str {
    match link.state {
        LinkState::Forwarding => "forward",
        LinkState::Blocked => "BLOCKED",
        LinkState::Multipath => "spread",
        LinkState::Unknown => "unknown",
    }
}

/// The mark of a link that is not certain.
pub(super) fn doubt(link: &Link) -> &'static str {
    match link.grade {
        LinkGrade::Certain => "",
        LinkGrade::Inferred if link.is_measured() => "≈",
        LinkGrade::Inferred => "~",
        LinkGrade::Ambiguous => "?",
    }
}

/// A link's ends with their ports.
pub(super) fn ends(link: &Link) -> String {
    format!(
        "{} – {}",
        end(&link.a, &link.a_port),
        end(&link.b, &link.b_port)
    )
}

fn end(name: &str, port: &str) -> String {
    if port.is_empty() {
        name.to_owned()
    } else {
        format!("{name} {port}")
    }
}

/// All facts about a link: state, load, measured traffic in both directions, evidence.
pub(super) fn link(view: &PanelView<'_>, index: usize) -> Vec<Line<'static>> {
    let Some(link) = view.snapshot.topology.links.get(index) else {
        return Vec::new();
    };
    let grade = match link.grade {
        LinkGrade::Certain => "certain",
        LinkGrade::Inferred if link.is_measured() => "≈ inferred from flows",
        LinkGrade::Inferred => "~ inferred",
        LinkGrade::Ambiguous => "? ambiguous",
    };
    let state_and_grade = format!("{}, {}bit/s, {grade}", state(link), link.rate_bps);
    let mut lines = vec![
        fact(view, "link", ends(link)),
        fact(view, "state", state_and_grade),
    ];
    if let Some(load) = view.snapshot.loads.get(index) {
        if load.aapc_load > 0 {
            let forced = format!(
                "load {} / capacity {} = {}",
                load.aapc_load,
                load.capacity,
                inventory::counted(load.phases as usize, "phase")
            );
            let (mark, style) = if load.bottleneck {
                ("  ◀ bottleneck", view.palette.bad)
            } else {
                ("", view.palette.text)
            };
            lines.push(styled(view, "all-to-all", forced + mark, style));
        }
        lines.push(traffic(view, &link.a, &link.b, load.a_to_b, link.rate_bps));
        lines.push(traffic(view, &link.b, &link.a, load.b_to_a, link.rate_bps));
        let width = usize::from(view.width).saturating_sub(LABEL).min(60);
        for (direction, arrow) in ["→", "←"].into_iter().enumerate() {
            let past = view.past_of(index, Some(direction), width);
            if past.iter().flatten().count() > 1 {
                let mut line = fact(view, &format!("trend {arrow}"), "");
                line.extend(chart::spark(view, &past).spans);
                lines.push(line);
            }
        }
    }
    lines.extend(ways(view, index));
    if !link.members.is_empty() {
        let members: Vec<String> = link
            .members
            .iter()
            .map(|m| format!("{}–{}", m.a_port, m.b_port))
            .collect();
        lines.push(fact(view, "aggregate", members.join("  ")));
    }
    for (i, evidence) in link.evidence.iter().enumerate() {
        let label = if i == 0 { "evidence" } else { "" };
        lines.push(fact(view, label, evidence.to_string()));
    }
    lines
}

/// A way that has so much more of its rate in use than all of them together is uneven.
const UNEVEN: f64 = 0.2;

/// The share of a link's rate in the busier direction, as measured.
fn busier(view: &PanelView<'_>, link: usize) -> Option<f64> {
    let snapshot = &view.picture.snapshot;
    let (load, link) = (
        snapshot.loads.get(link)?,
        snapshot.topology.links.get(link)?,
    );
    let shares = [load.a_to_b, load.b_to_a].map(|m| format::share(m, link.rate_bps));
    shares.into_iter().flatten().reduce(f64::max)
}

/// The ways of a link that carry more than their part.
pub(super) fn uneven(view: &PanelView<'_>, index: usize) -> Vec<usize> {
    let ways = view.ways(index).iter().map(|way| way.link);
    let loads: Vec<(usize, f64)> = ways
        .filter_map(|link| Some((link, busier(view, link)?)))
        .collect();
    let mean = loads.iter().map(|(_, share)| share).sum::<f64>() / loads.len().max(1) as f64;
    let over = loads.into_iter().filter(|(_, share)| share - mean > UNEVEN);
    over.map(|(link, _)| link).collect()
}

/// The ways of a link, each with its load.
fn ways(view: &PanelView<'_>, index: usize) -> Vec<Line<'static>> {
    let over = uneven(view, index);
    let links = &view.picture.snapshot.topology.links;
    view.ways(index)
        .iter()
        .filter_map(|way| {
            let link = links.get(way.link)?;
            let mut line = fact(view, "way", "");
            line.extend(gauge(busier(view, way.link), 17, view.palette).spans);
            line.push_span(Span::raw(format!("  {}", ends(link))));
            if over.contains(&way.link) {
                line.push_span(Span::styled("  ≠ uneven", view.palette.warn));
            }
            Some(line)
        })
        .collect()
}

/// The load of a link in the last seconds as columns, the newest at the right end.
pub(super) fn trend(
    view: &PanelView<'_>,
    link: Option<usize>,
    direction: Option<usize>,
    width: usize,
) -> Line<'static> {
    let past = link.map_or_else(Vec::new, |link| view.past_of(link, direction, width));
    let mut line = Line::from(" ".repeat(width.saturating_sub(past.len()).min(200)));
    line.extend(chart::spark(view, &past).spans);
    line
}

/// The path from the root to a node, with the port of each switch towards the next.
pub(super) fn path(view: &PanelView<'_>, path: &[TreeBranch]) -> Option<Line<'static>> {
    let topology = &view.snapshot.topology;
    let [first, rest @ ..] = path else {
        return None;
    };
    let mut text = first.place.name(topology).to_owned();
    for branch in rest {
        let parent = branch.parent.map_or("", |parent| parent.name(topology));
        let link = branch.link.and_then(|i| topology.links.get(i));
        let port = link.map_or("", |link| ports(link, parent).0);
        text = format!("{text} {} › {}", short(port), branch.place.name(topology));
    }
    (!rest.is_empty()).then(|| fact(view, "path", text))
}

fn traffic(
    view: &PanelView<'_>,
    from: &str,
    to: &str,
    measured: Option<BitsPerSec>,
    rate: BitsPerSec,
) -> Line<'static> {
    let mut line = Line::from(Span::styled(
        format!("{:<LABEL$}", "measured"),
        view.palette.dim,
    ));
    line.extend(gauge(format::share(measured, rate), 17, view.palette).spans);
    let figure = measured.map_or_else(String::new, |m| format!("  {m}bit/s"));
    line.extend([
        Span::raw(figure),
        Span::styled(format!("  {from} → {to}"), view.palette.dim),
    ]);
    line
}
