//! The card of a switch: its name, and a row for each host and for each link beside the tree.
use super::NetworkView;
use super::link_look::LinkLook;
use super::tree::{DrawnSwitch, seen_from};
use crate::svg::{SvgElement, shortened, text_width};
use inventory::BitsPerSec;
use inventory::topology::NodeKind;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Heights, in pixels.
pub(super) const HEAD: f64 = 26.0;
pub(super) const ROW: f64 = 18.0;
const BELOW_ROWS: f64 = 6.0;
/// The sizes of the letters of names and of everything else.
const NAME: f64 = 12.0;
const SMALL: f64 = 10.5;
const BESIDE: f64 = 10.0;
/// Hosts with something special that a folded card shows; it counts further ones.
const MOST_SPECIAL: usize = 12;
/// The most that a port, a name and a note take.
const WIDEST: [f64; 4] = [110.0, 190.0, 60.0, 80.0];

/// The hosts that are counted instead of shown one by one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DrawnFolding {
    pub(super) hosts: bool,
    /// The links that are not in the tree.
    pub(super) beside: bool,
}

/// A switch as it is drawn.
pub(super) struct SwitchCard {
    pub(super) name: String,
    tags: String,
    has_alarm: bool,
    is_stale: bool,
    rows: Vec<CardRow>,
    /// The width of each column of the rows: port, name, rate, note.
    columns: [f64; 4],
}

/// A line of a card.
struct CardRow {
    cells: [String; 4],
    look: LinkLook,
    tip: String,
    /// The link, unless the row stands for several.
    link: Option<usize>,
}

impl SwitchCard {
    pub(super) fn new(
        view: &NetworkView<'_>,
        switch: &DrawnSwitch<'_>,
        folding: DrawnFolding,
    ) -> SwitchCard {
        let name = switch.node.name.clone();
        let (shown, counted) = shown(view, switch, folding.hosts);
        let mut rows: Vec<CardRow> = shown
            .iter()
            .map(|&link| host_row(view, &name, link))
            .collect();
        let counts = counts(view, &counted, ["host", "hosts"]);
        let mut tags = tags(view, switch);
        if shown.is_empty() && switch.beside.is_empty() && counts.len() == 1 {
            let words = counts[0].cells.iter().filter(|cell| !cell.is_empty());
            tags.extend(words.cloned());
        } else {
            rows.extend(counts);
        }
        if folding.beside {
            rows.extend(self::counts(view, &switch.beside, ["link", "links"]));
        } else {
            let beside = switch.beside.iter();
            rows.extend(beside.map(|&link| beside_row(view, &name, link)));
        }
        let columns = [0, 1, 2, 3].map(|column| {
            let widths = rows
                .iter()
                .map(|row| text_width(&row.cells[column], SMALL.max(NAME)));
            widths.fold(0.0, f64::max).min(WIDEST[column])
        });
        SwitchCard {
            tags: tags.join(" · "),
            has_alarm: view.alarmed.contains(name.as_str()),
            is_stale: switch.node.stale,
            rows,
            columns,
            name,
        }
    }

    /// The height of the name and the rows.
    pub(super) fn height(&self) -> f64 {
        let rows = self.rows.len() as f64 * ROW;
        HEAD + if rows > 0.0 { rows + BELOW_ROWS } else { 0.0 }
    }

    pub(super) fn width(&self) -> f64 {
        let name = text_width(&self.name, NAME).min(WIDEST[1]) * 1.08;
        let alarm = if self.has_alarm { 16.0 } else { 0.0 };
        let head = name + alarm + text_width(&self.tags, SMALL) + 3.0 * BESIDE;
        let filled = self.columns.iter().filter(|width| **width > 0.0).count() as f64;
        let rows = self.columns.iter().sum::<f64>() + (filled + 1.0) * BESIDE;
        head.max(rows).max(90.0).ceil()
    }

    /// The middle of the row of a link, below the top of the card.
    pub(super) fn row_of(&self, link: usize) -> f64 {
        let row = self.rows.iter().position(|row| row.link == Some(link));
        row.map_or(HEAD / 2.0, |row| HEAD + (row as f64 + 0.5) * ROW + 2.0)
    }

    /// The card in a frame of this size.
    pub(super) fn drawn(
        &self,
        view: &NetworkView<'_>,
        (x, y): (f64, f64),
        (width, height): (f64, f64),
    ) -> SvgElement {
        let mut card = SvgElement::group().class(if self.is_stale {
            "switch stale"
        } else {
            "switch"
        });
        let mut frame = SvgElement::rect(x, y, width, height, 6.0).class("card");
        if self.is_stale {
            frame = frame.with("stroke-dasharray", "4 3");
        }
        card.push(frame);
        let head = format!(
            "M{x} {}v-{}q0-6 6-6h{}q6 0 6 6v{}z",
            y + HEAD,
            HEAD - 6.0,
            width - 12.0,
            HEAD - 6.0
        );
        card.push(SvgElement::path(&head).class("head"));
        let name = shortened(&self.name, NAME, WIDEST[1]);
        card.push(
            SvgElement::text(x + BESIDE, y + 17.0, &name)
                .class("ink bold")
                .tip(&self.name),
        );
        if self.has_alarm {
            let at = x + BESIDE + text_width(&name, NAME) * 1.08 + 5.0;
            card.push(SvgElement::text(at, y + 17.0, "▲").class("doubt-ink"));
        }
        if !self.tags.is_empty() {
            let tags = SvgElement::text(x + width - BESIDE, y + 17.0, &self.tags);
            card.push(tags.class("dim small").anchor("end"));
        }
        for (i, row) in self.rows.iter().enumerate() {
            card.push(self.row(view, row, (x, y + HEAD + i as f64 * ROW + 2.0), width));
        }
        card
    }

    fn row(
        &self,
        view: &NetworkView<'_>,
        row: &CardRow,
        (x, y): (f64, f64),
        width: f64,
    ) -> SvgElement {
        let mut drawn = view.marked(SvgElement::group(), row.link);
        if view.is_live && row.link.is_some() {
            let bar = SvgElement::rect(x + 1.0, y, 0.0, ROW, 0.0).class("load");
            drawn.push(bar.number("data-full", width - 2.0));
        }
        if !row.tip.is_empty() {
            drawn = drawn.tip(&row.tip);
        }
        let special = row.look.ink();
        let base = y + 13.0;
        let mut at = x + BESIDE;
        for (column, cell) in row.cells.iter().enumerate() {
            let room = self.columns[column];
            if !cell.is_empty() {
                let size = if column == 1 { NAME } else { SMALL };
                let ink = match (column, special) {
                    (_, Some(ink)) => ink,
                    (1, None) => "ink",
                    _ => "dim",
                };
                let small = if column == 1 { "" } else { " small" };
                let text = shortened(cell, size, room);
                // Rates stand right below each other.
                let text = match column {
                    2 => SvgElement::text(at + room, base, &text).anchor("end"),
                    _ => SvgElement::text(at, base, &text),
                };
                drawn.push(text.class(&format!("{ink}{small}")));
            }
            at += if room > 0.0 { room + BESIDE } else { 0.0 };
        }
        drawn
    }
}

/// Short words about the switch itself.
fn tags(view: &NetworkView<'_>, switch: &DrawnSwitch<'_>) -> Vec<String> {
    let mut tags = Vec::new();
    if view.topology.is_root_bridge(&switch.node.name) {
        tags.push("root bridge".to_owned());
    }
    match switch.node.kind {
        NodeKind::Router => tags.push("router".to_owned()),
        NodeKind::Unmanaged => tags.push("unmanaged".to_owned()),
        NodeKind::Switch | NodeKind::Host => {}
    }
    if switch.node.stale {
        tags.push("silent".to_owned());
    }
    tags
}

/// The links to hosts that have a row of their own, and those that are counted. In a folded card
/// only hosts that an operator must see have rows.
fn shown(
    view: &NetworkView<'_>,
    switch: &DrawnSwitch<'_>,
    folded: bool,
) -> (Vec<usize>, Vec<usize>) {
    let is_special = |link: usize| {
        let (_, host, _) = seen_from(&view.topology.links[link], &switch.node.name);
        view.look(link) < LinkLook::Inferred || view.alarmed.contains(host)
    };
    let mut room = if folded { MOST_SPECIAL } else { usize::MAX };
    switch.hosts.iter().partition(|link| {
        let is_shown = room > 0 && (!folded || is_special(**link));
        room -= usize::from(is_shown);
        is_shown
    })
}

/// Rows for links without rows of their own: how many, and at which rate.
fn counts(view: &NetworkView<'_>, links: &[usize], [one, many]: [&str; 2]) -> Vec<CardRow> {
    let mut groups: BTreeMap<(LinkLook, Reverse<BitsPerSec>), usize> = BTreeMap::new();
    for &link in links {
        let rate = view.topology.links[link].rate_bps;
        *groups.entry((view.look(link), Reverse(rate))).or_default() += 1;
    }
    groups
        .into_iter()
        .map(|((look, Reverse(rate)), count)| CardRow {
            cells: [
                String::new(),
                format!("{count} {}", if count == 1 { one } else { many }),
                rate.to_string(),
                look.note().to_owned(),
            ],
            look,
            tip: String::new(),
            link: None,
        })
        .collect()
}

fn host_row(view: &NetworkView<'_>, switch: &str, link: usize) -> CardRow {
    let found = &view.topology.links[link];
    let (port, host, far) = seen_from(found, switch);
    let look = view.look(link);
    let mut note = look.note().to_owned();
    if view.alarmed.contains(host) {
        note = format!("▲ {note}");
    }
    CardRow {
        cells: [
            port.to_owned(),
            host.to_owned(),
            found.rate_bps.to_string(),
            note,
        ],
        look,
        tip: format!(
            "{switch} {port} – {host} {far}, {}, {}, {}",
            found.rate_bps, found.state, found.grade
        ),
        link: Some(link),
    }
}

fn beside_row(view: &NetworkView<'_>, switch: &str, link: usize) -> CardRow {
    let found = &view.topology.links[link];
    let (port, other, far) = seen_from(found, switch);
    let look = view.look(link);
    let note = match look.note() {
        "" => "not in the tree",
        note => note,
    };
    CardRow {
        cells: [
            port.to_owned(),
            format!("{other} {far}"),
            found.rate_bps.to_string(),
            note.to_owned(),
        ],
        look,
        tip: format!(
            "{switch} {port} – {other} {far}, {}, {}, {}",
            found.rate_bps, found.state, found.grade
        ),
        link: Some(link),
    }
}
