//! What rank 0 of a communicator does beside: it looks, speaks, says, and writes the job record.
use crate::member::bound_seconds;
use inventory::Bytes;
use runtime::decided::Decided;
use runtime::pace::{self, Cost};
use runtime::plan::Follow;
use runtime::record::{self, Recorder, Timer};
use runtime::say;
use runtime::settings::{Force, Settings};
use runtime::store::{Look, Store};
use runtime::word::Word;
use schedules::table::{Collective, Way};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

/// Rank 0's part.
#[derive(Debug)]
pub(crate) struct Head {
    settings: Settings,
    store: Option<Store>,
    recorder: Recorder,
    looked: Option<Instant>,
    agreed: Instant,
    cost: Cost,
    began: Instant,
    joined: Instant,
    /// The epoch followed; 0 if none.
    epoch: u64,
    /// Why it stands aside, as the members last heard.
    aside: Option<String>,
    /// What `HEDDLE_VERBOSE=2` has told of.
    decided: Decided,
}

impl Head {
    pub(crate) fn new(hosts: &[String]) -> Head {
        static COMMUNICATORS: AtomicU32 = AtomicU32::new(1);
        let (settings, problem) = Settings::read(|name| std::env::var(name).ok());
        if let Some(problem) = problem {
            say::once(&problem);
        }
        let number = COMMUNICATORS.fetch_add(1, Ordering::Relaxed);
        let mpi = if cfg!(open_mpi) { "openmpi" } else { "mpich" };
        let jobs = settings.dir.as_ref().map(|dir| dir.join("jobs"));
        let recorder = Recorder::new(record::start(hosts, number, mpi), jobs.as_deref());
        let now = Instant::now();
        let store = settings.dir.as_deref().map(Store::new);
        Head {
            settings,
            store,
            recorder,
            looked: None,
            agreed: now,
            cost: Cost::default(),
            began: now,
            joined: now,
            epoch: 0,
            aside: None,
            decided: Decided::default(),
        }
    }

    /// Rank 0's word for an agreement after `work`, and how much work until the next one.
    pub(crate) fn speak(&mut self, work: u64) -> (Word, u32) {
        self.began = Instant::now();
        let next = pace::next(work, self.began - self.agreed, self.cost.usual());
        let due = self.looked.is_none_or(|at| self.began - at >= pace::INTERVAL / 2);
        let word = if due { self.look() } else { Word::Keep };
        (word, next)
    }

    /// The word has been heard.
    pub(crate) fn spoken(&mut self) {
        self.agreed = Instant::now();
        self.cost.add(self.agreed - self.began);
    }

    fn look(&mut self) -> Word {
        self.looked = Some(self.began);
        let look = match &mut self.store {
            Some(store) => store.look(),
            None => Look::Unusable("HEDDLE_DIR is not set: it names the directory the controller publishes to".into()),
        };
        match look {
            Look::Same => Word::Keep,
            Look::New(lean) => Word::Follow { lean: lean.to_bytes(), force: self.settings.force.clone() },
            Look::Unusable(problem) if self.epoch > 0 => {
                say::once(&format!("{problem}; epoch {} stays", self.epoch));
                Word::Keep
            }
            Look::Unusable(problem) if self.aside.as_ref() == Some(&problem) => Word::Keep,
            Look::Unusable(problem) => Word::Aside(problem),
        }
    }

    pub(crate) fn follows(&mut self, follow: &Follow) {
        if self.settings.verbose > 0 {
            let forced = if self.settings.force == Force::default() { "" } else { ", way forced by HEDDLE_FORCE or HEDDLE_TURNS" };
            say::line(&format!("follows {}{forced}", follow.summary));
        }
        self.epoch = follow.epoch;
        self.aside = None;
        self.recorder.follows(follow.epoch, None, |collective, block| follow.bound_seconds(collective, block));
        self.complain();
    }

    /// `problem`: what an operator should hear, if anything.
    pub(crate) fn stands_aside(&mut self, problem: Option<String>) {
        if let Some(problem) = &problem {
            say::once(&format!("{problem}; the MPI library's own routines run"));
        }
        self.epoch = 0;
        self.aside = Some(problem.unwrap_or_default());
        let reason = self.aside.clone().filter(|reason| !reason.is_empty());
        self.recorder.follows(0, reason, |_, _| 0.0);
        self.complain();
    }

    pub(crate) fn begin(&mut self, collective: Collective, way: Way, block: u64, follow: Option<&Follow>) -> Timer {
        if self.settings.verbose > 1
            && let Some(follow) = follow
            && self.decided.is_news(collective, block, way, self.epoch)
        {
            say::line(&format!("{collective} of {block} B a block: {way}, {}, epoch {}", follow.why(collective, block, way), self.epoch));
        }
        self.recorder.begin(collective, way, block, |collective, block: Bytes| bound_seconds(follow, collective, block))
    }

    pub(crate) fn done(&mut self, timer: &Timer) {
        if self.recorder.done(timer) {
            self.complain();
        }
    }

    pub(crate) fn finish(&mut self) {
        self.recorder.finish();
        if self.settings.verbose > 0 {
            for line in self.recorder.lines() {
                say::line(&line);
            }
            say::line(&self.cost_of_agreeing());
        }
        self.complain();
    }

    fn cost_of_agreeing(&self) -> String {
        let (times, took) = self.cost.all();
        let (took, lived) = (took.as_secs_f64(), self.joined.elapsed().as_secs_f64());
        format!("agreed {times} times on the epoch: {took:.4} s of {lived:.3} s, {:.2} %", 100.0 * took / lived)
    }

    /// Job records are for show: a job that cannot write them hears of it only if it asked.
    fn complain(&mut self) {
        if let Some(problem) = self.recorder.problem()
            && self.settings.verbose > 0
        {
            say::once(&problem);
        }
    }
}
