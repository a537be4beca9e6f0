//! Reads from time to time what jobs learned out of their records, within each user's share.
use crate::allowance::{OwnerShares, RecordAllowance};
use crate::engine::ControllerEvent;
use directory::job_record::JobRecord;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::{Duration, Instant};

/// A job's lessons are taken at most this often, and once more at its end.
const INTERVAL: Duration = Duration::from_secs(10);
/// The lessons of one scan: each takes the engine some time, and a line of the journal. Up to 4
/// users can use their full share at once.
const LESSONS: OwnerShares = OwnerShares {
    each: RecordAllowance {
        things: 8,
        bytes: 256 << 10,
    },
    all: RecordAllowance {
        things: 32,
        bytes: 1 << 20,
    },
};

/// The lessons taken so far.
#[derive(Default)]
pub(super) struct LessonIntake {
    /// By id: when the job's lessons were last taken, and their digest.
    taken: HashMap<String, (Instant, u64)>,
}

impl LessonIntake {
    /// Events for the records that teach something new. A lesson beyond the shares comes with the
    /// job's next record, if there is one.
    pub(super) fn events(&mut self, records: &[JobRecord], now: Instant) -> Vec<ControllerEvent> {
        let due: Vec<&JobRecord> = records.iter().filter(|r| self.is_due(r, now)).collect();
        let claims = due.iter().map(|record| (&record.user, record.memory()));
        let kept = LESSONS.select_kept(claims);
        kept.into_iter()
            .map(|index| {
                let record = due[index];
                self.taken.insert(record.id.clone(), (now, digest(record)));
                ControllerEvent::Taught(Box::new(record.clone()))
            })
            .collect()
    }

    fn is_due(&self, record: &JobRecord, now: Instant) -> bool {
        let taken = self.taken.get(&record.id);
        !record.learned.is_empty()
            && taken.is_none_or(|(at, former)| {
                *former != digest(record)
                    && (record.finished || now.saturating_duration_since(*at) >= INTERVAL)
            })
    }

    /// The records of these jobs are gone.
    pub(super) fn forget(&mut self, gone: &[String]) {
        for id in gone {
            self.taken.remove(id);
        }
    }
}

fn digest(record: &JobRecord) -> u64 {
    let mut hasher = DefaultHasher::new();
    (record.epoch, &record.learned, &record.fast_call).hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jobs::tests::record;
    use policy::decision_table::{Collective, Way};
    use policy::learned::{LearnedTiming, RecordedTiming};

    fn taught(id: &str, user: &str, mean_ns: u64) -> JobRecord {
        let timing = LearnedTiming {
            collective: Collective::Alltoall,
            from: inventory::Bytes(1024),
            way: Way::Native,
            samples: 9,
            mean_ns,
            error_ns: 1,
        };
        JobRecord {
            user: user.to_owned(),
            learned: vec![RecordedTiming::from(timing)],
            ..record(id, 1, 10, 1.0)
        }
    }

    #[test]
    fn a_job_counts_now_and_then_and_at_its_end() {
        let (mut intake, now) = (LessonIntake::default(), Instant::now());
        let mut taken =
            |record: JobRecord, later: Duration| intake.events(&[record], now + later).len();
        assert_eq!(taken(record("a", 1, 10, 1.0), Duration::ZERO), 0);
        assert_eq!(taken(taught("a", "ann", 5), Duration::ZERO), 1);
        assert_eq!(taken(taught("a", "ann", 6), INTERVAL / 2), 0);
        assert_eq!(taken(taught("a", "ann", 5), INTERVAL), 0, "nothing new");
        assert_eq!(taken(taught("a", "ann", 6), INTERVAL), 1);
        let mut last = taught("a", "ann", 7);
        last.finished = true;
        assert_eq!(taken(last, INTERVAL), 1);
    }

    #[test]
    fn a_flood_of_records_leaves_others_their_share() {
        let (mut intake, now) = (LessonIntake::default(), Instant::now());
        let mut records: Vec<JobRecord> = (0..500)
            .map(|n| taught(&format!("eve{n}"), "eve", 5))
            .collect();
        records.push(taught("ann", "ann", 5));
        let events = intake.events(&records, now);
        assert_eq!(events.len(), LESSONS.each.things + 1);
        assert!(
            events.iter().any(
                |event| matches!(event, ControllerEvent::Taught(record) if record.user == "ann")
            )
        );
        intake.forget(
            &records
                .iter()
                .map(|record| record.id.clone())
                .collect::<Vec<_>>(),
        );
        assert!(intake.taken.is_empty());
    }
}
