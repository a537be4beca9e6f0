//! A process set, seen by one of its members. The set has the members of a communicator, of its
//! duplicates, and of others that have the same members in the same order. The members follow an epoch
//! together, and agree on it at calls on any of these communicators.
mod agreement;
mod carriers;
mod network;
mod settled;

use crate::call::{CallAmount, CallRole, CollectiveCall};
use crate::call_comm::CallComm;
use crate::length_forecasts::LengthForecasts;
use crate::mpi_result::MpiResult;
use crate::passing::PassingKinds;
use crate::presences;
use crate::private_comm::PrivateComm;
use crate::relayed;
use crate::root_rank::RootRank;
use crate::set_learning::{SetLearning, TimedCall};
use crate::set_trace::SetTrace;
use crate::set_watch::SetWatch;
use crate::world_ranks::WorldRanks;
use agreement::DirectiveUnderWay;
use carriers::SetCarriers;
use network::NetworkKnowledge;
use policy::call_policy::{CallPolicy, PolicyCall};
use policy::decision_table::{Collective, DataCarrier, Way};
use policy::forced::ReductionOrder;
use policy::learning::CallClass;
use runtime::agreement_pace::AgreementPace;
use runtime::call_forecast::NOT_SERVED;
use runtime::plan::{ChosenWays, FollowedEpoch};
use runtime::rank_host::RankHost;
use runtime::watchdog;
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
    /// So many sets of this size the ranks of the job make: they may call at once.
    sets_of_the_job: u32,
    /// The name that its ranks on this host have in common, if there is one.
    name_on_host: Option<String>,
    pace: AgreementPace,
    forecasts: LengthForecasts,
    /// Which way each call goes.
    policy: CallPolicy,
    /// The epoch that it follows; the library's own routines run without one.
    followed: Option<Box<FollowedEpoch>>,
    /// The digest of that epoch.
    epoch: u64,
    carriers: SetCarriers,
    learning: SetLearning,
    /// The last kind of calls that go to the library's own routine for as long as this epoch is
    /// followed.
    settled: Option<(Collective, u64)>,
    passing: PassingKinds,
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
            sets_of_the_job: members.map_or(1, WorldRanks::sets_of_the_world),
            name_on_host: members.map(presences::name_on_this_host),
            pace: AgreementPace::new(1),
            forecasts: LengthForecasts::default(),
            policy: CallPolicy::default(),
            followed: None,
            epoch: 0,
            carriers: SetCarriers::default(),
            learning: SetLearning::default(),
            settled: None,
            passing: PassingKinds::default(),
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
        self.passing.refuse(call.collective);
        // SAFETY: passed on to the caller.
        let code = unsafe { self.serve_one(call, within, amount) };
        self.passing.allow_work(self.pace.room());
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
        if self.settled == Some((call.collective, amount.block)) {
            return Ok(self.pass(call, amount));
        }
        // SAFETY: passed on to the caller.
        let amount = unsafe { self.common_amount(call, within, amount) }?;
        let (way, class) = self.way(call, within, amount)?;
        self.settled = self.settles(call, amount, way, class);
        if way.carrier() == Some(DataCarrier::Mpi) {
            // Over MPI not every block can be carried.
            self.forecasts.distrust(call.collective);
        }
        let (collective, block) = (call.collective, amount.block);
        watchdog::begin_wait(|| {
            let me = self.me();
            format!("{me}: {collective} of {block} B a block, the library's routine")
        });
        let policy = &self.policy;
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
            (self.carriers).carry_out(call, within, amount, way, &self.policy, followed)
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
        let learner = self.policy.learner_mut();
        if (self.learning).called(learner, within, (class, block), call, met)? {
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
        if !own.differs {
            return Ok(own);
        }
        let ranks = self.hosts.len();
        if !self.policy.takes_part(call.collective) {
            self.forecasts.forget(call.collective)?;
            return Ok(own);
        }
        // SAFETY: passed on to the caller.
        let known = unsafe { call.own(ranks, own) };
        let policy = &self.policy;
        let private = (self.carriers.messages()).filter(|_| !policy.is_forced(call.collective));
        let size = (self.forecasts).size(call.collective, (within, private), known, |block| {
            policy.likely_way(call.collective, block)
        })?;
        if size.block == NOT_SERVED {
            return Ok(CallAmount { fits: false, ..own });
        }
        self.pace.add(ranks as u64, size.block);
        Ok(CallAmount {
            block: size.block,
            fits: true,
            is_even: size.is_even,
            place: size.place,
            ..own
        })
    }

    /// A call as the policy sees it; `None` where it goes the library's way, whatever the policy says.
    /// Collective.
    fn policy_call(
        &self,
        call: &CollectiveCall,
        within: &CallComm,
        amount: CallAmount,
    ) -> MpiResult<Option<PolicyCall>> {
        let CallAmount {
            block,
            fits,
            is_even,
            ..
        } = amount;
        let collective = call.collective;
        let is_common = !amount.differs || self.policy.takes_part(collective);
        if block == 0 || !fits || !is_common {
            return Ok(None);
        }
        let order = relayed::order(call, self.policy.reductions());
        if matches!(call.role, CallRole::Reduction(_)) {
            let goes = order != ReductionOrder::Librarys
                && self.policy.may_differ(collective, block)
                && relayed::may_go(call, within)?;
            if !goes {
                return Ok(None);
            }
        }
        Ok(Some(PolicyCall {
            collective,
            block,
            is_even,
            is_steady: order == ReductionOrder::Steady,
        }))
    }

    /// The way of a call, the same on every rank, and its class if calls of that are timed. Plans it, connects and
    /// makes what else the way asks for, where no call went it before. Collective.
    fn way(
        &mut self,
        call: &CollectiveCall,
        within: &CallComm,
        amount: CallAmount,
    ) -> MpiResult<(Way, Option<CallClass>)> {
        let Some(call) = self.policy_call(call, within, amount)? else {
            return Ok((Way::Native, None));
        };
        let PolicyCall {
            collective, block, ..
        } = call;
        // A way that is refused leaves the others: there are fewer each time.
        loop {
            let decision = self.policy.decide(&call);
            if let Some(class) = decision.class.filter(|_| call.is_steady)
                && self.policy.learner().is_between_rows(class)
            {
                // Those of a trial that ended with this call.
                self.learning.forget_row(class);
            }
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
            if self.policy.lacks_plan(decision.way) {
                self.plan(within, decision.way)?;
                continue;
            }
            if self.ensure_passable(within, &call, decision.way)? {
                return Ok((decision.way, decision.class));
            }
            let Some(fallback) = decision.fallback else {
                self.passing.refuse_all();
                self.learning.forget_rows();
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
        if self.policy.lacks_plan(way) {
            self.plan(within, way)?;
        }
        if !self.policy.can(way, block) {
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
        let (rank, policy) = (self.rank, &mut self.policy);
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
        let (own, room) = (self.policy.digest() ^ by_ways, PrivateComm::may_be_made());
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
        self.settled = None;
        self.passing.refuse_all();
        self.policy.stand_aside();
        self.followed = None;
        if let Some(root) = &mut self.root {
            root.stand_aside(problem);
        }
    }

    /// No communicator has it any more, but the next one may: what it holds is given back, what it
    /// knows stays.
    pub(crate) fn release_resources(&mut self) {
        // Errors come again where the octets are asked for.
        let _ = self.agreement.rest();
        let _ = self.forecasts.wait();
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
