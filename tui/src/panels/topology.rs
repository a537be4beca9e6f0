//! The topology as a tree: the root bridge first, each line with the link to the node above it.
use super::{Panel, PanelView, detail, find_link, link_key};
use crate::format;
use crate::table::{PanelTable, RowIndent, RowKey, TableRow, gauge, left, right};
use crate::tree::{TreeBranch, ports, walk};
use api::{AgentStatus, PathStatus, SwitchStatus};
use inventory::BitsPerSec;
use inventory::topology::{Link, LinkState, Node, NodeKind, Topology};
use ratatui::text::{Line, Span};
use std::cmp::Ordering;
use std::collections::HashSet;

/// The number of a host's paths that the detail shows.
const WAYS: usize = 4;

pub(super) struct TopologyPanel;

impl Panel for TopologyPanel {
    fn title(&self) -> &'static str {
        "Topology"
    }

    fn sorts(&self) -> &'static [&'static str] {
        &["name", "load", "port"]
    }

    fn table(&self, view: &PanelView<'_>) -> PanelTable {
        let bar = if view.width >= 76 { 12 } else { 10 };
        let columns = vec![
            left("NODE", 0),
            left("PORTS", 13),
            right("RATE", 5),
            left("STP", 8),
            left("↓ LOAD", bar),
            left("↑ LOAD", bar),
        ];
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
        let rows = branches.iter().map(|b| row(view, b, bar.into())).collect();
        PanelTable {
            columns,
            rows,
            empty: "no topology yet",
        }
    }

    fn detail(&self, view: &PanelView<'_>, key: &RowKey) -> Vec<Line<'static>> {
        match key {
            RowKey::Node(name) => node(view, name),
            RowKey::Link { a, b, .. } => {
                let mut lines = vec![detail::heading(
                    view,
                    &format!("{a}-{b}"),
                    "link outside the tree",
                )];
                lines.extend(detail::alarms(
                    view,
                    &[&format!("{a}-{b}"), &format!("{b}-{a}")],
                ));
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
        _ => Ordering::Equal,
    };
    by.then(name)
}

/// The larger share of a link's two directions.
fn busy(view: &PanelView<'_>, link: usize) -> f64 {
    let (Some(load), Some(l)) = (
        view.snapshot.loads.get(link),
        view.snapshot.topology.links.get(link),
    ) else {
        return 0.0;
    };
    let share = |m| format::share(m, l.rate_bps).unwrap_or(0.0);
    share(load.a_to_b).max(share(load.b_to_a))
}

/// Compares names so that `n2` comes before `n10`.
fn natural(a: &str, b: &str) -> Ordering {
    let cut = |s: &str| s.len() - s.chars().rev().take_while(char::is_ascii_digit).count();
    let ((ai, bi), number) = ((cut(a), cut(b)), |s: &str| s.parse::<u64>().ok());
    a[..ai]
        .cmp(&b[..bi])
        .then_with(|| number(&a[ai..]).cmp(&number(&b[bi..])))
        .then_with(|| a.cmp(b))
}

fn row(view: &PanelView<'_>, branch: &TreeBranch<'_>, bar: usize) -> TableRow {
    let link = branch
        .link
        .and_then(|i| view.snapshot.topology.links.get(i));
    let mut cells = vec![name(view, branch)];
    cells.extend(match link {
        Some(link) => link_cells(view, branch, link, bar),
        None => root_cells(view, branch),
    });
    let words = cells
        .iter()
        .take(4)
        .map(Line::to_string)
        .collect::<Vec<_>>()
        .join(" ");
    let key = match link.filter(|_| branch.outside) {
        Some(link) => link_key(link),
        None => RowKey::Node(branch.name.to_owned()),
    };
    TableRow {
        hang: RowIndent {
            depth: branch.depth,
            dotted: branch.outside,
        },
        ..TableRow::new(key, words, cells)
    }
}

/// The cells after the name of a node that hangs on another node by `link`.
fn link_cells(
    view: &PanelView<'_>,
    branch: &TreeBranch<'_>,
    link: &Link,
    bar: usize,
) -> Vec<Line<'static>> {
    let p = view.palette;
    let parent = branch.parent.unwrap_or_default();
    let (own, other) = ports(link, parent);
    let ports = if other.is_empty() {
        own.to_owned()
    } else {
        format!("{own}–{other}")
    };
    let style = match link.state {
        LinkState::Forwarding => p.good,
        LinkState::Blocked => p.bad,
        LinkState::Unknown => p.warn,
    };
    let state = match stale(view, branch) {
        true => vec![Span::styled("× stale", p.bad)],
        false => vec![
            Span::styled(detail::state(link), style),
            Span::styled(detail::doubt(link.grade), p.warn),
        ],
    };
    let load = branch.link.and_then(|i| view.snapshot.loads.get(i));
    let (down, up) = load.map_or((None, None), |l| {
        if link.a == parent {
            (l.a_to_b, l.b_to_a)
        } else {
            (l.b_to_a, l.a_to_b)
        }
    });
    vec![
        Line::styled(ports, p.dim),
        Line::raw(link.rate_bps.to_string()),
        Line::from(state),
        gauge(format::share(down, link.rate_bps), bar, p),
        gauge(format::share(up, link.rate_bps), bar, p),
    ]
}

/// The cells after the name of a node that hangs on no other node.
fn root_cells(view: &PanelView<'_>, branch: &TreeBranch<'_>) -> Vec<Line<'static>> {
    let p = view.palette;
    let root = view.snapshot.topology.is_root_bridge(branch.name);
    let state = match (stale(view, branch), root) {
        (true, _) => Line::styled("× stale", p.bad),
        (false, true) => Line::styled("root", p.accent),
        (false, false) => Line::styled("apart", p.warn),
    };
    vec![Line::default(), Line::default(), state]
}

fn name(view: &PanelView<'_>, branch: &TreeBranch<'_>) -> Line<'static> {
    let p = view.palette;
    let root = view.snapshot.topology.is_root_bridge(branch.name);
    let mark = match branch.node.map(|n| n.kind) {
        _ if branch.outside => "",
        Some(NodeKind::Switch) if root => "◆ ",
        Some(NodeKind::Switch) => "▪ ",
        Some(NodeKind::Host) => "",
        Some(NodeKind::Router | NodeKind::Unmanaged) | None => "○ ",
    };
    let stale = stale(view, branch);
    let style = match branch.node.map(|n| n.kind) {
        _ if branch.outside || stale => p.dim,
        Some(NodeKind::Switch) => p.strong,
        _ => p.text,
    };
    let mut spans = vec![Span::styled(format!("{mark}{}", branch.name), style)];
    if !branch.outside
        && view
            .snapshot
            .alarms
            .iter()
            .any(|a| a.concerns(&branch.name))
    {
        spans.push(Span::styled(" ▲", p.warn));
    }
    Line::from(spans)
}

/// True if the node of this line has stopped answering.
fn stale(view: &PanelView<'_>, branch: &TreeBranch<'_>) -> bool {
    !branch.outside
        && (branch.node.is_some_and(|n| n.stale) || trouble(view, branch.name).is_some())
}

/// The reason for which a switch is stale.
fn trouble<'a>(view: &PanelView<'a>, name: &str) -> Option<&'a str> {
    view.snapshot
        .switches
        .iter()
        .find(|s| s.name == name)
        .and_then(|s| s.problem.as_deref())
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
    lines.extend(detail::alarms(view, &[name]));
    if let Some(problem) = trouble(view, name) {
        lines.push(detail::styled(view, "× stale", problem, view.palette.bad));
    }
    if let Some(switch) = view.snapshot.switches.iter().find(|s| s.name == name) {
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
    let branches = walk(topology, &|a, b| a.cmp(&b));
    let uplink = branches
        .iter()
        .find(|b| b.name == name && !b.outside)
        .and_then(|b| b.link);
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
        let changes = format::count(changes as usize, "topology change");
        lines.push(detail::fact(view, "STP", changes));
    }
    let is_host = |name: &str| {
        let mut nodes = topology.nodes.iter();
        nodes.any(|n| n.name == name && n.kind == NodeKind::Host)
    };
    let links = topology.links.iter();
    let hosts = links.filter(|l| l.a == switch.name && is_host(&l.b));
    let hosts = format::count(hosts.count(), "host");
    lines.push(detail::fact(view, "carries", hosts));
    lines
}

/// The state of a host's agent, and the paths to others that it probes: two lines.
fn agent_lines(view: &PanelView<'_>, agent: &AgentStatus) -> Vec<Line<'static>> {
    let age = agent.seen.map_or_else(
        || "never".to_owned(),
        |at| format!("{} ago", format::age(view.clock.since(at))),
    );
    let rate = |r: Option<BitsPerSec>| r.map_or_else(|| "–".to_owned(), |r| format!("{r}bit/s"));
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
    let more = agent.ways.len().saturating_sub(WAYS);
    let more = if more > 0 {
        format!(", {more} more")
    } else {
        String::new()
    };
    lines
        .extend((!ways.is_empty()).then(|| detail::fact(view, "ways to", ways.join(", ") + &more)));
    lines
}

fn way(way: &PathStatus) -> String {
    let over = if way.hops > 0 {
        format!(" over {}", format::count(way.hops as usize, "router"))
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
