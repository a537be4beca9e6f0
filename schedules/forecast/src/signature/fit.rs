//! The fit of a signature to measurements.
//!
//! Source: contention-signature-alltoall, section V: alpha and beta from a ping-pong; gamma and
//! delta by least squares over at least four message sizes. Input: mean times, with or without
//! their standard errors. Guarantee: least weighted squares over gamma, delta and every place of
//! the threshold between two measured sizes. Standard errors include those of alpha and beta. Cost:
//! O(samples²). Deviations: delta is kept only if its margin excludes zero; the paper's section V.C
//! leaves out Myrinet's in the same way.
use super::regression::{RegressionRow, RegressionSolution, solve, student};
use super::{ContentionSignature, Hockney, peers};
use inventory::Bytes;
use std::fmt;

/// A series needs this many different message sizes, as in the paper.
pub const MIN_SIZES: usize = 4;

/// The largest message must be at least this many times the smallest. Otherwise start-up and
/// bandwidth cannot be distinguished.
pub const MIN_SPREAD: u64 = 4;

/// Fewer hosts do not contend.
pub const MIN_HOSTS: u64 = 3;

/// The time of messages, or of all-to-alls, of one size.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TimeSample {
    /// Size of a message.
    pub size: Bytes,
    /// Mean time in seconds.
    pub seconds: f64,
    /// Standard error of that mean in seconds. Only the ratios between a series' errors matter:
    /// they determine its weights.
    pub error: f64,
}

impl TimeSample {
    /// A time of unknown error. Its uncertainty counts as proportional to the time.
    pub fn new(size: Bytes, seconds: f64) -> TimeSample {
        TimeSample {
            size,
            seconds,
            error: 0.01 * seconds,
        }
    }
}

/// A parameter with its uncertainty.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ParameterEstimate {
    /// The value that fits best.
    pub value: f64,
    /// Its standard error.
    pub error: f64,
    /// Half the width of its 95 % confidence interval.
    pub margin: f64,
}

impl ParameterEstimate {
    fn new(value: f64, variance: f64, freedom: usize) -> ParameterEstimate {
        let error = variance.max(0.0).sqrt();
        // An error of zero times an infinite quantile gives a margin of zero, not NaN.
        let margin = if error == 0.0 {
            0.0
        } else {
            error * student(freedom)
        };
        ParameterEstimate {
            value,
            error,
            margin,
        }
    }

    /// A parameter that is known exactly.
    pub fn exact(value: f64) -> ParameterEstimate {
        ParameterEstimate {
            value,
            error: 0.0,
            margin: 0.0,
        }
    }
}

/// The measurements that a refusal is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SampleSeries {
    /// Messages between two hosts.
    PingPong,
    /// All-to-alls among all hosts.
    Alltoall,
}

impl fmt::Display for SampleSeries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SampleSeries::PingPong => "ping-pong",
            SampleSeries::Alltoall => "all-to-all",
        })
    }
}

/// The reason why a signature cannot be fitted to measurements.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum FitRefusal {
    /// A measurement whose numbers are invalid.
    #[error(
        "{series} of {size} octets: time {seconds} s, error {error} s: expected finite numbers \
         above zero; nothing is fitted"
    )]
    Sample {
        /// The series of the measurement.
        series: SampleSeries,
        /// Message size, octets.
        size: u64,
        /// The time as given, seconds.
        seconds: f64,
        /// The error as given, seconds.
        error: f64,
    },
    /// Fewer message sizes than [`MIN_SIZES`].
    #[error(
        "{series}: {sizes} message sizes; {MIN_SIZES} or more are needed to fit its parameters: \
         measure more sizes"
    )]
    TooFewSizes {
        series: SampleSeries,
        /// Number of different sizes.
        sizes: usize,
    },
    /// The sizes differ too little: see [`MIN_SPREAD`].
    #[error(
        "{series}: message sizes from {smallest} to {largest} octets; the largest must be \
         {MIN_SPREAD} times the smallest to tell start-up from bandwidth: measure a wider range"
    )]
    NoSpread {
        series: SampleSeries,
        /// Smallest size, octets.
        smallest: u64,
        /// Largest size, octets.
        largest: u64,
    },
    /// Fewer hosts than [`MIN_HOSTS`].
    #[error(
        "all-to-all among {0} hosts: fewer than {MIN_HOSTS} do not contend; measure with as many \
         hosts as there are"
    )]
    TooFewHosts(u64),
    /// Larger messages do not take longer.
    #[error(
        "{series}: time changes by {per_octet} s an octet; it must grow with the size: look for \
         disturbance and measure again"
    )]
    Slope {
        series: SampleSeries,
        /// Fitted slope, seconds per octet.
        per_octet: f64,
    },
    /// According to the fit, an empty message would take no time, or less.
    #[error("ping-pong: start-up time {0} s; it must be above zero: measure smaller messages")]
    StartUp(f64),
    /// The confidence interval of a parameter includes zero.
    #[error(
        "{series}: {parameter} = {value} ± {margin}; that is too uncertain: repeat the measurements \
         more often, or at more sizes"
    )]
    Uncertain {
        series: SampleSeries,
        /// `alpha`, `beta` or `gamma`.
        parameter: &'static str,
        /// The value that fits best.
        value: f64,
        /// Half the width of its 95 % confidence interval.
        margin: f64,
    },
    /// Messages pay a start-up time delta, but the data agree with every threshold.
    #[error(
        "all-to-all: delta = {delta} s, but its threshold may be any size from {smallest} to \
         {largest} octets: measure more sizes between them, or repeat more often"
    )]
    Threshold {
        /// The value of delta that fits best, seconds.
        delta: f64,
        /// Smallest measured size, octets.
        smallest: u64,
        /// Largest measured size, octets.
        largest: u64,
    },
}

/// Fitted parameters of a link.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PingPongFit {
    /// Start-up time, seconds.
    pub alpha: ParameterEstimate,
    /// Seconds per octet.
    pub beta: ParameterEstimate,
    /// Covariance of `alpha` and `beta`.
    pub covariance: f64,
}

impl PingPongFit {
    /// A link whose parameters are known exactly.
    pub fn known(link: Hockney) -> PingPongFit {
        PingPongFit {
            alpha: ParameterEstimate::exact(link.alpha),
            beta: ParameterEstimate::exact(link.beta),
            covariance: 0.0,
        }
    }

    /// The parameters without their errors.
    pub fn link(&self) -> Hockney {
        Hockney {
            alpha: self.alpha.value,
            beta: self.beta.value,
        }
    }
}

/// Fits a link's parameters to the times of messages in one direction (half a ping-pong).
///
/// # Errors
/// [`FitRefusal`] if the data do not determine both parameters.
pub fn ping_pong(samples: &[TimeSample]) -> Result<PingPongFit, FitRefusal> {
    let series = SampleSeries::PingPong;
    usable(series, samples)?;
    let rows: Vec<RegressionRow<2>> = samples
        .iter()
        .map(|s| row([1.0, s.size.0 as f64], s.seconds, s.error))
        .collect();
    let solution = solve(&rows).ok_or_else(|| spread(series, samples))?;
    let freedom = samples.len() - 2;
    let variance = solution.residue / freedom as f64;
    let [alpha, beta] = [0, 1].map(|i| {
        ParameterEstimate::new(
            solution.value[i],
            variance * solution.covariance[i][i],
            freedom,
        )
    });
    if beta.value <= 0.0 {
        return Err(FitRefusal::Slope {
            series,
            per_octet: beta.value,
        });
    }
    if alpha.value <= 0.0 {
        return Err(FitRefusal::StartUp(alpha.value));
    }
    certain(series, "beta", beta)?;
    certain(series, "alpha", alpha)?;
    Ok(PingPongFit {
        alpha,
        beta,
        covariance: variance * solution.covariance[0][1],
    })
}

/// The knowledge about the threshold `M`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SizeThreshold {
    /// The data do not show that any message pays a start-up time delta.
    None,
    /// Every measured size pays delta; smaller messages may pay it, too.
    AtMost(Bytes),
    /// The threshold is more than the first size and at most the second.
    Between(Bytes, Bytes),
}

/// A fitted signature and its uncertainty.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SignatureFit {
    /// The parameters that fit best.
    pub signature: ContentionSignature,
    /// Contention ratio.
    pub gamma: ParameterEstimate,
    /// Start-up time of a message from the threshold on, in seconds; exactly zero with
    /// [`SizeThreshold::None`].
    pub delta: ParameterEstimate,
    /// The possible places of the threshold, at 95 % confidence.
    pub threshold: SizeThreshold,
    /// Largest relative difference between a measured time and the fitted one.
    pub worst: f64,
}

/// Fits gamma, delta and M to the times of all-to-alls among `n` hosts.
///
/// # Errors
/// [`FitRefusal`] if the data do not determine the parameters.
pub fn fit(n: u64, link: &PingPongFit, samples: &[TimeSample]) -> Result<SignatureFit, FitRefusal> {
    let series = SampleSeries::Alltoall;
    usable(series, samples)?;
    if n < MIN_HOSTS {
        return Err(FitRefusal::TooFewHosts(n));
    }
    let messages = MessageTimes {
        samples,
        peers: peers(n),
        link,
    };
    let (gamma, delta, threshold, from) = match messages.with_start_up()? {
        Some(fitted) => fitted,
        None => (
            messages.without_start_up()?,
            ParameterEstimate::exact(0.0),
            SizeThreshold::None,
            Bytes(0),
        ),
    };
    if gamma.value <= 0.0 {
        return Err(FitRefusal::Slope {
            series,
            per_octet: gamma.value * link.beta.value,
        });
    }
    certain(series, "gamma", gamma)?;
    let Hockney { alpha, beta } = link.link();
    let signature = ContentionSignature {
        alpha,
        beta,
        gamma: gamma.value,
        delta: delta.value,
        threshold: from,
    };
    Ok(SignatureFit {
        signature,
        gamma,
        delta,
        threshold,
        worst: samples
            .iter()
            .map(|s| (signature.alltoall(n, s.size) / s.seconds - 1.0).abs())
            .fold(0.0, f64::max),
    })
}

/// The times of all-to-alls, as times of one message:
/// `time / (n - 1) - alpha = size * beta * gamma + delta`.
struct MessageTimes<'a> {
    samples: &'a [TimeSample],
    peers: f64,
    link: &'a PingPongFit,
}

impl MessageTimes<'_> {
    fn rows<const P: usize>(&self, x: impl Fn(Bytes) -> [f64; P]) -> Vec<RegressionRow<P>> {
        self.samples
            .iter()
            .map(|s| {
                row(
                    x(s.size),
                    s.seconds / self.peers - self.link.alpha.value,
                    s.error / self.peers,
                )
            })
            .collect()
    }

    /// Fits equation 4, which has gamma only.
    fn without_start_up(&self) -> Result<ParameterEstimate, FitRefusal> {
        let rows = self.rows(|size| [size.0 as f64]);
        let solution = solve(&rows).ok_or_else(|| spread(SampleSeries::Alltoall, self.samples))?;
        let freedom = self.samples.len() - 1;
        let variance = solution.residue / freedom as f64 * solution.covariance[0][0];
        Ok(self.gamma(solution.value[0], variance, alone(&rows)[0], freedom))
    }

    /// Fits equation 5 with the threshold that fits best; `None` if delta is not certain to be
    /// above zero.
    #[allow(clippy::type_complexity)]
    fn with_start_up(
        &self,
    ) -> Result<Option<(ParameterEstimate, ParameterEstimate, SizeThreshold, Bytes)>, FitRefusal>
    {
        let sizes = sizes(self.samples);
        // At least two sizes pay delta: a single one could be an outlier.
        let candidates: Vec<(usize, Vec<RegressionRow<2>>, RegressionSolution<2>)> =
            (0..sizes.len() - 1)
                .filter_map(|first| {
                    let rows = self
                        .rows(|size| [size.0 as f64, if size >= sizes[first] { 1.0 } else { 0.0 }]);
                    solve(&rows).map(|solution| (first, rows, solution))
                })
                .collect();
        let best = candidates
            .iter()
            .filter(|(_, _, s)| s.value[1] > 0.0)
            .min_by(|a, b| a.2.residue.total_cmp(&b.2.residue));
        let Some((first, rows, solution)) = best else {
            return Ok(None);
        };
        // Three parameters are fitted: gamma, delta and M.
        let freedom = self.samples.len() - 3;
        let variance = solution.residue / freedom as f64;
        let [gamma_by_alpha, delta_by_alpha] = alone(rows);
        let delta_variance =
            variance * solution.covariance[1][1] + (delta_by_alpha * self.link.alpha.error).powi(2);
        let delta = ParameterEstimate::new(solution.value[1], delta_variance, freedom);
        if delta.value <= delta.margin {
            return Ok(None);
        }
        let gamma = self.gamma(
            solution.value[0],
            variance * solution.covariance[0][0],
            gamma_by_alpha,
            freedom,
        );
        // The thresholds that fit nearly as well: the 95 % region of the likelihood ratio.
        let tolerated = solution.residue + variance * student(freedom).powi(2);
        let possible: Vec<usize> = candidates
            .iter()
            .filter(|(_, _, s)| s.residue <= tolerated)
            .map(|c| c.0)
            .collect();
        let (lowest, highest) = (possible[0], possible[possible.len() - 1]);
        let threshold = match lowest.checked_sub(1) {
            Some(below) => SizeThreshold::Between(sizes[below], sizes[highest]),
            None if highest + 2 == sizes.len() => {
                return Err(FitRefusal::Threshold {
                    delta: delta.value,
                    smallest: sizes[0].0,
                    largest: sizes[highest].0,
                });
            }
            None => SizeThreshold::AtMost(sizes[highest]),
        };
        Ok(Some((gamma, delta, threshold, sizes[*first])))
    }

    /// Gamma from a fitted slope `beta * gamma`, which changes by `by_alpha` with every second that
    /// is taken off each message.
    fn gamma(&self, slope: f64, variance: f64, by_alpha: f64, freedom: usize) -> ParameterEstimate {
        let PingPongFit {
            alpha,
            beta,
            covariance,
        } = self.link;
        let gamma = slope / beta.value;
        let from_link = (by_alpha * alpha.error).powi(2)
            + (gamma * beta.error).powi(2)
            + 2.0 * by_alpha * gamma * covariance;
        ParameterEstimate::new(gamma, (variance + from_link) / beta.value.powi(2), freedom)
    }
}

/// The change of the parameters if every row takes a second more.
fn alone<const P: usize>(rows: &[RegressionRow<P>]) -> [f64; P] {
    let ones: Vec<RegressionRow<P>> = rows
        .iter()
        .map(|r| RegressionRow { y: 1.0, ..*r })
        .collect();
    solve(&ones).map_or([0.0; P], |s| s.value)
}

fn row<const P: usize>(x: [f64; P], y: f64, error: f64) -> RegressionRow<P> {
    RegressionRow {
        x,
        y,
        weight: error.powi(-2),
    }
}

fn usable(series: SampleSeries, samples: &[TimeSample]) -> Result<(), FitRefusal> {
    let unfit = samples.iter().find(|s| {
        let mut figures = [s.seconds, s.error].into_iter();
        figures.any(|figure| !(figure.is_finite() && figure > 0.0))
    });
    if let Some(s) = unfit {
        return Err(FitRefusal::Sample {
            series,
            size: s.size.0,
            seconds: s.seconds,
            error: s.error,
        });
    }
    let sizes = sizes(samples);
    if sizes.len() < MIN_SIZES {
        return Err(FitRefusal::TooFewSizes {
            series,
            sizes: sizes.len(),
        });
    }
    let (smallest, largest) = (sizes[0].0.max(1), sizes[sizes.len() - 1].0);
    if largest / smallest < MIN_SPREAD {
        Err(spread(series, samples))
    } else {
        Ok(())
    }
}

/// The different sizes in ascending order.
fn sizes(samples: &[TimeSample]) -> Vec<Bytes> {
    let mut sizes: Vec<Bytes> = samples.iter().map(|s| s.size).collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

fn spread(series: SampleSeries, samples: &[TimeSample]) -> FitRefusal {
    let sizes = sizes(samples);
    FitRefusal::NoSpread {
        series,
        smallest: sizes.first().map_or(0, |s| s.0),
        largest: sizes.last().map_or(0, |s| s.0),
    }
}

fn certain(
    series: SampleSeries,
    parameter: &'static str,
    estimate: ParameterEstimate,
) -> Result<(), FitRefusal> {
    let ParameterEstimate { value, margin, .. } = estimate;
    if margin < value {
        Ok(())
    } else {
        Err(FitRefusal::Uncertain {
            series,
            parameter,
            value,
            margin,
        })
    }
}
