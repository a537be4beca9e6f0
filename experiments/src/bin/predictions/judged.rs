//! The measured calls with what was predicted for them, and how far the predictions are off.
use forecast::calibration::{BenchCell, CallCalibration, shipped_cells};
use std::collections::BTreeMap;

/// A measured call, and two predictions of it.
pub(crate) struct JudgedCell {
    pub(crate) network: String,
    pub(crate) mpi: &'static str,
    pub(crate) collective: &'static str,
    pub(crate) block: u64,
    /// The way, as `scripts/bench-mpi` names it.
    way: String,
    /// Seconds: the median of its launches.
    pub(crate) measured: f64,
    /// From all calls, this one included.
    pub(crate) fitted: f64,
    /// From the calls on other networks.
    pub(crate) elsewhere: f64,
}

impl JudgedCell {
    fn judged(cell: &BenchCell, calibration: &CallCalibration) -> Option<JudgedCell> {
        let call = cell.call()?;
        let predicted =
            |without| calibration.seconds(call.collective, call.routine, &call.profile, without);
        Some(JudgedCell {
            network: call.network.clone(),
            mpi: cell.mpi.title(),
            collective: cell.collective.name(),
            block: cell.block.0,
            way: cell.way.clone(),
            measured: call.seconds,
            fitted: predicted(None)?,
            elsewhere: predicted(Some(&call.network))?,
        })
    }

    /// `own`, `mpi` or `tcp`.
    pub(crate) fn kind(&self) -> &str {
        self.way.rsplit(' ').next().unwrap_or_default()
    }

    /// The share by which the prediction from all calls is off.
    pub(crate) fn off_fitted(&self) -> f64 {
        (self.fitted / self.measured - 1.0).abs()
    }

    /// The share by which the prediction from other networks is off.
    pub(crate) fn off_elsewhere(&self) -> f64 {
        (self.elsewhere / self.measured - 1.0).abs()
    }
}

/// The cells by which predictions are judged.
pub(crate) fn cells() -> Vec<JudgedCell> {
    let goal = shipped_cells().iter().filter(|cell| cell.is_goal());
    let shipped = CallCalibration::shipped();
    goal.filter_map(|cell| JudgedCell::judged(cell, shipped))
        .collect()
}

/// The share of predictions that are off by a tenth at most.
pub(crate) fn share(cells: &[&JudgedCell], off: fn(&JudgedCell) -> f64) -> f64 {
    let within = cells.iter().filter(|cell| off(cell) <= 0.1).count();
    within as f64 / cells.len().max(1) as f64
}

/// The median, and what nine of ten keep.
pub(crate) fn spread(cells: &[&JudgedCell], off: fn(&JudgedCell) -> f64) -> (f64, f64) {
    let mut sorted: Vec<f64> = cells.iter().map(|cell| off(cell)).collect();
    sorted.sort_by(f64::total_cmp);
    let at = |share: f64| {
        let place = (sorted.len() as f64 * share).ceil() as usize;
        place
            .checked_sub(1)
            .and_then(|place| sorted.get(place))
            .copied()
            .unwrap_or(f64::NAN)
    };
    (at(0.5), at(0.9))
}

/// Ways that differ by less than this share are equally fast: launches of one differ by as much.
const NOISE: f64 = 0.05;

/// How often the ways of a call are predicted in the right order.
#[derive(Default)]
pub(crate) struct RankingScore {
    /// Calls with two ways or more.
    pub(crate) calls: usize,
    /// Of them: the two fastest ways are predicted in their order.
    pub(crate) order: usize,
    /// The same, or they are equally fast.
    pub(crate) beyond_noise: usize,
    /// The way that is predicted to be the fastest is so, or equally fast.
    pub(crate) chosen: usize,
}

impl RankingScore {
    pub(crate) fn counted(cells: &[JudgedCell], predicted: fn(&JudgedCell) -> f64) -> RankingScore {
        let mut calls: BTreeMap<_, Vec<&JudgedCell>> = BTreeMap::new();
        for cell in cells {
            let call = (&cell.network, cell.mpi, cell.collective, cell.block);
            calls.entry(call).or_default().push(cell);
        }
        let mut score = RankingScore::default();
        for ways in calls.values_mut() {
            ways.sort_by(|a, b| a.measured.total_cmp(&b.measured));
            let [first, second, ..] = ways[..] else {
                continue;
            };
            let in_order = predicted(first) <= predicted(second);
            let alike = second.measured <= first.measured * (1.0 + NOISE);
            let chosen = ways
                .iter()
                .min_by(|a, b| predicted(a).total_cmp(&predicted(b)));
            score.calls += 1;
            score.order += usize::from(in_order);
            score.beyond_noise += usize::from(in_order || alike);
            score.chosen += usize::from(
                chosen.is_some_and(|way| way.measured <= first.measured * (1.0 + NOISE)),
            );
        }
        score
    }
}
