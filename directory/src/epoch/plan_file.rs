//! `alltoall.plan`: an all-to-all in few octets per message.
//!
//! ```text
//! "heddle alltoall plan, version 2\n"
//! zlib stream (RFC 1950; its Adler-32 covers everything in it) of numbers,
//! 7 bits per octet, lowest first:
//!     length of the head
//!     head (postcard): algorithm, scheme, host names, bound,
//!                      numbers of phases, messages, tokens
//!     for each host: how many messages it sends; for each, in its order:
//!         phases since the former one
//!         destination - former one's destination
//!     for each host: how many tokens it awaits; for each, in the order of the
//!     messages that wait:
//!         own messages since the former one that waits, doubled,
//!             plus 1 if the receiver of the earlier message gives the token
//!         earlier message's sender - own number, less the same of the former token
//!         earlier message's destination - waiting message's destination
//! ```
//!
//! A plan whose messages have paths is of version 3: for each host, in the order of its messages, their path
//! numbers follow. Former versions of heddle refuse it; ranks read none.
//!
//! Differences are signed (0, -1, 1, -2, … as 0, 1, 2, 3, …). A sender visits its receivers in the
//! pattern of the phases, and the messages it waits for follow the same pattern. So differences
//! repeat, and repetition costs next to nothing after compression.
//!
//! Octets per message, including receiver-based tokens. The first figure is for a star of √n
//! switches with √n hosts each, the second for eight switches in a row:
//!
//! | hosts | chain | minimal |
//! |---|---|---|
//! | 64 | 0.54, 1.18 | 0.47, 0.89 |
//! | 256 | 0.15, 0.84 | 0.12, 0.67 |
//! | 1,024 | 0.09, 0.55 | 0.06, 0.47 |
//!
//! A file brings back the messages of a phase in the order of their senders, the messages of one
//! sender in its own order, and tokens in the order of the messages that wait. So a schedule always
//! has the same file, whatever the order in which the planner found its parts.
mod numbers;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use numbers::{NumberStream, put, put_signed};
use schedules::alltoall::AlltoallSchedule;
use schedules::bound::PhaseBound;
use schedules::json::MAX_HOSTS;
use schedules::message::{Message, Synchronization};
use schedules::stages::PathNumber;
use serde::{Deserialize, Serialize};
use std::io::Write;

const MARK: &[u8] = b"heddle alltoall plan, version 2\n";
/// With paths.
const MARK_OF_PATHS: &[u8] = b"heddle alltoall plan, version 3\n";

/// The names of [`MAX_HOSTS`] hosts fit twice.
const MAX_HEAD: u64 = 1 << 20;

/// A plan with more tokens is refused: eight for each message of [`MAX_HOSTS`] hosts. A chain over
/// 1,024 switches in a row has three for each message.
const MAX_TOKENS: u64 = 1 << 27;

#[derive(Serialize, Deserialize)]
struct PlanHeader {
    algorithm: String,
    scheme: String,
    hosts: Vec<String>,
    bound: PhaseBound,
    phases: u64,
    messages: u64,
    tokens: u64,
}

/// Writes a plan that the verifier passes. The file of another plan may be unreadable.
///
/// # Panics
/// If a message names a host number beyond `hosts`; planners and readers never make such a plan.
pub(super) fn write(plan: &AlltoallSchedule) -> Vec<u8> {
    let header = PlanHeader {
        algorithm: plan.algorithm.name().to_owned(),
        scheme: plan.scheme.to_string(),
        hosts: plan.hosts.clone(),
        bound: plan.bound.clone(),
        phases: plan.phases.len() as u64,
        messages: plan.messages() as u64,
        tokens: plan.syncs.len() as u64,
    };
    let head = postcard::to_stdvec(&header)
        .unwrap_or_else(|e| unreachable!("plain data always serializes: {e}"));
    let mut part = Vec::new();
    put(&mut part, head.len() as u64);
    part.extend(head);
    let mark = if plan.paths.is_empty() {
        MARK
    } else {
        MARK_OF_PATHS
    };
    let mut file = ZlibEncoder::new(mark.to_vec(), Compression::new(3));
    append(&mut part, &mut file);
    let senders = senders(plan);
    for sender in &senders {
        sender.write_sends(&mut part);
        append(&mut part, &mut file);
    }
    for sender in &senders {
        sender.write_awaits(plan, &mut part);
        append(&mut part, &mut file);
    }
    for sender in &senders {
        sender
            .paths
            .iter()
            .for_each(|&path| put(&mut part, u64::from(path)));
        append(&mut part, &mut file);
    }
    file.finish()
        .unwrap_or_else(|e| unreachable!("a vector takes all that is written: {e}"))
}

fn append(part: &mut Vec<u8>, file: &mut ZlibEncoder<Vec<u8>>) {
    file.write_all(part)
        .unwrap_or_else(|e| unreachable!("a vector takes all that is written: {e}"));
    part.clear();
}

/// The same schedule in the order in which a file brings it back.
pub(super) fn in_file_order(plan: AlltoallSchedule) -> AlltoallSchedule {
    let (mut messages, mut paths) = (Vec::with_capacity(plan.messages()), Vec::new());
    let mut syncs = Vec::with_capacity(plan.syncs.len());
    for HostMessages {
        number: src,
        sends,
        paths: own,
        awaits,
    } in senders(&plan)
    {
        let phases = sends.iter().map(|&(phase, _)| phase);
        paths.extend(phases.zip(own));
        messages.extend(
            sends
                .iter()
                .map(|&(phase, dst)| (phase, Message { src, dst })),
        );
        syncs.extend(
            awaits
                .iter()
                .map(|&(own, place)| (sends[own as usize].0, plan.syncs[place as usize])),
        );
    }
    let count = plan.phases.len();
    AlltoallSchedule {
        phases: by_phase(count, &messages),
        syncs: by_phase(count, &syncs).concat(),
        paths: by_phase(count, &paths).concat(),
        ..plan
    }
}

/// The messages that one host sends, and the tokens that it awaits.
struct HostMessages {
    number: u32,
    /// Phase and destination of each message, in the order in which the host sends them.
    sends: Vec<(u32, u32)>,
    /// The path of each, if messages have paths.
    paths: Vec<PathNumber>,
    /// For each token, in this order: the number of messages that the host sends before the waiting
    /// one, and the token's place in the plan.
    awaits: Vec<(u32, u32)>,
}

fn senders(plan: &AlltoallSchedule) -> Vec<HostMessages> {
    let hosts = plan.hosts.len();
    let mut senders: Vec<HostMessages> = (0..hosts as u32)
        .map(|number| HostMessages {
            number,
            sends: Vec::with_capacity(hosts.saturating_sub(1)),
            paths: Vec::new(),
            awaits: Vec::new(),
        })
        .collect();
    let mut sent_before = vec![u32::MAX; hosts * hosts];
    let mut paths = plan.paths.iter();
    for (messages, phase) in plan.phases.iter().zip(0..) {
        for m in messages {
            let sender = &mut senders[m.src as usize];
            sent_before[m.src as usize * hosts + m.dst as usize] = sender.sends.len() as u32;
            sender.sends.push((phase, m.dst));
            sender.paths.extend(paths.next());
        }
    }
    for (token, place) in plan.syncs.iter().zip(0..) {
        let Message { src, dst } = token.before;
        senders[src as usize]
            .awaits
            .push((sent_before[src as usize * hosts + dst as usize], place));
    }
    senders
        .iter_mut()
        .for_each(|sender| sender.awaits.sort_by_key(|&(before, _)| before));
    senders
}

impl HostMessages {
    fn write_sends(&self, out: &mut Vec<u8>) {
        put(out, self.sends.len() as u64);
        let mut former = (0, 0);
        for &(phase, dst) in &self.sends {
            put(out, u64::from(phase - former.0));
            put_signed(out, difference(dst, former.1));
            former = (phase, dst);
        }
    }

    fn write_awaits(&self, plan: &AlltoallSchedule, out: &mut Vec<u8>) {
        put(out, self.awaits.len() as u64);
        let mut former = (0, 0);
        for &(own, place) in &self.awaits {
            let Synchronization {
                after,
                before,
                from,
                ..
            } = plan.syncs[place as usize];
            let aside = difference(after.src, self.number);
            put(
                out,
                u64::from(own - former.0) << 1 | u64::from(from != after.src),
            );
            put_signed(out, aside - former.1);
            put_signed(out, difference(after.dst, before.dst));
            former = (own, aside);
        }
    }
}

fn difference(a: u32, b: u32) -> i64 {
    i64::from(a) - i64::from(b)
}

/// Reads a file of [`write`]. [`schedules::verify`] checks whether the schedule is right. The
/// memory is bounded by the messages and tokens in the file, and their numbers by [`MAX_HOSTS`] and
/// [`MAX_TOKENS`].
///
/// # Errors
/// The problem with the file.
pub(super) fn read(bytes: &[u8]) -> Result<AlltoallSchedule, String> {
    let with_paths = bytes.strip_prefix(MARK_OF_PATHS);
    let Some(stream) = with_paths.or_else(|| bytes.strip_prefix(MARK)) else {
        return Err(format!(
            "made by another version of heddle, or no plan: it does not begin with {:?}",
            String::from_utf8_lossy(MARK)
        ));
    };
    let mut numbers = NumberStream::new(stream);
    let head = read_header(&mut numbers)?;
    let hosts = head.hosts.len() as u32;
    let (mut messages, mut own, mut syncs) = (Vec::new(), Vec::new(), Vec::new());
    for src in 0..hosts {
        let first = messages.len();
        read_sends(&mut numbers, src, &head, &mut messages)?;
        own.push(first..messages.len());
    }
    for own in own {
        read_awaits(&mut numbers, &messages[own], &head, &mut syncs)?;
    }
    let mut paths: Vec<(u32, PathNumber)> = Vec::new();
    if with_paths.is_some() {
        for &(phase, _) in &messages {
            let path = numbers.below(1 << PathNumber::BITS, || "path of a message".to_owned())?;
            paths.push((phase, path as PathNumber));
        }
    }
    numbers.end()?;
    if (messages.len() as u64, syncs.len() as u64) != (head.messages, head.tokens) {
        return Err(format!(
            "{} messages and {} tokens; its head says {} and {}",
            messages.len(),
            syncs.len(),
            head.messages,
            head.tokens
        ));
    }
    let phases = by_phase(head.phases as usize, &messages);
    let syncs = by_phase(head.phases as usize, &syncs).concat();
    let algorithm = head
        .algorithm
        .parse()
        .map_err(|e: schedules::alltoall::UnknownAlltoallAlgorithm| e.to_string())?;
    let scheme = head
        .scheme
        .parse()
        .map_err(|e: schedules::synchronization::scheme::SyncSchemeError| e.to_string())?;
    Ok(AlltoallSchedule {
        algorithm,
        hosts: head.hosts,
        bound: head.bound,
        phases,
        scheme,
        syncs,
        paths: by_phase(head.phases as usize, &paths).concat(),
    })
}

fn read_header(numbers: &mut NumberStream<'_>) -> Result<PlanHeader, String> {
    let length = numbers.below(MAX_HEAD, || "length of the head".to_owned())?;
    // One by one, so that a length that nothing follows takes no memory.
    let octets = (0..length)
        .map(|_| numbers.octet())
        .collect::<Result<Vec<u8>, String>>()?;
    let head: PlanHeader = super::read_postcard(&octets)?;
    let hosts = head.hosts.len() as u64;
    if hosts == 0 || hosts > MAX_HOSTS as u64 {
        return Err(format!("{hosts} hosts; expected 1 to {MAX_HOSTS}"));
    }
    if head.messages > hosts * (hosts - 1)
        || head.phases > head.messages
        || head.tokens > MAX_TOKENS
    {
        return Err(format!(
            "{} messages in {} phases with {} tokens are too many",
            head.messages, head.phases, head.tokens
        ));
    }
    Ok(head)
}

/// Appends the messages of `src`, each with its phase.
fn read_sends(
    numbers: &mut NumberStream<'_>,
    src: u32,
    head: &PlanHeader,
    messages: &mut Vec<(u32, Message)>,
) -> Result<(), String> {
    let hosts = head.hosts.len() as u64;
    let count = numbers.below(hosts, || format!("messages of host {src}"))?;
    let (mut phase, mut dst) = (0, 0);
    for _ in 0..count {
        phase = numbers.after(phase, head.phases, || {
            format!("phase of a message of host {src}")
        })?;
        dst = numbers.beside(dst, hosts, || {
            format!("destination of a message of host {src}")
        })?;
        messages.push((
            phase as u32,
            Message {
                src,
                dst: dst as u32,
            },
        ));
    }
    Ok(())
}

/// Appends the tokens that the sender of `own` awaits, each with the phase of the message that
/// waits.
fn read_awaits(
    numbers: &mut NumberStream<'_>,
    own: &[(u32, Message)],
    head: &PlanHeader,
    syncs: &mut Vec<(u32, Synchronization)>,
) -> Result<(), String> {
    let hosts = head.hosts.len() as u64;
    let count = numbers.below(head.tokens + 1 - syncs.len() as u64, || {
        "number of tokens".to_owned()
    })?;
    let (mut at, mut aside) = (0, 0);
    for _ in 0..count {
        let step = numbers.next()?;
        at = (step >> 1)
            .checked_add(at)
            .filter(|&at| at < own.len() as u64)
            .ok_or("a token for a message that is not there")?;
        let (phase, before) = own[at as usize];
        aside = numbers
            .signed()?
            .checked_add(aside)
            .ok_or("a token after a message that is not there")?;
        let sender = i64::from(before.src)
            .checked_add(aside)
            .filter(|src| (0..hosts as i64).contains(src));
        let src = sender.ok_or("a token after a message that is not there")? as u32;
        let dst = numbers.beside(u64::from(before.dst), hosts, || {
            "a token after a message that is not there".to_owned()
        })?;
        let after = Message {
            src,
            dst: dst as u32,
        };
        let from = if step & 1 == 0 { after.src } else { after.dst };
        syncs.push((
            phase,
            Synchronization {
                after,
                before,
                from,
                to: before.src,
            },
        ));
    }
    Ok(())
}

/// The items of each phase, in the order found.
fn by_phase<T: Copy>(phases: usize, found: &[(u32, T)]) -> Vec<Vec<T>> {
    let mut sizes = vec![0; phases];
    found
        .iter()
        .for_each(|&(phase, _)| sizes[phase as usize] += 1);
    let mut sorted: Vec<Vec<T>> = sizes.into_iter().map(Vec::with_capacity).collect();
    found
        .iter()
        .for_each(|&(phase, item)| sorted[phase as usize].push(item));
    sorted
}

#[cfg(test)]
mod tests;
