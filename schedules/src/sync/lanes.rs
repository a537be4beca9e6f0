//! Who uses an edge after whom.
//!
//! An edge of width `c` has `c` lanes. Each message takes one lane of every edge on its path and follows that lane's former
//! user; the users of a lane are in order, so never more than `c` messages are under way. By Dilworth's theorem any order
//! that keeps an edge within its width is such lanes.
//!
//! Which lane costs least, best first: one whose former user has the same sender, for a sender's own order costs nothing;
//! one nobody used; one whose former user the message follows on another edge; the one that was not used for longest.
//! An edge whose senders together never send more at once than it carries needs no lanes.
use super::messages::{Messages, NOBODY, Senders};
use crate::capacities::Capacities;
use inventory::tree::{Edge, Tree};

/// For every message those it follows directly, latest first: former users of its lanes, and what its sender sent in the
/// phase it was busy in before.
pub(super) struct Order {
    /// Where each message's entries begin; one more at the end.
    first: Vec<u32>,
    earlier: Vec<u32>,
    /// What is kept of every edge's lanes.
    pub(super) kinds: Vec<Kind>,
}

/// What an edge needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Nothing: its senders cannot fill it.
    Free,
    /// One lane.
    Narrow,
    /// Several, with this number among such edges.
    Wide(u32),
}

impl Order {
    pub(super) fn of(&self, message: u32) -> &[u32] {
        &self.earlier[self.first[message as usize] as usize..self.first[message as usize + 1] as usize]
    }

    pub(super) fn new(tree: &Tree, capacities: &Capacities, messages: &Messages) -> Order {
        let mut senders = Senders::new(tree.hosts(), messages);
        let kinds = kinds(tree, capacities, &senders);
        let mut narrow = vec![NOBODY; tree.edges() as usize];
        let mut wide: Vec<Lanes> =
            (0..tree.edges()).filter(|&e| matches!(kinds[e as usize], Kind::Wide(_))).map(|e| Lanes::new(capacities.width(e))).collect();
        let mut order = Order { first: Vec::with_capacity(messages.len() + 1), earlier: Vec::with_capacity(2 * messages.len()), kinds };
        order.first.push(0);
        let (mut found, mut several) = (Vec::new(), Vec::new());
        for (number, (m, &phase)) in (0u32..).zip(messages.all.iter().zip(&messages.phase)) {
            senders.send(number, m.src, phase);
            found.extend(senders.former(m.src));
            tree.path(m.src, m.dst, |edge| match order.kinds[edge as usize] {
                Kind::Free => {}
                Kind::Narrow => found.push(std::mem::replace(&mut narrow[edge as usize], number)),
                Kind::Wide(at) => several.push(at),
            });
            for at in several.drain(..) {
                let former = wide[at as usize].take(messages, number, &found);
                found.push(former);
            }
            found.retain(|&earlier| earlier != NOBODY && messages.phase(earlier) < phase);
            found.sort_unstable_by(|a, b| b.cmp(a));
            found.dedup();
            order.earlier.append(&mut found);
            order.first.push(order.earlier.len() as u32);
        }
        order
    }
}

fn kinds(tree: &Tree, capacities: &Capacities, senders: &Senders) -> Vec<Kind> {
    let mut below: Vec<u64> = (0..tree.nodes()).map(|v| if tree.is_host(v) { senders.width(v).into() } else { 0 }).collect();
    for &v in tree.top_down().iter().rev() {
        if let Some(parent) = tree.parent(v) {
            below[parent as usize] += below[v as usize];
        }
    }
    let all = below[tree.root() as usize];
    let mut several = 0u32..;
    let mut kind = |edge: Edge| {
        let behind = if edge.is_multiple_of(2) { below[edge as usize / 2] } else { all - below[edge as usize / 2] };
        match capacities.width(edge) {
            width if behind <= width => Kind::Free,
            1 => Kind::Narrow,
            _ => Kind::Wide(several.next().unwrap_or(u32::MAX)),
        }
    };
    (0..tree.edges()).map(|edge| if tree.ends(edge).is_some() { kind(edge) } else { Kind::Free }).collect()
}

/// The lanes of one edge that were used so far.
struct Lanes {
    width: u64,
    /// Last user of each.
    user: Vec<u32>,
    /// That one's sender.
    sender: Vec<u32>,
}

impl Lanes {
    fn new(width: u64) -> Lanes {
        Lanes { width, user: Vec::new(), sender: Vec::new() }
    }

    /// Gives `message` a lane, and the lane's former user.
    fn take(&mut self, messages: &Messages, message: u32, follows: &[u32]) -> u32 {
        let (src, phase) = (messages.src(message), messages.phase(message));
        let own = (0..self.user.len()).find(|&lane| self.sender[lane] == src && messages.phase(self.user[lane]) < phase);
        if own.is_none() && (self.user.len() as u64) < self.width {
            self.user.push(message);
            self.sender.push(src);
            return NOBODY;
        }
        let followed = || follows.iter().find_map(|f| self.user.iter().position(|user| user == f));
        let longest = || (0..self.user.len()).min_by_key(|&lane| self.user[lane]).unwrap_or(0);
        let lane = own.or_else(followed).unwrap_or_else(longest);
        self.sender[lane] = src;
        std::mem::replace(&mut self.user[lane], message)
    }
}
