//! The links, ordered by the phases that each alone forces: the first ones bound every all-to-all.
use super::{Panel, PanelView, detail, find_link, link_key};
use crate::format;
use crate::table::{PanelTable, RowKey, TableRow, gauge, left, right};
use inventory::topology::{Link, LinkState};
use ratatui::text::{Line, Span};

pub(super) struct LinksPanel;

impl Panel for LinksPanel {
    fn title(&self) -> &'static str {
        "Links"
    }

    fn sorts(&self) -> &'static [&'static str] {
        &["phases", "use", "name"]
    }

    fn table(&self, view: &PanelView<'_>) -> PanelTable {
        let wide = view.width >= 76;
        let bar = if wide { 14 } else { 9 };
        let mut columns = vec![left("LINK", 0), right("PHASES", 6), right("LOAD", 4)];
        if wide {
            columns.extend([right("CAP", 3), right("RATE", 5)]);
        }
        columns.extend([left("→ USE", bar), left("← USE", bar)]);
        let rows = order(view)
            .into_iter()
            .map(|i| row(view, i, wide, bar.into()))
            .collect();
        PanelTable {
            columns,
            rows,
            empty: "no link known yet",
        }
    }

    fn detail(&self, view: &PanelView<'_>, key: &RowKey) -> Vec<Line<'static>> {
        let Some(index) = find_link(view, key) else {
            return Vec::new();
        };
        let link = &view.snapshot.topology.links[index];
        let mut lines = vec![detail::heading(
            view,
            &format!("{}-{}", link.a, link.b),
            "link",
        )];
        lines.extend(detail::alarms(
            view,
            &[
                &format!("{}-{}", link.a, link.b),
                &format!("{}-{}", link.b, link.a),
            ],
        ));
        lines.extend(detail::link(view, index));
        lines
    }
}

fn order(view: &PanelView<'_>) -> Vec<usize> {
    let links = &view.snapshot.topology.links;
    let phases = |i: usize| view.snapshot.loads.get(i).map_or(0, |l| l.phases);
    let busy = |i: usize| {
        let share = |m| format::share(m, links[i].rate_bps).unwrap_or(0.0);
        view.snapshot
            .loads
            .get(i)
            .map_or(0.0, |l| share(l.a_to_b).max(share(l.b_to_a)))
    };
    let mut order: Vec<usize> = (0..links.len()).collect();
    match view.sort {
        0 => order.sort_by_key(|&i| std::cmp::Reverse(phases(i))),
        1 => order.sort_by(|&a, &b| busy(b).total_cmp(&busy(a))),
        _ => {}
    }
    order
}

fn row(view: &PanelView<'_>, index: usize, wide: bool, bar: usize) -> TableRow {
    let p = view.palette;
    let link = &view.snapshot.topology.links[index];
    let load = view.snapshot.loads.get(index);
    let mut cells = vec![name(view, link, load.is_some_and(|l| l.bottleneck), wide)];
    let figures: [String; 3] = match load.filter(|l| l.aapc_load > 0) {
        Some(l) => [
            l.phases.to_string(),
            l.aapc_load.to_string(),
            l.capacity.to_string(),
        ],
        None => Default::default(),
    };
    let [phases, load_figure, capacity] = figures;
    cells.extend([Line::styled(phases, p.strong), Line::raw(load_figure)]);
    if wide {
        cells.extend([Line::raw(capacity), Line::raw(link.rate_bps.to_string())]);
    }
    let measured = load.map_or([None, None], |l| [l.a_to_b, l.b_to_a]);
    cells.extend(measured.map(|m| gauge(format::share(m, link.rate_bps), bar, p)));
    let words = format!(
        "{} {} {} {} {}",
        link.a, link.a_port, link.b, link.b_port, cells[0]
    );
    TableRow::new(link_key(link), words, cells)
}

fn name(view: &PanelView<'_>, link: &Link, bottleneck: bool, wide: bool) -> Line<'static> {
    let p = view.palette;
    let ends = if wide {
        detail::ends(link)
    } else {
        format!("{} – {}", link.a, link.b)
    };
    let mut spans = vec![Span::raw(ends)];
    if bottleneck {
        spans.push(Span::styled(" ◀", p.bad));
    }
    match link.state {
        LinkState::Forwarding => {}
        LinkState::Blocked => spans.push(Span::styled(" BLOCKED", p.bad)),
        LinkState::Unknown => spans.push(Span::styled(" unknown", p.warn)),
    }
    Line::from(spans)
}
