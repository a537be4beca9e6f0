//! Turns the number of messages that groups send each other in each phase into senders and
//! receivers.
//!
//! One more phase is imagined, in which every host sends to itself. With this phase every group
//! sends every host of the network as many messages as the group has hosts, and two edge colourings
//! do the rest. The first colouring is done for each sending group, between phases and receiving
//! hosts: a colour is a sender, so no host sends twice in a phase, and each sends every receiver
//! one message. At this point a receiver is known only by its group. The second colouring is done
//! for each receiving group, between phases and senders: a colour is a receiver. Each receiver gets
//! the name of the host from which it receives in the imagined phase. So every host does send to
//! itself in that phase, which is then left out. Where hosts send several messages in a phase, the
//! phase is coloured in as many parts.
//!
//! The result is exact for any flows within the number of messages that the hosts of the groups
//! send and receive in a phase. Each colouring is one group's own, so threads share the groups of
//! large networks.
use super::colour::EdgeColouring;
use super::groups::{GroupFlow, HostGroups};
use crate::message::Message;
use std::num::NonZeroUsize;

/// Messages for each thread; fewer are not worth one.
const MESSAGES_PER_THREAD: usize = if cfg!(test) { 8 } else { 1 << 22 };

/// The messages of each phase.
pub(super) fn lift(groups: &HostGroups, phases: Vec<Vec<GroupFlow>>) -> Vec<Vec<Message>> {
    let (count, hosts) = (
        phases.len(),
        groups.members.iter().map(Vec::len).sum::<usize>(),
    );
    let threads = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let threads = threads.min(hosts * hosts / MESSAGES_PER_THREAD).max(1);
    let sent = by_sending_group(groups, phases);
    let received = in_threads(threads, sent, |sent| name_senders(groups, count, sent));
    let to = (0..groups.len()).collect();
    let mut parts = in_threads(threads, to, |to| {
        name_receivers(groups, count, &to, &received)
    })
    .into_iter();
    let mut lifted = parts.next().unwrap_or_default();
    for part in parts {
        lifted
            .iter_mut()
            .zip(part)
            .for_each(|(all, part)| all.extend(part));
    }
    lifted
}

/// The results of so many threads, each of which takes as many items that follow each other.
fn in_threads<T: Send, R: Send>(
    threads: usize,
    mut items: Vec<T>,
    work: impl Fn(Vec<T>) -> R + Sync,
) -> Vec<R> {
    if threads == 1 {
        return vec![work(items)];
    }
    let each = items.len().div_ceil(threads);
    std::thread::scope(|scope| {
        let work = &work;
        let mut running = Vec::new();
        while !items.is_empty() {
            let rest = items.split_off(each.min(items.len()));
            let own = std::mem::replace(&mut items, rest);
            running.push(scope.spawn(move || work(own)));
        }
        let results = running.into_iter().map(|thread| {
            thread
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        results.collect()
    })
}

/// A group with its outgoing messages: phase, receiving group, number.
type SentByGroup = (usize, Vec<(u32, u32, u32)>);

/// By receiving group: phase, sending host.
type ReceivedByGroup = Vec<Vec<(u32, u32)>>;

fn by_sending_group(groups: &HostGroups, phases: Vec<Vec<GroupFlow>>) -> Vec<SentByGroup> {
    let count = phases.len() as u32;
    let mut flows = vec![1; groups.len()];
    for flow in phases.iter().flatten() {
        // They begin at 1: the imagined phase is a flow of each group, too.
        flows[flow.from as usize] += 1;
    }
    let mut sent: Vec<SentByGroup> = flows
        .into_iter()
        .map(Vec::with_capacity)
        .enumerate()
        .collect();
    for (flows, phase) in phases.into_iter().zip(0..) {
        for flow in flows {
            sent[flow.from as usize]
                .1
                .push((phase, flow.to, flow.count));
        }
    }
    for (group, sent) in &mut sent {
        sent.push((count, *group as u32, groups.hosts(*group) as u32));
    }
    sent
}

/// The messages that some groups send.
fn name_senders(groups: &HostGroups, count: usize, sent: Vec<SentByGroup>) -> ReceivedByGroup {
    let group_of: Vec<usize> = (0..groups.len())
        .flat_map(|group| std::iter::repeat_n(group, groups.members[group].len()))
        .collect();
    let first_of: Vec<usize> = (0..groups.len())
        .map(|group| group_of.partition_point(|&other| other < group))
        .collect();
    let senders: usize = sent
        .iter()
        .map(|(group, _)| groups.members[*group].len())
        .sum();
    let mut received: ReceivedByGroup = groups
        .members
        .iter()
        .map(|receivers| Vec::with_capacity(senders * receivers.len()))
        .collect();
    for (group, sent) in sent {
        let senders = &groups.members[group];
        let mut parts = PhaseParts::new(groups, count, senders.len());
        let mut colouring = EdgeColouring::new(parts.total(), group_of.len(), senders.len());
        let mut taken = vec![0; groups.len()];
        for (phase, to, messages) in sent {
            for _ in 0..messages {
                // Each host receives one message from every sender of the group, the imagined phase included.
                let receiver = first_of[to as usize] + taken[to as usize] / senders.len();
                taken[to as usize] += 1;
                colouring.add(parts.next(phase), receiver);
            }
        }
        for part in 0..parts.total() {
            for (colour, &sender) in senders.iter().enumerate() {
                if let Some(receiver) = colouring.right_of(part, colour) {
                    received[group_of[receiver]].push((parts.phase(part), sender));
                }
            }
        }
    }
    received
}

/// The messages that some groups receive, by phase.
fn name_receivers(
    groups: &HostGroups,
    count: usize,
    to: &[usize],
    received: &[ReceivedByGroup],
) -> Vec<Vec<Message>> {
    let hosts: usize = groups.members.iter().map(Vec::len).sum();
    let mut phases = vec![Vec::new(); count];
    for &group in to {
        let receivers = groups.members[group].len();
        let mut parts = PhaseParts::new(groups, count, receivers);
        let mut colouring = EdgeColouring::new(parts.total(), hosts, receivers);
        for &(phase, sender) in received.iter().flat_map(|part| &part[group]) {
            colouring.add(parts.next(phase), sender as usize);
        }
        // The imagined phase fits into its first part.
        let itself = parts.first(count as u32);
        let names: Vec<Option<usize>> = (0..receivers)
            .map(|colour| colouring.right_of(itself, colour))
            .collect();
        for part in 0..itself {
            let phase = &mut phases[parts.phase(part) as usize];
            for (colour, receiver) in names.iter().enumerate() {
                if let (Some(src), Some(dst)) = (colouring.right_of(part, colour), *receiver) {
                    phase.push(Message {
                        src: src as u32,
                        dst: dst as u32,
                    });
                }
            }
        }
    }
    phases
}

/// Phases cut into parts in which every host sends, or receives, one message.
struct PhaseParts {
    each: usize,
    hosts: usize,
    /// For each phase the number of messages so far.
    messages: Vec<u32>,
}

impl PhaseParts {
    fn new(groups: &HostGroups, phases: usize, hosts: usize) -> PhaseParts {
        PhaseParts {
            each: groups.per_host as usize,
            hosts,
            messages: vec![0; phases + 1],
        }
    }

    fn total(&self) -> usize {
        self.messages.len() * self.each
    }

    /// The part of the phase that takes one more message.
    fn next(&mut self, phase: u32) -> usize {
        let messages = &mut self.messages[phase as usize];
        *messages += 1;
        phase as usize * self.each + (*messages as usize - 1) / self.hosts
    }

    fn first(&self, phase: u32) -> usize {
        phase as usize * self.each
    }

    fn phase(&self, part: usize) -> u32 {
        (part / self.each) as u32
    }
}
