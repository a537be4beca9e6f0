//! The sizes at which each way is taken, from the figures of a run.
use super::model::ContentionModel;
use inventory::Bytes;
use inventory::tree::Tree;
use policy::decision_table::{Collective, DataCarrier, DecisionEntry, DecisionGrounds, Way};
use policy::measurements::{CallTiming, MeasuredPlace, TuningRun};
use schedules::synchronization::scheme::SyncScheme;

/// Number of parts into which the model divides the range between two sizes.
const STEPS: u32 = 8;

/// The value of a run on a tree.
pub(super) struct RunGrounds {
    pub(super) grounds: DecisionGrounds,
    /// The run's ranks on that tree; `None` if fewer than two of their hosts are left.
    place: Option<MeasuredPlace>,
}

impl RunGrounds {
    pub(super) fn collected(run: &TuningRun, tree: &Tree) -> RunGrounds {
        let known: Vec<&String> = run
            .place
            .hosts
            .iter()
            .filter(|host| tree.host(host).is_some())
            .collect();
        let place = MeasuredPlace::of(tree, &known)
            .ok()
            .filter(|place| place.hosts.iter().any(|host| *host != place.hosts[0]));
        let grounds = match &place {
            Some(place) if place.is_same(&run.place) => DecisionGrounds::Measured,
            Some(place) if place.has_same_bounds(&run.place) => DecisionGrounds::Kept,
            _ => DecisionGrounds::Stale,
        };
        RunGrounds { grounds, place }
    }
}

/// The entries of a collective, from the smallest measured size on. Below that size, and without
/// entries, the library's own routine runs.
pub(super) fn entries(
    run: &TuningRun,
    collective: Collective,
    ground: &RunGrounds,
) -> Vec<DecisionEntry> {
    let sizes = run.sizes(collective);
    let model = ground
        .place
        .as_ref()
        .and_then(|place| ContentionModel::fit(run, collective, place).ok());
    let choice = WayChoice {
        run,
        collective,
        model,
    };
    let mut ranges = DecisionRanges(Vec::new());
    for (at, &size) in sizes.iter().enumerate() {
        let next = sizes.get(at + 1).copied();
        if ground.grounds == DecisionGrounds::Stale {
            choice.predicted(size, next, &mut ranges);
        } else {
            choice.measured(size, next, ground.grounds, &mut ranges);
        }
    }
    ranges.0
}

struct WayChoice<'a> {
    run: &'a TuningRun,
    collective: Collective,
    model: Option<ContentionModel>,
}

impl WayChoice<'_> {
    /// The entries that the measurements give, at `size` and from there to `next`.
    fn measured(
        &self,
        size: Bytes,
        next: Option<Bytes>,
        grounds: DecisionGrounds,
        ranges: &mut DecisionRanges,
    ) {
        let here = self.best(size);
        ranges.add(size, here, grounds);
        let Some(next) = next else { return };
        if let Some(way) = self.at_both(size, next) {
            return ranges.add(Bytes(size.0 + 1), way, grounds);
        }
        let there = self.best(next);
        if here == Way::Native && there == Way::Native {
            return;
        }
        let Some(model) = &self.model else {
            return ranges.add(Bytes(size.0 + 1), Way::Native, DecisionGrounds::Elsewhere);
        };
        let best = |point: u32| match point {
            0 => here,
            STEPS => there,
            _ => model.best(&[here, there], between(size, next, point)),
        };
        for point in 0..STEPS {
            let from = if point == 0 {
                Bytes(size.0 + 1)
            } else {
                between(size, next, point)
            };
            ranges.add(
                from,
                throughout([point, point + 1], best, |way, point| match point {
                    0 => self.gains(way, size),
                    STEPS => self.gains(way, next),
                    _ => {
                        way != Way::Native && model.best(&[way], between(size, next, point)) == way
                    }
                }),
                DecisionGrounds::Modelled,
            );
        }
    }

    /// The entries that the model gives, from `size` to `next`.
    fn predicted(&self, size: Bytes, next: Option<Bytes>, ranges: &mut DecisionRanges) {
        let ways = self.ways();
        let Some(next) = next else {
            return ranges.add(size, self.modelled(&ways, size), DecisionGrounds::Stale);
        };
        for point in 0..STEPS {
            let ends = [between(size, next, point), between(size, next, point + 1)];
            ranges.add(
                ends[0],
                throughout(
                    ends,
                    |block| self.modelled(&ways, block),
                    |way, block| way != Way::Native && self.modelled(&[way], block) == way,
                ),
                DecisionGrounds::Stale,
            );
        }
    }

    fn ways(&self) -> Vec<Way> {
        let mut ways: Vec<Way> = self
            .run
            .figures
            .iter()
            .filter(|f| f.collective == self.collective)
            .map(|f| f.way)
            .collect();
        ways.sort_by_key(|&way| simplicity(way));
        ways.dedup();
        ways
    }

    fn timing(&self, way: Way, block: Bytes) -> Option<&CallTiming> {
        self.run.timing(self.collective, way, block)
    }

    /// True if the way was measured to be faster than the library's own routine by more than the
    /// noise.
    fn gains(&self, way: Way, block: Bytes) -> bool {
        let native = self.timing(Way::Native, block);
        self.timing(way, block)
            .zip(native)
            .is_some_and(|(own, native)| own.is_faster_than(native))
    }

    /// The best of these ways by the model; the library's own without one.
    fn modelled(&self, ways: &[Way], block: Bytes) -> Way {
        let model = self.model.as_ref();
        model.map_or(Way::Native, |model| model.best(ways, block))
    }

    /// A way that gains at both sizes, and so is taken between them. That is the way taken at one
    /// of the sizes, if it gains at both; otherwise the way with the largest gain at its worse
    /// size.
    fn at_both(&self, size: Bytes, next: Bytes) -> Option<Way> {
        let both = |way: &Way| [size, next].iter().all(|&block| self.gains(*way, block));
        let taken = [self.best(size), self.best(next)].into_iter().find(both);
        taken.or_else(|| {
            let gaining = self.ways().into_iter().filter(both);
            let shares = gaining.map(|way| (way, self.worse_share(way, [size, next])));
            let least = shares.min_by(|(_, a), (_, b)| a.total_cmp(b));
            least.map(|(way, _)| way)
        })
    }

    /// The part of the library's time that a way takes, at that of two sizes where it gains less.
    fn worse_share(&self, way: Way, sizes: [Bytes; 2]) -> f64 {
        let [one, other] = sizes.map(|block| {
            let timings = [way, Way::Native].map(|way| self.timing(way, block));
            let [own, library] = timings.map(|t| t.map_or(f64::INFINITY, CallTiming::seconds));
            own / library
        });
        one.max(other)
    }

    /// The simplest of the ways that gain and that the fastest one does not beat by more than the
    /// noise.
    fn best(&self, block: Bytes) -> Way {
        let gaining = self
            .ways()
            .into_iter()
            .filter(|way| self.gains(*way, block));
        let timed: Vec<(Way, &CallTiming)> = gaining
            .filter_map(|way| Some((way, self.timing(way, block)?)))
            .collect();
        let Some((_, fastest)) = timed.iter().min_by_key(|(_, timing)| timing.median_ns) else {
            return Way::Native;
        };
        let simplest = timed.iter().find(|(_, own)| !fastest.is_faster_than(own));
        simplest.map_or(Way::Native, |(way, _)| *way)
    }
}

/// The best way at either end that gains at both ends; otherwise the library's own.
fn throughout<At: Copy>(
    ends: [At; 2],
    best: impl Fn(At) -> Way,
    gains: impl Fn(Way, At) -> bool,
) -> Way {
    ends.into_iter()
        .map(best)
        .find(|&way| ends.iter().all(|&end| gains(way, end)))
        .unwrap_or(Way::Native)
}

/// The way's needs, for sorting: first its own connections, then copies on the way, then tokens.
fn simplicity(way: Way) -> (Option<DataCarrier>, bool, Option<SyncScheme>) {
    (way.carrier(), way.row().copies(), way.sync())
}

/// The size at `point` of [`STEPS`] equal factors.
fn between(size: Bytes, next: Bytes, point: u32) -> Bytes {
    let factor = next.0.max(1) as f64 / size.0.max(1) as f64;
    match point {
        0 => size,
        STEPS => next,
        _ => Bytes(
            (size.0.max(1) as f64 * factor.powf(f64::from(point) / f64::from(STEPS))).round()
                as u64,
        ),
    }
}

/// Entries in ascending order, each with another way or other grounds than the one before.
pub(super) struct DecisionRanges(pub(super) Vec<DecisionEntry>);

impl DecisionRanges {
    pub(super) fn add(&mut self, from: Bytes, way: Way, grounds: DecisionGrounds) {
        let from = Bytes(from.0.max(1)); // From 0 on every table begins with the library's own.
        if self.0.last().is_some_and(|last| last.from >= from) {
            self.0.pop();
        }
        if self
            .0
            .last()
            .is_none_or(|last| last.way != way || last.grounds != grounds)
        {
            self.0.push(DecisionEntry {
                from,
                way,
                mpi: None,
                grounds,
            });
        }
    }
}
