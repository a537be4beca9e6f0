//! `learned.json`: the figures that jobs learned, by place.
//!
//! Any user can write a job record. So one job cannot overrule many: each job's timings are kept
//! apart, a user has a limited number of them in each size class, and [`super::verdict`] decides by
//! votes. The file is bounded. A user who floods it displaces only figures of the same user.
use super::verdict::{self, JobBallot};
use super::{LearnedPlace, LearnedTiming, LearnedWays, RecordedTiming};
use inventory::{Bytes, Millis};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

/// Longest file that is read, in bytes.
pub const MOST_BYTES: u64 = 4 << 20;
/// Approximate bytes of the file that all figures may take, and those of one user.
const ALL: usize = 3 << 20;
const EACH: usize = ALL / 4;
/// The most bytes of a timing in the file, without names; and of a lesson without its timings, and
/// of a place without its lessons.
const TIMING: usize = 128;
const LESSON: usize = 128;
const PLACE: usize = 192;
/// The newest jobs of a user that count in a size class of a collective.
const JOBS: usize = 3;
/// The newest users that count there.
const USERS: usize = 8;
/// Timings taken from one job: those with the most samples.
const MOST_TIMINGS: usize = 256;
/// After this time without a job that confirms them, figures are dropped: network and libraries
/// may have changed.
const OLD: Duration = Duration::from_secs(90 * 24 * 3600);
/// A mean is news if it differs by one part in this many.
const NEWS: u64 = 10;

/// The figures that jobs learned, by place.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LearnedFigures {
    places: Vec<PlaceFigures>,
}

/// The figures of one place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct PlaceFigures {
    place: LearnedPlace,
    lessons: Vec<JobLesson>,
}

/// The lesson of one job at a place: its timings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobLesson {
    /// The owner of the job record.
    pub user: String,
    /// The job, by [`job_digest`].
    pub job: u64,
    /// When the controller took it.
    pub at: Millis,
    /// Its timings, as recorded: another version may have written the file.
    pub timings: Vec<RecordedTiming>,
}

/// The change that a lesson made to the figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LessonNews {
    /// Nothing.
    None,
    /// Figures that change little for another job.
    Figures,
    /// Another job would now go another way, or expect another time.
    Ways,
}

/// The reason why a file is unusable.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no figures that jobs learned: {0}")]
pub struct FiguresError(pub String);

/// A number that stands for a job record's id, which can be long.
pub fn job_digest(id: &str) -> u64 {
    let digest = Sha256::digest(id);
    digest[..8]
        .iter()
        .fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// A lesson's place in time: the newer counts. The rest makes the order the same on every machine.
fn age(lesson: &JobLesson) -> impl Ord + use<> {
    (Reverse(lesson.at), lesson.job, lesson.user.clone())
}

impl JobLesson {
    fn cost(&self) -> usize {
        let timings = self.timings.iter();
        let unknown = timings.flat_map(|t| [t.collective.unknown(), t.way.unknown()]);
        let names: usize = unknown.flatten().map(str::len).sum();
        LESSON + self.user.len() + self.timings.len() * TIMING + names
    }

    /// The lesson with the timings that have the most samples, if there are too many; without those
    /// of ways that this version does not know.
    fn shortened(mut self) -> JobLesson {
        self.timings.retain(|timing| timing.known().is_some());
        self.timings.sort_by_key(|timing| {
            let names = (timing.collective.to_string(), timing.way.to_string());
            (Reverse(timing.samples), timing.from, names)
        });
        self.timings.truncate(MOST_TIMINGS);
        self.timings.sort_by_key(|timing| {
            let names = (timing.collective.to_string(), timing.way.to_string());
            (names.0, timing.from, names.1)
        });
        self.timings
            .dedup_by(|a, b| (&a.collective, a.from, &a.way) == (&b.collective, b.from, &b.way));
        self
    }
}

impl PlaceFigures {
    /// Drops lessons that are too old, and those that do not count in any size class any more.
    fn bound(&mut self, now: Millis) {
        self.lessons.retain(|lesson| now.since(lesson.at) < OLD);
        self.lessons.sort_by_key(age);
        let mut classes: HashMap<(String, Bytes), BTreeMap<String, usize>> = HashMap::new();
        for lesson in &mut self.lessons {
            let mut kept: HashMap<(String, Bytes), bool> = HashMap::new();
            let user = &lesson.user;
            lesson.timings.retain(|timing| {
                let class = (timing.collective.to_string(), timing.from);
                *kept.entry(class).or_insert_with_key(|class| {
                    let users = classes.entry(class.clone()).or_default();
                    if !users.contains_key(user) && users.len() >= USERS {
                        return false;
                    }
                    let jobs = users.entry(user.clone()).or_default();
                    *jobs += 1;
                    *jobs <= JOBS
                })
            });
        }
        self.lessons.retain(|lesson| !lesson.timings.is_empty());
    }

    fn cost(&self) -> usize {
        let names: usize = self.place.hosts.iter().map(|host| host.len() + 4).sum();
        names + 3 * self.place.layout.memory() + PLACE
    }
}

impl LearnedFigures {
    /// True if nobody has learned anything.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// The places, and the jobs and the users of each.
    pub fn places(&self) -> impl Iterator<Item = (&LearnedPlace, usize, usize)> {
        self.places.iter().map(|figures| {
            let mut users: Vec<&str> = figures.lessons.iter().map(|l| l.user.as_str()).collect();
            users.sort_unstable();
            users.dedup();
            (&figures.place, figures.lessons.len(), users.len())
        })
    }

    /// Takes a job's lesson at a place, and drops the job's earlier lesson there. The lesson's time
    /// is the present.
    pub fn merge(&mut self, place: &LearnedPlace, lesson: JobLesson) -> LessonNews {
        let (now, lesson) = (lesson.at, lesson.shortened());
        let before = self.at_place(place);
        let at = self.places.iter().position(|known| known.place == *place);
        let at = at.unwrap_or_else(|| {
            let (place, lessons) = (place.clone(), Vec::new());
            self.places.push(PlaceFigures { place, lessons });
            self.places.len() - 1
        });
        let lessons = &mut self.places[at].lessons;
        let is_known = |known: &JobLesson| (known.job, &known.user) == (lesson.job, &lesson.user);
        if lessons
            .iter()
            .any(|known| is_known(known) && known.timings == lesson.timings)
        {
            return LessonNews::None;
        }
        lessons.retain(|known| !is_known(known));
        lessons.push(lesson);
        self.places[at].bound(now);
        self.bound();
        if is_news(&before, &self.at_place(place)) {
            LessonNews::Ways
        } else {
            LessonNews::Figures
        }
    }

    /// Drops lessons that no job has confirmed for long.
    pub fn forget_old(&mut self, now: Millis) {
        self.places.iter_mut().for_each(|place| place.bound(now));
        self.bound();
    }

    /// Drops the oldest lessons beyond each user's share, and beyond all.
    fn bound(&mut self) {
        let mut newest: Vec<_> = self
            .places
            .iter()
            .enumerate()
            .flat_map(|(at, place)| place.lessons.iter().map(move |lesson| (at, lesson)))
            .collect();
        newest.sort_by_cached_key(|(at, lesson)| (age(lesson), *at));
        let mut users: HashMap<&str, usize> = HashMap::new();
        let mut paid = HashSet::new();
        let mut all = 0;
        let mut dropped = Vec::new();
        for (at, lesson) in newest {
            // A place counts once for each user, with the first of the lessons there.
            let has_paid = paid.contains(&(at, &lesson.user));
            let place = if has_paid { 0 } else { self.places[at].cost() };
            let cost = lesson.cost() + place;
            let own = users.entry(&lesson.user).or_default();
            if *own + cost <= EACH && all + cost <= ALL {
                *own += cost;
                all += cost;
                paid.insert((at, &lesson.user));
            } else {
                dropped.push((at, lesson.job, lesson.user.clone()));
            }
        }
        for (at, job, user) in dropped {
            let lessons = &mut self.places[at].lessons;
            lessons.retain(|lesson| lesson.job != job || lesson.user != user);
        }
        self.places.retain(|place| !place.lessons.is_empty());
        self.places.sort_by(|a, b| a.place.cmp(&b.place));
    }

    /// The verdicts of all jobs, for each place.
    pub fn ways(&self) -> LearnedWays {
        let mut ways = LearnedWays::default();
        let mut alike: BTreeMap<LearnedPlace, Vec<&PlaceFigures>> = BTreeMap::new();
        for figures in &self.places {
            let group = alike.entry(figures.place.without_hosts()).or_default();
            group.push(figures);
        }
        for (together, group) in &alike {
            if let [only] = group.as_slice() {
                ways.add([&only.place, together], &decide(only.lessons.iter()));
                continue;
            }
            for figures in group {
                ways.add([&figures.place], &decide(figures.lessons.iter()));
            }
            let lessons = group.iter().flat_map(|figures| &figures.lessons);
            ways.add([together], &decide(lessons));
        }
        ways
    }

    /// The lessons of jobs on exactly these hosts.
    fn at_place(&self, place: &LearnedPlace) -> Vec<LearnedTiming> {
        let here = self.places.iter().filter(|known| known.place == *place);
        decide(here.flat_map(|known| &known.lessons))
    }

    /// The figures as JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self)
            .unwrap_or_else(|e| unreachable!("numbers and names always serialize: {e}"))
            + "\n"
    }

    /// Reads the output of [`LearnedFigures::to_json`].
    ///
    /// # Errors
    /// [`FiguresError`] if the text is anything else.
    pub fn from_json(text: &[u8]) -> Result<LearnedFigures, FiguresError> {
        if text.len() as u64 > MOST_BYTES {
            return Err(FiguresError(format!("more than {MOST_BYTES} octets")));
        }
        let mut figures: LearnedFigures =
            serde_json::from_slice(text).map_err(|e| FiguresError(e.to_string()))?;
        let misfit = figures
            .places
            .iter()
            .any(|known| !known.place.is_consistent());
        if misfit {
            return Err(FiguresError("ranks that do not fit their hosts".to_owned()));
        }
        figures.bound();
        Ok(figures)
    }
}

/// The verdict of jobs on each size class.
fn decide<'a>(lessons: impl Iterator<Item = &'a JobLesson>) -> Vec<LearnedTiming> {
    let mut classes: BTreeMap<(String, Bytes), Vec<JobBallot<'a>>> = BTreeMap::new();
    for lesson in lessons {
        let mut ballots: BTreeMap<(String, Bytes), Vec<LearnedTiming>> = BTreeMap::new();
        for timing in lesson.timings.iter().filter_map(RecordedTiming::known) {
            let class = (timing.collective.to_string(), timing.from);
            ballots.entry(class).or_default().push(timing);
        }
        for (class, timings) in ballots {
            let ballot = JobBallot {
                user: &lesson.user,
                timings,
            };
            classes.entry(class).or_default().push(ballot);
        }
    }
    classes.into_values().flat_map(verdict::of).collect()
}

/// True if a job would go another way, or expect another time.
fn is_news(before: &[LearnedTiming], after: &[LearnedTiming]) -> bool {
    let names = |timing: &LearnedTiming| (timing.collective, timing.from, timing.way);
    before.len() != after.len()
        || before
            .iter()
            .zip(after)
            .any(|(a, b)| names(a) != names(b) || a.mean_ns.abs_diff(b.mean_ns) > a.mean_ns / NEWS)
}

#[cfg(test)]
mod tests;
