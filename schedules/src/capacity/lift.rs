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
//! send and receive in a phase.
use super::colour::EdgeColouring;
use super::groups::{GroupFlow, HostGroups};
use crate::message::Message;

/// The messages of each phase.
pub(super) fn lift(groups: &HostGroups, phases: Vec<Vec<GroupFlow>>) -> Vec<Vec<Message>> {
    let count = phases.len();
    let received = name_senders(groups, count, by_sending_group(groups, phases));
    name_receivers(groups, count, received)
}

/// For each group its outgoing messages: phase, receiving group, number.
fn by_sending_group(groups: &HostGroups, phases: Vec<Vec<GroupFlow>>) -> Vec<Vec<(u32, u32, u32)>> {
    let count = phases.len() as u32;
    let mut sent = vec![Vec::new(); groups.len()];
    for (flows, phase) in phases.into_iter().zip(0..) {
        flows
            .iter()
            .for_each(|flow| sent[flow.from as usize].push((phase, flow.to, flow.count)));
    }
    sent.iter_mut()
        .enumerate()
        .for_each(|(group, sent)| sent.push((count, group as u32, groups.hosts(group) as u32)));
    sent
}

/// For each group its incoming messages: phase, sending host.
fn name_senders(
    groups: &HostGroups,
    count: usize,
    sent: Vec<Vec<(u32, u32, u32)>>,
) -> Vec<Vec<(u32, u32)>> {
    let group_of: Vec<usize> = (0..groups.len())
        .flat_map(|group| std::iter::repeat_n(group, groups.members[group].len()))
        .collect();
    let first_of: Vec<usize> = (0..groups.len())
        .map(|group| group_of.partition_point(|&other| other < group))
        .collect();
    let mut received = vec![Vec::new(); groups.len()];
    for (senders, sent) in groups.members.iter().zip(sent) {
        let mut parts = PhaseParts::new(groups, count, senders.len());
        let mut colouring = EdgeColouring::new(parts.total(), group_of.len(), senders.len());
        let mut taken = vec![0; groups.len()];
        for (phase, to, messages) in sent {
            for _ in 0..messages {
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

/// All messages by phase.
fn name_receivers(
    groups: &HostGroups,
    count: usize,
    received: Vec<Vec<(u32, u32)>>,
) -> Vec<Vec<Message>> {
    let hosts: usize = groups.members.iter().map(Vec::len).sum();
    let mut phases = vec![Vec::new(); count];
    for (receivers, received) in groups.members.iter().zip(received) {
        let mut parts = PhaseParts::new(groups, count, receivers.len());
        let mut colouring = EdgeColouring::new(parts.total(), hosts, receivers.len());
        for (phase, sender) in received {
            colouring.add(parts.next(phase), sender as usize);
        }
        // The imagined phase fits into its first part.
        let itself = parts.first(count as u32);
        for (colour, receiver) in
            (0..receivers.len()).map(|colour| (colour, colouring.right_of(itself, colour)))
        {
            let Some(receiver) = receiver else { continue };
            for part in 0..itself {
                if let Some(sender) = colouring.right_of(part, colour) {
                    phases[parts.phase(part) as usize].push(Message {
                        src: sender as u32,
                        dst: receiver as u32,
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
