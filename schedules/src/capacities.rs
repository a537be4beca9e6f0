//! The number of messages that each directed edge carries at once.
//!
//! Source: none of the papers; they assume links of one rate. See
//! docs/decisions/two-planners-one-verifier.md.
//!
//! All messages have one rate, the unit. The width of an edge is the number of whole units in its
//! rate; the rest of its rate is idle. With hosts of 1G and trunks of 10G the unit is 1G, and
//! trunks are 10 wide.
//!
//! The unit is the coarsest rate for which both hold:
//! - every edge is at least one message wide;
//! - the phases of an all-to-all, each as long as a message at that rate takes, together last at
//!   most 1 % longer than the bottleneck edge needs to carry its load at its full rate.
//!
//! With 8 hosts of 25G at each of three switches and trunks of 40G it is 20G: a host fills most of its
//! lane, while with the common divisor, 5G, it would send into a lane a fifth as fast as itself, and 8
//! hosts at once would overflow the trunk's queue. With more than [`MOST_PHASES`] it is the common
//! divisor. Candidates are whole fractions of the edges' rates down to a 16th of the slowest, because
//! between two such fractions no width changes. If none comes within 1 %, as in small trees whose few
//! phases cannot be cut finer, the unit is the greatest common divisor of all rates, with which nothing
//! is idle; measured rates, and those of aggregates, may have almost none: where even the slowest edge
//! would be more than 16 wide, it is the candidate that comes closest.
use inventory::BitsPerSec;
use inventory::tree::parallel_cables::MemberCable;
use inventory::tree::{EdgeNumber, NodeNumber, Tree};

/// The slowest edge has at most this width, in messages.
const WIDEST: u64 = 16;
/// Units of which several fill the slowest edge need fewer phases; more than these take seconds to plan.
const MOST_PHASES: u64 = 8_192;
/// At most this many units are tried.
const TRIED: usize = 1_000;

/// The width of every edge in messages, and the rate of one message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EdgeCapacities {
    /// For each node the width of the cable to its parent; 0 at the root.
    widths: Vec<u64>,
    rate: BitsPerSec,
}

impl EdgeCapacities {
    /// Every edge carries one message, at the rate of the slowest cable, as the papers assume.
    pub fn unit(tree: &Tree) -> EdgeCapacities {
        EdgeCapacities {
            widths: (0..tree.nodes())
                .map(|v| u64::from(tree.parent(v).is_some()))
                .collect(),
            rate: BitsPerSec(slowest(tree)),
        }
    }

    /// The unit of the module's description, and the width of each edge in it.
    pub fn from_tree(tree: &Tree) -> EdgeCapacities {
        let unit = unit(tree);
        EdgeCapacities {
            widths: (0..tree.nodes())
                .map(|v| match tree.member_cables(v) {
                    _ if tree.parent(v).is_none() => 0,
                    [] => (tree.rate(v).0 / unit.max(1)).max(1),
                    cables => {
                        let units = cables.iter().map(|cable| units_of(*cable, unit));
                        units.sum::<u64>().max(1)
                    }
                })
                .collect(),
            rate: BitsPerSec(unit),
        }
    }

    /// The messages that `edge` carries at once: 0 for the unused numbers of the root, otherwise at
    /// least 1.
    pub fn width(&self, edge: EdgeNumber) -> u64 {
        self.widths[edge as usize / 2]
    }

    /// The messages that one of the cables of an edge carries at once.
    pub fn cable_width(&self, edge: EdgeNumber, cable: MemberCable) -> u64 {
        self.width(edge).min(units_of(cable, self.rate.0))
    }

    /// The rate of a message on every edge it uses; zero where there is no cable.
    pub fn rate(&self) -> BitsPerSec {
        self.rate
    }

    /// By edge: true if more messages can be under way on it than it carries, although all other
    /// edges keep their widths. `sent_at_once` has the most messages that each host sends at once.
    ///
    /// A message on the way up comes from a host or over one of the cables below. One on the way
    /// down to a switch goes on over one of the cables below. If those together carry no more than
    /// the edge, it cannot overflow.
    pub(crate) fn can_overflow(&self, tree: &Tree, sent_at_once: &[u64]) -> Vec<bool> {
        let nodes = tree.nodes() as usize;
        let mut senders = sent_at_once.to_vec();
        senders.resize(nodes, 0);
        // By node: the most messages under way that come up to it, and that go down from it.
        let (mut up, mut down) = (senders.clone(), vec![0u64; nodes]);
        for &v in tree.top_down().iter().rev() {
            if let Some(parent) = tree.parent(v) {
                let (at, width) = (v as usize, self.widths[v as usize]);
                senders[parent as usize] += senders[at];
                up[parent as usize] += up[at].min(width);
                down[parent as usize] += if tree.is_host(v) {
                    width
                } else {
                    down[at].min(width)
                };
            }
        }
        let all = senders[tree.root() as usize];
        (0..tree.edges())
            .map(|edge| {
                let v = edge / 2;
                let others = all - senders[v as usize];
                let most = match edge.is_multiple_of(2) {
                    true => up[v as usize],
                    false if tree.is_host(v) => others,
                    false => others.min(down[v as usize]),
                };
                tree.ends(edge).is_some() && most > self.width(edge)
            })
            .collect()
    }

    /// True if no edge carries two messages at once.
    pub fn are_unit(&self) -> bool {
        self.widths.iter().all(|&width| width <= 1)
    }
}

fn slowest(tree: &Tree) -> u64 {
    let below = (0..tree.nodes()).filter(|&v| tree.parent(v).is_some());
    below.flat_map(|v| cable_rates(tree, v)).min().unwrap_or(0)
}

/// The most that one flow gets of each cable between a node and its parent.
fn cable_rates(tree: &Tree, node: NodeNumber) -> impl Iterator<Item = u64> {
    let cables = tree.member_cables(node);
    let alone = cables.is_empty().then(|| tree.rate(node));
    let rates = alone
        .into_iter()
        .chain(cables.iter().map(|cable| cable.flow_rate()));
    rates.map(|rate| rate.0)
}

/// The units that the parts of a cable have.
fn units_of(cable: MemberCable, unit: u64) -> u64 {
    cable.flow_rate().0 / unit.max(1) * u64::from(cable.parts.get())
}

/// The rate of a message. Cables that flows are spread over are filled by the common divisor only.
fn unit(tree: &Tree) -> u64 {
    let (common, slowest) = (common(tree), slowest(tree));
    let has_cables = (0..tree.nodes()).any(|v| !tree.member_cables(v).is_empty());
    if let Some(common) = common.filter(|&common| common == slowest || has_cables) {
        return common;
    }
    match fitting(&critical(tree)) {
        Some(fitting) if fitting.fills_bottleneck && fitting.phases <= MOST_PHASES => fitting.unit,
        fitting => common
            .or(fitting.map(|fitting| fitting.unit))
            .unwrap_or(slowest),
    }
}

/// The common divisor of the rates of all edges that carry anything, unless it is too small.
fn common(tree: &Tree) -> Option<u64> {
    let loads = loads(tree);
    let rates: Vec<u64> = (0..tree.nodes())
        .filter(|&v| loads[2 * v as usize] > 0)
        .flat_map(|v| cable_rates(tree, v))
        .map(|rate| rate.max(1))
        .collect();
    let unit = rates.iter().copied().reduce(gcd)?;
    let slowest = rates.into_iter().min()?;
    (slowest / unit <= WIDEST).then_some(unit)
}

/// Greatest common divisor (Euclid). That of 0 and a number is the number.
pub(crate) fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Rate and load of the edges that may be bottlenecks: by rising rate, each with more to carry than
/// the slower ones.
fn critical(tree: &Tree) -> Vec<(u64, u64)> {
    let loads = loads(tree);
    let loaded = (0..tree.nodes()).filter(|&v| loads[2 * v as usize] > 0);
    let mut edges: Vec<(u64, u64)> = loaded
        .map(|v| (tree.rate(v).0.max(1), loads[2 * v as usize]))
        .collect();
    edges.sort_unstable_by_key(|&(rate, load)| (rate, std::cmp::Reverse(load)));
    let mut most = 0;
    edges.retain(|&(_, load)| {
        let more = load > most;
        most = most.max(load);
        more
    });
    edges
}

struct FittingUnit {
    unit: u64,
    phases: u64,
    /// Its phases last at most 1 % longer than the bottleneck needs.
    fills_bottleneck: bool,
}

/// The coarsest unit that fills the bottleneck of these edges, or the one that comes closest; none if nothing is sent.
fn fitting(edges: &[(u64, u64)]) -> Option<FittingUnit> {
    let slowest = edges.first()?.0;
    let &(rate, load) = edges
        .iter()
        .max_by(|a, b| (wide(a.1) * wide(b.0)).cmp(&(wide(b.1) * wide(a.0))))?;
    let mut best: Option<(u64, u64)> = None;
    for unit in units(edges, slowest)
        .take(TRIED)
        .take_while(|&unit| wide(unit) * wide(WIDEST) >= wide(slowest))
    {
        let phases = edges
            .iter()
            .map(|&(rate, load)| load.div_ceil(rate / unit))
            .max()?;
        if best.is_none_or(|(fewest, at)| wide(phases) * wide(at) < wide(fewest) * wide(unit)) {
            best = Some((phases, unit));
        }
        if wide(phases) * wide(rate) * 100 <= wide(load) * wide(unit) * 101 {
            return Some(FittingUnit {
                unit,
                phases,
                fills_bottleneck: true,
            });
        }
    }
    best.map(|(phases, unit)| FittingUnit {
        unit,
        phases,
        fills_bottleneck: false,
    })
}

/// The rates of the edges over 1, 2, 3, ..., from `slowest` down.
fn units(edges: &[(u64, u64)], slowest: u64) -> impl Iterator<Item = u64> {
    let mut fractions: Vec<(u64, u64)> = edges
        .iter()
        .map(|&(rate, _)| (rate, rate.div_ceil(slowest)))
        .collect();
    std::iter::from_fn(move || {
        let (rate, parts) = fractions
            .iter_mut()
            .max_by_key(|(rate, parts)| *rate / *parts)?;
        let unit = *rate / *parts;
        *parts += 1;
        Some(unit).filter(|&unit| unit > 0)
    })
}

fn wide(n: u64) -> u128 {
    u128::from(n)
}

/// Messages of one all-to-all over each directed edge: the hosts on one side times the hosts on the
/// other. Indexed by [`EdgeNumber`](inventory::tree::EdgeNumber); the unused numbers of the root
/// hold 0.
pub fn loads(tree: &Tree) -> Vec<u64> {
    let n = u64::from(tree.hosts());
    tree.hosts_below()
        .iter()
        .map(|&below| u64::from(below))
        .flat_map(|below| [below * (n - below); 2])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use samples::trees::{star, topology};

    /// Switches of four hosts each under a core.
    fn leaves(count: usize, host: &str, uplink: &str) -> Tree {
        let names: Vec<String> = (0..count).map(|s| format!("s{s}")).collect();
        let hosts: String = (0..4 * count)
            .map(|h| format!("  n{h}: {{switch: s{}, rate: {host}}}\n", h / 4))
            .collect();
        let links: Vec<String> = names
            .iter()
            .map(|s| format!("{{a: core, b: {s}, rate: {uplink}}}"))
            .collect();
        topology(&format!(
            "switches: [core, {}]\nhosts:\n{hosts}links: [{}]",
            names.join(", "),
            links.join(", ")
        ))
    }

    /// The widths of a host's and a switch's cable, and the unit in Mbit/s.
    fn chosen(tree: &Tree) -> (u64, u64, u64) {
        let capacities = EdgeCapacities::from_tree(tree);
        let uplink = (tree.hosts()..tree.nodes())
            .find(|&v| tree.parent(v).is_some())
            .unwrap();
        (
            capacities.width(0),
            capacities.width(2 * uplink),
            capacities.rate().0 / 1_000_000,
        )
    }

    #[test]
    fn the_unit_is_common_to_all_or_fills_the_bottleneck() {
        assert_eq!(chosen(&leaves(4, "1G", "10G")), (1, 10, 1_000));
        assert_eq!(chosen(&leaves(4, "25G", "40G")), (1, 2, 20_000));
        assert_eq!(chosen(&leaves(4, "1G", "2.5G")), (1, 3, 833));
        assert_eq!(
            chosen(&leaves(4, "1.7G", "2.6G")),
            (1, 2, 1_300),
            "17 and 26 of 100M would be too wide"
        );
        assert_eq!(chosen(&leaves(2, "10G", "1G")), (10, 1, 1_000));
        assert_eq!(chosen(&leaves(40, "987M", "1973M")), (1, 2, 986));
        assert_eq!(
            EdgeCapacities::unit(&leaves(2, "25G", "40G")).rate(),
            BitsPerSec(25_000_000_000)
        );
    }

    #[test]
    fn whatever_the_rates_little_is_lost() {
        let mut rate = 1_000_003u64;
        let (mut worst, mut sum) = (0.0f64, 0.0);
        for _ in 0..400 {
            let mut next = |low: u64, high: u64| {
                rate = rate
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                format!("{}M", low + (rate >> 33) % (high - low))
            };
            let tree = leaves(16, &next(900, 5_000), &next(900, 20_000));
            let capacities = EdgeCapacities::from_tree(&tree);
            let loads = loads(&tree);
            let edges = (0..tree.nodes()).filter(|&v| tree.parent(v).is_some());
            let least = edges
                .map(|v| loads[2 * v as usize] as f64 / tree.rate(v).0 as f64)
                .fold(0.0, f64::max);
            let lost = crate::bound::bound(&tree, &capacities).phases as f64
                / capacities.rate().0 as f64
                / least
                - 1.0;
            worst = worst.max(lost);
            sum += lost;
            assert!(
                (0..tree.edges())
                    .map(|edge| capacities.width(edge))
                    .filter(|&width| width > 0)
                    .min()
                    <= Some(WIDEST)
            );
        }
        assert!(
            worst < 0.015 && sum / 400.0 < 0.002,
            "worst {worst}, mean {}",
            sum / 400.0
        );
    }

    #[test]
    fn rates_of_nothing_do_no_harm() {
        use inventory::tree::TreeCable;
        let cable = |a, rate| TreeCable {
            a,
            b: "s",
            rate: BitsPerSec(rate),
        };
        let tree = Tree::new(
            &[("x", 1), ("y", 1), ("z", 1)],
            &["s"],
            &[cable("x", 0), cable("y", 5), cable("z", u64::MAX)],
        )
        .unwrap();
        assert!(
            (0..3).all(|h| EdgeCapacities::from_tree(&tree).width(2 * h) >= 1
                && EdgeCapacities::unit(&tree).width(2 * h) == 1)
        );
    }

    #[test]
    fn links_of_one_rate_are_one_message_wide() {
        let tree = star(&[2, 2]);
        assert_eq!(
            EdgeCapacities::from_tree(&tree),
            EdgeCapacities::unit(&tree)
        );
        assert_eq!(
            EdgeCapacities::from_tree(&star(&[1])).rate(),
            BitsPerSec::GIGABIT
        );
    }
}
