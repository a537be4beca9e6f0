//! What this process knows as a member of a process set: the members of a communicator, of its
//! duplicates, and of others that have the same members in the same order. They follow an epoch
//! together, and agree on it at calls on any of these communicators.
use crate::call::{CallAmount, CollectiveCall};
use crate::call_comm::CallComm;
use crate::member_check::{self, MemberFacts};
use crate::mesh_state::{self, MeshState};
use crate::mpi::mpi;
use crate::mpi_result::{MpiResult, check};
use crate::private_comm::PrivateComm;
use crate::registry::WorldRanks;
use crate::root_rank::RootRank;
use crate::{point_to_point, registry, relayed};
use directory::epoch::LeanEpoch;
use runtime::agreement_pace::AgreementPace;
use runtime::directive::RootDirective;
use runtime::plan::{FollowedEpoch, UnplannedEpoch};
use runtime::settings::{self, ForcedWays};
use runtime::{stderr, watchdog};
use selection::decision_table::{Collective, DataCarrier, Mpi, Way};
use std::ffi::c_char;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

/// The library this backend is compiled for.
pub(crate) const MPI: Mpi = if cfg!(open_mpi) {
    Mpi::OpenMpi
} else {
    Mpi::Mpich
};
/// Bytes of a host name on the wire between ranks: no MPI has longer processor names.
const NAME: usize = 256;
/// A call over TCP needs a packed copy, if its type has gaps.
const MOST_OVER_TCP: u64 = 1 << 30;

/// Calls of one kind, one after the other: the same on all ranks, so that ways can be taken in
/// turn.
#[derive(Debug, Default)]
struct CallRow {
    kind: Option<(Collective, u64)>,
    calls: u64,
}

impl CallRow {
    /// Counts a call; gives how many of its kind came just before.
    fn count(&mut self, collective: Collective, block: u64) -> u64 {
        let same = self.kind.replace((collective, block)) == Some((collective, block));
        self.calls = if same { self.calls + 1 } else { 0 };
        self.calls
    }
}

/// The epoch that the process set follows.
#[derive(Debug, Default)]
enum FollowState {
    /// The library's own routines run.
    #[default]
    Nothing,
    /// An epoch for which nobody has asked for another way yet.
    Unplanned(Box<UnplannedEpoch>),
    Planned(Box<FollowedEpoch>),
}

/// The state of the runtime's own communicator for messages.
#[derive(Debug, Default)]
enum PrivateCommState {
    #[default]
    Untried,
    Over(PrivateComm),
    /// The library had none to give to some rank; nobody tries again.
    Refused,
}

/// A process set, as one of its processes knows it.
#[derive(Debug)]
pub(crate) struct ProcessSet {
    rank: u32,
    /// The host of each rank.
    hosts: Vec<String>,
    pace: AgreementPace,
    row: CallRow,
    followed: FollowState,
    messages: PrivateCommState,
    wires: MeshState,
    /// Rank 0 has more to do.
    root: Option<Box<RootRank>>,
}

/// True if threads of this process may call MPI at once: then calls on two communicators have no
/// common order.
pub(crate) fn threads_call_at_once() -> bool {
    static MULTIPLE: OnceLock<bool> = OnceLock::new();
    *MULTIPLE.get_or_init(|| {
        let mut provided = 0;
        // SAFETY: a place for the result.
        let code = unsafe { (mpi().call.Query_thread)(&mut provided) };
        check(code).is_err() || provided == mpi().thread_multiple
    })
}

pub(crate) fn lock(set: &Mutex<ProcessSet>) -> MutexGuard<'_, ProcessSet> {
    set.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Some communicator's members did not all come: those of others are waited for this long only.
static WAITED_IN_VAIN: AtomicBool = AtomicBool::new(false);
const ONCE_BITTEN: Duration = Duration::from_millis(50);

/// The process set of a communicator's members, who meet now; `None` if not all of them come, or if
/// all are on one host, where no epoch ever gives them a network to schedule. Collective.
pub(crate) fn join(within: &CallComm) -> MpiResult<Option<Arc<Mutex<ProcessSet>>>> {
    let patience = settings::patience(|name| std::env::var(name).ok());
    let patience = if WAITED_IN_VAIN.load(Ordering::Relaxed) {
        patience.min(ONCE_BITTEN)
    } else {
        patience
    };
    let size = within.size;
    watchdog::begin_wait(|| {
        format!(
            "all {size} ranks of a communicator to come to a collective; is heddle loaded on each \
             of them?"
        )
    });
    let members = registry::members(within)?;
    // Threads that call at once have no common order, in which a process set could agree on
    // anything.
    let shared = members.as_ref().filter(|_| !threads_call_at_once());
    let living = shared.and_then(registry::find);
    let hosts = members.as_ref().and_then(registry::hosts);
    let known = MemberFacts {
        set: living.as_ref().map_or(0, |(number, _)| *number),
        hosts: hosts.is_some(),
        unused: members
            .as_ref()
            .map_or(0, |members| registry::unused_number(members, within.rank)),
    };
    let Some(common) = member_check::compare_members(within, patience, known)? else {
        if !WAITED_IN_VAIN.swap(true, Ordering::Relaxed) {
            not_everybody(within, patience);
        }
        return Ok(None);
    };
    if let Some((number, set)) = living
        && common.set == number
    {
        return Ok(Some(set));
    }
    let hosts = match hosts {
        Some(hosts) if common.hosts => hosts,
        _ => ask_hosts(within)?,
    };
    if let Some(members) = &members {
        registry::remember_hosts(members, &hosts);
    }
    if hosts.iter().all(|host| *host == hosts[0]) {
        return Ok(None);
    }
    let mut set = ProcessSet::new(within, hosts, members.as_ref());
    set.agree(within)?;
    let set = Arc::new(Mutex::new(set));
    if let Some(members) = shared {
        registry::keep(members.clone(), common.unused, &set);
    }
    Ok(Some(set))
}

/// The host of each member, as MPI calls it. Collective.
fn ask_hosts(within: &CallComm) -> MpiResult<Vec<String>> {
    let (mut name, mut length) = ([0u8; NAME], 0);
    // SAFETY: MPI_MAX_PROCESSOR_NAME is 128 in MPICH and 256 in Open MPI.
    check(unsafe {
        (mpi().call.Get_processor_name)(name.as_mut_ptr().cast::<c_char>(), &mut length)
    })?;
    Ok(within.gather_all(&name)?.chunks(NAME).map(text).collect())
}

fn text(name: &[u8]) -> String {
    let end = name.iter().position(|&b| b == 0).unwrap_or(name.len());
    String::from_utf8_lossy(&name[..end]).into_owned()
}

/// Two ranks say it, in case rank 0 is the one without the runtime.
fn not_everybody(within: &CallComm, patience: Duration) {
    if within.rank < 2 {
        stderr::write_line_once(&format!(
            "communicator of {} ranks: not all came to a collective within {} s \
             (HEDDLE_PATIENCE); one is late, or heddle is loaded on some of them only, or \
             HEDDLE_AFTER or HEDDLE_FORCE is not set alike on all; the MPI library's own routines \
             run on it. Load heddle on all ranks or on none: where some lack it, non-blocking \
             collectives of the program may fail",
            within.size,
            patience.as_secs_f64()
        ));
    }
}

impl ProcessSet {
    fn new(within: &CallComm, hosts: Vec<String>, members: Option<&WorldRanks>) -> ProcessSet {
        let root = (within.rank == 0).then(|| Box::new(RootRank::new(&hosts, members)));
        ProcessSet {
            rank: within.rank as u32,
            hosts,
            pace: AgreementPace::new(1),
            row: CallRow::default(),
            followed: FollowState::Nothing,
            messages: PrivateCommState::Untried,
            wires: MeshState::default(),
            root,
        }
    }

    /// Carries one call out. Collective.
    ///
    /// # Safety
    /// As the MPI standard says of the call's arguments.
    pub(crate) unsafe fn serve(
        &mut self,
        call: &CollectiveCall,
        within: &CallComm,
        amount: CallAmount,
    ) -> MpiResult<i32> {
        if self.pace.due(self.hosts.len() as u64, amount.known_to_all) {
            self.agree(within)?;
        }
        let amount = if amount.differs {
            self.mean(within, amount)?
        } else {
            amount
        };
        let way = self.way(call, within, amount)?;
        watchdog::begin_wait(|| {
            format!(
                "{}: {} of {} B a block, the library's routine",
                self.me(),
                call.collective,
                amount.block
            )
        });
        let followed = &self.followed;
        let why = || followed.why(call.collective, amount.block, way);
        let timer = self
            .root
            .as_mut()
            .map(|root| root.begin(call.collective, way, amount.block, why));
        // SAFETY: passed on to the caller.
        let code = unsafe { self.carry_out(call, within, way, amount.block as usize) };
        if let (Some(root), Some(timer)) = (&mut self.root, &timer) {
            root.done(timer);
        }
        code
    }

    /// This rank, as the watchdog names it.
    fn me(&self) -> String {
        format!("rank {} on {}", self.rank, self.hosts[self.rank as usize])
    }

    /// What all ranks together move, where each of them knows its own part; this rank's own where
    /// nobody needs to know. Collective.
    fn mean(&mut self, within: &CallComm, own: CallAmount) -> MpiResult<CallAmount> {
        if !self.followed.takes_part(Collective::Alltoallv) {
            return Ok(own);
        }
        let told = if own.fits { own.block } else { u64::MAX };
        let all = within.gather_all(&told.to_le_bytes())?;
        let all = all.chunks_exact(8).map(|octets| {
            octets
                .iter()
                .rev()
                .fold(0, |n, &octet| n << 8 | u64::from(octet))
        });
        let (mut sum, mut fits) = (0u64, true);
        all.for_each(|block| {
            fits &= block < u64::MAX;
            sum = sum.saturating_add(block);
        });
        let ranks = self.hosts.len() as u64;
        let block = sum.div_ceil(ranks);
        self.pace.add(ranks, block);
        Ok(CallAmount { block, fits, ..own })
    }

    /// # Safety
    /// As the MPI standard says of the call's arguments.
    unsafe fn carry_out(
        &mut self,
        call: &CollectiveCall,
        within: &CallComm,
        way: Way,
        block: usize,
    ) -> MpiResult<i32> {
        let (FollowState::Planned(follow), true) = (&self.followed, way != Way::Native) else {
            // SAFETY: passed on to the caller.
            return Ok(unsafe { call.native() });
        };
        let mesh = self
            .wires
            .mesh()
            .filter(|_| way.carrier() == Some(DataCarrier::Tcp));
        // SAFETY: passed on to the caller.
        unsafe {
            match (way, mesh, &self.messages) {
                (Way::Relay, Some(mesh), _) => {
                    relayed::carry_out(call, within, mesh, follow.ring())?
                }
                (Way::Ring { .. }, Some(mesh), _) => {
                    mesh_state::allgather(call, within, mesh, follow.parts(way))?
                }
                (_, Some(mesh), _) => {
                    mesh_state::alltoall(call, within, mesh, follow.parts(way), block)?
                }
                (_, None, PrivateCommState::Over(twin)) => {
                    twin.quietly(|| by_messages(call, within, way, twin, follow, block))?
                }
                (_, None, _) => return Ok(call.native()),
            }
        }
        Ok(crate::mpi::SUCCESS)
    }

    /// The same on every rank. Plans, connects and makes what else the way asks for, where it does
    /// so first. Collective.
    fn way(
        &mut self,
        call: &CollectiveCall,
        within: &CallComm,
        amount: CallAmount,
    ) -> MpiResult<Way> {
        let CallAmount { block, fits, .. } = amount;
        if block == 0 || !fits || !self.followed.may_differ(call.collective, block) {
            return Ok(Way::Native);
        }
        if !relayed::may_go(call, within)? {
            return Ok(Way::Native);
        }
        self.plan(within)?;
        let FollowState::Planned(follow) = &self.followed else {
            return Ok(Way::Native);
        };
        let mut way = follow.way(
            call.collective,
            block,
            self.row.count(call.collective, block),
        );
        if way.carrier() == Some(DataCarrier::Tcp) {
            watchdog::begin_wait(|| format!("rank {}: the connections of all ranks", within.rank));
            // Of blocks that differ, each rank knows the lengths in an allgather only.
            let known = call.collective != Collective::Alltoallv;
            let connects = known && block <= MOST_OVER_TCP && follow.may_connect(call.collective);
            if connects && self.wires.ensure_connected(within, follow)? {
                return Ok(way);
            }
            way = follow.way_without_tcp(call.collective, block, way);
        }
        Ok(if way == Way::Native || self.messages.up(within)? {
            way
        } else {
            Way::Native
        })
    }

    /// Rank 0 tells what it has heard of the shared directory. Collective.
    fn agree(&mut self, within: &CallComm) -> MpiResult<()> {
        watchdog::begin_wait(|| format!("{}: the word of rank 0 on {}", self.me(), self.hosts[0]));
        let mut header = [0u8; 8];
        let mut body = Vec::new();
        if let Some(root) = &mut self.root {
            let (word, next) = root.next_directive(self.pace.done());
            body = word.to_bytes();
            header[..4].copy_from_slice(&(body.len() as u32).to_le_bytes());
            header[4..].copy_from_slice(&next.to_le_bytes());
        }
        within.broadcast(&mut header)?;
        let [length, next] =
            [&header[..4], &header[4..]].map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]));
        body.resize(length as usize, 0);
        within.broadcast(&mut body)?;
        if let Some(root) = &mut self.root {
            root.directive_sent();
        }
        self.pace = AgreementPace::new(next);
        match RootDirective::from_bytes(&body) {
            RootDirective::Keep => {}
            RootDirective::Aside(problem) => self.stand_aside(problem),
            RootDirective::Follow { lean, force } => self.take_up(&lean, force),
        }
        Ok(())
    }

    /// What rank 0 has read every rank can read: they have the same octets.
    fn take_up(&mut self, lean: &[u8], force: ForcedWays) {
        let prospect = LeanEpoch::from_bytes(lean)
            .map_err(|e| e.to_string())
            .and_then(|lean| {
                UnplannedEpoch::new(lean, &self.hosts, MPI, force).map_err(|e| e.to_string())
            });
        match prospect {
            Ok(prospect) => {
                self.followed = FollowState::Unplanned(Box::new(prospect));
                if let Some(root) = &mut self.root {
                    root.follows();
                }
            }
            Err(problem) => self.stand_aside(problem),
        }
    }

    /// Plans, if nobody has, and makes sure that all ranks have the same plan. Planning only
    /// computes, so a panic in it may be caught. Collective.
    fn plan(&mut self, within: &CallComm) -> MpiResult<()> {
        let prospect = match std::mem::take(&mut self.followed) {
            FollowState::Unplanned(prospect) => prospect,
            other => {
                self.followed = other;
                return Ok(());
            }
        };
        let rank = self.rank;
        let planned = catch_unwind(AssertUnwindSafe(|| {
            prospect.plan(rank).map_err(|e| e.to_string())
        }))
        .unwrap_or_else(|_| {
            Err("planning for this communicator failed; please report this".into())
        });
        watchdog::begin_wait(|| format!("{}: the plans of all ranks", self.me()));
        let own = planned
            .as_ref()
            .map_or(0, FollowedEpoch::digest)
            .to_le_bytes();
        let same = within
            .gather_all(&own)?
            .chunks(own.len())
            .all(|digest| digest == own);
        match planned {
            Ok(follow) if same => {
                if let Some(root) = &mut self.root {
                    root.planned(&follow);
                }
                self.wires.pace(within.rank as u32, &follow);
                self.followed = FollowState::Planned(Box::new(follow));
            }
            Err(problem) if same => self.stand_aside(problem),
            _ => self.stand_aside(
                "the ranks came to different plans; do all hosts have the same version of heddle?"
                    .into(),
            ),
        }
        Ok(())
    }

    fn stand_aside(&mut self, problem: String) {
        self.followed = FollowState::Nothing;
        if let Some(root) = &mut self.root {
            root.stand_aside(problem);
        }
    }

    /// No communicator has it any more, but the next one may: what it holds is given back, what it
    /// knows stays.
    pub(crate) fn release_resources(&mut self) {
        self.wires = MeshState::default();
        if let PrivateCommState::Over(mut twin) = std::mem::take(&mut self.messages) {
            twin.free();
        }
    }

    /// Nobody has it any more, or MPI goes down: the last word of the job record, and what it holds
    /// given back.
    pub(crate) fn leave(&mut self) {
        if let Some(mut root) = self.root.take() {
            root.finish();
        }
        self.release_resources();
    }
}

/// # Safety
/// As the MPI standard says of the call's arguments.
unsafe fn by_messages(
    call: &CollectiveCall,
    within: &CallComm,
    way: Way,
    twin: &PrivateComm,
    follow: &FollowedEpoch,
    block: usize,
) -> MpiResult<()> {
    let parts = follow.parts(way);
    // SAFETY: passed on to the caller.
    unsafe {
        match way {
            Way::Aapc { .. } => point_to_point::alltoall(call, within, twin, parts),
            Way::Lg => point_to_point::passed_on(call, within, twin, parts, 1, block),
            Way::Bundled => point_to_point::passed_on(call, within, twin, parts, usize::MAX, block),
            Way::Ring { .. } => point_to_point::allgather(call, twin, parts),
            Way::Relay | Way::Native => Ok(()),
        }
    }
}

impl FollowState {
    fn may_differ(&self, collective: Collective, block: u64) -> bool {
        match self {
            FollowState::Nothing => false,
            FollowState::Unplanned(prospect) => prospect.may_differ(collective, block),
            FollowState::Planned(follow) => follow.takes_part(collective),
        }
    }

    fn takes_part(&self, collective: Collective) -> bool {
        match self {
            FollowState::Nothing => false,
            FollowState::Unplanned(prospect) => prospect.takes_part(collective),
            FollowState::Planned(follow) => follow.takes_part(collective),
        }
    }

    /// Why a call goes a way, for people.
    fn why(&self, collective: Collective, block: u64, way: Way) -> String {
        match self {
            FollowState::Nothing => String::new(),
            FollowState::Unplanned(prospect) => prospect.why(collective, block),
            FollowState::Planned(follow) => follow.why(collective, block, way),
        }
    }
}

impl PrivateCommState {
    /// True if there is such a communicator; it is made now if nobody tried before. Collective.
    fn up(&mut self, within: &CallComm) -> MpiResult<bool> {
        if let PrivateCommState::Untried = self {
            let twin = if within.holds_on_all_ranks(PrivateComm::may_be_made())? {
                PrivateComm::of(within).ok()
            } else {
                None
            };
            let everywhere = within.holds_on_all_ranks(twin.is_some())?;
            if !everywhere {
                stderr::write_line_once(
                    "the MPI library has no communicator left for heddle; its own routines run",
                );
            }
            // Where a rank has none, those of the others stay as they are: to give one back takes
            // all its members.
            *self = twin
                .filter(|_| everywhere)
                .map_or(PrivateCommState::Refused, PrivateCommState::Over);
        }
        Ok(matches!(self, PrivateCommState::Over(_)))
    }
}
