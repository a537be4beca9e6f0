//! The verdicts of all jobs: the part of the figures that a later job needs.
//!
//! There may be thousands of places, and a rank looks for one of them within an MPI call. So places
//! are known by digests, and only the timings that are found are parsed.
use super::{LearnedPlace, LearnedTiming, RecordedTiming};
use crate::decision_table::Collective;
use inventory::Bytes;
use serde::{Deserialize, Serialize};

/// The timings of each place, and those of all places that are alike together.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LearnedWays {
    /// A place's digest, and the number of its timings among `timings`. A place without hosts
    /// stands for all that are alike.
    places: Vec<(u128, u32)>,
    /// As JSON.
    timings: Vec<String>,
}

impl LearnedWays {
    /// Adds the timings of each of these places.
    pub(super) fn add<'a>(
        &mut self,
        places: impl IntoIterator<Item = &'a LearnedPlace>,
        timings: &[LearnedTiming],
    ) {
        if timings.is_empty() {
            return;
        }
        let recorded: Vec<RecordedTiming> = timings.iter().copied().map(Into::into).collect();
        let json = serde_json::to_string(&recorded)
            .unwrap_or_else(|e| unreachable!("numbers and names always serialize: {e}"));
        let number = self.timings.len() as u32;
        self.timings.push(json);
        let named = places.into_iter().map(|place| (place.digest(), number));
        self.places.extend(named);
    }

    /// True if nobody has learned anything.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// The timings from which a process set at a place can start: those of jobs on these hosts. For
    /// size classes that none of these jobs tried, they are those of jobs on other hosts with the
    /// same cables between them, and then those of a library whose version nobody noted. Of each
    /// class the way to go comes first. It has the smallest mean.
    pub fn for_place(&self, place: &LearnedPlace) -> Vec<LearnedTiming> {
        let class = |timing: &LearnedTiming| (timing.collective, timing.from);
        let mut timings = self.at(place);
        let unversioned = place.of_any_version();
        for further in [
            &place.without_hosts(),
            &unversioned,
            &unversioned.without_hosts(),
        ] {
            let classes: Vec<(Collective, Bytes)> = timings.iter().map(class).collect();
            let elsewhere = self.at(further).into_iter();
            timings.extend(elsewhere.filter(|timing| !classes.contains(&class(timing))));
        }
        timings
    }

    /// The timings of exactly this place. Bytes of a broadcast may hold anything.
    fn at(&self, place: &LearnedPlace) -> Vec<LearnedTiming> {
        let digest = place.digest();
        let number = self.places.iter().find(|(known, _)| *known == digest);
        let json = number.and_then(|(_, number)| self.timings.get(*number as usize));
        let recorded: Vec<RecordedTiming> = json
            .and_then(|json| serde_json::from_str(json).ok())
            .unwrap_or_default();
        recorded.iter().filter_map(RecordedTiming::known).collect()
    }

    /// The same for this place alone.
    #[must_use]
    pub fn restricted_to(&self, place: &LearnedPlace) -> LearnedWays {
        let mut restricted = LearnedWays::default();
        restricted.add([place], &self.for_place(place));
        restricted
    }
}
