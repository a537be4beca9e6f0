//! A process set, seen by one of its members. The set has the members of a communicator, of its
//! duplicates, and of others that have the same members in the same order. The members follow an epoch
//! together, and agree on it at calls on any of these communicators.
mod agreement;
mod carriers;
mod network;
mod set_policy;

use crate::call::{CallAmount, CollectiveCall};
use crate::call_comm::CallComm;
use crate::mpi_result::MpiResult;
use crate::presences;
use crate::private_comm::PrivateComm;
use crate::root_rank::RootRank;
use crate::set_learning::TimedCall;
use crate::set_trace::SetTrace;
use crate::set_watch::SetWatch;
use crate::world_ranks::WorldRanks;
use agreement::DirectiveUnderWay;
use carriers::SetCarriers;
use network::NetworkKnowledge;
use policy::call_policy::PolicyCall;
use policy::decision_table::{DataCarrier, Way};
use policy::learning::CallClass;
use runtime::agreement_pace::AgreementPace;
use runtime::plan::{ChosenWays, FollowedEpoch};
use runtime::rank_host::RankHost;
use runtime::watchdog;
use set_policy::SetPolicy;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// The greatest half of a digest.
const HALF: u64 = u32::MAX as u64;

/// A process set, as one of its processes knows it.
#[derive(Debug)]
pub(crate) struct ProcessSet {
    rank: u32,
    /// The host of each rank.
    hosts: Vec<RankHost>,
    /// The name that its ranks on this host have in common, if there is one.
    name_on_host: Option<String>,
    pace: AgreementPace,
    policy: SetPolicy,
    /// The epoch that it follows; the library's own routines run without one.
    followed: Option<Box<FollowedEpoch>>,
    /// The digest of that epoch.
    epoch: u64,
    carriers: SetCarriers,
    /// Rank 0 has more to do.
    root: Option<Box<RootRank>>,
    /// The steps of this rank with their times, where they are recorded.
    trace: SetTrace,
    watch: SetWatch,
    network: NetworkKnowledge,
    agreement: DirectiveUnderWay,
}

pub(crate) fn lock(set: &Mutex<ProcessSet>) -> MutexGuard<'_, ProcessSet> {
    set.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ProcessSet {
    pub(crate) fn new(
        within: &CallComm,
        hosts: Vec<RankHost>,
        members: Option<&WorldRanks>,
    ) -> ProcessSet {
        let root = (within.rank == 0).then(|| Box::new(RootRank::new(&hosts, members)));
        ProcessSet {
            rank: within.rank as u32,
            hosts,
            name_on_host: members.map(presences::name_on_this_host),
            pace: AgreementPace::new(1),
            policy: SetPolicy::new(members.map_or(1, WorldRanks::sets_of_the_world)),
            followed: None,
            epoch: 0,
            carriers: SetCarriers::default(),
            root,
            trace: SetTrace::default(),
            watch: SetWatch::of_rank(within.rank as u32),
            network: NetworkKnowledge::default(),
            agreement: DirectiveUnderWay::default(),
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
        self.count_passed();
        self.policy.passing().refuse(call.collective);
        // SAFETY: passed on to the caller.
        let code = unsafe { self.serve_one(call, within, amount) };
        self.policy.passing().allow_work(self.pace.room());
        code
    }

    /// # Safety
    /// As the MPI standard says of the call's arguments.
    unsafe fn serve_one(
        &mut self,
        call: &CollectiveCall,
        within: &CallComm,
        amount: CallAmount,
    ) -> MpiResult<i32> {
        let came = self.trace.came();
        let (ranks, moved) = (self.hosts.len() as u64, amount.known_to_all().unwrap_or(0));
        let has_agreed = self.has_agreed();
        if self.pace.due(ranks, moved) && !has_agreed {
            self.agree_by_and_by(within)?;
        }
        if self.policy.is_settled(call, amount) {
            return Ok(self.pass(call, amount));
        }
        // SAFETY: passed on to the caller.
        let amount = unsafe { self.common_amount(call, within, amount) }?;
        let (way, class) = self.way(call, within, amount)?;
        let may_pass = self.may_pass(call, amount);
        self.policy.settle(call, amount, (way, class), may_pass);
        let (collective, block) = (call.collective, amount.block);
        watchdog::begin_wait(|| {
            let me = self.me();
            format!("{me}: {collective} of {block} B a block, the library's routine")
        });
        let policy = self.policy.call_policy();
        let why = || policy.why(call.collective, amount.block, way, class.is_some());
        let timer = self.root.as_mut().map(|root| {
            if !class.is_some_and(|class| policy.is_trying(class)) {
                root.tell_decision(call.collective, way, amount.block, why);
            }
            root.begin(call.collective, way, amount.block)
        });
        let began = Instant::now();
        let mut trace = std::mem::take(&mut self.trace);
        // SAFETY: passed on to the caller.
        let code = trace.around((call.collective, way, amount.block), came, || unsafe {
            let followed = self.followed.as_deref();
            (self.carriers).carry_out(call, within, amount, way, policy, followed)
        });
        self.trace = trace;
        if let (Some(root), Some(timer)) = (&mut self.root, &timer) {
            root.done(timer);
        }
        let left = Instant::now();
        let met = self.look_for_network(within, collective, block, left - began)?;
        let Some(class) = class else {
            return code;
        };
        // A call that failed here counts as everywhere else, so that all meet at the same one.
        let learned = self.learn(within, (class, block), [began, left], met);
        self.let_pass(call, amount, Some(class));
        code.and_then(|code| learned.map(|()| code))
    }

    /// A call of a class has come and left then, and all ranks have met at some moment since, or have not.
    /// Collective.
    fn learn(
        &mut self,
        within: &CallComm,
        (class, block): (CallClass, u64),
        call: TimedCall,
        met: Option<Instant>,
    ) -> MpiResult<()> {
        if self.policy.learn(within, (class, block), call, met)? {
            self.compare_rates(class, block);
            if let Some(root) = &mut self.root {
                root.learned(self.policy.learner());
            }
        }
        Ok(())
    }

    /// This rank, as the watchdog names it.
    fn me(&self) -> String {
        format!("rank {} on {}", self.rank, self.hosts[self.rank as usize])
    }

    /// The amount of a call on all ranks, where each rank knows its own part only. This rank's own
    /// amount where no rank needs that of all. Collective.
    ///
    /// # Safety
    /// As the MPI standard says of the call's arguments.
    unsafe fn common_amount(
        &mut self,
        call: &CollectiveCall,
        within: &CallComm,
        own: CallAmount,
    ) -> MpiResult<CallAmount> {
        let private = self.carriers.messages();
        // SAFETY: passed on to the caller.
        let size = unsafe { self.policy.common_size(call, within, private, own) }?;
        let Some(size) = size else { return Ok(own) };
        let amount = own.with_size(size);
        if amount.fits {
            self.pace.add(within.size as u64, size.block);
        }
        Ok(amount)
    }

    /// The way of a call, the same on every rank, and its class if calls of that are timed. Plans it, connects and
    /// makes what else the way asks for, where no call went it before. Collective.
    fn way(
        &mut self,
        call: &CollectiveCall,
        within: &CallComm,
        amount: CallAmount,
    ) -> MpiResult<(Way, Option<CallClass>)> {
        let Some(call) = self.policy.policy_call(call, within, amount)? else {
            return Ok((Way::Native, None));
        };
        let PolicyCall {
            collective, block, ..
        } = call;
        // A way that is refused leaves the others: there are fewer each time.
        loop {
            let decision = self.policy.decide(&call);
            if decision.way == Way::Native {
                if decision.class.is_some() && self.asks_network(collective) {
                    self.network = NetworkKnowledge::Asked;
                }
                return Ok((Way::Native, decision.class));
            }
            if !self.may_leave_the_library(within, collective, block)? {
                // A call that the learner has otherwise in mind does not count for it.
                return Ok((Way::Native, None));
            }
            if self.policy.call_policy().lacks_plan(decision.way) {
                self.plan(within, decision.way)?;
                continue;
            }
            if self.ensure_passable(within, &call, decision.way)? {
                return Ok((decision.way, decision.class));
            }
            let Some(fallback) = decision.fallback else {
                self.policy.refuse(decision.way);
                continue;
            };
            let is_other = fallback != decision.way;
            let goes = is_other && self.ensure_passable(within, &call, fallback)?;
            return Ok((if goes { fallback } else { Way::Native }, None));
        }
    }

    /// True if such calls can go a way. It is planned and connected now if nobody did before. Collective.
    fn ensure_passable(
        &mut self,
        within: &CallComm,
        call: &PolicyCall,
        way: Way,
    ) -> MpiResult<bool> {
        let &PolicyCall {
            collective, block, ..
        } = call;
        if way == Way::Native {
            return Ok(true);
        }
        if self.policy.call_policy().lacks_plan(way) {
            self.plan(within, way)?;
        }
        if !self.policy.call_policy().can(way, block) {
            return Ok(false);
        }
        if way.carrier() != Some(DataCarrier::Tcp) {
            return self.carriers.messages_mut().up(within);
        }
        match self.followed.as_deref() {
            Some(follow) => (self.carriers).connects(within, follow, collective, way, block),
            None => Ok(false),
        }
    }

    /// Plans a way, and makes sure that all ranks have the same plan; nothing is followed from now on where they do
    /// not. Planning only computes, so a panic in it may be caught. Collective.
    fn plan(&mut self, within: &CallComm, way: Way) -> MpiResult<()> {
        let Some(mut followed) = self.followed.take() else {
            self.policy.stand_aside();
            return Ok(());
        };
        watchdog::begin_wait(|| format!("{}: the plans of all ranks", self.me()));
        let of_epoch = self.name_on_host.as_ref();
        let name = of_epoch.map(|on_host| format!("{on_host}-{:016x}", self.epoch));
        let (rank, policy) = (self.rank, self.policy.call_policy_mut());
        let planned = catch_unwind(AssertUnwindSafe(|| {
            followed
                .plan(rank, policy, way, name.as_deref())
                .map_err(|e| e.to_string())
        }))
        .unwrap_or_else(|_| {
            Err("planning for this communicator failed; please report this".into())
        });
        let by_ways = followed
            .chosen_ways()
            .map_or(0, ChosenWays::digest_of_plans);
        let (own, room) = (
            self.policy.call_policy().digest() ^ by_ways,
            PrivateComm::may_be_made(),
        );
        let halves = [own >> 32, own & HALF];
        // One reduction compares all digests: the least half, and the greatest as HALF less the least of `high`, are
        // the same if all are. By halves, since MPICH 4.0 finds the least number of 64 bits with a sign.
        let [low, high] = [halves, halves.map(|half| HALF - half)];
        let least = within.least_numbers(&[low[0], low[1], high[0], high[1], room.into()])?;
        let same = least[0] + least[2] == HALF && least[1] + least[3] == HALF;
        self.carriers.messages_mut().may_be_made(least[4] == 1);
        match planned {
            Ok(summary) if same => {
                if let Some(root) = &mut self.root {
                    root.planned(&summary);
                }
                self.carriers.pace(self.rank, &followed);
                self.followed = Some(followed);
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
        self.policy.stand_aside();
        self.followed = None;
        if let Some(root) = &mut self.root {
            root.stand_aside(problem);
        }
    }

    /// A call of the settled kind. It may take a few microseconds: all that is done is counted.
    fn pass(&mut self, call: &CollectiveCall, amount: CallAmount) -> i32 {
        let (collective, block) = (call.collective, amount.block);
        watchdog::begin_wait(|| {
            let me = self.me();
            format!("{me}: {collective} of {block} B a block, the library's routine")
        });
        let timer = (self.root.as_mut()).map(|root| root.begin(collective, Way::Native, block));
        let code = (call.native)();
        if let (Some(root), Some(timer)) = (&mut self.root, &timer) {
            root.done(timer);
        }
        self.let_pass(call, amount, None);
        code
    }

    /// True if all calls of this one's kind may go as it does, and none has to be recorded.
    fn may_pass(&self, call: &CollectiveCall, amount: CallAmount) -> bool {
        self.policy.may_pass(call.collective, amount) && !self.trace.is_recording()
    }

    /// Calls like this one pass without coming here, as long as they all go the library's way and
    /// nobody times them.
    fn let_pass(&mut self, call: &CollectiveCall, amount: CallAmount, class: Option<CallClass>) {
        if !self.may_pass(call, amount) {
            return;
        }
        let root = self.root.as_mut();
        let unrecorded = root.map_or(u32::MAX, |root| root.untimed(call.collective, amount.block));
        let ranks = self.hosts.len() as u64;
        (self.policy).let_pass(call, ranks, amount, class, unrecorded);
    }

    /// Counts calls that passed, as if they had come here.
    fn count_passed(&mut self) {
        for (kind, calls) in self.policy.passed() {
            self.pace.pass(kind.work, calls);
            if let Some(root) = &mut self.root {
                root.passed(kind.collective, kind.block, calls);
            }
        }
    }

    /// The same, and none passes any more.
    pub(crate) fn end_passing(&mut self) {
        self.count_passed();
        self.policy.passing().refuse_all();
    }

    /// No communicator has it any more, but the next one may: what it holds is given back, what it
    /// knows stays.
    pub(crate) fn release_resources(&mut self) {
        // Errors come again where the octets are asked for.
        let _ = self.agreement.rest();
        let _ = self.policy.rest();
        self.carriers.release();
    }

    /// Nobody has it any more, or MPI goes down: the last word of the job record, and what it holds
    /// given back.
    pub(crate) fn leave(&mut self) {
        self.end_passing();
        if let Some(mut root) = self.root.take() {
            root.finish(self.policy.learner(), self.watch.root());
        }
        self.trace.finish();
        self.release_resources();
    }
}
