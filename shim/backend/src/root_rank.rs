//! The further work of rank 0 of a process set: it looks for epochs, tells the other ranks, prints
//! messages, and has the job record written. None of that waits for a file.
use crate::location::beside_this_library;
use crate::mpi::mpi;
use crate::shared_recorder::SharedRecorder;
use crate::world_ranks::{WorldRanks, is_first_of_the_job};
use directory::epoch::LeanEpoch;
use inventory::environment;
use policy::decision_table::{Collective, Way};
use policy::forced::ForcedWays;
use policy::learning::CallLearner;
use policy::shown_rates::FastCall;
use runtime::agreement_pace::{self, AgreementCost};
use runtime::arrival_watch::ArrivalWatch;
use runtime::directive::RootDirective;
use runtime::followed_network::FollowedNetwork;
use runtime::helper::client::{self, EpochNews, SharedDirectory};
use runtime::last_decisions::LastDecisions;
use runtime::process_set_view::ProcessSetView;
use runtime::rank_host::RankHost;
use runtime::record::{self, CallTimer, JobRecorder};
use runtime::settings::RuntimeSettings;
use runtime::tracing::recorder::TraceOrder;
use runtime::{communicator_work, stderr};
use simulation::watched::BlockArrivals;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, Once, OnceLock};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A process that wants a way from the first call on waits once so long for the epoch, from when its helper runs.
const FIRST_CALL_WAITS: Duration = Duration::from_secs(3);
/// Else its first look waits so long, once: the helper may just have been started. The calls looked at
/// have taken 0.3 s, or the processes have lived for half of that and the next call may be long.
const FIRST_LOOK_WAITS: Duration = Duration::from_millis(20);
/// The last job record is waited for this long, so that it is there when the job has ended; a
/// stalled directory is not waited for.
const LAST_RECORD: Duration = Duration::from_millis(500);

/// Why a job whose calls all went to the library followed nothing; its record says so.
const UNREAD: &str = "no epoch had been read when the communicator ended";
const NO_DIRECTORY: &str =
    "HEDDLE_DIR is not set: it names the directory the controller publishes to";

/// Rank 0's part.
#[derive(Debug)]
pub(crate) struct RootRank {
    settings: &'static RuntimeSettings,
    directory: Option<Arc<Mutex<SharedDirectory>>>,
    /// The news of the directory that the members know.
    seen: u64,
    hosts: Vec<RankHost>,
    recorder: SharedRecorder,
    looked: Option<Instant>,
    agreed: Instant,
    cost: AgreementCost,
    began: Instant,
    /// The time that sending the word took, while it is on its way.
    sending: Duration,
    joined: Instant,
    /// The process set on the epoch, and the epoch's octets as they were read.
    view: Option<ProcessSetView>,
    lean: Arc<[u8]>,
    network: FollowedNetwork,
    /// Why it stands aside, as the members were last notified.
    aside: Option<String>,
    /// Calls that passed without the backend.
    passed: u64,
    /// The decisions that `HEDDLE_VERBOSE=2` has printed.
    decided: LastDecisions,
}

/// The settings; what is wrong with them is reported once.
fn settings() -> &'static RuntimeSettings {
    static REPORTED: Once = Once::new();
    let settings = RuntimeSettings::here();
    REPORTED.call_once(|| {
        let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
        let misspelt = environment::misspelt(names)
            .into_iter()
            .map(|name| name.to_string());
        for problem in settings.problems.iter().cloned().chain(misspelt) {
            stderr::write_line_once(&problem);
        }
    });
    settings
}

fn directory(settings: &RuntimeSettings) -> Option<Arc<Mutex<SharedDirectory>>> {
    settings
        .dir
        .as_deref()
        .map(|dir| client::of_this_process(dir, &beside_this_library("heddle-helper")))
}

/// Has the shared directory looked at, for a process set that may be made soon.
pub(crate) fn prepare() {
    if let Some(directory) = directory(settings()) {
        client::lock(&directory).look(0);
    }
}

/// The job ends: its records are written.
pub(crate) fn finish_records() {
    if let Some(directory) = RUNNING.get() {
        client::lock(directory).flush(LAST_RECORD);
        complain(directory, settings().verbose);
    }
}

/// The directory of this process, once a process set has it.
static RUNNING: OnceLock<Arc<Mutex<SharedDirectory>>> = OnceLock::new();

/// Job records are for show: a job that cannot write them hears of it only if it asked. That the
/// directory stalls it hears from the first rank of the job, and from each that leads a process set
/// only if it asked.
fn complain(directory: &Mutex<SharedDirectory>, verbose: u8) {
    for complaint in client::lock(directory).complaints() {
        if verbose > 0 || (complaint.concerns_epochs && is_first_of_the_job()) {
            stderr::write_line_once(&complaint.text);
        }
    }
}

/// There is no network between the ranks of a communicator: a user who asks why nothing is printed reads
/// it from the first rank of the job.
pub(crate) fn tell_one_host(ranks: usize) {
    if settings().verbose > 0 && is_first_of_the_job() {
        stderr::write_line_once(&format!(
            "all {ranks} ranks of a communicator are on one host: its calls go to the MPI library"
        ));
    }
}

impl RootRank {
    pub(crate) fn new(hosts: &[RankHost], members: Option<&WorldRanks>) -> RootRank {
        let settings = settings();
        let directory = directory(settings);
        if let Some(directory) = &directory {
            // Another thread's look comes after the wait.
            let mut held = client::lock(directory);
            if RUNNING.set(Arc::clone(directory)).is_ok() {
                if communicator_work::from_the_first_call() {
                    held.insist_on_news(FIRST_CALL_WAITS);
                } else {
                    held.wait_for_news(FIRST_LOOK_WAITS);
                }
            }
        }
        let names: Vec<String> = hosts.iter().map(RankHost::to_string).collect();
        let recorder = SharedRecorder::for_members(members, || {
            static RECORDS: AtomicU32 = AtomicU32::new(1);
            let number = RECORDS.fetch_add(1, Ordering::Relaxed);
            let record = record::start(&names, number, mpi().routines);
            JobRecorder::new(record, directory.clone())
        });
        let now = Instant::now();
        RootRank {
            network: FollowedNetwork::new(settings.network.clone()),
            settings,
            directory,
            seen: 0,
            hosts: hosts.to_vec(),
            recorder,
            looked: None,
            agreed: now,
            cost: AgreementCost::default(),
            began: now,
            sending: Duration::ZERO,
            joined: now,
            view: None,
            lean: Arc::default(),
            aside: None,
            passed: 0,
            decided: LastDecisions::default(),
        }
    }

    /// Rank 0's word for an agreement after `work`, and how much work until the next one.
    pub(crate) fn next_directive(&mut self, work: u64) -> (RootDirective, u32) {
        self.began = Instant::now();
        let next = agreement_pace::next(work, self.began - self.agreed, self.cost.usual());
        let due = self
            .looked
            .is_none_or(|at| self.began - at >= agreement_pace::INTERVAL / 2);
        let word = if due {
            self.look()
        } else {
            RootDirective::Keep
        };
        (word, next)
    }

    /// The word is on its way; the calls until it is read are no part of its cost.
    pub(crate) fn directive_begun(&mut self) {
        self.sending = self.began.elapsed();
    }

    /// The word is read now.
    pub(crate) fn directive_awaited(&mut self) {
        self.began = Instant::now() - std::mem::take(&mut self.sending);
    }

    /// The word has arrived.
    pub(crate) fn directive_sent(&mut self) {
        self.agreed = Instant::now();
        // Rank 0 does not wait for its word to arrive, but the others do.
        let on_the_way = self.view.as_ref().map_or(Duration::ZERO, |view| view.delay);
        self.cost.add(self.agreed - self.began + on_the_way);
    }

    fn look(&mut self) -> RootDirective {
        self.looked = Some(self.began);
        let Some(directory) = &self.directory else {
            return self.unusable(NO_DIRECTORY.to_owned());
        };
        let news = client::lock(directory).look(self.seen);
        complain(directory, self.settings.verbose);
        match news {
            None => RootDirective::Keep,
            Some((version, news)) => {
                self.seen = version;
                match news {
                    EpochNews::Unusable(problem) => self.unusable(problem),
                    EpochNews::Epoch(lean) => self.found(&lean),
                }
            }
        }
    }

    fn unusable(&mut self, problem: String) -> RootDirective {
        match &self.view {
            Some(view) => {
                stderr::write_line_once(&format!("{problem}; epoch {} stays", view.epoch));
                RootDirective::Keep
            }
            None if self.aside.as_ref() == Some(&problem) => RootDirective::Keep,
            None => RootDirective::Aside(problem),
        }
    }

    /// An epoch is there; perhaps the one that is followed, which was out of sight, or beside which
    /// jobs learned more. A reason why these hosts cannot follow it is found here, before anybody
    /// plans.
    fn found(&mut self, octets: &Arc<[u8]>) -> RootDirective {
        if self.view.is_some() && LeanEpoch::are_of_one_epoch(&self.lean, octets) {
            return RootDirective::Keep;
        }
        let found = LeanEpoch::from_bytes(octets)
            .map_err(|e| e.to_string())
            .and_then(|lean| {
                let followed = self.network.select(lean);
                followed.map_err(|e| format!("HEDDLE_NETWORK: {e}"))
            })
            .and_then(|lean| match ProcessSetView::new(&lean, &self.hosts) {
                Err(problem) if !problem.is_news() => Err(String::new()),
                view => view.map(|view| (lean, view)).map_err(|e| e.to_string()),
            });
        match found {
            Ok((lean, view)) => {
                let lean = lean.restricted_to(&view.place(mpi().routines)).to_bytes();
                (self.view, self.lean) = (Some(view), Arc::clone(octets));
                RootDirective::Follow {
                    lean,
                    force: self.settings.force.clone(),
                    learns: self.settings.learns,
                    looks: self.settings.looks,
                    trace: self.trace_order(),
                }
            }
            Err(problem) => {
                self.view = None;
                RootDirective::Aside(problem)
            }
        }
    }

    /// The library sends over the network of this address. If the epoch has its tree, the members follow
    /// it from the next agreement on.
    pub(crate) fn sees_network(&mut self, address: IpAddr) -> bool {
        let lean = LeanEpoch::from_bytes(&self.lean).ok();
        let found = lean.and_then(|lean| self.network.see(&lean, address).map(str::to_owned));
        if found.is_some() {
            // The epoch that is followed is news again, for its other tree.
            (self.seen, self.looked) = (0, None);
        }
        found.is_some()
    }

    /// The trace that the members record, where `HEDDLE_TRACE` asks for one.
    fn trace_order(&self) -> Option<TraceOrder> {
        static TRACES: AtomicU32 = AtomicU32::new(0);
        let dir = self.settings.trace.clone()?;
        let number = TRACES.fetch_add(1, Ordering::Relaxed);
        let began = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        // Different in each process set of each job.
        let job = (began.as_millis() as u64) << 20
            ^ u64::from(std::process::id()) << 8
            ^ u64::from(number);
        Some(TraceOrder { dir, job })
    }

    /// The members follow what was found.
    pub(crate) fn follows(&mut self) {
        let Some(view) = &self.view else { return };
        if self.settings.verbose > 0 {
            let forced = if self.settings.force == ForcedWays::default() {
                ""
            } else {
                ", way forced by HEDDLE_FORCE or HEDDLE_TURNS"
            };
            stderr::write_line(&format!("follows {}{forced}", view.summary()));
            if let Some(problem) = view.lacks_addresses() {
                stderr::write_line_once(&problem);
            }
        }
        self.aside = None;
        let mut recorder = self.recorder.lock();
        recorder.runs_on(&view.hosts_of_ranks(), view.network.clone());
        recorder.follows(view.epoch, None, |collective, block| {
            view.bound_seconds(collective, block)
        });
    }

    /// The members have planned.
    pub(crate) fn planned(&mut self, summary: &str) {
        if self.settings.verbose > 0 {
            stderr::write_line(&format!("planned {summary}"));
        }
    }

    /// `problem`: what an operator should hear, if anything.
    pub(crate) fn stand_aside(&mut self, problem: String) {
        if !problem.is_empty() {
            stderr::write_line_once(&format!("{problem}; the MPI library's own routines run"));
        }
        self.view = None;
        self.recorder.lock().follows(
            0,
            Some(problem.clone()).filter(|problem| !problem.is_empty()),
            |_, _| 0.0,
        );
        self.aside = Some(problem);
    }

    /// Says which way calls go, where that is new, to a user who asked for it.
    pub(crate) fn tell_decision(
        &mut self,
        collective: Collective,
        way: Way,
        block: u64,
        why: impl FnOnce() -> String,
    ) {
        let epoch = self.view.as_ref().map_or(0, |view| view.epoch);
        if self.settings.verbose > 1
            && epoch > 0
            && self.decided.record_decision(collective, block, way, epoch)
        {
            stderr::write_line(&format!(
                "{collective} of {block} B a block: {way}, {}, epoch {epoch}",
                why()
            ));
        }
    }

    pub(crate) fn begin(&mut self, collective: Collective, way: Way, block: u64) -> CallTimer {
        let view = &self.view;
        self.recorder
            .lock()
            .begin(collective, way, block, |collective, block| {
                view.as_ref()
                    .map_or(0.0, |view| view.bound_seconds(collective, block))
            })
    }

    /// The calls of a kind by the library's own routine that nobody times, up to the next timed one.
    pub(crate) fn untimed(&mut self, collective: Collective, block: u64) -> u32 {
        let recorder = self.recorder.lock();
        recorder.untimed(collective, Way::Native, block)
    }

    /// So many of them have passed.
    pub(crate) fn passed(&mut self, collective: Collective, block: u64, calls: u32) {
        self.passed += u64::from(calls);
        let mut recorder = self.recorder.lock();
        recorder.passed(collective, Way::Native, block, calls);
    }

    pub(crate) fn done(&mut self, timer: &CallTimer) {
        self.recorder.lock().done(timer);
    }

    /// A call showed that the published rates are wrong: the controller reads which one in the job's
    /// record, and the first rank of the job prints the problem once.
    pub(crate) fn report_rates(&self, call: FastCall, problem: &str) {
        self.recorder.lock().showed_rates(call);
        static REPORTED: AtomicBool = AtomicBool::new(false);
        if is_first_of_the_job() && !REPORTED.swap(true, Ordering::Relaxed) {
            stderr::write_line(problem);
        }
    }

    /// The members have learned more.
    pub(crate) fn learned(&mut self, learner: &CallLearner) {
        let cost = learner.budget().spent();
        let mut recorder = self.recorder.lock();
        recorder.learned(learner.timings(), cost, learner.saved());
    }

    /// The ranks have reported how fast blocks came.
    pub(crate) fn watched(&self, arrivals: &BlockArrivals) {
        if self.view.is_some() {
            self.recorder.lock().watched(arrivals);
        }
    }

    pub(crate) fn finish(&mut self, learner: &CallLearner, watch: Option<&ArrivalWatch>) {
        let was_unread = self.seen == 0 && self.lean.is_empty() && self.directory.is_some();
        if was_unread {
            let mut recorder = self.recorder.lock();
            // Another communicator of these members may follow one.
            if recorder.record().epoch == 0 {
                recorder.follows(0, Some(UNREAD.to_owned()), |_, _| 0.0);
            }
        }
        if self.settings.verbose > 0 {
            if let (Some(view), Some(watch)) = (&self.view, watch)
                && let Some(suspicion) = watch.suspicion(view)
            {
                stderr::write_line(&format!(
                    "{suspicion}; epoch {} has the tree as published: see where that cable is, or \
                     run heddle map and publish what it finds",
                    view.epoch
                ));
            }
            for line in self.recorder.lock().lines().iter().chain(&learner.lines()) {
                stderr::write_line(line);
            }
            if was_unread {
                stderr::write_line(UNREAD);
            }
            stderr::write_line(&self.cost_of_agreeing());
            if self.passed > 0 {
                let passed = self.passed;
                stderr::write_line(&format!("{passed} calls went to the MPI library at once"));
            }
        }
    }

    fn cost_of_agreeing(&self) -> String {
        let (times, took) = self.cost.all();
        let (took, lived) = (took.as_secs_f64(), self.joined.elapsed().as_secs_f64());
        format!(
            "agreed {times} times on the epoch: {took:.4} s of {lived:.3} s, {:.2} %",
            100.0 * took / lived
        )
    }
}
