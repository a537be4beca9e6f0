//! The links, ordered by the phases that each alone forces: the first ones bound every all-to-all.
use super::{Panel, detail, find_link, link_key};
use super::{falling, left, moving, right, rising, topology};
use crate::columns::{ColumnWidth, TableColumn};
use crate::format;
use crate::panel_view::PanelView;
use crate::port_names::{middle, short};
use crate::rows::{RowItem, RowKey, TableRow};
use crate::table::gauge;
use api::LinkLoad;
use inventory::topology::{Link, LinkState};
use ratatui::text::{Line, Span};

const COLUMNS: &[TableColumn] = &[
    left(
        ("link", "LINK", ColumnWidth::Content(12), 0),
        |view, row, width| with_link(view, row, |i, l| name(view, i, l, width)),
        "the nodes at both ends",
    ),
    left(
        ("ports", "PORTS", ColumnWidth::Content(6), 5),
        |view, row, width| with_link(view, row, |_, l| ports(view, l, width)),
        "the ports at both ends",
    ),
    right(
        ("phases", "PHASES", ColumnWidth::Fixed(7), 1),
        |view, row, _| planned(view, row, |l| l.phases, true),
        "phases of an all-to-all that this link alone makes necessary",
    ),
    right(
        ("load", "LOAD", ColumnWidth::Fixed(4), 4),
        |view, row, _| planned(view, row, |l| l.aapc_load, false),
        "messages of an all-to-all of all hosts over it, one direction",
    ),
    right(
        ("cap", "CAP", ColumnWidth::Fixed(3), 7),
        |view, row, _| planned(view, row, |l| l.capacity, false),
        "its rate in units of the slowest host's link",
    ),
    right(
        ("rate", "RATE", ColumnWidth::Fixed(5), 6),
        |view, row, _| with_link(view, row, |_, l| Line::raw(l.rate_bps.to_string())),
        "bits a second",
    ),
    left(
        ("to", "→ USE", ColumnWidth::Bar(5, 14), 2),
        |view, row, width| usage(view, row, |l| l.a_to_b, width),
        "the share of the rate in use, from the first end",
    ),
    left(
        ("from", "← USE", ColumnWidth::Bar(5, 14), 2),
        |view, row, width| usage(view, row, |l| l.b_to_a, width),
        "the share of the rate in use, to the first end",
    ),
    moving(left(
        ("trend", "TREND", ColumnWidth::Bar(8, 20), 8),
        |view, row, width| with_link(view, row, |i, _| detail::trend(view, Some(i), None, width)),
        "the busier direction in the last seconds",
    )),
];

pub(super) const PANEL: Panel = Panel {
    title: "Links",
    columns: COLUMNS,
    sorts: &[
        falling("phases", "phases"),
        falling("use", "to"),
        rising("name", "link"),
        falling("rate", "rate"),
    ],
    empty: "no link known yet",
    legend: &[
        ("◀", "a bottleneck: it bounds every all-to-all of all hosts"),
        ("BLOCKED", "the spanning tree does not use the cable"),
        ("unknown", "nobody reported the state of its ports"),
    ],
    detail_height: 7,
    folds_stages: false,
    rows,
    key,
    words,
    detail: about,
    below: None,
};

fn rows(view: &PanelView<'_>) -> Vec<TableRow> {
    let rows = order(view).into_iter().map(|i| RowItem::Link(i).into());
    view.directed(rows.collect())
}

fn key(view: &PanelView<'_>, row: &TableRow) -> Option<RowKey> {
    link_of(view, row).map(|(_, link)| link_key(link))
}

fn words(view: &PanelView<'_>, row: &TableRow) -> String {
    let Some((i, link)) = link_of(view, row) else {
        return String::new();
    };
    let shown = name(view, i, link, usize::MAX);
    let short = ports(view, link, usize::MAX);
    format!("{shown} {} {} {short}", link.a_port, link.b_port)
}

fn about(view: &PanelView<'_>, key: &RowKey) -> Vec<Line<'static>> {
    let Some(index) = find_link(view, key) else {
        return Vec::new();
    };
    let link = &view.snapshot.topology.links[index];
    let mut lines = vec![detail::heading(
        view,
        &format!("{}-{}", link.a, link.b),
        "link",
    )];
    lines.extend(detail::alarms(view, |alarm| {
        alarm.concerns_link(&link.a, &link.b)
    }));
    lines.extend(detail::link(view, index));
    lines
}

fn order(view: &PanelView<'_>) -> Vec<usize> {
    let links = &view.snapshot.topology.links;
    let mut order: Vec<usize> = (0..links.len()).collect();
    match view.sort {
        0 => order.sort_by_key(|&i| {
            std::cmp::Reverse(view.snapshot.loads.get(i).map_or(0, |l| l.phases))
        }),
        1 => order.sort_by(|&a, &b| topology::busy(view, b).total_cmp(&topology::busy(view, a))),
        2 => order.sort_by(|&a, &b| {
            let (a, b) = (&links[a], &links[b]);
            topology::natural(&a.a, &b.a).then_with(|| topology::natural(&a.b, &b.b))
        }),
        _ => order.sort_by_key(|&i| std::cmp::Reverse(links[i].rate_bps)),
    }
    order
}

fn link_of<'a>(view: &PanelView<'a>, row: &TableRow) -> Option<(usize, &'a Link)> {
    let RowItem::Link(index) = row.item else {
        return None;
    };
    Some((index, view.snapshot.topology.links.get(index)?))
}

fn with_link(
    view: &PanelView<'_>,
    row: &TableRow,
    cell: impl Fn(usize, &Link) -> Line<'static>,
) -> Line<'static> {
    link_of(view, row).map_or_else(Line::default, |(i, link)| cell(i, link))
}

/// A figure of the plan; nothing for a link that the plan does not use.
fn planned(
    view: &PanelView<'_>,
    row: &TableRow,
    figure: fn(&LinkLoad) -> u64,
    strong: bool,
) -> Line<'static> {
    with_link(view, row, |i, _| {
        let load = view.snapshot.loads.get(i).filter(|l| l.aapc_load > 0);
        let style = if strong {
            view.palette.strong
        } else {
            view.palette.text
        };
        let text = load.map_or_else(String::new, |l| figure(l).to_string());
        Line::styled(text, style)
    })
}

fn usage(
    view: &PanelView<'_>,
    row: &TableRow,
    direction: fn(&LinkLoad) -> Option<inventory::BitsPerSec>,
    width: usize,
) -> Line<'static> {
    with_link(view, row, |i, link| {
        let measured = view.snapshot.loads.get(i).and_then(direction);
        gauge(format::share(measured, link.rate_bps), width, view.palette)
    })
}

/// Both ends; what does not fit goes from the middle of each name.
fn name(view: &PanelView<'_>, index: usize, link: &Link, width: usize) -> Line<'static> {
    let p = view.palette;
    let mut behind = Vec::new();
    if view.snapshot.loads.get(index).is_some_and(|l| l.bottleneck) {
        behind.push(Span::styled(" ◀", p.bad));
    }
    match link.state {
        LinkState::Forwarding => {}
        LinkState::Blocked => behind.push(Span::styled(" BLOCKED", p.bad)),
        LinkState::Multipath => behind.push(Span::raw(" spread")),
        LinkState::Unknown => behind.push(Span::styled(" unknown", p.warn)),
    }
    let marks = behind.iter().map(Span::width).sum::<usize>();
    let room = width.saturating_sub(marks + 3);
    // A short name leaves its room to the other one.
    let half = room / 2;
    let first = room.saturating_sub(cells(&link.b)).max(half);
    let second = room.saturating_sub(cells(&link.a)).max(room - half);
    let ends = format!("{} – {}", middle(&link.a, first), middle(&link.b, second));
    let mut line = Line::from(ends);
    line.extend(behind);
    line
}

fn cells(text: &str) -> usize {
    Span::raw(text.to_owned()).width()
}

fn ports(view: &PanelView<'_>, link: &Link, width: usize) -> Line<'static> {
    let (a, b) = (short(&link.a_port), short(&link.b_port));
    let both = format!("{a}–{b}");
    let text = if Span::raw(&both).width() <= width {
        both
    } else {
        middle(&a, width)
    };
    Line::styled(text, view.palette.dim)
}
