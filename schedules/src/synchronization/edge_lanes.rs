//! The order of the messages that use an edge.
//!
//! An edge of width `c` has `c` lanes. Each message takes one lane of every edge on its path and
//! follows that lane's former user. The users of a lane are in order, so never more than `c`
//! messages are under way. By Dilworth's theorem every order that keeps an edge within its width
//! consists of such lanes.
//!
//! Three kinds of lanes cost nothing: the sender's own former lane, an unused lane, and a lane
//! whose former user is known to be over by then. Only if there is none of these, the message
//! follows the lane that was not used for longest. This knowledge takes a clock for each message,
//! so beyond [`MOST_SLOTS`] there are no clocks, and the message follows that lane at once. Of the
//! lanes that cost nothing, the one that was not used for longest is taken, because later messages
//! may know only of its user. An edge needs no lanes if its senders together never send more
//! messages at once than it carries.
use super::clocks::{PhaseCount, VectorClocks, join};
use super::messages::{NOBODY, PhaseMessages, SenderOrders};
use crate::capacities::EdgeCapacities;
use inventory::tree::{EdgeNumber, Tree};

/// For every message the messages that it follows directly, latest first: former users of its lanes
/// that are not otherwise known to be over, and its sender's messages of the last phase in which
/// the sender was busy before.
pub(super) struct MessageOrder {
    /// First place of each message's entries; one more at the end.
    first: Vec<u32>,
    earlier: Vec<u32>,
}

/// The bookkeeping that an edge needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EdgeTracking {
    /// None: its senders cannot fill it.
    Free,
    /// One lane.
    Narrow,
    /// Several lanes. The number is that of the edge among such edges.
    Wide(u32),
}

impl MessageOrder {
    pub(super) fn of(&self, message: u32) -> &[u32] {
        &self.earlier
            [self.first[message as usize] as usize..self.first[message as usize + 1] as usize]
    }

    pub(super) fn new(
        tree: &Tree,
        capacities: &EdgeCapacities,
        messages: &PhaseMessages,
    ) -> MessageOrder {
        let senders = SenderOrders::new(tree.hosts(), messages);
        let kinds = kinds(tree, capacities, &senders);
        let wide =
            (0..tree.edges()).filter(|&edge| matches!(kinds[edge as usize], EdgeTracking::Wide(_)));
        let wide: Vec<EdgeLanes> = wide
            .map(|edge| EdgeLanes::new(capacities.width(edge)))
            .collect();
        if wide.is_empty() {
            MessageOrder::on_narrow_edges(tree, messages, senders, &kinds)
        } else {
            MessageOrder::on_lanes(tree, messages, senders, &kinds, wide)
        }
    }

    fn empty(messages: &PhaseMessages) -> MessageOrder {
        let mut order = MessageOrder {
            first: Vec::with_capacity(messages.len() + 1),
            earlier: Vec::with_capacity(2 * messages.len()),
        };
        order.first.push(0);
        order
    }

    /// Adds the next message with the messages that it follows, and empties `follows`.
    fn push(&mut self, follows: &mut Vec<u32>) {
        follows.sort_unstable_by(|a, b| b.cmp(a));
        follows.dedup();
        self.earlier.append(follows);
        self.first.push(self.earlier.len() as u32);
    }

    /// The order if no edge has several lanes: there is no choice of lanes, so no clocks are
    /// needed.
    fn on_narrow_edges(
        tree: &Tree,
        messages: &PhaseMessages,
        mut senders: SenderOrders,
        kinds: &[EdgeTracking],
    ) -> MessageOrder {
        let mut last = vec![NOBODY; tree.edges() as usize];
        let mut order = MessageOrder::empty(messages);
        let mut found = Vec::new();
        for (number, (m, &phase)) in (0u32..).zip(messages.all.iter().zip(&messages.phase)) {
            senders.send(number, m.src, phase);
            found.extend(senders.previous_messages(m.src));
            tree.path(m.src, m.dst, |edge| {
                if kinds[edge as usize] == EdgeTracking::Narrow {
                    found.push(std::mem::replace(&mut last[edge as usize], number));
                }
            });
            found.retain(|&earlier| earlier != NOBODY && messages.phase(earlier) < phase);
            order.push(&mut found);
        }
        order
    }

    fn on_lanes(
        tree: &Tree,
        messages: &PhaseMessages,
        mut senders: SenderOrders,
        kinds: &[EdgeTracking],
        mut wide: Vec<EdgeLanes>,
    ) -> MessageOrder {
        let mut narrow = vec![NOBODY; tree.edges() as usize];
        let mut known = KnownFinished::new(&senders, messages);
        let mut order = MessageOrder::empty(messages);
        let (mut found, mut several, mut left) = (Vec::new(), Vec::new(), Vec::new());
        for (number, (m, &phase)) in (0u32..).zip(messages.all.iter().zip(&messages.phase)) {
            if known.is_asked() && senders.begins(m.src, phase) {
                left.extend(senders.previous_messages(m.src));
            }
            let slot = senders.send(number, m.src, phase);
            found.extend(senders.previous_messages(m.src));
            let own = found.len();
            let mut lanes = 1;
            tree.path(m.src, m.dst, |edge| match kinds[edge as usize] {
                EdgeTracking::Free => {}
                EdgeTracking::Narrow => {
                    lanes += 1;
                    found.push(std::mem::replace(&mut narrow[edge as usize], number));
                }
                EdgeTracking::Wide(at) => {
                    lanes += 1;
                    several.push(at);
                }
            });
            if known.is_asked() {
                left.extend_from_slice(&found[own..]);
            }
            found.retain(|&earlier| earlier != NOBODY && messages.phase(earlier) < phase);
            known.begin(&found);
            for &at in &several {
                if let Some(former) =
                    wide[at as usize].follow(messages, number, |user| known.is_over(user))
                {
                    found.push(former);
                    known.learn(former);
                }
            }
            for at in several.drain(..) {
                left.push(wide[at as usize].take(messages, number, |user| {
                    known.is_over(user) || found.contains(&user)
                }));
            }
            known.end(number, slot, senders.steps(m.src), lanes);
            left.drain(..)
                .filter(|&one| one != NOBODY)
                .for_each(|one| known.forget(one));
            order.push(&mut found);
        }
        order
    }
}

/// Schedules with more slots do without clocks, which would take longer than all the rest.
const MOST_SLOTS: usize = 2048;

/// The messages that are over before the current message starts.
struct KnownFinished {
    clocks: Option<VectorClocks>,
    /// The clock of the current message.
    now: Vec<PhaseCount>,
    /// Slot and step of each message so far.
    place: Vec<(u32, PhaseCount)>,
}

impl KnownFinished {
    fn new(senders: &SenderOrders, messages: &PhaseMessages) -> KnownFinished {
        let clocks = (senders.slots() <= MOST_SLOTS)
            .then(|| VectorClocks::new(senders.slots(), messages.len()));
        KnownFinished {
            now: if clocks.is_some() {
                vec![0; senders.slots()]
            } else {
                Vec::new()
            },
            clocks,
            place: Vec::new(),
        }
    }

    fn is_asked(&self) -> bool {
        self.clocks.is_some()
    }

    fn begin(&mut self, follows: &[u32]) {
        self.now.fill(0);
        follows.iter().for_each(|&earlier| self.learn(earlier));
    }

    fn learn(&mut self, earlier: u32) {
        if let Some(clocks) = &self.clocks {
            join(&mut self.now, clocks.of(earlier));
        }
    }

    fn is_over(&self, message: u32) -> bool {
        self.place
            .get(message as usize)
            .is_some_and(|&(slot, step)| self.now[slot as usize] >= step)
    }

    /// Ends the current message. Its clock is read until the message has left so many `lanes`,
    /// including that of its sender.
    fn end(&mut self, message: u32, slot: usize, steps: u32, lanes: u32) {
        if let Some(clocks) = &mut self.clocks {
            self.now[slot] = steps as PhaseCount;
            self.place.push((slot as u32, steps as PhaseCount));
            clocks.put(message, &self.now, lanes);
        }
    }

    fn forget(&mut self, message: u32) {
        if let Some(clocks) = &mut self.clocks {
            clocks.release(message);
        }
    }
}

fn kinds(tree: &Tree, capacities: &EdgeCapacities, senders: &SenderOrders) -> Vec<EdgeTracking> {
    let mut below: Vec<u64> = (0..tree.nodes())
        .map(|v| {
            if tree.is_host(v) {
                senders.width(v).into()
            } else {
                0
            }
        })
        .collect();
    for &v in tree.top_down().iter().rev() {
        if let Some(parent) = tree.parent(v) {
            below[parent as usize] += below[v as usize];
        }
    }
    let all = below[tree.root() as usize];
    let mut several = 0u32..;
    let mut kind = |edge: EdgeNumber| {
        let behind = if edge.is_multiple_of(2) {
            below[edge as usize / 2]
        } else {
            all - below[edge as usize / 2]
        };
        match capacities.width(edge) {
            width if behind <= width => EdgeTracking::Free,
            1 => EdgeTracking::Narrow,
            _ => EdgeTracking::Wide(several.next().unwrap_or(u32::MAX)),
        }
    };
    (0..tree.edges())
        .map(|edge| {
            if tree.ends(edge).is_some() {
                kind(edge)
            } else {
                EdgeTracking::Free
            }
        })
        .collect()
}

/// The lanes of one edge that have been used so far.
struct EdgeLanes {
    width: u64,
    /// By lane: its last user.
    user: Vec<u32>,
    /// By lane: the sender of its last user.
    sender: Vec<u32>,
}

impl EdgeLanes {
    fn new(width: u64) -> EdgeLanes {
        EdgeLanes {
            width,
            user: Vec::new(),
            sender: Vec::new(),
        }
    }

    /// The message that `message` has to follow so that a lane becomes free.
    fn follow(
        &self,
        messages: &PhaseMessages,
        message: u32,
        is_over: impl Fn(u32) -> bool,
    ) -> Option<u32> {
        let free = self.has_room()
            || self.own(messages, message).is_some()
            || self.user.iter().any(|&user| is_over(user));
        let oldest = self.user.iter().copied().min().filter(|_| !free);
        oldest.filter(|&oldest| messages.phase(oldest) < messages.phase(message))
    }

    /// Gives `message` a lane, and returns the lane's former user.
    fn take(
        &mut self,
        messages: &PhaseMessages,
        message: u32,
        is_over: impl Fn(u32) -> bool,
    ) -> u32 {
        let own = self.own(messages, message);
        if own.is_none() && self.has_room() {
            self.user.push(message);
            self.sender.push(messages.src(message));
            return NOBODY;
        }
        let oldest = || {
            (0..self.user.len())
                .filter(|&lane| is_over(self.user[lane]))
                .min_by_key(|&lane| self.user[lane])
        };
        let lane = own.or_else(oldest).unwrap_or(0);
        self.sender[lane] = messages.src(message);
        std::mem::replace(&mut self.user[lane], message)
    }

    fn has_room(&self) -> bool {
        (self.user.len() as u64) < self.width
    }

    /// The lane of an earlier message of the same sender.
    fn own(&self, messages: &PhaseMessages, message: u32) -> Option<usize> {
        let (src, phase) = (messages.src(message), messages.phase(message));
        (0..self.user.len())
            .find(|&lane| self.sender[lane] == src && messages.phase(self.user[lane]) < phase)
    }
}
