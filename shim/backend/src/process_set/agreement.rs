//! The ranks agree on the epoch that they follow: rank 0 looks into the shared directory, and has a word
//! for all.
//!
//! A process set that has met a few times does not wait for that word. Rank 0 sends its header at the call
//! at which an agreement is due, and the others read it at their next one, so that ranks which the
//! application lets drift apart stay so. Only news are waited for.
mod network;

use super::carriers::SetCarriers;
use crate::call_comm::CallComm;
use crate::mpi::mpi;
use crate::mpi_result::MpiResult;
use crate::passing::PassingKind;
use crate::pending_collective::PendingCollective;
use crate::presences;
use crate::root_rank::RootRank;
use crate::set_trace::SetTrace;
use crate::set_watch::SetWatch;
use crate::world_ranks::WorldRanks;
use directory::epoch::LeanEpoch;
use inventory::Bytes;
use network::NetworkKnowledge;
use policy::call_policy::PolicyGrounds;
use policy::decision_table::{Collective, Way};
use policy::forced::ForcedWays;
use policy::learned::LearnedPlace;
use policy::learning::{CallLearner, RowTimes};
use runtime::agreement_pace::AgreementPace;
use runtime::directive::RootDirective;
use runtime::held_epoch::HeldEpoch;
use runtime::plan::FollowedEpoch;
use runtime::rank_host::RankHost;
use runtime::tcp::keeper::KeptMesh;
use runtime::tracing::recorder::TraceOrder;
use runtime::watchdog;
use std::time::Duration;

/// Octets of a header: the length of the body, the work until the next agreement, and whether the ranks
/// report how fast blocks came to them.
const HEADER: usize = 9;
/// Octets of the first word that go with its header, in one message: the epochs of clusters of some dozens of
/// hosts.
const WITH_FIRST_HEADER: usize = 4096;
/// The same where all hold the epoch: what jobs learned at the place, and settings.
const WITH_HELD_EPOCH: usize = 256;
/// A process set that has agreed so often will do so many times more.
const ACQUAINTED: u32 = 3;

/// The epoch that a process set follows, and how its ranks agree on it.
#[derive(Debug)]
pub(super) struct SetAgreement {
    rank: u32,
    /// The host of each rank.
    hosts: Vec<RankHost>,
    pace: AgreementPace,
    /// The header of rank 0's word that is under way, and on rank 0 the body.
    header: Option<PendingCollective>,
    body: Vec<u8>,
    agreed: u32,
    /// The epoch that all ranks held when the process set was made.
    held: Option<HeldEpoch>,
    /// The call under way made the process set, which has agreed for it.
    is_of_this_call: bool,
    /// The epoch that it follows; the library's own routines run without one.
    followed: Option<Box<FollowedEpoch>>,
    /// The digest of that epoch.
    epoch: u64,
    /// The name that its ranks on this host have in common, if there is one.
    name_on_host: Option<String>,
    network: NetworkKnowledge,
    /// Rank 0 has more to do.
    root: Option<Box<RootRank>>,
    watch: SetWatch,
    /// The steps of this rank with their times, where they are recorded.
    trace: SetTrace,
}

/// The news that the ranks agreed on.
#[derive(Debug)]
pub(super) enum AgreedNews {
    Nothing,
    /// There is nothing to follow, and why.
    Aside(String),
    /// They follow another epoch. The grounds of its policy, the place, and the time to plan and to connect.
    Follow(Box<(PolicyGrounds, LearnedPlace, Duration)>),
}

impl SetAgreement {
    /// Of the ranks on these hosts, seen by one of them, before they agree for the first time. `world` has their places
    /// in MPI_COMM_WORLD, and `held` the epoch that all of them hold, if they do.
    pub(super) fn new(
        rank: u32,
        hosts: Vec<RankHost>,
        world: Option<&WorldRanks>,
        held: Option<HeldEpoch>,
    ) -> SetAgreement {
        SetAgreement {
            root: (rank == 0).then(|| Box::new(RootRank::new(&hosts, world))),
            rank,
            hosts,
            name_on_host: world.map(presences::name_on_this_host),
            watch: SetWatch::of_rank(rank),
            pace: AgreementPace::new(1),
            header: None,
            body: Vec::new(),
            agreed: 0,
            held,
            is_of_this_call: true,
            followed: None,
            epoch: 0,
            network: NetworkKnowledge::default(),
            trace: SetTrace::default(),
        }
    }

    /// This rank, as the watchdog names it.
    pub(super) fn me(&self) -> String {
        format!("rank {} on {}", self.rank, self.hosts[self.rank as usize])
    }

    pub(super) fn root(&mut self) -> Option<&mut RootRank> {
        self.root.as_deref_mut()
    }

    pub(super) fn followed(&self) -> Option<&FollowedEpoch> {
        self.followed.as_deref()
    }

    /// The epoch, to plan on it: none is followed until it is back.
    pub(super) fn take_followed(&mut self) -> Option<Box<FollowedEpoch>> {
        self.followed.take()
    }

    /// All ranks have planned alike on it.
    pub(super) fn follow_on(&mut self, followed: Box<FollowedEpoch>, summary: &str) {
        if let Some(root) = &mut self.root {
            root.planned(summary);
        }
        self.followed = Some(followed);
    }

    /// True if it follows the epoch with this digest, and the library's messages are known to cross its tree.
    pub(super) fn has_crossed(&self, epoch: u64) -> bool {
        self.epoch == epoch
            && self.followed.is_some()
            && self.network == NetworkKnowledge::OfTheTree
    }

    /// The name that plans on the epoch have among its ranks on this host.
    pub(super) fn name_of_plans(&self) -> Option<String> {
        let on_host = self.name_on_host.as_ref();
        on_host.map(|name| format!("{name}-{:016x}", self.epoch))
    }

    pub(super) fn stand_aside(&mut self, problem: String) {
        self.followed = None;
        if let Some(root) = &mut self.root {
            root.stand_aside(problem);
        }
    }

    /// Counts a call. True if the ranks agree before it.
    pub(super) fn is_due(&mut self, ranks: u64, moved: u64) -> bool {
        let has_agreed = std::mem::take(&mut self.is_of_this_call);
        self.pace.due(ranks, moved) && !has_agreed
    }

    /// Counts calls that passed, as if they had come here.
    pub(super) fn passed(&mut self, kind: PassingKind, calls: u32) {
        self.pace.pass(kind.work, calls);
        if let Some(root) = &mut self.root {
            root.passed(kind.collective, kind.block, calls);
        }
    }

    pub(super) fn pace(&mut self) -> &mut AgreementPace {
        &mut self.pace
    }

    /// The watchdog hears what this rank waits for.
    fn await_word(&self) {
        watchdog::begin_wait(|| format!("{}: the word of rank 0 on {}", self.me(), self.hosts[0]));
    }

    /// The ranks agree, and wait for rank 0. Collective.
    pub(super) fn agree(
        &mut self,
        within: &CallComm,
        mesh: Option<&KeptMesh>,
    ) -> MpiResult<AgreedNews> {
        self.await_word();
        // All ranks count their agreements alike, so that the broadcast has the same length on each.
        let room = match self.agreed {
            0 if self.held.is_some() => WITH_HELD_EPOCH,
            0 => WITH_FIRST_HEADER,
            _ => 0,
        };
        let header = self.next_header(within.size as usize, mesh);
        let mut word = [&header[..], &self.body].concat();
        word.resize(HEADER + room, 0);
        within.broadcast(&mut word)?;
        let (header, body) = word.split_first_chunk().unwrap_or((&header, &[]));
        self.obey(within, mesh, *header, body)
    }

    /// The same at a call at which an agreement is due, and at the next one; `None` until then. Collective.
    pub(super) fn agree_by_and_by(
        &mut self,
        within: &CallComm,
        carriers: &mut SetCarriers,
    ) -> MpiResult<Option<AgreedNews>> {
        if self.agreed == ACQUAINTED {
            carriers.messages_mut().up_if_spare(within)?;
        }
        let mesh = carriers.mesh();
        if let Some(header) = self.header.take() {
            self.await_word();
            if let Some(root) = &mut self.root {
                root.directive_awaited();
            }
            let octets = header.octets()?;
            let header = octets.first_chunk().copied().unwrap_or_default();
            return self.obey(within, mesh, header, &[]).map(Some);
        }
        let private = carriers.messages().filter(|_| self.agreed >= ACQUAINTED);
        let Some(private) = private else {
            return self.agree(within, mesh).map(Some);
        };
        let header = self.next_header(within.size as usize, mesh).to_vec();
        self.header = Some(PendingCollective::broadcast(private, header)?);
        if let Some(root) = &mut self.root {
            root.directive_begun();
        }
        Ok(None)
    }

    /// The header of rank 0's word, on rank 0.
    fn next_header(&mut self, ranks: usize, mesh: Option<&KeptMesh>) -> [u8; HEADER] {
        self.agreed = self.agreed.saturating_add(1);
        let mut header = [0u8; HEADER];
        if let Some(root) = &mut self.root {
            let (word, next) = root.next_directive(self.pace.done());
            let body = match &self.held {
                Some(held) => word.to_holders(held),
                None => word,
            }
            .to_bytes();
            header[..4].copy_from_slice(&(body.len() as u32).to_le_bytes());
            header[4..8].copy_from_slice(&next.to_le_bytes());
            let reports = body.is_empty() && self.watch.is_due(ranks, mesh);
            header[8] = u8::from(reports);
            self.body = body;
        }
        header
    }

    /// Rank 0's word has this header, and this body if that came with it as a whole. Collective.
    fn obey(
        &mut self,
        within: &CallComm,
        mesh: Option<&KeptMesh>,
        header: [u8; HEADER],
        came: &[u8],
    ) -> MpiResult<AgreedNews> {
        let [length, next] =
            [&header[..4], &header[4..8]].map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]));
        let mut body = std::mem::take(&mut self.body);
        body.resize(length as usize, 0);
        match came.get(..body.len()) {
            Some(came) => body.copy_from_slice(came),
            None => within.broadcast(&mut body)?,
        }
        if let Some(root) = &mut self.root {
            root.directive_sent();
        }
        self.pace = AgreementPace::new(next);
        let news = match RootDirective::from_bytes(&body) {
            RootDirective::Keep => AgreedNews::Nothing,
            RootDirective::Aside(problem) => AgreedNews::Aside(problem),
            RootDirective::Follow {
                lean,
                force,
                learns,
                looks,
                trace,
            } => {
                self.network = NetworkKnowledge::before(looks);
                let held = self.held.take();
                let whole = match &held {
                    Some(held) => held.complete(lean),
                    None => lean,
                };
                let news = self
                    .take_up(&whole, force, learns, trace)
                    .inspect(|_| self.watch.forget(mesh))
                    .unwrap_or_else(AgreedNews::Aside);
                if held.is_some_and(|held| held.is_crossed(self.epoch)) {
                    self.network = NetworkKnowledge::OfTheTree;
                }
                news
            }
        };
        if header[8] == 1 {
            let arrivals = self.watch.gather(within, mesh)?;
            if let (Some(root), Some(arrivals)) = (&self.root, &arrivals) {
                root.watched(arrivals);
            }
        }
        Ok(news)
    }

    /// Takes up the epoch that rank 0 has read. Every rank can read it: they have the same octets.
    fn take_up(
        &mut self,
        lean: &[u8],
        force: ForcedWays,
        learns: bool,
        trace: Option<TraceOrder>,
    ) -> Result<AgreedNews, String> {
        let routines = mpi().routines;
        let (followed, grounds) = LeanEpoch::from_bytes(lean)
            .map_err(|e| e.to_string())
            .and_then(|lean| {
                FollowedEpoch::new(lean, &self.hosts, routines, force, learns)
                    .map_err(|e| e.to_string())
            })?;
        self.epoch = HeldEpoch::hold(lean);
        let view = &followed.view;
        (self.trace).obey(trace, self.rank, &view.hosts_of_ranks());
        self.trace.follows(view.epoch, followed.topology());
        if let Some(root) = &mut self.root {
            root.follows();
        }
        let (place, setup) = (view.place(routines), followed.setup(&grounds));
        self.followed = Some(Box::new(followed));
        Ok(AgreedNews::Follow(Box::new((grounds, place, setup))))
    }

    /// Where a trace is recorded, the ranks find how far their clocks are apart. Collective.
    pub(super) fn compare_clocks(&mut self, within: &CallComm) -> MpiResult<()> {
        self.trace.compare_clocks(within, &self.hosts)
    }

    /// When this rank came to a call, where anybody asks.
    pub(super) fn came(&self) -> Duration {
        self.trace.came()
    }

    /// True if each call has to be looked at.
    pub(super) fn is_recording(&self) -> bool {
        self.trace.is_recording()
    }

    /// Carries out a call that this rank `came` to, under the epoch that is followed. Rank 0 counts it.
    pub(super) fn record<T>(
        &mut self,
        (collective, way, block): (Collective, Way, u64),
        came: Duration,
        call: impl FnOnce(Option<&FollowedEpoch>) -> T,
    ) -> T {
        let timer = (self.root.as_mut()).map(|root| root.begin(collective, way, block));
        let followed = self.followed.as_deref();
        let result = (self.trace).around((collective, way, block), came, || call(followed));
        if let (Some(root), Some(timer)) = (&mut self.root, &timer) {
            root.done(timer);
        }
        result
    }

    /// The ranks agreed on times of a class of calls. True if the library's own routine ends sooner than the tree's
    /// rates allow: then heddle's connections may send faster, too, and again as long as that helps.
    pub(super) fn learn_rates(
        &mut self,
        collective: Collective,
        block: u64,
        times: [Option<RowTimes>; 2],
    ) -> bool {
        let Some(followed) = self.followed.as_deref_mut() else {
            return false;
        };
        let view = &mut followed.view;
        let is_faster = view.learn_rates(collective, Bytes(block), times);
        if is_faster
            && let (Some(root), Some(call), Some(problem)) =
                (&self.root, view.fastest_call(), view.wrong_rates())
        {
            root.report_rates(call, &problem);
        }
        is_faster
    }

    /// The communicator goes on which a header may be under way: waits for it, and has it read later.
    pub(super) fn rest(&mut self) -> MpiResult<()> {
        self.agreed = 0;
        self.header.as_mut().map_or(Ok(()), PendingCollective::wait)
    }

    /// The last words of the job record and of the trace.
    pub(super) fn finish(&mut self, learner: &CallLearner) {
        if let Some(mut root) = self.root.take() {
            root.finish(learner, self.watch.root());
        }
        self.trace.finish();
    }
}
