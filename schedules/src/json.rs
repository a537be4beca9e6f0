//! Schedules as the contract's JSON, written and read: `heddle schedule --format json`, `heddle
//! verify`.
//!
//! The reader trusts nothing: names must resolve, sizes are limited, unknown fields are refused.
//! [`crate::verify`] checks whether the schedule is right.
mod lg;

pub use lg::{read_lg, write_lg};

use crate::allgather::{self, AllgatherSchedule};
use crate::alltoall::{AlltoallSchedule, UnknownAlltoallAlgorithm};
use crate::bound::PhaseBound;
use crate::lg::{LG, LgSchedule};
use crate::message::{Message, Synchronization};
use crate::stages::PathNumber;
use crate::synchronization::SyncKind;
use crate::synchronization::scheme::{SyncScheme, SyncSchemeError};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::io::{self, Write};

/// An all-to-all with more hosts is refused. Its 16.8 million messages make a file of some hundred
/// megabytes.
pub const MAX_HOSTS: usize = 4096;

/// A ring with more hosts is refused. It takes a name of at most 64 characters for each host.
pub const MAX_RING: usize = 65_536;

/// Longer texts are refused.
pub const MAX_BYTES: u64 = 1 << 30;

/// A schedule of either collective.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Schedule {
    /// `"collective": "alltoall"`.
    Alltoall(AlltoallSchedule),
    /// `"collective": "alltoall"`, `"algorithm": "lg"`.
    Lg(LgSchedule),
    /// `"collective": "allgather"`.
    Allgather(AllgatherSchedule),
}

/// A schedule file that cannot be used. The text names the place where there is one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct JsonError(pub String);

fn refuse<T>(problem: impl Into<String>) -> Result<T, JsonError> {
    Err(JsonError(problem.into()))
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct AlltoallJson<Name> {
    collective: Name,
    algorithm: Name,
    hosts: Vec<Name>,
    bound: BoundJson<Name>,
    phases: Vec<Vec<(Name, Name)>>,
    /// The scheme. The tokens alone would not show whether some of them were lost.
    #[serde(default)]
    sync: Option<String>,
    syncs: Vec<SyncJson<Name>>,
    /// By message: the number of its path over cables that lie side by side.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    paths: Vec<PathNumber>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct BoundJson<Name> {
    phases: u64,
    edge: (Name, Name),
    load: u64,
    capacity: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SyncJson<Name> {
    after: (Name, Name),
    before: (Name, Name),
    from: Name,
    to: Name,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct AllgatherJson<Name> {
    collective: Name,
    algorithm: Name,
    ring: Vec<Name>,
    longest_path: u32,
    contention_free: bool,
}

/// An all-to-all as one line of JSON.
///
/// # Panics
/// If a message names a host number beyond `hosts`; planners and readers never make such a
/// schedule.
pub fn write_alltoall(plan: &AlltoallSchedule) -> String {
    line(&alltoall_json(plan))
}

/// [`write_alltoall`] if [`read`] takes it.
///
/// # Errors
/// [`JsonError`] for a text of more than [`MAX_BYTES`].
///
/// # Panics
/// As [`write_alltoall`].
pub fn write_readable_alltoall(plan: &AlltoallSchedule) -> Result<String, JsonError> {
    line_within(&alltoall_json(plan), MAX_BYTES)
}

fn alltoall_json(plan: &AlltoallSchedule) -> AlltoallJson<&str> {
    let name = |h: u32| plan.hosts[h as usize].as_str();
    let ends = |m: Message| (name(m.src), name(m.dst));
    let bound = &plan.bound;
    AlltoallJson {
        collective: "alltoall",
        algorithm: plan.algorithm.name(),
        hosts: plan.hosts.iter().map(String::as_str).collect(),
        bound: BoundJson {
            phases: bound.phases,
            edge: (&bound.edge.0, &bound.edge.1),
            load: bound.load,
            capacity: bound.capacity,
        },
        phases: plan
            .phases
            .iter()
            .map(|phase| phase.iter().map(|&m| ends(m)).collect())
            .collect(),
        sync: Some(plan.scheme.to_string()),
        syncs: plan
            .syncs
            .iter()
            .map(|s| SyncJson {
                after: ends(s.after),
                before: ends(s.before),
                from: name(s.from),
                to: name(s.to),
            })
            .collect(),
        paths: plan.paths.clone(),
    }
}

/// An allgather as one line of JSON.
///
/// # Panics
/// If the ring names a host number beyond `hosts`; planners and readers never make such a schedule.
pub fn write_allgather(plan: &AllgatherSchedule) -> String {
    line(&AllgatherJson {
        collective: "allgather",
        algorithm: plan.algorithm.name(),
        ring: plan
            .ring
            .iter()
            .map(|&h| plan.hosts[h as usize].as_str())
            .collect(),
        longest_path: plan.longest_path,
        contention_free: plan.contention_free,
    })
}

fn line(value: &impl Serialize) -> String {
    serde_json::to_string(value)
        .unwrap_or_else(|e| unreachable!("names and numbers always serialize: {e}"))
        + "\n"
}

/// A line of at most so many octets.
fn line_within(value: &impl Serialize, most: u64) -> Result<String, JsonError> {
    let mut line = LimitedText {
        text: Vec::new(),
        most,
    };
    let written = serde_json::to_writer(&mut line, value)
        .and_then(|()| line.write_all(b"\n").map_err(serde_json::Error::io));
    // Only the limit can fail: names and numbers always serialize (`line`).
    written.map_err(|_| JsonError(format!("longer than {most} octets")))?;
    String::from_utf8(line.text).map_err(|e| JsonError(e.to_string()))
}

/// A text that refuses to grow beyond a length.
struct LimitedText {
    text: Vec<u8>,
    most: u64,
}

impl Write for LimitedText {
    fn write(&mut self, part: &[u8]) -> io::Result<usize> {
        if (self.text.len() + part.len()) as u64 > self.most {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.text.extend_from_slice(part);
        Ok(part.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Reads a schedule of either collective.
///
/// # Errors
/// [`JsonError`] with line and column, or with the name that does not resolve.
pub fn read(text: &[u8]) -> Result<Schedule, JsonError> {
    #[derive(Deserialize)]
    struct ScheduleHeader {
        collective: String,
        #[serde(default)]
        algorithm: String,
    }
    if text.len() as u64 > MAX_BYTES {
        return refuse(format!("longer than {MAX_BYTES} octets"));
    }
    let head: ScheduleHeader = parse(text)?;
    match head.collective.as_str() {
        "alltoall" if head.algorithm == LG => read_lg(text).map(Schedule::Lg),
        "alltoall" => read_alltoall(text).map(Schedule::Alltoall),
        "allgather" => read_allgather(text).map(Schedule::Allgather),
        other => refuse(format!(
            "collective \"{other}\": expected alltoall or allgather"
        )),
    }
}

fn parse<'a, T: Deserialize<'a>>(text: &'a [u8]) -> Result<T, JsonError> {
    serde_json::from_slice(text).map_err(|e| {
        let what = match e.is_eof() {
            true => "cut off",
            false => "no schedule as `heddle schedule --format json` prints it",
        };
        JsonError(format!("{what}: {e}"))
    })
}

/// Reads an all-to-all; hosts are numbered in the order of its `hosts`.
pub fn read_alltoall(text: &[u8]) -> Result<AlltoallSchedule, JsonError> {
    let json: AlltoallJson<String> = parse(text)?;
    known("collective", &json.collective, "alltoall")?;
    let algorithm = json
        .algorithm
        .parse()
        .map_err(|e: UnknownAlltoallAlgorithm| JsonError(e.to_string()))?;
    let numbers = HostNumbers::new(&json.hosts, MAX_HOSTS)?;
    let phases = json
        .phases
        .iter()
        .map(|phase| phase.iter().map(|ends| numbers.message(ends)).collect())
        .collect::<Result<Vec<Vec<Message>>, JsonError>>()?;
    let syncs = json
        .syncs
        .iter()
        .map(|sync| numbers.synchronization(sync))
        .collect::<Result<Vec<Synchronization>, JsonError>>()?;
    let stated = json
        .sync
        .map(|text| {
            text.parse()
                .map_err(|e: SyncSchemeError| JsonError(e.to_string()))
        })
        .transpose()?;
    let scheme = stated.unwrap_or_else(|| scheme_of(&syncs));
    let BoundJson {
        phases: least,
        edge,
        load,
        capacity,
    } = json.bound;
    drop(numbers);
    Ok(AlltoallSchedule {
        algorithm,
        hosts: json.hosts,
        bound: PhaseBound {
            phases: least,
            edge,
            load,
            capacity,
        },
        phases,
        scheme,
        syncs,
        paths: json.paths,
    })
}

/// The scheme of a schedule that states none: tokens between any two phases, of the kind that its
/// synchronizations show.
fn scheme_of(syncs: &[Synchronization]) -> SyncScheme {
    match syncs.iter().find(|sync| sync.after.src != sync.after.dst) {
        None => SyncKind::None.into(),
        Some(sync) if sync.from == sync.after.src => SyncKind::Sender.into(),
        Some(_) => SyncKind::Receiver.into(),
    }
}

/// Reads an allgather; hosts are numbered along its ring.
pub fn read_allgather(text: &[u8]) -> Result<AllgatherSchedule, JsonError> {
    let json: AllgatherJson<String> = parse(text)?;
    known("collective", &json.collective, "allgather")?;
    let algorithm = json
        .algorithm
        .parse()
        .map_err(|e: allgather::UnknownAllgatherAlgorithm| JsonError(e.to_string()))?;
    // Only for its checks: hosts are numbered along the ring.
    HostNumbers::new(&json.ring, MAX_RING)?;
    let ring = (0..json.ring.len() as u32).collect();
    Ok(AllgatherSchedule {
        algorithm,
        hosts: json.ring,
        ring,
        longest_path: json.longest_path,
        contention_free: json.contention_free,
    })
}

fn known(field: &str, found: &str, expected: &'static str) -> Result<&'static str, JsonError> {
    if found == expected {
        Ok(expected)
    } else {
        refuse(format!("{field} \"{found}\": expected {expected}"))
    }
}

/// The numbers of host names.
struct HostNumbers<'a>(HashMap<&'a str, u32>);

impl<'a> HostNumbers<'a> {
    fn new(hosts: &'a [String], most: usize) -> Result<Self, JsonError> {
        if hosts.len() > most {
            return refuse(format!("{} hosts: expected at most {most}", hosts.len()));
        }
        let mut numbers = HashMap::with_capacity(hosts.len());
        for (name, number) in hosts.iter().zip(0..) {
            if numbers.insert(name.as_str(), number).is_some() {
                return refuse(format!(
                    "host \"{name}\" is listed twice; each host takes part once"
                ));
            }
        }
        Ok(HostNumbers(numbers))
    }

    fn number(&self, name: &str) -> Result<u32, JsonError> {
        self.0
            .get(name)
            .copied()
            .ok_or_else(|| JsonError(format!("host \"{name}\" is used but not listed in hosts")))
    }

    fn all(&self, names: &[String]) -> Result<Vec<u32>, JsonError> {
        names.iter().map(|name| self.number(name)).collect()
    }

    fn message(&self, (src, dst): &(String, String)) -> Result<Message, JsonError> {
        Ok(Message {
            src: self.number(src)?,
            dst: self.number(dst)?,
        })
    }

    fn synchronization(&self, sync: &SyncJson<String>) -> Result<Synchronization, JsonError> {
        Ok(Synchronization {
            after: self.message(&sync.after)?,
            before: self.message(&sync.before)?,
            from: self.number(&sync.from)?,
            to: self.number(&sync.to)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synchronization::SyncKind;
    use crate::{allgather, alltoall};
    use proptest::prelude::*;
    use samples::trees::{any_tree, star};

    #[test]
    fn writes_the_contract_form() {
        let tree = star(&[2, 1]);
        assert_eq!(
            write_alltoall(&alltoall::plan(&tree, SyncKind::Receiver)),
            "{\"collective\":\"alltoall\",\"algorithm\":\"aapc\",\"hosts\":[\"n0\",\"n1\",\"n2\"],\
             \"bound\":{\"phases\":2,\"edge\":[\"s1\",\"s0\"],\"load\":2,\"capacity\":1},\
             \"phases\":[[[\"n0\",\"n1\"],[\"n2\",\"n0\"],[\"n1\",\"n2\"]],[[\"n0\",\"n2\"],\
             [\"n1\",\"n0\"],[\"n2\",\"n1\"]]],\
             \"sync\":\"receiver\",\
             \"syncs\":[{\"after\":[\"n1\",\"n2\"],\"before\":[\"n0\",\"n2\"],\"from\":\"n2\",\
             \"to\":\"n0\"},\
             {\"after\":[\"n2\",\"n0\"],\"before\":[\"n1\",\"n0\"],\"from\":\"n0\",\"to\":\"n1\"},\
             {\"after\":[\"n0\",\"n1\"],\"before\":[\"n2\",\"n1\"],\"from\":\"n1\",\
             \"to\":\"n2\"}]}\n"
        );
        assert_eq!(
            write_allgather(&allgather::plan(&tree)),
            "{\"collective\":\"allgather\",\"algorithm\":\"lr3\",\"ring\":[\"n0\",\"n2\",\"n1\"],\
             \"longest_path\":2,\"contention_free\":true}\n"
        );
    }

    #[test]
    fn writes_nothing_that_is_too_long_to_be_read() {
        let plan = alltoall::plan(&star(&[2, 1]), SyncKind::Receiver);
        let text = write_alltoall(&plan);
        assert_eq!(write_readable_alltoall(&plan), Ok(text.clone()));
        let within = |most| line_within(&alltoall_json(&plan), most);
        assert_eq!(within(text.len() as u64), Ok(text.clone()));
        let refused = within(text.len() as u64 - 1).unwrap_err();
        assert_eq!(refused.0, format!("longer than {} octets", text.len() - 1));
    }

    #[test]
    fn refuses_foreign_files_with_the_reason() {
        let good = write_alltoall(&alltoall::plan(&star(&[2, 1]), SyncKind::None));
        let err = |from: &str, to: &str| {
            read(good.replacen(from, to, 1).as_bytes())
                .unwrap_err()
                .to_string()
        };
        assert!(err("alltoall", "bcast").contains("\"bcast\": expected alltoall or allgather"));
        assert!(err("aapc", "lgs").contains("algorithm \"lgs\""));
        assert!(err("[[[\"n0\"", "[[[\"n7\"").contains("\"n7\" is used but not listed"));
        assert!(err("\"hosts\":[\"n0\"", "\"hosts\":[\"n1\"").contains("twice"));
        assert!(err("\"load\"", "\"lod\"").contains("lod"));
        assert!(err("\"syncs\":[]}", "").contains("EOF"));
        let many: Vec<String> = (0..=MAX_RING).map(|h| format!("\"n{h}\"")).collect();
        let ring = format!(
            "{{\"collective\":\"allgather\",\"algorithm\":\"lr1\",\"ring\":[{}],\"longest_path\":1,\
             \"contention_free\":true}}",
            many.join(",")
        );
        assert!(
            read(ring.as_bytes())
                .unwrap_err()
                .to_string()
                .contains("65537 hosts: expected at most 65536")
        );
    }

    proptest! {
        #[test]
        fn round_trip(
            tree in any_tree(1..=16),
            kind in
                prop::sample::select(vec![SyncKind::None, SyncKind::Sender, SyncKind::Receiver]),
        ) {
            let plan = alltoall::plan(&tree, kind);
            prop_assert_eq!(
                read(write_alltoall(&plan).as_bytes()),
                Ok(Schedule::Alltoall(plan))
            );
            let ring = allgather::plan(&tree);
            let Ok(Schedule::Allgather(back)) = read(write_allgather(&ring).as_bytes()) else {
                panic!("unreadable")
            };
            prop_assert_eq!(back.renumbered(&ring.hosts), Some(ring));
        }

        #[test]
        fn mutated_bytes_are_read_or_refused(
            tree in any_tree(1..=6),
            at in any::<prop::sample::Index>(),
            byte in any::<u8>(),
            cut in any::<bool>(),
        ) {
            let mut text = write_alltoall(&alltoall::plan(&tree, SyncKind::Receiver)).into_bytes();
            let at = at.index(text.len());
            text[at] = byte;
            if cut {
                text.truncate(at);
            }
            let _ = read(&text);
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let _ = read(&bytes);
        }
    }
}
