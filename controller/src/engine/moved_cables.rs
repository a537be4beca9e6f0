//! The watch over moved cables: what the rates of jobs' blocks say against the published tree.
//!
//! Any user can write a job record. So a suspicion says whose jobs it rests on, it changes no tree,
//! and each user has so many watched jobs, judged at a rate.
use super::{ControllerEffect, ControllerEngine, EffectList};
use directory::job_record::JobRecord;
use inventory::alarm::{Alarm, AlarmKind};
use inventory::topology_file::TopologyFile;
use inventory::{Millis, Tree};
use policy::learned::RankLayout;
use policy::learned::place::tree_between;
use serde::Serialize;
use simulation::watched::{BlockArrivals, MOST_RANKS, SuspicionRow, TreeSuspicion, judge};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

/// From the end of the judgement of a user's window to the next one of that user: a job tells of a window
/// in 5 s, and the judgement of one with many ranks takes seconds.
const PAUSE: Duration = Duration::from_secs(4);
/// A judgement of a job's last windows counts for so long.
const REMEMBERED: Duration = Duration::from_secs(3600);
/// Watched jobs, of a user and of all.
const MOST_OF_USER: usize = 8;
const MOST_JOBS: usize = 64;
/// Alarms at once.
const MOST_ALARMS: usize = 8;

/// The watched jobs.
#[derive(Debug, Default)]
pub(super) struct WatchState {
    /// By the id of its record.
    jobs: BTreeMap<String, WatchedJob>,
    /// A window is being judged: one at a time.
    is_judging: bool,
}

#[derive(Debug)]
struct WatchedJob {
    user: String,
    /// The last window that was taken; and when that was, or its judgement ended.
    window: u64,
    at: Millis,
    row: SuspicionRow,
}

impl WatchedJob {
    fn new(user: &str, now: Millis) -> WatchedJob {
        WatchedJob {
            user: user.to_owned(),
            window: 0,
            at: now,
            row: SuspicionRow::default(),
        }
    }
}

/// The order to judge a window of a job.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WatchOrder {
    /// The id of the job's record.
    pub job: String,
    /// The user of the job.
    pub user: String,
    /// The epoch that it follows.
    pub epoch: u64,
    hosts: Vec<String>,
    layout: RankLayout,
    file: Arc<TopologyFile>,
    arrivals: Vec<String>,
}

impl WatchOrder {
    /// Judges the window: its evidence against the tree, if there is any. This takes up to seconds.
    pub fn judge(&self) -> Option<TreeSuspicion> {
        let arrivals = BlockArrivals::from_rows(&self.arrivals)?;
        let whole: Tree = self.file.tree().ok()?;
        let between = tree_between(&whole, &self.hosts).ok()?;
        judge::judge(&between, &self.layout.host_of(), &arrivals)
    }
}

impl WatchState {
    /// The order to judge a job's window, if it is a new one.
    fn take(
        &mut self,
        now: Millis,
        record: &JobRecord,
        file: &Arc<TopologyFile>,
    ) -> Option<WatchOrder> {
        let window = record.watched.as_ref()?;
        let fits = record.layout.fits(record.hosts.len(), record.ranks);
        if self.is_judging || !fits || record.ranks as usize > MOST_RANKS {
            return None;
        }
        let known = self.jobs.get(&record.id).map(|job| job.window);
        if known == Some(window.number)
            || self
                .jobs
                .values()
                .filter(|job| job.user == record.user)
                .any(|job| now.since(job.at) < PAUSE)
        {
            return None;
        }
        if known.is_none() {
            self.make_room(&record.user);
        }
        let job = self
            .jobs
            .entry(record.id.clone())
            .or_insert_with(|| WatchedJob::new(&record.user, now));
        (job.window, job.at) = (window.number, now);
        self.is_judging = true;
        Some(WatchOrder {
            job: record.id.clone(),
            user: record.user.clone(),
            epoch: record.epoch,
            hosts: record.hosts.clone(),
            layout: record.layout.clone(),
            file: Arc::clone(file),
            arrivals: window.arrivals.clone(),
        })
    }

    /// The oldest job of a user with too many makes room, or the oldest of all.
    fn make_room(&mut self, user: &str) {
        let of_user = self.jobs.values().filter(|job| job.user == user).count();
        let is_full = of_user >= MOST_OF_USER;
        let oldest = self
            .jobs
            .iter()
            .filter(|(_, job)| !is_full || job.user == user)
            .min_by_key(|(_, job)| job.at);
        if let Some(id) = oldest.map(|(id, _)| id.clone())
            && (is_full || self.jobs.len() >= MOST_JOBS)
        {
            self.jobs.remove(&id);
        }
    }

    #[cfg(test)]
    pub(super) fn jobs(&self) -> usize {
        self.jobs.len()
    }

    /// Takes what a window says. In a replay it is all that tells of the job. True if what stands is
    /// another suspicion, or none any more.
    fn judged(
        &mut self,
        now: Millis,
        job: String,
        user: &str,
        suspicion: Option<TreeSuspicion>,
    ) -> bool {
        let job = self
            .jobs
            .entry(job)
            .or_insert_with(|| WatchedJob::new(user, now));
        let before = job.row.stands().map(|suspicion| suspicion.best.clone());
        job.at = now;
        job.row.add(suspicion);
        job.row.stands().map(|suspicion| &suspicion.best) != before.as_ref()
    }

    /// Another network is published.
    pub(super) fn clear(&mut self) {
        self.jobs.clear();
    }

    pub(super) fn forget_old(&mut self, now: Millis) {
        self.jobs.retain(|_, job| now.since(job.at) < REMEMBERED);
    }

    /// The alarms for which enough windows speak.
    pub(super) fn alarms(&self, epoch: Option<u64>) -> Vec<Alarm> {
        let Some(epoch) = epoch else {
            return Vec::new();
        };
        let mut standing: Vec<(&TreeSuspicion, BTreeSet<&str>)> = Vec::new();
        for job in self.jobs.values() {
            let Some(suspicion) = job.row.stands() else {
                continue;
            };
            match standing.iter_mut().find(|(s, _)| s.best == suspicion.best) {
                Some((_, users)) => drop(users.insert(&job.user)),
                None => standing.push((suspicion, BTreeSet::from([job.user.as_str()]))),
            }
        }
        let suspicions = standing.into_iter().take(MOST_ALARMS);
        let alarms = suspicions.map(|(suspicion, users)| Alarm {
            subject: suspicion.best.subject(),
            kind: AlarmKind::CableMoved {
                moves: suspicion.moves(),
                pairs: suspicion.slow.len(),
                users: users.into_iter().map(str::to_owned).collect(),
                epoch,
            },
        });
        alarms.collect()
    }
}

impl ControllerEngine {
    /// Takes what a job's record says of the rates of its blocks; nothing after this needs it.
    pub(super) fn take_watched(
        &mut self,
        now: Millis,
        record: &mut JobRecord,
        fx: &mut EffectList,
    ) {
        let network = self.learned.network_of(record);
        let order = network.and_then(|network| self.watch.take(now, record, &network.file));
        fx.extend(order.map(|order| ControllerEffect::Judge(Box::new(order))));
        record.watched = None;
    }

    pub(super) fn take_judgement(
        &mut self,
        now: Millis,
        (job, user): (String, String),
        epoch: u64,
        suspicion: Option<TreeSuspicion>,
    ) {
        self.watch.is_judging = false;
        // Another network may have been published meanwhile.
        if self.learned.is_published(epoch) {
            self.wake |= self.watch.judged(now, job, &user, suspicion);
        }
    }
}
