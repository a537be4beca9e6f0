//! `alltoall.plan`: an all-to-all in few octets a message.
//!
//! ```text
//! "heddle alltoall plan, version 2\n"
//! zlib stream (RFC 1950; its Adler-32 covers everything in it) of numbers, 7 bits an octet, lowest first:
//!     length of the head, and the head (postcard): algorithm, scheme, host names, bound, numbers of phases, messages, tokens
//!     for each host: how many messages it sends; for each, in its order:
//!         phases since the former one; destination - former one's destination
//!     for each host: how many tokens it awaits; for each, in the order of the messages that wait:
//!         own messages since the former one that waits, doubled, plus 1 if the earlier message's receiver gives the token;
//!         earlier message's sender - own number, less what that was for the former token;
//!         earlier message's destination - waiting message's destination
//! ```
//!
//! Differences are signed (0, -1, 1, -2, … as 0, 1, 2, 3, …). A sender goes through its receivers
//! as the phases' pattern has it, and what it waits for moves along: differences repeat, and
//! repetition costs next to nothing after compression.
//!
//! Octets a message, receiver-based tokens included, first on a star of √n switches with √n hosts
//! each, then on eight switches in a row:
//!
//! | hosts | chain | minimal |
//! |---|---|---|
//! | 64 | 0.54, 1.62 | 0.47, 1.29 |
//! | 256 | 0.15, 0.84 | 0.12, 0.67 |
//! | 1,024 | 0.09, 0.55 | 0.06, 0.47 |
//!
//! Messages of one phase come back in the order of their senders, those of one sender in its own
//! order, and tokens in the order of the messages that wait: the same schedule, whatever order the
//! planner had found them in.
use flate2::write::ZlibEncoder;
use flate2::{Compression, Decompress, FlushDecompress, Status};
use schedules::alltoall::AlltoallSchedule;
use schedules::bound::PhaseBound;
use schedules::json::MAX_HOSTS;
use schedules::message::{Message, Synchronization};
use serde::{Deserialize, Serialize};
use std::io::Write;

const MARK: &[u8] = b"heddle alltoall plan, version 2\n";

/// Names of [`MAX_HOSTS`] hosts fit twice.
const MAX_HEAD: u64 = 1 << 20;

/// More tokens are refused: eight for each message of [`MAX_HOSTS`] hosts. A chain over 1,024
/// switches in a row has three a message.
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

/// A plan that the verifier passes, as a file. Another one may come out unreadable.
///
/// # Panics
/// If a message names a host number beyond `hosts`; planners and readers never make such a plan.
pub(super) fn write(plan: &AlltoallSchedule) -> Vec<u8> {
    let head = PlanHeader {
        algorithm: plan.algorithm.name().to_owned(),
        scheme: plan.scheme.to_string(),
        hosts: plan.hosts.clone(),
        bound: plan.bound.clone(),
        phases: plan.phases.len() as u64,
        messages: plan.messages() as u64,
        tokens: plan.syncs.len() as u64,
    };
    let head = postcard::to_stdvec(&head)
        .unwrap_or_else(|e| unreachable!("plain data always serializes: {e}"));
    let mut part = Vec::new();
    put(&mut part, head.len() as u64);
    part.extend(head);
    let mut file = ZlibEncoder::new(MARK.to_vec(), Compression::new(3));
    let mut append = |part: &mut Vec<u8>| {
        file.write_all(part)
            .unwrap_or_else(|e| unreachable!("a vector takes all that is written: {e}"));
        part.clear();
    };
    append(&mut part);
    let senders = senders(plan);
    for sender in &senders {
        sender.write_sends(&mut part);
        append(&mut part);
    }
    for sender in &senders {
        sender.write_awaits(plan, &mut part);
        append(&mut part);
    }
    file.finish()
        .unwrap_or_else(|e| unreachable!("a vector takes all that is written: {e}"))
}

/// The same schedule in the order in which a file brings it back.
pub(super) fn in_file_order(plan: AlltoallSchedule) -> AlltoallSchedule {
    let (mut messages, mut syncs) = (
        Vec::with_capacity(plan.messages()),
        Vec::with_capacity(plan.syncs.len()),
    );
    for HostMessages {
        number: src,
        sends,
        awaits,
    } in senders(&plan)
    {
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
        ..plan
    }
}

/// What one host sends and awaits.
struct HostMessages {
    number: u32,
    /// Phase and destination, in its order.
    sends: Vec<(u32, u32)>,
    /// How many messages it sends before the one that waits, and the token's place in the plan, in
    /// that order.
    awaits: Vec<(u32, u32)>,
}

fn senders(plan: &AlltoallSchedule) -> Vec<HostMessages> {
    let hosts = plan.hosts.len();
    let sender = |number| HostMessages {
        number,
        sends: Vec::with_capacity(hosts.saturating_sub(1)),
        awaits: Vec::new(),
    };
    let mut senders: Vec<HostMessages> = (0..hosts as u32).map(sender).collect();
    let mut sent_before = vec![u32::MAX; hosts * hosts];
    for (messages, phase) in plan.phases.iter().zip(0..) {
        for m in messages {
            let sends = &mut senders[m.src as usize].sends;
            sent_before[m.src as usize * hosts + m.dst as usize] = sends.len() as u32;
            sends.push((phase, m.dst));
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

fn put(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn put_signed(out: &mut Vec<u8>, number: i64) {
    put(out, (number << 1 ^ number >> 63) as u64);
}

/// Reads what [`write`] wrote; whether the schedule is right is for [`schedules::verify`]. What it
/// takes of memory is bounded by the messages and tokens that are there, those by [`MAX_HOSTS`] and
/// [`MAX_TOKENS`].
///
/// # Errors
/// What is wrong with the file.
pub(super) fn read(bytes: &[u8]) -> Result<AlltoallSchedule, String> {
    let Some(stream) = bytes.strip_prefix(MARK) else {
        return Err(format!(
            "made by another version of heddle, or no plan: it does not begin with {:?}",
            String::from_utf8_lossy(MARK)
        ));
    };
    let mut numbers = NumberStream::new(stream);
    let head = numbers.head()?;
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
    })
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
        let src = i64::from(before.src)
            .checked_add(aside)
            .filter(|src| (0..hosts as i64).contains(src));
        let src = src.ok_or("a token after a message that is not there")? as u32;
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

/// What belongs to each phase, in the order found.
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

/// The numbers of a compressed stream, one after the other: nothing is decompressed before it is
/// asked for.
struct NumberStream<'a> {
    compressed: &'a [u8],
    stream: Decompress,
    ended: bool,
    plain: Vec<u8>,
    at: usize,
}

impl<'a> NumberStream<'a> {
    fn new(compressed: &'a [u8]) -> Self {
        NumberStream {
            compressed,
            stream: Decompress::new(true),
            ended: false,
            plain: Vec::with_capacity(64 << 10),
            at: 0,
        }
    }

    fn head(&mut self) -> Result<PlanHeader, String> {
        let length = self.below(MAX_HEAD, || "length of the head".to_owned())?;
        let head = (0..length)
            .map(|_| self.octet())
            .collect::<Result<Vec<u8>, String>>()?;
        let head: PlanHeader = super::read_postcard(&head)?;
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

    fn octet(&mut self) -> Result<u8, String> {
        while self.at == self.plain.len() {
            if self.ended {
                return Err("it ends early".to_owned());
            }
            self.decompress()?;
        }
        self.at += 1;
        Ok(self.plain[self.at - 1])
    }

    fn decompress(&mut self) -> Result<(), String> {
        self.plain.clear();
        self.at = 0;
        let before = self.stream.total_in();
        let status = self
            .stream
            .decompress_vec(self.compressed, &mut self.plain, FlushDecompress::None)
            .map_err(|e| e.to_string())?;
        let taken = self.stream.total_in() - before;
        self.compressed = &self.compressed[taken as usize..];
        self.ended = status == Status::StreamEnd;
        if !self.ended && taken == 0 && self.plain.is_empty() {
            Err("it is cut off".to_owned())
        } else {
            Ok(())
        }
    }

    /// Nothing may follow, and the checksum must be right.
    fn end(mut self) -> Result<(), String> {
        while !self.ended && self.at == self.plain.len() {
            self.decompress()?;
        }
        if self.at == self.plain.len() && self.compressed.is_empty() {
            Ok(())
        } else {
            Err("octets follow the end".to_owned())
        }
    }

    fn next(&mut self) -> Result<u64, String> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let octet = self.octet()?;
            number |= u64::from(octet & 0x7f) << shift;
            if octet < 0x80 {
                return Ok(number);
            }
        }
        Err("a number is too long".to_owned())
    }

    fn signed(&mut self) -> Result<i64, String> {
        let number = self.next()?;
        Ok((number >> 1) as i64 ^ -((number & 1) as i64))
    }

    fn below(&mut self, end: u64, what: impl Fn() -> String) -> Result<u64, String> {
        self.after(0, end, what)
    }

    /// A number that stands as its distance from a smaller or equal one.
    fn after(&mut self, former: u64, end: u64, what: impl Fn() -> String) -> Result<u64, String> {
        let number = self.next()?.saturating_add(former);
        if number < end {
            Ok(number)
        } else {
            Err(format!("{}: {number} is not below {end}", what()))
        }
    }

    /// A number that stands as its signed distance from another one.
    fn beside(&mut self, former: u64, end: u64, what: impl Fn() -> String) -> Result<u64, String> {
        let number = (former as i64).saturating_add(self.signed()?);
        if (0..end as i64).contains(&number) {
            Ok(number as u64)
        } else {
            Err(format!("{}: {number} is not below {end}", what()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_trees::{any_tree_text, star_text, topology};
    use flate2::read::ZlibDecoder;
    use inventory::Tree;
    use proptest::prelude::*;
    use proptest::sample::{Index, select};
    use schedules::alltoall::plan_reduced;
    use schedules::synchronization::{SyncKind, SyncReduction};
    use schedules::verify;
    use std::io::Read;

    fn small() -> AlltoallSchedule {
        in_file_order(plan_reduced(
            &topology(&star_text(&[2, 1])),
            SyncKind::Receiver,
            SyncReduction::Minimal,
        ))
    }

    fn unpacked(file: &[u8]) -> Vec<u8> {
        let mut plain = Vec::new();
        ZlibDecoder::new(file.strip_prefix(MARK).unwrap())
            .read_to_end(&mut plain)
            .unwrap();
        plain
    }

    fn packed(plain: &[u8]) -> Vec<u8> {
        let mut file = ZlibEncoder::new(MARK.to_vec(), Compression::fast());
        file.write_all(plain).unwrap();
        file.finish().unwrap()
    }

    /// What follows the head of [`small`]: 0 -> 1, 1 -> 2, 2 -> 0 in phase 0 and 0 -> 2, 1 -> 0, 2
    /// -> 1 in phase 1; three tokens.
    const SMALL: [u8; 27] = [
        2, 0, 2, 1, 2, 2, 0, 4, 1, 3, 2, 0, 0, 1, 2, 1, 3, 2, 0, 1, 3, 2, 0, 1, 3, 3, 0,
    ];

    #[test]
    fn writes_what_the_description_says() {
        let file = write(&small());
        assert!(file.starts_with(b"heddle alltoall plan, version 2\n"));
        let plain = unpacked(&file);
        let head: PlanHeader = postcard::from_bytes(&plain[1..=plain[0] as usize]).unwrap();
        assert_eq!(
            (
                head.algorithm.as_str(),
                head.hosts.len(),
                head.phases,
                head.messages,
                head.tokens
            ),
            ("aapc", 3, 2, 6, 3)
        );
        assert_eq!(plain[1 + plain[0] as usize..], SMALL);
    }

    #[test]
    fn reads_what_the_description_says() {
        let plain = unpacked(&write(&small()));
        let head = &plain[..=plain[0] as usize];
        let mut stream = head.to_vec();
        stream.extend(SMALL);
        assert_eq!(read(&packed(&stream)), Ok(small()));
    }

    #[test]
    fn refuses_every_cut_and_every_flipped_bit() {
        let good = write(&small());
        for length in 0..good.len() {
            assert!(
                read(&good[..length]).is_err(),
                "cut to {length} of {} octets",
                good.len()
            );
        }
        for bit in 0..8 * good.len() {
            let mut bad = good.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            // Up to seven bits before the checksum fill an octet and mean nothing.
            let nobodys = bit / 8 + 5 == good.len();
            assert!(
                read(&bad).map_or(true, |plan| nobodys && plan == small()),
                "bit {bit}"
            );
        }
        assert_eq!(
            read(&[&good[..], b" "].concat()),
            Err("octets follow the end".to_owned())
        );
    }

    #[test]
    fn refuses_what_was_packed_wrong_with_the_reason() {
        let plain = unpacked(&write(&small()));
        let body = 1 + plain[0] as usize;
        let refused = |at: usize, value: u8| {
            let mut bad = plain.clone();
            bad[body + at] = value;
            read(&packed(&bad)).unwrap_err()
        };
        assert_eq!(refused(0, 3), "messages of host 0: 3 is not below 3");
        assert_eq!(
            refused(1, 2),
            "phase of a message of host 0: 2 is not below 2"
        );
        assert_eq!(
            refused(2, 6),
            "destination of a message of host 0: 3 is not below 3"
        );
        assert_eq!(
            refused(2, 1),
            "destination of a message of host 0: -1 is not below 3"
        );
        assert_eq!(refused(15, 9), "number of tokens: 9 is not below 4");
        assert_eq!(refused(16, 5), "a token for a message that is not there");
        assert_eq!(refused(17, 1), "a token after a message that is not there");
        assert_eq!(
            refused(18, 2),
            "a token after a message that is not there: 3 is not below 3"
        );
        assert_eq!(refused(23, 0), "octets follow the end");
        assert_eq!(
            read(&packed(&plain[..plain.len() - 1])),
            Err("it ends early".to_owned())
        );
        assert_eq!(
            read(&packed(&[&plain[..body], &[0xff; 11]].concat())),
            Err("a number is too long".to_owned())
        );
        assert!(read(&packed(&[])).unwrap_err().contains("ends early"));
        let old = postcard::to_stdvec(&("aapc", ["n0", "n1"])).unwrap();
        assert!(
            read(&old)
                .unwrap_err()
                .starts_with("made by another version of heddle")
        );
    }

    #[test]
    fn refuses_heads_that_promise_too_much() {
        let with = |change: fn(&mut PlanHeader)| {
            let plain = unpacked(&write(&small()));
            let mut head: PlanHeader = postcard::from_bytes(&plain[1..=plain[0] as usize]).unwrap();
            change(&mut head);
            let head = postcard::to_stdvec(&head).unwrap();
            let mut stream = Vec::new();
            put(&mut stream, head.len() as u64);
            read(&packed(&[&stream, &head, &SMALL[..]].concat())).unwrap_err()
        };
        assert_eq!(
            with(|head| head.hosts.clear()),
            "0 hosts; expected 1 to 4096"
        );
        assert_eq!(
            with(|head| head.hosts = vec![String::new(); 4097]),
            "4097 hosts; expected 1 to 4096"
        );
        assert_eq!(
            with(|head| head.phases = 7),
            "6 messages in 7 phases with 3 tokens are too many"
        );
        assert_eq!(
            with(|head| (head.phases, head.messages) = (7, 7)),
            "7 messages in 7 phases with 3 tokens are too many"
        );
        assert_eq!(
            with(|head| head.tokens = u64::MAX),
            "6 messages in 2 phases with 18446744073709551615 tokens are too many"
        );
        assert_eq!(
            with(|head| head.messages = 5),
            "6 messages and 3 tokens; its head says 5 and 3"
        );
        assert_eq!(
            with(|head| head.tokens = 4),
            "6 messages and 3 tokens; its head says 6 and 4"
        );
        assert_eq!(
            with(|head| head.algorithm = "lg".to_owned()),
            "algorithm \"lg\": expected aapc or capacity"
        );
        assert!(
            with(|head| head.hosts = vec!["n".repeat(1000); 1100])
                .starts_with("length of the head")
        );
    }

    /// The table at the top. The largest size takes too long without optimization.
    #[test]
    fn takes_the_octets_its_description_says() {
        let row = |hosts: u32| {
            let at = (0..hosts)
                .map(|h| format!("n{h}: {{switch: s{}}}", h / (hosts / 8)))
                .collect::<Vec<_>>()
                .join(", ");
            let cables = (1..8)
                .map(|s| format!("{{a: s{}, b: s{s}}}", s - 1))
                .collect::<Vec<_>>()
                .join(", ");
            topology(&format!(
                "switches: [s0, s1, s2, s3, s4, s5, s6, s7]\nhosts: {{{at}}}\nlinks: [{cables}]"
            ))
        };
        let octets = |tree: &Tree, reduction| {
            let plan = plan_reduced(tree, SyncKind::Receiver, reduction);
            format!("{:.2}", write(&plan).len() as f64 / plan.messages() as f64)
        };
        let description: Vec<&str> = include_str!("plan_file.rs")
            .lines()
            .filter(|line| line.starts_with("//! |"))
            .collect();
        for side in if cfg!(debug_assertions) {
            vec![8, 16]
        } else {
            vec![8, 16, 32]
        } {
            let (star, row) = (
                topology(&star_text(&vec![side; side as usize])),
                row(side * side),
            );
            let both =
                |reduction| format!("{}, {}", octets(&star, reduction), octets(&row, reduction));
            let (chain, minimal) = (both(SyncReduction::Chain), both(SyncReduction::Minimal));
            let hosts = if side == 32 {
                "1,024".to_owned()
            } else {
                (side * side).to_string()
            };
            let line = format!("//! | {hosts} | {chain} | {minimal} |");
            assert!(description.contains(&line.as_str()), "{line}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn round_trip(
            text in any_tree_text(1..=24, 20),
            kind in select(vec![SyncKind::None, SyncKind::Sender, SyncKind::Receiver]),
            chain in any::<bool>(),
        ) {
            let tree = topology(&text);
            let plan = plan_reduced(
                &tree,
                kind,
                if chain {
                    SyncReduction::Chain
                } else {
                    SyncReduction::Minimal
                },
            );
            let read = read(&write(&plan)).unwrap();
            verify::alltoall(&tree, &read).unwrap();
            prop_assert_eq!(
                (read.phases.len(), read.messages(), read.syncs.len()),
                (plan.phases.len(), plan.messages(), plan.syncs.len())
            );
            prop_assert!(
                read.phases
                    .iter()
                    .all(|phase| phase.is_sorted_by_key(|m| m.src))
            );
            prop_assert_eq!(read, in_file_order(plan));
        }

        /// What a host of several messages a phase sends keeps its order, and so does what it waits
        /// for.
        #[test]
        fn any_order_of_senders_and_several_messages_a_phase(
            hosts in 2..9u32,
            phases in 1..5usize,
            at in prop::collection::vec(any::<(Index, Index, bool)>(), 64),
        ) {
            let pairs = (0..hosts).flat_map(|src| {
                (0..hosts)
                    .filter(move |&dst| dst != src)
                    .map(move |dst| Message { src, dst })
            });
            let mut plan = AlltoallSchedule {
                hosts: (0..hosts).map(|h| format!("n{h}")).collect(),
                phases: vec![Vec::new(); phases],
                ..small()
            };
            let mut messages: Vec<Message> = pairs.collect();
            for (which, phase, _) in &at {
                if !messages.is_empty() {
                    let m = messages.swap_remove(which.index(messages.len()));
                    plan.phases[phase.index(phases)].push(m);
                }
            }
            plan.phases.retain(|phase| !phase.is_empty());
            let sent: Vec<Message> = plan.phases.concat();
            let sync = |&(after, before, by_sender): &(Index, Index, bool)| {
                let (after, before) = (*after.get(&sent), *before.get(&sent));
                Synchronization {
                    after,
                    before,
                    from: if by_sender { after.src } else { after.dst },
                    to: before.src,
                }
            };
            plan.syncs = at.iter().map(sync).collect();
            plan.syncs
                .sort_by_key(|s| sent.iter().position(|&m| m == s.before));
            prop_assert_eq!(read(&write(&plan)), Ok(in_file_order(plan)));
        }

        #[test]
        fn mutated_files_are_refused_or_another_plan_that_the_verifier_judges(
            text in any_tree_text(2..=8, 20),
            at in prop::collection::vec(any::<(Index, u8)>(), 1..4),
            cut in any::<Option<Index>>(),
        ) {
            let tree = topology(&text);
            let plan = plan_reduced(&tree, SyncKind::Receiver, SyncReduction::Minimal);
            let good = unpacked(&write(&plan));
            let mut bad = good.clone();
            at.iter()
                .for_each(|(at, value)| bad[at.index(good.len())] = *value);
            if let Some(cut) = cut {
                bad.truncate(cut.index(good.len()));
            }
            if let Ok(found) = read(&packed(&bad))
                && found != in_file_order(plan)
            {
                // Names may have changed, or who gives a token: then it is right for another
                // network, or still right.
                let _ = verify::alltoall(&tree, &found);
            }
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = read(&bytes);
            let _ = read(&packed(&bytes));
        }
    }
}
