//! Two networks side by side: before a change and after it.
use super::card::DrawnFolding;
use super::link_look::LinkLook;
use super::{BOLD_TITLE, MARGIN, NetworkView, PicturePage};
use crate::svg::{SvgElement, SvgPicture, text_width, wrapped};
use inventory::topology::{Link, Topology};
use std::collections::{HashMap, HashSet};

/// The space between the two networks.
const BETWEEN: f64 = 48.0;

/// A network at one of the two times, with the notes about it.
#[derive(Debug)]
pub struct NetworkMoment<'a> {
    pub topology: &'a Topology,
    /// `now`, `epoch 3`.
    pub heading: String,
    /// Figures, a line each.
    pub figures: Vec<String>,
}

/// Both networks, with what is gone marked in the first, and what is new in the second.
pub fn compared(title: &str, before: &NetworkMoment<'_>, after: &NetworkMoment<'_>) -> SvgPicture {
    let [was, is] = [before, after].map(|moment| NetworkView::new(moment.topology));
    let changed = [
        changed(&was.topology, &is.topology, LinkLook::Gone),
        changed(&is.topology, &was.topology, LinkLook::New),
    ];
    let [gone, new] = changed;
    let views = [
        NetworkView {
            changed: gone,
            ..was
        },
        NetworkView { changed: new, ..is },
    ];
    let folding = views.each_ref().map(NetworkView::folding);
    let folding = DrawnFolding {
        hosts: folding.iter().any(|one| one.hosts),
        beside: folding.iter().any(|one| one.beside),
    };
    let trees = views.each_ref().map(|view| view.tree(folding));
    let width = |moment: &NetworkMoment<'_>, tree: &SvgPicture| {
        let lines = moment.figures.iter().map(|line| text_width(line, 12.0));
        lines.fold(tree.width, f64::max).max(200.0)
    };
    let widths = [width(before, &trees[0]), width(after, &trees[1])];
    let mut page = PicturePage::new("");
    page.width = widths[0] + widths[1] + BETWEEN;
    for line in wrapped(title, BOLD_TITLE, page.width) {
        page.add(
            SvgElement::text(MARGIN, page.y + 16.0, &line).class("ink title"),
            22.0,
        );
    }
    let lines = before.figures.len().max(after.figures.len()) as f64;
    let (top, head) = (page.y + 10.0, 30.0 + lines * 17.0);
    let mut x = MARGIN;
    for ((moment, tree), width) in [before, after].into_iter().zip(&trees).zip(widths) {
        page.content
            .push(SvgElement::text(x, top + 12.0, &moment.heading).class("ink bold"));
        for (i, line) in moment.figures.iter().enumerate() {
            let y = top + 30.0 + i as f64 * 17.0;
            page.content.push(SvgElement::text(x, y, line).class("dim"));
        }
        page.content.push(tree.at(x, top + head));
        x += width + BETWEEN;
    }
    let height = trees[0].height.max(trees[1].height);
    let between = MARGIN + widths[0] + BETWEEN / 2.0;
    let rule = SvgElement::line((between, top), (between, top + head + height));
    page.content.push(rule.class("rule"));
    page.y = top + head + height + 16.0;
    let looks: HashSet<&str> = views.iter().flat_map(NetworkView::looks).collect();
    page.legend(&looks);
    page.alarms(after.topology);
    page.finish()
}

/// The links that the other network does not have look so.
fn changed(own: &Topology, other: &Topology, look: LinkLook) -> HashMap<usize, LinkLook> {
    let of_other: HashMap<_, &Link> = other.links.iter().map(|link| (ends(link), link)).collect();
    let is_there = |link: &Link| {
        of_other.get(&ends(link)).is_some_and(|other| {
            other.rate_bps == link.rate_bps && other.carries_frames() == link.carries_frames()
        })
    };
    let links = own.links.iter().enumerate();
    let differs = links.filter(|(_, link)| !is_there(link));
    // A link that carries no frames is blocked rather than new.
    let changed = differs.filter(|(_, link)| link.carries_frames());
    changed.map(|(i, _)| (i, look)).collect()
}

/// The ends of a link in an order that does not depend on the way it is written.
fn ends(link: &Link) -> [(&str, &str); 2] {
    let mut ends = [
        (link.a.as_str(), link.a_port.as_str()),
        (link.b.as_str(), link.b_port.as_str()),
    ];
    ends.sort_unstable();
    ends
}
