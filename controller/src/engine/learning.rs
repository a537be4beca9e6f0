//! The figures that jobs learn. The controller takes them from job records, merges them, and writes
//! them for later jobs.
//!
//! Any user can write a record. So a lesson counts only for the published network, nothing in it
//! can be faster than the cables, and [`LearnedFigures`] keeps what is left within bounds and lets
//! jobs outvote each other.
use super::{ControllerEffect, ControllerEngine, TroubleArea};
use directory::job_record::JobRecord;
use inventory::{Bytes, Millis, TopologyFile, Tree};
use policy::decision_table::Collective;
use policy::learned::figures::{JobLesson, LessonNews, job_digest};
use policy::learned::{LearnedFigures, LearnedPlace, LearnedTiming, RecordedTiming};
use schedules::bound;
use std::cell::OnceCell;
use std::sync::Arc;
use std::time::Duration;

/// News that make jobs go another way are written at most this often, others less often.
const NEWS: Duration = Duration::from_secs(10);
const OTHERS: Duration = Duration::from_secs(300);
/// The pause before a failed write is tried again.
const RETRY: Duration = Duration::from_secs(60);
/// No call takes longer.
const LONGEST: Duration = Duration::from_secs(3600);
/// A call may end so many times sooner than the payload bound says: its time counts from the last
/// rank's arrival, and others have sent before.
const SOONER: f64 = 4.0;

/// The learned figures, and whether the shared directory has them.
#[derive(Debug, Default)]
pub(super) struct LearnedState {
    pub(super) figures: Arc<LearnedFigures>,
    published: Option<TaughtEpoch>,
    /// The time at which unwritten figures are to be written.
    due: Option<Millis>,
    /// The last write, and whether it is under way.
    written: Option<Millis>,
    is_writing: bool,
}

/// The published networks, as lessons need them.
#[derive(Debug)]
struct TaughtEpoch {
    /// The first and the last epoch with these networks, which later measurements do not change.
    first: u64,
    last: u64,
    file: Arc<TopologyFile>,
    /// Its networks, made for the first job that tells of one.
    networks: OnceCell<Vec<TaughtNetwork>>,
}

impl TaughtEpoch {
    fn networks(&self) -> &[TaughtNetwork] {
        self.networks.get_or_init(|| {
            self.file
                .all_networks()
                .filter_map(TaughtNetwork::new)
                .collect()
        })
    }
}

/// A network of it.
#[derive(Debug)]
pub(super) struct TaughtNetwork {
    pub(super) file: Arc<TopologyFile>,
    pub(super) tree: Tree,
}

impl TaughtNetwork {
    fn new(network: &TopologyFile) -> Option<TaughtNetwork> {
        let alone = network.alone();
        Some(TaughtNetwork {
            tree: alone.tree().ok()?,
            file: Arc::new(alone),
        })
    }
}

impl LearnedState {
    /// Takes over what an earlier controller wrote.
    pub(super) fn resume(&mut self, figures: LearnedFigures) {
        self.figures = Arc::new(figures);
    }

    /// The networks of an epoch that is published. True if they are others than before.
    pub(super) fn follow(&mut self, number: u64, file: &Arc<TopologyFile>) -> bool {
        match &mut self.published {
            Some(published) if published.file == *file => {
                published.last = number;
                false
            }
            _ => {
                self.published = Some(TaughtEpoch {
                    first: number,
                    last: number,
                    networks: OnceCell::new(),
                    file: Arc::clone(file),
                });
                true
            }
        }
    }

    /// True if the networks of an epoch are the published ones.
    pub(super) fn is_published(&self, epoch: u64) -> bool {
        let published = self.published.as_ref();
        published.is_some_and(|published| (published.first..=published.last).contains(&epoch))
    }

    /// The network that a job follows, if it is published.
    pub(super) fn network_of(&self, record: &JobRecord) -> Option<&TaughtNetwork> {
        let published = self
            .published
            .as_ref()
            .filter(|_| self.is_published(record.epoch))?;
        let mut networks = published.networks().iter();
        match &record.network {
            None => networks.next(),
            name => networks.find(|network| network.file.name == *name),
        }
    }

    /// Takes what a job tells of learning. Returns whether figures are to be written at once.
    fn take(&mut self, now: Millis, record: &JobRecord) -> bool {
        let Some((place, lesson)) = self.lesson(now, record) else {
            return false;
        };
        let pause = match Arc::make_mut(&mut self.figures).merge(&place, lesson) {
            LessonNews::None => return false,
            LessonNews::Figures => OTHERS,
            LessonNews::Ways => NEWS,
        };
        let due = self.written.map_or(now, |at| at.after(pause).max(now));
        self.due = Some(self.due.map_or(due, |earlier| earlier.min(due)));
        !self.is_writing && self.due <= Some(now)
    }

    /// The lesson of a record on the published network, and its place.
    fn lesson(&self, now: Millis, record: &JobRecord) -> Option<(LearnedPlace, JobLesson)> {
        let (tree, mpi) = (&self.network_of(record)?.tree, *record.mpi.known()?);
        if !record.layout.fits(record.hosts.len(), record.ranks) {
            return None;
        }
        let (place, between) = LearnedPlace::find(tree, &record.hosts, &record.layout, mpi).ok()?;
        let mut ranks = vec![0; place.hosts.len()];
        let host_of = record.layout.host_of();
        host_of.iter().for_each(|&host| ranks[host as usize] += 1);
        let known = record.learned.iter().filter_map(RecordedTiming::known);
        let timings: Vec<RecordedTiming> = known
            .filter(|timing| is_possible(timing, &between, &ranks))
            .map(RecordedTiming::from)
            .collect();
        let lesson = JobLesson {
            user: record.user.clone(),
            job: job_digest(&record.id),
            at: now,
            timings,
        };
        (!lesson.timings.is_empty()).then_some((place, lesson))
    }

    /// The time of the next write.
    pub(super) fn deadline(&self) -> Option<Millis> {
        self.due.filter(|_| !self.is_writing)
    }

    /// Has the figures written, when that is due.
    pub(super) fn write_due(&mut self, now: Millis) -> Option<ControllerEffect> {
        self.deadline().filter(|due| *due <= now)?;
        (self.due, self.written, self.is_writing) = (None, Some(now), true);
        Arc::make_mut(&mut self.figures).forget_old(now);
        Some(ControllerEffect::KeepLearned(Arc::clone(&self.figures)))
    }

    /// The figures that the shared directory does not have.
    fn unwritten(&self) -> Option<&Arc<LearnedFigures>> {
        let is_unwritten = self.due.is_some() || self.is_writing;
        is_unwritten.then_some(&self.figures)
    }
}

impl ControllerEngine {
    pub(super) fn take_lesson(&mut self, now: Millis, record: &JobRecord) {
        self.wake |= self.learned.take(now, record);
        if let Some(network) = self.learned.network_of(record) {
            self.wake |= self.shown_rates.take(now, record, &network.tree);
        }
    }

    pub(super) fn learned_kept(&mut self, now: Millis, problem: Option<&str>) {
        self.learned.is_writing = false;
        if problem.is_some() {
            let retry = now.after(RETRY);
            self.learned.due = Some(self.learned.due.map_or(retry, |due| due.max(retry)));
        }
        self.wake |= self.learned.due.is_some_and(|due| due <= now);
        let problem = problem.map(|problem| {
            format!("{problem}; later jobs do not start from what jobs learned since")
        });
        self.public.note_trouble(TroubleArea::Learned, problem);
    }

    /// The figures that jobs learned so far.
    pub fn learned(&self) -> &Arc<LearnedFigures> {
        &self.learned.figures
    }

    /// The learned figures, if the shared directory lacks some of them.
    pub fn unwritten_learned(&self) -> Option<&Arc<LearnedFigures>> {
        self.learned.unwritten()
    }
}

/// True for a time that calls can take on these hosts.
fn is_possible(timing: &LearnedTiming, between: &Tree, ranks: &[u32]) -> bool {
    let Bytes(from) = timing.from;
    let seconds = match timing.collective {
        Collective::Alltoall => bound::alltoall_seconds(between, ranks, timing.from),
        Collective::Allgather => bound::allgather_seconds(between, ranks, timing.from),
        // Unequal blocks can be spread so that hardly any of them crosses a cable.
        _ => 0.0,
    };
    let mean = Duration::from_nanos(timing.mean_ns);
    (from == 0 || from.is_power_of_two())
        && timing.samples > 0
        && timing.way.serves(timing.collective)
        && mean > Duration::ZERO
        && mean <= LONGEST
        && mean.as_secs_f64() * SOONER >= seconds
}
