//! The contention model of a run: the times that each way would have taken at sizes, or on trees,
//! that nobody measured.
//!
//! Source: [`crate::signature`], with the bottleneck edge in the place of its link. The time of an
//! octet is that of the payload bound, and gamma is the ratio of a way's time to it. So a signature
//! can be carried to another tree, because that tree's bound is known.
use crate::signature::{
    self, ContentionSignature, FitRefusal, ParameterEstimate, PingPongFit, TimeSample,
};
use inventory::Bytes;
use policy::decision_table::{Collective, Way};
use policy::measurements::{CallTiming, MeasuredPlace, TuningRun};
use policy::noise;

/// The signature of every way.
pub(super) struct ContentionModel {
    ranks: u64,
    ways: Vec<(Way, ContentionSignature, f64)>,
}

impl ContentionModel {
    /// Fits the model to a run, and carries it to `place`.
    ///
    /// # Errors
    /// [`FitRefusal`] if the messages between two hosts, or the library's own routine, cannot be
    /// fitted. Other ways that cannot be fitted are left out.
    pub(super) fn fit(
        run: &TuningRun,
        collective: Collective,
        place: &MeasuredPlace,
    ) -> Result<ContentionModel, FitRefusal> {
        let link = signature::ping_pong(&samples(run.pingpong.iter()))?;
        let [beta_measured, beta_here] = [&run.place, place].map(|place| {
            let peers = place.hosts.len().saturating_sub(1).max(1) as f64;
            place.bounds.seconds_per_octet(collective) / peers
        });
        let link = PingPongFit {
            alpha: link.alpha,
            beta: ParameterEstimate::exact(beta_measured),
            covariance: 0.0,
        };
        let mut found: Vec<Way> = run
            .figures
            .iter()
            .filter(|f| f.collective == collective)
            .map(|f| f.way)
            .collect();
        found.sort_by_key(|way| way.to_string());
        found.dedup();
        let mut ways = Vec::new();
        for way in found {
            let of = run
                .figures
                .iter()
                .filter(|f| f.collective == collective && f.way == way)
                .map(|f| &f.timing);
            match signature::fit(run.place.hosts.len() as u64, &link, &samples(of)) {
                Ok(fit) => ways.push((
                    way,
                    ContentionSignature {
                        beta: beta_here,
                        ..fit.signature
                    },
                    fit.worst,
                )),
                Err(refusal) if way == Way::Native => return Err(refusal),
                Err(_) => {}
            }
        }
        Ok(ContentionModel {
            ranks: place.hosts.len() as u64,
            ways,
        })
    }

    /// The seconds of a way, and by what factor they may be off.
    fn predicted(&self, wanted: Way, block: Bytes) -> Option<(f64, f64)> {
        let (_, signature, worst) = self.ways.iter().find(|(way, ..)| *way == wanted)?;
        Some((signature.alltoall(self.ranks, block), *worst))
    }

    /// The fastest of these ways that beats the library's own by more than the model's error at the
    /// sizes where it could be checked.
    pub(super) fn best(&self, among: &[Way], block: Bytes) -> Way {
        let Some((native, native_off)) = self.predicted(Way::Native, block) else {
            return Way::Native;
        };
        among
            .iter()
            .filter_map(|way| {
                let (seconds, off) = self.predicted(*way, block)?;
                (seconds < native * (1.0 - noise::of_both(off, native_off)))
                    .then_some((*way, seconds))
            })
            .min_by(|a, b| a.1.total_cmp(&b.1))
            .map_or(Way::Native, |(way, _)| way)
    }
}

fn samples<'a>(timings: impl Iterator<Item = &'a CallTiming>) -> Vec<TimeSample> {
    // Calls that agree to the clock's last digit still have some error.
    timings
        .map(|t| TimeSample {
            size: t.block,
            seconds: t.seconds(),
            error: (t.error_ns as f64 / 1e9).max(1e-3 * t.seconds()),
        })
        .collect()
}
