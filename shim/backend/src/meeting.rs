//! The members of a communicator meet, and find out whether they become a process set.
use crate::call_comm::CallComm;
use crate::member_check::{self, MemberComparison, MemberFacts};
use crate::mpi::{mpi, threads_call_at_once};
use crate::mpi_result::{MpiResult, check};
use crate::process_set::ProcessSet;
use crate::world_ranks::{self, WorldRanks};
use crate::{presences, registry, root_rank};
use runtime::held_epoch::HeldEpoch;
use runtime::rank_host::RankHost;
use runtime::settings::RuntimeSettings;
use runtime::{look_allowance, watchdog};
use std::ffi::c_char;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// No MPI has longer processor names.
const NAME: usize = 256;
/// Some communicator's members did not all come: those of others are waited for this long only.
static WAITED_IN_VAIN: AtomicBool = AtomicBool::new(false);
const ONCE_BITTEN: Duration = Duration::from_millis(50);

/// The outcome of a meeting of a communicator's members.
pub(crate) enum MeetingOutcome {
    Joined(Arc<Mutex<ProcessSet>>),
    /// They differ, not all of them come, or all are on one host, where no epoch ever gives them a
    /// network to schedule.
    Apart,
    /// For some rank a look is not worth it yet, or some rank is late to a first call. The barrier and
    /// the vote of a late rank's meeting end by themselves: those of the next one come after them.
    TooEarly,
}

/// The members of a communicator meet now, if all have published the same, and join if for all of
/// them a look is worth it. If not all come, they stand apart for good, unless they `may_meet_again`.
/// Collective.
pub(crate) fn meet(
    within: &CallComm,
    is_worth_a_look: bool,
    may_meet_again: bool,
) -> MpiResult<MeetingOutcome> {
    let members = world_ranks::members(within)?;
    if !presences::are_alike(within, members.as_ref()) {
        return Ok(MeetingOutcome::Apart);
    }
    let patience = patience();
    let size = within.size;
    watchdog::begin_wait(|| format!("all {size} ranks of a communicator to come to a collective"));
    // Threads that call at once have no common order, in which a process set could agree on anything.
    let shared = members.as_ref().filter(|_| !threads_call_at_once());
    let living = shared.and_then(registry::find);
    let hosts = members.as_ref().and_then(registry::hosts);
    let here = own_host()?.to_bytes();
    let held = HeldEpoch::newest();
    let epoch = held.as_ref().map_or(0, HeldEpoch::digest);
    let known = MemberFacts {
        set: living.as_ref().map_or(0, |(number, _)| *number),
        epoch,
        has_crossed: shared.is_some_and(|members| registry::have_crossed(members, epoch)),
        hosts: hosts.is_some(),
        host_octets: here.len() as u64,
        unused: members
            .as_ref()
            .map_or(0, |members| registry::unused_number(members, within.rank)),
        is_worth_a_look,
    };
    let compared = member_check::compare_members(within, patience, known)?;
    let MemberComparison::Facts(common) = compared else {
        return Ok(stand_apart(within, patience, compared, may_meet_again));
    };
    if let Some((number, set)) = living
        && common.set == number
    {
        return Ok(MeetingOutcome::Joined(set));
    }
    if !common.is_worth_a_look {
        return Ok(MeetingOutcome::TooEarly);
    }
    let began = Instant::now();
    let hosts = match hosts {
        Some(hosts) if common.hosts => hosts,
        _ => ask_hosts(within, members.as_ref(), here, common.host_octets as usize)?,
    };
    let held = held
        .filter(|_| common.epoch != 0)
        .map(|held| held.crossed(common.has_crossed));
    let Some(set) = join(within, hosts, members.as_ref(), held)? else {
        return Ok(MeetingOutcome::Apart);
    };
    look_allowance::count_look(began.elapsed());
    if let Some(members) = shared {
        registry::keep(members.clone(), common.unused, &set);
    }
    Ok(MeetingOutcome::Joined(set))
}

/// Some member is late, or has another heddle.
fn stand_apart(
    within: &CallComm,
    patience: Duration,
    compared: MemberComparison,
    may_meet_again: bool,
) -> MeetingOutcome {
    if compared == MemberComparison::Different {
        member_check::they_differ(within);
        return MeetingOutcome::Apart;
    }
    if may_meet_again {
        return MeetingOutcome::TooEarly;
    }
    if !WAITED_IN_VAIN.swap(true, Ordering::Relaxed) {
        member_check::not_everybody(within, patience);
    }
    MeetingOutcome::Apart
}

/// A new process set of ranks on these hosts, which agree for the first time; `None` where all are on one host.
/// Collective.
fn join(
    within: &CallComm,
    hosts: Vec<RankHost>,
    members: Option<&WorldRanks>,
    held: Option<HeldEpoch>,
) -> MpiResult<Option<Arc<Mutex<ProcessSet>>>> {
    if hosts.iter().all(|host| *host == hosts[0]) {
        root_rank::tell_one_host(hosts.len());
        return Ok(None);
    }
    let set = ProcessSet::new(within, hosts, members, held)?;
    Ok(Some(Arc::new(Mutex::new(set))))
}

/// The time for which members wait for each other.
fn patience() -> Duration {
    let patience = RuntimeSettings::here().patience;
    if WAITED_IN_VAIN.load(Ordering::Relaxed) {
        patience.min(ONCE_BITTEN)
    } else {
        patience
    }
}

/// The host of this rank.
fn own_host() -> MpiResult<RankHost> {
    let (mut name, mut length) = ([0u8; NAME], 0);
    // SAFETY: MPI_MAX_PROCESSOR_NAME is 128 in MPICH and 256 in Open MPI.
    check(unsafe {
        (mpi().call.Get_processor_name)(name.as_mut_ptr().cast::<c_char>(), &mut length)
    })?;
    Ok(RankHost::here(&text(&name)))
}

/// The host of each member, of which `own` is this one's; remembered from now on. Collective.
fn ask_hosts(
    within: &CallComm,
    members: Option<&WorldRanks>,
    mut own: Vec<u8>,
    longest: usize,
) -> MpiResult<Vec<RankHost>> {
    own.resize(longest, 0);
    let all = within.gather_all(&own)?;
    let hosts = RankHost::of_ranks(&all, longest);
    if let Some(members) = members {
        registry::remember_hosts(members, &hosts);
    }
    Ok(hosts)
}

fn text(name: &[u8]) -> String {
    let end = name.iter().position(|&b| b == 0).unwrap_or(name.len());
    String::from_utf8_lossy(&name[..end]).into_owned()
}
