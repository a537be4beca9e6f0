//! What the jobs say together: the part of the figures that a later job needs.
use super::figures::FiguresError;
use super::{LearnedPlace, LearnedTiming};
use crate::decision_table::Collective;
use inventory::Bytes;
use serde::{Deserialize, Serialize};

/// The timings of each place, and those of all places that are alike together.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LearnedWays {
    /// A place without hosts stands for several that are alike.
    places: Vec<(LearnedPlace, Vec<LearnedTiming>)>,
}

impl LearnedWays {
    pub(super) fn add(&mut self, place: LearnedPlace, timings: Vec<LearnedTiming>) {
        if !timings.is_empty() {
            self.places.push((place, timings));
        }
    }

    /// The timings as JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self)
            .unwrap_or_else(|e| unreachable!("numbers and names always serialize: {e}"))
    }

    /// Reads the output of [`LearnedWays::to_json`] of the same version.
    ///
    /// # Errors
    /// [`FiguresError`] if the text is anything else.
    pub fn from_json(text: &[u8]) -> Result<LearnedWays, FiguresError> {
        serde_json::from_slice(text).map_err(|e| FiguresError(e.to_string()))
    }

    /// True if nobody has learned anything.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// What a process set at a place can start from: what jobs learned on these hosts; for size
    /// classes that none of them tried, what they learned on other hosts with the same cables
    /// between them. Of each class the way to go comes first. It has the smallest mean.
    pub fn for_place(&self, place: &LearnedPlace) -> Vec<LearnedTiming> {
        let class = |timing: &LearnedTiming| (timing.collective, timing.from);
        let here = self.places.iter().find(|(known, _)| known == place);
        let mut timings = here.map(|(_, timings)| timings.clone()).unwrap_or_default();
        let classes: Vec<(Collective, Bytes)> = timings.iter().map(class).collect();
        let mut alike = self
            .places
            .iter()
            .filter(|(known, _)| known.is_alike(place));
        let together = alike.clone().find(|(known, _)| known.hosts.is_empty());
        let elsewhere = together.or_else(|| alike.next()).into_iter();
        let untried = elsewhere
            .flat_map(|(_, timings)| timings)
            .filter(|timing| !classes.contains(&class(timing)));
        timings.extend(untried);
        timings
    }

    /// The same for this place alone.
    #[must_use]
    pub fn restricted_to(&self, place: &LearnedPlace) -> LearnedWays {
        let mut restricted = LearnedWays::default();
        restricted.add(place.clone(), self.for_place(place));
        restricted
    }
}
