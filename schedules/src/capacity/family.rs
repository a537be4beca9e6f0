//! The sets of messages that a split has to share out evenly.
//!
//! A message is counted on every cable on its path and with its hosts. Several sets of messages are
//! easy to share out evenly as long as any two of them are disjoint or one contains the other (a
//! laminar family). The set of a cable and the set of a cable further up are not like that: some
//! messages use both cables, some only one of them. So the messages of a group are divided by the
//! depth at which their path turns round, and every cable has one set for each such turn. The sets
//! of one turn form a tree.
//!
//! A cable is safe when its sets, each rounded up, fit into its width. Where they do not fit, some
//! of them are put into a common set. That set no longer fits into the trees further up, which may
//! make a cable there unsafe. At depth two nothing is further up, so all cables are safe.
use super::groups::HostGroups;

/// No set contains this one.
pub(super) const NONE: u32 = u32::MAX;

/// Sets of messages by their senders. The same family serves the receivers, because every group
/// receives as much as it sends.
#[derive(Debug)]
pub(super) struct LaminarFamily {
    /// The first smallest set of each group; the set of turn `k` is `k` further on.
    first: Vec<u32>,
    /// The next larger set, which has a larger number, or [`NONE`].
    pub(super) parent: Vec<u32>,
    /// True if an even share of every set keeps every limit.
    pub(super) safe: bool,
    bound: u64,
}

/// A set and its number of messages.
#[derive(Clone, Copy)]
struct MessageSet {
    number: u32,
    load: u64,
}

/// The messages that go up a cable and turn round at one depth.
#[derive(Clone, Default)]
struct TurningSets {
    /// Sets that no other set contains yet.
    open: Vec<MessageSet>,
    /// The most messages in a phase of the sets that another set contains already.
    closed: u64,
}

impl TurningSets {
    fn is_empty(&self) -> bool {
        self.open.is_empty() && self.closed == 0
    }

    fn add(&mut self, other: TurningSets) {
        self.open.extend(other.open);
        self.closed += other.closed;
    }
}

impl LaminarFamily {
    /// The family for an even share among the bound's phases.
    pub(super) fn new(groups: &HostGroups) -> LaminarFamily {
        let mut family = LaminarFamily {
            first: vec![0; groups.len()],
            parent: Vec::new(),
            safe: true,
            bound: groups.bound,
        };
        let mut group_at = vec![None; groups.parent.len()];
        groups
            .spot
            .iter()
            .enumerate()
            .for_each(|(group, &spot)| group_at[spot] = Some(group));
        let below = hosts_below(groups);
        let mut rising: Vec<Vec<TurningSets>> = groups
            .depth
            .iter()
            .map(|&depth| vec![TurningSets::default(); depth])
            .collect();
        for spot in (0..groups.parent.len()).rev() {
            let mut turns = std::mem::take(&mut rising[spot]);
            let own = group_at[spot]
                .map(|group| family.of_group(groups, &below, group))
                .unwrap_or_default();
            let room = group_at[spot].map_or(0, |group| {
                groups.hosts(group).saturating_mul(groups.per_host)
            });
            if turns.iter().all(TurningSets::is_empty) {
                family.join_lowest(own, &mut turns, room, groups.width[spot]);
            } else {
                family.join_above(&own, &mut turns, room, groups.width[spot]);
            }
            // Messages of the last turn turn round right above.
            turns.pop();
            for (turn, further) in rising[groups.parent[spot]].iter_mut().zip(turns) {
                turn.add(further);
            }
        }
        family
    }

    /// Joins the sets where nothing comes from below. All messages up the cable are the group's
    /// own, so the set of its hosts may hold the set of the cable. The last of the `own` sets turns
    /// round below the cable.
    fn join_lowest(
        &mut self,
        mut own: Vec<MessageSet>,
        turns: &mut Vec<TurningSets>,
        room: u64,
        width: u64,
    ) {
        own.iter()
            .zip(&mut *turns)
            .for_each(|(&set, turn)| turn.open.push(set));
        let cable = self.join(turns, None, width);
        turns.push(TurningSets {
            open: own.pop().into_iter().collect(),
            closed: 0,
        });
        self.join(turns, cable, room);
        turns.pop();
    }

    /// Joins the group's `own` sets, then the result with the sets that come from below.
    fn join_above(&mut self, own: &[MessageSet], turns: &mut [TurningSets], room: u64, width: u64) {
        let mut sent: Vec<TurningSets> = own
            .iter()
            .map(|&set| TurningSets {
                open: vec![set],
                closed: 0,
            })
            .collect();
        self.join(&mut sent, None, room);
        for (turn, sent) in turns.iter_mut().zip(sent) {
            turn.add(sent);
        }
        self.join(turns, None, width);
    }

    /// The smallest set of the messages that a group sends round a turn at that depth.
    pub(super) fn set(&self, group: usize, turn: usize) -> u32 {
        self.first[group] + turn as u32
    }

    /// A group's smallest sets, by turn.
    fn of_group(&mut self, groups: &HostGroups, below: &[u64], group: usize) -> Vec<MessageSet> {
        self.first[group] = self.parent.len() as u32;
        let mut receivers = Vec::new();
        let (mut spot, mut nearer) = (groups.spot[group], 1);
        loop {
            // Hosts below this spot to which the path turns round here: not those nearer, and not the sender itself.
            receivers.push(below[spot] - nearer);
            nearer = below[spot];
            if spot == 0 {
                break;
            }
            spot = groups.parent[spot];
        }
        receivers
            .iter()
            .rev()
            .map(|receivers| self.add(receivers * groups.hosts(group)))
            .collect()
    }

    fn add(&mut self, load: u64) -> MessageSet {
        self.parent.push(NONE);
        MessageSet {
            number: self.parent.len() as u32 - 1,
            load,
        }
    }

    /// The set that contains all of these one or more sets.
    fn unite(&mut self, sets: &[MessageSet]) -> Option<MessageSet> {
        if let [only] = sets {
            return Some(*only);
        }
        let union = (!sets.is_empty()).then(|| self.add(sets.iter().map(|set| set.load).sum()))?;
        sets.iter()
            .for_each(|set| self.parent[set.number as usize] = union.number);
        Some(union)
    }

    /// Makes one set of every turn. Then it makes a common set of as many turns as it takes to keep
    /// within `room`, the deepest turns first, because they matter to the fewest cables. `held` is
    /// a common set that already contains the closed part of `turns`. Returns the common set.
    fn join(
        &mut self,
        turns: &mut [TurningSets],
        held: Option<MessageSet>,
        room: u64,
    ) -> Option<MessageSet> {
        for turn in &mut *turns {
            turn.open = self.unite(&turn.open).into_iter().collect();
        }
        let most = |load: u64| load.div_ceil(self.bound);
        let closed: u64 = if held.is_some() {
            0
        } else {
            turns.iter().map(|turn| turn.closed).sum()
        };
        let open = |turns: &[TurningSets]| -> u64 {
            turns
                .iter()
                .flat_map(|turn| &turn.open)
                .map(|set| most(set.load))
                .sum()
        };
        let mut common = held.map_or(0, |set| set.load);
        let mut kept = turns.len();
        let mut at_most = closed + most(common) + open(turns);
        while at_most > room && kept > 0 {
            kept -= 1;
            common += turns[kept].open.iter().map(|set| set.load).sum::<u64>();
            at_most = closed + most(common) + open(&turns[..kept]);
        }
        self.safe &= at_most <= room;
        let joined = &mut turns[kept..];
        let sets: Vec<MessageSet> = held
            .into_iter()
            .chain(joined.iter().flat_map(|turn| turn.open.iter().copied()))
            .collect();
        if sets.len() <= 1 {
            return held;
        }
        for turn in joined {
            turn.closed += turn
                .open
                .drain(..)
                .map(|set| set.load.div_ceil(self.bound))
                .sum::<u64>();
        }
        self.unite(&sets)
    }
}

fn hosts_below(groups: &HostGroups) -> Vec<u64> {
    let mut below = vec![0; groups.parent.len()];
    groups
        .spot
        .iter()
        .enumerate()
        .for_each(|(group, &spot)| below[spot] += groups.hosts(group));
    for spot in (1..below.len()).rev() {
        below[groups.parent[spot]] += below[spot];
    }
    below
}
