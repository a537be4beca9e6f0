//! A network as a tree from left to right. A switch is a card as tall as what hangs below it, so
//! every trunk is a straight line; hosts are rows of their switch's card.
//!
//! | module | one idea |
//! |---|---|
//! | `tree` | which switch is below which |
//! | `card` | a switch with its rows |
//! | `link_look` | what is special about a link |
//! | `layout` | the place of each card, and the lines between them |
//! | `compared` | two networks, before and after |
mod card;
mod compared;
mod layout;
mod link_look;
mod tree;

pub use compared::{NetworkMoment, compared};

use crate::svg::{SvgElement, SvgPicture, text_width, wrapped};
use card::DrawnFolding;
use inventory::alarm::AlarmSubject;
use inventory::stages::folded::FoldedWay;
use inventory::topology::{Link, LinkState, NodeKind, Topology};
use layout::NetworkLayout;
use link_look::LinkLook;
use schedules::alltoall::AlltoallAlgorithm;
use schedules::bound;
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use tree::DrawnTree;

/// Up to this many hosts are shown one by one; more are counts.
const HOSTS_SHOWN: usize = 64;
/// Up to this many links that are not in the tree are shown one by one.
const BESIDE_SHOWN: usize = 60;
/// Alarms beyond these are counted.
const ALARMS_SHOWN: usize = 24;
const MARGIN: f64 = 20.0;
const LINE: f64 = 17.0;
/// The size of letters as wide as a title's, which are bold.
pub(crate) const BOLD_TITLE: f64 = 16.8;

/// A network, and what is to be seen in its picture.
pub struct NetworkView<'a> {
    /// The network with each stage as one node.
    topology: Cow<'a, Topology>,
    /// The network, and by link of the other the ways that it has, where there are stages.
    unfolded: &'a Topology,
    ways: Vec<Vec<FoldedWay>>,
    /// The link that determines the number of phases.
    bottleneck: Option<(String, String)>,
    /// Links that differ from the other picture.
    changed: HashMap<usize, LinkLook>,
    /// Nodes that an alarm names.
    alarmed: HashSet<String>,
    /// A viewer's page colours the links by their load.
    is_live: bool,
}

impl<'a> NetworkView<'a> {
    /// The whole network.
    pub fn new(unfolded: &'a Topology) -> NetworkView<'a> {
        let (topology, ways, stages) = match unfolded.folded() {
            Some(folded) => (Cow::Owned(folded.topology), folded.ways, folded.stages),
            None => (Cow::Borrowed(unfolded), Vec::new(), HashMap::new()),
        };
        let alarmed = unfolded
            .alarms
            .iter()
            .flat_map(|alarm| match &alarm.subject {
                AlarmSubject::Node(name) => vec![name.as_str()],
                AlarmSubject::Between(a, b) => vec![a.as_str(), b.as_str()],
                AlarmSubject::Other(_) => Vec::new(),
            })
            .map(|name| stages.get(name).map_or(name, String::as_str).to_owned());
        NetworkView {
            topology,
            unfolded,
            ways,
            bottleneck: bottleneck(unfolded),
            changed: HashMap::new(),
            alarmed: alarmed.collect(),
            is_live: false,
        }
    }

    /// The same with the ends of each link as attributes, by which a page finds it.
    #[must_use]
    pub fn live(self) -> NetworkView<'a> {
        NetworkView {
            is_live: true,
            ..self
        }
    }

    fn look(&self, link: usize) -> LinkLook {
        let found = &self.topology.links[link];
        let look = LinkLook::for_link(found);
        match self.changed.get(&link) {
            Some(&changed) => changed,
            None if self.bottleneck.as_ref().is_some_and(|(a, b)| {
                (*a == found.a && *b == found.b) || (*a == found.b && *b == found.a)
            }) =>
            {
                look.min(LinkLook::Bottleneck)
            }
            None => look,
        }
    }

    /// The ways of a link; none if it is one.
    fn ways(&self, link: usize) -> &[FoldedWay] {
        let ways = self.ways.get(link).map_or(&[][..], Vec::as_slice);
        if ways.len() > 1 { ways } else { &[] }
    }

    /// The drawing of a link, which a page can find: also by each of its ways.
    fn marked(&self, element: SvgElement, number: Option<usize>) -> SvgElement {
        let Some(number) = number.filter(|_| self.is_live) else {
            return element;
        };
        let key =
            |link: &'_ Link| [&link.a, &link.a_port, &link.b, &link.b_port].map(String::clone);
        let names = ["data-a", "data-a-port", "data-b", "data-b-port"];
        let ends = names.into_iter().zip(key(&self.topology.links[number]));
        let found = ends.fold(element.class("cable"), |element, (name, value)| {
            element.with(name, &value)
        });
        match self.ways(number) {
            [] => found,
            ways => {
                let ways: Vec<serde_json::Value> = ways
                    .iter()
                    .map(|way| {
                        let [a, a_port, b, b_port] = key(&self.unfolded.links[way.link]);
                        serde_json::json!([a, a_port, b, b_port, way.is_reversed])
                    })
                    .collect();
                found.with("data-ways", &serde_json::Value::from(ways).to_string())
            }
        }
    }

    /// The network alone, without title and legend.
    fn tree(&self, folding: DrawnFolding) -> SvgPicture {
        NetworkLayout::new(self, DrawnTree::from_topology(&self.topology), folding).drawn()
    }

    /// Counts what is too much to be shown one by one.
    fn folding(&self) -> DrawnFolding {
        DrawnFolding {
            hosts: self.topology.names(NodeKind::Host).count() > HOSTS_SHOWN,
            beside: DrawnTree::from_topology(&self.topology).beside.len() > BESIDE_SHOWN,
        }
    }

    /// The looks that occur, for a legend.
    fn looks(&self) -> HashSet<&'static str> {
        (0..self.topology.links.len())
            .map(|link| self.look(link).note())
            .collect()
    }
}

/// The ends of the link that determines the phases of an all-to-all; `None` without a tree.
pub fn bottleneck(topology: &Topology) -> Option<(String, String)> {
    let tree = topology.tree().ok()?;
    let bound = bound::bound(
        &tree,
        &AlltoallAlgorithm::faster_for(&tree).capacities(&tree),
    );
    (bound.load > 0).then_some(bound.edge)
}

/// The picture of a network, with a title above and its alarms below. A live one has no alarms:
/// its page shows them.
pub fn picture(view: &NetworkView<'_>, title: &str) -> SvgPicture {
    let mut page = PicturePage::new(title);
    let tree = view.tree(view.folding());
    page.width = page.width.max(tree.width);
    page.add(tree.at(MARGIN, page.y), tree.height + 16.0);
    page.legend(&view.looks());
    page.lost(view);
    if !view.is_live {
        page.alarms(view.unfolded);
    }
    page.finish()
}

/// `12 hosts on 4 switches, 1 link blocked`.
pub fn summary(topology: &Topology) -> String {
    let count = |number: usize, one: &str, many: &str| {
        format!("{number} {}", if number == 1 { one } else { many })
    };
    let of = |kind| topology.names(kind).count();
    let switches = of(NodeKind::Switch) + of(NodeKind::Unmanaged);
    let mut parts = vec![format!(
        "{} on {}",
        count(of(NodeKind::Host), "host", "hosts"),
        count(switches, "switch", "switches")
    )];
    let routers = of(NodeKind::Router);
    parts.extend((routers > 0).then(|| count(routers, "router", "routers")));
    let blocked = topology
        .links
        .iter()
        .filter(|link| link.state == LinkState::Blocked)
        .count();
    parts.extend((blocked > 0).then(|| format!("{} blocked", count(blocked, "link", "links"))));
    let alarms = topology.alarms.len();
    parts.extend((alarms > 0).then(|| count(alarms, "alarm", "alarms")));
    parts.join(", ")
}

/// A picture that grows downwards.
struct PicturePage {
    content: SvgElement,
    width: f64,
    y: f64,
}

impl PicturePage {
    /// An empty title takes no place.
    fn new(title: &str) -> PicturePage {
        let mut page = PicturePage {
            content: SvgElement::group(),
            width: text_width(title, BOLD_TITLE).clamp(420.0, 1000.0),
            y: 14.0,
        };
        if !title.is_empty() {
            let heading = SvgElement::text(MARGIN, 30.0, title).class("ink title");
            page.add(heading, 34.0);
        }
        page
    }

    fn add(&mut self, element: SvgElement, height: f64) {
        self.content.push(element);
        self.y += height;
    }

    /// Lines of small text, as wide as the picture.
    fn lines(&mut self, text: &str, class: &str, most: usize) {
        for line in wrapped(text, 11.5, self.width).into_iter().take(most) {
            let element = SvgElement::text(MARGIN, self.y + 11.0, &line).class(class);
            self.add(element.number("font-size", 11.5), LINE);
        }
    }

    /// The meaning of each look that occurs.
    fn legend(&mut self, looks: &HashSet<&str>) {
        let mut x = MARGIN;
        for look in LinkLook::EXPLAINED
            .into_iter()
            .filter(|look| looks.contains(look.note()))
        {
            let wide = text_width(look.meaning(), 10.5) + 52.0;
            if x > MARGIN && x + wide > MARGIN + self.width {
                (x, self.y) = (MARGIN, self.y + LINE);
            }
            let y = self.y + 8.0;
            let sample = SvgElement::line((x, y), (x + 26.0, y)).class(look.stroke());
            self.content.push(sample.number("stroke-width", 2.5));
            let meaning = SvgElement::text(x + 32.0, y + 4.0, look.meaning());
            self.content.push(meaning.class("dim small"));
            x += wide;
        }
        if x > MARGIN {
            self.y += LINE + 6.0;
        }
    }

    fn lost(&mut self, view: &NetworkView<'_>) {
        let lost = DrawnTree::from_topology(&view.topology).lost;
        if !lost.is_empty() {
            self.lines(
                &format!("seen nowhere: {}", lost.join(", ")),
                "doubt-ink",
                6,
            );
        }
    }

    fn alarms(&mut self, topology: &Topology) {
        for alarm in topology.alarms.iter().take(ALARMS_SHOWN) {
            self.lines(&format!("▲ {alarm}"), "doubt-ink", 4);
        }
        if let Some(more @ 1..) = topology.alarms.len().checked_sub(ALARMS_SHOWN) {
            self.lines(&format!("… and {more} more"), "doubt-ink", 1);
        }
    }

    fn finish(self) -> SvgPicture {
        SvgPicture {
            width: self.width + 2.0 * MARGIN,
            height: self.y + MARGIN,
            content: self.content,
        }
    }
}

#[cfg(test)]
mod tests;
