//! Whether all members of a communicator have published the same heddle. Each rank reads the same
//! from the launcher, so all that ask come to the same answer without a message, and where the answer
//! is no, none waits for a rank that would not come.
use crate::call_comm::CallComm;
use crate::world_ranks::WorldRanks;
use presence::difference::{Difference, Published, first_difference};
use presence::known::{KnownTexts, each_once};
use presence::text::LONGEST;
use presence::{Ability, BUILD, Presence};
use runtime::once_a_host::{HostShares, once_a_host};
use runtime::settings::RuntimeSettings;
use runtime::stderr::write_line_once;
use std::ffi::{c_char, c_int};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::process::parent_id;
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError};
use std::time::Duration;

/// The front's function that reads what the launcher has of a rank of MPI_COMM_WORLD.
pub(crate) type PresenceReader = unsafe extern "C" fn(c_int, *mut c_char, usize) -> c_int;

/// A rank that reads is waited for so long before another one reads, too: 16,384 lines take a second.
const PATIENCE: Duration = Duration::from_secs(3);

/// The reader's answer where no launcher knows.
const UNKNOWN: c_int = c_int::MIN;

static READER: OnceLock<PresenceReader> = OnceLock::new();

/// The front's reader is this one.
pub(crate) fn open(reader: PresenceReader) {
    // The front opens a backend once.
    let _ = READER.set(reader);
}

/// True if the members may meet, as far as the launcher knows; the same on each that asks. Where
/// they may not, one of them says why.
pub(crate) fn are_alike(within: &CallComm, members: Option<&WorldRanks>) -> bool {
    if RuntimeSettings::here().all_are_present {
        return true;
    }
    let Some(members) = members else {
        if within.rank == 0 {
            write_line_once(
                "a communicator has ranks that other ranks started (MPI_Comm_spawn, \
                 MPI_Comm_connect): whether heddle is loaded into all of them is not known, and the \
                 MPI library's own routines run on it. HEDDLE_PRESENT=all on all ranks says that \
                 it is",
            );
        }
        return false;
    };
    match published(within, members) {
        None => {
            // Two ranks, in case rank 0 is one without heddle.
            if within.rank < 2 {
                write_line_once(
                    "this job's launcher keeps nothing that ranks publish (PMIx or PMI), so \
                     whether heddle is loaded into all of them is not known, and the MPI \
                     library's own routines run. HEDDLE_PRESENT=all on all ranks says that it is",
                );
            }
            false
        }
        Some(all) => match first_difference(&all) {
            None => true,
            Some(found) => {
                if found.speaker == usize::try_from(within.rank).ok() {
                    write_line_once(&line(members, &all, &found));
                }
                false
            }
        },
    }
}

/// The text that each member published; `None` where the launcher does not say.
fn published(within: &CallComm, members: &WorldRanks) -> Option<Vec<Arc<Published>>> {
    static KNOWN: LazyLock<Mutex<KnownTexts>> = LazyLock::new(Mutex::default);
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let ranks = members.ranks();
    if let Some(all) = known.of_all(ranks) {
        return Some(all);
    }
    let own = within.rank as u32;
    let all = once_a_host(
        &name_on_this_host(members),
        own,
        PATIENCE,
        || {
            let all = read_all(ranks);
            let shares = all.as_deref().map(|all| shares(all, own));
            (all, shares.unwrap_or_default())
        },
        |lines| {
            let all = each_once(published_in(lines).into_iter().map(Some));
            all.filter(|all| all.len() == ranks.len()).map(Some)
        },
        || read_all(ranks),
    )?;
    known.keep(ranks, &all);
    Some(all)
}

/// A number that ranks with the same heddle have in common.
pub(crate) fn own_digest() -> u64 {
    static DIGEST: LazyLock<u64> = LazyLock::new(|| {
        let here = Presence::here(Ability::Serves, "", |name| std::env::var(name).ok());
        presence::text::common_digest(&here)
    });
    *DIGEST
}

/// A name that the ranks of this job on this host have for what is theirs as these members, and no other
/// job. Ranks whose launcher's processes differ, as where each has a script above it, have none in common.
pub(crate) fn name_on_this_host(members: &WorldRanks) -> String {
    let mut hasher = DefaultHasher::new();
    let space = std::fs::read_link("/proc/self/ns/pid").ok();
    let job = ["PMIX_NAMESPACE", "PMI_JOBID"].map(std::env::var_os);
    (BUILD, parent_id(), space, job, members.ranks()).hash(&mut hasher);
    format!("heddle-{:016x}", hasher.finish())
}

/// A line for each member: its text after a plus, or its host after a minus.
fn lines_of(all: &[Arc<Published>]) -> Vec<u8> {
    let lines = all.iter().map(|published| match &**published {
        Published::Text(text) => format!("+{text}"),
        Published::Nothing(host) => format!("-{}", host.as_deref().unwrap_or_default()),
    });
    lines.collect::<Vec<_>>().join("\n").into()
}

fn published_in(lines: &[u8]) -> Vec<Published> {
    let text = String::from_utf8_lossy(lines);
    text.split('\n')
        .map(|line| match line.split_at_checked(1) {
            Some(("+", text)) => Published::Text(text.to_owned()),
            Some((_, host)) => {
                Published::Nothing(Some(host.to_owned()).filter(|host| !host.is_empty()))
            }
            None => Published::Nothing(None),
        })
        .collect()
}

/// All that was published, for the other ranks with heddle that say that they are on this one's host.
fn shares(all: &[Arc<Published>], own: u32) -> HostShares {
    let lines: Arc<[u8]> = lines_of(all).into();
    let here = all.get(own as usize).and_then(|own| host_of(own));
    let others = (0..)
        .zip(all)
        .filter(|(rank, published)| *rank != own && here.is_some() && host_of(published) == here);
    others.map(|(rank, _)| (rank, Arc::clone(&lines))).collect()
}

fn host_of(published: &Published) -> Option<String> {
    match published {
        Published::Text(text) => presence::text::decode(text).map(|presence| presence.host),
        Published::Nothing(_) => None,
    }
}

fn read_all(ranks: &[c_int]) -> Option<Vec<Arc<Published>>> {
    each_once(ranks.iter().map(|&rank| read(rank)))
}

fn read(rank: c_int) -> Option<Published> {
    // One more than a presence may have: what is longer than it may be does not look shorter.
    let mut text = [0u8; LONGEST + 1];
    // SAFETY: a room of this length.
    let code = unsafe { READER.get()?(rank, text.as_mut_ptr().cast(), text.len()) };
    if code == UNKNOWN {
        return None;
    }
    let is_text = code >= 0;
    let length = if is_text { code } else { -1 - code };
    let octets = text.get(..usize::try_from(length).ok()?)?;
    let text = String::from_utf8_lossy(octets).into_owned();
    Some(if is_text {
        Published::Text(text)
    } else {
        Published::Nothing(Some(text).filter(|host| !host.is_empty()))
    })
}

/// The line that names the rank, by its place in MPI_COMM_WORLD.
fn line(members: &WorldRanks, all: &[Arc<Published>], found: &Difference) -> String {
    let rank_of = |at: usize| members.ranks().get(at).copied().unwrap_or(-1);
    let rank = rank_of(found.at);
    let place = match &found.host {
        Some(host) => format!("rank {rank} on host {host}"),
        // Launchers place ranks in the order of hosts.
        None => match neighbour(all, found.at) {
            Some((at, host)) => format!("rank {rank} (rank {} is on host {host})", rank_of(at)),
            None => format!("rank {rank}"),
        },
    };
    let others = match found.ranks {
        1 => String::new(),
        ranks => format!(" and {} more", ranks - 1),
    };
    format!(
        "{place}{others}: {}; the MPI library's own routines run on communicators with such ranks",
        found.what
    )
}

/// The member closest in rank whose host is known.
fn neighbour(all: &[Arc<Published>], at: usize) -> Option<(usize, String)> {
    let with_host = all
        .iter()
        .enumerate()
        .filter_map(|(other, published)| match &**published {
            Published::Text(_) => Some((other, host_of(published)?)),
            Published::Nothing(_) => None,
        });
    with_host.min_by_key(|(other, _)| other.abs_diff(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(host: &str) -> Published {
        let presence = Presence::here(Ability::Serves, host, |_| None);
        Published::Text(presence::text::encode(&presence))
    }

    #[test]
    fn lines_that_one_rank_hands_on_say_what_it_read() {
        let all = [
            text("a"),
            text("b"),
            text("a"),
            Published::Nothing(Some("a".to_owned())),
            Published::Nothing(None),
        ]
        .map(Arc::new);
        let read: Vec<Arc<Published>> = published_in(&lines_of(&all))
            .into_iter()
            .map(Arc::new)
            .collect();
        assert_eq!(read, all);
        let served = [0, 1, 4].map(|own| {
            let shares = shares(&all, own);
            shares.into_iter().map(|share| share.0).collect::<Vec<_>>()
        });
        assert_eq!(served, [vec![2], vec![], vec![]]);
    }
}
