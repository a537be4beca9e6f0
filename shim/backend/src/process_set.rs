//! A process set, seen by one of its members. The set has the members of a communicator, of its
//! duplicates, and of others that have the same members in the same order. The members follow an epoch
//! together, and agree on it at calls on any of these communicators.
mod agreement;
mod carriers;
mod set_policy;

use crate::call::CollectiveCall;
use crate::call_amount::CallAmount;
use crate::call_comm::CallComm;
use crate::mpi_result::MpiResult;
use crate::private_comm::PrivateComm;
use crate::world_ranks::WorldRanks;
use agreement::{AgreedNews, SetAgreement};
use carriers::SetCarriers;
use policy::call_policy::PolicyCall;
use policy::decision_table::{Collective, DataCarrier, Way};
use policy::learning::CallClass;
use runtime::held_epoch::HeldEpoch;
use runtime::plan::ChosenWays;
use runtime::rank_host::RankHost;
use runtime::watchdog;
use set_policy::SetPolicy;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The greatest half of a digest.
const HALF: u64 = u32::MAX as u64;

/// A process set, as one of its processes knows it.
#[derive(Debug)]
pub(crate) struct ProcessSet {
    agreement: SetAgreement,
    policy: SetPolicy,
    carriers: SetCarriers,
}

pub(crate) fn lock(set: &Mutex<ProcessSet>) -> MutexGuard<'_, ProcessSet> {
    set.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ProcessSet {
    /// Of ranks on these hosts, which agree for the first time, at a call that it will serve; `held` is the epoch that
    /// all of them hold, if they do. Collective.
    pub(crate) fn new(
        within: &CallComm,
        hosts: Vec<RankHost>,
        members: Option<&WorldRanks>,
        held: Option<HeldEpoch>,
    ) -> MpiResult<ProcessSet> {
        let mut set = ProcessSet {
            agreement: SetAgreement::new(within.rank as u32, hosts, members, held),
            policy: SetPolicy::new(members.map_or(1, WorldRanks::sets_of_the_world)),
            carriers: SetCarriers::default(),
        };
        let news = set.agreement.agree(within, None)?;
        set.obey(within, news)?;
        Ok(set)
    }

    /// True if it follows the epoch with this digest, and the library's messages are known to cross its tree.
    pub(crate) fn has_crossed(&self, epoch: u64) -> bool {
        self.agreement.has_crossed(epoch)
    }

    /// All ranks have the same news. Collective.
    fn obey(&mut self, within: &CallComm, news: AgreedNews) -> MpiResult<()> {
        self.policy.passing().refuse_all();
        match news {
            AgreedNews::Nothing => {}
            AgreedNews::Aside(problem) => self.stand_aside(problem),
            AgreedNews::Follow(news) => {
                let (grounds, place, setup) = *news;
                self.policy.follow(grounds, place, setup);
                self.tell_learned();
            }
        }
        self.agreement.compare_clocks(within)
    }

    /// Rank 0 hears what is learned.
    fn tell_learned(&mut self) {
        if let Some(root) = self.agreement.root() {
            root.learned(self.policy.learner());
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
        self.policy
            .passing()
            .allow_work(self.agreement.pace().room());
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
        let came = self.agreement.came();
        let (ranks, moved) = (within.size as u64, amount.known_to_all().unwrap_or(0));
        if self.agreement.is_due(ranks, moved) {
            let carriers = &mut self.carriers;
            if let Some(news) = self.agreement.agree_by_and_by(within, carriers)? {
                self.obey(within, news)?;
            }
        }
        if self.policy.is_settled(call, amount) {
            return Ok(self.pass(call, within, amount, came));
        }
        let private = self.carriers.messages();
        // SAFETY: passed on to the caller.
        let size = unsafe { self.policy.common_size(call, within, private, amount) }?;
        let amount = size.map_or(amount, |size| amount.with_size(size));
        if size.is_some() && amount.fits {
            self.agreement.pace().add(ranks, amount.block);
        }
        let (way, class) = self.way(call, within, amount)?;
        let may_pass = self.may_pass(call, amount);
        self.policy.settle(call, amount, (way, class), may_pass);
        self.tell_decision(call, amount, (way, class));
        let kind = (call.collective, way, amount.block);
        let (carriers, policy) = (&mut self.carriers, self.policy.call_policy());
        let mut began = Instant::now();
        // SAFETY: passed on to the caller.
        let code = self.agreement.record(kind, came, |followed| unsafe {
            began = Instant::now();
            carriers.carry_out(call, within, amount, way, policy, followed)
        });
        let left = Instant::now();
        let look = (self.agreement).look_for_network(within, kind, left - began)?;
        let (met, problem) = look.unzip();
        if let Some(problem) = problem.flatten() {
            self.stand_aside(problem);
        }
        let Some(class) = class else {
            return code;
        };
        // A call that failed here counts as everywhere else, so that all meet at the same one.
        let times = [began, left];
        let learned = (self.policy).learn(within, (class, amount.block), times, met);
        if let Ok(true) = learned {
            self.compare_rates(within, class, amount.block);
            self.tell_learned();
        }
        self.let_pass(call, within, amount, Some(class));
        code.and_then(|code| learned.map(|_| code))
    }

    /// The ranks agreed on times of a class. If the library's own routine ends sooner than the tree's rates allow,
    /// heddle's connections send faster, too.
    fn compare_rates(&mut self, within: &CallComm, class: CallClass, block: u64) {
        // Unequal blocks may cross fewer cables than their mean.
        let collective = class.collective;
        if collective.has_own_lengths() || collective == Collective::Allgatherv {
            return;
        }
        let times = self.policy.learner().last_calls(class, block);
        let is_faster = self.agreement.learn_rates(collective, block, times);
        let Some(follow) = self.agreement.followed() else {
            return;
        };
        if let Some(mesh) = self.carriers.mesh() {
            mesh.lock().be_patient(follow.view.patience());
        }
        if is_faster {
            self.carriers.pace(within.rank as u32, follow);
        }
    }

    /// The watchdog hears what this rank waits for, and on rank 0 a user who asked for it which way the call goes.
    fn tell_decision(
        &mut self,
        call: &CollectiveCall,
        amount: CallAmount,
        (way, class): (Way, Option<CallClass>),
    ) {
        self.await_librarys_routine(call, amount);
        let (policy, collective, block) =
            (self.policy.call_policy(), call.collective, amount.block);
        if let Some(root) = self.agreement.root()
            && !class.is_some_and(|class| policy.is_trying(class))
        {
            root.tell_decision(collective, way, block, || {
                policy.why(collective, block, way, class.is_some())
            });
        }
    }

    /// The watchdog hears what this rank waits for.
    fn await_librarys_routine(&self, call: &CollectiveCall, amount: CallAmount) {
        let (collective, block) = (call.collective, amount.block);
        watchdog::begin_wait(|| {
            let me = self.agreement.me();
            format!("{me}: {collective} of {block} B a block, the library's routine")
        });
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
                if decision.class.is_some() {
                    (self.agreement).ask_network(self.policy.call_policy(), collective);
                }
                return Ok((Way::Native, decision.class));
            }
            if !(self.policy).may_put_together(collective, decision.way, amount) {
                return Ok((Way::Native, None));
            }
            let policy = self.policy.call_policy();
            if !(self.agreement).may_leave_the_library(within, policy, collective, block)? {
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
        match self.agreement.followed() {
            Some(follow) => (self.carriers).connects(within, follow, collective, way, block),
            None => Ok(false),
        }
    }

    /// Plans a way, and makes sure that all ranks have the same plan; nothing is followed from now on where they do
    /// not. Planning only computes, so a panic in it may be caught. Collective.
    fn plan(&mut self, within: &CallComm, way: Way) -> MpiResult<()> {
        let Some(mut followed) = self.agreement.take_followed() else {
            self.policy.stand_aside();
            return Ok(());
        };
        watchdog::begin_wait(|| format!("{}: the plans of all ranks", self.agreement.me()));
        let name = self.agreement.name_of_plans();
        let (rank, policy) = (within.rank as u32, self.policy.call_policy_mut());
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
                self.carriers.pace(rank, &followed);
                self.agreement.follow_on(followed, &summary);
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
        self.agreement.stand_aside(problem);
    }

    /// A call of the settled kind. It may take a few microseconds: all that is done is counted.
    fn pass(
        &mut self,
        call: &CollectiveCall,
        within: &CallComm,
        amount: CallAmount,
        came: Duration,
    ) -> i32 {
        self.await_librarys_routine(call, amount);
        let kind = (call.collective, Way::Native, amount.block);
        let code = (self.agreement).record(kind, came, |_| (call.native)());
        self.let_pass(call, within, amount, None);
        code
    }

    /// True if all calls of this one's kind may go as it does, and none has to be recorded. A call goes the library's way
    /// for itself alone where the ranks look after it.
    fn may_pass(&self, call: &CollectiveCall, amount: CallAmount) -> bool {
        let is_alone = self.agreement.is_recording() || self.agreement.looks_after_this_call();
        self.policy.may_pass(call.collective, amount) && !is_alone
    }

    /// Calls like this one pass without coming here, as long as they all go the library's way and
    /// nobody times them.
    fn let_pass(
        &mut self,
        call: &CollectiveCall,
        within: &CallComm,
        amount: CallAmount,
        class: Option<CallClass>,
    ) {
        if !self.may_pass(call, amount) {
            return;
        }
        let root = self.agreement.root();
        let unrecorded = root.map_or(u32::MAX, |root| root.untimed(call.collective, amount.block));
        (self.policy).let_pass(call, within, amount, class, unrecorded);
    }

    /// Counts calls that passed, as if they had come here.
    fn count_passed(&mut self) {
        for (kind, calls) in self.policy.passed() {
            self.agreement.passed(kind, calls);
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
        self.agreement.finish(self.policy.learner());
        self.release_resources();
    }
}
