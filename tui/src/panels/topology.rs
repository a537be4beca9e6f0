//! The topology as a tree: the root bridge first, each line with the link to the node above it.
use super::{Panel, detail, falling, find_link, left, link_key, moving, right, rising};
use crate::columns::{ColumnWidth, TableColumn};
use crate::format;
use crate::panel_view::PanelView;
use crate::port_names::{middle, short};
use crate::rows::{RowIndent, RowItem, RowKey, TableRow};
use crate::table::gauge;
use crate::tree::{self, TreeBranch, ports, walk};
use api::{AgentStatus, PathStatus, SwitchStatus};
use inventory::BitsPerSec;
use inventory::topology::{Link, LinkState, Node, NodeKind, Topology};
use ratatui::text::{Line, Span};
use std::cmp::Ordering;
use std::collections::HashSet;
use std::fmt::Write;

/// The number of a host's paths that the detail shows.
const WAYS: usize = 4;

const COLUMNS: &[TableColumn] = &[
    left(
        ("node", "NODE", ColumnWidth::Content(8), 0),
        |view, row, width| with_branch(row, |b| name(view, row, b, width)),
        "the node; below a switch everything that hangs on it",
    ),
    left(
        ("ports", "PORTS", ColumnWidth::Content(8), 4),
        |view, row, width| with_link(view, row, |b, l| ports_cell(view, b, l, width)),
        "the ports of its cable: of the node above, and its own",
    ),
    right(
        ("rate", "RATE", ColumnWidth::Fixed(5), 5),
        |view, row, _| with_link(view, row, |_, l| Line::raw(l.rate_bps.to_string())),
        "bits a second of the cable",
    ),
    left(
        ("stp", "STP", ColumnWidth::Fixed(8), 2),
        |view, row, _| with_branch(row, |b| state(view, b)),
        "what the spanning tree does with the cable",
    ),
    left(
        ("down", "↓ LOAD", ColumnWidth::Bar(6, 12), 1),
        |view, row, width| load(view, row, true, width),
        "the share of the rate in use, towards the node",
    ),
    left(
        ("up", "↑ LOAD", ColumnWidth::Bar(6, 12), 1),
        |view, row, width| load(view, row, false, width),
        "the share of the rate in use, from the node",
    ),
    moving(left(
        ("trend", "TREND", ColumnWidth::Bar(8, 20), 7),
        |view, row, width| with_branch(row, |b| detail::trend(view, b.link, None, width)),
        "the busier direction in the last seconds",
    )),
];

pub(super) const PANEL: Panel = Panel {
    title: "Topology",
    columns: COLUMNS,
    sorts: &[
        rising("name", "node"),
        falling("load", "down"),
        rising("port", "ports"),
        falling("rate", "rate"),
    ],
    empty: "no topology yet",
    legend: &[
        ("◆", "the root bridge of the spanning tree"),
        ("▪", "a switch"),
        ("○", "a router, a bridge without management, or a name only"),
        ("▲", "an alarm stands: the detail has it"),
        ("× stale", "it has stopped answering; shown as last seen"),
        ("+12", "so many lines are folded away; right opens them"),
        (
            "4 ways≠",
            "flows spread over so many cables; ≠ unevenly: the detail has each",
        ),
        ("╌", "a cable outside the tree: blocked, or part of a loop"),
        (
            "forward~ ≈ ?",
            "~ the cable is inferred, ≈ from flows, ? it is ambiguous",
        ),
    ],
    detail_height: 7,
    folds_stages: true,
    rows,
    key,
    words,
    detail: about,
    below: None,
};

fn rows(view: &PanelView<'_>) -> Vec<TableRow> {
    let topology = &view.snapshot.topology;
    let hosts: HashSet<&str> = topology
        .nodes
        .iter()
        .filter(|n| n.kind == NodeKind::Host)
        .map(|n| n.name.as_str())
        .collect();
    let to_host: Vec<bool> = topology
        .links
        .iter()
        .map(|l| hosts.contains(l.b.as_str()))
        .collect();
    // Hosts come before switches, so that the hosts of a switch stay beside it.
    let branches = walk(topology, &|a, b| {
        to_host[b].cmp(&to_host[a]).then_with(|| order(view, a, b))
    });
    branches
        .into_iter()
        .map(|b| TableRow {
            hang: RowIndent {
                depth: b.depth,
                dotted: b.outside,
            },
            ..RowItem::Branch(b).into()
        })
        .collect()
}

fn key(view: &PanelView<'_>, row: &TableRow) -> Option<RowKey> {
    let RowItem::Branch(branch) = row.item else {
        return None;
    };
    let topology = &view.snapshot.topology;
    match branch.link.filter(|_| branch.outside) {
        Some(link) => topology.links.get(link).map(link_key),
        None => Some(RowKey::Node(branch.place.name(topology).to_owned())),
    }
}

fn words(view: &PanelView<'_>, row: &TableRow) -> String {
    let RowItem::Branch(branch) = row.item else {
        return String::new();
    };
    let topology = &view.snapshot.topology;
    let mut words = branch.place.name(topology).to_owned();
    if let Some(link) = link_of(view, &branch) {
        let _ = write!(words, " {} {} {}", link.a_port, link.b_port, link.rate_bps);
        let short = ports_cell(view, &branch, link, usize::MAX);
        let _ = write!(words, " {short}");
    }
    let _ = write!(words, " {}", state(view, &branch));
    if !branch.outside && view.picture.has_alarm(branch.place.name(topology)) {
        words += " alarm ▲";
    }
    words
}

fn about(view: &PanelView<'_>, key: &RowKey) -> Vec<Line<'static>> {
    match key {
        RowKey::Node(name) => node(view, name),
        RowKey::Link { a, b, .. } => {
            let mut lines = vec![detail::heading(
                view,
                &format!("{a}-{b}"),
                "link outside the tree",
            )];
            lines.extend(detail::alarms(view, |alarm| alarm.concerns_link(a, b)));
            lines.extend(
                find_link(view, key)
                    .map(|i| detail::link(view, i))
                    .unwrap_or_default(),
            );
            lines
        }
        _ => Vec::new(),
    }
}

fn order(view: &PanelView<'_>, a: usize, b: usize) -> Ordering {
    let links = &view.snapshot.topology.links;
    let (x, y) = (&links[a], &links[b]);
    let name = natural(&x.a, &y.a)
        .then_with(|| natural(&x.b, &y.b))
        .then(x.a_port.cmp(&y.a_port));
    let by = match view.sort {
        1 => busy(view, b).total_cmp(&busy(view, a)),
        2 => natural(&x.a_port, &y.a_port),
        3 => y.rate_bps.cmp(&x.rate_bps),
        _ => Ordering::Equal,
    };
    let order = by.then(name);
    if view.reverse { order.reverse() } else { order }
}

/// The larger share of a link's two directions.
pub(super) fn busy(view: &PanelView<'_>, link: usize) -> f64 {
    let (Some(load), Some(l)) = (
        view.snapshot.loads.get(link),
        view.snapshot.topology.links.get(link),
    ) else {
        return 0.0;
    };
    let [down, up] =
        [load.a_to_b, load.b_to_a].map(|m| format::share(m, l.rate_bps).unwrap_or(0.0));
    down.max(up)
}

/// Compares names so that `n2` comes before `n10`.
pub(super) fn natural(a: &str, b: &str) -> Ordering {
    with_number(a).cmp(&with_number(b)).then_with(|| a.cmp(b))
}

/// A name as what stands before its number, and that number.
fn with_number(name: &str) -> (&str, Option<u64>) {
    let begin = name.trim_end_matches(|c: char| c.is_ascii_digit());
    (begin, name[begin.len()..].parse().ok())
}

fn with_branch(row: &TableRow, cell: impl Fn(&TreeBranch) -> Line<'static>) -> Line<'static> {
    match &row.item {
        RowItem::Branch(branch) => cell(branch),
        _ => Line::default(),
    }
}

fn with_link(
    view: &PanelView<'_>,
    row: &TableRow,
    cell: impl Fn(&TreeBranch, &Link) -> Line<'static>,
) -> Line<'static> {
    with_branch(row, |branch| {
        link_of(view, branch).map_or_else(Line::default, |link| cell(branch, link))
    })
}

/// The link that a node hangs on.
fn link_of<'a>(view: &PanelView<'a>, branch: &TreeBranch) -> Option<&'a Link> {
    view.snapshot.topology.links.get(branch.link?)
}

/// The name of the node above.
fn parent<'a>(view: &PanelView<'a>, branch: &TreeBranch) -> &'a str {
    let topology = &view.snapshot.topology;
    branch.parent.map_or("", |parent| parent.name(topology))
}

/// Both ports, or only the one of the node above.
fn ports_cell(
    view: &PanelView<'_>,
    branch: &TreeBranch,
    link: &Link,
    width: usize,
) -> Line<'static> {
    let (above, own) = ports(link, parent(view, branch));
    let (above, own) = (short(above), short(own));
    let both = if own.is_empty() {
        above.clone()
    } else {
        format!("{above}–{own}")
    };
    let text = if Span::raw(&both).width() <= width {
        both
    } else {
        middle(&above, width)
    };
    Line::styled(text, view.palette.dim)
}

/// The state of a node's link; of a node without one whether it is the root.
fn state(view: &PanelView<'_>, branch: &TreeBranch) -> Line<'static> {
    let p = view.palette;
    let topology = &view.snapshot.topology;
    if stale(view, branch) {
        return Line::styled("× stale", p.bad);
    }
    let Some(link) = link_of(view, branch) else {
        return if topology.is_root_bridge(branch.place.name(topology)) {
            Line::styled("root", p.accent)
        } else if branch.is_top {
            Line::default()
        } else {
            Line::styled("apart", p.warn)
        };
    };
    let style = match link.state {
        LinkState::Forwarding | LinkState::Multipath => p.good,
        LinkState::Blocked => p.bad,
        LinkState::Unknown => p.warn,
    };
    let number = branch.link.unwrap_or_default();
    let ways = view.ways(number).len();
    let word = match ways {
        0 => detail::state(link).to_owned(),
        ways => format!("{ways} ways"),
    };
    let uneven = match detail::uneven(view, number)[..] {
        [] => "",
        _ => "≠",
    };
    Line::from(vec![
        Span::styled(word, style),
        Span::styled(detail::doubt(link), p.warn),
        Span::styled(uneven, p.warn),
    ])
}

fn load(view: &PanelView<'_>, row: &TableRow, down: bool, width: usize) -> Line<'static> {
    with_link(view, row, |branch, link| {
        let load = branch.link.and_then(|i| view.snapshot.loads.get(i));
        let from_above = link.a == parent(view, branch);
        let measured = load.and_then(|l| {
            if from_above == down {
                l.a_to_b
            } else {
                l.b_to_a
            }
        });
        gauge(format::share(measured, link.rate_bps), width, view.palette)
    })
}

/// The node's name; what does not fit goes from its middle.
fn name(view: &PanelView<'_>, row: &TableRow, branch: &TreeBranch, width: usize) -> Line<'static> {
    let p = view.palette;
    let topology = &view.snapshot.topology;
    let (name, node) = (branch.place.name(topology), branch.place.node(topology));
    let mark = match node.map(|n| n.kind) {
        _ if branch.outside => "",
        Some(NodeKind::Switch) if topology.is_root_bridge(name) => "◆ ",
        Some(NodeKind::Switch) => "▪ ",
        Some(NodeKind::Host) => "",
        Some(NodeKind::Router | NodeKind::Unmanaged) | None => "○ ",
    };
    let style = match node.map(|n| n.kind) {
        _ if branch.outside || stale(view, branch) => p.dim,
        Some(NodeKind::Switch) => p.strong,
        _ => p.text,
    };
    let mut behind = Vec::new();
    if row.folded > 0 {
        behind.push(Span::styled(format!(" +{}", row.folded), p.accent));
    }
    if row.hides_alarm || !branch.outside && view.picture.has_alarm(name) {
        behind.push(Span::styled(" ▲", p.warn));
    }
    let others = behind.iter().map(Span::width).sum::<usize>() + Span::raw(mark).width();
    let name = middle(name, width.saturating_sub(others));
    let mut line = Line::from(Span::styled(format!("{mark}{name}"), style));
    line.extend(behind);
    line
}

/// True if the node of this line has stopped answering.
fn stale(view: &PanelView<'_>, branch: &TreeBranch) -> bool {
    let topology = &view.snapshot.topology;
    !branch.outside
        && (branch.place.node(topology).is_some_and(|n| n.stale)
            || trouble(view, branch.place.name(topology)).is_some())
}

/// The reason for which a switch is stale.
fn trouble<'a>(view: &PanelView<'a>, name: &str) -> Option<&'a str> {
    view.picture.switch(name)?.problem.as_deref()
}

/// The detail of a node.
fn node(view: &PanelView<'_>, name: &str) -> Vec<Line<'static>> {
    let topology = &view.snapshot.topology;
    let node = topology.nodes.iter().find(|n| n.name == name);
    let cluster = topology
        .clusters
        .iter()
        .find(|c| c.hosts.iter().any(|h| h == name));
    let kind = node_kind(topology, node, name);
    let what = cluster.map_or_else(
        || kind.to_owned(),
        |c| format!("{kind} of cluster {}", c.name),
    );
    let mut lines = vec![detail::heading(view, name, what)];
    let mut boxes: Vec<&str> = view.picture.boxes(name).collect();
    boxes.sort_by(|a, b| natural(a, b));
    lines.extend((!boxes.is_empty()).then(|| detail::fact(view, "boxes", boxes.join(", "))));
    lines.extend(detail::alarms(view, |alarm| {
        alarm.concerns(name) || boxes.iter().any(|own| alarm.concerns(own))
    }));
    if let Some(problem) = trouble(view, name) {
        lines.push(detail::styled(view, "× stale", problem, view.palette.bad));
    }
    let path = tree::path(topology, name);
    lines.extend(detail::path(view, &path));
    if let Some(switch) = view.picture.switch(name) {
        lines.extend(switch_lines(view, switch));
    }
    if let Some(agent) = view.snapshot.agents.iter().find(|a| a.host == name) {
        lines.extend(agent_lines(view, agent));
    }
    if let Some(chassis) = node.and_then(|n| n.chassis) {
        lines.push(detail::fact(view, "chassis", chassis.to_string()));
    }
    let reasons = cluster.into_iter().flat_map(|c| &c.reasons).enumerate();
    lines.extend(
        reasons
            .map(|(i, r)| detail::fact(view, if i == 0 { "cluster" } else { "" }, r.to_string())),
    );
    let uplink = path.last().and_then(|b| b.link);
    lines.extend(uplink.map(|i| detail::link(view, i)).unwrap_or_default());
    lines
}

fn node_kind(topology: &Topology, node: Option<&Node>, name: &str) -> &'static str {
    match node.map(|n| n.kind) {
        Some(NodeKind::Switch) if topology.is_root_bridge(name) => "switch, root bridge",
        Some(NodeKind::Switch) => "switch",
        Some(NodeKind::Host) => "host",
        Some(NodeKind::Router) => "router",
        Some(NodeKind::Unmanaged) => "bridge without management",
        None => "known by name only",
    }
}

/// The last answer of a switch, its topology changes and the number of its hosts.
fn switch_lines(view: &PanelView<'_>, switch: &SwitchStatus) -> Vec<Line<'static>> {
    let topology = &view.snapshot.topology;
    let seen = switch.seen.map_or_else(
        || "never".into(),
        |at| format!("{} ago", format::age(view.clock.since(at))),
    );
    let answered = format!("{seen}, at {}", switch.address);
    let mut lines = vec![detail::fact(view, "answered", answered)];
    if let Some(changes) = switch.top_changes {
        let changes = inventory::counted(changes as usize, "topology change");
        lines.push(detail::fact(view, "STP", changes));
    }
    let links = topology.links.iter().filter(|l| l.a == switch.name);
    let below: HashSet<&str> = links.map(|l| l.b.as_str()).collect();
    let hosts = inventory::counted(
        topology
            .nodes
            .iter()
            .filter(|n| n.kind == NodeKind::Host && below.contains(n.name.as_str()))
            .count(),
        "host",
    );
    lines.push(detail::fact(view, "carries", hosts));
    lines
}

/// The state of a host's agent, and the paths to others that it probes: two lines.
fn agent_lines(view: &PanelView<'_>, agent: &AgentStatus) -> Vec<Line<'static>> {
    let age = agent.seen.map_or_else(
        || "never".to_owned(),
        |at| format!("{} ago", format::age(view.clock.since(at))),
    );
    let mut lines = vec![match &agent.problem {
        Some(problem) => detail::styled(
            view,
            "agent",
            format!("silent, last reported {age}: {problem}"),
            view.palette.warn,
        ),
        None => detail::fact(
            view,
            "agent",
            format!(
                "{age}; card in {}, out {}",
                rate(agent.inward),
                rate(agent.outward)
            ),
        ),
    }];
    let ways: Vec<String> = agent.ways.iter().take(WAYS).map(way).collect();
    let left = agent.ways.len().saturating_sub(WAYS);
    let more = if left > 0 {
        format!(", {left} more")
    } else {
        String::new()
    };
    lines
        .extend((!ways.is_empty()).then(|| detail::fact(view, "ways to", ways.join(", ") + &more)));
    lines
}

fn rate(r: Option<BitsPerSec>) -> String {
    r.map_or_else(|| "–".to_owned(), |r| format!("{r}bit/s"))
}

fn way(way: &PathStatus) -> String {
    let over = if way.hops > 0 {
        format!(" over {}", inventory::counted(way.hops as usize, "router"))
    } else {
        String::new()
    };
    match way.min_us {
        Some(us) => format!("{} {}.{:02} ms{over}", way.to, us / 1000, us % 1000 / 10),
        None if way.reached => format!("{}{over}", way.to),
        None => format!("{} (no answer)", way.to),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_names_count() {
        let mut names = ["n10", "n2", "s1", "n", "größe2", "n99999999999999999999999"];
        names.sort_by(|a, b| natural(a, b));
        assert_eq!(names[1..4], ["n", "n99999999999999999999999", "n2"]);
        assert_eq!(natural("n2", "n10"), Ordering::Less);
    }
}
