//! Whether the messages of an all-to-all that share an edge are kept apart by its synchronizations.
//!
//! Source: aapc-2007 section 5.
//! Input: an all-to-all whose messages come once each ([`Scheduled`]).
//! Guarantee: any two messages that share an edge in different phases are ordered by synchronizations and the senders' own order.
//! Cost: O(messages * (path length + hosts)), memory O(hosts²) and a clock per token under way.
//! Deviations: none.
use super::alltoall::{NOWHERE, Scheduled};
use super::{Names, Violation};
use crate::alltoall::Alltoall;
use crate::capacities::Capacities;
use crate::message::{Message, Sync};

/// Checks the synchronizations of `plan`; a plan without any is meant for barriers, or for none.
pub(super) fn kept(names: &Names<'_>, plan: &Alltoall, scheduled: &Scheduled, _capacities: &Capacities) -> Result<(), Violation> {
    for sync in &plan.syncs {
        can_be_carried_out(names, scheduled, sync)?;
    }
    if plan.syncs.is_empty() { Ok(()) } else { users_are_ordered(names, plan, scheduled) }
}

/// Told by an end of the earlier message, awaited by the sender of the later one, never backwards: so no cycle either.
fn can_be_carried_out(names: &Names<'_>, scheduled: &Scheduled, sync: &Sync) -> Result<(), Violation> {
    let [after, before] = [sync.after, sync.before].map(|m| scheduled.position(m).map(|p| scheduled.phase(p)));
    let problem = match (after, before) {
        (None, _) | (_, None) => "no such message",
        (Some(after), Some(before)) if after >= before => "it does not point to a later phase",
        _ if sync.from != sync.after.src && sync.from != sync.after.dst => "told by neither end of the earlier message",
        _ if sync.to != sync.before.src => "awaited by another host than the sender",
        _ if sync.from == sync.to => "a host tells itself",
        _ => return Ok(()),
    };
    Err(Violation::Sync {
        after: names.of(sync.after),
        after_phase: after.map_or(-1, |p| p as i64),
        before: names.of(sync.before),
        before_phase: before.map_or(-1, |p| p as i64),
        problem: problem.to_owned(),
    })
}

/// Whether each edge's consecutive users are ordered, hence all of its users.
///
/// Each sender has a clock: how many messages of every sender are over before its current one. A token carries the
/// clock of the message it follows.
fn users_are_ordered(names: &Names<'_>, plan: &Alltoall, scheduled: &Scheduled) -> Result<(), Violation> {
    let hosts = names.0.hosts() as usize;
    let tokens = Tokens::new(plan, scheduled);
    let mut clocks = vec![0 as Count; hosts * hosts];
    let mut carried = Carried::new(hosts, scheduled.phase.len());
    let mut last_user: Vec<Option<(Message, u32, Count)>> = vec![None; names.0.edges() as usize];
    for (m, position) in plan.phases.iter().flatten().copied().zip(0u32..) {
        let own = &mut clocks[m.src as usize * hosts..][..hosts];
        for &after in tokens.to(position) {
            carried.deliver(after, own);
        }
        let number = own[m.src as usize] + 1;
        let mut unordered = None;
        names.0.path(m.src, m.dst, |edge| {
            let former = last_user[edge as usize].replace((m, position, number));
            match former {
                Some((first, at, its_number)) if own[first.src as usize] < its_number => unordered = Some((edge, first, at)),
                _ => {}
            }
        });
        if let Some((edge, first, at)) = unordered {
            return Err(Violation::Unordered {
                edge: names.edge(edge),
                first: names.of(first),
                first_phase: scheduled.phase(at),
                second: names.of(m),
                second_phase: scheduled.phase(position),
            });
        }
        own[m.src as usize] = number;
        carried.take(position, tokens.after(position), own);
    }
    Ok(())
}

/// The synchronizations by message.
struct Tokens {
    /// Where each message's entries in `awaited` begin; one more at the end.
    first: Vec<u32>,
    awaited: Vec<u32>,
    out: Vec<u32>,
}

impl Tokens {
    fn new(plan: &Alltoall, scheduled: &Scheduled) -> Tokens {
        let messages = scheduled.phase.len();
        let ends = |s: &Sync| scheduled.position(s.after).zip(scheduled.position(s.before));
        let (mut first, mut out) = (vec![0u32; messages + 1], vec![0u32; messages]);
        for (after, before) in plan.syncs.iter().filter_map(ends) {
            first[before as usize + 1] += 1;
            out[after as usize] += 1;
        }
        for i in 1..first.len() {
            first[i] += first[i - 1];
        }
        let (mut next, mut awaited) = (first.clone(), vec![0u32; plan.syncs.len()]);
        for (after, before) in plan.syncs.iter().filter_map(ends) {
            awaited[next[before as usize] as usize] = after;
            next[before as usize] += 1;
        }
        Tokens { first, awaited, out }
    }

    /// The messages whose tokens this one awaits.
    fn to(&self, position: u32) -> &[u32] {
        &self.awaited[self.first[position as usize] as usize..self.first[position as usize + 1] as usize]
    }

    /// How many tokens follow this message.
    fn after(&self, position: u32) -> u32 {
        self.out[position as usize]
    }
}

/// How many messages of a sender; every pair comes once by now, so less than hosts, and positions end long before 65,536 hosts.
type Count = u16;

/// Clocks of messages that have tokens under way, in slots that are used again.
struct Carried {
    width: usize,
    slot: Vec<u32>,
    values: Vec<Count>,
    under_way: Vec<u32>,
    free: Vec<u32>,
}

impl Carried {
    fn new(width: usize, messages: usize) -> Carried {
        Carried { width, slot: vec![NOWHERE; messages], values: Vec::new(), under_way: Vec::new(), free: Vec::new() }
    }

    fn take(&mut self, position: u32, tokens: u32, clock: &[Count]) {
        if tokens == 0 {
            return;
        }
        let slot = self.free.pop().unwrap_or_else(|| {
            self.under_way.push(0);
            self.values.resize(self.values.len() + self.width, 0);
            self.under_way.len() as u32 - 1
        });
        self.slot[position as usize] = slot;
        self.under_way[slot as usize] = tokens;
        self.values[slot as usize * self.width..][..self.width].copy_from_slice(clock);
    }

    fn deliver(&mut self, after: u32, clock: &mut [Count]) {
        let slot = self.slot[after as usize];
        let source = &self.values[slot as usize * self.width..][..self.width];
        clock.iter_mut().zip(source).for_each(|(c, s)| *c = (*c).max(*s));
        self.under_way[slot as usize] -= 1;
        if self.under_way[slot as usize] == 0 {
            self.free.push(slot);
        }
    }
}
